package ops

import (
	"math/bits"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// ArcSort sorts the arcs of each state of f, in place: by input label and then
// output label for Input, the other way round for Output.
//
// Arcs whose two labels are alike come out in the order in which OpenFst 1.7.9
// leaves them: as they were where the state has at most 16 arcs, and otherwise
// in the order that its library's introsort happens to give, for the numbers of
// composed and determinized states depend on it.
//
// O(|E| log D) time, where D is the largest out-degree, and O(D) space. States
// that are in strict order already, which are most, cost a look at their arcs.
func ArcSort[W semiring.Weight[W]](f *fst.Vector[W], side Side) { ArcSortWorkers(f, side, 1) }

// ArcSortWorkers is ArcSort by several goroutines, between which the states are
// divided, and the arcs of states with many; the result is the same for any number of them.
func ArcSortWorkers[W semiring.Weight[W]](f *fst.Vector[W], side Side, workers int) {
	p := f.KnownProperties()
	const block = 4096 // states, or arcs where there are fewer states
	workers = Limits{Workers: workers}.workers(f.NumArcs()/block + 1)
	key := func(e *fst.Arc[W]) sortKey { return labelKey(e.ILabel, e.OLabel) }
	if side == Output {
		key = func(e *fst.Arc[W]) sortKey { return labelKey(e.OLabel, e.ILabel) }
	}
	if workers > 1 {
		sortStates(f, key, block, workers)
	} else {
		var s arcSorter[W]
		for q := range fst.StateID(f.NumStates()) {
			if f.OutDegree(q) > 1 {
				s.sort(f.MutableArcs(q), key)
			}
		}
	}
	const unsorted = fst.ILabelSorted | fst.NotILabelSorted | fst.OLabelSorted | fst.NotOLabelSorted
	p &^= unsorted
	if side == Input || p.Has(fst.Acceptor) {
		p |= fst.ILabelSorted
	}
	if side == Output || p.Has(fst.Acceptor) {
		p |= fst.OLabelSorted
	}
	f.SetProperties(p, fst.AllProperties)
}

// ArcSorted returns f with sorted arcs as a new machine; f stays as it is.
func ArcSorted[W semiring.Weight[W]](f fst.Expanded[W], side Side) *fst.Vector[W] {
	v := copyOf(f)
	ArcSort(v, side)
	return v
}

// sortKey orders arcs: by major, then by minor. at is the position before.
type sortKey struct {
	major uint64
	minor uint32
	at    int32
}

func (k sortKey) less(l sortKey) bool {
	return k.major < l.major || k.major == l.major && k.minor < l.minor
}

// labelKey is the key that orders by l1, then by l2.
func labelKey(l1, l2 fst.Label) sortKey {
	const bias = 1 << 31 // negative labels go first
	return sortKey{major: uint64(uint32(l1)^bias)<<32 | uint64(uint32(l2)^bias)}
}

// arcSorter sorts arcs by keys, which are smaller and quicker to compare.
type arcSorter[W any] struct {
	keys []sortKey
	old  []fst.Arc[W]
}

func (s *arcSorter[W]) sort(arcs []fst.Arc[W], key func(*fst.Arc[W]) sortKey) {
	s.keys = slices.Grow(s.keys[:0], len(arcs))[:len(arcs)]
	if sortKeys(s.keys, arcs, 0, len(arcs), key) {
		return
	}
	introsort(s.keys)
	if sorted := inPlaceOf[W](s.keys); sorted != nil {
		for i := range sorted {
			sorted[i] = arcs[s.keys[i].at]
		}
		copy(arcs, sorted)
		return
	}
	s.old = append(s.old[:0], arcs...)
	for i, k := range s.keys {
		arcs[i] = s.old[k.at]
	}
}

// inPlaceOf returns the memory of keys for as many arcs, each in place of the key that tells where
// it was; nil where arcs are of another size. Two million arcs of a state then are sorted in 64 MB
// with the machine, where a copy of them beside the keys took 96. An arc of so many bytes has a
// weight of four at most, in which there is no pointer.
func inPlaceOf[W any](keys []sortKey) []fst.Arc[W] {
	if unsafe.Sizeof(fst.Arc[W]{}) != unsafe.Sizeof(sortKey{}) || unsafe.Sizeof(uintptr(0)) < 8 || len(keys) == 0 {
		return nil
	}
	return unsafe.Slice((*fst.Arc[W])(unsafe.Pointer(&keys[0])), len(keys))
}

// sortKeys fills in the keys lo ≤ i < hi, and reports whether they are in strict order.
func sortKeys[W any](keys []sortKey, arcs []fst.Arc[W], lo, hi int, key func(*fst.Arc[W]) sortKey) bool {
	strict := true
	for i := lo; i < hi; i++ {
		k := key(&arcs[i])
		k.at = int32(i)
		strict = strict && (i == lo || keys[i-1].less(k))
		keys[i] = k
	}
	return strict
}

// introsort sorts keys by D. Musser, "Introspective sorting and selection
// algorithms", Software: Practice and Experience 27(8):983-993, 1997, with the
// choices of GNU's C++ library, on which the order of equal keys depends: pieces
// of up to 16 are left to one insertion sort at the end, the pivot is the median
// of the second, the middle and the last, and after 2 log₂ n unlucky splits a
// piece is heap-sorted.
func introsort(keys []sortKey) {
	if len(keys) < 2 {
		return
	}
	introsortPiece(keys, introsortDepth(len(keys)))
	insertionSort(keys)
}

// introsortDepth is how many unlucky splits are put up with.
func introsortDepth(n int) int { return 2 * (bits.Len(uint(n)) - 1) }

// insertionSort is quick where no key is far from its place.
func insertionSort(keys []sortKey) {
	for i := 1; i < len(keys); i++ {
		k, j := keys[i], i
		for j > 0 && k.less(keys[j-1]) {
			keys[j] = keys[j-1]
			j--
		}
		keys[j] = k
	}
}

const insertionPiece = 16

// introsortPiece recurses at most depth deep.
func introsortPiece(keys []sortKey, depth int) {
	for len(keys) > insertionPiece {
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

// split moves a median of three to the front and parts the rest around it:
// nothing before the returned position is greater, nothing from it on less.
func split(keys []sortKey) int {
	b, c := len(keys)/2, len(keys)-1
	median := 1
	switch {
	case keys[1].less(keys[b]):
		if keys[b].less(keys[c]) {
			median = b
		} else if keys[1].less(keys[c]) {
			median = c
		}
	case keys[1].less(keys[c]):
	case keys[b].less(keys[c]):
		median = c
	default:
		median = b
	}
	keys[0], keys[median] = keys[median], keys[0]
	pivot := keys[0]
	i, j := 1, len(keys)
	for {
		for keys[i].less(pivot) {
			i++
		}
		j--
		for pivot.less(keys[j]) {
			j--
		}
		if i >= j {
			return i
		}
		keys[i], keys[j] = keys[j], keys[i]
		i++
	}
}

func heapsort(keys []sortKey) {
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
func sift(keys []sortKey, i int, k sortKey) {
	top, n := i, len(keys)
	for 2*i+2 < n {
		child := 2*i + 2
		if keys[child].less(keys[child-1]) {
			child--
		}
		keys[i] = keys[child]
		i = child
	}
	if 2*i+2 == n {
		keys[i] = keys[2*i+1]
		i = 2*i + 1
	}
	for i > top && keys[(i-1)/2].less(k) {
		keys[i] = keys[(i-1)/2]
		i = (i - 1) / 2
	}
	keys[i] = k
}
