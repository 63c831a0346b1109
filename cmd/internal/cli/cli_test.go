package cli

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenText(t *testing.T) {
	const text = "a line\n"
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	io.WriteString(w, text)
	w.Close()
	dir := t.TempDir()
	for name, content := range map[string][]byte{"plain": []byte(text), "packed": z.Bytes(), "empty": nil,
		"short": {0x1f}, "damaged": {0x1f, 0x8b, 9}, "cut": z.Bytes()[:z.Len()-6]} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(s Streams, name string) (string, error) {
		r, _, err := s.OpenText(name)
		if err != nil {
			return "", err
		}
		defer r.Close()
		b, err := io.ReadAll(r)
		return string(b), err
	}
	for name, want := range map[string]string{"plain": text, "packed": text, "empty": "", "short": "\x1f"} {
		if got, err := read(Streams{}, filepath.Join(dir, name)); got != want || err != nil {
			t.Errorf("%s: %q (%v), want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]string{"damaged": "damaged gzip file", "cut": "unexpected EOF",
		"": "is a directory"} {
		if _, err := read(Streams{}, filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", name, err, want)
		}
	}
	if _, err := read(Streams{}, filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	for _, in := range []string{text, z.String()} {
		if got, err := read(Streams{In: strings.NewReader(in)}, "-"); got != text || err != nil {
			t.Errorf("standard input: %q (%v)", got, err)
		}
	}
}

func TestOutput(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	wrong := errors.New("wrong")
	err := Streams{}.Output(name, func(w io.Writer) error {
		io.WriteString(w, "half")
		return wrong
	})
	if _, e := os.Stat(name); err != wrong || e == nil {
		t.Errorf("error %v; the file exists: %v", err, e == nil)
	}
	var out, errs bytes.Buffer
	s := Streams{Out: &out, Err: &errs}
	if err := s.Output("-", func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }); err != nil || out.String() != "x" {
		t.Errorf("%q (%v)", out.String(), err)
	}
	if s.Fail("prog", wrong) != 1 || errs.String() != "ERROR: prog: wrong\n" {
		t.Errorf("%q", errs.String())
	}
}
