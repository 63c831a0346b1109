package ops

import (
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// sharedPiece is how many arcs of a state are worth sharing out.
const sharedPiece = 1 << 13

// sortStates sorts the arcs of all states of f by several goroutines, which take blocks of states.
// Who finds a state with many arcs gives pieces of it to those that have no states left, to the
// same result: a lexicon has most of its arcs to sort at one state.
//
// Nobody waits for the others between the steps of a state: each goroutine is woken once, where
// waking took .05 to .1 ms at each of five steps. Keys are made by who finds the state, and the
// arcs of a piece are put in place by who has sorted it.
func sortStates[W semiring.Weight[W]](f *fst.Vector[W], key func(*fst.Arc[W]) sortKey, block, workers int) {
	pool := run.NewWorkPool[sortPiece[W]](workers)
	var next atomic.Int64
	n := f.NumStates()
	stop := func() {
		next.Store(int64(n))
		pool.Stop()
	}
	run.Together(workers, stop, func(int) {
		var small arcSorter[W]
		large := run.Scratch[sharedSort[W]]().Get().(*sharedSort[W])
		for {
			lo := int(next.Add(int64(block))) - block
			if lo >= n {
				break
			}
			for q := lo; q < min(lo+block, n); q++ {
				switch d := f.OutDegree(fst.StateID(q)); {
				case d < 2:
				case d > sharedPiece:
					large.sort(f.MutableArcs(fst.StateID(q)), key, pool)
				default:
					small.sort(f.MutableArcs(fst.StateID(q)), key)
				}
			}
		}
		for p, ok := pool.Take(); ok; p, ok = pool.Take() {
			p.sort(pool)
		}
		if !pool.Stopped.Load() { // or others may be at its pieces
			large.giveBack()
		}
	})
}

// sharedSort is arcSorter.sort of a state whose pieces are given away, one state at a time.
type sharedSort[W any] struct {
	arcs, old []fst.Arc[W]
	keys      []sortKey
	sorted    []fst.Arc[W] // the arcs in place of the keys (inPlaceOf), until all are there; nil with old
	left      atomic.Int64 // arcs that are not in their place yet
}

// sort returns when all arcs are in place, or the pool is stopped. While others are still at them
// it helps whoever has pieces.
func (s *sharedSort[W]) sort(arcs []fst.Arc[W], key func(*fst.Arc[W]) sortKey, pool *run.WorkPool[sortPiece[W]]) {
	n := len(arcs)
	s.keys = slices.Grow(s.keys[:0], n)[:n]
	if sortKeys(s.keys, arcs, 0, n, key) {
		return
	}
	s.arcs, s.sorted = arcs, inPlaceOf[W](s.keys)
	if s.sorted == nil {
		s.old = append(s.old[:0], arcs...)
	}
	s.left.Store(int64(n))
	sortPiece[W]{s, 0, n, introsortDepth(n)}.sort(pool)
	for s.left.Load() > 0 {
		if pool.Stopped.Load() {
			return
		}
		if p, ok := pool.TryTake(); ok {
			p.sort(pool)
		} else {
			runtime.Gosched() // at most as long as a piece takes that is not given away
		}
	}
	copy(arcs, s.sorted)
}

// keptSort is for how many arcs the work space is kept, so that sorting the next machine does not
// begin with a thousand first touches of a page.
const keptSort = 1 << 18

// giveBack ends the use of s, all of whose arcs are in place, since sort returns no earlier.
func (s *sharedSort[W]) giveBack() {
	if cap(s.keys) > keptSort {
		s.keys, s.old = nil, nil
	}
	clear(s.old) // what weights point to
	s.arcs, s.sorted = nil, nil
	run.Scratch[sharedSort[W]]().Put(s)
}

// sortPiece is the keys lo ≤ i < hi of a state, which introsort has split from the others, and how
// many unlucky splits are put up with yet.
type sortPiece[W any] struct {
	of            *sharedSort[W]
	lo, hi, depth int
}

// sort leaves the keys as introsort does: they are split at the same places, and no key leaves its
// piece in the insertion sort at the end, so that this can be done piece by piece. What is split
// off goes to the pool.
func (p sortPiece[W]) sort(pool *run.WorkPool[sortPiece[W]]) {
	for p.hi-p.lo > sharedPiece && p.depth > 0 {
		p.depth--
		cut := p.lo + split(p.of.keys[p.lo:p.hi])
		pool.Put(sortPiece[W]{p.of, cut, p.hi, p.depth})
		p.hi = cut
	}
	keys := p.of.keys[p.lo:p.hi]
	introsortPiece(keys, p.depth)
	insertionSort(keys)
	from, to := p.of.old, p.of.arcs
	if p.of.sorted != nil {
		from, to = p.of.arcs, p.of.sorted
	}
	to = to[p.lo:p.hi]
	for i := range keys {
		to[i] = from[keys[i].at]
	}
	p.of.left.Add(-int64(len(keys)))
}
