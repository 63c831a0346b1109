// Package gemm multiplies matrices fast without cgo: an implementation of
// gonum's blas.Float64 and blas.Float32 whose GEMM runs on packed panels and
// assembly tiles, and whose other routines are gonum's own, except SYRK, which
// is made of GEMMs.
//
// Implementation is the type to hand to whoever takes a BLAS; Use registers it
// with blas64 and blas32, so that every gonum/mat product of the program
// profits:
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
//   - An element of C is added up in an order that depends on k alone. Work is
//     split over rows and columns of C, never over k: results have the same
//     bits for any number of workers.
//   - C is not read when beta is zero, A and B not when alpha is zero or k is.
//   - Nothing is allocated once the panels of the largest product were.
//   - Arguments are checked as gonum checks them, with gonum's panics.
//
// Rounding is not gonum's: multiplications and additions are fused, and alpha
// multiplies sums instead of terms. Which processor is in use shows in the bits,
// as it does in every optimised BLAS.
//
// # How it works
//
// The loops are those of K. Goto and R. van de Geijn, "Anatomy of
// high-performance matrix multiplication", ACM TOMS 34(3), 2008, and F. Van Zee
// and R. van de Geijn, "BLIS", ACM TOMS 41(3), 2015, for row-major matrices:
// gemm.go splits and blocks, pack.go copies blocks into panels, path.go picks
// the tile for the processor (AVX-512, AVX2 with FMA, or Go), kernels_amd64.s
// holds the tiles, and asm the program that writes it.
package gemm
