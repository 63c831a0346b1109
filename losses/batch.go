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
	workers := b.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, len(cases))
	for len(b.evaluators) < workers {
		b.evaluators = append(b.evaluators, &Evaluator{})
	}
	var next atomic.Int64
	var mu sync.Mutex
	failed, first := len(cases), error(nil)
	work := func(e *Evaluator) {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(cases) {
				return
			}
			c := &cases[i]
			e.Direction = c.Direction
			if err := e.Eval(c.Machine, c.Potentials, c.Gamma, c.Want, c.Result); err != nil {
				mu.Lock()
				if i < failed {
					failed, first = i, fmt.Errorf("case %d: %w", i, err)
				}
				mu.Unlock()
			}
		}
	}
	if workers <= 1 {
		if workers == 1 {
			work(b.evaluators[0])
		}
		return first
	}
	var wg sync.WaitGroup
	for _, e := range b.evaluators[:workers] {
		wg.Go(func() { work(e) })
	}
	wg.Wait()
	return first
}
