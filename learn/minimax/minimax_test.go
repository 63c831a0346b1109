package minimax_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/optimtest"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// blobs draws examples of classes with overlapping means.
func blobs(n, features, classes int, seed uint64) *minimax.Data {
	rng := rand.New(rand.NewPCG(seed, 77))
	d := &minimax.Data{Rows: n, Features: features, Classes: classes}
	means := make([][]float64, classes)
	for c := range means {
		for range features {
			means[c] = append(means[c], rng.NormFloat64())
		}
	}
	for i := range n {
		c := i % classes
		d.Class = append(d.Class, int32(c))
		for j := range features {
			d.X = append(d.X, means[c][j]+1.5*rng.NormFloat64())
		}
	}
	return d
}

func all(t testing.TB, names ...string) []minimax.Loss {
	t.Helper()
	var out []minimax.Loss
	for _, n := range names {
		l, err := score.ParsePointwise(n)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	return out
}

func near(t testing.TB, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %.10g, want %.10g within %g", what, got, want, tol)
	}
}

// The gradient of the game, for every kind of model and reading, against central
// differences; the minibatches of an epoch average to it.
func TestGameGradient(t *testing.T) {
	smooth := []string{"zero-one", "cross-entropy", "squared", "2-norm-prob", "4-norm"}
	kinked := []string{"zero-one", "hinge", "1-norm", "cross-entropy", "huber:0.3", "squared-hinge"}
	for _, classes := range []int{2, 4} {
		for _, hidden := range [][]int{nil, {7}, {6, 5}} {
			for _, multi := range []minimax.MultiClass{minimax.OneVsAll, minimax.Softmax} {
				for _, names := range [][]string{smooth, kinked} {
					name := fmt.Sprintf("%d classes, hidden %v, %s, %v", classes, hidden, multi, names)
					d := blobs(60, 3, classes, 5)
					o := &minimax.Options{Losses: all(t, names...), MultiClass: multi, Hidden: hidden, Beta1: 0.1,
						Beta2: 0.2, ScoreBound: 30, Normalization: minimax.Raw, Workers: 2}
					g, _, _, err := minimax.NewGame(d, o)
					if err != nil {
						t.Fatal(err)
					}
					n, p := g.Dims()
					rng := rand.New(rand.NewPCG(3, 9))
					w, lambda := make([]float64, n), make([]float64, p)
					for j := range w {
						w[j] = 0.5 * rng.NormFloat64()
					}
					for k := range lambda {
						lambda[k] = rng.Float64()
					}
					f := optim.Func{N: n, F: func(x, grad []float64) (float64,
						error) {
						return g.Eval(x, lambda, grad, nil)
					}}
					if hidden == nil && !slices.Contains(names, "hinge") {
						t.Run(name, func(t *testing.T) { optimtest.CheckGradient(t, f, w, 1e-6) })
					} else {
						t.Run(name, func(t *testing.T) { betweenKinks(t, f, w) })
					}
					// φ is linear in λ: the gradient with respect to λ is exact.
					gl, zero := make([]float64, p), make([]float64, p)
					base, _ := g.Eval(w, zero, nil, gl)
					for k := range gl {
						one := make([]float64, p)
						one[k] = 1
						v, _ := g.Eval(w, one, nil, nil)
						near(t, name+": ∂φ/∂λ", gl[k], v-base, 1e-12*math.Max(1, math.Abs(v)))
					}
					// Disjoint batches, the last one smaller.
					full, gw := make([]float64, n), make([]float64, n)
					gl2 := make([]float64, p)
					want, _ := g.Eval(w, lambda, full, nil)
					sum, value := make([]float64, n), 0.0
					order := rng.Perm(60)
					sumL := make([]float64, p)
					for from := 0; from < 60; from += 16 {
						batch := order[from:min(60, from+16)]
						v, err := g.EvalBatch(batch, w, lambda, gw, gl2)
						if err != nil {
							t.Fatal(err)
						}
						share := float64(len(batch)) / 60
						value += share * v
						for j := range gw {
							sum[j] += share * gw[j]
						}
						for k := range gl2 {
							sumL[k] += share * gl2[k]
						}
					}
					near(t, name+": mean over batches", value, want, 1e-10*math.Max(1, math.Abs(want)))
					for j := range sum {
						near(t, name+": mean gradient", sum[j], full[j], 1e-10*math.Max(1, math.Abs(full[j])))
					}
					for k := range sumL {
						near(t, name+": mean values", sumL[k], gl[k], 1e-10*math.Max(1, math.Abs(gl[k])))
					}
				}
			}
		}
	}
}

// betweenKinks compares the gradient with differences along those coordinates where no
// kink is near: where differences of two steps agree. Most are such.
func betweenKinks(t *testing.T, f optim.Objective, w []float64) {
	grad := make([]float64, len(w))
	if _, err := f.Eval(w, grad); err != nil {
		t.Fatal(err)
	}
	x, checked := slices.Clone(w), 0
	at := func(j int, d float64) float64 {
		x[j] = w[j] + d
		v, _ := f.Eval(x, nil)
		x[j] = w[j]
		return v
	}
	for j, g := range grad {
		const h = 1e-5
		left, right := (at(j, 0)-at(j, -h))/h, (at(j, h)-at(j, 0))/h
		if math.Abs(left-right) > 1e-3*math.Max(1, math.Abs(g)) {
			continue
		}
		checked++
		if num := (left + right) / 2; math.Abs(num-g) > 2e-4*math.Max(1, math.Abs(g)) {
			t.Errorf("gradient[%d] = %.9g, differences give %.9g", j, g, num)
		}
	}
	if checked*2 < len(w) {
		t.Errorf("only %d of %d coordinates were between kinks", checked, len(w))
	}
}

// worstOf is the largest entry.
func worstOf(v []float64) float64 { return slices.Max(v) }

// Certified models: the robust one is nowhere worse than any baseline but for its gap,
// objectives with weight have the value of the game, and the two solvers agree.
func TestCertifiedLinear(t *testing.T) {
	for _, classes := range []int{2, 3} {
		for _, losses := range [][]string{{"zero-one", "hinge", "1-norm", "cross-entropy"},
			{"cross-entropy", "squared"}, {"hinge", "1-norm"}} {
			d := blobs(90, 4, classes, 11)
			o := &minimax.Options{Losses: all(t, losses...), Beta1: 1e-2, ScoreBound: 5, Gap: 5e-4,
				Solver: minimax.Smoothed}
			f, err := minimax.Train(d, o)
			if err != nil {
				t.Fatal(err)
			}
			if !f.Certified || f.Gap() > 5e-4*math.Max(1, f.Worst) || f.Gap() < -1e-9 {
				t.Fatalf("%d classes %v: gap %g, %s", classes, losses, f.Gap(), f.Guarantee)
			}
			near(t, "upper bound", f.Certificate.Upper, f.Worst+f.Penalty, 1e-9)
			base, err := minimax.Baselines(d, o)
			if err != nil {
				t.Fatal(err)
			}
			for k, b := range base {
				if b.Worst+b.Penalty < f.Worst+f.Penalty-f.Gap()-1e-9 {
					t.Errorf("%d classes %v: baseline %d is better: %g against %g", classes, losses, k, b.Worst+b.Penalty,
						f.Worst+f.Penalty)
				}
				if metrics.IsDominated(f.Values, [][]float64{b.Values}, 1e-3) && b.Penalty <= f.Penalty {
					t.Errorf("%d classes %v: dominated by baseline %d", classes, losses, k)
				}
			}
			if s := metrics.Slack(f.Values, f.Lambda); s > 5e-3 || s < -1e-12 {
				t.Errorf("%d classes %v: complementarity fails by %g: values %v λ %v", classes, losses, s,
					f.Values, f.Lambda)
			}
			o2 := *o
			o2.Solver, o2.Gap = minimax.DualAscent, 1e-4
			u, err := minimax.Train(d, &o2)
			if err != nil {
				t.Fatal(err)
			}
			if u.Gap() > 1e-4*math.Max(1, u.Worst) || u.Gap() < -1e-9 {
				t.Errorf("%d classes %v: dual ascent certifies %g", classes, losses, u.Gap())
			}
			if u.Certificate.Lower > f.Certificate.Upper+1e-9 || f.Certificate.Lower > u.Certificate.Upper+1e-9 {
				t.Errorf("%d classes %v: certificates exclude each other: %v %v", classes, losses,
					u.Certificate, f.Certificate)
			}
			o2.Solver, o2.Batch, o2.Passes, o2.Gap = minimax.MirrorProx, -1, 3000, 2e-2 // at kinks only 1/√T
			h, err := minimax.Train(d, &o2)
			if err != nil {
				t.Fatal(err)
			}
			if h.Certificate.Lower > f.Certificate.Upper+1e-9 || f.Certificate.Lower > h.Certificate.Upper+1e-9 {
				t.Errorf("%d classes %v: certificates exclude each other: %v %v", classes, losses, h.Certificate.Lower,
					f.Certificate.Upper)
			}
			if h.Gap() > 2e-2*math.Max(1, h.Worst) {
				t.Errorf("%d classes %v: mirror-prox certifies %g only", classes, losses, h.Gap())
			}
			o2.Solver, o2.Batch, o2.Passes = minimax.Auto, 16, 5
			o2.Gap = 1e-3
			h, err = minimax.Train(d, &o2)
			if err != nil {
				t.Fatal(err)
			}
			if h.Gap() > 1e-3*math.Max(1, h.Worst) {
				t.Errorf("%d classes %v: minibatches and the polish certify %g only", classes, losses, h.Gap())
			}
		}
	}
}

// One objective is ordinary training, bit for bit.
func TestOneObjective(t *testing.T) {
	d := blobs(53, 3, 2, 4)
	o := &minimax.Options{Losses: all(t, "cross-entropy"), Solver: minimax.Descent, StepW: 0.2, Batch: 8,
		Passes: 4, Beta1: 0.01, Seed: 6, All: true}
	f, err := minimax.Train(d, o)
	if err != nil {
		t.Fatal(err)
	}
	w, average, n := make([]float64, 4), make([]float64, 4), 0.0
	for pass := range 4 {
		order := rand.New(rand.NewPCG(6, uint64(pass))).Perm(53)
		for from := 0; from < 53; from += 8 {
			batch := order[from:min(53, from+8)]
			g := make([]float64, 4)
			for _, i := range batch {
				x := append(slices.Clone(d.X[3*i:3*i+3]), 1)
				s := 0.0
				for j := range x {
					s += w[j] * x[j]
				}
				y := 2*float64(d.Class[i]) - 1
				for j := range x {
					g[j] -= y * x[j] / (1 + math.Exp(y*s)) / float64(len(batch))
				}
			}
			n++
			for j := range w {
				average[j] += (w[j] - average[j]) / n
				w[j] -= 0.2 * (g[j] + 0.01*w[j])
			}
		}
	}
	for j := range w {
		near(t, "weight", f.Model.Params[j], average[j], 1e-13)
	}
	fixed := *o
	fixed.Fixed = []float64{1}
	h, err := minimax.Train(d, &fixed)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(h.Model.Params, f.Model.Params) || f.Lambda[0] != 1 {
		t.Error("one objective and the fixed mixture (1) differ")
	}
	// A network too.
	o = &minimax.Options{Losses: all(t, "cross-entropy"), Hidden: []int{5}, Batch: 8, Passes: 3, Seed: 6}
	f, err = minimax.Train(d, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Fixed = []float64{1}
	if h, err = minimax.Train(d, o); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(h.Model.Params, f.Model.Params) {
		t.Error("networks of one objective and of the fixed mixture (1) differ")
	}
}

func smoothedFit(t *testing.T, d *minimax.Data, o minimax.Options) *minimax.Fit {
	t.Helper()
	o.Solver = minimax.Smoothed
	if o.Beta1 == 0 {
		o.Beta1 = 1e-2
	}
	if o.Gap == 0 {
		o.Gap = 1e-4
	}
	f, err := minimax.Train(d, &o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestStructureOfTheGame(t *testing.T) {
	d := blobs(80, 3, 2, 21)
	names := []string{"zero-one", "hinge", "1-norm", "cross-entropy"}
	base := minimax.Options{Losses: all(t, names...)}
	f := smoothedFit(t, d, base)

	t.Run("pointwise dominated", func(t *testing.T) {
		// The hinge is never above the 1-norm of the score, and has no weight.
		g := smoothedFit(t, d, minimax.Options{Losses: all(t, "cross-entropy", "hinge", "1-norm"),
			Normalization: minimax.Raw})
		if g.Lambda[1] > 1e-3 {
			t.Errorf("the hinge has weight %g beside the 1-norm", g.Lambda[1])
		}
	})
	t.Run("permuted", func(t *testing.T) {
		g := smoothedFit(t, d, minimax.Options{Losses: all(t, names[3], names[1], names[0], names[2])})
		near(t, "value", g.Worst, f.Worst, 3e-4)
		for k, at := range []int{3, 1, 0, 2} {
			near(t, "permuted value", g.Values[k], f.Values[at], 1e-2)
		}
	})
	t.Run("scaled", func(t *testing.T) {
		losses := all(t, names...)
		h := losses[1]
		ten := minimax.Loss{Name: "ten hinges", Convex: true, Margin: true,
			Lipschitz: func(float64) float64 { return 10 }, Bound: func(b float64) float64 { return 10 * (1 + b) },
			At: func(s, y float64) (float64, float64) { v, d := h.At(s, y); return 10 * v, 10 * d },
			Relax: func(w float64) minimax.Loss {
				r := h.Relax(w / 10)
				at := r.At
				r.At = func(s, y float64) (float64, float64) { v, d := at(s, y); return 10 * v, 10 * d }
				return r
			}}
		losses[1] = ten
		g := smoothedFit(t, d, minimax.Options{Losses: losses})
		for k := range g.Values {
			near(t, "value", g.Values[k], f.Values[k], 1e-6)
		}
	})
	t.Run("twins", func(t *testing.T) {
		twin := all(t, "cross-entropy")[0]
		twin.Name = "again"
		one := smoothedFit(t, d, minimax.Options{Losses: all(t, "cross-entropy"), Gap: 1e-8})
		two := smoothedFit(t, d, minimax.Options{Losses: append(all(t, "cross-entropy"), twin), Gap: 1e-8})
		for j := range one.Model.Params {
			near(t, "weight", two.Model.Params[j], one.Model.Params[j], 1e-3)
		}
	})
	t.Run("handicap", func(t *testing.T) {
		// All M_k are 1: nothing changes.
		o := base
		o.Beta2 = 0.7
		g := smoothedFit(t, d, o)
		near(t, "value with equal constants", g.Worst, f.Worst, 3e-4)
		o.Beta2 = 1000 // nor does it make gaps look small
		h := smoothedFit(t, d, o)
		near(t, "value with large equal constants", h.Worst, f.Worst, 3e-4)
		if h.Gap() > 1e-3*f.Worst {
			t.Errorf("stopped within %v of the best, at %v", h.Gap(), f.Worst)
		}
		// Unequal constants are a game on L_k + β_2 M_k: so are losses with these added.
		o = minimax.Options{Losses: all(t, "cross-entropy", "squared"), Normalization: minimax.Raw,
			ScoreBound: 1, Beta2: 0.1}
		g = smoothedFit(t, d, o)
		sq := all(t, "squared")[0]
		shifted := sq
		shifted.At = func(s, y float64) (float64,
			float64) {
			v, d := sq.At(s, y)
			return v + 0.1*(sq.Lipschitz(1)-1), d
		}
		h = smoothedFit(t, d, minimax.Options{Losses: []minimax.Loss{all(t, "cross-entropy")[0], shifted},
			Normalization: minimax.Raw})
		for j := range g.Model.Params {
			near(t, "weight", g.Model.Params[j], h.Model.Params[j], 2e-2)
		}
		near(t, "upper bound", g.Certificate.Upper, h.Certificate.Upper, 1e-3)
		o.Penalty = minimax.Shy
		s := smoothedFit(t, d, o)
		if s.Values[1] < g.Values[1]-1e-6 {
			t.Errorf("a shy λ makes the loss with the large constant smaller: %v against %v", s.Values, g.Values)
		}
		o.Penalty, o.Beta2 = minimax.Constraint, 1.5
		c := smoothedFit(t, d, o)
		if m := c.Lambda[0] + c.Lambda[1]*sq.Lipschitz(1); m > 1.5+1e-9 {
			t.Errorf("Σ λ_k M_k = %g, at most 1.5 allowed", m)
		}
	})
	t.Run("preferences", func(t *testing.T) {
		unit := minimax.Preferences{Vertices: [][]float64{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}}
		for name, p := range map[string]minimax.Preferences{
			"unit vertices": unit, "box": {Lo: []float64{0}, Hi: []float64{1}}, "ball": {Radius: 1},
			"no cut": {A: [][]float64{{1, 1, 1, 1}}, B: []float64{2}},
		} {
			o := base
			o.Preferences = p
			g := smoothedFit(t, d, o)
			near(t, name+": value", g.Worst, f.Worst, 3e-4)
		}
		// One mixture is that fixed mixture.
		mix := []float64{0.1, 0.2, 0.3, 0.4}
		o := base
		o.Preferences = minimax.Preferences{Vertices: [][]float64{mix}}
		g := smoothedFit(t, d, o)
		o = base
		o.Fixed = mix
		h := smoothedFit(t, d, o)
		for j := range g.Model.Params {
			near(t, "weight", g.Model.Params[j], h.Model.Params[j], 1e-2)
		}
		near(t, "mixed value", g.Worst+g.Penalty, h.Certificate.Upper, 2e-4)
		// A smaller set can only be easier.
		o = base
		o.Preferences = minimax.Preferences{Lo: []float64{0.2}}
		if g := smoothedFit(t, d, o); g.Certificate.Lower > f.Certificate.Upper {
			t.Errorf("a smaller set of preferences has a larger value: %g, %g", g.Certificate.Lower,
				f.Certificate.Upper)
		}
	})
	t.Run("regret", func(t *testing.T) {
		o := base
		o.Normalization = minimax.Regret
		g := smoothedFit(t, d, o)
		for k, v := range g.Values {
			if v+g.Penalty < -1e-3 {
				t.Errorf("regret of objective %d is %g", k, v)
			}
		}
		// Losses without a Lipschitz constant are measured from their least as they are.
		o.Losses = all(t, "squared", "4-norm", "squared-hinge", "huber:2", "cross-entropy")
		h := smoothedFit(t, d, o)
		for k, l := range o.Losses {
			if k < 3 && h.Model.Objectives[k].Scale != 1 {
				t.Errorf("%s is scaled by %g", l.Name, h.Model.Objectives[k].Scale)
			}
			alone := minimax.Options{Losses: []minimax.Loss{l}, Normalization: minimax.Raw}
			if k == 3 {
				alone.Normalization = minimax.Lipschitz
			}
			least := smoothedFit(t, d, alone)
			near(t, l.Name+" alone", h.Model.Objectives[k].Offset, least.Values[0]+least.Penalty, 1e-2)
			if h.Values[k]+h.Penalty < -1e-3 {
				t.Errorf("regret of %s is %g", l.Name, h.Values[k])
			}
		}
		o.Beta2 = 0.1
		if _, err := minimax.Train(d, &o); err == nil ||
			!strings.Contains(err.Error(), "that of squared is not finite") {
			t.Errorf("β_2 with losses of any steepness: %v", err)
		}
		// Zero-one and cross-entropy differ by scale alone here: their regrets agree.
		near(t, "regret of multiples", g.Values[0], g.Values[3], 1e-3)
	})
	t.Run("baseline units", func(t *testing.T) {
		o := base
		o.Normalization = minimax.Baseline
		g := smoothedFit(t, d, o)
		if g.Worst >= 1 || g.Worst <= 0 {
			t.Errorf("the worst objective is %g of what the zero model has", g.Worst)
		}
	})
	t.Run("bounded units", func(t *testing.T) {
		o := base
		o.Normalization, o.Radius = minimax.Bounded, 2
		g := smoothedFit(t, d, o)
		for k, u := range g.Model.Objectives {
			if u.Lipschitz > 1+1e-12 || g.Values[k] > 1 {
				t.Errorf("%s: constant %g and value %g", u.Name, u.Lipschitz, g.Values[k])
			}
		}
		s, err := g.Model.Evaluate(d, 1)
		if err != nil {
			t.Fatal(err)
		}
		b, err := g.Model.Bound(d, s, 2, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if !(b.Vertex > g.Worst) || !(b.Cover > g.Worst) || b.Vertex > g.Worst+10 {
			t.Errorf("bound report %+v for a worst loss of %g", b, g.Worst)
		}
	})
	t.Run("penalty and radius", func(t *testing.T) {
		o := base
		for _, solver := range []minimax.Solver{minimax.Auto, minimax.MirrorProx, minimax.Descent,
			minimax.Smoothed} {
			o.Solver, o.Radius, o.Gap, o.Passes = solver, 0.2, 1e-3, 5
			g, err := minimax.Train(d, &o)
			if err != nil {
				t.Fatal(err)
			}
			sq := 0.0
			for _, v := range g.Model.Params {
				sq += v * v
			}
			if math.Sqrt(sq) > 0.2*(1+1e-9) {
				t.Errorf("%s: the norm is %g, the radius 0.2", solver, math.Sqrt(sq))
			}
		}
	})
	t.Run("norm penalty", func(t *testing.T) {
		o := base
		o.Norm = true
		// |w| gives no curvature, but a ball.
		for _, o.Beta1 = range []float64{1e-4, 1e-2, 0.3, 10} {
			for _, o.Solver = range []minimax.Solver{minimax.Auto, minimax.Smoothed} {
				for _, o.Bias = range []float64{0, 3} {
					o.Passes = 5
					g, err := minimax.Train(d, &o)
					if err != nil {
						t.Fatal(err)
					}
					if !g.Certified || !(g.Gap() <= 1e-3*g.Certificate.Upper) {
						t.Errorf("β_1 %g, bias %g, %q: certified %v, a gap of %v at %v (%v)", o.Beta1, o.Bias, o.Solver,
							g.Certified, g.Gap(), g.Certificate.Upper, g.Guarantee)
					}
				}
			}
		}
		o = minimax.Options{Losses: base.Losses, Norm: true, Radius: 5}
		if g := smoothedFit(t, d, o); !g.Certified || g.Gap() < -1e-12 {
			t.Errorf("in a ball: certified %v, gap %g", g.Certified, g.Gap())
		}
	})
}

// The bound of Theorem 5.4 on real losses.
func TestTheoremSteps(t *testing.T) {
	d := blobs(60, 3, 2, 2)
	o := &minimax.Options{Losses: all(t, "zero-one", "hinge", "1-norm", "cross-entropy"), Radius: 2, Beta1: 1e-3,
		Solver: minimax.Descent, Steps: saddle.TheoremSteps, Batch: 6, All: true}
	last := math.Inf(1)
	for _, passes := range []int{10, 100} {
		o.Passes = passes
		f, err := minimax.Train(d, o)
		if err != nil {
			t.Fatal(err)
		}
		bound := f.Radii.Bound(passes * 10)
		if !(f.Gap() >= 0) || f.Gap() > bound || f.Gap() > last {
			t.Errorf("%d passes: gap %g, bound %g, before %g", passes, f.Gap(), bound, last)
		}
		last = f.Gap()
	}
}

// Domination, ties, and weak Pareto-optimality of what is trained.
func TestPareto(t *testing.T) {
	// Within the tolerance of the least it is the sum that decides, beyond it is not.
	if got := metrics.Choose([][]float64{{1, 0.9}, {1.0005, 0.2}, {1.002, 0}}, 1e-3); got != 1 {
		t.Errorf("Choose takes candidate %d, and not the least sum within the tolerance", got)
	}
	a, b := []float64{1, 0.5}, []float64{1, 0.2}
	if !metrics.IsDominated(a, [][]float64{b}, 1e-9) || metrics.IsDominated(b, [][]float64{a}, 1e-9) ||
		metrics.IsDominated(a, [][]float64{a}, 1e-9) {
		t.Error("A = (1, 0.5) is dominated by B = (1, 0.2), and by nothing else here")
	}
	if got := metrics.Choose([][]float64{a, b, {1.5, 0}}, 1e-9); got != 1 {
		t.Errorf("the tie is broken for candidate %d", got)
	}
	if metrics.Choose(nil, 0) != -1 {
		t.Error("a choice of nothing")
	}
	// Weak Pareto-optimality: nothing near the solution is better in all losses, where the
	// search does find what is better than half of it.
	d := blobs(60, 3, 2, 9)
	o := minimax.Options{Losses: all(t, "hinge", "1-norm", "cross-entropy"), Beta1: 1e-6, Gap: 1e-5}
	f := smoothedFit(t, d, o)
	g, _, _, err := minimax.NewGame(d, &o)
	if err != nil {
		t.Fatal(err)
	}
	at := func(w []float64) []float64 {
		gl := make([]float64, 3)
		if _, err := g.Eval(w, []float64{0, 0, 0}, nil, gl); err != nil {
			t.Fatal(err)
		}
		return gl
	}
	better := func(w []float64) []float64 { // in all losses, and by more than the gap
		rng := rand.New(rand.NewPCG(1, 2))
		values := at(w)
		for range 2000 {
			x := slices.Clone(w)
			for j := range x {
				x[j] += 0.3 * rng.NormFloat64() * rng.Float64()
			}
			gl := at(x)
			if !slices.ContainsFunc([]int{0, 1, 2}, func(k int) bool { return gl[k] > values[k]-1e-4 }) {
				return gl
			}
		}
		return nil
	}
	if found := better(f.Model.Params); found != nil {
		t.Errorf("%v is better than %v in all losses", found, f.Values)
	}
	half := slices.Clone(f.Model.Params)
	for j := range half {
		half[j] /= 2
	}
	if better(half) == nil {
		t.Error("nothing better than half of the solution was found: the search is too weak")
	}
}

// The specification's example of the trap of pointwise dominance, λ = (0.011, 0.009, 0.980) on
// cross-entropy, hinge and 1-norm of scores in raw units: next to nothing but the 1-norm
// counts, and what the hinge has buys nothing. The 1-norm is nowhere below it.
func TestDominanceTrap(t *testing.T) {
	base := minimax.Options{Losses: all(t, "cross-entropy", "hinge", "1-norm"), Normalization: minimax.Raw,
		Beta1: 1e-3, Gap: 1e-5}
	printed, without := base, base
	printed.Fixed, without.Fixed = []float64{0.011, 0.009, 0.980}, []float64{0.011, 0, 0.989}
	alone := 0
	for seed := range uint64(6) {
		d := blobs(80, 3, 2, seed)
		f, p, q := smoothedFit(t, d, base), smoothedFit(t, d, printed), smoothedFit(t, d, without)
		if f.Lambda[1] > 1e-3 {
			t.Errorf("seed %d: the hinge has weight %v", seed, f.Lambda[1])
		}
		if f.Values[1] > f.Values[2] || p.Values[1] > p.Values[2] {
			t.Errorf("seed %d: hinges %v and %v above 1-norms %v and %v", seed, f.Values[1], p.Values[1],
				f.Values[2], p.Values[2])
		}
		if p.Certificate.Lower > q.Certificate.Upper || p.Certificate.Lower > f.Certificate.Upper {
			t.Errorf("seed %d: the example's mixture has the value %v, %v without the hinge, the worst one %v", seed,
				p.Certificate, q.Certificate, f.Certificate)
		}
		if f.Lambda[2] > 0.99 {
			if alone++; p.Certificate.Upper < 0.99*f.Certificate.Lower {
				t.Errorf("seed %d: the example's mixture is not next to the worst: %v of %v", seed, p.Certificate.Upper,
					f.Certificate.Lower)
			}
		}
	}
	if alone < 3 {
		t.Errorf("the 1-norm stood alone in %d of 6 games", alone)
	}
}

// Objectives whose scales differ by 10^9, a constant objective.
func TestWildObjectives(t *testing.T) {
	d := blobs(60, 3, 2, 30)
	huge := all(t, "hinge")[0]
	h := huge.At
	huge.Name, huge.Relax = "huge", nil
	huge.At = func(s, y float64) (float64, float64) { v, g := h(s, y); return 1e9 * v, 1e9 * g }
	huge.Lipschitz = func(float64) float64 { return 1e9 }
	f := smoothedFit(t, d, minimax.Options{Losses: append(all(t, "cross-entropy", "1-norm"), huge), Gap: 1e-3})
	if !f.Certified || f.Gap() > 2e-3 {
		t.Errorf("a loss in units of 1e-9: gap %g", f.Gap())
	}
	if _, err := minimax.Train(d, &minimax.Options{Losses: append(all(t, "cross-entropy", "1-norm"), huge),
		Normalization: minimax.Raw, Solver: minimax.Descent, StepW: 1, Passes: 50}); err != nil {
		var at *saddle.DivergenceError
		if !errors.As(err, &at) {
			t.Errorf("raw units: %v", err)
		}
	}
	constant := minimax.Loss{Name: "constant", Convex: true,
		At: func(s, y float64) (float64, float64) { return 0.9, 0 }, Lipschitz: func(float64) float64 { return 1 },
		Bound: func(float64) float64 { return 0.9 }}
	f = smoothedFit(t, d, minimax.Options{Losses: append(all(t, "cross-entropy"), constant)})
	near(t, "value with a constant 0.9", f.Worst, 0.9, 2e-4)
	flat := constant
	flat.Lipschitz = func(float64) float64 { return 0 }
	if _, err := minimax.Train(d, &minimax.Options{Losses: append(all(t, "cross-entropy"), flat)}); err == nil {
		t.Error("a Lipschitz constant of 0 was divided by")
	}
}

func TestRefusals(t *testing.T) {
	d := blobs(20, 2, 2, 1)
	for name, o := range map[string]*minimax.Options{
		"no losses": {Losses: []minimax.Loss{}},
		"twice":     {Losses: all(t, "hinge", "hinge")},
		"empty box": {Losses: minimax.ThesisLosses(),
			Preferences: minimax.Preferences{Hi: []float64{0.2}}},
		"infeasible": {Losses: minimax.ThesisLosses(),
			Preferences: minimax.Preferences{A: [][]float64{{-1, 0, 0, 0}}, B: []float64{-2}}},
		"no vertices": {Losses: minimax.ThesisLosses(),
			Preferences: minimax.Preferences{Vertices: [][]float64{}}},
		"no mixture": {Losses: minimax.ThesisLosses(),
			Preferences: minimax.Preferences{Vertices: [][]float64{{0.5, 0.4, 0, 0}}}},
		"two sets": {Losses: minimax.ThesisLosses(),
			Preferences: minimax.Preferences{Lo: []float64{0}, Radius: 1}},
		"unbounded":        {Losses: all(t, "squared")},
		"mixture of three": {Losses: minimax.ThesisLosses(), Fixed: []float64{1, 0, 0}},
		"negative mixture": {Losses: minimax.ThesisLosses(), Fixed: []float64{1, 0, -1, 1}},
		"empty mixture":    {Losses: minimax.ThesisLosses(), Fixed: []float64{0, 0, 0, 0}},
		"endless mixture":  {Losses: minimax.ThesisLosses(), Fixed: []float64{1e308, 1e308, 0, 0}},
		"negative least": {Losses: minimax.ThesisLosses(),
			Preferences: minimax.Preferences{Lo: []float64{-1}}},
		"one negative least": {Losses: minimax.ThesisLosses(),
			Preferences: minimax.Preferences{Lo: []float64{0, 0, -1e-3, 0}}},
		"least of constraint": {Losses: minimax.ThesisLosses(),
			Preferences: minimax.Preferences{Lo: []float64{-1}}, Penalty: minimax.Constraint, Beta2: 1},
		"NaN":                  {Losses: minimax.ThesisLosses(), Beta1: math.NaN()},
		"negative":             {Losses: minimax.ThesisLosses(), Beta1: -1},
		"unknown":              {Losses: minimax.ThesisLosses(), Normalization: "other"},
		"unknown solver":       {Losses: minimax.ThesisLosses(), Solver: "other"},
		"unknown mode":         {Losses: minimax.ThesisLosses(), ZeroOne: "other"},
		"unknown classes":      {Losses: minimax.ThesisLosses(), MultiClass: "other"},
		"unknown penalty":      {Losses: minimax.ThesisLosses(), Penalty: "other"},
		"constraint without":   {Losses: minimax.ThesisLosses(), Penalty: minimax.Constraint},
		"network, mirror-prox": {Losses: minimax.ThesisLosses(), Hidden: []int{3}, Solver: minimax.MirrorProx},
		"network, norm":        {Losses: minimax.ThesisLosses(), Hidden: []int{3}, Norm: true},
		"linear, momentum":     {Losses: minimax.ThesisLosses(), Network: minimax.Network{Momentum: 0.9}},
	} {
		if _, err := minimax.Train(d, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	_, err := minimax.Train(d, &minimax.Options{Losses: minimax.ThesisLosses(),
		Preferences: minimax.Preferences{Lo: []float64{0, 0, -1e-3, 0}}})
	if err == nil || !strings.Contains(err.Error(), "least weight of 1-norm") {
		t.Errorf("a negative least weight: %v", err)
	}
	bad := *d
	bad.X = slices.Clone(d.X)
	bad.X[3] = math.NaN()
	if _, err := minimax.Train(&bad, nil); err == nil {
		t.Error("a NaN feature: no error")
	}
	bad = *d
	bad.Classes = 1
	if _, err := minimax.Train(&bad, nil); err == nil {
		t.Error("one class: no error")
	}
	regression := &minimax.Data{X: d.X, Rows: d.Rows, Features: d.Features, Y: make([]float64, d.Rows)}
	if _, err := minimax.Train(regression, nil); err == nil {
		t.Error("the hinge of numbers: no error")
	}
	if _, err := minimax.Train(regression, &minimax.Options{Losses: all(t, "1-norm", "huber:0.1"),
		Beta1: 0.01}); err != nil {
		t.Errorf("regression: %v", err)
	}
}

// Weights of a mixture count by their share.
func TestMixtureOfWeights(t *testing.T) {
	d := blobs(40, 2, 2, 1)
	a := smoothedFit(t, d, minimax.Options{Losses: minimax.ThesisLosses(), Fixed: []float64{5, 0, 0, 5}})
	b := smoothedFit(t, d, minimax.Options{Losses: minimax.ThesisLosses(), Fixed: []float64{0.5, 0, 0, 0.5}})
	if !slices.Equal(a.Model.Params, b.Model.Params) || !slices.Equal(a.Lambda, []float64{0.5, 0, 0, 0.5}) {
		t.Errorf("weights 5, 0, 0, 5 are the mixture %v", a.Lambda)
	}
}

// Same bits for any number of workers, and after an interruption and a resumption
// through a file.
func TestDeterminism(t *testing.T) {
	d := blobs(1500, 5, 3, 17)
	for name, o := range map[string]minimax.Options{
		"linear": {Losses: minimax.ThesisLosses(), Beta1: 1e-3, Batch: 64, Passes: 4},
		"all": {Losses: minimax.ThesisLosses(), Beta1: 1e-2, Batch: -1, Passes: 40,
			Solver: minimax.MirrorProx, Gap: -1, All: true},
		"alternating": {Losses: minimax.ThesisLosses(), Beta1: 1e-3, Batch: 64, Passes: 4,
			Solver: minimax.Alternating, StepW: 0.1, Steps: saddle.DecreasingSteps, Entropic: true},
		"theorem": {Losses: minimax.ThesisLosses(), Radius: 3, Batch: 64, Passes: 4, Solver: minimax.Descent,
			Steps: saddle.TheoremSteps},
		"regret": {Losses: minimax.ThesisLosses(), Beta1: 1e-2, Batch: 64, Passes: 4,
			Normalization: minimax.Regret, Gap: 1e-2},
		"baseline": {Losses: minimax.ThesisLosses(), Hidden: []int{8}, Batch: 64, Passes: 4,
			Normalization: minimax.Baseline},
		"gda": {Losses: minimax.ThesisLosses(), Beta1: 1e-3, Batch: 64, Passes: 4,
			Solver: minimax.Descent, StepW: 0.1},
		"smoothed":   {Losses: minimax.ThesisLosses(), Beta1: 1e-3, Solver: minimax.Smoothed},
		"dual":       {Losses: minimax.ThesisLosses(), Beta1: 1e-2, Solver: minimax.DualAscent, Gap: 2e-4},
		"ball":       {Losses: minimax.ThesisLosses(), Radius: 0.5, Solver: minimax.DualAscent, Gap: 1e-5},
		"loose ball": {Radius: 20, Passes: 1, Gap: 1e-4, Losses: all(t, "cross-entropy", "hinge"), ScoreBound: 5},
		"steep": {Beta1: 1e-2, Passes: 2, Gap: 2e-2, Losses: all(t, "4-norm", "hinge"),
			Normalization: minimax.Raw},
		"row ball": {Losses: minimax.ThesisLosses(), Radius: 0.5, Beta1: 1e-3, Passes: 1, Gap: 1e-4,
			MultiClass: minimax.Softmax},
		"bent": {Beta1: 1e-2, Solver: minimax.DualAscent, Gap: 1e-3,
			Losses: all(t, "squared-hinge", "hinge", "huber:0.5", "1.5-norm"), Normalization: minimax.Baseline},
		"network": {Losses: minimax.ThesisLosses(), Hidden: []int{16, 8}, Batch: 64, Passes: 4,
			Network: minimax.Network{Heldout: blobs(300, 5, 3, 17)}},
		"adam": {Losses: minimax.ThesisLosses(), Hidden: []int{16, 8}, Batch: 64, Passes: 4, StepW: 0.001,
			Network: minimax.Network{Method: optim.Adam}},
	} {
		o.Seed, o.Workers = 3, 1
		want, err := minimax.Train(d, &o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		o.Workers = 3
		got, err := minimax.Train(d, &o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(want.Model.Params, got.Model.Params) || !slices.Equal(want.Lambda, got.Lambda) ||
			!slices.Equal(want.Values, got.Values) {
			t.Errorf("%s: three workers and one give other models", name)
		}
		for _, after := range []int{1, 2, 3} {
			if testing.Short() && (after != 2 || name != "linear" && name != "network") {
				continue // with the race detector; to stop and go on is one goroutine's work
			}
			ctx, cancel := context.WithCancel(context.Background())
			var file bytes.Buffer
			cut := o
			rows := 0
			cut.Control = run.Control{Ctx: ctx, CheckpointEvery: 1,
				Checkpoint: func(k *run.Checkpoint) error { file.Reset(); return k.Write(&file) },
				Recorder: run.RecorderFunc(func(run.Row) error {
					if rows++; rows == after {
						cancel()
					}
					return nil
				})}
			_, err := minimax.Train(d, &cut)
			if err == nil && rows < after {
				break // it was done before
			}
			// these may end with that row
			if !errors.Is(err, context.Canceled) && rows >= after && name != "smoothed" && name != "loose ball" &&
				name != "steep" {
				t.Fatalf("%s: interrupted after %d: %v", name, after, err)
			}
			if err == nil {
				continue
			}
			k, err := run.ReadCheckpoint(&file)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			resumed := o
			resumed.Control = run.Control{Resume: k}
			got, err := minimax.Train(d, &resumed)
			if err != nil {
				t.Fatalf("%s: resumed: %v", name, err)
			}
			if !slices.Equal(want.Model.Params, got.Model.Params) || !slices.Equal(want.Lambda, got.Lambda) {
				t.Errorf("%s: resumed after %d iterations: another model", name, after)
			}
			other := resumed
			other.Beta1 += 0.5
			says := fmt.Sprintf("its l2 is %v, here it is %v", o.Beta1, other.Beta1)
			if _, err := minimax.Train(d, &other); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: another problem's checkpoint was taken, or not told apart by its penalty: %v", name, err)
			}
			changed := *d
			changed.X = slices.Clone(d.X)
			changed.X[7] += 1e-3
			if _, err := minimax.Train(&changed, &resumed); err == nil ||
				!strings.Contains(err.Error(), "its data is") {
				t.Errorf("%s: other data's checkpoint was taken, or not told apart: %v", name, err)
			}
		}
	}
}

// Without a weight of constants a network trains on losses that have none.
func TestNetworkWithoutConstants(t *testing.T) {
	d := blobs(60, 3, 2, 4)
	for _, units := range []minimax.Normalization{minimax.Raw, minimax.Regret} {
		f, err := minimax.Train(d, &minimax.Options{Hidden: []int{4}, StepW: 0.003, Batch: 16, Passes: 3,
			Losses: all(t, "squared", "cross-entropy"), Normalization: units})
		if err != nil {
			t.Fatalf("%s: %v", units, err)
		}
		if !(f.Worst < 10) {
			t.Errorf("%s: worst %v", units, f.Worst)
		}
	}
}

// A network whose steps are too long says so, and no NaN gets into a model.
func TestNetworkDivergence(t *testing.T) {
	d := blobs(200, 4, 3, 3)
	f, err := minimax.Train(d, &minimax.Options{Hidden: []int{20, 20}, StepW: 1e4, Batch: 16, Passes: 20,
		Losses: all(t, "squared", "cross-entropy"), ScoreBound: 10})
	var at *saddle.DivergenceError
	if !errors.As(err, &at) || at.Step < 1 {
		t.Fatalf("error %v", err)
	}
	if f != nil {
		for _, v := range f.Model.Params {
			if v-v != 0 {
				t.Fatal("a weight that is not finite")
			}
		}
	}
}

// Neither is a model handed out whose last step led astray: to what is not finite, or far
// above where it came from. Steps in between that a run recovers from are its own affair.
func TestNetworkLastStep(t *testing.T) {
	d := blobs(400, 5, 2, 3)
	for _, batch := range []int{400, 128} {
		for _, passes := range []int{1, 2} {
			for _, l2 := range []float64{0, 1e-4} {
				for _, rate := range []float64{1e-2, 1e3, 1e6, 1e12, 1e30, 3e38, 1e39, 1e300} {
					for _, method := range []optim.Method{optim.SGD, optim.Adam} {
						name := fmt.Sprintf("batch %d, %d passes, l2 %g, rate %g, %v", batch, passes, l2, rate, method)
						f, err := minimax.Train(d, &minimax.Options{Losses: minimax.ThesisLosses(), Hidden: []int{8},
							StepW: rate, Batch: batch, Passes: passes, Beta1: l2, Seed: 1,
							Network: minimax.Network{Method: method}})
						if rate < 1 {
							if err != nil || !(f.Worst < 2) {
								t.Errorf("%s: %v", name, err)
							}
							continue
						}
						var at *saddle.DivergenceError
						if err == nil {
							if rate >= 1e12 || !(f.Worst < 4) || method == optim.SGD && rate >= 1e6 && passes*(400/batch) == 1 {
								t.Errorf("%s: a model with worst %v", name, f.Worst)
							}
						} else if passes == 1 && errors.As(err, &at) && at.StepW != rate {
							t.Errorf("%s: a step of length %v", name, at.StepW)
						} else if most := passes * ((400 + batch - 1) / batch); !errors.As(err, &at) ||
							at.Step < 1 || at.Step > most {
							t.Errorf("%s: %v", name, err)
						}
					}
				}
			}
		}
	}
}

func TestModelFile(t *testing.T) {
	for _, classes := range []int{2, 3} {
		d := blobs(90, 4, classes, 8)
		o := &minimax.Options{Losses: minimax.ThesisLosses(), Beta1: 0.01, Solver: minimax.Smoothed}
		f, err := minimax.Train(d, o)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := f.Model.Write(&b); err != nil {
			t.Fatal(err)
		}
		m, err := minimax.Read(&b)
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.Evaluate(d, 2)
		if err != nil {
			t.Fatal(err)
		}
		for k := range s.Values {
			near(t, "value after reading", s.Values[k], f.Values[k], 1e-12)
			near(t, "raw value after reading", s.Raw[k], f.Raw[k], 1e-9)
		}
		scores, err := m.Scores(d.X, 1)
		if err != nil {
			t.Fatal(err)
		}
		wrong := 0
		outputs := m.Outputs()
		for i, c := range d.Class {
			if m.Class(scores[i*outputs:(i+1)*outputs]) != int(c) {
				wrong++
			}
		}
		near(t, "error", s.Error, float64(wrong)/90, 1e-12)
		if surrogate := s.Raw[0]; surrogate < s.Error {
			t.Errorf("the zero-one surrogate %g is below the error %g", surrogate, s.Error)
		}
		bad := *f.Model
		bad.Params = slices.Clone(bad.Params)
		bad.Params[1] = math.NaN()
		if err := bad.Write(&bytes.Buffer{}); err == nil {
			t.Error("a model with a NaN was written")
		}
	}
}

// A model file says which mixtures the model is robust to, and its account is of these.
func TestModelKeepsPreferences(t *testing.T) {
	d := blobs(90, 3, 3, 8)
	for name, o := range map[string]minimax.Options{
		"simplex": {Losses: minimax.ThesisLosses()},
		"least":   {Losses: minimax.ThesisLosses(), Preferences: minimax.Preferences{Lo: []float64{0.2}}},
		"box": {Losses: minimax.ThesisLosses(),
			Preferences: minimax.Preferences{Lo: []float64{0, 0.1, 0, 0}, Hi: []float64{1, 1, 0.3, 1}}},
		"vertices": {Losses: minimax.ThesisLosses(),
			Preferences: minimax.Preferences{Vertices: [][]float64{{0.5, 0.5, 0, 0}, {0.1, 0.2, 0.3, 0.4}}}},
		"inequalities": {Losses: minimax.ThesisLosses(),
			Preferences: minimax.Preferences{A: [][]float64{{0, 1, 1, 0}}, B: []float64{0.4}}},
		"ball": {Losses: minimax.ThesisLosses(), Preferences: minimax.Preferences{Radius: 0.6}},
		"constraint": {Losses: minimax.ThesisLosses(), Preferences: minimax.Preferences{Lo: []float64{0.05}},
			Penalty: minimax.Constraint, Beta2: 1.2},
		"mixture": {Losses: minimax.ThesisLosses(), Preferences: minimax.Preferences{Hi: []float64{0.4}},
			Fixed: []float64{1, 0, 0, 0}},
	} {
		o.Beta1, o.Solver, o.Gap = 0.01, minimax.Smoothed, 1e-2
		f, err := minimax.Train(d, &o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var b bytes.Buffer
		if err := f.Model.Write(&b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m, err := minimax.Read(&b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s, err := m.Evaluate(d, 1)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		near(t, name+": worst after reading", s.Worst, f.Worst, 1e-9)
		near(t, name+": largest", s.Largest, slices.Max(s.Values), 0)
		if (s.Worst < s.Largest-1e-6) != (name != "simplex") {
			t.Errorf("%s: worst %v, largest %v", name, s.Worst, s.Largest)
		}
		bad := *f.Model
		bad.Preferences = minimax.Preferences{Lo: []float64{0.5}}
		b.Reset()
		if err := bad.Write(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := minimax.Read(&b); err == nil || !strings.Contains(err.Error(), "preferences") {
			t.Errorf("impossible preferences were read: %v", err)
		}
	}
}
