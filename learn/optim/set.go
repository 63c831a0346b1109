package optim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Set is a closed convex set with a Euclidean projection.
type Set interface {
	// Project replaces x by the point of the set nearest to it.
	Project(x []float64)
}

// Simplex is {x ≥ 0, Σ x_i = Sum}; a zero Sum means 1.
//
// Projection: J. Duchi, S. Shalev-Shwartz, Y. Singer and T. Chandra, "Efficient
// projections onto the l1-ball for learning in high dimensions", ICML 2008; by
// sorting, O(n log n).
type Simplex struct{ Sum float64 }

func (s Simplex) Project(x []float64) {
	if len(x) == 0 {
		return
	}
	projectSimplex(x, s.sum())
}

// projectSimplex replaces x by max(x-θ, 0), with θ such that the sum is as requested. It subtracts
// the largest entry first. Entries further below it than the sum become zero, and with entries of
// 1e16 θ would otherwise lose a sum of 1 entirely.
func projectSimplex(x []float64, sum float64) {
	if !(sum > 0) {
		panic(fmt.Sprintf("optim: a simplex of sum %v: it must be positive", sum))
	}
	if sum > 0x1p900 { // sums of this many entries overflow
		for i := range x {
			x[i] *= 0x1p-200
		}
		projectSimplex(x, sum*0x1p-200)
		for i := range x {
			x[i] *= 0x1p200
		}
		return
	}
	top := slices.Max(x)
	near := make([]float64, 0, len(x))
	for i, v := range x {
		x[i] = v - top
		if x[i] > -sum {
			near = append(near, x[i])
		}
	}
	slices.SortFunc(near, func(a, b float64) int { return cmp.Compare(b, a) })
	total, threshold := -sum, -sum
	for i, v := range near {
		total += v
		t := total / float64(i+1)
		if !(v > t) {
			break
		}
		threshold = t
	}
	for i, v := range x {
		x[i] = math.Max(v-threshold, 0)
	}
}

// Box is {Lo ≤ x ≤ Hi}, coordinate by coordinate; a nil bound is none, and one
// of length 1 is that of all coordinates. Bounds may be infinite. Other lengths than 1
// and that of x are a mistake in the program, and Project panics.
type Box struct{ Lo, Hi []float64 }

func (b Box) Project(x []float64) {
	for name, bound := range map[string][]float64{"Lo": b.Lo, "Hi": b.Hi} {
		if bound != nil && len(bound) != 1 && len(bound) != len(x) {
			panic(fmt.Sprintf("optim: Box: %s has %d bounds for %d coordinates; one for all or one each are needed", name, len(bound), len(x)))
		}
	}
	for i, v := range x {
		if b.Lo != nil {
			v = math.Max(v, b.Lo[min(i, len(b.Lo)-1)])
		}
		if b.Hi != nil {
			v = math.Min(v, b.Hi[min(i, len(b.Hi)-1)])
		}
		x[i] = v
	}
}

// Ball is {|x|_Q ≤ Radius} for a norm exponent Q ≥ 1; math.Inf(1) is the
// largest-entry norm, and a zero Q means 2. Another Q, or a negative Radius, is a
// mistake in the program, and Project panics.
//
// Q = 1 uses the simplex. Other Q than 1, 2 and ∞ solve the optimality conditions z_i + λ q
// z_i^{q-1} = |x_i| (projectLq), at O(n) for each of about fifty trial values.
type Ball struct{ Q, Radius float64 }

func (b Ball) Project(x []float64) {
	q, radius := b.Q, b.Radius
	if q == 0 {
		q = 2
	}
	if !(q >= 1) || !(radius >= 0) {
		panic(fmt.Sprintf("optim: Ball: Q %v and Radius %v: Q must be at least 1 (or 0 for 2), Radius not negative", b.Q, b.Radius))
	}
	if radius == 0 {
		clear(x)
		return
	}
	if math.IsInf(q, 1) {
		for i, v := range x {
			x[i] = math.Max(-radius, math.Min(radius, v))
		}
		return
	}
	// In units of the greatest coordinate and the radius nothing overflows: the norm
	// of coordinates near the greatest float64 is beyond it.
	top := MaxAbs(x)
	if top == 0 || math.IsInf(top, 0) || math.IsNaN(top) {
		return // no point is nearest: who evaluates there reports what is not finite
	}
	inner := unitNorm(x, top, q)
	if radius/top >= inner {
		return
	}
	switch q {
	case 1:
		a := make([]float64, len(x))
		for i, v := range x {
			a[i] = math.Abs(v)
		}
		projectSimplex(a, radius)
		for i, v := range x {
			x[i] = math.Copysign(a[i], v)
		}
	case 2:
		for i := range x {
			x[i] = x[i] / top / inner * radius
		}
	default:
		projectLq(x, q, radius)
	}
}

// norm is |x|_q, scaled so that powers neither overflow nor vanish.
func norm(x []float64, q float64) float64 {
	m := MaxAbs(x)
	if m == 0 || math.IsInf(m, 0) {
		return m
	}
	return m * unitNorm(x, m, q)
}

// unitNorm is |x/top|_q, where top is the greatest of |x|: between 1 and n^{1/q}.
func unitNorm(x []float64, top, q float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += math.Pow(math.Abs(v)/top, q)
	}
	return math.Pow(sum, 1/q)
}

// projectLq projects a point outside of the ball. In units of the radius, with
// a_i = |x_i|, the nearest point z of the unit sphere has
//
//	z_i + λ q z_i^{q-1} = a_i,  Σ z_i^q = 1.
//
// λ is a poor unknown: at q = 200 it spans thousands of decimal orders. The largest entry s of z is
// a better one. As s^q is between 1/n and 1, the unknown here is v = -q log s, between 0 and log n
// for any q. What is taken off the largest entry, top = max a - s, then gives all others by the
// quotient of two conditions,
//
//	(a_i - z_i)/top = (z_i/s)^{q-1},
//
// where u = -log(z_i/s) ≥ 0 solves s e^{-u} + top e^{-u(q-1)} = a_i, whose left side
// falls. Σ z_i^q = e^{-v} Σ e^{-q u_i} falls in v: v is found by bisection.
func projectLq(x []float64, q, radius float64) {
	// A point beyond 1e290 radii is as good as one there: what is left of a coordinate
	// is then no part of it.
	unit := math.Max(radius, MaxAbs(x)/1e290)
	top, a := 0.0, make([]float64, len(x))
	for i, v := range x {
		a[i] = math.Abs(v) / unit
		top = math.Max(top, a[i])
	}
	u := make([]float64, len(x))
	size := func(v float64) float64 { // stores u, and returns Σ z_i^q
		s, rest := math.Exp(-v/q), math.Max(top-1-math.Expm1(-v/q), 0)
		sum := 0.0
		for i, c := range a {
			u[i] = logRatioLq(c, s, rest, q)
			sum += math.Exp(-q * u[i])
		}
		return sum * math.Exp(-v)
	}
	lo, hi := 0.0, math.Log(float64(len(x)))
	if top < 1 { // s ≤ top
		lo = math.Min(hi, -q*math.Log(top))
	}
	for range 100 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if size(mid) > 1 {
			lo = mid
		} else {
			hi = mid
		}
	}
	size(hi)
	for i, v := range x {
		x[i] = math.Copysign(math.Min(math.Exp(-hi/q-u[i]), a[i])*radius, v)
	}
}

// logRatioLq returns u ≥ 0 with s e^{-u} + rest e^{-u(q-1)} = a, for
// 0 ≤ a ≤ s + rest; infinity for a = 0.
func logRatioLq(a, s, rest, q float64) float64 {
	if a == 0 {
		return math.Inf(1)
	}
	if a >= s+rest {
		return 0
	}
	below := func(b float64) float64 { // log(b/a)
		if c := a / b; c > 0x1p-1000 {
			return -math.Log(c)
		}
		return math.Log(b) - math.Log(a) // the quotient would vanish
	}
	// Each term alone is at most a, and one of them at least a/2.
	lo := below(s)
	hi := lo + math.Ln2
	if rest > 0 {
		second := below(rest) / (q - 1)
		lo, hi = math.Max(lo, second), math.Max(hi, second+math.Ln2/(q-1))
	}
	lo = math.Max(lo, 0)
	u := lo
	for range 200 {
		z, r := s*math.Exp(-u), rest*math.Exp(-u*(q-1))
		f := z + r - a // convex and falling: Newton's steps from below stay there
		if f > 0 {
			lo = u
		} else {
			hi = u
		}
		next := u + f/(z+r*(q-1))
		if math.Abs(next-u) <= 1e-16*u {
			return next
		}
		if !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
			if next <= lo || next >= hi {
				return next
			}
		}
		u = next
	}
	return u
}
