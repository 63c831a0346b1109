package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The product of the factor with itself is the matrix, and a solution solves.
func TestCholesky(t *testing.T) {
	testCholesky[float64](t, 1e-13)
	testCholesky[float32](t, 1e-4)
}

func testCholesky[T Float](t *testing.T, tolerance float64) {
	for _, n := range []int{1, 5, 31, 32, 33, 64, 100, 257} {
		t.Run(fmt.Sprintf("%T/n=%d", T(0), n), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(n), 1))
			lda, m := n+3, 3
			x := make([]float64, n*n)
			for i := range x {
				x[i] = rng.NormFloat64()
			}
			a := make([]T, n*lda)
			for i := range n {
				for j := range lda {
					if a[i*lda+j] = T(-7); j > i { // not to be read
						continue
					}
					s := 0.0
					for k := range n {
						s += x[i*n+k] * x[j*n+k]
					}
					if i == j {
						s += float64(n)
					}
					a[i*lda+j] = T(s / float64(n))
				}
			}
			one, l := slices.Clone(a), slices.Clone(a)
			if !Cholesky(1, n, one, lda) || !Cholesky(3, n, l, lda) {
				t.Fatal("not positive definite")
			}
			if !slices.Equal(one, l) {
				t.Error("workers change bits")
			}
			for i := range n {
				for j := range lda {
					if j > i {
						if l[i*lda+j] != -7 {
							t.Fatalf("wrote %d, %d", i, j)
						}
						continue
					}
					s := 0.0
					for k := range j + 1 {
						s += float64(l[i*lda+k]) * float64(l[j*lda+k])
					}
					if want := float64(a[i*lda+j]); math.Abs(s-want) > tolerance*float64(n) {
						t.Fatalf("%d, %d: %g, want %g", i, j, s, want)
					}
				}
			}
			b := make([]T, n*m)
			for i := range b {
				b[i] = T(rng.NormFloat64())
			}
			sol, half := slices.Clone(b), slices.Clone(b)
			CholeskySolve(2, n, m, l, lda, sol, m)
			TriangularSolve(2, false, n, m, l, lda, half, m)
			TriangularSolve(2, true, n, m, l, lda, half, m)
			if !slices.Equal(sol, half) {
				t.Error("two triangular systems are not the solution")
			}
			for i := range n {
				for c := range m {
					s := 0.0
					for j := range n {
						s += float64(a[max(i, j)*lda+min(i, j)]) * float64(sol[j*m+c])
					}
					if want := float64(b[i*m+c]); math.Abs(s-want) > 20*tolerance*float64(n) {
						t.Fatalf("row %d: %g, want %g", i, s, want)
					}
				}
			}
			a[(n-1)*lda+n-1] = -1
			if Cholesky(1, n, a, lda) {
				t.Error("an indefinite matrix was factored")
			}
		})
	}
}
