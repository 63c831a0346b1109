package ops_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// The lazy search finds a path as good as the eager one's, on cyclic machines and
// on products computed as it goes, and one that the machine has.
func TestShortestPathLazyAgainstEager(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	type W = semiring.Tropical
	random := func(n int) *fst.Vector[W] {
		v := fst.NewVector[W](n)
		v.AddStates(n)
		v.SetStart(0)
		for range 3 * n {
			l := fst.Label(rng.IntN(3))
			v.AddArc(fst.StateID(rng.IntN(n)), fst.Arc[W]{ILabel: l, OLabel: l, Weight: W(rng.IntN(9)), NextState: fst.StateID(rng.IntN(n))})
		}
		if rng.IntN(8) > 0 {
			v.SetFinal(fst.StateID(rng.IntN(n)), W(rng.IntN(5)))
		}
		ops.ArcSort(v, ops.Input)
		return v
	}
	total := func(f *fst.Vector[W]) W {
		w, err := ops.TotalWeight(f, nil)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	found := 0
	for range 400 {
		a, b := random(1+rng.IntN(8)), random(1+rng.IntN(8))
		eager, err := ops.Compose(a, b, nil)
		if err != nil {
			t.Fatal(err)
		}
		lazy, err := ops.ComposeLazy(a, b, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		path, err := ops.ShortestPathLazy(lazy, ops.Limits{Ctx: t.Context()})
		if err != nil {
			t.Fatal(err)
		}
		want := total(eager)
		if got := total(path); got != want {
			t.Fatalf("lazy %v, eager %v", got, want)
		}
		if path.NumStates() == 0 {
			continue
		}
		found++
		n := 0
		for p := range fst.Paths[W](path, nil) {
			n++
			if p.Weight != want {
				t.Fatalf("the path weighs %v, want %v", p.Weight, want)
			}
		}
		if n != 1 {
			t.Fatalf("%d paths", n)
		}
	}
	if found < 100 {
		t.Fatalf("only %d of 400 machines had a path", found)
	}
	bad := random(3)
	bad.AddArc(0, fst.Arc[W]{ILabel: 1, OLabel: 1, Weight: -1, NextState: 0})
	if _, err := ops.ShortestPathLazy(bad, ops.Limits{Ctx: t.Context()}); !errors.Is(err, ops.ErrNotClosed) {
		t.Errorf("a negative arc: %v", err)
	}
}

// Searches of machines on demand keep to their limits, on one without end too.
func TestLazySearchLimits(t *testing.T) {
	type W = semiring.Tropical
	limited(t, "ShortestPathLazy", func(lim ops.Limits) (*fst.Vector[W], error) {
		return ops.ShortestPathLazy[W](manyPaths(40, 3), lim)
	})
	endless := fst.NewLazy[W](countUp{}, nil)
	for _, lim := range []ops.Limits{{Bytes: 1 << 16}, {States: 1000}} {
		var over *ops.LimitError
		if lim.States == 0 {
			if _, err := ops.ShortestPathLazy[W](endless, lim); !errors.As(err, &over) || over.Built.Bytes > 1<<17 {
				t.Errorf("ShortestPathLazy on a machine without end, %+v: %v", lim, err)
			}
		}
		over = nil
		if _, err := ops.ShortestDistanceLazy[W](endless, &ops.ShortestDistanceOptions{Limits: lim}); !errors.As(err, &over) || over.Built.States > 10_000 {
			t.Errorf("ShortestDistanceLazy on a machine without end, %+v: %v", lim, err)
		}
	}
}

// countUp has an arc from each state to the next, and no final state.
type countUp struct{}

func (countUp) Start() (fst.StateID, error) { return 0, nil }
func (countUp) Expand(q fst.StateID, dst []fst.Arc[semiring.Tropical]) (semiring.Tropical, []fst.Arc[semiring.Tropical], error) {
	return semiring.Zero[semiring.Tropical](), append(dst, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, Weight: 1, NextState: q + 1}), nil
}
