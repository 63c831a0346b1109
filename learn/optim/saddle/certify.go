package saddle

import (
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// Certificate holds bounds on the value v = min_w max_λ φ(w, λ) of a game, each
// proved at a point: Lower ≤ v ≤ Upper. W is the point of Upper, so that max_λ
// φ(W, λ) is within Gap of the least there is; Lambda is the one of Lower.
type Certificate struct {
	Upper, Lower float64
	W, Lambda    []float64
}

// Gap is Upper - Lower, which is not negative except by rounding.
func (c Certificate) Gap() float64 { return c.Upper - c.Lower }

// within reports whether the gap is at most tol·max(least, |Upper|).
func (c *Certificate) within(tol, least float64) bool {
	return c.Gap() <= tol*sizeOf(c.Upper, least)
}

// sizeOf is what a gap is relative to: |v|, but no less than least, where 0 is 1.
func sizeOf(v, least float64) float64 {
	if least == 0 {
		least = 1
	}
	return math.Max(least, math.Abs(v))
}

// merge keeps the better of each bound: both stay true apart.
func (c *Certificate) merge(d Certificate) {
	if c.W == nil || d.Upper < c.Upper {
		c.Upper, c.W = d.Upper, d.W
	}
	if c.Lambda == nil || d.Lower > c.Lower {
		c.Lower, c.Lambda = d.Lower, d.Lambda
	}
}

// Minorized is implemented by relaxed problems with more than the fact that they lie below the
// original.
type Minorized interface {
	Convex
	// Minorant returns v, and stores g in gw, such that the problem that was relaxed is at least v
	// + ⟨g, u-w⟩ + Σ μ_j (u_j-w_j)²/2 for every u.
	Minorant(w, lambda, gw []float64) (float64, error)
}

// CertifyOptions adjusts Certify; nil is the same as the zero value.
type CertifyOptions struct {
	// Refine is how many steps of L-BFGS look for a lower φ(·, λ) to prove Lower
	// at; zero is 20, negative is none.
	Refine int
	// Relaxed, if not nil, never exceeds the problem and replaces it for Lower. It is a smooth one,
	// which L-BFGS can minimise where the original has kinks.
	Relaxed Convex
	Scale   []float64 // preconditions L-BFGS, as in Smoothed; nil is none
	// nothing is refined when the gap is at most this times max(Least, |Upper|); zero refines always
	Enough float64
	Least  float64 // zero is 1
}

// Certify bounds the value of the game with the sets W (nil is all space) and
// lambda (nil is the unit simplex), on the whole problem. At the point (w, λ):
//
// Upper is max φ(w, ·), from concavity φ(w, λ) + max ⟨g_λ, ·-λ⟩: exact when φ is
// linear in λ.
//
// Lower is a bound on the minimum of φ(·, λ). At any v, convexity gives
//
//	φ(u, λ) ≥ φ(v, λ) + ⟨g, u-v⟩ + Σ μ_j (u_j-v_j)²/2
//
// for all u (a Relaxed problem may know a higher right side, see Minorized). The right side is
// minimised over W. With μ = 0 this is the bound of M. Frank and P. Wolfe (1956), which is finite
// on bounded sets only. With μ > 0 and no constraint it is φ - Σ g_j²/2μ_j. It is evaluated at w
// and at the points that L-BFGS finds from there; the best counts. Where w is on the sphere of a
// Euclidean Ball, L-BFGS minimises φ + ν/2 |·|² for the multiplier ν of the constraint. φ itself
// has its minimum outside, where the right side proves nothing. A coordinate that a Box in a
// Product blocks stays where it is.
//
// A problem that is not convex, or a w outside W, gives an error.
func Certify(p Convex, w, lambda []float64, setW, setLambda optim.Set,
	opts *CertifyOptions) (Certificate, error) {
	c, _, err := certify(p, w, lambda, setW, setLambda, opts)
	return c, err
}

func certify(p Convex, w, lambda []float64, setW, setLambda optim.Set, opts *CertifyOptions) (c Certificate,
	evaluations int, err error) {
	if opts == nil {
		opts = &CertifyOptions{}
	}
	if setLambda == nil {
		setLambda = optim.Simplex{}
	}
	n, p2 := p.Dims()
	if len(w) != n || len(lambda) != p2 {
		return c, 0, fmt.Errorf("saddle: Certify: %d and %d coordinates for a problem of %d and %d", len(w),
			len(lambda), n, p2)
	}
	mu := make([]float64, n)
	if !p.Curvature(mu) {
		return c, 0, fmt.Errorf("saddle: Certify: the problem is not convex in w, so there is no certificate")
	}
	if d := outside(setW, w); d > 1e-9*math.Max(1, optim.MaxAbs(w)) {
		return c, 0, fmt.Errorf("saddle: Certify: w is outside its set by %.3g", d)
	}
	c = Certificate{W: slices.Clone(w), Lambda: slices.Clone(lambda)}
	gw, gl := make([]float64, n), make([]float64, p2)
	v, err := p.Eval(w, lambda, gw, gl)
	if err != nil {
		return c, 1, fmt.Errorf("saddle: Certify: %w", err)
	}
	at := 0.0
	for k, g := range gl {
		at += g * lambda[k]
	}
	c.Upper = v + optim.Maximize(setLambda, gl, nil) - at
	c.Lower = v - drop(setW, w, gw, mu)
	evaluations = 1
	below := p
	if opts.Relaxed != nil {
		below = opts.Relaxed
		if !below.Curvature(mu) {
			return c, 1, fmt.Errorf("saddle: Certify: the relaxed problem is not convex")
		}
	}
	refine := opts.Refine
	if refine == 0 {
		refine = 20
	}
	if refine > 0 {
		lower := func(x []float64) error {
			evaluations++
			v, err := bound(below, setW, x, lambda, gw, mu)
			if err == nil {
				c.Lower = math.Max(c.Lower, v)
			}
			return err
		}
		if err := lower(w); err != nil {
			return c, evaluations, fmt.Errorf("saddle: Certify: %w", err)
		}
		if opts.Enough > 0 && c.within(opts.Enough, opts.Least) {
			return c, evaluations, nil
		}
		nu := sphere(setW, w, gw)
		held := wallsAt(setW, w, gw)
		var f optim.Objective = optim.Func{N: n, F: func(x, grad []float64) (float64, error) {
			evaluations++
			v, err := below.Eval(x, lambda, grad, nil)
			if nu > 0 && err == nil {
				if grad != nil {
					for j, u := range x {
						grad[j] += nu * u
					}
				}
				v += nu / 2 * dot(x, x)
			}
			if grad != nil {
				leave(held, grad)
			}
			return v, err
		}}
		z := slices.Clone(w)
		if opts.Scale != nil {
			f = optim.Scaled(f, opts.Scale, 1)
			for j := range z {
				z[j] /= opts.Scale[j]
			}
		}
		r, err := optim.OWLQN{Memory: 20, Workers: 1}.Minimize(
			f, z, &run.Control{Stop: run.Stop{Iterations: refine, Evaluations: 3 * refine, Relative: -1,
				Gradient: 1e-12}})
		if err == nil {
			if opts.Scale != nil {
				for j := range r.X {
					r.X[j] *= opts.Scale[j]
				}
			}
			if nu > 0 {
				setW.Project(r.X)
			}
			err = lower(r.X)
		}
		if err != nil {
			return c, evaluations, fmt.Errorf("saddle: Certify: %w", err)
		}
	}
	if math.IsNaN(c.Upper) || math.IsNaN(c.Lower) {
		return c, evaluations, fmt.Errorf("saddle: Certify: bounds %v and %v: %w", c.Lower, c.Upper,
			optim.ErrNotFinite)
	}
	return c, evaluations, nil
}

// Lower bounds min φ(·, λ) over the set (nil is all space) by the line at w below the game or what
// relaxes it, and the curvature. It is -Inf where these have no least.
func Lower(below Convex, set optim.Set, w, lambda []float64) (float64, error) {
	mu := make([]float64, len(w))
	if !below.Curvature(mu) {
		return math.Inf(-1), nil
	}
	return bound(below, set, w, lambda, make([]float64, len(w)), mu)
}

// bound is Lower for a known curvature, with space for a gradient.
func bound(below Convex, set optim.Set, w, lambda, gw, mu []float64) (v float64, err error) {
	if m, ok := below.(Minorized); ok {
		v, err = m.Minorant(w, lambda, gw)
	} else {
		v, err = below.Eval(w, lambda, gw, nil)
	}
	return v - drop(set, w, gw, mu), err
}

func euclidean(b optim.Ball) bool { return (b.Q == 0 || b.Q == 2) && b.Radius > 0 }

// sphere returns the ν ≥ 0 for which g + νw is smallest when w is on the sphere of a
// Euclidean ball, else 0.
func sphere(set optim.Set, w, g []float64) float64 {
	b, ok := set.(optim.Ball)
	if !ok || !euclidean(b) {
		return 0
	}
	sq := dot(w, w)
	if math.Sqrt(sq) < b.Radius*(1-1e-6) {
		return 0
	}
	return math.Max(0, -dot(w, g)/sq)
}

// outside returns the distance of the projection along the worst coordinate.
func outside(set optim.Set, w []float64) float64 {
	if set == nil {
		return 0
	}
	v := slices.Clone(w)
	set.Project(v)
	d := 0.0
	for j := range v {
		d = math.Max(d, math.Abs(v[j]-w[j]))
	}
	return d
}

// drop returns a bound on how far ⟨g, v-w⟩ + Σ μ_j (v_j-w_j)²/2 can fall below zero for v in the
// set, infinite when there is none.
//
// The set may be nil, for all space. It uses the exact minimum where available: without constraints
// and on boxes, coordinate by coordinate. Elsewhere, with m the least μ_j, it projects w - g/m, or
// with m = 0 uses Maximize.
func drop(set optim.Set, w, g, mu []float64) float64 {
	switch s := set.(type) {
	case optim.Product:
		total := 0.0
		for _, b := range s { // products within products are as deep as they were written
			total += drop(b.Set, w[:b.Dim], g[:b.Dim], mu[:b.Dim])
			w, g, mu = w[b.Dim:], g[b.Dim:], mu[b.Dim:]
		}
		return total
	case nil, optim.Box:
		box, _ := s.(optim.Box)
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
	return at + optim.Maximize(set, down, nil)
}
