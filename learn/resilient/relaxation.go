package resilient

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Curve is h, the cost of relaxing a constraint by u ≥ 0: convex and nondecreasing. A curve
// that no example shares with another is a Relaxation, too.
type Curve interface {
	// Value returns h(u).
	Value(u float64) float64
	// Deriv returns h'(u), the multiplier that belongs to the relaxation u.
	Deriv(u float64) float64
	// Slack returns the u ≥ 0 of least h(u) - lambda u, for lambda from 0 to MaxLambda: the exact
	// step of the relaxation. Where several are as good it is one of them.
	Slack(lambda float64) float64
	// MaxLambda is the largest slope. Beyond it h(u) - lambda u has no minimum.
	MaxLambda() float64
	// Curvature is the Lipschitz constant of h', +Inf without one: steps of u have rates up to its
	// inverse.
	Curvature() float64
}

// Relaxation gives the curve for the losses of all examples, [l]_+ each. Its Name is read by Parse.
type Relaxation interface {
	Name() string
	// At returns the curve at losses, whose weights are w (nil: all 1).
	At(losses, w []float64) Curve
	// Shared reports whether At depends on the losses of all examples, which must then be evaluated
	// before the weight of one is known.
	Shared() bool
}

// fixed is embedded by curves that are the same at all losses.
type fixed struct{}

func (fixed) Shared() bool { return false }

// Quadratic is Scale·u²/2: examples count by their losses, hard ones more. A Scale of 0 is 1. The
// text of the source also has |u|², whose Scale is 2.
type Quadratic struct {
	Scale float64
	fixed
}

func (q Quadratic) scale() float64 { return one(q.Scale) }

// Name implements Relaxation.
func (q Quadratic) Name() string { return named("quadratic", q.scale(), 1) }

// At implements Relaxation.
func (q Quadratic) At(_, _ []float64) Curve { return q }

// Value implements Curve.
func (q Quadratic) Value(u float64) float64 { return q.scale() * u * u / 2 }

// Deriv implements Curve.
func (q Quadratic) Deriv(u float64) float64 { return q.scale() * u }

// Slack implements Curve.
func (q Quadratic) Slack(lambda float64) float64 { return lambda / q.scale() }

// MaxLambda implements Curve.
func (q Quadratic) MaxLambda() float64 { return math.Inf(1) }

// Curvature implements Curve.
func (q Quadratic) Curvature() float64 { return q.scale() }

// Huber is Scale times u²/2 up to Delta, and linear beyond (4.55): no example counts more than
// Scale·Delta, and none is left out. A Scale of 0 is 1.
type Huber struct {
	Delta, Scale float64
	fixed
}

func (h Huber) scale() float64 { return one(h.Scale) }

// Name implements Relaxation.
func (h Huber) Name() string {
	return named("huber:"+strconv.FormatFloat(h.Delta, 'g', -1, 64), h.scale(), 1)
}

// At implements Relaxation.
func (h Huber) At(_, _ []float64) Curve { return h }

// Value implements Curve.
func (h Huber) Value(u float64) float64 {
	if u <= h.Delta {
		return h.scale() * u * u / 2
	}
	return h.scale() * h.Delta * (u - h.Delta/2)
}

// Deriv implements Curve.
func (h Huber) Deriv(u float64) float64 { return h.scale() * min(u, h.Delta) }

// Slack implements Curve.
func (h Huber) Slack(lambda float64) float64 { return min(lambda/h.scale(), h.Delta) }

// MaxLambda implements Curve.
func (h Huber) MaxLambda() float64 { return h.scale() * h.Delta }

// Curvature implements Curve.
func (h Huber) Curvature() float64 { return h.scale() }

// Capped is Huber's relaxation with the scale given, or for 0 the one whose largest weight is 1.
func Capped(delta, scale float64) Huber {
	if scale == 0 {
		scale = 1 / delta
	}
	return Huber{Delta: delta, Scale: scale}
}

// Linear is h(u) = u: every example counts 1, which is ordinary training where losses are not
// negative.
type Linear struct{ fixed }

// Name implements Relaxation.
func (Linear) Name() string { return "linear" }

// At implements Relaxation.
func (l Linear) At(_, _ []float64) Curve { return l }

// Value implements Curve.
func (Linear) Value(u float64) float64 { return u }

// Deriv implements Curve.
func (Linear) Deriv(float64) float64 { return 1 }

// Slack implements Curve.
func (Linear) Slack(float64) float64 { return 0 }

// MaxLambda implements Curve.
func (Linear) MaxLambda() float64 { return 1 }

// Curvature implements Curve.
func (Linear) Curvature() float64 { return 0 }

// Level relaxes every constraint by exactly U and charges nothing: constrained learning with the
// right-hand side U, whose value is P(u). Descent solves it; an Objective of it is
// infinite where a loss exceeds U.
type Level struct {
	U float64
	fixed
}

// Name implements Relaxation.
func (l Level) Name() string { return "level:" + strconv.FormatFloat(l.U, 'g', -1, 64) }

// At implements Relaxation.
func (l Level) At(_, _ []float64) Curve { return l }

// Value implements Curve.
func (l Level) Value(u float64) float64 {
	if u > l.U {
		return math.Inf(1)
	}
	return 0
}

// Deriv implements Curve. At U every slope is one; the least is given.
func (l Level) Deriv(u float64) float64 {
	if u > l.U {
		return math.Inf(1)
	}
	return 0
}

// Slack implements Curve: with no multiplier every u up to U is as good.
func (l Level) Slack(float64) float64 { return l.U }

// MaxLambda implements Curve.
func (l Level) MaxLambda() float64 { return math.Inf(1) }

// Curvature implements Curve.
func (l Level) Curvature() float64 { return math.Inf(1) }

// CVaR is the mean of the largest losses, a share Tail of them (R. Rockafellar and S. Uryasev,
// "Optimization of conditional value-at-risk", Journal of Risk 2:21–41, 2000). It is
//
//	min over t of  t + mean_n φ(l_n - t),
//
// where φ is 0 below 0 and has slope 1/Tail above. The slope rises over a stretch of length Ramp,
// in the unit of losses, so that the value is smooth; a Ramp of 0 is 0.1.
type CVaR struct{ Tail, Ramp float64 }

// Name implements Relaxation.
func (c CVaR) Name() string {
	return named("cvar:"+strconv.FormatFloat(c.Tail, 'g', -1, 64), c.ramp(), defaultRamp)
}

const defaultRamp = 0.1

func (c CVaR) ramp() float64 {
	if c.Ramp == 0 {
		return defaultRamp
	}
	return c.Ramp
}

// Shared implements Relaxation.
func (CVaR) Shared() bool { return true }

// At implements Relaxation: it finds the threshold t, where the weights' mean is 1, by bisection to
// the last bit. O(examples).
func (c CVaR) At(losses, w []float64) Curve {
	t := tail{ramp: c.ramp(), most: 1 / c.Tail}
	if len(losses) == 0 {
		return t
	}
	lo, hi, total := math.Inf(1), math.Inf(-1), 0.0
	for i, l := range losses {
		lo, hi = min(lo, l), max(hi, l)
		total += weight(w, i)
	}
	lo -= t.ramp // where all weights are 1/Tail ≥ 1
	for range 200 {
		mid := lo + (hi-lo)/2
		if !(mid > lo && mid < hi) {
			break
		}
		t.at = mid
		sum := 0.0
		for i, l := range losses {
			sum += weight(w, i) * t.Deriv(l)
		}
		if sum > total {
			lo = mid
		} else {
			hi = mid
		}
	}
	t.at = hi
	return t
}

// tail is CVaR's curve: the threshold and φ above it.
type tail struct{ at, ramp, most float64 }

func (t tail) Value(u float64) float64 {
	s := u - t.at
	switch {
	case s <= 0:
		return t.at
	case s <= t.ramp:
		return t.at + t.most*s*s/(2*t.ramp)
	}
	return t.at + t.most*(s-t.ramp/2)
}

func (t tail) Deriv(u float64) float64 {
	return t.most * min(max(u-t.at, 0)/t.ramp, 1)
}

// Slack is the threshold even without a multiplier: up to there relaxing is free.
func (t tail) Slack(lambda float64) float64 {
	return max(t.at+t.ramp*min(lambda/t.most, 1), 0)
}
func (t tail) MaxLambda() float64 { return t.most }
func (t tail) Curvature() float64 { return t.most / t.ramp }

// Parse returns the relaxation of that Name: linear, quadratic or quadratic:SCALE, huber:DELTA or
// huber:DELTA:SCALE, cvar:TAIL or cvar:TAIL:RAMP, level:U.
func Parse(name string) (Relaxation, error) {
	words := strings.Split(name, ":")
	numbers := make([]float64, 0, len(words))
	for _, w := range words[1:] {
		v, err := strconv.ParseFloat(w, 64)
		if err != nil {
			return nil, unknown(name)
		}
		numbers = append(numbers, v)
	}
	arg := func(i int) float64 {
		if i < len(numbers) {
			return numbers[i]
		}
		return 0
	}
	var r Relaxation
	least, most := 0, 0
	switch words[0] {
	case "linear":
		r = Linear{}
	case "quadratic":
		r, most = Quadratic{Scale: arg(0)}, 1
	case "huber":
		r, least, most = Huber{Delta: arg(0), Scale: arg(1)}, 1, 2
	case "cvar":
		r, least, most = CVaR{Tail: arg(0), Ramp: arg(1)}, 1, 2
	case "level":
		r, least, most = Level{U: arg(0)}, 1, 1
	}
	if r == nil || len(numbers) < least || len(numbers) > most {
		return nil, unknown(name)
	}
	return r, Usable(r)
}

func unknown(name string) error {
	return fmt.Errorf("resilient: relaxation %q is none of linear, quadratic[:SCALE], huber:DELTA[:SCALE], "+
		"cvar:TAIL[:RAMP], level:U",
		name)
}

// Usable refuses a relaxation of this package whose numbers have no meaning.
func Usable(r Relaxation) error {
	scaled := func(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }
	positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
	switch r := r.(type) {
	case nil:
		return errors.New("resilient: there is no relaxation")
	case Quadratic:
		if !scaled(r.Scale) {
			return fmt.Errorf("resilient: the scale %v of the quadratic relaxation must be positive and finite",
				r.Scale)
		}
	case Huber:
		if !positive(r.Delta) || !scaled(r.Scale) {
			return fmt.Errorf("resilient: Huber's relaxation has delta %v and scale %v; they must be positive and finite",
				r.Delta, r.scale())
		}
	case CVaR:
		if !(r.Tail > 0 && r.Tail <= 1) || !scaled(r.Ramp) {
			return fmt.Errorf("resilient: CVaR has tail %v and ramp %v; the tail is a share above 0 and at most 1, "+
				"the ramp positive and finite",
				r.Tail, r.ramp())
		}
	case Level:
		if !(r.U >= 0) || math.IsInf(r.U, 1) {
			return fmt.Errorf("resilient: the level %v must be finite and not negative", r.U)
		}
	}
	return nil
}

func named(name string, v, usual float64) string {
	if v == usual {
		return name
	}
	return name + ":" + strconv.FormatFloat(v, 'g', -1, 64)
}

func one(v float64) float64 {
	if v == 0 {
		return 1
	}
	return v
}

func weight(w []float64, i int) float64 {
	if w == nil {
		return 1
	}
	return w[i]
}
