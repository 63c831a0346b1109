package ops

import (
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// ShortestPathLazy returns one best successful path of a machine that is computed
// on demand, as ShortestPath numbers it, and asks for no more states than the
// search comes to: those at least as good as the best path.
//
// No weight may be better than 1̄ (a negative cost over Tropical): an arc or a final
// weight that is ends the search with ErrNotClosed. A machine with infinitely many
// states and no successful path keeps the search going until lim ends it: its Bytes are
// those of the search, besides the machine's own, and of the result, of which alone States
// and Arcs are counted.
//
// Cost: O((states + arcs) log arcs) of the part that was looked at.
//
// E. W. Dijkstra, "A note on two problems in connexion with graphs", Numerische
// Mathematik 1:269-271, 1959, with states entered anew instead of moved up: what
// comes out of the heap a second time is passed over.
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
		return int64(cap(seen))*int64(unsafe.Sizeof(searchState[W]{})) + int64(cap(heap))*int64(unsafe.Sizeof(bestItem[W]{}))
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

// searchScratch is the work space of a search, which the next one takes over: what grew from
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
