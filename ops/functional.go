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

// Functional tests whether f has at most one output string for each input
// string, ε being no symbol here. It returns nil when that is so, and otherwise
// two paths with one input and two outputs, of the fewest steps that any two
// have: a step reads a label on both, or ε on one. Weights are not looked at.
//
// Of two paths that read the same so far, one's output is ahead of the other's
// by some labels, or they differ for good. f is functional exactly when, at each
// pair of states from which both can go on to accept one string, that lead is the
// same whichever way the pair was reached, and is none at final states.
//
// The search is breadth-first, with two leads a pair, and ends with the first evidence. Others are not needed: a way
// on to final states makes up for one lead at most, and so with one of the first
// two the outputs differ, too, and after no more steps. Of parallel arcs, too, two leads are enough.
//
// Cost: O(|Q|² + |E|²) steps on leads, which are as long as a path at worst, where arcs from one
// state to another with one input label count once; memory for the pairs and leads, and for the arcs between the pairs
// only where leads are long, to do without those of pairs that no string takes to final states.
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
func newSearch[W semiring.Weight[W]](op string, f fst.Expanded[W], opts *SearchOptions) (*square.Square[W], error) {
	if opts == nil {
		opts = &SearchOptions{}
	}
	return square.NewSearch(op, f, opts.Pairs, run.Limits(opts.Limits))
}
