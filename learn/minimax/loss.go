package minimax

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Loss is a base loss ℓ(s, y) of a real score s, where y is -1 or +1, or any number
// for losses that are not of margins. It is what a caller supplies for a loss of its
// own: value, derivative and Lipschitz constant.
type Loss struct {
	Name string
	// At returns ℓ(s, y) and a (sub)derivative in s.
	At func(s, y float64) (value, derivative float64)
	// Lipschitz returns a constant in s for |s| ≤ b and |y| ≤ 1, which may be
	// infinite when b is.
	Lipschitz func(b float64) float64
	// Bound returns the largest value for |s| ≤ b and |y| ≤ 1.
	Bound func(b float64) float64
	// Least is a lower bound of the values; zero, which suits all losses of this package,
	// says that they are not negative. Certificates with Options.Norm rely on it.
	Least float64
	// Convex says that ℓ is convex in s: without it there is no certificate.
	Convex bool
	// Margin says that y must be -1 or +1.
	Margin bool
	// Relax returns a loss with a continuous derivative that never exceeds this one
	// and is below it by at most the width; nil says that this one is smooth. A
	// relaxed loss proves lower bounds.
	Relax func(width float64) Loss

	// Under, of a relaxed loss, returns At's derivative d with the value at s of the highest
	// line of slope d that lies below the loss that was relaxed: that loss' own tangent,
	// which proves more than the relaxed loss does. Nil is At.
	Under func(s, y float64) (value, derivative float64)

	width    float64 // of a relaxed hinge: what Softmax relaxes its maximum by
	logistic float64 // multiple of ln(1+e^{-ys}): such losses share their exponentials
	errors   bool    // its λ-player may be shown the true zero-one loss
	// corner, if not nil, says that for y = ±1 the loss is linear in ys on both sides of
	// 1, with these slopes, and zero there.
	corner *[2]float64
}

func constant(v float64) func(float64) float64 { return func(float64) float64 { return v } }

// softplus returns ln(1+e^x) without overflow.
func softplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// logistic returns ln(1+e^{-z}) and its derivative -1/(1+e^z).
func logistic(z float64) (v, d float64) {
	e := math.Exp(-math.Abs(z))
	v = math.Log1p(e)
	if z >= 0 {
		return v, -e / (1 + e)
	}
	return v - z, -1 / (1 + e)
}

// CrossEntropy is ln(1+e^{-ys}).
func CrossEntropy() Loss { return multiple("cross-entropy", 1) }

// ZeroOne is log2(1+e^{-ys}), which is at least 1[ys ≤ 0]: the game that it enters
// bounds the true zero-one loss from above. See ZeroOneMode for other readings.
func ZeroOne() Loss {
	l := multiple("zero-one", 1/math.Ln2)
	l.errors = true
	return l
}

func multiple(name string, a float64) Loss {
	return Loss{Name: name, Convex: true, Margin: true, logistic: a,
		At: func(s, y float64) (float64, float64) {
			v, d := logistic(y * s)
			return a * v, a * y * d
		},
		Lipschitz: constant(a), Bound: func(b float64) float64 { return a * softplus(b) }}
}

// Hinge is max(0, 1-ys).
func Hinge() Loss {
	return Loss{Name: "hinge", Convex: true, Margin: true,
		At: func(s, y float64) (float64, float64) {
			if z := y * s; z < 1 {
				return 1 - z, -y
			}
			return 0, 0
		},
		Lipschitz: constant(1), Bound: func(b float64) float64 { return 1 + b },
		Relax: smoothHinge, corner: &[2]float64{-1, 0},
	}
}

// smoothHinge is quadratic where 1-width < ys < 1, and lies below the hinge by at
// most width/2.
func smoothHinge(width float64) Loss {
	l := Hinge()
	l.Relax, l.corner, l.width = nil, nil, width
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
func SmoothHinge() Loss {
	l := smoothHinge(1)
	l.Name = "smooth-hinge"
	l.Under, l.width = nil, 0 // it is the loss itself here, and smooth
	l.Bound = func(b float64) float64 { return b + 0.5 }
	return l
}

// SquaredHinge is max(0, 1-ys)².
func SquaredHinge() Loss {
	return Loss{Name: "squared-hinge", Convex: true, Margin: true,
		At: func(s, y float64) (float64, float64) {
			if z := y * s; z < 1 {
				return (1 - z) * (1 - z), -2 * y * (1 - z)
			}
			return 0, 0
		},
		Lipschitz: func(b float64) float64 { return 2 * (1 + b) }, Bound: func(b float64) float64 { return (1 + b) * (1 + b) }}
}

// QNorm is |s-y|^q for q ≥ 1: the absolute difference for q = 1.
func QNorm(q float64) (Loss, error) {
	if !(q >= 1) || math.IsInf(q, 1) {
		return Loss{}, fmt.Errorf("minimax: the q-norm with q = %v: q must be a number from 1 on", q)
	}
	if q == 1 {
		l := absolute()
		l.corner = &[2]float64{-1, 1}
		l.Relax = func(width float64) Loss {
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
	return Loss{Name: name, Convex: true,
		At: func(s, y float64) (float64, float64) {
			d := s - y
			if d == 0 {
				return 0, 0
			}
			p := math.Pow(math.Abs(d), q-1)
			return p * math.Abs(d), math.Copysign(q*p, d)
		},
		Lipschitz: func(b float64) float64 { return q * math.Pow(1+b, q-1) }, Bound: func(b float64) float64 { return math.Pow(1+b, q) }}, nil
}

func absolute() Loss {
	return Loss{Name: "1-norm", Convex: true,
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

// Squared is (s-y)².
func Squared() Loss {
	l, _ := QNorm(2)
	l.Name = "squared"
	l.At = func(s, y float64) (float64, float64) { return (s - y) * (s - y), 2 * (s - y) }
	return l
}

// Huber is (s-y)²/2δ where |s-y| < δ, and |s-y| - δ/2 beyond.
func Huber(delta float64) (Loss, error) {
	if !(delta > 0) || math.IsInf(delta, 1) {
		return Loss{}, fmt.Errorf("minimax: Huber's loss with δ = %v: δ must be positive", delta)
	}
	one, _ := QNorm(1)
	l := one.Relax(delta)
	l.Under = nil // it is the loss itself here, and smooth
	l.Name = "huber:" + strconv.FormatFloat(delta, 'g', -1, 64)
	l.Bound = func(b float64) float64 { return math.Max(0, 1+b-delta/2) }
	return l, nil
}

// Ramp is min(1, max(0, 1-ys/ρ)): at least 1[ys ≤ 0], and not convex.
func Ramp(rho float64) (Loss, error) {
	if !(rho > 0) || math.IsInf(rho, 1) {
		return Loss{}, fmt.Errorf("minimax: the ramp with ρ = %v: ρ must be positive", rho)
	}
	return Loss{Name: "ramp:" + strconv.FormatFloat(rho, 'g', -1, 64), Margin: true,
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
func ProbNorm(q float64) (Loss, error) {
	if !(q >= 1) || math.IsInf(q, 1) {
		return Loss{}, fmt.Errorf("minimax: the q-norm of probabilities with q = %v: q must be a number from 1 on", q)
	}
	return Loss{Name: strconv.FormatFloat(q, 'g', -1, 64) + "-norm-prob", Margin: true,
		At: func(s, y float64) (float64, float64) {
			_, d := logistic(y * s) // |σ(s)-(y+1)/2| = 1/(1+e^{ys}) = -d
			p := -d
			return math.Pow(p, q), -y * q * math.Pow(p, q) * (1 - p)
		},
		// t = p^q has |dt/ds| = q p^q (1-p), largest at p = q/(q+1).
		Lipschitz: constant(math.Pow(q/(q+1), q+1)), Bound: constant(1)}, nil
}

// DefaultLosses are zero-one by its surrogate, smooth-hinge and cross-entropy. None grows
// with the margin of a right answer, and none is larger than another everywhere in equal
// units, so that robustness to their mixtures costs little error. With the 1-norm, as in
// ThesisLosses, it costs much: |1-ys| of a score without bound grows with the confidence of
// right answers. The hinge would take all weight wherever classes overlap.
func DefaultLosses() []Loss { return []Loss{ZeroOne(), SmoothHinge(), CrossEntropy()} }

// ThesisLosses are those of the thesis' experiments: zero-one by its surrogate, hinge,
// 1-norm and cross-entropy.
func ThesisLosses() []Loss {
	one, _ := QNorm(1)
	return []Loss{ZeroOne(), Hinge(), one, CrossEntropy()}
}

// PunishesConfidence reports whether the loss of a class grows with the score of a right
// answer: it is larger for a margin ys of 3 than of 1.
func (l *Loss) PunishesConfidence() bool {
	at := func(s float64) float64 {
		a, _ := l.At(s, 1)
		b, _ := l.At(-s, -1)
		return a + b
	}
	return at(3) > at(1)
}

// ParseLoss finds a loss by its name: zero-one, hinge, smooth-hinge, cross-entropy,
// squared-hinge, squared, huber (or huber:δ), ramp (or ramp:ρ), q-norm for a number q
// such as 1-norm, and q-norm-prob.
func ParseLoss(name string) (Loss, error) {
	base, arg, given := strings.Cut(name, ":")
	value := 1.0
	if given {
		v, err := strconv.ParseFloat(arg, 64)
		if err != nil {
			return Loss{}, fmt.Errorf("minimax: loss %q: %q is not a number", name, arg)
		}
		value = v
	}
	switch base {
	case "huber":
		return Huber(value)
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
			return Squared(), nil
		case "auc":
			return Loss{}, errors.New("minimax: AUC is a metric only: it is reported, not trained on")
		}
		for suffix, of := range map[string]func(float64) (Loss, error){"-norm-prob": ProbNorm, "-norm": QNorm} {
			if q, ok := strings.CutSuffix(base, suffix); ok {
				if v, err := strconv.ParseFloat(q, 64); err == nil {
					return of(v)
				}
			}
		}
	}
	return Loss{}, fmt.Errorf("minimax: there is no loss %q; there are zero-one, hinge, smooth-hinge, cross-entropy, 1-norm (any q-norm), squared, squared-hinge, huber:δ, ramp:ρ and 1-norm-prob", name)
}
