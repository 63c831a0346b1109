package boost

import (
	"runtime"

	"github.com/tropica-fst/tropica/learn/run"
)

// workerCount resolves a number of goroutines; 0 is one a processor.
func workerCount(n int) int {
	if n <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return n
}

// forEach calls do(i) for i = 0 … n-1 on that many goroutines. What do writes must
// not depend on who calls it or when.
func forEach(workers, n int, do func(i int)) {
	run.Each(workerCount(workers), n, func(_, i int) error { do(i); return nil }) // cannot fail
}

// forBlocks calls do for the ranges [0, block), [block, 2 block), … up to n. The
// ranges do not depend on workers.
func forBlocks(workers, n, block int, do func(from, to int)) {
	forEach(workers, (n+block-1)/block, func(i int) {
		do(i*block, min(n, (i+1)*block))
	})
}
