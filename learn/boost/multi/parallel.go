package multi

import (
	"runtime"

	"github.com/tropica-fst/tropica/learn/run"
)

// forEach calls do(worker, i) for i = 0 … n-1 on that many goroutines (0: one a
// processor). What do writes must not depend on who calls it or when.
func forEach(workers, n int, do func(worker, i int)) {
	run.Each(workerCount(workers), n, func(w, i int) error { do(w, i); return nil }) // cannot fail
}

func workerCount(n int) int {
	if n <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return n
}

// rowBlock rows are worked on together. Sums are taken block by block and added in
// the order of the blocks, so that they do not depend on workers.
const rowBlock = 4096

// forBlocks calls do with the number of each block of rows and its range.
func forBlocks(workers, n int, do func(block, from, to int)) {
	forEach(workers, blocksOf(n), func(_, i int) {
		do(i, i*rowBlock, min(n, (i+1)*rowBlock))
	})
}

func blocksOf(n int) int { return (n + rowBlock - 1) / rowBlock }
