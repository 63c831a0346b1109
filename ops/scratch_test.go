package ops_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// layers is an acyclic machine of so many layers of three states, each with arcs to the next layer.
// Deep ones have no weights, whose residuals would be too many.
func layers(rng *rand.Rand, n, arcs int) *fst.Vector[semiring.Tropical] {
	v := fst.NewVector[semiring.Tropical](3 * n)
	v.AddStates(3 * n)
	v.SetStart(0)
	for q := range fst.StateID(3 * (n - 1)) {
		for range arcs {
			l := fst.Label(1 + rng.IntN(2*arcs))
			e := fst.Arc[semiring.Tropical]{ILabel: l, OLabel: l, NextState: q/3*3 + 3 + fst.StateID(rng.IntN(3))}
			if n < 10 {
				e.Weight = semiring.Tropical(rng.IntN(3))
			}
			v.AddArc(q, e)
		}
	}
	v.SetFinal(fst.StateID(3*n-1), 2)
	return v
}

// What a construction finds in the work space that it borrows makes no difference, nor does the
// size from which a result is not collected in a buffer.
func TestDeterminizeBorrows(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	var all, want []*fst.Vector[semiring.Tropical]
	for range 60 {
		all = append(all, layers(rng, 2+rng.IntN(12), 1+rng.IntN(4)))
	}
	all = append(all, layers(rng, 9000, 2), layers(rng, 900, 30), layers(rng, 3, 1))
	widest := 0
	for _, f := range all {
		// With a limit nothing is borrowed.
		d, err := ops.Determinize(f, &ops.DeterminizeOptions{Limits: ops.Limits{States: 1 << 30}})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, d)
		widest = max(widest, d.NumArcs())
	}
	if widest < 1<<16 {
		t.Fatalf("%d arcs at most: all results fit in the buffer", widest)
	}
	for _, workers := range []int{1, 4} {
		got := make([]*fst.Vector[semiring.Tropical], 3*len(all))
		err := ops.Batch(len(got), ops.Limits{Workers: workers}, func(i int) (err error) {
			got[i], err = ops.Determinize(all[i%len(all)], nil)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range got {
			sameMachine(t, fmt.Sprintf("machine %d, %d workers", i, workers), f, want[i%len(all)])
		}
		// They can be changed as any machine can.
		f := got[0]
		f.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 99, OLabel: 99, NextState: f.AddState()})
		if n := len(f.Arcs(0)); f.Arcs(0)[n-1].ILabel != 99 {
			t.Error("an arc that was added is not the last")
		}
	}
}

// Nor does what a composition finds in the work space that it borrows, after larger and smaller ones,
// with a trace or without, trimmed or not; results share nothing with what is borrowed later.
func TestComposeBorrows(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	b := smallMachine(rng)
	var all, want []*fst.Vector[semiring.Tropical]
	for range 40 {
		all = append(all, largeMachine(rng, 1+rng.IntN(300)))
	}
	all = append(all, largeMachine(rng, 20000), largeMachine(rng, 2), fst.NewVector[semiring.Tropical](0), largeMachine(rng, 6000))
	options := func(i int, lim ops.Limits) *ops.ComposeOptions {
		o := &ops.ComposeOptions{Limits: lim, KeepDead: i%3 == 0}
		if i%4 == 0 {
			o.Trace = &ops.Trace{}
		}
		return o
	}
	var traces []*ops.Trace
	widest := 0
	for i, f := range all {
		// With a limit nothing is borrowed.
		o := options(i, ops.Limits{States: 1 << 30})
		c, err := ops.Compose(f, b, o)
		if err != nil {
			t.Fatal(err)
		}
		want, traces = append(want, c), append(traces, o.Trace)
		widest = max(widest, c.NumArcs())
	}
	if widest < 1<<16 {
		t.Fatalf("%d arcs at most: all results fit in the buffer", widest)
	}
	for _, workers := range []int{1, 4} {
		got := make([]*fst.Vector[semiring.Tropical], 3*len(all))
		err := ops.Batch(len(got), ops.Limits{Workers: workers}, func(i int) (err error) {
			k := i % len(all)
			o := options(k, ops.Limits{Workers: workers / 2})
			if got[i], err = ops.Compose(all[k], b, o); err == nil && o.Trace != nil {
				if !reflect.DeepEqual(o.Trace, traces[k]) {
					err = fmt.Errorf("machine %d: another trace", k)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range got {
			sameMachine(t, fmt.Sprintf("machine %d, %d workers", i, workers), f, want[i%len(all)])
		}
	}
}
