package optim

import (
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/run"
)

// Certificate holds bounds on the value v = min_w max_λ φ(w, λ) of a game, each
// proved at a point: Lower ≤ v ≤ Upper. W is the point of Upper, so that max_λ
// φ(W, λ) is within Gap of the least there is; Lambda is the one of Lower.
type Certificate struct {
	Upper, Lower float64
	W, Lambda    []float64
}

// Gap is Upper - Lower: not negative but for rounding.
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

// Minorized is met by relaxed problems that know more of what they relax than that they
// lie below it.
type Minorized interface {
	ConvexSaddle
	// Minorant returns v, and stores g in gw, such that the problem that was relaxed is
	// at least v + ⟨g, u-w⟩ + Σ μ_j (u_j-w_j)²/2 for every u.
	Minorant(w, lambda, gw []float64) (float64, error)
}

// CertifyOptions adjusts Certify; nil is the same as the zero value.
type CertifyOptions struct {
	// Refine is how many steps of L-BFGS look for a lower φ(·, λ) to prove Lower
	// at; zero is 20, negative is none.
	Refine int
	// Relaxed, if not nil, never exceeds the problem and takes its place for
	// Lower: a smooth one, which L-BFGS can minimise where the other has kinks.
	Relaxed ConvexSaddle
	Scale   []float64 // preconditions L-BFGS, as in Smoothed; nil is none
	Enough  float64   // nothing is refined when the gap is at most this times max(Least, |Upper|); zero refines always
	Least   float64   // zero is 1
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
// for all u (a Relaxed problem may know a higher right side, see Minorized). The right side is minimised over W: with μ = 0 the bound of M. Frank
// and P. Wolfe (1956), which is finite on bounded sets only, and with μ > 0 and no
// constraint φ - Σ g_j²/2μ_j. It is taken at w and at the points that L-BFGS finds
// from there, the best counts. Where w is on the sphere of a Euclidean Ball, L-BFGS minimises
// φ + ν/2 |·|² for the multiplier ν of the constraint, since φ alone has its minimum outside,
// where the right side proves nothing. A coordinate that a Box in a Product holds back stays where
// it is.
//
// A problem that is not convex, or a w outside W, gives an error.
func Certify(p ConvexSaddle, w, lambda []float64, setW, setLambda Set, opts *CertifyOptions) (Certificate, error) {
	c, _, err := certify(p, w, lambda, setW, setLambda, opts)
	return c, err
}

func certify(p ConvexSaddle, w, lambda []float64, setW, setLambda Set, opts *CertifyOptions) (c Certificate, evaluations int, err error) {
	if opts == nil {
		opts = &CertifyOptions{}
	}
	if setLambda == nil {
		setLambda = Simplex{}
	}
	n, p2 := p.Dims()
	if len(w) != n || len(lambda) != p2 {
		return c, 0, fmt.Errorf("optim: Certify: %d and %d coordinates for a problem of %d and %d", len(w), len(lambda), n, p2)
	}
	mu := make([]float64, n)
	if !p.Curvature(mu) {
		return c, 0, fmt.Errorf("optim: Certify: the problem is not convex in w, so there is no certificate")
	}
	if d := outside(setW, w); d > 1e-9*math.Max(1, maxAbs(w)) {
		return c, 0, fmt.Errorf("optim: Certify: w is outside its set by %.3g", d)
	}
	c = Certificate{W: slices.Clone(w), Lambda: slices.Clone(lambda)}
	gw, gl := make([]float64, n), make([]float64, p2)
	v, err := p.Eval(w, lambda, gw, gl)
	if err != nil {
		return c, 1, fmt.Errorf("optim: Certify: %w", err)
	}
	at := 0.0
	for k, g := range gl {
		at += g * lambda[k]
	}
	c.Upper = v + maximize(setLambda, gl, nil) - at
	c.Lower = v - drop(setW, w, gw, mu)
	evaluations = 1
	below := p
	if opts.Relaxed != nil {
		below = opts.Relaxed
		if !below.Curvature(mu) {
			return c, 1, fmt.Errorf("optim: Certify: the relaxed problem is not convex")
		}
	}
	refine := opts.Refine
	if refine == 0 {
		refine = 20
	}
	if refine > 0 {
		minorized, _ := below.(Minorized)
		lower := func(x []float64) error {
			evaluations++
			var v float64
			var err error
			if minorized != nil {
				v, err = minorized.Minorant(x, lambda, gw)
			} else {
				v, err = below.Eval(x, lambda, gw, nil)
			}
			if err == nil {
				c.Lower = math.Max(c.Lower, v-drop(setW, x, gw, mu))
			}
			return err
		}
		if err := lower(w); err != nil {
			return c, evaluations, fmt.Errorf("optim: Certify: %w", err)
		}
		if opts.Enough > 0 && c.within(opts.Enough, opts.Least) {
			return c, evaluations, nil
		}
		nu := sphere(setW, w, gw)
		held := wallsAt(setW, w, gw)
		var f Objective = Func{n, func(x, grad []float64) (float64, error) {
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
			f = Scaled(f, opts.Scale, 1)
			for j := range z {
				z[j] /= opts.Scale[j]
			}
		}
		r, err := OWLQN{Memory: 20, Workers: 1}.Minimize(f, z, &run.Control{Stop: run.Stop{Iterations: refine, Evaluations: 3 * refine, Relative: -1, Gradient: 1e-12}})
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
			return c, evaluations, fmt.Errorf("optim: Certify: %w", err)
		}
	}
	if math.IsNaN(c.Upper) || math.IsNaN(c.Lower) {
		return c, evaluations, fmt.Errorf("optim: Certify: bounds %v and %v: %w", c.Lower, c.Upper, ErrNotFinite)
	}
	return c, evaluations, nil
}

func euclidean(b Ball) bool { return (b.Q == 0 || b.Q == 2) && b.Radius > 0 }

// sphere returns the ν ≥ 0 for which g + νw is smallest when w is on the sphere of a
// Euclidean ball, else 0.
func sphere(set Set, w, g []float64) float64 {
	b, ok := set.(Ball)
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
func outside(set Set, w []float64) float64 {
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
