package pdt

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Shared reports whether two searches of ShortestPath enter a third one by the same
// parenthesis: OpenFst 1.7.9 compares the keys of such entries without the search that
// enters, and so may take the one for the other.
func Shared[W semiring.Path[W]](f fst.Expanded[W], pairs []fst.LabelPair) bool {
	s, err := newSearch(f, pairs, ops.QueueFIFO, "Shared", ops.Limits{})
	if err != nil || s.run() != nil {
		return true
	}
	seen := map[int32]bool{}
	for _, c := range s.calls {
		if seen[c.entry] {
			return true
		}
		seen[c.entry] = true
	}
	return false
}

// RecursiveDistance is the weight of the best path as ShortestPath finds it where the stack is not bounded, in order or by rounds, and how many
// search states it takes.
func RecursiveDistance[W semiring.Path[W]](f fst.Expanded[W], pairs []fst.LabelPair, ordered bool) (best W, states int) {
	r := newRecursion(f, newParens(pairs), "RecursiveDistance", ops.Limits{})
	r.ordered = r.ordered && ordered
	if err := r.run(); err != nil {
		panic(err)
	}
	return r.best, len(r.data)
}
