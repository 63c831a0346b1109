package ops_test

import (
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Two states are entered with delays of which only the second one is changed by their cycles: left ahead by a in place of right
// ahead by a. Which label a is does not matter, nor whether its bytes look like something else.
func TestTwinsTellsDelaysApart(t *testing.T) {
	for _, labels := range [][2]fst.Label{{7, 7}, {0x7C7C7C7C, 0x7C7C7C7C}, {0x7C000001, 0x17C}, {-1, -1}} {
		f := fst.NewVector[semiring.Tropical](5)
		f.AddStates(5)
		f.SetStart(0)
		arc := func(from fst.StateID, in, out fst.Label, to fst.StateID) {
			f.AddArc(from, fst.Arc[semiring.Tropical]{ILabel: in, OLabel: out, NextState: to})
		}
		a, b, other := labels[0], labels[1], fst.Label(5)
		arc(0, 1, fst.Epsilon, 1)
		arc(0, 1, a, 2)
		arc(0, 2, b, 1)
		arc(0, 2, fst.Epsilon, 2)
		// Round the cycles, a delay of a on the right is the same again: a·(other a) = (a other)·a.
		arc(1, 3, a, 3)
		arc(3, 4, other, 1)
		arc(2, 3, other, 4)
		arc(4, 4, a, 2)
		f.SetFinal(1, 0)
		f.SetFinal(2, 0)
		breach, err := ops.Twins(f, nil)
		if err != nil {
			t.Fatal(err)
		}
		if breach == nil {
			t.Errorf("labels %#x and %#x: no breach", labels[0], labels[1])
			continue
		}
		if breach.Left.ILabels[0] != 2 {
			t.Errorf("labels %#x and %#x: %v, which is none", labels[0], labels[1], breach)
		}
	}
}
