package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// A machine in a file restricts the outputs of a model, in training and afterwards; words that have
// none are named, and so is what is wrong with a file.
func TestG2PConstraint(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	data, err := os.ReadFile("../../testdata/g2p/gre_train.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	if err := os.WriteFile(path("train"), []byte(strings.Join(lines[:120], "")), 0o644); err != nil {
		t.Fatal(err)
	}
	// At most one a; without a symbol table; over another semiring.
	save := func(name string, write func(b *bytes.Buffer) error) {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path(name), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	machine := func(symbols *fst.SymbolTable) *fst.Vector[semiring.Tropical] {
		m := fst.NewVector[semiring.Tropical](2)
		m.AddStates(2)
		m.SetStart(0)
		for q := range fst.StateID(2) {
			m.SetFinal(q, 0)
			m.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: q})
		}
		m.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 2, OLabel: 2, NextState: 1})
		m.SetInputSymbols(symbols)
		return m
	}
	save("one.fst", func(b *bytes.Buffer) error {
		return fst.Write(b,
			machine(fst.SymbolsOf("<eps>", "<other>", "a")), nil)
	})
	save("bare.fst", func(b *bytes.Buffer) error { return fst.Write(b, machine(nil), nil) })
	save("none.fst", func(b *bytes.Buffer) error {
		return fst.Write(b,
			machine(fst.SymbolsOf("<eps>", "x", "y")), nil)
	})
	save("log.fst", func(b *bytes.Buffer) error {
		m := fst.NewVector[semiring.Log64](1)
		m.AddState()
		m.SetStart(0)
		m.SetFinal(0, 0)
		return fst.Write(b, m, nil)
	})
	run := func(in string, words ...string) (out, errs string, code int) {
		var o, e bytes.Buffer
		code = execute(context.Background(), append([]string{"g2p"}, words...),
			cli.Streams{In: strings.NewReader(in), Out: &o, Err: &e})
		return o.String(), e.String(), code
	}
	if _, e, code := run("", "train", path("train"), "--network", "none", "--model", path("free"),
		"--objective", "hamming", "--history", "3",
		"--phone_history", "3", "--marks", "a"); code != 0 {
		t.Fatal(e)
	}
	o, e, code := run("", "train", path("train"), "--network", "none", "--model", path("held"), "--objective",
		"hamming", "--constraint", path("one.fst"))
	if code != 0 || !strings.Contains(o, "whose phones --constraint does not accept") {
		t.Fatalf("%s%s", o, e)
	}
	const words = "αλάτα\nκαλαμάκια\nνερό\n"
	count := func(out string) (most int) {
		for line := range strings.Lines(out) {
			_, phones, _ := strings.Cut(line, "\t")
			n := 0
			for _, p := range strings.Fields(phones) {
				if p == "a" {
					n++
				}
			}
			most = max(most, n)
		}
		return most
	}
	o, e, code = run(words, "predict", "--model", path("free"))
	if code != 0 || count(o) < 2 {
		t.Fatalf("without a constraint: %s%s", o, e)
	}
	o, e, code = run(words, "predict", "--model", path("free"), "--constraint", path("one.fst"))
	if code != 0 || count(o) > 1 || strings.Count(o, "\n") != 3 {
		t.Fatalf("under a constraint: %s%s", o, e)
	}
	if o, e, code = run(words, "predict", "--model", path("held")); code != 0 || count(o) > 1 {
		t.Fatalf("trained under a constraint: %s%s", o, e)
	}
	for _, c := range []struct{ file, want string }{
		{"bare.fst", "has no symbol table"}, {"log.fst", "arc type log64"}, {"train", "train"},
	} {
		if _, e, code = run(words, "predict", "--model", path("free"), "--constraint", path(c.file)); code == 0 ||
			!strings.Contains(e, c.want) {
			t.Errorf("%s: %q", c.file, e)
		}
	}
	// No phone of the model is x or y, so that only the empty output is accepted.
	o, e, code = run("νερό\n", "predict", "--model", path("free"), "--constraint", path("none.fst"))
	if code != 0 || o != "νερό\t\n" && !strings.Contains(e, "has no output that the constraint accepts") {
		t.Errorf("%q %q", o, e)
	}
}
