package minimax

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// ballSolver is the name in errors.
const ballSolver = "newton-radius"

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
	gap    float64 // to be reached, times max(leastValue, value)

	certified
	w                 []float64
	least, lo, nu, hi float64 // ν: its least, and what it is known to lie between
}

// tightenBall raises the lower bound of what L-BFGS ended with, where weights have a radius.
func (l *linearRun) tightenBall(s *saddle.Result) error {
	ball, ok := l.set.(optim.Ball)
	if !ok || l.Norm || l.Solver != Auto || !s.Certified || l.gap <= 0 {
		return nil
	}
	b := &ballRun{trainer: l.trainer, g: l.g, set: l.mixtures, radius: ball.Radius, gap: l.gap, certified: certified{best: s.Certificate, lambda: s.Certificate.Lambda}}
	if b.within(b.gap) {
		return nil
	}
	b.begin(ballSolver, &run.Control{Ctx: l.control.Ctx, Stop: run.Stop{Time: l.control.Stop.Time}}, ballRounds)
	b.w = slices.Clone(b.best.W)
	b.least = b.gap * sizeOf(b.best.Upper) / (2 * b.radius * b.radius)
	b.lo, b.nu, b.hi = b.least, b.least, math.Inf(1)
	_, err := b.run.Loop(b.round, nil)
	s.Certificate, s.W, s.Lambda = b.best, b.best.W, b.best.Lambda
	s.Evaluations += b.run.Evaluations
	return err
}

// round plays the game without a radius for one ν, and chooses the next.
func (b *ballRun) round() (*run.Row, run.Reason, error) {
	squared, s := b.squared(b.g, b.Beta1+b.nu)
	in, err := s.newton(squared, b.set, b.w, b.lambda, b.gap/4, saddle.Certificate{}, b.inner())
	if in == nil && err == nil || errors.Is(err, optim.ErrNotFinite) {
		return nil, run.NoProgress, nil // Newton's method is not for it
	}
	if err != nil {
		return nil, "", err
	}
	b.run.Evaluations += in.Evaluations
	if in.Certified {
		b.proved(in.Certificate.Lower-b.nu/2*b.radius*b.radius, in.Certificate.Lambda)
		b.lambda = in.Certificate.Lambda
	}
	copy(b.w, in.W)
	if err := b.look(b.w); err != nil {
		return nil, "", err
	}
	row := &run.Row{Step: b.nu}
	switch size := floats.Norm(b.w, 2); {
	case size <= b.radius && b.nu == b.least:
		return row, run.NoProgress, nil
	case size > b.radius:
		b.lo = b.nu
	default:
		b.hi = b.nu
	}
	if b.nu = math.Sqrt(b.lo * b.hi); math.IsInf(b.hi, 1) {
		b.nu = 16 * b.lo
	}
	if b.within(b.gap) {
		return row, run.GapSmall, nil
	}
	return row, "", nil
}

// look takes the point nearest to w within the radius for Upper.
func (b *ballRun) look(w []float64) error {
	near, values := slices.Clone(w), make([]float64, len(b.lambda))
	optim.Ball{Radius: b.radius}.Project(near)
	penalty, err := b.g.Eval(near, make([]float64, len(values)), nil, values)
	b.run.Evaluations++
	if err != nil {
		return err
	}
	b.reached(penalty+b.set.Maximize(values, nil), near)
	return nil
}
