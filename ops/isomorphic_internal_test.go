package ops

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// Arcs are in the order of one stable sort by compare, whatever way leads there, and stay as they are themselves.
func TestIsomorphicSortsArcs(t *testing.T) {
	testIsomorphicSorts[semiring.Tropical](t) // arcs in place of their keys
	testIsomorphicSorts[semiring.Log64](t)
}

func testIsomorphicSorts[W interface {
	semiring.Approx[W]
	~float32 | ~float64
}](t *testing.T) {
	rng := rand.New(rand.NewPCG(62, 1))
	m := isomorphism[W]{delta: 1.0 / 1024, order: weightOrder[W](1.0 / 1024)}
	for range 3000 {
		arcs := make([]fst.Arc[W], rng.IntN(60))
		labels := int32(1 + rng.IntN(60))
		for i := range arcs {
			arcs[i] = fst.Arc[W]{ILabel: fst.Label(rng.Int32N(labels)) - 5, OLabel: fst.Label(rng.Int32N(2)), Weight: W(rng.IntN(3)-1) + W(rng.IntN(2))/4096, NextState: fst.StateID(rng.Int32N(4))}
		}
		if rng.IntN(3) == 0 {
			slices.SortStableFunc(arcs, m.compare)
		}
		before := slices.Clone(arcs)
		want := slices.Clone(arcs)
		slices.SortStableFunc(want, m.compare)
		if got := m.sorted(arcs, &m.ra); !slices.Equal(got, want) || !slices.Equal(arcs, before) {
			t.Fatalf("%v\nsorted: %v\nwant %v", before, got, want)
		}
	}
}
