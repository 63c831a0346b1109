package g2p

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
)

// FitOptions adjusts a fit; the zero value is right.
type FitOptions struct {
	// Stop is the stopping rule. Its zero Relative is 2e-4 over five iterations,
	// the same for every objective: comparing objectives that have not converged
	// misleads.
	Stop     run.Stop
	Recorder run.Recorder // receives a row an iteration, with its Stage where there are two; nil is none
	Workers  int          // 0 is that of the Problem; results do not depend on it
	Memory   int          // pairs of L-BFGS; 0 is 6
	Solver   optim.Solver // "" is QuasiNewton, here optim.LBFGS

	// Init holds initial weights, those of a Model of this Problem. Nil is zero, and for RiskMix
	// the weights of a CrossEntropy model, which is fitted first.
	Init []float64

	// Relax lets words count by their mean loss over letters, times their letters; nil is none. The
	// model lists those with the largest multipliers.
	Relax resilient.Relaxation
	// RelaxFolds, if not 0, has words listed by models of the other folds; see
	// resilient.OutOfSample. The pronunciations of a word are in one fold.
	RelaxFolds int

	// Sum is the sum over all words of the same Objective without its penalty, as a Reducer of
	// Shards makes it, or others with the same bits; nil is the words of the Problem. It has the
	// weights' own numbering, and is not for RiskMix without Init, nor with Relax.
	Sum optim.Objective

	// Checkpoint, CheckpointEvery and Resume are those of run.Control. Both stages
	// of RiskMix have them.
	Checkpoint      func(*run.Checkpoint) error
	CheckpointEvery int
	Resume          *run.Checkpoint
}

// Fit minimizes an objective over the words of p, with L-BFGS and from zero unless told
// otherwise, and returns the model and how the run ended. It builds the loss
// machines first when the objective needs them.
//
// RiskMix without Init runs two stages, cross-entropy and risk. They share one checkpoint and one
// history, whose rows name their stage and whose evaluations and seconds continue. The First of the
// Result is that of the first stage.
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
	switch {
	case fo.Sum == nil:
		err = p.need(ctx, o.Kind)
	case fo.Relax != nil || fo.Init == nil && o.Kind == RiskMix:
		err = errors.New("g2p: a sum of shards has one objective, and words that all count alike: there is no risk of it without weights to start from, and no relaxation")
	case fo.Sum.Dim() != p.dim():
		err = fmt.Errorf("g2p: a sum over %d weights for a problem of %d", fo.Sum.Dim(), p.dim())
	}
	if err != nil {
		return nil, nil, err
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
	case start != nil && len(start) != p.Features.dim+p.views.size():
		return nil, nil, fmt.Errorf("g2p: %d weights to start from, the model has %d", len(start),
			p.Features.dim+p.views.size())
	case start == nil && o.Kind == RiskMix:
		return p.fitRisk(ctx, o, fo)
	case start == nil:
		start = make([]float64, p.dim())
	default:
		start = p.project(start)
	}
	return p.minimize(ctx, o, &fo, start)
}

// manyWeights is the number of weights above which vectors decide over the memory of a fit.
const manyWeights = 1 << 20

// minimize minimises f with the solver of the options. For many weights its L-BFGS keeps pairs in
// float32, and no copies of them: 2·Memory+10 vectors of float32 in place of 2·Memory+8 of float64.
func (fo *FitOptions) minimize(f optim.Objective, start []float64, c *run.Control) (*optim.Result, error) {
	if fo.Solver != "" && fo.Solver != optim.QuasiNewton {
		return fo.Solver.Minimize(f, optim.OWLQN{}, start, c)
	}
	if f.Dim() > manyWeights {
		return optim.OWLQN{Memory: fo.Memory, Workers: fo.Workers, Single: true}.Minimize(f, start, c)
	}
	return optim.LBFGS{Memory: fo.Memory}.Minimize(f, start, c)
}

// minimize fits one objective from start, with options that are complete.
func (p *Problem) minimize(ctx context.Context, o Objective, fo *FitOptions, start []float64) (*Model, *optim.Result, error) {
	f := optim.Ridge(fo.Sum, o.L2)
	if fo.Sum == nil {
		f = p.evaluation(o, fo.Workers)
	}
	var relaxed *resilient.Objective
	if fo.Relax != nil {
		var err error
		if relaxed, err = resilient.NewObjective(p.evaluation(o, fo.Workers), fo.Relax); err != nil {
			return nil, nil, fmt.Errorf("g2p: %w", err)
		}
		f = relaxed
	}
	res, err := fo.minimize(f, start, &run.Control{
		Ctx: ctx, Stop: fo.Stop, Recorder: fo.Recorder, Examples: len(p.words), Checkpoint: fo.Checkpoint, CheckpointEvery: fo.CheckpointEvery, Resume: fo.Resume,
	})
	if res == nil || res.X == nil {
		return nil, res, err
	}
	m := p.Model(o, res.X)
	if relaxed != nil && err == nil {
		number := map[string]int{}
		m.hard, err = relaxed.Difficulty(res.X, fo.RelaxFolds, func(i int) int {
			word := p.given[p.words[i].index].Word
			k, ok := number[word]
			if !ok {
				k = len(number)
				number[word] = k
			}
			return k
		}, func(f optim.Objective) ([]float64, error) {
			r, err := fo.minimize(f, start, &run.Control{Ctx: ctx, Stop: fo.Stop})
			if err != nil {
				return nil, err
			}
			return r.X, nil
		}, func(i int) (string, string) {
			k := p.words[i].index
			return p.where(i), p.given[k].Word + " " + strings.Join(p.given[k].Phones, " ")
		})
		if err != nil {
			return m, res, fmt.Errorf("g2p: %w", err)
		}
	}
	return m, res, err
}

// Stages of a RiskMix fit, as rows have them.
const (
	stageFirst = "cross-entropy"
	stageRisk  = "risk"
)

// fitRisk fits the cross-entropy model, and the risk from there.
func (p *Problem) fitRisk(ctx context.Context, o Objective, fo FitOptions) (*Model, *optim.Result, error) {
	// What the second stage's checkpoints keep of the first, by Scalars' names.
	const iterations, evaluations, seconds, value, settled = "first_iterations", "first_evaluations", "first_seconds", "first_value", "first_converged"
	stage := func(name string, before *optim.Result, spent float64) FitOptions {
		of := fo
		of.Init, of.Resume = nil, nil
		done := 0
		if before != nil {
			done = before.Evaluations
		}
		if fo.Recorder != nil {
			of.Recorder = run.RecorderFunc(func(r run.Row) error {
				r.Stage, r.Evaluations, r.Seconds = name, r.Evaluations+done, r.Seconds+spent
				return fo.Recorder.Record(r)
			})
		}
		if fo.Checkpoint != nil {
			of.Checkpoint = func(k *run.Checkpoint) error {
				if before != nil {
					k.Scalars = map[string]float64{iterations: float64(before.Iterations), evaluations: float64(before.Evaluations), seconds: spent, value: before.F, settled: 0}
					if before.Reason.Converged() {
						k.Scalars[settled] = 1
					}
				}
				return fo.Checkpoint(k)
			}
		}
		return of
	}
	var first *optim.Result
	var spent float64
	var start []float64
	resume := fo.Resume
	if resume != nil && resume.Scalars[evaluations] > 0 { // in the second stage
		k := resume.Scalars
		spent = k[seconds]
		first = &optim.Result{F: k[value], Iterations: int(k[iterations]), Evaluations: int(k[evaluations]), Reason: run.IterationLimit}
		if k[settled] == 1 {
			first.Reason = run.ImprovementSmall
		}
		start = resume.X
	} else {
		begin := time.Now()
		if resume != nil {
			spent = resume.Seconds
		}
		of := stage(stageFirst, nil, 0)
		of.Resume = resume
		m, res, err := p.minimize(ctx, Objective{Kind: CrossEntropy, L2: o.L2}, &of, make([]float64, p.dim()))
		if err != nil || m == nil {
			return m, res, err
		}
		first, resume = res, nil
		spent += time.Since(begin).Seconds()
		start = p.project(m.Weights)
	}
	of := stage(stageRisk, first, spent)
	of.Resume = resume
	m, res, err := p.minimize(ctx, o, &of, start)
	if res != nil {
		res.First = first
	}
	return m, res, err
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

// Objective returns o over the words of p as a function of the weights, for solvers other than
// Fit's. Model makes a model of the weights found. The value must not be used by two goroutines at
// once; several values of one Problem may.
func (p *Problem) Objective(ctx context.Context, o Objective) (optim.Objective, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := p.need(ctx, o.Kind); err != nil {
		return nil, err
	}
	return p.evaluation(o, p.opts.Workers), nil
}

// Weighed returns Objective with the loss of every word apart: the mean over its letters, counted
// by their number. Word i is pair Word(i) of those given.
func (p *Problem) Weighed(ctx context.Context, o Objective) (resilient.Examples, error) {
	f, err := p.Objective(ctx, o)
	if err != nil {
		return nil, err
	}
	return f.(*evaluation), nil
}

// Word returns the number, among the pairs given, of word i of those trained on.
func (p *Problem) Word(i int) int { return p.words[i].index }

// Model returns the model of weights that a solver found for Objective.
func (p *Problem) Model(o Objective, x []float64) *Model {
	m := &Model{Inventory: p.Inventory, Features: p.Features, Objective: o, views: p.views,
		Weights: append(p.Features.expand(&p.groups, x), x[p.groups.dim:]...)}
	m.ready()
	return m
}

// project is the inverse of Model for weights.
func (p *Problem) project(weights []float64) []float64 {
	return append(p.Features.project(&p.groups, weights), weights[p.Features.dim:]...)
}
