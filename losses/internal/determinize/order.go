package determinize

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// TopologicalStates returns the states of f so that every arc goes forward. cyclic is a state on a
// cycle or behind one, NoState where there is none.
func TopologicalStates[W semiring.Weight[W]](f fst.Expanded[W]) (order []fst.StateID, cyclic fst.StateID) {
	n := f.NumStates()
	in := make([]int32, n)
	for q := range fst.StateID(n) {
		for _, e := range f.Arcs(q) {
			in[e.NextState]++
		}
	}
	order = make([]fst.StateID, 0, n)
	for q := range fst.StateID(n) {
		if in[q] == 0 {
			order = append(order, q)
		}
	}
	for i := 0; i < len(order); i++ {
		for _, e := range f.Arcs(order[i]) {
			if in[e.NextState]--; in[e.NextState] == 0 {
				order = append(order, e.NextState)
			}
		}
	}
	if len(order) < n {
		for q := range in {
			if in[q] > 0 {
				return nil, fst.StateID(q)
			}
		}
	}
	return order, fst.NoState
}
