package pdt

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
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
		return &order{}
	}
	return &fifo{}
}

func (s *search[W]) newQueue() queue {
	if s.rank != nil {
		return &ranked{rank: s.rank}
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

// order is a binary heap that pops the lowest state.
type order struct{ states []fst.StateID }

func (o *order) empty() bool { return len(o.states) == 0 }

func (o *order) push(q fst.StateID) {
	o.states = append(o.states, q)
	i := len(o.states) - 1
	for ; i > 0 && q < o.states[(i-1)/2]; i = (i - 1) / 2 {
		o.states[i] = o.states[(i-1)/2]
	}
	o.states[i] = q
}

func (o *order) pop() fst.StateID {
	q, n := o.states[0], len(o.states)-1
	last := o.states[n]
	o.states = o.states[:n]
	i := 0
	for c := 1; c < n; c = 2*i + 1 {
		if c+1 < n && o.states[c+1] < o.states[c] {
			c++
		}
		if last <= o.states[c] {
			break
		}
		o.states[i], i = o.states[c], c
	}
	if n > 0 {
		o.states[i] = last
	}
	return q
}

// ranked is a binary heap that pops a state of the highest rank, of equal ones the first pushed.
type ranked struct {
	rank   []int32
	states []rankedState
	pushed uint32 // so far
}

type rankedState struct {
	key uint64 // the lowest is popped
	q   fst.StateID
}

func (r *ranked) empty() bool { return len(r.states) == 0 }

func (r *ranked) push(q fst.StateID) {
	r.pushed++
	x := rankedState{uint64(^uint32(r.rank[q]))<<32 | uint64(r.pushed), q}
	r.states = append(r.states, x)
	i := len(r.states) - 1
	for ; i > 0 && x.key < r.states[(i-1)/2].key; i = (i - 1) / 2 {
		r.states[i] = r.states[(i-1)/2]
	}
	r.states[i] = x
}

func (r *ranked) pop() fst.StateID {
	q, n := r.states[0].q, len(r.states)-1
	last := r.states[n]
	r.states = r.states[:n]
	i := 0
	for c := 1; c < n; c = 2*i + 1 {
		if c+1 < n && r.states[c+1].key < r.states[c].key {
			c++
		}
		if last.key <= r.states[c].key {
			break
		}
		r.states[i], i = r.states[c], c
	}
	if n > 0 {
		r.states[i] = last
	}
	return q
}

// heap is a binary heap that knows where each state is. Of states that compare as
// equal, and of those whose order changes while they are in it, it pops those that
// OpenFst's heap does: equal ones rise past each other on their way up.
type heap struct {
	less   func(p, q fst.StateID) bool
	states []fst.StateID
	place  map[fst.StateID]int
}

func newHeap(less func(p, q fst.StateID) bool) *heap {
	return &heap{less: less, place: map[fst.StateID]int{}}
}

func (h *heap) len() int { return len(h.states) }

func (h *heap) push(q fst.StateID) {
	h.states = append(h.states, q)
	h.place[q] = len(h.states) - 1
	h.up(len(h.states)-1, q)
}

func (h *heap) pop() fst.StateID {
	q, n := h.states[0], len(h.states)-1
	h.swap(0, n)
	h.states = h.states[:n]
	delete(h.place, q)
	h.down(0)
	return q
}

// update puts q, which is in the heap and whose order has changed, in its place.
func (h *heap) update(q fst.StateID) {
	i := h.place[q]
	if h.less(q, h.states[max(i-1, 0)/2]) {
		h.up(i, q)
	} else {
		h.down(i)
	}
}

func (h *heap) swap(i, j int) {
	h.states[i], h.states[j] = h.states[j], h.states[i]
	h.place[h.states[i]], h.place[h.states[j]] = i, j
}

func (h *heap) up(i int, q fst.StateID) {
	for i > 0 && !h.less(h.states[(i-1)/2], q) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (h *heap) down(i int) {
	for {
		best := i
		if l := 2*i + 1; l < len(h.states) && h.less(h.states[l], h.states[i]) {
			best = l
		}
		if r := 2*i + 2; r < len(h.states) && h.less(h.states[r], h.states[best]) {
			best = r
		}
		if best == i {
			return
		}
		h.swap(i, best)
		i = best
	}
}
