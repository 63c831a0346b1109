// Package real tests operations over probabilities of any size.
package real

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/ops/internal/scales"
	"github.com/tropica-fst/tropica/semiring"
)

func same(w semiring.Probability) semiring.Probability { return w }

func TestKeepsScaledRelations(t *testing.T) { scales.Keep(t, scales.Draw, same) }

func TestDeterminizeFactorsHasNoEnd(t *testing.T) { scales.HaveNoEnd(t, same) }

// Weights come out as they were, not as multiples of something.
func TestFactorsStayExact(t *testing.T) {
	text := "0 1 1 1 .3\n0 2 1 1 .6\n1 3 2 2 .1\n2 3 2 2 .7\n3 3 1 1 .1\n3 .7\n"
	f := fsttest.Must(fst.ReadText[semiring.Probability](strings.NewReader(text), nil))
	d := fsttest.Must(ops.Determinize(f, &ops.DeterminizeOptions{Delta: ops.DefaultDelta}))
	m := fsttest.Must(ops.Minimize(d, &ops.MinimizeOptions{Delta: ops.DefaultDelta}))
	for _, g := range []*fst.Vector[semiring.Probability]{d, m} {
		if diff := cmp.Diff(fsttest.Relation(f, 9), fsttest.Relation(g, 9), fsttest.Within[semiring.Probability](1e-14)); diff != "" {
			t.Errorf("mismatch (-want +got):\n%s", diff)
		}
	}
}

// Weights below delta are compared as others are.
func TestEquivalentScales(t *testing.T) {
	read := func(text string) *fst.Vector[semiring.Probability] {
		return fsttest.Must(fst.ReadText[semiring.Probability](strings.NewReader(text), nil))
	}
	a, b, c := "0 1 1 1 1e-30\n0 1 2 2 1\n1\n", "0 1 1 1 2e-30\n0 1 2 2 1\n1\n", "0 1 2 2 .5\n0 1 1 1 5e-31\n1 2\n"
	if fsttest.Must(ops.Equivalent(read(a), read(b), ops.DefaultDelta)) || !fsttest.Must(ops.Equivalent(read(a), read(c), ops.DefaultDelta)) {
		t.Error("Equivalent")
	}
	if d := fsttest.Must(ops.Distinguish(read(a), read(b), ops.DefaultDelta)); d == nil || len(d.Labels) != 1 || d.Labels[0] != 1 {
		t.Errorf("Distinguish: %v", d)
	}
	if ops.Equal(read(a), read(b), ops.DefaultDelta) || !ops.Equal(read(a), read(a), 0) {
		t.Error("Equal")
	}
	// The arcs in another order are to be told apart by their weights, all of them small.
	x, y := "0 1 1 1 1e-30\n0 2 1 1 2e-30\n1 1\n2 3\n", "0 2 1 1 1e-30\n0 1 1 1 2e-30\n1 3\n2 1\n"
	if !fsttest.Must(ops.Isomorphic(read(x), read(y), ops.DefaultDelta)) {
		t.Error("Isomorphic")
	}
}
