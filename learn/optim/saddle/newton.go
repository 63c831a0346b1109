package saddle

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// NewtonSolver is the name of Newton in checkpoints and errors.
const NewtonSolver = "newton"

// Minimizer minimises φ(·, λ) at one λ.
type Minimizer interface {
	// Minimize moves w to the minimum of below, the game or what relaxes it, to within about tol.
	// bend is minus the second derivative of the minimum by λ, row by row; steps tell the work.
	Minimize(ctx context.Context, below Convex, w, lambda []float64, tol float64) (bend []float64,
		steps int, e error)
}

// Newton finds saddle points by Newton's method in both players. For each λ, Inner finds w(λ). This
// gives D(λ) = min_w φ(w, λ), its gradient, which is the objectives at w(λ), and its second
// derivative. The next λ maximises the resulting model of D over the set, and moves back towards
// the last where D did not rise. Kinks are relaxed by a width that falls from round to round until
// its effect is below the gap requested: K. Madsen and H. Nielsen, "A finite smoothing algorithm
// for linear ℓ_1 estimation", SIAM J. Optimization 3, 1993, for one such loss.
//
// Planes learns one slope of D a round, and Smoothed stops making progress once the width is small.
// This solver takes some twenty rounds of a few steps each.
type Newton struct {
	Inner   Minimizer
	W       optim.Set                  // of w, which Inner keeps; nil is all space
	Lambda  optim.Maximizer            // nil is the unit simplex
	Gap     float64                    // to be reached, times max(Least, |value|)
	Least   float64                    // zero is 1
	Known   Certificate                // bounds proved before, if its W is not nil
	Relaxed func(width float64) Convex // as in Smoothed
	Lenient bool                       // a value that is not finite is run.NoProgress, not a *DivergenceError
}

// newtonRun is a run of Newton. State is what a checkpoint holds, at the end of any round.
type newtonRun struct {
	Newton
	Proof
	p, below Convex // below has the losses as they are relaxed

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

// Solve runs from w0 and lambda0; iterations are rounds of one λ, at most 200.
func (m Newton) Solve(p Convex, w0, lambda0 []float64, c *run.Control) (*Result, error) {
	if m.Lambda == nil {
		m.Lambda = optim.Simplex{}
	}
	rounds := newtonRounds
	if c != nil && c.Stop.Iterations > 0 {
		rounds = min(rounds, c.Stop.Iterations)
	}
	r := &newtonRun{Newton: m, p: p, below: p, w: slices.Clone(w0), share: 1,
		Proof: Proof{Best: m.Known, Mix: slices.Clone(lambda0), Least: m.Least}}
	r.Begin(NewtonSolver, c, rounds)
	m.Lambda.Project(r.Mix)
	resumed, err := r.resume()
	if err != nil {
		return nil, err
	}
	if !resumed {
		if err := r.evaluate(r.w); err != nil {
			return nil, err
		}
		r.width = math.Max(firstWidth, 16*m.Gap) * r.Size(r.Best.Upper)
	}
	reason, err := r.Run.Rounds(newtonRounds, r.round, r.state)
	if err != nil && r.Best.W == nil {
		return nil, err // there is no finite state to hand out
	}
	return r.Result(r.w, r.Run.Evaluations, reason), err
}

// round finds w(λ) at one λ and width, and chooses the next.
func (r *newtonRun) round() (*run.Row, run.Reason, error) {
	coarse := r.Gap * r.Size(r.Best.Upper)
	if r.below = r.p; r.Relaxed != nil {
		r.below = r.Relaxed(r.width)
	}
	w := slices.Clone(r.w)
	// The slope of D is off by the root of what w(λ) misses D(λ) by.
	near := math.Min(innerShare*coarse, 1e4*coarse*coarse)
	bend, steps, err := r.Inner.Minimize(r.Run.Ctx, r.below, w, r.Mix, near)
	if err != nil {
		return nil, "", err
	}
	r.Run.Evaluations += steps
	here := &newtonAt{lambda: slices.Clone(r.Mix), w: w, slope: make([]float64, len(r.Mix)), bend: bend}
	if here.value, err = r.below.Eval(w, r.Mix, nil, here.slope); err != nil {
		return nil, "", err
	}
	if err := r.prove(w); err != nil {
		return nil, "", err
	}
	if here.value-here.value != 0 || optim.FirstNotFinite(here.slope) >= 0 {
		return r.astray(here.value)
	}
	// Upper may just have fallen by orders of magnitude, and with it the requested gap. This
	// happens with targets far from the scores of the start.
	tol := r.Gap * r.Size(r.Best.Upper)
	row := r.Row(here.value, float64(steps), here.slope)
	switch {
	case r.Within(r.Gap):
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
	if r.Lenient {
		return nil, run.NoProgress, nil
	}
	return nil, "", &DivergenceError{Solver: NewtonSolver, Step: r.Run.Steps() + 1, StepW: 1,
		StepLambda: r.share, Value: v, First: r.first, Norm: optim.MaxAbs(r.w), Err: optim.ErrNotFinite}
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
	spread := r.Lambda.Maximize(r.at.slope, nil) - floats.Dot(r.at.slope, r.at.lambda)
	if spread <= tol/4 || r.share < leastShare {
		return r.narrow(tol)
	}
	target := r.highest()
	r.w = slices.Clone(r.at.w)
	for k, l := range target {
		r.Mix[k] = r.at.lambda[k] + r.share*(l-r.at.lambda[k])
	}
	return true
}

// narrow goes on with the best λ at a smaller width.
func (r *newtonRun) narrow(tol float64) bool {
	r.Mix, r.w = slices.Clone(r.at.lambda), slices.Clone(r.at.w)
	r.at, r.share = nil, 1
	r.width /= 4
	return r.Relaxed != nil && r.width > tol/64
}

// highest returns where over the preferences the model of D around at is highest. It uses projected
// gradients with momentum, restarted where it points down (B. O'Donoghue and E. Candès, Found.
// Comput. Math. 15, 2015).
func (r *newtonRun) highest() []float64 {
	at, p := r.at, len(r.Mix)
	steepest := 0.0
	for k := range p {
		steepest += at.bend[k*p+k]
	}
	if steepest == 0 {
		x := make([]float64, p)
		r.Lambda.Maximize(at.slope, x)
		return x
	}
	x, y := slices.Clone(at.lambda), slices.Clone(at.lambda)
	next, slope := make([]float64, p), make([]float64, p)
	momentum := 1.0
	for range 2000 {
		for k := range p {
			slope[k] = at.slope[k]
			for l := range p {
				slope[k] -= at.bend[k*p+l] * (y[l] - at.lambda[l])
			}
			next[k] = y[k] + slope[k]/steepest
		}
		r.Lambda.Project(next)
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

// evaluate evaluates the game at w, for Upper.
func (r *newtonRun) evaluate(w []float64) error {
	values := make([]float64, len(r.Mix))
	v, err := r.p.Eval(w, r.Mix, nil, values)
	r.Run.Evaluations++
	if err != nil {
		return err
	}
	if r.Run.Evaluations == 1 {
		r.first = v
	}
	upper := v - floats.Dot(r.Mix, values) + r.Lambda.Maximize(values, nil)
	r.Reached(upper, w)
	return nil
}

// prove takes (w, lambda) for both bounds.
func (r *newtonRun) prove(w []float64) error {
	if err := r.evaluate(w); err != nil {
		return err
	}
	r.Run.Evaluations++
	lower, err := Lower(r.below, r.W, w, r.Mix)
	if err == nil {
		r.Proved(lower, r.Mix)
	}
	return err
}

// state is what a checkpoint holds.
func (r *newtonRun) state() (*run.Checkpoint, error) {
	k := &run.Checkpoint{X: slices.Clone(r.w), Scalars: map[string]float64{"width": r.width, "share": r.share},
		Arrays: map[string][]float64{}}
	if r.first-r.first == 0 {
		k.Scalars["first"] = r.first
	}
	if a := r.at; a != nil {
		k.Scalars["value"] = a.value
		for name, v := range map[string][]float64{"atW": a.w, "atLambda": a.lambda, "atSlope": a.slope,
			"atBend": a.bend} {
			k.Arrays[name] = slices.Clone(v)
		}
	}
	return r.Save(k)
}

// resume takes up the state of the run to go on with, if there is one.
func (r *newtonRun) resume() (bool, error) {
	p, n := len(r.Mix), len(r.w)
	k, err := r.Taken(n)
	if k == nil || err != nil {
		return false, err
	}
	r.width, r.share, r.first = k.Scalars["width"], k.Scalars["share"], k.Scalars["first"]
	if !(r.width > 0) || !(r.share > 0) {
		return false, otherProblem(k)
	}
	copy(r.w, k.X)
	if w := k.Arrays["atW"]; w != nil {
		r.at = &newtonAt{lambda: slices.Clone(k.Arrays["atLambda"]), w: slices.Clone(w), value: k.Scalars["value"],
			slope: slices.Clone(k.Arrays["atSlope"]), bend: slices.Clone(k.Arrays["atBend"])}
		if len(w) != n || len(r.at.lambda) != p || len(r.at.slope) != p || len(r.at.bend) != p*p {
			return false, otherProblem(k)
		}
	}
	return true, nil
}
