package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
)

// Commands that were interrupted say what is left of their work, and leave no
// output behind.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	data := filepath.Join("..", "..", "testdata")
	sample := filepath.Join(data, "ud-english-ewt-sample", "test.conllu.gz")
	words := filepath.Join(data, "g2p", "ice_dev.tsv")
	model := filepath.Join(dir, "m")
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"sequence", "train", sample, "--model", model}, "nothing written"},
		{[]string{"g2p", "train", words, "--model", model, "--csv", filepath.Join(dir, "csv")}, "nothing written"},
		{[]string{"g2p", "cv", "--data", filepath.Join(data, "g2p"), "--languages", "gre"}, "cross-validation has no state to keep"},
		{[]string{"sequence", "compare", sample, "--test", sample}, "a comparison has no state to keep"},
		{[]string{"experiment", "homologs"}, "the experiment has no state to keep"},
	} {
		var out, errs bytes.Buffer
		status := run(ctx, c.words, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		if status != 1 || !strings.Contains(errs.String(), "interrupted: ") || !strings.Contains(errs.String(), c.want) || strings.Contains(errs.String(), "ERROR") {
			t.Errorf("%v: status %d, %s", c.words, status, errs.String())
		}
		if out.Len() > 0 {
			t.Errorf("%v wrote %q", c.words, out.String())
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}
