package ops

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// weighing is a context that is cancelled when it has been asked so many times, and weighs the heap then.
type weighing struct {
	context.Context
	asked, at int
	live      int64
}

func (c *weighing) Err() error {
	if c.asked++; c.asked != c.at {
		return nil
	}
	c.live = int64(heapInUse())
	return context.Canceled
}

// What operations count as held, at several moments, is what the heap holds.
func TestBytesAreCounted(t *testing.T) {
	fsttest.OneGoroutine(t)
	type W = semiring.Tropical
	rng := rand.New(rand.NewPCG(9, 9))
	random := func(n, degree, labels int, acceptor, forward bool) *fst.Vector[W] {
		f := fst.NewVector[W](n)
		f.AddStates(n)
		f.SetStart(0)
		for q := range fst.StateID(n) {
			for range degree {
				e := fst.Arc[W]{ILabel: fst.Label(1 + rng.IntN(labels)), OLabel: fst.Label(1 + rng.IntN(labels)), NextState: fst.StateID(rng.IntN(n)), Weight: W(rng.IntN(3))}
				if forward {
					e.NextState = min(fst.StateID(n-1), q+1+fst.StateID(rng.IntN(3)))
				}
				if acceptor {
					e.OLabel = e.ILabel
				}
				f.AddArc(q, e)
			}
		}
		f.SetFinal(fst.StateID(n-1), 0)
		return f
	}
	mesh := random(60, 3, 2, true, true)
	square := random(700, 3, 3, true, false)
	for q := range fst.StateID(700) { // unambiguous weights, so that residuals are few
		for i := range square.MutableArcs(q) {
			square.MutableArcs(q)[i].Weight = 0
		}
	}
	tree := fst.NewVector[W](0)
	tree.SetStart(tree.AddState())
	for range 20000 {
		q := fst.StateID(0)
		for range 8 {
			n := tree.AddState()
			tree.AddArc(q, fst.Arc[W]{ILabel: fst.Label(1 + rng.IntN(20)), OLabel: fst.Label(rng.IntN(3)), NextState: n})
			q = n
		}
		tree.SetFinal(q, 1)
	}
	lexicon := tree.Clone()
	Project(lexicon, Input)
	few := fst.NewVector[W](0) // as lexicon, of which pairs share futures
	few.SetStart(few.AddState())
	for range 1500 {
		q := fst.StateID(0)
		for range 8 {
			n := few.AddState()
			l := fst.Label(1 + rng.IntN(20))
			few.AddArc(q, fst.Arc[W]{ILabel: l, OLabel: l, NextState: n})
			q = n
		}
		few.SetFinal(q, 1)
	}
	delayed := random(30000, 2, 3, false, true)
	for q := range fst.StateID(30000) {
		for i := range delayed.MutableArcs(q) {
			if e := &delayed.MutableArcs(q)[i]; rng.IntN(2) == 0 {
				e.OLabel = 0
			}
		}
	}
	calls := random(3000, 3, 6, false, true)
	for name, run := range map[string]func(lim Limits) error{
		"determinize mesh":    func(l Limits) error { _, err := Determinize[W](mesh, &DeterminizeOptions{Limits: l}); return err },
		"determinize lexicon": func(l Limits) error { _, err := Determinize[W](lexicon, &DeterminizeOptions{Limits: l}); return err },
		"determinize least": func(l Limits) error {
			_, err := Determinize[W](tree, &DeterminizeOptions{Type: DeterminizeDisambiguate, Limits: l})
			return err
		},
		"determinize sets": func(l Limits) error {
			_, err := Determinize[W](tree, &DeterminizeOptions{Type: DeterminizeNonFunctional, Limits: l})
			return err
		},
		"disambiguate":        func(l Limits) error { _, err := Disambiguate[W](few, &DisambiguateOptions{Limits: l}); return err },
		"disambiguate square": func(l Limits) error { _, err := Disambiguate[W](square, &DisambiguateOptions{Limits: l}); return err },
		"disambiguate mesh":   func(l Limits) error { _, err := Disambiguate[W](mesh, &DisambiguateOptions{Limits: l}); return err },
		"epsnormalize":        func(l Limits) error { _, err := EpsNormalize[W](tree, Output, l); return err },
		"synchronize":         func(l Limits) error { _, err := Synchronize[W](tree, l); return err },
		"replace": func(l Limits) error {
			_, err := Replace([]Rule[W]{{Label: 9, F: calls}, {Label: 3, F: random(60, 2, 2, false, true)}}, 9, &ReplaceOptions{Limits: l})
			return err
		},
		"factorweight": func(l Limits) error {
			_, err := FactorWeight[W](delayed, FactorOne[W], &FactorWeightOptions{KeepFinals: true, Limits: l})
			return err
		},
	} {
		// How often it looks within its limits.
		all := &weighing{Context: context.Background(), at: -1}
		stop := &countingContext{all, 0, 1 << 30}
		err := run(Limits{Ctx: stop, States: 1 << 17})
		looks := stop.asked
		line := fmt.Sprintf("%-20s %5d looks (%v):", name, looks, err != nil)
		for _, part := range []int{2, 1} {
			before := int64(heapInUse())
			c := &weighing{Context: context.Background(), at: max(1, looks*9/10/part)}
			err := run(Limits{Ctx: c, States: 1 << 17, Bytes: 1 << 40})
			var l *LimitError
			if errors.As(err, &l) && l.Limit == "context" {
				real := c.live - before
				if ratio := float64(l.Built.Bytes) / float64(real); real > 1<<20 && (ratio < 0.66 || ratio > 1.5) {
					t.Errorf("%s: %d bytes counted, and %d held", name, l.Built.Bytes, real)
				}
				line += fmt.Sprintf("  %d/%d = %.2f", l.Built.Bytes>>10, real>>10, float64(l.Built.Bytes)/float64(real))
			}
		}
		t.Log(line)
	}
	runtime.KeepAlive(calls)
}
