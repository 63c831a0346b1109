package saddle_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// quadratic is L_k = (w - c_k)², mixed by λ.
func quadratic(c ...float64) saddle.Func {
	return saddle.Func{W: 1, Lambda: len(c), Mu: 2, F: func(w, lambda, gw, gl []float64) (float64, error) {
		v, g := 0.0, 0.0
		for k, a := range c {
			d := w[0] - a
			v += lambda[k] * d * d
			g += lambda[k] * 2 * d
			if gl != nil {
				gl[k] = d * d
			}
		}
		if gw != nil {
			gw[0] = g
		}
		return v, nil
	}}
}

// bilinear is L = (w, -w): λ chooses the sign.
var bilinear = saddle.Func{W: 1, Lambda: 2, F: func(w, lambda, gw, gl []float64) (float64, error) {
	if gw != nil {
		gw[0] = lambda[0] - lambda[1]
	}
	if gl != nil {
		gl[0], gl[1] = w[0], -w[0]
	}
	return w[0] * (lambda[0] - lambda[1]), nil
}}

// matrixGame is ⟨λ, A w⟩ with both players on simplexes.
func matrixGame(a [][]float64) saddle.Func {
	return saddle.Func{W: len(a[0]), Lambda: len(a), F: func(w, lambda, gw, gl []float64) (float64, error) {
		v := 0.0
		for j := range gw {
			gw[j] = 0
		}
		for k, row := range a {
			s := 0.0
			for j, x := range row {
				s += x * w[j]
				if gw != nil {
					gw[j] += lambda[k] * x
				}
			}
			v += lambda[k] * s
			if gl != nil {
				gl[k] = s
			}
		}
		return v, nil
	}}
}

func interval(lo, hi float64) optim.Box { return optim.Box{Lo: []float64{lo}, Hi: []float64{hi}} }

func solve(t *testing.T, m saddle.FirstOrder, p saddle.Problem, w0, l0 []float64, steps int) *saddle.Result {
	t.Helper()
	r, err := m.Solve(p, w0, l0, &run.Control{Stop: run.Stop{Iterations: steps}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %.10g, want %.10g within %g", what, got, want, tol)
	}
}

// The largest loss at w, minus the value of the quadratic game.
func trueGap(w, value float64) float64 { return math.Max(w*w, (w-4)*(w-4)) - value }

// The gap of a pair: the largest loss at w, minus the least mixture by λ.
func pairGap(w float64, lambda []float64) float64 {
	first, second := lambda[1]+4*lambda[2], lambda[1]+16*lambda[2]
	return trueGap(w, second-first*first)
}

func TestQuadraticGame(t *testing.T) {
	game := quadratic(0, 1, 4)
	for _, steps := range []struct {
		n    int
		gap  float64
		near float64
	}{{100, 0, 0}, {1000, 0.141, 2e-3}, {10000, 0.0429, 2e-4}} {
		r := solve(t, saddle.FirstOrder{Method: saddle.DescentAscent, W: optim.Ball{Radius: 5},
			Steps: saddle.TheoremSteps, Radii: saddle.Radii{W: 5, Lambda: 1, NormW: 18,
				NormLambda: math.Sqrt(25*25 + 36*36 + 81*81)}}, game, []float64{5}, nil, steps.n)
		gap := pairGap(r.W[0], r.Lambda)
		if steps.gap > 0 {
			near(t, "gap of gda", gap, steps.gap, steps.near)
		}
		if bound := r.Radii.Bound(steps.n); gap < 0 || gap > bound {
			t.Errorf("T=%d: gap %g is not between 0 and the bound %g", steps.n, gap, bound)
		}
		if !r.Certified || r.Certificate.Gap() < gap-1e-12 {
			t.Errorf("T=%d: certificate %v is below the true gap %g", steps.n, r.Certificate, gap)
		}
		t.Logf("T=%d: w %.6f gap %.6f bound %.3f", steps.n, r.W[0], gap, r.Radii.Bound(steps.n))
	}
	// The figures of the specification: gda at the steps of the theorem and
	// mirror-prox at fixed ones.
	for _, g := range []struct {
		n   int
		gap float64
	}{{100, 0.529461}, {1000, 0.0454359}, {3000, 0.0149608}} {
		r := solve(t, saddle.FirstOrder{W: interval(-5, 5), StepW: 0.04, StepLambda: 0.04}, game,
			[]float64{5}, nil, g.n)
		near(t, "gap of mirror-prox", pairGap(r.W[0], r.Lambda), g.gap, 2e-6)
	}
	r := solve(t, saddle.FirstOrder{W: interval(-5, 5), Gap: 1e-3}, game, []float64{5}, nil, 20000)
	if r.Reason != run.GapSmall {
		t.Errorf("backtracked steps ended with %v and the certificate %v", r.Reason, r.Certificate)
	}
	near(t, "w", r.W[0], 2, 1e-2)
	near(t, "λ_1", r.LastLambda[0], 0.5, 1e-6)
	near(t, "λ_2", r.LastLambda[1], 0, 1e-9)

	box, err := optim.NewBoxSimplex(3, []float64{0.1}, []float64{0.6}, 0)
	if err != nil {
		t.Fatal(err)
	}
	r = solve(t, saddle.FirstOrder{W: interval(-5, 5), Lambda: box, Gap: 1e-3}, game, []float64{5}, nil, 20000)
	near(t, "value over the box", r.Certificate.Upper, 3.7, 5e-3)
	near(t, "w over the box", r.W[0], 2, 1e-2)
	if r.Certificate.Lower > 3.7 || r.Certificate.Upper < 3.7-1e-12 {
		t.Errorf("the certificate %v does not hold 3.7", r.Certificate)
	}
	for _, set := range []struct {
		name  string
		set   optim.Set
		value float64
	}{{"simplex", nil, 4}, {"box", box, 3.7}} {
		r, err := saddle.Smoothed{W: interval(-5, 5), Lambda: set.set, Gap: 1e-7}.Solve(game, []float64{5}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Reason != run.GapSmall {
			t.Errorf("%s: smoothed ended with %v, %v", set.name, r.Reason, r.Certificate)
		}
		near(t, set.name+": value", r.Certificate.Upper, set.value, 1e-6)
	}
}

// The rate of a method: the slope of log gap against log T.
func TestRates(t *testing.T) {
	slope := func(m func(n int) saddle.FirstOrder, p saddle.Problem, w0 float64,
		gap func(r *saddle.Result) float64) float64 {
		var x, y []float64
		for _, n := range []int{100, 300, 1000, 3000, 10000} {
			r := solve(t, m(n), p, []float64{w0}, nil, n)
			x, y = append(x, math.Log(float64(n))), append(y, math.Log(math.Max(gap(r), 1e-14)))
		}
		mx, my, xy, xx := 0.0, 0.0, 0.0, 0.0
		for i := range x {
			mx, my = mx+x[i]/5, my+y[i]/5
		}
		for i := range x {
			xy, xx = xy+(x[i]-mx)*(y[i]-my), xx+(x[i]-mx)*(x[i]-mx)
		}
		return xy / xx
	}
	quad := func(r *saddle.Result) float64 { return pairGap(r.W[0], r.Lambda) }
	got := slope(func(int) saddle.FirstOrder {
		return saddle.FirstOrder{W: interval(-5, 5), StepW: 0.04, StepLambda: 0.04, Gap: -1}
	}, quadratic(0, 1, 4), 5, quad)
	if got > -0.9 || got < -1.1 {
		t.Errorf("mirror-prox falls as T^%.2f, want -1", got)
	}
	got = slope(func(int) saddle.FirstOrder {
		return saddle.FirstOrder{Method: saddle.DescentAscent, W: optim.Ball{Radius: 5}, Steps: saddle.TheoremSteps,
			Radii: saddle.Radii{NormW: 18, NormLambda: 92}, Gap: -1}
	}, quadratic(0, 1, 4), 5, quad)
	if got > -0.35 || got < -0.75 {
		t.Errorf("gda with the theorem's steps falls as T^%.2f, want about -1/2", got)
	}
}

func TestBilinearGame(t *testing.T) {
	start, l0 := []float64{0.7}, []float64{0.9, 0.1}
	fixed := func(m saddle.Method) saddle.FirstOrder {
		return saddle.FirstOrder{Method: m, W: interval(-1, 1), StepW: 0.1, StepLambda: 0.1}
	}
	r := solve(t, fixed(saddle.DescentAscent), bilinear, start, l0, 2000)
	near(t, "last w of gda", r.LastW[0], 0.267, 5e-4)
	near(t, "last λ of gda", r.LastLambda[0], 0.02, 5e-3)
	near(t, "average of gda", r.W[0], -0.004, 5e-4)
	r = solve(t, fixed(saddle.MirrorProx), bilinear, start, l0, 2000)
	near(t, "last w of mirror-prox", r.LastW[0], 0, 1e-9)
	near(t, "average of mirror-prox", r.W[0], 0, 1e-2)
	for _, rule := range []saddle.StepRule{saddle.DecreasingSteps, saddle.AdaptiveSteps} {
		for _, m := range []saddle.Method{saddle.MirrorProx, saddle.DescentAscent} {
			r := solve(t, saddle.FirstOrder{Method: m, W: interval(-1, 1), Steps: rule}, bilinear, start, l0, 5000)
			near(t, rule.String()+" "+m.String(), r.W[0], 0, 0.05)
		}
	}
	r = solve(t, saddle.FirstOrder{Method: saddle.Alternating, W: interval(-1, 1), StepW: 0.1, StepLambda: 0.1},
		bilinear, start, l0, 5000)
	near(t, "alternating", r.W[0], 0, 0.02)
	r = solve(t, saddle.FirstOrder{W: interval(-1, 1), StepW: 0.1, StepLambda: 0.2, Entropic: true},
		bilinear, start, l0, 5000)
	near(t, "entropic", r.LastW[0], 0, 1e-6)
	near(t, "entropic λ", r.LastLambda[0], 0.5, 1e-6)
}

// Rock, paper, scissors with unequal stakes: the value and both strategies are
// known. Every solver's certificate must hold the value.
func TestMatrixGame(t *testing.T) {
	a := [][]float64{{0, -1, 2}, {1, 0, -3}, {-2, 3, 0}}
	// Skew-symmetric games have the value 0 and the strategies (3, 2, 1)/6.
	want := []float64{0.5, 1. / 3, 1. / 6}
	for name, m := range map[string]saddle.FirstOrder{
		"euclidean": {W: optim.Simplex{}, StepW: 0.1, StepLambda: 0.1},
		"entropic":  {W: optim.Simplex{}, StepW: 0.1, StepLambda: 0.3, Entropic: true},
		"adaptive":  {W: optim.Simplex{}, Steps: saddle.AdaptiveSteps},
		"backtrack": {W: optim.Simplex{}},
	} {
		r := solve(t, m, matrixGame(a), []float64{1, 0, 0}, []float64{0.2, 0.3, 0.5}, 4000)
		if r.Certificate.Upper < -1e-12 || r.Certificate.Lower > 1e-12 || r.Certificate.Gap() > 0.02 {
			t.Errorf("%s: certificate %+v for a game of value 0", name, r.Certificate)
		}
		for k := range want {
			near(t, name, r.W[k], want[k], 0.02)
			near(t, name, r.Lambda[k], want[k], 0.02)
		}
	}
}

// Upper - Lower is never below what a point loses, and never below zero, wherever
// it is asked for.
func TestCertificateHoldsTheValue(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	game := quadratic(0, 1, 4)
	for range 500 {
		w := []float64{10*rng.Float64() - 5}
		lambda := []float64{rng.Float64(), rng.Float64(), rng.Float64()}
		optim.Simplex{}.Project(lambda)
		for _, refine := range []int{-1, 0} {
			c, err := saddle.Certify(game, w, lambda, interval(-5, 5), nil, &saddle.CertifyOptions{Refine: refine})
			if err != nil {
				t.Fatal(err)
			}
			if c.Upper < 4-1e-12 || c.Lower > 4+1e-12 || c.Gap() < trueGap(w[0], 4)-1e-12 {
				t.Fatalf("at w=%v λ=%v: %+v for a game of value 4", w, lambda, c)
			}
		}
	}
	if _, err := saddle.Certify(game, []float64{9}, []float64{1, 0, 0}, interval(-5, 5), nil, nil); err == nil {
		t.Error("a point outside the set was certified")
	}
	bumpy := notConvex{game}
	if _, err := saddle.Certify(bumpy, []float64{0}, []float64{1, 0, 0}, nil, nil, nil); err == nil {
		t.Error("a problem that is not convex was certified")
	}
	if r := solve(t, saddle.FirstOrder{}, bumpy, []float64{0}, nil, 10); r.Certified {
		t.Error("a run on a problem that is not convex has a certificate")
	}
}

type notConvex struct{ saddle.Func }

func (notConvex) Curvature([]float64) bool { return false }

// examples is Σ_i over points a_i of objectives (w·a_i - b_ik)²/2, as a problem with
// minibatches.
type examples struct {
	a [][]float64
	b [][]float64 // by example, objective
}

func (e *examples) Dims() (int, int) { return len(e.a[0]), len(e.b[0]) }
func (e *examples) Len() int         { return len(e.a) }
func (e *examples) Eval(w, lambda, gw, gl []float64) (float64, error) {
	all := make([]int, len(e.a))
	for i := range all {
		all[i] = i
	}
	return e.EvalBatch(all, w, lambda, gw, gl)
}
func (e *examples) EvalBatch(batch []int, w, lambda, gw, gl []float64) (float64, error) {
	clear(gw)
	clear(gl)
	v, n := 0.0, float64(len(batch))
	for _, i := range batch {
		s := 0.0
		for j, x := range e.a[i] {
			s += w[j] * x
		}
		for k, b := range e.b[i] {
			d := s - b
			v += lambda[k] * d * d / 2 / n
			if gl != nil {
				gl[k] += d * d / 2 / n
			}
			if gw != nil {
				for j, x := range e.a[i] {
					gw[j] += lambda[k] * d * x / n
				}
			}
		}
	}
	return v, nil
}
func (e *examples) Curvature(mu []float64) bool { clear(mu); return true }

func someExamples(n, dim, p int) *examples {
	rng := rand.New(rand.NewPCG(8, uint64(n)))
	e := &examples{}
	for range n {
		e.a, e.b = append(e.a, normal(rng, dim)), append(e.b, normal(rng, p))
	}
	return e
}

// A run that is interrupted after any number of evaluations and resumed through a
// file gives the bits of one that was not.
func TestSaddleResume(t *testing.T) {
	e := someExamples(23, 3, 4)
	for name, m := range map[string]saddle.FirstOrder{
		"mirror-prox": {Batch: 4, Seed: 5, StepW: 0.1, StepLambda: 0.1, W: optim.Ball{Radius: 3}, Suffix: true},
		"gda": {Method: saddle.DescentAscent, Batch: 5, Seed: 5, Steps: saddle.TheoremSteps,
			W: optim.Ball{Radius: 3}},
		"alternating": {Method: saddle.Alternating, Batch: 5, Seed: 2, Steps: saddle.DecreasingSteps},
		"adaptive": {Batch: 3, Seed: 1, Steps: saddle.AdaptiveSteps, Entropic: true, W: optim.Ball{Radius: 3},
			Gap: 1e-9, CheckEvery: 2},
		"backtracked":  {W: optim.Ball{Radius: 3}},
		"whole passes": {Batch: 23, StepW: 0.1, StepLambda: 0.1},
	} {
		w0 := []float64{1, 0, -1}
		control := func() *run.Control { return &run.Control{Stop: run.Stop{Iterations: 12}} }
		want, err := m.Solve(e, w0, nil, control())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, after := range []int{1, 2, 3, 7, 20} {
			var file bytes.Buffer
			ctx, cancel := context.WithCancel(context.Background())
			c := control()
			c.Ctx, c.CheckpointEvery = ctx, 1000
			c.Checkpoint = func(k *run.Checkpoint) error { return k.Write(&file) }
			_, err := m.Solve(&countdown{examples: e, left: after, cancel: cancel}, w0, nil, c)
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: interrupted after %d evaluations: error %v", name, after, err)
			}
			if file.Len() == 0 && m.Steps == saddle.TheoremSteps {
				continue // it was still measuring gradients
			}
			k, err := run.ReadCheckpoint(&file)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			c = control()
			c.Resume = k
			got, err := m.Solve(e, w0, nil, c)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s interrupted after %d evaluations (-straight +resumed):\n%s", name, after, diff)
			}
		}
		other := m
		other.Seed++
		c := control()
		c.Resume = &run.Checkpoint{Solver: m.Method.String(), X: w0,
			Arrays: map[string][]float64{"averageW": w0, "lambda": make([]float64, 4),
				"averageLambda": make([]float64, 4), "passValues": make([]float64, 4)}}
		if _, err := other.Solve(e, w0, nil, c); err == nil {
			t.Errorf("%s: another run's checkpoint was taken", name)
		}
	}
}

// countdown cancels a run during its n-th evaluation.
type countdown struct {
	*examples
	left   int
	cancel func()
}

func (c *countdown) count() {
	if c.left--; c.left == 0 {
		c.cancel()
	}
}
func (c *countdown) Eval(w, lambda, gw, gl []float64) (float64, error) {
	c.count()
	return c.examples.Eval(w, lambda, gw, gl)
}
func (c *countdown) EvalBatch(batch []int, w, lambda, gw, gl []float64) (float64, error) {
	c.count()
	return c.examples.EvalBatch(batch, w, lambda, gw, gl)
}

func TestSmoothedResume(t *testing.T) {
	e := someExamples(23, 3, 4)
	testSmoothedResume(t, e, saddle.Smoothed{W: optim.Ball{Radius: 5}, Gap: 1e-9})
	// Without a set, and bent along all coordinates: every evaluation is certified.
	testSmoothedResume(t, bent{e}, saddle.Smoothed{Gap: 1e-9, Absolute: true})
	testSmoothedResume(t, bent{e}, saddle.Smoothed{Gap: 1e-9, Scale: []float64{1, 0.5, 2},
		Single: true, Memory: 3})
}

// bent is examples with |w|²/20.
type bent struct{ *examples }

func (b bent) Curvature(mu []float64) bool {
	for j := range mu {
		mu[j] = 0.1
	}
	return true
}

func (b bent) Eval(w, lambda, gw, gl []float64) (float64, error) {
	v, err := b.examples.Eval(w, lambda, gw, gl)
	for j, x := range w {
		v += 0.05 * x * x
		if gw != nil {
			gw[j] += 0.1 * x
		}
	}
	return v, err
}

// The bounds that evaluations prove hold the value that another run proves more closely,
// and are as close as was asked for.
func TestSmoothedBounds(t *testing.T) {
	for seed := range 6 {
		e := bent{someExamples(20+seed, 4, 5)}
		box, err := optim.NewBoxSimplex(5, []float64{0.05}, []float64{0.5}, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range []optim.Set{nil, box} {
			// The ball is too large to matter, and leaves the proof to Certify.
			ref, err := saddle.Smoothed{W: optim.Ball{Radius: 100}, Lambda: set, Gap: 1e-8}.Solve(
				e, make([]float64, 4), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, gap := range []float64{1e-1, 1e-3, 1e-6} {
				r, err := saddle.Smoothed{Lambda: set, Gap: gap, Absolute: true}.Solve(e, make([]float64, 4), nil)
				if err != nil {
					t.Fatal(err)
				}
				c := r.Certificate
				if r.Reason != run.GapSmall || c.Gap() > gap || c.Lower > ref.Certificate.Upper+1e-12 ||
					c.Upper < ref.Certificate.Lower-1e-12 {
					t.Errorf("seed %d, gap %g: %v, bounds %v and %v; the value is between %v and %v", seed, gap, r.Reason,
						c.Lower, c.Upper, ref.Certificate.Lower, ref.Certificate.Upper)
				}
				near(t, "what is proved, at its point", upperAt(e, c.W, set), c.Upper, 1e-12)
			}
		}
	}
}

// upperAt is max_λ φ(w, λ).
func upperAt(e bent, w []float64, set optim.Set) float64 {
	values := make([]float64, 5)
	zero := make([]float64, 5)
	v, _ := e.Eval(w, zero, nil, values)
	if set == nil {
		return v + slices.Max(values)
	}
	return v + set.(optim.Maximizer).Maximize(values, nil)
}

func testSmoothedResume(t *testing.T, e saddle.Problem, m saddle.Smoothed) {
	t.Helper()
	w0 := []float64{1, 0, -1}
	var marks []*run.Checkpoint
	want, err := m.Solve(e, w0, &run.Control{CheckpointEvery: 1,
		Checkpoint: func(k *run.Checkpoint) error { marks = append(marks, k); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if len(marks) == 0 {
		t.Fatal("no checkpoints")
	}
	for _, k := range marks {
		var file bytes.Buffer
		if err := k.Write(&file); err != nil {
			t.Fatal(err)
		}
		k, err := run.ReadCheckpoint(&file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Solve(e, w0, &run.Control{Resume: k})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.W, want.W) || !slices.Equal(got.Lambda, want.Lambda) ||
			got.Certificate.Upper != want.Certificate.Upper {
			t.Errorf("resumed after %d rounds: %v %v, straight %v %v", k.Iteration, got.W, got.Lambda,
				want.W, want.Lambda)
		}
	}
}

// Both solvers agree to the gaps that they certify.
func TestSolversAgree(t *testing.T) {
	for seed := range 5 {
		e := someExamples(20+seed, 4, 5)
		ball := optim.Ball{Radius: 2}
		a, err := saddle.Smoothed{W: ball, Gap: 1e-6}.Solve(e, make([]float64, 4), nil)
		if err != nil {
			t.Fatal(err)
		}
		b := solve(t, saddle.FirstOrder{W: ball, Gap: 1e-3}, e, make([]float64, 4), nil, 5000)
		if b.Certificate.Gap() > 1e-3*math.Max(1, b.Certificate.Upper) {
			t.Errorf("mirror-prox certifies %v only", b.Certificate)
		}
		if a.Certificate.Lower > b.Certificate.Upper+1e-12 || b.Certificate.Lower > a.Certificate.Upper+1e-12 {
			t.Errorf("certificates exclude each other: %+v and %+v", a.Certificate, b.Certificate)
		}
		stochastic := solve(t, saddle.FirstOrder{W: ball, Batch: 4, StepW: 0.3, StepLambda: 0.3,
			Steps: saddle.DecreasingSteps, Suffix: true}, e, make([]float64, 4), nil, 400)
		near(t, "stochastic mirror-prox: upper bound", stochastic.Certificate.Upper, a.Certificate.Upper, 0.02)
	}
}

// A run whose steps are too long says which step it was, and what it hands back
// is finite.
func TestDivergence(t *testing.T) {
	game := quadratic(0, 1, 4)
	for _, m := range []saddle.Method{saddle.DescentAscent, saddle.MirrorProx, saddle.Alternating} {
		var at *saddle.DivergenceError
		r, err := saddle.FirstOrder{Method: m, StepW: 10, StepLambda: 1}.Solve(game, []float64{5}, nil, nil)
		if !errors.As(err, &at) || !errors.Is(err, saddle.ErrDiverged) || at.Step < 1 {
			t.Fatalf("%v: error %v", m, err)
		}
		for _, v := range [][]float64{r.W, r.Lambda, r.LastW, r.LastLambda} {
			for _, x := range v {
				if x-x != 0 {
					t.Errorf("%v: a result of %v", m, r)
				}
			}
		}
	}
	calls := 0
	broken := saddle.Func{W: 1, Lambda: 1, F: func(w, lambda, gw, gl []float64) (float64, error) {
		if calls++; calls > 5 {
			gw[0] = math.NaN()
		}
		return 1, nil
	}}
	_, err := saddle.FirstOrder{Method: saddle.DescentAscent, StepW: 0.1}.Solve(broken, []float64{1}, nil, nil)
	var at *saddle.DivergenceError
	if !errors.As(err, &at) || !errors.Is(err, optim.ErrNotFinite) || at.Step != 5 {
		t.Errorf("a NaN after five steps: %v", err)
	}
	// Mirror-prox looks at two points a step: the second of the first step is where that led,
	// and the first of the third where the second did.
	for looks, step := range map[int]int{1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 6: 3} {
		calls := 0
		broken := saddle.Func{W: 1, Lambda: 1, F: func(w, lambda, gw, gl []float64) (float64, error) {
			if calls++; calls == looks {
				return math.Inf(1), nil
			}
			return 1, nil
		}}
		_, err := saddle.FirstOrder{StepW: 0.1}.Solve(broken, []float64{1}, nil, nil)
		if !errors.As(err, &at) || at.Step != step {
			t.Errorf("infinite at look %d: %v, want step %d", looks, err, step)
		}
	}
}

// With λ frozen, gda is the loop that a reader would write, bit for bit; and so it
// is with one objective, whose λ is 1.
func TestFrozenIsPlainTraining(t *testing.T) {
	e := someExamples(23, 3, 1)
	w := []float64{1, 0, -1}
	average := make([]float64, 3)
	n := 0
	for pass := range 4 {
		order := rand.New(rand.NewPCG(9, uint64(pass))).Perm(23)
		for from := 0; from < 23; from += 5 {
			g := make([]float64, 3)
			if _, err := e.EvalBatch(order[from:min(23, from+5)], w, []float64{1}, g, nil); err != nil {
				t.Fatal(err)
			}
			n++
			for j := range w {
				average[j] += 1 / float64(n) * (w[j] - average[j])
				w[j] -= 0.05 * g[j]
			}
		}
	}
	for _, frozen := range []bool{true, false} {
		r := solve(t, saddle.FirstOrder{Method: saddle.DescentAscent, Batch: 5, Seed: 9, StepW: 0.05,
			Frozen: frozen}, e, []float64{1, 0, -1}, nil, 4)
		if !slices.Equal(r.LastW, w) || !slices.Equal(r.W, average) {
			t.Errorf("frozen=%v: %v and %v, the plain loop %v and %v", frozen, r.LastW, r.W, w, average)
		}
		if r.Lambda[0] != 1 {
			t.Errorf("λ of one objective is %v", r.Lambda)
		}
	}
}

func TestOverVertices(t *testing.T) {
	e := someExamples(20, 3, 3)
	unit, err := optim.NewVertices([][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	m := saddle.FirstOrder{Batch: 4, StepW: 0.1, StepLambda: 0.1, W: optim.Ball{Radius: 3}}
	a := solve(t, m, e, make([]float64, 3), nil, 10)
	b := solve(t, m, saddle.OverVertices(e, unit), make([]float64, 3), nil, 10)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("unit vertices differ from the simplex:\n%s", diff)
	}
	// One vertex is a fixed mixture.
	one, err := optim.NewVertices([][]float64{{0.2, 0.5, 0.3}})
	if err != nil {
		t.Fatal(err)
	}
	m.Frozen = true
	a = solve(t, m, e, make([]float64, 3), []float64{0.2, 0.5, 0.3}, 10)
	m.Frozen = false
	b = solve(t, m, saddle.OverVertices(e, one), make([]float64, 3), nil, 10)
	for j := range a.W {
		near(t, "w of one vertex", b.W[j], a.W[j], 1e-12)
	}
}

func TestSaddleRefusals(t *testing.T) {
	e := someExamples(5, 2, 2)
	for name, m := range map[string]saddle.FirstOrder{
		"theorem without a bound":       {Steps: saddle.TheoremSteps},
		"backtracking with minibatches": {Steps: saddle.BacktrackedSteps, Batch: 2},
		"entropy off the simplex":       {Entropic: true, Lambda: optim.Ball{Radius: 1}},
		"negative step":                 {StepW: -1},
		"unknown method":                {Method: "nine"},
	} {
		if _, err := m.Solve(e, make([]float64, 2), nil, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := (saddle.FirstOrder{Gap: 1e-3}).Solve(notConvex{quadratic(1, 2)}, []float64{0}, nil,
		nil); err == nil {
		t.Error("a gap was asked of a problem that is not convex: no error")
	}
	if _, err := (saddle.FirstOrder{}).Solve(e, make([]float64, 3), nil, nil); err == nil {
		t.Error("a start of the wrong length: no error")
	}
	if _, err := (saddle.FirstOrder{Batch: 2}).Solve(quadratic(1, 2), []float64{0}, nil, nil); err == nil {
		t.Error("minibatches of a problem without examples: no error")
	}
}

// The norms that TheoremSteps are made from are those of the first 50 minibatches, or of all
// where there are fewer.
func TestRadiiOfMinibatches(t *testing.T) {
	const batch, seed = 5, 3
	for n, rounds := range map[int]int{23: 5, 600: 50} {
		e := someExamples(n, 3, 4)
		w, lambda := []float64{1, 0, -1}, []float64{0.25, 0.25, 0.25, 0.25}
		order := rand.New(rand.NewPCG(seed, 0)).Perm(n)
		w2, l2 := 0.0, 0.0
		for k := range rounds {
			gw, gl := make([]float64, 3), make([]float64, 4)
			if _, err := e.EvalBatch(order[k*batch:min(n, (k+1)*batch)], w, lambda, gw, gl); err != nil {
				t.Fatal(err)
			}
			for _, g := range gw {
				w2 += g * g / float64(rounds)
			}
			for _, g := range gl {
				l2 += g * g / float64(rounds)
			}
		}
		m := saddle.FirstOrder{Method: saddle.DescentAscent, Batch: batch, Seed: seed, Steps: saddle.TheoremSteps,
			W: optim.Ball{Radius: 3}}
		r, err := m.Solve(e, w, nil, &run.Control{Stop: run.Stop{Iterations: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(r.Radii.NormW-math.Sqrt(w2)) > 1e-12*math.Sqrt(w2) ||
			math.Abs(r.Radii.NormLambda-math.Sqrt(l2)) > 1e-12*math.Sqrt(l2) {
			t.Errorf("%d examples: norms %v and %v, want %v and %v", n, r.Radii.NormW, r.Radii.NormLambda,
				math.Sqrt(w2), math.Sqrt(l2))
		}
	}
}

func normal(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}
