package sums

import (
	"math"

	"github.com/tropica-fst/tropica/semiring"
)

// AlgebraOf is what queues and loops ask about a weight type, found out once.
type AlgebraOf[W semiring.Weight[W]] struct {
	Path, Idempotent bool
	Zero, One        W
	// class sorts a weight: bits below and weighted.
	class func(W) uint8
	Less  func(a, b W) bool // natural order: a⊕b = a ≠ b
}

// NearOf returns the closeness of weights that OpenFst has. Over numbers it is a ≤ b+δ and b ≤ a+δ
// in their own arithmetic, which decides ties the same way.
func NearOf[W semiring.Approx[W]](delta float64) func(a, b W) bool {
	near := func(a, b W) bool { return a.Near(b, delta) }
	switch near := any(&near).(type) {
	case *func(a, b semiring.Tropical) bool:
		*near = NearCost[semiring.Tropical](delta)
	case *func(a, b semiring.Tropical64) bool:
		*near = NearCost[semiring.Tropical64](delta)
	}
	return near
}

func NearCost[T Float](delta float64) func(a, b T) bool {
	d := T(delta)
	return func(a, b T) bool { return a <= b+d && b <= a+d }
}

const (
	belowOne uint8 = 1 << iota // better than 1̄ in the natural order
	weighted                   // neither 0̄ nor 1̄
)

func NewAlgebra[W semiring.Weight[W]]() AlgebraOf[W] {
	a := AlgebraOf[W]{Zero: semiring.Zero[W](), One: semiring.One[W]()}
	_, a.Path = any(a.Zero).(semiring.Path[W])
	_, a.Idempotent = any(a.Zero).(semiring.Idempotent[W])
	a.Less = func(x, y W) bool { return !x.Equal(y) && x.Plus(y).Equal(x) }
	a.class = func(w W) (c uint8) {
		if !w.Equal(a.Zero) && !w.Equal(a.One) {
			c = weighted
			if a.Path && a.Less(w, a.One) {
				c |= belowOne
			}
		}
		return c
	}
	switch class := any(&a.class).(type) {
	case *func(semiring.Tropical) uint8:
		*class = classOfCost[semiring.Tropical]
	case *func(semiring.Tropical64) uint8:
		*class = classOfCost[semiring.Tropical64]
	}
	switch less := any(&a.Less).(type) {
	case *func(a, b semiring.Tropical) bool:
		*less = func(a, b semiring.Tropical) bool { return a < b }
	case *func(a, b semiring.Tropical64) bool:
		*less = func(a, b semiring.Tropical64) bool { return a < b }
	}
	return a
}

func classOfCost[T Float](w T) uint8 {
	switch {
	case w == 0 || w == T(math.Inf(1)):
		return 0
	case w < 0:
		return weighted | belowOne
	}
	return weighted
}
