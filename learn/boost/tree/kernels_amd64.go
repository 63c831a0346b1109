//go:build amd64 && !purego

package tree

//go:noescape
func addBlock2AVX2(hist *Cell, stride int, codes *uint64, step int, rows *int32, cells *Cell, n int)

//go:noescape
func addBlock4AVX2(hist *Cell, stride int, codes *uint64, step int, rows *int32, cells *Cell, n int)

//go:noescape
func addBlock6AVX2(hist *Cell, stride int, codes *uint64, step int, rows *int32, cells *Cell, n int)

//go:noescape
func addBlock8AVX2(hist *Cell, stride int, codes *uint64, step int, rows *int32, cells *Cell, n int)

//go:noescape
func addBlock2SeqAVX2(hist *Cell, stride int, codes *uint64, step int, cells *Cell, n int)

//go:noescape
func addBlock4SeqAVX2(hist *Cell, stride int, codes *uint64, step int, cells *Cell, n int)

//go:noescape
func addBlock6SeqAVX2(hist *Cell, stride int, codes *uint64, step int, cells *Cell, n int)

//go:noescape
func addBlock8SeqAVX2(hist *Cell, stride int, codes *uint64, step int, cells *Cell, n int)

//go:noescape
func gatherAVX2(to, cells *Cell, rows *int32, n int)

//go:noescape
func subtractAVX2(a, b *Cell, n int)

//go:noescape
func occupiedAVX2(mask *uint64, cells *Cell, n int)

func cpuid(leaf, sub uint32) (a, b, c, d uint32)
func xgetbv() uint32

// hasAVX2 is whether the processor has AVX2 and BMI2, and the system saves its registers.
var hasAVX2 = func() bool {
	if leaves, _, _, _ := cpuid(0, 0); leaves < 7 {
		return false
	}
	const osxsave, avx = 1 << 27, 1 << 28
	if _, _, c, _ := cpuid(1, 0); c&(osxsave|avx) != osxsave|avx || xgetbv()&6 != 6 {
		return false
	}
	_, b, _, _ := cpuid(7, 0)
	const avx2, bmi2 = 1 << 5, 1 << 8
	return b&(avx2|bmi2) == avx2|bmi2
}()

// addBlock is addBlockGo. The codes are below stride and the rows below len(codes)/step:
// NewBins and Target.check see to it, the assembly does not look.
func addBlock(hist []Cell, stride, columns int, codes []uint64, step int, rows []int32, cells []Cell) {
	n := len(cells)
	if !hasAVX2 || n == 0 {
		addBlockGo(hist, stride, columns, codes, step, rows, cells)
		return
	}
	_ = hist[blockColumns*stride-1]
	if rows == nil {
		_ = codes[(n-1)*step]
		switch {
		case columns <= 2:
			addBlock2SeqAVX2(&hist[0], stride, &codes[0], 8*step, &cells[0], n)
		case columns <= 4:
			addBlock4SeqAVX2(&hist[0], stride, &codes[0], 8*step, &cells[0], n)
		case columns <= 6:
			addBlock6SeqAVX2(&hist[0], stride, &codes[0], 8*step, &cells[0], n)
		default:
			addBlock8SeqAVX2(&hist[0], stride, &codes[0], 8*step, &cells[0], n)
		}
		return
	}
	_ = rows[n-1]
	switch {
	case columns <= 2:
		addBlock2AVX2(&hist[0], stride, &codes[0], 8*step, &rows[0], &cells[0], n)
	case columns <= 4:
		addBlock4AVX2(&hist[0], stride, &codes[0], 8*step, &rows[0], &cells[0], n)
	case columns <= 6:
		addBlock6AVX2(&hist[0], stride, &codes[0], 8*step, &rows[0], &cells[0], n)
	default:
		addBlock8AVX2(&hist[0], stride, &codes[0], 8*step, &rows[0], &cells[0], n)
	}
}

// gather is gatherGo. Rows are below len(cells).
func gather(to, cells []Cell, rows []int32) {
	if !hasAVX2 || len(rows) == 0 {
		gatherGo(to, cells, rows)
		return
	}
	_ = to[len(rows)-1]
	gatherAVX2(&to[0], &cells[0], &rows[0], len(rows))
}

func subtract(a, b []Cell) {
	if !hasAVX2 || len(a) == 0 || len(a)%4 != 0 {
		subtractGo(a, b)
		return
	}
	_ = b[len(a)-1]
	subtractAVX2(&a[0], &b[0], len(a))
}

func occupied(mask *[4]uint64, cells []Cell) {
	if !hasAVX2 || len(cells) == 0 || len(cells)%8 != 0 || len(cells) > 256 {
		occupiedGo(mask, cells)
		return
	}
	*mask = [4]uint64{}
	occupiedAVX2(&mask[0], &cells[0], len(cells))
}
