package graph

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/engine"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// Useless marks the states that lie on no path from the start to a final state; nil is none.
func Useless[W semiring.Weight[W]](f *fst.Vector[W], workers int) []bool {
	return UselessSet(f, workers).Bools(f.NumStates())
}

// UselessSet is Useless as a set.
func UselessSet[W semiring.Weight[W]](f *fst.Vector[W], workers int) StateSet {
	return FindDead(f, true, workers)
}

// DeadStates marks the states that reach no final state; nil if there are none.
func DeadStates[W semiring.Weight[W]](f *fst.Vector[W], workers int) []bool {
	return FindDead(f, false, workers).Bools(f.NumStates())
}

// FindDead marks the states that reach no final state, with fromStart also those that are not
// reached from the start; nil if there are none.
//
// States are numbered as they are reached, so most arcs lead to higher numbers. One sweep from the
// highest state down therefore finds most live states without a reversed copy of the arcs. An
// undecided state waits at each of its next states, and becomes live with the first of them that
// does. The whole is linear whatever the numbering, and for any number of workers.
func FindDead[W semiring.Weight[W]](f *fst.Vector[W], fromStart bool, workers int) StateSet {
	if f.NumStates() < run.AloneStates {
		workers = 1
	}
	if uint64(f.NumArcs())+uint64(workers+1)<<waitingRoomBits < 1<<32-1 {
		return findDeadBy[uint32](f, fromStart, workers)
	}
	return findDeadBy[uint64](f, fromStart, workers)
}

func findDeadBy[I uint32 | uint64, W semiring.Weight[W]](f *fst.Vector[W], fromStart bool,
	workers int) StateSet {
	n := f.NumStates()
	l := &liveSearch[I, W]{f: f, pending: NewStateSet(n)}
	f.Engine(engine.Key{}).MarkFinals(l.pending)
	for i := range l.pending {
		l.pending[i] = ^l.pending[i]
	}
	if n%64 != 0 {
		l.pending[n/64] &= 1<<(n%64) - 1
	}
	var in StateSet
	if fromStart {
		in = Reached(f, workers)
		l.pending.Keep(in)
	}
	if workers > 1 {
		l.sweepTwo()
	} else {
		l.sweep()
	}
	l.wake(workers)
	return l.dead(in)
}

// liveSearch finds what reaches a final state. I counts arcs: the smaller it is, the less of what
// is accessed at random lies outside of a cache.
type liveSearch[I uint32 | uint64, W semiring.Weight[W]] struct {
	f       *fst.Vector[W]
	pending StateSet // what is not known to live
	live    []fst.StateID
	first   []I           // by state: the last that began to wait for it; nil while nothing waits
	rooms   [][]waiter[I] // of 1<<waitingRoomBits each, or what all arcs need
	used    atomic.Int64  // rooms that somebody has
}

// waiter is a state that lives if another does, and the one that waits for the same; 0 is none.
type waiter[I uint32 | uint64] struct {
	state fst.StateID
	next  I
}

const waitingRoomBits = 12

// sweep goes through the pending states from the highest down. Those with an arc to a live one come
// to life; the others wait at all that their arcs lead to.
func (l *liveSearch[I, W]) sweep() {
	s := sweeper[I, W]{liveSearch: l}
	for i := len(l.pending) - 1; i >= 0; i-- {
		for rest := l.pending[i]; rest != 0; {
			b := bits.Len64(rest) - 1
			rest &^= 1 << b
			q := fst.StateID(i*64 + b)
			arcs := l.f.Arcs(q)
			lives := false
			for k := range arcs {
				if !l.pending.Has(arcs[k].NextState) {
					lives = true
					break
				}
			}
			if !lives {
				s.wait(q, arcs)
				continue
			}
			l.pending.Remove(q)
			if l.first != nil && l.first[q] != 0 {
				l.live = append(l.live, q)
			}
		}
	}
}

// sweepTwo is sweep by two goroutines: one begins at the highest state and the other in the middle.
// What the second looks at may lead to states that the first has not come to, and waits for them.
// Where it finds less than half as many live ones, since arcs lead to states near by, it leaves the
// rest to the first.
func (l *liveSearch[I, W]) sweepTwo() {
	l.prepareToWait(2)
	const block = 64 // words
	middle := len(l.pending) / 2
	var upper, lower sweepPart
	upper.next.Store(int64(len(l.pending)))
	lower.next.Store(int64(middle))
	run.Together(2, func() {}, func(k int) { // each ends by itself
		s := &sweeper[I, W]{liveSearch: l, shared: true}
		if k == 1 {
			for s.sweepBlock(&lower, 0, block) && 2*lower.share() >= upper.share() {
			}
			return
		}
		for s.sweepBlock(&upper, middle, block) {
		}
		for s.sweepBlock(&lower, 0, block) {
		}
	})
	// From here on no state begins to wait.
	for i, word := range l.pending {
		lo := i * 64
		for k, at := range l.first[lo:min(lo+64, len(l.first))] {
			if at != 0 && word>>k&1 == 0 {
				l.live = append(l.live, fst.StateID(lo+k))
			}
		}
	}
}

// sweepPart is a part of the states that is swept downwards.
type sweepPart struct {
	next          atomic.Int64 // the word of pending above which all are taken
	looked, lived atomic.Int64 // states that were pending, and those of them that live
}

// share is how many in a thousand of those looked at live.
func (p *sweepPart) share() int64 { return p.lived.Load() * 1000 / max(1, p.looked.Load()) }

// sweepBlock sweeps the next block of a part that ends at word lo, and returns false if there is
// none.
func (s *sweeper[I, W]) sweepBlock(p *sweepPart, lo, block int) bool {
	hi := int(p.next.Add(int64(-block))) + block
	if hi <= lo {
		return false
	}
	looked, lived := s.sweepShared(max(lo, hi-block), hi)
	p.looked.Add(int64(looked))
	p.lived.Add(int64(lived))
	return true
}

// sweeper is one that sweeps, and enters states where they wait.
type sweeper[I uint32 | uint64, W semiring.Weight[W]] struct {
	*liveSearch[I, W]
	shared bool
	room   []waiter[I] // that it fills
	last   I           // the number of the last that it entered
}

// sweepShared is sweep over the states of some words of pending, which no other worker has. It
// returns how many were pending, and how many of them live.
func (s *sweeper[I, W]) sweepShared(lo, hi int) (looked, lived int) {
	pending := s.pending
	for i := hi - 1; i >= lo; i-- {
		word := pending[i]
		left := word // what the others are told of when the word is done
		for rest := word; rest != 0; {
			b := bits.Len64(rest) - 1
			rest &^= 1 << b
			q := fst.StateID(i*64 + b)
			arcs := s.f.Arcs(q)
			lives := false
			for k := range arcs {
				t := uint32(arcs[k].NextState)
				w := left
				if int(t/64) != i {
					w = atomic.LoadUint64(&pending[t/64])
				}
				if w>>(t%64)&1 == 0 {
					lives = true
					break
				}
			}
			if lives {
				left &^= 1 << b
			} else {
				s.wait(q, arcs)
			}
		}
		if left != word {
			atomic.StoreUint64(&pending[i], left)
		}
		looked += bits.OnesCount64(word)
		lived += bits.OnesCount64(word &^ left)
	}
	return looked, lived
}

// prepareToWait makes what those that wait need, for as many sweepers.
func (l *liveSearch[I, W]) prepareToWait(sweepers int) {
	l.first = make([]I, l.f.NumStates())
	l.rooms = make([][]waiter[I], l.f.NumArcs()>>waitingRoomBits+1+sweepers)
}

// wait enters q where its arcs lead.
func (s *sweeper[I, W]) wait(q fst.StateID, arcs []fst.Arc[W]) {
	if len(arcs) == 0 {
		return
	}
	if s.first == nil {
		s.prepareToWait(1)
	}
	// Copies, which no store in the loop can change: looked up in s at each arc, the sweep took
	// 14.2 ms for 8.1.
	k, first, room, shared := s.last, s.first, s.room, s.shared
	for i := range arcs {
		k++
		if k%(1<<waitingRoomBits) == 0 || room == nil {
			k, room = s.newRoom()
		}
		at := &first[arcs[i].NextState]
		w := &room[k%(1<<waitingRoomBits)]
		if shared {
			*w = waiter[I]{q, swap(at, k)}
		} else {
			*w = waiter[I]{q, *at}
			*at = k
		}
	}
	s.last, s.room = k, room
}

// newRoom returns an unused room, and the number of its first place. Number 0 is never used.
func (s *sweeper[I, W]) newRoom() (I, []waiter[I]) {
	i := s.used.Add(1) - 1
	size := 1 << waitingRoomBits
	if !s.shared {
		size = min(size, s.f.NumArcs()+1-int(i)<<waitingRoomBits)
	}
	s.rooms[i] = make([]waiter[I], size)
	return max(I(i)<<waitingRoomBits, 1), s.rooms[i]
}

// swap stores k and returns what was there, while others do the same.
func swap[I uint32 | uint64](at *I, k I) I {
	if unsafe.Sizeof(k) == 4 {
		return I(atomic.SwapUint32((*uint32)(unsafe.Pointer(at)), uint32(k)))
	}
	return I(atomic.SwapUint64((*uint64)(unsafe.Pointer(at)), uint64(k)))
}

// wake brings to life what waits for live states, and what waits for that.
func (l *liveSearch[I, W]) wake(workers int) {
	if len(l.live) == 0 {
		return
	}
	pool := run.NewWorkPool(workers, l.live)
	run.Together(workers, pool.Stop, func(int) { l.wakeFrom(pool) })
}

// wakeFrom does what is in the pool, until no worker has anything left.
func (l *liveSearch[I, W]) wakeFrom(pool *run.WorkPool[[]fst.StateID]) {
	// As in reachFrom, several states are taken at once for misses of the cache to overlap.
	const batch = 16
	var at [batch]I
	pending, first, rooms := l.pending, l.first, l.rooms
	shared := pool.Workers > 1
	for todo, ok := pool.Take(); ok; todo, ok = pool.Take() {
		for len(todo) > 0 {
			if shared && len(todo) >= 4*batch {
				todo = shareHalf(pool, todo)
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
func (l *liveSearch[I, W]) dead(reached StateSet) StateSet {
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

// StateSet has a bit for each state.
type StateSet []uint64

func NewStateSet(n int) StateSet { return make(StateSet, (n+63)/64) }

func (s StateSet) Has(q fst.StateID) bool { return s[uint32(q)/64]>>(uint32(q)%64)&1 != 0 }
func (s StateSet) Add(q fst.StateID)      { s[uint32(q)/64] |= 1 << (uint32(q) % 64) }
func (s StateSet) Remove(q fst.StateID)   { s[uint32(q)/64] &^= 1 << (uint32(q) % 64) }

// Bools tells of each of n states whether it is in s; nil is nil.
func (s StateSet) Bools(n int) []bool {
	if s == nil {
		return nil
	}
	is := make([]bool, n)
	for q := range is {
		is[q] = s.Has(fst.StateID(q))
	}
	return is
}

// Keep removes what is not in t, which has room for the same states.
func (s StateSet) Keep(t StateSet) {
	for i := range s {
		s[i] &= t[i]
	}
}
