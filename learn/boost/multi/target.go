package multi

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// TargetSet is Lambda, the set of mixtures of the domains that the model must suit. The zero value
// is the whole simplex.
type TargetSet struct {
	// Lo and Hi bound the share of each domain: Lo_k <= lambda_k <= Hi_k. nil is 0 and
	// 1. There must be a mixture between them: Σ Lo <= 1 <= Σ Hi.
	Lo []float64 `json:"lo,omitempty"`
	Hi []float64 `json:"hi,omitempty"`
	// Vertices, if not nil, makes Lambda their convex hull, in place of bounds.
	Vertices [][]float64 `json:"vertices,omitempty"`
}

// ErrTarget reports a target set that holds no mixture, or is not one of this many
// domains.
var ErrTarget = errors.New("unusable target set")

// sumTolerance is how far the shares of a mixture may be from summing to 1.
const sumTolerance = 1e-9

// Check returns an error unless the set is one of mixtures of p domains.
func (t *TargetSet) Check(p int) error {
	bad := func(format string, v ...any) error {
		return fmt.Errorf("multi: %w: %s", ErrTarget, fmt.Sprintf(format, v...))
	}
	if t.Vertices != nil && (t.Lo != nil || t.Hi != nil) {
		return bad("it has both vertices and bounds; give one of them")
	}
	if t.Vertices != nil && len(t.Vertices) == 0 {
		return bad("there is no vertex")
	}
	for n, v := range t.Vertices {
		if len(v) != p {
			return bad("vertex %d has %d shares for %d domains", n+1, len(v), p)
		}
		sum := 0.0
		for k, x := range v {
			if !(x >= 0 && x <= 1) {
				return bad("vertex %d gives domain %d the share %v, which is not between 0 and 1", n+1, k+1, x)
			}
			sum += x
		}
		if math.Abs(sum-1) > sumTolerance {
			return bad("the shares of vertex %d sum to %v, not to 1", n+1, sum)
		}
	}
	low, high := 0.0, 0.0
	for _, l := range []struct {
		name string
		v    []float64
	}{{"lower", t.Lo}, {"upper", t.Hi}} {
		if l.v != nil && len(l.v) != p {
			return bad("%d %s bounds for %d domains", len(l.v), l.name, p)
		}
	}
	for k := range p {
		lo, hi := t.bounds(k)
		if !(lo >= 0 && lo <= hi && hi <= 1) {
			return bad("the share of domain %d is bounded by %v and %v; it must be 0 <= lower <= upper <= 1",
				k+1, lo, hi)
		}
		low, high = low+lo, high+hi
	}
	if low > 1+sumTolerance || high < 1-sumTolerance {
		return bad("lower bounds sum to %v and upper bounds to %v; 1 must lie between", low, high)
	}
	return nil
}

func (t *TargetSet) bounds(k int) (lo, hi float64) {
	hi = 1
	if t.Lo != nil {
		lo = t.Lo[k]
	}
	if t.Hi != nil {
		hi = t.Hi[k]
	}
	return lo, hi
}

// simplex reports whether the set is the whole simplex.
func (t *TargetSet) simplex() bool { return t.Vertices == nil && t.Lo == nil && t.Hi == nil }

// Max returns max over Lambda of Σ lambda_k v_k and a mixture that attains it. Of
// several the first domains, or vertices, are preferred. O(p log p), or O(p) a vertex.
func (t *TargetSet) Max(v []float64) (float64, []float64) {
	return t.maxTied(v, nil, 0)
}

// maxTied is Max where values within a relative tolerance of each other are equal and second
// decides. The right derivative of the maximum is the largest slope of the active mixtures.
func (t *TargetSet) maxTied(v, second []float64, tolerance float64) (float64, []float64) {
	tie := tolerance * math.Abs(slices.Max(v))
	lambda := make([]float64, len(v))
	if t.Vertices != nil {
		best, value, slope := 0, math.Inf(-1), math.Inf(-1)
		top := math.Inf(-1)
		for _, x := range t.Vertices {
			top = max(top, dot(x, v))
		}
		for n, x := range t.Vertices {
			if d := dot(x, v); d >= top-tie {
				s := 0.0
				if second != nil {
					s = dot(x, second)
				}
				if second == nil && d > value || second != nil && s > slope {
					best, value, slope = n, d, s
				}
			}
		}
		copy(lambda, t.Vertices[best])
		return dot(lambda, v), lambda
	}
	order := make([]int, len(v))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(v[b], v[a]) })
	if second != nil {
		for from := 0; from < len(order); {
			to := from + 1
			for to < len(order) && v[order[from]]-v[order[to]] <= tie {
				to++
			}
			slices.SortStableFunc(order[from:to], func(a, b int) int { return cmp.Compare(second[b], second[a]) })
			from = to
		}
	}
	left := 1.0
	for k := range lambda {
		lambda[k], _ = t.bounds(k)
		left -= lambda[k]
	}
	for _, k := range order {
		_, hi := t.bounds(k)
		add := max(0, min(left, hi-lambda[k]))
		lambda[k] += add
		left -= add
	}
	return dot(lambda, v), lambda
}

func dot(a, b []float64) float64 {
	s := 0.0
	for i, x := range a {
		s += float64(x * b[i])
	}
	return s
}

// clipped returns the mixture with shares clip(f(k, tau), lo, hi), where f falls as tau grows. It
// finds the tau that makes them sum to 1 by bisection, to the last bit.
func (t *TargetSet) clipped(p int, lo, hi float64, f func(k int, tau float64) float64) []float64 {
	lambda := make([]float64, p)
	fill := func(tau float64) float64 {
		sum := 0.0
		for k := range lambda {
			a, b := t.bounds(k)
			lambda[k] = min(max(f(k, tau), a), b)
			sum += lambda[k]
		}
		return sum
	}
	for range 200 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if fill(mid) > 1 {
			lo = mid
		} else {
			hi = mid
		}
	}
	sum := fill(hi)
	// What rounding left over goes where there is room.
	for k := range lambda {
		a, b := t.bounds(k)
		v := min(max(lambda[k]+1-sum, a), b)
		sum += v - lambda[k]
		lambda[k] = v
	}
	return lambda
}
