package ops

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// useless marks the states that lie on no path from the start to a final state; nil is none.
func useless[W semiring.Weight[W]](f *fst.Vector[W], workers int) []bool {
	return uselessSet(f, workers).bools(f.NumStates())
}

// uselessSet is useless as a set.
func uselessSet[W semiring.Weight[W]](f *fst.Vector[W], workers int) stateSet {
	return findDead(f, func() stateSet { return reachedStates(f) }, workers)
}

// deadStates marks the states that reach no final state; nil if there are none.
func deadStates[W semiring.Weight[W]](f *fst.Vector[W], workers int) []bool {
	return findDead(f, nil, workers).bools(f.NumStates())
}

// findDead marks the states that reach no final state, and those that are not among what reached
// returns, which no arc from a reached one may leave; nil if there are none.
//
// States are numbered as they are reached, so that most arcs lead to higher numbers, and one sweep
// from the highest state down finds most live states without a reversed copy of the arcs. What it does not
// decide waits at each of its next states, and comes to life with the first of them that does. The whole
// is linear whatever the numbering.
//
// With workers, one finds what is reached while another sweeps, over all states then, and all wake.
func findDead[W semiring.Weight[W]](f *fst.Vector[W], reached func() stateSet, workers int) stateSet {
	if uint64(f.NumArcs()) < 1<<32-1 {
		return findDeadBy[uint32](f, reached, workers)
	}
	return findDeadBy[uint64](f, reached, workers)
}

func findDeadBy[I uint32 | uint64, W semiring.Weight[W]](f *fst.Vector[W], reached func() stateSet, workers int) stateSet {
	n := f.NumStates()
	if n < closeAlone {
		workers = 1
	}
	l := &liveSearch[I, W]{f: f, pending: newStateSet(n)}
	f.MarkFinals(l.pending)
	for i := range l.pending {
		l.pending[i] = ^l.pending[i]
	}
	if n%64 != 0 {
		l.pending[n/64] &= 1<<(n%64) - 1
	}
	var in stateSet
	switch {
	case reached == nil:
		l.sweep()
	case workers < 2:
		in = reached()
		l.pending.keep(in)
		l.sweep()
	default:
		var wg sync.WaitGroup
		wg.Go(func() { in = reached() })
		l.sweep()
		wg.Wait()
		l.pending.keep(in)
	}
	l.wake(workers)
	return l.dead(in)
}

// liveSearch finds what reaches a final state. I counts arcs: the smaller it is, the less of what is
// accessed at random lies outside of a cache.
type liveSearch[I uint32 | uint64, W semiring.Weight[W]] struct {
	f       *fst.Vector[W]
	pending stateSet // what is not known to live
	live    []fst.StateID
	first   []I           // by state: the last that began to wait for it; nil while nothing waits
	rooms   [][]waiter[I] // of 1<<waitingRoomBits each, or what all arcs need
	room    []waiter[I]   // the last of them
	waiting I             // how many wait; they begin at 1
}

// waiter is a state that lives if another does, and the one that waits for the same; 0 is none.
type waiter[I uint32 | uint64] struct {
	state fst.StateID
	next  I
}

const waitingRoomBits = 12

// sweep goes through the pending states from the highest down. Those with an arc to a live one come to life;
// the others wait at all that their arcs lead to.
func (l *liveSearch[I, W]) sweep() {
	for i := len(l.pending) - 1; i >= 0; i-- {
		for rest := l.pending[i]; rest != 0; {
			b := bits.Len64(rest) - 1
			rest &^= 1 << b
			q := fst.StateID(i*64 + b)
			arcs := l.f.Arcs(q)
			lives := false
			for k := range arcs {
				if !l.pending.has(arcs[k].NextState) {
					lives = true
					break
				}
			}
			if !lives {
				l.wait(q, arcs)
				continue
			}
			l.pending.remove(q)
			if l.first != nil && l.first[q] != 0 {
				l.live = append(l.live, q)
			}
		}
	}
}

// wait enters q where its arcs lead.
func (l *liveSearch[I, W]) wait(q fst.StateID, arcs []fst.Arc[W]) {
	if len(arcs) == 0 {
		return
	}
	if l.first == nil {
		l.first = make([]I, l.f.NumStates())
	}
	// Copies, which no store in the loop can change: looked up in l at each arc, the sweep took 14.2 ms for 8.1.
	k, first, room := l.waiting, l.first, l.room
	for i := range arcs {
		k++
		if k%(1<<waitingRoomBits) == 0 || room == nil {
			need := l.f.NumArcs() + 1 - len(l.rooms)<<waitingRoomBits
			room = make([]waiter[I], min(need, 1<<waitingRoomBits))
			l.rooms = append(l.rooms, room)
		}
		at := &first[arcs[i].NextState]
		room[k%(1<<waitingRoomBits)] = waiter[I]{q, *at}
		*at = k
	}
	l.waiting, l.room = k, room
}

// wake brings to life what waits for live states, and what waits for that.
func (l *liveSearch[I, W]) wake(workers int) {
	if len(l.live) == 0 {
		return
	}
	pool := newWorkPool(workers, l.live)
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(func() { l.wakeFrom(pool) })
	}
	l.wakeFrom(pool)
	wg.Wait()
}

// wakeFrom does what is in the pool, until nobody has anything left.
func (l *liveSearch[I, W]) wakeFrom(pool *workPool[[]fst.StateID]) {
	// As in reachedStates, several states are taken at once for misses of the cache to overlap.
	const batch = 16
	var at [batch]I
	pending, first, rooms := l.pending, l.first, l.rooms
	shared := pool.workers > 1
	for todo, ok := pool.take(); ok; todo, ok = pool.take() {
		for len(todo) > 0 {
			if shared && len(todo) >= 4*batch && pool.idle.Load() > 0 {
				half := len(todo) / 2
				pool.put(append([]fst.StateID(nil), todo[half:]...))
				todo = todo[:half]
			}
			k := min(batch, len(todo))
			top := len(todo) - k
			for i, q := range todo[top:] {
				at[i] = first[q]
			}
			todo = todo[:top]
			for k > 0 {
				more := 0
				for _, a := range at[:k] {
					if a == 0 {
						continue
					}
					w := rooms[a>>waitingRoomBits][a%(1<<waitingRoomBits)]
					at[more] = w.next
					more++
					word, bit := &pending[uint32(w.state)/64], uint64(1)<<(uint32(w.state)%64)
					if shared {
						if atomic.LoadUint64(word)&bit == 0 || atomic.AndUint64(word, ^bit)&bit == 0 {
							continue
						}
					} else if *word&bit == 0 {
						continue
					} else {
						*word &^= bit
					}
					todo = append(todo, w.state)
				}
				k = more
			}
		}
	}
}

// dead is what is still pending, and what is not in reached unless that is nil.
func (l *liveSearch[I, W]) dead(reached stateSet) stateSet {
	n := l.f.NumStates()
	some := uint64(0)
	for i := range l.pending {
		if reached != nil {
			l.pending[i] |= ^reached[i]
		}
		if rest := n - i*64; rest < 64 {
			l.pending[i] &= 1<<rest - 1
		}
		some |= l.pending[i]
	}
	if some == 0 {
		return nil
	}
	return l.pending
}

// stateSet has a bit for each state.
type stateSet []uint64

func newStateSet(n int) stateSet { return make(stateSet, (n+63)/64) }

func (s stateSet) has(q fst.StateID) bool { return s[uint32(q)/64]>>(uint32(q)%64)&1 != 0 }
func (s stateSet) add(q fst.StateID)      { s[uint32(q)/64] |= 1 << (uint32(q) % 64) }
func (s stateSet) remove(q fst.StateID)   { s[uint32(q)/64] &^= 1 << (uint32(q) % 64) }

// bools tells of each of n states whether it is in s; nil is nil.
func (s stateSet) bools(n int) []bool {
	if s == nil {
		return nil
	}
	is := make([]bool, n)
	for q := range is {
		is[q] = s.has(fst.StateID(q))
	}
	return is
}

// keep removes what is not in t, which has room for the same states.
func (s stateSet) keep(t stateSet) {
	for i := range s {
		s[i] &= t[i]
	}
}
