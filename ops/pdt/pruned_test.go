package pdt_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/ops/pdt"
	"github.com/tropica-fst/tropica/semiring"
)

// By definition: what Prune leaves of the expansion.
func TestExpandPrunedAgainstPrune(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 1))
	partly := 0
	for i := range 600 {
		var f *fst.Vector[T]
		var pairs []fst.LabelPair
		if i%2 == 0 {
			f, pairs, _ = drawPDT(rng, 1+rng.IntN(9))
		} else {
			f, pairs = drawBalanced(rng, 4+rng.IntN(16))
		}
		threshold := T(rng.IntN(12)) / 4
		opts := &pdt.ExpandOptions{KeepParens: rng.IntN(2) == 0}
		whole, err := pdt.Expand(f, pairs, opts)
		if errors.Is(err, pdt.ErrUnbounded) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		want := whole.Clone()
		if err := ops.Prune(want, &ops.PruneOptions[T]{Threshold: &threshold}); err != nil {
			t.Fatal(err)
		}
		got, err := pdt.ExpandPruned(f, pairs, threshold, opts)
		if err != nil {
			t.Fatal(err)
		}
		if got.NumStates() != want.NumStates() || !slices.Equal(arcsBetween(got), arcsBetween(want)) {
			t.Fatalf("threshold %v, keep %v:\n%s\nnot\n%s\nof\n%s", threshold, opts.KeepParens, text(got), text(want), text(f))
		}
		if n := want.NumArcs(); n > 0 && n < whole.NumArcs() {
			partly++
		}
	}
	if partly < 80 {
		t.Errorf("only %d machines lost a part", partly)
	}
}

// arcsBetween lists the arcs of f, and its final weights, with how far it is to them and on from them, in order: the same
// for any numbering of the states.
func arcsBetween(f *fst.Vector[T]) []string {
	from := fsttest.Must(ops.ShortestDistance(f, nil))
	to := fsttest.Must(ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Reverse: true}))
	var all []string
	for q := range fst.StateID(f.NumStates()) {
		for _, e := range f.Arcs(q) {
			all = append(all, fmt.Sprint(from[q], e.ILabel, e.OLabel, e.Weight, to[e.NextState]))
		}
		if fst.IsFinal(f, q) {
			all = append(all, fmt.Sprint(from[q], f.Final(q)))
		}
	}
	slices.Sort(all)
	return all
}

func TestExpandPrunedEndsInTime(t *testing.T) {
	f, pairs := benchForward(8000, 1) // seconds
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := pdt.ExpandPruned(f, pairs, 2, &pdt.ExpandOptions{Limits: ops.Limits{Ctx: ctx}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// The best paths are there when they alone are asked for, also where their weight is another when it is summed up
// from the other end, as sums of tenths in 32 bits are.
func TestExpandPrunedKeepsTheBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for i := range 3000 {
		n := 2 + rng.IntN(12)
		f := fst.NewVector[semiring.Tropical](n + 1)
		f.AddStates(n + 1)
		f.SetStart(0)
		for q := range fst.StateID(n) {
			e := fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, Weight: semiring.Tropical(rng.IntN(100)) / 10, NextState: q + 1}
			if q == 0 || int(q) == n-1 {
				e.ILabel = 10 + fst.Label(min(q, 1))
				e.OLabel = e.ILabel
			}
			f.AddArc(q, e)
		}
		f.SetFinal(fst.StateID(n), semiring.Tropical(rng.IntN(100))/10)
		got, err := pdt.ExpandPruned(f, []fst.LabelPair{{From: 10, To: 11}}, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.NumStates() != n+1 || got.NumArcs() != n {
			t.Fatalf("%d: %d states and %d arcs of %d on the one path", i, got.NumStates(), got.NumArcs(), n)
		}
	}
}
