package run

import (
	"math/bits"
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// SortKey orders arcs: by Major, then by Minor. At is the position before.
type SortKey struct {
	Major uint64
	Minor uint32
	At    int32
}

// Less reports whether k comes before l; keys that differ only in At are alike.
func (k SortKey) Less(l SortKey) bool {
	return k.Major < l.Major || k.Major == l.Major && k.Minor < l.Minor
}

// LabelKey is the key that orders by l1, then by l2.
func LabelKey(l1, l2 fst.Label) SortKey {
	const bias = 1 << 31 // negative labels go first
	return SortKey{Major: uint64(uint32(l1)^bias)<<32 | uint64(uint32(l2)^bias)}
}

// ArcSorter sorts arcs by keys, which are smaller and quicker to compare.
type ArcSorter[W any] struct {
	keys []SortKey
	old  []fst.Arc[W]
}

func (s *ArcSorter[W]) Sort(arcs []fst.Arc[W], key func(*fst.Arc[W]) SortKey) {
	s.keys = slices.Grow(s.keys[:0], len(arcs))[:len(arcs)]
	if sortKeys(s.keys, arcs, 0, len(arcs), key) {
		return
	}
	Introsort(s.keys)
	if sorted := InPlaceOf[W](s.keys); sorted != nil {
		for i := range sorted {
			sorted[i] = arcs[s.keys[i].At]
		}
		copy(arcs, sorted)
		return
	}
	s.old = append(s.old[:0], arcs...)
	for i, k := range s.keys {
		arcs[i] = s.old[k.At]
	}
}

// InPlaceOf returns the memory of keys for as many arcs, each in place of the key that tells where
// it was. It is nil where arcs are of another size. Two million arcs of a state then are sorted in
// 64 MB with the machine, where a copy of them beside the keys took 96. An arc of so many bytes has
// a weight of four at most, in which there is no pointer.
func InPlaceOf[W any](keys []SortKey) []fst.Arc[W] {
	if unsafe.Sizeof(fst.Arc[W]{}) != unsafe.Sizeof(SortKey{}) || unsafe.Sizeof(uintptr(0)) < 8 ||
		len(keys) == 0 {
		return nil
	}
	return unsafe.Slice((*fst.Arc[W])(unsafe.Pointer(&keys[0])), len(keys))
}

// sortKeys fills in the keys lo ≤ i < hi, and reports whether they are in strict order.
func sortKeys[W any](keys []SortKey, arcs []fst.Arc[W], lo, hi int, key func(*fst.Arc[W]) SortKey) bool {
	strict := true
	for i := lo; i < hi; i++ {
		k := key(&arcs[i])
		k.At = int32(i)
		strict = strict && (i == lo || keys[i-1].Less(k))
		keys[i] = k
	}
	return strict
}

// Introsort sorts keys by D. Musser, "Introspective sorting and selection algorithms", Software:
// Practice and Experience 27(8):983-993, 1997. It makes the choices of GNU's C++ library, which
// decide the order of equal keys. Pieces of up to 16 are left to one insertion sort at the end. The
// pivot is the median of the second, the middle and the last. After 2 log₂ n unlucky splits a piece
// is heap-sorted.
func Introsort(keys []SortKey) {
	if len(keys) < 2 {
		return
	}
	introsortPiece(keys, introsortDepth(len(keys)))
	insertionSort(keys)
}

// introsortDepth is how many unlucky splits are put up with.
func introsortDepth(n int) int { return 2 * (bits.Len(uint(n)) - 1) }

// insertionSort is quick where no key is far from its place.
func insertionSort(keys []SortKey) {
	for i := 1; i < len(keys); i++ {
		k, j := keys[i], i
		for j > 0 && k.Less(keys[j-1]) {
			keys[j] = keys[j-1]
			j--
		}
		keys[j] = k
	}
}

const InsertionPiece = 16

// introsortPiece recurses at most depth deep.
func introsortPiece(keys []SortKey, depth int) {
	for len(keys) > InsertionPiece {
		if depth == 0 {
			heapsort(keys)
			return
		}
		depth--
		cut := split(keys)
		introsortPiece(keys[cut:], depth)
		keys = keys[:cut]
	}
}

// split moves a median of three to the front and parts the rest around it. Nothing before the
// returned position is greater, nothing from it on less.
func split(keys []SortKey) int {
	b, c := len(keys)/2, len(keys)-1
	median := 1
	switch {
	case keys[1].Less(keys[b]):
		if keys[b].Less(keys[c]) {
			median = b
		} else if keys[1].Less(keys[c]) {
			median = c
		}
	case keys[1].Less(keys[c]):
	case keys[b].Less(keys[c]):
		median = c
	default:
		median = b
	}
	keys[0], keys[median] = keys[median], keys[0]
	pivot := keys[0]
	i, j := 1, len(keys)
	for {
		for keys[i].Less(pivot) {
			i++
		}
		j--
		for pivot.Less(keys[j]) {
			j--
		}
		if i >= j {
			return i
		}
		keys[i], keys[j] = keys[j], keys[i]
		i++
	}
}

func heapsort(keys []SortKey) {
	for i := (len(keys) - 2) / 2; i >= 0; i-- {
		sift(keys, i, keys[i])
	}
	for n := len(keys) - 1; n > 0; n-- {
		k := keys[n]
		keys[n] = keys[0]
		sift(keys[:n], 0, k)
	}
}

// sift lets the hole at i sink to a leaf along the greater children, and k rise
// from there.
func sift(keys []SortKey, i int, k SortKey) {
	top, n := i, len(keys)
	for 2*i+2 < n {
		child := 2*i + 2
		if keys[child].Less(keys[child-1]) {
			child--
		}
		keys[i] = keys[child]
		i = child
	}
	if 2*i+2 == n {
		keys[i] = keys[2*i+1]
		i = 2*i + 1
	}
	for i > top && keys[(i-1)/2].Less(k) {
		keys[i] = keys[(i-1)/2]
		i = (i - 1) / 2
	}
	keys[i] = k
}

// SharedPiece is how many arcs of a state are worth sharing out.
const SharedPiece = 1 << 13

// SortStates sorts the arcs of all states of f by several goroutines, which take blocks of states.
// Who finds a state with many arcs gives pieces of it to those that have no states left, to the
// same result. A lexicon has most of its arcs to sort at one state.
//
// No worker waits for the others between the steps of a state. Each goroutine is woken once; waking
// it at each of five steps took .05 to .1 ms each. The worker that finds a state makes its keys,
// and the worker that has sorted a piece puts its arcs in place.
func SortStates[W semiring.Weight[W]](f *fst.Vector[W], key func(*fst.Arc[W]) SortKey, block, workers int) {
	pool := NewWorkPool[sortPiece[W]](workers)
	var next atomic.Int64
	n := f.NumStates()
	stop := func() {
		next.Store(int64(n))
		pool.Stop()
	}
	Together(workers, stop, func(int) {
		var small ArcSorter[W]
		large := Scratch[sharedSort[W]]().Get().(*sharedSort[W])
		for {
			lo := int(next.Add(int64(block))) - block
			if lo >= n {
				break
			}
			for q := lo; q < min(lo+block, n); q++ {
				switch d := f.OutDegree(fst.StateID(q)); {
				case d < 2:
				case d > SharedPiece:
					large.sort(f.MutableArcs(fst.StateID(q)), key, pool)
				default:
					small.Sort(f.MutableArcs(fst.StateID(q)), key)
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

// sharedSort is ArcSorter.sort of a state whose pieces are given away, one state at a time.
type sharedSort[W any] struct {
	arcs, old []fst.Arc[W]
	keys      []SortKey
	sorted    []fst.Arc[W] // the arcs in place of the keys (InPlaceOf), until all are there; nil with old
	left      atomic.Int64 // arcs that are not in their place yet
}

// sort returns when all arcs are in place, or the pool is stopped. While others are still at them
// it helps whoever has pieces.
func (s *sharedSort[W]) sort(arcs []fst.Arc[W], key func(*fst.Arc[W]) SortKey, pool *WorkPool[sortPiece[W]]) {
	n := len(arcs)
	s.keys = slices.Grow(s.keys[:0], n)[:n]
	if sortKeys(s.keys, arcs, 0, n, key) {
		return
	}
	s.arcs, s.sorted = arcs, InPlaceOf[W](s.keys)
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

// keptSort is the number of arcs whose work space is kept. Sorting the next machine then does not
// begin with a thousand first touches of a page.
const keptSort = 1 << 18

// giveBack ends the use of s, all of whose arcs are in place, since sort returns no earlier.
func (s *sharedSort[W]) giveBack() {
	if cap(s.keys) > keptSort {
		s.keys, s.old = nil, nil
	}
	clear(s.old) // what weights point to
	s.arcs, s.sorted = nil, nil
	Scratch[sharedSort[W]]().Put(s)
}

// sortPiece is the keys lo ≤ i < hi of a state, which Introsort has split from the others, and the
// number of unlucky splits still allowed.
type sortPiece[W any] struct {
	of            *sharedSort[W]
	lo, hi, depth int
}

// sort leaves the keys as Introsort does. They are split at the same places, and no key leaves its
// piece in the insertion sort at the end. So pieces can be sorted separately. What is split off
// goes to the pool.
func (p sortPiece[W]) sort(pool *WorkPool[sortPiece[W]]) {
	for p.hi-p.lo > SharedPiece && p.depth > 0 {
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
		to[i] = from[keys[i].At]
	}
	p.of.left.Add(-int64(len(keys)))
}
