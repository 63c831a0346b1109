package optim

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/run"
)

// OWLQN minimises f(x) + L1·Σ|x_i| for a smooth f by the orthant-wise
// limited-memory quasi-Newton method of G. Andrew and J. Gao, "Scalable training
// of L1-regularized log-linear models", ICML 2007. With L1 = 0 it is L-BFGS with
// a backtracking line search under the weak Wolfe curvature test on the pairs.
//
// Workers goroutines share the vector work in stripes whose partial sums are added in a fixed
// order, so results do not depend on their number. The two loops are those of W. Chen, Z. Wang and
// J. Zhou, "Large-scale L-BFGS using MapReduce", NIPS 2014. The direction is a combination of the
// stored vectors with coefficients computed from their inner products. That takes two passes over
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
func (m OWLQN) Minimize(f Objective, x0 []float64, c *run.Control) (*Result, error) {
	n := f.Dim()
	q := &owlqnRun{OWLQN: m, f: f, run: begin(owlqnSolver, c, 1000), res: &Result{}}
	if err := q.check(n); err != nil {
		return nil, err
	}
	if q.run.Examples == 0 {
		q.run.Examples = examplesOf(f)
	}
	if k, err := q.run.resume(n); err != nil {
		return nil, err
	} else if k != nil {
		x0, q.res.Iterations = k.X, k.Iteration
		q.res.Note = lbfgsNote
		q.watch = watch(f, k)
	} else {
		q.watch = watch(f, nil)
	}
	if err := CheckStart(owlqnSolver, n, x0); err != nil {
		return nil, err
	}
	if err := q.start(x0); err != nil {
		q.res.X, q.res.Reason, q.res.Evaluations = q.x, run.Interrupted, q.run.Evaluations
		return q.res, err
	}
	recorded := -1 // the last iteration that was: one that begins again after a reset is not another
	for {
		if q.res.Iterations > recorded {
			recorded = q.res.Iterations
			if reason, err := q.record(); reason != "" {
				return q.finish(reason, err)
			}
		}
		slope, reached := q.descent()
		if reason, err := q.search(slope, reached); reason != "" {
			return q.finish(reason, err)
		}
	}
}

const owlqnSolver = "OWLQN"

// owlqnRun is a run of OWLQN: the point, its gradient, and room for the next.
type owlqnRun struct {
	OWLQN
	f   Objective
	run *solving
	res *Result
	v   vectors
	h   pairs

	x, xNew, g, gNew, dir []float64
	pseudo                []float64 // the pseudo-gradient; without l1 the gradient itself
	fx                    float64   // with the l1 term
	step                  float64   // the last
	watch                 *watching
	moved                 bool // h has the pair of the last step, whose gradients are pseudo and gNew
}

// check refuses settings that do not fit n coordinates, and sets those that are zero.
func (q *owlqnRun) check(n int) error {
	if q.Penalty != nil && len(q.Penalty) != n {
		return fmt.Errorf("optim: OWLQN: Penalty has length %d, the objective dimension %d", len(q.Penalty), n)
	}
	if !nonNegative(q.L1) || !nonNegative(q.Penalty...) {
		return fmt.Errorf("optim: OWLQN: L1 is %v; it and Penalty must not be negative, infinite or NaN", q.L1)
	}
	if q.Memory < 0 {
		return fmt.Errorf("optim: OWLQN: Memory is %d; it must not be negative", q.Memory)
	}
	q.Memory = cmp.Or(q.Memory, 10)
	return nil
}

// start evaluates the first point.
func (q *owlqnRun) start(x0 []float64) error {
	n := len(x0)
	q.v = vectors{workers: max(1, q.Workers)}
	q.run.vectors = q.v
	q.x, q.xNew = slices.Clone(x0), make([]float64, n)
	q.g, q.gNew = make([]float64, n), make([]float64, n)
	q.dir = make([]float64, n)
	q.pseudo = q.g
	if q.L1 > 0 {
		q.pseudo = make([]float64, n)
	}
	fx, err := q.run.eval(q.f, q.x, q.g)
	if err != nil {
		return err
	}
	if math.IsInf(fx, 1) {
		return ErrNotFinite
	}
	q.fx = fx + q.l1(q.x)
	if q.Single {
		q.h = newHistory[float32](q.Memory, n)
	} else {
		q.h = newHistory[float64](q.Memory, n)
	}
	q.pseudoGradient(q.pseudo, q.x, q.g)
	return nil
}

// record reports and saves the point. The run ends where it returns a reason.
func (q *owlqnRun) record() (run.Reason, error) {
	if q.res.Iterations > q.run.Steps() { // neither the start nor a resumed run's first point
		if err := q.watch.judge(q.run, q.res.Iterations, q.x); err != nil {
			return run.Interrupted, err
		}
	}
	reason, err := q.run.step(q.res.Iterations, q.fx, q.v.maxAbs(q.pseudo), q.step)
	if err == nil && q.res.Iterations > 0 {
		err = q.run.save(false, q.checkpoint)
	}
	if err != nil {
		return run.Interrupted, err
	}
	return reason, nil
}

func (q *owlqnRun) checkpoint() *run.Checkpoint {
	return q.watch.keep(&run.Checkpoint{X: slices.Clone(q.x)})
}

func (q *owlqnRun) finish(reason run.Reason, err error) (*Result, error) {
	res := q.res
	if best, note := q.watch.point(q.run, q.x); err == nil && note != "" {
		f, e := q.run.eval(q.f, best, q.g)
		if q.x, err, res.Note = best, e, note; err == nil {
			q.fx = f + q.l1(q.x)
			q.pseudoGradient(q.pseudo, q.x, q.g)
		}
	}
	res.X, res.F, res.GradNorm, res.Reason, res.Evaluations = q.x, q.fx, q.v.maxAbs(q.pseudo), reason, q.run.Evaluations
	return res, q.run.ended(err, q.checkpoint)
}

// descent sets the direction and returns the slope along it. reached tells that xNew has
// the point that a step of one leads to.
func (q *owlqnRun) descent() (slope float64, reached bool) {
	var next []float64
	if q.L1 == 0 {
		next = q.xNew
	}
	slope = q.h.direction(q.v, q.dir, q.pseudo, q.moved && q.L1 == 0, q.x, next)
	if q.L1 > 0 { // keep to directions that agree with steepest descent, per coordinate
		for i, d := range q.dir {
			if q.penalty(i) > 0 && d*q.pseudo[i] >= 0 {
				q.dir[i] = 0
			}
		}
		slope = q.v.dot(q.dir, q.pseudo)
	}
	if slope < 0 {
		return slope, next != nil
	}
	q.h.reset() // spoilt by rounding
	for i := range q.dir {
		q.dir[i] = -q.pseudo[i]
	}
	return q.v.dot(q.dir, q.pseudo), false
}

// search moves along the direction until the objective has fallen enough. If no step succeeds it
// forgets the pairs, so that the next search is along the steepest descent. If that was the
// steepest descent, the run ends, and search returns the reason.
func (q *owlqnRun) search(slope float64, reached bool) (run.Reason, error) {
	q.step = 1
	if q.h.len() == 0 {
		q.step = 1 / math.Max(1, math.Sqrt(q.v.dot(q.pseudo, q.pseudo)))
	}
	for range 40 {
		if !reached || q.step != 1 {
			q.trial(q.v, q.xNew, q.x, q.dir, q.pseudo, q.step)
		}
		fNew, err := q.run.eval(q.f, q.xNew, q.gNew)
		if err != nil {
			return run.Interrupted, err
		}
		fNew += q.l1(q.xNew)
		decrease := q.step * slope
		if q.L1 > 0 { // the projected step decides, as in the paper
			decrease = 0
			for i := range q.xNew {
				decrease += q.pseudo[i] * (q.xNew[i] - q.x[i])
			}
		}
		if fNew <= q.fx+1e-4*decrease && decrease < 0 {
			q.accept(fNew)
			return "", nil
		}
		if q.run.Evaluations >= q.run.Stop.Evaluations {
			return run.EvaluationLimit, nil
		}
		shrink := 0.5
		if q.h.len() == 0 {
			shrink = 0.1 // the first step's scale is a guess
		} else if t := -decrease / (2 * (fNew - q.fx - decrease)); t >= 0.1 && t <= 0.5 {
			shrink = t // minimiser of the parabola through what is known
		}
		q.step *= shrink
	}
	if q.h.len() == 0 {
		return run.NoProgress, nil
	}
	q.h.reset()
	return "", nil
}

// accept makes xNew the current point.
func (q *owlqnRun) accept(fNew float64) {
	q.h.push(q.v, q.xNew, q.x, q.gNew, q.g)
	q.moved = true
	q.x, q.xNew = q.xNew, q.x
	q.g, q.gNew = q.gNew, q.g
	if q.L1 == 0 {
		q.pseudo = q.g
	}
	q.fx = fNew
	q.pseudoGradient(q.pseudo, q.x, q.g)
	q.res.Iterations++
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
