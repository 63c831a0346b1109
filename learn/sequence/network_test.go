package sequence

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

	"github.com/tropica-fst/tropica/learn/model"
	neural "github.com/tropica-fst/tropica/learn/nn/encoder"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/losses"
)

// parity makes sentences of words ending in a or b, labelled by whether the number of words in -a
// so far is even: of each word, features of the word and its neighbours say nothing.
func parity(n int, seed uint64) []Example {
	rng := rand.New(rand.NewPCG(seed, 1))
	var out []Example
	for range n {
		var e Example
		count := 0
		for range 1 + rng.IntN(6) {
			stem := string(rune('c'+rng.IntN(20))) + string(rune('c'+rng.IntN(20)))
			if rng.IntN(2) == 0 {
				e.Columns = append(e.Columns, []string{stem + "a", "x"})
				count++
			} else {
				e.Columns = append(e.Columns, []string{stem + "b", "y"})
			}
			e.Labels = append(e.Labels, []string{"even", "odd"}[count%2])
		}
		out = append(out, e)
	}
	return out
}

func parsed(t testing.TB, lines ...string) []*Template {
	t.Helper()
	var out []*Template
	for _, line := range lines {
		tpl, err := ParseTemplate(line)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, tpl)
	}
	return out
}

// networkOptions are those of small networks.
func networkOptions(t testing.TB, n Network) *TrainOptions {
	n.Hidden, n.Layers = 16, 1
	return &TrainOptions{Templates: parsed(t, "U1:%x[0,0]"), Network: &n, Seed: 1, Order: 1}
}

// What has the form of a word only in its characters, and depends on all words before, is learnt by
// a recurrent network of order 1; features do not learn it.
func TestNetworkReadsCharactersAndContext(t *testing.T) {
	train, test := parity(300, 1), parity(100, 2)
	o := networkOptions(t, Network{Kind: neural.Recurrence, Epochs: 40, Rate: .01, Batch: 16, Dropout: -1})
	m, _, err := Train(train, o)
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := m.wrong(t.Context(), test, 0)
	if err != nil || wrong > .05 {
		t.Errorf("%v of the labels are wrong: %v", wrong, err)
	}
	o.Network = nil
	linear, _, err := Train(train, o)
	if err != nil {
		t.Fatal(err)
	}
	if w, _ := linear.wrong(t.Context(), test, 0); w < .2 {
		t.Errorf("without a network %v are wrong: the task is too easy", w)
	}
}

// Derivatives by scores and weights against differences, for every objective and what it may meet.
func TestNetworkTaskByDifferences(t *testing.T) {
	examples := parity(4, 3)
	templates := parsed(t, "U1:%x[0,0]", "U2:%x[-1,1]", "B1:%x[0,1]")
	for name, o := range map[string]TrainOptions{
		"cross-entropy":  {},
		"order 1":        {Order: 1},
		"order 3":        {Order: 3},
		"pairs":          {Templates: templates},
		"observed":       {Observed: true},
		"margin":         {Kind: SoftmaxMargin},
		"margin of edit": {Kind: SoftmaxMargin, Loss: LongEdit{}, Gamma: 2},
		"smooth max":     {Kind: MaxMargin, Beta: 2},
		"risk":           {Kind: Risk},
		"risk of edit":   {Kind: Risk, Loss: LongEdit{}},
		"risk of n-gram": {Kind: Risk, Loss: losses.NGram{N: 2, C: 1}},
		"partial":        {Partial: true},
	} {
		t.Run(name, func(t *testing.T) {
			data := examples
			if o.Templates == nil {
				o.Templates = templates[:2]
			}
			if o.Partial {
				data = slices.Clone(data)
				for i := range data {
					data[i].Labels = slices.Clone(data[i].Labels)
					data[i].Labels[0] = ""
				}
			}
			o.Network = &Network{Hidden: 4, Layers: 1}
			p, err := Prepare(data, &o)
			if err != nil {
				t.Fatal(err)
			}
			v, err := newVocabularies(data, &p.opts)
			if err != nil {
				t.Fatal(err)
			}
			task, err := p.networkTask(&network{inputs: *v}, &p.opts)
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(9, 9))
			normal := func(n int) []float32 {
				v := make([]float32, n)
				for i := range v {
					v[i] = float32(rng.NormFloat64())
				}
				return v
			}
			for i := range data {
				n := task.Positions(i) * p.model.layout.labels
				scores, extra := normal(n), normal(task.Extra())
				sink := neural.NewSparseGradient(task.Extra())
				loss := func(d []float32) float64 {
					v, err := task.Loss(0, i, scores, extra, d, sink)
					if err != nil {
						t.Fatal(err)
					}
					return v
				}
				d := make([]float32, n)
				loss(d)
				grad := slices.Clone(sink.Row(0, task.Extra()))
				spare := make([]float32, n)
				for _, side := range []struct {
					name      string
					at, slope []float32
				}{{"score", scores, d}, {"weight", extra, grad}} {
					for k := range side.at {
						const h = 1. / 64
						old := side.at[k]
						side.at[k] = old + h
						up := loss(spare)
						side.at[k] = old - h
						want := (up - loss(spare)) / (2 * h)
						side.at[k] = old
						if math.Abs(float64(side.slope[k])-want) > 2e-4 {
							t.Fatalf("example %d, %s %d: derivative %v, difference %v", i, side.name, k, side.slope[k], want)
						}
					}
				}
			}
		})
	}
}

// A model with a network is the same for any number of workers, after an interruption, and in a
// file.
func TestNetworkModelIsKept(t *testing.T) {
	train := parity(60, 1)
	o := networkOptions(t, Network{Epochs: 4})
	file := func(o TrainOptions) []byte {
		t.Helper()
		m, _, err := Train(train, &o)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := m.Write(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	o.Workers = 1
	want := file(*o)
	o.Workers = 3
	if !bytes.Equal(want, file(*o)) {
		t.Error("workers changed the model")
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Control = run.Control{Ctx: ctx, Recorder: run.RecorderFunc(func(r run.Row) error {
		if r.Iteration == 2 {
			cancel()
		}
		return nil
	})}
	var last *run.Checkpoint
	o.Control.Checkpoint = func(k *run.Checkpoint) error { last = k; return nil }
	if m, _, err := Train(train, o); !errors.Is(err, context.Canceled) || m == nil {
		t.Fatal(m, err)
	}
	o.Control = run.Control{Resume: last}
	if !bytes.Equal(want, file(*o)) {
		t.Error("an interruption changed the model")
	}
	other := *o
	other.Network = &Network{Epochs: 4, Hidden: 17, Layers: 1}
	if _, _, err := Train(train, &other); !errors.Is(err, run.ErrOther) ||
		!strings.Contains(err.Error(), "hidden") {
		t.Error(err)
	}

	m, err := Read(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := m.Write(&again); err != nil || !bytes.Equal(want, again.Bytes()) {
		t.Error("written again, the file is another", err)
	}
	if s, n, ok := m.Network(); !ok || n == 0 || s.Hidden != 16 {
		t.Error(s, n, ok)
	}
	for name, spoil := range map[string]func(c *model.Container){
		"no shape":   func(c *model.Container) { c.PutStrings("network shape", []string{"{}"}) },
		"words":      func(c *model.Container) { c.PutStrings("network words 0", []string{"one"}) },
		"columns":    func(c *model.Container) { model.Put(c, "network columns", []int32{-1}) },
		"characters": func(c *model.Container) { c.PutStrings("network characters", nil) },
		"labels":     func(c *model.Container) { c.PutStrings("labels", []string{"even"}) },
		"parameters": func(c *model.Container) { model.Put(c, "network", make([]float32, 3)) },
	} {
		c, err := model.Read(bytes.NewReader(want), nil)
		if err != nil {
			t.Fatal(err)
		}
		spoil(c)
		var b bytes.Buffer
		c.Write(&b)
		if _, err := Read(&b); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}

// Scores of a tagger are those of the features and the network together: the score of the best
// labelling in n-best lists is that of its potentials, and risk can start from the model.
func TestNetworkInDecoding(t *testing.T) {
	train := parity(40, 1)
	o := networkOptions(t, Network{Epochs: 3})
	o.Order = 2
	m, _, err := Train(train, o)
	if err != nil {
		t.Fatal(err)
	}
	tagger := m.Tagger()
	in := &train[0].Input
	labels, err := tagger.Viterbi(in)
	if err != nil {
		t.Fatal(err)
	}
	best, err := tagger.NBest(in, 2)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(labels, best[0].Labels); diff != "" {
		t.Error(diff)
	}
	p, err := tagger.Potentials(in)
	if err != nil {
		t.Fatal(err)
	}
	numbers := make([]int, len(labels))
	for i, y := range labels {
		numbers[i] = slices.Index(m.Labels(), y)
	}
	if d := math.Abs(p.Score(numbers) - best[0].Score); d > 1e-9 {
		t.Errorf("scores differ by %v", d)
	}
	zero := *m
	zero.w = make([]float64, len(m.w))
	if q, err := zero.Tagger().NBest(in, 1); err != nil || q[0].Score == 0 {
		t.Error("the network scores nothing", err)
	}

	o.Kind, o.Init = Risk, m
	before, err := riskOf(m, train)
	if err != nil {
		t.Fatal(err)
	}
	risk, _, err := Train(train, o)
	if err != nil {
		t.Fatal(err)
	}
	after, err := riskOf(risk, train)
	if err != nil || after >= before {
		t.Errorf("training by risk brought it from %v to %v: %v", before, after, err)
	}
}

// riskOf is the mean expected Hamming loss, by n-best lists of all labellings.
func riskOf(m *Model, examples []Example) (float64, error) {
	total := 0.0
	for i := range examples {
		list, err := m.Tagger().NBest(&examples[i].Input, 64)
		if err != nil {
			return 0, err
		}
		for _, c := range list {
			for t, y := range c.Labels {
				if y != examples[i].Labels[t] {
					total += c.Probability
				}
			}
		}
	}
	return total, nil
}

func TestNetworkHeldOut(t *testing.T) {
	o := networkOptions(t, Network{Epochs: 6})
	o.Dev = parity(20, 5)
	var valid []float64
	o.Control.Recorder = run.RecorderFunc(func(r run.Row) error { valid = append(valid, *r.Valid); return nil })
	m, _, err := Train(parity(40, 1), o)
	if err != nil {
		t.Fatal(err)
	}
	if w, _ := m.wrong(t.Context(), o.Dev, 1); w != slices.Min(valid) || len(valid) != 6 {
		t.Errorf("the model has %v wrong of held-out labels, the epochs had %v", w, valid)
	}
}

func TestNetworkErrors(t *testing.T) {
	train := parity(5, 1)
	for want, change := range map[string]func(o *TrainOptions){
		"need columns": func(o *TrainOptions) { o.Templates = nil },
		"l1":           func(o *TrainOptions) { o.L1 = 1 },
		"Adam":         func(o *TrainOptions) { o.Solver = Bundle },
		"none may be":  func(o *TrainOptions) { o.Network.Dropout = 1 },
		"unknown kind": func(o *TrainOptions) { o.Network.Kind = "deep" },
	} {
		o := networkOptions(t, Network{Epochs: 1})
		change(o)
		data := train
		if want == "need columns" {
			data = []Example{{Input: Input{Attributes: [][]Attribute{{{Name: "a", Value: 1}}}}, Labels: []string{"x"}}}
		}
		if _, _, err := Train(data, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	o := networkOptions(t, Network{Epochs: 1})
	with, _, err := Train(train, o)
	if err != nil {
		t.Fatal(err)
	}
	without := &TrainOptions{Templates: o.Templates, Init: with}
	if _, _, err := Train(train, without); err == nil || !strings.Contains(err.Error(), "has a network") {
		t.Error(err)
	}
	o.Templates = parsed(t, "U1:%x[0,0]", "U2:%x[0,1]")
	m, _, err := Train(train, o)
	if err != nil {
		t.Fatal(err)
	}
	in := &Input{Attributes: [][]Attribute{{{Name: "a", Value: 1}}}, Source: "here:7"}
	if _, err := m.Tagger().Viterbi(in); err == nil || !strings.Contains(fmt.Sprint(err), "here:7") {
		t.Error(err)
	}
	if labels, err := m.Tagger().Viterbi(&Input{}); err != nil || len(labels) != 0 {
		t.Error(labels, err)
	}
}
