package draw

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Against the chances by definition, by Pearson's χ², pooled where they are small.
func TestBinomialDistribution(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	rng := rand.New(rand.NewPCG(21, 1))
	const draws = 200_000
	for _, c := range []struct {
		n int
		p float64
	}{{3, 0.4}, {17, 0.5}, {40, 0.03}, {100, 0.3}, {1000, 0.001}, {1000, 0.9}, {50_000, 0.25},
		{2_000_000_000, 1e-9}, {2_000_000_000, 2e-8}} {
		got := map[int]float64{}
		for range draws {
			got[Binomial(rng, c.n, c.p)]++
		}
		logFactorial := func(n int) float64 { x, _ := math.Lgamma(float64(n) + 1); return x }
		mean := float64(c.n) * c.p
		lo, hi := max(0, int(mean-12*math.Sqrt(mean)-20)), min(c.n, int(mean+12*math.Sqrt(mean)+20))
		chi, cells, seen := 0.0, 0, 0.0
		wantCell, gotCell := 0.0, 0.0
		for k := lo; k <= hi; k++ {
			l := logFactorial(c.n) - logFactorial(k) - logFactorial(c.n-k) + float64(k)*math.Log(c.p) +
				float64(c.n-k)*math.Log1p(-c.p)
			if c.n > 1e6 { // Lgamma cancels: the Poisson distribution is as near as can be told
				l = float64(k)*math.Log(mean) - mean - logFactorial(k)
			}
			wantCell, gotCell = wantCell+draws*math.Exp(l), gotCell+got[k]
			if wantCell >= 50 || k == hi {
				if wantCell >= 5 {
					chi, cells = chi+(gotCell-wantCell)*(gotCell-wantCell)/wantCell, cells+1
				}
				seen, wantCell, gotCell = seen+gotCell, 0, 0
			}
		}
		if seen < draws {
			t.Errorf("n %d, p %v: %v draws of %d within %d standard deviations", c.n, c.p, seen, draws, 12)
		}
		if f := float64(cells - 1); chi > f+5*math.Sqrt(2*f)+5 {
			t.Errorf("n %d, p %v: χ² of %.1f in %d cells", c.n, c.p, chi, cells)
		}
	}
	for _, n := range []int{0, 1, 1000} {
		if a, b := Binomial(rng, n, 0), Binomial(rng, n, 1); a != 0 || b != n {
			t.Errorf("of %d trials %d succeed with chance 0 and %d with chance 1", n, a, b)
		}
	}
}

func BenchmarkBinomial(b *testing.B) {
	rng := rand.New(rand.NewPCG(21, 2))
	for b.Loop() {
		Binomial(rng, 2_000_000_000, 0.3)
	}
}
