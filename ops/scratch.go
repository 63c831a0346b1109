package ops

import (
	"reflect"
	"slices"
	"sync"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// scratchOf is where work space of type T waits between operations. Whoever runs an operation on
// each machine of a corpus would otherwise throw away as much as the results hold, and
// the collector lets that lie up to a share of the heap.
//
// Work space goes back when an operation is done with it, and never by a deferred call: that also runs while a panic of the weights
// or of a machine passes, and would hand what is half done to the next operation.
func scratchOf[T any]() *sync.Pool {
	key := reflect.TypeFor[T]()
	if p, ok := scratchPools.Load(key); ok {
		return p.(*sync.Pool)
	}
	p, _ := scratchPools.LoadOrStore(key, &sync.Pool{New: func() any { return new(T) }})
	return p.(*sync.Pool)
}

var scratchPools sync.Map // from reflect.Type to *sync.Pool

// stateBuffer collects the states of a result in arrays that are used again, so that a
// result that fits is then copied into arrays of just its size: with slabs that grow, the
// results of a corpus hold an eighth too much. A larger one goes on in a Vector, or, where its
// states are few, in parts of just their size: determinizing 200 lattices over log64 into 3.8 million
// arcs in all had a peak of 130.3 MB with slabs that grow and has 126.3 with parts (0.8 of the difference
// are of a smaller program), at 0.95 of the processor time.
type stateBuffer[W semiring.Weight[W]] struct {
	finals []W
	ends   []int64
	parts  [][]fst.Arc[W] // arcs that are in their place
	arcs   []fst.Arc[W]   // those behind them
	moved  int64          // arcs in parts
	state  []fst.Arc[W]   // of the state under way
	out    *fst.Vector[W] // of a result that did not fit
	room   int            // states that out has room for
}

const (
	bufferedStates = 1 << 14
	bufferedArcs   = 1 << 15
	partArcs       = 1 << 14 // of a part, unless one state has more
)

// push adds a state.
func (b *stateBuffer[W]) push(final W, arcs []fst.Arc[W]) {
	if b.out == nil && len(b.finals) < bufferedStates && len(b.arcs)+len(arcs) <= bufferedArcs {
		b.finals = append(b.finals, final)
		b.arcs = append(b.arcs, arcs...)
		b.ends = append(b.ends, int64(len(b.arcs)))
		return
	}
	b.vector(1).PushState(final, arcs)
}

// pushAll is push of states whose arcs lie in a row, as fst.Vector.PushStates takes them.
func (b *stateBuffer[W]) pushAll(finals []W, ends []int, arcs []fst.Arc[W]) {
	if b.out == nil && len(b.finals)+len(finals) <= bufferedStates && len(b.arcs)+len(arcs) <= bufferedArcs {
		begin := int64(len(b.arcs))
		b.finals = append(b.finals, finals...)
		b.arcs = append(b.arcs, arcs...)
		for _, end := range ends {
			b.ends = append(b.ends, begin+int64(end))
		}
		return
	}
	b.vector(len(finals)).PushStates(finals, ends, arcs)
}

// give is push of arcs that are not the caller's any longer: those of a large state are not copied.
func (b *stateBuffer[W]) give(final W, arcs []fst.Arc[W]) {
	if len(arcs) > bufferedArcs {
		b.vector(1).GiveState(final, arcs)
	} else {
		b.push(final, arcs)
	}
}

// vector returns out with room for more states, and what did fit in it.
func (b *stateBuffer[W]) vector(more int) *fst.Vector[W] {
	if b.out == nil {
		b.out = fst.NewVector[W](0)
		begin := int64(0)
		for q, end := range b.ends {
			b.out.PushState(b.finals[q], b.arcs[begin:end])
			begin = end
		}
	}
	if n := b.out.NumStates(); n+more > b.room {
		b.room = max(n+n/2, n+more) // append by quarters copies twice as much
		b.out.ReserveStates(b.room)
	}
	return b.out
}

// pushPart adds a state to a result that is taken with machine, all of whose states are added so.
func (b *stateBuffer[W]) pushPart(final W, arcs []fst.Arc[W]) {
	if b.out == nil && len(b.finals) < bufferedStates {
		if len(b.arcs)+len(arcs) > partArcs {
			b.endPart()
		}
		b.finals = append(b.finals, final)
		if len(arcs) >= partArcs { // and nothing is before it
			b.parts = append(b.parts, slices.Clone(arcs))
			b.moved += int64(len(arcs))
		} else {
			b.arcs = append(b.arcs, arcs...)
		}
		b.ends = append(b.ends, b.moved+int64(len(b.arcs)))
		return
	}
	if b.out == nil {
		b.endPart()
		b.room = bufferedStates + bufferedStates/2
		b.out = fst.VectorOf(append(make([]W, 0, b.room), b.finals...), b.ends, b.parts...)
	}
	if n := b.out.NumStates(); n >= b.room {
		b.room = n + n/2
	}
	b.out.ReserveStates(b.room)
	b.out.PushState(final, arcs)
}

// endPart puts the arcs that are in the buffer where they stay.
func (b *stateBuffer[W]) endPart() {
	if len(b.arcs) > 0 {
		b.parts = append(b.parts, slices.Clone(b.arcs))
		b.moved += int64(len(b.arcs))
		clear(b.arcs) // what weights point to
		b.arcs = b.arcs[:0]
	}
}

// machine returns the result of pushPart, and empties the buffer.
func (b *stateBuffer[W]) machine() *fst.Vector[W] {
	out := b.out
	if out == nil {
		b.endPart()
		out = fst.VectorOf(slices.Clone(b.finals), b.ends, b.parts...)
	}
	b.reset()
	return out
}

// view returns what has been pushed, in the arrays of the buffer unless it did not fit.
func (b *stateBuffer[W]) view() *fst.Vector[W] {
	if b.out != nil {
		return b.out
	}
	return fst.VectorOf(b.finals, b.ends, b.arcs)
}

// reset forgets what is in the buffer, also what its weights point to.
func (b *stateBuffer[W]) reset() {
	clear(b.finals)
	clear(b.arcs)
	clear(b.state)
	if cap(b.state) > bufferedArcs {
		b.state = nil
	}
	clear(b.parts)
	b.finals, b.ends, b.parts, b.arcs, b.out = b.finals[:0], b.ends[:0], b.parts[:0], b.arcs[:0], nil
	b.room, b.moved = 0, 0
}

// subsetScratch is the work space of a subset construction, when none is under way.
type subsetScratch[R any] struct {
	table subsetTable[R]
	order []candidate
	spare []candidate
	runs  []int32
	cand  []R
	next  []element[R]
	key   []byte
	out   []subsetArc[R]
}

// keptScratch is how many elements, or slots, of a subset table are kept for the next: more
// would have to be cleared for machines that need few.
const keptScratch = 1 << 14

// borrow makes the work space of m that of an earlier construction. How many bytes are held then
// depends on what went before, so that constructions with limits, which tell that
// in their errors, should not.
func (m *subsetMachine[W, R, A]) borrow() {
	s := scratchOf[subsetScratch[R]]().Get().(*subsetScratch[R])
	if cap(s.table.refs) > 0 {
		m.table = s.table
	}
	m.order, m.spare, m.runs, m.cand, m.next, m.key, m.out = s.order, s.spare, s.runs, s.cand, s.next, s.key, s.out
}

// giveBack ends the use of m.
func (m *subsetMachine[W, R, A]) giveBack() {
	m.table.reset()
	clear(m.cand[:cap(m.cand)])
	clear(m.next[:cap(m.next)])
	clear(m.out[:cap(m.out)])
	if cap(m.cand) > keptScratch {
		m.order, m.spare, m.runs, m.cand, m.next, m.out = nil, nil, nil, nil, nil, nil
	}
	scratchOf[subsetScratch[R]]().Put(&subsetScratch[R]{m.table, m.order, m.spare, m.runs, m.cand, m.next, m.key[:0], m.out})
	m.table, m.order, m.spare, m.runs = newSubsetTable[R](), nil, nil, nil
	m.cand, m.next, m.key, m.out = nil, nil, nil, nil
}

// reset empties the table and keeps some of its memory.
func (t *subsetTable[R]) reset() {
	kept := 0
	spare := t.spare[:0]
	for _, p := range append(t.pages, t.spare...) {
		if kept += cap(p); kept <= keptScratch {
			clear(p)
			spare = append(spare, p[:0])
		}
	}
	slots, refs := t.slots, t.refs[:0]
	clear(slots)
	if len(slots) > keptScratch {
		slots, refs = nil, nil
	}
	alone := t.alone
	clear(alone)
	if cap(alone) > keptScratch {
		alone = nil
	}
	*t = subsetTable[R]{spare: spare, refs: refs, slots: slots, alone: alone[:0], seed: t.seed}
}
