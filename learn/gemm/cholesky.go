package gemm

import (
	"math"

	"gonum.org/v1/gonum/blas"
)

// Sides of blocks of a Cholesky factorisation: below leaf a loop is as fast as products.
const leaf = 32

// Cholesky replaces the lower triangle of the symmetric matrix a, n×n in rows of lda, by its factor
// L with L·Lᵀ = A. The upper triangle is neither read nor written. It reports whether A was
// positive definite; if not, a is left half factored. Up to workers goroutines take part (zero is
// GOMAXPROCS), and the bits do not depend on their number. Cost: n³/3 multiplications and
// additions, nearly all in products.
func Cholesky[T Float](workers, n int, a []T, lda int) bool {
	if n <= leaf {
		return cholesky(n, a, lda)
	}
	// Halves of whole leaves.
	h := (n/2 + leaf - 1) / leaf * leaf
	if !Cholesky(workers, h, a, lda) {
		return false
	}
	below, rest := a[h*lda:], a[h*lda+h:]
	triangular[T](workers, blas.Right, blas.Trans, n-h, h, a, lda, below, lda)
	Syrk(workers, false, n-h, h, -1, below, lda, 1, rest, lda)
	return Cholesky(workers, n-h, rest, lda)
}

// Syrk stores alpha·A·Aᵀ + beta·C in the lower triangle of C, n×n, for A n×k; when transposed
// alpha·Aᵀ·A + beta·C, for A k×n. The upper triangle is not touched. Cost: n²·k/2 multiplications
// and additions.
func Syrk[T Float](workers int, transposed bool, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int) {
	t := blas.NoTrans
	if transposed {
		t = blas.Trans
	}
	s := Implementation{Workers: workers}
	switch a := any(a).(type) {
	case []float32:
		s.Ssyrk(blas.Lower, t, n, k, float32(alpha), a, lda, float32(beta), any(c).([]float32), ldc)
	case []float64:
		s.Dsyrk(blas.Lower, t, n, k, float64(alpha), a, lda, float64(beta), any(c).([]float64), ldc)
	}
}

// CholeskySolve replaces b, n×m in rows of ldb, by the solution X of L·Lᵀ·X = B, where L is
// the factor that Cholesky left in a. Cost: 2n²m.
func CholeskySolve[T Float](workers, n, m int, a []T, lda int, b []T, ldb int) {
	triangular[T](workers, blas.Left, blas.NoTrans, n, m, a, lda, b, ldb)
	triangular[T](workers, blas.Left, blas.Trans, n, m, a, lda, b, ldb)
}

// TriangularSolve replaces b, n×m in rows of ldb, by the solution of L·X = B, or of Lᵀ·X = B when
// transposed. L is the lower triangle of a. Cost: n²m.
func TriangularSolve[T Float](workers int, transposed bool, n, m int, a []T, lda int, b []T, ldb int) {
	t := blas.NoTrans
	if transposed {
		t = blas.Trans
	}
	triangular[T](workers, blas.Left, t, n, m, a, lda, b, ldb)
}

// TriangularSolveRows replaces each row v of b, m×n in rows of ldb, by L⁻¹v, for the lower
// triangle L of a, n×n. Cost: n²m.
func TriangularSolveRows[T Float](workers, m, n int, a []T, lda int, b []T, ldb int) {
	triangular[T](workers, blas.Right, blas.Trans, m, n, a, lda, b, ldb)
}

func triangular[T Float](workers int, side blas.Side, t blas.Transpose, m, n int, a []T, lda int,
	b []T, ldb int) {
	if m == 0 || n == 0 {
		return
	}
	s := Implementation{Workers: workers}
	switch any(T(0)).(type) {
	case float32:
		s.Strsm(side, blas.Lower, t, blas.NonUnit, m, n, 1, any(a).([]float32), lda, any(b).([]float32), ldb)
	case float64:
		s.Dtrsm(side, blas.Lower, t, blas.NonUnit, m, n, 1, any(a).([]float64), lda, any(b).([]float64), ldb)
	}
}

// cholesky is the factorisation of a small matrix, row by row.
func cholesky[T Float](n int, a []T, lda int) bool {
	for j := range n {
		row := a[j*lda:][:j+1]
		for k := range j {
			other := a[k*lda:][:k+1]
			s := row[k]
			for l, v := range other[:k] {
				s -= v * row[l]
			}
			row[k] = s / other[k]
		}
		d := row[j]
		for _, v := range row[:j] {
			d -= v * v
		}
		if !(d > 0) {
			return false
		}
		row[j] = T(math.Sqrt(float64(d)))
	}
	return true
}
