package partition

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/engine"
	"github.com/tropica-fst/tropica/ops/internal/graph"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// partition is a partition of the states of a machine, for refinement. Each class is a list through
// next, new members at the head. The states that Hopcroft's algorithm has marked are in a second
// list of their class. Four flat arrays of elements and four of classes, nothing allocated while it
// is refined.
//
// The head of a class's list is the state that stands for it in the minimal machine. So the order
// of the lists decides the numbers of states. It is OpenFst's.
type partition struct {
	class      []int32 // of each state
	next, prev []int32 // in the list of marked or unmarked states; -1 ends
	marked     []int32 // equal to round when marked

	size, markedSize []int32 // of each class
	head, markedHead []int32 // first unmarked and first marked state, or -1

	round   int32
	touched []int32 // classes with marked states
}

func newPartition(states, classes int) *partition {
	p := &partition{round: 1}
	all := make([]int32, 4*states)
	p.class, p.next, p.prev, p.marked = all[:states], all[states:2*states], all[2*states:3*states],
		all[3*states:]
	for range classes {
		p.addClass()
	}
	return p
}

// bytes is what p takes.
func (p *partition) bytes() int64 {
	return 4 * int64(4*len(p.class)+cap(p.size)+cap(p.markedSize)+cap(p.head)+cap(p.markedHead)+cap(p.touched))
}

func (p *partition) addClass() int32 {
	p.size, p.markedSize = append(p.size, 0), append(p.markedSize, 0)
	p.head, p.markedHead = append(p.head, -1), append(p.markedHead, -1)
	return int32(len(p.size) - 1)
}

// add puts state q at the head of class c.
func (p *partition) add(q, c int32) {
	h := p.head[c]
	if h >= 0 {
		p.prev[h] = q
	}
	p.head[c], p.next[q], p.prev[q] = q, h, -1
	p.class[q] = c
	p.size[c]++
}

// mark moves q among the marked states of its class.
func (p *partition) mark(q int32) {
	if p.marked[q] == p.round {
		return
	}
	c := p.class[q]
	if before := p.prev[q]; before >= 0 {
		p.next[before] = p.next[q]
	} else {
		p.head[c] = p.next[q]
	}
	if after := p.next[q]; after >= 0 {
		p.prev[after] = p.prev[q]
	}
	h := p.markedHead[c]
	if h >= 0 {
		p.prev[h] = q
	} else {
		p.touched = append(p.touched, c)
	}
	p.marked[q] = p.round
	p.next[q], p.prev[q] = h, -1
	p.markedHead[c] = q
	p.markedSize[c]++
}

// split makes a class of its own of the smaller part of each class with marked and unmarked states;
// of equal parts it is the marked one. It calls made with the new class, and unmarks all.
func (p *partition) split(made func(c int32)) {
	for _, c := range p.touched {
		marked, unmarked := p.markedSize[c], p.size[c]-p.markedSize[c]
		switch {
		case unmarked == 0:
			p.head[c] = p.markedHead[c]
		default:
			n := p.addClass()
			if unmarked < marked {
				p.head[n], p.size[n] = p.head[c], unmarked
				p.head[c], p.size[c] = p.markedHead[c], marked
			} else {
				p.head[n], p.size[n] = p.markedHead[c], marked
				p.size[c] = unmarked
			}
			for q := p.head[n]; q >= 0; q = p.next[q] {
				p.class[q] = n
			}
			made(n)
		}
		p.markedHead[c], p.markedSize[c] = -1, 0
	}
	p.touched = p.touched[:0]
	p.round++
}

// Acyclic returns, for each state of f, the state that stands for all that accept the same from
// there. f must be trim, deterministic and acyclic, with sorted arcs. Weights are not read.
//
// States are compared height by height, where the height is the length of the longest way on. Two
// are equivalent when they agree in finality and in their arcs up to equivalence of the next
// states, which are lower. The class of the last state of each height is represented by that state,
// any other class by its first, as in OpenFst.
//
// Cost: O(states + arcs), hashing.
//
// After D. Revuz, "Minimisation of acyclic deterministic automata in linear time",
// Theoretical Computer Science 92(1):181-189, 1992.
func Acyclic[W semiring.Weight[W]](f fst.Expanded[W], w *run.Stopwatch) ([]fst.StateID, error) {
	n := f.NumStates()
	const perState = 4 * 4 // height, order, where heights begin, and what stands for it
	if err := w.Hold(perState * int64(n)); err != nil {
		return nil, err
	}
	height, most := heights(f)
	order, first := run.GroupBy(height, int(most)+1)
	stands := make([]fst.StateID, n)
	seed := maphash.MakeSeed()
	var index engine.Index // of the states of one height
	var key []byte
	signature := func(q int32) []byte {
		key = key[:0]
		if fst.IsFinal[W](f, fst.StateID(q)) {
			key = append(key, 1)
		}
		arcs := f.Arcs(fst.StateID(q))
		for i := range arcs {
			key = binary.LittleEndian.AppendUint64(key, arcKey(arcs[i].ILabel, stands[arcs[i].NextState]))
		}
		return key
	}
	same := func(q, r int32) bool {
		a, b := f.Arcs(fst.StateID(q)), f.Arcs(fst.StateID(r))
		if len(a) != len(b) || fst.IsFinal[W](f, fst.StateID(q)) != fst.IsFinal[W](f, fst.StateID(r)) {
			return false
		}
		for i := range a {
			if a[i].ILabel != b[i].ILabel || stands[a[i].NextState] != stands[b[i].NextState] {
				return false
			}
		}
		return true
	}
	for h := range int(most) + 1 {
		states := order[first[h]:first[h+1]]
		if need := engine.IndexBytes(len(states)); need > index.Bytes() {
			if err := w.Hold(perState*int64(n) + need + index.Bytes()); err != nil {
				return nil, err
			}
		}
		index.Reset(len(states))
		// The last state goes in first, so that its class is represented by it.
		last := len(states) - 1
		for i := -1; i < last; i++ {
			q := states[max(i, 0)]
			if i < 0 {
				q = states[last]
			}
			if err := w.Spend(4 + 4*len(f.Arcs(fst.StateID(q)))); err != nil {
				return nil, err
			}
			hash := uint32(maphash.Bytes(seed, signature(q)))
			p := index.Probe(hash)
			k := p.Next()
			for k >= 0 && !same(q, k) {
				k = p.Next()
			}
			if k < 0 {
				k = q
				index.AddAt(p, q)
			}
			stands[q] = fst.StateID(k)
		}
	}
	return stands, nil
}

// heights returns the length of the longest path from each state of the acyclic
// machine f, and the greatest.
func heights[W semiring.Weight[W]](f fst.Expanded[W]) (height []int32, most int32) {
	n := f.NumStates()
	height = make([]int32, n)
	update := func(q fst.StateID) {
		h := int32(0)
		for _, e := range f.Arcs(q) {
			h = max(h, height[e.NextState]+1)
		}
		height[q] = h
		most = max(most, h)
	}
	if sums.IsTopSorted(f) {
		for q := n - 1; q >= 0; q-- {
			update(fst.StateID(q))
		}
		return height, most
	}
	position, _ := graph.TopOrder(f, nil)
	at := make([]fst.StateID, n)
	for q, k := range position {
		at[k] = fst.StateID(q)
	}
	for k := n - 1; k >= 0; k-- {
		update(at[k])
	}
	return height, most
}

// inArc is an arc seen from its end.
type inArc struct {
	label fst.Label
	from  int32
}

// incoming lists the arcs into each state, list[first[q]:first[q+1]], by label;
// those of one label in the order in which OpenFst's sort leaves them.
func incoming[W semiring.Weight[W]](f fst.Expanded[W]) (list []inArc, first []int64) {
	n := f.NumStates()
	first = make([]int64, n+2)
	for q := range n {
		for _, e := range f.Arcs(fst.StateID(q)) {
			first[e.NextState+2]++
		}
	}
	for q := range n {
		first[q+2] += first[q+1]
	}
	list = make([]inArc, first[n+1])
	for q := range n {
		for _, e := range f.Arcs(fst.StateID(q)) {
			list[first[e.NextState+1]] = inArc{e.ILabel, int32(q)}
			first[e.NextState+1]++
		}
	}
	first = first[:n+1]
	var keys []run.SortKey
	var old []inArc
	for q := range n {
		in := list[first[q]:first[q+1]]
		if slices.IsSortedFunc(in, func(a, b inArc) int { return cmp.Compare(a.label, b.label) }) &&
			len(in) <= run.InsertionPiece {
			continue
		}
		keys = keys[:0]
		for i, a := range in {
			k := run.LabelKey(a.label, a.label)
			k.At = int32(i)
			keys = append(keys, k)
		}
		run.Introsort(keys)
		old = append(old[:0], in...)
		for i, k := range keys {
			in[i] = old[k.At]
		}
	}
	return list, first
}

// Cyclic returns, for each state of the trim machine f, the state that
// stands for all equivalent to it. Weights are not looked at. With arcOrder,
// states whose arcs have the same labels in another order start out apart.
//
// Classes begin as the states that agree in finality and in the set of their labels. Each class in
// turn splits all others by whether their states reach it with a label, the labels in order. Of the
// two parts only the smaller must be used again. That holds for deterministic machines, complete or
// not. For others it does not: a state that reaches the smaller part may or may not reach the other
// as well. OpenFst stops there, and can merge states that are not equivalent. Here bisimilar splits
// these. The state for a class is then the first of its states in the list of the class before.
//
// Cost: O(arcs · log states) splits, in arrays; a binary heap merges the lists of
// arcs into a class by label. It pops equal labels in the order of GNU's library,
// which decides what stands for a class.
//
// After J. Hopcroft, "An n log n algorithm for minimizing states in a finite
// automaton", 1971; lists of marked states as in A. Valmari and P. Lehtinen,
// "Efficient minimization of DFAs with partial transition functions", STACS 2008.
func Cyclic[W semiring.Weight[W]](f fst.Expanded[W], arcOrder, deterministic bool,
	w *run.Stopwatch) ([]fst.StateID, error) {
	if err := run.Cancelled(w.Op, w.Ctx); err != nil {
		return nil, err
	}
	lists := 8*int64(f.NumStates()) + int64(unsafe.Sizeof(inArc{}))*int64(fst.NumArcs(f)) // see incoming
	if err := w.Hold(lists + 24*int64(f.NumStates())); err != nil {
		return nil, err
	}
	w.Held.Bytes += lists
	p := prePartition(f, arcOrder)
	if err := run.Cancelled(w.Op, w.Ctx); err != nil {
		return nil, err
	}
	list, first := incoming(f)
	if err := p.refine(list, first, w); err != nil {
		return nil, err
	}
	done := deterministic
	if !done {
		var err error
		if done, err = bisimulates(f, p, w); err != nil {
			return nil, err
		}
	}
	if done {
		return p.heads(), nil
	}
	w.Held.Bytes += p.bytes()
	class, n, err := bisimilar(list, first, p.class, len(p.size), w)
	if err != nil {
		return nil, err
	}
	return p.firstOf(class, n), nil
}

// bisimulates reports whether the states of each class of p have arcs with the same labels to the
// same classes. That is mostly so after one pass.
func bisimulates[W semiring.Weight[W]](f fst.Expanded[W], p *partition, w *run.Stopwatch) (bool, error) {
	keys := func(dst []uint64, q int32) []uint64 {
		for _, e := range f.Arcs(fst.StateID(q)) {
			dst = append(dst, arcKey(e.ILabel, fst.StateID(p.class[e.NextState])))
		}
		slices.Sort(dst)
		return slices.Compact(dst)
	}
	var first, other []uint64
	for c, h := range p.head {
		if p.size[c] == 1 {
			continue
		}
		first = keys(first[:0], h)
		for q := p.next[h]; q >= 0; q = p.next[q] {
			if err := w.Spend(4 + 4*len(f.Arcs(fst.StateID(q)))); err != nil {
				return false, err
			}
			if other = keys(other[:0], q); !slices.Equal(first, other) {
				return false, nil
			}
		}
	}
	return true, nil
}

// heads returns, for each state, the head of its class.
func (p *partition) heads() []fst.StateID {
	stands := make([]fst.StateID, len(p.class))
	for q := range stands {
		stands[q] = fst.StateID(p.head[p.class[q]])
	}
	return stands
}

// firstOf returns, for each state, that of its class which comes first in the lists of p, which n
// classes refine.
func (p *partition) firstOf(class []int32, n int) []fst.StateID {
	heads := slices.Repeat([]fst.StateID{fst.NoState}, n)
	for _, q := range p.head {
		for ; q >= 0; q = p.next[q] {
			if c := class[q]; heads[c] == fst.NoState {
				heads[c] = fst.StateID(q)
			}
		}
	}
	stands := make([]fst.StateID, len(class))
	for q, c := range class {
		stands[q] = heads[c]
	}
	return stands
}

// refine splits by every class, and by the smaller part of each that is split.
func (p *partition) refine(list []inArc, first []int64, w *run.Stopwatch) error {
	queue := make([]int32, len(p.size)) // a stack
	for c := range queue {
		queue[c] = int32(c)
	}
	lists := run.NewHeap(func(a, b cursor) bool { return a.label < b.label })
	push := func(c int32) { queue = append(queue, c) }
	for len(queue) > 0 {
		c := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for q := p.head[c]; q >= 0; q = p.next[q] {
			if first[q] < first[q+1] {
				lists.Push(cursor{list[first[q]].label, first[q], first[q+1]})
			}
		}
		label, begun := fst.Label(0), false
		for lists.Len() > 0 {
			k := lists.Pop()
			if err := w.Spend(4); err != nil {
				return err
			}
			if k.label != label || !begun {
				p.split(push)
				label, begun = k.label, true
			}
			q := list[k.at].from
			if p.size[p.class[q]] > 1 {
				p.mark(q)
			}
			if k.at++; k.at < k.end {
				k.label = list[k.at].label
				lists.Push(k)
			}
		}
		p.split(push)
		if err := w.Hold(p.bytes() + 4*int64(cap(queue)) +
			int64(unsafe.Sizeof(cursor{}))*int64(lists.Room())); err != nil {
			return err
		}
	}
	return nil
}

// prePartition groups the states by finality and by a hash of the labels of
// their arcs, repetitions of the label before left out.
func prePartition[W semiring.Weight[W]](f fst.Expanded[W], arcOrder bool) *partition {
	n := f.NumStates()
	ids := fst.NewTable(func(k [2]uint64) uint64 { return fst.Mix(k[0] + k[1]) })
	class := make([]int32, n)
	var labels []fst.Label
	for q := range n {
		labels = labels[:0]
		for _, e := range f.Arcs(fst.StateID(q)) {
			labels = append(labels, e.ILabel)
		}
		if !arcOrder {
			slices.Sort(labels)
		}
		hash, last := uint64(433024223), ^uint64(0)
		for _, l := range labels {
			if u := uint64(int64(l)); u != last {
				hash, last = 7603*hash+u, u
			}
		}
		final := uint64(0)
		if fst.IsFinal[W](f, fst.StateID(q)) {
			final = 1
		}
		c, _ := ids.ID([2]uint64{hash, final})
		class[q] = int32(c)
	}
	p := newPartition(n, ids.Len())
	for q, c := range class {
		p.add(int32(q), c)
	}
	return p
}

// cursor stands before arc number at of a list of incoming arcs, with its label.
type cursor struct {
	label   fst.Label
	at, end int64
}

// arcKey orders arcs by label, then by next state.
func arcKey(l fst.Label, q fst.StateID) uint64 {
	return uint64(uint32(l)^1<<31)<<32 | uint64(uint32(q))
}
