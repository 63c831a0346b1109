package optim

import (
	"errors"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/run"
)

// Result is where a run ended.
type Result struct {
	X           []float64
	F           float64 // value at X
	GradNorm    float64 // largest entry of the gradient at X
	Iterations  int
	Evaluations int
	Reason      run.Reason
	Note        string // what a reader of the report should know, such as a history that was started afresh

	First *Result // of the stage before, in a run of two with an objective each; nil in a run of one
}

// Converged reports whether every stage of the run ended because it had arrived.
func (r *Result) Converged() bool {
	for ; r != nil; r = r.First {
		// What stops the line search short of that is no optimum: numbers too far apart.
		stuck := r.Reason == run.NoProgress && r.GradNorm > 1e-3*math.Max(1, math.Abs(r.F))
		if stuck || !r.Reason.Converged() {
			return false
		}
	}
	return true
}

// solving is the run of one solver on an objective.
type solving struct {
	*run.Run
	vectors vectors
}

func begin(solver string, c *run.Control, iterations int) *solving {
	return &solving{Run: run.Begin(solver, c, iterations)}
}

// resume takes up the checkpoint of the run, if there is one, of a point with dim
// coordinates and arrays of as many.
func (r *solving) resume(dim int, arrays ...string) (*run.Checkpoint, error) {
	k, err := r.Point(dim, arrays...)
	if err != nil {
		return nil, fmt.Errorf("optim: %w", err)
	}
	return k, nil
}

// step closes an iteration at value f, and returns the reason to stop, or "". gradNorm is
// negative when it is not known.
func (r *solving) step(iteration int, f, gradNorm, step float64) (run.Reason, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return run.Interrupted, fmt.Errorf("optim: %s: iteration %d: value %v: %w", r.Name, iteration, f, ErrNotFinite)
	}
	reason, err := r.Step(run.Row{Iteration: iteration, Objective: f, Step: step}, gradNorm)
	if err != nil {
		err = fmt.Errorf("optim: %w", err)
	}
	return reason, err
}

// save hands a checkpoint over when it is due, or when force says so.
func (r *solving) save(force bool, state func() *run.Checkpoint) error {
	if err := r.Save(force, func() (*run.Checkpoint, error) { return state(), nil }); err != nil {
		return fmt.Errorf("optim: %w", err)
	}
	return nil
}

// ended completes the error of a run that ended: one whose context was cancelled saves its
// state first.
func (r *solving) ended(err error, state func() *run.Checkpoint) error {
	if r.Ctx.Err() == nil {
		return err
	}
	return errors.Join(err, r.save(true, state))
}

// cancelled returns nil, or the error of a run whose context was cancelled.
func (r *solving) cancelled() error {
	if err := r.Cancelled(); err != nil {
		return fmt.Errorf("optim: %w", err)
	}
	return nil
}

// eval evaluates f, and refuses NaN. An infinite value is returned: a line
// search steps back from it.
func (r *solving) eval(f Objective, x, grad []float64) (float64, error) {
	if err := r.cancelled(); err != nil {
		return math.NaN(), err
	}
	r.Evaluations++
	v, err := f.Eval(x, grad)
	if err != nil {
		return v, fmt.Errorf("optim: %s: evaluation %d: %w", r.Name, r.Evaluations, err)
	}
	if math.IsNaN(v) || math.IsInf(v, -1) {
		return v, fmt.Errorf("optim: %s: evaluation %d: value %v: %w", r.Name, r.Evaluations, v, ErrNotFinite)
	}
	if grad != nil && !math.IsInf(v, 1) {
		if m := r.vectors.maxAbs(grad); m-m != 0 { // builtin max keeps NaN
			i := FirstNotFinite(grad)
			return v, fmt.Errorf("optim: %s: evaluation %d: gradient[%d] is %v: %w", r.Name, r.Evaluations, i, grad[i], ErrNotFinite)
		}
	}
	return v, nil
}

// FirstNotFinite returns the place of the first NaN or infinity, -1 without one.
func FirstNotFinite(x []float64) int {
	for i, v := range x {
		if v-v != 0 { // NaN or an infinity
			return i
		}
	}
	return -1
}
