package ops_test

import (
	"errors"
	"math"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Labels that are counted up end at the last that there is, with an error, and do not go on below zero.
func TestCountedLabelsEnd(t *testing.T) {
	type W = semiring.Tropical
	f := fst.NewVector[W](2) // one input, three outputs
	f.AddStates(2)
	f.SetStart(0)
	for l := range fst.Label(3) {
		f.AddArc(0, fst.Arc[W]{ILabel: 1, OLabel: 5 + l, NextState: 1})
	}
	f.SetFinal(1, 0)
	thrice := func(w W) []ops.Factors[W] {
		if w != 3 {
			return nil
		}
		return []ops.Factors[W]{{First: 1, Rest: 2}, {First: 2, Rest: 1}, {First: 3, Rest: 0}}
	}
	g := fst.NewVector[W](1)
	g.AddState()
	g.SetStart(0)
	g.SetFinal(0, 3)
	factor := func(o ops.FactorWeightOptions) func(fst.Label, bool) (fst.Fst[W], error) {
		return func(l fst.Label, lazy bool) (fst.Fst[W], error) {
			o := o
			o.FinalILabel, o.FinalOLabel = l, l
			if lazy {
				m, err := ops.FactorWeightLazy(g, thrice, &o, nil)
				if err != nil {
					return nil, err
				}
				m.Arcs(m.Start())
				return m, m.Err()
			}
			return ops.FactorWeight(g, thrice, &o)
		}
	}
	for _, c := range []struct {
		name  string
		make  func(first fst.Label, lazy bool) (fst.Fst[W], error)
		op    string
		sides [2]bool // which count
		state fst.StateID
	}{
		{"determinize", func(l fst.Label, lazy bool) (fst.Fst[W], error) {
			o := &ops.DeterminizeOptions{Type: ops.DeterminizeNonFunctional, SubsequentialLabel: l, IncrementSubsequentialLabel: true}
			if lazy {
				m, err := ops.DeterminizeLazy(f, o, nil)
				if err != nil {
					return nil, err
				}
				m.Arcs(m.Arcs(m.Start())[0].NextState)
				return m, m.Err()
			}
			return ops.Determinize(f, o)
		}, "Determinize", [2]bool{true, false}, 1},
		{"factorweight input", factor(ops.FactorWeightOptions{IncrementILabel: true}), "FactorWeight", [2]bool{true, false}, 0},
		{"factorweight output", factor(ops.FactorWeightOptions{IncrementOLabel: true}), "FactorWeight", [2]bool{false, true}, 0},
		{"factorweight both", factor(ops.FactorWeightOptions{IncrementILabel: true, IncrementOLabel: true}), "FactorWeight", [2]bool{true, true}, 0},
	} {
		for _, lazy := range []bool{false, true} {
			m, err := c.make(math.MaxInt32-2, lazy) // the last three
			if err != nil {
				t.Fatalf("%s, lazy %v: %v", c.name, lazy, err)
			}
			for i, e := range m.Arcs(c.state) {
				for side, l := range []fst.Label{e.ILabel, e.OLabel} {
					if c.sides[side] && l != math.MaxInt32-2+fst.Label(i) {
						t.Errorf("%s, lazy %v: arc %d has label %d", c.name, lazy, i, l)
					}
				}
			}
			_, err = c.make(math.MaxInt32-1, lazy)
			var l *ops.LimitError
			if !errors.As(err, &l) || !errors.Is(err, ops.ErrLimit) || l.Op != c.op || l.Limit != "labels" || l.Bound != 2 || l.Hint == "" || l.Built == (ops.Progress{}) {
				t.Errorf("%s, lazy %v: %v", c.name, lazy, err)
			}
		}
	}
	// Where they do not count, the last label serves for all.
	o := &ops.DeterminizeOptions{Type: ops.DeterminizeNonFunctional, SubsequentialLabel: math.MaxInt32}
	if m, err := ops.Determinize(f, o); err != nil || m.Arcs(1)[2].ILabel != math.MaxInt32 {
		t.Errorf("not counted: %v", err)
	}
	if _, err := factor(ops.FactorWeightOptions{})(math.MaxInt32, false); err != nil {
		t.Errorf("not counted: %v", err)
	}
}
