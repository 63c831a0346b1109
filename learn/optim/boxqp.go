package optim

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// BoxQP is the concave quadratic program that the duals of margin machines without a constant
// are: maximise ⟨C, u⟩ - uᵀHu/2 over 0 ≤ u ≤ Upper.
type BoxQP struct {
	H     [][]float64 // symmetric, positive semidefinite, with a positive diagonal; whole rows
	C     []float64
	Upper []float64 // positive, +Inf is no bound; nil is none at all
	// Most bounds the entries: Maximize stops when one exceeds it, as happens where H and C leave
	// the maximum unbounded. Zero is 1e6 times the largest C over the least diagonal entry.
	Most float64
	// Steps is the limit of steps; zero is 20 million.
	Steps int
}

// ErrUnbounded reports a program without a maximum: an entry of u exceeds Most.
type ErrUnbounded struct{ Entry int }

func (e *ErrUnbounded) Error() string {
	return fmt.Sprintf("the maximum has no bound: entry %d grows without end", e.Entry+1)
}

// Maximize first moves u into the box, then improves it until no entry of the gradient points out
// of the bounds by more than tol. A step moves the entry of the largest gain to its best value, and
// costs O(n). It returns the steps taken and the largest such entry.
//
// When C is all ones the gradient is how far a sample's margin falls short. tol is then the largest
// violation of the constraints of which u is the multiplier.
//
// Errors: ErrNotFinite, *ErrUnbounded, ErrSteps, and the context's.
func (q *BoxQP) Maximize(ctx context.Context, u []float64, tol float64) (steps int, violation float64, err error) {
	n := len(q.C)
	if len(u) != n || len(q.H) != n || q.Upper != nil && len(q.Upper) != n {
		return 0, 0, fmt.Errorf("optim: BoxQP: %d entries of C, %d rows of H, %d of the start, %d bounds", n, len(q.H), len(u), len(q.Upper))
	}
	least, top := math.Inf(1), 0.0
	for i, row := range q.H {
		if len(row) != n || FirstNotFinite(row) >= 0 || q.C[i]-q.C[i] != 0 || u[i]-u[i] != 0 || !(row[i] > 0) {
			return 0, 0, fmt.Errorf("optim: BoxQP: row %d, with %v on the diagonal: %w", i, row[i], ErrNotFinite)
		}
		least, top = math.Min(least, row[i]), math.Max(top, math.Abs(q.C[i]))
	}
	most, limit := q.Most, q.Steps
	if most == 0 {
		most = 1e6 * top / least
	}
	if limit == 0 {
		limit = 20_000_000
	}
	upper := func(i int) float64 {
		if q.Upper == nil {
			return math.Inf(1)
		}
		return q.Upper[i]
	}
	grad := make([]float64, n)
	gradient := func() {
		copy(grad, q.C)
		for i, v := range u {
			if v != 0 {
				floats.AddScaled(grad, -v, q.H[i])
			}
		}
	}
	for i, v := range u {
		u[i] = math.Min(math.Max(v, 0), upper(i))
	}
	gradient()
	fresh := 0
	for ; ; steps++ {
		if steps%256 == 0 && ctx != nil && ctx.Err() != nil {
			return steps, violation, context.Cause(ctx)
		}
		best, gain := -1, 0.0
		violation = 0
		for i, g := range grad {
			if g > 0 && u[i] >= upper(i) || g < 0 && u[i] <= 0 {
				continue
			}
			violation = math.Max(violation, math.Abs(g))
			if v := g * g / q.H[i][i]; v > gain {
				best, gain = i, v
			}
		}
		if violation <= tol {
			if fresh == steps {
				return steps, violation, nil
			}
			gradient() // rounding adds up: the last word is that of a gradient computed anew
			fresh = steps + 1
			continue
		}
		if steps >= limit {
			return steps, violation, fmt.Errorf("optim: BoxQP: after %d steps the largest violation is %.3g, not %.3g: %w", steps, violation, tol, ErrSteps)
		}
		if steps-fresh > 20*n+1000 {
			gradient()
			fresh = steps
		}
		to := math.Min(math.Max(u[best]+grad[best]/q.H[best][best], 0), upper(best))
		if to > most {
			return steps, violation, fmt.Errorf("optim: BoxQP: %w", &ErrUnbounded{best})
		}
		if to == u[best] {
			return steps, violation, nil // no float is between
		}
		floats.AddScaled(grad, u[best]-to, q.H[best])
		u[best] = to
	}
}
