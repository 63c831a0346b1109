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

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/losses"
)

// Sampled gradients and values are those of exact machines, up to what so many samples leave.
func TestSampledGradients(t *testing.T) {
	local := losses.Local{Match: 1, Sub: -1, Ins: -1, Del: -1}
	for _, c := range []struct {
		name string
		o    TrainOptions
	}{
		{"softmax-margin", TrainOptions{Kind: SoftmaxMargin, Loss: losses.Unit}},
		{"softmax-margin, order 3", TrainOptions{Kind: SoftmaxMargin, Loss: losses.Unit, Order: 3}},
		{"pairs of labels", TrainOptions{Kind: SoftmaxMargin, Loss: LongEdit{Exact: 1, Band: 7},
			Templates: templates(t, "U0:%x[0,0]", "B0:%x[0,0]")}},
		{"reward-augmented", TrainOptions{Kind: SoftmaxMargin, Loss: losses.SmithWaterman, Gamma: -0.5}},
		{"local", TrainOptions{Kind: SoftmaxMargin, Loss: LongLocal{Local: local, Exact: 1, Band: 7}}},
		{"smoothed margin", TrainOptions{Kind: MaxMargin, Beta: 2, Loss: losses.Unit}},
		{"risk", TrainOptions{Kind: Risk, Loss: losses.Unit}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 8))
			examples := make([]Example, 4)
			for i := range examples {
				for range 4 + i {
					examples[i].Columns = append(examples[i].Columns, []string{fmt.Sprint("w", rng.IntN(3))})
					examples[i].Labels = append(examples[i].Labels, fmt.Sprint("y", rng.IntN(3)))
				}
			}
			o := c.o
			o.Solver = AdaGrad
			if o.Templates == nil {
				o.Templates = templates(t, "U0:%x[0,0]")
			}
			eval := func(o TrainOptions, x []float64) (float64, []float64) {
				p, err := Prepare(examples, &o)
				if err != nil {
					t.Fatal(err)
				}
				if x == nil {
					x = random(rand.New(rand.NewPCG(1, 9)), p.Dim())
				}
				l := newLossOf(&p.opts, p.model.layout, p.corpus)
				g := make([]float64, p.Dim())
				v, err := optim.NewSum(&terms{layout: p.model.layout, corpus: p.corpus, loss: l}, nil).Eval(x, g)
				if err != nil {
					t.Fatal(err)
				}
				return v, g
			}
			want, exact := eval(o, nil)
			const times = 8
			value, gradient := 0.0, make([]float64, len(exact))
			for seed := range uint64(times) {
				o.Sampled = &Sampling{Sweeps: 400, Passes: 200, Seed: seed}
				v, g := eval(o, nil)
				value += v / times
				for i, x := range g {
					gradient[i] += x / times
				}
			}
			// Of 64 chains, and the means of eight runs: log Z is known to .01 or so, a
			// probability to .001.
			if math.Abs(value-want) > .06 {
				t.Errorf("value %v, not %v", value, want)
			}
			for i, x := range exact {
				if math.Abs(gradient[i]-x) > .012 {
					t.Errorf("derivative %d: %v, not %v", i, gradient[i], x)
				}
			}
		})
	}
}

// Runs with sampled gradients are the same for any number of workers, and go on from where they
// were interrupted with the same bits, in the midst of a pass too.
func TestSampledTraining(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	train := flipFlop(rng, 24)
	o := TrainOptions{Templates: templates(t, "U0:%x[0,0]", "U1:%x[-1,0]"), Solver: AdaGrad, Seed: 3,
		Kind: SoftmaxMargin,
		Loss: LongEdit{Exact: 2, Band: 1}, Sampled: &Sampling{Sweeps: 10}, Batch: 4}
	o.Control.Stop = run.Stop{Iterations: 4, Relative: -1}
	var first *Model
	for _, workers := range []int{1, 3} {
		o.Workers = workers
		m, r, err := Train(train, &o)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = m
			if !strings.Contains(r.Note, "gradients were sampled") || !strings.Contains(m.Training(),
				"sampled=sweeps:10") {
				t.Errorf("note %q, training %q", r.Note, m.Training())
			}
		} else if !slices.Equal(first.w, m.w) {
			t.Errorf("%d workers give another model", workers)
		}
	}
	// An interrupt between two looks at the context.
	for _, looks := range []int{40, 777, 3000} {
		ctx := &countedContext{Context: context.Background(), left: looks}
		var saved bytes.Buffer
		killed := o
		killed.Workers = 1
		killed.Control.Ctx = ctx
		killed.Control.Checkpoint = func(k *run.Checkpoint) error { saved.Reset(); return k.Write(&saved) }
		if _, r, err := Train(train, &killed); !errors.Is(err, context.Canceled) || r.Reason != run.Interrupted {
			t.Fatalf("killed after %d looks: %v", looks, err)
		}
		k, err := run.ReadCheckpoint(&saved)
		if err != nil {
			t.Fatalf("killed after %d looks: %v", looks, err)
		}
		resumed := o
		resumed.Control.Resume = k
		again, _, err := Train(train, &resumed)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(again.w, first.w) {
			t.Errorf("killed after %d looks, and resumed: another model", looks)
		}
		resumed.Sampled = &Sampling{Sweeps: 11}
		if _, _, err := Train(train, &resumed); err == nil {
			t.Error("a checkpoint of other sweeps was taken")
		}
	}
}

// countedContext is cancelled once it was looked at so many times.
type countedContext struct {
	context.Context
	left int
}

func (c *countedContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Sequences of at most Exact labels have exact gradients.
func TestSampledShort(t *testing.T) {
	train := flipFlop(rand.New(rand.NewPCG(9, 1)), 20)
	o := TrainOptions{Templates: templates(t, "U0:%x[0,0]"), Solver: AdaGrad, Kind: SoftmaxMargin,
		Loss: LongEdit{Exact: 50, Band: 1}}
	o.Control.Stop = run.Stop{Iterations: 2, Relative: -1}
	want, _, err := Train(train[:5], &o)
	if err != nil {
		t.Fatal(err)
	}
	o.Sampled = &Sampling{}
	got, r, err := Train(train[:5], &o)
	if err != nil || !slices.Equal(got.w, want.w) || r.Note != "0 gradients were sampled" {
		t.Errorf("another model of short sequences: %v, %+v", err, r)
	}
}

func TestSampledRefuses(t *testing.T) {
	one := []Example{{Input{Columns: [][]string{{"a", "x"}}}, []string{"y"}}}
	for word, o := range map[string]TrainOptions{
		"use sgd, adagrad or adam": {Kind: SoftmaxMargin, Loss: losses.Unit},
		"exact at any length":      {Solver: SGD},
		"smooth it with beta":      {Solver: SGD, Kind: MaxMargin, Loss: losses.Unit},
		"alignment losses":         {Solver: SGD, Kind: SoftmaxMargin, Loss: losses.NGram{N: 2, C: 1}},
		"which are edit":           {Solver: SGD, Kind: SoftmaxMargin},
		"give at least 2 and 1, or 0": {Solver: SGD, Kind: SoftmaxMargin, Loss: losses.Unit,
			Sampled: &Sampling{Sweeps: 1}},
	} {
		if o.Sampled == nil {
			o.Sampled = &Sampling{}
		}
		if _, _, err := Train(one, &o); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", word, err)
		}
	}
}
