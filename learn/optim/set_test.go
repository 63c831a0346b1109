package optim_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim"
)

// p is the projection of x onto a convex set exactly when p is in the set and
// ⟨x-p, z-p⟩ ≤ 0 for all z of it: tried on many z, corners and edges included.
func TestProjections(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	lq := func(x []float64, q float64) float64 {
		if math.IsInf(q, 1) {
			m := 0.0
			for _, v := range x {
				m = math.Max(m, math.Abs(v))
			}
			return m
		}
		s := 0.0
		for _, v := range x {
			s += math.Pow(math.Abs(v), q)
		}
		return math.Pow(s, 1/q)
	}
	for trial := range 400 {
		n := 1 + rng.IntN(6)
		radius := math.Exp(rng.NormFloat64())
		lo, hi := normal(rng, n), normal(rng, n)
		for i := range lo {
			lo[i], hi[i] = math.Min(lo[i], hi[i]), math.Max(lo[i], hi[i])
			if rng.IntN(4) == 0 {
				hi[i] = math.Inf(1)
			}
		}
		type set struct {
			optim.Set
			excess func([]float64) float64 // how far outside
			draw   func() []float64        // a point of the set
		}
		onSimplex := func() []float64 {
			z, s := make([]float64, n), 0.0
			for i := range z {
				if rng.IntN(2) == 0 {
					z[i] = rng.ExpFloat64()
				}
				s += z[i]
			}
			if s == 0 {
				z[rng.IntN(n)], s = 1, 1
			}
			for i := range z {
				z[i] *= radius / s
			}
			return z
		}
		sets := map[string]set{
			"simplex": {optim.Simplex{Sum: radius}, func(x []float64) float64 {
				s, e := -radius, 0.0
				for _, v := range x {
					s += v
					e = math.Max(e, -v)
				}
				return math.Max(e, math.Abs(s))
			}, onSimplex},
			"box": {optim.Box{Lo: lo, Hi: hi}, func(x []float64) float64 {
				e := 0.0
				for i, v := range x {
					e = math.Max(e, math.Max(lo[i]-v, v-hi[i]))
				}
				return e
			}, func() []float64 {
				z := normal(rng, n)
				for i := range z {
					switch rng.IntN(3) {
					case 0:
						z[i] = lo[i]
					case 1:
						z[i] = math.Min(hi[i], 10)
					}
					z[i] = math.Max(lo[i], math.Min(hi[i], z[i]))
				}
				return z
			}},
		}
		for name, q := range map[string]float64{"l1": 1, "l1.2": 1.2, "l1.5": 1.5, "l2": 2, "l2 by default": 0, "l3": 3, "l10": 10, "max": math.Inf(1)} {
			p := q
			if p == 0 {
				p = 2
			}
			sets[name] = set{optim.Ball{Q: q, Radius: radius}, func(x []float64) float64 { return lq(x, p) - radius }, func() []float64 {
				z := normal(rng, n)
				if rng.IntN(2) == 0 {
					clear(z)
					z[rng.IntN(n)] = rng.NormFloat64()
				}
				s := lq(z, p)
				if s == 0 {
					return z
				}
				for i := range z {
					z[i] *= radius / s
				}
				return z
			}}
		}
		scale := math.Exp(2 * rng.NormFloat64())
		x := normal(rng, n)
		for i := range x {
			x[i] *= scale
			if rng.IntN(5) == 0 {
				x[i] = 0
			}
		}
		for name, s := range sets {
			p := append([]float64(nil), x...)
			s.Project(p)
			size := 1 + radius + lq(x, 2)
			if e := s.excess(p); !(e <= 1e-9*size) {
				t.Fatalf("trial %d: %s: %v projects to %v, outside by %v", trial, name, x, p, e)
			}
			if s.excess(x) <= 0 {
				for i := range p {
					if math.Abs(p[i]-x[i]) > 1e-12*size {
						t.Fatalf("trial %d: %s: a point of the set moved: %v to %v", trial, name, x, p)
					}
				}
			}
			for range 40 {
				z, inner, far := s.draw(), 0.0, 0.0
				for i := range z {
					inner += (x[i] - p[i]) * (z[i] - p[i])
					far += math.Abs(z[i] - p[i])
				}
				if !(inner <= 1e-7*size*(far+size)) {
					t.Fatalf("trial %d: %s: %v projects to %v, but %v is on the far side: %v", trial, name, x, p, z, inner)
				}
			}
		}
	}
	zero := []float64{3, 4}
	optim.Ball{Radius: 0}.Project(zero)
	if zero[0] != 0 || zero[1] != 0 {
		t.Errorf("ball of radius 0: %v", zero)
	}
}
