package run

import (
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/engine"
	"github.com/tropica-fst/tropica/semiring"
)

// StateBuffer collects the states of a result in arrays that are reused. A result that fits is then
// copied into arrays of just its size; with growing slabs, the results of a corpus take an eighth
// too much. A larger one goes on in a Vector, or, where its states are few, in parts of just their
// size.
type StateBuffer[W semiring.Weight[W]] struct {
	finals []W
	ends   []int64
	parts  [][]fst.Arc[W] // arcs that are in their place
	arcs   []fst.Arc[W]   // those behind them
	moved  int64          // arcs in parts
	State  []fst.Arc[W]   // of the state under way
	Out    *fst.Vector[W] // of a result that did not fit
	room   int            // states that out has room for
}

const (
	BufferedStates = 1 << 14
	bufferedArcs   = 1 << 15
	PartArcs       = 1 << 14 // of a part, unless one state has more
)

// push adds a state.
func (b *StateBuffer[W]) push(final W, arcs []fst.Arc[W]) {
	if b.Out == nil && len(b.finals) < BufferedStates && len(b.arcs)+len(arcs) <= bufferedArcs {
		b.finals = append(b.finals, final)
		b.arcs = append(b.arcs, arcs...)
		b.ends = append(b.ends, int64(len(b.arcs)))
		return
	}
	b.vector(1).PushState(final, arcs)
}

// PushAll is push of states whose arcs lie in a row, as fst.Vector.PushStates takes them.
func (b *StateBuffer[W]) PushAll(finals []W, ends []int, arcs []fst.Arc[W]) {
	if b.Out == nil && len(b.finals)+len(finals) <= BufferedStates && len(b.arcs)+len(arcs) <= bufferedArcs {
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

// Give is push of arcs that are not the caller's any longer: those of a large state are not copied.
func (b *StateBuffer[W]) Give(final W, arcs []fst.Arc[W]) {
	if len(arcs) > bufferedArcs {
		b.vector(1).Engine(engine.Key{}).GiveState(final, arcs)
	} else {
		b.push(final, arcs)
	}
}

// vector returns out with room for more states, and what did fit in it.
func (b *StateBuffer[W]) vector(more int) *fst.Vector[W] {
	if b.Out == nil {
		b.Out = fst.NewVector[W](0)
		begin := int64(0)
		for q, end := range b.ends {
			b.Out.PushState(b.finals[q], b.arcs[begin:end])
			begin = end
		}
	}
	if n := b.Out.NumStates(); n+more > b.room {
		b.room = max(n+n/2, n+more) // append by quarters copies twice as much
		b.Out.ReserveStates(b.room)
	}
	return b.Out
}

// PushPart adds a state to a result that is taken with machine, all of whose states are added so.
func (b *StateBuffer[W]) PushPart(final W, arcs []fst.Arc[W]) {
	if b.Out == nil && len(b.finals) < BufferedStates {
		if len(b.arcs)+len(arcs) > PartArcs {
			b.endPart()
		}
		b.finals = append(b.finals, final)
		if len(arcs) >= PartArcs { // and nothing is before it
			b.parts = append(b.parts, slices.Clone(arcs))
			b.moved += int64(len(arcs))
		} else {
			b.arcs = append(b.arcs, arcs...)
		}
		b.ends = append(b.ends, b.moved+int64(len(b.arcs)))
		return
	}
	if b.Out == nil {
		b.endPart()
		b.room = BufferedStates + BufferedStates/2
		b.Out = fst.VectorOf(append(make([]W, 0, b.room), b.finals...), b.ends, b.parts...)
	}
	if n := b.Out.NumStates(); n >= b.room {
		b.room = n + n/2
	}
	b.Out.ReserveStates(b.room)
	b.Out.PushState(final, arcs)
}

// endPart puts the arcs that are in the buffer where they stay.
func (b *StateBuffer[W]) endPart() {
	if len(b.arcs) > 0 {
		b.parts = append(b.parts, slices.Clone(b.arcs))
		b.moved += int64(len(b.arcs))
		clear(b.arcs) // what weights point to
		b.arcs = b.arcs[:0]
	}
}

// Machine returns the result of pushPart, and empties the buffer.
func (b *StateBuffer[W]) Machine() *fst.Vector[W] {
	out := b.Out
	if out == nil {
		b.endPart()
		out = fst.VectorOf(slices.Clone(b.finals), b.ends, b.parts...)
	}
	b.Reset()
	return out
}

// View returns what has been pushed, in the arrays of the buffer unless it did not fit.
func (b *StateBuffer[W]) View() *fst.Vector[W] {
	if b.Out != nil {
		return b.Out
	}
	return fst.VectorOf(b.finals, b.ends, b.arcs)
}

// Reset forgets what is in the buffer, also what its weights point to.
func (b *StateBuffer[W]) Reset() {
	clear(b.finals)
	clear(b.arcs)
	clear(b.State)
	if cap(b.State) > bufferedArcs {
		b.State = nil
	}
	clear(b.parts)
	b.finals, b.ends, b.parts, b.arcs, b.Out = b.finals[:0], b.ends[:0], b.parts[:0], b.arcs[:0], nil
	b.room, b.moved = 0, 0
}
