package minimax

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// newtonSolver is the name in checkpoints.
const newtonSolver = "newton"

// newtonRun finds the saddle point by Newton's method in both players. For each λ, newton
// finds w(λ), so that D(λ) = min_w φ(w, λ) is known with its gradient, the objectives at
// w(λ), and its second derivative; the next λ maximises the model that these make of D over
// the preferences, whatever set those are, and goes back towards the last where D did not
// rise. Kinks are relaxed by a width that falls from round to round until what they leave is
// below the gap asked for: K. Madsen and H. Nielsen, "A finite smoothing algorithm for
// linear ℓ_1 estimation", SIAM J. Optimization 3, 1993, for one such loss.
//
// Where cutting planes over λ (cutRun) learn one slope of D a round, which dual ascent
// has to bring out, and L-BFGS on the smoothed maximum (saddle.Smoothed) stops getting
// anywhere once the width is small, this takes some twenty rounds of a few steps each.
//
// State is what a checkpoint holds, at the end of any round.
type newtonRun struct {
	*trainer
	g, r *Game // r has the losses as they are relaxed
	s    *newton
	set  optim.Maximizer

	certified
	gap     float64 // to be reached, times max(leastValue, value)
	relaxed func(float64) saddle.Convex

	w     []float64 // where to begin
	width float64
	share float64   // of the way from at to the model's maximum that lambda is
	at    *newtonAt // the best at this width; nil before there is one
	first float64   // φ at the start, for what is said of a run that went astray
}

// newtonAt is a λ with w(λ) and what is known of D there.
type newtonAt struct {
	lambda, w   []float64
	value       float64
	slope, bend []float64
}

const (
	newtonRounds = 200
	leastShare   = 1e-4 // of a step to the model's maximum
	firstWidth   = 0.25 // of kinks, times the value
	innerShare   = 1e-3 // of the gap asked for: what w(λ) may miss D(λ) by
)

// newton solves from w and lambda by newtonRun; nil when that is not for the game. gap is
// what to reach, times max(leastValue, value).
func (t *trainer) newton(g *Game, set optim.Maximizer, w, lambda []float64, gap float64, known saddle.Certificate, c *run.Control) (*saddle.Result, error) {
	s := t.newtonOf(g)
	if s == nil {
		return nil, nil
	}
	rounds := newtonRounds
	if most := c.Stop.Iterations; t.Solver == Newton && most > 0 {
		rounds = min(rounds, most)
	}
	r := &newtonRun{trainer: t, g: g, s: s, set: set, certified: certified{best: known, lambda: slices.Clone(lambda)}, w: slices.Clone(w), share: 1, gap: gap, relaxed: g.relaxer()}
	r.begin(newtonSolver, c, rounds)
	set.Project(r.lambda)
	resumed, err := r.resume()
	if err != nil {
		return nil, err
	}
	if !resumed {
		if err := r.look(r.w); err != nil {
			return nil, err
		}
		r.width = math.Max(firstWidth, 16*gap) * sizeOf(r.best.Upper)
	}
	reason, err := loop(r.run, newtonRounds, r.round, r.state)
	if err != nil && r.best.W == nil {
		return nil, err // there is no finite state to hand out
	}
	return r.result(r.w, r.run.Evaluations, reason), err
}

// round finds w(λ) at one λ and width, and chooses the next.
func (r *newtonRun) round() (*run.Row, run.Reason, error) {
	coarse := r.gap * sizeOf(r.best.Upper)
	if r.r = r.g; r.relaxed != nil {
		r.r = r.relaxed(r.width).(*Game)
	}
	w := slices.Clone(r.w)
	// The slope of D is off by the root of what w(λ) misses D(λ) by.
	bend, steps, err := r.s.solve(r.run.Ctx, r.r, w, r.lambda, math.Min(innerShare*coarse, 1e4*coarse*coarse))
	if err != nil {
		return nil, "", err
	}
	r.run.Evaluations += steps
	here := &newtonAt{lambda: slices.Clone(r.lambda), w: w, slope: make([]float64, len(r.lambda)), bend: bend}
	if here.value, err = r.r.Eval(w, r.lambda, nil, here.slope); err != nil {
		return nil, "", err
	}
	if err := r.prove(w); err != nil {
		return nil, "", err
	}
	if !finite(here.value) || !finite(here.slope...) {
		return r.astray(here.value)
	}
	// Upper may just have fallen by orders of magnitude, and with it what the gap is held
	// against: targets far from the scores of the start.
	tol := r.gap * sizeOf(r.best.Upper)
	row := r.row(here.value, float64(steps), here.slope)
	switch {
	case r.within(r.gap):
		return row, run.GapSmall, nil
	case tol < coarse/2:
		r.w = here.w // not near enough to its minimum for what is now asked
	case !r.move(here, tol):
		return row, run.NoProgress, nil
	}
	return row, "", nil
}

// astray ends a run that met a value that is not finite: for Auto that is only a reason to
// go on otherwise.
func (r *newtonRun) astray(v float64) (*run.Row, run.Reason, error) {
	if r.Solver == Auto {
		return nil, run.NoProgress, nil
	}
	norm := 0.0
	for _, x := range r.w {
		norm = math.Max(norm, math.Abs(x))
	}
	return nil, "", &saddle.DivergenceError{Solver: newtonSolver, Step: r.run.Steps() + 1, StepW: 1, StepLambda: r.share, Value: v, First: r.first, Norm: norm, Err: optim.ErrNotFinite}
}

// newtonOf returns what minimises at one λ, or nil where w has another set than all space, but
// for a bound of biases.
func (t *trainer) newtonOf(g *Game) *newton {
	if t.Radius > 0 || t.set != nil && t.Bias == 0 {
		return nil
	}
	return g.newNewton(t.Bias)
}

// move chooses the next λ and width; false when there is nothing left to try.
func (r *newtonRun) move(here *newtonAt, tol float64) bool {
	if r.at == nil || here.value >= r.at.value-2*innerShare*tol {
		r.at, r.share = here, 1
	} else {
		r.share /= 4
	}
	// What D can rise by is of second order in what the maximum over λ exceeds φ by: the
	// latter is what the gap is made of.
	spread := r.set.Maximize(r.at.slope, nil) - floats.Dot(r.at.slope, r.at.lambda)
	if spread <= tol/4 || r.share < leastShare {
		return r.narrow(tol)
	}
	target := r.highest()
	r.w = slices.Clone(r.at.w)
	for k, l := range target {
		r.lambda[k] = r.at.lambda[k] + r.share*(l-r.at.lambda[k])
	}
	return true
}

// narrow goes on with the best λ at a smaller width.
func (r *newtonRun) narrow(tol float64) bool {
	r.lambda, r.w = slices.Clone(r.at.lambda), slices.Clone(r.at.w)
	r.at, r.share = nil, 1
	r.width /= 4
	return r.relaxed != nil && r.width > tol/64
}

// highest returns where over the preferences the model of D around at is highest: by
// projected gradients with momentum, which starts afresh where it points down
// (B. O'Donoghue and E. Candès, Found. Comput. Math. 15, 2015).
func (r *newtonRun) highest() []float64 {
	at, p := r.at, len(r.lambda)
	steepest := 0.0
	for k := range p {
		steepest += at.bend[k*p+k]
	}
	if steepest == 0 {
		x := make([]float64, p)
		r.set.Maximize(at.slope, x)
		return x
	}
	x, y, next, slope := slices.Clone(at.lambda), slices.Clone(at.lambda), make([]float64, p), make([]float64, p)
	momentum := 1.0
	for range 2000 {
		for k := range p {
			slope[k] = at.slope[k]
			for l := range p {
				slope[k] -= at.bend[k*p+l] * (y[l] - at.lambda[l])
			}
			next[k] = y[k] + slope[k]/steepest
		}
		r.set.Project(next)
		down, far := 0.0, 0.0
		for k := range p {
			down += slope[k] * (next[k] - x[k])
			far = math.Max(far, math.Abs(next[k]-x[k]))
		}
		after := (1 + math.Sqrt(1+4*momentum*momentum)) / 2
		beta := (momentum - 1) / after
		if momentum = after; down < 0 {
			beta, momentum = 0, 1
		}
		for k := range p {
			y[k] = next[k] + beta*(next[k]-x[k])
		}
		copy(x, next)
		if far <= 1e-12 {
			break
		}
	}
	return x
}

// look takes w for Upper.
func (r *newtonRun) look(w []float64) error {
	values := make([]float64, len(r.lambda))
	v, err := r.g.Eval(w, r.lambda, nil, values)
	r.run.Evaluations++
	if err != nil {
		return err
	}
	if r.run.Evaluations == 1 {
		r.first = v
	}
	upper := v - floats.Dot(r.lambda, values) + r.set.Maximize(values, nil)
	r.reached(upper, w)
	return nil
}

// prove takes (w, lambda) for both bounds.
func (r *newtonRun) prove(w []float64) error {
	if err := r.look(w); err != nil {
		return err
	}
	gw := make([]float64, len(w))
	v, err := r.r.Minorant(w, r.lambda, gw)
	r.run.Evaluations++
	if err != nil {
		return err
	}
	r.proved(v-r.rest(w, gw), r.lambda)
	return nil
}

// rest is what φ(·, λ) may be lower than at w, where gw is its gradient: see newtonOutput.rest.
func (r *newtonRun) rest(w, gw []float64) float64 {
	if r.Bias == 0 {
		return floats.Dot(gw, gw) / (2 * r.Beta1)
	}
	weights, slopes := nn.Layer(r.g.net, 0, gw)
	_, biases := nn.Layer(r.g.net, 0, w)
	rest := floats.Dot(weights, weights) / (2 * r.Beta1)
	for c, d := range slopes {
		rest += d*biases[c] + r.Bias*math.Abs(d)
	}
	return rest
}

// state is what a checkpoint holds.
func (r *newtonRun) state() (*run.Checkpoint, error) {
	k := &run.Checkpoint{X: slices.Clone(r.w), Scalars: map[string]float64{"width": r.width, "share": r.share}, Arrays: map[string][]float64{}}
	if finite(r.first) {
		k.Scalars["first"] = r.first
	}
	if a := r.at; a != nil {
		k.Scalars["value"] = a.value
		for name, v := range map[string][]float64{"atW": a.w, "atLambda": a.lambda, "atSlope": a.slope, "atBend": a.bend} {
			k.Arrays[name] = slices.Clone(v)
		}
	}
	return r.save(k)
}

// resume takes up the state of the run to go on with, if there is one.
func (r *newtonRun) resume() (bool, error) {
	p, n := len(r.lambda), len(r.w)
	k, err := r.taken(n)
	if k == nil || err != nil {
		return false, err
	}
	r.width, r.share, r.first = k.Scalars["width"], k.Scalars["share"], k.Scalars["first"]
	if !(r.width > 0) || !(r.share > 0) {
		return false, otherProblem(k)
	}
	copy(r.w, k.X)
	if w := k.Arrays["atW"]; w != nil {
		r.at = &newtonAt{lambda: slices.Clone(k.Arrays["atLambda"]), w: slices.Clone(w), value: k.Scalars["value"], slope: slices.Clone(k.Arrays["atSlope"]), bend: slices.Clone(k.Arrays["atBend"])}
		if len(w) != n || len(r.at.lambda) != p || len(r.at.slope) != p || len(r.at.bend) != p*p {
			return false, otherProblem(k)
		}
	}
	return true, nil
}
