package gemm

import (
	"gonum.org/v1/gonum/blas"
	lapackgo "gonum.org/v1/gonum/lapack/gonum"
)

// Cholesky factors the lower triangle of a, n×n, in place, block column by block column:
// all but the blocks on the diagonal is products. It reports whether a was positive definite.
func Cholesky(b Implementation, n int, a []float64) bool {
	const block = 64
	var diagonal lapackgo.Implementation
	for k := 0; k < n; k += block {
		size := min(block, n-k)
		if !diagonal.Dpotf2(blas.Lower, size, a[k*n+k:], n) {
			return false
		}
		below := n - k - size
		if below == 0 {
			break
		}
		next := k + size
		b.Dtrsm(blas.Right, blas.Lower, blas.Trans, blas.NonUnit, below, size, 1, a[k*n+k:], n, a[next*n+k:], n)
		b.Dsyrk(blas.Lower, blas.NoTrans, below, size, -1, a[next*n+k:], n, 1, a[next*n+next:], n)
	}
	return true
}
