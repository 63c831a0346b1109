package sequence

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/losses"
)

// trained returns a model with random weights.
func trained(t testing.TB, rng *rand.Rand, examples []Example, opts TrainOptions) *Model {
	m, _, _, _ := build(t, examples, opts, 1)
	m.w = random(rng, m.layout.dim)
	return m
}

func numbers(m *Model, labels []string) []int {
	out := make([]int, len(labels))
	for i, y := range labels {
		out[i] = slices.Index(m.labels, y)
	}
	return out
}

func TestDecodingAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	for _, s := range settings(t) {
		if s.opts.Kind != CrossEntropy {
			continue
		}
		examples := randomExamples(rng, 12, 3, true)
		m := trained(t, rng, examples, s.opts)
		_, c, _, _ := build(t, examples, s.opts, 1)
		tagger := m.Tagger()
		for i := range examples {
			type path struct {
				u     []int
				score float64
			}
			var paths []path
			all(examples[i].Len(), len(m.labels), func(u []int) {
				paths = append(paths, path{slices.Clone(u), scoreOf(m, c, m.w, i, u)})
			})
			slices.SortFunc(paths, func(a, b path) int { return cmp.Compare(b.score, a.score) })
			best, err := tagger.Viterbi(&examples[i].Input)
			if err != nil || math.Abs(scoreOf(m, c, m.w, i, numbers(m, best))-paths[0].score) > 1e-9 {
				t.Fatalf("%s: Viterbi %v, %v; best is %v", s.name, best, err, paths[0])
			}
			potentials, err := tagger.Potentials(&examples[i].Input)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range paths {
				if got := potentials.Score(p.u); math.Abs(got-p.score) > 1e-9 {
					t.Fatalf("%s: potentials give %v the score %v, want %v", s.name, p.u, got, p.score)
				}
			}
			list, err := tagger.NBest(&examples[i].Input, 7)
			if err != nil || len(list) != min(7, len(paths)) {
				t.Fatalf("%s: %d-best list of %d: %v", s.name, len(list), len(paths), err)
			}
			sum := 0.0
			for k := range list {
				// Scores may tie, labellings must differ.
				own := scoreOf(m, c, m.w, i, numbers(m, list[k].Labels))
				if math.Abs(own-list[k].Score) > 1e-9 || math.Abs(list[k].Score-paths[k].score) > 1e-9 {
					t.Fatalf("%s: %d-th best %+v, want %+v", s.name, k, list[k], paths[k])
				}
				for j := range k {
					if slices.Equal(list[j].Labels, list[k].Labels) {
						t.Fatalf("%s: %v twice", s.name, list[k])
					}
				}
				sum += list[k].Probability
				if ratio := math.Exp(list[k].Score - list[0].Score); math.Abs(list[k].Probability-ratio*list[0].Probability) > 1e-9 {
					t.Errorf("%s: probability %v", s.name, list[k].Probability)
				}
			}
			if math.Abs(sum-1) > 1e-12 {
				t.Errorf("%s: probabilities sum to %v", s.name, sum)
			}
			// With the whole space in the list, the risk is exact.
			if examples[i].Len() > 4 {
				continue
			}
			u, list, err := tagger.MinRisk(&examples[i].Input, &RiskOptions{List: 100, Scale: 0.5, Loss: func(u, v []string) float64 { return float64(metrics.EditDistance(u, v)) }})
			if err != nil {
				t.Fatal(err)
			}
			z, least := 0.0, math.Inf(1)
			for _, p := range paths {
				z += math.Exp(0.5 * p.score)
			}
			var chosen float64
			for _, p := range paths {
				risk := 0.0
				for _, q := range paths {
					risk += math.Exp(0.5*q.score) / z * float64(metrics.EditDistance(p.u, q.u))
				}
				least = math.Min(least, risk)
				if slices.Equal(p.u, numbers(m, u)) {
					chosen = risk
				}
			}
			if math.Abs(chosen-least) > 1e-9 || len(list) != len(paths) {
				t.Errorf("%s: chose risk %v, least is %v", s.name, chosen, least)
			}
		}
	}
}

// A task that words alone cannot solve: the label of a word depends on the label before.
func flipFlop(rng *rand.Rand, n int) []Example {
	out := make([]Example, n)
	for i := range out {
		state := 0
		for range 3 + rng.IntN(8) {
			word := rng.IntN(4)
			switch word {
			case 0:
				state = 0
			case 1:
				state = 1
			}
			out[i].Columns = append(out[i].Columns, []string{fmt.Sprintf("w%d", word)})
			out[i].Labels = append(out[i].Labels, fmt.Sprintf("s%d", state))
		}
	}
	return out
}

func errorsOf(t testing.TB, m *Model, examples []Example) metrics.Rate {
	tagger := m.Tagger()
	var r metrics.Rate
	for i := range examples {
		u, err := tagger.Viterbi(&examples[i].Input)
		if err != nil {
			t.Fatal(err)
		}
		r = r.Add(metrics.Symbols(u, examples[i].Labels))
	}
	return r
}

func TestTrainingGeneralises(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	train, test := flipFlop(rng, 150), flipFlop(rng, 100)
	words := templates(t, "U0:%x[0,0]")
	for name, o := range map[string]TrainOptions{
		"cross-entropy":   {},
		"gonum":           {Solver: GonumLBFGS},
		"proximal":        {Solver: Proximal, L1: 0.5},
		"observed":        {Observed: true},
		"l1":              {L1: 0.5},
		"order 3":         {Order: 3},
		"adagrad":         {Solver: AdaGrad, Rate: 0.5},
		"sgd":             {Solver: SGD, Rate: 1},
		"adam":            {Solver: Adam, Rate: 0.05},
		"hamming margin":  {Kind: SoftmaxMargin},
		"edit margin":     {Kind: SoftmaxMargin, Loss: LongEdit{Exact: 6}},
		"smoothed margin": {Kind: MaxMargin, Beta: 4},
		"max-margin":      {Kind: MaxMargin, Solver: AdaGrad, Rate: 0.5},
	} {
		o.Templates, o.L2 = words, 0.1
		m, r, err := Train(train, &o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if e := errorsOf(t, m, test); e.Value() > 0.2 {
			// Words 2 and 3 keep the state, which the start alone leaves open.
			t.Errorf("%s: %v, %+v", name, e, r.Reason)
		}
	}
	plain, _, err := Train(train, &TrainOptions{Templates: words, Order: 1})
	if err != nil {
		t.Fatal(err)
	}
	if e := errorsOf(t, plain, test); e.Value() < 0.2 {
		t.Errorf("order 1 cannot know the state, and yet: %v", e)
	}
}

func TestTrainingOverfitsToZeroLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	train := flipFlop(rng, 6)
	for i := range train { // every position is distinguished
		for p := range train[i].Columns {
			train[i].Columns[p] = append(train[i].Columns[p], fmt.Sprintf("id%d.%d", i, p))
			train[i].Labels[p] = fmt.Sprintf("s%d", rng.IntN(4))
		}
	}
	for name, o := range map[string]TrainOptions{
		"cross-entropy": {},
		"edit margin":   {Kind: SoftmaxMargin, Loss: losses.Unit, Gamma: 0.1},
		"max-margin":    {Kind: MaxMargin, Solver: AdaGrad, Rate: 0.3},
		"order 3":       {Order: 3},
	} {
		o.Templates, o.L2 = templates(t, "U0:%x[0,1]"), -1
		o.Control.Stop = run.Stop{Iterations: 300, Relative: -1, Gradient: -1}
		m, r, err := Train(train, &o)
		if err != nil {
			t.Fatal(err)
		}
		if e := errorsOf(t, m, train); e.Errors > 0 || !(r.F < 0.01) {
			t.Errorf("%s: %v, objective %v", name, e, r.F)
		}
	}
	risk, _, err := Train(train, &TrainOptions{Templates: templates(t, "U0:%x[0,1]"), L2: -1, Control: run.Control{Stop: run.Stop{Iterations: 30}}})
	if err != nil {
		t.Fatal(err)
	}
	m, r, err := Train(train, &TrainOptions{Templates: templates(t, "U0:%x[0,1]"), L2: -1, Kind: Risk, Loss: losses.Unit, Init: risk, Control: run.Control{Stop: run.Stop{Iterations: 50, Relative: -1}}})
	if err != nil || errorsOf(t, m, train).Errors > 0 || !(r.F < 0.01) {
		t.Errorf("risk: %v, %+v", err, r.F)
	}
}

func TestTrainingIsTheSameForAnyWorkersAndResumes(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	train := flipFlop(rng, 120)
	for _, solver := range []Solver{QuasiNewton, GonumLBFGS, Proximal, SGD, AdaGrad, Adam} {
		o := TrainOptions{Templates: templates(t, "U0:%x[0,0]", "U1:%x[-1,0]"), Solver: solver, Seed: 3}
		o.Control.Stop = run.Stop{Iterations: 6, Relative: -1, Gradient: -1}
		var first *Model
		for _, workers := range []int{1, 2, 5} {
			o.Workers = workers
			m, _, err := Train(train, &o)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = m
			} else if !slices.Equal(first.w, m.w) {
				t.Errorf("%v: %d workers give another model", solver, workers)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		var saved bytes.Buffer
		killed := o
		killed.Control.Ctx = ctx
		killed.Control.Checkpoint = func(k *run.Checkpoint) error { saved.Reset(); return k.Write(&saved) }
		killed.Control.Recorder = run.RecorderFunc(func(r run.Row) error {
			if r.Iteration == 3 {
				cancel()
			}
			return nil
		})
		m, r, err := Train(train, &killed)
		if !errors.Is(err, context.Canceled) || m == nil || r.Reason != run.Interrupted {
			t.Fatalf("%v: killed: %v, %+v", solver, err, r)
		}
		k, err := run.ReadCheckpoint(&saved)
		if err != nil {
			t.Fatal(err)
		}
		o.Control.Resume = k
		again, r, err := Train(train, &o)
		if err != nil {
			t.Fatal(err)
		}
		if solver >= Proximal && !slices.Equal(again.w, first.w) {
			t.Errorf("%v: resumed, another model", solver)
		}
		if solver < Proximal && (r.Note == "" || r.Iterations != 6) {
			t.Errorf("%v: resumed: %+v", solver, r.Reason)
		}
		other := o
		other.L2 = 7
		if _, _, err := Train(train, &other); err == nil {
			t.Errorf("%v: the checkpoint of another problem was taken", solver)
		}
	}
}

func TestModelFile(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 1))
	for _, s := range settings(t) {
		if s.opts.Kind != CrossEntropy {
			continue
		}
		examples := randomExamples(rng, 10, 3, true)
		m := trained(t, rng, examples, s.opts)
		m.training = "by a test"
		var file bytes.Buffer
		if err := m.Write(&file); err != nil {
			t.Fatal(err)
		}
		raw := slices.Clone(file.Bytes())
		got, err := Read(&file)
		if err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		if err := got.Write(&again); err != nil || !bytes.Equal(raw, again.Bytes()) {
			t.Errorf("%s: read and written again: other bytes, %v", s.name, err)
		}
		if !slices.Equal(got.w, m.w) || got.Training() != "by a test" || got.Order() != m.Order() {
			t.Errorf("%s: another model", s.name)
		}
		for i := range examples {
			a, err := m.Tagger().Viterbi(&examples[i].Input)
			b, err2 := got.Tagger().Viterbi(&examples[i].Input)
			if err != nil || err2 != nil || !slices.Equal(a, b) {
				t.Errorf("%s: %v and %v, %v, %v", s.name, a, b, err, err2)
			}
		}
		// Weights in readable form carry the whole model.
		dst := make([]float64, m.layout.dim)
		m.copyWeights(dst, got)
		if !slices.Equal(dst, m.w) {
			t.Errorf("%s: weights by name differ", s.name)
		}
	}
}

func TestHostileModelFiles(t *testing.T) {
	valid := func() *model.Container {
		c := model.New("sequence", 1)
		c.SetMeta(map[string]any{"order": 2, "templates": []string{"U0:%x[0,0]"}})
		c.PutStrings("labels", []string{"a", "b"})
		c.PutStrings("attributes", []string{"U0:x"})
		c.PutStrings("pair attributes", nil)
		model.Put(c, "weights", make([]float64, 2+2+4))
		return c
	}
	read := func(c *model.Container) error {
		var b bytes.Buffer
		if err := c.Write(&b); err != nil {
			t.Fatal(err)
		}
		_, err := Read(&b)
		return err
	}
	if err := read(valid()); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(c *model.Container){
		"kind":           func(c *model.Container) { c.Kind = "boost" },
		"version":        func(c *model.Container) { c.Version = 3 },
		"order":          func(c *model.Container) { c.SetMeta(map[string]any{"order": 4}) },
		"order 0":        func(c *model.Container) { c.SetMeta(map[string]any{}) },
		"order 3":        func(c *model.Container) { c.SetMeta(map[string]any{"order": 3}) },
		"template":       func(c *model.Container) { c.SetMeta(map[string]any{"order": 2, "templates": []string{"X"}}) },
		"labels":         func(c *model.Container) { c.PutStrings("labels", []string{"a", "a"}) },
		"no labels":      func(c *model.Container) { c.PutStrings("labels", nil) },
		"attributes":     func(c *model.Container) { c.PutStrings("attributes", []string{"x", "x"}) },
		"few weights":    func(c *model.Container) { model.Put(c, "weights", make([]float64, 7)) },
		"NaN":            func(c *model.Container) { model.Put(c, "weights", []float64{0, 0, 0, math.NaN(), 0, 0, 0, 0}) },
		"rows":           func(c *model.Container) { model.Put(c, "row", []int64{0, 3}); model.Put(c, "seen", []int32{0, 1}) },
		"negative row":   func(c *model.Container) { model.Put(c, "row", []int64{-1, 2}); model.Put(c, "seen", []int32{0, 1}) },
		"label of a row": func(c *model.Container) { model.Put(c, "row", []int64{0, 2}); model.Put(c, "seen", []int32{0, 2}) },
		"rows not there": func(c *model.Container) { model.Put(c, "row", []int64{0, 2}) },
	} {
		c := valid()
		spoil(c)
		if err := read(c); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestTrainRefuses(t *testing.T) {
	one := []Example{{Input{Columns: [][]string{{"a", "x"}}}, []string{"y"}}}
	two := []Example{{Input{Columns: [][]string{{"a"}, {"b"}}}, []string{"y", "y"}}}
	for name, x := range map[string]struct {
		examples []Example
		opts     TrainOptions
		word     string
	}{
		"nothing":       {nil, TrainOptions{}, "no examples"},
		"empty":         {[]Example{{}}, TrainOptions{}, "no positions"},
		"labels":        {[]Example{{one[0].Input, []string{"y", "z"}}}, TrainOptions{}, "2 labels for 1"},
		"order":         {one, TrainOptions{Order: 4}, "order 4"},
		"column":        {one, TrainOptions{Templates: templates(t, "U:%x[0,2]")}, "example 1: token 1: template \"U:%x[0,2]\" reads column 3"},
		"number":        {one, TrainOptions{Templates: templates(t, "U:%v[0,1]")}, "no number"},
		"B and order 1": {two, TrainOptions{Order: 1, Templates: templates(t, "B0:%x[0,0]")}, "need order 2"},
		"NaN": {[]Example{{Input{Attributes: [][]Attribute{{{Name: "a", Value: math.NaN()}}}},
			[]string{"y"}}}, TrainOptions{}, "NaN"},
		"UTF-8": {[]Example{{Input{Attributes: [][]Attribute{{{Name: "\xff", Value: 1}}}}, []string{"y"}}},
			TrainOptions{}, "UTF-8"},
		"from the end": {one, TrainOptions{Templates: templates(t, "U:%x[0,-3]")}, "reads column 3 from the end, the line has 2"},
		"source":       {[]Example{{Input{Columns: one[0].Columns, Source: "f:7"}, []string{"y"}}}, TrainOptions{Templates: templates(t, "U:%v[0,1]")}, "sequence: f:7: token 1: template \"U:%v[0,1]\": column 2 holds"},
		"format":       {one, TrainOptions{Format: Format{"columns", 2, 2}}, "a format of 2 columns with labels in column 3"},
		"L2":           {one, TrainOptions{L2: math.Inf(1)}, "infinite"},
		"lengths":      {[]Example{{Input{Columns: [][]string{{"a"}}, Attributes: make([][]Attribute, 2)}, []string{"y", "y"}}}, TrainOptions{}, "1 positions with columns"},
	} {
		_, _, err := Train(x.examples, &x.opts)
		if err == nil || !strings.Contains(err.Error(), x.word) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A model keeps what it was trained on, in its file too. Files without are of older versions.
func TestFormat(t *testing.T) {
	one := []Example{{Input{Columns: [][]string{{"a", "x"}}}, []string{"y"}}}
	for _, f := range []Format{{}, {"columns", 2, 1}} {
		m, _, err := Train(one, &TrainOptions{Templates: templates(t, "U:%x[0,0]"), Format: f})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := m.Write(&b); err != nil {
			t.Fatal(err)
		}
		again, err := Read(bytes.NewReader(b.Bytes()))
		if err != nil || m.Format() != f || again.Format() != f || f.Known() != (f.Columns == 2) {
			t.Errorf("%v became %v, and %v when read back (%v)", f, m.Format(), again.Format(), err)
		}
		if known := bytes.Contains(b.Bytes(), []byte(`"format":`)); known != f.Known() {
			t.Errorf("the file of %v says a format: %v", f, known)
		}
	}
}

// At the minimum with l1, the gradient of the smooth part is -l1·sign(w) where
// w is not zero, and at most l1 elsewhere; the scaling of the weights must not show.
func TestL1Optimality(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	train := flipFlop(rng, 80)
	o := TrainOptions{Templates: templates(t, "U0:%x[0,0]", "U1:%x[-1,0]%x[0,0]"), L1: 2, L2: 0.1}
	o.Control.Stop = run.Stop{Iterations: 500, Relative: -1, Gradient: 1e-8}
	for _, observed := range []bool{false, true} {
		o.Observed = observed
		m, r, err := Train(train, &o)
		if err != nil || !r.Reason.Converged() {
			t.Fatalf("%v, %+v", err, r.Reason)
		}
		_, _, f, _ := build(t, train, o, 1)
		g := make([]float64, f.Dim())
		v, err := f.Eval(m.w, g)
		if err != nil {
			t.Fatal(err)
		}
		zeros := 0
		for j, w := range m.w {
			v += 2 * math.Abs(w)
			if w == 0 {
				zeros++
				if math.Abs(g[j]) > 2+1e-3 {
					t.Errorf("weight %d is zero with gradient %v", j, g[j])
				}
			} else if math.Abs(g[j]+math.Copysign(2, w)) > 1e-3 {
				t.Errorf("weight %d is %v with gradient %v", j, w, g[j])
			}
		}
		if zeros == 0 || zeros == len(m.w) || math.Abs(v-r.F) > 1e-9*v {
			t.Errorf("%d of %d weights are zero; objective %v, result says %v", zeros, len(m.w), v, r.F)
		}
	}
}

// Sentences of hundreds of positions go through a band.
func TestLongSequences(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 1))
	var e Example
	for range 400 {
		k := rng.IntN(5)
		e.Attributes = append(e.Attributes, []Attribute{{Name: fmt.Sprint(k), Value: 1}})
		e.Labels = append(e.Labels, fmt.Sprint(k))
	}
	for _, loss := range []losses.Loss{LongEdit{}, LongEdit{Edit: losses.Edit{Sub: 2, Ins: 1, Del: 3}, Band: 1}, losses.NGram{N: 2, C: 1}} {
		o := &TrainOptions{Kind: SoftmaxMargin, Loss: loss, L2: 0.01, Control: run.Control{Stop: run.Stop{Iterations: 8}}}
		m, r, err := Train([]Example{e}, o)
		if err != nil {
			t.Fatal(err)
		}
		if wrong := errorsOf(t, m, []Example{e}); wrong.Errors > 0 || math.IsNaN(r.F) {
			t.Errorf("%T: %v, objective %v", loss, wrong, r.F)
		}
	}
}

// A cancelled context stops an evaluation midway, not only between two.
func TestCancelledWithinAnEvaluation(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	_, _, f, _ := build(t, flipFlop(rand.New(rand.NewPCG(11, 1)), 50), TrainOptions{}, 2)
	f.ctx = ctx
	if _, err := f.Eval(make([]float64, f.Dim()), nil); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := f.Eval(make([]float64, f.Dim()), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	rng := rand.New(rand.NewPCG(12, 1))
	for _, o := range []TrainOptions{{}, {Order: 3}, {Observed: true, Templates: templates(f, "U0:%x[0,0]", "B0:%x[0,0]")}} {
		var b bytes.Buffer
		if err := trained(f, rng, flipFlop(rng, 3), o).Write(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 32 { // with the checksum that these bytes should have
			sum := sha256.Sum256(b[:len(b)-32])
			b = append(b[:len(b)-32:len(b)-32], sum[:]...)
		}
		var m *Model
		var err error
		fsttest.Allocating(t, 2<<20+256*len(b), func() { m, err = Read(bytes.NewReader(b)) })
		if err != nil {
			return
		}
		in := &Input{Columns: [][]string{{"w1", "x"}, {"w2", "x"}}}
		u, err := m.Tagger().Viterbi(in)
		if err == nil && len(u) != 2 {
			t.Fatalf("labels %q", u)
		}
		var out, twice bytes.Buffer
		if err := m.Write(&out); err != nil {
			t.Fatal(err)
		}
		again, err2 := Read(bytes.NewReader(out.Bytes()))
		if err2 != nil {
			t.Fatalf("what was written is not read: %v", err2)
		}
		if err := again.Write(&twice); err != nil || !bytes.Equal(out.Bytes(), twice.Bytes()) {
			t.Fatalf("what was written and read is written otherwise: %v", err)
		}
		v, err2 := again.Tagger().Viterbi(in)
		if (err == nil) != (err2 == nil) || !slices.Equal(u, v) {
			t.Fatalf("labels %q, %v become %q, %v", u, err, v, err2)
		}
	})
}
