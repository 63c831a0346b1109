package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
)

// Every learner either works on a wide LIBSVM file of few entries or refuses it at once, with what
// it would take and flags that it has.
func TestWideFiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "%d qid:%c %d:1 %d:1 %d:1\n", i%2, 'a'+i/2%2, 1+i%2, 10+rng.IntN(50000),
			60000+rng.IntN(50000))
	}
	dir := t.TempDir()
	name, model := filepath.Join(dir, "wide.svm"), filepath.Join(dir, "m")
	if err := os.WriteFile(name, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	do := func(words ...string) (int, string, string) {
		var out, errs bytes.Buffer
		status := execute(context.Background(), words, cli.Streams{Out: &out, Err: &errs})
		return status, out.String(), errs.String()
	}
	for _, words := range [][]string{{"gb"}, {"rgb", "--columns=1"}, {"adaboost", "--bins=255"}} {
		group, more := words[0], words[1:]
		status, out, errs := do(append([]string{group, "train", name, "--model", model, "--rounds=3"}, more...)...)
		if status != 0 || !strings.Contains(out, "error 0 %") {
			t.Errorf("%v: %s%s", words, out, errs)
		}
		for _, verb := range [][]string{{"predict", name}, {"eval", name},
			{"explain", name, "--top=2", "--repeats=1"}} {
			status, out, errs := do(append([]string{group, verb[0], "--model", model}, verb[1:]...)...)
			if status != 0 || out == "" {
				t.Errorf("%v %v: %s%s", words, verb, out, errs)
			}
		}
		status, out, errs = do(append([]string{group, "cv", name, "--rounds=2", "--folds=2"}, more...)...)
		if status != 0 || !strings.Contains(out, "3000 rows, 109997 columns, 2 trials") {
			t.Errorf("%v: %s%s", words, out, errs)
		}
	}
	for _, c := range []struct {
		words []string
		bins  bool
	}{{[]string{"adaboost", "train", name, "--model", model}, true}, {[]string{"adaboost", "cv", name}, true},
		{[]string{"gb", "train", name, "--model", model, "--exact"}, true},
		{[]string{"multiboost", "train", name, "--source=qid", "--model", model}, false},
		{[]string{"almo", "train", name, "--model", model}, false}} {
		status, out, errs := do(c.words...)
		if status != 1 || out != "" || !strings.Contains(errs, "GB when every cell is kept, and only ") ||
			strings.Contains(errs, "--bins=255") != c.bins || strings.Contains(errs, "Options.") {
			t.Errorf("%v: %d %s%s", c.words, status, out, errs)
		}
	}
}
