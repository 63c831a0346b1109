package multi

import (
	"math"
)

// lineSearch returns the eta in [0, most] of least objective along a ray, and the right
// derivative at 0. It is 0 when the objective does not fall there; without a finite
// minimiser it is the end of the interval.
//
// The objective is convex along every ray. The root of its derivative is bracketed by doubling and
// found by Newton's method, with bisection where that leaves the bracket. The derivative of the
// maximum jumps, so the maximum is bisected. One evaluation is a pass over the rows; some eight are
// needed, for the maximum up to sixty.
func (s *state) lineSearch(a *aggregate, r *ray, most float64) (eta, slope float64) {
	at := func(x float64) (g, h float64) {
		f, d, dd := s.along(r, x, true)
		s.penalised(f, x*r.cost)
		for k, v := range s.penalty {
			d[k] += v * r.cost
		}
		return a.slope(f, d), a.curvature(f, d, dd)
	}
	g, h := at(0)
	if !(g < 0) {
		return 0, g
	}
	size := -g
	return descend(at, size, h, most, a.kind == Max), g
}

// descend finds the root of an increasing derivative that is -size at 0.
func descend(at func(float64) (g, h float64), size, h, most float64, jumps bool) float64 {
	lo, x := 0.0, 0.0
	var hi, g float64
	step := 1.0
	if h > 0 {
		step = min(max(1.05*size/h, 1e-10), 4)
	}
	for {
		next := min(x+step, most)
		if next == x {
			return most
		}
		var d float64
		d, h = at(next)
		x, g = next, d
		if d >= 0 {
			hi = next
			break
		}
		lo = next
		step *= 2
	}
	for range 100 {
		if g == 0 || math.Abs(g) <= 1e-13*size {
			break
		}
		next := math.NaN()
		if !jumps && h > 0 {
			next = x - g/h
		}
		if !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
			if next <= lo || next >= hi || hi-lo <= 1e-14*hi {
				break
			}
		}
		before := x
		x = next
		g, h = at(x)
		if g < 0 {
			lo = x
		} else {
			hi = x
		}
		if math.Abs(x-before) <= 1e-15*x {
			break
		}
	}
	if jumps {
		return lo // the objective falls up to there
	}
	return x
}

// golden finds the minimum of a function of one valley.
func golden(f func(float64) float64, lo, hi float64, steps int) float64 {
	const r = 0.6180339887498949
	a, b := hi-r*(hi-lo), lo+r*(hi-lo)
	fa, fb := f(a), f(b)
	for range steps {
		if fa <= fb {
			hi, b, fb = b, a, fa
			a = hi - r*(hi-lo)
			fa = f(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + r*(hi-lo)
			fb = f(b)
		}
	}
	if fa <= fb {
		return a
	}
	return b
}
