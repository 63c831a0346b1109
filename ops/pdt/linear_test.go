package pdt_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/ops/pdt"
)

// Grammars whose strings OpenFst 1.7.9 changes, or that are linear in a way that few
// random ones are. Rules are for the labels from 7 on.
func TestLeftSR(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules []string
		pairs int
	}{
		{"an empty string to the left", []string{"0 1 8\n1 2 1 1\n0 2 2\n2\n", "0 1 7 1\n1 2 3\n2\n0 0.5\n"}, 0},
		{"an arc into the start", []string{"0 1 2\n0 1 8\n1\n", "0 0 1\n0 1 7\n1 2 3\n2\n"}, 1},
		{"two calls of one component that return to one state", []string{"0 1 8\n0 1 9 1\n1\n", "0 1 1\n1 2 9\n0 2 1\n2\n", "0 1 2\n1 2 8 1\n0 2 2\n2\n"}, 1},
		{"a loop to the right", []string{"0 1 1\n1 2 7 1\n0 2 2\n2 1\n"}, 0},
		{"an arc after a call", []string{"0 1 1\n1 2 7\n2 3 2\n0 2 3\n2\n3\n"}, 1},
		{"rules out of the order of their calls", []string{"0 1 9\n1\n", "0 1 1\n1 2 8\n0 2 2\n2\n", "0 1 8\n1 2 3\n2\n"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var rules []ops.Rule[T]
			of := map[fst.Label]fst.Expanded[T]{}
			for i, r := range c.rules {
				f, err := fst.ReadText[T](strings.NewReader(r), &fst.ReadTextOptions{Acceptor: true, KeepStateNumbering: true})
				if err != nil {
					t.Fatal(err)
				}
				l := fst.Label(7 + i)
				rules, of[l] = append(rules, ops.Rule[T]{Label: l, F: f}), f
			}
			f, pairs, err := pdt.Replace(rules, 7, &pdt.ReplaceOptions{Parser: pdt.LeftSRParser})
			if err != nil {
				t.Fatal(err)
			}
			if len(pairs) != c.pairs {
				t.Errorf("%d pairs of parentheses, not %d", len(pairs), c.pairs)
			}
			if diff := cmp.Diff(sentences(of, 7, 4, 10), pathsOf(f, pairs, 4, 10)); diff != "" {
				t.Errorf("strings (-want +got):\n%s\n%s", diff, text(f))
			}
		})
	}
}
