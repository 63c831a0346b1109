package ops

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// What the workers of each pool do panics at the n-th call: those that wait for it, or have much
// left to do, end, and the caller has the panic.
func TestPoolsPanic(t *testing.T) {
	broken := errors.New("broken")
	const arcs = 1<<16 + 5
	v := fst.NewVector[semiring.Tropical](0)
	for q := range fst.StateID(40) {
		v.AddState()
		n := 3
		if q%10 == 0 { // which is shared out
			n = arcs
		}
		for i := range n {
			v.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: fst.Label(i * 7919 % arcs), NextState: 0})
		}
	}
	var calls atomic.Int64
	at := int64(0)
	call := func() bool {
		n := calls.Add(1)
		if n == at {
			panic(broken)
		}
		return at > 0 && n > at
	}
	chunk := func(todo []int, pool *run.WorkPool[[]int]) {
		for len(todo) > 0 {
			call()
			if n := len(todo) / 2; n > 0 {
				pool.Put(todo[n:])
				todo = todo[:n]
			} else {
				todo = todo[:0]
			}
		}
	}
	for _, workers := range []int{2, 3, 8} {
		for name, run := range map[string]func(){
			"inBlocks": func() {
				run.InBlocks(1<<20, 1, workers, func(int, int, int) {
					if late := call(); late {
						time.Sleep(time.Millisecond) // whoever panicked may wait long for a processor
					}
				})
			},
			"workPool": func() {
				pool := run.NewWorkPool(workers, make([]int, 1<<16))
				run.Together(workers, pool.Stop, func(int) {
					for todo, ok := pool.Take(); ok; todo, ok = pool.Take() {
						chunk(todo, pool)
					}
				})
			},
			"sortStates": func() {
				f := v.Clone()
				run.SortStates(f, func(e *fst.Arc[semiring.Tropical]) run.SortKey {
					call()
					return run.LabelKey(e.ILabel,
						e.OLabel)
				}, 4, workers)
				for q := range fst.StateID(f.NumStates()) {
					for i, e := range f.Arcs(q) {
						if i > 0 && f.Arcs(q)[i-1].ILabel > e.ILabel {
							t.Fatalf("state %d is not sorted", q)
						}
					}
				}
			},
		} {
			for _, n := range []int64{1, 2, 3, 50, 1000, 20_000, 0} {
				at = n
				calls.Store(0)
				value := func() (value any) {
					defer func() { value = recover() }()
					run()
					return nil
				}()
				if err, _ := value.(error); n == 0 && value != nil || n > 0 && !errors.Is(err, broken) {
					t.Fatalf("%s, %d workers, at call %d: %v", name, workers, n, value)
				}
				if n > 0 && name == "inBlocks" && calls.Load() > 1<<19 {
					t.Errorf("%d calls after a panic at %d", calls.Load(), n)
				}
			}
		}
	}
}
