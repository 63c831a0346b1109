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

	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// mixed draws a table with missing cells and a categorical column.
func mixed(rng *rand.Rand, rows int) *Data {
	d := randomData(rng, rows, 3, 0)
	levels := []string{"a", "b", "c", "d", "e", "f", "g"}
	v := make([]float32, rows)
	for i := range v {
		v[i] = float32(rng.IntN(len(levels)))
		if v[i] > 3 && rng.IntN(3) > 0 {
			d.Y[i] = 1
		}
		if rng.IntN(9) == 0 {
			v[i] = float32(math.NaN())
		}
		if rng.IntN(7) == 0 {
			d.X.Columns[1].Values[i] = float32(math.NaN())
		}
	}
	d.X.Columns = append(d.X.Columns, table.Column{Name: "level", Kind: table.Categorical,
		Values: v, Levels: levels})
	return d
}

// Every combination of settings gives a model whose predictions on the training
// rows are the scores that it was trained with, to the last bit, and the same
// bytes for any number of workers.
func TestDeterminism(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	d := mixed(rng, 300)
	weights := make([]float64, 300)
	for i := range weights {
		weights[i] = float64(1 + rng.IntN(3))
	}
	valid := mixed(rng, 100)
	settings := map[string]func(w int) *RGBOptions{
		"default": func(int) *RGBOptions { return &RGBOptions{Rounds: 15} },
		"thesis":  func(int) *RGBOptions { o := Thesis(); o.Rounds = 15; return o },
		"l1":      func(int) *RGBOptions { return &RGBOptions{Rounds: 15, Mode: L1Mode, Tight: true} },
		"held-out": func(int) *RGBOptions {
			return &RGBOptions{Rounds: 15, StepRows: HeldOut, Leaf: LeafWeighted, Step: StepTree}
		},
		"line": func(int) *RGBOptions { return &RGBOptions{Rounds: 8, Step: StepLine, Loss: Exponential{}} },
		"exponential": func(int) *RGBOptions {
			return &RGBOptions{Rounds: 8, Step: StepTree, Leaf: LeafWeighted, Loss: Exponential{}}
		},
		"best start": func(int) *RGBOptions { return &RGBOptions{Rounds: 8, Loss: Squared{}} },
	}
	for name, make := range settings {
		for _, w := range [][]float64{nil, weights} {
			data := &Data{X: d.X, Y: d.Y, W: w}
			var files [][]byte
			for _, workers := range []int{1, 2, 16} {
				o := make(workers)
				o.Seed, o.Valid = 7, valid
				var last *run.Checkpoint
				e := must[*Ensemble](t)(trainRGB(data, o, control{Workers: workers, CheckpointEvery: 1,
					Checkpoint: func(c *run.Checkpoint) error { last = c; return nil }}))
				f := must[[]float64](t)(ofCheckpoint(t, last).Scores(d.X, &PredictOptions{Workers: workers}))
				if !slices.Equal(f, last.Arrays[partScores]) {
					t.Errorf("%s: predictions differ from the scores of training", name)
				}
				if len(e.Terms) == 0 {
					t.Errorf("%s: no terms", name)
				}
				files = append(files, saved(t, e))
			}
			if !bytes.Equal(files[0], files[1]) || !bytes.Equal(files[0], files[2]) {
				t.Errorf("%s: the model depends on the number of workers", name)
			}
		}
	}
}

func saved(t *testing.T, e *Ensemble) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := e.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A run that is cut at any round and resumed, through a file, gives the bytes of
// the unbroken run; a checkpoint of other data or settings is refused.
func TestResume(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	d, valid := mixed(rng, 150), mixed(rng, 60)
	runs := map[string]func(c control) (*Ensemble, error){
		"rgb": func(c control) (*Ensemble, error) { return trainRGB(d, &RGBOptions{Rounds: 14}, c) },
		"l1": func(c control) (*Ensemble, error) {
			return trainRGB(d, &RGBOptions{Rounds: 14, Mode: L1Mode, Beta: 0.05}, c)
		},
		"plain": func(c control) (*Ensemble,
			error) {
			return trainAdaBoost(d, &AdaBoostOptions{Rounds: 14}, c)
		},
		"l1-ada": func(c control) (*Ensemble, error) {
			return trainAdaBoost(d, &AdaBoostOptions{Variant: L1, Lambda: 0.02, Rounds: 14}, c)
		},
		"deep": func(c control) (*Ensemble, error) {
			return trainAdaBoost(d, &AdaBoostOptions{Variant: Deep, Lambda: 0.01, Rounds: 14}, c)
		},
		"newton": func(c control) (*Ensemble, error) {
			return trainAdaBoost(d, &AdaBoostOptions{Variant: LogitNewton, Rounds: 14}, c)
		},
	}
	for name, train := range runs {
		for _, v := range []*Data{nil, valid} {
			var rounds []Progress
			watch := func(p *Progress) error { rounds = append(rounds, *p); return nil }
			whole := saved(t, must[*Ensemble](t)(train(control{Valid: v, Patience: 12, Watch: watch})))
			for _, cut := range []int{1, 5, 9} {
				ctx, cancel := context.WithCancel(context.Background())
				var file bytes.Buffer
				_, err := train(control{Ctx: ctx, Valid: v, Patience: 12,
					Watch: func(p *Progress) error {
						if p.Round == cut {
							cancel()
						}
						return nil
					},
					Checkpoint: func(c *run.Checkpoint) error { file.Reset(); return c.Write(&file) }})
				cancel()
				var stopped *run.InterruptedError
				if !errors.As(err, &stopped) || !errors.Is(err, context.Canceled) || stopped.Steps != cut {
					t.Fatalf("%s: cut at %d: %v", name, cut, err)
				}
				c := must[*run.Checkpoint](t)(run.ReadCheckpoint(bytes.NewReader(file.Bytes())))
				rest := historyOf(c.Arrays[partHistory])
				var last *run.Checkpoint
				again := must[*Ensemble](t)(train(control{Valid: v, Patience: 12, Resume: c, CheckpointEvery: 1,
					Checkpoint: func(c *run.Checkpoint) error { last = c; return nil },
					Watch:      func(p *Progress) error { rest = append(rest, *p); return nil }}))
				if !bytes.Equal(saved(t, again), whole) {
					t.Errorf("%s: cut at %d and resumed: another model (validation %v)", name, cut, v != nil)
				}
				if len(historyOf(c.Arrays[partHistory])) != cut || !sameRounds(rest, rounds) || last != nil &&
					!sameRounds(historyOf(last.Arrays[partHistory]), rounds[:last.Iteration]) {
					t.Errorf("%s: cut at %d and resumed: another history (validation %v), %d rounds of it from the "+
						"file:\n%v\n%v", name, cut, v != nil, len(historyOf(c.Arrays[partHistory])), rest, rounds)
				}
			}
		}
	}
	var c *run.Checkpoint
	must[*Ensemble](t)(trainRGB(d, &RGBOptions{Rounds: 3}, control{CheckpointEvery: 1,
		Checkpoint: func(k *run.Checkpoint) error { c = k; return nil }}))
	for name, bad := range map[string]*RGBOptions{"settings": {Rounds: 3, Seed: 4},
		"validation": {Rounds: 3, Valid: valid}} {
		if _, err := trainRGB(d, bad, control{Resume: c}); !errors.Is(err, run.ErrOther) {
			t.Errorf("%s: %v", name, err)
		}
	}
	longer := must[*Ensemble](t)(trainRGB(d, &RGBOptions{Rounds: 6}, control{Resume: c}))
	if !bytes.Equal(saved(t, longer), saved(t, must[*Ensemble](t)(trainRGB(d, &RGBOptions{Rounds: 6})))) {
		t.Error("a run that was made longer gives another model")
	}
	other := &Data{X: d.X, Y: slices.Clone(d.Y)}
	other.Y[3] *= -1
	if _, err := trainRGB(other, &RGBOptions{Rounds: 3}, control{Resume: c}); !errors.Is(
		err, run.ErrOther) {
		t.Errorf("data: %v", err)
	}
	if _, err := trainAdaBoost(d, nil, control{Resume: c}); !errors.Is(err, run.ErrOther) {
		t.Errorf("algorithm: %v", err)
	}
}

// sameRounds compares histories in all but their times; NaN is equal to itself.
func sameRounds(a, b []Progress) bool {
	return slices.EqualFunc(a, b, func(x, y Progress) bool {
		x.Seconds, y.Seconds = 0, 0
		return slices.EqualFunc(historyNumbers([]Progress{x}), historyNumbers([]Progress{y}),
			func(u, v float64) bool { return math.Float64bits(u) == math.Float64bits(v) })
	})
}

// plain is deterministic RGB: no sampling, so that only the data count.
func plainRGB(rounds int) *RGBOptions {
	o := Thesis()
	o.Families = Grid([]int{1, 3, 6}, []float64{0.3, 1, 2})
	o.Rounds, o.Beta = rounds, 0.01
	return o
}

func maxGap(a, b []float64) float64 {
	gap := 0.0
	for i := range a {
		gap = max(gap, math.Abs(a[i]-b[i]))
	}
	return gap
}

// Integer weights are repeated rows; rows of weight 0 are not there at all.
func TestWeightsAreRepetitions(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	d := mixed(rng, 120)
	d.X.Weight, d.X.Target, d.X.Classes = make([]float64, 120), make([]float64, 120), []string{"-", "+"}
	var rows, kept []int
	for i := range d.Y {
		d.X.Weight[i] = float64(rng.IntN(4))
		d.X.Target[i] = (d.Y[i] + 1) / 2
		for range int(d.X.Weight[i]) {
			rows = append(rows, i)
		}
		if d.X.Weight[i] > 0 {
			kept = append(kept, i)
		}
	}
	// More levels would cost what is in units of the mean weight.
	for i, v := range d.X.Columns[3].Values {
		if v > 3 {
			d.X.Columns[3].Values[i] = 3
		}
	}
	// The largest value of a column, on a row that does not count, may move no
	// threshold.
	for i := range d.Y {
		if d.X.Weight[i] == 0 {
			d.X.Columns[0].Values[i] = 1e6
		}
	}
	repeated := d.X.Subset(rows)
	repeated.Weight = nil
	weighted := must[*Data](t)(NewData(d.X, Logistic{}))
	if weighted.Rows() != len(kept) {
		t.Fatalf("%d rows of %d with weight", weighted.Rows(), len(kept))
	}
	double := must[*Data](t)(NewData(repeated, Logistic{}))
	for _, leaf := range []LeafRule{LeafWeighted, LeafNewton} {
		o := plainRGB(12)
		o.Leaf = leaf
		a := must[*Ensemble](t)(trainRGB(weighted, o))
		b := must[*Ensemble](t)(trainRGB(double, o))
		fa, fb := must[[]float64](t)(a.Scores(d.X, nil)), must[[]float64](t)(b.Scores(d.X, nil))
		if gap := maxGap(fa, fb); gap > 1e-9 {
			t.Errorf("%s: scores differ by %v", leaf, gap)
		}
	}
	a := must[*Ensemble](t)(trainAdaBoost(weighted, &AdaBoostOptions{Rounds: 10}))
	b := must[*Ensemble](t)(trainAdaBoost(double, &AdaBoostOptions{Rounds: 10}))
	if gap := maxGap(must[[]float64](t)(a.Scores(d.X, nil)),
		must[[]float64](t)(b.Scores(d.X, nil))); gap > 1e-9 {
		t.Errorf("adaboost: scores differ by %v", gap)
	}
}

// A monotone transformation of a column changes no prediction for a training row;
// the order of rows changes nothing but last bits.
func TestTransformations(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	for range 5 {
		d := randomData(rng, 100, 3, 0)
		base := must[*Ensemble](t)(trainRGB(d, plainRGB(10)))
		f := must[[]float64](t)(base.Scores(d.X, nil))
		bent := &Data{X: d.X.Subset(upTo(100)), Y: d.Y}
		for i, v := range bent.X.Columns[1].Values {
			bent.X.Columns[1].Values[i] = float32(math.Exp(float64(v)))
		}
		if distinct(bent.X.Columns[1].Values) != distinct(d.X.Columns[1].Values) {
			continue // two values met in float32: another table
		}
		e := must[*Ensemble](t)(trainRGB(bent, plainRGB(10)))
		if gap := maxGap(f, must[[]float64](t)(e.Scores(bent.X, nil))); gap != 0 {
			t.Errorf("transformed column: scores differ by %v", gap)
		}
		order := rng.Perm(100)
		mixed := &Data{X: d.X.Subset(order), Y: make([]float64, 100)}
		for k, i := range order {
			mixed.Y[k] = d.Y[i]
		}
		e = must[*Ensemble](t)(trainRGB(mixed, plainRGB(10)))
		if gap := maxGap(f, must[[]float64](t)(e.Scores(d.X, nil))); gap > 1e-9 {
			t.Errorf("other order of rows: scores differ by %v", gap)
		}
		swapped := &Data{X: d.X.Subset(upTo(100)), Y: d.Y}
		swapped.X.Columns[0], swapped.X.Columns[2] = swapped.X.Columns[2], swapped.X.Columns[0]
		e = must[*Ensemble](t)(trainRGB(swapped, plainRGB(10)))
		if gap := maxGap(f, must[[]float64](t)(e.Scores(swapped.X, nil))); gap > 1e-9 {
			t.Errorf("other order of columns: scores differ by %v", gap)
		}
	}
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func distinct(v []float32) int {
	s := slices.Clone(v)
	slices.Sort(s)
	return len(slices.Compact(s))
}

// Degenerate tables train, predict and round-trip without a panic or a NaN.
func TestDegenerate(t *testing.T) {
	nan := float32(math.NaN())
	for name, d := range map[string]*Data{
		"one row":         {X: numeric([]float32{1}), Y: []float64{1}},
		"two rows":        {X: numeric([]float32{1, 2}), Y: []float64{1, -1}},
		"one class":       {X: numeric([]float32{1, 2, 3}), Y: []float64{-1, -1, -1}},
		"constant column": {X: numeric([]float32{1, 1, 1}), Y: []float64{1, -1, 1}},
		"repeated rows": {X: numeric([]float32{1, 1, 2, 2}, []float32{3, 3, 4, 4}),
			Y: []float64{1, -1, -1, -1}},
		"missing column":    {X: numeric([]float32{nan, nan, nan}, []float32{1, 2, 3}), Y: []float64{1, -1, 1}},
		"all missing":       {X: numeric([]float32{nan, nan, nan}), Y: []float64{1, -1, 1}},
		"large numbers":     {X: numeric([]float32{-3e38, 0, 3e38, 1e-45}), Y: []float64{1, -1, 1, -1}},
		"one with a weight": {X: numeric([]float32{1, 2, 3}), Y: []float64{1, -1, 1}, W: []float64{1e-300, 1, 1e9}},
	} {
		var models []*Ensemble
		for _, o := range []*RGBOptions{nil, Thesis(), {Leaf: LeafSteepest, Step: StepSafe},
			{Step: StepLine, MinHessian: -1}, {Loss: Exponential{}, MinHessian: -1}} {
			e, err := trainRGB(d, o)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			models = append(models, e)
		}
		for _, v := range []Variant{Plain, L1, Deep, LogitCD, LogitNewton} {
			e, err := trainAdaBoost(d, &AdaBoostOptions{Variant: v})
			if err != nil {
				t.Errorf("%s: %s: %v", name, v, err)
				continue
			}
			models = append(models, e)
		}
		for _, e := range models {
			f := must[[]float64](t)(e.Scores(d.X, nil))
			for i, v := range f {
				if v-v != 0 {
					t.Errorf("%s: %s: score %v of row %d", name, e.Algorithm, v, i)
				}
			}
			again := must[*Ensemble](t)(Read(bytes.NewReader(saved(t, e))))
			if g := must[[]float64](t)(again.Scores(d.X, nil)); !slices.Equal(f, g) {
				t.Errorf("%s: %s: scores differ after reload", name, e.Algorithm)
			}
		}
	}
}

// Constraints hold for the whole model and every pair of values, whatever the
// leaf rule and norm.
func TestMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 2))
	for _, q := range []float64{1, 2, math.Inf(1)} {
		for _, leaf := range []LeafRule{LeafWeighted, LeafNewton, LeafRadial} {
			d := randomData(rng, 200, 2, 0)
			o := &RGBOptions{Leaf: leaf, Q: q, Rounds: 20, Monotone: []int8{1, -1}}
			e := must[*Ensemble](t)(trainRGB(d, o))
			if len(e.Terms) == 0 {
				t.Fatal("no terms")
			}
			for j, sign := range o.Monotone {
				grid := numeric(make([]float32, 200), make([]float32, 200))
				other := float32(rng.NormFloat64())
				for i := range 200 {
					grid.Columns[j].Values[i] = float32(i-100) / 30
					grid.Columns[1-j].Values[i] = other
				}
				f := must[[]float64](t)(e.Scores(grid, nil))
				for i := 1; i < len(f); i++ {
					if float64(sign)*(f[i]-f[i-1]) < 0 {
						t.Fatalf("q=%v %s: column %d: score moves from %v to %v", q, leaf, j, f[i-1], f[i])
					}
				}
			}
		}
	}
}

// Soft-max: the loss falls each round, probabilities sum to 1, and two classes
// give what one score gives in the limit of many rounds.
func TestSoftMax(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	d := randomData(rng, 300, 3, 0)
	for i := range d.Y {
		d.Y[i] = 0
		switch v := d.X.Columns[0].Values[i]; {
		case v > 0.5:
			d.Y[i] = 1
		case v+d.X.Columns[1].Values[i] < -0.5:
			d.Y[i] = 2
		}
	}
	for _, o := range []*RGBOptions{{Loss: SoftMax{Classes: 3}, RowSample: 1},
		{Loss: SoftMax{Classes: 3}, Leaf: LeafWeighted, Step: StepSafe, LearningRate: 1, RowSample: 1}} {
		last := math.Log(3)
		o.Rounds = 40
		watch := func(p *Progress) error {
			if p.Loss > last+1e-12 {
				t.Errorf("round %d: loss rose from %v to %v", p.Round, last, p.Loss)
			}
			last = p.Loss
			return nil
		}
		e := must[*Ensemble](t)(trainRGB(d, o, control{Watch: watch}))
		f := must[[]float64](t)(e.Scores(d.X, nil))
		if rate := score.ErrorRate(e.Loss, d.Y, nil, f); rate > 0.1 {
			t.Errorf("error %v", rate)
		}
		p := must[[]float64](t)(e.Probabilities(d.X, nil))
		for i := 0; i < len(p); i += 3 {
			near(t, "sum of probabilities", p[i]+p[i+1]+p[i+2], 1, 1e-12)
		}
		again := must[*Ensemble](t)(Read(bytes.NewReader(saved(t, e))))
		if !slices.Equal(f, must[[]float64](t)(again.Scores(d.X, nil))) {
			t.Error("scores differ after reload")
		}
	}
}

// costly is the logistic loss with positives counted several times: its curvature
// depends on the label.
type costly struct {
	Logistic
	positive float64
}

func (l costly) Name() string { return "costly" }
func (l costly) Curvature(y float64) float64 {
	if y > 0 {
		return l.positive / 4
	}
	return 0.25
}
func (l costly) Values(dst, y, f []float64) {
	l.Logistic.Values(dst, y, f)
	for i := range dst {
		if y[i] > 0 {
			dst[i] *= l.positive
		}
	}
}
func (l costly) Gradients(g, h, y, f []float64) {
	l.Logistic.Gradients(g, h, y, f)
	for i := range g {
		if y[i] > 0 {
			g[i] *= l.positive
			if h != nil {
				h[i] *= l.positive
			}
		}
	}
}

// The bounds of eq. 3.11 are bounds of C(h), each keeps its promise of descent, and
// for equal curvatures (r, s) = (1, inf) is C(h) itself.
func TestHoelder(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 2))
	d := randomData(rng, 80, 3, 0)
	first := map[Hoelder]float64{}
	for _, h := range []Hoelder{HoelderExact, HoelderOneInf, HoelderInfOne, HoelderTwoTwo} {
		for _, l := range []Loss{costly{positive: 5}, Logistic{}} {
			o := literal(4, 2)
			o.Loss, o.Step, o.Hoelder, o.Rounds = l, StepTree, h, 8
			last := score.Mean(l, d.Y, nil, make([]float64, 80), 1)
			watch := func(p *Progress) error {
				if least := p.Derivative * p.Derivative / (2 * p.Curvature); last-p.Loss < least-1e-12 {
					t.Errorf("%q %s: round %d: fell by %v, promised %v", h, l.Name(), p.Round, last-p.Loss, least)
				}
				if p.Round == 1 {
					if l.Name() == "costly" {
						first[h] = p.Curvature
					} else if h == HoelderOneInf {
						near(t, "equal curvatures", p.Curvature, -p.Derivative/4, 1e-12)
					}
				}
				last = p.Loss
				return nil
			}
			must[*Ensemble](t)(trainRGB(d, o, control{Watch: watch}))
		}
	}
	for _, h := range []Hoelder{HoelderOneInf, HoelderInfOne, HoelderTwoTwo} {
		if first[h] < first[HoelderExact]*(1-1e-12) {
			t.Errorf("%q: %v is below C(h) = %v", h, first[h], first[HoelderExact])
		}
	}
}

// The short way to the candidates' losses agrees with the loss itself, at any size
// of the scores.
func TestLogProduct(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 2))
	for _, size := range []float64{0, 1, 30, 400, 1e4} {
		d := randomData(rng, 5000, 2, 0)
		o := &RGBOptions{RowSample: 0.5}
		o.fill(5000, 2)
		r := &rgbRun{o: o}
		var err error
		if r.training, err = newRun("rgb", "", d, o.Loss, []float64{0}, nil, &run.Control{Workers: 1}); err != nil {
			t.Fatal(err)
		}
		if err := r.prepare(); err != nil {
			t.Fatal(err)
		}
		for i := range r.scores {
			r.scores[i] = size * rng.NormFloat64()
		}
		r.sample()
		r.scorer.gradients()
		g, h := make([]float64, 5000), make([]float64, 5000)
		r.e.Loss.Gradients(g, h, d.Y, r.scores)
		if !slices.Equal(g, r.g) || !slices.Equal(h, r.h) {
			t.Errorf("size %v: the gradients differ", size)
		}
		if err := r.grow(6); err != nil {
			t.Fatal(err)
		}
		p, err := r.propose(1)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []float64{0, p.step, 50} {
			p.step = step
			for _, which := range []Rows{HeldOut, Training} {
				got := r.scorer.losses([]*proposal{p}, which)[0]
				r.scorer.logistic = false
				want := r.scorer.losses([]*proposal{p}, which)[0]
				r.scorer.logistic = true
				near(t, fmt.Sprintf("size %v step %v %s", size, step, which), got, want, 1e-12)
			}
		}
	}
}

// Early stopping keeps the prefix of least validation loss.
func TestEarlyStopping(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 2))
	d, valid := randomData(rng, 100, 4, 0), randomData(rng, 100, 4, 0)
	for name, train := range map[string]func(c control) (*Ensemble, error){
		"rgb": func(c control) (*Ensemble, error) {
			return trainRGB(d, &RGBOptions{Rounds: 200, LearningRate: 0.3}, c)
		},
		"adaboost": func(c control) (*Ensemble,
			error) {
			return trainAdaBoost(d, &AdaBoostOptions{Rounds: 200}, c)
		},
		"l1": func(c control) (*Ensemble, error) {
			return trainAdaBoost(d, &AdaBoostOptions{Variant: L1, Lambda: 0.001, Rounds: 200}, c)
		},
	} {
		var h []Progress
		e := must[*Ensemble](t)(train(control{Valid: valid, Patience: 10,
			Watch: func(p *Progress) error { h = append(h, *p); return nil }}))
		if len(h) == 200 {
			t.Errorf("%s: never stopped", name)
		}
		best := math.Inf(1)
		for _, p := range h {
			best = min(best, p.Valid)
		}
		f := must[[]float64](t)(e.Scores(valid.X, nil))
		near(t, name+": validation loss of the model", score.Mean(e.Loss, valid.Y, nil, f, 1), best, 1e-12)
	}
}

func TestSettingsRefused(t *testing.T) {
	d := golden()
	for name, o := range map[string]*RGBOptions{
		"literal step, exponential": {Loss: Exponential{}, Step: StepLambda},
		"rate":                      {LearningRate: -1},
		"rows":                      {RowSample: 1.5},
		"step rows":                 {RowSample: 1, StepRows: HeldOut},
		"family":                    {Families: []Family{{Splits: 1, Lambda: 0}}},
		"no family":                 {Families: []Family{}},
		"norm":                      {Q: 0.5},
		"mode":                      {Mode: "both"},
		"monotone":                  {Monotone: []int8{1, 1}},
		"monotone sign":             {Monotone: []int8{2}},
		"bins":                      {Bins: 256},
	} {
		if _, err := trainRGB(d, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for name, o := range map[string]*AdaBoostOptions{
		"variant": {Variant: "real"}, "penalty": {Lambda: 1}, "negative": {Variant: L1, Lambda: -1},
		"nan": {Variant: Deep, Beta: math.NaN()},
	} {
		if _, err := trainAdaBoost(d, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for name, bad := range map[string]*Data{
		"nothing": nil, "no rows": {X: &table.Table{}}, "labels": {X: d.X, Y: []float64{1, 0, 1, 1, 1, 1}},
		"nan label": {X: d.X, Y: []float64{1, math.NaN(), 1, 1, 1, 1}}, "few labels": {X: d.X, Y: []float64{1}},
		"weights": {X: d.X, Y: d.Y, W: []float64{1, 1, 1, 1, 1, -1}},
	} {
		if _, err := trainRGB(bad, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := trainAdaBoost(bad, nil); err == nil {
			t.Errorf("adaboost: %s: no error", name)
		}
	}
	e := must[*Ensemble](t)(trainRGB(d, nil))
	if _, err := e.Scores(numeric([]float32{1}, []float32{2}), nil); !errors.Is(err, ErrData) {
		t.Errorf("a column too many: %v", err)
	}
	other := numeric([]float32{1})
	other.Columns[0].Name = "y"
	if _, err := e.Scores(other, nil); !errors.Is(err, ErrData) {
		t.Errorf("another column: %v", err)
	}
}

// Every split of a tree on a random table is a split that the independent grower
// finds, for every criterion.
func TestTreesAgainstReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 2))
	for trial := range 30 {
		d := randomData(rng, 60, 3, 0)
		g, h := make([]float64, 60), make([]float64, 60)
		for i := range g {
			g[i], h[i] = rng.NormFloat64(), rng.Float64()+0.1
		}
		for _, x := range []struct {
			o tree.Options
			c criterion
		}{
			{tree.Options{}, criterion{}},
			{tree.Options{Criterion: tree.DualNorm, R: 1}, criterion{dual: 1}},
			{tree.Options{Criterion: tree.DualNorm, R: 2}, criterion{dual: 2}},
			{tree.Options{Criterion: tree.DualNorm, R: 3}, criterion{dual: 3}},
			{tree.Options{MinRows: 5, MinWeight: 4}, criterion{minRows: 5, minH: 4}},
		} {
			const n = 5
			x.o.MaxLeaves = n + 1
			x.c.minGain = 1e-12
			gr, err := newGrower(d, true, 0, x.o)
			if err != nil {
				t.Fatal(err)
			}
			if err := gr.Grow(context.Background(), &tree.Target{G: g, H: h}); err != nil {
				t.Fatal(err)
			}
			got := collect(gr, 60, nil, 1, nil)
			want := newExactGrower(d.X, 1).grow(g, h, nil, nil, n, x.c)
			if !samePartition(got.slot, want.slot) {
				t.Fatalf("trial %d, %+v: %v, want %v", trial, x.c, got.slot, want.slot)
			}
		}
	}
}

// samePartition ignores the names of the parts: two columns may divide the rows
// alike, with the sides exchanged, and rounding then decides between them.
func samePartition(a, b []int32) bool {
	there, back := map[int32]int32{}, map[int32]int32{}
	for i := range a {
		if v, ok := there[a[i]]; ok && v != b[i] {
			return false
		}
		if v, ok := back[b[i]]; ok && v != a[i] {
			return false
		}
		there[a[i]], back[b[i]] = b[i], a[i]
	}
	return true
}
