package optim

import (
	"errors"
	"fmt"
	"math"
)

// Objective is a differentiable function of a parameter vector.
type Objective interface {
	Dim() int
	// Eval returns f(x) and, unless grad is nil, stores the gradient there. It
	// keeps x intact and retains neither slice. Where f is not differentiable
	// it stores a subgradient.
	Eval(x, grad []float64) (float64, error)
}

// ErrNotFinite reports a value or gradient that is NaN, or infinite where that
// cannot be stepped back from.
var ErrNotFinite = errors.New("value or gradient is not finite")

// Func makes an Objective of a function on vectors of length N.
type Func struct {
	N int
	F func(x, grad []float64) (float64, error)
}

func (f Func) Dim() int                                { return f.N }
func (f Func) Eval(x, grad []float64) (float64, error) { return f.F(x, grad) }

// Ridge returns f(x) + lambda/2 |x|². With lambda = 0 it returns f itself.
func Ridge(f Objective, lambda float64) Objective {
	if lambda == 0 {
		return f
	}
	return ridge{f, lambda}
}

type ridge struct {
	Objective
	lambda float64
}

func (r ridge) Eval(x, grad []float64) (float64, error) {
	v, err := r.Objective.Eval(x, grad)
	if err != nil {
		return v, err
	}
	sq := 0.0
	for _, w := range x {
		sq += w * w
	}
	if grad != nil {
		for i, w := range x {
			grad[i] += r.lambda * w
		}
	}
	return v + r.lambda/2*sq, nil
}

// CheckStart is what every solver asks first: that the start x has dim coordinates, all finite.
func CheckStart(solver string, dim int, x []float64) error {
	if len(x) != dim {
		return fmt.Errorf("optim: %s: the start has %d coordinates, the objective %d", solver, len(x), dim)
	}
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("optim: %s: start[%d] is %v: %w", solver, i, v, ErrNotFinite)
		}
	}
	return nil
}

// nonNegative tells that values are finite numbers of at least 0.
func nonNegative(values ...float64) bool {
	for _, v := range values {
		if !(v >= 0) || v-v != 0 {
			return false
		}
	}
	return true
}
