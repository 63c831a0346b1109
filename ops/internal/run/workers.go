package run

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// AloneStates is how many states of a machine are not worth sharing out among workers.
const AloneStates = 2048

// Together runs work(0) … work(n-1) side by side, work(0) in the goroutine of the caller, and
// returns when all have ended.
//
// A panic in one of them goes on in the caller's goroutine, but only when the others have ended. So
// no worker reads operands or borrows work space after the caller has recovered. The caller's own
// panic goes on as it is, another's as a WorkerPanic. The worker that panics first calls stop,
// which must end others that might wait for it, or have much left to do. The same holds for
// runtime.Goexit, by which a test ends.
func Together(n int, stop func(), work func(worker int)) {
	if n <= 1 {
		work(0)
		return
	}
	var wg sync.WaitGroup
	var failed atomic.Pointer[error] // the first
	var exited atomic.Bool
	for k := 1; k < n; k++ {
		wg.Go(func() {
			ended := false
			defer func() {
				if ended {
					return
				}
				if value := recover(); value != nil {
					err := Errors.Panic(value, debug.Stack())
					failed.CompareAndSwap(nil, &err)
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
			panic(*p)
		}
		if exited.Load() {
			runtime.Goexit()
		}
	}()
	work(0)
	ended = true
}

// InBlocks calls do for [0, n) in blocks, from w goroutines. Each takes the next block when it is
// done with one; do gets the number of its goroutine. The blocks are the same for any w.
func InBlocks(n, block, w int, do func(worker, lo, hi int)) {
	var next atomic.Int64
	Together(max(1, min(w, (n+block-1)/block)), func() { next.Store(int64(n)) }, func(worker int) {
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
