package boost

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim/score"
)

var everyLoss = []Loss{Logistic{}, Logistic{Base2: true}, Exponential{}, Squared{}, Huber{Delta: 0.7},
	SoftMax{Classes: 2}, SoftMax{Classes: 5}}

func labelFor(l Loss, rng *rand.Rand) float64 {
	switch {
	case score.HasMargin(l):
		return float64(2*rng.IntN(2) - 1)
	case l.Outputs() > 1:
		return float64(rng.IntN(l.Outputs()))
	}
	return rng.NormFloat64()
}

// The line search finds what a search without derivatives finds.
func TestLineMin(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for _, l := range everyLoss {
		k := l.Outputs()
		for range 60 {
			n := 1 + rng.IntN(12)
			y, w := make([]float64, n), make([]float64, n)
			f, h := make([]float64, n*k), make([]float64, n*k)
			for i := range y {
				y[i], w[i] = labelFor(l, rng), rng.Float64()+0.01
			}
			for i := range f {
				f[i], h[i] = rng.NormFloat64(), math.Round(2*rng.NormFloat64())
			}
			c := rng.Float64() * float64(rng.IntN(2)) * 0.5
			a := rng.NormFloat64() * float64(rng.IntN(2))
			const limit = 6
			got := lineMin(l, y, w, f, h, c, a, limit, 1)
			moved := make([]float64, len(f))
			cost := func(eta float64) float64 {
				for i := range f {
					moved[i] = f[i] + eta*h[i]
				}
				return score.Mean(l, y, w, moved, 1) + c*math.Abs(a+eta)
			}
			lo, hi := -float64(limit), float64(limit)
			for range 150 {
				p, q := lo+(hi-lo)/3, hi-(hi-lo)/3
				if cost(p) < cost(q) {
					hi = q
				} else {
					lo = p
				}
			}
			if best := cost((lo + hi) / 2); math.Abs(got) > limit || cost(got) > best+1e-10*(1+math.Abs(best)) {
				t.Fatalf("%s c=%v a=%v: step %v costs %v, %v costs %v", l.Name(), c, a, got, cost(got), (lo+hi)/2, best)
			}
		}
	}
}
