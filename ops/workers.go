package ops

import (
	"sync"
	"sync/atomic"
)

// workers is how many goroutines n pieces of work are worth, at least one.
func (lim Limits) workers(n int) int { return max(1, min(lim.Workers, n)) }

// Batch calls do(0) … do(n-1), with lim.Workers of them under way at once, and returns
// the error of the lowest i that has one. What is before that i has been done, what is
// behind it may have been left out; with one worker, which is the default, it has. Each
// call keeps its result under its own i, so that results do not depend on the number of
// workers. Operations on many machines, such as a corpus of lattices, are run
// this way: their parts share nothing, and the speed-up is the number of processors.
func Batch(n int, lim Limits, do func(i int) error) error {
	w := lim.workers(n)
	if w == 1 {
		for i := range n {
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	}
	var (
		wg    sync.WaitGroup
		next  atomic.Int64
		mu    sync.Mutex
		first = n // the lowest that failed
		err   error
	)
	work := func() {
		for {
			i := int(next.Add(1) - 1)
			if i >= n {
				return
			}
			if e := do(i); e != nil {
				mu.Lock()
				if i < first {
					first, err = i, e
				}
				mu.Unlock()
				next.Store(int64(n)) // those before i have all been taken
			}
		}
	}
	for range w - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return err
}

// inBlocks calls do for [0, n) in blocks, from w goroutines that take the next block each
// time they are done with one; do is told which of them it runs in. The blocks are
// the same for any w.
func inBlocks(n, block, w int, do func(worker, lo, hi int)) {
	var next atomic.Int64
	work := func(worker int) {
		for {
			hi := int(next.Add(int64(block)))
			lo := hi - block
			if lo >= n {
				return
			}
			do(worker, lo, min(hi, n))
		}
	}
	var wg sync.WaitGroup
	for k := 1; k < w && (k-1)*block < n; k++ {
		wg.Go(func() { work(k) })
	}
	work(0)
	wg.Wait()
}
