package minimax

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// normSolver is the name in checkpoints.
const normSolver = "newton-norm"

// normRounds bounds the penalties that are tried.
const normRounds = 40

// normRun certifies the penalty β_1|w| by games with a square: as
//
//	β|w| = min_τ β/2τ |w|² + βτ/2,
//
// attained at τ = |w|, the saddle point is that of the game with β/τ on the square whose w has
// the norm τ, found by secants in log τ. Of the gradient g of what is below the losses at some w,
//
//	min_{|v| ≤ D} Σ λ_k L_k(v) + β|v| ≥ Σ λ_k L_k(w) - g·w - D max(0, |g| - β)
//
// where D is the ball that confine found: within it is the solution. At Newton's minimum
// g = -β/τ w, so that |g| = β where w has the norm τ, and what g has across w counts in its
// square alone. Biases that have a bound are without penalty there too, and the bound proves what
// is left of g along them. The bound of a linearised norm counts all of it, D times: on sonar with the
// ThesisLosses and β 1e-4 L-BFGS ended with a gap of 19.5 for it.
//
// State is what a checkpoint holds, at the end of any round.
type normRun struct {
	*trainer
	g      *Game
	set    optim.Maximizer
	radius float64

	certified
	w         []float64
	tau       float64
	was, rest float64 // log τ of the round before, and log |w|/τ there; NaN where there is none
	target    float64
}

// norms goes on by games with the square of a norm that is the penalty.
func (l *linearRun) norms() (*saddle.Result, error) {
	ball, ok := l.ball()
	if l.Solver != Auto || !l.more || l.gap <= 0 || !ok || !l.Norm || l.Radius > 0 || l.control.Resume != nil && !l.resumes(normSolver) {
		return nil, nil
	}
	lambda, known := l.found()
	n := &normRun{trainer: l.trainer, g: l.g, set: l.mixtures, radius: ball.Radius, certified: certified{best: known, lambda: slices.Clone(lambda)}, w: slices.Clone(l.w), was: math.NaN(), target: l.gap}
	n.begin(normSolver, l.control, normRounds)
	n.tau = math.Max(floats.Norm(n.penalized(n.w), 2), 1e-3)
	n.set.Project(n.lambda)
	if resumed, err := n.resume(); err != nil {
		return nil, err
	} else if !resumed { // zero is the solution where the penalty is large
		if err := n.prove(n.g, make([]float64, len(n.w)), n.lambda); err != nil {
			return nil, err
		}
	}
	l.stage = normSolver
	reason, err := loop(n.run, normRounds, n.round, n.state)
	if err == nil && reason == run.NoProgress && !n.certain() {
		return nil, nil // L-BFGS is left
	}
	s := n.result(n.w, n.run.Evaluations, reason)
	if err == nil {
		l.take(s)
	}
	return s, err
}

// tighten closes the gap that L-BFGS ended with further, where the norm is the penalty.
func (l *linearRun) tighten(s *saddle.Result) error {
	ball, ok := l.ball()
	if !ok || !l.Norm || !s.Certified || l.gap <= 0 {
		return nil
	}
	n := &normRun{trainer: l.trainer, g: l.g, set: l.mixtures, radius: ball.Radius, certified: certified{best: s.Certificate, lambda: s.Lambda}}
	n.begin(normSolver, l.control, normRounds)
	tol := l.gap * sizeOf(s.Certificate.Upper)
	for _, at := range [][2][]float64{{s.LastW, s.LastLambda}, {s.W, s.Lambda}} {
		if n.best.Gap() <= tol {
			break
		}
		if err := n.tighten(at[0], at[1], tol); err != nil {
			return err
		}
	}
	s.Certificate, s.W, s.Lambda = n.best, n.best.W, n.best.Lambda
	s.Evaluations += n.run.Evaluations
	return nil
}

// ball is what holds the weights, if that is a ball.
func (t *trainer) ball() (optim.Ball, bool) {
	ball, ok := t.set.(optim.Ball)
	if product, both := t.set.(optim.Product); both { // with a bound of biases, see confine
		ball, ok = product[0].Set.(optim.Ball)
	}
	return ball, ok
}

// squared returns the game g with another penalty, of the square of the norm, and a trainer that
// plays it with Newton's method in all space.
func (t *trainer) squared(g *Game, beta1 float64) (*Game, *trainer) {
	square := newGame(g.examples, beta1, g.beta2, false)
	square.spans = g.spans
	s := *t
	s.Norm, s.Beta1, s.Radius, s.set, s.Solver = false, beta1, 0, nil, Newton
	return square, &s
}

// round plays the game with the square for one τ, and chooses the next.
func (r *normRun) round() (*run.Row, run.Reason, error) {
	squared, s := r.squared(r.g, r.Beta1/r.tau)
	in, err := s.newton(squared, r.set, r.w, r.lambda, r.target/4, saddle.Certificate{}, r.inner())
	if in == nil && err == nil || errors.Is(err, optim.ErrNotFinite) {
		return nil, run.NoProgress, nil
	}
	if err != nil {
		return nil, "", err
	}
	r.run.Evaluations += in.Evaluations
	tol := r.target * sizeOf(in.Value)
	w := slices.Clone(in.W)
	if err := r.look(w); err != nil {
		return nil, "", err
	}
	if err := r.close(squared, w, in.Lambda, tol); err != nil {
		return nil, "", err
	}
	copy(r.w, w)
	copy(r.lambda, in.Lambda)
	values := make([]float64, len(r.lambda))
	v, err := r.g.Eval(w, r.lambda, nil, values)
	if err != nil {
		return nil, "", err
	}
	row := r.row(v, r.tau, values)
	if r.within(r.target) {
		return row, run.GapSmall, nil
	}
	r.move(floats.Norm(r.penalized(w), 2))
	return row, "", nil
}

// close brings w to the minimum of the game with the square at λ, and proves what that proves.
// Kinks are relaxed by widths that fall from 4 tol: at a sixteenth of tol, which costs nothing to
// speak of, Newton's steps do not find the minimum from afar (sonar, β 1e-3, a gap of 1e-5: 50 of
// them left a bound of 0.02). Without kinks one width does.
func (r *normRun) close(squared *Game, w, lambda []float64, tol float64) error {
	relaxed, alike := r.g.relaxer(), squared.relaxer()
	s := squared.newNewton(r.Bias)
	// Narrower ones alone may prove nothing, where as much as 1e-8 of the value is asked for.
	first := math.Max(4*tol, 1e-5*sizeOf(r.best.Upper))
	for width := first; width > tol/20; width /= 4 {
		under, below := r.g, squared
		if relaxed != nil {
			under, below = relaxed(width).(*Game), alike(width).(*Game)
		}
		_, steps, err := s.solve(r.run.Ctx, below, w, lambda, 1e-6*tol)
		if err != nil {
			return err
		}
		r.run.Evaluations += steps
		if err := r.look(w); err != nil {
			return err
		}
		if err := r.prove(under, w, lambda); err != nil {
			return err
		}
		if relaxed == nil || r.best.Gap() <= tol {
			break
		}
	}
	return nil
}

// move chooses the next τ, after one at which w had that norm.
func (r *normRun) move(norm float64) {
	at := math.Log(r.tau)
	rest := math.Log(math.Max(norm, 1e-9)) - at
	step := rest
	// |w| grows with τ, by less than it around the solution.
	if slope := (rest - r.rest) / (at - r.was); slope < 0 {
		step = -rest / slope
	}
	r.was, r.rest = at, rest
	r.tau = math.Exp(math.Max(-20, math.Min(20, at+math.Max(-2, math.Min(2, step)))))
}

// penalized returns the part of v, as long as w, that is in the penalty: without biases where they have a bound.
func (r *normRun) penalized(v []float64) []float64 {
	s := r.g.spans[0]
	return v[s.From:s.To]
}

// look takes w for Upper.
func (r *normRun) look(w []float64) error {
	values := make([]float64, len(r.lambda))
	penalty, err := r.g.Eval(w, make([]float64, len(values)), nil, values)
	r.run.Evaluations++
	if err != nil {
		return err
	}
	r.reached(penalty+r.set.Maximize(values, nil), w)
	return nil
}

// tighten proves what it can at λ, from the w where L-BFGS has left both: at the minimum for that
// λ and one width of kinks (lowest), with and without weights. What is left of g along w counts
// radius times where it makes |g| more than β, and |w| times where less, so that the multiple of
// w is sought from which on |g| is at most β. On 300 rows of 20 features and three classes by
// Softmax, β 1e-4, that leaves a gap of 1.8e-4 where L-BFGS alone had 0.39.
func (r *normRun) tighten(w, lambda []float64, tol float64) error {
	relaxed := r.g.relaxer()
	scaled := make([]float64, len(w))
	for width := 4 * tol; width > tol/20; width /= 4 {
		under := r.g
		if relaxed != nil {
			under = relaxed(width).(*Game)
		}
		// Where the penalty leaves no weight, the norm has a kink that L-BFGS does not get to.
		none := slices.Clone(w)
		clear(r.penalized(none))
		none, err := r.lowest(under, none, lambda, tol, true)
		if err != nil {
			return err
		}
		if err := errors.Join(r.look(none), r.prove(under, none, lambda)); err != nil {
			return err
		}
		if r.best.Gap() <= tol {
			break
		}
		if w, err = r.lowest(under, w, lambda, tol, false); err != nil {
			return err
		}
		if err := r.look(w); err != nil {
			return err
		}
		at := func(s float64) (excess float64, err error) {
			copy(scaled, w)
			floats.Scale(s, r.penalized(scaled))
			return r.proveExcess(under, scaled, lambda)
		}
		excess, err := at(1)
		if err != nil {
			return err
		}
		lo, hi, step := 1.0, 1.0, 1e-6 // |g| exceeds β at lo, and not at hi
		if !(excess > 0) {
			step = -step
		}
		for range 10 {
			s := 1 + step
			if excess, err = at(s); err != nil {
				return err
			}
			if over := excess > 0; over {
				lo = s
			} else {
				hi = s
			}
			if lo < hi {
				break
			}
			step *= 4
		}
		for range 12 {
			if !(lo < hi) || r.best.Gap() <= tol {
				break
			}
			s := lo + (hi-lo)/2
			if excess, err = at(s); err != nil {
				return err
			}
			if excess > 0 {
				lo = s
			} else {
				hi = s
			}
		}
		if relaxed == nil || r.best.Gap() <= tol {
			break
		}
	}
	return nil
}

// heldRounds bounds the sets of biases at their bound that are tried.
const heldRounds = 8

// lowest returns the minimum at λ that L-BFGS finds from w of the losses of under and
//
//	β √(|w|²+ε²), where βε = tol/8,
//
// which has no kink at zero, nor a gradient longer than β, so that at its minimum the losses'
// is no longer either. fixed leaves weights as they are and moves biases without penalty alone. Where these
// have a bound, those that L-BFGS drives beyond are held there, and it goes on with the others;
// those that would rather be within are let go.
func (r *normRun) lowest(under *Game, w, lambda []float64, tol float64, fixed bool) ([]float64, error) {
	_, biases := nn.Layer(r.g.net, 0, make([]float64, len(w)))
	held := make([]bool, len(biases))
	losses := newGame(under.examples, 0, under.beta2, false)
	down := optim.Func{N: len(w), F: func(x, grad []float64) (float64, error) {
		r.run.Evaluations++
		v, err := losses.Eval(x, lambda, grad, nil)
		weights := r.penalized(x)
		size := math.Hypot(floats.Norm(weights, 2), tol/8/r.Beta1)
		floats.AddScaled(r.penalized(grad), r.Beta1/size, weights)
		if fixed {
			clear(r.penalized(grad))
		}
		_, slopes := nn.Layer(r.g.net, 0, grad)
		for c, hold := range held {
			if hold {
				slopes[c] = 0
			}
		}
		return v + r.Beta1*size, err
	}}
	stop := run.Stop{Iterations: 1000, Relative: -1, Gradient: 1e-12}
	for range heldRounds {
		low, err := optim.OWLQN{Memory: 20, Workers: 1}.Minimize(down, w, &run.Control{Ctx: r.run.Ctx, Stop: stop})
		if err != nil {
			return nil, err
		}
		if w = low.X; r.Bias == 0 {
			break
		}
		gw := make([]float64, len(w))
		if _, err := losses.Eval(w, lambda, gw, nil); err != nil {
			return nil, err
		}
		r.run.Evaluations++
		_, slopes := nn.Layer(r.g.net, 0, gw)
		_, biases = nn.Layer(r.g.net, 0, w)
		moved := false
		for c, b := range biases {
			switch {
			case math.Abs(b) > r.Bias:
				biases[c] = math.Copysign(r.Bias, b)
				held[c], moved = true, true
			case held[c] && b*slopes[c] > 0:
				held[c], moved = false, true
			}
		}
		if !moved {
			break
		}
	}
	return w, nil
}

// prove takes (w, λ) for Lower, by the losses of under, which are nowhere above the game's.
func (r *normRun) prove(under *Game, w, lambda []float64) error {
	_, err := r.proveExcess(under, w, lambda)
	return err
}

// proveExcess is prove, and returns |g| - β.
func (r *normRun) proveExcess(under *Game, w, lambda []float64) (float64, error) {
	losses := newGame(under.examples, 0, under.beta2, false)
	gw := make([]float64, len(w))
	v, err := losses.Minorant(w, lambda, gw)
	r.run.Evaluations++
	if err != nil {
		return 0, err
	}
	g := r.penalized(gw)
	excess := floats.Norm(g, 2) - r.Beta1
	v -= floats.Dot(g, r.penalized(w)) + r.radius*math.Max(0, excess)
	if r.Bias > 0 { // the most that a linear function falls by
		_, slopes := nn.Layer(r.g.net, 0, gw)
		_, biases := nn.Layer(r.g.net, 0, w)
		for c, d := range slopes {
			v -= d*biases[c] + r.Bias*math.Abs(d)
		}
	}
	r.proved(v, lambda)
	return excess, nil
}

// state is what a checkpoint holds.
func (r *normRun) state() (*run.Checkpoint, error) {
	k := &run.Checkpoint{X: slices.Clone(r.w), Scalars: map[string]float64{"tau": r.tau}, Arrays: map[string][]float64{}}
	if finite(r.was) {
		k.Scalars["was"], k.Scalars["rest"] = r.was, r.rest
	}
	return r.save(k)
}

// resume takes up the state of the run to go on with, if there is one.
func (r *normRun) resume() (bool, error) {
	k, err := r.taken(len(r.w))
	if k == nil || err != nil {
		return false, err
	}
	if r.tau = k.Scalars["tau"]; !(r.tau > 0) {
		return false, otherProblem(k)
	}
	copy(r.w, k.X)
	if was, ok := k.Scalars["was"]; ok {
		r.was, r.rest = was, k.Scalars["rest"]
	}
	return true, nil
}
