package minimax

import (
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// ballRounds bounds the multipliers that are tried.
const ballRounds = 16

// ballRun certifies a radius D by games without one: for any ν ≥ 0
//
//	min_{|w| ≤ D} max_λ φ(w, λ) ≥ min_w max_λ φ(w, λ) + ν/2 |w|² - ν/2 D²,
//
// with equality for the multiplier ν of the radius, whose w has the norm D, or is zero. Newton's
// method proves the right side; ν is found by bisection. Its least is one that costs a quarter of
// the gap asked for, since without any curvature nothing is proved: a radius of 100 on sonar,
// which holds nothing back, so leaves a gap below 1e-3, where L-BFGS ended with 0.14.
type ballRun struct {
	*trainer
	g      *Game
	set    optim.Maximizer
	radius float64
	certified
}

// tightenedBall raises the lower bound of what L-BFGS ended with, where weights have a radius.
func (t *trainer) tightenedBall(ctx context.Context, g *Game, set optim.Maximizer, s *saddle.Result, gap float64) error {
	ball, ok := t.set.(optim.Ball)
	if !ok || t.Norm || t.Solver != Auto || !s.Certified || gap <= 0 {
		return nil
	}
	b := &ballRun{trainer: t, g: g, set: set, radius: ball.Radius, certified: certified{best: s.Certificate, lambda: s.Certificate.Lambda}}
	err := b.run(ctx, gap)
	s.Certificate, s.W, s.Lambda = b.best, b.best.W, b.best.Lambda
	s.Evaluations += b.evals
	return err
}

func (b *ballRun) run(ctx context.Context, gap float64) error {
	w := slices.Clone(b.best.W)
	least := gap * math.Max(leastValue, math.Abs(b.best.Upper)) / (2 * b.radius * b.radius)
	lo, nu, hi := least, least, math.Inf(1)
	for range ballRounds {
		if b.best.Gap() <= gap*math.Max(leastValue, math.Abs(b.best.Upper)) {
			break
		}
		squared := newGame(b.g.examples, b.Beta1+nu, b.g.beta2, false)
		squared.spans = b.g.spans
		s := *b.trainer
		s.Beta1, s.Radius, s.set, s.Solver = b.Beta1+nu, 0, nil, Newton
		in, err := s.newton(squared, b.set, w, b.lambda, gap/4, saddle.Certificate{}, &run.Control{Ctx: ctx})
		if in == nil && err == nil || errors.Is(err, optim.ErrNotFinite) {
			return nil // Newton's method is not for it
		}
		if err != nil {
			return err
		}
		b.evals += in.Evaluations
		if in.Certified {
			b.proved(in.Certificate.Lower-nu/2*b.radius*b.radius, in.Certificate.Lambda)
			b.lambda = in.Certificate.Lambda
		}
		copy(w, in.W)
		if err := b.look(w); err != nil {
			return err
		}
		switch size := floats.Norm(w, 2); {
		case size <= b.radius && nu == least:
			return nil
		case size > b.radius:
			lo = nu
		default:
			hi = nu
		}
		if nu = math.Sqrt(lo * hi); math.IsInf(hi, 1) {
			nu = 16 * lo
		}
	}
	return nil
}

// look takes the point nearest to w within the radius for Upper.
func (b *ballRun) look(w []float64) error {
	near, values := slices.Clone(w), make([]float64, len(b.lambda))
	optim.Ball{Radius: b.radius}.Project(near)
	penalty, err := b.g.Eval(near, make([]float64, len(values)), nil, values)
	b.evals++
	if err != nil {
		return err
	}
	b.reached(penalty+b.set.Maximize(values, nil), near)
	return nil
}
