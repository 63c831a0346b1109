package modelfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/model"
)

// All kinds of files that the learners write are known.
func TestKinds(t *testing.T) {
	name := regexp.MustCompile(`(?m)(?:model|file|checkpoint|average|message|kernel|record)Kind\s+=\s+"([^"]+)"`)
	found := 0
	err := filepath.WalkDir("../../../learn", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range name.FindAllSubmatch(b, -1) {
			found++
			if _, ok := kinds[string(m[1])]; !ok {
				t.Errorf("%s: files of kind %q are not known here", path, m[1])
			}
		}
		return err
	})
	if err != nil || found < 15 {
		t.Fatalf("%d kinds (%v)", found, err)
	}
}

func TestReadAndDescribe(t *testing.T) {
	c := model.New("g2p", 1)
	if err := c.SetMeta(map[string]int{"window": 3}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	whole := b.String()
	m, err := Read(strings.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := Describe(&b, m); err != nil || !strings.Contains(b.String(),
		"a model of pronunciations (g2p, version 1)\n") ||
		!strings.Contains(b.String(), "learn g2p; learn help g2p lists") {
		t.Errorf("%v:\n%s", err, b.String())
	}
	if _, err := Read(strings.NewReader("TROPI")); !errors.Is(err, ErrOther) {
		t.Errorf("text: %v", err)
	}
	if _, err := Read(strings.NewReader(whole[:len(whole)-1])); !errors.Is(err, model.ErrFormat) {
		t.Errorf("a file that was cut: %v", err)
	}
	if _, err := Read(strings.NewReader(whole[:len(whole)-1] + "x")); !errors.Is(err, model.ErrChecksum) {
		t.Errorf("a file that was changed: %v", err)
	}
}
