package partition

import (
	"math"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
)

// position is an index into arrays of states or of arcs.
type position interface{ int32 | int64 }

// refinable is a partition of 0 … n-1 whose sets are ranges of one array, marked elements first. To
// split is work on what is marked alone, and on the smaller part.
type refinable[I position] struct {
	elems []I // set by set
	loc   []I // of each element among elems
	set   []I // of each element

	first, end []I // of each set
	marked     []I // how many are marked
	touched    []I // sets with marked elements
}

// newRefinable returns the partition whose sets are order[first[k]:first[k+1]].
func newRefinable[I position](order, first []I) *refinable[I] {
	n := len(first) - 1
	p := &refinable[I]{
		elems: order, loc: make([]I, len(order)), set: make([]I, len(order)),
		first: slices.Clone(first[:n]), end: slices.Clone(first[1:]), marked: make([]I, n),
	}
	for k := range n {
		for i := first[k]; i < first[k+1]; i++ {
			p.loc[order[i]], p.set[order[i]] = i, I(k)
		}
	}
	return p
}

// bytes is what p takes.
func (p *refinable[I]) bytes() int64 {
	return int64(unsafe.Sizeof(I(0))) * int64(3*cap(p.elems)+cap(p.first)+cap(p.end)+cap(p.marked)+cap(p.touched))
}

// of returns the elements of set k.
func (p *refinable[I]) of(k I) []I { return p.elems[p.first[k]:p.end[k]] }

func (p *refinable[I]) mark(e I) {
	k, i := p.set[e], p.loc[e]
	at := p.first[k] + p.marked[k]
	if i < at {
		return
	}
	if p.marked[k] == 0 {
		p.touched = append(p.touched, k)
	}
	p.marked[k]++
	other := p.elems[at]
	p.elems[at], p.elems[i] = e, other
	p.loc[e], p.loc[other] = at, i
}

// split makes a set of its own of the smaller part of each set with marked and unmarked elements.
// It calls made with the two sets, and unmarks all.
func (p *refinable[I]) split(made func(old, new I)) {
	for _, k := range p.touched {
		lo, mid, hi := p.first[k], p.first[k]+p.marked[k], p.end[k]
		p.marked[k] = 0
		if mid == hi {
			continue
		}
		n := I(len(p.first))
		if mid-lo <= hi-mid {
			p.first[k], hi = mid, mid
		} else {
			p.end[k], lo = mid, mid
		}
		p.first, p.end, p.marked = append(p.first, lo), append(p.end, hi), append(p.marked, 0)
		for _, e := range p.elems[lo:hi] {
			p.set[e] = n
		}
		made(k, n)
	}
	p.touched = p.touched[:0]
}

// bisimilar refines classes of states until those of one class have arcs with the same labels to
// the same classes, and no further. list[first[q]:first[q+1]] are the arcs into state q, class is
// the class of each of n states. It returns the same of the refined ones.
//
// A slice has the arcs of one label into one class, and a bunch has slices of one label into
// several classes. The states of a class agree on each bunch: all or none of them have an arc of
// it. A bunch of several slices gives up one that is no larger than the rest. Then classes are
// split by who has an arc of that slice, and these by who has none of the rest. Counts of arcs, one
// for each state and bunch, tell that. So both parts of a bunch split classes, and only the smaller
// is read.
//
// Cost: O(arcs · log states). Space: five numbers an arc, of 32 bits up to 2³¹ arcs. Where all
// classes split it takes seven more, in arrays that grow and so may be half empty.
//
// After R. Paige and R. Tarjan, "Three partition refinement algorithms", SIAM J. Computing 16(6),
// 1987, for several labels as in A. Valmari, "Bisimilarity minimization in O(m log n) time", Petri
// Nets 2009.
func bisimilar(list []inArc, first []int64, class []int32, n int, w *run.Stopwatch) ([]int32, int, error) {
	if len(list) > math.MaxInt32 {
		return bisimilarBy[int64](list, first, class, n, w)
	}
	return bisimilarBy[int32](list, first, class, n, w)
}

func bisimilarBy[I position](list []inArc, first []int64, class []int32, n int,
	w *run.Stopwatch) ([]int32, int, error) {
	if err := w.Hold(16*int64(len(class)) + 5*int64(unsafe.Sizeof(I(0)))*int64(len(list))); err != nil { // before anything splits
		return nil, 0, err
	}
	states := newRefinable(run.GroupBy(class, n))
	order, bunches := byLabel[I](list)
	var b bunching[I]
	b.counter = make([]I, len(list))
	b.mine = slices.Repeat([]I{-1}, len(class))
	ends := []I{0}
	for k := range bunches[1:] {
		lo, hi := bunches[k], bunches[k+1]
		b.lo, b.hi, b.waiting = append(b.lo, lo), append(b.hi, hi), append(b.waiting, true)
		b.work = append(b.work, I(k))
		b.of = append(b.of, I(k))
		ends = append(ends, hi)
		for _, t := range order[lo:hi] {
			b.count1(list[t].from, t)
		}
		b.forget()
	}
	slicesOf := newRefinable(order, ends)
	var fresh []int32 // classes that are new
	isNew := func(_, c int32) { fresh = append(fresh, c) }
	bunchGrew := func(old, _ I) {
		k := b.of[old]
		b.of = append(b.of, k)
		if !b.waiting[k] {
			b.waiting[k] = true
			b.work = append(b.work, k)
		}
	}
	// settle takes the arcs into new classes out of their slices.
	settle := func() error {
		for _, c := range fresh {
			for _, q := range states.of(c) {
				lo, hi := first[q], first[q+1]
				if err := w.Spend(1 + int(hi-lo)); err != nil {
					return err
				}
				for t := lo; t < hi; t++ {
					slicesOf.mark(I(t))
				}
			}
			slicesOf.split(bunchGrew)
		}
		fresh = fresh[:0]
		return nil
	}
	// The classes that are given are a slice each of their labels' bunches, and agree on these.
	for c := range int32(n) {
		fresh = append(fresh, c)
	}
	if err := settle(); err != nil {
		return nil, 0, err
	}
	for k := range b.lo {
		for _, t := range slicesOf.elems[b.lo[k]:b.hi[k]] {
			states.mark(list[t].from)
		}
		states.split(isNew)
		if err := settle(); err != nil {
			return nil, 0, err
		}
	}
	for len(b.work) > 0 {
		k := b.work[len(b.work)-1]
		s, last := slicesOf.set[slicesOf.elems[b.lo[k]]], slicesOf.set[slicesOf.elems[b.hi[k]-1]]
		if s == last {
			b.work = b.work[:len(b.work)-1]
			b.waiting[k] = false
			continue
		}
		if len(slicesOf.of(s)) <= len(slicesOf.of(last)) {
			b.lo[k] = slicesOf.end[s]
		} else {
			s = last
			b.hi[k] = slicesOf.first[s]
		}
		b.of[s] = I(len(b.lo))
		b.lo, b.hi, b.waiting = append(b.lo, slicesOf.first[s]), append(b.hi, slicesOf.end[s]),
			append(b.waiting, false)
		arcs := slicesOf.of(s)
		if err := w.Spend(len(arcs)); err != nil {
			return nil, 0, err
		}
		if err := w.Hold(states.bytes() + slicesOf.bytes() + b.bytes()); err != nil {
			return nil, 0, err
		}
		for _, t := range arcs {
			b.recount(list[t].from, t)
		}
		for _, m := range b.moved {
			states.mark(m.state)
		}
		states.split(isNew)
		for _, m := range b.moved {
			if b.count[m.before] == 0 {
				b.free = append(b.free, m.before)
				states.mark(m.state)
			}
		}
		states.split(isNew)
		b.forget()
		if err := settle(); err != nil {
			return nil, 0, err
		}
	}
	return states.set, len(states.first), nil
}

// bunching is how slices make up bunches.
type bunching[I position] struct {
	of      []I    // the bunch of each slice
	lo, hi  []I    // the arcs of each bunch
	waiting []bool // bunches in work
	work    []I    // bunches that may have several slices

	count   []I // arcs of a state in a bunch
	counter []I // of each arc: which count it is in
	free    []I // counts that nothing is in
	mine    []I // of each state that has moved: its count in the new bunch, else -1
	moved   []movedCount[I]
}

// bytes is what b takes.
func (b *bunching[I]) bytes() int64 {
	numbers := cap(b.of) + cap(b.lo) + cap(b.hi) + cap(b.work) + cap(b.count) + cap(b.counter) + cap(b.free) +
		cap(b.mine)
	return int64(unsafe.Sizeof(I(0)))*int64(numbers) + int64(cap(b.waiting)) +
		int64(unsafe.Sizeof(movedCount[I]{}))*int64(cap(b.moved))
}

// movedCount is a state with arcs of a slice that becomes a bunch, and its count in the bunch
// before.
type movedCount[I position] struct {
	state  int32
	before I
}

// count1 puts arc t, from q, into the count of q in the bunch at hand.
func (b *bunching[I]) count1(q int32, t I) {
	c := b.mine[q]
	if c < 0 {
		if k := len(b.free); k > 0 {
			c, b.free = b.free[k-1], b.free[:k-1]
		} else {
			c = I(len(b.count))
			b.count = append(b.count, 0)
		}
		b.mine[q] = c
		b.moved = append(b.moved, movedCount[I]{q, b.counter[t]})
	}
	b.count[c]++
	b.counter[t] = c
}

// recount takes arc t, from q, from its count into that of the bunch at hand.
func (b *bunching[I]) recount(q int32, t I) {
	b.count[b.counter[t]]--
	b.count1(q, t)
}

// forget ends the bunch at hand.
func (b *bunching[I]) forget() {
	for _, m := range b.moved {
		b.mine[m.state] = -1
	}
	b.moved = b.moved[:0]
}

// byLabel returns the arcs grouped by label, as order[first[k]:first[k+1]].
func byLabel[I position](list []inArc) (order, first []I) {
	ids := fst.NewTable(func(l fst.Label) uint64 { return fst.Mix(uint64(l)) })
	group := make([]int32, len(list))
	for t := range list {
		k, _ := ids.ID(list[t].label)
		group[t] = int32(k)
	}
	first = make([]I, ids.Len()+2)
	for _, k := range group {
		first[k+2]++
	}
	for k := range ids.Len() {
		first[k+2] += first[k+1]
	}
	order = make([]I, len(list))
	for t, k := range group {
		order[first[k+1]] = I(t)
		first[k+1]++
	}
	return order, first[:ids.Len()+1]
}
