package optim

import (
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/run"
)

// Solver names how a smooth function of all examples is minimised, with an l1 penalty or without.
// The zero value is QuasiNewton.
type Solver string

const (
	QuasiNewton      Solver = "lbfgs"    // OWLQN
	ProximalGradient Solver = "proximal" // Proximal without a Step: FISTA
)

// Minimize minimises f(x) + q.L1 Σ q.Penalty_i |x_i| from x0, which it keeps intact.
// ProximalGradient has no use for the other fields of q. Its steps are those of the solver's Row,
// so scale the coordinates as for QuasiNewton.
//
// Errors: an unknown solver, settings that q.Minimize refuses, and those of the run.
func (s Solver) Minimize(f Objective, q OWLQN, x0 []float64, c *run.Control) (*Result, error) {
	switch s {
	case "", QuasiNewton:
		return q.Minimize(f, x0, c)
	case ProximalGradient:
		check := owlqnRun{OWLQN: q}
		if err := check.check(f.Dim()); err != nil {
			return nil, err
		}
		return Proximal{}.Minimize(Lasso(f, q.L1, q.Penalty), x0, c)
	}
	return nil, fmt.Errorf("optim: %q is no solver; choose %q or %q", string(s), QuasiNewton, ProximalGradient)
}

// Lasso returns f(x) + lambda Σ weight_i |x_i|, with a weight of at least 0 for each coordinate;
// nil is all ones. Its proximal points shrink every coordinate towards 0 by step·lambda·weight.
func Lasso(f Objective, lambda float64, weight []float64) Composite {
	return penalised{f, lambda, weight}
}

type penalised struct {
	Objective
	lambda float64
	weight []float64
}

// Examples passes on the number of the wrapped objective.
func (l penalised) Examples() int { return examplesOf(l.Objective) }

// of returns the penalty of coordinate i.
func (l penalised) of(i int) float64 {
	if l.weight == nil {
		return l.lambda
	}
	return l.lambda * l.weight[i]
}

// Prox implements Composite.
func (l penalised) Prox(x, step []float64) {
	if l.lambda == 0 {
		return
	}
	for i, v := range x {
		x[i] = math.Copysign(max(math.Abs(v)-step[i%len(step)]*l.of(i), 0), v)
	}
}

// Penalty implements Composite.
func (l penalised) Penalty(x []float64) float64 {
	if l.lambda == 0 {
		return 0
	}
	sum := 0.0
	for i, v := range x {
		sum += l.of(i) * math.Abs(v)
	}
	return sum
}
