package optim

import (
	"context"
	"fmt"
	"math"
)

// ConjugateGradient solves A·X = B for a symmetric positive definite matrix A that is known by
// its products, for several right-hand sides at once. Zero fields are the defaults given.
type ConjugateGradient struct {
	Relative   float64 // residual of a column by its right-hand side, |b - Ax|/|b|, to stop at; zero is 1e-6
	Iterations int     // zero is 1000
}

// ConjugateResult says how a solution ended.
type ConjugateResult struct {
	Iterations int
	Residual   float64 // the largest |b - Ax|/|b| of a column, from the recursion
}

// Solve stores X in x, which is n×m row by row as b is. apply stores A·V in dst for an n×m V;
// precondition, nil for none, likewise an approximation of A⁻¹·V that is symmetric and positive
// definite. Neither may keep or change its argument.
//
// It ends where every column is solved or at the limit of iterations, which is no error. Each
// iteration is one call of both, and O(n·m).
//
// This is the method of M. Hestenes and E. Stiefel, 1952, with preconditioning, column by
// column.
func (c ConjugateGradient) Solve(ctx context.Context, n, m int, b, x []float64, apply, precondition func(dst, v []float64) error) (*ConjugateResult, error) {
	if n < 1 || m < 1 || len(b) != n*m || len(x) != n*m {
		return nil, fmt.Errorf("optim: conjugate gradients: %d and %d numbers for %d rows and %d columns", len(b), len(x), n, m)
	}
	if c.Relative == 0 {
		c.Relative = 1e-6
	}
	if c.Iterations == 0 {
		c.Iterations = 1000
	}
	dots := func(u, v []float64) []float64 {
		s := make([]float64, m)
		for i := range n {
			for j := range s {
				s[j] += u[i*m+j] * v[i*m+j]
			}
		}
		return s
	}
	clear(x)
	r := append([]float64(nil), b...)
	z, ap := make([]float64, n*m), make([]float64, n*m)
	improve := func() error {
		if precondition == nil {
			copy(z, r)
			return nil
		}
		return precondition(z, r)
	}
	if err := improve(); err != nil {
		return nil, err
	}
	p := append([]float64(nil), z...)
	size, rz := dots(b, b), dots(r, z)
	left := func() float64 {
		most := 0.0
		for j, s := range dots(r, r) {
			if size[j] > 0 {
				most = math.Max(most, math.Sqrt(s/size[j]))
			}
		}
		return most
	}
	out := &ConjugateResult{Residual: left()}
	for ; out.Residual > c.Relative && out.Iterations < c.Iterations; out.Iterations++ {
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		if err := apply(ap, p); err != nil {
			return out, err
		}
		curvature := dots(p, ap)
		step := make([]float64, m)
		for j := range step {
			switch {
			case rz[j] == 0: // solved
			case !(curvature[j] > 0):
				return out, fmt.Errorf("optim: conjugate gradients: the matrix is not positive definite: vᵀAv is %v", curvature[j])
			default:
				step[j] = rz[j] / curvature[j]
			}
		}
		for i := range n {
			for j, s := range step {
				x[i*m+j] += s * p[i*m+j]
				r[i*m+j] -= s * ap[i*m+j]
			}
		}
		if err := improve(); err != nil {
			return out, err
		}
		next := dots(r, z)
		for j := range next {
			beta := 0.0
			if rz[j] != 0 {
				beta = next[j] / rz[j]
			}
			step[j] = beta
		}
		for i := range n {
			for j, s := range step {
				p[i*m+j] = z[i*m+j] + s*p[i*m+j]
			}
		}
		rz = next
		out.Residual = left()
	}
	return out, nil
}
