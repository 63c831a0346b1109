package boost

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim/score"

	"github.com/tropica-fst/tropica/learn/run"
)

// What follows pins what no model's bytes and no average loss would show to be gone: the counts
// that end a run, bounds of curvature at the point where they are equalities, the halving of
// steps, and what bounds charge.

// resumedRounds trains to the end, and again from the checkpoint after each round that kept
// says, through its file; it returns the rounds that each run ended after, the unbroken one's
// first.
func resumedRounds(t *testing.T, kept func(round int) bool, train func(c control) error) []int {
	t.Helper()
	var ends []int
	last := 0
	watch := func(p *Progress) error { last = p.Round; return nil }
	var files [][]byte
	err := train(control{Watch: watch, CheckpointEvery: 1, Checkpoint: func(c *run.Checkpoint) error {
		if kept(c.Iteration) {
			var b bytes.Buffer
			if err := c.Write(&b); err != nil {
				return err
			}
			files = append(files, b.Bytes())
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for ends = append(ends, last); len(files) > 0; files = files[1:] {
		c := must[*run.Checkpoint](t)(run.ReadCheckpoint(bytes.NewReader(files[0])))
		last = c.Iteration
		if err := train(control{Watch: watch, Resume: c}); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, last)
	}
	return ends
}

// A resumed run waits no longer for a lower validation loss than the unbroken one.
func TestResumedRunKeepsItsPatience(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	d, valid := randomData(rng, 60, 3, 0), randomData(rng, 60, 3, 0)
	const patience = 8
	var best int
	ends := resumedRounds(t, func(round int) bool { return round%3 == 0 }, func(c control) error {
		c.Valid, c.Patience = valid, patience
		e, err := trainGradient(d, &GradientOptions{Rounds: 300, LearningRate: 0.5, Depth: 4}, c)
		best = e.Rounds()
		return err
	})
	if len(ends) < 4 || ends[0] != best+patience || ends[0] >= 300 {
		t.Fatalf("runs ended after %v rounds, the best %d: the case shows nothing", ends, best)
	}
	for _, n := range ends[1:] {
		if n != ends[0] {
			t.Errorf("the unbroken run ended after %d rounds, resumed ones after %v", ends[0], ends[1:])
			break
		}
	}
}

// Nor does it count idle rounds afresh.
func TestResumedRunKeepsItsIdleRounds(t *testing.T) {
	d := randomData(rand.New(rand.NewPCG(21, 2)), 60, 3, 0)
	ends := resumedRounds(t, func(round int) bool { return round%2 == 0 }, func(c control) error {
		_, err := trainRGB(d, &RGBOptions{Rounds: 100, Mode: L1Mode, Beta: 1e6, IdleStop: 7}, c)
		return err
	})
	if len(ends) != 4 {
		t.Fatalf("%v", ends)
	}
	for _, n := range ends {
		if n != 7 {
			t.Errorf("of 7 idle rounds allowed, runs ended after %v", ends)
			break
		}
	}
}

// overshooting is a table for which a Newton step from the best constant goes far beyond the
// minimum: where the second derivative is smallest, half the labels are of each class.
func overshooting(copies int) *Data {
	n := 200 * copies
	d := &Data{X: numeric(make([]float32, n)), Y: make([]float64, n)}
	for i := range n {
		d.Y[i] = -1
		if i%200 < 2 {
			d.X.Columns[0].Values[i] = 1
			d.Y[i] = float64(1 - 2*(i%200))
		}
	}
	return d
}

// The default step is Newton's, which descends only by being halved: on all rows, and on
// a sample that is compared on other rows.
func TestNewtonStepsDescend(t *testing.T) {
	d := overshooting(20)
	for _, rows := range []float64{1, 0.5} {
		o := &RGBOptions{Rounds: 6, LearningRate: 1, RowSample: rows, MinHessian: -1, Beta: -1,
			Families: Grid([]int{1}, []float64{4})}
		start := score.Mean(Logistic{}, d.Y, nil, repeat(Logistic{}.Start(d.Y, nil), d.Rows()), 1)
		h, watched := history()
		must[*Ensemble](t)(trainRGB(d, o, watched))
		before := start
		for k, p := range *h {
			// On a sample the loss of all rows may rise a little where that of the sample falls.
			if slack := 2 * (1 - rows) / 10; !(p.Loss <= before*(1+slack)) {
				t.Errorf("%v of the rows, round %d: the loss rises from %v to %v", rows, k+1, before, p.Loss)
			}
			if k == 0 {
				// Without the halving it would have: the full step is -D/C.
				full := -p.Derivative / p.Curvature
				if p.Step <= 0 || p.Step > full/2 {
					t.Errorf("%v of the rows: the step is %v of %v: the case shows nothing", rows, p.Step, full)
				}
			}
			before = p.Loss
		}
	}
}

// alternating are labels of k classes by one column, as many rows of each.
func alternating(rows, k int) *Data {
	d := &Data{X: numeric(make([]float32, rows)), Y: make([]float64, rows)}
	for i := range rows {
		d.Y[i] = float64(i % k)
		d.X.Columns[0].Values[i] = float32(i % k)
	}
	return d
}

// With two classes the trees of both are opposite, and the bound of the second derivative along
// them, 2 Σ p(1-p) h², is the second derivative itself: as it is by differences.
func TestSoftMaxCurvatureIsExact(t *testing.T) {
	for k := 2; k <= 4; k++ {
		d := alternating(24, k)
		l := SoftMax{Classes: k}
		o := literal(k-1, 4)
		o.Loss, o.Step, o.Rounds, o.Leaf, o.MinHessian = l, StepHess, 1, LeafWeighted, -1
		h, watched := history()
		e := must[*Ensemble](t)(trainRGB(d, o, watched))
		p := (*h)[0]
		direction := make([]float64, d.Rows()*k)
		for _, term := range e.Terms {
			v := make([]float64, d.Rows())
			term.Predictor.Predict(v, d.X, 0)
			for i := range v {
				direction[i*k+term.Output] = v[i]
			}
		}
		at := func(a float64) float64 {
			f := make([]float64, len(direction))
			for i, v := range direction {
				f[i] = a * v
			}
			return score.Mean(l, d.Y, nil, f, 1)
		}
		const eps = 1e-3
		second := (at(eps) - 2*at(0) + at(-eps)) / (eps * eps)
		if !(p.Curvature >= second*(1-1e-5)) {
			t.Errorf("%d classes: curvature %v is below the second derivative %v", k, p.Curvature, second)
		}
		if k == 2 {
			near(t, "curvature", p.Curvature, second, 1e-5)
			near(t, "step", p.Step, -p.Derivative/second, 1e-5)
		}
	}
}

// Hölder's bounds are at least C(h) = mean C_Phi Σ_c h_c²; with two balanced classes all |h| are
// one number and (2,2) and (inf,1) are equalities, as (1,inf) always is for this loss.
func TestHoelderInSeveralScores(t *testing.T) {
	for k := 2; k <= 4; k++ {
		d := alternating(24, k)
		c := map[Hoelder]float64{}
		for _, rule := range []Hoelder{HoelderExact, HoelderOneInf, HoelderInfOne, HoelderTwoTwo} {
			o := literal(k-1, 4)
			o.Loss, o.Step, o.Rounds, o.Hoelder = SoftMax{Classes: k}, StepTree, 1, rule
			h, watched := history()
			must[*Ensemble](t)(trainRGB(d, o, watched))
			c[rule] = (*h)[0].Curvature
			if !(c[rule] >= c[HoelderExact]*(1-1e-12)) {
				t.Errorf("%d classes: %q bounds C(h) = %v by %v", k, rule, c[HoelderExact], c[rule])
			}
			if k == 2 {
				near(t, string(rule), c[rule], c[HoelderExact], 1e-12)
			}
		}
		if c[HoelderExact] <= 0 {
			t.Errorf("%d classes: C(h) is %v", k, c[HoelderExact])
		}
	}
}

// Tight charging takes the least Omega~ of all families that hold a tree, wherever it stands in
// the grid: penalties are the sum over the model's own trees.
func TestTightChargesTheLeast(t *testing.T) {
	d := randomData(rand.New(rand.NewPCG(21, 3)), 200, 3, 0)
	families := Grid([]int{6, 2, 4}, []float64{2, 0.3, 4, 1})
	omega := NormalisedOmega(families, ByMaximum, VCBound, 3, 200)
	o := &RGBOptions{Rounds: 25, Tight: true, Families: families, Sampling: Uniformly, Beta: 0.01,
		Leaf: LeafWeighted, Step: StepTree}
	h, watched := history()
	e := must[*Ensemble](t)(trainRGB(d, o, watched))
	want, cheaper := 0.0, 0
	for _, term := range e.Terms {
		tr := term.Predictor.(Sized)
		least := math.Inf(1)
		for k, f := range families {
			if tr.Splits() <= f.Splits && Norm(tr.Leaves(), 2) <= f.Lambda {
				least = min(least, omega[k])
			}
		}
		if least < omega[term.Family] {
			cheaper++
		}
		want += math.Abs(term.Weight) * least
	}
	last := (*h)[len(*h)-1]
	near(t, "penalties", (last.Objective-last.Loss)/o.Beta, want, 1e-9)
	if cheaper < 5 {
		t.Errorf("only %d trees lie in a cheaper family than their own: the case shows nothing", cheaper)
	}
}

// The report charges a tree to the family of the least Omega in whatever order the grid is, and
// a start score as |F0|/lambda leaves of the family with the least.
func TestBoundsChargeAnyOrderAndTheStart(t *testing.T) {
	d := randomData(rand.New(rand.NewPCG(3, 1)), 50, 1, 0)
	stump := leaf(0)
	stump.Feature, stump.Threshold = []int32{0, -1, -1}, []float64{0, 0, 0}
	stump.Left, stump.Right, stump.Flags = []int32{1, -1, -1}, []int32{2, -1, -1}, make([]uint8, 3)
	stump.Value, stump.Gain, stump.Cover, stump.Count = []float64{0, 0.9, -0.9}, make([]float64, 3),
		make([]float64, 3), make([]int32, 3)
	for _, grid := range [][]Family{
		{{Splits: 1, Lambda: 1.5}, {Splits: 1, Lambda: 2}, {Splits: 2, Lambda: 1.5}, {Splits: 2, Lambda: 0.5}},
		{{Splits: 2, Lambda: 0.5}, {Splits: 2, Lambda: 1.5}, {Splits: 1, Lambda: 2}, {Splits: 1, Lambda: 1.5}},
		{{Splits: 1, Lambda: 2}, {Splits: 1, Lambda: 1.5}, {Splits: 2, Lambda: 0.5}, {Splits: 2, Lambda: 1.5}},
	} {
		for _, start := range []float64{0, 1.5, -1.5} {
			e := &Ensemble{Loss: Logistic{}, Schema: SchemaOf(d.X), Start: []float64{start}, Rows: 50,
				Terms: []Term{{Weight: -2, Predictor: stump, Family: 0}}}
			r := must[*BoundReport](t)(Bounds(e, d, &BoundOptions{Grid: grid, Q: 2, Rho: []float64{0.5}}))
			// |F0| = 1.5 is three leaves of 0.5.
			leaves := math.Abs(start) / 0.5
			near(t, "weights", r.WeightSum, 2+leaves, 1e-14)
			tree, constant := Omega(VCBound, 1, 1.5, 1, 50), Omega(VCBound, 2, 0.5, 1, 50)
			near(t, "complexity", r.Terms[0].Complexity, 4/0.5*(2*tree+leaves*constant)/(2+leaves), 1e-12)
			f := must[[]float64](t)(e.Scores(d.X, nil))
			count := 0.0
			for i, y := range d.Y {
				if y*f[i]/(2+leaves) <= 0.5 {
					count++
				}
			}
			near(t, "empirical part", r.Terms[0].Empirical, count/50, 1e-15)
		}
	}
}

// Where the penalty is part of the objective, a Newton step is halved until the two together
// do not rise: the loss alone would allow more.
func TestNewtonStepsDescendWithTheirPenalty(t *testing.T) {
	d := overshooting(20)
	for _, c := range []struct{ lambda, beta float64 }{{4, 0.001}, {4, 0.003}, {16, 0.05}, {64, 0.05}} {
		o := &RGBOptions{Rounds: 4, LearningRate: 1, RowSample: 1, MinHessian: -1, Mode: L1Mode, Beta: c.beta,
			Families: Grid([]int{1}, []float64{c.lambda})}
		h, watched := history()
		e := must[*Ensemble](t)(trainRGB(d, o, watched))
		start := score.Mean(Logistic{}, d.Y, nil, repeat(e.Start, d.Rows()), 1)
		before := start
		for k, p := range *h {
			if p.Objective > before*(1+1e-12) {
				t.Errorf("%v, round %d: the objective rises from %v to %v", c, k+1, before, p.Objective)
			}
			before = p.Objective
		}
		first := *e
		first.Terms = []Term{e.Terms[0]}
		first.Terms[0].Weight *= 2
		loss := score.Mean(Logistic{}, d.Y, nil, must[[]float64](t)(first.Scores(d.X, nil)), 1)
		if penalty := c.beta * first.Terms[0].Weight; loss > start || loss+penalty <= start {
			t.Errorf("%v: twice the first step takes the loss from %v to %v, the penalty to %v: the case shows nothing", c, start, loss, penalty)
		}
	}
}

// A run ends after that many idle rounds in a row, not in all.
func TestIdleRoundsCountInARow(t *testing.T) {
	const most = 3
	scattered := false
	for seed := range uint64(6) {
		// Steps from left-out rows against a tree that has learned noise are none.
		d := randomData(rand.New(rand.NewPCG(21, 30+seed)), 40, 2, 0)
		o := &RGBOptions{Rounds: 60, StepRows: HeldOut, RowSample: 0.5, IdleStop: most, Seed: seed}
		h, watched := history()
		must[*Ensemble](t)(trainRGB(d, o, watched))
		idle, all := 0, 0
		for _, p := range *h {
			if idle == most {
				t.Errorf("seed %d: round %d follows %d idle ones", seed, p.Round, most)
			}
			if idle++; p.Step != 0 {
				idle = 0
			} else {
				all++
			}
		}
		if idle < most && len(*h) < o.Rounds {
			t.Errorf("seed %d: the run ends after %d rounds, the last %d idle", seed, len(*h), idle)
		}
		scattered = scattered || all > most && idle < all
	}
	if !scattered {
		t.Error("no run has more idle rounds than end it: the case shows nothing")
	}
}

// The step comes from the rows that it is said to come from: the derivatives of the sample
// and of the rest add up to that of all rows.
func TestStepRows(t *testing.T) {
	d := mixed(rand.New(rand.NewPCG(21, 40)), 200)
	const share = 0.7
	derivative := map[Rows]float64{}
	var e *Ensemble
	for _, rows := range []Rows{Training, HeldOut} {
		o := &RGBOptions{Rounds: 1, ZeroStart: true, RowSample: share, StepRows: rows, Candidates: 1,
			LearningRate: 1, Families: Grid([]int{6}, []float64{4})}
		h, watched := history()
		e = must[*Ensemble](t)(trainRGB(d, o, watched))
		derivative[rows] = (*h)[0].Derivative
	}
	f := must[[]float64](t)(e.Scores(d.X, nil))
	all := 0.0
	for i, y := range d.Y {
		all -= y / 2 * f[i] / e.Terms[0].Weight / float64(d.Rows())
	}
	near(t, "derivative of all rows", share*derivative[Training]+(1-share)*derivative[HeldOut], all, 1e-12)
	if math.Abs(derivative[Training]-derivative[HeldOut]) < 1e-3 {
		t.Errorf("derivatives %v: the case shows nothing", derivative)
	}
}

// With Tight a tree is charged to the smallest family that holds it, in the norm of the run.
func TestTightChargesByTheNorm(t *testing.T) {
	d := mixed(rand.New(rand.NewPCG(21, 50)), 200)
	families := Grid([]int{2, 6}, []float64{0.2, 0.4, 0.8, 1.2, 4})
	omega := NormalisedOmega(families, ByMaximum, VCBound, len(d.X.Columns), d.Rows())
	different := 0
	for _, q := range []float64{1, 2, 3, math.Inf(1)} {
		o := &RGBOptions{Rounds: 12, ZeroStart: true, Tight: true, Q: q, Beta: 0.01, Families: families}
		h, watched := history()
		e := must[*Ensemble](t)(trainRGB(d, o, watched))
		charge := func(i int, q float64) float64 {
			leaves := e.Terms[i].Predictor.(Sized)
			least := omega[e.Terms[i].Family]
			for k, f := range families {
				if leaves.Splits() <= f.Splits && Norm(leaves.Leaves(), q) <= f.Lambda {
					least = min(least, omega[k])
				}
			}
			return least
		}
		penalties, at := 0.0, 0
		for _, p := range *h {
			if p.Step == 0 {
				continue
			}
			penalties += p.Step * charge(at, q)
			if charge(at, q) != charge(at, 2) {
				different++
			}
			at++
			near(t, "penalties", (p.Objective-p.Loss)/o.Beta, penalties, 1e-9)
		}
	}
	if different < 5 {
		t.Errorf("in %d rounds the norm makes a difference: the case shows little", different)
	}
}
