package ops

import (
	"slices"

	"github.com/tropica-fst/tropica/fst"
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

// Unambiguous tests whether no two accepting paths of f have the same input
// labels, ε being one of them: on a machine with ε-arcs, call RmEpsilon first. It
// returns nil when that is so, and otherwise two such paths, with the fewest
// arcs before they part or meet.
//
// f is unambiguous exactly when, of the pairs of different states that one
// string reaches, none has a string that takes both to final states.
//
// Cost: O(|Q|² + |E|²), on the pairs that are reached alone.
//
// After M.-P. Béal, O. Carton, C. Prieur and J. Sakarovitch, "Squaring
// transducers", Theoretical Computer Science 292(1):45-63, 2003.
func Unambiguous[W semiring.Weight[W]](f fst.Expanded[W], opts *SearchOptions) (*AmbiguousError, error) {
	s := newSearch("Unambiguous", f, opts)
	if err := s.explore(); err != nil {
		return nil, err
	}
	if len(s.pairs) == 0 {
		return nil, nil
	}
	co := s.coaccessiblePairs()
	for p := range s.pairs {
		if l, r := s.states(int32(p)); l != r && co[p] {
			left, right := s.paths(append(s.path(0, int32(p), nil), s.toFinal(int32(p))...))
			return &AmbiguousError{Op: "Unambiguous", Left: left, Right: right}, nil
		}
	}
	if s.parallel == nil {
		return nil, nil
	}
	access := s.path(0, s.parallel.pair, nil)
	end, _ := s.arcs(s.parallel.pair, s.parallel.arc)
	rest, _ := pathToFinal[W](f, end.NextState)
	tail := func(k int32) Path {
		arcs := []int32{}
		for _, st := range access {
			arcs = append(arcs, st.arc.left)
		}
		return pathOf[W](f, f.Start(), append(append(arcs, k), rest...))
	}
	return &AmbiguousError{Op: "Unambiguous", Left: tail(s.parallel.arc.left), Right: tail(s.parallel.arc.right)}, nil
}

// newSearch prepares the square of f for a search under opts.
func newSearch[W semiring.Weight[W]](op string, f fst.Expanded[W], opts *SearchOptions) *square[W] {
	if opts == nil {
		opts = &SearchOptions{}
	}
	s := newSquare(f, true, opts.Pairs)
	s.meter = meter{op: op, lim: opts.Limits}
	return s
}

// Functional tests whether f has at most one output string for each input
// string, ε being no symbol here. It returns nil when that is so, and otherwise
// two paths with one input and two outputs. Weights are not looked at.
//
// Of two paths that read the same so far, one's output is ahead of the other's
// by some labels. f is functional exactly when, at each pair of states from which
// both can go on to accept one string, that lead is the same whichever way the
// pair was reached, and is none at final states.
//
// Cost: O(|Q|² + |E|²) steps on leads, which are as long as a path at worst.
//
// After Béal, Carton, Prieur and Sakarovitch (2003), as Unambiguous.
func Functional[W semiring.Weight[W]](f fst.Expanded[W], opts *SearchOptions) (*FunctionalError, error) {
	s := newSearch("Functional", f, opts)
	s.epsFree = false
	s.perPair = 64 // lead, via, seen and queue, as below
	if err := s.explore(); err != nil {
		return nil, err
	}
	if len(s.pairs) == 0 {
		return nil, nil
	}
	co := s.coaccessiblePairs()
	type lead struct{ left, right string }
	leads := make([]lead, len(s.pairs))
	via := make([]pairStep, len(s.pairs))
	seen := make([]bool, len(s.pairs))
	tree := func(p int32) []pairStep {
		var steps []pairStep
		for ; p != 0; p = via[p].pair {
			steps = append(steps, via[p])
		}
		slices.Reverse(steps)
		return steps
	}
	// evidence tries the ways given, each gone on with to final states.
	evidence := func(p int32, ways ...[]pairStep) *FunctionalError {
		rest := s.toFinal(p)
		for _, way := range ways {
			e := &FunctionalError{Op: "Functional", Final: true}
			e.Left, e.Right = s.paths(slices.Concat(way, rest))
			if !slices.Equal(e.Left.Output(), e.Right.Output()) {
				return e
			}
		}
		panic("ops: Functional: two leads, but one output")
	}
	seen[0] = true
	queue := []int32{0}
	for head := 0; head < len(queue); head++ {
		if err := s.check(); err != nil {
			return nil, err
		}
		p := queue[head]
		at := leads[p]
		if l, r := s.states(p); at != (lead{}) && (fst.IsFinal[W](f, l) && fst.IsFinal[W](f, r) || at.left != "" && at.right != "") {
			return evidence(p, tree(p)), nil
		}
		for _, e := range s.out(p) {
			if !co[e.to] {
				continue
			}
			next := at
			l, r := s.arcs(p, e)
			if l != nil {
				next.left = appendLabel(next.left, l.OLabel)
			}
			if r != nil {
				next.right = appendLabel(next.right, r.OLabel)
			}
			next.left, next.right = reduceDelay(next.left, next.right)
			switch {
			case !seen[e.to]:
				seen[e.to], leads[e.to], via[e.to] = true, next, pairStep{p, e}
				s.held += int64(len(next.left) + len(next.right))
				queue = append(queue, e.to)
			case leads[e.to] != next:
				return evidence(e.to, tree(e.to), append(tree(p), pairStep{p, e})), nil
			}
		}
	}
	return nil, nil
}
