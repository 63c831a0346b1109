package g2p

import (
	"context"
	"fmt"

	"github.com/tropica-fst/tropica/learn/optim"
)

// FitOptions adjusts a fit; the zero value is right.
type FitOptions struct {
	// Stop is the stopping rule. Its zero Relative is 2e-4 over five iterations,
	// the same for every objective: comparing objectives that have not converged
	// misleads.
	Stop     optim.Stop
	Recorder optim.Recorder // receives a row an iteration; nil is none
	Workers  int            // 0 is that of the Problem; results do not depend on it
	Memory   int            // pairs of L-BFGS; 0 is 6

	// Init is the weights of a Model of this Problem to start from; nil is zero,
	// and for RiskMix those of a CrossEntropy model, which is fitted first.
	Init []float64

	// Checkpoint, CheckpointEvery and Resume are those of optim.Control.
	Checkpoint      func(*optim.Checkpoint) error
	CheckpointEvery int
	Resume          *optim.Checkpoint
}

// Fit minimizes an objective over the words of p with L-BFGS, from zero unless told
// otherwise, and returns the model and how the run ended. It builds the loss
// machines first when the objective needs them.
//
// On cancellation it returns the context's error, with the model of the best
// point so far.
func (p *Problem) Fit(ctx context.Context, o Objective, opts *FitOptions) (*Model, *optim.Result, error) {
	var fo FitOptions
	if opts != nil {
		fo = *opts
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, nil, err
	}
	if o.Kind.usesLoss() {
		if err := p.BuildGraphs(ctx); err != nil {
			return nil, nil, err
		}
	}
	if fo.Stop.Relative == 0 {
		fo.Stop.Relative = 2e-4
	}
	if fo.Workers <= 0 {
		fo.Workers = p.opts.Workers
	}
	if fo.Memory <= 0 {
		fo.Memory = 6
	}
	start := fo.Init
	switch {
	case start != nil && len(start) != p.Features.dim:
		return nil, nil, fmt.Errorf("g2p: %d weights to start from, the model has %d", len(start), p.Features.dim)
	case start == nil && o.Kind == RiskMix && fo.Resume == nil:
		m, res, err := p.Fit(ctx, Objective{Kind: CrossEntropy, L2: o.L2},
			&FitOptions{Stop: fo.Stop, Recorder: fo.Recorder, Workers: fo.Workers, Memory: fo.Memory})
		if err != nil {
			return m, res, err
		}
		start = p.Features.project(&p.groups, m.Weights)
	case start == nil:
		start = make([]float64, p.groups.dim)
	default:
		start = p.Features.project(&p.groups, start)
	}
	res, err := optim.LBFGS{Memory: fo.Memory}.Minimize(p.evaluation(o, fo.Workers), start, &optim.Control{
		Ctx: ctx, Stop: fo.Stop, Recorder: fo.Recorder, Examples: len(p.words), Checkpoint: fo.Checkpoint, CheckpointEvery: fo.CheckpointEvery, Resume: fo.Resume,
	})
	if res == nil || res.X == nil {
		return nil, res, err
	}
	return p.Model(o, res.X), res, err
}

// Train prepares pairs and fits one objective: the zero Objective's Kind is
// LatentMargin, and a zero l2 means none, so start from DefaultObjective.
func Train(ctx context.Context, pairs []Pair, o Objective, opts *Options, fit *FitOptions) (*Model, error) {
	p, err := Prepare(ctx, pairs, opts)
	if err != nil {
		return nil, err
	}
	m, _, err := p.Fit(ctx, o, fit)
	return m, err
}

// Objective returns o over the words of p as a function of the weights, for
// solvers other than Fit's; Model makes a model of
// what they found. The value must not be used by two goroutines at
// once; several values of one Problem may.
func (p *Problem) Objective(ctx context.Context, o Objective) (optim.Objective, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.Kind.usesLoss() {
		if err := p.BuildGraphs(ctx); err != nil {
			return nil, err
		}
	}
	return p.evaluation(o, p.opts.Workers), nil
}

// Model returns the model of weights that a solver found for Objective.
func (p *Problem) Model(o Objective, x []float64) *Model {
	return &Model{Inventory: p.Inventory, Features: p.Features, Weights: p.Features.expand(&p.groups, x), Objective: o}
}
