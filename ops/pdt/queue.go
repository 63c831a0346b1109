package pdt

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/ops/internal/run"
)

// queue holds the states of one search that wait, each at most once.
type queue interface {
	push(q fst.StateID)
	pop() fst.StateID
	empty() bool
}

func newQueue(kind ops.Queue) queue {
	switch kind {
	case ops.QueueLIFO:
		return &lifo{}
	case ops.QueueStateOrder:
		// A heap and not a place for each state: there is a queue for every search
		// under way, as many as parentheses are deep.
		return newOrder()
	}
	return &fifo{}
}

func (s *search[W]) newQueue() queue {
	if s.rank != nil {
		return newRanked(s.rank)
	}
	return newQueue(s.kind)
}

// fifo is a slice whose front is given up when it is half of it.
type fifo struct {
	states []fst.StateID
	head   int
}

func (f *fifo) push(q fst.StateID) {
	if f.head > 32 && 2*f.head > len(f.states) {
		f.states = f.states[:copy(f.states, f.states[f.head:])]
		f.head = 0
	}
	f.states = append(f.states, q)
}

func (f *fifo) pop() fst.StateID { f.head++; return f.states[f.head-1] }
func (f *fifo) empty() bool      { return f.head == len(f.states) }

type lifo struct{ states []fst.StateID }

func (l *lifo) push(q fst.StateID) { l.states = append(l.states, q) }
func (l *lifo) pop() fst.StateID {
	q := l.states[len(l.states)-1]
	l.states = l.states[:len(l.states)-1]
	return q
}
func (l *lifo) empty() bool { return len(l.states) == 0 }

// order pops the lowest state.
type order struct{ *run.Heap[fst.StateID] }

func newOrder() order {
	return order{run.NewHeap(func(p, q fst.StateID) bool { return p < q })}
}

func (o order) push(q fst.StateID) { o.Push(q) }
func (o order) pop() fst.StateID   { return o.Pop() }
func (o order) empty() bool        { return o.Len() == 0 }

// ranked pops a state of the highest rank, of equal ones the first pushed.
type ranked struct {
	rank   []int32
	states *run.Heap[rankedState]
	pushed uint32 // so far
}

type rankedState struct {
	key uint64 // the lowest is popped
	q   fst.StateID
}

func newRanked(rank []int32) *ranked {
	return &ranked{rank: rank, states: run.NewHeap(func(a, b rankedState) bool { return a.key < b.key })}
}

func (r *ranked) push(q fst.StateID) {
	r.pushed++
	r.states.Push(rankedState{uint64(^uint32(r.rank[q]))<<32 | uint64(r.pushed), q})
}

func (r *ranked) pop() fst.StateID { return r.states.Pop().q }
func (r *ranked) empty() bool      { return r.states.Len() == 0 }
