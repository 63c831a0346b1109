package ops_test

import (
	"errors"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// The result of LabelLookAhead is within its limits, or none.
func TestLabelLookAheadLimits(t *testing.T) {
	type W = semiring.Tropical
	const n = 200 // states in a line, each of which has arcs to the next two and so reaches labels of its own
	f := fst.NewVector[W](n)
	f.AddStates(n)
	f.SetStart(0)
	for q := range fst.StateID(n - 2) {
		f.AddArc(q, fst.Arc[W]{ILabel: 1 + fst.Label(q), NextState: q + 1})
		f.AddArc(q, fst.Arc[W]{NextState: q + 2})
	}
	f.SetFinal(n-1, 0)
	arcs := int64(f.NumArcs())
	twice := 2 * ops.SizeOf[W](n, arcs).Bytes
	for _, c := range []struct {
		lim  ops.Limits
		over string
	}{
		{ops.Limits{States: n, Arcs: arcs, Bytes: 1 << 20}, ""},
		{ops.Limits{States: n - 1}, "states"},
		{ops.Limits{Arcs: arcs - 1}, "arcs"},
		{ops.Limits{Bytes: twice - 1}, "bytes"},
		{ops.Limits{Bytes: twice}, "bytes"}, // and intervals
	} {
		out, pairs, err := ops.LabelLookAhead(f, ops.Input, c.lim)
		if c.over == "" {
			if err != nil || out.NumStates() != n {
				t.Errorf("within %+v: %v", c.lim, err)
			}
			continue
		}
		var l *ops.LimitError
		if !errors.As(err, &l) || l.Limit != c.over || l.Op != "LabelLookAhead" || out != nil || pairs != nil {
			t.Errorf("within %+v: %v", c.lim, err)
		}
	}
}
