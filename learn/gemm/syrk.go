package gemm

import "gonum.org/v1/gonum/blas"

// Routines on triangles are cut into blocks: what lies beside the diagonal is a
// product, which is where the work is.

const (
	triangle = 128     // side of a block on the diagonal
	little   = 1 << 14 // multiplications up to which gonum's loops are as fast
)

// Dsyrk stores alpha·A·Aᵀ + beta·C (t = NoTrans; C n×n, A n×k) or alpha·Aᵀ·A + beta·C (A k×n) in
// the triangle ul of C. It does not touch the other triangle. Cost: n²·k multiplications.
func (s Implementation) Dsyrk(ul blas.Uplo, t blas.Transpose, n, k int, alpha float64, a []float64, lda int,
	beta float64, c []float64, ldc int) {
	if !syrkFits(ul, t, n, k, len(a), lda, len(c), ldc) || alpha == 0 ||
		float64(n)*float64(n)*float64(k) <= little {
		if beta == 0 && syrkFits(ul, t, n, k, len(a), lda, len(c), ldc) {
			clearTriangle(ul, n, c, ldc)
		}
		s.Implementation.Dsyrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	syrk(best[float64](), s.Workers, ul == blas.Upper, t != blas.NoTrans, n, k, alpha, a, lda, beta, c, ldc)
}

// Ssyrk is Dsyrk in single precision.
func (s Implementation) Ssyrk(ul blas.Uplo, t blas.Transpose, n, k int, alpha float32, a []float32, lda int,
	beta float32, c []float32, ldc int) {
	if !syrkFits(ul, t, n, k, len(a), lda, len(c), ldc) || alpha == 0 ||
		float64(n)*float64(n)*float64(k) <= little {
		if beta == 0 && syrkFits(ul, t, n, k, len(a), lda, len(c), ldc) {
			clearTriangle(ul, n, c, ldc)
		}
		s.Implementation.Ssyrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	syrk(best[float32](), s.Workers, ul == blas.Upper, t != blas.NoTrans, n, k, alpha, a, lda, beta, c, ldc)
}

// syrkFits is whether the arguments fit each other. If not the call goes to gonum's
// routine, which says so.
func syrkFits(ul blas.Uplo, t blas.Transpose, n, k, a, lda, c, ldc int) bool {
	rows, cols := n, k
	switch t {
	case blas.NoTrans:
	case blas.Trans, blas.ConjTrans:
		rows, cols = k, n
	default:
		return false
	}
	return (ul == blas.Upper || ul == blas.Lower) && n > 0 && k >= 0 &&
		lda >= max(1, cols) && ldc >= n && a >= (rows-1)*lda+cols && c >= (n-1)*ldc+n
}

// clearTriangle is for gonum's routine, some of whose loops multiply C by beta = 0
// and so let NaN through.
func clearTriangle[T Float](ul blas.Uplo, n int, c []T, ldc int) {
	for i := range n {
		if ul == blas.Upper {
			clear(c[i*ldc+i : i*ldc+n])
		} else {
			clear(c[i*ldc : i*ldc+i+1])
		}
	}
}

// syrk goes down the diagonal. It computes a block on the diagonal whole, beside C, and copies its
// triangle; the remainder of its rows is one product.
func syrk[T Float](p *path[T], workers int, upper, trans bool, n, k int, alpha T, a []T, lda int, beta T,
	c []T, ldc int) {
	vectors := func(i int) []T { // A from vector i on: row i, or column i when transposed
		if trans {
			return a[i:]
		}
		return a[i*lda:]
	}
	s := takeSpace[T]()
	defer spaces[T]().put(s)
	s.c = grown(s.c, min(n, triangle)*min(n, triangle))
	for i := 0; i < n; i += triangle {
		h := min(triangle, n-i)
		p.gemm(workers, trans, !trans, h, h, k, alpha, vectors(i), lda, vectors(i), lda, 0, s.c, h)
		for r := range h {
			from, to := 0, r+1
			if upper {
				from, to = r, h
			}
			row := c[(i+r)*ldc+i:][:h]
			for j := from; j < to; j++ {
				if beta == 0 {
					row[j] = s.c[r*h+j]
				} else {
					row[j] = beta*row[j] + s.c[r*h+j]
				}
			}
		}
		from, to := 0, i
		if upper {
			from, to = i+h, n
		}
		if from < to {
			p.gemm(workers, trans, !trans, h, to-from, k, alpha, vectors(i), lda, vectors(from), lda, beta,
				c[i*ldc+from:], ldc)
		}
	}
}
