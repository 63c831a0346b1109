package losses

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(1, &u) // RUSAGE_THREAD
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestTimes(t *testing.T) {
	if os.Getenv("TIMES") == "" {
		t.Skip()
	}
	runtime.LockOSThread()
	for _, c := range []struct {
		name string
		loss valued
		l    int
		n    int
	}{{"edit", Unit, 8, 2000}, {"edit", Unit, 12, 200}, {"sw", SmithWaterman, 12, 5}, {"edit", Unit, 16, 20}, {"bigram", NGram{2, 0}, 30, 1000}, {"bigram", NGram{2, 1}, 30, 1000}} {
		var e Evaluator
		var r Result
		for seed := range 3 {
			p, ref := publishedPotentials(seed+1, 10, c.l, 2), publishedRef(seed, c.l)
			var build, graph, sweep time.Duration = 1 << 60, 1 << 60, 1 << 60
			for range 3 {
				for range c.n {
					t0 := time.Now()
					m, _ := c.loss.Machine(ref, 10, c.l)
					t1 := time.Now()
					if m.ngram == nil {
						m.graph(2)
					}
					t2 := time.Now()
					e.Eval(m, p, 1, WantMarginals, &r)
					t3 := time.Now()
					build, graph, sweep = min(build, t1.Sub(t0)), min(graph, t2.Sub(t1)), min(sweep, t3.Sub(t2))
				}
			}
			fmt.Println(c.name, c.l, seed, "build", build, "graph", graph, "sweep", sweep)
		}
	}
}
