package tree

import (
	"runtime"

	"github.com/tropica-fst/tropica/learn/run"
)

// forEach calls do(worker, i) for i = 0 … n-1 on at most that many goroutines, 0
// being one a processor. What do writes must not depend on worker or on the order of
// calls; worker, below the number returned by workerCount, only picks scratch memory.
func forEach(workers, n int, do func(worker, i int)) {
	run.Each(workerCount(workers), n, func(w, i int) error { do(w, i); return nil }) // cannot fail
}

func workerCount(n int) int {
	if n <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return n
}

// rowBlock is the number of rows of one task where rows are divided. It is fixed, so that sums of
// floats do not depend on the number of workers.
const rowBlock = 1 << 15

func forRows(workers, n int, do func(worker, from, to int)) {
	forEach(workers, (n+rowBlock-1)/rowBlock, func(w, i int) {
		do(w, i*rowBlock, min(n, (i+1)*rowBlock))
	})
}
