package ops

import (
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// Weights that hold strings are as large as these, which the sizes of machines do not show: a
// chain of n arcs that each put out a label has distances of n²/2 labels, and a chain of n pairs of
// ε-arcs a set of 2ⁿ strings. What computes with such weights counts them here.

// heapOf returns how many bytes a weight holds outside of itself; nil where none of W does.
func heapOf[W any]() func(*W) int64 {
	var w W
	if _, ok := any(&w).(semiring.Sized); !ok {
		return nil
	}
	return func(w *W) int64 { return any(w).(semiring.Sized).HeapBytes() } // a pointer: nothing is allocated
}

// heapOfArcs is what the weights of arcs hold outside of themselves.
func heapOfArcs[W any](heap func(*W) int64, arcs []fst.Arc[W]) int64 {
	n := int64(0)
	for i := range arcs {
		n += heap(&arcs[i].Weight)
	}
	return n
}

// machineBytes is what f takes, with what its weights hold outside of themselves where lim
// bounds bytes: otherwise it is not worth the walk over all arcs.
func machineBytes[W semiring.Weight[W]](f fst.Expanded[W], lim Limits) int64 {
	n := sizeOf[W](f.NumStates(), int64(fst.NumArcs(f))).Bytes
	if heap := heapOf[W](); heap != nil && lim.Bytes > 0 {
		for q := range fst.StateID(f.NumStates()) {
			final := f.Final(q)
			n += heap(&final) + heapOfArcs(heap, f.Arcs(q))
		}
	}
	return n
}

// beside is lim for a part of an operation that has held bytes in use besides.
func (lim Limits) beside(held int64) Limits {
	if lim.Bytes > 0 {
		lim.Bytes = max(1, lim.Bytes-held)
	}
	return lim
}

// wholeOf is the error of a part that was given lim.beside(held), as that of the operation op.
func wholeOf(err error, op string, lim Limits, held int64) error {
	return asWhole(err, op, func(l *LimitError) {
		l.Built.Bytes += held
		if l.Limit == "bytes" {
			l.Bound = lim.Bytes
		}
	})
}

// productBound is met by weights of which a product can be much larger than both factors.
type productBound[W any] interface{ ProductBytes(W) int64 }

// heapGuard bounds what weights hold while a state's ε-closure is summed. One product of two
// sets can be beyond all bounds, so it is asked before.
type heapGuard[W semiring.Weight[W]] struct {
	heap  func(*W) int64
	bound int64
	done  int64 // held by what is finished
	now   int64 // at most held by what is not
	meter *meter
}

// newHeapGuard returns nil where weights hold nothing, or nothing bounds it. Where it is only a context that does, the
// time that products take is seen from what they hold.
func newHeapGuard[W semiring.Weight[W]](m *meter) *heapGuard[W] {
	heap := heapOf[W]()
	if heap == nil || m.lim.Bytes <= 0 && m.lim.Ctx == nil {
		return nil
	}
	bound := m.lim.Bytes
	if bound <= 0 {
		bound = math.MaxInt64 / 2
	}
	return &heapGuard[W]{heap: heap, bound: bound, meter: m}
}

// step is called before d is multiplied with those arcs for which with holds, and final. What is
// estimated here is taken off again once the state is finished, since equal strings become one.
func (g *heapGuard[W]) step(built Progress, d W, arcs []fst.Arc[W], with func(*fst.Arc[W]) bool, final W) error {
	product := func(w W) int64 {
		if p, ok := any(d).(productBound[W]); ok {
			return p.ProductBytes(w)
		}
		return g.heap(&d) + g.heap(&w)
	}
	for i := range arcs {
		if with(&arcs[i]) {
			g.now += product(arcs[i].Weight)
		}
		if g.done+g.now > g.bound {
			break
		}
	}
	g.now += product(final)
	built.Bytes += g.done + g.now
	return g.meter.check(built)
}

// finish is called with what a state got in the place of before.
func (g *heapGuard[W]) finish(before int64, arcs []fst.Arc[W], final W) {
	g.done += heapOfArcs(g.heap, arcs) + g.heap(&final) - before
	g.now = 0
}

// sweepSized is the sweep of an acyclic machine whose weights hold strings, which stops once the
// distances hold more than bytes; 0 is no limit.
func sweepSized[W semiring.Weight[W], D semiring.Weight[D]](op string, f fst.Expanded[W], order, sources []fst.StateID, reverse bool, bytes int64, w *stopwatch) ([]D, error) {
	heap := heapOf[D]()
	n := f.NumStates()
	d := slices.Repeat([]D{semiring.Zero[D]()}, n)
	if !reverse {
		for _, s := range sources {
			d[s] = d[s].One()
		}
	}
	rows := rowsOf[W, D]()
	held := int64(0)
	for i := range n {
		if reverse {
			i = n - 1 - i
		}
		q := fst.StateID(i)
		if order != nil {
			q = order[i]
		}
		if err := w.did(1 + len(f.Arcs(q))); err != nil {
			return nil, err
		}
		// What a state's distance is, is known when its turn comes, in both directions.
		if reverse {
			d[q] = rows.sum(d, f.Arcs(q), f.Final(q))
		}
		if held += heap(&d[q]); held > bytes {
			return nil, &LimitError{Op: op, Limit: "bytes", Bound: bytes, Built: Progress{Bytes: held}, Cause: ErrLimit}
		}
		if !reverse {
			rows.relax(d, d[q], f.Arcs(q))
		}
	}
	return d, nil
}
