package structured

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

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/run"
)

// examples draws labelled examples of a kind.
func examples(rng *rand.Rand, kind Kind, n int) *Data {
	d := &Data{Kind: kind, X: &table.Table{Name: "drawn", Rows: n}}
	for _, name := range []string{"a", "b"} {
		c := table.Column{Name: name, Values: make([]float32, n)}
		for i := range c.Values {
			c.Values[i] = float32(rng.NormFloat64())
		}
		d.X.Columns = append(d.X.Columns, c)
	}
	level := table.Column{Name: "level", Kind: table.Categorical, Levels: []string{"x", "y", "z"},
		Values: make([]float32, n)}
	for i := range level.Values {
		level.Values[i] = float32(rng.IntN(3))
	}
	d.X.Columns = append(d.X.Columns, level)
	a := func(i int) float64 { return float64(d.X.Columns[0].Values[i]) }
	word := func() string {
		return string([]byte{byte('a' + rng.IntN(3)), byte('a' + rng.IntN(3)), byte('a' + rng.IntN(3)),
			byte('a' + rng.IntN(3))})
	}
	switch kind {
	case Class:
		d.Names, d.Classes = []string{"y"}, []string{"no", "yes", "maybe"}
	case Number:
		d.Names = []string{"y"}
	case StringY:
		d.Names = []string{"y"}
		d.Text = make([]string, n)
		for i := range n {
			w := word()
			d.YText = append(d.YText, w)
			d.Text[i] = w + string(byte('a'+rng.IntN(3)))
		}
		return d
	default:
		d.Names = []string{"p", "q", "r"}
	}
	for i := range n {
		switch kind {
		case Class:
			d.Y = append(d.Y, math.Floor(math.Min(2, math.Max(0, a(i)+1.5))))
		case Number:
			d.Y = append(d.Y, math.Sin(2*a(i))+0.1*rng.NormFloat64())
		case LabelSet:
			d.Y = append(d.Y, indicator(a(i) > 0), indicator(a(i) > 1), indicator(rng.IntN(2) == 0))
		case HistogramY:
			u, v := 1/(1+math.Exp(-a(i))), 0.3*rng.Float64()
			d.Y = append(d.Y, u*(1-v), (1-u)*(1-v), v)
		case RankingY:
			d.Y = append(d.Y, math.Round(3+a(i)), 3, math.NaN())
		case VectorY:
			d.Y = append(d.Y, a(i), -a(i), rng.NormFloat64())
		}
	}
	return d
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Test 14: models of every kind and loss predict the same bits after being written and read,
// and for any number of workers.
func TestModels(t *testing.T) {
	losses := map[Kind][]string{
		Class: {"auto", "costs"}, Number: {"auto", "cauchy", "absolute"}, LabelSet: {"auto", "f1", "jaccard"},
		HistogramY: {"auto", "hellinger-l1", "chi2"},
		VectorY:    {"auto", "gaussian"}, RankingY: {"auto", "kendall", "rank-normal"},
		StringY: {"auto", "smith-waterman", "local", "hamming", "ngram-log", "ngram-squared",
			"ngram-product", "ngram-cosine"},
	}
	for _, kind := range Kinds {
		for _, loss := range losses[kind] {
			rng := rand.New(rand.NewPCG(1, 4))
			d, test := examples(rng, kind, 30), examples(rng, kind, 12)
			o := &Options{Loss: loss, Lambda: []float64{1e-3, 1e-1}, Candidates: "auto"}
			if loss == "costs" {
				o.Costs = []float64{0, 1, 2, 1, 0, 1, 5, 1, 0}
			}
			if kind == StringY && loss == "auto" {
				d.Lexicon = []string{"aaaa", "abca", "bbbb", "cabc"}
				d.X = nil // strings need no table
			}
			if loss == "hamming" && kind == StringY {
				o.Candidates = "near"
			}
			m, r, err := Train(d, o, &run.Control{Workers: 2})
			if err != nil {
				t.Fatalf("%s, %s: %v", kind, loss, err)
			}
			if r.Iterations != 2 || !r.Converged() {
				t.Errorf("%s: %d values of lambda, %s", kind, r.Iterations, r.Reason)
			}
			p := must(m.Predict(ctx, test, 1))(t)
			other := must(m.Predict(ctx, test, 3))(t)
			var file bytes.Buffer
			if err := m.Write(&file); err != nil {
				t.Fatal(err)
			}
			again, err := Read(bytes.NewReader(file.Bytes()))
			if err != nil {
				t.Fatalf("%s, %s: %v", kind, loss, err)
			}
			q := must(again.Predict(ctx, test, 2))(t)
			for what, x := range map[string]*Predictions{"three workers": other, "read again": q} {
				if !sameBits(p.Y, x.Y) || !slices.Equal(p.Text, x.Text) || !sameBits(p.F, x.F) ||
					!slices.Equal(p.Exact, x.Exact) {
					t.Errorf("%s, %s, %s: other predictions", kind, loss, what)
				}
			}
			if diff := cmp.Diff(m.Explain(), again.Explain(),
				cmp.Comparer(func(a, b float64) bool { return a == b || a != a && b != b })); diff != "" {
				t.Errorf("%s: explained otherwise: %s", kind, diff)
			}
			for _, measure := range p.Judge(test) {
				if measure.Value-measure.Value != 0 {
					t.Errorf("%s, %s: %s is %v", kind, loss, measure.Name, measure.Value)
				}
			}
			if names := MeasureNames(kind); len(p.Judge(test)) != len(names) {
				t.Errorf("%s: measures %v", kind, names)
			}
			// Cut anywhere, a file is an error.
			for _, n := range []int{0, 10, file.Len() / 2, file.Len() - 1} {
				if _, err := Read(bytes.NewReader(file.Bytes()[:n])); err == nil {
					t.Errorf("%s: a file of %d of %d bytes is read", kind, n, file.Len())
				}
			}
		}
	}
}

func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// All estimators train, choose where there is a choice, and predict.
func TestEstimators(t *testing.T) {
	for _, estimator := range []Estimator{Ridge, Conjugate, Nystrom, NadarayaWatson, Neighbours} {
		rng := rand.New(rand.NewPCG(6, 4))
		d, test := examples(rng, Class, 60), examples(rng, Class, 60)
		m, _, err := Train(d, &Options{Estimator: string(estimator), Landmarks: 30, Truncate: 0.01}, nil)
		if err != nil {
			t.Fatalf("%s: %v", estimator, err)
		}
		p := must(m.Predict(ctx, test, 1))(t)
		most := 20.0
		// the frequent class wins where kernels are wide
		if estimator == NadarayaWatson || estimator == Neighbours {
			most = 60
		}
		if e := p.Judge(test)[1].Value; e > most {
			t.Errorf("%s: error %v %%", estimator, e)
		}
		for i, f := range p.Influences {
			if len(f) == 0 && !p.Degenerate[i] {
				t.Errorf("%s: no influence on row %d", estimator, i)
			}
		}
	}
}

// A file of other contents in a sound container is an error, not a panic.
func TestReadRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 4))
	m, _, err := Train(examples(rng, Number, 20), &Options{Lambda: []float64{1e-2}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := m.Write(&file); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(c *model.Container){
		"points":   func(c *model.Container) { model.Put(c, "points", []float64{1}) },
		"level":    func(c *model.Container) { model.Put(c, "level", []int32{7, 7, 7, 7, 7}) },
		"outputs":  func(c *model.Container) { model.Put(c, "outputs", make([]float64, 3)) },
		"nan":      func(c *model.Container) { model.Put(c, "outputs", slices.Repeat([]float64{math.NaN()}, 20)) },
		"held":     func(c *model.Container) { model.Put(c, "held", make([]float64, 3)) },
		"version":  func(c *model.Container) { c.Version = 9 },
		"kind":     func(c *model.Container) { c.Kind = "linear" },
		"scaling":  func(c *model.Container) { model.Put(c, "scaling", []float64{}) },
		"features": func(c *model.Container) { model.Put(c, "column", []int32{0, 1, 2, 9, 9}) },
	} {
		c := must(model.Read(bytes.NewReader(file.Bytes()), nil))(t)
		change(c)
		var out bytes.Buffer
		if err := c.Write(&out); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(&out); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}

// A run that was interrupted goes on to the same model.
func TestResume(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	if _, _, err := Train(&Data{Kind: Number}, nil, nil); !errors.Is(err, ErrData) {
		t.Errorf("no inputs: %v", err)
	}
	d := examples(rng, Number, 40)
	whole, _, err := Train(d, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	stop, cancel := context.WithCancel(ctx)
	var kept *run.Checkpoint
	_, _, err = Train(d, nil, &run.Control{Ctx: stop,
		Checkpoint: func(k *run.Checkpoint) error { kept = k; return nil },
		Recorder: run.RecorderFunc(func(r run.Row) error {
			if r.Iteration == 5 {
				cancel()
			}
			return nil
		})})
	var interrupted *run.InterruptedError
	if !errors.As(err, &interrupted) || kept == nil || kept.Iteration != 5 {
		t.Fatalf("interrupted: %v, checkpoint %+v", err, kept)
	}
	resumed, r, err := Train(d, nil, &run.Control{Resume: kept})
	if err != nil {
		t.Fatal(err)
	}
	if resumed.Lambda() != whole.Lambda() || r.Iterations != 17 || !slices.Equal(resumed.tried, whole.tried) {
		t.Errorf("resumed: lambda %v after %d values, want %v", resumed.Lambda(), r.Iterations, whole.Lambda())
	}
	if _, _, err := Train(examples(rng, Number, 40), nil, &run.Control{Resume: kept}); !errors.Is(
		err, run.ErrOther) {
		t.Errorf("other data: %v", err)
	}
}

// Unusable data and options are refused, with the place.
func TestTrainRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, c := range []struct {
		name, want string
		kind       Kind
		o          Options
		change     func(d *Data)
	}{
		{"missing output", `column "y": the output is missing`, Number, Options{},
			func(d *Data) { d.Y[3] = math.NaN() }},
		{"one class", `all examples are of the class "no"`, Class, Options{}, func(d *Data) { clear(d.Y) }},
		{"labels", "neither 0 nor 1", LabelSet, Options{}, func(d *Data) { d.Y[4] = 2 }},
		{"bins", "add up to", HistogramY, Options{}, func(d *Data) { d.Y[0] += 0.1 }},
		{"loss", `"f1" is none of these outputs`, HistogramY, Options{Loss: "f1"}, nil},
		{"no such loss", "there are", Number, Options{Loss: "cubic"}, nil},
		{"costs", "3 classes need 9", Class, Options{Costs: []float64{1}}, nil},
		{"kernel of strings", "is for inputs that are strings", Number, Options{Kernel: "ngram:1-2"}, nil},
		{"kernel of rows", "strings take ngram", StringY, Options{Kernel: "gaussian"}, nil},
		{"not semidefinite", "eigenvalue", Number, Options{Kernel: "sigmoid:-3:1", Lambda: []float64{1e-9}}, nil},
		{"lambda", "out of range", Number, Options{Lambda: []float64{-1}}, nil},
		{"constant inputs", "no column tells", Number, Options{}, func(d *Data) {
			for j := range d.X.Columns {
				clear(d.X.Columns[j].Values)
			}
		}},
		{"no lexicon", "no lexicon", StringY, Options{Candidates: "lexicon"}, nil},
		{"floor", "", StringY, Options{Loss: "ngram-log"}, nil},
		{"grid of lambda", "examples to leave out", Number,
			Options{Estimator: "neighbours", Lambda: []float64{1, 2}}, nil},
	} {
		d := examples(rng, c.kind, 20)
		if c.change != nil {
			c.change(d)
		}
		if c.name == "grid of lambda" {
			// Estimators without a penalty ignore it.
			c.want = ""
		}
		_, _, err := Train(d, &c.o, nil)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	m, _, err := Train(examples(rng, Number, 20), &Options{Lambda: []float64{1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Predict(ctx, examples(rng, StringY, 3), 1); !errors.Is(err, ErrData) {
		t.Errorf("strings for rows: %v", err)
	}
	other := examples(rng, Number, 5)
	other.X.Columns = other.X.Columns[:2]
	if _, err := m.Predict(ctx, other, 1); err == nil {
		t.Error("a column is missing")
	}
	stop, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := m.Predict(stop, examples(rng, Number, 5), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The choice of lambda by single examples left out is that of fits without them.
func TestChoice(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 4))
	const n = 14
	d := examples(rng, Number, n)
	lambdas := []float64{1e-4, 1e-2, 1}
	m, _, err := Train(d, &Options{Lambda: lambdas, Loss: "absolute", Kernel: "gaussian:1.2", Bound: 3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := kernel.Rows[float64](d.X, m.features, 1)
	k := kernel.Kernel[*kernel.Matrix](kernel.Vector{Kind: kernel.Gaussian, Width: 1.2})
	for s, l := range lambdas {
		want := 0.0
		for i := range n {
			var rest []int
			for j := range n {
				if j != i {
					rest = append(rest, j)
				}
			}
			// With n·lambda as it is.
			w := fit(t, k, x.Subset(rest), l*n/(n-1), nil)
			alpha := must(w.Weights(ctx, x.Subset([]int{i}), 1))(t)
			var y []float64
			for _, j := range rest {
				y = append(y, d.Y[j])
			}
			dec := must(NewScalar(y, Absolute, &ScalarOptions{Bound: 3}))(t)
			want += math.Abs(must(dec.Decode(ctx, alpha))(t).Output-d.Y[i]) / n
		}
		near(t, fmt.Sprintf("lambda %g", l), m.tried[s].Loss, want, 1e-9)
	}
	best := slices.MinFunc(m.tried, func(a, b tried) int { return int(math.Copysign(1, a.Loss-b.Loss)) })
	if m.Lambda() != best.Lambda {
		t.Errorf("lambda %v, the best is %v", m.Lambda(), best.Lambda)
	}
}

// Section 6: the excess risk of a classifier falls with n at least as fast as the theorem says. The
// comparison inequality holds with factor 2 on the way.
func TestRate(t *testing.T) {
	sizes, repetitions := []int{50, 100, 200, 400}, 12
	k := func(a, b float64) float64 { return math.Exp(-(a - b) * (a - b) / (2 * 0.15 * 0.15)) }
	// With the kernel k+1 the conditional expectation lies in the space.
	p := func(x float64) float64 { return 0.5 + 0.4*(0.8*k(x, 0.2)-0.8*k(x, 0.5)+0.8*k(x, 0.8)) }
	const grid = 200
	var logN, logExcess, logSurrogate []float64
	for _, n := range sizes {
		excess, surrogate := 0.0, 0.0
		for r := range repetitions {
			rng := rand.New(rand.NewPCG(uint64(n), uint64(r)))
			x, y := make([]float64, n), make([]int, n)
			gram := make([]float64, n*n)
			for i := range x {
				x[i] = rng.Float64()
				if rng.Float64() < p(x[i]) {
					y[i] = 1
				}
			}
			for i := range n {
				for j := range n {
					gram[i*n+j] = k(x[i], x[j]) + 1
				}
			}
			c := float64(n) / math.Sqrt(float64(n))
			ridge := must(kernel.NewRidge(gram, n, c, &kernel.Options{Workers: 1}))(t)
			cross := make([]float64, n*grid)
			for q := range grid {
				for i := range n {
					cross[i*grid+q] = k(x[i], (float64(q)+0.5)/grid) + 1
				}
			}
			if err := ridge.Solve(cross, grid); err != nil {
				t.Fatal(err)
			}
			alpha := transposed(cross, n, grid)
			m := must(NewMultiClass(y, 2))(t)
			e, s := 0.0, 0.0
			for q := range grid {
				truth := p((float64(q) + 0.5) / grid)
				a := alpha[q*n:][:n]
				g := m.Scores(a)
				s += ((g[0]-1+truth)*(g[0]-1+truth) + (g[1]-truth)*(g[1]-truth)) / grid
				d := must(m.Decode(ctx, a))(t)
				e += (math.Max(truth, 1-truth) - [2]float64{1 - truth, truth}[d.Output]) / grid
			}
			if e > 2*math.Sqrt(s)+1e-12 {
				t.Errorf("n %d: excess %v, twice the root of the surrogate %v", n, e, 2*math.Sqrt(s))
			}
			excess += e / float64(repetitions)
			surrogate += s / float64(repetitions)
		}
		logN, logExcess, logSurrogate = append(logN, math.Log(float64(n))), append(logExcess, math.Log(excess)),
			append(logSurrogate, math.Log(surrogate))
		t.Logf("n %d: excess %.4f, surrogate %.4f", n, excess, surrogate)
	}
	slope := func(y []float64) float64 {
		mx, my, xy, xx := 0.0, 0.0, 0.0, 0.0
		for i := range y {
			mx += logN[i] / float64(len(y))
			my += y[i] / float64(len(y))
		}
		for i := range y {
			xy += (logN[i] - mx) * (y[i] - my)
			xx += (logN[i] - mx) * (logN[i] - mx)
		}
		return xy / xx
	}
	if s := slope(logExcess); s > -0.25+0.05 {
		t.Errorf("the excess risk falls as n^%.2f; the theorem says n^-0.25 at least", s)
	}
	if s := slope(logSurrogate); s > -0.5+0.1 {
		t.Errorf("the surrogate falls as n^%.2f; it should as n^-0.5 at least", s)
	}
}

// Losses that are not finite choose nothing, and one fold leaves nothing to fit.
func TestChoiceNeedsLosses(t *testing.T) {
	d := examples(rand.New(rand.NewPCG(9, 9)), Number, 20)
	if _, _, err := Train(d, &Options{Folds: 1}, nil); err == nil ||
		!strings.Contains(err.Error(), "at least 2") {
		t.Errorf("one fold: %v", err)
	}
	for i := range d.Y {
		d.Y[i] *= 1e300
	}
	if _, _, err := Train(d, nil, nil); !errors.Is(err, ErrData) ||
		!strings.Contains(err.Error(), "its loss is") {
		t.Errorf("squares beyond float64: %v", err)
	}
}
