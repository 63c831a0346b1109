//go:build !amd64 || purego

package tree

func addBlock(hist []Cell, stride, columns int, codes []uint64, step int, rows []int32, cells []Cell) {
	addBlockGo(hist, stride, columns, codes, step, rows, cells)
}

func gather(to, cells []Cell, rows []int32)  { gatherGo(to, cells, rows) }
func subtract(a, b []Cell)                   { subtractGo(a, b) }
func occupied(mask *[4]uint64, cells []Cell) { occupiedGo(mask, cells) }
