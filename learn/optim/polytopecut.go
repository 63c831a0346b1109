package optim

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Polytope is the part of the unit simplex where A x ≤ b.
//
// Projection is least-distance programming by non-negative least squares. It is exact in as many
// steps as the active constraints change (C. Lawson and R. Hanson, Solving Least Squares Problems,
// 1974, chapter 23). Each step solves least squares over the active constraints: for dozens of
// these, not thousands.
type Polytope struct {
	rows [][]float64 // of A, then the non-negativity of each coordinate; as G x ≥ h
	h    []float64
	n    int
	a    [][]float64
	b    []float64
}

// flat is the allowed violation of rows of unit length. Sets without an interior, such as one point
// that rows describe redundantly, would otherwise be empty by rounding.
const flat = 1e-12

// NewPolytope returns the set in n dimensions. The error is ErrEmptySet when no
// point meets all constraints, each within some 1e-12 of its length along the simplex.
func NewPolytope(n int, a [][]float64, b []float64) (*Polytope, error) {
	if len(a) != len(b) || n < 1 {
		return nil, fmt.Errorf("optim: polytope: %d rows and %d right sides in %d dimensions", len(a), len(b), n)
	}
	s := &Polytope{n: n}
	for i, row := range a {
		if len(row) != n {
			return nil, fmt.Errorf("optim: polytope: row %d has %d entries for %d coordinates", i+1, len(row), n)
		}
		if j := FirstNotFinite(row); j >= 0 || b[i]-b[i] != 0 {
			return nil, fmt.Errorf("optim: polytope: row %d has entries that are not finite", i+1)
		}
		// Σ x = 1, so that a row free of its mean says the same of x. Of unit length: the
		// tolerances below are then of the same kind, whatever the row has across the simplex.
		largest := MaxAbs(row)
		unit, right := make([]float64, n), 0.0
		if largest > 0 { // which sums of squares may overflow
			floats.AddScaled(unit, 1/largest, row)
			mean := floats.Sum(unit) / float64(n)
			floats.AddConst(-mean, unit)
			right = b[i]/largest - mean
		} else {
			right = b[i]
		}
		size := floats.Norm(unit, 2)
		if size <= 1e-15*float64(n) { // the same for all x
			if right < -flat {
				return nil, fmt.Errorf("optim: polytope: no point of the simplex meets row %d, which is the same for all: %w", i+1, ErrEmptySet)
			}
			continue
		}
		floats.Scale(1/size, unit)
		right /= size
		g := slices.Clone(unit)
		floats.Scale(-1, g)
		s.a, s.b = append(s.a, unit), append(s.b, right)
		s.rows, s.h = append(s.rows, g), append(s.h, -right)
	}
	for k := range n {
		e := make([]float64, n)
		e[k] = 1
		s.rows, s.h = append(s.rows, e), append(s.h, 0)
	}
	x := make([]float64, n)
	if _, ok := s.project(x); !ok {
		return nil, fmt.Errorf("optim: polytope: no point of the simplex meets all %d constraints: %w", len(a), ErrEmptySet)
	}
	return s, nil
}

// Project implements Set.
func (s *Polytope) Project(x []float64) {
	from := slices.Clone(x)
	s.project(x)
	// From afar that leaves an error relative to the distance. What is on the way from the
	// nearest point to x has the same nearest point.
	if far := MaxAbs(from); far > 1e3 {
		for i, v := range from {
			x[i] += 1e3 / far * (v - x[i])
		}
		s.project(x)
	}
	s.project(x)
}

// project returns the multipliers of the rows, and false when the set is empty.
func (s *Polytope) project(x []float64) ([]float64, bool) {
	if u, ok := s.projectWithin(x, 0); ok {
		return u, true
	}
	// A set without an interior may be empty by a rounding, mostly of the last digits. Within that
	// smaller tolerance the solution is exact except for those digits; within flat it would not be.
	digits := 1e-15 * float64(s.n)
	if u, ok := s.projectWithin(x, digits*(1+MaxAbs(x))); ok {
		return u, true
	}
	return s.projectWithin(x, flat+digits*MaxAbs(x))
}

// projectWithin is project where x may exceed rows of A by slack.
func (s *Polytope) projectWithin(x []float64, slack float64) ([]float64, bool) {
	n := s.n
	shift := (1 - floats.Sum(x)) / float64(n)
	floats.AddConst(shift, x) // nearest with Σ = 1; what follows stays there
	// The least |d| with G d ≥ h - G x, and Σ d = 0: d is in the span of the rows
	// made free of their means.
	columns := make([][]float64, len(s.rows))
	scale := 0.0
	for i, row := range s.rows {
		c := make([]float64, n+1)
		copy(c, row)
		floats.AddConst(-floats.Sum(row)/float64(n), c[:n])
		c[n] = s.h[i] - floats.Dot(row, x)
		if i < len(s.a) {
			c[n] -= slack
		}
		columns[i] = c
		scale = math.Max(scale, c[n])
	}
	if scale <= 0 {
		return make([]float64, len(s.rows)), true // nothing is violated
	}
	for _, c := range columns {
		c[n] /= scale
	}
	f := make([]float64, n+1)
	f[n] = 1
	u, r := nnls(columns, f) // r = f - E u
	// r is zero, except for rounding, when there is no solution. Otherwise r_n = |r|² is
	// 1/(1+|d/scale|²), and |d| is at most the diameter plus the distance.
	if !(r[n] > 1e-11) {
		return nil, false
	}
	for k := range n {
		x[k] += scale * -r[k] / r[n]
	}
	for i := range u {
		u[i] *= scale / r[n]
	}
	// Rounding leaves -1e-17 for zero.
	for k, v := range x {
		x[k] = math.Max(v, 0)
	}
	return u, true
}

// Maximize implements Maximizer by projecting points ever further along g. This is the proximal
// point method, which terminates on linear functions (R. T. Rockafellar, SIAM J. Control and
// Optimization 14, 1976). The value returned is proved: with the multipliers y ≥ 0 of A, no point
// of the set exceeds max_k (g - Aᵀy)_k + ⟨y, b⟩.
func (s *Polytope) Maximize(g, x []float64) float64 {
	if x == nil {
		x = make([]float64, s.n)
	}
	clear(x)
	s.project(x)
	spread := slices.Max(g) - slices.Min(g)
	if spread == 0 {
		return g[0]
	}
	bound := slices.Max(g)
	rest := make([]float64, s.n)
	z := make([]float64, s.n)
	for t, round := 1.0, 0; round < 60; t, round = math.Min(2*t, 1e3), round+1 {
		copy(z, x)
		floats.AddScaled(z, t/spread, g)
		u, ok := s.project(z)
		if !ok {
			break // not for a set that is not empty, but for rounding
		}
		copy(rest, g)
		upper := 0.0
		for i, row := range s.a {
			y := u[i] * spread / t
			floats.AddScaled(rest, -y, row)
			upper += y * s.b[i]
		}
		bound = math.Min(bound, upper+slices.Max(rest))
		copy(x, z)
		if bound-floats.Dot(g, x) <= 1e-14*spread {
			break
		}
	}
	return bound
}

// nnls returns u ≥ 0 with the least |f - Σ u_j columns_j|, and f - Σ u_j columns_j:
// algorithm 23.10 of Lawson and Hanson, each least-squares problem by QR.
func nnls(columns [][]float64, f []float64) (u, r []float64) {
	n, m := len(columns), len(f)
	u = make([]float64, n)
	r = slices.Clone(f)
	var passive []int
	banned := make([]bool, n) // would have entered with a negative weight: rounding
	solve := func() []float64 {
		e := mat.NewDense(m, len(passive), nil)
		for k, j := range passive {
			e.SetCol(k, columns[j])
		}
		var qr mat.QR
		qr.Factorize(e)
		z := mat.NewDense(len(passive), 1, nil)
		// The error is a warning about the condition: such a column is given back
		// below, by its sign or for want of progress.
		_ = qr.SolveTo(z, false, mat.NewDense(m, 1, slices.Clone(f)))
		return z.RawMatrix().Data
	}
	residual := func() {
		copy(r, f)
		for _, j := range passive {
			floats.AddScaled(r, -u[j], columns[j])
		}
	}
	for range 20*(n+m) + 100 {
		best, most := -1, 1e-13*floats.Norm(f, 2)
		for j, c := range columns {
			if u[j] > 0 || banned[j] || slices.Contains(passive, j) {
				continue
			}
			if size := floats.Norm(c, 2); size > 0 {
				if w := floats.Dot(c, r) / size; w > most {
					best, most = j, w
				}
			}
		}
		if best < 0 || len(passive) == m {
			break
		}
		passive = append(passive, best)
		z := solve()
		if last := z[len(z)-1]; !(last > 0) {
			passive, banned[best] = passive[:len(passive)-1], true
			continue
		}
		for len(passive) > 0 {
			alpha := 1.0
			for k, j := range passive {
				if z[k] <= 0 {
					alpha = math.Min(alpha, u[j]/(u[j]-z[k]))
				}
			}
			kept := passive[:0:0]
			for k, j := range passive {
				out := z[k] <= 0 && (u[j] == 0 || u[j]/(u[j]-z[k]) <= alpha)
				u[j] += alpha * (z[k] - u[j])
				if out || u[j] <= 0 {
					u[j] = 0
				} else {
					kept = append(kept, j)
				}
			}
			if len(kept) == len(passive) {
				break
			}
			passive = kept
			if len(passive) > 0 {
				z = solve()
			}
		}
		residual()
		clear(banned)
	}
	return u, r
}
