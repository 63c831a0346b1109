package ops

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// workers is how many goroutines n pieces of work are worth, at least one.
func (lim Limits) workers(n int) int { return max(1, min(lim.Workers, n)) }

// WorkerPanic is what a panic in a goroutine of an operation's workers becomes in the one that called the operation, where
// recover finds it.
type WorkerPanic struct {
	Value any    // that the panic was with
	Stack []byte // of the worker
}

func (p *WorkerPanic) Error() string {
	return fmt.Sprintf("ops: a worker panicked: %v\n\n%s", p.Value, p.Stack)
}

// Unwrap returns the value if it is an error.
func (p *WorkerPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// together runs work(0) … work(n-1) side by side, work(0) in the goroutine of the caller, and returns when all have ended.
//
// A panic in one of them goes on in the caller's, but only when the others have ended too, so that nobody reads operands or
// borrows work space behind the back of who recovers it; its own as it is, another's as a WorkerPanic. stop is called
// before, by the one that panics: it must bring the others to an end that might wait for it, or have much left to do. So is
// runtime.Goexit, by which a test ends.
func together(n int, stop func(), work func(worker int)) {
	if n <= 1 {
		work(0)
		return
	}
	var wg sync.WaitGroup
	var failed atomic.Pointer[WorkerPanic] // the first
	var exited atomic.Bool
	for k := 1; k < n; k++ {
		wg.Go(func() {
			ended := false
			defer func() {
				if ended {
					return
				}
				if value := recover(); value != nil {
					failed.CompareAndSwap(nil, &WorkerPanic{value, debug.Stack()})
				} else {
					exited.Store(true)
				}
				stop()
			}()
			work(k)
			ended = true
		})
	}
	ended := false
	defer func() {
		if !ended {
			stop()
		}
		wg.Wait()
		if !ended {
			return // and the caller's own goes on
		}
		if p := failed.Load(); p != nil {
			panic(p)
		}
		if exited.Load() {
			runtime.Goexit()
		}
	}()
	work(0)
	ended = true
}

// Batch calls do(0) … do(n-1), with lim.Workers of them under way at once, and returns
// the error of the lowest i that has one. What is before that i has been done, what is
// behind it may have been left out; with one worker, which is the default, it has. Each
// call keeps its result under its own i, so that results do not depend on the number of
// workers. Operations on many machines, such as a corpus of lattices, are run
// this way: their parts share nothing, and the speed-up is the number of processors.
//
// Once lim.Ctx is done no further call is made, and the first i that is left out has a LimitError.
//
// A panic of do ends the batch as an error does, and goes on in the goroutine that called Batch (see Limits.Workers).
func Batch(n int, lim Limits, do func(i int) error) error {
	each := func(i int) error {
		if err := cancelled("Batch", lim.Ctx); err != nil {
			return err
		}
		return do(i)
	}
	w := lim.workers(n)
	if w == 1 {
		for i := range n {
			if err := each(i); err != nil {
				return err
			}
		}
		return nil
	}
	var (
		next  atomic.Int64
		mu    sync.Mutex
		first = n // the lowest that failed
		err   error
	)
	stop := func() { next.Store(int64(n)) } // those before i have all been taken
	together(w, stop, func(int) {
		for {
			i := int(next.Add(1) - 1)
			if i >= n {
				return
			}
			if e := each(i); e != nil {
				mu.Lock()
				if i < first {
					first, err = i, e
				}
				mu.Unlock()
				stop()
			}
		}
	})
	return err
}

// inBlocks calls do for [0, n) in blocks, from w goroutines that take the next block each
// time they are done with one; do is told which of them it runs in. The blocks are
// the same for any w.
func inBlocks(n, block, w int, do func(worker, lo, hi int)) {
	var next atomic.Int64
	together(max(1, min(w, (n+block-1)/block)), func() { next.Store(int64(n)) }, func(worker int) {
		for {
			hi := int(next.Add(int64(block)))
			lo := hi - block
			if lo >= n {
				return
			}
			do(worker, lo, min(hi, n))
		}
	})
}
