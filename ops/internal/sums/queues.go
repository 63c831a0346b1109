package sums

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/graph"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// Queue holds states, each at most once. The disciplines pop in OpenFst's
// order, ties included, since that decides which of equal paths wins.
type Queue interface {
	Push(q fst.StateID)   // q is not in the queue
	Pop() fst.StateID     // the queue is not empty
	Update(q fst.StateID) // q is in the queue and its distance has changed
	Empty() bool
}

// FIFOQueue is a ring that grows.
type FIFOQueue struct {
	Ring    []fst.StateID // length a power of two
	head, n int
}

func (f *FIFOQueue) Push(q fst.StateID) {
	if f.n == len(f.Ring) {
		ring := make([]fst.StateID, max(16, 2*len(f.Ring)))
		k := copy(ring, f.Ring[f.head:])
		copy(ring[k:], f.Ring[:f.head])
		f.Ring, f.head = ring, 0
	}
	f.Ring[(f.head+f.n)&(len(f.Ring)-1)] = q
	f.n++
}

func (f *FIFOQueue) Pop() fst.StateID {
	q := f.Ring[f.head]
	f.head = (f.head + 1) & (len(f.Ring) - 1)
	f.n--
	return q
}
func (f *FIFOQueue) Update(fst.StateID) {}
func (f *FIFOQueue) Empty() bool        { return f.n == 0 }

// LIFOQueue is a stack.
type LIFOQueue struct{ stack []fst.StateID }

func (l *LIFOQueue) Push(q fst.StateID) { l.stack = append(l.stack, q) }
func (l *LIFOQueue) Pop() fst.StateID {
	q := l.stack[len(l.stack)-1]
	l.stack = l.stack[:len(l.stack)-1]
	return q
}
func (l *LIFOQueue) Update(fst.StateID) {}
func (l *LIFOQueue) Empty() bool        { return len(l.stack) == 0 }

// orderQueue pops the state of the lowest position.
type orderQueue struct {
	order       []int32       // position of each state; nil: its id
	at          []fst.StateID // the waiting state of each position, or NoState
	front, back int32         // waiting positions lie in front … back
}

func NewOrderQueue(order []int32, states int) *orderQueue {
	o := &orderQueue{order: order, at: make([]fst.StateID, states), back: -1}
	for i := range o.at {
		o.at[i] = fst.NoState
	}
	return o
}

func (o *orderQueue) Push(q fst.StateID) {
	p := int32(q)
	if o.order != nil {
		p = o.order[q]
	}
	if o.front > o.back {
		o.front, o.back = p, p
	} else if p > o.back {
		o.back = p
	} else if p < o.front {
		o.front = p
	}
	o.at[p] = q
}

func (o *orderQueue) Pop() fst.StateID {
	q := o.at[o.front]
	o.at[o.front] = fst.NoState
	for o.front <= o.back && o.at[o.front] == fst.NoState {
		o.front++
	}
	return q
}
func (o *orderQueue) Update(fst.StateID) {}
func (o *orderQueue) Empty() bool        { return o.front > o.back }

// costHeap is stateHeap over distances that are numbers, the least first. The comparison is in the
// loop: calling it took a third of a small search.
type costHeap[T Float] struct {
	heap []fst.StateID
	pos  []int32 // place of each state in heap, when moving
	d    []T
}

func (h *costHeap[T]) set(i int, q fst.StateID) {
	h.heap[i] = q
	if h.pos != nil {
		h.pos[q] = int32(i)
	}
}

func (h *costHeap[T]) Push(q fst.StateID) {
	h.heap = append(h.heap, q)
	h.up(len(h.heap)-1, q)
}

func (h *costHeap[T]) up(i int, q fst.StateID) {
	dq := h.d[q]
	for i > 0 {
		p := (i - 1) / 2
		if h.d[h.heap[p]] < dq {
			break
		}
		h.set(i, h.heap[p])
		i = p
	}
	h.set(i, q)
}

func (h *costHeap[T]) down(i int, q fst.StateID) {
	heap, d := h.heap, h.d
	dq := d[q]
	for {
		l, r := 2*i+1, 2*i+2
		best, bq, dbest := i, q, dq
		if l < len(heap) {
			if x := d[heap[l]]; x < dbest {
				best, bq, dbest = l, heap[l], x
			}
		}
		if r < len(heap) && d[heap[r]] < dbest {
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

func (h *costHeap[T]) Pop() fst.StateID {
	q := h.heap[0]
	n := len(h.heap) - 1
	last := h.heap[n]
	h.heap = h.heap[:n]
	if n > 0 {
		h.down(0, last)
	}
	return q
}

func (h *costHeap[T]) Update(q fst.StateID) {
	if h.pos == nil {
		return
	}
	i := int(h.pos[q])
	if i > 0 && h.d[q] < h.d[h.heap[(i-1)/2]] {
		h.up(i, q)
	} else {
		h.down(i, q)
	}
}
func (h *costHeap[T]) Empty() bool { return len(h.heap) == 0 }

// Nearest makes queues that pop the state with the least of the distances d. The
// distances may change while states wait, but d itself must stay where it is.
func Nearest[W semiring.Weight[W]](d []W, alg *AlgebraOf[W]) func(states int, moving bool) Queue {
	switch d := any(d).(type) {
	case []semiring.Tropical:
		return NearestCost(d)
	case []semiring.Tropical64:
		return NearestCost(d)
	}
	return func(states int, moving bool) Queue {
		return run.NewStateHeap(states, moving, func(p, q fst.StateID) bool { return alg.Less(d[p], d[q]) })
	}
}

func NearestCost[T Float](d []T) func(states int, moving bool) Queue {
	return func(states int, moving bool) Queue {
		h := &costHeap[T]{d: d}
		if moving {
			h.pos = make([]int32, states)
		}
		return h
	}
}

// SCCQueue serves components in topological order, each by its own queue; a
// component of one state without a loop needs none.
type SCCQueue struct {
	of          []int32 // component of each state
	queues      []Queue // nil for trivial components
	trivial     []fst.StateID
	front, back int32
}

func NewSCCQueue(of []int32, queues []Queue) *SCCQueue {
	s := &SCCQueue{of: of, queues: queues, trivial: make([]fst.StateID, len(queues)), back: -1}
	for i := range s.trivial {
		s.trivial[i] = fst.NoState
	}
	return s
}

// Restart makes an empty queue fit for states of lower components than the last that it served.
func (s *SCCQueue) Restart() { s.front, s.back = 0, -1 }

func (s *SCCQueue) Push(q fst.StateID) {
	c := s.of[q]
	if s.front > s.back {
		s.front, s.back = c, c
	} else if c > s.back {
		s.back = c
	} else if c < s.front {
		s.front = c
	}
	if s.queues[c] != nil {
		s.queues[c].Push(q)
	} else {
		s.trivial[c] = q
	}
}

func (s *SCCQueue) Pop() fst.StateID {
	for s.front <= s.back {
		if in := s.queues[s.front]; in != nil {
			if !in.Empty() {
				return in.Pop()
			}
		} else if q := s.trivial[s.front]; q != fst.NoState {
			s.trivial[s.front] = fst.NoState
			return q
		}
		s.front++
	}
	panic("ops: pop from an empty queue")
}

func (s *SCCQueue) Update(q fst.StateID) {
	if in := s.queues[s.of[q]]; in != nil {
		in.Update(q)
	}
}

func (s *SCCQueue) Empty() bool {
	switch {
	case s.front < s.back:
		return false // the last component that was pushed to is not empty
	case s.front > s.back:
		return true
	case s.queues[s.front] != nil:
		return s.queues[s.front].Empty()
	}
	return s.trivial[s.front] == fst.NoState
}

// CostComponents is an sccQueue over distances that are numbers, whose components are all trivial
// or nearest first. It is the usual queue of a cyclic machine. It saves the calls through two
// interfaces at each push and pop.
type CostComponents[T Float] struct {
	of          []int32
	heaps       []*costHeap[T] // nil for trivial components
	trivial     []fst.StateID
	front, back int32
}

// ByCost returns q, with what waits in it, as CostComponents; nil where it is another kind of
// queue. Where it is not nil, q is not to be used any more.
func ByCost[T Float](q Queue) *CostComponents[T] {
	s, ok := q.(*SCCQueue)
	if !ok {
		return nil
	}
	c := &CostComponents[T]{of: s.of, heaps: make([]*costHeap[T], len(s.queues)), trivial: s.trivial,
		front: s.front, back: s.back}
	for i, in := range s.queues {
		if in == nil {
			continue
		}
		h, ok := in.(*costHeap[T])
		if !ok || h.pos != nil {
			return nil
		}
		c.heaps[i] = h
	}
	return c
}

func (c *CostComponents[T]) Push(q fst.StateID) {
	k := c.of[q]
	if c.front > c.back {
		c.front, c.back = k, k
	} else {
		c.front, c.back = min(c.front, k), max(c.back, k)
	}
	if h := c.heaps[k]; h != nil {
		h.Push(q)
	} else {
		c.trivial[k] = q
	}
}

// pop returns fst.NoState when the queue is empty.
func (c *CostComponents[T]) Pop() fst.StateID {
	for ; c.front <= c.back; c.front++ {
		if h := c.heaps[c.front]; h != nil {
			if !h.Empty() {
				return h.Pop()
			}
		} else if q := c.trivial[c.front]; q != fst.NoState {
			c.trivial[c.front] = fst.NoState
			return q
		}
	}
	return fst.NoState
}

// Positions is order for a queue.
func Positions(order []fst.StateID) []int32 {
	p := make([]int32, len(order))
	for q, k := range order {
		p[q] = int32(k)
	}
	return p
}

// ComponentQueue looks at every arc once to choose a queue for each component,
// or for all of them together unless always is set.
func ComponentQueue[W semiring.Weight[W]](f fst.Expanded[W], c graph.Components, keep func(*fst.Arc[W]) bool,
	alg *AlgebraOf[W], nearest func(states int, moving bool) Queue, always bool, w *run.Stopwatch) (q Queue,
	better bool, err error) {
	const (
		trivial = iota
		lifo
		shortest
		fifo
	)
	kinds := make([]uint8, c.N)
	allTrivial, unweighted := true, alg.Idempotent
	for s := range f.NumStates() {
		k := c.Of[s]
		arcs := f.Arcs(fst.StateID(s))
		if err := w.Spend(1 + len(arcs)); err != nil {
			return nil, false, err
		}
		for i := range arcs {
			e := &arcs[i]
			if keep != nil && !keep(e) {
				continue
			}
			class := alg.class(e.Weight)
			if class&weighted != 0 {
				unweighted = false
			}
			// Where an arc leads is not looked up, which is a miss of the cache, when
			// it would change nothing.
			if kinds[k] == fifo || kinds[k] == shortest && class&belowOne == 0 || c.Of[e.NextState] != k {
				continue
			}
			allTrivial = false
			if !alg.Path || class&belowOne != 0 {
				kinds[k] = fifo
				better = true
			} else if class&weighted != 0 {
				kinds[k] = max(kinds[k], shortest)
			} else {
				kinds[k] = max(kinds[k], lifo)
			}
		}
	}
	if unweighted && !always {
		return &LIFOQueue{}, better, nil
	}
	if allTrivial && !always {
		return NewOrderQueue(c.Of, c.N), false, nil
	}
	queues := make([]Queue, c.N)
	for k, kind := range kinds {
		switch kind {
		case lifo:
			queues[k] = &LIFOQueue{}
		case shortest:
			queues[k] = nearest(len(c.Of), false)
		case fifo:
			queues[k] = &FIFOQueue{}
		}
	}
	return NewSCCQueue(c.Of, queues), better && alg.Path, nil
}

// AnyBelowOne reports whether an arc is better than 1̄.
func AnyBelowOne[W semiring.Weight[W]](f fst.Expanded[W], alg *AlgebraOf[W]) bool {
	for s := range f.NumStates() {
		for _, e := range f.Arcs(fst.StateID(s)) {
			if alg.class(e.Weight)&belowOne != 0 {
				return true
			}
		}
	}
	return false
}
