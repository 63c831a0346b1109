package ops_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// onDemand hides all of f that a machine which is computed on demand has not.
type onDemand[W semiring.Weight[W]] struct{ fst.Fst[W] }

// Distances, and errors, are those of ShortestDistance.
func TestLazyDistancesAreThoseInMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(65, 1))
	failed := 0
	for range 400 {
		f := draw[semiring.Tropical](rng, randomShape(rng))
		if rng.IntN(3) == 0 {
			for q := range fst.StateID(f.NumStates()) {
				arcs := f.MutableArcs(q)
				for k := range arcs {
					arcs[k].Weight -= 1
				}
			}
		}
		o := &ops.ShortestDistanceOptions{Queue: ops.QueueFIFO, FirstPath: rng.IntN(4) == 0}
		if rng.IntN(2) == 0 && f.NumStates() > 0 {
			o.Sources = []fst.StateID{fst.StateID(rng.IntN(f.NumStates())), fst.StateID(rng.IntN(f.NumStates()))}
		}
		want, wantErr := ops.ShortestDistance(f, o)
		got, err := ops.ShortestDistanceLazy[semiring.Tropical](onDemand[semiring.Tropical]{f}, o)
		if wantErr != nil {
			failed++
			var c *ops.CycleError
			if !errors.Is(err, ops.ErrNotClosed) || !errors.As(err, &c) {
				t.Fatalf("%v, want %v", err, wantErr)
			}
			if w := checkCycle(t, f, c.Cycle); !(w < 0) {
				t.Fatalf("the witness %v has weight %v, not below 0", c.Cycle, w)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for q, w := range want {
			if met := q < len(got); met && got[q] != w || !met && !semiring.IsZero(w) {
				t.Fatalf("state %d: %v, want %v\n%s", q, got, want, printText(f))
			}
		}
	}
	if failed < 20 {
		t.Errorf("%d machines with cycles that improve", failed)
	}
	for range 200 {
		f := as[semiring.Log64](closed[semiring.Probability](rng), func(p semiring.Probability) semiring.Log64 { return semiring.Log64(-math.Log(float64(p))) })
		want := fsttest.Must(ops.ShortestDistance(f, nil))
		got, err := ops.ShortestDistanceLazy[semiring.Log64](onDemand[semiring.Log64]{f}, &ops.ShortestDistanceOptions{Delta: 1e-9})
		if err != nil {
			t.Fatal(err)
		}
		for q := range got {
			if !within(float64(got[q]), float64(want[q]), 1e-6) {
				t.Fatalf("state %d: %v, want %v\n%s", q, got[q], want[q], printText(f))
			}
		}
	}
}

// A sum round a cycle that diverges does so whatever Delta is, and one that does not has its value.
func TestLazySumsThatDiverge(t *testing.T) {
	fsttest.OneGoroutine(t)
	for _, n := range []int{1, 2, 7} {
		for _, c := range []struct {
			mass   float64
			closed bool
		}{{1, false}, {1.0001, false}, {3, false}, {0.9, true}, {0.5, true}} {
			f := fst.NewVector[semiring.Log64](n)
			f.AddStates(n)
			f.SetStart(0)
			f.SetFinal(0, 0)
			for q := range fst.StateID(n) {
				w := semiring.Log64(0)
				if q == 0 {
					w = semiring.Log64(-math.Log(c.mass))
				}
				f.AddArc(q, fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 1, Weight: w, NextState: (q + 1) % fst.StateID(n)})
			}
			for _, delta := range []float64{0, 1e-3, 0.1, 10} {
				o := &ops.ShortestDistanceOptions{Delta: delta, MaxVisits: 100_000}
				if delta == 0 {
					o.MaxVisits = 0
				}
				d, err := ops.ShortestDistanceLazy[semiring.Log64](onDemand[semiring.Log64]{f}, o)
				if !c.closed {
					if !errors.Is(err, ops.ErrNotClosed) {
						t.Errorf("%d states, mass %v, Delta %v: %v, %v, want ErrNotClosed", n, c.mass, delta, d, err)
					}
					continue
				}
				// What is not passed on is less than half of a visit's share, and the rest of the sum no more than 1/(1-mass) of it.
				if want := math.Log(1 - c.mass); err != nil || !(math.Abs(float64(d[0])-want) <= max(delta, 1e-6)/(1-c.mass)) {
					t.Errorf("%d states, mass %v, Delta %v: %v, %v, want %v", n, c.mass, delta, d, err, want)
				}
			}
		}
	}
}

// So it does where a turn is made by several arcs, of which each adds less than a turn, or where ways round are of different lengths.
func TestLazySumsOfSeveralArcsDiverge(t *testing.T) {
	fsttest.OneGoroutine(t)
	type W = semiring.Log64
	parts := func(n int, masses ...float64) *fst.Vector[W] { // the last arc returns through n states more
		f := fst.NewVector[W](n + 1)
		f.AddStates(n + 1)
		f.SetStart(0)
		for i, m := range masses {
			to := fst.StateID(0)
			if n > 0 && i == len(masses)-1 {
				to = 1
			}
			f.AddArc(0, fst.Arc[W]{ILabel: 1, OLabel: 1, Weight: W(-math.Log(m)), NextState: to})
		}
		for q := range fst.StateID(n) {
			f.AddArc(q+1, fst.Arc[W]{ILabel: 1, OLabel: 1, NextState: (q + 2) % fst.StateID(n+1)})
		}
		return f
	}
	third := 1. / 3
	for name, c := range map[string]struct {
		f    *fst.Vector[W]
		mass float64
	}{
		"three loops":          {parts(0, third, third, third), 1},
		"four loops":           {parts(0, 0.25, 0.25, 0.25, 0.25), 1},
		"a loop and a cycle":   {parts(29, 0.5, 0.5), 1},
		"loops and a cycle":    {parts(5, 0.25, 0.25, 0.25, 0.25), 1},
		"loops that sum to .9": {parts(0, 0.3, 0.3, 0.3), 0.9},
		"a sum of .9":          {parts(29, 0.45, 0.45), 0.9},
	} {
		for _, delta := range []float64{0, 1e-3, 0.1, 1, 10} {
			o := &ops.ShortestDistanceOptions{Delta: delta, MaxVisits: 100_000}
			if delta == 0 {
				o.MaxVisits = 0
			}
			d, err := ops.ShortestDistanceLazy[W](onDemand[W]{c.f}, o)
			if c.mass == 1 {
				if !errors.Is(err, ops.ErrNotClosed) {
					t.Errorf("%s, Delta %v: %v, %v, want ErrNotClosed", name, delta, d[:1], err)
				}
			} else if want := math.Log(1 - c.mass); err != nil || !(math.Abs(float64(d[0])-want) <= max(min(delta, 1), 1e-6)/(1-c.mass)) {
				t.Errorf("%s, Delta %v: %v, %v, want %v", name, delta, d[:1], err, want)
			}
		}
	}
}

// Over Log, too, whose 24 bits lose what a single turn adds to a sum of many, and where a sum of many turns ends it is what it should be.
func TestLazySumsOfFewBits(t *testing.T) {
	fsttest.OneGoroutine(t)
	for _, c := range []struct {
		masses []float64
		want   float64 // 0 where it diverges
	}{
		{masses: []float64{0.25, 0.375, 0.375}}, {masses: []float64{0.25, 0.25, 0.25, 0.25}}, {masses: []float64{0.5, 0.375, 0.125}},
		{[]float64{1 - 0x1p-12}, -12 * math.Ln2}, {[]float64{0.5, 0.5 - 0x1p-11}, -11 * math.Ln2},
	} {
		f := fst.NewVector[semiring.Log](1)
		f.SetStart(f.AddState())
		for _, m := range c.masses {
			f.AddArc(0, fst.Arc[semiring.Log]{ILabel: 1, OLabel: 1, Weight: semiring.Log(-math.Log(m))})
		}
		d, err := ops.ShortestDistanceLazy[semiring.Log](onDemand[semiring.Log]{f}, nil)
		switch {
		case c.want == 0 && !errors.Is(err, ops.ErrNotClosed):
			t.Errorf("%v: %v, %v, want ErrNotClosed", c.masses, d, err)
		case c.want != 0 && (err != nil || !(math.Abs(float64(d[0])-c.want) <= 1e-6*math.Exp(-c.want))): // see TestLazySumsThatDiverge
			t.Errorf("%v: %v, %v, want %v", c.masses, d, err, c.want)
		}
	}
	f := fst.NewVector[semiring.Log](2) // what no float32 is
	f.AddStates(2)
	f.SetStart(0)
	f.AddArc(0, fst.Arc[semiring.Log]{ILabel: 1, OLabel: 1, Weight: -3e38, NextState: 1})
	f.AddArc(1, fst.Arc[semiring.Log]{ILabel: 1, OLabel: 1, Weight: -3e38, NextState: f.AddState()})
	if d, err := ops.ShortestDistanceLazy[semiring.Log](onDemand[semiring.Log]{f}, nil); !errors.Is(err, ops.ErrNotMember) {
		t.Errorf("%v, %v, want ErrNotMember", d, err)
	}
}

func TestLazyDistanceErrors(t *testing.T) {
	f := fst.NewVector[semiring.Log64](3)
	f.AddStates(3)
	f.SetStart(0)
	f.AddArc(0, fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 1, Weight: 1, NextState: 1})
	f.AddArc(1, fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 1, Weight: 1, NextState: 2})
	f.AddArc(1, fst.Arc[semiring.Log64]{ILabel: 2, OLabel: 2, Weight: semiring.Log64(math.NaN()), NextState: 2})
	lazy := onDemand[semiring.Log64]{f}
	var at *ops.StateError
	var arc *ops.ArcError
	if d, err := ops.ShortestDistanceLazy[semiring.Log64](lazy, nil); !errors.Is(err, ops.ErrNotMember) || !errors.As(err, &at) || !errors.As(err, &arc) || at.State != 1 || arc.Arc != 1 {
		t.Errorf("%v, %v, want arc 1 of state 1", d, err)
	}
	for _, o := range []ops.ShortestDistanceOptions{
		{Reverse: true},
		{Queue: ops.QueueShortestFirst},
		{FirstPath: true},
		{Sources: []fst.StateID{-1}},
	} {
		if d, err := ops.ShortestDistanceLazy[semiring.Log64](lazy, &o); err == nil {
			t.Errorf("%+v: %v, and no error", o, d)
		}
	}
	touched := -1
	if _, err := ops.ShortestDistanceLazy[semiring.Log64](lazy, &ops.ShortestDistanceOptions{Sources: []fst.StateID{2}, Touched: &touched}); err != nil || touched != 3 {
		t.Errorf("touched %d, %v, want 3", touched, err)
	}
}

// Of sums that diverge relaxation is told, too, where a queue is named.
func TestDivergentSumInAQueue(t *testing.T) {
	f := fst.NewVector[semiring.Log64](1)
	f.AddStates(1)
	f.SetStart(0)
	f.AddArc(0, fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 1})
	for _, delta := range []float64{0, 1e-6, 2e-6, 1e-3} {
		if d, err := ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Queue: ops.QueueFIFO, Delta: delta}); !errors.Is(err, ops.ErrNotClosed) {
			t.Errorf("Delta %v: %v, %v", delta, d, err)
		}
	}
}
