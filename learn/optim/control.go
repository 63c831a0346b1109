package optim

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// Row is one line of a run's history.
type Row struct {
	Stage       string  // of a run in several, each with its own objective; "" in a run of one
	Iteration   int     // steps taken (LBFGS, OWLQN), or passes over the examples (Stochastic)
	Objective   float64 // value at the current point; for Stochastic the pass' mean estimate, see there
	GradNorm    float64 // largest entry of the gradient, in absolute value; see the solver
	Step        float64 // length factor of the last step, or the learning rate
	Evaluations int     // of the objective so far
	Seconds     float64 // since the run began
	Rate        float64 // examples a second since the last row; zero when the solver cannot know

	Saddle *SaddleRow // of solvers of saddle points; nil otherwise
}

// Recorder receives a row after each iteration. An error stops the run.
type Recorder interface {
	Record(Row) error
}

// RecorderFunc makes a Recorder of a function.
type RecorderFunc func(Row) error

func (f RecorderFunc) Record(r Row) error { return f(r) }

// Recorders passes every row to all of rs, in turn, and stops at the first error.
func Recorders(rs ...Recorder) Recorder {
	return RecorderFunc(func(r Row) error {
		for _, one := range rs {
			if err := one.Record(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// Stop says when a run is over. Each zero field takes the default given; the
// first rule that holds ends the run.
type Stop struct {
	Iterations  int           // steps or passes; zero is the solver's default
	Evaluations int           // of the objective; zero is 10 an iteration
	Gradient    float64       // largest gradient entry at most this times max(1, |f|), at the start at most this; zero is 1e-7, negative never
	Relative    float64       // the last Window+1 values are within this fraction of one another and of the lowest so far; zero is 1e-6, negative never
	Window      int           // zero or less is 5
	Time        time.Duration // zero is none
}

func (s Stop) withDefaults(iterations int) Stop {
	if s.Iterations == 0 {
		s.Iterations = iterations
	}
	if s.Evaluations == 0 {
		s.Evaluations = 10*s.Iterations + 10
	}
	if s.Gradient == 0 {
		s.Gradient = 1e-7
	}
	if s.Relative == 0 {
		s.Relative = 1e-6
	}
	if s.Window <= 0 {
		s.Window = 5
	}
	return s
}

// Control is what all solvers are told beside the problem; nil is the same as
// the zero value.
type Control struct {
	Ctx      context.Context // cancels the run; nil is none
	Stop     Stop
	Recorder Recorder // nil is none
	// Live, if not nil, is shown what goes on within iterations that take long, by solvers that
	// have such: rows for people, which are of no history.
	Live     Recorder
	Examples int // examples that one evaluation visits, for Row.Rate; Sum and Stochastic know it

	// Checkpoint, if not nil, is called every CheckpointEvery iterations (zero
	// is 10) and when the context was cancelled. It may keep the checkpoint,
	// which is a copy. An error stops the run.
	Checkpoint      func(*Checkpoint) error
	CheckpointEvery int
	Resume          *Checkpoint // if not nil, where to go on; the start given is then not used
}

// Reason says which rule ended a run.
type Reason string

const (
	GradientSmall    Reason = "gradient small"
	ImprovementSmall Reason = "improvement small"
	NoProgress       Reason = "no further progress" // the line search found nothing lower: the limit of rounding
	Diverged         Reason = "objective rose"      // above its first value, see run.rose
	IterationLimit   Reason = "iteration limit"
	EvaluationLimit  Reason = "evaluation limit"
	TimeLimit        Reason = "time limit"
	Interrupted      Reason = "interrupted" // the error says by what
)

// Converged reports whether the run ended because it had arrived.
func (r Reason) Converged() bool {
	return r == GradientSmall || r == ImprovementSmall || r == NoProgress || r == GapSmall
}

// Result is where a run ended.
type Result struct {
	X           []float64
	F           float64 // value at X
	GradNorm    float64 // largest entry of the gradient at X
	Iterations  int
	Evaluations int
	Reason      Reason
	Note        string // what a reader of the report should know, such as a history that was started afresh

	First *Result // of the stage before, in a run of two with an objective each; nil in a run of one
}

// Converged reports whether every stage of the run ended because it had arrived.
func (r *Result) Converged() bool {
	for ; r != nil; r = r.First {
		// What stops the line search short of that is no optimum: numbers too far apart.
		stuck := r.Reason == NoProgress && r.GradNorm > 1e-3*math.Max(1, math.Abs(r.F))
		if stuck || !r.Reason.Converged() {
			return false
		}
	}
	return true
}

// run watches one solver's iterations against a Control.
type run struct {
	Control
	solver  string
	begin   time.Time
	spent   float64 // seconds of the run that was resumed
	last    time.Time
	lastEv  int
	history []float64 // values of the last Window+1 iterations
	first   float64   // value of the first iteration; NaN before it
	best    float64   // lowest value so far
	evals   int
	vectors vectors
}

func newRun(solver string, c *Control, iterations int) *run {
	r := &run{solver: solver, first: math.NaN(), best: math.Inf(1)}
	if c != nil {
		r.Control = *c
	}
	r.Stop = r.Stop.withDefaults(iterations)
	if r.CheckpointEvery == 0 {
		r.CheckpointEvery = 10
	}
	if r.Ctx == nil {
		r.Ctx = context.Background()
	}
	r.begin = time.Now()
	r.last = r.begin
	return r
}

func (r *run) seconds() float64 { return r.spent + time.Since(r.begin).Seconds() }

// step records an iteration and returns the reason to stop, or "". gradNorm is
// negative when it is not known.
func (r *run) step(iteration int, f, gradNorm, step float64) (Reason, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Interrupted, fmt.Errorf("optim: %s: iteration %d: value %v: %w", r.solver, iteration, f, ErrNotFinite)
	}
	if r.Recorder != nil {
		now := time.Now()
		row := Row{Iteration: iteration, Objective: f, GradNorm: math.Max(gradNorm, 0), Step: step, Evaluations: r.evals, Seconds: r.seconds()}
		if d := now.Sub(r.last).Seconds(); d > 0 {
			row.Rate = float64(r.Examples) * float64(r.evals-r.lastEv) / d
		}
		r.last, r.lastEv = now, r.evals
		if err := r.Recorder.Record(row); err != nil {
			return Interrupted, fmt.Errorf("optim: %s: recorder: %w", r.solver, err)
		}
	}
	s := &r.Stop
	r.history = append(r.history, f)
	if n := len(r.history); n > s.Window+1 {
		r.history = r.history[n-s.Window-1:]
	}
	r.best = math.Min(r.best, f)
	if math.IsNaN(r.first) {
		r.first = f
	}
	switch {
	case gradNorm >= 0 && (gradNorm <= s.Gradient || iteration > 0 && gradNorm <= s.Gradient*math.Abs(f)):
		// A value may be large by a constant alone, beside which no gradient of the
		// first point would count.
		return GradientSmall, nil
	case r.settled(f):
		return ImprovementSmall, nil
	case len(r.history) == s.Window+1 && slices.Min(r.history) > r.first+math.Abs(r.first):
		return Diverged, nil
	case iteration >= s.Iterations:
		if r.rose(f) {
			return Diverged, nil
		}
		return IterationLimit, nil
	case r.evals >= s.Evaluations:
		return EvaluationLimit, nil
	case s.Time > 0 && r.seconds() >= s.Time.Seconds():
		return TimeLimit, nil
	}
	if err := r.Ctx.Err(); err != nil {
		return Interrupted, fmt.Errorf("optim: %s: stopped after %d iterations: %w", r.solver, iteration, context.Cause(r.Ctx))
	}
	return "", nil
}

// settled tells that the values no longer change. The values of a descent method
// only fall, and then the fall over the window decides. Those of Stochastic are noisy
// means, and a rise says nothing about having arrived: all of the window must lie
// within Relative of one another, and the last within Relative of the lowest that was
// ever met, so that a run which settles far above where it has been has not converged.
// Where noise is larger than Relative, the limit of iterations ends the run.
func (r *run) settled(f float64) bool {
	if r.Stop.Relative < 0 || len(r.history) <= r.Stop.Window {
		return false
	}
	within := r.Stop.Relative * math.Max(math.Abs(f), math.SmallestNonzeroFloat64)
	return slices.Max(r.history)-slices.Min(r.history) <= within && f-r.best <= within
}

// rose tells that a run is worse off than after its first iteration. At its limit of
// iterations it is then said to have diverged; before, only when all values of the
// window are above the first by more than its own size, since noise, too, can lift a
// run that began at a good point.
func (r *run) rose(f float64) bool {
	return f-r.first > math.Max(r.Stop.Relative, 0)*math.Abs(r.first)
}

// eval evaluates f, and refuses NaN. An infinite value is returned: a line
// search steps back from it.
func (r *run) eval(f Objective, x, grad []float64) (float64, error) {
	if err := r.Ctx.Err(); err != nil {
		return math.NaN(), fmt.Errorf("optim: %s: stopped after %d evaluations: %w", r.solver, r.evals, context.Cause(r.Ctx))
	}
	r.evals++
	v, err := f.Eval(x, grad)
	if err != nil {
		return v, fmt.Errorf("optim: %s: evaluation %d: %w", r.solver, r.evals, err)
	}
	if math.IsNaN(v) || math.IsInf(v, -1) {
		return v, fmt.Errorf("optim: %s: evaluation %d: value %v: %w", r.solver, r.evals, v, ErrNotFinite)
	}
	if grad != nil && !math.IsInf(v, 1) {
		if m := r.vectors.maxAbs(grad); m-m != 0 { // builtin max keeps NaN
			i := firstNotFinite(grad)
			return v, fmt.Errorf("optim: %s: evaluation %d: gradient[%d] is %v: %w", r.solver, r.evals, i, grad[i], ErrNotFinite)
		}
	}
	return v, nil
}

func firstNotFinite(x []float64) int {
	for i, v := range x {
		if v-v != 0 { // NaN or an infinity
			return i
		}
	}
	return -1
}

// save hands a checkpoint over when it is due.
func (r *run) save(iteration int, force bool, make func() *Checkpoint) error {
	if r.Checkpoint == nil || !force && iteration%r.CheckpointEvery != 0 {
		return nil
	}
	if err := r.Checkpoint(make()); err != nil {
		return fmt.Errorf("optim: %s: checkpoint: %w", r.solver, err)
	}
	return nil
}
