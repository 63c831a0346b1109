package boost

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/run"
)

// literal is one family in the thesis' way, without sampling.
func literal(splits int, lambda float64) *RGBOptions {
	o := Thesis()
	o.Families = []Family{{Splits: splits, Lambda: lambda}}
	o.Beta = -1
	o.Exact = true
	return o
}

func history() (*[]Progress, control) {
	var h []Progress
	return &h, control{Watch: func(p *Progress) error { h = append(h, *p); return nil }}
}

// The golden step at the end of section 5 of the specification.
func TestRGBGolden(t *testing.T) {
	d := &Data{X: numeric([]float32{1, 2, 3, 4}), Y: []float64{1, 1, -1, 1}}
	for _, x := range []struct {
		lambda     float64
		step       StepRule
		D, C, a, L float64
		w          float64
	}{
		{0.1, StepSafe, -0.025, 0.025, 1, 0.6687719203, 0.1},
		{1, StepSafe, -0.125, 0.25, 0.5, 0.6345433002, 0.5},
		{4, StepSafe, -0.125, 1, 0.125, 0.6777662815, 0.5},
		{4, StepTree, -0.125, 0.03125, 4, 0.4100375958, 0.5},
	} {
		o := literal(1, x.lambda)
		o.Step, o.Rounds = x.step, 1
		h, watched := history()
		e := must[*Ensemble](t)(trainRGB(d, o, watched))
		p := (*h)[0]
		name := fmt.Sprintf("lambda %v %s: ", x.lambda, x.step)
		near(t, name+"D", p.Derivative, x.D, 1e-14)
		near(t, name+"C", p.Curvature, x.C, 1e-14)
		near(t, name+"a", p.Step, x.a, 1e-14)
		near(t, name+"loss", p.Loss, x.L, 1e-10)
		tr := e.Terms[0].Predictor.(*tree.Tree)
		near(t, name+"threshold", tr.Threshold[0], 2.5, 0)
		near(t, name+"left leaf", tr.Leaves()[0], x.w, 1e-14)
		near(t, name+"right leaf", tr.Leaves()[1], 0, 1e-14)
	}
}

// Unconstrained least-squares trees: D = -mean h², and the tree step is 1/C_Phi.
// So RGB with one family is plain gradient boosting with shrinkage 1/C_Phi, tree by
// tree; with the squared loss, classical boosting at rate 1.
func TestRGBIsGradientBoosting(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for trial, l := range []Loss{Logistic{}, Squared{}, Logistic{Base2: true}, Huber{Delta: 0.5}} {
		d := randomData(rng, 80, 3, 0)
		o := literal(4, math.Inf(1))
		o.Loss, o.Step, o.Rounds, o.Candidates = l, StepTree, 10, 1
		h, watched := history()
		e := must[*Ensemble](t)(trainRGB(d, o, watched))
		f := make([]float64, d.Rows())
		grown := newExactGrower(d.X, 1)
		for k, p := range *h {
			near(t, "step", p.Step, 1/l.Curvature(1), 1e-12)
			g := make([]float64, len(f))
			l.Gradients(g, nil, d.Y, f)
			gr := grown.grow(g, nil, nil, nil, 4, criterion{minGain: 1e-12})
			s := make([]float64, 5)
			n := make([]float64, 5)
			for i, slot := range gr.slot {
				s[slot] -= g[i]
				n[slot]++
			}
			values := make([]float64, len(f))
			e.Terms[k].Predictor.Predict(values, d.X, 0)
			square := 0.0
			for i, slot := range gr.slot {
				near(t, fmt.Sprintf("loss %d, tree %d, row %d", trial, k, i), values[i], s[slot]/n[slot], 1e-9)
				square += values[i] * values[i] / float64(len(f))
				f[i] += p.Step * values[i]
			}
			near(t, "D", p.Derivative, -square, 1e-9)
			if t.Failed() {
				t.FailNow()
			}
		}
	}
}

// RGB with stumps, the exponential loss, steepest leaves in the ball of the
// maximum norm and a line search is AdaBoost, term by term.
func TestRGBIsAdaBoost(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	data := []*Data{golden()}
	for range 10 {
		data = append(data, randomData(rng, 40, 3, 2))
	}
	for _, d := range data {
		a := must[*Ensemble](t)(trainAdaBoost(d, &AdaBoostOptions{Rounds: 8}))
		o := literal(1, 1)
		o.Loss, o.Q, o.Leaf, o.Step, o.Rounds = Exponential{}, math.Inf(1), LeafSteepest, StepLine, 8
		b := must[*Ensemble](t)(trainRGB(d, o))
		if len(a.Terms) != len(b.Terms) {
			t.Fatalf("%d terms and %d", len(a.Terms), len(b.Terms))
		}
		for k := range a.Terms {
			near(t, "alpha", b.Terms[k].Weight, a.Terms[k].Weight, 1e-7)
			x, y := make([]float64, d.Rows()), make([]float64, d.Rows())
			a.Terms[k].Predictor.Predict(x, d.X, 0)
			b.Terms[k].Predictor.Predict(y, d.X, 0)
			if !slices.Equal(x, y) {
				t.Fatalf("term %d differs:\n%v\n%v", k, x, y)
			}
		}
	}
}

// What the thesis promises of each step: the objective (l1) or the loss (select)
// never rises, and falls at least by max(|D|-c, 0)²/(2C).
func TestRGBDescent(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, q := range []float64{1, 1.5, 2, math.Inf(1)} {
		for _, mode := range []Mode{Select, L1Mode} {
			for _, leaf := range []LeafRule{LeafWeighted, LeafRadial, LeafSteepest, LeafNewton} {
				for _, step := range []StepRule{StepSafe, StepTree, StepLambda2, StepHess, StepLine} {
					d := randomData(rng, 50, 3, 3)
					o := Thesis()
					o.Families = Grid([]int{1, 4, 9}, []float64{0.1, 1, 3})
					o.Q, o.Mode, o.Leaf, o.Step, o.Rounds, o.Beta = q, mode, leaf, step, 6, 0.02
					name := fmt.Sprintf("q=%v %s %s %s", q, mode, leaf, step)
					last := math.Ln2
					watch := func(p *Progress) error {
						value := p.Loss
						if mode == L1Mode {
							value = p.Objective
						}
						if value > last+1e-12 {
							t.Errorf("%s: round %d: rose from %v to %v", name, p.Round, last, value)
						}
						if p.Step > 0 && mode == Select && step != StepHess && step != StepLine {
							least := p.Derivative * p.Derivative / (2 * p.Curvature)
							if last-value < least-1e-12 {
								t.Errorf("%s: round %d: fell by %v, promised %v", name, p.Round, last-value, least)
							}
						}
						if p.Step < 0 {
							t.Errorf("%s: round %d: negative weight %v", name, p.Round, p.Step)
						}
						last = value
						return nil
					}
					e := must[*Ensemble](t)(trainRGB(d, o, control{Watch: watch}))
					for _, term := range e.Terms {
						if norm := Norm(term.Predictor.(*tree.Tree).Leaves(), q); norm > o.Families[term.Family].Lambda*(1+1e-12) {
							t.Errorf("%s: a leaf vector of norm %v in the family %v", name, norm, o.Families[term.Family])
						}
					}
				}
			}
		}
	}
}

// The certificate of l1 mode, with the penalty of the round's own family.
func TestRGBCertificateL1(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 3))
	for _, beta := range []float64{0.001, 0.05, 0.3} {
		d := randomData(rng, 60, 3, 0)
		o := literal(3, 2)
		o.Mode, o.Beta, o.Rounds = L1Mode, beta, 15
		last := math.Ln2
		watch := func(p *Progress) error {
			least := math.Pow(max(math.Abs(p.Derivative)-beta, 0), 2) / (2 * p.Curvature) // one family: Omega~ = 1
			if p.Step > 0 && last-p.Objective < least-1e-12 {
				t.Errorf("beta %v, round %d: fell by %v, promised %v", beta, p.Round, last-p.Objective, least)
			}
			last = p.Objective
			return nil
		}
		must[*Ensemble](t)(trainRGB(d, o, control{Watch: watch}))
	}
}

// Growing to n splits alone gives the prefix of the larger tree.
func TestPrefix(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 3))
	for range 5 {
		d := randomData(rng, 120, 4, 4)
		d.X.Columns[1].Values[3] = float32(math.NaN())
		g := make([]float64, d.Rows())
		for i := range g {
			g[i] = rng.NormFloat64()
		}
		grow := func(n int) *growth {
			gr, err := newGrower(d, false, 255, tree.Options{MaxLeaves: n + 1})
			if err != nil {
				t.Fatal(err)
			}
			if err := gr.Grow(context.Background(), &tree.Target{G: g}); err != nil {
				t.Fatal(err)
			}
			return collect(gr, d.Rows(), nil, 1, nil)
		}
		big := grow(20)
		for n := range 20 {
			small := grow(n)
			leaves := make([]float64, n+1)
			for l := range leaves {
				leaves[l] = float64(l)
			}
			a, b := make([]float64, d.Rows()), make([]float64, d.Rows())
			small.tree(n, leaves).Check(4)
			ta, tb := small.tree(n, leaves), big.tree(n, leaves)
			if ta.Check(4) != nil || tb.Check(4) != nil {
				t.Fatal("not a tree")
			}
			ta.Predict(a, d.X, 0)
			tb.Predict(b, d.X, 0)
			to := big.fold(n)
			for i := range a {
				if a[i] != b[i] || int(b[i]) != int(to[big.slot[i]]) {
					t.Fatalf("n=%d row %d: %v, %v, slot %d", n, i, a[i], b[i], to[big.slot[i]])
				}
			}
		}
	}
}

// beta decides between candidates: a large one always takes the cheapest family
// drawn, none the largest decrease.
func TestRGBBeta(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 3))
	d := randomData(rng, 80, 3, 0)
	for _, beta := range []float64{1e6, -1} {
		o := Thesis()
		o.Beta, o.Rounds, o.Candidates, o.Seed = beta, 30, 5, 9
		o.Step = StepSafe
		e := must[*Ensemble](t)(trainRGB(d, o))
		probe := &rgbRun{training: &training{Run: run.Begin("rgb", nil, 1)}, o: o,
			omega: NormalisedOmega(o.Families, ByMaximum, VCBound, 3, 80),
			draw:  newSampler(o.Sampling.Probabilities(o.Families))}
		cheap, different := 0, 0
		for _, term := range e.Terms {
			probe.TakeUp(&run.Checkpoint{Iteration: term.Round})
			drawn := probe.drawFamilies()
			if !slices.Contains(drawn, term.Family) {
				t.Fatalf("round %d took family %d of %v", term.Round, term.Family, drawn)
			}
			least := slices.MinFunc(drawn, func(a, b int) int {
				switch {
				case probe.omega[a] < probe.omega[b]:
					return -1
				case probe.omega[a] > probe.omega[b]:
					return 1
				}
				return a - b
			})
			if least == term.Family {
				cheap++
			} else {
				different++
			}
		}
		if beta > 0 && different > 0 {
			t.Errorf("beta %v: %d of %d rounds did not take the cheapest family", beta, different, cheap+different)
		}
		if beta < 0 && different == 0 {
			t.Error("without a penalty the cheapest family was always best")
		}
	}
}

// Item 9.2 of the specification: the squared loss, lambda = 4 and the literal
// step diverge as 4, -8, 28, -80, 244; the default step arrives at once.
func TestLiteralStepDiverges(t *testing.T) {
	d := &Data{X: numeric([]float32{1, 1}), Y: []float64{1, 1}}
	for _, x := range []struct {
		step StepRule
		want []float64
	}{{StepLambda, []float64{4, -8, 28, -80, 244}}, {StepLambda2, []float64{1}}, {StepSafe, []float64{1}}} {
		o := literal(0, 4)
		o.Loss, o.Leaf, o.Q, o.Rounds = Squared{}, LeafSteepest, 2, 5
		o.Step = x.step
		if x.step == StepLambda {
			if _, err := trainRGB(d, o); err == nil {
				t.Error("steepest leaves with the literal step were taken")
			}
			// The tree of the demonstration, a constant 4, comes from a learner.
			o.Leaf = LeafWeighted
			o.Families = []Family{{Lambda: 4, Learner: constant(4), Complexity: func(int, int) float64 { return 1 }}}
		}
		e := must[*Ensemble](t)(trainRGB(d, o))
		for k, want := range x.want {
			f := must[[]float64](t)(e.Scores(d.X, &PredictOptions{Rounds: k + 1}))
			near(t, fmt.Sprintf("%s: F after round %d", x.step, k+1), f[0], want, 1e-12)
		}
	}
}

// constant is a learner of one function.
type constant float64

func (c constant) Name() string                           { return "constant" }
func (c constant) Prepare(d *Data, _ int) (Fitter, error) { return constantFitter{c, d}, nil }
func (c constant) Predict(dst []float64, _ *table.Table, _ int) {
	for i := range dst {
		dst[i] = float64(c)
	}
}

type constantFitter struct {
	c constant
	d *Data
}

func (f constantFitter) Fit(_ context.Context, p *Direction) (*Fit, error) {
	return &Fit{Predictor: f.c, Values: slices.Repeat([]float64{float64(f.c)}, f.d.Rows())}, nil
}

// RGB with one family without bound is gradient boosting, tree by tree: with
// least-squares leaves and the tree step, at rate 1/C_Phi; with Newton leaves and
// steps, at the same rate.
func TestRGBIsTrainGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	for _, newton := range []bool{false, true} {
		for _, l := range []Loss{Logistic{}, Squared{}} {
			d := mixed(rng, 150)
			o := literal(6, math.Inf(1))
			o.Loss, o.Step, o.Rounds, o.Exact = l, StepTree, 8, false
			rate := 1 / l.Curvature(1)
			if newton {
				rate = 0.3
				o.Leaf, o.Step, o.LearningRate, o.MinHessian = LeafNewton, StepHess, rate, 0.5
			}
			a := must[*Ensemble](t)(trainRGB(d, o))
			g := &GradientOptions{Loss: l, Rounds: 8, LearningRate: rate, LeastSquares: !newton, Leaves: 7, MinRows: 1, Depth: -1, L2: -1, MinWeight: -1, Start: []float64{0}}
			if newton {
				g.MinWeight = 0.5
			}
			b := must[*Ensemble](t)(trainGradient(d, g))
			if len(a.Terms) != 8 || len(b.Terms) != 8 {
				t.Fatalf("%d and %d terms", len(a.Terms), len(b.Terms))
			}
			for k := range a.Terms {
				x, y := a.Terms[k].Predictor.(*tree.Tree), b.Terms[k].Predictor.(*tree.Tree)
				if !slices.Equal(x.Feature, y.Feature) || !slices.Equal(x.Threshold, y.Threshold) || !slices.Equal(x.Left, y.Left) {
					t.Fatalf("newton=%v %s: tree %d: %v at %v, want %v at %v", newton, l.Name(), k, x.Feature, x.Threshold, y.Feature, y.Threshold)
				}
				near(t, "weight", a.Terms[k].Weight, rate, 1e-9)
				if gap := maxGap(x.Leaves(), y.Leaves()); gap > 1e-9 {
					t.Fatalf("newton=%v %s: tree %d: leaves differ by %v", newton, l.Name(), k, gap)
				}
			}
		}
	}
}

// Candidates of equal score: the cheaper family is taken, whatever its place.
func TestTiesGoToTheCheaperFamily(t *testing.T) {
	d := &Data{X: numeric([]float32{0, 0, 1, 1}), Y: []float64{-1, -1, 1, -1}} // one split is all there is
	for _, splits := range [][]int{{8, 1, 4}, {1, 4, 8}, {8, 4, 1}} {
		o := Thesis()
		o.Rounds, o.Candidates, o.Beta, o.Families = 5, 64, -1, Grid(splits, []float64{1})
		e, err := trainRGB(d, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, term := range e.Terms {
			if f := e.Families[term.Family]; f.Splits != 1 {
				t.Errorf("families of %v splits: a tree is charged to that of %d", splits, f.Splits)
			}
		}
		if len(e.Terms) != 5 {
			t.Errorf("%d terms", len(e.Terms))
		}
	}
}
