package minimax

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// linear trains a model that is linear in its parameters; with other losses than
// convex ones too, but then without a certificate. Solvers take their turns, each from where the
// last ended, until one has come as near as was asked for.
func (t *trainer) linear() (*Fit, error) {
	l, err := t.linearRun()
	if err != nil {
		return nil, err
	}
	for _, stage := range []func() (*saddle.Result, error){l.steps, l.ascend, l.norms, l.newtons, l.smooth} {
		if s, err := stage(); err != nil {
			return l.partial(s), err
		}
	}
	asked := l.gap
	if t.Gap < 0 {
		asked = -1
	}
	l.r.Reason = ended(l.r, asked)
	f := t.fit(l.g, l.r, l.frozen)
	if !finite(f.Values...) || !finite(f.Penalty) || !finite(f.Model.Params...) {
		return nil, &saddle.DivergenceError{Solver: t.stage, Step: max(1, l.r.Steps), Value: f.Worst, First: math.NaN(), Err: optim.ErrNotFinite}
	}
	return f, nil
}

// linearRun is the training of a linear model: stages, of which each looks at what those before
// it found. A stage that is not for this game, or not needed, leaves the run as it is; one
// that ends with an error returns what it had.
type linearRun struct {
	*trainer
	g        *Game
	mixtures optim.Maximizer // the set of λ; set is that of w
	frozen   bool            // whether it is Fixed alone
	relaxed  func(float64) saddle.Convex
	gap      float64 // to be proved, times max(leastValue, value); negative where there is none
	control  *run.Control
	later    bool // whether the run goes on from a checkpoint of a stage after steps

	w, lambda []float64 // where the next stage begins
	r         *saddle.Result
	more      bool // whether there is to be another stage
}

// lateSolvers are those of checkpoints of stages after steps.
var lateSolvers = []string{cutSolver, normSolver, newtonSolver, string(Smoothed)}

func (t *trainer) linearRun() (*linearRun, error) {
	l := &linearRun{trainer: t, g: t.game(), mixtures: t.preferences, gap: t.Gap, w: t.start()}
	if l.lambda, l.frozen = t.mixture(); l.frozen {
		l.mixtures = only(l.lambda)
	}
	l.relaxed = l.g.relaxer()
	convex := l.g.Curvature(make([]float64, t.net.Dim()))
	if convex {
		if err := t.confine(l.g, l.mixtures); err != nil {
			return nil, err
		}
	}
	bounded := t.Beta1 > 0 || t.Radius > 0
	if !convex || !bounded {
		l.gap = -1
	}
	switch t.Solver {
	case Auto:
		l.more = convex && !t.NoPolish
	case Smoothed:
		l.more = true
	case MirrorProx, DualAscent, Newton, Descent, Alternating:
	default:
		return nil, fmt.Errorf("minimax: there is no solver %q; choose mirror-prox, gda, alternating, smoothed, dual-ascent or newton", t.Solver)
	}
	if l.Solver == Auto && l.more && bounded && l.gap < 0 {
		l.gap = 1e-9 // as near as it gets
	}
	l.control = t.control(t.Passes)
	l.later = l.resumes(lateSolvers...)
	return l, nil
}

// resumes reports whether the run goes on from a checkpoint of one of these solvers.
func (l *linearRun) resumes(solvers ...string) bool {
	return l.control.Resume != nil && slices.Contains(solvers, l.control.Resume.Solver)
}

// found returns the λ where the next stage begins, and what is proved already.
func (l *linearRun) found() (lambda []float64, known saddle.Certificate) {
	if l.r == nil {
		return l.lambda, known
	}
	if l.r.Certified {
		known = l.r.Certificate
	}
	return l.r.Lambda, known
}

// take has what a stage found, for the next.
func (l *linearRun) take(s *saddle.Result) {
	l.control.Resume = nil
	l.r, l.w = s, s.W
	l.more = l.Solver == Auto && stopped(s.Reason)
}

// steps takes those of mirror-prox, or of what else was chosen that takes any, on minibatches.
func (l *linearRun) steps() (*saddle.Result, error) {
	if l.later || l.Solver == Smoothed || l.Solver == DualAscent || l.Solver == Newton {
		return nil, nil
	}
	certify := saddle.CertifyOptions{Scale: l.g.scale(), Enough: math.Max(l.Gap, 0), Least: leastValue}
	if l.relaxed != nil && l.g.Curvature(make([]float64, l.net.Dim())) {
		certify.Relaxed = l.relaxed(l.Width)
	}
	p := saddle.FirstOrder{
		W: l.set, Lambda: l.mixtures, Entropic: l.Entropic, Steps: l.Steps, StepW: l.StepW, StepLambda: l.StepLambda,
		Frozen: l.frozen, Batch: l.Batch, Seed: l.Seed, Suffix: !l.All, Gap: l.gap, Least: leastValue, Certify: certify,
	}
	l.stage = string(l.Solver)
	switch l.Solver {
	case Descent:
		p.Method = saddle.DescentAscent
	case Alternating:
		p.Method = saddle.Alternating
	default:
		l.stage = string(MirrorProx)
		// Backtracking is for smooth problems: at kinks it ends in tiny steps.
		if l.StepW == 0 && l.Steps == saddle.ConstantSteps && (l.Batch > 0 || l.relaxed != nil) {
			p.Steps = saddle.AdaptiveSteps
		}
	}
	if l.more {
		p.Gap = -1 // later stages prove one
	}
	r, err := p.Solve(l.g, l.w, l.lambda, l.control)
	var astray *saddle.DivergenceError
	switch {
	case err != nil && l.more && l.StepW == 0 && errors.As(err, &astray):
		// Losses of very different steepness: no step that was chosen here suits them,
		// but what follows needs none.
	case err != nil:
		return r, err
	default:
		l.r = r
		if l.w, err = l.lower(l.g, l.mixtures, r.W, l.w); err != nil {
			return nil, err
		}
	}
	l.control.Resume = nil
	return nil, nil
}

// quick reports whether dual ascent and Newton's method are what the game is for. Losses
// without kinks are for L-BFGS, unless dual ascent has Newton's steps for them, or biases a
// bound: of what is at its bound L-BFGS knows nothing.
func (l *linearRun) quick() bool { return l.relaxed != nil || l.g.cornered() || l.Bias > 0 }

// ascend goes on by dual ascent.
func (l *linearRun) ascend() (*saddle.Result, error) {
	if l.Solver == DualAscent {
		if l.gap < 0 && l.Gap > 0 || l.Bias > 0 {
			return nil, errDual
		}
	} else if l.Solver != Auto || !l.more || !l.quick() || l.gap <= 0 || l.Bias > 0 { // of other sets than balls it knows nothing
		return nil, nil
	}
	if l.resumes(normSolver, newtonSolver, string(Smoothed)) {
		return nil, nil
	}
	lambda, _ := l.found()
	l.stage = cutSolver
	s, err := l.dual(l.g, l.mixtures, l.w, lambda, l.gap, l.control)
	switch {
	case err != nil:
		return s, err
	case s != nil:
		// There may be no curvature for dual ascent, as in a radius that holds nothing back
		// without a penalty, or dual coordinates far from where they should be: L-BFGS
		// needs neither.
		l.take(s)
	case l.Solver == DualAscent:
		return nil, errDual
	}
	return nil, nil
}

// newtons goes on by Newton's method.
func (l *linearRun) newtons() (*saddle.Result, error) {
	if l.Solver != Newton && (l.Solver != Auto || !l.more || l.gap <= 0 || !l.quick() || l.control.Resume != nil && !l.resumes(newtonSolver)) {
		return nil, nil
	}
	gap := l.gap
	if gap < 0 {
		if l.Gap > 0 {
			return nil, errNewton // there is no penalty to prove a gap with
		}
		gap = 1e-9
	}
	lambda, known := l.found()
	l.stage = newtonSolver
	s, err := l.newton(l.g, l.mixtures, l.w, lambda, gap, known, l.control)
	switch {
	case err != nil:
		return s, err
	case s != nil:
		l.take(s)
	case l.Solver == Newton:
		return nil, errNewton
	}
	return nil, nil
}

// smooth goes on by L-BFGS, which is for every game.
func (l *linearRun) smooth() (*saddle.Result, error) {
	if !l.more {
		return nil, nil
	}
	p := saddle.Smoothed{W: l.set, Lambda: l.mixtures, Gap: math.Max(l.gap, 1e-9), Least: leastValue, Workers: l.Workers, Relaxed: l.relaxed, Scale: l.g.scale()}
	if l.gap < 0 {
		p.Gap = math.Max(l.Gap, 1e-6)
	}
	if l.Solver == Auto {
		l.control.Stop.Iterations = 0 // those of the first part
		p.Inner = 400
		if l.r != nil || l.later {
			p.Start = 0.002 // the stochastic part came closer than this
		}
	}
	_, p.Known = l.found()
	l.stage = string(Smoothed)
	s, err := p.Solve(l.g, l.w, l.control)
	if err != nil {
		return s, err
	}
	if l.r = s; s.Reason == run.IterationLimit && l.control.Stop.Iterations == 0 {
		s.Reason = RoundLimit // its rounds are not the caller's iterations
		if !s.Certified {
			s.Reason = run.NoProgress // τ is as small as it gets: there is no other end
		}
	}
	if err := l.tighten(s); err != nil {
		return s, err
	}
	return s, l.tightenBall(s)
}

// partial is the fit of a run that ended with an error, nil where it left nothing.
func (l *linearRun) partial(s *saddle.Result) *Fit {
	if s == nil {
		return nil
	}
	return l.fit(l.g, s, l.frozen)
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
	values, least := make([]float64, len(t.objectives)), make([]float64, len(t.objectives))
	if _, err := g.Eval(make([]float64, t.net.Dim()), make([]float64, len(values)), nil, values); err != nil {
		return err
	}
	outputs := t.net.Outputs()
	for k := range least {
		o := &t.objectives[k]
		low := math.Min(o.Least, 0) * o.factor
		if o.row(t.MultiClass, outputs) == rowSum {
			low *= float64(outputs)
		}
		least[k] = o.scale*low - o.offset + g.handicap(k)
	}
	radius := (set.Maximize(values, nil) - set.Maximize(least, nil)) / t.Beta1 * (1 + 1e-9)
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

// lower returns w, or the start where the worst mixture there is better, or alone finite.
func (t *trainer) lower(g *Game, set optim.Maximizer, w, start []float64) ([]float64, error) {
	values := make([]float64, len(t.objectives))
	var worst [2]float64
	for i, x := range [][]float64{w, start} {
		v, err := g.Eval(x, make([]float64, len(values)), nil, values)
		if err != nil {
			return nil, err
		}
		worst[i] = v + set.Maximize(values, nil)
	}
	if worst[0] <= worst[1] {
		return w, nil
	}
	return start, nil
}

// unheld reports whether there may be nothing but a radius to keep weights small.
func (t *trainer) unheld() bool { return t.Radius > 0 && t.Beta1 == 0 }

var errDual = errors.New("minimax: dual ascent is for linear models whose losses are convex and of one score each (no softmax), with the square of the norm as penalty or within a radius (no bound of biases); choose another solver")

var errNewton = errors.New("minimax: newton is for linear models whose losses are convex and of one score each (no softmax), with the square of the norm as penalty (no radius) and few enough rows and features for their products; choose another solver")
