package ops

import (
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// ShortestDistanceLazy returns d with d[q] = ⊕ w(π) over all paths π from the start to q of a machine
// that is computed on demand, for the states that are reached. It holds d and a queue, and asks for
// states one by one: the machine's own cache is all that there is of its arcs, where
// ShortestDistance wants them whole.
//
// delta is the least change of a sum that is passed on; zero is ShortestDelta. Where sums do not
// settle within ten thousand visits a state, the error wraps ErrNotClosed. lim bounds the
// states that are met, the bytes held besides the machine's own, and the time; Arcs mean
// nothing, as no machine is made.
//
// Cost: O(states · arcs) at worst, and O(states + arcs) where states are met in topological order.
// This is Gen-Single-Source with a queue of M. Mohri, "Semiring frameworks and algorithms for
// shortest-distance problems", J. Automata, Languages and Combinatorics 7(3):321-350, 2002.
func ShortestDistanceLazy[W semiring.Approx[W]](f fst.Fst[W], delta float64, lim Limits) ([]W, error) {
	const op, most = "ShortestDistance", 10_000
	s := f.Start()
	if s == fst.NoState {
		return nil, fst.Err(f)
	}
	if delta == 0 {
		delta = ShortestDelta
	}
	zero := semiring.Zero[W]()
	m := meter{op: op, lim: lim}
	var (
		d, r   []W // r: of what reached a state since it was last visited
		queued []bool
		queue  []fst.StateID
		head   int
		visits int64
	)
	mention := func(q fst.StateID) {
		for int(q) >= len(d) {
			d, r, queued = append(d, zero), append(r, zero), append(queued, false)
		}
	}
	mention(s)
	d[s], r[s] = d[s].One(), d[s].One()
	queue, queued[s] = append(queue, s), true
	for head < len(queue) {
		q := queue[head]
		if head++; head > 1024 && 2*head > len(queue) {
			queue, head = append(queue[:0], queue[head:]...), 0
		}
		if visits++; visits > most*int64(len(d)) {
			return nil, &StateError{Op: op, State: q, Err: ErrNotClosed}
		}
		held := int64(cap(d)+cap(r))*int64(unsafe.Sizeof(zero)) + int64(cap(queued)) + int64(cap(queue))*4
		if err := m.check(Progress{States: len(d), Bytes: held}); err != nil {
			return nil, err
		}
		rq := r[q]
		r[q], queued[q] = zero, false
		for _, e := range f.Arcs(q) {
			n, w := e.NextState, rq.Times(e.Weight)
			mention(n)
			if sum := d[n].Plus(w); !d[n].Near(sum, delta) {
				d[n], r[n] = sum, r[n].Plus(w)
				if !queued[n] {
					queue, queued[n] = append(queue, n), true
				}
			}
		}
		if err := fst.Err(f); err != nil {
			return nil, err
		}
	}
	return d, nil
}
