package ops_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// truncated is a machine over log whose states pass on less than they have, so that sums over its cycles converge: slowly, where loss is small.
func truncatedMachine(rng *rand.Rand, states int, epsilons bool, loss float64) *fst.Vector[semiring.Log] {
	f := fst.NewVector[semiring.Log](states)
	f.AddStates(states)
	f.SetStart(0)
	for q := range fst.StateID(states) {
		n := 1 + rng.IntN(4)
		shares, sum := make([]float64, n), loss+rng.Float64()/2
		for i := range shares {
			shares[i] = rng.Float64() + 0.01
			sum += shares[i]
		}
		for i := range shares {
			label := fst.Label(1 + rng.IntN(3))
			if epsilons && rng.IntN(3) > 0 {
				label = fst.Epsilon
			}
			f.AddArc(q, fst.Arc[semiring.Log]{ILabel: label, OLabel: label, Weight: semiring.Log(-math.Log(shares[i] / sum)), NextState: fst.StateID(rng.IntN(states))})
		}
		if rng.IntN(3) == 0 {
			f.SetFinal(q, semiring.Log(rng.Float64()*3))
		}
	}
	return f
}

// printed reads what fstshortestdistance printed.
func printedDistances(t *testing.T, text string) []semiring.Log {
	t.Helper()
	var d []semiring.Log
	for line := range strings.Lines(text) {
		cols := strings.Fields(line)
		w := semiring.Zero[semiring.Log]()
		if cols[1] != "Infinity" {
			x, err := strconv.ParseFloat(cols[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			w = semiring.Log(x)
		}
		d = append(d, w)
	}
	return d
}

// With Truncate sums depend on Delta and on the order of states, and are OpenFst's all the same.
func TestTruncatedSumsAreOpenFsts(t *testing.T) {
	p := newPeer(t)
	rng := rand.New(rand.NewPCG(25, 11))
	const near = 1e-5 // a unit or two in the last place of a float32
	cut := 0
	for i := range 60 {
		f := truncatedMachine(rng, 1+rng.IntN(12), i%2 == 1, []float64{0.01, 0.3}[rng.IntN(2)])
		delta := []float64{1e-6, 1e-3, 0.1, 1, 100}[rng.IntN(5)]
		flag := fmt.Sprintf("--delta=%v", delta)
		write(p, "in", f)
		for _, reverse := range []bool{false, true} {
			queue := []ops.Queue{ops.QueueAuto, ops.QueueAuto, ops.QueueFIFO, ops.QueueLIFO, ops.QueueStateOrder}[rng.IntN(5)]
			if reverse {
				queue = ops.QueueAuto
			}
			touched := 0
			o := &ops.ShortestDistanceOptions{Queue: queue, Reverse: reverse, Delta: delta, Touched: &touched, Truncation: ops.Truncation{Truncate: true}}
			got := fsttest.Must(ops.ShortestDistance(f, o))[:touched]
			want := printedDistances(t, p.must("fstshortestdistance", flag, fmt.Sprintf("--reverse=%v", reverse), "--queue_type="+queue.String(), "in"))
			if len(got) != len(want) {
				t.Fatalf("machine %d, delta %v, reverse %v, queue %v: %d distances, OpenFst has %d", i, delta, reverse, queue, len(got), len(want))
			}
			exact := fsttest.Must(ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Reverse: reverse}))
			for q := range got {
				if !got[q].Near(want[q], near) {
					t.Fatalf("machine %d, delta %v, reverse %v, queue %v, state %d: %v, OpenFst has %v (exact %v)\n%s", i, delta, reverse, queue, q, got[q], want[q], exact[q], printText(f))
				}
				if !exact[q].Near(want[q], 1e-2) {
					cut++
				}
			}
		}
		for _, toFinal := range []bool{false, true} {
			g := f.Clone()
			if err := ops.PushWeights(g, &ops.PushOptions{ToFinal: toFinal, Delta: delta, Truncation: ops.Truncation{Truncate: true}}); err != nil {
				t.Fatal(err)
			}
			p.must("fstpush", "--push_weights", fmt.Sprintf("--to_final=%v", toFinal), flag, "in", "theirs")
			if !sameAs(p, "theirs", g, near) {
				t.Fatalf("machine %d, delta %v, to final %v: pushed otherwise than by OpenFst\n%s", i, delta, toFinal, printText(g))
			}
		}
		if err := ops.RmEpsilon(f, &ops.RmEpsilonOptions{Delta: delta, Truncation: ops.Truncation{Truncate: true}}); err != nil {
			t.Fatal(err)
		}
		p.must("fstrmepsilon", flag, "in", "theirs")
		if !sameAs(p, "theirs", f, near) {
			t.Fatalf("machine %d, delta %v: ε-arcs removed otherwise than by OpenFst\n%s", i, delta, printText(f))
		}
	}
	if cut < 50 {
		t.Errorf("only %d sums were cut by more than 0.01", cut)
	}
}

// A loop of weight 1̄ has no sum: an error, whatever Delta is, unless OpenFst's number is asked for.
func TestDivergentSums(t *testing.T) {
	p := newPeer(t)
	f := fst.NewVector[semiring.Log](1)
	f.AddState()
	f.SetStart(0)
	f.SetFinal(0, 1.25)
	f.AddArc(0, fst.Arc[semiring.Log]{ILabel: 1, OLabel: 1, NextState: 0})
	epsilon := f.Clone()
	epsilon.MutableArcs(0)[0] = fst.Arc[semiring.Log]{NextState: 0}
	epsilon.SetProperties(0, fst.AllProperties)
	write(p, "in", f)
	write(p, "epsilon", epsilon)
	for _, delta := range []float64{0, 1e-3} {
		for _, tr := range []ops.Truncation{{}, {Truncate: true}} {
			_, err := ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Delta: delta, Truncation: tr})
			var cycle *ops.CycleError
			if !errors.Is(err, ops.ErrNotClosed) || !errors.As(err, &cycle) {
				t.Errorf("delta %v, %+v: %v, want ErrNotClosed with the cycle", delta, tr, err)
			}
			if err := ops.PushWeights(f.Clone(), &ops.PushOptions{Delta: delta, Truncation: tr}); !errors.Is(err, ops.ErrNotClosed) {
				t.Errorf("PushWeights, delta %v, %+v: %v, want ErrNotClosed", delta, tr, err)
			}
			if err := ops.RmEpsilon(epsilon.Clone(), &ops.RmEpsilonOptions{Delta: delta, Truncation: tr}); !errors.Is(err, ops.ErrNotClosed) {
				t.Errorf("RmEpsilon, delta %v, %+v: %v, want ErrNotClosed", delta, tr, err)
			}
		}
		flag := "--delta=1e-6"
		if delta > 0 {
			flag = fmt.Sprintf("--delta=%v", delta)
		}
		tr := ops.Truncation{Divergent: true}
		for _, reverse := range []bool{false, true} {
			d, err := ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Delta: delta, Reverse: reverse, Truncation: tr})
			if err != nil {
				t.Fatal(err)
			}
			if want := printedDistances(t, p.must("fstshortestdistance", flag, fmt.Sprintf("--reverse=%v", reverse), "in"))[0]; !d[0].Near(want, 1e-5) {
				t.Errorf("delta %v, reverse %v: %v, OpenFst has %v", delta, reverse, d[0], want)
			}
		}
		g := f.Clone()
		if err := ops.PushWeights(g, &ops.PushOptions{Delta: delta, Truncation: tr}); err != nil {
			t.Fatal(err)
		}
		p.must("fstpush", "--push_weights", flag, "in", "theirs")
		if !sameAs(p, "theirs", g, 1e-5) {
			t.Errorf("delta %v: pushed otherwise than by OpenFst\n%s", delta, printText(g))
		}
		g = epsilon.Clone()
		if err := ops.RmEpsilon(g, &ops.RmEpsilonOptions{Delta: delta, Truncation: tr}); err != nil {
			t.Fatal(err)
		}
		p.must("fstrmepsilon", flag, "epsilon", "theirs")
		if !sameAs(p, "theirs", g, 1e-5) {
			t.Errorf("delta %v: ε-arcs removed otherwise than by OpenFst\n%s", delta, printText(g))
		}
	}
}
