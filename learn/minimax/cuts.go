package minimax

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// cutSolver is the name in checkpoints.
const cutSolver = "dual-ascent"

// cutRun finds the saddle point by cutting planes over λ. The function D(λ) = min_w φ(w, λ)
// is concave; dual ascent bounds it from below at one λ after the other, and every w met
// bounds it from above everywhere, by φ(w, ·). The saddle point of these planes, a matrix
// game of a few rows, gives the next λ, and weights for the w whose mean attains at most
// the game's value (J. Kelley, J. SIAM 8, 1960). Objectives are few, so that planes are.
//
// State is what a checkpoint holds, at the end of any pass.
type cutRun struct {
	*trainer
	g     *Game
	set   optim.Maximizer
	a     *ascent
	gap   float64 // to be reached, times max(leastValue, value)
	limit int     // passes after which another solver takes over; 0 is none

	certified
	inRound, next int // passes of the round, and at which to look at bounds
	idle          int // passes in a row after which neither a penalty nor the radius held w
	cuts          []cut
	open          bool    // the last cut is of this round
	trust         float64 // λ moves by at most this: planes say nothing of what is far from where they were made
	gain          float64 // the gap when it last fell by a clear factor, after
	gained        int     // so many passes
}

// cut is a w with its penalty and the values of the objectives.
type cut struct {
	w, values []float64
	penalty   float64
}

const (
	mostRounds = 60
	mostCuts   = 24
	mostPasses = 400 // of a round
	mostIdle   = 30  // passes
	firstTrust = 0.03

	leastPasses = 50 // before Newton's method takes over
)

// patience is how many passes may go by until the gap has to be less than share of what it
// was: beyond that a run makes no progress. Where every loss is a multiple of the logistic
// one or has its corner at the margin, rounds are cheap and the limits of rounds and passes are
// enough where Newton's method does not take over (limit): on sonar with ThesisLosses (l2
// 1e-3) 17,000 evaluations in 35 rounds end within 4.5e-4, where a patience of 400 passes gave up at 1.8e-3. Powers of scores have duals that
// steps along one coordinate follow as slowly as you like, and Auto knows better.
func (r *cutRun) patience() (passes int, share float64) {
	if r.Solver == Auto && !r.g.cornered() {
		return 30, 0.5
	}
	return mostRounds * mostPasses, 0.9
}

// stuck reports whether patience is at an end.
func (r *cutRun) stuck() bool {
	passes, share := r.patience()
	if gap := r.best.Gap(); r.best.Lambda != nil && (r.gain == 0 || gap < share*r.gain) {
		r.gain, r.gained = gap, r.a.passes
	}
	return r.a.passes-r.gained >= passes
}

// ascent returns what dual works with, or nil.
func (t *trainer) ascent(g *Game, set optim.Maximizer, w []float64, gap float64) (*ascent, error) {
	slack := 0.0
	if t.Radius > 0 && t.Beta1 == 0 {
		values := make([]float64, len(g.objectives))
		if _, err := g.Eval(w, make([]float64, len(values)), nil, values); err != nil {
			return nil, err
		}
		slack = gap / 8 * sizeOf(set.Maximize(values, nil))
	}
	return g.dualAscent(w, t.Radius, slack, t.Seed), nil
}

// dual solves from w and lambda by dual ascent; nil when the game does not separate.
// gap is what to reach, times max(leastValue, value); negative never stops for it, but at 1e-9.
func (t *trainer) dual(g *Game, set optim.Maximizer, w, lambda []float64, gap float64, c *run.Control) (*saddle.Result, error) {
	if gap < 0 {
		gap = 1e-9
	}
	a, err := t.ascent(g, set, w, gap)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, nil
	}
	r := &cutRun{trainer: t, g: g, set: set, a: a, gap: gap, certified: certified{lambda: slices.Clone(lambda)}, trust: firstTrust}
	r.begin(cutSolver, c, mostRounds)
	resumed, err := r.resume()
	if err != nil {
		return nil, err
	}
	if !resumed {
		r.set.Project(r.lambda)
		if _, err := r.look(w); err != nil {
			return nil, err
		}
		if len(r.cuts) == 0 {
			reason, err := r.overflows(math.NaN())
			return r.finish(reason), err
		}
		r.turn()
	}
	if t.Solver == Auto {
		if s := t.newtonOf(g); s != nil {
			// What a pass costs, as dot products, Newton's steps on m features cost some m/20 times:
			// they have the game where it takes longer than they ever do.
			r.limit = max(leastPasses, s.m)
		}
	}
	reason, err := loop(r.run, mostRounds, r.round, r.state) // after mostRounds planes no longer tell λ apart
	return r.finish(reason), err
}

// round takes passes until λ is known well enough, and chooses the next.
func (r *cutRun) round() (*run.Row, run.Reason, error) {
	for {
		if err := r.run.Cancelled(); err != nil {
			return nil, "", err
		}
		if r.Solver == DualAscent && r.Passes > 0 && r.a.passes >= r.Passes {
			return nil, run.IterationLimit, nil
		}
		if limit := r.run.Stop.Time; limit > 0 && r.run.Seconds() >= limit.Seconds() {
			return nil, run.TimeLimit, nil
		}
		r.a.pass()
		r.inRound++
		r.run.Evaluations++
		r.slack()
		if r.inRound < r.next {
			continue
		}
		r.next = r.inRound + max(1, r.inRound/2)
		if r.limit > 0 {
			r.next = min(r.next, max(r.inRound+1, r.inRound+r.limit-r.a.passes))
		}
		lower := r.a.bound(r.lambda)
		v, err := r.look(r.a.params())
		if err != nil {
			return nil, "", err
		}
		if lower-lower != 0 {
			reason, err := r.overflows(lower)
			return nil, reason, err
		}
		better := r.best.Lambda == nil || lower > r.best.Lower
		r.proved(lower, r.lambda)
		// What is left of the round's own gap must not hide what other λ would tell.
		// Where even φ(w, λ) ≥ D(λ) is below the best D known, the plane is all that is wanted.
		tol := r.gap * sizeOf(r.best.Upper)
		if r.best.Gap() > tol {
			if r.idle >= mostIdle && r.Solver == Auto || r.stuck() || r.limit > 0 && r.a.passes >= r.limit {
				return nil, run.NoProgress, nil
			}
			if v-lower > slices.Max([]float64{tol / 8, r.best.Gap() / 8, (r.best.Lower - v) / 2}) && r.inRound < mostPasses {
				continue
			}
		}
		if len(r.cuts) > mostCuts {
			r.cuts = slices.Delete(r.cuts, 0, 1)
		}
		next, err := r.game()
		if errors.Is(err, optim.ErrNotFinite) || errors.Is(err, saddle.ErrDiverged) {
			reason, err := r.overflows(v)
			return nil, reason, err
		}
		if err != nil {
			return nil, "", err
		}
		row := r.row(v, float64(r.inRound), r.last().values)
		if r.best.Gap() <= tol {
			return row, run.GapSmall, nil
		}
		r.move(next, better)
		r.turn()
		return row, "", nil
	}
}

// overflows ends a run that met v, or values, beyond what can be written: for Auto that is
// only a reason to go on otherwise.
func (r *cutRun) overflows(v float64) (run.Reason, error) {
	if r.Solver == Auto {
		return run.NoProgress, nil
	}
	return run.Interrupted, fmt.Errorf("minimax: %s: pass %d: a bound or value is %v: %w; the losses are too steep for this solver: choose smoothed, or other units, or a smaller scale of features", cutSolver, r.a.passes, v, optim.ErrNotFinite)
}

// move goes from the λ of the best lower bound towards next, as far as is trusted: twice as
// far after a round that raised the bound, half as far after one that did not.
func (r *cutRun) move(next []float64, better bool) {
	far := 0.0
	for k, l := range next {
		far = math.Max(far, math.Abs(l-r.best.Lambda[k]))
	}
	switch {
	case r.run.Steps() == 0:
	case !better:
		r.trust = math.Max(r.trust/2, 1e-4)
	default:
		r.trust = math.Min(1, 2*r.trust)
	}
	share := 1.0
	if far > r.trust {
		share = r.trust / far
	}
	for k, l := range next {
		r.lambda[k] = r.best.Lambda[k] + share*(l-r.best.Lambda[k])
	}
}

// slack counts passes at whose end nothing but the floor penalised w.
func (r *cutRun) slack() {
	if r.idle++; !r.unheld() || r.a.beta > 1.01*r.a.floor {
		r.idle = 0
	}
}

// turn begins a round.
func (r *cutRun) turn() {
	r.a.turn(r.lambda)
	r.inRound, r.next, r.open = 0, 1, false
}

func (r *cutRun) last() *cut { return &r.cuts[len(r.cuts)-1] }

// look makes a cut of w, in place of the round's earlier one, and returns φ(w, λ). A w whose
// values overflow is +Inf, and none.
func (r *cutRun) look(w []float64) (float64, error) {
	k := cut{w: w, values: make([]float64, len(r.lambda))}
	v, err := r.g.Eval(w, r.lambda, nil, k.values)
	r.run.Evaluations++
	if err != nil {
		return v, err
	}
	if !finite(v) || !finite(k.values...) {
		return math.Inf(1), nil
	}
	k.penalty = v - floats.Dot(r.lambda, k.values)
	r.reached(k.penalty+r.set.Maximize(k.values, nil), w)
	if r.open {
		*r.last() = k
	} else {
		r.cuts = append(r.cuts, k)
	}
	r.open = r.inRound > 0
	return v, nil
}

// game solves the matrix game of the cuts, looks at the mean that it makes of their w,
// and returns its λ.
func (r *cutRun) game() ([]float64, error) {
	j, p := len(r.cuts), len(r.lambda)
	// Differences alone matter on both simplices; large equal parts would only slow the
	// steps down.
	least := math.Inf(1)
	for _, k := range r.cuts {
		least = math.Min(least, k.penalty+slices.Min(k.values))
	}
	payoff := saddle.Func{W: j, Lambda: p, F: func(theta, lambda, gw, gl []float64) (float64, error) {
		v := 0.0
		clear(gl)
		for i, k := range r.cuts {
			row := floats.Dot(lambda, k.values) + k.penalty - least
			v += theta[i] * row
			if gw != nil {
				gw[i] = row
			}
			for q := range gl {
				gl[q] += theta[i] * k.values[q]
			}
		}
		return v, nil
	}}
	start := make([]float64, j)
	start[j-1] = 1
	// The last point converges as well for such games, and the suffix keeps its mean.
	s, err := saddle.FirstOrder{W: optim.Simplex{}, Lambda: r.set, Suffix: true, Gap: -1}.Solve(payoff, start, r.lambda, &run.Control{Stop: run.Stop{Iterations: 4000}})
	if err != nil {
		return nil, fmt.Errorf("minimax: %s: the game of %d cuts: %w", cutSolver, j, err)
	}
	w := make([]float64, len(r.cuts[0].w))
	for i, k := range r.cuts {
		if s.W[i] > 0 {
			floats.AddScaled(w, s.W[i], k.w)
		}
	}
	values := make([]float64, p)
	v, err := r.g.Eval(w, s.Lambda, nil, values)
	r.run.Evaluations++
	if err != nil {
		return nil, err
	}
	r.reached(v-floats.Dot(s.Lambda, values)+r.set.Maximize(values, nil), w)
	return s.Lambda, nil
}

func (r *cutRun) finish(reason run.Reason) *saddle.Result {
	w := r.a.params()
	if r.best.W != nil && !finite(w...) {
		w = slices.Clone(r.best.W)
	}
	return r.result(w, r.a.passes, reason)
}

// state is what a checkpoint holds.
func (r *cutRun) state() (*run.Checkpoint, error) {
	k := &run.Checkpoint{X: slices.Clone(r.a.w),
		Scalars: map[string]float64{"passes": float64(r.a.passes), "in": float64(r.inRound), "next": float64(r.next), "trust": r.trust, "beta": r.a.beta, "floor": r.a.floor, "idle": float64(r.idle), "gain": r.gain, "gained": float64(r.gained)},
		Arrays:  map[string][]float64{"s": slices.Clone(r.a.s), "alpha": slices.Clone(r.a.alpha), "value": slices.Clone(r.a.value)}}
	if r.open {
		k.Scalars["open"] = 1
	}
	rest := make([]float64, len(r.a.rest))
	for i, v := range r.a.rest {
		rest[i] = float64(v)
	}
	k.Arrays["rest"] = rest
	for _, cut := range r.cuts {
		k.Arrays["cutW"] = append(k.Arrays["cutW"], cut.w...)
		k.Arrays["cutValues"] = append(k.Arrays["cutValues"], cut.values...)
		k.Arrays["cutPenalty"] = append(k.Arrays["cutPenalty"], cut.penalty)
	}
	return r.save(k)
}

// resume takes up the state of the run to go on with, if there is one.
func (r *cutRun) resume() (bool, error) {
	p, n, cells := len(r.lambda), len(r.a.w), len(r.a.s)
	k, err := r.taken(n)
	if k == nil || err != nil {
		return false, err
	}
	m := len(k.Arrays["cutPenalty"])
	if len(k.Arrays["s"]) != cells || len(k.Arrays["alpha"]) != cells || len(k.Arrays["value"]) != cells ||
		m == 0 || len(k.Arrays["cutW"]) != m*n || len(k.Arrays["cutValues"]) != m*p || r.best.W == nil {
		return false, otherProblem(k)
	}
	r.a.mix = r.g.mixtureOf(r.lambda)
	copy(r.a.w, k.X)
	copy(r.a.s, k.Arrays["s"])
	copy(r.a.alpha, k.Arrays["alpha"])
	copy(r.a.value, k.Arrays["value"])
	if rest := k.Arrays["rest"]; len(rest) == cells {
		for i, v := range rest {
			r.a.rest[i] = uint8(min(max(v, 0), mostRest))
		}
	}
	for i := range m {
		r.cuts = append(r.cuts, cut{w: slices.Clone(k.Arrays["cutW"][i*n : (i+1)*n]), values: slices.Clone(k.Arrays["cutValues"][i*p : (i+1)*p]), penalty: k.Arrays["cutPenalty"][i]})
	}
	r.a.passes, r.inRound, r.next = int(k.Scalars["passes"]), int(k.Scalars["in"]), int(k.Scalars["next"])
	r.gain, r.gained = k.Scalars["gain"], int(k.Scalars["gained"])
	if r.a.passes < 0 || r.inRound < 0 {
		return false, errors.New("minimax: the checkpoint's counts are impossible")
	}
	if r.a.radius > 0 {
		beta, floor := k.Scalars["beta"], k.Scalars["floor"]
		if !(beta > 0) || !(floor >= 0) || !finite(beta, floor) {
			return false, errors.New("minimax: the checkpoint's penalty is impossible")
		}
		r.a.floor, r.idle = floor, int(k.Scalars["idle"])
		r.a.regularize(beta)
	}
	r.open, r.trust = k.Scalars["open"] != 0, k.Scalars["trust"]
	return true, nil
}
