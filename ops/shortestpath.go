package ops

import (
	"errors"
	"math"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// PathWeight is implemented by the weights among which a best path can be looked for: a⊕b is a or
// b, and closeness is defined.
type PathWeight[W any] interface {
	semiring.Path[W]
	semiring.Approx[W]
}

// ShortestPathOptions adjusts ShortestPath; nil is the same as the zero value.
type ShortestPathOptions[W any] struct {
	N     int   // how many paths; zero is one, negative none
	Queue Queue // zero is QueueAuto; decides which of equally good paths is found when N is 1
	// Delta is, for N > 1, the least change of a distance that is passed on. Weights that are so
	// near are equal when complete paths are compared with beginnings of paths. Zero and below is
	// none.
	Delta float64
	// FirstPath ends the search for one path when no state left in the queue can
	// be better than the best final one so far. The queue must be
	// QueueShortestFirst and no arc better than 1̄, or the path need not be best.
	FirstPath bool
	// Threshold, for N > 1, keeps only paths at least as good as the best one
	// times it; nil keeps all. One that is better than 1̄ keeps none; one that is no member, as
	// NaN, is an error around ErrNotMember.
	Threshold *W
	// States, for N > 1, ends the search when so many states have been made, those on no path among
	// them. Zero is no end, negative makes none.
	States    int
	MaxVisits int64 // bounds relaxations, as in ShortestDistance
	// Limits holds for the result, and for the bytes of the search: the partial
	// paths, the machine turned round and the distances. Its States is a bound
	// that is an error to exceed, unlike the one above.
	Limits
}

func (o *ShortestPathOptions[W]) distances() *ShortestDistanceOptions {
	return &ShortestDistanceOptions{Queue: o.Queue, Delta: o.Delta, MaxVisits: o.MaxVisits, Limits: Limits{Ctx: o.Ctx}}
}

// ShortestPath returns a machine with the opts.N best successful paths of f by the natural order of
// the weights. It has fewer when f has fewer, and is empty when f has none. Paths are counted as
// sequences of arcs, not of labels; see ShortestPathUnique for distinct strings.
//
// For one path, the result is a chain that is numbered from its end: state 0 is final, and the
// start has the highest number. For N > 1, state 0 is the start with an ε-arc to each path, best
// first. The paths share their ends: without the start they are a tree that leads to the one final
// state 1.
//
// Cycles must not be better than 1̄: else the error is ErrNotClosed, in a
// CycleError with the cycle. For N > 1, ⊗ must distribute on both sides.
//
// Cost of one path: that of ShortestDistance. Cost of N paths: that of ShortestDistance, of
// reversing f, and O(N·arcs·log) at worst for the search, mostly O(N·length of paths·arcs a
// state·log).
//
// One path is found by relaxation with back pointers (Mohri 2002, see ShortestDistance). N paths
// are found by A* over the reversed machine. Partial paths from the end are extended in the order
// of their weight times the exact distance from the start, each state at most N times (M. Mohri and
// M. Riley, "An efficient algorithm for the n-best-strings problem", ICSLP 2002). Ties are broken
// as OpenFst does.
func ShortestPath[W PathWeight[W]](f fst.Expanded[W], opts *ShortestPathOptions[W]) (*fst.Vector[W], error) {
	var o ShortestPathOptions[W]
	if opts != nil {
		o = *opts
	}
	if o.N == 0 {
		o.N = 1
	}
	if err := thresholdMember("ShortestPath", o.Threshold); err != nil {
		return nil, err
	}
	switch {
	case o.N > math.MaxInt32:
		return nil, errors.New("ops: ShortestPath: more than 2³¹-1 paths asked for")
	case o.N < 0:
		if o.Queue == QueueTopOrder {
			if _, cycle := topOrder(f, nil); cycle != nil {
				return nil, &CycleError{Op: "ShortestPath", Cycle: cycle, Err: errCyclicInOrder}
			}
		}
		out := fst.NewVector[W](0)
		out.CopySymbols(f)
		return out, nil
	case o.N == 1:
		return singlePath(f, &o)
	}
	d, err := reversedDistances(f, &o)
	if err != nil {
		return nil, err
	}
	n, arcs := f.NumStates(), int64(fst.NumArcs(f))
	base := run.SizeOf[W](n+1, arcs+int64(n)).Bytes + int64(n)*int64(unsafe.Sizeof(d[0]))
	m := o.Limits.workspace().meter("ShortestPath").AtOnce()
	if err := m.Check(run.Progress{Bytes: base}); err != nil {
		return nil, err
	}
	r, err := reversed(f, &run.Stopwatch{Op: "ShortestPath", Ctx: o.Ctx})
	if err != nil {
		return nil, err
	}
	return nShortest(f, &o, &nBestInput[W]{op: "ShortestPath", bytes: func() int64 { return base }, start: 0, arcs: r.Arcs, final: r.Final,
		distance: func(q fst.StateID) W { return d[q] }})
}

// reversedDistances returns the distances from the start of f for the states of the reversed f.
// State q is at q+1, and the best of all final states at 0.
func reversedDistances[W PathWeight[W]](f fst.Expanded[W], o *ShortestPathOptions[W]) ([]W, error) {
	d, err := ShortestDistance(f, o.distances())
	if err != nil {
		return nil, renamed(err, "ShortestPath")
	}
	best := semiring.Zero[W]()
	for q := range d {
		best = best.Plus(d[q].Times(f.Final(fst.StateID(q))))
	}
	return slices.Insert(d, 0, best), nil
}

// singlePath finds one best path.
func singlePath[W PathWeight[W]](f fst.Expanded[W], o *ShortestPathOptions[W]) (*fst.Vector[W], error) {
	out := fst.NewVector[W](0)
	out.CopySymbols(f)
	s := f.Start()
	if s == fst.NoState {
		return out, nil
	}
	const op = "ShortestPath"
	alg := sums.NewAlgebra[W]()
	n := f.NumStates()
	m := o.Limits.meter(op).AtOnce()
	work := int64(n) * (int64(unsafe.Sizeof(alg.Zero)) + 13)
	if err := m.Check(run.Progress{Bytes: work}); err != nil {
		return nil, err
	}
	r := &relaxation[W]{op: op, f: f, o: o.distances()}
	r.o.FirstPath = o.FirstPath
	r.d = slices.Repeat([]W{alg.Zero}, n)
	var err error
	r.queue, r.better, err = newQueue(op, o.Queue, f, knownProperties(f), nil, &alg, sums.Nearest(r.d, &alg),
		&run.Stopwatch{Op: op, Ctx: o.Ctx})
	if err != nil {
		return nil, err
	}
	r.waiting = make([]bool, n)
	r.pred = slices.Repeat([]fst.StateID{fst.NoState}, n)
	r.predArc = make([]int32, n)
	r.d[s], r.waiting[s] = alg.One, true
	r.queue.Push(s)
	var end fst.StateID
	switch r := any(r).(type) {
	case *relaxation[semiring.Tropical]:
		end, err = searchFloats(r)
	case *relaxation[semiring.Tropical64]:
		end, err = searchFloats(r)
	default:
		end, err = searchGeneric(any(r).(*relaxation[W]), &alg)
	}
	if err != nil {
		return nil, err
	}
	// From the end to the start, as the back pointers lead.
	for q, prev := end, fst.NoState; q != fst.NoState; prev, q = q, r.pred[q] {
		p := out.AddState()
		size := run.SizeOf[W](out.NumStates(), int64(out.NumStates()-1))
		size.Bytes += work
		if err := m.Check(size); err != nil {
			return nil, err
		}
		if prev == fst.NoState {
			out.SetFinal(p, f.Final(q))
			continue
		}
		e := f.Arcs(q)[r.predArc[prev]]
		e.NextState = p - 1
		out.AddArc(p, e)
		if out.NumStates() > n {
			// Only a cycle that is better than 1̄ can lead back for ever.
			return nil, notClosed[W](op, f, predCycle[W](r.f, r.pred))
		}
	}
	if k := out.NumStates(); k > 0 {
		out.SetStart(fst.StateID(k - 1))
	}
	setPathProperties(out, true)
	return out, nil
}

// setPathProperties adds what follows from being made of paths.
func setPathProperties[W semiring.Weight[W]](out *fst.Vector[W], tree bool) {
	p := fst.Acyclic | fst.InitialAcyclic | fst.Accessible | fst.UnweightedCycles
	if !tree {
		p |= fst.CoAccessible
	}
	out.SetProperties(p, p|fst.Cyclic|fst.InitialCyclic|fst.NotAccessible|fst.WeightedCycles)
}

// searchGeneric relaxes with back pointers and returns the best final state, or
// NoState. Here every improvement counts, however small.
func searchGeneric[W semiring.Weight[W]](r *relaxation[W], alg *sums.AlgebraOf[W]) (fst.StateID, error) {
	end, best := fst.NoState, alg.Zero
	for !r.queue.Empty() {
		s := r.queue.Pop()
		r.waiting[s] = false
		if r.left--; r.left < 0 {
			if err := r.look(s); err != nil {
				return end, err
			}
		}
		ds := r.d[s]
		if r.o.FirstPath && end != fst.NoState && best.Equal(ds.Plus(best)) {
			break
		}
		if w := r.f.Final(s); !w.Equal(alg.Zero) {
			if sum := best.Plus(ds.Times(w)); !sum.Equal(best) {
				best, end = sum, s
			}
		}
		arcs := r.f.Arcs(s)
		for i := range arcs {
			e := &arcs[i]
			t := e.NextState
			sum := r.d[t].Plus(ds.Times(e.Weight))
			if sum.Equal(r.d[t]) {
				continue
			}
			if !sum.Member() {
				return end, r.outside(s, i)
			}
			r.d[t] = sum
			r.pred[t], r.predArc[t] = s, int32(i)
			if r.waiting[t] {
				r.queue.Update(t)
			} else {
				r.waiting[t] = true
				r.queue.Push(t)
			}
		}
	}
	return end, nil
}

// searchFloats is searchGeneric for the tropical semirings.
func searchFloats[T interface {
	sums.Float
	semiring.Weight[T]
}](r *relaxation[T]) (fst.StateID, error) {
	inf := T(math.Inf(1))
	end, best := fst.NoState, inf
	d, waiting := r.d, r.waiting
	for !r.queue.Empty() {
		s := r.queue.Pop()
		waiting[s] = false
		if r.left--; r.left < 0 {
			if err := r.look(s); err != nil {
				return end, err
			}
		}
		ds := d[s]
		if r.o.FirstPath && end != fst.NoState && ds >= best {
			break
		}
		if w := ds + r.f.Final(s); w < best {
			best, end = w, s
		}
		arcs := r.f.Arcs(s)
		for i := range arcs {
			e := &arcs[i]
			t := e.NextState
			w := ds + e.Weight
			if !(w < d[t]) {
				if w != w && ds != inf && e.Weight != inf {
					return end, r.outside(s, i)
				}
				continue
			}
			if w == -inf {
				return end, r.outside(s, i)
			}
			d[t] = w
			r.pred[t], r.predArc[t] = s, int32(i)
			if waiting[t] {
				r.queue.Update(t)
			} else {
				waiting[t] = true
				r.queue.Push(t)
			}
		}
	}
	return end, nil
}

// ShortestPathLazy returns one best successful path of a machine that is computed on demand, as
// ShortestPath numbers it. It asks for no more states than the search comes to, those at least as
// good as the best path.
//
// No weight may be better than 1̄ (a negative cost over Tropical): an arc or a final weight that is
// ends the search with ErrNotClosed. A machine with infinitely many states and no successful path
// keeps the search going until lim ends it. Bytes are those of the search, besides the machine's
// own, and of the result. States and Arcs are those of the result alone.
//
// Cost: O((states + arcs) log arcs) of the part that was looked at.
//
// E. W. Dijkstra, "A note on two problems in connexion with graphs", Numerische Mathematik
// 1:269-271, 1959. States are entered anew, not moved up: what comes out of the heap a second time
// is skipped.
func ShortestPathLazy[W PathWeight[W]](f fst.Fst[W], lim Limits) (*fst.Vector[W], error) {
	scratch := run.Scratch[searchScratch[W]]()
	work := scratch.Get().(*searchScratch[W])
	out, err := work.shortestPath(f, lim)
	if cap(work.seen) <= keptSearch && cap(work.heap) <= keptSearch {
		scratch.Put(work)
	}
	return out, err
}

// shortestPath is ShortestPathLazy in the work space.
func (work *searchScratch[W]) shortestPath(f fst.Fst[W], lim Limits) (*fst.Vector[W], error) {
	const op = "ShortestPath"
	out := fst.NewVector[W](0)
	out.CopySymbols(f)
	s := f.Start()
	if s == fst.NoState {
		return out, fst.Err(f)
	}
	search := lim.workspace().meter(op)
	var (
		one, zero = semiring.One[W](), semiring.Zero[W]()
		seen      = work.seen[:0]
		heap      = work.heap[:0]
		end, best = fst.NoState, zero
	)
	defer func() { work.seen, work.heap = seen, heap }()
	held := func() int64 {
		return int64(cap(seen))*int64(unsafe.Sizeof(searchState[W]{})) +
			int64(cap(heap))*int64(unsafe.Sizeof(bestItem[W]{}))
	}
	mention := func(q fst.StateID) {
		for int(q) >= len(seen) {
			seen = append(seen, searchState[W]{zero, fst.NoState, 0})
		}
	}
	mention(s)
	seen[s].d = one
	heap.push(bestItem[W]{one, s})
	for len(heap) > 0 {
		it := heap.pop()
		q := it.state
		if !it.d.Equal(seen[q].d) {
			continue
		}
		if end != fst.NoState && !it.d.Less(best) {
			break
		}
		if err := search.Check(run.Progress{States: len(seen), Bytes: held()}); err != nil {
			return nil, err
		}
		w := f.Final(q)
		if w.Less(one) {
			return nil, &StateError{Op: op, State: q, Err: ErrNotClosed}
		}
		if w = it.d.Times(w); w.Less(best) {
			best, end = w, q
		}
		for i, e := range f.Arcs(q) {
			if e.Weight.Less(one) {
				return nil, &StateError{Op: op, State: q, Err: ErrNotClosed}
			}
			mention(e.NextState)
			if w, t := it.d.Times(e.Weight), &seen[e.NextState]; w.Less(t.d) {
				*t = searchState[W]{w, q, int32(i)}
				heap.push(bestItem[W]{w, e.NextState})
			}
		}
		if err := fst.Err(f); err != nil {
			return nil, err
		}
	}
	result := lim.meter(op).AtOnce()
	for q, prev := end, fst.NoState; q != fst.NoState; prev, q = q, seen[q].pred {
		p := out.AddState()
		size := run.SizeOf[W](int(p)+1, int64(p))
		size.Bytes += held()
		if err := result.Check(size); err != nil {
			return nil, err
		}
		if prev == fst.NoState {
			out.SetFinal(p, f.Final(q))
			continue
		}
		arcs := f.Arcs(q)
		if err := fst.Err(f); err != nil {
			return nil, err // q had left the machine's cache, and could not be computed again
		}
		e := arcs[seen[prev].arc]
		e.NextState = p - 1
		out.AddArc(p, e)
	}
	if k := out.NumStates(); k > 0 {
		out.SetStart(fst.StateID(k - 1))
	}
	setPathProperties(out, true)
	if err := fst.Err(f); err != nil {
		return nil, err
	}
	return out, nil
}

// searchScratch is the work space of a search, which the next one takes over. What grew from
// nothing for each word was a fifth of the pages that looking up words touches for the first time.
type searchScratch[W PathWeight[W]] struct {
	seen []searchState[W]
	heap bestHeap[W]
}

// searchState is how a state has been reached: at distance d from pred by its arc.
type searchState[W any] struct {
	d    W
	pred fst.StateID
	arc  int32
}

// keptSearch is how many states of a search are kept room for.
const keptSearch = 1 << 16

// bestItem is a state with the distance at which it was entered.
type bestItem[W any] struct {
	d     W
	state fst.StateID
}

// bestHeap is a binary heap, the best first.
type bestHeap[W semiring.Path[W]] []bestItem[W]

func (h *bestHeap[W]) push(x bestItem[W]) {
	a := append(*h, x)
	i := len(a) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !x.d.Less(a[up].d) {
			break
		}
		a[i] = a[up]
		i = up
	}
	a[i] = x
	*h = a
}

func (h *bestHeap[W]) pop() bestItem[W] {
	a := *h
	top, n := a[0], len(a)-1
	x := a[n]
	a = a[:n]
	for i := 0; n > 0; {
		c := 2*i + 1
		if c+1 < n && a[c+1].d.Less(a[c].d) {
			c++
		}
		if c >= n || !a[c].d.Less(x.d) {
			a[i] = x
			break
		}
		a[i] = a[c]
		i = c
	}
	*h = a
	return top
}
