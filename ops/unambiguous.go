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
// f is unambiguous exactly when, of the pairs of different states that one
// string reaches, none has a string that takes both to final states, and no two
// arcs with one label lead from one state to another.
//
// Cost: O(|Q|² + |E|²) steps, on the pairs that are reached alone and no further from the
// start than the shortest evidence, where arcs from one state to another with one label
// count once; memory for the pairs, not for the arcs between them.
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
