package kernel

import (
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/blas"

	"github.com/tropica-fst/tropica/learn/gemm"
)

// Forecast is what a computation will take.
type Forecast struct {
	Bytes      float64 // at its peak, beside the data
	Operations float64 // multiplications with additions
}

// GramForecast is of the Gram matrix of n rows of d columns.
func GramForecast(n, d int) Forecast {
	f := float64(n)
	return Forecast{8 * f * f, f * f * (float64(d) + 16) / 2} // 16 stands for the exponential
}

// TopForecast is of r eigenpairs of a matrix of side n.
func TopForecast(n, r int) Forecast {
	f, k := float64(n), float64(r)
	if n <= denseSide || 3*r > n {
		return Forecast{8 * f * f, 40 * f * f * f} // LAPACK's loops run at a small part of the speed of products
	}
	return Forecast{8 * f * (4*k + 300), f*f*4*(k+50) + 10*f*k*k}
}

// RidgeForecast is of a factorisation of side n.
func RidgeForecast(n int) Forecast {
	f := float64(n)
	return Forecast{8 * f * f, f * f * f / 6}
}

// LandmarkForecast is of n rows of d columns with m landmarks.
func LandmarkForecast(n, d, m int) Forecast {
	f, c := float64(n), float64(m)
	return Forecast{16*c*c + 8*streamRows*c, f*c*(float64(d)+16) + f*c*c*1.5 + c*c*c/3}
}

// Plus is of one after the other, while the memory of both is held.
func (f Forecast) Plus(g Forecast) Forecast {
	return Forecast{f.Bytes + g.Bytes, f.Operations + g.Operations}
}

// Times is of n in turn.
func (f Forecast) Times(n int) Forecast { return Forecast{f.Bytes, f.Operations * float64(n)} }

// Time estimates how long it takes on this machine, from the speed of a small product that
// takes some milliseconds. It is within a factor of two or so.
func (f Forecast) Time(workers int) time.Duration {
	const side = 384
	a, c := make([]float64, side*side), make([]float64, side*side)
	for i := range a {
		a[i] = float64(i%7) - 3
	}
	best := math.Inf(1)
	for range 3 {
		start := time.Now()
		gemm.Gemm(workers, blas.NoTrans, blas.NoTrans, side, side, side, 1, a, side, a, side, 0, c, side)
		best = min(best, time.Since(start).Seconds())
	}
	return time.Duration(f.Operations / (side * side * side) * best * float64(time.Second))
}

// Text says both in words.
func (f Forecast) Text(workers int) string {
	return fmt.Sprintf("about %s and %s", bytes(int64(f.Bytes)), f.Time(workers).Round(time.Second))
}
