package run

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Each calls f(worker, job) for all jobs on up to workers goroutines (0 is one a processor),
// worker counting them from 0. Jobs are taken in order; after an error no more are
// taken, and that of the first job is returned. f must not add to what another
// job adds to: then results do not depend on the number of workers. A panic of a job is
// raised again in the caller's goroutine, with the stack it came from.
func Each(workers, jobs int, f func(worker, job int) error) error {
	workers = min(WorkersOf(workers), jobs)
	if workers <= 1 {
		for job := range jobs {
			if err := f(0, job); err != nil {
				return err
			}
		}
		return nil
	}
	e := &each{f: f, jobs: jobs, at: jobs}
	for w := range workers {
		e.wait.Go(func() { e.work(w) })
	}
	e.wait.Wait()
	if e.panicked != nil {
		panic(e.panicked)
	}
	return e.err
}

// Jobs is Each for jobs that cannot fail.
func Jobs(workers, jobs int, f func(worker, job int)) {
	Each(workers, jobs, func(w, i int) error { f(w, i); return nil })
}

// Blocks calls f with the ranges [0, size), [size, 2 size), ... up to n. Up to workers goroutines
// run it (0 is one a processor); the argument worker counts them from 0. The ranges do not depend
// on workers.
func Blocks(workers, n, size int, f func(worker, from, to int)) {
	Jobs(workers, (n+size-1)/size, func(w, i int) { f(w, i*size, min(n, (i+1)*size)) })
}

type each struct {
	f    func(worker, job int) error
	jobs int
	next atomic.Int64
	wait sync.WaitGroup

	mu       sync.Mutex
	err      error
	at       int // job of err
	panicked *Panic
}

// Panic is what Each raises for a job that panicked on another goroutine.
type Panic struct {
	Value any
	Stack string // of the job
}

func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

func (e *each) work(w int) {
	defer func() {
		if v := recover(); v != nil {
			e.mu.Lock()
			if e.panicked == nil {
				e.panicked = &Panic{v, string(debug.Stack())}
			}
			e.mu.Unlock()
			e.next.Store(int64(e.jobs))
		}
	}()
	for {
		job := int(e.next.Add(1)) - 1
		if job >= e.jobs {
			return
		}
		if err := e.f(w, job); err != nil {
			e.mu.Lock()
			if job < e.at {
				e.at, e.err = job, err
			}
			e.mu.Unlock()
			e.next.Store(int64(e.jobs))
		}
	}
}
