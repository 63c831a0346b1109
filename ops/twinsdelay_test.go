package ops_test

import (
	"errors"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Two ways of one input fall behind one another by an output label a step: delays of up to
// 4096 labels are followed, and beyond them the question is left open rather than the
// memory spent, which grows with the square of the delay.
func TestTwinsBoundsDelays(t *testing.T) {
	for _, c := range []struct {
		steps int
		open  bool
	}{{300, false}, {4300, true}} {
		f := fst.NewVector[semiring.Tropical](2 * c.steps)
		f.AddStates(2*c.steps + 1)
		f.SetStart(0)
		for side := range 2 {
			from := fst.StateID(0)
			for i := range c.steps {
				to := fst.StateID(1 + 2*i + side)
				f.AddArc(from, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: fst.Label(side), NextState: to})
				from = to
			}
			f.SetFinal(from, 0)
			f.AddArc(from, fst.Arc[semiring.Tropical]{ILabel: 2, NextState: from}) // for which the delay matters
		}
		breach, err := ops.Twins(f, nil)
		if breach != nil || errors.Is(err, ops.ErrUndecided) != c.open || !c.open && err != nil {
			t.Errorf("%d steps: %v, %v", c.steps, breach, err)
		}
	}
}

// Where no cycle is ahead the outputs may differ in as many ways as there are paths, and nobody asks which.
func TestTwinsOfAcyclicMachines(t *testing.T) {
	const layers = 40
	f := fst.NewVector[semiring.Tropical](layers + 1)
	f.AddStates(layers + 1)
	f.SetStart(0)
	for q := range fst.StateID(layers) {
		for out := range fst.Label(3) {
			f.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: out, NextState: q + 1})
		}
	}
	f.SetFinal(layers, 0)
	if breach, err := ops.Twins(f, nil); breach != nil || err != nil {
		t.Errorf("%v, %v", breach, err)
	}
	// One that nothing leads to is none ahead.
	q := f.AddState()
	f.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: q})
	f.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 2, NextState: layers})
	if breach, err := ops.Twins(f, nil); breach != nil || err != nil {
		t.Errorf("with a cycle that is not reached: %v, %v", breach, err)
	}
}
