package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/mat"
)

// TRSM against gonum's, in all sixteen forms and sizes on both sides of a block's; the
// other triangle of A holds NaN, and what lies between rows stays.
func TestTrsm(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, size := range [][2]int{{1, 3}, {solve, solve}, {solve + 1, 7}, {5, solve + 30},
		{3*solve - 5, 2*solve + 9}} {
		for _, side := range []blas.Side{blas.Left, blas.Right} {
			for _, ul := range triangles {
				for _, tA := range transposes {
					for _, d := range []blas.Diag{blas.Unit, blas.NonUnit} {
						m, n := size[0], size[1]
						if rng.IntN(2) == 0 {
							m, n = n, m
						}
						order := m
						if side == blas.Right {
							order = n
						}
						lda, ldb := order+rng.IntN(3), n+rng.IntN(3)
						a, b := random[float64](rng, (order-1)*lda+order), random[float64](rng, (m-1)*ldb+n)
						for i := range order { // diagonally dominant
							for j := range order {
								switch at := i*lda + j; {
								case i == j && d == blas.Unit, i != j && (j > i) != (ul == blas.Upper):
									a[at] = math.NaN()
								case i == j:
									a[at] = 2 + rng.Float64()
								default:
									a[at] /= float64(order)
								}
							}
						}
						alpha := []float64{0, 1, -0.5}[rng.IntN(3)]
						want, got, one := slices.Clone(b), slices.Clone(b), slices.Clone(b)
						gonum.Implementation{}.Dtrsm(side, ul, tA, d, m, n, alpha, a, lda, want, ldb)
						Implementation{Workers: 4}.Dtrsm(side, ul, tA, d, m, n, alpha, a, lda, got, ldb)
						Implementation{Workers: 1}.Dtrsm(side, ul, tA, d, m, n, alpha, a, lda, one, ldb)
						single := func(x []float64) []float32 {
							y := make([]float32, len(x))
							for i := range x {
								y[i] = float32(x[i])
							}
							return y
						}
						got32 := single(b)
						Implementation{}.Strsm(side, ul, tA, d, m, n, float32(alpha), single(a), lda, got32, ldb)
						for i := range want {
							if got[i] != one[i] || !(math.Abs(got[i]-want[i]) <= 1e-12) ||
								!(math.Abs(float64(got32[i])-want[i]) <= 1e-4) {
								t.Fatalf("side=%c ul=%c t=%c diag=%c m=%d n=%d alpha=%v: b[%d,%d] = %v, on one worker %v, in "+
									"float32 %v, want %v",
									side, ul, tA, d, m, n, alpha, i/ldb, i%ldb, got[i], one[i], got32[i], want[i])
							}
						}
					}
				}
			}
		}
	}
}

// Use serves gonum/mat: a Cholesky factorisation and a solution from it.
func TestUse(t *testing.T) {
	defer blas64.Use(blas64.Implementation())
	const n = 300
	rng := rand.New(rand.NewPCG(3, 3))
	a := mat.NewDense(n, n, random[float64](rng, n*n))
	var spd mat.SymDense
	spd.SymOuterK(1, a)
	for i := range n {
		spd.SetSym(i, i, spd.At(i, i)+n)
	}
	x := mat.NewDense(n, 70, random[float64](rng, n*70))
	var rhs mat.Dense
	rhs.Mul(&spd, x) // all on gonum's so far
	blas64.Use(Implementation{})
	var again mat.SymDense
	again.SymOuterK(1, a)
	for i := range n {
		again.SetSym(i, i, again.At(i, i)+n)
	}
	if !mat.EqualApprox(&again, &spd, 1e-10) {
		t.Error("the outer product is another")
	}
	var c mat.Cholesky
	var got mat.Dense
	if !c.Factorize(&again) {
		t.Fatal("not positive definite")
	}
	if err := c.SolveTo(&got, &rhs); err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(&got, x, 1e-10) {
		t.Error("the solution is another")
	}
}

func BenchmarkTrsm(b *testing.B) {
	rng := rand.New(rand.NewPCG(2, 2))
	const n = 500
	a, x := random[float64](rng, n*n), random[float64](rng, n*n)
	for i := range n * n {
		a[i] /= 10 * n
	}
	for _, s := range []struct {
		name string
		by   blas.Float64
	}{{"ours", Implementation{Workers: 1}}, {"gonum", gonum.Implementation{}}} {
		b.Run(fmt.Sprintf("n=%d/kernels=%s", n, s.name), func(b *testing.B) {
			for b.Loop() {
				s.by.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.Unit, n, n, 1, a, n, x, n)
			}
			b.ReportMetric(n*n*n*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
