package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
)

// A wrong byte costs its word alone, which leaves an empty line; the order is that of the input for
// any number of workers, over several batches.
func TestPredictStream(t *testing.T) {
	dir := t.TempDir()
	data, model := filepath.Join(dir, "data"), filepath.Join(dir, "model")
	if err := os.WriteFile(data, []byte("tan\tT A N\nant\tA N T\nnat\tN A T\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	learn := func(in string, words ...string) (status int, out, errs string) {
		var o, e bytes.Buffer
		status = execute(context.Background(), words, cli.Streams{In: strings.NewReader(in), Out: &o, Err: &e})
		return status, o.String(), e.String()
	}
	if status, _, errs := learn("", "g2p", "train", data, "--model", model, "--objective",
		"hamming"); status != 0 {
		t.Fatal(errs)
	}
	if status, out, errs := learn("tan\n\nt\xffn\nn\x00t\nant", "g2p", "predict", "--model",
		model); status != 1 ||
		out != "tan\tT A N\n\n\n\nant\tA N T\n" || !strings.Contains(errs,
		"2 words were passed over; all others were answered:\n") ||
		!strings.Contains(errs, "standard input:3:2: byte 0xff is not UTF-8") ||
		!strings.Contains(errs, "standard input:4:2: a NUL byte") {
		t.Errorf("status %d, output %q, errors %q", status, out, errs)
	}
	if status, out, _ := learn("t\xffn\nant\n", "g2p", "predict", "--model", model, "--nbest",
		"1"); status != 1 ||
		!strings.HasPrefix(out, `{"word":"","nbest":[],"error":"standard input:1:2: byte 0xff`) || !strings.Contains(out, `{"word":"ant","nbest":[{"phones":["A","N","T"],`) {
		t.Errorf("status %d, output %q", status, out)
	}
	var in strings.Builder
	for k := range 3 * batchLines {
		word := ""
		for i := range 3 + k%4 {
			word += "tan"[(k+i*k/7)%3:][:1]
		}
		fmt.Fprintf(&in, "%s\n", word)
	}
	status, out, errs := learn(in.String(), "g2p", "predict", "--model", model, "--workers", "1")
	if status != 0 {
		t.Fatal(errs)
	}
	lines := strings.Split(out, "\n")
	for k, word := range strings.Split(in.String(), "\n") {
		if got, _, _ := strings.Cut(lines[k], "\t"); got != word {
			t.Fatalf("line %d is of %q, should be of %q", k+1, got, word)
		}
	}
	if _, five, _ := learn(in.String(), "g2p", "predict", "--model", model, "--workers", "5"); five != out {
		t.Error("five workers give another output than one")
	}
}

// A NUL in training words is no letter, as in words to be answered, and numbers that mean nothing
// are refused with the name of their flag.
func TestPronunciationRefusals(t *testing.T) {
	dir := t.TempDir()
	data, wrong, model := filepath.Join(dir, "data"), filepath.Join(dir, "wrong"), filepath.Join(dir, "model")
	for name, text := range map[string]string{data: "tan\tT A N\nant\tA N T\nnat\tN A T\n",
		wrong: "tan\tT A N\nt\x00n\tT\n"} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	train := []string{"g2p", "train", data, "--model", model, "--network", "none"}
	for _, test := range []struct {
		words []string
		err   string
	}{
		{[]string{"g2p", "train", wrong, "--model", filepath.Join(dir, "none"), "--network", "none"},
			"wrong:2:2: a NUL byte"},
		{append(train[:len(train):len(train)], "--ngrams", "-2"), "flag --ngrams"},
		{append(train[:len(train):len(train)], "--ngrams", "2"), ""},
		{[]string{"g2p", "predict", "--model", model, "--lookup", wrong}, "wrong:2:2: a NUL byte"},
		{[]string{"g2p", "predict", "--model", model, "--ngram_weight", "Inf"}, "flag --ngram_weight"},
	} {
		var o, e bytes.Buffer
		status := execute(context.Background(), test.words, cli.Streams{In: strings.NewReader("tan\n"), Out: &o,
			Err: &e})
		if (status != 0) != (test.err != "") || !strings.Contains(e.String(), test.err) {
			t.Errorf("%q: status %d, errors %q, should tell of %q", test.words, status, e.String(), test.err)
		}
	}
}
