package margin

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/space"
)

// PerceptronOptions adjusts Perceptron; zero fields are the defaults.
type PerceptronOptions struct {
	Passes   int  `flag:"passes" default:"50" min:"1" help:"Passes over the samples, at most"`
	Averaged bool `flag:"averaged" help:"Mean of the weights after every sample, in place of the last ones"`
	Init     []float64
	// Valid, if not nil, returns the loss of weights on held-out samples; the run's patience,
	// or two passes, is how long it may not fall.
	Valid func(w []float64) (float64, error)
}

// Perceptron makes passes over the samples. Each sample moves the weights by Φ(x, z) - Φ(x, y).
// Here y is the best output, and z the best that agrees with the annotation, complete or not. It
// stops when no output of a pass has a loss, after Passes, or when Valid no longer falls. The
// result's F is the mean loss of the last pass.
//
// It is sequential: workers make no difference. A pass is two inferences a sample.
func Perceptron[X, Y, A any](s space.Space[X, Y, A], data []space.Sample[X, A], opts *PerceptronOptions,
	c *run.Control) (*Linear, *optim.Result, error) {
	var o PerceptronOptions
	if err := learner.Complete(&o, opts); err != nil {
		return nil, nil, fmt.Errorf("margin: %w", err)
	}
	control, _, err := begin("perceptron", c, data, learner.Settings(&o))
	if err != nil {
		return nil, nil, fmt.Errorf("margin: %w", err)
	}
	if control.Stop.Iterations == 0 {
		control.Stop.Iterations = o.Passes
	}
	if o.Valid != nil && control.Stop.Patience == 0 {
		control.Stop.Patience = 2
	}
	r := run.Begin("perceptron", control, o.Passes)
	n := s.Dim()
	p := &perceptron[X, Y, A]{s: s, report: &Report{Lower: math.Inf(-1)}}
	k, err := r.Point(n, "moved", "best")
	if err != nil {
		return nil, nil, fmt.Errorf("margin: %w", err)
	}
	best := make([]float64, n)
	switch {
	case k != nil:
		p.w, p.moved, p.seen = slices.Clone(k.X), slices.Clone(k.Arrays["moved"]), k.Scalars["seen"]
		copy(best, k.Arrays["best"])
	case o.Init != nil:
		if err := optim.CheckStart("margin: perceptron", n, o.Init); err != nil {
			return nil, nil, err
		}
		p.w, p.moved = slices.Clone(o.Init), make([]float64, n)
	default:
		p.w, p.moved = make([]float64, n), make([]float64, n)
	}
	current := func() []float64 {
		if o.Averaged {
			return p.mean()
		}
		return slices.Clone(p.w)
	}
	last := math.NaN()
	step := func() (*run.Row, run.Reason, error) {
		// A pass that is interrupted is undone.
		w, moved, seen := slices.Clone(p.w), slices.Clone(p.moved), p.seen
		total := 0.0
		for i := range data {
			loss, err := p.learn(r.Ctx, &data[i], i)
			if err != nil {
				p.w, p.moved, p.seen = w, moved, seen
				return nil, "", err
			}
			total += loss
		}
		r.Evaluations++
		last = total / float64(len(data))
		if o.Valid != nil {
			now := current()
			loss, err := o.Valid(now)
			if err != nil {
				return nil, "", err
			}
			if r.Judge(r.Steps()+1, loss) {
				copy(best, now)
			}
		}
		row := &run.Row{Objective: last}
		if total == 0 {
			return row, run.Exhausted, nil
		}
		return row, "", nil
	}
	reason, err := r.Loop(step, func() (*run.Checkpoint, error) {
		return &run.Checkpoint{X: slices.Clone(p.w), Scalars: map[string]float64{"seen": p.seen},
			Arrays: map[string][]float64{"moved": slices.Clone(p.moved), "best": slices.Clone(best)}}, nil
	})
	if err != nil {
		err = fmt.Errorf("margin: %w", err)
	}
	m := &Linear{W: current(), Report: *p.report}
	if o.Valid != nil && r.Best.Step > 0 {
		m.W = best
	}
	return m, &optim.Result{X: m.W, F: last, Iterations: r.Steps(), Evaluations: r.Evaluations, Reason: reason},
		err
}

// perceptron is weights that learn a sample at a time.
type perceptron[X, Y, A any] struct {
	s      space.Space[X, Y, A]
	w      []float64
	moved  []float64 // sum of the moves, each times the samples seen before it
	seen   float64
	report *Report
}

// learn moves the weights by one sample, and returns the loss that they had on it.
func (p *perceptron[X, Y, A]) learn(ctx context.Context, e *space.Sample[X, A], i int) (float64, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	y, err := p.s.Argmax(ctx, e.X, p.w)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", e.Label(i), err)
	}
	z, err := p.s.ArgmaxWithin(ctx, e.X, p.w, e.A)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", e.Label(i), err)
	}
	p.report.Calls += 2
	if !y.Optimal || !z.Optimal {
		p.report.Inexact = true
	}
	for _, to := range []struct {
		dst   []float64
		scale float64
	}{{p.w, 1}, {p.moved, p.seen}} {
		p.s.AddPhi(to.dst, to.scale, e.X, z.Y)
		p.s.AddPhi(to.dst, -to.scale, e.X, y.Y)
	}
	p.seen++
	return p.s.Delta(e.X, e.A, y.Y), nil
}

// mean returns the mean of the weights after every sample.
func (p *perceptron[X, Y, A]) mean() []float64 {
	w := slices.Clone(p.w)
	if p.seen > 0 {
		floats.AddScaled(w, -1/p.seen, p.moved)
	}
	return w
}
