package pdt

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// Counts says how the parentheses of one stack occur in a machine.
type Counts struct {
	Open, Close             int // arcs with a parenthesis that opens, or closes
	UniqueOpen, UniqueClose int // different ones among them
	OpenStates, CloseStates int // states that an opening one leads to, and that a closing one leaves
}

// Count counts the parentheses of a PDT in O(states + arcs) time.
func Count[W semiring.Weight[W]](f fst.Expanded[W], pairs []fst.LabelPair) Counts {
	return count(f, pairs, func(int32) int32 { return 0 })[0]
}

// CountMulti counts the parentheses of an MPDT, by stack. A label or state that
// parentheses of both stacks concern counts for the one that is met first.
func CountMulti[W semiring.Weight[W]](f fst.Expanded[W], pairs []fst.LabelPair, stack []int32) ([Stacks]Counts, error) {
	if err := CheckStacks("pdt.CountMulti", pairs, stack); err != nil {
		return [Stacks]Counts{}, err
	}
	return count(f, pairs, func(id int32) int32 { return stack[id] - 1 }), nil
}

func count[W semiring.Weight[W]](f fst.Expanded[W], pairs []fst.LabelPair, level func(id int32) int32) (counts [Stacks]Counts) {
	p := newParens(pairs)
	seen := map[fst.Label]bool{}
	opened := make([]bool, f.NumStates())
	closed := make([]bool, f.NumStates())
	for q := range fst.StateID(f.NumStates()) {
		for _, a := range f.Arcs(q) {
			id, opens := p.of(a.ILabel)
			if id == noParen {
				continue
			}
			c := &counts[level(id)]
			n, unique, states, seenState, l := &c.Open, &c.UniqueOpen, &c.OpenStates, &opened[a.NextState], pairs[id].From
			if !opens {
				n, unique, states, seenState, l = &c.Close, &c.UniqueClose, &c.CloseStates, &closed[q], pairs[id].To
			}
			*n++
			if !seen[l] {
				seen[l] = true
				*unique++
			}
			if !*seenState {
				*seenState = true
				*states++
			}
		}
	}
	return counts
}
