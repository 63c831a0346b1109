package ops

import (
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// Queue is a queue discipline: the order in which states are relaxed. Which one
// is used never changes a shortest distance that is exact, but it changes the
// time, and which of several equally short paths is found.
type Queue uint8

const (
	QueueAuto          Queue = iota // chosen from the machine, see below
	QueueFIFO                       // first in, first out: Bellman and Ford
	QueueLIFO                       // last in, first out
	QueueShortestFirst              // nearest first: Dijkstra; for weights with the path property
	QueueTopOrder                   // topological order; the machine must be acyclic
	QueueStateOrder                 // lowest state first; fit for topologically sorted machines
	QueueSCC                        // components in topological order, each with a queue of its own
)

var queueNames = [...]string{"auto", "fifo", "lifo", "shortest", "top", "state", "scc"}

func (q Queue) String() string {
	if int(q) < len(queueNames) {
		return queueNames[q]
	}
	return fmt.Sprintf("Queue(%d)", q)
}

// ParseQueue reads the names of queue disciplines that the tools use: auto,
// fifo, lifo, shortest, state, top, scc.
func ParseQueue(s string) (Queue, error) {
	for i, n := range queueNames {
		if n == s {
			return Queue(i), nil
		}
	}
	return 0, fmt.Errorf("unknown queue discipline %q; one of auto, fifo, lifo, shortest, state, top, scc is expected", s)
}

// queue holds states, each at most once. The disciplines pop in OpenFst's
// order, ties included, since that decides which of equal paths wins.
type queue interface {
	Push(q fst.StateID)   // q is not in the queue
	Pop() fst.StateID     // the queue is not empty
	Update(q fst.StateID) // q is in the queue and its distance has changed
	Empty() bool
}

// fifoQueue is a ring that grows.
type fifoQueue struct {
	ring    []fst.StateID // length a power of two
	head, n int
}

func (f *fifoQueue) Push(q fst.StateID) {
	if f.n == len(f.ring) {
		ring := make([]fst.StateID, max(16, 2*len(f.ring)))
		k := copy(ring, f.ring[f.head:])
		copy(ring[k:], f.ring[:f.head])
		f.ring, f.head = ring, 0
	}
	f.ring[(f.head+f.n)&(len(f.ring)-1)] = q
	f.n++
}

func (f *fifoQueue) Pop() fst.StateID {
	q := f.ring[f.head]
	f.head = (f.head + 1) & (len(f.ring) - 1)
	f.n--
	return q
}
func (f *fifoQueue) Update(fst.StateID) {}
func (f *fifoQueue) Empty() bool        { return f.n == 0 }

// lifoQueue is a stack.
type lifoQueue struct{ stack []fst.StateID }

func (l *lifoQueue) Push(q fst.StateID) { l.stack = append(l.stack, q) }
func (l *lifoQueue) Pop() fst.StateID {
	q := l.stack[len(l.stack)-1]
	l.stack = l.stack[:len(l.stack)-1]
	return q
}
func (l *lifoQueue) Update(fst.StateID) {}
func (l *lifoQueue) Empty() bool        { return len(l.stack) == 0 }

// orderQueue pops the state of the lowest position.
type orderQueue struct {
	order       []int32       // position of each state; nil: its id
	at          []fst.StateID // the waiting state of each position, or NoState
	front, back int32         // waiting positions lie in front … back
}

func newOrderQueue(order []int32, states int) *orderQueue {
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

// costHeap is stateHeap over distances that are numbers, the least first, with
// the comparison in the loop: a third of a small search went to calling it.
type costHeap[T float] struct {
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

// nearest makes queues that pop the state with the least of the distances d. The
// distances may change while states wait, but d itself must stay where it is.
func nearest[W semiring.Weight[W]](d []W, alg *algebraOf[W]) func(states int, moving bool) queue {
	switch d := any(d).(type) {
	case []semiring.Tropical:
		return nearestCost(d)
	case []semiring.Tropical64:
		return nearestCost(d)
	}
	return func(states int, moving bool) queue {
		return run.NewStateHeap(states, moving, func(p, q fst.StateID) bool { return alg.less(d[p], d[q]) })
	}
}

func nearestCost[T float](d []T) func(states int, moving bool) queue {
	return func(states int, moving bool) queue {
		h := &costHeap[T]{d: d}
		if moving {
			h.pos = make([]int32, states)
		}
		return h
	}
}

// sccQueue serves components in topological order, each by its own queue; a
// component of one state without a loop needs none.
type sccQueue struct {
	of          []int32 // component of each state
	queues      []queue // nil for trivial components
	trivial     []fst.StateID
	front, back int32
}

func newSCCQueue(of []int32, queues []queue) *sccQueue {
	s := &sccQueue{of: of, queues: queues, trivial: make([]fst.StateID, len(queues)), back: -1}
	for i := range s.trivial {
		s.trivial[i] = fst.NoState
	}
	return s
}

// restart makes an empty queue fit for states of lower components than the last that it served.
func (s *sccQueue) restart() { s.front, s.back = 0, -1 }

func (s *sccQueue) Push(q fst.StateID) {
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

func (s *sccQueue) Pop() fst.StateID {
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

func (s *sccQueue) Update(q fst.StateID) {
	if in := s.queues[s.of[q]]; in != nil {
		in.Update(q)
	}
}

func (s *sccQueue) Empty() bool {
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

// costComponents is an sccQueue whose components are all trivial or the nearest first, over distances that are
// numbers: the usual one of a cyclic machine, without the calls through two interfaces that each push and pop are.
type costComponents[T float] struct {
	of          []int32
	heaps       []*costHeap[T] // nil for trivial components
	trivial     []fst.StateID
	front, back int32
}

// byCost returns q, with what waits in it, as costComponents; nil where it is another kind of queue. Where it is not
// nil, q is not to be used any more.
func byCost[T float](q queue) *costComponents[T] {
	s, ok := q.(*sccQueue)
	if !ok {
		return nil
	}
	c := &costComponents[T]{of: s.of, heaps: make([]*costHeap[T], len(s.queues)), trivial: s.trivial, front: s.front, back: s.back}
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

func (c *costComponents[T]) Push(q fst.StateID) {
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
func (c *costComponents[T]) Pop() fst.StateID {
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

// algebraOf is what queues and loops ask about a weight type, found out once.
type algebraOf[W semiring.Weight[W]] struct {
	path, idempotent bool
	zero, one        W
	// class sorts a weight: bits below and weighted.
	class func(W) uint8
	less  func(a, b W) bool // natural order: a⊕b = a ≠ b
}

// nearOf returns the closeness of weights that OpenFst has: over numbers
// a ≤ b+δ and b ≤ a+δ in their own arithmetic, which decides ties the same way.
func nearOf[W semiring.Approx[W]](delta float64) func(a, b W) bool {
	near := func(a, b W) bool { return a.Near(b, delta) }
	switch near := any(&near).(type) {
	case *func(a, b semiring.Tropical) bool:
		*near = nearCost[semiring.Tropical](delta)
	case *func(a, b semiring.Tropical64) bool:
		*near = nearCost[semiring.Tropical64](delta)
	}
	return near
}

func nearCost[T float](delta float64) func(a, b T) bool {
	d := T(delta)
	return func(a, b T) bool { return a <= b+d && b <= a+d }
}

const (
	belowOne uint8 = 1 << iota // better than 1̄ in the natural order
	weighted                   // neither 0̄ nor 1̄
)

func newAlgebra[W semiring.Weight[W]]() algebraOf[W] {
	a := algebraOf[W]{zero: semiring.Zero[W](), one: semiring.One[W]()}
	_, a.path = any(a.zero).(semiring.Path[W])
	_, a.idempotent = any(a.zero).(semiring.Idempotent[W])
	a.less = func(x, y W) bool { return !x.Equal(y) && x.Plus(y).Equal(x) }
	a.class = func(w W) (c uint8) {
		if !w.Equal(a.zero) && !w.Equal(a.one) {
			c = weighted
			if a.path && a.less(w, a.one) {
				c |= belowOne
			}
		}
		return c
	}
	switch class := any(&a.class).(type) {
	case *func(semiring.Tropical) uint8:
		*class = classOfCost[semiring.Tropical]
	case *func(semiring.Tropical64) uint8:
		*class = classOfCost[semiring.Tropical64]
	}
	switch less := any(&a.less).(type) {
	case *func(a, b semiring.Tropical) bool:
		*less = func(a, b semiring.Tropical) bool { return a < b }
	case *func(a, b semiring.Tropical64) bool:
		*less = func(a, b semiring.Tropical64) bool { return a < b }
	}
	return a
}

func classOfCost[T float](w T) uint8 {
	switch {
	case w == 0 || w == T(math.Inf(1)):
		return 0
	case w < 0:
		return weighted | belowOne
	}
	return weighted
}

// newQueue makes the queue of the discipline asked for, over the arcs that keep
// accepts (nil: all), unless the context of w is done. nearest makes queues by distance, for weights with the
// path property. better tells whether any arc is better than 1̄, so that a cycle
// may be improved for ever.
//
// QueueAuto chooses as OpenFst does, from what is known of f without looking
// (known): in state order when sorted, in topological order when acyclic, last
// in first out when nothing is weighted and ⊕ idempotent; otherwise by
// components, each shortest first, or first in first out where an arc is better
// than 1̄ or the weights have no path property.
func newQueue[W semiring.Weight[W]](op string, kind Queue, f fst.Expanded[W], known fst.Properties, keep func(*fst.Arc[W]) bool,
	alg *algebraOf[W], nearest func(states int, moving bool) queue, w *run.Stopwatch) (q queue, better bool, err error) {
	n := f.NumStates()
	if kind == QueueAuto {
		switch {
		case known&fst.TopSorted != 0 || f.Start() == fst.NoState:
			kind = QueueStateOrder
		case known&fst.Acyclic != 0:
			kind = QueueTopOrder
		case known&fst.Unweighted != 0 && alg.idempotent:
			kind = QueueLIFO
		}
	}
	switch kind {
	case QueueTopOrder:
		order, cycle := topOrder(f, keep)
		if cycle != nil {
			return nil, false, &CycleError{Op: op, Cycle: cycle, Err: errCyclicInOrder}
		}
		return newOrderQueue(positions(order), n), false, nil
	case QueueAuto, QueueSCC:
		c, _, err := findComponentsWithin(f, keep, 0, w)
		if err != nil {
			return nil, false, err
		}
		return componentQueue(f, c, keep, alg, nearest, kind == QueueSCC, w)
	}
	if known&fst.Acyclic == 0 && alg.path {
		better = anyBelowOne(f, alg)
	}
	switch kind {
	case QueueFIFO:
		q = &fifoQueue{}
	case QueueLIFO:
		q = &lifoQueue{}
	case QueueStateOrder:
		q = newOrderQueue(nil, n)
	case QueueShortestFirst:
		if !alg.path {
			return nil, false, fmt.Errorf("ops: %s: the queue %q needs weights with the path property, %s has not", op, kind, weightName(alg.zero))
		}
		q = nearest(n, true)
	default:
		return nil, false, fmt.Errorf("ops: %s: unknown queue discipline %d", op, kind)
	}
	return q, better, nil
}

// positions is order for a queue.
func positions(order []fst.StateID) []int32 {
	p := make([]int32, len(order))
	for q, k := range order {
		p[q] = int32(k)
	}
	return p
}

// componentQueue looks at every arc once to choose a queue for each component,
// or for all of them together unless always is set.
func componentQueue[W semiring.Weight[W]](f fst.Expanded[W], c components, keep func(*fst.Arc[W]) bool,
	alg *algebraOf[W], nearest func(states int, moving bool) queue, always bool, w *run.Stopwatch) (q queue, better bool, err error) {
	const (
		trivial = iota
		lifo
		shortest
		fifo
	)
	kinds := make([]uint8, c.n)
	allTrivial, unweighted := true, alg.idempotent
	for s := range f.NumStates() {
		k := c.of[s]
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
			// Where an arc leads is not looked up, which is a miss of the cache, when it would change nothing.
			if kinds[k] == fifo || kinds[k] == shortest && class&belowOne == 0 || c.of[e.NextState] != k {
				continue
			}
			allTrivial = false
			if !alg.path || class&belowOne != 0 {
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
		return &lifoQueue{}, better, nil
	}
	if allTrivial && !always {
		return newOrderQueue(c.of, c.n), false, nil
	}
	queues := make([]queue, c.n)
	for k, kind := range kinds {
		switch kind {
		case lifo:
			queues[k] = &lifoQueue{}
		case shortest:
			queues[k] = nearest(len(c.of), false)
		case fifo:
			queues[k] = &fifoQueue{}
		}
	}
	return newSCCQueue(c.of, queues), better && alg.path, nil
}

// anyBelowOne reports whether an arc is better than 1̄.
func anyBelowOne[W semiring.Weight[W]](f fst.Expanded[W], alg *algebraOf[W]) bool {
	for s := range f.NumStates() {
		for _, e := range f.Arcs(fst.StateID(s)) {
			if alg.class(e.Weight)&belowOne != 0 {
				return true
			}
		}
	}
	return false
}
