package ops

import (
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// DefaultDelta is the difference of weights that OpenFst's tools pass over when
// they compare machines.
const DefaultDelta = 1.0 / 1024

// Equal reports whether a and b have the same states and arcs in the same order. Weights are
// compared with a tolerance of delta (0 is exactly). Symbol tables are not compared. See Compare
// for where they differ.
func Equal[W semiring.Approx[W]](a, b fst.Expanded[W], delta float64) bool {
	return Compare(a, b, delta) == nil
}

// Difference tells where two machines first differ.
type Difference struct {
	What  string      // "start state", "number of states", "final weight", "number of arcs", "input label", ...
	State fst.StateID // where, NoState for the machine as a whole
	Arc   int         // position among the arcs of State, -1 where it is none
	A, B  string      // what each has
}

func (d *Difference) String() string {
	where := ""
	if d.State != fst.NoState {
		where = fmt.Sprintf(" of state %d", d.State)
	}
	if d.Arc >= 0 {
		where = fmt.Sprintf(" of arc %d%s", d.Arc, where)
	}
	return fmt.Sprintf("%s%s: %s against %s", d.What, where, d.A, d.B)
}

// Compare returns the first difference of a and b, nil if they are Equal.
func Compare[W semiring.Approx[W]](a, b fst.Expanded[W], delta float64) *Difference {
	differ := func(what string, q fst.StateID, arc int, x, y any) *Difference {
		return &Difference{What: what, State: q, Arc: arc, A: fmt.Sprint(x), B: fmt.Sprint(y)}
	}
	if x, y := a.Start(), b.Start(); x != y {
		return differ("start state", fst.NoState, -1, x, y)
	}
	if x, y := a.NumStates(), b.NumStates(); x != y {
		return differ("number of states", fst.NoState, -1, x, y)
	}
	for i := range a.NumStates() {
		q := fst.StateID(i)
		if x, y := a.Final(q), b.Final(q); !x.Near(y, delta) {
			return differ("final weight", q, -1, x, y)
		}
		ea, eb := a.Arcs(q), b.Arcs(q)
		for k := range min(len(ea), len(eb)) {
			x, y := &ea[k], &eb[k]
			switch {
			case x.ILabel != y.ILabel:
				return differ("input label", q, k, x.ILabel, y.ILabel)
			case x.OLabel != y.OLabel:
				return differ("output label", q, k, x.OLabel, y.OLabel)
			case !x.Weight.Near(y.Weight, delta):
				return differ("weight", q, k, x.Weight, y.Weight)
			case x.NextState != y.NextState:
				return differ("next state", q, k, x.NextState, y.NextState)
			}
		}
		if len(ea) != len(eb) {
			return differ("number of arcs", q, -1, len(ea), len(eb))
		}
	}
	return nil
}
