package ops

import "github.com/tropica-fst/tropica/fst"

// heap is a priority queue of values of type T: pop returns a least one by less.
//
// Values that compare as equal leave it in the order of std::priority_queue in GNU's C++ library, which
// decides OpenFst's results: pop moves the hole at the root down to a leaf, always to the lesser child,
// and lets the last value rise from there. O(log n) comparisons an operation.
type heap[T any] struct {
	less  func(a, b T) bool
	items []T
}

func newHeap[T any](less func(a, b T) bool) *heap[T] { return &heap[T]{less: less} }

func (h *heap[T]) len() int  { return len(h.items) }
func (h *heap[T]) room() int { return cap(h.items) }

func (h *heap[T]) push(x T) {
	h.items = append(h.items, x)
	h.up(len(h.items)-1, x)
}

// up puts x at i and lifts it above every ancestor that it is less than.
func (h *heap[T]) up(i int, x T) {
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

// pop removes the least value; the heap must not be empty.
func (h *heap[T]) pop() T {
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

// stateHeap is a priority queue of states, each in it at most once: pop returns the one that less puts first.
//
// The order may change while states wait. With tracking, update restores the place of a state whose order
// changed. Without it, states stay where they are and the order is approximate, as in OpenFst's automatic
// choice of a queue. Ties leave the heap in OpenFst's order: equal states rise past each other.
type stateHeap struct {
	less     func(p, q fst.StateID) bool
	tracking bool
	heap     []fst.StateID
	pos      []int32 // with tracking: the place of each state; grows with the states
}

// newStateHeap returns an empty heap with room for the positions of that many states.
func newStateHeap(states int, tracking bool, less func(p, q fst.StateID) bool) *stateHeap {
	h := &stateHeap{less: less, tracking: tracking}
	if tracking {
		h.pos = make([]int32, states)
	}
	return h
}

func (h *stateHeap) set(i int, q fst.StateID) {
	h.heap[i] = q
	if h.tracking {
		h.pos[q] = int32(i)
	}
}

func (h *stateHeap) push(q fst.StateID) {
	if h.tracking && int(q) >= len(h.pos) {
		h.pos = append(h.pos, make([]int32, int(q)+1-len(h.pos))...)
	}
	h.heap = append(h.heap, q)
	h.up(len(h.heap)-1, q)
}

// up moves q from i towards the root past all that are not before it.
func (h *stateHeap) up(i int, q fst.StateID) {
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
func (h *stateHeap) down(i int, q fst.StateID) {
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

func (h *stateHeap) pop() fst.StateID {
	q := h.heap[0]
	n := len(h.heap) - 1
	last := h.heap[n]
	h.heap = h.heap[:n]
	if n > 0 {
		h.down(0, last)
	}
	return q
}

func (h *stateHeap) update(q fst.StateID) {
	if !h.tracking {
		return
	}
	i := int(h.pos[q])
	if i > 0 && h.less(q, h.heap[(i-1)/2]) {
		h.up(i, q)
	} else {
		h.down(i, q)
	}
}
func (h *stateHeap) empty() bool { return len(h.heap) == 0 }
