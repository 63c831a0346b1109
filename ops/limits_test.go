package ops_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// manyPaths is an acceptor of n+1 states with k arcs from each to the next: kⁿ paths.
func manyPaths(n, k int) *fst.Vector[semiring.Tropical] {
	rng := rand.New(rand.NewPCG(5, 5))
	f := fst.NewVector[semiring.Tropical](n + 1)
	f.AddStates(n + 1)
	f.SetStart(0)
	for q := range n {
		for l := range k {
			f.AddArc(fst.StateID(q), fst.Arc[semiring.Tropical]{ILabel: fst.Label(l + 1), OLabel: fst.Label(l + 1),
				Weight: semiring.Tropical(rng.Float32()), NextState: fst.StateID(q + 1)})
		}
	}
	f.SetFinal(fst.StateID(n), 0)
	return f
}

// limited runs op without limits, under those that its result just meets, and
// under less, which must be a LimitError with what was built.
func limited(t *testing.T, name string, op func(ops.Limits) (*fst.Vector[semiring.Tropical], error)) {
	t.Helper()
	whole, err := op(ops.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	n, arcs := whole.NumStates(), int64(whole.NumArcs())
	if _, err := op(ops.Limits{States: n, Arcs: arcs, Bytes: 1 << 30}); err != nil {
		t.Errorf("%s: a result of %d states and %d arcs within limits: %v", name, n, arcs, err)
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	for _, lim := range []ops.Limits{{States: n - 1}, {Arcs: arcs - 1}, {Bytes: 8}, {Ctx: done}} {
		_, err := op(lim)
		var limit *ops.LimitError
		switch {
		case !errors.As(err, &limit):
			t.Errorf("%s within %+v: %v", name, lim, err)
		case lim.Ctx == nil && (!errors.Is(err, ops.ErrLimit) || limit.Built == ops.Progress{}):
			t.Errorf("%s within %+v: %+v", name, lim, limit)
		}
	}
}

func TestLimits(t *testing.T) {
	type V = *fst.Vector[semiring.Tropical]
	f := manyPaths(20, 4)
	for _, n := range []int{1, 100} {
		limited(t, "ShortestPath", func(lim ops.Limits) (V, error) {
			return ops.ShortestPath(f, &ops.ShortestPathOptions[semiring.Tropical]{N: n, Limits: lim})
		})
		limited(t, "ShortestPathUnique", func(lim ops.Limits) (V, error) {
			return ops.ShortestPathUnique(f, &ops.ShortestPathOptions[semiring.Tropical]{N: n, Limits: lim})
		})
	}
	inPlace := func(op func(V, ops.Limits) error) func(ops.Limits) (V, error) {
		return func(lim ops.Limits) (V, error) { g := manyPaths(20, 4); return g, op(g, lim) }
	}
	threshold := semiring.Tropical(1)
	limited(t, "Prune", inPlace(func(g V, lim ops.Limits) error {
		return ops.Prune(g, &ops.PruneOptions[semiring.Tropical]{Threshold: &threshold, Limits: lim})
	}))
	limited(t, "PushWeights", inPlace(func(g V, lim ops.Limits) error { return ops.PushWeights(g, &ops.PushOptions{Limits: lim}) }))
	for _, kind := range []ops.ClosureKind{ops.Star, ops.Plus} {
		limited(t, "Closure", inPlace(func(g V, lim ops.Limits) error { return ops.Closure(g, kind, lim) }))
	}
	for _, final := range []bool{false, true} {
		limited(t, "Push", func(lim ops.Limits) (V, error) {
			return ops.Push(f, &ops.PushOptions{Labels: true, ToFinal: final, Limits: lim})
		})
	}
}

// The search for n best paths stops when what it holds is too much, long before
// it has all of them.
func TestLimitBytesOfPaths(t *testing.T) {
	f := manyPaths(200, 10)
	for name, find := range map[string]func(*ops.ShortestPathOptions[semiring.Tropical]) (*fst.Vector[semiring.Tropical], error){
		"all": func(o *ops.ShortestPathOptions[semiring.Tropical]) (*fst.Vector[semiring.Tropical], error) {
			return ops.ShortestPath(f, o)
		},
		"distinct": func(o *ops.ShortestPathOptions[semiring.Tropical]) (*fst.Vector[semiring.Tropical], error) {
			return ops.ShortestPathUnique(f, o)
		},
	} {
		_, err := find(&ops.ShortestPathOptions[semiring.Tropical]{N: 3_000_000, Limits: ops.Limits{Bytes: 1_000_000}})
		var limit *ops.LimitError
		if !errors.As(err, &limit) || limit.Limit != "bytes" || limit.Built.Bytes > 2_000_000 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// One pair of states may have the square of a state's arcs: the limits hold within it too.
func TestLimitsWithinOnePair(t *testing.T) {
	const k = 3000
	f := fst.NewVector[semiring.Tropical](k + 2)
	f.AddStates(k + 2)
	f.SetFinal(k+1, 0)
	f.SetStart(0)
	for q := fst.StateID(1); q <= k; q++ {
		f.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, Weight: semiring.Tropical(q), NextState: q})
		f.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: fst.Label(q), OLabel: 1, NextState: k + 1}) // no two of them share a future
	}
	stopped := func(name string, slack int64, err error) {
		t.Helper()
		var limit *ops.LimitError
		if !errors.As(err, &limit) || limit.Built.Bytes > 1<<20+slack {
			t.Errorf("%s: %v, want a limit met soon after %d bytes", name, err, 1<<20)
		}
	}
	lim := ops.Limits{Bytes: 1 << 20}
	_, err := ops.Disambiguate(f, &ops.DisambiguateOptions{Limits: lim})
	stopped("Disambiguate", 1<<18, err)
	_, err = ops.Unambiguous(f, &ops.SearchOptions{Limits: lim})
	stopped("Unambiguous", 1<<18, err)
	_, err = ops.Functional(f, &ops.SearchOptions{Limits: lim})
	stopped("Functional", 1<<18, err)
}
