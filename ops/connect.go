package ops

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// Connect trims f in place: the states that lie on no path from the start state
// to a final state go, with their arcs, and the others are renumbered in order.
// Arcs keep their order, and the relation of f does not change. A machine
// without a start state becomes the empty machine.
//
// Cost: O(states + arcs), one depth-first search for components; a component
// reaches a final state when any of its states does.
//
// After R. Tarjan, "Depth-first search and linear graph algorithms", SIAM J.
// Computing 1(2), 1972.
func Connect[W semiring.Weight[W]](f *fst.Vector[W]) {
	if dead, any := useless(f); any {
		f.DeleteStates(dead)
	} else {
		f.SetProperties(f.KnownProperties()&keptByDeletion, fst.AllProperties)
	}
	f.SetProperties(fst.Accessible|fst.CoAccessible,
		fst.Accessible|fst.NotAccessible|fst.CoAccessible|fst.NotCoAccessible)
}

// keptByDeletion are the facts that stay when states or arcs go. Connect uses
// them also when none does, so that its files carry OpenFst's property word.
const keptByDeletion = fst.Expandable | fst.Mutable | fst.Error | fst.Acceptor | fst.IDeterministic | fst.ODeterministic |
	fst.NoEpsilons | fst.NoIEpsilons | fst.NoOEpsilons | fst.ILabelSorted | fst.OLabelSorted | fst.Unweighted |
	fst.Acyclic | fst.InitialAcyclic | fst.TopSorted | fst.UnweightedCycles

// useless marks the states that lie on no path from the start to a final state.
func useless[W semiring.Weight[W]](f *fst.Vector[W]) (dead []bool, any bool) {
	c, live := findComponents(f, nil, fromStart|wantCoaccess)
	dead = live // it is ours: turn it round in place
	for q := range dead {
		dead[q] = !live[q] || c.of[q] < 0
		any = any || dead[q]
	}
	return dead, any
}
