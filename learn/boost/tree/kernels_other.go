//go:build !amd64 || purego

package tree

func addBlock(hist []Cell, stride int, codes []uint64, rows []int32, cells []Cell) {
	addBlockGo(hist, stride, codes, rows, cells)
}
