package gemm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// Square products; the rate
// counts 2·m·n·k operations. Compare kernels=gonum.
func BenchmarkGemm(b *testing.B) {
	b.Run("type=float64", benchmarkGemm[float64])
	b.Run("type=float32", benchmarkGemm[float32])
}

func benchmarkGemm[T Float](b *testing.B) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, n := range []int{4, 16, 64, 256, 1024} {
		x, y, z := random[T](rng, n*n), random[T](rng, n*n), make([]T, n*n)
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("n=%d/workers=%d", n, workers), func(b *testing.B) {
				for b.Loop() {
					Gemm(workers, blas.NoTrans, blas.NoTrans, n, n, n, 1, x, n, y, n, 0, z, n)
				}
				rate(b, n, n, n)
			})
		}
		b.Run(fmt.Sprintf("n=%d/kernels=gonum", n), func(b *testing.B) {
			for b.Loop() {
				gonumGemm(blas.NoTrans, blas.NoTrans, n, n, n, x, n, y, n, z, n)
			}
			rate(b, n, n, n)
		})
	}
}

func gonumGemm[T Float](tA, tB blas.Transpose, m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int) {
	switch a := any(a).(type) {
	case []float32:
		gonum.Implementation{}.Sgemm(tA, tB, m, n, k, 1, a, lda, any(b).([]float32), ldb, 0,
			any(c).([]float32), ldc)
	case []float64:
		gonum.Implementation{}.Dgemm(tA, tB, m, n, k, 1, a, lda, any(b).([]float64), ldb, 0,
			any(c).([]float64), ldc)
	}
}

func rate(b *testing.B, m, n, k int) {
	b.ReportMetric(2*float64(m)*float64(n)*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// The products of a batch of 128 through a layer of 784 by 1024.
func BenchmarkLayer(b *testing.B) {
	rng := rand.New(rand.NewPCG(8, 8))
	const batch, in, out = 128, 784, 1024
	x, w, y := random[float32](rng, batch*in), random[float32](rng, in*out), random[float32](rng, batch*out)
	for _, workers := range []int{1, 2} {
		for name, f := range map[string]func(){
			"forward": func() { Gemm(workers, blas.NoTrans, blas.NoTrans, batch, out, in, 1, x, in, w, out, 0, y, out) },
			"weights": func() { Gemm(workers, blas.Trans, blas.NoTrans, in, out, batch, 1, x, in, y, out, 0, w, out) },
			"input":   func() { Gemm(workers, blas.NoTrans, blas.Trans, batch, in, out, 1, y, out, w, out, 0, x, in) },
		} {
			b.Run(fmt.Sprintf("product=%s/workers=%d", name, workers), func(b *testing.B) {
				for b.Loop() {
					f()
				}
				rate(b, batch, in, out)
			})
		}
	}
}

// Each path on one worker.
func BenchmarkPath(b *testing.B) {
	b.Run("type=float64", benchmarkPath[float64])
	b.Run("type=float32", benchmarkPath[float32])
}

func benchmarkPath[T Float](b *testing.B) {
	rng := rand.New(rand.NewPCG(9, 9))
	const n = 500
	x, y, z := random[T](rng, n*n), random[T](rng, n*n), make([]T, n*n)
	for _, p := range paths[T]() {
		b.Run("path="+p.name, func(b *testing.B) {
			for b.Loop() {
				p.gemm(1, false, false, n, n, n, 1, x, n, y, n, 0, z, n)
			}
			rate(b, n, n, n)
		})
	}
}
