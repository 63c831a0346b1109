package saddle

import (
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/run"
)

// Proof is a run in rounds that proves a gap. Planes, Newton, and runs of other packages that play
// one game after another share it. It holds the best bounds so far with what proves them.
type Proof struct {
	Run   *run.Run
	Best  Certificate
	Mix   []float64 // the λ to evaluate next
	Least float64   // gaps are relative to max(Least, |value|)
}

// Begin starts a run of at most the given number of rounds, whatever limit of iterations the
// control has.
func (p *Proof) Begin(solver string, control *run.Control, rounds int) {
	var own run.Control
	if control != nil {
		own = *control
	}
	own.Stop.Iterations = rounds
	p.Run = run.Begin(solver, &own, rounds)
}

// Size is what gaps are relative to at a value.
func (p *Proof) Size(value float64) float64 { return sizeOf(value, p.Least) }

// Reached takes the value of the best answer to w: an upper bound, unless it is not finite.
func (p *Proof) Reached(upper float64, w []float64) {
	if upper-upper == 0 && (p.Best.W == nil || upper < p.Best.Upper) {
		p.Best.Upper, p.Best.W = upper, slices.Clone(w)
	}
}

// Proved takes a lower bound that λ proves, unless it is not finite.
func (p *Proof) Proved(lower float64, lambda []float64) {
	if lower-lower == 0 && (p.Best.Lambda == nil || lower > p.Best.Lower) {
		p.Best.Lower, p.Best.Lambda = lower, slices.Clone(lambda)
	}
}

// Certain reports whether there are both bounds.
func (p *Proof) Certain() bool { return p.Best.W != nil && p.Best.Lambda != nil }

// Within reports whether the gap is at most a factor times max(Least, value).
func (p *Proof) Within(gap float64) bool { return p.Certain() && p.Best.within(gap, p.Least) }

// Result returns the result of a run that ended at w after the given number of steps: what is
// proved, if anything is.
func (p *Proof) Result(w []float64, steps int, reason run.Reason) *Result {
	r := &Result{W: w, Lambda: p.Mix, LastW: w, LastLambda: p.Mix, Steps: steps, Iterations: p.Run.Steps(),
		Evaluations: p.Run.Evaluations, Reason: reason, Value: p.Best.Upper}
	if p.Certain() {
		r.Certified, r.Certificate = true, p.Best
		r.W, r.Lambda = p.Best.W, p.Best.Lambda
	}
	return r
}

// Row describes a round that met the values at Mix.
func (p *Proof) Row(value, step float64, values []float64) *run.Row {
	mean := p.Mix
	if p.Best.Lambda != nil {
		mean = p.Best.Lambda
	}
	detail := &Row{Values: slices.Clone(values), Lambda: slices.Clone(p.Mix), Mean: slices.Clone(mean),
		Upper: p.Best.Upper, Lower: p.Best.Lower}
	return &run.Row{Objective: value, Step: step, Evaluations: p.Run.Evaluations, Detail: detail}
}

// Save completes k, which has what is the solver's own.
func (p *Proof) Save(k *run.Checkpoint) (*run.Checkpoint, error) {
	k.Arrays["lambda"] = slices.Clone(p.Mix)
	p.Best.save(k)
	return k, nil
}

// Taken returns the checkpoint to resume from, nil for none, and reads the state that Save added to
// it, for a problem of n weights.
func (p *Proof) Taken(n int) (*run.Checkpoint, error) {
	k, err := p.Run.Point(n)
	if k == nil || err != nil {
		return nil, err
	}
	if len(k.Arrays["lambda"]) != len(p.Mix) {
		return nil, otherProblem(k)
	}
	copy(p.Mix, k.Arrays["lambda"])
	p.Best = restored(k, n, len(p.Mix))
	return k, nil
}

func otherProblem(k *run.Checkpoint) error {
	return fmt.Errorf("saddle: %w: what it holds (of %s, %d weights) does not fit", run.ErrOther, k.Solver,
		len(k.X))
}

// save writes the bounds that there are.
func (c *Certificate) save(k *run.Checkpoint) {
	if c.W != nil {
		k.Scalars["upper"], k.Arrays["upperW"] = c.Upper, slices.Clone(c.W)
	}
	if c.Lambda != nil { // a header has no infinity
		k.Scalars["lower"], k.Arrays["lowerLambda"] = math.Max(c.Lower, -math.MaxFloat64), slices.Clone(c.Lambda)
	}
}

// restored reads what save wrote, for a problem of n weights and p objectives.
func restored(k *run.Checkpoint, n, p int) (c Certificate) {
	if w := k.Arrays["upperW"]; len(w) == n && n > 0 {
		c.Upper, c.W = k.Scalars["upper"], slices.Clone(w)
	}
	if l := k.Arrays["lowerLambda"]; len(l) == p {
		if c.Lower, c.Lambda = k.Scalars["lower"], slices.Clone(l); c.Lower == -math.MaxFloat64 {
			c.Lower = math.Inf(-1)
		}
	}
	return c
}
