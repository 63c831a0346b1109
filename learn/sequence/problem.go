package sequence

import (
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
)

// Problem is a set of examples with their features numbered, for several objectives
// over the same weights: solvers other than Train's mix them.
type Problem struct {
	model  *Model
	corpus *corpus
	opts   TrainOptions

	examples []Example // for the identity of checkpoints
	once     bool      // Train is called once, and may free what it has used
}

// Prepare numbers the labels and features of examples as Train does. Of the options it
// uses what says which features there are (Order, Templates, MinCount, Observed), and
// Workers and MachineBytes; Problem.Train uses the others. The examples must not change
// while the Problem is in use.
func Prepare(examples []Example, opts *TrainOptions) (*Problem, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	m, c, err := prepare(examples, &o)
	if err != nil {
		return nil, err
	}
	return &Problem{model: m, corpus: c, opts: o, examples: examples}, nil
}

// Identity describes the problem in the words that run.Checkpoint.BelongsTo compares.
func (p *Problem) Identity() string { return p.opts.identity(p.examples) }

// Dim returns the number of weights.
func (p *Problem) Dim() int { return p.model.layout.dim }

// Examples returns the number of sequences.
func (p *Problem) Examples() int { return p.corpus.sequences() }

// Positions returns the number of positions of all sequences.
func (p *Problem) Positions() int { return p.corpus.positions() }

// Objective returns, as a function of the weights, the sum over examples that TrainOptions of the
// given Kind, Loss, Gamma and Beta would minimise. Penalties are not included. The value belongs to
// one goroutine at a time, and uses Workers itself.
func (p *Problem) Objective(opts *TrainOptions) (optim.Objective, error) {
	f, err := p.objective(opts)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Weighed returns the objective with opts.L2, and with the loss of every sequence apart: the mean
// over its positions, counted by their number.
func (p *Problem) Weighed(opts *TrainOptions) (resilient.Examples, error) {
	f, err := p.objective(opts)
	if err != nil {
		return nil, err
	}
	o, err := opts.withDefaults()
	f.l2 = o.L2
	return f, err
}

func (p *Problem) objective(opts *TrainOptions) (*objective, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := o.named(p.model.labels); err != nil {
		return nil, err
	}
	o.Order, o.MachineBytes = p.opts.Order, p.opts.MachineBytes
	if unknown(p.corpus.labels) {
		if err := o.partial(); err != nil {
			return nil, err
		}
	}
	workers := run.WorkersOf(p.opts.Workers)
	return newObjective(p.model.layout, p.corpus, newLossOf(&o, p.model.layout, p.corpus), 0, workers), nil
}

// Model returns the model with the given weights; training says how they were found.
func (p *Problem) Model(w []float64, training string) (*Model, error) {
	if len(w) != p.Dim() {
		return nil, fmt.Errorf("sequence: %d weights for a model of %d", len(w), p.Dim())
	}
	m := *p.model
	m.w, m.training = slices.Clone(w), training
	return &m, nil
}
