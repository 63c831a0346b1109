package losses

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// Case is one evaluation of a Batch: what Evaluator.Eval is given.
type Case struct {
	Machine    *Machine // nil for the loss 0
	Potentials *Potentials
	Gamma      float64 // 0 is γ = 0: the plain model, under which Expected is the risk of Machine's loss
	Want       Want
	Direction  [][]float64 // for WantHVP and WantRiskHVP
	Result     *Result     // receives the outcome; one for each case
}

// Batch evaluates cases side by side. It keeps an Evaluator for each worker, so
// that batches of the same shapes allocate next to nothing. The zero value uses
// as many workers as there are processors to run on. It serves one goroutine.
//
// Results do not depend on the number of workers: each case is one worker's.
type Batch struct {
	Workers int // zero is GOMAXPROCS

	evaluators []*Evaluator
	first      map[*Result]int // the case of each
}

// Eval evaluates all cases. The error is that of the first case that has one;
// the others are evaluated all the same. Two cases with one Result are an error before
// any is evaluated.
func (b *Batch) Eval(cases []Case) error {
	if b.first == nil {
		b.first = make(map[*Result]int, len(cases))
	}
	clear(b.first)
	for i := range cases {
		r := cases[i].Result
		if j, ok := b.first[r]; ok && r != nil {
			return fmt.Errorf("losses: Batch: cases %d and %d have one Result; give each its own", j, i)
		}
		b.first[r] = i
	}
	workers := workersFor(b.Workers, len(cases))
	for len(b.evaluators) < workers {
		b.evaluators = append(b.evaluators, &Evaluator{})
	}
	return eachCase(workers, len(cases), func(w, i int) error {
		c, e := &cases[i], b.evaluators[w]
		e.Direction = c.Direction
		return e.Eval(c.Machine, c.Potentials, c.Gamma, c.Want, c.Result)
	})
}

// workersFor returns how many workers serve n cases; workers as Batch has it.
func workersFor(workers, n int) int {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	return min(workers, n)
}

// eachCase calls f for all of n cases on so many workers, and returns the error of the first case
// that has one.
func eachCase(workers, n int, f func(worker, i int) error) error {
	var next atomic.Int64
	var mu sync.Mutex
	failed, first := n, error(nil)
	work := func(w int) {
		for {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if err := f(w, i); err != nil {
				mu.Lock()
				if i < failed {
					failed, first = i, fmt.Errorf("case %d: %w", i, err)
				}
				mu.Unlock()
			}
		}
	}
	if workers <= 1 {
		work(0)
		return first
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { work(w) })
	}
	wg.Wait()
	return first
}
