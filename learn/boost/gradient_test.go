package boost

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

	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// classes turns two-class rows into three classes.
func classes(d *Data) *Data {
	out := &Data{X: d.X, Y: slices.Clone(d.Y)}
	for i := range out.Y {
		out.Y[i] = 1 + out.Y[i]/2 + 0.5 // 1 or 2
		if d.X.Columns[1].Values[i] > 0.5 {
			out.Y[i] = 0
		}
	}
	return out
}

// gradientCases are settings that touch every option at least once.
func gradientCases() map[string]*GradientOptions {
	return map[string]*GradientOptions{
		"default": {Rounds: 15},
		"sampled": {Rounds: 15, RowSample: 0.6, ColumnSample: 0.7, ColumnsByLevel: 0.8,
			ColumnsByNode: 0.6, Seed: 3},
		"best first":    {Rounds: 12, Leaves: 9, MinRows: 4, L1: 0.1, Gamma: 0.01},
		"least squares": {Rounds: 12, LeastSquares: true, Depth: 3, L2: 2},
		"squared":       {Rounds: 12, Loss: Squared{}, LearningRate: 0.4},
		"huber":         {Rounds: 12, Loss: Huber{Delta: 0.7}, Depth: 3},
		"exact":         {Rounds: 12, Exact: true, Depth: 4, RowSample: 0.5},
		"monotone":      {Rounds: 12, Monotone: []int8{1, 0, -1, 0, 0}, Depth: 5},
		"classes":       {Rounds: 8, Loss: SoftMax{Classes: 3}, RowSample: 0.8, ColumnSample: 0.7},
		"exponential":   {Rounds: 8, Loss: Exponential{}, Depth: 2},
		"few bins":      {Rounds: 8, Bins: 7},
	}
}

func caseData(o *GradientOptions, rows int) *Data {
	d := randomData(rand.New(rand.NewPCG(5, 1)), rows, 5, 0)
	for i := range d.X.Columns[2].Values {
		if i%7 == 3 {
			d.X.Columns[2].Values[i] = float32(math.NaN())
		}
	}
	if _, ok := o.Loss.(SoftMax); ok {
		d = classes(d)
	}
	return d
}

func TestGradientDescendsAndIsTheSameForAnyWorkers(t *testing.T) {
	for name, o := range gradientCases() {
		t.Run(name, func(t *testing.T) {
			d := caseData(o, 900)
			var first []byte
			for workers := 1; workers <= 3; workers++ {
				c := *o
				last := math.Inf(1)
				watch := func(p *Progress) error {
					if !(p.Loss < last) && o.RowSample == 0 {
						return fmt.Errorf("round %d: the loss rose from %v to %v", p.Round, last, p.Loss)
					}
					last = p.Loss
					return nil
				}
				e, err := trainGradient(d, &c, control{Workers: workers, Watch: watch})
				if err != nil {
					t.Fatal(err)
				}
				if got := e.Rounds(); got != o.Rounds {
					t.Fatalf("%d rounds, want %d", got, o.Rounds)
				}
				// Watching must not change the model, nor the number of workers.
				b := saved(t, e)
				if first == nil {
					first = b
				}
				if !bytes.Equal(first, b) {
					t.Fatalf("the model of %d workers is not that of one", workers)
				}
				// What training kept as scores is what the model predicts.
				f, err := e.Scores(d.X, &PredictOptions{Workers: workers})
				if err != nil {
					t.Fatal(err)
				}
				if got := score.Mean(e.Loss, d.Y, d.W, f, 1); got != last {
					t.Fatalf("loss while training %v, of the model %v", last, got)
				}
			}
		})
	}
}

func TestGradientResumesToTheSameBits(t *testing.T) {
	for name, o := range gradientCases() {
		t.Run(name, func(t *testing.T) {
			d := caseData(o, 400)
			valid := caseData(o, 450)
			whole := *o
			whole.Valid = valid
			want, err := trainGradient(d, &whole)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			var kept bytes.Buffer
			var broken control
			broken.Ctx = ctx
			broken.Watch = func(p *Progress) error {
				if p.Round == 5 {
					cancel()
				}
				return nil
			}
			broken.Checkpoint = func(c *run.Checkpoint) error {
				kept.Reset()
				return c.Write(&kept)
			}
			var stopped *run.InterruptedError
			if _, err := trainGradient(d, &whole, broken); !errors.As(err, &stopped) || stopped.Steps != 5 {
				t.Fatalf("got %v, want an interruption after 5 rounds", err)
			}
			again := whole
			k, err := run.ReadCheckpoint(&kept)
			if err != nil {
				t.Fatal(err)
			}
			resume := control{Resume: k}
			got, err := trainGradient(d, &again, resume)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(saved(t, got), saved(t, want)) {
				t.Error("the resumed model is not the unbroken one")
			}
			other := again
			other.LearningRate = 0.77
			if _, err := trainGradient(d, &other, resume); !errors.Is(err, run.ErrOther) {
				t.Errorf("resumed with another learning rate: %v", err)
			} else if text := fmt.Sprintf("its rate is %v, here it is 0.77",
				o.settled().LearningRate); !strings.Contains(
				err.Error(), text) || len(err.Error()) > 200 {
				t.Errorf("%v; want %q", err, text)
			}
			// As many validation rows, but others.
			moved := *valid
			moved.W = slices.Repeat([]float64{2}, valid.Rows())
			other = again
			other.Valid = &moved
			if _, err := trainGradient(d, &other, resume); !errors.Is(err, run.ErrOther) ||
				!strings.Contains(err.Error(), "its valid is ") {
				t.Errorf("resumed with other validation rows: %v", err)
			}
			other = again
			other.Rounds = 4
			if _, err := trainGradient(d, &other, resume); !errors.Is(err, run.ErrOther) ||
				!strings.Contains(err.Error(), "5 steps already, and 4 are asked for") {
				t.Errorf("resumed with fewer rounds: %v", err)
			}
		})
	}
}

// settled is a copy with defaults filled in.
func (o GradientOptions) settled() GradientOptions {
	o.fill(400)
	return o
}

func TestSettingsWords(t *testing.T) {
	long := strings.Repeat("é", 300)
	for _, c := range []struct{ settings, want string }{
		{`{"b":1,"rounds":3,"a":"x y"}`, "a=x_y b=1"},
		{`{"q":{"y":{"z":[1, 2]},"rounds":1},"b":null}`, "b=null q.rounds=1 q.y.z=[1,_2]"},
		{`{`, ""},
	} {
		if got := SettingsWords(c.settings); got != c.want {
			t.Errorf("%s: %q, want %q", c.settings, got, c.want)
		}
	}
	// Long values are cut, and still differ.
	a, b := SettingsWords(`{"a":"`+long+`1"}`), SettingsWords(`{"a":"`+long+`2"}`)
	if a == b || len(a) > 120 {
		t.Errorf("%q and %q", a, b)
	}
}

func TestGradientStopsEarly(t *testing.T) {
	d := randomData(rand.New(rand.NewPCG(5, 2)), 150, 4, 0)
	valid := randomData(rand.New(rand.NewPCG(5, 3)), 400, 4, 0)
	o := &GradientOptions{Rounds: 400, LearningRate: 0.3}
	var losses []float64
	watch := func(p *Progress) error {
		losses = append(losses, p.Valid)
		return nil
	}
	e, err := trainGradient(d, o, control{Valid: valid, Patience: 7, Watch: watch})
	if err != nil {
		t.Fatal(err)
	}
	best := 0
	for i, v := range losses {
		if v < losses[best] {
			best = i
		}
	}
	if len(losses) == 400 || len(losses) != best+1+7 || e.Rounds() != best+1 {
		t.Errorf("%d rounds run, the least loss in round %d, %d kept", len(losses), best+1, e.Rounds())
	}
}

// Least-squares boosting by hand: each leaf is the mean residual of its rows.
func TestGradientLeastSquaresLeaves(t *testing.T) {
	d := randomData(rand.New(rand.NewPCG(5, 4)), 300, 4, 3)
	d.W = make([]float64, 300)
	for i := range d.W {
		d.W[i] = 0.5 + float64(i%4)
	}
	e, err := trainGradient(d, &GradientOptions{Loss: Squared{}, LeastSquares: true, Rounds: 6, Depth: 3,
		LearningRate: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	f := repeat(e.Start, 300)
	row := make([]float32, 4)
	for _, term := range e.Terms {
		tr := term.Predictor.(*tree.Tree)
		sum, n := map[int]float64{}, map[int]float64{}
		for i := range f {
			l := tr.Leaf(d.X.Row(i, row))
			sum[l] += d.W[i] * (d.Y[i] - f[i])
			n[l] += d.W[i]
		}
		for l := range n {
			near(t, "leaf", tr.Value[l], sum[l]/n[l], 1e-11)
		}
		for i := range f {
			f[i] += 0.5 * tr.Value[tr.Leaf(d.X.Row(i, row))]
		}
	}
}

// Integer weights are repeated rows, where what is in units of weights is in those of the mean
// weight, which no copies have.
func TestGradientWeightsAreCopies(t *testing.T) {
	d := randomData(rand.New(rand.NewPCG(5, 5)), 200, 4, 4)
	d.W = make([]float64, 200)
	var rows []int
	for i := range d.W {
		d.W[i] = float64(1 + i%3)
		for range 1 + i%3 {
			rows = append(rows, i)
		}
	}
	copies := &Data{X: d.X.Subset(rows)}
	for _, i := range rows {
		copies.Y = append(copies.Y, d.Y[i])
	}
	for _, exact := range []bool{false, true} {
		o := &GradientOptions{Rounds: 10, Exact: exact, MinRows: 1, L2: 1, MinWeight: 2}
		a, err := trainGradient(d, o)
		if err != nil {
			t.Fatal(err)
		}
		mean := float64(len(rows)) / 200
		b, err := trainGradient(copies, &GradientOptions{Rounds: 10, Exact: exact, MinRows: 1, L2: mean,
			MinWeight: 2 * mean})
		if err != nil {
			t.Fatal(err)
		}
		x, _ := a.Scores(d.X, nil)
		y, _ := b.Scores(d.X, nil)
		for i := range x {
			near(t, fmt.Sprintf("exact %v, row %d", exact, i), x[i], y[i], 1e-9)
		}
	}
}

func TestGradientMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	d := randomData(rng, 500, 5, 0)
	for _, o := range []*GradientOptions{{Rounds: 30, Monotone: []int8{1, 0, -1, 0, 0}},
		{Rounds: 30, Monotone: []int8{1, 0, -1, 0, 0}, Leaves: 20, Exact: true}} {
		e, err := trainGradient(d, o)
		if err != nil {
			t.Fatal(err)
		}
		moved := 0
		for j, direction := range o.Monotone {
			if direction == 0 {
				continue
			}
			line := d.X.Subset(make([]int, 200)) // row 0, again and again
			for i := range 200 {
				line.Columns[j].Values[i] = float32(i-100) / 30
			}
			for start := range 20 {
				for c := range line.Columns {
					if c != j {
						for i := range 200 {
							line.Columns[c].Values[i] = d.X.Columns[c].Values[start]
						}
					}
				}
				f, err := e.Scores(line, nil)
				if err != nil {
					t.Fatal(err)
				}
				for i := 1; i < len(f); i++ {
					if step := float64(direction) * (f[i] - f[i-1]); step < -1e-12 {
						t.Fatalf("column %d: the score moves by %v against the constraint", j, step)
					} else if step > 0 {
						moved++
					}
				}
			}
		}
		if moved == 0 {
			t.Error("the constrained columns are not used at all")
		}
	}
}

// Categories without any order are found by grouping their levels.
func TestGradientCategories(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 7))
	d := &Data{X: &table.Table{Name: "levels", Rows: 600}}
	level := make([]float32, 600)
	for i := range level {
		level[i] = float32(rng.IntN(20))
		y := -1.0
		if int(level[i])*7%20 < 10 {
			y = 1
		}
		d.Y = append(d.Y, y)
	}
	level[5] = float32(math.NaN())
	d.X.Columns = []table.Column{{Name: "level", Kind: table.Categorical, Values: level,
		Levels: strings.Split("abcdefghijklmnopqrst", "")}}
	e, err := trainGradient(d, &GradientOptions{Rounds: 20, Depth: 1, LearningRate: 1})
	if err != nil {
		t.Fatal(err)
	}
	f, err := e.Scores(d.X, nil)
	if err != nil {
		t.Fatal(err)
	}
	if wrong := score.ErrorRate(e.Loss, d.Y, nil, f); wrong > 1.0/600 {
		t.Errorf("error %v; one division of the levels suffices", wrong)
	}
}

func TestGradientThreeClasses(t *testing.T) {
	d := classes(randomData(rand.New(rand.NewPCG(5, 8)), 1000, 4, 0))
	e, err := trainGradient(d, &GradientOptions{Loss: SoftMax{Classes: 3}, Rounds: 40, LearningRate: 0.3})
	if err != nil {
		t.Fatal(err)
	}
	f, err := e.Scores(d.X, nil)
	if err != nil {
		t.Fatal(err)
	}
	if wrong := score.ErrorRate(e.Loss, d.Y, nil, f); wrong > 0.1 {
		t.Errorf("training error %v", wrong)
	}
	if len(e.Terms) != 120 {
		t.Errorf("%d trees, want one a class and round", len(e.Terms))
	}
}

func TestGradientDegenerate(t *testing.T) {
	nan := float32(math.NaN())
	for name, d := range map[string]*Data{
		"one class":       {X: numeric([]float32{1, 2, 3, 4}), Y: []float64{1, 1, 1, 1}},
		"constant column": {X: numeric([]float32{2, 2, 2, 2}), Y: []float64{1, -1, 1, -1}},
		"all missing":     {X: numeric([]float32{nan, nan, nan, nan}), Y: []float64{1, -1, 1, 1}},
		"same rows":       {X: numeric([]float32{1, 1, 2, 2}), Y: []float64{1, -1, 1, -1}},
		"one row":         {X: numeric([]float32{1}), Y: []float64{-1}},
		"two rows":        {X: numeric([]float32{1, 2}), Y: []float64{-1, 1}},
	} {
		for _, exact := range []bool{false, true} {
			e, err := trainGradient(d, &GradientOptions{Rounds: 5, Exact: exact, MinWeight: -1})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			f, err := e.Scores(d.X, nil)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for i, v := range f {
				if v-v != 0 {
					t.Errorf("%s: the score of row %d is %v", name, i, v)
				}
			}
		}
	}
}

func TestGradientRefuses(t *testing.T) {
	good := golden()
	inf := *good
	inf.X = numeric([]float32{1, 2, 3, 4, 5, float32(math.Inf(1))})
	for name, c := range map[string]struct {
		d    *Data
		o    *GradientOptions
		want string
	}{
		"no data":   {nil, nil, "no rows"},
		"infinite":  {&inf, nil, `column "x0" is infinite`},
		"rate":      {good, &GradientOptions{LearningRate: -1}, "rate: -1"},
		"sample":    {good, &GradientOptions{RowSample: 1.5}, "rows: 1.5"},
		"bins":      {good, &GradientOptions{Bins: 300}, "bins: 300"},
		"monotone":  {good, &GradientOptions{Monotone: []int8{1, 1}}, "the table has 1"},
		"direction": {good, &GradientOptions{Monotone: []int8{2}}, "-1, 0 or +1"},
		"start":     {good, &GradientOptions{Start: []float64{1, 2}}, "2 start scores"},
		"label":     {&Data{X: good.X, Y: []float64{1, 2, 3, 1, 1, 1}}, nil, "row 2"},
		"weight":    {&Data{X: good.X, Y: good.Y, W: []float64{1, 1, -1, 1, 1, 1}}, nil, "row 3"},
		"penalty":   {good, &GradientOptions{L1: math.NaN()}, "l1: NaN"},
		"validation row": {good, &GradientOptions{
			Valid: &Data{X: numeric([]float32{1}, []float32{2}), Y: []float64{1}}}, "column 2"},
	} {
		if _, err := trainGradient(c.d, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
}
