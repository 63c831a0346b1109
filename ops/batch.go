package ops

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tropica-fst/tropica/ops/internal/run"
)

// workers is how many goroutines n pieces of work are worth, at least one.
func (lim Limits) workers(n int) int { return max(1, min(lim.Workers, n)) }

// WorkerPanic is what a panic in a goroutine of an operation's workers becomes in the one that
// called the operation, where recover finds it.
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

func init() {
	run.Errors.Panic = func(value any, stack []byte) error { return &WorkerPanic{value, stack} }
}

// Batch calls do(0) … do(n-1), with lim.Workers of them under way at once, and returns the error of
// the lowest i that has one. What is before that i has been done. What is behind it may have been
// left out, and has with one worker, which is the default. Each call keeps its result under its own
// i, so that results do not depend on the number of workers. Operations on many machines, such as a
// corpus of lattices, are run this way. Their parts share nothing, and the speed-up is the number
// of processors.
//
// Once lim.Ctx is done no further call is made, and the first i that is left out has a LimitError.
//
// A panic of do ends the batch as an error does, and goes on in the goroutine that called Batch
// (see Limits.Workers).
func Batch(n int, lim Limits, do func(i int) error) error {
	each := func(i int) error {
		if err := run.Cancelled("Batch", lim.Ctx); err != nil {
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
	run.Together(w, stop, func(int) {
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
