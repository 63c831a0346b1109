package margin

import (
	"context"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/space"
)

// LikelihoodOptions adjusts Likelihood; zero fields are the defaults.
type LikelihoodOptions struct {
	Lambda float64 `flag:"lambda" default:"0.01" above:"0" help:"Weight of half the squared weights beside the mean of the samples"`
	Init   []float64
}

// Likelihood minimises Lambda/2 |w|² + the mean over samples of log Z - log Z of the outputs that
// agree with the annotation. With complete annotations this is a conditional random field.
// Otherwise it is the marginal likelihood, whose second part is concave, so that minima may be
// local. The solver is optim.OWLQN, with a dense gradient for each of 16 blocks of samples.
func Likelihood[X, Y, A any](s space.Summing[X, Y, A], data []space.Sample[X, A], opts *LikelihoodOptions,
	c *run.Control) (*Linear, *optim.Result, error) {
	var o LikelihoodOptions
	if err := learner.Complete(&o, opts); err != nil {
		return nil, nil, fmt.Errorf("margin: %w", err)
	}
	control, r, err := begin("likelihood", c, data, learner.Settings(&o))
	if err != nil {
		return nil, nil, fmt.Errorf("margin: %w", err)
	}
	m := &Linear{Report: Report{Lower: math.Inf(-1)}}
	start := make([]float64, s.Dim())
	if o.Init != nil {
		start = o.Init
	}
	f := optim.NewSum(&likelihoods[X, Y, A]{s, data, r.Ctx},
		&optim.SumOptions{Workers: r.Workers, Scale: 1 / float64(len(data)), Dense: true})
	b, err := optim.OWLQN{Workers: r.Workers}.Minimize(optim.Ridge(f, o.Lambda), start, control)
	if b == nil {
		return nil, nil, err
	}
	m.W, m.Report.Calls = b.X, 2*b.Evaluations*len(data)
	return m, b, err
}

// likelihoods are the terms of Likelihood.
type likelihoods[X, Y, A any] struct {
	s    space.Summing[X, Y, A]
	data []space.Sample[X, A]
	ctx  context.Context
}

// Dim implements optim.Terms.
func (l *likelihoods[X, Y, A]) Dim() int { return l.s.Dim() }

// Len implements optim.Terms.
func (l *likelihoods[X, Y, A]) Len() int { return len(l.data) }

// Worker implements optim.Terms.
func (l *likelihoods[X, Y, A]) Worker() optim.Worker {
	return &likelihood[X, Y, A]{l, make([]float64, l.s.Dim())}
}

type likelihood[X, Y, A any] struct {
	*likelihoods[X, Y, A]
	gradient []float64
}

// Eval implements optim.Worker.
func (l *likelihood[X, Y, A]) Eval(i int, w []float64, g *optim.Gradient) (float64, error) {
	e := &l.data[i]
	if l.ctx.Err() != nil {
		return math.NaN(), context.Cause(l.ctx)
	}
	var dst []float64
	if g != nil {
		dst = l.gradient
		clear(dst)
	}
	all, err := l.s.LogZ(l.ctx, e.X, w, dst, 1)
	if err != nil {
		return math.NaN(), fmt.Errorf("%s: %w", e.Label(i), err)
	}
	in, err := l.s.LogZWithin(l.ctx, e.X, w, e.A, dst, -1)
	if err != nil {
		return math.NaN(), fmt.Errorf("%s: %w", e.Label(i), err)
	}
	if g != nil {
		g.AddRow(0, dst)
	}
	return all - in, nil
}
