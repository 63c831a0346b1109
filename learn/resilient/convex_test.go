package resilient

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// onTheLine is min ½(x-a)² subject to constraints sign_i (x - b_i) ≤ 0, one example.
type onTheLine struct {
	a, b, sign []float64
}

func (onTheLine) Dim() int                  { return 1 }
func (onTheLine) Len() int                  { return 1 }
func (onTheLine) Weights() []float64        { return nil }
func (p onTheLine) Constraints() (int, int) { return 0, len(p.b) }

func (p onTheLine) Eval(x []float64, _ []int, _, mu []float64, v *Values, grad []float64) error {
	d := x[0] - p.a[0]
	v.Objective = d * d / 2
	g := d
	for i, b := range p.b {
		v.Mean[i] = p.sign[i] * (x[0] - b)
		g += mu[i] * p.sign[i]
	}
	if grad != nil {
		grad[0] = g
	}
	return nil
}

func solveLine(t *testing.T, p onTheLine, h Relaxation) (*optim.Result, *Outcome) {
	t.Helper()
	r, out, err := Descent{Rate: 0.05, RateMultiplier: 0.2, Tolerance: 1e-10}.Minimize(p, h, []float64{0.3},
		&run.Control{Stop: run.Stop{Iterations: 200000}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Reason != run.GapSmall {
		t.Fatalf("%s: %s with residuals %+v", h.Name(), r.Reason, out.Residuals)
	}
	return r, out
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s is %.9g, want %.9g", what, got, want)
	}
}

// Test 18 of the specification: one constraint, and two that contradict one another.
func TestClosedForms(t *testing.T) {
	const a, b = 2, -1
	r, out := solveLine(t, onTheLine{[]float64{a}, []float64{b}, []float64{1}}, Quadratic{})
	near(t, "x", r.X[0], (a+b)/2., 1e-8)
	near(t, "u", out.V[0], (a-b)/2., 1e-8)
	near(t, "lambda", out.Mu[0], (a-b)/2., 1e-8)
	near(t, "the value", r.F, (a-b)*(a-b)/4., 1e-8)

	r, out = solveLine(t, onTheLine{[]float64{0}, []float64{-1, 2}, []float64{1, -1}}, Quadratic{})
	near(t, "x", r.X[0], 1./3, 1e-8)
	near(t, "lambda 1", out.Mu[0], 4./3, 1e-8)
	near(t, "lambda 2", out.Mu[1], 5./3, 1e-8)
}

// The text's h = |u|² has lambda = 2u: x = a - lambda, u = x - b.
func TestNormSquared(t *testing.T) {
	p := onTheLine{[]float64{2}, []float64{-1}, []float64{1}}
	r, out := solveLine(t, p, Quadratic{Scale: 2})
	near(t, "x", r.X[0], 0, 1e-8)
	near(t, "lambda", out.Mu[0], 2, 1e-8)
	near(t, "u", out.V[0], 1, 1e-8)

	// Test 21: with gradient steps of rate 1 it would go 1, 0, 1, 0, … for ever.
	_, _, err := Descent{RateSlack: 1}.Minimize(p, Quadratic{Scale: 2}, []float64{0}, nil)
	if err == nil {
		t.Error("a rate above the inverse curvature is taken")
	}
	r, out, err = Descent{Rate: 0.05, RateMultiplier: 0.1, RateSlack: 0.5, Tolerance: 1e-10}.Minimize(p,
		Quadratic{Scale: 2}, []float64{0}, &run.Control{Stop: run.Stop{Iterations: 100000}})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "x by gradient steps of u", r.X[0], 0, 1e-8)
	near(t, "u by gradient steps", out.V[0], 1, 1e-8)
}

// Test 20: steep h is the constrained problem, flat h the unconstrained one.
func TestSteepness(t *testing.T) {
	p := onTheLine{[]float64{2}, []float64{-1}, []float64{1}}
	for _, m := range []float64{1e-4, 0.1, 1, 10, 100} {
		r, _, err := Descent{Rate: 0.2 / (10 + m), RateMultiplier: 0.2, Tolerance: 1e-10}.Minimize(p,
			Quadratic{Scale: m}, []float64{0}, &run.Control{Stop: run.Stop{Iterations: 2000000}})
		if err != nil {
			t.Fatal(err)
		}
		want := (2 - m) / (1 + m) // of ½(x-2)² + m/2 (x+1)²
		near(t, "x", r.X[0], want, 1e-6)
	}
	r, _ := solveLine(t, p, Level{})
	near(t, "x, constrained", r.X[0], -1, 1e-8)
}

// Test 22: P(u) is convex and decreasing, and its slope is -lambda.
func TestPerturbation(t *testing.T) {
	p := onTheLine{[]float64{2, 0}, []float64{-1}, []float64{1}}
	const step = 0.25
	var values, lambda []float64
	for k := range 16 {
		r, out := solveLine(t, p, Level{U: step * float64(k)})
		values = append(values, (r.X[0]-2)*(r.X[0]-2)/2)
		lambda = append(lambda, out.Mu[0])
	}
	for k := 1; k+1 < len(values); k++ {
		slope := (values[k+1] - values[k-1]) / (2 * step)
		if values[k+1] > values[k]+1e-7 || values[k+1]+values[k-1]-2*values[k] < -1e-7 {
			t.Errorf("P falls from %v by %v to %v: not convex and decreasing", values[k-1], values[k],
				values[k+1])
		}
		// at 3 the constraint is idle and P has a corner of the second derivative
		if u := step * float64(k); math.Abs(u-3) > step {
			near(t, "-dP/du", -slope, lambda[k], 1e-6)
		}
	}
	// The equilibrium of definition 5 is where h' meets lambda: for h = u²/2 at u = 1.5.
	_, out := solveLine(t, p, Quadratic{})
	near(t, "equilibrium", out.V[0], 1.5, 1e-7)
	near(t, "multiplier at it", out.Mu[0], lambda[6], 1e-6)
}

// logit is logistic regression by Examples and as a Program, with γ|w|² on the weights.
type logit struct {
	x     [][]float64 // with a constant behind
	y, w  []float64
	gamma float64
}

func newLogit(rng *rand.Rand, n, d int) *logit {
	p := &logit{gamma: 0.05}
	for range n {
		row := make([]float64, d+1)
		s := 0.3
		for j := range d {
			row[j] = rng.NormFloat64()
			s += row[j] * float64(j%3-1)
		}
		row[d] = 1
		y := 1.0
		if s+rng.NormFloat64() < 0 {
			y = -1
		}
		if rng.Float64() < 0.1 {
			y = -y
		}
		p.x, p.y = append(p.x, row), append(p.y, y)
	}
	return p
}

func (p *logit) Dim() int                { return len(p.x[0]) }
func (p *logit) Len() int                { return len(p.x) }
func (p *logit) Weights() []float64      { return p.w }
func (p *logit) Constraints() (int, int) { return 1, 0 }

func (p *logit) one(x []float64, i int) (loss, slope float64) {
	m := 0.0
	for j, v := range p.x[i] {
		m += v * x[j]
	}
	m *= p.y[i]
	return max(-m, 0) + math.Log1p(math.Exp(-math.Abs(m))), -p.y[i] / (1 + math.Exp(m))
}

func (p *logit) penalty(x, grad []float64, scale float64) float64 {
	sum := 0.0
	for j := range len(x) - 1 {
		sum += p.gamma * x[j] * x[j]
		if grad != nil {
			grad[j] += scale * 2 * p.gamma * x[j]
		}
	}
	return scale * sum
}

// EvalWeighed is a sum: its penalty is n times that of the mean.
func (p *logit) EvalWeighed(x []float64, weigh Weigh, losses, grad []float64) (float64, error) {
	clear(grad)
	total := 0.0
	for i := range p.x {
		loss, slope := p.one(x, i)
		if losses != nil {
			losses[i] = loss
		}
		value, w := loss, 1.0
		if weigh != nil {
			value, w = weigh(i, loss)
		}
		total += weight(p.w, i) * value
		if grad != nil {
			for j, v := range p.x[i] {
				grad[j] += weight(p.w, i) * w * slope * v
			}
		}
	}
	n := 0.0
	for i := range p.x {
		n += weight(p.w, i)
	}
	return total + p.penalty(x, grad, n), nil
}

func (p *logit) Eval(x []float64, rows []int, lambda, _ []float64, v *Values, grad []float64) error {
	clear(grad)
	for k, i := range rows {
		loss, slope := p.one(x, i)
		v.Point[k] = loss
		if grad != nil {
			for j, c := range p.x[i] {
				grad[j] += weight(p.w, i) * lambda[k] * slope * c / float64(len(rows))
			}
		}
	}
	v.Objective = p.penalty(x, grad, 1)
	return nil
}

// minimum is where L-BFGS arrives on the unconstrained form.
func minimum(t *testing.T, p *logit, h Relaxation) (*Objective, *optim.Result) {
	t.Helper()
	o, err := NewObjective(p, h)
	if err != nil {
		t.Fatal(err)
	}
	r, err := optim.LBFGS{}.Minimize(o, make([]float64, p.Dim()),
		&run.Control{Stop: run.Stop{Iterations: 2000, Relative: -1, Gradient: 1e-12}})
	if err != nil {
		t.Fatal(err)
	}
	return o, r
}

// Test 19: the primal-dual algorithm arrives where L-BFGS does, with lambda = h'(loss).
func TestPrimalDual(t *testing.T) {
	p := newLogit(rand.New(rand.NewPCG(3, 5)), 60, 4)
	for _, h := range []Relaxation{Quadratic{}, Huber{Delta: 0.4}, Huber{Delta: 0.5, Scale: 2}, Linear{}} {
		o, want := minimum(t, p, h)
		d := Descent{Rate: 0.3, RateMultiplier: 0.3, Batch: -1, Tolerance: 1e-10}
		got, out, err := d.Minimize(p, h, make([]float64, p.Dim()),
			&run.Control{Stop: run.Stop{Iterations: 100000}})
		if err != nil {
			t.Fatal(err)
		}
		if got.Reason != run.GapSmall {
			t.Errorf("%s: %s after %d passes, residuals %+v", h.Name(), got.Reason, got.Iterations,
				out.Residuals)
		}
		for j := range got.X {
			near(t, h.Name()+": a weight", got.X[j], want.X[j], 1e-7)
		}
		near(t, h.Name()+": the value", got.F*float64(p.Len()), want.F, 1e-6)
		_, lambda, err := o.Multipliers(want.X)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range out.Losses {
			near(t, h.Name()+": a multiplier", out.Lambda[i], h.At(nil, nil).Deriv(l), 1e-7)
			near(t, h.Name()+": a multiplier", out.Lambda[i], lambda[i], 1e-6)
		}
	}
}

// Test 23: a sample twice is a sample of weight 2.
func TestDuplicates(t *testing.T) {
	for _, h := range []Relaxation{Quadratic{}, Huber{Delta: 0.4}, CVaR{Tail: 0.3}} {
		p := newLogit(rand.New(rand.NewPCG(7, 1)), 40, 3)
		_, twice := minimum(t, &logit{append(slices.Clone(p.x), p.x[4]), append(slices.Clone(p.y), p.y[4]),
			nil, p.gamma}, h)
		w := slices.Repeat([]float64{1}, 40)
		w[4] = 2
		_, weighed := minimum(t, &logit{p.x, p.y, w, p.gamma}, h)
		for j := range twice.X {
			near(t, h.Name()+": a weight", weighed.X[j], twice.X[j], 1e-6)
		}
	}
}

// Test 24: Huber with a large delta is quadratic, h(u) = u is ordinary training, and so is CVaR of
// all losses. CVaR is the mean of the largest losses, and its weights are their derivative.
func TestEquivalences(t *testing.T) {
	p := newLogit(rand.New(rand.NewPCG(11, 2)), 50, 3)
	_, a := minimum(t, p, Quadratic{})
	_, b := minimum(t, p, Huber{Delta: 1e6})
	_, c := minimum(t, p, Linear{})
	_, e := minimum(t, p, CVaR{Tail: 1})
	plain, err := optim.LBFGS{}.Minimize(optim.Func{N: p.Dim(),
		F: func(x, g []float64) (float64, error) { return p.EvalWeighed(x, nil, nil, g) }},
		make([]float64, p.Dim()), &run.Control{Stop: run.Stop{Iterations: 2000, Relative: -1,
			Gradient: 1e-12}})
	if err != nil {
		t.Fatal(err)
	}
	for j := range a.X {
		near(t, "Huber, a weight", b.X[j], a.X[j], 1e-8)
		near(t, "linear, a weight", c.X[j], plain.X[j], 1e-8)
		near(t, "CVaR of all, a weight", e.X[j], plain.X[j], 1e-6)
	}
	if math.Abs(a.X[0]-plain.X[0]) < 1e-3 {
		t.Error("quadratic training gives the ordinary model: nothing is weighed")
	}

	losses := []float64{0.1, 2, 0.4, 1.5, 0.3, 0.2, 0.05, 3, 0.6, 0.7}
	curve := CVaR{Tail: 0.3, Ramp: 1e-9}.At(losses, nil)
	value, total := 0.0, 0.0
	for _, l := range losses {
		value += curve.Value(l) / 10
		total += curve.Deriv(l) / 10
	}
	near(t, "CVaR", value, (2+1.5+3)/3., 1e-6)
	near(t, "the mean weight", total, 1, 1e-6)
}

// The derivatives are those of the values, and Slack minimises h(u) - λu by brute force.
func TestCurves(t *testing.T) {
	losses := []float64{0.1, 0.9, 0.4, 1.7, 0.2}
	for _, h := range []Relaxation{Quadratic{}, Quadratic{Scale: 3}, Huber{Delta: 0.5},
		Huber{Delta: 0.7, Scale: 2}, CVaR{Tail: 0.4, Ramp: 0.3}, Linear{}} {
		c := h.At(losses, nil)
		back, err := Parse(h.Name())
		if err != nil || back.Name() != h.Name() || back.At(losses, nil).Value(0.77) != c.Value(0.77) {
			t.Errorf("%s reads back as %v, %v", h.Name(), back, err)
		}
		for u := 0.013; u < 2; u += 0.1 {
			const e = 1e-6
			near(t, h.Name()+": h'", c.Deriv(u), (c.Value(u+e)-c.Value(u-e))/(2*e), 1e-4)
			if c.Deriv(u+0.1) < c.Deriv(u)-1e-12 ||
				math.Abs(c.Deriv(u+0.1)-c.Deriv(u)) > 0.1*c.Curvature()+1e-12 {
				t.Errorf("%s: h' goes from %v to %v at %v: convexity or curvature is wrong", h.Name(),
					c.Deriv(u), c.Deriv(u+0.1), u)
			}
		}
		for share := 0.0; share < 1; share += 0.17 {
			lambda := share * min(c.MaxLambda(), 3)
			least := math.Inf(1)
			for u := 0.0; u < 5; u += 1e-3 {
				least = min(least, c.Value(u)-lambda*u)
			}
			u := c.Slack(lambda)
			if got := c.Value(u) - lambda*u; u < 0 || got > least+1e-9 {
				t.Errorf("%s: Slack(%v) = %v gives %v, the least is %v", h.Name(), lambda, u, got, least)
			}
		}
	}
}

// The gradient of every objective is that of central differences.
func TestGradient(t *testing.T) {
	p := newLogit(rand.New(rand.NewPCG(2, 9)), 30, 3)
	for _, h := range []Relaxation{Quadratic{}, Huber{Delta: 0.5}, CVaR{Tail: 0.3, Ramp: 0.2}} {
		o, err := NewObjective(p, h)
		if err != nil {
			t.Fatal(err)
		}
		x, g := []float64{0.3, -0.2, 0.5, 0.1}, make([]float64, 4)
		if _, err := o.Eval(x, g); err != nil {
			t.Fatal(err)
		}
		for j := range x {
			const e = 1e-5
			at := func(d float64) float64 {
				y := slices.Clone(x)
				y[j] += d
				v, _ := o.Eval(y, nil)
				return v
			}
			near(t, h.Name()+": the gradient", g[j], (at(e)-at(-e))/(2*e), 1e-5)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, name := range []string{"", "square", "huber", "huber:0", "huber:-1", "huber:x", "huber:1:2:3",
		"cvar:0", "cvar:1.5", "cvar:.5:-1", "quadratic:-2", "quadratic:NaN", "linear:1", "level:-1",
		"huber:Inf"} {
		if _, err := Parse(name); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
	p := newLogit(rand.New(rand.NewPCG(2, 9)), 5, 2)
	if _, err := NewObjective(p, Level{U: 1}); err == nil {
		t.Error("an objective of constraints is made")
	}
	for _, d := range []Descent{{Method: "itml"}, {Method: ITLM, Drop: 1}, {Rate: -1},
		{Tolerance: math.NaN()}, {Momentum: 2}, {Every: -1}} {
		if _, _, err := d.Minimize(p, Quadratic{}, make([]float64, 3), nil); err == nil {
			t.Errorf("%+v is taken", d)
		}
	}
	if _, _, err := (Descent{}).Minimize(p, Huber{}, make([]float64, 3), nil); err == nil {
		t.Error("Huber without delta is taken")
	}
	if _, _, err := (Descent{}).Minimize(p, Quadratic{}, make([]float64, 2), nil); err == nil {
		t.Error("a start of another dimension is taken")
	}
}

// mixed has an objective, two constraints of every example and one of the mean, with weights: the
// whole problem of definition C3.
type mixed struct {
	a, c, d [][]float64
	b, w    []float64
}

func (p *mixed) Dim() int                { return 2 }
func (p *mixed) Len() int                { return len(p.a) }
func (p *mixed) Weights() []float64      { return p.w }
func (p *mixed) Constraints() (int, int) { return 2, 1 }

// losses are l_0, l_1, l_2 of example i, and what it has in the mean, with their gradients.
func (p *mixed) losses(x []float64, i int) (l [4]float64, g [4][2]float64) {
	for j := range 2 {
		e := x[j] - p.a[i][j]
		l[0] += e * e / 2
		g[0][j] = e
		l[1] += p.c[i][j] * x[j]
		g[1][j] = p.c[i][j]
		l[2] += x[j] * x[j] / 2
		g[2][j] = x[j]
		l[3] += p.d[i][j] * x[j]
		g[3][j] = p.d[i][j]
	}
	l[1] -= p.b[i]
	l[2] -= 0.1
	l[3] += 0.2
	return l, g
}

func (p *mixed) Eval(x []float64, rows []int, lambda, mu []float64, v *Values, grad []float64) error {
	clear(grad)
	v.Objective, v.Mean[0] = 0, 0
	for k, i := range rows {
		l, g := p.losses(x, i)
		s := p.w[i] / float64(len(rows))
		v.Objective += s * l[0]
		v.Mean[0] += s * l[3]
		v.Point[2*k], v.Point[2*k+1] = l[1], l[2]
		for j := range grad {
			grad[j] += s * (g[0][j] + lambda[2*k]*g[1][j] + lambda[2*k+1]*g[2][j] + mu[0]*g[3][j])
		}
	}
	return nil
}

func TestMixedConstraints(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 4))
	p := &mixed{}
	for i := range 12 {
		two := func() []float64 { return []float64{rng.NormFloat64(), rng.NormFloat64()} }
		p.a, p.c, p.d = append(p.a, two()), append(p.c, two()), append(p.d, two())
		p.b, p.w = append(p.b, rng.Float64()-0.5), append(p.w, 0.5+float64(i%2))
	}
	for _, h := range []Relaxation{Quadratic{}, Huber{Delta: 0.3, Scale: 2}} {
		c := h.At(nil, nil)
		f := optim.Func{N: 2, F: func(x, grad []float64) (float64, error) { // the third form, written out
			clear(grad)
			value, mean, by := 0.0, 0.0, [2]float64{}
			for i := range p.a {
				l, g := p.losses(x, i)
				s := p.w[i] / 12
				value += s * (l[0] + c.Value(max(l[1], 0)) + c.Value(max(l[2], 0)))
				mean += s * l[3]
				for j := range 2 {
					by[j] += s * g[3][j]
					if grad != nil {
						grad[j] += s * (g[0][j] + c.Deriv(max(l[1], 0))*g[1][j] + c.Deriv(max(l[2],
							0))*g[2][j])
					}
				}
			}
			for j := range grad {
				grad[j] += c.Deriv(max(mean, 0)) * by[j]
			}
			return value + c.Value(max(mean, 0)), nil
		}}
		stop := &run.Control{Stop: run.Stop{Iterations: 500, Relative: -1, Gradient: 1e-12}}
		want, err := optim.LBFGS{}.Minimize(f, []float64{0, 0}, stop)
		if err != nil {
			t.Fatal(err)
		}
		d := Descent{Rate: 0.1, RateMultiplier: 0.2, Batch: -1, Tolerance: 1e-10}
		got, out, err := d.Minimize(p, h, []float64{1, 1}, &run.Control{Stop: run.Stop{Iterations: 100000}})
		if err != nil {
			t.Fatal(err)
		}
		for j := range got.X {
			near(t, h.Name()+": a coordinate", got.X[j], want.X[j], 1e-7)
		}
		near(t, h.Name()+": the value", got.F, want.F, 1e-8)
		near(t, h.Name()+": the multiplier of the mean", out.Mu[0], c.Deriv(out.V[0]), 1e-8)
		// Minibatches end near it.
		d.Batch, d.Rate, d.RateMultiplier = 3, 0.004, 0.05
		rough, _, err := d.Minimize(p, h, []float64{1, 1}, &run.Control{Stop: run.Stop{Iterations: 1500}})
		if err != nil {
			t.Fatal(err)
		}
		for j := range rough.X {
			near(t, h.Name()+": a coordinate by minibatches", rough.X[j], want.X[j], 0.1)
		}
	}
}
