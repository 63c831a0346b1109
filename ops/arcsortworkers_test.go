package ops

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// Several workers leave the arcs of a large state as one does, those with equal labels, too, whose
// order is that of introsort: drawn with many labels and with few, sorted, reversed, and in the
// order that defeats the choice of pivots, so that large pieces end in heapsort.
func TestSortShared(t *testing.T) {
	type arc = fst.Arc[semiring.Tropical]
	rng := rand.New(rand.NewPCG(13, 1))
	const n = 1<<17 + 77
	label := map[string]func(i int) int{
		"random":  func(int) int { return rng.IntN(n) },
		"few":     func(int) int { return rng.IntN(50) },
		"one":     func(int) int { return 3 },
		"sorted":  func(i int) int { return i },
		"reverse": func(i int) int { return n - i },
		"nearly":  func(i int) int { return i + rng.IntN(100) },
		"killer": func(i int) int {
			switch k := n / 2; {
			case i < k && i%2 == 0:
				return i + 1
			case i < k:
				return k + i + 1 - i%2
			default:
				return 2 * (i - k + 1)
			}
		},
	}
	for name, l := range label {
		v := fst.NewVector[semiring.Tropical](2)
		v.AddStates(3)
		for i := range n {
			v.AddArc(0, arc{ILabel: fst.Label(l(i)), OLabel: fst.Label(i % 3), Weight: semiring.Tropical(i), NextState: 1})
		}
		for i := range run.SharedPiece { // and one that is not shared
			v.AddArc(2, arc{ILabel: fst.Label(i % 7), OLabel: fst.Label(i % 2), Weight: semiring.Tropical(i), NextState: 1})
		}
		want := v.Clone()
		ArcSort(want, Input)
		for _, w := range []int{2, 3, 8} {
			got := v.Clone()
			ArcSortWorkers(got, Input, w)
			for q := range fst.StateID(3) {
				if !slices.Equal(got.Arcs(q), want.Arcs(q)) {
					t.Fatalf("%s, %d workers: the order at state %d differs", name, w, q)
				}
			}
		}
	}
}
