package ops_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// An arc or a final weight that is no member of the semiring is named where it takes part in a result, and changes nothing
// where it does not: the result is then that of the machine without it.
func testNotMember[W semiring.Approx[W]](t *testing.T, bad W, to func(semiring.Probability) W) {
	zero := semiring.Zero[W]()
	rng := rand.New(rand.NewPCG(64, 1))
	named, harmless := 0, 0
	for round := range 600 {
		f := as[W](closed[semiring.Probability](rng), to)
		if round%2 == 0 { // keep what goes up: an acyclic machine
			f = upward(f)
		}
		q := fst.StateID(rng.IntN(f.NumStates()))
		arc := rng.IntN(len(f.Arcs(q))+1) - 1
		next := q
		without := f.Clone()
		if arc < 0 {
			f.SetFinal(q, bad)
			without.SetFinal(q, zero)
		} else {
			next = f.Arcs(q)[arc].NextState
			f.MutableArcs(q)[arc].Weight = bad
			arcs := without.Arcs(q)
			kept := append(append([]fst.Arc[W](nil), arcs[:arc]...), arcs[arc+1:]...)
			without.DeleteArcs(q)
			for _, e := range kept {
				without.AddArc(q, e)
			}
		}
		alpha, err := ops.ShortestDistance(without, nil)
		if err != nil {
			t.Fatal(err)
		}
		beta, err := ops.ShortestDistance(without, &ops.ShortestDistanceOptions{Reverse: true})
		if err != nil {
			t.Fatal(err)
		}
		from, ends := !alpha[q].Equal(zero), !beta[next].Equal(zero)
		if arc < 0 {
			ends = true
		}
		// The arc may lead to its own state, or in a circle: then a state has a distance through the arc alone.
		check := func(name string, takesPart bool, want, got []W, err error) {
			t.Helper()
			if !takesPart {
				if harmless++; err != nil {
					t.Fatalf("%s: arc %d of state %d takes no part, %v\n%s", name, arc, q, err, shown(f))
				}
				for k := range want {
					if !got[k].Near(want[k], 1e-3) {
						t.Fatalf("%s: state %d: %v, want %v\n%s", name, k, got[k], want[k], shown(f))
					}
				}
				return
			}
			named++
			var at *ops.StateError
			var which *ops.ArcError
			if !errors.Is(err, ops.ErrNotMember) || !errors.As(err, &at) || !errors.As(err, &which) || at.State != q || which.Arc != arc {
				t.Fatalf("%s: %v (%v), want arc %d of state %d\n%s", name, err, got, arc, q, shown(f))
			}
		}
		d, err := ops.ShortestDistance(f, nil)
		check("forward", from && arc >= 0, alpha, d, err)
		d, err = ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Reverse: true})
		check("reverse", ends, beta, d, err)
		d, err = ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Queue: ops.QueueFIFO, Delta: 1e-10})
		check("forward in a queue", from && arc >= 0, alpha, d, err)
		d, err = ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Queue: ops.QueueFIFO, Delta: 1e-10, Reverse: true})
		check("reverse in a queue", ends, beta, d, err)
		total, err := ops.TotalWeight(f, nil)
		check("total", from, []W{sumOfEnds(without, alpha)}, []W{total}, err)
		if round%2 == 0 {
			d, err = ops.ShortestDistanceAcyclic(f, false)
			check("forward, acyclic", from && arc >= 0, alpha, d, err)
			d, err = ops.ShortestDistanceAcyclic(f, true)
			check("reverse, acyclic", ends, beta, d, err)
		}
		p, err := ops.ForwardBackward(f, nil)
		if takesPart := from && (ends || arc >= 0); takesPart {
			check("forward and backward", true, nil, nil, err)
		} else if err != nil {
			t.Fatal(err)
		} else if !p.Total.Near(sumOfEnds(without, alpha), 1e-5) {
			t.Fatalf("forward and backward: %v in all, want %v", total, sumOfEnds(without, alpha))
		} else {
			for _, w := range append(p.Flat, p.Final...) {
				if !w.Member() {
					t.Fatalf("forward and backward: %v", p)
				}
			}
		}
	}
	if named < 500 || harmless < 500 {
		t.Errorf("%d results with the weight, %d without", named, harmless)
	}
}

// upward leaves out what does not lead to a higher state.
func upward[W semiring.Weight[W]](f *fst.Vector[W]) *fst.Vector[W] {
	g := fst.NewVector[W](f.NumStates())
	g.AddStates(f.NumStates())
	g.SetStart(f.Start())
	for q := range fst.StateID(f.NumStates()) {
		g.SetFinal(q, f.Final(q))
		for _, e := range f.Arcs(q) {
			if e.NextState > q {
				g.AddArc(q, e)
			}
		}
	}
	return g
}

func sumOfEnds[W semiring.Weight[W]](f *fst.Vector[W], alpha []W) W {
	sum := semiring.Zero[W]()
	for q := range alpha {
		sum = sum.Plus(alpha[q].Times(f.Final(fst.StateID(q))))
	}
	return sum
}

func TestNotMember(t *testing.T) {
	nan := math.NaN()
	cost := func(p semiring.Probability) float64 { return -math.Log(float64(p)) }
	type P = semiring.Probability
	t.Run("tropical", func(t *testing.T) {
		testNotMember(t, semiring.Tropical(nan), func(p P) semiring.Tropical { return semiring.Tropical(cost(p)) })
	})
	t.Run("tropical64", func(t *testing.T) {
		testNotMember(t, semiring.Tropical64(nan), func(p P) semiring.Tropical64 { return semiring.Tropical64(cost(p)) })
	})
	t.Run("log", func(t *testing.T) {
		testNotMember(t, semiring.Log(nan), func(p P) semiring.Log { return semiring.Log(cost(p)) })
	})
	t.Run("log64", func(t *testing.T) {
		testNotMember(t, semiring.Log64(nan), func(p P) semiring.Log64 { return semiring.Log64(cost(p)) })
	})
	t.Run("log64 infinite", func(t *testing.T) {
		testNotMember(t, semiring.Log64(math.Inf(-1)), func(p P) semiring.Log64 { return semiring.Log64(cost(p)) })
	})
	t.Run("probability", func(t *testing.T) { testNotMember(t, P(nan), func(p P) P { return p }) })
	t.Run("probability infinite", func(t *testing.T) { testNotMember(t, P(math.Inf(1)), func(p P) P { return p }) })
	t.Run("expectation", func(t *testing.T) {
		testNotMember(t, semiring.Expectation{P: nan, R: 1}, func(p P) semiring.Expectation { return semiring.Expectation{P: float64(p), R: float64(p)} })
	})
}

// In large components, where sums are found by sweeps, and in those whose numbers need a scale each.
func TestNotMemberInLargeComponents(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 2))
	for _, n := range []int{10, 100, 1000} {
		for _, far := range []semiring.Log64{0, 600} {
			for _, bad := range []semiring.Log64{semiring.Log64(math.NaN()), semiring.Log64(math.Inf(-1))} {
				f := fst.NewVector[semiring.Log64](n)
				f.AddStates(n)
				f.SetStart(0)
				for q := range fst.StateID(n) {
					f.AddArc(q, fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 1, Weight: 2 + far, NextState: (q + 1) % fst.StateID(n)})
					f.AddArc(q, fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 1, Weight: 2 + far, NextState: fst.StateID(rng.IntN(n))})
				}
				f.SetFinal(0, 0)
				q, arc := fst.StateID(rng.IntN(n)), rng.IntN(2)
				f.MutableArcs(q)[arc].Weight = bad
				for _, reverse := range []bool{false, true} {
					var at *ops.StateError
					var which *ops.ArcError
					d, err := ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Reverse: reverse})
					if !errors.Is(err, ops.ErrNotMember) || !errors.As(err, &at) || !errors.As(err, &which) || at.State != q || which.Arc != arc {
						t.Fatalf("%d states, weight %v, reverse %v: %v (%v), want arc %d of state %d", n, bad, reverse, err, d, arc, q)
					}
				}
			}
		}
	}
}

// Sums of members that are too large for numbers name the state.
func TestSumOutOfRange(t *testing.T) {
	f := fst.NewVector[semiring.Probability](3)
	f.AddStates(3)
	f.SetStart(0)
	for q := range fst.StateID(2) {
		f.AddArc(q, fst.Arc[semiring.Probability]{ILabel: 1, OLabel: 1, Weight: 1e200, NextState: q + 1})
	}
	f.SetFinal(2, 1)
	for _, reverse := range []bool{false, true} {
		want := fst.StateID(2)
		if reverse {
			want = 0
		}
		var at *ops.StateError
		if _, err := ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Reverse: reverse}); !errors.Is(err, ops.ErrNotMember) || !errors.As(err, &at) || at.State != want {
			t.Errorf("reverse %v: %v, want state %d", reverse, err, want)
		}
	}
}

func shown[W semiring.Weight[W]](f *fst.Vector[W]) string {
	var b strings.Builder
	for q := range fst.StateID(f.NumStates()) {
		fmt.Fprintln(&b, q, f.Final(q), f.Arcs(q))
	}
	return b.String()
}
