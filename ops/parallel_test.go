package ops_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// fanOf has n·n arcs from its start to its end, with all pairs of n input and n output labels.
func fanOf(n int, epsilon bool) *fst.Vector[semiring.Tropical] {
	f := fst.NewVector[semiring.Tropical](2)
	f.AddStates(2)
	f.SetStart(0)
	f.SetFinal(1, 0)
	for i := range n {
		for o := range n {
			in := fst.Label(1 + i)
			if epsilon {
				in = fst.Epsilon
			}
			f.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: in, OLabel: fst.Label(1 + (o*7919+i*n)%(n*n)), Weight: semiring.Tropical((i + o) % 5), NextState: 1})
		}
	}
	return f
}

// Many outputs of one input to one state are sorted and summed once, and not added one by one to a set of them all.
func TestParallelArcsAreSummedAtOnce(t *testing.T) {
	const small, times = 60, 4 // times² arcs, for which adding one by one makes times³ of bytes, or times⁴ of ε
	run := func(name string, epsilon bool, op func(*fst.Vector[semiring.Tropical]) (*fst.Vector[semiring.Tropical], error)) {
		made := func(n int) float64 {
			f := fanOf(n, epsilon)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := op(f); err != nil {
				t.Fatal(name, err)
			}
			runtime.ReadMemStats(&after)
			return float64(after.TotalAlloc - before.TotalAlloc)
		}
		a, b := made(small), made(small*times)
		t.Logf("%s: %v bytes, and %v for %d times as many arcs", name, a, b, times*times)
		if b > 2*times*times*a {
			t.Errorf("%s: %v bytes, and %v for %d times as many arcs", name, a, b, times*times)
		}
	}
	for _, epsilon := range []bool{false, true} {
		run("EpsNormalize", epsilon, func(f *fst.Vector[semiring.Tropical]) (*fst.Vector[semiring.Tropical], error) {
			return ops.EpsNormalize[semiring.Tropical](f, ops.Input, ops.Limits{})
		})
		run("Determinize", epsilon, func(f *fst.Vector[semiring.Tropical]) (*fst.Vector[semiring.Tropical], error) {
			return ops.Determinize(f, &ops.DeterminizeOptions{Type: ops.DeterminizeNonFunctional})
		})
	}
}

// A side without paths is found out by whatever seed, though all paths be longer than those that are drawn.
func TestRandEquivalentWithNothing(t *testing.T) {
	full := fst.NewVector[semiring.Tropical](3)
	full.AddStates(3)
	full.SetStart(0)
	full.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 2, Weight: 1, NextState: 1})
	full.AddArc(1, fst.Arc[semiring.Tropical]{ILabel: 3, OLabel: 0, NextState: 2})
	full.SetFinal(2, 0)
	none := fst.NewVector[semiring.Tropical](0)
	for seed := range uint64(20) {
		for _, sides := range [][2]*fst.Vector[semiring.Tropical]{{full, none}, {none, full}} {
			d, err := ops.RandEquivalent[semiring.Tropical](sides[0], sides[1], rand.New(rand.NewPCG(seed, 0)), &ops.RandEquivalentOptions{MaxLength: 1})
			if err != nil || d == nil || !slices.Equal(d.Input, []fst.Label{1, 3}) || !slices.Equal(d.Output, []fst.Label{2}) {
				t.Fatalf("seed %d: %v, %v", seed, d, err)
			}
		}
		if d, err := ops.RandEquivalent[semiring.Tropical](none, none, rand.New(rand.NewPCG(seed, 0)), nil); d != nil || err != nil {
			t.Fatalf("of two without paths: %v, %v", d, err)
		}
	}
}
