package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"
)

// Run is one training under a Control, seen from the learner.
type Run struct {
	Control            // with the defaults filled in; Ctx and Workers are always set
	Name        string // of the learner or solver
	Evaluations int    // of the objective so far; the learner counts
	Trend       Trend  // of the objective
	Best        Best   // of the held-out loss

	begin  time.Time
	spent  float64 // seconds of the run that was resumed
	last   time.Time
	lastEv int
	done   int // steps closed
	valid  *float64
}

// Trend is what the objective has done so far.
type Trend struct {
	History []float64 // values of the last Window+1 steps
	First   float64   // NaN before the first
	Best    float64   // lowest; +Inf before the first
}

// Best is the least loss on held-out examples, and the step that had it.
type Best struct {
	Loss   float64 // +Inf before the first
	Step   int
	Waited int // steps since
}

// Begin starts the clock of a run. The name is the learner's, for errors and checkpoints;
// iterations is its own limit, where Stop has none.
func Begin(name string, c *Control, iterations int) *Run {
	r := &Run{Name: name, Trend: Trend{First: math.NaN(), Best: math.Inf(1)}, Best: Best{Loss: math.Inf(1)}}
	if c != nil {
		r.Control = *c
	}
	r.Stop = r.Stop.withDefaults(iterations)
	if r.CheckpointEvery == 0 {
		r.CheckpointEvery = DefaultEvery
	}
	r.Ctx = r.Control.Context()
	r.Workers = WorkersOf(r.Workers)
	r.begin = time.Now()
	r.last = r.begin
	return r
}

// WorkersOf returns a number of goroutines: workers, or GOMAXPROCS where that is not positive.
func WorkersOf(workers int) int {
	if workers <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return workers
}

// Taken returns the checkpoint to resume from, nil for a run from the beginning. Steps,
// evaluations, seconds and the best held-out loss continue from it. It is an error if another
// learner wrote it, or, where the control has a Problem, if it is of another.
func (r *Run) Taken() (*Checkpoint, error) {
	k := r.Resume
	if k == nil {
		return nil, nil
	}
	if k.Solver != r.Name {
		return nil, fmt.Errorf("%s: %w: it was written by %s", r.Name, ErrOther, k.Solver)
	}
	if r.Problem != "" {
		if err := k.BelongsTo(r.Problem); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
	}
	r.TakeUp(k)
	return k, nil
}

// Point is Taken for learners whose state is a point of dim coordinates, and arrays of as many.
func (r *Run) Point(dim int, arrays ...string) (*Checkpoint, error) {
	k, err := r.Taken()
	if err == nil && k != nil {
		err = k.Fits(dim, arrays...)
	}
	return k, err
}

// TakeUp sets steps, evaluations, seconds and best loss to those of a checkpoint that the
// caller has judged.
func (r *Run) TakeUp(k *Checkpoint) {
	r.done, r.Evaluations, r.spent, r.lastEv = k.Iteration, k.Evaluations, k.Seconds, k.Evaluations
	if k.Best != nil {
		r.Best = *k.Best
	}
}

// Steps returns the number of steps that are closed, those before a resumed run included.
func (r *Run) Steps() int { return r.done }

// Seconds returns how long the run took so far, those before a resumed run included.
func (r *Run) Seconds() float64 { return r.spent + time.Since(r.begin).Seconds() }

// Judge takes the loss on held-out examples after the step that is about to be closed. It
// reports whether it is the least so far: the learner then keeps the model as it is. The
// step before the first, of number 0, may be judged too.
func (r *Run) Judge(step int, loss float64) bool {
	r.valid = &loss
	if loss < r.Best.Loss {
		r.Best = Best{Loss: loss, Step: step}
		return true
	}
	r.Best.Waited++
	return false
}

// Record hands a row to the recorder, with seconds and rate.
func (r *Run) Record(row Row) error {
	if r.Recorder == nil {
		r.valid = nil
		return nil
	}
	now := time.Now()
	row.Seconds, row.Evaluations = r.Seconds(), cmp.Or(row.Evaluations, r.Evaluations)
	row.Valid, r.valid = r.valid, nil
	if d := now.Sub(r.last).Seconds(); d > 0 && row.Rate == 0 {
		row.Rate = float64(r.Examples) * float64(r.Evaluations-r.lastEv) / d
	}
	r.last, r.lastEv = now, r.Evaluations
	if err := r.Recorder.Record(row); err != nil {
		return fmt.Errorf("%s: recorder: %w", r.Name, err)
	}
	return nil
}

// Step closes a step: it records the row, whose Iteration is the number of steps, and returns the
// reason to stop, "" to go on. gradNorm is negative when it is not known. A cancelled context is
// the last reason checked; its error is an *InterruptedError.
func (r *Run) Step(row Row, gradNorm float64) (Reason, error) {
	r.done = row.Iteration
	row.GradNorm = max(gradNorm, 0)
	if err := r.Record(row); err != nil {
		return Interrupted, err
	}
	f, s := row.Objective, &r.Stop
	r.Trend.add(f, s.Window)
	switch {
	case gradNorm >= 0 && (gradNorm <= s.Gradient || row.Iteration > 0 && gradNorm <= s.Gradient*math.Abs(f)):
		// A value may be large by a constant alone, beside which no gradient of the
		// first point would count.
		return GradientSmall, nil
	case r.Trend.settled(f, s):
		return ImprovementSmall, nil
	case r.Trend.left(s):
		return Diverged, nil
	case row.Iteration >= s.Iterations:
		if r.Trend.rose(f, s) {
			return Diverged, nil
		}
		return IterationLimit, nil
	case r.Evaluations >= s.Evaluations:
		return EvaluationLimit, nil
	}
	return r.limits()
}

// limits are the rules that hold for every learner.
func (r *Run) limits() (Reason, error) {
	s := &r.Stop
	switch {
	case s.Patience > 0 && r.Best.Waited >= s.Patience:
		return OutOfPatience, nil
	case s.Time > 0 && r.Seconds() >= s.Time.Seconds():
		return TimeLimit, nil
	}
	if err := r.Cancelled(); err != nil {
		return Interrupted, err
	}
	return "", nil
}

// Cancelled returns nil, or an *InterruptedError when the context was cancelled. Learners ask
// within steps that take long.
func (r *Run) Cancelled() error {
	if r.Ctx.Err() == nil {
		return nil
	}
	return &InterruptedError{r.Name, r.done, context.Cause(r.Ctx)}
}

// InterruptedError is the error of a run whose context was cancelled. Results beside it hold
// the steps that were finished.
type InterruptedError struct {
	Name  string
	Steps int // finished
	Err   error
}

func (e *InterruptedError) Error() string {
	return fmt.Sprintf("%s: stopped after %d steps: %v", e.Name, e.Steps, e.Err)
}

// Unwrap returns the cause.
func (e *InterruptedError) Unwrap() error { return e.Err }

// Save hands a checkpoint over when one is due after the last step, or when force says so.
// state makes it: the run fills in what is not the learner's own.
func (r *Run) Save(force bool, state func() (*Checkpoint, error)) error {
	if r.Checkpoint == nil || !force && r.done%r.CheckpointEvery != 0 {
		return nil
	}
	k, err := state()
	if err == nil && k != nil {
		r.stamp(k)
		err = r.Checkpoint(k)
	}
	if err != nil {
		return fmt.Errorf("%s: checkpoint: %w", r.Name, err)
	}
	return nil
}

// stamp fills in who wrote the checkpoint, and how far the run is.
func (r *Run) stamp(k *Checkpoint) {
	k.Solver, k.Problem = r.Name, r.Problem
	k.Iteration, k.Evaluations, k.Seconds = r.done, r.Evaluations, r.Seconds()
	if !math.IsInf(r.Best.Loss, 1) {
		b := r.Best
		k.Best = &b
	}
}

// Loop takes steps until the run ends: at the limit of steps, time or patience, when a step gives a
// reason, at an error, or when the context is cancelled. It saves the state then, and every
// CheckpointEvery steps; the state may be nil while there is nothing to save.
//
// A step returns the row to record, which Loop numbers. It returns nil where it did nothing,
// and then a reason.
func (r *Run) Loop(step func() (*Row, Reason, error), state func() (*Checkpoint, error)) (Reason, error) {
	if r.done > r.Stop.Iterations {
		return Interrupted, fmt.Errorf("%s: %w: it has %d steps already, and %d are asked for; ask for as many or more", r.Name, ErrOther, r.done, r.Stop.Iterations)
	}
	for r.done < r.Stop.Iterations {
		if reason, err := r.Next(step, state); err != nil || reason != "" {
			return reason, err
		}
	}
	return IterationLimit, nil
}

// Rounds is Loop for runs that may continue later with more steps: it saves where a limit of the
// caller's ends it. own is the solver's own limit, at which it ends with RoundLimit.
func (r *Run) Rounds(own int, step func() (*Row, Reason, error), state func() (*Checkpoint, error)) (Reason, error) {
	reason, err := r.Loop(step, state)
	switch {
	case err != nil:
	case reason == IterationLimit && r.done == own:
		reason = RoundLimit
	case reason == IterationLimit || reason == TimeLimit:
		err = r.Save(true, state)
	}
	return reason, err
}

// Next takes one step of Loop, for learners that drive several runs side by side. It returns
// the reason to stop, "" to go on; the limit of steps is the caller's.
func (r *Run) Next(step func() (*Row, Reason, error), state func() (*Checkpoint, error)) (Reason, error) {
	interrupted := func(err error) (Reason, error) {
		return Interrupted, errors.Join(err, r.Save(true, state))
	}
	if err := r.Cancelled(); err != nil {
		return interrupted(err)
	}
	row, reason, err := step()
	if err != nil {
		if e := r.Cancelled(); e != nil {
			return interrupted(e)
		}
		return Interrupted, err
	}
	if row != nil {
		r.done++
		row.Iteration = r.done
		if err := r.Record(*row); err != nil {
			return Interrupted, err
		}
	}
	if reason == "" {
		reason, err = r.limits()
	}
	if err != nil {
		return interrupted(err)
	}
	if reason == "" {
		if err := r.Save(false, state); err != nil {
			return Interrupted, err
		}
	}
	return reason, nil
}

func (t *Trend) add(f float64, window int) {
	t.History = append(t.History, f)
	if n := len(t.History); n > window+1 {
		t.History = t.History[n-window-1:]
	}
	t.Best = math.Min(t.Best, f)
	if math.IsNaN(t.First) {
		t.First = f
	}
}

// settled reports that the values no longer change. The values of a descent method only fall, and
// then the fall over the window decides. Those of stochastic solvers are noisy means, and a rise
// does not mean convergence. All of the window must lie within Relative of one another, and the
// last within Relative of the lowest ever met. A run that settles far above its best value has
// therefore not converged. Where noise is larger than Relative, the limit of iterations ends the
// run.
func (t *Trend) settled(f float64, s *Stop) bool {
	if s.Relative < 0 || len(t.History) <= s.Window {
		return false
	}
	within := s.Relative * math.Max(math.Abs(f), math.SmallestNonzeroFloat64)
	return slices.Max(t.History)-slices.Min(t.History) <= within && f-t.Best <= within
}

// left tells that all values of the window are above the first by more than its own size.
// Noise, too, can lift a run that began at a good point.
func (t *Trend) left(s *Stop) bool {
	return len(t.History) == s.Window+1 && slices.Min(t.History) > t.First+math.Abs(t.First)
}

// rose tells that a run is worse off than after its first step. At its limit of
// iterations it is then said to have diverged.
func (t *Trend) rose(f float64, s *Stop) bool {
	return f-t.First > math.Max(s.Relative, 0)*math.Abs(t.First)
}
