package boost

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestFitLeavesGolden(t *testing.T) {
	mu, n := []float64{3, -1, 0.5}, []float64{1, 10, 100}
	for _, x := range []struct {
		q    float64
		want []float64
	}{
		{2, []float64{0.54429794, -0.68909975, 0.47841539}},
		{1, []float64{0, -0.54545455, 0.45454545}},
		{math.Inf(1), []float64{1, -1, 0.5}},
	} {
		w := make([]float64, 3)
		FitLeaves(w, mu, n, x.q, 1)
		for l := range w {
			near(t, fmt.Sprintf("q=%v leaf %d", x.q, l), w[l], x.want[l], 5e-9)
		}
	}
	w := make([]float64, 3)
	FitLeaves(w, mu, n, 2, 1)
	near(t, "tau", n[0]*mu[0]/w[0]-n[0], 4.511687212, 1e-9)
}

// KKT conditions on random problems, and no random point of the ball does better.
func TestFitLeavesOptimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	qs := []float64{1, 1.2, 1.5, 2, 3, 7, math.Inf(1)}
	for trial := range 400 {
		q := qs[trial%len(qs)]
		k := 1 + rng.IntN(6)
		mu, n, w := make([]float64, k), make([]float64, k), make([]float64, k)
		for l := range mu {
			mu[l] = rng.NormFloat64() * math.Exp(2*rng.NormFloat64())
			n[l] = math.Exp(3 * rng.NormFloat64())
			if rng.IntN(8) == 0 {
				mu[l] = 0
			}
		}
		lambda := Norm(mu, q) * (0.05 + 1.2*rng.Float64())
		if lambda == 0 {
			continue
		}
		FitLeaves(w, mu, n, q, lambda)
		if norm := Norm(w, q); norm > lambda*(1+1e-12) {
			t.Fatalf("q=%v: norm %v above %v", q, norm, lambda)
		}
		cost := func(w []float64) float64 {
			c := 0.0
			for l := range w {
				c += n[l] * (w[l] - mu[l]) * (w[l] - mu[l])
			}
			return c
		}
		best := cost(w)
		v := make([]float64, k)
		for range 200 {
			for l := range v {
				v[l] = w[l] + rng.NormFloat64()*math.Pow(10, -6*rng.Float64())*lambda
			}
			RadialLeaves(v, v, q, lambda)
			if c := cost(v); c < best-1e-9*(best+1) {
				t.Fatalf("q=%v lambda=%v mu=%v n=%v: %v costs %v, %v costs %v", q, lambda, mu, n, w, best, v, c)
			}
		}
		if Norm(mu, q) <= lambda || math.IsInf(q, 1) {
			continue
		}
		// Stationarity: n (|mu|-|w|) = tau |w|^(q-1) on the support.
		big := 0
		for l := range w {
			if math.Abs(w[l]) > math.Abs(w[big]) {
				big = l
			}
		}
		tau := n[big] * (math.Abs(mu[big]) - math.Abs(w[big])) / math.Pow(math.Abs(w[big]), q-1)
		for l := range w {
			if w[l]*mu[l] < 0 {
				t.Fatalf("q=%v: leaf %d changed its sign", q, l)
			}
			slope, pull := n[l]*(math.Abs(mu[l])-math.Abs(w[l])), tau*math.Pow(math.Abs(w[l]), q-1)
			if w[l] == 0 && q == 1 {
				pull = min(pull, slope) // at zero the subgradient may be smaller
				if slope > tau*(1+1e-9) {
					t.Fatalf("q=1: leaf %d is zero against a slope of %v above %v", l, slope, tau)
				}
			}
			if math.Abs(slope-pull) > 1e-8*(tau*math.Pow(lambda, q-1)+n[l]*math.Abs(mu[l])) {
				t.Fatalf("q=%v: leaf %d: slope %v, pull %v", q, l, slope, pull)
			}
		}
	}
}

// Steepest leaves reach -lambda ‖g‖_r, which Hölder says is the least.
func TestSteepestLeaves(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for _, q := range []float64{1, 1.5, 2, 4, math.Inf(1)} {
		for range 50 {
			g, w := make([]float64, 1+rng.IntN(5)), make([]float64, 5)
			for l := range g {
				g[l] = math.Round(4*rng.NormFloat64()) / 4
			}
			w = w[:len(g)]
			SteepestLeaves(w, g, q, 0.7)
			dot := 0.0
			for l := range w {
				dot += w[l] * g[l]
			}
			near(t, fmt.Sprintf("q=%v", q), dot, -0.7*Norm(g, dualExponent(q)), 1e-12)
			if Norm(w, q) > 0.7*(1+1e-12) {
				t.Errorf("q=%v: norm %v", q, Norm(w, q))
			}
		}
	}
}

func TestExtremeLeaves(t *testing.T) {
	w := make([]float64, 2)
	for _, q := range []float64{1, 1.5, 2, math.Inf(1)} {
		for _, scale := range []float64{1e-300, 1e-150, 1, 1e150, 1e300} {
			FitLeaves(w, []float64{3 * scale, -scale}, []float64{1, 0}, q, scale)
			if norm := Norm(w, q); !(norm <= scale*(1+1e-12)) || w[0] <= 0 {
				t.Errorf("q=%v scale=%v: %v", q, scale, w)
			}
			FitLeaves(w, []float64{3 * scale, -scale}, []float64{1e-8, 1e8}, q, math.Inf(1))
			if w[0] != 3*scale || w[1] != -scale {
				t.Errorf("q=%v without a bound: %v", q, w)
			}
		}
	}
}
