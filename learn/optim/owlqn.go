package optim

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// OWLQN minimises f(x) + L1·Σ|x_i| for a smooth f by the orthant-wise
// limited-memory quasi-Newton method of G. Andrew and J. Gao, "Scalable training
// of L1-regularized log-linear models", ICML 2007. With L1 = 0 it is L-BFGS with
// a backtracking line search under the weak Wolfe curvature test on the pairs.
//
// The vector work is shared by Workers goroutines in stripes whose partial sums
// are added in a fixed order, so results do not depend on their number. The two
// loops are those of W. Chen, Z. Wang and J. Zhou, "Large-scale L-BFGS using
// MapReduce", NIPS 2014: the direction is a combination of the stored vectors
// with coefficients found from their inner products, hence two passes over
// memory instead of 4·Memory dependent ones; pairs.go has their inner loops.
//
// Value and GradNorm in rows and Result include the l1 term, GradNorm being that
// of the pseudo-gradient (zero exactly at a minimum). Checkpoints hold the point
// only, as LBFGS's do.
type OWLQN struct {
	L1      float64
	Penalty []float64 // multiplies L1 for each coordinate; nil is all ones. Zero leaves one free
	Memory  int       // pairs kept; zero is 10
	Workers int       // goroutines for vector work; zero is 1
	// Single keeps the pairs in float32, half the memory, and nearly half the time of
	// problems with more weights than the processor's caches hold. Pairs with entries
	// beyond the range of float32 are left out. Points, gradients, inner products and
	// sums stay float64.
	Single bool
}

// Minimize runs from x0, which it keeps intact.
func (m OWLQN) Minimize(f Objective, x0 []float64, c *Control) (*Result, error) {
	const solver = "OWLQN"
	n := f.Dim()
	r := newRun(solver, c, 1000)
	if r.Examples == 0 {
		r.Examples = examplesOf(f)
	}
	res := &Result{}
	if k := r.Resume; k != nil {
		if err := k.resume(solver, n); err != nil {
			return nil, err
		}
		x0, res.Iterations, r.evals, r.spent = k.X, k.Iteration, k.Evaluations, k.Seconds
		res.Note = lbfgsNote
	}
	if err := checkDim(solver, n, x0); err != nil {
		return nil, err
	}
	if m.Penalty != nil && len(m.Penalty) != n {
		return nil, fmt.Errorf("optim: OWLQN: Penalty has length %d, the objective dimension %d", len(m.Penalty), n)
	}
	if !nonNegative(m.L1) || !nonNegative(m.Penalty...) {
		return nil, fmt.Errorf("optim: OWLQN: L1 is %v; it and Penalty must not be negative, infinite or NaN", m.L1)
	}
	if m.Memory < 0 {
		return nil, fmt.Errorf("optim: OWLQN: Memory is %d; it must not be negative", m.Memory)
	}
	memory := m.Memory
	if memory == 0 {
		memory = 10
	}
	v := vectors{workers: max(1, m.Workers)}
	x, xNew := slices.Clone(x0), make([]float64, n)
	g, gNew := make([]float64, n), make([]float64, n)
	dir := make([]float64, n)
	pseudo := g // without l1 the pseudo-gradient is the gradient itself
	if m.L1 > 0 {
		pseudo = make([]float64, n)
	}
	r.vectors = v
	fx, err := r.eval(f, x, g)
	if err == nil && math.IsInf(fx, 1) {
		err = ErrNotFinite
	}
	res.X = x
	if err != nil {
		res.Reason, res.Evaluations = Interrupted, r.evals
		return res, err
	}
	fx += m.l1(x)
	var h pairs
	if m.Single {
		h = newHistory[float32](memory, n)
	} else {
		h = newHistory[float64](memory, n)
	}
	m.pseudoGradient(pseudo, x, g)

	checkpoint := func() *Checkpoint {
		return &Checkpoint{Solver: solver, Iteration: res.Iterations, Evaluations: r.evals, Seconds: r.seconds(), X: slices.Clone(x)}
	}
	finish := func(reason Reason, err error) (*Result, error) {
		res.X, res.F, res.GradNorm, res.Reason, res.Evaluations = x, fx, v.maxAbs(pseudo), reason, r.evals
		if r.Ctx.Err() != nil {
			err = errors.Join(err, r.save(res.Iterations, true, checkpoint))
		}
		return res, err
	}
	step, pushed := 0.0, false
	recorded := -1 // the last iteration that was: one that begins again after h.reset is not another
	for {
		if res.Iterations > recorded {
			reason, err := r.step(res.Iterations, fx, v.maxAbs(pseudo), step)
			if err == nil && res.Iterations > 0 {
				err = r.save(res.Iterations, false, checkpoint)
			}
			if err != nil {
				return finish(Interrupted, err)
			}
			if reason != "" {
				return finish(reason, nil)
			}
			recorded = res.Iterations
		}

		var next []float64
		if m.L1 == 0 {
			next = xNew
		}
		slope := h.direction(v, dir, pseudo, pushed && m.L1 == 0, x, next)
		if m.L1 > 0 { // keep to directions that agree with steepest descent, per coordinate
			for i, d := range dir {
				if m.penalty(i) > 0 && d*pseudo[i] >= 0 {
					dir[i] = 0
				}
			}
			slope = v.dot(dir, pseudo)
		}
		if !(slope < 0) { // a history spoilt by rounding
			h.reset()
			for i := range dir {
				dir[i] = -pseudo[i]
			}
			slope, next = v.dot(dir, pseudo), nil
		}
		step = 1
		if h.len() == 0 {
			step = 1 / math.Max(1, math.Sqrt(v.dot(pseudo, pseudo)))
		}
		fNew, ok := 0.0, false
		for range 40 {
			if next == nil || step != 1 { // else it is there
				m.trial(v, xNew, x, dir, pseudo, step)
			}
			if fNew, err = r.eval(f, xNew, gNew); err != nil {
				return finish(Interrupted, err)
			}
			fNew += m.l1(xNew)
			decrease := step * slope
			if m.L1 > 0 { // the projected step decides, as in the paper
				decrease = 0
				for i := range xNew {
					decrease += pseudo[i] * (xNew[i] - x[i])
				}
			}
			if ok = fNew <= fx+1e-4*decrease && decrease < 0; ok {
				break
			}
			if r.evals >= r.Stop.Evaluations {
				return finish(EvaluationLimit, nil)
			}
			shrink := 0.5
			if h.len() == 0 {
				shrink = 0.1 // the first step's scale is a guess
			} else if t := -decrease / (2 * (fNew - fx - decrease)); t >= 0.1 && t <= 0.5 {
				shrink = t // minimiser of the parabola through what is known
			}
			step *= shrink
		}
		if !ok {
			if h.len() == 0 {
				return finish(NoProgress, nil)
			}
			h.reset() // once more from the steepest descent
			continue
		}
		h.push(v, xNew, x, gNew, g)
		pushed = true
		x, xNew = xNew, x
		g, gNew = gNew, g
		if m.L1 == 0 {
			pseudo = g
		}
		fx = fNew
		m.pseudoGradient(pseudo, x, g)
		res.Iterations++
	}
}

func (m *OWLQN) penalty(i int) float64 {
	if m.Penalty == nil {
		return m.L1
	}
	return m.L1 * m.Penalty[i]
}

func (m *OWLQN) l1(x []float64) float64 {
	if m.L1 == 0 {
		return 0
	}
	sum := 0.0
	for i, w := range x {
		sum += m.penalty(i) * math.Abs(w)
	}
	return sum
}

// pseudoGradient stores the subgradient of least absolute value, coordinate by
// coordinate; without l1 it is g, where it stands.
func (m *OWLQN) pseudoGradient(dst, x, g []float64) {
	if m.L1 == 0 {
		return
	}
	for i, w := range x {
		c := m.penalty(i)
		switch {
		case w > 0:
			dst[i] = g[i] + c
		case w < 0:
			dst[i] = g[i] - c
		case g[i] > c:
			dst[i] = g[i] - c
		case g[i] < -c:
			dst[i] = g[i] + c
		default:
			dst[i] = 0
		}
	}
}

// trial stores x + step·dir, projected onto the orthant of x (of -pseudo where x is 0).
func (m *OWLQN) trial(v vectors, dst, x, dir, pseudo []float64, step float64) {
	v.each(len(x), func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			dst[i] = x[i] + step*dir[i]
		}
		if m.L1 == 0 {
			return
		}
		for i := lo; i < hi; i++ {
			sign := x[i]
			if sign == 0 {
				sign = -pseudo[i]
			}
			if dst[i]*sign <= 0 && m.penalty(i) > 0 {
				dst[i] = 0
			}
		}
	})
}
