package resilient

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// pairs is the problem min Σ ½(φ_i - a_i)² with φ_i ≤ b_i, over functions of 2n points whose values
// at the points of a pair differ by at most 2ε: φ = m ± ε sin s. With equal, s is 0: these
// functions come within ε of all the others.
type pairs struct {
	a, b  []float64
	eps   float64
	equal bool
}

func (p *pairs) Dim() int           { return len(p.a) } // m and s of each pair
func (p *pairs) Len() int           { return len(p.a) }
func (p *pairs) Weights() []float64 { return nil }

func (p *pairs) value(x []float64, i int) (phi, sign float64) {
	if p.equal {
		return x[i&^1], 0
	}
	sign = float64(1 - 2*(i&1))
	return x[i&^1] + sign*p.eps*math.Sin(x[i|1]), sign * p.eps * math.Cos(x[i|1])
}

func (p *pairs) EvalWeighed(x []float64, weigh Weigh, losses, grad []float64) (float64, error) {
	clear(grad)
	sum := 0.0
	for i := range p.a {
		phi, slope := p.value(x, i)
		v, w := phi-p.b[i], 1.0
		if losses != nil {
			losses[i] = v
		}
		if weigh != nil {
			v, w = weigh(i, v)
		}
		sum += v + (phi-p.a[i])*(phi-p.a[i])/2
		if grad != nil {
			g := w + phi - p.a[i]
			grad[i&^1] += g
			grad[i|1] += g * slope
		}
	}
	return sum, nil
}

// Proposition 7 and theorem 6: the value over a class that comes within ε of all functions is above
// theirs by at most h(u* + Lε) - h(u*) + Lε, and so, with strong convexity, is half the squared
// distance of the two solutions.
func TestApproximation(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 3))
	const n = 20
	for trial := range 30 {
		p := &pairs{eps: []float64{0.01, 0.1, 0.5}[trial%3]}
		for range n {
			p.a, p.b = append(p.a, 2*rng.NormFloat64()), append(p.b, rng.NormFloat64())
		}
		solve := func(p *pairs, h Relaxation) (*optim.Result, []float64) {
			o, err := NewObjective(p, h)
			if err != nil {
				t.Fatal(err)
			}
			r, err := optim.LBFGS{}.Minimize(o, make([]float64, n),
				&run.Control{Stop: run.Stop{Iterations: 2000, Relative: -1, Gradient: 1e-12}})
			if err != nil {
				t.Fatal(err)
			}
			phi := make([]float64, n)
			for i := range phi {
				phi[i], _ = p.value(r.X, i)
			}
			return r, phi
		}
		for _, h := range []Relaxation{Quadratic{}, Huber{Delta: 0.5}} {
			all, phi := solve(p, h)
			few, f := solve(&pairs{p.a, p.b, p.eps, true}, h)
			curve := h.At(nil, nil)
			lipschitz, bound, apart := 1.0, 0.0, 0.0
			for i := range phi {
				lipschitz = max(lipschitz, math.Abs(phi[i]-p.a[i])+p.eps, math.Abs(f[i]-p.a[i])+p.eps)
			}
			for i := range phi {
				u := max(phi[i]-p.b[i], 0)
				bound += curve.Value(u+lipschitz*p.eps) - curve.Value(u) + lipschitz*p.eps
				apart += (phi[i] - f[i]) * (phi[i] - f[i])
			}
			if few.F < all.F-1e-9 || few.F > all.F+bound {
				t.Errorf("%s, ε %v: the value of the few is %v, that of all %v, the bound %v", h.Name(), p.eps, few.F,
					all.F, bound)
			}
			if apart > 2*bound {
				t.Errorf("%s, ε %v: the squared distance is %v, the bound %v", h.Name(), p.eps, apart, 2*bound)
			}
		}
	}
}
