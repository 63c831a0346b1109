package nn

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The loops in use against plain ones, at all short lengths, with what lies beyond
// the slices watched.
func TestVectors(t *testing.T) {
	t.Run("type=float32", testVectors[float32])
	t.Run("type=float64", testVectors[float64])
}

func testVectors[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	tol := 1e-14
	if _, ok := any(T(0)).(float32); ok {
		tol = 2e-6
	}
	for n := range 70 {
		const arrays, guard = 4, 3
		var v, old [arrays][]T
		for i := range v {
			v[i] = make([]T, n+2*guard)
			for j := range v[i] {
				v[i][j] = T(rng.NormFloat64())
				if rng.IntN(10) == 0 {
					v[i][j] = 0
				}
			}
		}
		in := func(i int) []T { return v[i][guard : n+guard] }
		ops := map[string]struct {
			run  func()
			want func(a, b, c, d float64) [arrays]float64
		}{
			"biasReLU": {func() { biasReLU(in(0), in(1)) }, func(a, b, c, d float64) [arrays]float64 {
				return [arrays]float64{math.Max(a+b, 0), b, c, d}
			}},
			"maskReLU": {func() { maskReLU(in(0), in(1), in(2)) }, func(a, b, c, d float64) [arrays]float64 {
				if !(b > 0) {
					a = 0
				}
				return [arrays]float64{a, b, c + a, d}
			}},
			"SGD": {func() { stepSGD(in(0), in(1), 0.25, 0.5) }, func(a, b, c, d float64) [arrays]float64 {
				return [arrays]float64{(a - 0.25*b) * 0.5, b, c, d}
			}},
			"momentum": {func() { stepMomentum(in(0), in(1), in(2), 0.25, 0.75, 0.5) },
				func(a, b, c, d float64) [arrays]float64 {
					b = 0.75*b + c
					return [arrays]float64{(a - 0.25*b) * 0.5, b, c, d}
				}},
			"AdaGrad": {func() { stepAdaGrad(in(0), in(1), in(2), 0.25, 0.125, 0.5) },
				func(a, b, c, d float64) [arrays]float64 {
					b += c * c
					r := 0.25 / (0.125 + math.Sqrt(b))
					return [arrays]float64{(a - r*c) / (1 + r*0.5), b, c, d}
				}},
			"Adam": {func() { stepAdam(in(0), in(1), in(2), in(3), &adam[T]{0.25, 0.125, 0.5, 0.1, 0.001, 10, 100}) },
				func(a, b, c, d float64) [arrays]float64 {
					b += 0.1 * (d - b)
					c += 0.001 * (d*d - c)
					r := 0.25 / (0.125 + math.Sqrt(c*100))
					return [arrays]float64{(a - r*b*10) / (1 + r*0.5), b, c, d}
				}},
		}
		for name, op := range ops {
			for _, i := range []int{1, 2} { // what roots are taken of is not negative
				for j := range v[i] {
					if name == "AdaGrad" || name == "Adam" && i == 2 {
						v[i][j] = T(math.Abs(float64(v[i][j])))
					}
				}
			}
			for i := range v {
				old[i] = append(old[i][:0], v[i]...)
			}
			op.run()
			for j := range n + 2*guard {
				was := [arrays]float64{float64(old[0][j]), float64(old[1][j]), float64(old[2][j]), float64(old[3][j])}
				want := was
				if j >= guard && j < n+guard {
					want = op.want(was[0], was[1], was[2], was[3])
				}
				for i := range v {
					if got := float64(v[i][j]); !(math.Abs(got-want[i]) <= tol*(1+math.Abs(want[i]))*10) {
						t.Fatalf("%s of %d: array %d, element %d: %v, want %v", name, n, i, j-guard, got, want[i])
					}
				}
			}
		}
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			if x := in(0); n > 0 {
				if !finite(x) {
					t.Fatalf("%v is said not to be finite", x)
				}
				at := rng.IntN(n)
				was := x[at]
				x[at] = T(bad)
				if finite(x) {
					t.Fatalf("%v is said to be finite", x)
				}
				x[at] = was
				v[0][guard-1], v[0][n+guard] = T(bad), T(bad)
				if !finite(x) {
					t.Fatal("what is beside the slice counts")
				}
				v[0][guard-1], v[0][n+guard] = 1, 1
			}
		}
		if n > 0 { // NaN passes
			x, zero := in(0), make([]T, n)
			x[n-1] = T(math.NaN())
			biasReLU(x, zero)
			if x[n-1] == x[n-1] {
				t.Fatalf("%d elements: NaN is rectified to %v", n, x[n-1])
			}
		}
	}
}
