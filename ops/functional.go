package ops

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/square"
	"github.com/tropica-fst/tropica/semiring"
)

// SearchOptions adjusts Unambiguous and Functional; nil is the same as the zero
// value.
type SearchOptions struct {
	// Pairs bounds the pairs of states and of arcs looked at; zero is none.
	// Beyond it the error is ErrUndecided.
	Pairs int64

	// Limits bounds the pairs of states, as its States, and of arcs, as its Arcs.
	Limits
}

// Functional tests whether f has at most one output string for each input string, ε being no symbol
// here. It returns nil when that is so, and otherwise two paths with one input and two outputs, of
// the fewest steps that any two have. A step reads a label on both, or ε on one. Weights are not
// looked at.
//
// Consider two paths that have read the same input. The output of one leads that of the other by
// some labels, or the outputs differ for good. f is functional exactly when two conditions hold.
// Each pair of states with a common accepted string has one lead, however it is reached. Final
// pairs have none.
//
// The search is breadth-first, keeps two leads a pair, and ends with the first evidence. Two leads
// are enough: a continuation to final states can cancel only one of them. The other then gives
// evidence in as few steps. The same holds for parallel arcs.
//
// Cost: O(|Q|² + |E|²) steps on leads, each as long as a path at worst. Parallel arcs with one
// input label count once. Memory holds the pairs and leads. Arcs between pairs are stored only when
// leads grow long, to drop the pairs that lead to no final pair.
//
// After Béal, Carton, Prieur and Sakarovitch (2003), as Unambiguous.
func Functional[W semiring.Weight[W]](f fst.Expanded[W], opts *SearchOptions) (*FunctionalError, error) {
	s, err := newSearch("Functional", f, opts)
	if err != nil {
		return nil, err
	}
	steps, err := square.LeadsApart(s)
	if steps == nil || err != nil {
		return nil, err
	}
	e := &FunctionalError{Op: "Functional", Final: true}
	e.Left, e.Right = pathsOf(s, steps)
	return e, nil
}

// newSearch prepares the square of f for a search under opts.
func newSearch[W semiring.Weight[W]](op string, f fst.Expanded[W],
	opts *SearchOptions) (*square.Square[W], error) {
	if opts == nil {
		opts = &SearchOptions{}
	}
	return square.NewSearch(op, f, opts.Pairs, run.Limits(opts.Limits))
}

// Unambiguous tests whether no two accepting paths of f have the same input labels, ε being one of
// them. On a machine with ε-arcs, call RmEpsilon first. It returns nil when that is so, and
// otherwise two such paths, of the fewest arcs that any two have.
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
