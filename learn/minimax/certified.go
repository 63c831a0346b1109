package minimax

import (
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// certified is what the solvers of linear models that prove a gap have in common: the run, whose
// steps are rounds, and the best bounds so far with what proves them.
type certified struct {
	run    *run.Run
	best   saddle.Certificate
	lambda []float64 // to be looked at next
}

// begin starts a run of at most so many rounds, whatever limit of iterations the control has.
func (c *certified) begin(solver string, control *run.Control, rounds int) {
	own := *control
	own.Stop.Iterations = rounds
	c.run = run.Begin(solver, &own, rounds)
}

// inner is the control of a game that a round plays.
func (c *certified) inner() *run.Control {
	return &run.Control{Ctx: c.run.Ctx, Stop: run.Stop{Time: c.run.Stop.Time}}
}

// reached takes what the worst mixture is at w, with the penalty: an upper bound, unless it is not finite.
func (c *certified) reached(upper float64, w []float64) {
	if finite(upper) && (c.best.W == nil || upper < c.best.Upper) {
		c.best.Upper, c.best.W = upper, slices.Clone(w)
	}
}

// proved takes a lower bound that λ proves, unless it is not finite.
func (c *certified) proved(lower float64, lambda []float64) {
	if finite(lower) && (c.best.Lambda == nil || lower > c.best.Lower) {
		c.best.Lower, c.best.Lambda = lower, slices.Clone(lambda)
	}
}

// certain reports whether there are both bounds.
func (c *certified) certain() bool { return c.best.W != nil && c.best.Lambda != nil }

// within reports whether the gap is at most so much times max(leastValue, value).
func (c *certified) within(gap float64) bool {
	return c.certain() && c.best.Gap() <= gap*sizeOf(c.best.Upper)
}

// result is that of a run which ended at w, after so many steps: what is proved, if anything is.
func (c *certified) result(w []float64, steps int, reason run.Reason) *saddle.Result {
	s := &saddle.Result{W: w, Lambda: c.lambda, LastW: w, LastLambda: c.lambda, Steps: steps, Iterations: c.run.Steps(), Evaluations: c.run.Evaluations, Reason: reason, Value: c.best.Upper}
	if c.certain() {
		s.Certified, s.Certificate = true, c.best
		s.W, s.Lambda = c.best.W, c.best.Lambda
	}
	return s
}

// row describes a round that met the values at lambda.
func (c *certified) row(value, step float64, values []float64) *run.Row {
	mean := c.lambda
	if c.best.Lambda != nil {
		mean = c.best.Lambda
	}
	return &run.Row{Objective: value, Step: step, Evaluations: c.run.Evaluations,
		Detail: &saddle.Row{Values: slices.Clone(values), Lambda: slices.Clone(c.lambda), Mean: slices.Clone(mean), Upper: c.best.Upper, Lower: c.best.Lower}}
}

// save completes k, which has what is the solver's own.
func (c *certified) save(k *run.Checkpoint) (*run.Checkpoint, error) {
	k.Arrays["lambda"] = slices.Clone(c.lambda)
	if c.best.W != nil {
		k.Scalars["upper"], k.Arrays["upperW"] = c.best.Upper, slices.Clone(c.best.W)
	}
	if c.best.Lambda != nil {
		k.Scalars["lower"], k.Arrays["lowerLambda"] = c.best.Lower, slices.Clone(c.best.Lambda)
	}
	return k, nil
}

// taken returns the checkpoint to go on from, nil for none, and takes what save added to it,
// for a problem of n weights.
func (c *certified) taken(n int) (*run.Checkpoint, error) {
	k, err := c.run.Point(n)
	if k == nil || err != nil {
		return nil, err
	}
	p := len(c.lambda)
	if len(k.Arrays["lambda"]) != p {
		return nil, otherProblem(k)
	}
	copy(c.lambda, k.Arrays["lambda"])
	c.best = saddle.Certificate{}
	if w := k.Arrays["upperW"]; len(w) == n {
		c.best.Upper, c.best.W = k.Scalars["upper"], slices.Clone(w)
	}
	if l := k.Arrays["lowerLambda"]; len(l) == p {
		c.best.Lower, c.best.Lambda = k.Scalars["lower"], slices.Clone(l)
	}
	return k, nil
}

func otherProblem(k *run.Checkpoint) error {
	return fmt.Errorf("minimax: %w: what it holds (of %s, %d weights) does not fit", run.ErrOther, k.Solver, len(k.X))
}

// loop is that of r, with a checkpoint where a limit of the caller's ends it: the run may go on
// with more. own is the solver's own limit of steps; a run that reaches it has RoundLimit.
func loop(r *run.Run, own int, step func() (*run.Row, run.Reason, error), state func() (*run.Checkpoint, error)) (run.Reason, error) {
	reason, err := r.Loop(step, state)
	switch {
	case err != nil:
	case reason == run.IterationLimit && r.Steps() == own:
		reason = RoundLimit
	case reason == run.IterationLimit || reason == run.TimeLimit:
		err = r.Save(true, state)
	}
	return reason, err
}
