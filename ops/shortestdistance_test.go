package ops_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// printDistances is what fstshortestdistance prints.
func printDistances[W ~float32 | ~float64](d []W) string {
	var b strings.Builder
	for q, w := range d {
		fmt.Fprintf(&b, "%d\t%s\n", q, number(float64(w), 9))
	}
	return b.String()
}

func TestShortestDistanceAgainstOpenFst(t *testing.T) {
	p := fsttest.OpenFst(t)
	rng := rand.New(rand.NewPCG(5, 1))
	queues := []ops.Queue{ops.QueueAuto, ops.QueueFIFO, ops.QueueLIFO, ops.QueueShortestFirst, ops.QueueStateOrder, ops.QueueTopOrder}
	for i := range machines(t, 20) {
		s := randomShape(rng)
		f := draw[semiring.Tropical](rng, s)
		in := fsttest.WriteFile(p, fst.Expanded[semiring.Tropical](f), nil)
		touched := 0
		o := &ops.ShortestDistanceOptions{Touched: &touched}
		var args []string
		if rng.IntN(3) == 0 {
			o.Reverse = true
			args = append(args, "--reverse")
		} else {
			o.Queue = queues[rng.IntN(len(queues))]
			args = append(args, "--queue_type="+o.Queue.String())
		}
		r := p.Run("fstshortestdistance", append(args, in)...)
		want, ok := r.Stdout, r.Exit == 0
		d, err := ops.ShortestDistance(f, o)
		if (err == nil) != ok {
			t.Fatalf("machine %d %v: error %v, OpenFst ok %v\n%s", i, args, err, ok, printText(f))
		}
		if err != nil {
			continue
		}
		if got := printDistances(d[:touched]); got != want {
			t.Fatalf("machine %d %v: got\n%swant\n%s%s", i, args, got, want, printText(f))
		}
	}
}

// Over log, exact sums and OpenFst's within 1e-3 relative.
func TestShortestDistanceLogAgainstOpenFst(t *testing.T) {
	p := fsttest.OpenFst(t)
	rng := rand.New(rand.NewPCG(6, 1))
	for i := range machines(t, 20) {
		s := randomShape(rng)
		s.negative, s.unweighted = false, false
		f := draw[semiring.Log64](rng, s)
		for q := range fst.StateID(f.NumStates()) { // leave less than everything to go on
			arcs := f.MutableArcs(q)
			for k := range arcs {
				arcs[k].Weight += semiring.Log64(math.Log(float64(len(arcs)))) + 0.3
			}
		}
		in := fsttest.WriteFile(p, fst.Expanded[semiring.Log64](f), nil)
		reverse := rng.IntN(2) == 0
		want := strings.Fields(p.Do("fstshortestdistance", fmt.Sprintf("--reverse=%v", reverse), "--delta=1e-9", in))
		d, err := ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Reverse: reverse})
		if err != nil {
			t.Fatal(err)
		}
		for k := 0; k < len(want); k += 2 {
			var q int
			var w float64
			fmt.Sscan(want[k], &q)
			fmt.Sscan(strings.Replace(want[k+1], "Infinity", "Inf", 1), &w)
			if got := float64(d[q]); got != w && !(math.Abs(got-w) <= 1e-3*max(1, math.Abs(w))) {
				t.Fatalf("machine %d, state %d: %v, OpenFst %v\n%s", i, q, got, w, printText(f))
			}
		}
	}
}

func TestShortestDistanceNegativeCycle(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	found := 0
	for i := range 600 {
		f := draw[semiring.Tropical](rng, randomShape(rng))
		for q := range fst.StateID(f.NumStates()) {
			arcs := f.MutableArcs(q)
			for k := range arcs {
				arcs[k].Weight -= 2
			}
		}
		o := &ops.ShortestDistanceOptions{Reverse: rng.IntN(2) == 0}
		if !o.Reverse {
			o.Queue = []ops.Queue{ops.QueueAuto, ops.QueueFIFO, ops.QueueShortestFirst}[i%3]
		}
		_, err := ops.ShortestDistance(f, o)
		if err == nil {
			continue
		}
		found++
		var c *ops.CycleError
		if !errors.Is(err, ops.ErrNotClosed) || !errors.As(err, &c) {
			t.Fatalf("error %v is no cycle around ErrNotClosed", err)
		}
		if w := checkCycle(t, f, c.Cycle); !(w < 0) {
			t.Fatalf("the witness %v has weight %v, not below 0", c.Cycle, w)
		}
	}
	if found < 100 {
		t.Fatalf("only %d machines with negative cycles", found)
	}
}

// With the last-in-first-out queue a chain of diamonds, whose longer sides are better, takes exponentially many visits, and
// no more: that is not a sum that does not settle.
func TestLastInFirstOutEnds(t *testing.T) {
	fsttest.OneGoroutine(t)
	const diamonds = 22
	v := fst.NewVector[semiring.Tropical](2*diamonds + 1)
	v.AddStates(2*diamonds + 1)
	v.SetStart(0)
	v.SetFinal(2*diamonds, 0)
	for k := range fst.StateID(diamonds) {
		q := 2 * k
		v.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: q + 1})
		v.AddArc(q+1, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: q + 2})
		v.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, Weight: semiring.Tropical(int(1) << (diamonds - k)), NextState: q + 2})
	}
	d, err := ops.ShortestDistance(v, &ops.ShortestDistanceOptions{Queue: ops.QueueLIFO})
	if err != nil || d[2*diamonds] != 0 {
		t.Fatalf("distances %v, %v, want 0 at the end", d, err)
	}
	best, err := ops.ShortestPath(v, &ops.ShortestPathOptions[semiring.Tropical]{Queue: ops.QueueLIFO})
	if err != nil || best.NumStates() != 2*diamonds+1 {
		t.Fatalf("a path of %v states, %v, want %d", best, err, 2*diamonds+1)
	}
	var short *ops.StateError
	if _, err := ops.ShortestDistance(v, &ops.ShortestDistanceOptions{Queue: ops.QueueLIFO, MaxVisits: 1 << 20}); !errors.As(err, &short) || !errors.Is(err, ops.ErrNotClosed) {
		t.Errorf("with a bound that is given: %v", err)
	}
	sums, err := ops.ShortestDistance(ops.MapInto(v, func(w semiring.Tropical) semiring.Log64 { return semiring.Log64(w) }), &ops.ShortestDistanceOptions{Queue: ops.QueueLIFO, Delta: 1e-9})
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for k := range diamonds {
		want -= math.Log1p(math.Exp(-math.Ldexp(1, diamonds-k)))
	}
	if got := float64(sums[2*diamonds]); math.Abs(got-want) > 1e-6 {
		t.Errorf("the sum is %g, want %g", got, want)
	}
}
