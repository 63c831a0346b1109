package minimax

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/optim/separable"
	"github.com/tropica-fst/tropica/learn/run"
)

// stage is one solver of a linear model; it continues from where the previous ones ended. A run
// that is resumed begins at the stage that wrote the checkpoint.
type stage struct {
	name string // in rows and checkpoints; "" is that of Solver
	// due reports whether the stage is asked for, and something is left to do.
	due func(l *linearRun) bool
	// run takes the turn. Where it turns out that the stage is not for the game, the run stays as
	// it is; an error comes with what there was.
	run func(l *linearRun) (*saddle.Result, error)
}

var stages = []stage{
	{"", (*linearRun).stepsDue, (*linearRun).steps},
	{saddle.PlanesSolver, (*linearRun).ascendDue, (*linearRun).ascend},
	{normSolver, (*linearRun).normDue, (*linearRun).radial},
	{saddle.NewtonSolver, (*linearRun).newtonDue, (*linearRun).newton},
	{string(Smoothed), func(l *linearRun) bool { return l.more }, (*linearRun).smooth},
	{radialSolver, (*linearRun).radialDue, (*linearRun).radial},
}

// linear trains a model that is linear in its parameters; with other losses than convex ones
// too, but then without a certificate.
func (t *trainer) linear() (*Fit, error) {
	l, err := t.linearRun()
	if err != nil {
		return nil, err
	}
	begin := 0
	if k := l.control.Resume; k != nil {
		begin = max(0, slices.IndexFunc(stages, func(s stage) bool { return s.name == k.Solver }))
	}
	l.later = begin > 0
	for _, s := range stages[begin:] {
		if !s.due(l) {
			continue
		}
		if l.stage = s.name; s.name == "" {
			l.stage = cmp.Or(string(l.Solver), string(MirrorProx))
		}
		if r, err := s.run(l); err != nil {
			return l.partial(r), err
		}
		l.control.Resume = nil
	}
	if l.r == nil {
		return nil, fmt.Errorf("minimax: %w: it is of a stage that this run has not", run.ErrOther)
	}
	asked := l.gap
	if t.Gap < 0 {
		asked = -1
	}
	l.r.Reason = ended(l.r, asked)
	f := t.fit(l.g, l.r, l.frozen)
	if !finite(f.Values...) || !finite(f.Penalty) || !finite(f.Model.Params...) {
		return nil, &saddle.DivergenceError{Solver: t.stage, Step: max(1, l.r.Steps), Value: f.Worst,
			First: math.NaN(), Err: optim.ErrNotFinite}
	}
	return f, nil
}

// linearRun is the training of a linear model in stages. Each stage starts from what the earlier
// ones found.
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
		return nil, fmt.Errorf("minimax: there is no solver %q; choose mirror-prox, gda, alternating, smoothed, "+
			"dual-ascent or newton", t.Solver)
	}
	if l.Solver == Auto && l.more && bounded && l.gap < 0 {
		l.gap = 1e-9 // as near as it gets
	}
	l.control = t.control(t.Passes)
	return l, nil
}

// auto reports whether another stage of Auto is to prove a gap.
func (l *linearRun) auto() bool { return l.Solver == Auto && l.more && l.gap > 0 }

// quick reports whether the game suits dual ascent and Newton's method. Smooth losses go to L-BFGS,
// unless dual ascent can use Newton's steps for them or biases are bounded: L-BFGS does not use
// such bounds.
func (l *linearRun) quick() bool {
	rows := l.g.separable()
	return l.relaxed != nil || l.Bias > 0 || rows != nil && rows.Cornered()
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

// adopt makes the result of a stage the start of the next.
func (l *linearRun) adopt(s *saddle.Result) {
	l.r, l.w = s, s.W
	l.more = l.Solver == Auto && stopped(s.Reason)
}

func (l *linearRun) stepsDue() bool {
	return l.Solver != Smoothed && l.Solver != DualAscent && l.Solver != Newton
}

// width is that of what takes the place of kinks in the lower bounds of steps.
func (t *trainer) width() float64 { return 10 * math.Max(t.Gap, 1e-6) }

// steps takes those of mirror-prox, or of what else was chosen that takes any, on minibatches.
func (l *linearRun) steps() (*saddle.Result, error) {
	certify := saddle.CertifyOptions{Scale: l.g.scale(), Enough: math.Max(l.Gap, 0), Least: leastValue}
	if l.relaxed != nil && l.g.Curvature(make([]float64, l.net.Dim())) {
		certify.Relaxed = l.relaxed(l.width())
	}
	p := saddle.FirstOrder{
		W: l.set, Lambda: l.mixtures, Entropic: l.Entropic, Steps: l.Steps, StepW: l.StepW, Frozen: l.frozen,
		StepLambda: l.StepLambda, Batch: l.Batch, Seed: l.Seed, Suffix: !l.All, Gap: l.gap, Least: leastValue,
		Certify: certify,
	}
	switch l.Solver {
	case Descent:
		p.Method = saddle.DescentAscent
	case Alternating:
		p.Method = saddle.Alternating
	default:
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
		return nil, nil // no step that was chosen here suits the losses, but what follows needs none
	case err != nil:
		return r, err
	}
	l.r = r
	l.w, err = l.lower(r.W, l.w)
	return nil, err
}

// ascendDue reports whether dual ascent goes on. Of other sets than balls it knows nothing.
func (l *linearRun) ascendDue() bool {
	return l.Solver == DualAscent || l.auto() && l.quick() && l.Bias == 0
}

// ascend puts cutting planes over λ, with dual ascent for w.
func (l *linearRun) ascend() (*saddle.Result, error) {
	gap, rows := l.gap, l.g.separable()
	if l.gap < 0 && l.Gap > 0 || l.Bias > 0 || rows == nil || l.Beta1 <= 0 && l.Radius == 0 {
		return nil, l.refused(DualAscent, errDual)
	}
	if gap < 0 {
		gap = 1e-9
	}
	slack := 0.0
	if l.Radius > 0 && l.Beta1 == 0 {
		worst, _, err := l.g.worst(l.w, l.mixtures)
		if err != nil {
			return nil, err
		}
		slack = gap / 8 * sizeOf(worst)
	}
	scores := make([]float64, rows.Rows*rows.Outputs)
	l.g.scoresOf(l.w, scores)
	p := saddle.Planes{Inner: separable.NewAscent(rows, scores, l.Radius, slack, l.Seed), Lambda: l.mixtures,
		Gap: gap, Least: leastValue}
	if l.Solver == Auto {
		p.Lenient, p.MostIdle = true, mostIdle
		if !rows.Cornered() {
			// Powers of scores have duals that steps along one coordinate follow as slowly as you like.
			p.Patience, p.Share = 30, 0.5
		}
		if n := l.newtonOf(); n != nil {
			// Newton's steps on m features cost m/20 passes or so, counted in dot products. They
			// take over once dual ascent has run longer than they ever do.
			p.Limit = max(leastPasses, n.Side())
		}
	} else {
		p.MostPasses = l.Passes
	}
	lambda, _ := l.found()
	s, err := p.Solve(l.g, l.w, lambda, l.control)
	if err == nil {
		// Dual ascent may lack curvature, as with an inactive radius and no penalty, or may start
		// with dual coordinates far from the optimum. The other solvers need neither.
		l.adopt(s)
	}
	return s, err
}

const (
	mostIdle    = 30 // passes of dual ascent in which a radius held nothing
	leastPasses = 50 // of it, before Newton's method takes over
)

func (l *linearRun) newtonDue() bool { return l.Solver == Newton || l.auto() && l.quick() }

// newton goes on by Newton's method.
func (l *linearRun) newton() (*saddle.Result, error) {
	inner := l.newtonOf()
	if inner == nil || l.gap < 0 && l.Gap > 0 { // there is no penalty to prove a gap with
		return nil, l.refused(Newton, errNewton)
	}
	lambda, known := l.found()
	p := saddle.Newton{Inner: inner, W: l.set, Lambda: l.mixtures, Gap: l.gap, Least: leastValue, Known: known,
		Relaxed: l.relaxed, Lenient: l.Solver == Auto}
	if l.gap < 0 {
		p.Gap = 1e-9
	}
	control := *l.control
	if l.Solver == Auto {
		control.Stop.Iterations = 0 // those of the first part
	}
	s, err := p.Solve(l.g, l.w, lambda, &control)
	if err == nil {
		l.adopt(s)
	}
	return s, err
}

// refused is why a stage that was asked for by name cannot be; of Auto others take their turn.
func (l *linearRun) refused(by Solver, why error) error {
	if l.Solver == by {
		return why
	}
	return nil
}

// minimizer is Newton's method for games that separate by score.
type minimizer struct{ *separable.Newton }

// Minimize implements saddle.Minimizer.
func (m minimizer) Minimize(ctx context.Context, below saddle.Convex, w, lambda []float64,
	tol float64) ([]float64, int, error) {
	return m.Newton.Minimize(ctx, below.(*Game).terms(), w, lambda, tol)
}

// newton returns the minimiser of g in all space, except for a bound on biases. It returns nil
// where losses do not separate, nothing penalises w, or there are too many rows and features.
func (g *Game) newton(bias float64) *minimizer {
	rows := g.separable()
	if rows == nil {
		return nil
	}
	if n := separable.NewNewton(rows, bias); n != nil {
		return &minimizer{n}
	}
	return nil
}

// newtonOf is that of the game, if w has no other set.
func (l *linearRun) newtonOf() *minimizer {
	if l.Radius > 0 || l.set != nil && l.Bias == 0 {
		return nil
	}
	return l.g.newton(l.Bias)
}

// smooth goes on by L-BFGS, which is for every game.
func (l *linearRun) smooth() (*saddle.Result, error) {
	p := saddle.Smoothed{W: l.set, Lambda: l.mixtures, Gap: math.Max(l.gap, 1e-9), Least: leastValue,
		Workers: l.Workers, Relaxed: l.relaxed, Scale: l.g.scale()}
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
	s, err := p.Solve(l.g, l.w, l.control)
	if err != nil {
		return s, err
	}
	if l.r, l.w = s, s.LastW; s.Reason == run.IterationLimit && l.control.Stop.Iterations == 0 {
		s.Reason = run.RoundLimit // its rounds are not the caller's iterations
		if !s.Certified {
			s.Reason = run.NoProgress // τ is as small as it gets: there is no other end
		}
	}
	return s, nil
}

// partial is the fit of a run that ended with an error, nil where it left nothing.
func (l *linearRun) partial(s *saddle.Result) *Fit {
	if s == nil {
		return nil
	}
	return l.fit(l.g, s, l.frozen)
}

// lower returns w, or the start where the worst mixture there is better, or alone finite.
func (l *linearRun) lower(w, start []float64) ([]float64, error) {
	a, r, err := l.g.worst(w, l.mixtures)
	b, s, also := l.g.worst(start, l.mixtures)
	if a+r <= b+s {
		return w, errors.Join(err, also)
	}
	return start, errors.Join(err, also)
}

var (
	errDual = errors.New("minimax: dual ascent is for linear models " + convex +
		"or within a radius (no bound of biases); choose another solver")
	errNewton = errors.New("minimax: newton is for linear models " + convex +
		"(no radius) and few enough rows and features for their products; choose another solver")
)

const convex = "whose losses are convex and of one score each (no softmax), with the square of the norm as " +
	"penalty "

// stopped reports whether a solver gave up of its own: Auto has others then.
func stopped(r run.Reason) bool { return r == run.NoProgress || r == run.RoundLimit }

// ended returns why a run ended, given that its gap was to be gap times max(leastValue, value). A
// negative gap means that none was requested or none exists: then the solver's own reason counts.
func ended(r *saddle.Result, gap float64) run.Reason {
	if gap <= 0 || !stopped(r.Reason) {
		return r.Reason
	}
	if c := r.Certificate; r.Certified && c.Gap() <= gap*sizeOf(c.Upper) {
		return run.GapSmall
	}
	if r.Reason == run.RoundLimit {
		return run.RoundLimit
	}
	return run.GapMissed
}
