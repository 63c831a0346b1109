package score

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

var everyLoss = []Loss{Logistic{}, Logistic{Base2: true}, Exponential{}, Squared{}, Huber{Delta: 0.7},
	SoftMax{Classes: 2}, SoftMax{Classes: 5}}

func labelFor(l Loss, rng *rand.Rand) float64 {
	switch {
	case HasMargin(l):
		return float64(2*rng.IntN(2) - 1)
	case l.Outputs() > 1:
		return float64(rng.IntN(l.Outputs()))
	}
	return rng.NormFloat64()
}

// Derivatives against central differences; the second derivative is below the
// curvature; convexity along random lines; the start is a minimum.
func TestLossDerivatives(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, l := range everyLoss {
		k := l.Outputs()
		value := func(y float64, f []float64) float64 {
			var v [1]float64
			l.Values(v[:], []float64{y}, f)
			return v[0]
		}
		for range 200 {
			y := labelFor(l, rng)
			f, g, h := make([]float64, k), make([]float64, k), make([]float64, k)
			for c := range f {
				f[c] = 3 * rng.NormFloat64()
			}
			if hub, ok := l.(Huber); ok && math.Abs(math.Abs(y-f[0])-hub.Delta) < 1e-3 {
				continue // the second derivative jumps there
			}
			l.Gradients(g, h, []float64{y}, f)
			for c := range f {
				const e = 1e-4
				x := append([]float64(nil), f...)
				x[c] = f[c] + e
				up := value(y, x)
				x[c] = f[c] - e
				down := value(y, x)
				mid := value(y, f)
				near(t, l.Name()+" gradient", g[c], (up-down)/(2*e), 1e-6*(1+math.Abs(mid)))
				near(t, l.Name()+" second derivative", h[c], (up+down-2*mid)/(e*e), 1e-4*(1+math.Abs(mid)))
				if h[c] > l.Curvature(y)*(1+1e-12) {
					t.Errorf("%s: second derivative %v above %v", l.Name(), h[c], l.Curvature(y))
				}
			}
			other := make([]float64, k)
			between := make([]float64, k)
			square := 0.0
			for c := range other {
				other[c] = f[c] + rng.NormFloat64()
				between[c] = (f[c] + other[c]) / 2
				square += (other[c] - f[c]) * (other[c] - f[c])
			}
			chord := (value(y, f) + value(y, other)) / 2
			if gap := chord - value(y, between); gap < -1e-12*(1+chord) ||
				gap > l.Curvature(y)*square/8*(1+1e-9)+1e-12 {
				t.Errorf("%s: a chord lies %v above the middle, curvature allows 0 to %v", l.Name(), gap,
					l.Curvature(y)*square/8)
			}
		}
		y, w := make([]float64, 40), make([]float64, 40)
		for i := range y {
			y[i], w[i] = labelFor(l, rng), rng.Float64()+0.1
		}
		start := l.Start(y, w)
		at := func(f []float64) float64 { return Mean(l, y, w, repeat(f, len(y)), 1) }
		for range 30 {
			moved := append([]float64(nil), start...)
			for c := range moved {
				moved[c] += 0.3 * rng.NormFloat64()
			}
			if at(moved) < at(start)-1e-12 {
				t.Errorf("%s: %v is better than the start %v", l.Name(), moved, start)
			}
		}
		again, err := Parse(l.Name())
		if err != nil || again != l {
			t.Errorf("%s reads back as %v, %v", l.Name(), again, err)
		}
	}
	for _, bad := range []string{"", "hinge", "huber", "huber:0", "huber:-1", "huber:x", "softmax:1",
		"softmax:99999999", "softmax:3x", "huber:+Inf", "huber:NaN"} {
		if l, err := Parse(bad); err == nil {
			t.Errorf("%q was read as %v", bad, l)
		}
	}
}

// Scores of any size give finite numbers of the right size.
func TestLossExtremes(t *testing.T) {
	for _, l := range everyLoss {
		k := l.Outputs()
		for _, size := range []float64{0, 1e-300, 40, 800, 1e15, 1e300} {
			for _, s := range []float64{1, -1} {
				y := 1.0
				f, g, h, v := make([]float64, k), make([]float64, k), make([]float64, k), make([]float64, 1)
				f[0] = s * size
				l.Values(v, []float64{y}, f)
				l.Gradients(g, h, []float64{y}, f)
				if _, ok := l.(Squared); ok && size > 1e150 {
					continue // the value is beyond floats
				}
				for _, x := range append(append(g, h...), v...) {
					if math.IsNaN(x) || math.IsInf(x, 0) {
						t.Errorf("%s at %v: value %v, derivatives %v %v", l.Name(), f[0], v, g, h)
					}
				}
			}
		}
	}
	var v [1]float64
	(Logistic{}).Values(v[:], []float64{1}, []float64{-800})
	near(t, "logistic(-800)", v[0], 800, 1e-15)
	(Logistic{}).Values(v[:], []float64{1}, []float64{40})
	near(t, "logistic(40)", v[0]*1e18, math.Exp(-40)*1e18, 1e-12)
}

func TestLabels(t *testing.T) {
	for _, x := range []struct {
		l   Loss
		bad []float64
	}{
		{Logistic{}, []float64{0, 2, math.NaN()}}, {Exponential{}, []float64{0.5}},
		{Squared{}, []float64{math.Inf(1), math.NaN()}},
		{SoftMax{Classes: 3}, []float64{-1, 3, 0.5, math.NaN()}}, {Huber{Delta: 1}, []float64{math.Inf(-1)}},
	} {
		for _, y := range x.bad {
			if err := x.l.Check(y); !errors.Is(err, ErrLabel) {
				t.Errorf("%s took the label %v: %v", x.l.Name(), y, err)
			}
			if err := CheckLabels(x.l, []float64{1, y}); !errors.Is(err, ErrLabel) {
				t.Errorf("%s: %v", x.l.Name(), err)
			}
		}
	}
}

// The mean by blocks is the mean of the values, for any weights and number of
// goroutines, at any size of the scores.
func TestMeanLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, l := range everyLoss {
		k := l.Outputs()
		for _, n := range []int{1, 511, 512, 513, 40000} {
			for _, size := range []float64{0.1, 5, 300} {
				y, w, f := make([]float64, n), make([]float64, n), make([]float64, n*k)
				for i := range y {
					y[i], w[i] = labelFor(l, rng), float64(rng.IntN(3))
				}
				w[0] = 1
				for i := range f {
					f[i] = size * rng.NormFloat64()
				}
				values := make([]float64, n)
				l.Values(values, y, f)
				for _, u := range [][]float64{nil, w} {
					sum, total := 0.0, 0.0
					for i, v := range values {
						sum += Weight(u, i) * v
						total += Weight(u, i)
					}
					got := Mean(l, y, u, f, 1)
					near(t, l.Name(), got, sum/total, 1e-12)
					if other := Mean(l, y, u, f, 3); other != got {
						t.Errorf("%s: %v, with other workers %v", l.Name(), got, other)
					}
				}
			}
		}
	}
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s: %.12g, want %.12g", what, got, want)
	}
}

func repeat(start []float64, rows int) []float64 {
	f := make([]float64, rows*len(start))
	for i := range f {
		f[i] = start[i%len(start)]
	}
	return f
}
