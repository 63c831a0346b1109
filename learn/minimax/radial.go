package minimax

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// Names of radialRun: in checkpoints, and where it comes last, without any.
const (
	normSolver   = "newton-norm"
	radialSolver = "newton-radius"
)

// radialRounds bounds the weights of the square that are tried.
const radialRounds = 40

// radialRun certifies problems with a function of |w| that has no curvature, a penalty β|w| or a
// radius D. It solves games with the square in its place. As
//
//	β|w| = min_τ β/2τ |w|² + βτ/2,
//
// attained at τ = |w|, the saddle point for the norm is that of the game with ν = β/τ on the square
// whose w has the norm τ. For a radius it is that of the multiplier ν = 1/τ whose w has the norm D,
// or of none if w is within. Either is found by secants in log τ.
//
// A linearisation of the losses proves little for these: a remaining gradient g counts D times. At
// the minimum of the game with the square, g = -νw. The radius, or the line of Game.Minorant for
// the norm, turns this into a bound, where the part of g across w counts by its square only. The
// largest τ of a radius costs a quarter of the requested gap, since without any curvature nothing
// is proved.
//
// State is what a checkpoint holds, at the end of any round.
type radialRun struct {
	*linearRun
	saddle.Proof
	w         []float64
	tau, most float64 // τ, and the logarithm of the largest
	was, rest float64 // log τ of the round before, and by what log |w| missed there; NaN where there is none
}

// ball is what holds the weights, if that is a ball: of the caller's, or what confine found.
func (t *trainer) ball() (optim.Ball, bool) {
	ball, ok := t.set.(optim.Ball)
	if product, both := t.set.(optim.Product); both { // with a bound of biases
		ball, ok = product[0].Set.(optim.Ball)
	}
	return ball, ok
}

// normDue reports whether the norm is the penalty, and Newton's method affordable.
func (l *linearRun) normDue() bool {
	_, ok := l.ball()
	return l.auto() && ok && l.Norm && l.Radius == 0 && l.g.squared(1).newton(l.Bias) != nil
}

// radialDue reports whether L-BFGS left a gap that something radial is to blame for.
func (l *linearRun) radialDue() bool {
	_, ok := l.ball()
	asked := l.Solver == Auto || l.Norm && l.Solver == Smoothed
	return ok && asked && l.gap > 0 && l.r != nil && l.r.Certified &&
		l.r.Certificate.Gap() > l.gap*sizeOf(l.r.Certificate.Upper)
}

// radial goes on by games with the square.
func (l *linearRun) radial() (*saddle.Result, error) {
	lambda, known := l.found()
	r := &radialRun{linearRun: l, w: slices.Clone(l.w), was: math.NaN(), most: 20,
		Proof: saddle.Proof{Best: known, Mix: slices.Clone(lambda), Least: leastValue}}
	control, last := l.control, l.stage == radialSolver
	if last {
		control = &run.Control{Ctx: l.control.Ctx, Stop: run.Stop{Time: l.control.Stop.Time}}
	}
	r.Begin(normSolver, control, radialRounds)
	if r.tau = math.Max(floats.Norm(r.penalized(r.w), 2), 1e-3); !l.Norm {
		r.tau = 2 * l.Radius * l.Radius / (l.gap * r.Size(known.Upper))
		r.most = math.Log(r.tau)
	}
	l.mixtures.Project(r.Mix)
	if resumed, err := r.resume(); err != nil {
		return nil, err
	} else if !resumed && l.Norm { // zero is the solution where the penalty is large
		if err := r.prove(l.g, make([]float64, len(r.w))); err != nil {
			return nil, err
		}
	}
	reason, err := r.Run.Rounds(radialRounds, r.round, r.state)
	s := r.Result(r.w, r.Run.Evaluations, reason)
	switch {
	case err != nil:
		return s, err
	case last: // these records are L-BFGS's
		l.r.Certificate, l.r.W, l.r.Lambda = r.Best, r.Best.W, r.Best.Lambda
		l.r.Evaluations += r.Run.Evaluations
	case reason != run.NoProgress || r.Certain():
		l.adopt(s)
	}
	return nil, nil
}

// round plays the game with the square for one τ, and chooses the next. Where Newton's method is
// not for it λ stays what L-BFGS found.
func (r *radialRun) round() (*run.Row, run.Reason, error) {
	nu := r.Beta1 / r.tau
	if !r.Norm {
		nu = r.Beta1 + 1/r.tau
	}
	square := r.g.squared(nu)
	inner, w, tol := square.newton(r.Bias), slices.Clone(r.w), r.gap*r.Size(r.Best.Upper)
	switch {
	case inner == nil && !r.Norm:
		return nil, run.NoProgress, nil // L-BFGS had a multiplier of its own for the radius
	case inner != nil:
		p := saddle.Newton{Inner: inner, W: r.bounds(), Lambda: r.mixtures, Gap: r.gap / 4, Least: leastValue,
			Relaxed: square.relaxer()}
		in, err := p.Solve(square, r.w, r.Mix, &run.Control{Ctx: r.Run.Ctx, Stop: run.Stop{Time: r.Run.Stop.Time}})
		if err != nil {
			return r.gaveUp(err)
		}
		r.Run.Evaluations += in.Evaluations
		w, tol = slices.Clone(in.W), r.gap*sizeOf(in.Value)
		copy(r.Mix, in.Lambda)
		if err := r.reach(w); err != nil {
			return nil, "", err
		}
	}
	if err := r.close(square, inner, w, tol); err != nil {
		return r.gaveUp(err)
	}
	copy(r.w, w)
	values := make([]float64, len(r.Mix))
	v, err := r.g.Eval(w, r.Mix, nil, values)
	if err != nil {
		return nil, "", err
	}
	row := r.Row(v, r.tau, values)
	switch {
	case r.Within(r.gap):
		return row, run.GapSmall, nil
	case !r.move(floats.Norm(r.penalized(w), 2)):
		return row, run.NoProgress, nil
	}
	return row, "", nil
}

// gaveUp ends a run that met what cannot be written: what was proved before stands.
func (r *radialRun) gaveUp(err error) (*run.Row, run.Reason, error) {
	if errors.Is(err, optim.ErrNotFinite) {
		return nil, run.NoProgress, nil
	}
	return nil, "", err
}

// bounds is the set of a game with the square: all space, but for bounds of biases.
func (r *radialRun) bounds() optim.Set {
	if r.Bias > 0 {
		return biasBox(r.net, r.Bias)
	}
	return nil
}

// close brings w to the minimum of the game with the square at λ, and proves what that proves.
// Kinks are relaxed by widths that fall from 4 tol. At tol/16, which would cost little accuracy,
// Newton's steps do not converge from afar: on sonar (β 1e-3, gap 1e-5) 50 steps left a bound of
// 0.02. Without kinks one width does.
func (r *radialRun) close(square *Game, inner *minimizer, w []float64, tol float64) error {
	relaxed, alike := r.g.relaxer(), square.relaxer()
	// Narrower ones alone may prove nothing, where as much as 1e-8 of the value is asked for.
	first := math.Max(4*tol, 1e-5*r.Size(r.Best.Upper))
	for width := first; width > tol/20; width /= 4 {
		under, below := saddle.Convex(r.g), saddle.Convex(square)
		if relaxed != nil {
			under, below = relaxed(width), alike(width)
		}
		if err := r.minimize(inner, below, w, 1e-6*tol); err != nil {
			return err
		}
		if err := errors.Join(r.reach(w), r.prove(under, w)); err != nil {
			return err
		}
		if relaxed == nil || r.Best.Gap() <= tol {
			break
		}
	}
	return nil
}

// minimize moves w to the minimum of below at λ: by Newton's method, or where that is not for it by
// L-BFGS.
func (r *radialRun) minimize(inner *minimizer, below saddle.Convex, w []float64, tol float64) error {
	if inner != nil {
		_, steps, err := inner.Minimize(r.Run.Ctx, below, w, r.Mix, tol)
		r.Run.Evaluations += steps
		return err
	}
	p := saddle.Smoothed{W: r.bounds(), Lambda: only(r.Mix), Gap: tol, Absolute: true, Start: 1e-9, Inner: 1000,
		Workers: r.Workers, Scale: r.g.scale()}
	s, err := p.Solve(below, w, &run.Control{Ctx: r.Run.Ctx, Stop: run.Stop{Iterations: 10}})
	if err == nil {
		r.Run.Evaluations += s.Evaluations
		copy(w, s.LastW)
	}
	return err
}

// move chooses the next τ, after one at which w had that norm; false where there is none.
func (r *radialRun) move(norm float64) bool {
	at := math.Log(r.tau)
	aim, slope := at, -1.0 // |w| grows with τ, by less than it around the solution
	if !r.Norm {
		aim, slope = math.Log(r.Radius), 0.5
	}
	rest := math.Log(math.Max(norm, 1e-9)) - aim
	if !r.Norm && rest <= 0 && at >= r.most {
		return false // the radius does not hold
	}
	if s := (rest - r.rest) / (at - r.was); s*slope > 0 {
		slope = s
	}
	r.was, r.rest = at, rest
	r.tau = math.Exp(math.Max(-20, math.Min(r.most, at+math.Max(-2, math.Min(2, -rest/slope)))))
	return true
}

// penalized returns the part of v, as long as w, whose norm counts: without biases that have a
// bound.
func (r *radialRun) penalized(v []float64) []float64 {
	s := r.g.spans[0]
	return v[s.From:s.To]
}

// reach evaluates the point of the ball nearest to w, for Upper.
func (r *radialRun) reach(w []float64) error {
	near := slices.Clone(w)
	r.set.Project(near)
	worst, penalty, err := r.g.worst(near, r.mixtures)
	if r.Run.Evaluations++; err == nil {
		r.Reached(penalty+worst, near)
	}
	return err
}

// prove takes (w, λ) for Lower, by the losses of under, which are nowhere above the game's.
func (r *radialRun) prove(under saddle.Convex, w []float64) error {
	lower, err := saddle.Lower(under, r.set, w, r.Mix)
	r.Run.Evaluations++
	if err == nil {
		r.Proved(lower, r.Mix)
	}
	return err
}

// state is what a checkpoint holds.
func (r *radialRun) state() (*run.Checkpoint, error) {
	k := &run.Checkpoint{X: slices.Clone(r.w), Scalars: map[string]float64{"tau": r.tau},
		Arrays: map[string][]float64{}}
	if finite(r.was) {
		k.Scalars["was"], k.Scalars["rest"] = r.was, r.rest
	}
	return r.Save(k)
}

// resume takes up the state of the run to go on with, if there is one.
func (r *radialRun) resume() (bool, error) {
	k, err := r.Taken(len(r.w))
	if k == nil || err != nil {
		return false, err
	}
	if r.tau = k.Scalars["tau"]; !(r.tau > 0) {
		return false, fmt.Errorf("minimax: %w: it has no weight of the square", run.ErrOther)
	}
	copy(r.w, k.X)
	if was, ok := k.Scalars["was"]; ok {
		r.was, r.rest = was, k.Scalars["rest"]
	}
	return true, nil
}

// confine bounds the weights of a game whose penalty is their norm. That has no curvature,
// without which all space proves nothing; but a w with φ(w, ·) ≤ φ(0, ·) for the worst mixture
// has
//
//	β_1|w| ≤ max_λ Σ λ_k L_k(0) - max_λ Σ λ_k min L_k
//
// and among these is the one that is sought: the least over that ball of φ(·, λ), for any
// λ, is a lower bound of the game. A ball that it sets does not hold weights back.
func (t *trainer) confine(g *Game, set optim.Maximizer) error {
	if !t.Norm || t.Beta1 == 0 {
		return nil
	}
	least := make([]float64, len(t.objectives))
	worst, _, err := g.worst(make([]float64, t.net.Dim()), set)
	if err != nil {
		return err
	}
	outputs := t.net.Outputs()
	for k := range least {
		o := &t.objectives[k]
		low := math.Min(o.Least, 0) * o.factor
		if o.row(t.MultiClass, outputs) == score.RowSum {
			low *= float64(outputs)
		}
		least[k] = o.scale*low - o.offset + g.handicap(k)
	}
	radius := (worst - set.Maximize(least, nil)) / t.Beta1 * (1 + 1e-9)
	if !(radius > 0) || math.IsInf(radius, 1) {
		return nil // no loss at zero, which is then the best; or none that can be written
	}
	switch s := t.set.(type) {
	case nil:
		t.set = optim.Ball{Radius: radius}
	case optim.Ball:
		t.set = optim.Ball{Radius: math.Min(s.Radius, radius)}
	case optim.Product: // biases have their own bound, and no part in the norm
		s = slices.Clone(s)
		s[0].Set = optim.Ball{Radius: radius}
		t.set = s
	}
	return nil
}
