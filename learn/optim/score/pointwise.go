package score

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Pointwise is a loss ℓ(s, y) of one real score s: value, derivative and Lipschitz constant. y is
// -1 or +1, or any number for losses that are not of margins. It need be neither smooth nor convex.
// Games over mixtures of losses, dual ascent and Newton's method use it.
type Pointwise struct {
	Name string
	// At returns ℓ(s, y) and a (sub)derivative in s.
	At func(s, y float64) (value, derivative float64)
	// Lipschitz returns a constant in s for |s| ≤ b and |y| ≤ 1, which may be infinite when b is.
	Lipschitz func(b float64) float64
	// Bound returns the largest value for |s| ≤ b and |y| ≤ 1.
	Bound func(b float64) float64
	// Least is a lower bound of the values; zero, which suits all losses of this package, says
	// that they are not negative.
	Least float64
	// Convex says that ℓ is convex in s: without it there is no certificate.
	Convex bool
	// Margin says that y must be -1 or +1.
	Margin bool
	// Errors says that the loss stands for the zero-one loss.
	Errors bool
	// Relax returns a loss with a continuous derivative that never exceeds this one and is below it
	// by at most the width. Nil means that this loss is smooth. A relaxed loss proves lower bounds.
	Relax func(width float64) Pointwise
	// Under, of a relaxed loss, returns At's derivative d, with the value at s of the highest line
	// of slope d below the loss that was relaxed. That line is the original loss' own tangent,
	// which proves more than the relaxed loss does. Nil is At.
	Under func(s, y float64) (value, derivative float64)

	// Width is that of a relaxed hinge, by which losses of rows relax their maximum.
	Width float64
	// Multiple is a where the loss is a·ln(1+e^{-ys}): such losses share their exponentials.
	Multiple float64
	// Corner, if not nil, states that for y = ±1 the loss is zero at ys = 1 and linear in ys on
	// both sides, with these slopes.
	Corner *[2]float64
}

func constant(v float64) func(float64) float64 { return func(float64) float64 { return v } }

// LogisticAt returns ln(1+e^{-z}) and its derivative -1/(1+e^z).
func LogisticAt(z float64) (v, d float64) {
	e := math.Exp(-math.Abs(z))
	v = math.Log1p(e)
	if z >= 0 {
		return v, -e / (1 + e)
	}
	return v - z, -1 / (1 + e)
}

// CrossEntropy is ln(1+e^{-ys}).
func CrossEntropy() Pointwise { return multiple("cross-entropy", 1) }

// ZeroOne is log2(1+e^{-ys}), which is at least 1[ys ≤ 0]: the game that it enters
// bounds the true zero-one loss from above. See ZeroOneMode for other readings.
func ZeroOne() Pointwise {
	l := multiple("zero-one", 1/math.Ln2)
	l.Errors = true
	return l
}

func multiple(name string, a float64) Pointwise {
	return Pointwise{Name: name, Convex: true, Margin: true, Multiple: a,
		At: func(s, y float64) (float64, float64) {
			v, d := LogisticAt(y * s)
			return a * v, a * y * d
		},
		Lipschitz: constant(a), Bound: func(b float64) float64 { return a * Softplus(b) }}
}

// Hinge is max(0, 1-ys).
func Hinge() Pointwise {
	return Pointwise{Name: "hinge", Convex: true, Margin: true,
		At: func(s, y float64) (float64, float64) {
			if z := y * s; z < 1 {
				return 1 - z, -y
			}
			return 0, 0
		},
		Lipschitz: constant(1), Bound: func(b float64) float64 { return 1 + b },
		Relax: smoothHinge, Corner: &[2]float64{-1, 0},
	}
}

// smoothHinge is quadratic where 1-width < ys < 1, and lies below the hinge by at
// most width/2.
func smoothHinge(width float64) Pointwise {
	l := Hinge()
	l.Relax, l.Corner, l.Width = nil, nil, width
	l.At = func(s, y float64) (float64, float64) {
		switch z := y * s; {
		case z >= 1:
			return 0, 0
		case z > 1-width:
			return (1 - z) * (1 - z) / (2 * width), -y * (1 - z) / width
		default:
			return 1 - z - width/2, -y
		}
	}
	l.Under = func(s, y float64) (float64, float64) { // max(0, 1-z) ≥ a(1-z) for 0 ≤ a ≤ 1
		_, d := l.At(s, y)
		return -y * d * (1 - y*s), d
	}
	return l
}

// SmoothHinge is (1-ys)²/2 where 0 < ys < 1, zero above, and 1/2-ys below: J. D. M. Rennie,
// "Smooth hinge classification", 2005. In equal units it is above the cross-entropy where
// ys is below -0.43, and below it elsewhere.
func SmoothHinge() Pointwise {
	l := smoothHinge(1)
	l.Name = "smooth-hinge"
	l.Under, l.Width = nil, 0 // it is the loss itself here, and smooth
	l.Bound = func(b float64) float64 { return b + 0.5 }
	return l
}

// SquaredHinge is max(0, 1-ys)².
func SquaredHinge() Pointwise {
	return Pointwise{Name: "squared-hinge", Convex: true, Margin: true,
		At: func(s, y float64) (float64, float64) {
			if z := y * s; z < 1 {
				return (1 - z) * (1 - z), -2 * y * (1 - z)
			}
			return 0, 0
		},
		Lipschitz: func(b float64) float64 { return 2 * (1 + b) },
		Bound:     func(b float64) float64 { return (1 + b) * (1 + b) }}
}

// QNorm is |s-y|^q for q ≥ 1: the absolute difference for q = 1.
func QNorm(q float64) (Pointwise, error) {
	if !(q >= 1) || math.IsInf(q, 1) {
		return Pointwise{}, fmt.Errorf("score: %v-norm: q must be a number from 1 on", q)
	}
	if q == 1 {
		l := absolute()
		l.Corner = &[2]float64{-1, 1}
		l.Relax = func(width float64) Pointwise {
			h := absolute()
			h.Relax = nil
			h.At = func(s, y float64) (float64, float64) {
				d := s - y
				if a := math.Abs(d); a < width {
					return d * d / (2 * width), d / width
				}
				return math.Abs(d) - width/2, math.Copysign(1, d)
			}
			h.Under = func(s, y float64) (float64, float64) { // |u| ≥ d·u for |d| ≤ 1
				_, d := h.At(s, y)
				return d * (s - y), d
			}
			return h
		}
		return l, nil
	}
	name := strconv.FormatFloat(q, 'g', -1, 64) + "-norm"
	return Pointwise{Name: name, Convex: true,
		At: func(s, y float64) (float64, float64) {
			d := s - y
			if d == 0 {
				return 0, 0
			}
			p := math.Pow(math.Abs(d), q-1)
			return p * math.Abs(d), math.Copysign(q*p, d)
		},
		Lipschitz: func(b float64) float64 { return q * math.Pow(1+b, q-1) },
		Bound:     func(b float64) float64 { return math.Pow(1+b, q) }}, nil
}

func absolute() Pointwise {
	return Pointwise{Name: "1-norm", Convex: true,
		At: func(s, y float64) (float64, float64) {
			switch d := s - y; {
			case d > 0:
				return d, 1
			case d < 0:
				return -d, -1
			}
			return 0, 0
		},
		Lipschitz: constant(1), Bound: func(b float64) float64 { return 1 + b }}
}

// SquaredError is (s-y)², twice what Squared is.
func SquaredError() Pointwise {
	l, _ := QNorm(2)
	l.Name = "squared"
	l.At = func(s, y float64) (float64, float64) { return (s - y) * (s - y), 2 * (s - y) }
	return l
}

// ScaledHuber is Huber by its δ: (s-y)²/2δ where |s-y| < δ, and |s-y| - δ/2 beyond.
func ScaledHuber(delta float64) (Pointwise, error) {
	if !(delta > 0) || math.IsInf(delta, 1) {
		return Pointwise{}, fmt.Errorf("score: Huber's loss with δ = %v: δ must be positive", delta)
	}
	one, _ := QNorm(1)
	l := one.Relax(delta)
	l.Under = nil // it is the loss itself here, and smooth
	l.Name = "huber:" + strconv.FormatFloat(delta, 'g', -1, 64)
	l.Bound = func(b float64) float64 { return math.Max(0, 1+b-delta/2) }
	return l, nil
}

// Ramp is min(1, max(0, 1-ys/ρ)): at least 1[ys ≤ 0], and not convex.
func Ramp(rho float64) (Pointwise, error) {
	if !(rho > 0) || math.IsInf(rho, 1) {
		return Pointwise{}, fmt.Errorf("score: the ramp with ρ = %v: ρ must be positive", rho)
	}
	return Pointwise{Name: "ramp:" + strconv.FormatFloat(rho, 'g', -1, 64), Margin: true,
		At: func(s, y float64) (float64, float64) {
			switch z := y * s; {
			case z >= rho:
				return 0, 0
			case z > 0:
				return 1 - z/rho, -y / rho
			}
			return 1, 0
		},
		Lipschitz: constant(1 / rho), Bound: constant(1)}, nil
}

// ProbNorm is |σ(s) - (y+1)/2|^q, the q-norm of the probability σ(s) = 1/(1+e^{-s})
// against labels 0 and 1. It is not convex in s.
func ProbNorm(q float64) (Pointwise, error) {
	if !(q >= 1) || math.IsInf(q, 1) {
		return Pointwise{}, fmt.Errorf("score: %v-norm-prob: q must be a number from 1 on", q)
	}
	return Pointwise{Name: strconv.FormatFloat(q, 'g', -1, 64) + "-norm-prob", Margin: true,
		At: func(s, y float64) (float64, float64) {
			_, d := LogisticAt(y * s) // |σ(s)-(y+1)/2| = 1/(1+e^{ys}) = -d
			p := -d
			return math.Pow(p, q), -y * q * math.Pow(p, q) * (1 - p)
		},
		// t = p^q has |dt/ds| = q p^q (1-p), largest at p = q/(q+1).
		Lipschitz: constant(math.Pow(q/(q+1), q+1)), Bound: constant(1)}, nil
}

// PunishesConfidence reports whether the loss of a class grows with the score of a right answer: it
// is larger for a margin ys of 3 than for 1.
func (l *Pointwise) PunishesConfidence() bool {
	at := func(s float64) float64 {
		a, _ := l.At(s, 1)
		b, _ := l.At(-s, -1)
		return a + b
	}
	return at(3) > at(1)
}

// ParsePointwise finds a loss by its name: zero-one, hinge, smooth-hinge, cross-entropy,
// squared-hinge, squared, huber (or huber:δ), ramp (or ramp:ρ), q-norm-prob, and q-norm for a
// number q, such as 1-norm.
func ParsePointwise(name string) (Pointwise, error) {
	base, arg, given := strings.Cut(name, ":")
	value := 1.0
	if given {
		v, err := strconv.ParseFloat(arg, 64)
		if err != nil {
			return Pointwise{}, fmt.Errorf("score: loss %q: %q is not a number", name, arg)
		}
		value = v
	}
	switch base {
	case "huber":
		return ScaledHuber(value)
	case "ramp":
		return Ramp(value)
	}
	if !given {
		switch base {
		case "zero-one":
			return ZeroOne(), nil
		case "hinge":
			return Hinge(), nil
		case "smooth-hinge":
			return SmoothHinge(), nil
		case "cross-entropy":
			return CrossEntropy(), nil
		case "squared-hinge":
			return SquaredHinge(), nil
		case "squared":
			return SquaredError(), nil
		case "auc":
			return Pointwise{}, errors.New("score: AUC is a metric only: it is reported, not trained on")
		}
		norms := map[string]func(float64) (Pointwise, error){"-norm-prob": ProbNorm, "-norm": QNorm}
		for suffix, of := range norms {
			if q, ok := strings.CutSuffix(base, suffix); ok {
				if v, err := strconv.ParseFloat(q, 64); err == nil {
					return of(v)
				}
			}
		}
	}
	return Pointwise{}, fmt.Errorf("score: there is no loss %q; there are zero-one, hinge, smooth-hinge, "+
		"cross-entropy, 1-norm (any q-norm), squared, squared-hinge, huber:δ, ramp:ρ and 1-norm-prob", name)
}
