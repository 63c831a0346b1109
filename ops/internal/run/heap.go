package run

import "github.com/tropica-fst/tropica/fst"

// Heap is a priority queue of values of type T: pop returns a least one by less.
//
// Values that compare as equal leave it in the order of std::priority_queue in GNU's C++ library,
// which decides OpenFst's results. Pop moves the hole at the root down to a leaf, always to the
// lesser child, and lets the last value rise from there. O(log n) comparisons an operation.
type Heap[T any] struct {
	less  func(a, b T) bool
	items []T
}

func NewHeap[T any](less func(a, b T) bool) *Heap[T] { return &Heap[T]{less: less} }

func (h *Heap[T]) Len() int  { return len(h.items) }
func (h *Heap[T]) Room() int { return cap(h.items) }

func (h *Heap[T]) Push(x T) {
	h.items = append(h.items, x)
	h.up(len(h.items)-1, x)
}

// up puts x at i and lifts it above every ancestor that it is less than.
func (h *Heap[T]) up(i int, x T) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(x, h.items[parent]) {
			break
		}
		h.items[i] = h.items[parent]
		i = parent
	}
	h.items[i] = x
}

// Pop removes the least value; the heap must not be empty.
func (h *Heap[T]) Pop() T {
	n := len(h.items) - 1
	top, last := h.items[0], h.items[n]
	var none T
	h.items[n] = none
	h.items = h.items[:n]
	if n == 0 {
		return top
	}
	i := 0
	for 2*i+2 < n {
		child := 2*i + 2
		if h.less(h.items[child-1], h.items[child]) {
			child--
		}
		h.items[i] = h.items[child]
		i = child
	}
	if child := 2*i + 1; child < n { // a child without a sibling
		h.items[i] = h.items[child]
		i = child
	}
	h.up(i, last)
	return top
}

// StateHeap is a priority queue of states, each in it at most once: pop returns the one that less
// puts first.
//
// The order may change while states wait. With tracking, update restores the place of a state whose
// order changed. Without it, states stay where they are and the order is approximate, as in
// OpenFst's automatic choice of a queue. Ties leave the heap in OpenFst's order: equal states rise
// past each other.
type StateHeap struct {
	less     func(p, q fst.StateID) bool
	tracking bool
	heap     []fst.StateID
	Pos      []int32 // with tracking: the place of each state; grows with the states
}

// NewStateHeap returns an empty heap with room for the positions of that many states.
func NewStateHeap(states int, tracking bool, less func(p, q fst.StateID) bool) *StateHeap {
	h := &StateHeap{less: less, tracking: tracking}
	if tracking {
		h.Pos = make([]int32, states)
	}
	return h
}

func (h *StateHeap) set(i int, q fst.StateID) {
	h.heap[i] = q
	if h.tracking {
		h.Pos[q] = int32(i)
	}
}

func (h *StateHeap) Push(q fst.StateID) {
	if h.tracking && int(q) >= len(h.Pos) {
		h.Pos = append(h.Pos, make([]int32, int(q)+1-len(h.Pos))...)
	}
	h.heap = append(h.heap, q)
	h.up(len(h.heap)-1, q)
}

// up moves q from i towards the root past all that are not before it.
func (h *StateHeap) up(i int, q fst.StateID) {
	for i > 0 {
		p := (i - 1) / 2
		if h.less(h.heap[p], q) {
			break
		}
		h.set(i, h.heap[p])
		i = p
	}
	h.set(i, q)
}

// down moves q from i towards the leaves.
func (h *StateHeap) down(i int, q fst.StateID) {
	heap := h.heap
	for {
		l, r := 2*i+1, 2*i+2
		best, bq := i, q
		if l < len(heap) && h.less(heap[l], q) {
			best, bq = l, heap[l]
		}
		if r < len(heap) && h.less(heap[r], bq) {
			best, bq = r, heap[r]
		}
		if best == i {
			break
		}
		h.set(i, bq)
		i = best
	}
	h.set(i, q)
}

func (h *StateHeap) Pop() fst.StateID {
	q := h.heap[0]
	n := len(h.heap) - 1
	last := h.heap[n]
	h.heap = h.heap[:n]
	if n > 0 {
		h.down(0, last)
	}
	return q
}

func (h *StateHeap) Update(q fst.StateID) {
	if !h.tracking {
		return
	}
	i := int(h.Pos[q])
	if i > 0 && h.less(q, h.heap[(i-1)/2]) {
		h.up(i, q)
	} else {
		h.down(i, q)
	}
}
func (h *StateHeap) Empty() bool { return len(h.heap) == 0 }
