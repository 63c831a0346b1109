package ops

import (
	"sync"
	"sync/atomic"

	"github.com/tropica-fst/tropica/fst"
)

// sharedPiece is how many arcs of a state are worth sharing out.
const sharedPiece = 1 << 13

// sortShared is arcSorter.sort by several goroutines, with the same result: a lexicon has most of its
// arcs to sort at one state.
func sortShared[W any](arcs []fst.Arc[W], key func(*fst.Arc[W]) sortKey, workers int) {
	keys := make([]sortKey, len(arcs))
	var unsorted atomic.Bool
	inBlocks(len(arcs), sharedPiece, workers, func(_, lo, hi int) {
		if !sortKeys(keys, arcs, lo, hi, key) {
			unsorted.Store(true)
		}
	})
	for i := sharedPiece; i < len(keys) && !unsorted.Load(); i += sharedPiece {
		unsorted.Store(!keys[i-1].less(keys[i]))
	}
	if !unsorted.Load() {
		return
	}
	s := sharedIntrosort{free: make(chan struct{}, workers-1)}
	for range workers - 1 {
		s.free <- struct{}{}
	}
	s.sort(keys, introsortDepth(len(keys)))
	s.wg.Wait()
	old := make([]fst.Arc[W], len(arcs))
	inBlocks(len(arcs), sharedPiece, workers, func(_, lo, hi int) { copy(old[lo:hi], arcs[lo:hi]) })
	inBlocks(len(arcs), sharedPiece, workers, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			arcs[i] = old[keys[i].at]
		}
	})
}

// sharedIntrosort hands pieces of introsort to goroutines that have nothing to do.
type sharedIntrosort struct {
	free chan struct{}
	wg   sync.WaitGroup
}

// sort leaves keys as introsort does: pieces are split at the same places, and no key leaves its piece in the
// insertion sort at the end, so that this can be done piece by piece. Recursion is at most depth deep.
func (s *sharedIntrosort) sort(keys []sortKey, depth int) {
	for len(keys) > sharedPiece {
		if depth == 0 {
			heapsort(keys)
			return
		}
		depth--
		cut := split(keys)
		right, depth := keys[cut:], depth // which go on changing here
		select {
		case <-s.free:
			s.wg.Go(func() {
				s.sort(right, depth)
				s.free <- struct{}{}
			})
		default:
			s.sort(right, depth)
		}
		keys = keys[:cut]
	}
	introsortPiece(keys, depth)
	insertionSort(keys)
}
