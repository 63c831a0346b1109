package optim

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrEmptySet reports constraints that no point meets.
var ErrEmptySet = errors.New("the set is empty")

// BoxSimplex is {Lo ≤ x ≤ Hi, Σ x_i = Sum}: a simplex whose coordinates have least
// and greatest values, such as the capped simplex.
//
// Projection: clip(v-τ, Lo, Hi), whose sum falls with τ and is linear between
// the 2n points where a coordinate meets a bound; exact, O(n log n).
type BoxSimplex struct {
	lo, hi []float64
	sum    float64
}

// NewBoxSimplex returns the set in n dimensions. A nil lo is 0, a nil hi the sum,
// and bounds of length 1 are those of all coordinates; a zero sum is 1. The error
// is ErrEmptySet unless Σ Lo ≤ Sum ≤ Σ Hi.
func NewBoxSimplex(n int, lo, hi []float64, sum float64) (*BoxSimplex, error) {
	if sum == 0 {
		sum = 1
	}
	s := &BoxSimplex{make([]float64, n), make([]float64, n), sum}
	for _, f := range []struct {
		name      string
		from, dst []float64
		none      float64
	}{{"lower", lo, s.lo, 0}, {"upper", hi, s.hi, sum}} {
		if l := len(f.from); f.from != nil && l != 1 && l != n {
			return nil, fmt.Errorf("optim: box within the simplex: %d %s bounds for %d coordinates", l, f.name, n)
		}
		for i := range f.dst {
			f.dst[i] = f.none
			if f.from != nil {
				f.dst[i] = f.from[min(i, len(f.from)-1)]
			}
			if v := f.dst[i]; v-v != 0 {
				return nil, fmt.Errorf("optim: box within the simplex: %s bound %d is %v", f.name, i+1, v)
			}
		}
	}
	least, most := 0.0, 0.0
	for i := range s.lo {
		if s.lo[i] > s.hi[i] {
			return nil, fmt.Errorf("optim: box within the simplex: coordinate %d is to be at least %g and at most %g: %w", i+1, s.lo[i], s.hi[i], ErrEmptySet)
		}
		least, most = least+s.lo[i], most+s.hi[i]
	}
	if slack := 1e-12 * math.Max(1, math.Abs(sum)); least > sum+slack || most < sum-slack || n == 0 {
		return nil, fmt.Errorf("optim: box within the simplex: bounds allow sums from %g to %g, not %g: %w", least, most, sum, ErrEmptySet)
	}
	return s, nil
}

// Project implements Set. Entries are only compared and subtracted from one another: 1e16 - τ would
// lose a sum of 1.
func (s *BoxSimplex) Project(x []float64) {
	// The values of τ at which coordinate i leaves Hi (τ = v_i - Hi_i) or reaches Lo as τ grows.
	// Each is an exact sum of two floats (D. Knuth, The Art of Computer Programming 2, 4.2.2).
	type bend struct {
		i           int
		bound       float64
		upper       bool
		tau, behind float64
	}
	bends := make([]bend, 0, 2*len(x))
	add := func(i int, bound float64, upper bool) {
		tau := x[i] - bound
		b := x[i] - tau
		bends = append(bends, bend{i, bound, upper, tau, (x[i] - (tau + b)) + (b - bound)})
	}
	for i := range x {
		add(i, s.lo[i], false)
		add(i, s.hi[i], true)
	}
	slices.SortFunc(bends, func(a, b bend) int {
		upper := 0 // first, of one coordinate whose bounds are the same
		if a.upper != b.upper {
			upper = 1
			if a.upper {
				upper = -1
			}
		}
		return cmp.Or(cmp.Compare(a.tau, b.tau), cmp.Compare(a.behind, b.behind), upper)
	})
	clip := func(i int, v float64) float64 { return math.Max(s.lo[i], math.Min(s.hi[i], v)) }
	total := func(b bend) float64 {
		t := 0.0
		for i, v := range x {
			t += clip(i, (v-x[b.i])+b.bound)
		}
		return t
	}
	// The last bend whose sum is not below: there the piece begins that the answer lies on.
	lo, hi := 0, len(bends)-1
	for lo < hi {
		if mid := (lo + hi + 1) / 2; total(bends[mid]) >= s.sum {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	at := slices.Clone(s.hi) // on that piece; NaN for those that are free
	for _, b := range bends[:lo+1] {
		if at[b.i] = math.NaN(); !b.upper {
			at[b.i] = b.bound
		}
	}
	// All that are free are within a bound's width of one of them.
	one := slices.IndexFunc(at, math.IsNaN)
	free, rest := 0.0, s.sum
	for i, v := range at {
		if math.IsNaN(v) {
			free, v = free+1, x[i]-x[one]
		}
		rest -= v
	}
	pivot := 0.0
	if one >= 0 {
		pivot = x[one]
	}
	for i, v := range at {
		if math.IsNaN(v) {
			v = clip(i, (x[i]-pivot)+rest/free)
		}
		x[i] = v
	}
}

// Maximize implements Maximizer: from Lo, what is left of Sum goes to the largest
// entries first, as far as Hi allows.
func (s *BoxSimplex) Maximize(g, x []float64) float64 {
	order := make([]int, len(g))
	left, value := s.sum, 0.0
	for i := range order {
		order[i] = i
		left -= s.lo[i]
	}
	if x != nil {
		copy(x, s.lo)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case g[a] > g[b]:
			return -1
		case g[a] < g[b]:
			return 1
		}
		return 0
	})
	for _, i := range order {
		more := math.Max(0, math.Min(left, s.hi[i]-s.lo[i]))
		left -= more
		value += g[i] * (s.lo[i] + more)
		if x != nil {
			x[i] += more
		}
	}
	return value
}

// SimplexBall is the part of the unit simplex with |x|_2 ≤ Radius, which must be at
// least 1/√n: mixtures that spread.
//
// Projection: the optimality conditions make it the projection of v/(1+μ) onto the
// simplex, whose norm falls with μ; bisection to the last bit. (Dykstra's
// algorithm, in place of it, needed some hundred rounds for six digits.)
type SimplexBall struct{ Radius float64 }

// NewSimplexBall returns the set in n dimensions, or ErrEmptySet.
func NewSimplexBall(n int, radius float64) (*SimplexBall, error) {
	if !(radius*math.Sqrt(float64(n)) >= 1-1e-12) {
		return nil, fmt.Errorf("optim: ball within the simplex: every point has a norm of at least 1/√%d = %.6g, not %g: %w", n, 1/math.Sqrt(float64(n)), radius, ErrEmptySet)
	}
	return &SimplexBall{radius}, nil
}

// Project implements Set.
func (s *SimplexBall) Project(x []float64) { s.shrink(x, x, 1) }

// shrink stores the projection onto the simplex of t·v with the largest t ≤ most that
// has it in the ball.
func (s *SimplexBall) shrink(dst, v []float64, most float64) {
	v = slices.Clone(v)
	at := func(t float64) float64 {
		for i := range dst {
			dst[i] = t * v[i]
		}
		Simplex{}.Project(dst)
		return norm(dst, 2)
	}
	if at(most) <= s.Radius {
		return
	}
	lo, hi := 0.0, most
	for range 200 {
		mid := (lo + hi) / 2
		if mid <= lo || mid >= hi {
			break
		}
		if at(mid) <= s.Radius {
			lo = mid
		} else {
			hi = mid
		}
	}
	at(lo)
}

// Maximize implements Maximizer: the maximiser is the projection of t·g onto the
// simplex where that meets the ball.
func (s *SimplexBall) Maximize(g, x []float64) float64 {
	if x == nil {
		x = make([]float64, len(g))
	}
	m := MaxAbs(g)
	if m == 0 {
		m = 1
	}
	s.shrink(x, g, 1e12/m)
	value := 0.0
	for i, v := range g {
		value += v * x[i]
	}
	return value
}

// Vertices is the convex hull of points.
//
// Projection: with the origin moved to v, let u ≥ 0 minimise |Σ u_j p_j|² + (Σ u_j - 1)². It is a
// multiple of the mixture with the shortest sum. Non-negative least squares finds it exactly, in as
// many steps as the active points change. (After P. Wolfe, "Finding the nearest point in a
// polytope", Math. Programming 11, 1976.)
type Vertices struct{ points [][]float64 }

// NewVertices returns the hull of points, all of one length and finite. No points
// are ErrEmptySet.
func NewVertices(points [][]float64) (*Vertices, error) {
	if len(points) == 0 {
		return nil, fmt.Errorf("optim: hull of no points: %w", ErrEmptySet)
	}
	s := &Vertices{}
	for i, p := range points {
		if len(p) != len(points[0]) {
			return nil, fmt.Errorf("optim: hull: point %d has %d coordinates, the first %d", i+1, len(p), len(points[0]))
		}
		if j := FirstNotFinite(p); j >= 0 {
			return nil, fmt.Errorf("optim: hull: coordinate %d of point %d is %v", j+1, i+1, p[j])
		}
		s.points = append(s.points, slices.Clone(p))
	}
	return s, nil
}

// Points returns the points, which are not to be changed.
func (s *Vertices) Points() [][]float64 { return s.points }

// Project implements Set.
func (s *Vertices) Project(x []float64) {
	scale := 0.0
	columns := make([][]float64, len(s.points))
	for j, p := range s.points {
		columns[j] = make([]float64, len(x)+1)
		for i, v := range p {
			columns[j][i] = v - x[i]
			scale = math.Max(scale, math.Abs(columns[j][i]))
		}
	}
	if scale == 0 {
		return // all points are x
	}
	for _, c := range columns {
		for i := range x {
			c[i] /= scale
		}
		c[len(x)] = 1
	}
	f := make([]float64, len(x)+1)
	f[len(x)] = 1
	u, _ := nnls(columns, f)
	s.Mix(u, x)
}

// Mix stores Σ u_j p_j / Σ u_j, for weights that are not all zero.
func (s *Vertices) Mix(u, x []float64) {
	total := 0.0
	for _, v := range u {
		total += v
	}
	clear(x)
	for j, p := range s.points {
		if u[j] != 0 {
			for i, v := range p {
				x[i] += u[j] / total * v
			}
		}
	}
}

// Maximize implements Maximizer: the best point, the first of equals.
func (s *Vertices) Maximize(g, x []float64) float64 {
	best, at := math.Inf(-1), 0
	for j, p := range s.points {
		v := 0.0
		for i, a := range p {
			v += a * g[i]
		}
		if v > best {
			best, at = v, j
		}
	}
	if x != nil {
		copy(x, s.points[at])
	}
	return best
}
