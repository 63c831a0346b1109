package boost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// offsetData is y = x0 + x1 x2 + noise, times a factor and with an offset.
func offsetData(seed uint64, rows int, factor, offset float64) *Data {
	rng := rand.New(rand.NewPCG(seed, 9))
	x := make([][]float32, 5)
	for j := range x {
		for range rows {
			x[j] = append(x[j], float32(rng.NormFloat64()))
		}
	}
	d := &Data{X: numeric(x...)}
	for i := range rows {
		d.Y = append(d.Y, offset+factor*(float64(x[0][i])+float64(x[1][i])*float64(x[2][i])+0.3*rng.NormFloat64()))
	}
	return d
}

func rmse(t *testing.T, e *Ensemble, d *Data) float64 {
	return math.Sqrt(2 * score.Mean(Squared{}, d.Y, d.W, must[[]float64](t)(e.Scores(d.X, nil)), 1))
}

// Whatever the targets' mean and unit, defaults learn them: what is left is the noise of 0.3 and
// as much again.
func TestRegressionWithAnOffset(t *testing.T) {
	for _, c := range []struct{ factor, offset float64 }{{1, 2000}, {1e6, -5e7}, {1e-4, 0}} {
		d, fresh := offsetData(1, 1500, c.factor, c.offset), offsetData(2, 1000, c.factor, c.offset)
		for name, train := range map[string]func(l Loss) (*Ensemble, error){
			"rgb": func(l Loss) (*Ensemble, error) { return trainRGB(d, &RGBOptions{Loss: l, Rounds: 200}) },
			"gb":  func(l Loss) (*Ensemble, error) { return trainGradient(d, &GradientOptions{Loss: l, Rounds: 200}) },
		} {
			for _, l := range []Loss{Squared{}, Huber{Delta: c.factor}} {
				if e := rmse(t, must[*Ensemble](t)(train(l)), fresh) / c.factor; e > 0.6 {
					t.Errorf("%s, %s, offset %v: error %v on new rows", name, l.Name(), c.offset, e)
				}
			}
		}
	}
}

// A multiple of the targets gives that multiple of the model: with a power of two, bit for bit.
func TestRGBInAnyUnit(t *testing.T) {
	d := offsetData(3, 300, 1, 0)
	large := &Data{X: d.X}
	for _, y := range d.Y {
		large.Y = append(large.Y, 1024*y)
	}
	for name, o := range map[string]RGBOptions{
		"default": {}, "safe": {Leaf: LeafWeighted, Step: StepSafe}, "lambda": {Step: StepLambda, Leaf: LeafRadial},
		"lambda2": {Step: StepLambda2}, "tree": {Step: StepTree},
		"line": {Step: StepLine}, "l1": {Mode: L1Mode, Beta: 0.02}, "tight": {Tight: true},
		"steepest": {Leaf: LeafSteepest},
		"learner": {Families: []Family{{Lambda: 0.5, Learner: RegressionTrees{Splits: 3},
			Complexity: func(d, m int) float64 { return 1 }}}},
	} {
		for _, losses := range [][2]Loss{{Squared{}, Squared{}}, {Huber{Delta: 0.5}, Huber{Delta: 512}}} {
			a, b := o, o
			a.Loss, b.Loss, a.Rounds, b.Rounds = losses[0], losses[1], 15, 15
			f := must[[]float64](t)(must[*Ensemble](t)(trainRGB(d, &a)).Scores(d.X, nil))
			g := must[[]float64](t)(must[*Ensemble](t)(trainRGB(large, &b)).Scores(d.X, nil))
			if slices.Min(f) == slices.Max(f) {
				t.Errorf("%s: a constant model shows nothing", name)
			}
			for i := range f {
				if 1024*f[i] != g[i] {
					t.Errorf("%s, %s: 1024 times %v is not %v", name, a.Loss.Name(), f[i], g[i])
					break
				}
			}
		}
	}
}

// No booster is worse than the best constant on its own rows, where classes are rare and columns
// say nothing: it starts there, or has constants among its base predictors.
func TestNoWorseThanAConstant(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 9))
	const rows = 600
	noise := func() *Data {
		d := randomData(rng, rows, 3, 0)
		for i := range d.Y {
			d.Y[i] = -1
			if i%50 == 0 {
				d.Y[i] = 1
			}
		}
		return d
	}
	classes := noise()
	for i := range classes.Y {
		classes.Y[i] = float64(min(i%40, 2)) // 0 and 1 are rare
	}
	numbers := offsetData(5, rows, 1, -700)
	rgb := func(d *Data, l Loss) (*Ensemble, error) { return trainRGB(d, &RGBOptions{Loss: l, Rounds: 100}) }
	gb := func(d *Data, l Loss) (*Ensemble, error) {
		return trainGradient(d, &GradientOptions{Loss: l, Rounds: 100})
	}
	ada := func(v Variant) func(*Data, Loss) (*Ensemble, error) {
		return func(d *Data, _ Loss) (*Ensemble, error) { return trainAdaBoost(d, &AdaBoostOptions{Variant: v}) }
	}
	for _, c := range []struct {
		name  string
		train func(*Data, Loss) (*Ensemble, error)
		d     *Data
		l     Loss
	}{
		{"rgb", rgb, noise(), Logistic{}}, {"rgb", rgb, noise(), Logistic{Base2: true}},
		{"rgb", rgb, noise(), Exponential{}}, {"rgb", rgb, classes, SoftMax{Classes: 3}},
		{"rgb", rgb, numbers, Squared{}}, {"rgb", rgb, numbers, Huber{Delta: 0.1}},
		{"gb", gb, noise(), Logistic{}}, {"gb", gb, noise(), Exponential{}},
		{"gb", gb, classes, SoftMax{Classes: 3}}, {"gb", gb, numbers, Squared{}},
		{"gb", gb, numbers, Huber{Delta: 0.1}},
		{"plain", ada(Plain), noise(), Exponential{}}, {"logit-cd", ada(LogitCD), noise(), Logistic{}},
		{"logit-newton", ada(LogitNewton), noise(), Logistic{}},
	} {
		start := c.l.Start(c.d.Y, nil)
		constant := score.Mean(c.l, c.d.Y, nil, repeat(start, rows), 1)
		e := must[*Ensemble](t)(c.train(c.d, c.l))
		if got := score.Mean(c.l, c.d.Y, nil, must[[]float64](t)(e.Scores(c.d.X, nil)), 1); !(got <= constant*(1+1e-12)) {
			t.Errorf("%s, %s: loss %v, that of a constant %v", c.name, c.l.Name(), got, constant)
		}
	}
}

// openRuns are boosters with an open number of rounds.
func openRuns(rgb RGBOptions, gb GradientOptions) map[string]func(*Data, control) (*Ensemble, error) {
	return map[string]func(*Data, control) (*Ensemble, error){
		"rgb": func(d *Data, c control) (*Ensemble, error) {
			o := rgb
			return trainRGB(d, &o, c)
		},
		"gb": func(d *Data, c control) (*Ensemble, error) {
			o := gb
			return trainGradient(d, &o, c)
		},
	}
}

// The number of rounds is that of the least mean loss of the parts held out, found here by runs of
// the same length on each. The model is that of as many rounds on all rows.
func TestRoundsAreChosen(t *testing.T) {
	d := mixed(rand.New(rand.NewPCG(6, 9)), 240)
	const patience = 15
	for name, train := range openRuns(RGBOptions{LearningRate: 0.3, Seed: 5}, GradientOptions{MinRows: 2, LearningRate: 0.3, Seed: 5}) {
		var trials []Progress
		e := must[*Ensemble](t)(train(d, control{Patience: patience, Watch: func(p *Progress) error {
			if p.Trial {
				trials = append(trials, *p)
			}
			return nil
		}}))
		longest := len(trials)
		curve := make([]float64, longest)
		fold := d.folds(5, 5)
		for k := range 5 {
			a, b := d.divide(func(i int) bool { return fold[i] == k })
			c := control{Valid: b, Watch: func(p *Progress) error { curve[p.Round-1] += p.Valid * float64(b.Rows()) / 240; return nil }}
			if name == "rgb" {
				must[*Ensemble](t)(trainRGB(a, &RGBOptions{Rounds: longest, LearningRate: 0.3, Seed: 5}, c))
			} else {
				must[*Ensemble](t)(trainGradient(a, &GradientOptions{Rounds: longest, MinRows: 2, LearningRate: 0.3,
					Seed: 5}, c))
			}
		}
		at := 0
		for i, v := range curve {
			near(t, "mean loss", trials[i].Valid, v, 1e-12)
			if v < curve[at] {
				at = i
			}
		}
		if longest != at+1+patience || at < 2 {
			t.Errorf("%s: %d rounds were tried, the least loss is that of %d", name, longest, at+1)
		}
		var same *Ensemble
		if name == "rgb" {
			same = must[*Ensemble](t)(trainRGB(d, &RGBOptions{Rounds: at + 1, LearningRate: 0.3, Seed: 5}))
		} else {
			same = must[*Ensemble](t)(trainGradient(d, &GradientOptions{Rounds: at + 1, MinRows: 2, LearningRate: 0.3,
				Seed: 5}))
		}
		if !bytes.Equal(saved(t, e), saved(t, same)) {
			t.Errorf("%s: not the model of %d rounds", name, at+1)
		}
		if again := must[*Ensemble](t)(train(d, control{Patience: patience, Workers: 3})); !bytes.Equal(saved(t,
			e), saved(t, again)) {
			t.Errorf("%s: three workers give another model", name)
		}
	}
}

// With validation rows the run stops by them; few rows get a fixed number.
func TestOpenRoundsWithoutFolds(t *testing.T) {
	d, v := mixed(rand.New(rand.NewPCG(7, 9)), 150), mixed(rand.New(rand.NewPCG(8, 9)), 150)
	few := d.Subset(upTo(12))
	for name, train := range openRuns(RGBOptions{LearningRate: 0.3}, GradientOptions{LearningRate: 0.3}) {
		rounds, trials := 0, 0
		watch := func(p *Progress) error {
			rounds = p.Round
			if p.Trial {
				trials++
			}
			return nil
		}
		e := must[*Ensemble](t)(train(d, control{Valid: v, Watch: watch}))
		if trials != 0 || rounds < e.Rounds() || rounds == MostRounds {
			t.Errorf("%s: %d rounds, %d trials, %d rounds in the model", name, rounds, trials, e.Rounds())
		}
		must[*Ensemble](t)(train(few, control{Watch: watch}))
		if trials != 0 || rounds > roundsOfFew {
			t.Errorf("%s, 12 rows: %d rounds, %d trials", name, rounds, trials)
		}
	}
}

// A run that is interrupted while it chooses, or after, goes on to the model of the unbroken
// one. Of a small table only the runs of the model are kept.
func TestOpenRoundsResume(t *testing.T) {
	for _, rows := range []int{150, heldFolds * heldRows} {
		d := randomData(rand.New(rand.NewPCG(9, 9)), rows, 2, 0)
		for name, train := range openRuns(RGBOptions{LearningRate: 1, Candidates: 1, Families: Grid([]int{3}, []float64{4})}, GradientOptions{LearningRate: 1, Depth: 2, Bins: 15}) {
			all := 0
			unbroken := control{Patience: 4, CheckpointEvery: 1, Workers: 1}
			unbroken.Watch = func(*Progress) error { all++; return nil }
			want := saved(t, must[*Ensemble](t)(train(d, unbroken)))
			for stop := 1; stop < all; stop += 1 + all/6 {
				t.Run(fmt.Sprint(name, rows, "/", stop), func(t *testing.T) {
					ctx, cancel := context.WithCancel(context.Background())
					defer cancel()
					c, seen := unbroken, 0
					var last *run.Checkpoint
					c.Ctx, c.Checkpoint = ctx, func(k *run.Checkpoint) error { last = k; return nil }
					c.Watch = func(*Progress) error {
						if seen++; seen == stop {
							cancel()
						}
						return nil
					}
					if _, err := train(d, c); !errors.As(err, new(*run.InterruptedError)) {
						t.Fatalf("after %d of %d: %v", stop, all, err)
					}
					if last == nil {
						if rows > 150 {
							t.Fatalf("after %d of %d: no checkpoint", stop, all)
						}
						return
					}
					if got := saved(t, must[*Ensemble](t)(train(d, control{Patience: 4, Resume: last}))); !bytes.Equal(got,
						want) {
						t.Errorf("after %d of %d rounds: another model", stop, all)
					}
					if _, err := train(d.Subset(upTo(rows-1)), control{Patience: 4, Resume: last}); !errors.Is(err,
						run.ErrOther) {
						t.Errorf("other rows: %v", err)
					}
				})
			}
		}
	}
}
