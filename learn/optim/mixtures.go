package optim

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Mixtures says a part of the unit simplex in numbers that a file can hold. The zero value is the
// whole; bounds, vertices, inequalities or a radius may be given, not several.
type Mixtures struct {
	Lo       []float64   `json:"lo,omitempty"` // least and greatest λ_k; length 1 is for all
	Hi       []float64   `json:"hi,omitempty"`
	Vertices [][]float64 `json:"vertices,omitempty"` // the hull of these mixtures
	A        [][]float64 `json:"a,omitempty"`        // A λ ≤ B
	B        []float64   `json:"b,omitempty"`
	Radius   float64     `json:"radius,omitempty"` // |λ|_2 is at most this; 0 is no bound
}

// Clone returns a copy that shares no list of numbers.
func (f Mixtures) Clone() Mixtures {
	f.Lo, f.Hi, f.B = slices.Clone(f.Lo), slices.Clone(f.Hi), slices.Clone(f.B)
	f.Vertices, f.A = slices.Clone(f.Vertices), slices.Clone(f.A)
	return f
}

// Cut returns the mixtures of f with ⟨m, λ⟩ ≤ most, as inequalities. Errors: vertices or a radius.
func (f Mixtures) Cut(m []float64, most float64) (Mixtures, error) {
	if f.Vertices != nil || f.Radius != 0 {
		return f, errors.New("it goes with bounds or inequalities, not with vertices or a radius")
	}
	if _, err := f.Set(len(m)); err != nil {
		return f, err
	}
	a, b := slices.Clone(f.A), slices.Clone(f.B)
	for k := range m {
		bound := func(list []float64, sign float64) {
			if list != nil {
				row := make([]float64, len(m))
				row[k] = sign
				a, b = append(a, row), append(b, sign*list[min(k, len(list)-1)])
			}
		}
		bound(f.Lo, -1)
		bound(f.Hi, 1)
	}
	return Mixtures{A: append(a, slices.Clone(m)), B: append(b, most)}, nil
}

// Set returns the set for p weights. Errors: several kinds, negative bounds, vertices that are no
// mixtures of p, and an empty set.
func (f Mixtures) Set(p int) (Maximizer, error) {
	given := 0
	for _, b := range []bool{f.Lo != nil || f.Hi != nil, f.Vertices != nil, f.A != nil || f.B != nil, f.Radius != 0} {
		if b {
			given++
		}
	}
	if given > 1 {
		return nil, errors.New("give bounds, or vertices, or inequalities, or a radius, not several")
	}
	// With a negative weight a convex function is concave: what is proved for mixtures would be false.
	if k := slices.IndexFunc(f.Lo, func(v float64) bool { return v < 0 }); k >= 0 {
		return nil, fmt.Errorf("least weight %d is %v: weights are not negative; give 0 or more", k+1, f.Lo[k])
	}
	switch {
	case f.Lo != nil || f.Hi != nil:
		return NewBoxSimplex(p, f.Lo, f.Hi, 0)
	case f.Vertices != nil:
		for i, v := range f.Vertices {
			negative := slices.ContainsFunc(v, func(x float64) bool { return x < 0 })
			if len(v) != p || negative || !(math.Abs(floats.Sum(v)-1) <= 1e-9) {
				return nil, fmt.Errorf("vertex %d is not a mixture of %d: %v", i+1, p, v)
			}
		}
		return NewVertices(f.Vertices)
	case f.A != nil || f.B != nil:
		return NewPolytope(p, f.A, f.B)
	case f.Radius != 0:
		return NewSimplexBall(p, f.Radius)
	}
	return Simplex{}, nil
}
