package network

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

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
)

// rings has three classes by distance from the middle; the labels of some rows are another's.
func rings(n int, share float64) (t *table.Table, wrong []bool) {
	rng := rand.New(rand.NewPCG(5, 7))
	t = &table.Table{Rows: n, Name: "rings", Classes: []string{"a", "b", "c"}, TargetName: "class",
		Columns: []table.Column{{Name: "x"}, {Name: "y"}}}
	wrong = make([]bool, n)
	for i := range n {
		r, at := 3*math.Sqrt(rng.Float64()), 2*math.Pi*rng.Float64()
		k := int(r)
		t.Columns[0].Values = append(t.Columns[0].Values, float32(r*math.Cos(at)))
		t.Columns[1].Values = append(t.Columns[1].Values, float32(r*math.Sin(at)))
		if rng.Float64() < share {
			k, wrong[i] = (k+1+rng.IntN(2))%3, true
		}
		t.Target = append(t.Target, float64(k))
	}
	return t, wrong
}

// The gradient of rows with multipliers and weights is that of differences, in chunks too.
func TestProgramGradient(t *testing.T) {
	net, err := nn.New(3, 5, 2)
	if err != nil {
		t.Fatal(err)
	}
	const n = 2*chunk + 20
	rng := rand.New(rand.NewPCG(1, 2))
	r := &Rows{Net: net, Loss: score.SoftMax{Classes: 2}, L2: 0.3}
	lambda, rows := make([]float64, 0, n), make([]int, 0, n)
	for i := range n {
		for range 3 {
			r.X = append(r.X, float32(rng.NormFloat64()))
		}
		r.Y, r.W = append(r.Y, float64(rng.IntN(2))), append(r.W, 0.5+rng.Float64())
		lambda, rows = append(lambda, rng.Float64()), append(rows, n-1-i)
	}
	p := New(r, 1)
	x, grad := nn.He[float64](net, 3), make([]float64, net.Dim())
	v := &resilient.Values{Point: make([]float64, n)}
	value := func(x []float64) float64 {
		if err := p.Eval(x, rows, lambda, nil, v, nil); err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for k, i := range rows {
			sum += r.W[i] * lambda[k] * v.Point[k] / n
		}
		return sum + v.Objective
	}
	if err := p.Eval(x, rows, lambda, nil, v, grad); err != nil {
		t.Fatal(err)
	}
	for j := range x {
		y := slices.Clone(x)
		y[j] += 1e-6
		up := value(y)
		y[j] -= 2e-6
		if d := (up - value(y)) / 2e-6; math.Abs(d-grad[j]) > 1e-6 {
			t.Errorf("derivative %d is %v, by differences %v", j, grad[j], d)
		}
	}
}

// Without hidden layers the saddle point is the minimum that package linear finds by L-BFGS.
func TestAgainstLinear(t *testing.T) {
	data, _ := rings(90, 0.1)
	data.Weight = make([]float64, data.Rows)
	for i := range data.Weight {
		data.Weight[i] = 1 + float64(i%2)
	}
	const l2 = 0.05
	m, r, err := Train(data, &Options{Hidden: []int{0}, Method: "huber", Delta: 0.9, L2: l2,
		Momentum: learner.None, Rate: 0.5, RateMultiplier: 0.3, Batch: 90, Epochs: 20000}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Reason != run.GapSmall || m.residuals.Violation > 1e-7 {
		t.Errorf("%s after %d passes, %+v", r.Reason, r.Iterations, m.residuals)
	}
	o := &linear.Options{L2: l2 * float64(data.Rows)}
	o.Resilient, o.Delta = "huber", 0.9
	want, _, err := linear.Train(data, o, &run.Control{Stop: run.Stop{Relative: 1e-15}})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := m.Predict(t.Context(), data, 1)
	b, _ := want.Predict(t.Context(), data, 1)
	for i, p := range a.Probability {
		if math.Abs(p-b.Probability[i]) > 1e-5 {
			t.Fatalf("probability %d is %v, package linear has %v", i, p, b.Probability[i])
		}
	}
}

// A run that is interrupted within a pass and taken up gives the bits of the unbroken one, for
// every method and step, and so do other numbers of workers.
func TestResume(t *testing.T) {
	data, _ := rings(150, 0.2)
	for _, o := range []Options{{Method: "huber"}, {Method: "quadratic", Step: "adam", Rate: 0.01},
		{Method: "cvar"},
		{Method: "itlm", Every: 2}, {Method: "trim", Every: 3, Step: "adagrad"}, {Method: "plain",
			Hold: 0.2}, {Method: "huber", Delta: 0.5, RateSlack: 0.5, Hold: 0.3}} {
		o.Epochs, o.Batch, o.Hidden = 8, 16, []int{7}
		want, _, err := Train(data, &o, &run.Control{Workers: 1})
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		for _, at := range []int{16, 33, 57} { // the first dozen are before the first pass
			ctx, cancel := context.WithCancel(t.Context())
			var saved bytes.Buffer
			c := &run.Control{Workers: 3, Ctx: &counted{ctx, cancel, at},
				Checkpoint: func(k *run.Checkpoint) error { saved.Reset(); return k.Write(&saved) }}
			_, _, err := Train(data, &o, c)
			var stopped *run.InterruptedError
			if !errors.As(err, &stopped) {
				t.Fatalf("%+v: %v", o, err)
			}
			k, err := run.ReadCheckpoint(&saved)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := Train(data, &o, &run.Control{Resume: k})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.w, want.w) || !slices.Equal(got.hard.Top, want.hard.Top) {
				t.Fatalf("%+v: taken up after %d looks at the context it is another model", o, at)
			}
			other := o
			other.Seed = 9
			if _, _, err := Train(data, &other, &run.Control{Resume: k}); !errors.Is(err, run.ErrOther) {
				t.Errorf("a checkpoint of another seed: %v", err)
			}
		}
	}
}

// counted is cancelled after a number of calls.
type counted struct {
	context.Context
	cancel context.CancelFunc
	left   int
}

func (c *counted) Err() error {
	if c.left--; c.left == 0 {
		c.cancel()
	}
	return c.Context.Err()
}

// Rows with the label of another class have the largest multipliers, under Huber the model stays
// nearer to the right labels than by plain training of as many passes, and itlm leaves out about
// the rows it should.
func TestWrongLabels(t *testing.T) {
	data, wrong := rings(600, 0.2)
	clean, _ := rings(600, 0)
	place := map[string]int{}
	for i := range data.Rows {
		place[data.At(i)] = i
	}
	errors := map[string]float64{}
	for _, method := range []string{"plain", "huber", "quadratic", "itlm"} {
		m, _, err := Train(data, &Options{Method: method, Delta: 0.3, Hidden: []int{32}, Epochs: 150,
			Rate: 0.05, Step: "sgd"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := m.Predict(t.Context(), clean, 0)
		for i, y := range clean.Target {
			if s.Class(i) != int(y) {
				errors[method] += 1. / 600
			}
		}
		if method == "plain" {
			continue
		}
		top, bad := m.hard.Top[:100], 0
		if method == "itlm" { // by loss: those left out have weights of 0, and are a quarter
			out := 0
			for _, h := range m.hard.Top {
				if h.Lambda == 0 {
					out++
				}
			}
			if out != 150 || top[0].Lambda != 0 {
				t.Errorf("itlm with a quarter left out leaves out %d of 600; the hardest has weight %v",
					out, top[0].Lambda)
			}
		}
		for _, h := range top {
			if wrong[place[h.Place]] {
				bad++
			}
		}
		if least := len(top) * 7 / 10; bad < least {
			t.Errorf("%s: of %d rows that should be wrong %d are", method, len(top), bad)
		}
	}
	t.Logf("errors on right labels: %v", errors)
	if errors["huber"] > 0.2 || errors["itlm"] > 0.2 {
		t.Errorf("errors on right labels: %v", errors)
	}
}

func TestFile(t *testing.T) {
	data, _ := rings(80, 0.2)
	data.Columns = append(data.Columns, table.Column{Name: "colour", Kind: table.Categorical,
		Levels: []string{"blue", "red"}})
	for i := range data.Rows {
		data.Columns[2].Values = append(data.Columns[2].Values, float32(i%2))
	}
	data.Columns[0].Values[3] = float32(math.NaN())
	m, _, err := Train(data, &Options{Epochs: 5, Hidden: []int{6, 4}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := m.Write(&file); err != nil {
		t.Fatal(err)
	}
	back, err := Read(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := m.Predict(t.Context(), data, 3)
	b, err := back.Predict(t.Context(), data, 1)
	if err != nil || !slices.Equal(a.Probability, b.Probability) {
		t.Errorf("other probabilities of the file's model (%v)", err)
	}
	x, y := fmt.Sprint(m.Explain()), fmt.Sprint(back.Explain())
	if x != y || !strings.Contains(x, "colour=red") || !strings.Contains(x, "hardest examples") {
		t.Errorf("explained %.300s, from the file %.300s", x, y)
	}
	for i := range file.Len() {
		b := slices.Clone(file.Bytes())
		if b[i] ^= 1; i%97 == 0 {
			if _, err := Read(bytes.NewReader(b)); err == nil {
				t.Fatalf("byte %d changed, and the file is read", i)
			}
		}
	}
	if _, err := Read(bytes.NewReader(file.Bytes()[:file.Len()/2])); !errors.Is(err, model.ErrFormat) {
		t.Errorf("half a file: %v", err)
	}
}

func TestRefused(t *testing.T) {
	data, _ := rings(40, 0)
	for _, o := range []Options{{Method: "best"}, {Hidden: []int{-2}}, {Hidden: []int{3, 0}}, {Delta: -1},
		{Epochs: -1}, {Rate: math.NaN()}, {Drop: 2}, {Step: "newton"}, {Loss: "squared"}, {Loss: "logistic"},
		{Rate: 1e8, Method: "plain"}, {Method: "huber", RateSlack: 1.5}} {
		if _, _, err := Train(data, &o, nil); err == nil {
			t.Errorf("%+v is taken", o)
		} else if !strings.HasPrefix(err.Error(), "resilient: ") &&
			!strings.HasPrefix(err.Error(), "linear: ") {
			t.Errorf("%+v: the error %q names no package", o, err)
		}
	}
	same := &table.Table{Rows: 2, Classes: []string{"a", "b"}, Target: []float64{0, 1},
		Columns: []table.Column{{Name: "x", Values: []float32{1, 1}}}}
	if _, _, err := Train(same, nil, nil); err == nil {
		t.Error("a table without a column that tells rows apart is taken")
	}
	numbers, _ := rings(40, 0)
	numbers.Classes = nil
	m, _, err := Train(numbers, &Options{Epochs: 3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := m.Predict(t.Context(), numbers, 0); err != nil || s.Probability != nil || s.Outputs != 1 {
		t.Errorf("of numbers: %+v, %v", s, err)
	}
}
