package ops

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// rounded returns sums in the weights of the machine: d itself where these are the same. A sum that
// is too large for them, and so would be 0̄, is ErrNotMember.
func rounded[W semiring.Weight[W], D semiring.Weight[D]](op string, d []D) ([]W, error) {
	if d, same := any(d).([]W); same {
		return d, nil
	}
	w := sums.RoundedOnly[W](d)
	if bad := sums.OutsideOf[W]()(w); bad >= 0 {
		return nil, &StateError{Op: op, State: fst.StateID(bad), Err: ErrNotMember}
	}
	for q := range w {
		if semiring.IsZero(w[q]) && !semiring.IsZero(d[q]) {
			return nil, &StateError{Op: op, State: fst.StateID(q), Err: ErrNotMember}
		}
	}
	return w, nil
}

// replaceBy makes f what g is, with the weights rounded. f keeps its symbols.
func replaceBy[W semiring.Weight[W], D semiring.Weight[D]](f *fst.Vector[W], g *fst.Vector[D]) {
	narrow := sums.Narrowing[W, D]()
	c := weightChange[D, W]{kept: true}
	f.Clear()
	f.ReserveStates(g.NumStates())
	f.ReserveArcs(g.NumArcs())
	var arcs []fst.Arc[W]
	for q := range fst.StateID(g.NumStates()) {
		arcs = arcs[:0]
		for _, e := range g.Arcs(q) {
			w := narrow(e.Weight)
			c.arc(w)
			arcs = append(arcs, fst.Arc[W]{ILabel: e.ILabel, OLabel: e.OLabel, Weight: w, NextState: e.NextState})
		}
		final := narrow(g.Final(q))
		c.final(g.Final(q), final)
		f.PushState(final, arcs)
	}
	f.SetStart(g.Start())
	f.SetProperties(c.properties(g.KnownProperties()), fst.AllProperties)
}
