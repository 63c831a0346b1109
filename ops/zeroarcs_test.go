package ops

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// Arcs of weight 0̄ are no ways: sums are those of the machine without them, in either direction, and what only they lead to neither
// diverges nor is outside the semiring. In the first machine a cycle of weight 1̄ is reached by such an arc alone.
func TestSumsPassOverZeroArcs(t *testing.T) {
	type W = semiring.Log64
	inf := W(math.Inf(1))
	check := func(f *fst.Vector[W], options ...ShortestDistanceOptions) (failed bool) {
		t.Helper()
		bare := fst.NewVector[W](f.NumStates())
		for q := range fst.StateID(f.NumStates()) {
			var arcs []fst.Arc[W]
			for _, e := range f.Arcs(q) {
				if e.Weight != inf {
					arcs = append(arcs, e)
				}
			}
			bare.PushState(f.Final(q), arcs)
		}
		bare.SetStart(f.Start())
		for _, o := range options {
			got, err := ShortestDistance(f, &o)
			want, none := ShortestDistance(bare, &o)
			if (err == nil) != (none == nil) || errors.Is(err, ErrNotClosed) != errors.Is(none, ErrNotClosed) {
				t.Fatalf("%+v: %v, and without arcs of 0̄ %v", o, err, none)
			}
			failed = failed || err != nil
			if len(got) != len(want) {
				t.Fatalf("%+v: %v, and without arcs of 0̄ %v", o, got, want)
			}
			for q := range got {
				if got[q] != want[q] && !(math.Abs(float64(got[q]-want[q])) < 1e-5) {
					t.Fatalf("%+v: %v, and without arcs of 0̄ %v", o, got, want)
				}
			}
		}
		return failed
	}
	f := fst.NewVector[W](3)
	f.AddStates(3)
	f.SetStart(0)
	f.SetFinal(0, 0)
	for _, e := range []struct {
		from, to fst.StateID
		w        W
	}{{0, 1, 2}, {1, 0, 2}, {1, 2, inf}, {2, 2, 0}, {2, 0, 1}} {
		f.AddArc(e.from, fst.Arc[W]{ILabel: 1, OLabel: 1, Weight: e.w, NextState: e.to})
	}
	check(f, ShortestDistanceOptions{}, ShortestDistanceOptions{Reverse: true}, ShortestDistanceOptions{Queue: QueueFIFO})
	rng := rand.New(rand.NewPCG(71, 2))
	failures := 0
	for range 3000 {
		f := fsttest.Random(rng, 2+rng.IntN(7), func(rng *rand.Rand) W {
			switch rng.IntN(6) {
			case 0, 1:
				return inf
			case 2:
				return 0
			}
			return W(1 + 3*rng.Float64())
		}, fsttest.Options{Labels: 2, Degree: 2, Start: true, Cyclic: true})
		if check(f, ShortestDistanceOptions{}, ShortestDistanceOptions{Reverse: true}) {
			failures++
		}
	}
	if failures < 100 || failures > 2900 {
		t.Errorf("%d of 3000 machines have sums that diverge", failures)
	}
}

// In reverse, too, an error names the arc that took part: not the one to a state from which no end is reached.
func TestReverseNamesTheArc(t *testing.T) {
	type W = semiring.Tropical
	nan := W(math.NaN())
	f := fst.NewVector[W](4)
	f.AddStates(4)
	f.SetStart(0)
	f.SetFinal(3, 0)
	f.AddArc(0, fst.Arc[W]{Weight: nan, NextState: 1})
	f.AddArc(0, fst.Arc[W]{NextState: 2})
	f.AddArc(2, fst.Arc[W]{Weight: 1, NextState: 3})
	f.AddArc(2, fst.Arc[W]{Weight: nan, NextState: 3})
	f.AddArc(3, fst.Arc[W]{Weight: 5, NextState: 0})
	for _, queue := range []Queue{QueueAuto, QueueFIFO} {
		_, err := ShortestDistance(f, &ShortestDistanceOptions{Reverse: true, Queue: queue})
		var s *StateError
		var a *ArcError
		if !errors.As(err, &s) || !errors.As(err, &a) || s.State != 2 || a.Arc != 1 {
			t.Errorf("%v: %v, want arc 1 of state 2", queue, err)
		}
	}
	f.SetFinal(3, nan)
	_, err := ShortestDistance(f, &ShortestDistanceOptions{Reverse: true, Queue: QueueFIFO})
	var s *StateError
	var a *ArcError
	if !errors.As(err, &s) || !errors.As(err, &a) || s.State != 3 || a.Arc != -1 {
		t.Errorf("%v, want the final weight of state 3", err)
	}
}

// A source that there is not is an error where the number of states is known.
func TestLazySources(t *testing.T) {
	f := fst.NewVector[semiring.Tropical](4)
	f.AddStates(4)
	for _, s := range []fst.StateID{7, 4, -1} {
		if _, err := ShortestDistanceLazy[semiring.Tropical](f, &ShortestDistanceOptions{Sources: []fst.StateID{s}}); !errors.Is(err, ErrNoSource) {
			t.Errorf("source %d: %v", s, err)
		}
	}
	if _, err := ShortestDistanceLazy[semiring.Tropical](fst.NewVector[semiring.Tropical](0), &ShortestDistanceOptions{Sources: []fst.StateID{0}}); !errors.Is(err, ErrNoSource) {
		t.Errorf("no states: %v", err)
	}
}

// A limit is met by results of just its size, and by no larger ones.
func TestLimitsOfResults(t *testing.T) {
	type W = semiring.Tropical
	many := fst.NewVector[W](2)
	many.AddStates(2)
	many.SetStart(0)
	many.SetFinal(1, 0)
	for l := range fst.Label(1500) {
		many.AddArc(0, fst.Arc[W]{ILabel: 1, OLabel: l + 1, NextState: 1})
	}
	chain := fst.NewVector[W](9)
	chain.AddStates(9)
	chain.SetStart(0)
	chain.SetFinal(8, 1)
	for q := range fst.StateID(8) {
		chain.AddArc(q, fst.Arc[W]{OLabel: 1 + fst.Label(q), NextState: q + 1})
	}
	words := fst.NewVector[W](4)
	words.AddStates(4)
	words.SetStart(0)
	words.SetFinal(3, 2)
	words.SetFinal(2, 5)
	for q := range fst.StateID(3) {
		words.AddArc(q, fst.Arc[W]{ILabel: fst.Label(q + 1), OLabel: fst.Label(q + 1), NextState: q + 1})
	}
	words.AddArc(0, fst.Arc[W]{ILabel: 4, OLabel: 4, Weight: 1, NextState: 3})
	for name, op := range map[string]func(Limits) (*fst.Vector[W], error){
		"DeterminizeNonFunctional": func(lim Limits) (*fst.Vector[W], error) {
			return Determinize(many, &DeterminizeOptions{Type: DeterminizeNonFunctional, Limits: lim})
		},
		"EpsNormalize": func(lim Limits) (*fst.Vector[W], error) { return EpsNormalize(chain, Input, lim) },
		"Minimize":     func(lim Limits) (*fst.Vector[W], error) { return Minimize(words, &MinimizeOptions{Limits: lim}) },
		"Minimize a transducer": func(lim Limits) (*fst.Vector[W], error) {
			return Minimize(chain, &MinimizeOptions{Limits: lim, AllowNondet: true})
		},
	} {
		whole, err := op(Limits{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		states, arcs := whole.NumStates(), whole.NumArcs()
		if _, err := op(Limits{States: states, Arcs: int64(arcs)}); err != nil {
			t.Errorf("%s: %d states and %d arcs: %v", name, states, arcs, err)
		}
		for _, lim := range []Limits{{States: states - 1}, {Arcs: int64(arcs) - 1}} {
			if _, err := op(lim); !errors.Is(err, ErrLimit) {
				t.Errorf("%s: %d states and %d arcs within %+v: %v", name, states, arcs, lim, err)
			}
		}
	}
}
