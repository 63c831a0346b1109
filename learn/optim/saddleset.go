package optim

import (
	"math"
	"slices"
)

// Maximizer is met by bounded sets on which a linear function can be maximised.
type Maximizer interface {
	Set
	// Maximize stores in x, unless it is nil, a point of the set where ⟨g, ·⟩ is
	// largest, and returns the maximum, or a bound just above it.
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

// Maximize implements Maximizer. Where g_i is zero the bound is not looked at; an
// infinite bound elsewhere gives an infinite maximum.
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
		m := maxAbs(g)
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
		total += maximize(b.Set, g[:b.Dim], part)
		g = g[b.Dim:]
	}
	return total
}

// maximize is Maximize for sets that may be unbounded or unknown.
func maximize(s Set, g, x []float64) float64 {
	if m, ok := s.(Maximizer); ok {
		return m.Maximize(g, x)
	}
	if x != nil {
		clear(x)
	}
	if maxAbs(g) == 0 {
		return 0
	}
	return math.Inf(1)
}

// drop returns a bound on how far ⟨g, v-w⟩ + Σ μ_j (v_j-w_j)²/2 can fall below zero
// for v in the set; infinite when it has no bound.
//
// The set may be nil, for all space. It takes the exact minimum where that is at
// hand: without constraints and on boxes coordinate by coordinate, and elsewhere, with
// m the least μ_j, at the projection of w - g/m, or with m = 0 through Maximize.
func drop(set Set, w, g, mu []float64) float64 {
	switch s := set.(type) {
	case Product:
		total := 0.0
		for _, b := range s { // products within products are as deep as they were written
			total += drop(b.Set, w[:b.Dim], g[:b.Dim], mu[:b.Dim])
			w, g, mu = w[b.Dim:], g[b.Dim:], mu[b.Dim:]
		}
		return total
	case nil, Box:
		box, _ := s.(Box)
		total := 0.0
		for j, v := range g {
			if v == 0 {
				continue
			}
			lo, hi := math.Inf(-1), math.Inf(1)
			if box.Lo != nil {
				lo = box.Lo[min(j, len(box.Lo)-1)]
			}
			if box.Hi != nil {
				hi = box.Hi[min(j, len(box.Hi)-1)]
			}
			to := lo
			if v < 0 {
				to = hi
			}
			if mu[j] > 0 {
				to = math.Max(lo, math.Min(hi, w[j]-v/mu[j]))
			}
			d := to - w[j]
			if math.IsInf(d, 0) {
				return math.Inf(1)
			}
			total -= v*d + mu[j]/2*d*d
		}
		return total
	}
	if len(g) == 0 {
		return 0
	}
	m := slices.Min(mu)
	if m > 0 {
		v := make([]float64, len(w))
		for j := range v {
			v[j] = w[j] - g[j]/m
		}
		set.Project(v)
		total := 0.0
		for j, d := range v {
			d -= w[j]
			total -= g[j]*d + m/2*d*d
		}
		return total
	}
	down, at := make([]float64, len(g)), 0.0
	for j, v := range g {
		down[j] = -v
		at += v * w[j]
	}
	return at + maximize(set, down, nil)
}
