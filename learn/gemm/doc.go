// Package gemm multiplies matrices fast without cgo: an implementation of gonum's blas.Float64 and
// blas.Float32 whose GEMM runs on packed panels and assembly tiles. SYRK and TRSM are made of it (a
// Cholesky factorisation in gonum/mat rests on the three); all other routines are gonum's own.
// gonum's vector routines already run at the speed of memory: GEMV on a thousand by a thousand
// gives 7 GFLOP/s in float64 and 13 in float32.
//
// Implementation is the type to pass where a BLAS is expected. Use registers it with blas64 and
// blas32, so that every gonum/mat product of the program uses it:
//
//	func main() {
//		gemm.Use()
//		...
//	}
//
// Gemm is the same product as a generic function.
//
// # What may be relied on
//
//   - An element of C is added up in an order that depends only on k. Work is split over rows and
//     columns of C, never over k: results have the same bits for any number of workers.
//   - C is not read when beta is zero, A and B not when alpha is zero or k is.
//   - Nothing is allocated once the panels of the largest product were.
//   - Arguments are checked as gonum checks them, with gonum's panics.
//
// Rounding is not gonum's: multiplications and additions are fused, and alpha multiplies sums
// instead of terms. Results depend on the processor in use, as with every optimised BLAS.
//
// # How it works
//
// The loops are those of K. Goto and R. van de Geijn, "Anatomy of
// high-performance matrix multiplication", ACM TOMS 34(3), 2008, and F. Van Zee
// and R. van de Geijn, "BLIS", ACM TOMS 41(3), 2015, for row-major matrices:
// gemm.go splits and blocks, pack.go copies blocks into panels, path.go picks
// the tile for the processor (AVX-512, AVX2 with FMA, SSE2, or Go), kernels_amd64.s
// holds the tiles, and asm the program that writes it. Triangles are in syrk.go and
// trsm.go.
//
// On one core of an AVX-512 server BenchmarkPath gives 142 GFLOP/s in float32 and 70 in float64,
// with AVX2 80 and 40, with SSE2 12 and 7, in Go 2.4 and 1.8. gonum's own routines reach 6 and 7
// there, with its assembly for SSE2, and 2.4 and 1.4 without.
package gemm
