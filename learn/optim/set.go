package optim

import (
	"cmp"
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
	threshold := simplexThreshold(x, s.sum())
	for i, v := range x {
		x[i] = math.Max(v-threshold, 0)
	}
}

// simplexThreshold returns θ with Σ max(x_i-θ, 0) = sum.
func simplexThreshold(x []float64, sum float64) float64 {
	u := slices.SortedFunc(slices.Values(x), func(a, b float64) int { return cmp.Compare(b, a) })
	total, threshold := -sum, u[0]-sum
	for i, v := range u {
		total += v
		if t := total / float64(i+1); v > t {
			threshold = t
		}
	}
	return threshold
}

// Box is {Lo ≤ x ≤ Hi}, coordinate by coordinate; a nil bound is none, and one
// of length 1 is that of all coordinates. Bounds may be infinite.
type Box struct{ Lo, Hi []float64 }

func (b Box) Project(x []float64) {
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
// largest-entry norm, and a zero Q means 2.
//
// Q = 1 goes through the simplex; other Q than 1, 2 and ∞ solve the optimality
// conditions z_i + λ q z_i^{q-1} = |x_i| by safeguarded Newton steps inside a
// bisection for λ: O(n) for each of about a hundred trial values.
type Ball struct{ Q, Radius float64 }

func (b Ball) Project(x []float64) {
	q, radius := b.Q, b.Radius
	if q == 0 {
		q = 2
	}
	if radius <= 0 {
		clear(x)
		return
	}
	if math.IsInf(q, 1) {
		for i, v := range x {
			x[i] = math.Max(-radius, math.Min(radius, v))
		}
		return
	}
	if norm(x, q) <= radius {
		return
	}
	switch q {
	case 1:
		a := make([]float64, len(x))
		for i, v := range x {
			a[i] = math.Abs(v)
		}
		threshold := simplexThreshold(a, radius)
		for i, v := range x {
			x[i] = math.Copysign(math.Max(a[i]-threshold, 0), v)
		}
	case 2:
		scale := radius / norm(x, 2)
		for i := range x {
			x[i] *= scale
		}
	default:
		projectLq(x, q, radius)
	}
}

// norm is |x|_q, scaled so that powers neither overflow nor vanish.
func norm(x []float64, q float64) float64 {
	m := maxAbs(x)
	if m == 0 || math.IsInf(m, 0) {
		return m
	}
	sum := 0.0
	for _, v := range x {
		sum += math.Pow(math.Abs(v)/m, q)
	}
	return m * math.Pow(sum, 1/q)
}

// projectLq works on x/radius and the unit ball. With multiplier λ the point is
// z(λ), each entry falling in λ, and so is its norm: bisect on log λ.
func projectLq(x []float64, q, radius float64) {
	a := make([]float64, len(x))
	for i, v := range x {
		a[i] = math.Abs(v) / radius
	}
	z := make([]float64, len(x))
	at := func(lambda float64) float64 {
		for i, v := range a {
			z[i] = shrinkLq(v, lambda, q)
		}
		return norm(z, q)
	}
	lo, hi := 1e-12, 1.0
	for at(hi) > 1 && hi < 1e300 {
		lo, hi = hi, hi*16
	}
	for at(lo) < 1 && lo > 1e-300 {
		lo /= 16
	}
	for range 200 {
		mid := math.Sqrt(lo) * math.Sqrt(hi)
		if mid <= lo || mid >= hi {
			break
		}
		if at(mid) > 1 {
			lo = mid
		} else {
			hi = mid
		}
	}
	size := at(hi)
	for i, v := range x {
		x[i] = math.Copysign(z[i]/math.Max(size, 1)*radius, v)
	}
}

// shrinkLq solves z + λ q z^{q-1} = a for z in [0, a].
func shrinkLq(a, lambda, q float64) float64 {
	if a == 0 {
		return 0
	}
	lo, hi := 0.0, a
	z := a / (1 + lambda*q)
	for range 100 {
		f := z + lambda*q*math.Pow(z, q-1) - a
		if f > 0 {
			hi = z
		} else {
			lo = z
		}
		next := z - f/(1+lambda*q*(q-1)*math.Pow(z, q-2))
		if !(next > lo && next < hi) {
			next = (lo + hi) / 2
		}
		if math.Abs(next-z) <= 1e-16*a || next == lo || next == hi {
			return next
		}
		z = next
	}
	return z
}
