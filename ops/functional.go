package ops

import (
	"math"
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
// returns nil when that is so, and otherwise two such paths, of the fewest arcs
// that any two have.
//
// f is unambiguous exactly when, of the pairs of different states that one
// string reaches, none has a string that takes both to final states, and no two
// arcs with one label lead from one state to another.
//
// Cost: O(|Q|² + |E|²), on the pairs that are reached alone.
//
// After M.-P. Béal, O. Carton, C. Prieur and J. Sakarovitch, "Squaring
// transducers", Theoretical Computer Science 292(1):45-63, 2003.
func Unambiguous[W semiring.Weight[W]](f fst.Expanded[W], opts *SearchOptions) (*AmbiguousError, error) {
	s := newSearch("Unambiguous", f, opts)
	s.perPair = 8 // distances, as below
	if err := s.explore(); err != nil {
		return nil, err
	}
	if len(s.pairs) == 0 {
		return nil, nil
	}
	there, rest := s.distances(), s.finalDistances()
	// Two paths of fewest arcs go through a pair of different states, or part at parallel arcs.
	fewest, through, after := int32(math.MaxInt32), int32(-1), int32(-1)
	var parting []pairStep
	for p := range int32(len(s.pairs)) {
		if l, r := s.states(p); l != r && rest[p] >= 0 && there[p]+rest[p] < fewest {
			fewest, through, after, parting = there[p]+rest[p], p, p, nil
		}
		if s.parallel {
			s.eachParallel(p, func(e pairArc) {
				if n := there[p] + 1 + rest[e.to]; n < fewest {
					fewest, through, after, parting = n, p, e.to, []pairStep{{p, e}}
				}
			})
		}
	}
	if through < 0 {
		return nil, nil
	}
	left, right := s.paths(slices.Concat(s.path(0, through, nil), parting, s.toFinal(after)))
	return &AmbiguousError{Op: "Unambiguous", Left: left, Right: right}, nil
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
// two paths with one input and two outputs, of the fewest steps that any two
// have: a step reads a label on both, or ε on one. Weights are not looked at.
//
// Of two paths that read the same so far, one's output is ahead of the other's
// by some labels, or they differ for good. f is functional exactly when, at each
// pair of states from which both can go on to accept one string, that lead is the
// same whichever way the pair was reached, and is none at final states.
//
// The search is breadth-first, with two leads a pair. Others are not needed: a way
// on to final states makes up for one lead at most, and so with one of the first
// two the outputs differ, too, and after no more steps.
//
// Cost: O(|Q|² + |E|²) steps on leads, which are as long as a path at worst.
//
// After Béal, Carton, Prieur and Sakarovitch (2003), as Unambiguous.
func Functional[W semiring.Weight[W]](f fst.Expanded[W], opts *SearchOptions) (*FunctionalError, error) {
	s := newSearch("Functional", f, opts)
	s.epsFree = false
	s.perPair = 200 // kept and reached, as below, and the room of the latter to grow
	if err := s.explore(); err != nil {
		return nil, err
	}
	if len(s.pairs) == 0 {
		return nil, nil
	}
	rest := s.finalDistances()
	type lead struct{ left, right string }
	apart := lead{"apart", "apart"} // no way on makes up for it
	type place struct {
		lead lead
		pair int32
		from int32 // place before this one
		by   pairArc
	}
	reached := []place{{from: -1}}
	kept := make([][2]int32, len(s.pairs)) // of each pair its places, plus one; zero is none
	kept[0][0] = 1
	for head := int32(0); int(head) < len(reached); head++ {
		if err := s.check(); err != nil {
			return nil, err
		}
		at := reached[head]
		if l, r := s.states(at.pair); at.lead != (lead{}) && fst.IsFinal[W](f, l) && fst.IsFinal[W](f, r) {
			var steps []pairStep
			for p := at; p.from >= 0; p = reached[p.from] {
				steps = append(steps, pairStep{reached[p.from].pair, p.by})
			}
			slices.Reverse(steps)
			e := &FunctionalError{Op: "Functional", Final: true}
			e.Left, e.Right = s.paths(steps)
			return e, nil
		}
		for _, e := range s.out(at.pair) {
			if rest[e.to] < 0 {
				continue
			}
			next := at.lead
			if next != apart {
				l, r := s.arcs(at.pair, e)
				if l != nil {
					next.left = appendLabel(next.left, l.OLabel)
				}
				if r != nil {
					next.right = appendLabel(next.right, r.OLabel)
				}
				if next.left, next.right = reduceDelay(next.left, next.right); next.left != "" && next.right != "" {
					next = apart
				}
			}
			k := &kept[e.to]
			i := slices.Index(k[:], 0)
			if i < 0 || i == 1 && reached[k[0]-1].lead == next {
				continue
			}
			s.held += int64(len(next.left) + len(next.right))
			reached = append(reached, place{next, e.to, head, e})
			k[i] = int32(len(reached))
		}
	}
	return nil, nil
}
