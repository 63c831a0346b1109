package ops

import (
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// The delayed forms can forget states (fst.Lazy.Retain): the table of pairs, of subsets or of what
// else states are made of is then made anew of those that are left. O(states that are left). Those
// of RmEpsilonLazy are its operand's, and have no table. Arcs that were made before count for no
// limit any more: what a limit holds for is what there is.

// Retain forgets all states but live.
func (c *Composer[W]) Retain(live []fst.StateID) { c.table = c.table.Only(live) }

// Retain forgets all states but live. The start, with which weights are pushed, stays in the table.
func (c *matchedComposer[W]) Retain(live []fst.StateID) {
	old := c.table
	c.table, c.arcs = old.Only(live), 0
	if c.ahead != nil {
		c.ahead.forget()
	}
	if c.start != fst.NoState {
		c.start = c.table.ID(old.Keys[c.start])
	}
}

// Retain forgets all states but live.
func (c *pushComposer[W]) Retain(live []fst.StateID) {
	old, weights := c.table, c.ahead
	c.table, c.taken, c.ahead, c.arcs = fst.NewTable(hashPushState), fst.NewTable[string](nil), nil, 0
	for _, q := range live {
		s := old.Key(q)
		s.taken = c.take(weights[s.taken])
		c.table.ID(s)
	}
	c.reach.forget()
}

// Retain forgets all subsets but live. What is found to be wrong later is told by the labels
// from a subset that was kept, and not from the start.
func (d *acceptorDeterminizer[W]) Retain(live []fst.StateID) { d.m.retain(live) }

// Retain forgets all states but live. Of output strings, those of residuals and those that are left
// behind final states, there are at most twice as many left as these states need.
func (d *outputDeterminizer[W, R, A]) Retain(live []fst.StateID) {
	old := d.states
	d.states, d.ofSubset, d.ofRest, d.ofNothing, d.superfinal = nil, nil, nil, fst.NoState, fst.NoState
	rests := d.retainRests(old, live)
	var subsets []fst.StateID
	for i, q := range live {
		s := old[q]
		if s.subset == -1 {
			s.rest = rests[i]
			d.ofTail(s.rest) // which adds the state
			continue
		}
		id := fst.StateID(len(d.states))
		switch s.subset {
		case -2:
			d.superfinal = id
		default:
			subsets = append(subsets, fst.StateID(s.subset))
			s.subset = int32(len(d.ofSubset))
			d.ofSubset = append(d.ofSubset, id)
		}
		d.states = append(d.states, s)
	}
	d.m.retain(subsets)
	d.count(0)
}

// retainRests returns the rests of the given states, NoState of those that are none, and forgets
// others when there are twice as many as the last time that it went through them: each new one then
// pays for two.
func (d *outputDeterminizer[W, R, A]) retainRests(states []outputState, live []fst.StateID) []fst.StateID {
	rests := make([]fst.StateID, len(live))
	for i, q := range live {
		rests[i] = states[q].rest
		if states[q].subset != -1 {
			rests[i] = fst.NoState
		}
	}
	if d.rests.Len() <= 2*d.left+retainedLeast {
		return rests
	}
	old := d.rests
	d.rests = fst.NewTable[outputRest](nil)
	moved := map[fst.StateID]fst.StateID{fst.NoState: fst.NoState}
	var chain []fst.StateID // from a rest to one that has been moved
	for i, r := range rests {
		chain = chain[:0]
		at, known := moved[r]
		for ; !known; at, known = moved[r] {
			chain = append(chain, r)
			r = old.Key(r).tail
		}
		for _, r := range slices.Backward(chain) {
			at, _ = d.rests.ID(outputRest{old.Key(r).label, at})
			moved[r] = at
		}
		rests[i] = at
	}
	d.left = d.rests.Len()
	return rests
}

func (m *subsetMachine[W, R, A]) retain(live []fst.StateID) {
	old := m.table
	m.table, m.arcs, m.retained = newSubsetTable[R](), 0, true
	for _, q := range live {
		subset := old.subset(q)
		copy(m.table.add(m.hash(subset, fst.NoState), len(subset), fst.NoState, fst.NoLabel), subset)
	}
	m.ahead = warmer[W]{f: m.ahead.f} // which was somewhere in the old pages
	m.alg.only(func(yield func(*R) bool) {
		for q := range live {
			subset := m.table.subset(fst.StateID(q))
			for i := range subset {
				if !yield(&subset[i].residual) {
					return
				}
			}
		}
	})
}

// Retain forgets all states but live.
func (d *subtraction[W]) Retain(live []fst.StateID) { d.table = d.table.Only(live) }

// Retain forgets all states but live.
func (r *rational[W]) Retain(live []fst.StateID) { r.table = r.table.Only(live) }

// Retain forgets all states but live, and the calls that stand open in none of them. Those it goes
// through only when there are twice as many as it left the last time: each new call pays for two,
// and not each Retain for the depth of a stack.
func (r *replacer[W]) Retain(live []fst.StateID) {
	if r.stacks.Len() <= 2*r.left+retainedLeast {
		r.table = r.table.Only(live)
		return
	}
	states, stacks := r.table, r.stacks
	r.table, r.stacks = fst.NewTable[callState](nil), fst.NewTable[callFrame](nil)
	r.stacks.ID(callFrame{})
	moved := map[fst.StateID]fst.StateID{0: 0}
	var open []fst.StateID // the stacks from a state's down to one that has been moved
	for _, q := range live {
		c := states.Key(q)
		open = open[:0]
		at, known := moved[c.stack]
		for s := c.stack; !known; at, known = moved[s] {
			open = append(open, s)
			s = stacks.Key(s).below
		}
		for _, s := range slices.Backward(open) {
			frame := stacks.Key(s)
			frame.below = at
			at, _ = r.stacks.ID(frame)
			moved[s] = at
		}
		c.stack = at
		r.table.ID(c)
	}
	r.left = r.stacks.Len()
}

// retainedLeast is how many open calls, rests or labels are not worth going through.
const retainedLeast = 64

// Retain forgets all states but live, and the strings that none of them has to put out.
func (s *synchronizer[W]) Retain(live []fst.StateID) {
	states := s.table
	s.table = fst.NewTable[delayed](nil)
	var words []int32
	for _, q := range live {
		d := states.Key(q)
		words = append(words, d.in, d.out)
	}
	var now map[int32]int32
	s.words, now = s.words.only(words)
	for _, q := range live {
		d := states.Key(q)
		d.in, d.out = now[d.in], now[d.out]
		s.table.ID(d)
	}
}

// Retain forgets all states but live.
func (x *factorer[W]) Retain(live []fst.StateID) {
	states := x.states
	x.states, x.plain, x.ids, x.owing, x.arcs, x.held = nil, nil, run.KeyTable{}, nil, 0, 0
	for _, q := range live {
		x.id(states[q].state, states[q].weight)
	}
}

var (
	_ fst.Retainer = (*subtraction[semiring.Tropical])(nil)
	_ fst.Retainer = (*rational[semiring.Tropical])(nil)
	_ fst.Retainer = (*replacer[semiring.Tropical])(nil)
	_ fst.Retainer = (*synchronizer[semiring.Tropical])(nil)
	_ fst.Retainer = (*factorer[semiring.Tropical])(nil)
	_ fst.Retainer = (*Composer[semiring.Tropical])(nil)
	_ fst.Retainer = (*matchedComposer[semiring.Tropical])(nil)
	_ fst.Retainer = (*pushComposer[semiring.Tropical])(nil)
	_ fst.Retainer = (*acceptorDeterminizer[semiring.Tropical])(nil)
	_ fst.Retainer = (*outputDeterminizer[semiring.Tropical, outResidual[semiring.Tropical], *outputResiduals[semiring.Tropical]])(nil)
)
