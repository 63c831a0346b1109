package ops

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/engine"
	"github.com/tropica-fst/tropica/ops/internal/graph"
	"github.com/tropica-fst/tropica/semiring"
)

// DeadEnd returns the first state that the start leads to and that leads to no final state, which
// Connect removes; NoState if there is none. O(states + arcs).
func DeadEnd[W semiring.Weight[W]](f fst.Expanded[W]) fst.StateID {
	c, live := graph.FindComponents(f, nil, graph.FromStart|graph.WantCoaccess)
	for q, of := range c.Of {
		if of >= 0 && !live[q] {
			return fst.StateID(q)
		}
	}
	return fst.NoState
}

// Connect trims f in place: it deletes the states that lie on no path from the start state to a
// final state, with their arcs. The others are renumbered in order. Arcs keep their order, and the
// relation of f does not change. A machine without a start state becomes the empty machine.
//
// Cost: O(states + arcs), for a search from the start and a few sweeps from the highest state down.
// A search backwards decides what they leave undecided. It needs no strongly connected components,
// whose search is slower.
func Connect[W semiring.Weight[W]](f *fst.Vector[W]) { ConnectWorkers(f, 1) }

// ConnectWorkers is Connect by several goroutines; the result is the same for any number of them.
func ConnectWorkers[W semiring.Weight[W]](f *fst.Vector[W], workers int) {
	if dead := graph.UselessSet(f, workers); dead != nil {
		f.Engine(engine.Key{}).DeleteStateSet(dead, workers)
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
