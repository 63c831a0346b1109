package gemm

import "gonum.org/v1/gonum/blas"

// solve is the side of the blocks on the diagonal that gonum's loops solve. At n = 500 in float64
// sides of 16, 24, 32 and 64 gave 29, 28, 32 and 18 GFLOP/s, gonum 2.
const solve = 32

// Dtrsm replaces B, m×n, by the solution X of op(A)·X = alpha·B (side = Left; A m×m) or of X·op(A)
// = alpha·B (Right; A n×n). A is the triangle ul of a, with ones on the diagonal when d is Unit. A
// must not be singular; this is not checked. Cost: m²·n or m·n² multiplications and additions.
func (s Implementation) Dtrsm(side blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int,
	alpha float64, a []float64, lda int, b []float64, ldb int) {
	if order := trsmOrder(side, ul, t, d, m, n, alpha != 0, len(a), lda, len(b), ldb); order > solve {
		trsm(best[float64](), s.Workers, side == blas.Left, ul == blas.Upper, t != blas.NoTrans, m, n,
			alpha, a, lda, b, ldb, func(m, n int, alpha float64, a, b []float64) {
				s.Implementation.Dtrsm(side, ul, t, d, m, n, alpha, a, lda, b, ldb)
			})
		return
	}
	s.Implementation.Dtrsm(side, ul, t, d, m, n, alpha, a, lda, b, ldb)
}

// Strsm is Dtrsm in single precision.
func (s Implementation) Strsm(side blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int,
	alpha float32, a []float32, lda int, b []float32, ldb int) {
	if order := trsmOrder(side, ul, t, d, m, n, alpha != 0, len(a), lda, len(b), ldb); order > solve {
		trsm(best[float32](), s.Workers, side == blas.Left, ul == blas.Upper, t != blas.NoTrans, m, n,
			alpha, a, lda, b, ldb, func(m, n int, alpha float32, a, b []float32) {
				s.Implementation.Strsm(side, ul, t, d, m, n, alpha, a, lda, b, ldb)
			})
		return
	}
	s.Implementation.Strsm(side, ul, t, d, m, n, alpha, a, lda, b, ldb)
}

// trsmOrder returns the order of A, or zero when the arguments do not fit each other:
// gonum's routine, which gets the call then, says so.
func trsmOrder(side blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha bool, a, lda,
	b, ldb int) int {
	order := m
	if side == blas.Right {
		order = n
	}
	ok := (side == blas.Left || side == blas.Right) && (ul == blas.Upper || ul == blas.Lower) &&
		(t == blas.NoTrans || t == blas.Trans || t == blas.ConjTrans) && (d == blas.Unit || d == blas.NonUnit) &&
		m > 0 && n > 0 && alpha && lda >= order && a >= (order-1)*lda+order && ldb >= n && b >= (m-1)*ldb+n
	if !ok {
		return 0
	}
	return order
}

// trsm solves block by block of X: what the blocks already solved contribute is a
// product, and the rest a small system for diagonal.
func trsm[T Float](p *path[T], workers int, left, upper, trans bool, m, n int, alpha T, a []T, lda int, b []T,
	ldb int, diagonal func(m, n int, alpha T, a, b []T)) {
	order := n
	if left {
		order = m
	}
	blocks := (order + solve - 1) / solve
	// op(A) is upper triangular when upper differs from trans. Its unknowns depend on
	// later ones from the left, and on earlier ones from the right.
	forward := (upper != trans) != left
	for step := range blocks {
		block := step
		if !forward {
			block = blocks - 1 - step
		}
		i := block * solve
		h := min(solve, order-i)
		from, to := 0, i // the blocks solved
		if !forward {
			from, to = i+h, order
		}
		factor := alpha
		if from < to {
			factor = 1
			// the block of op(A) in rows r and columns c begins where that of A in
			// rows c and columns r does, when transposed
			at := func(r, c int) []T {
				if trans {
					r, c = c, r
				}
				return a[r*lda+c:]
			}
			if left {
				p.gemm(workers, trans, false, h, n, to-from, -1, at(i, from), lda, b[from*ldb:], ldb,
					alpha, b[i*ldb:], ldb)
			} else {
				p.gemm(workers, false, trans, m, h, to-from, -1, b[from:], ldb, at(from, i), lda, alpha, b[i:], ldb)
			}
		}
		if left {
			diagonal(h, n, factor, a[i*lda+i:], b[i*ldb:])
		} else {
			diagonal(m, h, factor, a[i*lda+i:], b[i:])
		}
	}
}
