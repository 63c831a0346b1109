package optim

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The kernels in use against plain sums, at all lengths about a vector's.
func TestPairKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	for n := range 60 {
		testPairKernels[float32](t, rng, n)
		testPairKernels[float64](t, rng, n)
		x, want := make([]float64, n), 0.0
		for i := range x {
			x[i] = rng.NormFloat64()
			want = max(want, math.Abs(x[i]))
		}
		if got := MaxAbs(x); got != want {
			t.Fatalf("maxAbs of %v is %v", x, got)
		}
		if n == 0 {
			continue
		}
		x[rng.IntN(n)] = math.Inf(-1)
		if got := MaxAbs(x); !math.IsInf(got, 1) {
			t.Fatalf("maxAbs of %v is %v", x, got)
		}
		x[rng.IntN(n)] = math.NaN()
		if got := MaxAbs(x); !math.IsNaN(got) {
			t.Fatalf("maxAbs of %v is %v", x, got)
		}
	}
}

func testPairKernels[T float32 | float64](t *testing.T, rng *rand.Rand, n int) {
	t.Helper()
	si, yi := make([]T, n), make([]T, n)
	y, g, s, dst := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n+1)
	var want, got [5]float64
	for i := range n {
		si[i], yi[i] = T(rng.NormFloat64()), T(rng.NormFloat64())
		y[i], g[i], s[i] = rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		a, b := float64(si[i]), float64(yi[i])
		for k, v := range [5]float64{a * y[i], a * g[i], b * y[i], b * g[i], b * s[i]} {
			want[k] += v
		}
		dst[i] = rng.NormFloat64()
	}
	dots(&got, si, yi, y, g, s)
	for k := range want {
		if math.Abs(got[k]-want[k]) > 1e-13*float64(n+1) {
			t.Fatalf("inner product %d of length %d is %v, want %v", k, n, got[k], want[k])
		}
	}
	stored, back := make([]T, n), make([]float64, n)
	difference(stored, back, y, g)
	for i := range n {
		if v := T(y[i] - g[i]); stored[i] != v || back[i] != float64(v) {
			t.Fatalf("difference %d of %d is %v and %v, want %v", i, n, stored[i], back[i], v)
		}
	}
	sum := append([]float64(nil), dst...)
	for i := range n {
		sum[i] += 0.7*float64(si[i]) - 3*float64(yi[i])
	}
	addTwo(dst[:n], si, yi, 0.7, -3)
	for i, v := range sum {
		if math.Abs(dst[i]-v) > 1e-14*(1+math.Abs(v)) {
			t.Fatalf("entry %d of %d is %v, want %v", i, n, dst[i], v)
		}
	}
}

// The direction takes one step of the recursion's exact form, whichever precision keeps
// the pairs, and what float32 cannot hold is left out.
func TestHistoryInSinglePrecision(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 4))
	const n, memory = 3000, 4
	v := vectors{workers: 2}
	double, single := newHistory[float64](memory, n), newHistory[float32](memory, n)
	x, g := make([]float64, n), make([]float64, n)
	for range 7 {
		xNew, gNew := make([]float64, n), make([]float64, n)
		for i := range x {
			xNew[i] = x[i] + rng.NormFloat64()
			gNew[i] = g[i] + (1+float64(i%5))*(xNew[i]-x[i])
		}
		double.push(v, xNew, x, gNew, g)
		single.push(v, xNew, x, gNew, g)
		x, g = xNew, gNew
	}
	a, b, next := make([]float64, n), make([]float64, n), make([]float64, n)
	slope := double.direction(v, a, g, true, x, next)
	for i := range a {
		if next[i] != x[i]+a[i] {
			t.Fatalf("the step's end is %v, not %v + %v", next[i], x[i], a[i])
		}
	}
	if want := v.dot(a, g); math.Abs(slope-want) > 1e-12*math.Abs(want) || !(slope < 0) {
		t.Fatalf("slope %v, want %v", slope, want)
	}
	single.direction(v, b, g, true, nil, nil)
	difference := make([]float64, n)
	for i := range a {
		difference[i] = a[i] - b[i]
	}
	if d := MaxAbs(difference); d > 1e-5*MaxAbs(a) || d == 0 {
		t.Errorf("directions differ by %v of %v", d, MaxAbs(a))
	}
	double.direction(v, b, g, false, nil, nil)
	for i := range a {
		difference[i] = a[i] - b[i]
	}
	if d := MaxAbs(difference); d > 1e-12*MaxAbs(a) {
		t.Errorf("inner products taken anew change the direction by %v of %v", d, MaxAbs(a))
	}

	far := make([]float64, n)
	for i := range far {
		far[i] = x[i] + 1e30
	}
	huge := make([]float64, n)
	for i := range huge {
		huge[i] = 1e39
	}
	kept := single.len()
	single.push(v, far, x, huge, make([]float64, n))
	if single.len() >= kept+1 || math.IsNaN(single.yg[0]) {
		t.Errorf("a pair beyond float32 was kept")
	}
}
