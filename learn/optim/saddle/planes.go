package saddle

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// PlanesSolver is the name of Planes in checkpoints and errors.
const PlanesSolver = "dual-ascent"

// Ascender finds min φ(·, λ) for one λ after another, pass by pass, and proves lower bounds of it.
type Ascender interface {
	Turn(lambda []float64) // takes up another λ, from where the last ended
	Pass()
	Bound() float64   // no w has a lower φ(w, λ)
	Point() []float64 // w
	Passes() int      // so far, of all λ
	Idle() int        // passes in a row without expected progress
	// Save adds the state to a checkpoint, whose X is the Ascender's own, and Restore reads it.
	Save(k *run.Checkpoint)
	Restore(k *run.Checkpoint, lambda []float64) error
}

// Planes finds saddle points by cutting planes over λ. The function D(λ) = min_w φ(w, λ) is
// concave. An Ascender bounds it from below at one λ after the other. Every w met bounds it from
// above everywhere, by φ(w, ·). The saddle point of these planes, a matrix game of a few rows,
// gives the next λ. It also gives weights for the w, whose mean attains at most the game's value
// (J. Kelley, J. SIAM 8, 1960). Objectives are few, and so are planes.
type Planes struct {
	Inner  Ascender
	Lambda optim.Set // nil is the unit simplex
	Gap    float64   // to be reached, times max(Least, |value|)
	Least  float64   // zero is 1

	// MostPasses ends the run with run.IterationLimit; zero is none.
	MostPasses int
	// Each ends a run without progress (run.NoProgress), and zero is never: after this many passes;
	// after this many idle ones; after Patience passes in which the gap did not fall below Share of
	// its earlier value.
	Limit, MostIdle, Patience int
	Share                     float64
	// Lenient ends a run whose values overflow with run.NoProgress, not with an error.
	Lenient bool
}

// planesRun is a run of Planes. State is what a checkpoint holds, at the end of any pass.
type planesRun struct {
	Planes
	Proof
	p Problem

	inRound, next int // passes of the round, and at which to look at bounds
	cuts          []cut
	open          bool    // the last cut is of this round
	trust         float64 // λ moves by at most this: planes say nothing of what is far from them
	gain          float64 // the gap when it last fell by a clear factor, after
	gained        int     // passes
}

// cut is a w with its penalty and the values of the objectives.
type cut struct {
	w, values []float64
	penalty   float64
}

const (
	mostRounds  = 60 // after which planes no longer tell λ apart
	mostCuts    = 24
	roundPasses = 400
	firstTrust  = 0.03
)

// Solve runs from w, which Inner was made at, and lambda. An iteration is a round of one λ, and
// Steps are passes. The limit of iterations of c is not used.
func (m Planes) Solve(p Problem, w, lambda []float64, c *run.Control) (*Result, error) {
	if m.Lambda == nil {
		m.Lambda = optim.Simplex{}
	}
	r := &planesRun{Planes: m, p: p, trust: firstTrust, Proof: Proof{Mix: slices.Clone(lambda), Least: m.Least}}
	r.Begin(PlanesSolver, c, mostRounds)
	resumed, err := r.resume(len(w))
	if err != nil {
		return nil, err
	}
	if !resumed {
		r.Lambda.Project(r.Mix)
		if _, err := r.addCut(w); err != nil {
			return nil, err
		}
		if len(r.cuts) == 0 {
			reason, err := r.overflows(math.NaN())
			return r.finish(reason), err
		}
		r.turn()
	}
	reason, err := r.Run.Rounds(mostRounds, r.round, r.state)
	return r.finish(reason), err
}

// stuck reports whether there is no progress any more.
func (r *planesRun) stuck() bool {
	passes := r.Inner.Passes()
	if gap := r.Best.Gap(); r.Best.Lambda != nil && (r.gain == 0 || gap < r.Share*r.gain) {
		r.gain, r.gained = gap, passes
	}
	return r.MostIdle > 0 && r.Inner.Idle() >= r.MostIdle || r.Patience > 0 && passes-r.gained >= r.Patience ||
		r.Limit > 0 && passes >= r.Limit
}

// round takes passes until λ is known well enough, and chooses the next.
func (r *planesRun) round() (*run.Row, run.Reason, error) {
	for {
		if err := r.Run.Cancelled(); err != nil {
			return nil, "", err
		}
		if r.MostPasses > 0 && r.Inner.Passes() >= r.MostPasses {
			return nil, run.IterationLimit, nil
		}
		if limit := r.Run.Stop.Time; limit > 0 && r.Run.Seconds() >= limit.Seconds() {
			return nil, run.TimeLimit, nil
		}
		r.Inner.Pass()
		r.inRound++
		r.Run.Evaluations++
		if r.inRound < r.next {
			continue
		}
		r.next = r.inRound + max(1, r.inRound/2)
		if r.Limit > 0 {
			r.next = min(r.next, max(r.inRound+1, r.inRound+r.Limit-r.Inner.Passes()))
		}
		lower := r.Inner.Bound()
		v, err := r.addCut(r.Inner.Point())
		if err != nil {
			return nil, "", err
		}
		if lower-lower != 0 {
			reason, err := r.overflows(lower)
			return nil, reason, err
		}
		better := r.Best.Lambda == nil || lower > r.Best.Lower
		r.Proved(lower, r.Mix)
		// What is left of the round's own gap must not hide what other λ would tell.
		// Where even φ(w, λ) ≥ D(λ) is below the best D known, the plane is all that is wanted.
		tol := r.Gap * r.Size(r.Best.Upper)
		if r.Best.Gap() > tol {
			if r.stuck() {
				return nil, run.NoProgress, nil
			}
			enough := slices.Max([]float64{tol / 8, r.Best.Gap() / 8, (r.Best.Lower - v) / 2})
			if v-lower > enough && r.inRound < roundPasses {
				continue
			}
		}
		if len(r.cuts) > mostCuts {
			r.cuts = slices.Delete(r.cuts, 0, 1)
		}
		next, err := r.game()
		if errors.Is(err, optim.ErrNotFinite) || errors.Is(err, ErrDiverged) {
			reason, err := r.overflows(v)
			return nil, reason, err
		}
		if err != nil {
			return nil, "", err
		}
		row := r.Row(v, float64(r.inRound), r.last().values)
		if r.Best.Gap() <= tol {
			return row, run.GapSmall, nil
		}
		r.move(next, better)
		r.turn()
		return row, "", nil
	}
}

// overflows ends a run that met v, or values, beyond what can be written.
func (r *planesRun) overflows(v float64) (run.Reason, error) {
	if r.Lenient {
		return run.NoProgress, nil
	}
	return run.Interrupted, fmt.Errorf(
		"saddle: %s: pass %d: a bound or value is %v: %w; the losses are too steep "+"for this solver: choose "+
			"smoothed, or other units, or a smaller scale of features",
		PlanesSolver, r.Inner.Passes(), v, optim.ErrNotFinite)
}

// move goes from the λ of the best lower bound towards next within a trust region. The region
// doubles after a round that raised the bound, and halves after one that did not.
func (r *planesRun) move(next []float64, better bool) {
	far := 0.0
	for k, l := range next {
		far = math.Max(far, math.Abs(l-r.Best.Lambda[k]))
	}
	switch {
	case r.Run.Steps() == 0:
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
		r.Mix[k] = r.Best.Lambda[k] + share*(l-r.Best.Lambda[k])
	}
}

// turn begins a round.
func (r *planesRun) turn() {
	r.Inner.Turn(r.Mix)
	r.inRound, r.next, r.open = 0, 1, false
}

func (r *planesRun) last() *cut { return &r.cuts[len(r.cuts)-1] }

// addCut makes a cut of w, which replaces the round's earlier one, and returns φ(w, λ). A w whose
// values overflow gives +Inf and no cut.
func (r *planesRun) addCut(w []float64) (float64, error) {
	k := cut{w: w, values: make([]float64, len(r.Mix))}
	v, err := r.p.Eval(w, r.Mix, nil, k.values)
	r.Run.Evaluations++
	if err != nil {
		return v, err
	}
	if v-v != 0 || optim.FirstNotFinite(k.values) >= 0 {
		return math.Inf(1), nil
	}
	k.penalty = v - floats.Dot(r.Mix, k.values)
	r.Reached(k.penalty+optim.Maximize(r.Lambda, k.values, nil), w)
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
func (r *planesRun) game() ([]float64, error) {
	j, p := len(r.cuts), len(r.Mix)
	// Differences alone matter on both simplices; large equal parts would only slow the
	// steps down.
	least := math.Inf(1)
	for _, k := range r.cuts {
		least = math.Min(least, k.penalty+slices.Min(k.values))
	}
	payoff := Func{W: j, Lambda: p, F: func(theta, lambda, gw, gl []float64) (float64, error) {
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
	solver, control := FirstOrder{W: optim.Simplex{}, Lambda: r.Lambda, Suffix: true, Gap: -1},
		&run.Control{Stop: run.Stop{Iterations: 4000}}
	s, err := solver.Solve(payoff, start, r.Mix, control)
	if err != nil {
		return nil, fmt.Errorf("saddle: %s: the game of %d cuts: %w", PlanesSolver, j, err)
	}
	w := make([]float64, len(r.cuts[0].w))
	for i, k := range r.cuts {
		if s.W[i] > 0 {
			floats.AddScaled(w, s.W[i], k.w)
		}
	}
	values := make([]float64, p)
	v, err := r.p.Eval(w, s.Lambda, nil, values)
	r.Run.Evaluations++
	if err != nil {
		return nil, err
	}
	r.Reached(v-floats.Dot(s.Lambda, values)+optim.Maximize(r.Lambda, values, nil), w)
	return s.Lambda, nil
}

func (r *planesRun) finish(reason run.Reason) *Result {
	w := r.Inner.Point()
	if r.Best.W != nil && optim.FirstNotFinite(w) >= 0 {
		w = slices.Clone(r.Best.W)
	}
	return r.Result(w, r.Inner.Passes(), reason)
}

// state is what a checkpoint holds.
func (r *planesRun) state() (*run.Checkpoint, error) {
	k := &run.Checkpoint{Arrays: map[string][]float64{}, Scalars: map[string]float64{"in": float64(r.inRound),
		"next": float64(r.next), "trust": r.trust, "gain": r.gain, "gained": float64(r.gained)}}
	r.Inner.Save(k)
	if r.open {
		k.Scalars["open"] = 1
	}
	for _, cut := range r.cuts {
		k.Arrays["cutW"] = append(k.Arrays["cutW"], cut.w...)
		k.Arrays["cutValues"] = append(k.Arrays["cutValues"], cut.values...)
		k.Arrays["cutPenalty"] = append(k.Arrays["cutPenalty"], cut.penalty)
	}
	return r.Save(k)
}

// resume takes up the state of the run to go on with, if there is one, for n weights.
func (r *planesRun) resume(n int) (bool, error) {
	p := len(r.Mix)
	k, err := r.Taken(n)
	if k == nil || err != nil {
		return false, err
	}
	m, w, values := len(k.Arrays["cutPenalty"]), k.Arrays["cutW"], k.Arrays["cutValues"]
	if m == 0 || len(w) != m*n || len(values) != m*p || r.Best.W == nil || k.Scalars["in"] < 0 {
		return false, otherProblem(k)
	}
	if err := r.Inner.Restore(k, r.Mix); err != nil {
		return false, err
	}
	for i, penalty := range k.Arrays["cutPenalty"] {
		r.cuts = append(r.cuts, cut{w: slices.Clone(w[i*n : (i+1)*n]), values: slices.Clone(values[i*p : (i+1)*p]),
			penalty: penalty})
	}
	r.inRound, r.next, r.open, r.trust = int(k.Scalars["in"]), int(k.Scalars["next"]), k.Scalars["open"] != 0,
		k.Scalars["trust"]
	r.gain, r.gained = k.Scalars["gain"], int(k.Scalars["gained"])
	return true, nil
}
