package gemm

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
)

// Implementation is gonum's BLAS with the matrix products of this package.
// The zero value is ready, and may be shared.
type Implementation struct {
	gonum.Implementation
	Workers int // goroutines of a product; zero is GOMAXPROCS
}

var (
	_ blas.Float64 = Implementation{}
	_ blas.Float32 = Implementation{}
)

// Use makes blas64 and blas32, and with them gonum/mat, multiply with this
// package. Call it once, before the first product: it is not synchronised with
// products under way.
func Use() {
	blas64.Use(Implementation{})
	blas32.Use(Implementation{})
}

// Kernel names the instruction set in use: "AVX-512", "AVX2", "SSE2" or
// "Go".
func Kernel() string { return best[float64]().name }

// Dgemm stores alpha·op(A)·op(B) + beta·C in C; see Gemm.
func (s Implementation) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int,
	b []float64, ldb int, beta float64, c []float64, ldc int) {
	Gemm(s.Workers, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// Sgemm stores alpha·op(A)·op(B) + beta·C in C; see Gemm.
func (s Implementation) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int,
	b []float32, ldb int, beta float32, c []float32, ldc int) {
	Gemm(s.Workers, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// check panics, with gonum's words, when arguments do not fit each other.
func check(tA, tB blas.Transpose, m, n, k, a, lda, b, ldb, c, ldc int) {
	transposed := func(t blas.Transpose) bool {
		switch t {
		case blas.NoTrans:
			return false
		case blas.Trans, blas.ConjTrans:
			return true
		}
		panic("blas: illegal transpose")
	}
	aRows, aCols, bRows, bCols := m, k, k, n
	if transposed(tA) {
		aRows, aCols = k, m
	}
	if transposed(tB) {
		bRows, bCols = n, k
	}
	short := func(have, rows, cols, ld int) bool { return have < (rows-1)*ld+cols }
	switch {
	case m < 0:
		panic("blas: m < 0")
	case n < 0:
		panic("blas: n < 0")
	case k < 0:
		panic("blas: k < 0")
	case lda < max(1, aCols):
		panic("blas: bad leading dimension of A")
	case ldb < max(1, bCols):
		panic("blas: bad leading dimension of B")
	case ldc < max(1, n):
		panic("blas: bad leading dimension of C")
	case m == 0 || n == 0:
	case short(a, aRows, aCols, lda):
		panic("blas: insufficient length of a")
	case short(b, bRows, bCols, ldb):
		panic("blas: insufficient length of b")
	case short(c, m, n, ldc):
		panic("blas: insufficient length of c")
	}
}
