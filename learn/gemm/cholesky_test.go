package gemm

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
)

// The factor of a positive definite matrix gives it back, for sides within a block and beyond.
func TestCholesky(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var o Implementation
	for _, n := range []int{1, 2, 63, 64, 65, 130, 200} {
		b, a := make([]float64, n*n), make([]float64, n*n)
		for i := range b {
			b[i] = rng.NormFloat64()
		}
		for i := range n {
			for j := range n {
				for k := range n {
					a[i*n+j] += b[i*n+k] * b[j*n+k] / float64(n)
				}
			}
			a[i*n+i]++
		}
		x, v := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		for i := range n {
			for j := range n {
				v[i] += a[i*n+j] * x[j]
			}
		}
		if !Cholesky(o, n, a) {
			t.Fatalf("side %d: no factor", n)
		}
		o.Dtrsv(blas.Lower, blas.NoTrans, blas.NonUnit, n, a, n, v, 1)
		o.Dtrsv(blas.Lower, blas.Trans, blas.NonUnit, n, a, n, v, 1)
		for i := range x {
			if math.Abs(v[i]-x[i]) > 1e-10 {
				t.Fatalf("side %d: A⁻¹Ax has %v at %d, x %v", n, v[i], i, x[i])
			}
		}
		a[0] = -1
		if Cholesky(o, n, a) {
			t.Errorf("side %d: a factor of what is not positive definite", n)
		}
	}
}
