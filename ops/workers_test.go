package ops_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// largeMachine is a machine of n states and 4 arcs each, some with ε, some of these round
// cycles, sorted by output label.
func largeMachine(rng *rand.Rand, n int) *fst.Vector[semiring.Tropical] {
	v := fst.NewVector[semiring.Tropical](n)
	v.AddStates(n)
	v.SetStart(0)
	for q := range fst.StateID(n) {
		if rng.IntN(8) == 0 {
			v.SetFinal(q, semiring.Tropical(rng.IntN(64))/4)
		}
		for range 4 {
			e := fst.Arc[semiring.Tropical]{ILabel: fst.Label(1 + rng.IntN(40)), OLabel: fst.Label(1 + rng.IntN(40)),
				Weight: semiring.Tropical(rng.IntN(64)) / 4, NextState: fst.StateID(rng.IntN(n))}
			if rng.IntN(5) == 0 {
				e.ILabel, e.OLabel = fst.Epsilon, fst.Epsilon
			}
			v.AddArc(q, e)
		}
	}
	return v
}

// smallMachine matches every label that largeMachine puts out, and ε-moves by itself.
func smallMachine(rng *rand.Rand) *fst.Vector[semiring.Tropical] {
	const n = 3
	v := fst.NewVector[semiring.Tropical](n)
	v.AddStates(n)
	v.SetStart(0)
	for q := range fst.StateID(n) {
		v.SetFinal(q, 1)
		for l := range fst.Label(41) {
			v.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: l, OLabel: l, Weight: semiring.Tropical(rng.IntN(64)) / 4, NextState: fst.StateID(rng.IntN(n))})
		}
	}
	return v
}

// sameMachine compares states, finals and arcs in order, to the last bit.
func sameMachine(t *testing.T, what string, got, want *fst.Vector[semiring.Tropical]) {
	t.Helper()
	if got.NumStates() != want.NumStates() || got.Start() != want.Start() || got.KnownProperties() != want.KnownProperties() {
		t.Fatalf("%s: %d states from %d, %v; want %d from %d, %v", what, got.NumStates(), got.Start(), got.KnownProperties(),
			want.NumStates(), want.Start(), want.KnownProperties())
	}
	for q := range fst.StateID(want.NumStates()) {
		if got.Final(q) != want.Final(q) {
			t.Fatalf("%s: final weight %v at state %d, want %v", what, got.Final(q), q, want.Final(q))
		}
		if !slices.Equal(got.Arcs(q), want.Arcs(q)) {
			t.Fatalf("%s: arcs of state %d: %v, want %v", what, q, got.Arcs(q), want.Arcs(q))
		}
	}
}

// The result must be the same, to the bit, for any number of workers.
func TestWorkersAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	a, b := largeMachine(rng, 20000), smallMachine(rng)
	composed, err := ops.Compose(a, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if composed.NumStates() < 20000 {
		t.Fatalf("%d states: too few for workers to share", composed.NumStates())
	}
	removed := a.Clone()
	if err := ops.RmEpsilon(removed, nil); err != nil {
		t.Fatal(err)
	}
	kept := a.Clone()
	if err := ops.RmEpsilon(kept, &ops.RmEpsilonOptions{KeepDead: true}); err != nil {
		t.Fatal(err)
	}
	sorted := ops.ArcSorted(a, ops.Output)
	connected := a.Clone()
	ops.Connect(connected)
	for _, w := range []int{2, 3, 8} {
		lim := ops.Limits{Workers: w}
		got, err := ops.Compose(a, b, &ops.ComposeOptions{Limits: lim})
		if err != nil {
			t.Fatal(err)
		}
		sameMachine(t, fmt.Sprintf("Compose with %d workers", w), got, composed)
		got = a.Clone()
		if err := ops.RmEpsilon(got, &ops.RmEpsilonOptions{Limits: lim}); err != nil {
			t.Fatal(err)
		}
		sameMachine(t, fmt.Sprintf("RmEpsilon with %d workers", w), got, removed)
		got = a.Clone()
		if err := ops.RmEpsilon(got, &ops.RmEpsilonOptions{Limits: lim, KeepDead: true}); err != nil {
			t.Fatal(err)
		}
		sameMachine(t, fmt.Sprintf("RmEpsilon, keeping dead states, with %d workers", w), got, kept)
		got = a.Clone()
		ops.ArcSortWorkers(got, ops.Output, w)
		sameMachine(t, fmt.Sprintf("ArcSortWorkers with %d", w), got, sorted)
		got = a.Clone()
		ops.ConnectWorkers(got, w)
		sameMachine(t, fmt.Sprintf("ConnectWorkers with %d", w), got, connected)
	}
}

// ε-removal by several workers, to the bit what one does: random ε-graphs, with many components of
// several states, chains that one worker must wait for the other at, states that are not reached or lead
// nowhere or are reached by ε alone, and weights that sum to 0̄.
func TestRmEpsilonWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	trials := 16
	if testing.Short() { // with the race detector
		trials = 6
	}
	for trial := range trials {
		n := 3000 + rng.IntN(12000)
		degree := []float64{0.8, 1.3, 2, 4}[rng.IntN(4)]
		epsilons := min([]float64{0.05, 0.2, 0.5, 0.8}[rng.IntN(4)], 0.9/degree)
		next := []func(q int) int{
			func(int) int { return rng.IntN(n) },
			func(q int) int { return min(n-1, max(0, q+rng.IntN(25)-5)) },
			func(q int) int { return min(n-1, q+1+rng.IntN(50)) },
			func(q int) int { return (q + 1) % n },
		}[trial%4]
		v := fst.NewVector[semiring.Tropical](n)
		v.AddStates(n)
		v.SetStart(0)
		for q := range n {
			for range int(degree + rng.Float64()) {
				e := fst.Arc[semiring.Tropical]{NextState: fst.StateID(next(q)), Weight: semiring.Tropical(rng.IntN(64)) / 8}
				if rng.Float64() >= epsilons {
					e.ILabel, e.OLabel = fst.Label(1+rng.IntN(5)), fst.Label(rng.IntN(6))
				}
				if trial%3 == 0 && rng.IntN(20) == 0 {
					e.Weight = semiring.Zero[semiring.Tropical]()
				}
				v.AddArc(fst.StateID(q), e)
			}
			if rng.IntN(20) == 0 {
				v.SetFinal(fst.StateID(q), semiring.Tropical(rng.IntN(32))/4)
			}
		}
		for _, dead := range []bool{false, true} {
			want := v.Clone()
			if err := ops.RmEpsilon(want, &ops.RmEpsilonOptions{KeepDead: dead}); err != nil {
				t.Fatal(err)
			}
			if !dead {
				// Trimming first or last is the same, though arcs are found in another order.
				late := v.Clone()
				if err := ops.RmEpsilon(late, &ops.RmEpsilonOptions{KeepDead: true}); err != nil {
					t.Fatal(err)
				}
				ops.Connect(late)
				if late.NumStates() != want.NumStates() || late.NumArcs() != want.NumArcs() {
					t.Fatalf("trial %d: %d states and %d arcs; trimmed afterwards, %d and %d", trial, want.NumStates(), want.NumArcs(), late.NumStates(), late.NumArcs())
				}
			}
			for range 3 {
				for w := 2; w < 5; w++ {
					got := v.Clone()
					if err := ops.RmEpsilon(got, &ops.RmEpsilonOptions{KeepDead: dead, Limits: ops.Limits{Workers: w}}); err != nil {
						t.Fatal(err)
					}
					sameMachine(t, fmt.Sprintf("trial %d, %d workers, keeping dead states: %v", trial, w, dead), got, want)
				}
			}
		}
	}
}

// An ε-cycle whose sum diverges is the same error for any number of workers, and leaves the machine as it was.
func TestRmEpsilonWorkersFail(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 7))
	f := largeMachine(rng, 6000)
	for range 5 { // five of them, of which the first in order is told
		a, b := fst.StateID(rng.IntN(6000)), fst.StateID(rng.IntN(6000))
		f.AddArc(a, fst.Arc[semiring.Tropical]{NextState: b, Weight: -900})
		f.AddArc(b, fst.Arc[semiring.Tropical]{NextState: a, Weight: 1})
	}
	want := ops.RmEpsilon(f.Clone(), nil)
	if !errors.Is(want, ops.ErrNotClosed) {
		t.Fatalf("negative ε-cycles: %v", want)
	}
	for range 5 {
		for w := 2; w < 5; w++ {
			g := f.Clone()
			if err := ops.RmEpsilon(g, &ops.RmEpsilonOptions{Limits: ops.Limits{Workers: w}}); err == nil || err.Error() != want.Error() {
				t.Fatalf("%d workers: %v; one worker: %v", w, err, want)
			}
			sameMachine(t, "after an error", g, f)
		}
	}
}

// Machines with states that are not reached, that lead nowhere, both, and neither.
func TestConnectWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	for trial, arcs := range []float64{0, 0.7, 1.1, 1.5, 2.5, 2.5} {
		const n = 6000
		v := fst.NewVector[semiring.Tropical](n)
		v.AddStates(n)
		if trial < 5 {
			v.SetStart(fst.StateID(rng.IntN(n)))
		}
		for q := range fst.StateID(n) {
			if rng.IntN(200) == 0 {
				v.SetFinal(q, 1)
			}
			for range int(arcs + rng.Float64()) {
				v.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 2, NextState: fst.StateID(rng.IntN(n))})
			}
		}
		chain := fst.NewVector[semiring.Tropical](n) // of which nothing goes
		chain.AddStates(n)
		chain.SetStart(n - 1)
		chain.SetFinal(0, 1)
		for q := range fst.StateID(n - 1) {
			chain.AddArc(q+1, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 2, NextState: q})
		}
		for _, f := range []*fst.Vector[semiring.Tropical]{v, chain} {
			want := f.Clone()
			ops.Connect(want)
			for _, w := range []int{2, 3} {
				got := f.Clone()
				ops.ConnectWorkers(got, w)
				sameMachine(t, fmt.Sprintf("trial %d, %d workers", trial, w), got, want)
				if p, q := got.KnownProperties(), want.KnownProperties(); p != q {
					t.Errorf("trial %d, %d workers: properties %#x, of one worker %#x", trial, w, uint64(p), uint64(q))
				}
			}
		}
	}
}

// A limit stops all workers, and none is left behind to read the operands.
func TestWorkersLimits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	a, b := largeMachine(rng, 20000), smallMachine(rng)
	for _, lim := range []ops.Limits{{States: 9000, Workers: 3}, {Arcs: 30000, Workers: 3}, {Bytes: 1 << 20, Workers: 3}} {
		var stopped *ops.LimitError
		if _, err := ops.Compose(a, b, &ops.ComposeOptions{Limits: lim}); !errors.As(err, &stopped) {
			t.Errorf("Compose within %+v: %v", lim, err)
		}
		if lim.States = min(lim.States, 5000); lim.Bytes > 0 {
			continue
		}
		if err := ops.RmEpsilon(a.Clone(), &ops.RmEpsilonOptions{Limits: lim}); !errors.As(err, &stopped) {
			t.Errorf("RmEpsilon within %+v: %v", lim, err)
		}
	}
}

// Batch returns the error of the lowest item, whichever failed first in time.
func TestBatch(t *testing.T) {
	for _, w := range []int{0, 1, 2, 3, 8} {
		done := make([]bool, 1000)
		err := ops.Batch(len(done), ops.Limits{Workers: w}, func(i int) error {
			done[i] = true
			if i%100 == 37 {
				return fmt.Errorf("item %d", i)
			}
			return nil
		})
		if err == nil || err.Error() != "item 37" {
			t.Errorf("%d workers: error %v", w, err)
		}
		for i := range 38 {
			if !done[i] {
				t.Errorf("%d workers: item %d before the error was left out", w, i)
			}
		}
		sum := make([]int, 1000)
		if err := ops.Batch(len(sum), ops.Limits{Workers: w}, func(i int) error { sum[i]++; return nil }); err != nil {
			t.Error(err)
		}
		for i, n := range sum {
			if n != 1 {
				t.Fatalf("%d workers: item %d done %d times", w, i, n)
			}
		}
	}
}
