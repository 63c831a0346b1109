package multi

import "github.com/tropica-fst/tropica/learn/run"

// rowBlock rows are worked on together. Sums are taken block by block and added in
// the order of the blocks, so that they do not depend on workers.
const rowBlock = 4096

// forBlocks calls do with the number of each block of rows and its range.
func forBlocks(workers, n int, do func(block, from, to int)) {
	run.Blocks(workers, n, rowBlock, func(_, from, to int) { do(from/rowBlock, from, to) })
}

func blocksOf(n int) int { return (n + rowBlock - 1) / rowBlock }
