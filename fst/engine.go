package fst

import (
	"github.com/tropica-fst/tropica/fst/engine"
	"github.com/tropica-fst/tropica/semiring"
)

// Engine returns the operations on v that leave its invariants to the caller. They are for package
// ops and may change without notice.
func (v *Vector[W]) Engine(engine.Key) engineOf[W] { return engineOf[W]{v} }

// engineOf has methods instead of Vector, so that users do not meet them.
type engineOf[W semiring.Weight[W]] struct{ v *Vector[W] }

// DeleteStateSet is Vector.DeleteStates of the states q with bit q%64 of dead[q/64] set, by that
// many workers. The result is the same for any number of workers.
func (e engineOf[W]) DeleteStateSet(dead []uint64, workers int) { e.v.deleteStateSet(dead, workers) }

// GiveState is PushState of arcs that are not copied, and belong to the machine from then on: for a
// state of many arcs, tens of thousands, since no others are then put beside them.
func (e engineOf[W]) GiveState(final W, arcs []Arc[W]) StateID {
	v := e.v
	q := v.PushState(final, nil)
	if len(arcs) > maxState {
		panic("fst: more than 2³¹-1 arcs at a state")
	}
	if len(arcs) > 0 {
		top, end := v.top, v.end
		v.giveArcs(q, arcs)
		v.top, v.end = top, end // what is free there stays so
	}
	return q
}

// MarkFinals sets bit q%64 of set[q/64] for each final state q, in time linear in the states.
func (e engineOf[W]) MarkFinals(set []uint64) {
	e.v.eachFinal(func(q StateID) { set[uint32(q)/64] |= 1 << (uint32(q) % 64) })
}

// JoinFinals gives each final state an ε-arc to next, with its final weight, which stays, and
// returns how many there were. It is the step that closes or continues a machine, written so that
// the misses of the cache that each state costs overlap: the closure of a million arcs, 12,000 of
// 250,000 states final, takes 1.4 ms where it took 3.2 with Final and AddArc. Like PushState it
// leaves properties to the caller.
func (e engineOf[W]) JoinFinals(next StateID) int {
	v := e.v
	n := 0
	v.eachFinal(func(q StateID) {
		s := &v.spans[q]
		if s.n == maxState {
			panic("fst: more than 2³¹-1 arcs at a state")
		}
		if s.n == s.room {
			v.moveArcs(s, int(s.n)+1, int(s.n)+1) // one arc, and likely no other
		}
		v.slabs[s.pos>>slabBits][int(s.pos&slabMask)+int(s.n)] = Arc[W]{Weight: v.finals[q], NextState: next}
		s.n++
		n++
	})
	v.arcs += n
	return n
}

// SetRows gives v new states in place of those that it has: state q has final weight finals[q] and
// the arcs rows[q] of s. The arcs are not copied: s and finals are v's from then on.
// Symbol tables stay; there is no start state, and nothing is known of the properties.
// O(states).
func (e engineOf[W]) SetRows(s *RowSet[W], finals []W, rows []Row) {
	v := e.v
	v.Clear()
	base := make([]int64, len(s.writers)<<rowSlabBits)
	for k := range s.writers {
		for i, slab := range s.writers[k].slabs {
			if slab == nil {
				break
			}
			base[k<<rowSlabBits|i] = int64(len(v.slabs)) << slabBits
			v.addSlabs(slab)
		}
	}
	v.top = int64(len(v.slabs)) << slabBits
	v.end = v.top // what is added later goes into a slab of its own
	v.finals = finals
	v.spans = make([]span, len(rows))
	for q, r := range rows {
		if r.n > 0 {
			v.spans[q] = span{pos: base[r.slab] + int64(r.at), n: r.n, room: r.n}
			v.arcs += int(r.n)
		}
	}
}
