// Package optimtest checks objectives: every one in this module is held against
// central differences.
package optimtest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim"
)

// CheckGradient compares the gradient of f at x with central differences, along coordinates and
// random directions. It also checks that Eval gives the same value with and without a gradient and
// keeps x. Of more than 100 coordinates it draws 100. The error allowed is tol relative to the
// larger of 1 and the gradient's largest entry; 1e-6 suits smooth functions of moderate size.
func CheckGradient(t testing.TB, f optim.Objective, x []float64, tol float64) {
	t.Helper()
	n := f.Dim()
	if len(x) != n {
		t.Fatalf("CheckGradient: %d coordinates for an objective of dimension %d", len(x), n)
	}
	eval := func(x, g []float64) float64 {
		v, err := f.Eval(x, g)
		if err != nil {
			t.Fatalf("Eval: %v", err)
		}
		return v
	}
	kept := append([]float64(nil), x...)
	grad := make([]float64, n)
	for i := range grad {
		grad[i] = math.NaN() // must be stored, not added to
	}
	v := eval(x, grad)
	if u := eval(x, nil); u != v && !(math.Abs(u-v) <= 1e-12*math.Max(1, math.Abs(v))) {
		t.Errorf("Eval gives %v with a gradient and %v without", v, u)
	}
	scale := 1.0
	for i, g := range grad {
		if x[i] != kept[i] {
			t.Fatalf("Eval changed x[%d]", i)
		}
		if math.IsNaN(g) || math.IsInf(g, 0) {
			t.Fatalf("gradient[%d] is %v", i, g)
		}
		scale = math.Max(scale, math.Abs(g))
	}

	rng := rand.New(rand.NewPCG(uint64(n), 1))
	y := append([]float64(nil), x...)
	// Fourth-order differences: the error is h^4 instead of h^2, so that h can
	// be large enough for rounding not to matter.
	along := func(dir func(i int) float64) float64 {
		const h = 1e-3
		at := func(s float64) float64 {
			for i := range y {
				y[i] = x[i] + s*dir(i)
			}
			return eval(y, nil)
		}
		return (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
	}
	coordinates := rng.Perm(n)[:min(n, 100)]
	for _, i := range coordinates {
		num := along(func(j int) float64 {
			if j == i {
				return 1
			}
			return 0
		})
		if d := math.Abs(num - grad[i]); !(d <= tol*scale) {
			t.Errorf("gradient[%d] = %.12g, differences give %.12g", i, grad[i], num)
		}
	}
	for range 3 {
		d, norm, dot := make([]float64, n), 0.0, 0.0
		for i := range d {
			d[i] = rng.NormFloat64()
			norm += d[i] * d[i]
		}
		for i := range d {
			d[i] /= math.Sqrt(norm)
			dot += d[i] * grad[i]
		}
		if num := along(func(j int) float64 { return d[j] }); !(math.Abs(num-dot) <= tol*scale) {
			t.Errorf("along a random direction the gradient gives %.12g, differences %.12g", dot, num)
		}
	}
}
