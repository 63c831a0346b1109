package minimax

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
)

// linear trains a model that is linear in its parameters; with other losses than
// convex ones too, but then without a certificate.
func (t *trainer) linear() (*Fit, error) {
	g := t.game()
	lambda, frozen := t.mixture()
	set := t.preferences
	if frozen {
		set = only(lambda)
	}
	convex := g.Curvature(make([]float64, t.net.Dim()))
	if convex {
		if err := t.confine(g, set); err != nil {
			return nil, err
		}
	}
	bounded := t.Beta1 > 0 || t.Radius > 0
	gap := t.Gap
	if !convex || !bounded {
		gap = -1
	}
	relaxed := g.relaxer()
	var certify optim.CertifyOptions
	if convex && relaxed != nil {
		certify.Relaxed = relaxed(t.Width)
	}
	certify.Scale, certify.Enough, certify.Least = g.scale(), math.Max(t.Gap, 0), leastValue
	passes := t.Passes
	first := optim.SaddlePoint{
		W: t.set, Lambda: set, Entropic: t.Entropic, Steps: t.Steps, StepW: t.StepW, StepLambda: t.StepLambda,
		Frozen: frozen, Batch: t.Batch, Seed: t.Seed, Suffix: !t.All, Gap: gap, Least: leastValue, Certify: certify,
	}
	second := t.Solver == Smoothed
	switch t.Solver {
	case Auto:
		second = convex && !t.NoPolish
		if second {
			first.Gap = -1
		}
		fallthrough
	case MirrorProx, Smoothed, DualAscent, Newton:
		// Backtracking is for smooth problems: at kinks it ends in tiny steps.
		if t.StepW == 0 && t.Steps == optim.ConstantSteps && (t.Batch > 0 || relaxed != nil) {
			first.Steps = optim.AdaptiveSteps
		}
	case Descent:
		first.Method = optim.DescentAscent
	case Alternating:
		first.Method = optim.Alternating
	default:
		return nil, fmt.Errorf("minimax: there is no solver %q; choose mirror-prox, gda, alternating, smoothed, dual-ascent or newton", t.Solver)
	}
	control, err := t.control(passes)
	if err != nil {
		return nil, err
	}
	w := t.start()
	ascends := t.Bias == 0 // of other sets dual ascent knows nothing
	var r *optim.SaddleResult
	inSecond := control.Resume != nil && (control.Resume.Solver == "smoothed" || control.Resume.Solver == cutSolver || control.Resume.Solver == newtonSolver || control.Resume.Solver == normSolver)
	if t.Solver != Smoothed && t.Solver != DualAscent && t.Solver != Newton && !inSecond {
		if t.stage = string(t.Solver); t.Solver == Auto {
			t.stage = string(MirrorProx)
		}
		r, err = first.Solve(g, w, lambda, control)
		var astray *optim.DivergenceError
		switch {
		case err != nil && second && t.StepW == 0 && errors.As(err, &astray):
			// Losses of very different steepness: no step that was chosen here suits them,
			// but what follows needs none.
			r = nil
		case err != nil:
			return t.partial(g, r, frozen), err
		default:
			if w, err = t.lower(g, set, r.W, w); err != nil {
				return nil, err
			}
		}
		control.Resume = nil
	}
	if t.Solver == DualAscent && (gap < 0 && t.Gap > 0 || !ascends) {
		return nil, errDual
	}
	// Losses without kinks are for L-BFGS, unless dual ascent has Newton's steps for them, or
	// biases a bound: of what is at its bound L-BFGS knows nothing.
	quick := relaxed != nil || g.cornered() || t.Bias > 0
	beyond := control.Resume != nil && (control.Resume.Solver == "smoothed" || control.Resume.Solver == newtonSolver || control.Resume.Solver == normSolver)
	if ascends && (t.Solver == Auto && second && quick || t.Solver == DualAscent) && (gap > 0 || t.Solver == DualAscent) && !beyond {
		l := lambda
		if r != nil {
			l = r.Lambda
		}
		t.stage = cutSolver
		s, err := t.dual(g, set, w, l, gap, control)
		if err != nil {
			return t.partial(g, s, frozen), err
		}
		if s != nil {
			// There may be no curvature for dual ascent, as in a radius that holds nothing back
			// without a penalty, or dual coordinates far from where they should be: L-BFGS
			// needs neither.
			r, second = s, t.Solver == Auto && stopped(s.Reason)
			control.Resume = nil
			w = s.W
		} else if t.Solver == DualAscent {
			return nil, errDual
		}
	}
	if second && r != nil && r.Reason == optim.GapSmall {
		second = false
	}
	if t.Solver == Auto && second && gap > 0 && t.Norm {
		s, err := t.normStage(g, set, w, lambda, gap, r, control)
		if err != nil {
			return t.partial(g, s, frozen), err
		}
		if s != nil {
			control.Resume = nil
			r, w = s, s.W
			second = stopped(s.Reason)
		}
	}
	if t.Solver == Auto && second && gap > 0 && quick || t.Solver == Newton {
		s, err := t.newtonStage(g, set, w, lambda, gap, r, control)
		if err != nil {
			return t.partial(g, s, frozen), err
		}
		if s != nil {
			control.Resume = nil
			r, w = s, s.W
			second = t.Solver == Auto && stopped(s.Reason)
		} else if t.Solver == Newton {
			return nil, errNewton
		}
	}
	if second {
		if t.Solver == Auto {
			control.Stop.Iterations = 0 // those of the first part
		}
		fresh := r == nil && !inSecond
		polish := optim.Smoothed{W: t.set, Lambda: set, Gap: math.Max(gap, 1e-9), Least: leastValue, Workers: t.Workers, Relaxed: relaxed, Scale: g.scale()}
		if t.Solver == Auto { // whether this run or the one that it goes on from came here
			polish.Inner = 400
		}
		if t.Solver == Auto && !fresh {
			polish.Start = 0.002 // the stochastic part came closer than this
		}
		if gap < 0 {
			polish.Gap = math.Max(t.Gap, 1e-6)
		}
		if r != nil && r.Certified {
			polish.Known = r.Certificate
		}
		t.stage = string(Smoothed)
		s, err := polish.Solve(g, w, control)
		if err != nil {
			return t.partial(g, s, frozen), err
		}
		if r = s; r.Reason == optim.IterationLimit && control.Stop.Iterations == 0 {
			r.Reason = RoundLimit // its rounds are not the caller's iterations
			if !r.Certified {
				r.Reason = optim.NoProgress // τ is as small as it gets: there is no other end
			}
		}
	}
	r.Reason = ended(r, gap)
	f := t.fit(g, r, frozen)
	if !finite(f.Values...) || !finite(f.Penalty) || !finite(f.Model.Params...) {
		return nil, &optim.DivergenceError{Solver: t.stage, Step: max(1, r.Steps), Value: f.Worst, First: math.NaN(), Err: optim.ErrNotFinite}
	}
	return f, nil
}

// partial is the fit of a run that ended with an error, nil where it left nothing.
func (t *trainer) partial(g *Game, s *optim.SaddleResult, frozen bool) *Fit {
	if s == nil {
		return nil
	}
	return t.fit(g, s, frozen)
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
