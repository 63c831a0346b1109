package gemm

import (
	"gonum.org/v1/gonum/blas"
	lapackgo "gonum.org/v1/gonum/lapack/gonum"
)

// Cholesky replaces the lower triangle of A, n×n in rows of lda elements, by its Cholesky factor
// L, A = L·Lᵀ, block column by block column: all but the blocks on the diagonal is products. It
// reports whether A was positive definite; if not, part of A is lost. Cost: n³/3 multiplications.
func (s Implementation) Cholesky(n int, a []float64, lda int) bool {
	const block = 64
	var diagonal lapackgo.Implementation
	for k := 0; k < n; k += block {
		size := min(block, n-k)
		if !diagonal.Dpotf2(blas.Lower, size, a[k*lda+k:], lda) {
			return false
		}
		next := k + size
		if next == n {
			break
		}
		s.Dtrsm(blas.Right, blas.Lower, blas.Trans, blas.NonUnit, n-next, size, 1, a[k*lda+k:], lda, a[next*lda+k:], lda)
		s.Dsyrk(blas.Lower, blas.NoTrans, n-next, size, -1, a[next*lda+k:], lda, 1, a[next*lda+next:], lda)
	}
	return true
}

// CholeskySolve replaces x by the solution of L·Lᵀ·x = b, where L is the lower triangle of a.
func (s Implementation) CholeskySolve(n int, a []float64, lda int, x []float64) {
	s.Dtrsv(blas.Lower, blas.NoTrans, blas.NonUnit, n, a, lda, x, 1)
	s.Dtrsv(blas.Lower, blas.Trans, blas.NonUnit, n, a, lda, x, 1)
}
