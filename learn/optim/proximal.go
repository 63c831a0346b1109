package optim

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/run"
)

// Composite is f + h for a convex f known by its (sub)gradients, and an h whose proximal points are
// known. h is a penalty, or a Set, where it is 0 inside and infinite outside.
type Composite interface {
	Objective // f
	// Prox replaces x by the minimiser of h(z) + Σ (z_i-x_i)²/(2 step_i); step may have one
	// entry for all.
	Prox(x, step []float64)
	// Penalty returns h(x), for a point that Prox returned.
	Penalty(x []float64) float64
}

// Within returns f restricted to a set, which is projected on; steps must be alike in all
// coordinates unless the set is a box.
func Within(f Objective, s Set) Composite { return within{f, s} }

type within struct {
	Objective
	s Set
}

func (w within) Prox(x, _ []float64)       { w.s.Project(x) }
func (w within) Penalty([]float64) float64 { return 0 }

// Proximal minimises a Composite by steps x ← prox(x - step·∇f(x)). It needs no curvature, and of f
// only a draw of its gradient. Use it for problems too large for second order, and for stochastic
// ones.
//
// Without a Step it is FISTA with backtracking and restarts (A. Beck and M. Teboulle, "A fast
// iterative shrinkage-thresholding algorithm", SIAM J. Imaging Sciences 2, 2009; B. O'Donoghue
// and E. Candès, Found. Comput. Math. 15, 2015), for smooth f. With one it takes the plain
// steps Step/√(1+k/Decay), which converge for any f when Decay is positive, in the mean of
// the last iterates.
type Proximal struct {
	Step  []float64 // nil is FISTA; one entry is that of all coordinates
	Decay float64   // steps until the length has fallen by √2; zero keeps it
	Tail  float64   // share of the iterates, the last, whose mean is the result; zero is the last one
}

// Minimize runs from x0, which it keeps intact, by default for at most 1000 steps. Row.Objective is
// f + h at the point that the step began from. Stop.Relative ends FISTA only.
func (m Proximal) Minimize(f Composite, x0 []float64, c *run.Control) (*Result, error) {
	n := f.Dim()
	if len(m.Step) > 1 && len(m.Step) != n || !(m.Decay >= 0) || !(m.Tail >= 0) || m.Tail > 1 {
		return nil, fmt.Errorf("optim: Proximal: %d steps for %d coordinates, Decay %v, Tail %v between 0 and 1", len(m.Step), n, m.Decay, m.Tail)
	}
	for i, s := range m.Step {
		if !(s > 0) || math.IsInf(s, 1) {
			return nil, fmt.Errorf("optim: Proximal: step %v of coordinate %d is not positive", s, i)
		}
	}
	r := begin("proximal", c, 1000)
	p := &proximal{Proximal: m, f: f, run: r.Run, x: slices.Clone(x0), grad: make([]float64, n), next: make([]float64, n), mean: make([]float64, n), trial: []float64{1}, value: math.Inf(1)}
	if r.Examples == 0 {
		r.Examples = examplesOf(f)
	}
	k, err := r.resume(n)
	if err != nil {
		return nil, err
	}
	if k == nil {
		err = CheckStart("Proximal", n, x0)
		p.y, p.momentum = slices.Clone(x0), 1
	} else {
		err = p.restore(k)
	}
	if err != nil {
		return nil, err
	}
	step := p.plain
	if m.Step == nil {
		step = p.fast
	}
	reason, err := r.Loop(step, p.checkpoint)
	if err != nil {
		err = fmt.Errorf("optim: %w", err)
	}
	res := &Result{X: p.x, F: p.value, Iterations: r.Steps(), Evaluations: r.Evaluations, Reason: reason}
	if p.averaged > 0 {
		res.X = p.mean
	}
	return res, err
}

type proximal struct {
	Proximal
	f   Composite
	run *run.Run

	x, y, grad, next []float64 // y is where FISTA takes its gradient
	trial            []float64 // its step
	momentum         float64
	value            float64 // f + h at x
	mean             []float64
	averaged         float64
	settled          int
}

func (p *proximal) plain() (*run.Row, run.Reason, error) {
	v, err := p.f.Eval(p.x, p.grad)
	p.run.Evaluations++
	if err != nil {
		return nil, "", err
	}
	if p.value = v + p.f.Penalty(p.x); p.value != p.value || FirstNotFinite(p.grad) >= 0 {
		return nil, "", fmt.Errorf("proximal: step %d: %w", p.run.Steps()+1, ErrNotFinite)
	}
	shrink := 1.0
	if p.Decay > 0 {
		shrink = 1 / math.Sqrt(1+float64(p.run.Steps())/p.Decay)
	}
	steps := slices.Clone(p.Step)
	floats.Scale(shrink, steps)
	for i, g := range p.grad {
		p.x[i] -= steps[i%len(steps)] * g
	}
	p.f.Prox(p.x, steps)
	if float64(p.run.Steps()) >= (1-p.Tail)*float64(p.run.Stop.Iterations) {
		p.averaged++
		for i, v := range p.x {
			p.mean[i] += (v - p.mean[i]) / p.averaged
		}
	}
	return &run.Row{Objective: p.value, Step: shrink * p.Step[0]}, "", nil
}

func (p *proximal) fast() (*run.Row, run.Reason, error) {
	v, err := p.f.Eval(p.y, p.grad)
	p.run.Evaluations++
	if err != nil {
		return nil, "", err
	}
	if v-v != 0 || FirstNotFinite(p.grad) >= 0 {
		return nil, "", fmt.Errorf("proximal: step %d: %w", p.run.Steps()+1, ErrNotFinite)
	}
	p.trial[0] *= 1.5 // the curvature here may be less than where it was last found
	var at float64
	for {
		for i, g := range p.grad {
			p.next[i] = p.y[i] - p.trial[0]*g
		}
		p.f.Prox(p.next, p.trial)
		if at, err = p.f.Eval(p.next, nil); err != nil {
			return nil, "", err
		}
		p.run.Evaluations++
		model := v
		for i, g := range p.grad {
			d := p.next[i] - p.y[i]
			model += g*d + d*d/(2*p.trial[0])
		}
		if at <= model+1e-14*math.Abs(v) {
			break
		}
		if p.trial[0] /= 2; p.trial[0] < 1e-300 {
			return &run.Row{Objective: p.value}, run.NoProgress, nil
		}
	}
	value := at + p.f.Penalty(p.next)
	row := &run.Row{Objective: math.Min(value, p.value), Step: p.trial[0]}
	if value > p.value { // momentum led astray: from x again without it, where a step must descend
		if p.momentum == 1 {
			return row, run.NoProgress, nil
		}
		p.momentum = 1
		copy(p.y, p.x)
		return row, "", nil
	}
	if s := p.run.Stop.Relative; s >= 0 && p.value-value <= s*math.Abs(value) {
		p.settled++
	} else {
		p.settled = 0
	}
	momentum := (1 + math.Sqrt(1+4*p.momentum*p.momentum)) / 2
	beta := (p.momentum - 1) / momentum
	for i, v := range p.next {
		p.y[i] = v + beta*(v-p.x[i])
	}
	copy(p.x, p.next)
	p.momentum, p.value = momentum, value
	if p.settled >= p.run.Stop.Window {
		return row, run.ImprovementSmall, nil
	}
	return row, "", nil
}

func (p *proximal) checkpoint() (*run.Checkpoint, error) {
	return &run.Checkpoint{X: slices.Clone(p.x), Arrays: map[string][]float64{"y": slices.Clone(p.y), "mean": slices.Clone(p.mean),
		"rest": {p.trial[0], p.momentum, p.value, p.averaged, float64(p.settled)}}}, nil
}

func (p *proximal) restore(k *run.Checkpoint) error {
	if err := k.Fits(p.f.Dim(), "y", "mean"); err != nil {
		return fmt.Errorf("optim: %w", err)
	}
	rest := k.Arrays["rest"]
	if len(rest) != 5 {
		return fmt.Errorf("optim: proximal: %w: its state has %d numbers", run.ErrOther, len(rest))
	}
	p.x, p.y, p.mean = slices.Clone(k.X), slices.Clone(k.Arrays["y"]), slices.Clone(k.Arrays["mean"])
	p.trial[0], p.momentum, p.value, p.averaged, p.settled = rest[0], rest[1], rest[2], rest[3], int(rest[4])
	return nil
}
