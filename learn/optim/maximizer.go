package optim

import (
	"math"
	"slices"
)

// Maximizer is implemented by bounded sets on which a linear function can be maximised.
type Maximizer interface {
	Set
	// Maximize returns the maximum of ⟨g, ·⟩ over the set, or a bound just above it. Unless x is
	// nil it stores a maximiser there.
	Maximize(g, x []float64) float64
}

// Maximize implements Maximizer: all mass on the largest entry, the first of
// equals.
func (s Simplex) Maximize(g, x []float64) float64 {
	if len(g) == 0 {
		return 0
	}
	sum, best := s.sum(), 0
	for i, v := range g {
		if v > g[best] {
			best = i
		}
	}
	if x != nil {
		clear(x)
		x[best] = sum
	}
	return sum * g[best]
}

func (s Simplex) sum() float64 {
	if s.Sum == 0 {
		return 1
	}
	return s.Sum
}

// Maximize implements Maximizer. Where g_i is zero the bound is not read; an infinite bound
// elsewhere gives an infinite maximum.
func (b Box) Maximize(g, x []float64) float64 {
	at := func(bound []float64, i int, none float64) float64 {
		if bound == nil {
			return none
		}
		return bound[min(i, len(bound)-1)]
	}
	total := 0.0
	for i, v := range g {
		lo, hi := at(b.Lo, i, math.Inf(-1)), at(b.Hi, i, math.Inf(1))
		to := hi
		if v < 0 {
			to = lo
		}
		if v != 0 {
			total += v * to
		} else {
			to = math.Max(lo, math.Min(hi, 0))
		}
		if x != nil {
			x[i] = to
		}
	}
	return total
}

// Maximize implements Maximizer: Radius times the dual norm of g.
func (b Ball) Maximize(g, x []float64) float64 {
	q := b.Q
	if q == 0 {
		q = 2
	}
	if x != nil {
		clear(x)
	}
	if b.Radius <= 0 {
		return 0
	}
	switch {
	case q == 1:
		m := MaxAbs(g)
		if i := slices.IndexFunc(g, func(v float64) bool { return math.Abs(v) == m }); i >= 0 && x != nil {
			x[i] = math.Copysign(b.Radius, g[i])
		}
		return b.Radius * m
	case math.IsInf(q, 1):
		sum := 0.0
		for i, v := range g {
			sum += math.Abs(v)
			if x != nil && v != 0 {
				x[i] = math.Copysign(b.Radius, v)
			}
		}
		return b.Radius * sum
	}
	dual := norm(g, q/(q-1))
	if x != nil && dual > 0 {
		for i, v := range g { // x ∝ sign(g)|g|^{1/(q-1)}
			x[i] = math.Copysign(b.Radius*math.Pow(math.Abs(v)/dual, 1/(q-1)), v)
		}
	}
	return b.Radius * dual
}

// Block is a set for Dim coordinates of a Product; a nil Set is all space.
type Block struct {
	Set Set
	Dim int
}

// Product is the Cartesian product of blocks, which stand one after the other. It
// projects block by block.
type Product []Block

// Project implements Set.
func (p Product) Project(x []float64) {
	for _, b := range p {
		if b.Set != nil {
			b.Set.Project(x[:b.Dim])
		}
		x = x[b.Dim:]
	}
}

// Maximize implements Maximizer; a block that is unbounded gives an infinite
// maximum where g is not zero on it.
func (p Product) Maximize(g, x []float64) float64 {
	total := 0.0
	for _, b := range p {
		var part []float64
		if x != nil {
			part, x = x[:b.Dim], x[b.Dim:]
		}
		total += Maximize(b.Set, g[:b.Dim], part)
		g = g[b.Dim:]
	}
	return total
}

// Maximize is Maximizer's for sets that may be unbounded or unknown.
func Maximize(s Set, g, x []float64) float64 {
	if m, ok := s.(Maximizer); ok {
		return m.Maximize(g, x)
	}
	if x != nil {
		clear(x)
	}
	if MaxAbs(g) == 0 {
		return 0
	}
	return math.Inf(1)
}
