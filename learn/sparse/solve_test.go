package sparse

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

func line(n int, lo, hi float64) []float64 {
	return floats.Span(make([]float64, n), lo, hi)
}

func grid(t *testing.T, d Domain, perAxis, widths int) *Cells {
	t.Helper()
	c, err := Grid(d, perAxis, widths)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func solved(t *testing.T, p *Problem, o *SolveOptions) *Solution {
	t.Helper()
	s, _, err := Solve(p, o, &run.Control{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %.8g, want %.8g within %g", what, got, want, tolerance)
	}
}

// Spec test 1: one sample has a closed form.
func TestOneSample(t *testing.T) {
	p := &Problem{X: []float64{0}, Dim: 1, Y: []float64{1.2}}
	for _, c := range []struct{ gamma, lambda, support float64 }{
		{0.05, 1.06372, 1.86912}, {0.3, 1.24411, 1.16818}, {0, 1.1 / (0.6 * math.Sqrt(math.Pi)), 0},
	} {
		s := solved(t, p, &SolveOptions{Eps: 0.01, Gamma: c.gamma, Cells: grid(t,
			Domain{[]float64{-6}, []float64{6}, 0.6, 0.6}, 20000, 1)})
		near(t, fmt.Sprintf("gamma %v: multiplier", c.gamma), s.Lambda[0], c.lambda, 1e-4)
		if c.gamma > 0 {
			near(t, fmt.Sprintf("gamma %v: support", c.gamma), s.Support, c.support, 6e-4) // a cell
			tt := math.Sqrt(2 * c.gamma)
			near(t, "equation",
				s.Lambda[0]*0.6*math.Sqrt(math.Pi)*math.Erf(math.Sqrt(2*math.Log(s.Lambda[0]/tt))), 1.1, 1e-4)
		}
	}
}

// Spec tests 2 and 3: the Gram matrix of the integral is w√π exp(-d²/4w²) on the whole line.
// Without a price the duals are interpolation, the hard-margin machine, and the machine with C = μ.
func TestWithoutPrice(t *testing.T) {
	const w = 0.4
	x := []float64{0, 0.5, 1.1, 1.9, 2.2, 3}
	c := grid(t, Domain{[]float64{-4}, []float64{7}, w, w}, 3000, 1)
	k := c.Values(1, Gaussian{}, x)
	q := make([][]float64, len(x))
	for i := range x {
		for j := range x {
			sum := 0.0
			for g, v := range c.Volume {
				sum += v * k[i*c.Len()+g] * k[j*c.Len()+g]
			}
			d := x[i] - x[j]
			want := w * math.Sqrt(math.Pi) * math.Exp(-d*d/(4*w*w))
			near(t, "overlap", sum, want, 1e-9)
			q[i] = append(q[i], want)
		}
	}
	p := &Problem{X: x, Dim: 1, Y: []float64{1, -1, 0.5, 2, 1, 0}}
	s := solved(t, p, &SolveOptions{Cells: c})
	for i := range x { // Q λ = y
		near(t, "Qλ", floats.Dot(q[i], s.Lambda), p.Y[i], 1e-8)
	}
	p.Y = []float64{1, 1, -1, 1, -1, -1}
	// The multipliers of scikit-learn's machine with the kernel q:
	//	SVC(C=1e10, kernel="precomputed", tol=1e-10, shrinking=False) has an intercept, and this has not;
	// so the conditions of the optimum are what is asked for.
	s = solved(t, p, &SolveOptions{Cells: c, Bound: optim.MarginBound})
	for i := range x {
		u, margin := s.Lambda[i]*p.Y[i], p.Y[i]*floats.Dot(q[i], s.Lambda)
		if u < -1e-9 || margin < 1-1e-5 || u > 1e-4 && margin > 1+1e-4 {
			t.Errorf("sample %d: multiplier %v, margin %v", i, u, margin)
		}
	}
	p.Y[1], p.Y[4] = -1, 1
	s = solved(t, p, &SolveOptions{Cells: c, Bound: optim.HingeBound, Eps: 1.5, Gap: 1e-9, Violation: 1e-9})
	mu, total := 0.0, 0.0
	for i := range x {
		mu = math.Max(mu, s.Lambda[i]*p.Y[i])
	}
	for i := range x {
		u, margin := s.Lambda[i]*p.Y[i], p.Y[i]*floats.Dot(q[i], s.Lambda)
		total += math.Max(0, 1-margin)
		if u < mu-1e-4 && margin < 1-1e-4 || u > 1e-4 && margin > 1+1e-4 {
			t.Errorf("sample %d: multiplier %v of at most %v, margin %v", i, u, mu, margin)
		}
	}
	near(t, "total hinge", total, 1.5, 1e-6)
}

// Spec test 4: α_d minimises a²/2 + γ·1[a ≠ 0] - b·a.
func TestThreshold(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		gamma := rng.Float64()
		b := 3 * rng.NormFloat64()
		if rng.IntN(10) == 0 {
			b = math.Sqrt(2 * gamma)
		}
		cost := func(a float64) float64 {
			c := a*a/2 - b*a
			if a != 0 {
				c += gamma
			}
			return c
		}
		a := make([]float64, 1)
		threshold(gamma, []float64{b}, a)
		best := 0.0
		for x := -10.0; x <= 10; x += 0.001 {
			best = math.Min(best, cost(x))
		}
		if cost(a[0]) > best+1e-12 {
			t.Errorf("gamma %v, b %v: %v costs %v, more than %v", gamma, b, a[0], cost(a[0]), best)
		}
	}
}

func wave(n int) *Problem {
	p := &Problem{X: line(n, 0, 5), Dim: 1}
	for _, x := range p.X {
		p.Y = append(p.Y, math.Sin(2*x)+0.3*x)
	}
	return p
}

// Spec test 5: gap and violation are small on a fine grid, whatever the bound.
func TestCertified(t *testing.T) {
	p := wave(30)
	for _, gamma := range []float64{0, 0.2, 1} {
		s := solved(t, p, &SolveOptions{Eps: 1e-2, Gamma: gamma, Cells: grid(t, Around(p.X, 1, 1.5, 0.2, 1),
			80, 8)})
		if s.Gap() > 1e-6 || s.Excess > 1e-5 {
			t.Errorf("gamma %v: primal %v, dual %v, excess %v", gamma, s.Primal, s.Dual, s.Excess)
		}
		f := make([]float64, len(p.Y))
		s.Dense().Predict(1, p.X, f)
		for i, y := range p.Y {
			if math.Abs(y-f[i]) > 0.1+1e-4 {
				t.Errorf("gamma %v: sample %d has %v, not within 0.1 of %v", gamma, i, f[i], y)
			}
		}
	}
}

// Spec test 6: Algorithm 1 and the reduced duals reach the same value, by whichever solver; with λ
// > 0 the fit is below y. Algorithm 1 divides by μ, which is near 0 where a bound is slack, and
// there does not settle. Samples are far apart here, so that every bound is active.
func TestMethodsAgree(t *testing.T) {
	p := wave(12)
	apart := &Problem{X: []float64{0, 1.5, 3, 4.5}, Dim: 1, Y: []float64{1, -0.8, 1.2, 0.7}}
	for _, gamma := range []float64{0, 0.1} {
		for _, c := range []struct {
			m Method
			p *Problem
		}{{Prox, p}, {Paper, apart}} {
			o := SolveOptions{Eps: 0.04, Gamma: gamma, Cells: grid(t, Around(p.X, 1, 1.5, 0.4, 0.8), 60, 3)}
			want := solved(t, c.p, &o)
			o.Method, o.StepMu, o.Decay = c.m, 0.3, 1000
			s, _, err := Solve(c.p, &o, &run.Control{Stop: run.Stop{Iterations: 20000, Relative: 1e-10}})
			if err != nil {
				t.Fatal(err)
			}
			near(t, fmt.Sprintf("%s, gamma %v: value of the dual", c.m, gamma), s.Dual, want.Dual, 0.003*want.Dual)
			if s.Dual > want.Primal*(1+1e-6) {
				t.Errorf("%s: a dual value of %v, above the primal value %v", c.m, s.Dual, want.Primal)
			}
			f := make([]float64, len(c.p.Y))
			want.Dense().Predict(1, c.p.X, f)
			for i, l := range want.Lambda {
				if math.Abs(l) > 1e-3 && l*(c.p.Y[i]-f[i]) < 0 {
					t.Errorf("sample %d: multiplier %v, fit %v of %v", i, l, f[i], c.p.Y[i])
				}
			}
		}
	}
	// Classes: projected steps with a margin, and the cone of a total hinge.
	for i, y := range p.Y {
		p.Y[i] = math.Copysign(1, y-0.8)
	}
	for _, b := range []optim.FitBound{optim.MarginBound, optim.HingeBound} {
		o := SolveOptions{Bound: b, Eps: 0.5, Cells: grid(t, Around(p.X, 1, 1.5, 0.4, 0.8), 60, 3)}
		want := solved(t, p, &o)
		o.Method = Prox
		s, _, err := Solve(p, &o, &run.Control{Stop: run.Stop{Iterations: 20000, Relative: 1e-12}})
		if err != nil {
			t.Fatal(err)
		}
		near(t, string(b)+": value of the dual", s.Dual, want.Dual, 1e-3*want.Dual)
	}
}

// Spec test 7, first part: the support shrinks as gamma grows.
func TestSupportShrinks(t *testing.T) {
	p := wave(25)
	c := grid(t, Around(p.X, 1, 1.5, 0.3, 1), 120, 8)
	last := math.Inf(1)
	for _, gamma := range []float64{0.01, 0.03, 0.1, 0.3, 1, 3} {
		s := solved(t, p, &SolveOptions{Eps: 1e-2, Gamma: gamma, Cells: c})
		if s.Support > last*1.001 {
			t.Errorf("gamma %v: support %v, larger than %v before", gamma, s.Support, last)
		}
		last = s.Support
	}
}

// Spec test 7, second part: one bump is found as one bump. Remark 1 of the dissertation.
func TestOneBump(t *testing.T) {
	p := &Problem{X: line(15, -1, 6), Dim: 1}
	for _, x := range p.X {
		p.Y = append(p.Y, math.Exp(-(x-2.5)*(x-2.5)/2))
	}
	if p.X[7] == 2.5 { // the samples avoid the centre
		p.X = line(16, -1, 6)
		p.X = append(p.X[:8], p.X[9:]...)
		for i, x := range p.X {
			p.Y[i] = math.Exp(-(x - 2.5) * (x - 2.5) / 2)
		}
	}
	c := grid(t, Domain{[]float64{-3}, []float64{8}, 0.2, 2}, 220, 40)
	for _, gamma := range []float64{0.3, 1} {
		s := solved(t, p, &SolveOptions{Eps: 1e-3, Gamma: gamma, Cells: c})
		d, err := Discretize(p, s, optim.TubeBound, 1e-3, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if d.Len() != 1 {
			t.Fatalf("gamma %v: %d kernels at %v, widths %v, coefficients %v", gamma, d.Len(), d.Center, d.Width,
				d.Coef)
		}
		near(t, "centre", d.Center[0], 2.5, 0.05)
		near(t, "width of the peak", d.Width[0], 0.9, 0.1)
		if d, err = Discretize(p, s, optim.TubeBound, 1e-3, &DiscreteOptions{Joint: true}, nil); err != nil {
			t.Fatal(err)
		}
		near(t, "joint width", d.Width[0], 1, 0.02)
		near(t, "joint coefficient", d.Coef[0], 1, 0.02)
	}
}

// Spec test 8: two bumps of different widths, and what the joint refit does to peaks at their
// sides.
func TestTwoBumps(t *testing.T) {
	p := &Problem{X: line(40, -2, 9), Dim: 1}
	for _, x := range p.X {
		p.Y = append(p.Y, math.Exp(-(x-0.5)*(x-0.5)/(2*0.4*0.4))+math.Exp(-(x-5.5)*(x-5.5)/(2*1.2*1.2)))
	}
	c := grid(t, Around(p.X, 1, 3, 0.2, 2), 200, 24)
	for _, eps := range []float64{1e-3, 1e-2} {
		for _, gamma := range []float64{0.3, 1} {
			s := solved(t, p, &SolveOptions{Eps: eps, Gamma: gamma, Cells: c})
			peaks, err := s.Peaks(context.Background(), p, false, 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []struct{ z, lo, hi float64 }{{0.5, 0.2, 0.4}, {5.5, 1.1, 1.2}} {
				found := false
				for _, k := range peaks {
					found = found || math.Abs(k.Center[0]-want.z) < 0.1 && k.Width > want.lo-0.02 && k.Width < want.hi+0.02
				}
				if !found {
					t.Errorf("eps %v, gamma %v: no peak at %v in %+v", eps, gamma, want.z, peaks)
				}
			}
			d, err := Discretize(p, s, optim.TubeBound, eps, &DiscreteOptions{Joint: true}, nil)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for j, a := range d.Coef {
				switch {
				case math.Abs(a) < 1e-4:
				case math.Abs(d.Center[j]-0.5) < 0.005 && math.Abs(d.Width[j]-0.4) < 0.004,
					math.Abs(d.Center[j]-5.5) < 0.055 && math.Abs(d.Width[j]-1.2) < 0.012:
					n++
				default:
					t.Errorf("eps %v, gamma %v: kernel at %v, width %v, coefficient %v", eps, gamma, d.Center[j],
						d.Width[j], a)
				}
			}
			if n != 2 {
				t.Errorf("eps %v, gamma %v: %d bumps found: centres %v, widths %v, coefficients %v", eps, gamma, n,
					d.Center, d.Width, d.Coef)
			}
		}
	}
}

// Spec test 8, last part: of candidates one far from all samples vanishes.
func TestIrrelevantCandidate(t *testing.T) {
	p := wave(20)
	c, err := Candidates([]float64{0.5, 1.5, 2.5, 3.5, 4.5, 40}, 1, 0.2, 1.5, 12)
	if err != nil {
		t.Fatal(err)
	}
	s := solved(t, p, &SolveOptions{Eps: 0.05, Gamma: 0.01, Cells: c})
	for g := 5 * c.Per; g < c.Len(); g++ {
		if s.Alpha[g] != 0 {
			t.Errorf("width %v of the far centre has %v", c.Width[g], s.Alpha[g])
		}
	}
	d, err := Discretize(p, s, optim.TubeBound, 0.05, &DiscreteOptions{Fixed: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d.Len() > 5 || d.Len() < 2 {
		t.Errorf("%d kernels of five centres", d.Len())
	}
}

// Spec test 9: with Lebesgue's measure a domain that reaches further changes nothing.
func TestVolume(t *testing.T) {
	p := wave(15)
	f, g := make([]float64, len(p.Y)), make([]float64, len(p.Y))
	a := solved(t, p, &SolveOptions{Eps: 1e-2, Gamma: 0.1, Cells: grid(t,
		Domain{[]float64{-4}, []float64{9}, 0.5, 0.5}, 260, 1), Gap: 1e-9, Violation: 1e-9})
	b := solved(t, p, &SolveOptions{Eps: 1e-2, Gamma: 0.1, Cells: grid(t,
		Domain{[]float64{-10.5}, []float64{15.5}, 0.5, 0.5}, 520, 1), Gap: 1e-9, Violation: 1e-9})
	x := line(15, 0.1, 4.8)
	a.Dense().Predict(1, x, f)
	b.Dense().Predict(1, x, g)
	for i := range f {
		near(t, "value", g[i], f[i], 1e-5)
	}
	near(t, "complexity", b.Primal, a.Primal, 1e-6)
	// A normalised measure with gamma·V² is the same problem.
	c := grid(t, Domain{[]float64{-4}, []float64{9}, 0.5, 0.5}, 260, 1)
	c.Normalise()
	n := solved(t, p, &SolveOptions{Eps: 1e-2, Gamma: 0.1 * 13 * 13, Cells: c, Gap: 1e-9, Violation: 1e-9})
	n.Dense().Predict(1, x, g)
	for i := range f {
		near(t, "value with a normalised measure", g[i], f[i], 1e-5)
	}
}

// Spec test 10: the Monte Carlo estimate of f_d is unbiased, and a fixed sample is near.
func TestMonteCarlo(t *testing.T) {
	d := Domain{[]float64{-3}, []float64{8}, 0.3, 1}
	x := []float64{0.2, 1.7, 3.1, 4.4}
	lambda := []float64{1, -0.7, 0.4, 0.9}
	value := func(c *Cells) float64 {
		k := c.Values(1, Gaussian{}, x)
		f := optim.FitDual{K: k, Volume: c.Volume, Target: x, Bound: optim.TubeBound}
		a, out := make([]float64, c.Len()), make([]float64, len(x))
		f.Transpose(lambda, a)
		threshold(0.05, a, a)
		f.Apply(a, out)
		return out[1]
	}
	want := value(grid(t, d, 2000, 40))
	rng := rand.New(rand.NewPCG(7, 7))
	mean, sq := 0.0, 0.0
	for range 200 {
		c, err := MonteCarlo(d, 500, rng)
		if err != nil {
			t.Fatal(err)
		}
		v := value(c)
		mean += v / 200
		sq += v * v / 200
	}
	se := math.Sqrt((sq - mean*mean) / 200)
	near(t, "mean of 200 draws", mean, want, 4*se)
	c, err := FixedSample(d, 20000)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "fixed sample", value(c), want, 0.02*math.Abs(want))
	// Stochastic steps end near the certified value.
	p := wave(12)
	dom := Around(p.X, 1, 1.5, 0.4, 0.8)
	exact := solved(t, p, &SolveOptions{Eps: 0.04, Gamma: 0.1, Cells: grid(t, dom, 80, 6)})
	s, _, err := Solve(p, &SolveOptions{Eps: 0.04, Gamma: 0.1, Draw: 500, Domain: dom, Method: Prox,
		Cells: exact.Cells}, &run.Control{Stop: run.Stop{Iterations: 2000}})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "dual value of stochastic steps", s.Dual, exact.Dual, 0.05*exact.Dual)
	// The seed decides the draws.
	var first []float64
	for i, seed := range []uint64{3, 3, 4} {
		s, _, err := Solve(p, &SolveOptions{Eps: 0.04, Gamma: 0.1, Draw: 50, Domain: dom, Method: Prox,
			Seed: seed}, &run.Control{Stop: run.Stop{Iterations: 20}})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = s.Lambda
		} else if floats.Equal(first, s.Lambda) != (i == 1) {
			t.Errorf("seed %d gives %v, seed 3 %v", seed, s.Lambda, first)
		}
	}
	// Memory is foreseen.
	_, _, err = Solve(p, &SolveOptions{Cells: exact.Cells, MaxBytes: 1000}, nil)
	if err == nil || !strings.Contains(err.Error(), "ask for at most 10 cells") {
		t.Errorf("beyond the memory: %v", err)
	}
}

// Samples beyond what is solved at once give the function of all of them.
func TestWorkingSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	p := &Problem{Dim: 2}
	for range 300 {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		p.X = append(p.X, a, b)
		p.Y = append(p.Y, math.Copysign(1, a*b+0.3*rng.NormFloat64()))
	}
	c, err := Candidates(p.X[:60], 2, 0.3, 1.5, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []SolveOptions{{Bound: optim.HingeBound, Eps: 130, Gamma: 0.01},
		{Bound: optim.TubeBound, Eps: 0.04, Gamma: 0.01}} {
		if o.Bound == optim.TubeBound {
			for i := range p.Y {
				p.Y[i] = p.X[2*i]*math.Exp(-p.X[2*i+1]*p.X[2*i+1]) + 0.05*rng.NormFloat64()
			}
		}
		o.Cells = c
		all := solved(t, p, &o)
		o.Samples = 220
		part := solved(t, p, &o)
		near(t, string(o.Bound)+": dual", part.Dual, all.Dual, 1e-3*all.Dual)
		near(t, string(o.Bound)+": primal", part.Primal, all.Primal, 1e-3*all.Primal)
	}
}
