package run

import (
	"math"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// The size of weights that hold strings, which the sizes of machines do not show. A chain of n arcs
// that each put out a label has distances of n²/2 labels. A chain of n pairs of ε-arcs has a set of
// 2ⁿ strings. Computations with such weights count them here.

// HeapOf returns how many bytes a weight holds outside of itself; nil where none of W does.
func HeapOf[W any]() func(*W) int64 {
	var w W
	if _, ok := any(&w).(semiring.Sized); !ok {
		return nil
	}
	return func(w *W) int64 { return any(w).(semiring.Sized).HeapBytes() } // a pointer: nothing is allocated
}

// HeapOfArcs is what the weights of arcs hold outside of themselves.
func HeapOfArcs[W any](heap func(*W) int64, arcs []fst.Arc[W]) int64 {
	n := int64(0)
	for i := range arcs {
		n += heap(&arcs[i].Weight)
	}
	return n
}

// productBound is implemented by weights whose product can be much larger than both factors.
type productBound[W any] interface{ ProductBytes(W) int64 }

// HeapGuard bounds what weights hold while a state's ε-closure is summed. One product of two
// sets can be beyond all bounds, so it is asked before.
type HeapGuard[W semiring.Weight[W]] struct {
	Heap  func(*W) int64
	bound int64
	Done  int64 // held by what is finished
	now   int64 // at most held by what is not
	meter *Meter
}

// NewHeapGuard returns nil where weights hold nothing, or nothing bounds it. Where it is only a
// context that does, the time that products take is seen from what they hold.
func NewHeapGuard[W semiring.Weight[W]](m *Meter) *HeapGuard[W] {
	heap := HeapOf[W]()
	if heap == nil || m.Lim.Bytes <= 0 && m.Lim.Ctx == nil {
		return nil
	}
	bound := m.Lim.Bytes
	if bound <= 0 {
		bound = math.MaxInt64 / 2
	}
	return &HeapGuard[W]{Heap: heap, bound: bound, meter: m}
}

// Step is called before d is multiplied with those arcs for which with holds, and final. What is
// estimated here is taken off again once the state is finished, since equal strings become one.
func (g *HeapGuard[W]) Step(built Progress, d W, arcs []fst.Arc[W], with func(*fst.Arc[W]) bool,
	final W) error {
	product := func(w W) int64 {
		if p, ok := any(d).(productBound[W]); ok {
			return p.ProductBytes(w)
		}
		return g.Heap(&d) + g.Heap(&w)
	}
	for i := range arcs {
		if with(&arcs[i]) {
			g.now += product(arcs[i].Weight)
		}
		if g.Done+g.now > g.bound {
			break
		}
	}
	g.now += product(final)
	built.Bytes += g.Done + g.now
	return g.meter.Check(built)
}

// Finish is called with what a state got in the place of before.
func (g *HeapGuard[W]) Finish(before int64, arcs []fst.Arc[W], final W) {
	g.Done += HeapOfArcs(g.Heap, arcs) + g.Heap(&final) - before
	g.now = 0
}
