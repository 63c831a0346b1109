package ops

import (
	"slices"

	"github.com/tropica-fst/tropica/fst"
)

// Trace tells where the arcs and states of a composition came from. Arc i of
// output state q was made from one arc of each operand: of State1(q) in A and of
// State2(q) in B, at the positions that Arcs(q) holds. This is how a quantity of
// an output arc, such as its posterior, is carried back to the machines it
// depends on.
//
// It costs 8 bytes an arc and 16 a state.
type Trace struct {
	offset []int64 // positions of state q: [offset[q], offset[q+1])
	pos1   []int32
	pos2   []int32
	state1 []fst.StateID
	state2 []fst.StateID
}

// NumStates returns the number of states of the output.
func (t *Trace) NumStates() int { return len(t.state1) }

// States returns the states of A and B whose pair (with a state of the filter)
// output state q is.
func (t *Trace) States(q fst.StateID) (s1, s2 fst.StateID) { return t.state1[q], t.state2[q] }

// Arcs returns, for each arc of output state q in order, the position among the
// arcs of s1 and of s2, where s1, s2 = States(q). A position of -1 means that
// the operand did not move: the arc is an ε-move of the other one alone.
// The slices are read-only.
func (t *Trace) Arcs(q fst.StateID) (pos1, pos2 []int32) {
	i, j := t.offset[q], t.offset[q+1]
	return t.pos1[i:j:j], t.pos2[i:j:j]
}

func (t *Trace) reset() {
	t.offset = append(t.offset[:0], 0)
	t.pos1, t.pos2 = t.pos1[:0], t.pos2[:0]
	t.state1, t.state2 = t.state1[:0], t.state2[:0]
}

// endState closes the arcs of the next state, which came from s1 and s2.
func (t *Trace) endState(s1, s2 fst.StateID) {
	t.state1, t.state2 = append(t.state1, s1), append(t.state2, s2)
	t.offset = append(t.offset, int64(len(t.pos1)))
}

// remap follows the removal of dead states, and of the arcs into them. next
// returns the output arcs as they were before.
func (t *Trace) remap(dead []bool, next func(q fst.StateID, i int) fst.StateID) {
	n, k := 0, 0
	for q := range dead {
		i, j := int(t.offset[q]), int(t.offset[q+1])
		if dead[q] {
			continue
		}
		t.offset[n] = int64(k) // n ≤ q: offset[q] has been read
		for p := i; p < j; p++ {
			if !dead[next(fst.StateID(q), p-i)] {
				t.pos1[k], t.pos2[k] = t.pos1[p], t.pos2[p]
				k++
			}
		}
		t.state1[n], t.state2[n] = t.state1[q], t.state2[q]
		n++
	}
	t.offset = append(t.offset[:n], int64(k))
	t.pos1, t.pos2 = slices.Clip(t.pos1[:k]), slices.Clip(t.pos2[:k])
	t.state1, t.state2 = t.state1[:n], t.state2[:n]
}

// add records the positions of the arcs that an output arc is made of. A nil
// Trace takes no note.
func (t *Trace) add(pos1, pos2 int) {
	if t != nil {
		t.pos1, t.pos2 = append(t.pos1, int32(pos1)), append(t.pos2, int32(pos2))
	}
}
