package ops

import (
	"errors"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// What looking ahead learns of the other machine counts against Limits.Bytes, and Retain forgets
// it: here it is far more than the result, which has two states.
func TestLookAheadCountsWhatItLearns(t *testing.T) {
	type arc = fst.Arc[semiring.Tropical]
	const wide, fan = 5000, 50
	a := fst.NewVector[semiring.Tropical](0) // to 5 from state 1; other labels where no pair comes
	a.AddStates(5)
	a.SetStart(0)
	a.AddArc(0, arc{ILabel: 1, OLabel: 0, NextState: 1})
	a.AddArc(1, arc{ILabel: 1, OLabel: 5, NextState: 2})
	a.AddArc(2, arc{ILabel: 1, OLabel: 0, NextState: 2})
	a.AddArc(2, arc{ILabel: 1, OLabel: 5, NextState: 3})
	a.SetFinal(3, 0)
	for l := range fst.Label(wide) {
		a.AddArc(4, arc{ILabel: 1, OLabel: 10 + l, NextState: 3})
	}
	b := fst.NewVector[semiring.Tropical](0)
	b.AddStates(fan + 1)
	b.SetStart(0)
	for q := range fst.StateID(fan) {
		b.AddArc(0, arc{ILabel: 5, OLabel: 5, NextState: q + 1})
		for l := range fst.Label(wide) {
			b.AddArc(q+1, arc{ILabel: 10 + l, OLabel: 10 + l, NextState: 0})
		}
	}
	for _, push := range []bool{false, true} {
		walk := func(lim Limits) (fst.Expander[semiring.Tropical], error) {
			p, err := planCompose[semiring.Tropical](a, b,
				&ComposeOptions{LookAhead: &LookAhead{Side: LookAheadFirst, PushWeights: push, PushLabels: push},
					Limits: lim})
			if err != nil {
				t.Fatal(err)
			}
			c, err := p.expander()
			if err != nil {
				t.Fatal(err)
			}
			last, err := c.Start()
			for q := fst.StateID(0); q <= last && err == nil; q++ {
				var arcs []fst.Arc[semiring.Tropical]
				_, arcs, err = c.Expand(q, nil)
				for _, e := range arcs {
					last = max(last, e.NextState)
				}
			}
			return c, err
		}
		var limit *LimitError
		if _, err := walk(Limits{Bytes: 1 << 20}); !errors.As(err, &limit) {
			t.Errorf("push %v: within a MiB: %v", push, err)
		}
		c, err := walk(Limits{})
		if err != nil {
			t.Fatal(err)
		}
		held := func() int64 {
			if p, ok := c.(*pushComposer[semiring.Tropical]); ok {
				return p.reach.held()
			}
			return c.(*matchedComposer[semiring.Tropical]).ahead.held
		}
		before := held()
		c.(interface{ Retain([]fst.StateID) }).Retain(nil)
		if after := held(); before < 8*fan*wide || after > heldAhead {
			t.Errorf("push %v: %d bytes are held, and %d after Retain", push, before, after)
		}
	}
}
