package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

var triangles = []blas.Uplo{blas.Upper, blas.Lower}

// SYRK against gonum's: sizes on both sides of a block's, both triangles and
// transpositions, all scalars; the other triangle, and what lies between rows, stays.
func TestSyrk(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 5, 40, triangle - 1, triangle, triangle + 1, 2*triangle + 60} {
		for _, k := range []int{0, 1, 9, 70} {
			for range 12 {
				ul, tA := triangles[rng.IntN(2)], transposes[rng.IntN(3)]
				scalars := []float64{0, 1, -1, 0.5}
				alpha, beta := scalars[rng.IntN(4)], scalars[rng.IntN(4)]
				rows, cols := n, k
				if tA != blas.NoTrans {
					rows, cols = k, n
				}
				lda, ldc := max(1, cols)+rng.IntN(3), max(1, n)+rng.IntN(3)
				a, c := random[float64](rng, max(0, (rows-1)*lda+cols)+rng.IntN(2)),
					random[float64](rng, max(0, (n-1)*ldc+n))
				if rows == 0 {
					a = make([]float64, max(0, lda*(rows-1)+cols))
				}
				if beta == 0 {
					for i := range n { // only in the triangle
						for j := range n {
							if (ul == blas.Upper) == (j >= i) || i == j {
								c[i*ldc+j] = math.NaN()
							}
						}
					}
				}
				want, got := slices.Clone(c), slices.Clone(c)
				if beta == 0 { // which gonum's does not always do
					clearTriangle(ul, n, want, ldc)
				}
				one := slices.Clone(c)
				gonum.Implementation{}.Dsyrk(ul, tA, n, k, alpha, a, lda, beta, want, ldc)
				Implementation{Workers: 3}.Dsyrk(ul, tA, n, k, alpha, a, lda, beta, got, ldc)
				Implementation{Workers: 1}.Dsyrk(ul, tA, n, k, alpha, a, lda, beta, one, ldc)
				single := func(x []float64) []float32 {
					y := make([]float32, len(x))
					for i := range x {
						y[i] = float32(x[i])
					}
					return y
				}
				got32 := single(c)
				Implementation{}.Ssyrk(ul, tA, n, k, float32(alpha), single(a), lda, float32(beta), got32, ldc)
				for i := range want {
					if same := math.Float64bits(got[i]) == math.Float64bits(one[i]); !same ||
						!(math.Abs(got[i]-want[i]) <= 1e-15*float64(10*k+10)) ||
						!(math.Abs(float64(got32[i])-want[i]) <= 5e-7*float64(10*k+10)) {
						t.Fatalf("ul=%c t=%c n=%d k=%d alpha=%v beta=%v: c[%d,%d] = %v, on one worker %v, in float32 %v, want %v", ul, tA, n, k, alpha, beta, i/ldc, i%ldc, got[i], one[i], got32[i], want[i])
					}
				}
			}
		}
	}
}

func BenchmarkSyrk(b *testing.B) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, n := range []int{64, 500} {
		a, c := random[float64](rng, n*n), make([]float64, n*n)
		for _, s := range []struct {
			name string
			by   blas.Float64
		}{{"ours", Implementation{Workers: 1}}, {"gonum", gonum.Implementation{}}} {
			b.Run(fmt.Sprintf("n=%d/kernels=%s", n, s.name), func(b *testing.B) {
				for b.Loop() {
					s.by.Dsyrk(blas.Upper, blas.NoTrans, n, n, 1, a, n, 0, c, n)
				}
				b.ReportMetric(float64(n)*float64(n)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
