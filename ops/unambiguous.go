package ops

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/square"
	"github.com/tropica-fst/tropica/semiring"
)

// Unambiguous tests whether no two accepting paths of f have the same input
// labels, ε being one of them: on a machine with ε-arcs, call RmEpsilon first. It
// returns nil when that is so, and otherwise two such paths, of the fewest arcs
// that any two have.
//
// f is unambiguous exactly when two conditions hold. No two different states that one string
// reaches accept a common string, and no two arcs with one label lead from one state to another.
//
// Cost: O(|Q|² + |E|²) steps, on reached pairs no further from the start than the shortest
// evidence. Parallel arcs with one label count once. Memory holds the pairs, not the arcs between
// them.
//
// After M.-P. Béal, O. Carton, C. Prieur and J. Sakarovitch, "Squaring
// transducers", Theoretical Computer Science 292(1):45-63, 2003.
func Unambiguous[W semiring.Weight[W]](f fst.Expanded[W], opts *SearchOptions) (*AmbiguousError, error) {
	s, err := newSearch("Unambiguous", f, opts)
	if err != nil {
		return nil, err
	}
	steps, err := square.TwoPaths(s)
	if steps == nil || err != nil {
		return nil, err
	}
	left, right := pathsOf(s, steps)
	return &AmbiguousError{Op: "Unambiguous", Left: left, Right: right}, nil
}
