package minimax

import (
	"fmt"
	"slices"
	"time"

	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// certified is what the solvers of linear models that prove a gap have in common: the best bounds
// so far with what proves them, and how far the run is.
type certified struct {
	best   saddle.Certificate
	lambda []float64 // to be looked at next
	round  int
	evals  int
	begin  time.Time
	spent  float64 // seconds, before begin
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

// seconds that the run took so far.
func (c *certified) seconds() float64 { return c.spent + time.Since(c.begin).Seconds() }

// result is that of a run which ended at w, after so many steps: what is proved, if anything is.
func (c *certified) result(w []float64, steps int, reason run.Reason) *saddle.Result {
	s := &saddle.Result{W: w, Lambda: c.lambda, LastW: w, LastLambda: c.lambda, Steps: steps, Iterations: c.round, Evaluations: c.evals, Reason: reason, Value: c.best.Upper}
	if c.best.W != nil && c.best.Lambda != nil {
		s.Certified, s.Certificate = true, c.best
		s.W, s.Lambda = c.best.W, c.best.Lambda
	}
	return s
}

// due reports whether a checkpoint is to be written after this round.
func (c *certified) due(control *run.Control, force bool) bool {
	every := control.CheckpointEvery
	if every <= 0 {
		every = 10
	}
	return control.Checkpoint != nil && (force || c.round%every == 0)
}

// write completes k, which has what is the solver's own, and hands it over.
func (c *certified) write(control *run.Control, k *run.Checkpoint) error {
	k.Iteration, k.Evaluations, k.Seconds = c.round, c.evals, c.seconds()
	k.Arrays["lambda"] = slices.Clone(c.lambda)
	if c.best.W != nil {
		k.Scalars["upper"], k.Arrays["upperW"] = c.best.Upper, slices.Clone(c.best.W)
	}
	if c.best.Lambda != nil {
		k.Scalars["lower"], k.Arrays["lowerLambda"] = c.best.Lower, slices.Clone(c.best.Lambda)
	}
	if err := control.Checkpoint(k); err != nil {
		return fmt.Errorf("minimax: checkpoint: %w", err)
	}
	return nil
}

// read takes what write added, for a problem of n weights; the λ of another one is an error.
func (c *certified) read(k *run.Checkpoint, solver string, n int) error {
	p := len(c.lambda)
	if k.Solver != solver || len(k.X) != n || len(k.Arrays["lambda"]) != p {
		return otherProblem(k)
	}
	copy(c.lambda, k.Arrays["lambda"])
	c.best = saddle.Certificate{}
	if w := k.Arrays["upperW"]; len(w) == n {
		c.best.Upper, c.best.W = k.Scalars["upper"], slices.Clone(w)
	}
	if l := k.Arrays["lowerLambda"]; len(l) == p {
		c.best.Lower, c.best.Lambda = k.Scalars["lower"], slices.Clone(l)
	}
	c.round, c.evals, c.spent = k.Iteration, k.Evaluations, k.Seconds
	return nil
}

func otherProblem(k *run.Checkpoint) error {
	return fmt.Errorf("minimax: the checkpoint (of %s, %d weights) belongs to another problem", k.Solver, len(k.X))
}
