package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// A loss from a file trains as the built-in loss that it is, however its tables number
// the labels, and what is wrong with it is said.
func TestTransducerLoss(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	const data = "a X\nb Y\n\nb Y\na X\na Z\n\nb X\nb Y\na Z\na Z\n\n"
	if err := os.WriteFile(path("data"), []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
	// The labels are X, Y, Z; the files have Z, <eps>… in another order.
	save := func(name string, xForY float64, symbols ...string) {
		u, err := losses.Unit.Transducer(3)
		if err != nil {
			t.Fatal(err)
		}
		for i, arcs := 0, u.MutableArcs(0); i < len(arcs); i++ {
			if arcs[i].ILabel == 1 && arcs[i].OLabel == 2 {
				arcs[i].Weight = semiring.Tropical64(xForY)
			}
		}
		table := fst.SymbolsOf(symbols...)
		to := fst.SymbolsOf("<eps>", "X", "Y", "Z")
		pairs, _ := to.PairsTo(table, "")
		if len(symbols) == 4 {
			if err := ops.Relabel(u, pairs, pairs); err != nil {
				t.Fatal(err)
			}
		}
		u.SetInputSymbols(table)
		u.SetOutputSymbols(table)
		var b bytes.Buffer
		if err := fst.Write(&b, u, nil); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path(name), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	save("edit.fst", 1, "<eps>", "Z", "X", "Y")
	save("odd.fst", 0.25, "<eps>", "X", "Y", "Z")
	save("oddly.fst", 0.25, "<eps>", "Z", "X", "Y")
	save("lacks.fst", 1, "<eps>", "X", "Y")
	train := func(words ...string) (objective float64, errs string) {
		var out, e bytes.Buffer
		words = append([]string{"sequence", "train", path("data"), "--model", path("m"), "--objective",
			"softmax-margin", "--json"}, words...)
		if execute(context.Background(), words, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &e}) != 0 {
			return math.NaN(), e.String()
		}
		var r struct{ Objective float64 }
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		return r.Objective, e.String()
	}
	want, _ := train("--loss", "edit", "--band", "0")
	got, errs := train("--loss", "transducer", "--transducer", path("edit.fst"))
	if !(math.Abs(got-want) <= 1e-6*want) {
		t.Errorf("objective %v, with the built-in loss %v; %s", got, want, errs)
	}
	odd, _ := train("--loss", "transducer", "--transducer", path("odd.fst"))
	oddly, _ := train("--loss", "transducer", "--transducer", path("oddly.fst"))
	if !(math.Abs(odd-oddly) <= 1e-6*odd) || math.Abs(odd-want) < 1e-3*want {
		t.Errorf("a loss that treats labels differently: objectives %v and %v, where unit costs have %v",
			odd, oddly, want)
	}
	// Decoding: the same labels, of the same risk, as with the built-in loss.
	predict := func(words ...string) (labels, errs string) {
		var out, e bytes.Buffer
		words = append([]string{"sequence", "predict", path("unlabelled"), "--model", path("m"), "--decode",
			"min-risk"}, words...)
		if execute(context.Background(), words, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &e}) != 0 {
			return "", e.String()
		}
		return out.String(), e.String()
	}
	if err := os.WriteFile(path("unlabelled"), []byte("a\nb\n\nb\na\na\nb\n\na\n\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	plain, errs := predict("--loss", "edit", "--list", "20")
	if plain == "" {
		t.Fatal(errs)
	}
	for _, name := range []string{"edit.fst", "odd.fst", "oddly.fst"} {
		labels, errs := predict("--loss", "transducer", "--transducer", path(name), "--list", "20")
		if name == "edit.fst" && labels != plain || len(labels) != len(plain) || labels == "" {
			t.Errorf("%s: %q, with the built-in loss %q; %s", name, labels, plain, errs)
		}
	}
	in, _ := predict("--loss", "transducer", "--transducer", path("odd.fst"))
	if other, _ := predict("--loss", "transducer", "--transducer", path("oddly.fst")); in != other {
		t.Errorf("labels %q and, with another numbering of the file's, %q", in, other)
	}
	nothing := fst.NewVector[semiring.Tropical64](1)
	nothing.SetStart(nothing.AddState())
	var none bytes.Buffer
	if err := fst.Write(&none, nothing, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path("nothing.fst"), none.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"--loss", "transducer"}, "--transducer is needed"},
		{[]string{"--loss", "transducer", "--transducer", path("lacks.fst")}, `lack the label "Z" of the model`},
		{[]string{"--loss", "transducer", "--transducer", path("nothing.fst")},
			"no labelling of the list has a finite expected loss"},
		{[]string{"--loss", "transducer", "--transducer", path("edit.fst"), "--sub", "2"},
			"the loss is transducer"},
	} {
		if _, errs := predict(c.words...); !strings.Contains(errs, c.want) {
			t.Errorf("%v: %q", c.words, errs)
		}
	}
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"--loss", "transducer"}, "--transducer is needed"},
		{[]string{"--loss", "edit", "--transducer", path("edit.fst")}, "the loss is another"},
		{[]string{"--loss", "transducer", "--transducer", path("lacks.fst")}, `lack the label "Z" of the examples`},
		{[]string{"--loss", "transducer", "--transducer", path("data")}, path("data")},
		{[]string{"--loss", "transducer", "--transducer", path("none")}, "no such file"},
	} {
		if _, errs := train(c.words...); !strings.Contains(errs, c.want) {
			t.Errorf("%v: %q", c.words, errs)
		}
	}
}
