package boost

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/run"

	"github.com/tropica-fst/tropica/learn/optim/score"
)

// The golden table of section 1 of the specification.
func TestAdaBoostGolden(t *testing.T) {
	var got []Progress
	e := must[*Ensemble](t)(trainAdaBoost(golden(),
		&AdaBoostOptions{Rounds: 4}, control{Watch: func(p *Progress) error {
			got = append(got, *p)
			return nil
		}}))
	want := []struct {
		sign, threshold, eps, alpha, z, loss float64
	}{
		{1, 2.5, 0.1666666667, 0.8047189562, 0.7453559925, 0.7453559925},
		{1, 5.5, 0.2000000000, 0.6931471806, 0.8000000000, 0.5962847940},
		{-1, 4.5, 0.1875000000, 0.7331685344, 0.7806247498, 0.4654746681},
		{1, 2.5, 0.1923076923, 0.7175422626, 0.7882269820, 0.3668996929},
	}
	if len(e.Terms) != 4 || len(got) != 4 {
		t.Fatalf("%d terms, %d rounds", len(e.Terms), len(got))
	}
	product := 1.0
	for i, w := range want {
		near(t, fmt.Sprintf("alpha %d", i+1), e.Terms[i].Weight, w.alpha, 1e-10)
		near(t, fmt.Sprintf("loss %d", i+1), got[i].Loss, w.loss, 1e-10)
		eps := (got[i].Derivative/product + 1) / 2 // Z-bar/m is the loss before
		near(t, fmt.Sprintf("eps %d", i+1), eps, w.eps, 1e-10)
		product *= 2 * math.Sqrt(eps*(1-eps))
		near(t, fmt.Sprintf("product of Z %d", i+1), product, w.loss, 1e-10)
		h := make([]float64, 2)
		e.Terms[i].Predictor.Predict(
			h, numeric([]float32{float32(w.threshold) - 0.25, float32(w.threshold) + 0.25}), 0)
		if h[0] != w.sign || h[1] != -w.sign {
			t.Errorf("stump %d is %v around %v", i+1, h, w.threshold)
		}
	}
}

// The error of h_t under the next round's weights is exactly one half, the
// zero-one error is below the exponential loss, and no stump does better than
// the one chosen.
func TestAdaBoostIdentities(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		d := randomData(rng, 30, 3, 2)
		var losses []float64
		e, err := trainAdaBoost(d, &AdaBoostOptions{
			Rounds: 12}, control{Watch: func(p *Progress) error { losses = append(losses, p.Loss); return nil }})
		if err != nil {
			t.Fatal(err)
		}
		f := make([]float64, d.Rows())
		for k, term := range e.Terms {
			weights, total := make([]float64, len(f)), 0.0
			for i := range f {
				weights[i] = math.Exp(-d.Y[i] * f[i])
				total += weights[i]
			}
			h := make([]float64, len(f))
			term.Predictor.Predict(h, d.X, 0)
			eps := 0.0
			for i := range h {
				if h[i] != d.Y[i] {
					eps += weights[i] / total
				}
			}
			if least := leastStumpError(d, weights) / total; eps > least+1e-12 {
				t.Fatalf("round %d: error %v, some stump has %v", k+1, eps, least)
			}
			after, next := 0.0, 0.0
			for i := range f {
				f[i] += term.Weight * h[i]
				w := math.Exp(-d.Y[i] * f[i])
				next += w
				if h[i] != d.Y[i] {
					after += w
				}
			}
			near(t, "error under the next weights", after/next, 0.5, 1e-9)
			near(t, "loss", losses[k], next/float64(len(f)), 1e-12)
			if err := score.ErrorRate(e.Loss, d.Y, nil, f); err > losses[k]+1e-12 {
				t.Fatalf("error %v above the loss %v", err, losses[k])
			}
		}
	}
}

// leastStumpError tries every stump and constant.
func leastStumpError(d *Data, w []float64) float64 {
	best := math.Inf(1)
	try := func(left func(i int) bool) {
		for _, s := range []float64{1, -1} {
			wrong := 0.0
			for i, y := range d.Y {
				h := -s
				if left(i) {
					h = s
				}
				if h != y {
					wrong += w[i]
				}
			}
			best = min(best, wrong)
		}
	}
	try(func(int) bool { return true })
	for _, c := range d.X.Columns {
		for _, v := range c.Values {
			try(func(i int) bool { return c.Values[i] <= v })
		}
	}
	return best
}

// A separable table ends with one term of the largest weight; one class gives a
// constant; labels that no stump can order end without terms.
func TestAdaBoostEnds(t *testing.T) {
	d := &Data{X: numeric([]float32{1, 2, 3, 4}), Y: []float64{-1, -1, 1, 1}}
	e := must[*Ensemble](t)(trainAdaBoost(d, nil))
	if len(e.Terms) != 1 {
		t.Fatalf("%d terms", len(e.Terms))
	}
	near(t, "alpha", e.Terms[0].Weight, math.Log(7)/2, 1e-15)
	d.Y = []float64{1, 1, 1, 1}
	e = must[*Ensemble](t)(trainAdaBoost(d, nil))
	if f := must[[]float64](t)(e.Scores(d.X, nil)); len(e.Terms) != 1 ||
		score.ErrorRate(e.Loss, d.Y, nil, f) != 0 {
		t.Fatalf("%d terms, scores %v", len(e.Terms), f)
	}
	d = &Data{X: numeric([]float32{1, 1}), Y: []float64{1, -1}}
	if e = must[*Ensemble](t)(trainAdaBoost(d, nil)); len(e.Terms) != 0 {
		t.Fatalf("%d terms without an edge", len(e.Terms))
	}
}

// L1Step against a minimiser that knows no formula.
func TestL1Step(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	zero := 0
	for range 3000 {
		e := rng.Float64()
		if rng.IntN(4) == 0 {
			e = math.Pow(10, -12*rng.Float64())
		}
		a := 2 * rng.NormFloat64() * float64(rng.IntN(2))
		c := rng.Float64() * float64(rng.IntN(3))
		if c == 0 && (e == 0 || e == 1) {
			continue
		}
		f := func(eta float64) float64 {
			return (1-e)*math.Exp(-eta) + e*math.Exp(eta) + c*math.Abs(a+eta)
		}
		got := L1Step(e, a, c)
		if got == -a {
			zero++
		}
		lo, hi := -40.0, 40.0
		for range 200 {
			x, y := lo+(hi-lo)/3, hi-(hi-lo)/3
			if f(x) < f(y) {
				hi = y
			} else {
				lo = x
			}
		}
		if best := f((lo + hi) / 2); f(got) > best*(1+1e-12) {
			t.Fatalf("e=%v a=%v c=%v: step %v has %v, %v has %v", e, a, c, got, f(got), (lo+hi)/2, best)
		}
		near(t, "mirrored", L1Step(1-e, -a, c), -got, 1e-4) // 1-e loses the digits of a small e
	}
	if zero < 100 {
		t.Errorf("only %d steps ended at zero", zero)
	}
	near(t, "c = 0", L1Step(0.2, 3, 0), math.Log(4)/2, 1e-15)
	near(t, "e = 0", L1Step(0, 0, 0.25), math.Log(4), 1e-15)
}

// Without a penalty the l1 variant is AdaBoost wherever no stump comes twice; a
// large one gives the zero model; in between the objective falls, and the end
// point meets the conditions of a minimum over the coordinates it has.
func TestL1AdaBoost(t *testing.T) {
	plain := must[*Ensemble](t)(trainAdaBoost(golden(), &AdaBoostOptions{Rounds: 3}))
	l1 := must[*Ensemble](t)(trainAdaBoost(golden(), &AdaBoostOptions{Variant: L1, Rounds: 3, Lambda: 1e-300}))
	for i := range plain.Terms {
		near(t, "alpha", l1.Terms[i].Weight, plain.Terms[i].Weight, 1e-12)
	}
	if e := must[*Ensemble](t)(trainAdaBoost(golden(), &AdaBoostOptions{Variant: L1, Lambda: 1})); len(
		e.Terms) != 0 {
		t.Errorf("%d terms under a penalty of 1", len(e.Terms))
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for _, o := range []AdaBoostOptions{
		{Variant: L1, Lambda: 0.02}, {Variant: LogitCD, Lambda: 0.01}, {Variant: Deep, Lambda: 0.01, Beta: 0.005},
		{Variant: Deep, Lambda: 0.005, Families: Grid([]int{1, 3}, []float64{1}), Bound: CountBound},
	} {
		d := randomData(rng, 60, 3, 2)
		last := math.Inf(1)
		o.Rounds = 3000
		watch := func(p *Progress) error {
			if p.Objective > last*(1+1e-12) {
				t.Errorf("%s: round %d: objective rose from %v to %v", o.Variant, p.Round, last, p.Objective)
			}
			last = p.Objective
			return nil
		}
		e := must[*Ensemble](t)(trainAdaBoost(d, &o, control{Watch: watch}))
		if len(e.Terms) == 0 || len(e.Terms) > 200 {
			t.Errorf("%s: %d terms", o.Variant, len(e.Terms))
		}
		f := must[[]float64](t)(e.Scores(d.X, nil))
		g := make([]float64, len(f))
		e.Loss.Gradients(g, nil, d.Y, f)
		for k, term := range e.Terms {
			h := make([]float64, len(f))
			term.Predictor.Predict(h, d.X, 0)
			slope, c := 0.0, o.Lambda
			for i := range h {
				slope += g[i] * h[i] / float64(len(h))
			}
			if o.Variant == Deep {
				grid := o.Families
				if grid == nil {
					grid = Grid([]int{1, 2, 4, 8}, []float64{1})
				}
				c = o.Lambda*Omega(o.Bound, grid[term.Family].Splits, 1, 3, 60) + o.Beta
			}
			near(t, fmt.Sprintf("%s: subgradient of term %d", o.Variant, k),
				MinimalSubgradient(slope, term.Weight, c), 0, 0.05*c)
		}
	}
}

// A coordinate can shrink and return to exactly zero.
func TestL1ReturnsToZero(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	removed := 0
	for range 10 {
		d := randomData(rng, 40, 3, 1)
		count := 0
		o := AdaBoostOptions{Variant: L1, Lambda: 0.03, Rounds: 300}
		r := 0
		watch := func(p *Progress) error { r++; return nil }
		var sizes []int
		keep := func(c *run.Checkpoint) error { sizes = append(sizes, len(ofCheckpoint(t, c).Terms)); return nil }
		must[*Ensemble](t)(trainAdaBoost(d, &o, control{Watch: watch, CheckpointEvery: 1, Checkpoint: keep}))
		for i := 1; i < len(sizes); i++ {
			if sizes[i] < sizes[i-1] {
				count++
			}
		}
		removed += count
	}
	if removed == 0 {
		t.Error("no coordinate ever returned to zero")
	}
}

// TestLogitFirstStep: the minimiser along the first stump, log((1-e)/e), is taken whole, also where
// it is longer than AdaBoost's weight of a perfect stump. (One row of 40 is wrong.) And an integer
// weight n is equivalent to n copies of the row.
func TestLogitFirstStep(t *testing.T) {
	var x, x2 []float32
	var y, y2, w []float64
	for i := range 40 {
		v, n := math.Copysign(1, float64(i)-19.5), 1+i%3
		if i == 3 {
			v, n = -v, 1
		}
		x, y, w = append(x, float32(i)), append(y, v), append(w, float64(n))
		for range n {
			x2, y2 = append(x2, float32(i)), append(y2, v)
		}
	}
	first := func(d *Data) float64 {
		return must[*Ensemble](t)(trainAdaBoost(d, &AdaBoostOptions{Variant: LogitCD, Rounds: 1})).Terms[0].Weight
	}
	near(t, "step", first(&Data{X: numeric(x), Y: y}), math.Log(39), 1e-9)
	near(t, "step with weights", first(&Data{X: numeric(x), Y: y, W: w}),
		first(&Data{X: numeric(x2), Y: y2}), 1e-9)
	near(t, "step with rows repeated", first(&Data{X: numeric(x2), Y: y2}), math.Log(float64(len(y2)-1)), 1e-9)
}

// Both logit variants lower the logistic loss; Newton's responses are bounded.
func TestLogitVariants(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	d := randomData(rng, 200, 4, 0)
	for _, v := range []Variant{LogitCD, LogitNewton} {
		last := math.Ln2
		o := AdaBoostOptions{Variant: v, Rounds: 30}
		watch := func(p *Progress) error {
			if v == LogitCD && p.Loss > last {
				t.Errorf("%s: round %d: loss rose from %v to %v", v, p.Round, last, p.Loss)
			}
			last = p.Loss
			return nil
		}
		e := must[*Ensemble](t)(trainAdaBoost(d, &o, control{Watch: watch}))
		if last > 0.45 {
			t.Errorf("%s: loss %v after 30 rounds", v, last)
		}
		p := must[[]float64](t)(e.Probabilities(d.X, nil))
		for i, q := range p {
			if !(q > 0 && q < 1) {
				t.Fatalf("%s: probability %v of row %d", v, q, i)
			}
		}
	}
}
