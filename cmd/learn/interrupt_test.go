package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		{[]string{"g2p", "cv", "--data", filepath.Join(data, "g2p"), "--languages", "gre"},
			"cross-validation has no state to keep"},
		{[]string{"sequence", "compare", sample, "--test", sample}, "a comparison has no state to keep"},
		{[]string{"experiment", "objectives", "--data", filepath.Join(data, "g2p"), "--languages", "ice", "--words",
			"50"}, "keeps its models only with --checkpoint"},
		{[]string{"experiment", "homologs"}, "the experiment has no state to keep"},
		{[]string{"experiment", "sampled"}, "the experiment has no state to keep"},
		{[]string{"experiment", "table31", "--data", filepath.Join(data, "tables"), "--sets", "cancer", "--csv",
			filepath.Join(dir, "csv")}, "keeps its results only with --checkpoint"},
	} {
		var out, errs bytes.Buffer
		status := execute(ctx, c.words, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		if status != 1 || !strings.Contains(errs.String(), "interrupted: ") ||
			!strings.Contains(errs.String(), c.want) || strings.Contains(errs.String(), "ERROR") {
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

// An interrupted L-BFGS run keeps its point, and says that the history is lost.
func TestInterruptedInTheMiddle(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(state); err == nil {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	var out, errs bytes.Buffer
	words := []string{"sequence", "train", filepath.Join("..", "..", "testdata", "ud-english-ewt-sample",
		"test.conllu.gz"), "--model", filepath.Join(dir, "m"), "--checkpoint", state, "--checkpoint_every", "1",
		"--csv", filepath.Join(dir, "csv")}
	if status := execute(ctx, words, cli.Streams{Out: &out, Err: &errs}); status != 1 {
		t.Fatalf("status %d: %s%s", status, out.String(), errs.String())
	}
	for _, want := range []string{"no model was written; the state is in " + state, "with a new history",
		"--resume --checkpoint " + state} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("the message lacks %q: %s", want, errs.String())
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("left behind: %v (%v), want the state and the history", left, err)
	}
}

// The sequence experiment goes on from the models it had kept, to the same report.
func TestObjectivesGoOn(t *testing.T) {
	dir := t.TempDir()
	words := []string{"experiment", "objectives", "--data", filepath.Join("..", "..", "testdata", "g2p"),
		"--languages", "ice,gre", "--words", "60"}
	var whole, out, errs bytes.Buffer
	if status := execute(context.Background(), words, cli.Streams{Out: &whole, Err: &errs}); status != 0 {
		t.Fatalf("status %d: %s", status, errs.String())
	}
	state := filepath.Join(dir, "state")
	words = append(words, "--checkpoint", state)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(state); err == nil {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if status := execute(ctx, words, cli.Streams{Out: &out, Err: &errs}); status != 1 || out.Len() > 0 {
		t.Fatalf("status %d: %s%s", status, out.String(), errs.String())
	}
	if !strings.Contains(errs.String(), "models are in "+state+". To go on, give the same command") {
		t.Errorf("the message: %s", errs.String())
	}
	errs.Reset()
	if status := execute(context.Background(), words, cli.Streams{Out: &out, Err: &errs}); status != 0 {
		t.Fatalf("status %d: %s", status, errs.String())
	}
	if out.String() != whole.String() {
		t.Errorf("the report after an interruption:\n%s\nwithout one:\n%s", out.String(), whole.String())
	}
}
