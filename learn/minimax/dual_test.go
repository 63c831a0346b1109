package minimax

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim/score"
)

// The proximal step and its dual, by both ways to them, against the definitions on a grid.
func TestProximalStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	one, _ := score.QNorm(1)
	for range 400 {
		m := &mixed{corner: true}
		for _, l := range []Loss{score.CrossEntropy(), score.Hinge(), one} {
			k := 0.0
			if rng.IntN(3) > 0 {
				k = rng.Float64()
			}
			m.parts = append(m.parts, part{l.At, k})
			m.a += k * l.Multiple
			if l.Corner != nil {
				m.left, m.right = m.left+k*l.Corner[0], m.right+k*l.Corner[1]
			}
		}
		slow := *m
		slow.corner = false
		y := float64(2*rng.IntN(2) - 1)
		q := math.Exp(3 * rng.NormFloat64())
		s0, start := 4*rng.NormFloat64(), 3*rng.NormFloat64()
		s, alpha, _ := m.solve(s0, q, y, start)
		value := m.valueAt(s, y, alpha)
		near := func(what string, got, want, tol float64) {
			if !(math.Abs(got-want) <= tol*(1+math.Abs(want))) {
				t.Fatalf("%s is %v, want %v (q %v, s0 %v, y %v, mixture %+v)", what, got, want, q, s0, y, *m)
			}
		}
		near("s + q f'(s) - s0", s-q*alpha-s0, 0, 1e-6*(1+q))
		s2, alpha2, value2 := slow.solve(s0, q, y, start)
		near("s by bisection", s2, s, 1e-6*(1+q))
		near("α by bisection", alpha2, alpha, 1e-6*(1+1/q))
		// -f*(-α) = min_u f(u) + αu: nowhere on a grid is it less, and s attains it.
		for _, c := range []struct{ s, alpha, value float64 }{{s, alpha, value}, {s2, alpha2, value2}} {
			v, _ := m.at(c.s, y)
			near("f(s) + αs", v+c.alpha*c.s, c.value, 1e-6*(1+1/q)*(1+math.Abs(c.s)))
			for u := -12.0; u <= 12; u += 0.05 {
				if v, _ := m.at(u, y); v+c.alpha*u < c.value-1e-8*(1+math.Abs(c.value)) {
					t.Fatalf("-f*(-α) is at most %v, not %v (at %v)", v+c.alpha*u, c.value, u)
				}
			}
		}
		// At the same mixture nothing changes, up to the step's tolerance.
		again, _ := m.remix(m, s, y, alpha)
		near("α, remixed", again, alpha, 1e-6*(1+1/q))
	}
}

// What a round proves, and the value of the w that it makes, enclose the minimum for λ,
// also after λ has changed; passes close in on it.
func TestDualAscent(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	d := &Data{Rows: 120, Features: 5, Classes: 3}
	for i := range d.Rows {
		d.Class = append(d.Class, int32(i%3))
		for j := range d.Features {
			d.X = append(d.X, rng.NormFloat64()+float64(i%3*j)/4)
		}
	}
	for _, losses := range [][]string{{"zero-one", "hinge", "1-norm", "cross-entropy"}, {"squared-hinge", "1-norm", "squared", "huber:0.3"}, {"zero-one", "smooth-hinge", "hinge", "cross-entropy"}} {
		o := &Options{Beta1: 1e-2, Workers: 2, ScoreBound: 4}
		for _, l := range losses {
			loss, err := score.ParsePointwise(l)
			if err != nil {
				t.Fatal(err)
			}
			o.Losses = append(o.Losses, loss)
		}
		g, _, _, err := NewGame(d, o)
		if err != nil {
			t.Fatal(err)
		}
		a := g.dualAscent(make([]float64, g.net.Dim()), 0, 0, 1)
		best := math.Inf(1)
		for round, lambda := range [][]float64{{0.25, 0.25, 0.25, 0.25}, {0, 0.5, 0.5, 0}, {0.25, 0.25, 0.25, 0.25}} {
			a.turn(lambda)
			gap := math.Inf(1)
			for pass := range 60 {
				a.pass()
				lower := a.bound(lambda)
				upper, err := g.Eval(a.params(), lambda, nil, make([]float64, 4))
				if err != nil {
					t.Fatal(err)
				}
				if upper < lower-1e-12 {
					t.Fatalf("%v round %d pass %d: %v is above %v", losses, round, pass, lower, upper)
				}
				gap = upper - lower
				if round == 0 {
					best = math.Min(best, upper)
				} else if round == 2 && lower > best+1e-12 {
					t.Fatalf("%v: the bound %v excludes the value %v met before", losses, lower, best)
				}
			}
			if gap > 1e-3 {
				t.Errorf("%v round %d: gap %g after 60 passes", losses, round, gap)
			}
		}
	}
}

// What does not separate is refused by name.
func TestDualAscentRefuses(t *testing.T) {
	d := &Data{Rows: 6, Features: 1, Classes: 3, X: []float64{1, 2, 3, 4, 5, 6}, Class: []int32{0, 1, 2, 0, 1, 2}}
	for name, o := range map[string]Options{
		"norm": {Losses: ThesisLosses(), Beta1: 1, Norm: true}, "norm in a ball": {Losses: ThesisLosses(), Beta1: 1, Norm: true, Radius: 1}, "bias": {Losses: ThesisLosses(), Beta1: 1, Bias: 2}, "softmax": {Losses: ThesisLosses(), Beta1: 1, MultiClass: Softmax}, "penalty": {Losses: ThesisLosses()}, "convexity": {Losses: ThesisLosses(), Beta1: 1, ZeroOne: RampSurrogate},
	} {
		o.Solver = DualAscent
		if _, err := Train(d, &o); err == nil || !strings.Contains(err.Error(), "dual ascent is for") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
