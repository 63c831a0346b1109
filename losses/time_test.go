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
	}{{"edit", Unit, 8, 2000}, {"edit", Unit, 12, 200}, {"sw", SmithWaterman, 12, 5}, {"edit", Unit, 16, 8}} {
		var e Evaluator
		var r Result
		for seed := range 3 {
			p, ref := publishedPotentials(seed+1, 10, c.l, 2), publishedRef(seed, c.l)
			var build, graph, sweep time.Duration = 1 << 60, 1 << 60, 1 << 60
			for range 3 {
				var b1, b2, b3 time.Duration
				for range c.n {
					t0 := cpu()
					m, _ := c.loss.Machine(ref, 10, c.l)
					t1 := cpu()
					m.graph(2)
					t2 := cpu()
					e.Eval(m, p, 1, WantMarginals, &r)
					t3 := cpu()
					b1 += t1 - t0
					b2 += t2 - t1
					b3 += t3 - t2
				}
				build, graph, sweep = min(build, b1/time.Duration(c.n)), min(graph, b2/time.Duration(c.n)), min(sweep, b3/time.Duration(c.n))
			}
			fmt.Println(c.name, c.l, seed, "build", build, "graph", graph, "sweep", sweep)
		}
	}
}
