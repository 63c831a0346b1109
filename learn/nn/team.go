package nn

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// team runs the same function on many jobs without allocating. Jobs must not add to
// what another job adds to: then results do not depend on the number of workers.
type team struct {
	workers int
	f       func(job int)
	jobs    int
	next    atomic.Int64
	done    sync.WaitGroup
	help    func() // bound once: `go t.help()` then allocates nothing
}

func newTeam(workers int) *team {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	t := &team{workers: workers}
	t.help = func() {
		t.work()
		t.done.Done()
	}
	return t
}

// run calls f(0) … f(jobs-1).
func (t *team) run(jobs int, f func(job int)) {
	helpers := min(t.workers, jobs) - 1
	if helpers <= 0 {
		for job := range jobs {
			f(job)
		}
		return
	}
	t.f, t.jobs = f, jobs
	t.next.Store(0)
	t.done.Add(helpers)
	for range helpers {
		go t.help()
	}
	t.work()
	t.done.Wait()
}

func (t *team) work() {
	for {
		job := int(t.next.Add(1)) - 1
		if job >= t.jobs {
			return
		}
		t.f(job)
	}
}
