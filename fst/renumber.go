package fst

// RenumberStates makes state q the state order[q], where order is a
// permutation of the states: final weights, the start and the next states of
// arcs follow, the arcs of a state keep their order, and no arc moves in
// memory. The known properties that depend on numbers, TopSorted and String,
// are forgotten; the others stay. It costs O(states + arcs).
func (v *Vector[W]) RenumberStates(order []StateID) {
	if len(order) != len(v.finals) {
		panic("fst: RenumberStates: one new number a state is needed")
	}
	p := v.knownProps()
	finals, spans := make([]W, len(order)), make([]span, len(order))
	for q, n := range order {
		finals[n], spans[n] = v.finals[q], v.spans[q]
		arcs := v.arcsOf(v.spans[q])
		for i := range arcs {
			arcs[i].NextState = order[arcs[i].NextState]
		}
	}
	v.finals, v.spans = finals, spans
	if v.start > 0 {
		v.start = order[v.start-1] + 1
	}
	v.setProps(p &^ (TopSorted | NotTopSorted | String | NotString))
}
