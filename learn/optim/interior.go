package optim

import (
	"context"
	"errors"
	"math"
)

// Inside is a constraint g(x) ≤ 0 of a convex function g, seen from within.
type Inside interface {
	// Slack returns -g(x); it is positive inside.
	Slack(x []float64) float64
	// AddBarrier adds weight times the derivatives of -log(-g) at a point inside to grad and to
	// the lower triangle of hess, len(x)×len(x).
	AddBarrier(x []float64, weight float64, grad, hess []float64)
}

// Interior minimises F over the points that satisfy all constraints, by the barrier method.
// Newton's method minimises F - (1/t) Σ log slack for growing t (S. Boyd and L. Vandenberghe,
// Convex Optimization, 2004, chapter 11). It is for dozens of coordinates.
type Interior struct {
	F           Curved
	Constraints []Inside
	// Gap ends a run when the possible cost of the barrier, the number of constraints over t, falls
	// below it relative to |F| and to Scale; zero is 1e-9.
	Gap, Scale float64
	// Enough, if not nil, ends a run when it holds: the first stage of a search for a point
	// needs no optimum.
	Enough func(x []float64) bool
	Ctx    context.Context // nil is never cancelled
}

// ErrOutside reports a start that is not strictly within the constraints.
var ErrOutside = errors.New("the start is not strictly inside the constraints")

// Minimize moves x, which must meet all constraints strictly, to the minimum up to the gap that
// it returns. x stays strictly inside.
func (p *Interior) Minimize(x []float64) (value, gap float64, err error) {
	for _, c := range p.Constraints {
		if !(c.Slack(x) > 0) {
			return 0, 0, ErrOutside
		}
	}
	want, scale := p.Gap, p.Scale
	if want == 0 {
		want = 1e-9
	}
	b := &barrier{p, 0}
	f := math.Abs(p.F.Curve(x, nil, nil))
	count := float64(len(p.Constraints))
	b.weight = max(f, scale, 1e-300) // 1/t
	for {
		if p.Ctx != nil && p.Ctx.Err() != nil {
			return 0, 0, context.Cause(p.Ctx)
		}
		// The function is divided by the weight, so that barriers have weight 1. It need not
		// be centred closer than the barrier's own cost.
		if _, _, err := (Newton{Above: 1e-6, Steps: 200}).Minimize(b, x); err != nil && !errors.Is(err, ErrSteps) {
			return 0, 0, err
		}
		value = p.F.Curve(x, nil, nil)
		gap = count * b.weight
		if gap <= want*max(math.Abs(value), scale) || p.Enough != nil && p.Enough(x) || b.weight < 1e-290 {
			return value, gap, nil
		}
		b.weight /= 20
	}
}

// barrier is F/weight - Σ log slack.
type barrier struct {
	*Interior
	weight float64
}

func (b *barrier) Dim() int { return b.F.Dim() }

func (b *barrier) Curve(x, grad, hess []float64) float64 {
	logs := 0.0
	for _, c := range b.Constraints {
		s := c.Slack(x)
		if !(s > 0) {
			return math.Inf(1)
		}
		logs += math.Log(s)
	}
	v := b.F.Curve(x, grad, hess)
	if grad == nil {
		return v/b.weight - logs
	}
	for i := range grad {
		grad[i] /= b.weight
	}
	for i := range hess {
		hess[i] /= b.weight
	}
	for _, c := range b.Constraints {
		c.AddBarrier(x, 1, grad, hess)
	}
	return v/b.weight - logs
}

// Linear is the constraint Σ Coef[k] x[At[k]] ≤ Bound.
type Linear struct {
	At    []int
	Coef  []float64
	Bound float64
}

// Slack implements Inside.
func (c *Linear) Slack(x []float64) float64 {
	s := c.Bound
	for k, i := range c.At {
		s -= c.Coef[k] * x[i]
	}
	return s
}

// AddBarrier implements Inside.
func (c *Linear) AddBarrier(x []float64, weight float64, grad, hess []float64) {
	s, n := c.Slack(x), len(x)
	for k, i := range c.At {
		g := c.Coef[k] / s
		grad[i] += weight * g
		for l, j := range c.At {
			if j <= i {
				hess[i*n+j] += weight * g * c.Coef[l] / s
			}
		}
	}
}

// Harmonic is the constraint Σ 1/x_i ≤ Bound over positive x.
type Harmonic struct{ Bound float64 }

// Slack implements Inside.
func (c Harmonic) Slack(x []float64) float64 {
	s := c.Bound
	for _, v := range x {
		if !(v > 0) {
			return math.Inf(-1)
		}
		s -= 1 / v
	}
	return s
}

// AddBarrier implements Inside.
func (c Harmonic) AddBarrier(x []float64, weight float64, grad, hess []float64) {
	s, n := c.Slack(x), len(x)
	for i, v := range x {
		g := -1 / (v * v * s)
		grad[i] += weight * g
		hess[i*n+i] += weight * 2 / (v * v * v * s)
		for j := range i + 1 {
			hess[i*n+j] += weight * g * -1 / (x[j] * x[j] * s)
		}
	}
}

// Reciprocals is Σ A_i/x_i + ⟨G, x⟩ over positive x, convex for A ≥ 0. G nil is 0.
type Reciprocals struct{ A, G []float64 }

// Dim implements Curved.
func (f *Reciprocals) Dim() int { return len(f.A) }

// Curve implements Curved.
func (f *Reciprocals) Curve(x, grad, hess []float64) float64 {
	s, n := 0.0, len(x)
	for i, a := range f.A {
		if !(x[i] > 0) {
			return math.Inf(1)
		}
		s += a / x[i]
		if grad != nil {
			grad[i] = -a / (x[i] * x[i])
			hess[i*n+i] = 2 * a / (x[i] * x[i] * x[i])
		}
	}
	for i, g := range f.G {
		s += g * x[i]
		if grad != nil {
			grad[i] += g
		}
	}
	return s
}
