package optim

import (
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/gemm"
)

// Curved is a convex function with a Hessian, of few coordinates.
type Curved interface {
	Dim() int
	// Curve returns f(x), +Inf outside of its domain. It stores the gradient and the lower triangle
	// of the Hessian, Dim×Dim row by row; both are nil when only the value is wanted.
	Curve(x, grad, hess []float64) float64
}

// Newton minimises a Curved function by Newton's method with halved steps: each iteration is a
// Hessian and its Cholesky factor, n³/6 operations. Where the Hessian is singular, multiples
// of the identity are added until it is not.
type Newton struct {
	// Tolerance ends a run when half the squared decrement falls below it relative to max(|f|,
	// Scale); zero is 1e-10. That quantity is about the distance of the value from the minimum.
	Tolerance float64
	Scale     float64 // zero is 1
	Above     float64 // if positive, ends a run instead, without a relation
	Steps     int     // at most; zero is 100
}

// Minimize moves x to the minimum, and returns the value there, and how far the value is
// above the minimum by the last decrement. The error is ErrSteps where the limit of steps was
// met, and ErrNotFinite for a start outside of the domain. A step that no longer lowers the
// value ends the run: that is the limit of rounding.
func (m Newton) Minimize(f Curved, x []float64) (value, above float64, err error) {
	n := f.Dim()
	if err := CheckStart("Newton", n, x); err != nil {
		return 0, 0, err
	}
	tolerance, scale, steps := m.Tolerance, m.Scale, m.Steps
	if tolerance == 0 {
		tolerance = 1e-10
	}
	if scale == 0 {
		scale = 1
	}
	if steps == 0 {
		steps = 100
	}
	grad, hess := make([]float64, n), make([]float64, n*n)
	factor, step, next := make([]float64, n*n), make([]float64, n), make([]float64, n)
	for range steps {
		clear(grad)
		clear(hess)
		value = f.Curve(x, grad, hess)
		if value-value != 0 || FirstNotFinite(grad) >= 0 {
			return value, math.Inf(1), fmt.Errorf("optim: Newton: %w", ErrNotFinite)
		}
		largest := 0.0
		for i := range n {
			largest = max(largest, hess[i*n+i])
		}
		for added := 0.0; ; added = max(1e-14*max(largest, 1e-290), 10*added) {
			copy(factor, hess)
			for i := range n {
				factor[i*n+i] += added
			}
			if gemm.Cholesky(1, n, factor, n) {
				break
			}
			if added > 1e6*largest+1 {
				return value, math.Inf(1), fmt.Errorf("optim: Newton: the Hessian is no matrix of a convex function: %w", ErrNotFinite)
			}
		}
		copy(step, grad)
		gemm.CholeskySolve(1, n, 1, factor, n, step, 1)
		along := 0.0
		for i, v := range step {
			along += v * grad[i]
		}
		limit := m.Above
		if limit == 0 {
			limit = tolerance * max(math.Abs(value), scale)
		}
		if above = along / 2; above <= limit {
			return value, max(above, 0), nil
		}
		t, moved := 1.0, false
		for ; t > 1e-12; t /= 2 {
			for i, v := range x {
				next[i] = v - t*step[i]
			}
			if v := f.Curve(next, nil, nil); v <= value-0.1*t*along {
				moved = v < value
				break
			}
		}
		if !moved {
			return value, above, nil
		}
		copy(x, next)
	}
	return f.Curve(x, nil, nil), above, fmt.Errorf("optim: Newton: %w: %d", ErrSteps, steps)
}
