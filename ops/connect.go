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
// Cost: O(states + arcs): a search from the start, and a few sweeps from the highest state down,
// with a search backwards among what they leave undecided. Nobody asks for components,
// whose search looks at each state on its path again behind each child.
func Connect[W semiring.Weight[W]](f *fst.Vector[W]) { ConnectWorkers(f, 1) }

// ConnectWorkers is Connect by several goroutines, of which it uses two; the result is the
// same for any number of them. One searches from the start while the other finds what reaches a
// final state, reached or not, which costs more work in all where much is not reached.
func ConnectWorkers[W semiring.Weight[W]](f *fst.Vector[W], workers int) {
	if dead := uselessSet(f, workers); dead != nil {
		f.DeleteStateSet(dead, workers)
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

// reachedStates marks the states that are reached from the start.
func reachedStates[W semiring.Weight[W]](f *fst.Vector[W]) stateSet {
	reached := newStateSet(f.NumStates())
	if f.Start() == fst.NoState {
		return reached
	}
	todo := []fst.StateID{f.Start()}
	reached.add(f.Start())
	// The order in which states are taken does not matter, so that several are taken at once: where their arcs
	// lie is looked up, and the first of them touched, before any is gone through. Misses of the cache then overlap,
	// which one after the other are most of the search: 120 to 88 ms of the whole of Connect on a random machine.
	const batch = 16
	var rows [batch][]fst.Arc[W]
	for len(todo) > 0 {
		k := min(batch, len(todo))
		for i, q := range todo[len(todo)-k:] {
			rows[i] = f.Arcs(q)
		}
		todo = todo[:len(todo)-k]
		first := fst.StateID(0)
		for _, arcs := range rows[:k] {
			if len(arcs) > 0 {
				first |= arcs[0].NextState
			}
		}
		if first < 0 {
			panic("ops: an arc that leads nowhere") // never so, but says that the arcs are wanted
		}
		for _, arcs := range rows[:k] {
			for i := range arcs {
				if t := arcs[i].NextState; !reached.has(t) {
					reached.add(t)
					todo = append(todo, t)
				}
			}
		}
	}
	return reached
}
