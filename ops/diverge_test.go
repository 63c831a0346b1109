package ops_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// sumsOf asks operations that sum over cycles for their errors, with tolerances at which what a turn adds is soon
// too small to be seen.
func sumsOf(f *fst.Vector[semiring.Log64]) map[string]error {
	const delta = 0.01
	out := map[string]error{}
	_, out["ShortestDistance"] = ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Delta: delta, Reverse: true})
	_, out["ShortestDistance, first in first out"] = ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Delta: delta, Reverse: true, Queue: ops.QueueFIFO, MaxVisits: 50_000})
	_, out["Push of weights"] = ops.Push(f, &ops.PushOptions{Delta: delta})
	_, out["Push of labels and weights"] = ops.Push(f, &ops.PushOptions{Delta: delta, Labels: true})
	_, out["Push of labels and weights to the end"] = ops.Push(f, &ops.PushOptions{Delta: delta, Labels: true, ToFinal: true})
	_, out["Minimize"] = ops.Minimize(f, &ops.MinimizeOptions{Delta: delta})
	return out
}

// A sum that diverges is an error, whatever the tolerance, and one that does not is none: of machines whose cycles sum to about 1,
// by Kleene's algorithm.
func TestSumsThatDivergeAtLargeDelta(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	rng := rand.New(rand.NewPCG(5, 19))
	const trials = 600
	diverging := 0
	for range trials {
		f := fsttest.Random(rng, 1+rng.IntN(6), func(rng *rand.Rand) semiring.Log64 { return semiring.Log64(rng.IntN(9))/8 - 0.125 },
			fsttest.Options{Labels: 3, Degree: 1.4, Cyclic: true, Deterministic: true, Final: 0.5})
		if ops.Connect(f); f.Start() == fst.NoState {
			continue
		}
		_, _, closed := closureSums(fst.Expanded[semiring.Log64](f))
		if !closed {
			diverging++
		}
		for name, err := range sumsOf(f) {
			if errors.Is(err, ops.ErrNotClosed) == closed || err != nil && closed {
				t.Fatalf("%s: %v, but the sums are finite: %v\n%s", name, err, closed, printText(f))
			}
		}
	}
	if diverging < trials/10 || diverging > trials*8/10 {
		t.Errorf("%d of %d machines diverge", diverging, trials)
	}
}

// Cycles of more states than are solved by elimination, their arcs along the order of the states, against it,
// and in none: of total weight w a turn they diverge if w is not above 0.
func TestLargeCyclesThatDiverge(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	rng := rand.New(rand.NewPCG(5, 20))
	for _, n := range []int{65, 300} {
		for order, at := range map[string]func(i int) int{
			"along":   func(i int) int { return i },
			"against": func(i int) int { return n - 1 - i },
			"none":    func() func(int) int { p := rng.Perm(n); return func(i int) int { return p[i] } }(),
		} {
			for _, w := range []semiring.Log64{0, -1e-7, -0.01, -3, 0.01, 1} {
				f := fst.NewVector[semiring.Log64](n)
				f.AddStates(n)
				for i := range n {
					e := fst.Arc[semiring.Log64]{ILabel: 1, OLabel: fst.Label(1 + i%3), NextState: fst.StateID(at((i + 1) % n))}
					if i == 5 {
						e.Weight = w
					}
					f.AddArc(fst.StateID(at(i)), e)
				}
				f.SetStart(fst.StateID(at(0)))
				f.SetFinal(fst.StateID(at(n/2)), 0.5)
				for name, err := range sumsOf(f) {
					if (w > 0) != (err == nil) || err != nil && !errors.Is(err, ops.ErrNotClosed) {
						t.Errorf("%d states, arcs %s the order of states, a turn of %v: %s: %v", n, order, w, name, err)
					}
				}
			}
		}
	}
}
