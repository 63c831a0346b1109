//go:build amd64 && !purego

package gemm

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go run -C asm . -out ../kernels_amd64.s -stubs ../stubs_amd64.go -pkg gemm

// The features are those of the processor that the system saves the registers
// of. FMA came with AVX2 in every processor but a few of VIA's, which report it.
var (
	hasAVX2   = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	hasAVX512 = hasAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasBMI2
)

func processor32() []*path[float32] {
	var list []*path[float32]
	if hasAVX512 {
		list = append(list, &path[float32]{
			name: "AVX-512", mr: 8, lanes: 16, transpose: transpose8x32, square: 8,
			tile: [3]func(k int, a, b, c *float32, ldb, ldc, rows, last int, alpha, beta float32){tile32AVX512x1,
				tile32AVX512x2, tile32AVX512x3},
		})
	}
	if hasAVX2 {
		list = append(list, &path[float32]{
			name: "AVX2", mr: 4, lanes: 8, transpose: transpose8x32, square: 8,
			tile: [3]func(k int, a, b, c *float32, ldb, ldc, rows, last int, alpha, beta float32){tile32AVX2x1,
				tile32AVX2x2, tile32AVX2x3},
		})
	}
	return append(list, &path[float32]{
		name: "SSE2", mr: 4, lanes: 4, // every amd64 processor's
		tile: [3]func(k int, a, b, c *float32, ldb, ldc, rows, last int, alpha, beta float32){
			func(k int, a, b, c *float32, ldb, ldc, rows, last int, alpha, beta float32) {
				var out [16]float32
				sums32SSE2x1(k, a, b, ldb, &out[0])
				store(out[:], 4, last, c, ldc, rows, alpha, beta)
			},
			func(k int, a, b, c *float32, ldb, ldc, rows, last int, alpha, beta float32) {
				var out [32]float32
				sums32SSE2x2(k, a, b, ldb, &out[0])
				store(out[:], 8, 4+last, c, ldc, rows, alpha, beta)
			},
			func(k int, a, b, c *float32, ldb, ldc, rows, last int, alpha, beta float32) {
				var out [48]float32
				sums32SSE2x3(k, a, b, ldb, &out[0])
				store(out[:], 12, 8+last, c, ldc, rows, alpha, beta)
			},
		},
	})
}

// store ends a tile whose sums lie side by side, width in a row.
func store[T Float](out []T, width, n int, c *T, ldc, rows int, alpha, beta T) {
	to := unsafe.Slice(c, (rows-1)*ldc+n)
	for i := range rows {
		finish(to[i*ldc:][:n], out[i*width:][:n], alpha, beta)
	}
}

func processor64() []*path[float64] {
	var list []*path[float64]
	if hasAVX512 {
		list = append(list, &path[float64]{
			name: "AVX-512", mr: 8, lanes: 8, transpose: transpose4x64, square: 4,
			tile: [3]func(k int, a, b, c *float64, ldb, ldc, rows, last int, alpha, beta float64){tile64AVX512x1,
				tile64AVX512x2, tile64AVX512x3},
		})
	}
	if hasAVX2 {
		list = append(list, &path[float64]{
			name: "AVX2", mr: 4, lanes: 4, transpose: transpose4x64, square: 4,
			tile: [3]func(k int, a, b, c *float64, ldb, ldc, rows, last int, alpha, beta float64){tile64AVX2x1,
				tile64AVX2x2, tile64AVX2x3},
		})
	}
	return append(list, &path[float64]{
		name: "SSE2", mr: 4, lanes: 2,
		tile: [3]func(k int, a, b, c *float64, ldb, ldc, rows, last int, alpha, beta float64){
			func(k int, a, b, c *float64, ldb, ldc, rows, last int, alpha, beta float64) {
				var out [8]float64
				sums64SSE2x1(k, a, b, ldb, &out[0])
				store(out[:], 2, last, c, ldc, rows, alpha, beta)
			},
			func(k int, a, b, c *float64, ldb, ldc, rows, last int, alpha, beta float64) {
				var out [16]float64
				sums64SSE2x2(k, a, b, ldb, &out[0])
				store(out[:], 4, 2+last, c, ldc, rows, alpha, beta)
			},
			func(k int, a, b, c *float64, ldb, ldc, rows, last int, alpha, beta float64) {
				var out [24]float64
				sums64SSE2x3(k, a, b, ldb, &out[0])
				store(out[:], 6, 4+last, c, ldc, rows, alpha, beta)
			},
		},
	})
}
