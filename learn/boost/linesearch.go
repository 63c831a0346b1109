package boost

import (
	"math"

	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// lineMin finds the step eta that minimises
//
//	Σ w Phi(y, F + eta h) / Σ w  +  c |a + eta|
//
// over [-limit, limit]: a convex function of one variable. c ≥ 0 penalises the
// coordinate whose value is a. Without a finite minimiser the answer is the end of
// the interval. f and h hold outputs numbers a row.
//
// The root of the derivative is bracketed by doubling from 0. Newton's method then finds it, with
// bisection wherever Newton leaves the bracket (Dekker's safeguard). It stops when the bracket is
// down to neighbouring floats, or the derivative at 1e-15 of its size at 0. Some ten evaluations;
// each is one pass over the rows.
func lineMin(l Loss, y, w, f, h []float64, c, a, limit float64, workers int) float64 {
	s := &line{l: l, y: y, w: w, f: f, h: h, workers: workers}
	if c > 0 && a != 0 {
		// The kink at eta = -a is the answer when the derivatives on its two sides enclose 0.
		// Otherwise the minimum is on the side of the kink where the loss falls.
		g, _ := s.derivative(-a)
		switch side := -sign(g); {
		case math.Abs(g) <= c && math.Abs(a) <= limit:
			return -a
		case side == sign(a):
			return s.root(c*side, limit, 0)
		default:
			return s.root(c*side, limit, -a)
		}
	}
	g, _ := s.derivative(0)
	if math.Abs(g) <= c {
		return 0
	}
	return s.root(-c*sign(g), limit, 0)
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

type line struct {
	l       Loss
	y, w    []float64
	f, h    []float64
	workers int
}

// lineBlock rows are evaluated together, on the stack of one worker.
const lineBlock = 4096

// derivative returns the first derivative of the mean loss at eta, and an upper bound of the second
// from the diagonal of the Hessian (exact for one output).
func (s *line) derivative(eta float64) (first, second float64) {
	k := s.l.Outputs()
	blocks := (len(s.y) + lineBlock - 1) / lineBlock
	part := make([][3]float64, blocks)
	run.Blocks(s.workers, len(s.y), lineBlock, func(_, from, to int) {
		n := (to - from) * k
		buf := make([]float64, 3*n)
		moved, g, hh := buf[:n], buf[n:2*n], buf[2*n:]
		for i := range moved {
			moved[i] = s.f[from*k+i] + eta*s.h[from*k+i]
		}
		s.l.Gradients(g, hh, s.y[from:to], moved)
		p := &part[from/lineBlock]
		for i := from; i < to; i++ {
			v := score.Weight(s.w, i)
			p[2] += v
			for c := range k {
				d := s.h[i*k+c]
				p[0] += v * g[(i-from)*k+c] * d
				p[1] += v * hh[(i-from)*k+c] * d * d
			}
		}
	})
	total := 0.0
	for _, p := range part {
		first += p[0]
		second += p[1]
		total += p[2]
	}
	return first / total, second / total
}

// root finds where the derivative plus shift is zero, starting from the given
// step.
func (s *line) root(shift, limit, start float64) float64 {
	at := min(max(start, -limit), limit)
	g, h := s.derivative(at)
	g += shift
	size := math.Abs(g)
	if g == 0 {
		return at
	}
	// Bracket: lo has derivative < 0, hi > 0.
	lo, hi := at, at
	step := 1.0
	if h > 0 {
		step = min(max(1.1*size/h, 1e-10), 4)
	}
	dir := -sign(g)
	for {
		next := min(max(at+dir*step, -limit), limit)
		if next == at {
			return at // the end of the interval
		}
		d, h2 := s.derivative(next)
		d += shift
		if dir > 0 {
			lo, hi = at, next
		} else {
			lo, hi = next, at
		}
		at, h = next, h2
		if d == 0 {
			return at
		}
		if sign(d) != sign(g) {
			g = d
			break
		}
		g = d
		step *= 2
	}
	for range 100 {
		next := at - g/h
		if !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
			if next <= lo || next >= hi {
				break
			}
		}
		before, old := at, g
		at = next
		g, h = s.derivative(at)
		g += shift
		if s.l.Outputs() > 1 {
			// The diagonal only bounds the second derivative along h; the slope between
			// the last two points is better.
			h = (g - old) / (at - before)
		}
		if g == 0 || math.Abs(at-before) <= 1e-16*math.Abs(at) {
			break
		}
		if g < 0 {
			lo = at
		} else {
			hi = at
		}
		if math.Abs(g) <= 1e-15*size {
			break
		}
	}
	return at
}
