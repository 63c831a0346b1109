package optim

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/run"
)

// gaussians are the values of Gaussians of several widths, centred on a grid of [-1, 2], at n points of
// [0, 1].
func gaussians(rng *rand.Rand, n, centres int, widths []float64) (x, k, volume []float64) {
	x = make([]float64, n)
	for i := range x {
		x[i] = rng.Float64()
	}
	for i := range n {
		for _, w := range widths {
			for c := range centres {
				z := -1 + 3*(float64(c)+0.5)/float64(centres)
				k = append(k, math.Exp(-(x[i]-z)*(x[i]-z)/(2*w*w)))
			}
		}
	}
	volume = make([]float64, centres*len(widths))
	for g := range volume {
		volume[g] = 3 / float64(centres) * (0.5 + rng.Float64())
	}
	return x, k, volume
}

func fitProblems(rng *rand.Rand, n int) []FitDual {
	var out []FitDual
	for _, gamma := range []float64{0, 0.05, 1} {
		for _, b := range []struct {
			bound FitBound
			eps   float64
		}{{TubeBound, 0.01}, {TubeBound, 0.1}, {MarginBound, 0.1}, {HingeBound, 2}} {
			x, k, v := gaussians(rng, n, 40, []float64{0.1, 0.25})
			d := FitDual{K: k, Volume: v, Gamma: gamma, Bound: b.bound, Eps: b.eps, Target: make([]float64, n)}
			for i := range n {
				d.Target[i] = math.Sin(6*x[i]) + 0.03*rng.NormFloat64()
				if b.bound != TubeBound {
					d.Target[i] = math.Copysign(1, math.Sin(6*x[i])+0.3)
				}
				if b.bound == HingeBound && rng.IntN(20) == 0 {
					d.Target[i] *= -1
				}
			}
			out = append(out, d)
		}
	}
	return out
}

// Primal and dual meet, whatever the bound and the price.
func TestFitDualGap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, d := range fitProblems(rng, 40) {
		name := fmt.Sprintf("%s eps %v gamma %v", d.Bound, d.Eps, d.Gamma)
		r, err := d.Minimize(nil, &run.Control{Workers: 1})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if testing.Verbose() {
			t.Logf("%s: %d steps, primal %.9g dual %.9g violation %.2g %s", name, r.Iterations, r.Primal, r.Dual, r.Violation, r.Reason)
		}
		if r.Gap() > 1e-6 || r.Violation > 2e-6 {
			t.Errorf("%s: primal %v, dual %v, violation %v after %d steps", name, r.Primal, r.Dual, r.Violation, r.Iterations)
		}
	}
}

// The value of the dual is below the complexity of everything within the bound, and its
// slope is a supergradient.
func TestFitDualWeak(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, d := range fitProblems(rng, 12) {
		r, err := d.Minimize(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		n, g := len(d.Target), len(d.Volume)
		at := func(l []float64) (v float64, slope []float64) {
			s := make([]float64, g)
			d.Transpose(l, s)
			alpha := make([]float64, g)
			for i, x := range s {
				if x*x/2 > d.Gamma {
					alpha[i] = x
				}
			}
			f := make([]float64, n)
			d.Apply(alpha, f)
			for i := range f {
				f[i] = d.Target[i] - f[i] - math.Copysign(math.Sqrt(d.Eps), l[i])
			}
			return d.Value(l, s), f
		}
		for range 30 {
			a, b := make([]float64, n), make([]float64, n)
			for i := range n {
				a[i], b[i] = r.X[i]*(0.5+rng.Float64()), r.X[i]*(1+0.3*rng.NormFloat64())
			}
			va, slope := at(a)
			vb, _ := at(b)
			if va > r.Primal*(1+1e-6)+1e-9 {
				t.Errorf("%s: the dual has %v, above the primal %v", d.Bound, va, r.Primal)
			}
			if d.Bound != TubeBound {
				continue
			}
			above := va
			for i := range n {
				above += slope[i] * (b[i] - a[i])
			}
			if vb > above+1e-9*math.Abs(above) {
				t.Errorf("the dual at b is %v, above its tangent %v", vb, above)
			}
		}
	}
}

// With gamma = 0 and no tolerance, multipliers solve Q λ = y.
func TestFitDualInterpolates(t *testing.T) {
	k := []float64{1, 2, 0, 0, 1, 1}
	d := FitDual{K: k, Volume: []float64{1, 2, 0.5}, Bound: TubeBound, Target: []float64{3, 1}}
	r, err := d.Minimize(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Q = [[9, 4], [4, 2.5]]; its inverse times (3, 1) is (3.5, -3)/6.5.
	for i, want := range []float64{3.5 / 6.5, -3 / 6.5} {
		if math.Abs(r.X[i]-want) > 1e-12 {
			t.Errorf("multiplier %d: %v, want %v", i, r.X[i], want)
		}
	}
}

// A ridge is what a cell for each sample alone would be, of volume Ridge and without a price:
// with gamma = 0 both problems are the same. Without a tolerance they are kernel ridge regression.
func TestFitDualRidge(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, d := range fitProblems(rng, 30) {
		for i := range d.Target { // noise that no tolerance allows
			if d.Bound == TubeBound {
				d.Target[i] += rng.NormFloat64()
			} else if rng.IntN(4) == 0 {
				d.Target[i] *= -1
			}
		}
		d.Ridge = 0.3
		r, err := d.Minimize(nil, nil)
		if err != nil || r.Gap() > 1e-6 || r.Violation > 2e-6*max(1, MaxAbs(d.Target)) {
			t.Fatalf("%s gamma %v: gap %v, violation %v, %v", d.Bound, d.Gamma, r.Gap(), r.Violation, err)
		}
		if d.Gamma > 0 {
			continue
		}
		n, g := len(d.Target), len(d.Volume)
		wide := d
		wide.Ridge, wide.K, wide.Volume = 0, make([]float64, n*(g+n)), make([]float64, g+n)
		copy(wide.Volume, d.Volume)
		for i := range n {
			copy(wide.K[i*(g+n):], d.K[i*g:][:g])
			wide.K[i*(g+n)+g+i] = 1
			wide.Volume[g+i] = d.Ridge
		}
		w, err := wide.Minimize(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(w.Dual-r.Dual) > 3e-6*math.Abs(w.Dual) {
			t.Errorf("%s: %v with a ridge, %v with cells", d.Bound, r.Dual, w.Dual)
		}
	}
	// (Q + ridge) λ = y: [[9.5, 4], [4, 3]]⁻¹ (3, 1) = (5, -2.5)/12.5.
	d := FitDual{K: []float64{1, 2, 0, 0, 1, 1}, Volume: []float64{1, 2, 0.5}, Bound: TubeBound, Target: []float64{3, 1}, Ridge: 0.5}
	r, err := d.Minimize(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{5 / 12.5, -2.5 / 12.5} {
		if math.Abs(r.X[i]-want) > 1e-12 {
			t.Errorf("multiplier %d: %v, want %v", i, r.X[i], want)
		}
	}
}

// A bound that nothing meets is told, with its samples.
func TestFitDualInfeasible(t *testing.T) {
	k := []float64{1, 0.5, 1, 0.5, 0.3, 1}
	for _, gamma := range []float64{0, 0.1} {
		d := FitDual{K: k, Volume: []float64{1, 1}, Gamma: gamma, Bound: MarginBound, Eps: 0.1, Target: []float64{1, -1, 1}}
		_, err := d.Minimize(nil, nil)
		var e *InfeasibleError
		if !errors.As(err, &e) || e.Samples[0]+e.Samples[1] != 1 {
			t.Errorf("gamma %v: %v", gamma, err)
		}
	}
}
