package optim

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/run"
)

// CCCP descends on J(w) = Ω(w) + P(w) - R(w), the difference of two convex functions beside a
// penalty. In an outer step R is replaced by its tangent, which lies below it, so that the
// rest lies above J and touches it; that is minimised by a bundle of planes of P (A. Yuille
// and A. Rangarajan, "The concave-convex procedure", Neural Computation 15, 2003; T. Do and
// T. Artières, "Large margin training for hidden Markov models with partially observed
// states", ICML 2009). Planes of P stay valid when R's tangent changes, and are used again;
// the accuracy of the inner problems begins coarse, and gets finer.
//
// J has local minima: where a run ends depends on where it starts.
type CCCP struct {
	Lambda float64
	Norm   Norm // "" is L2
	// Above says that P ≥ R everywhere. Then tangents of R are planes of P too. L1 needs it.
	Above bool
	// Start is the gap of the inner problems at first; each outer step multiplies it by
	// Shrink, down to Gap. Zeros are 1, 0.5 and 0.01.
	Start, Shrink, Gap float64
	// Fall ends the run: the least fall of J in an outer step of accuracy Gap. Zero is Gap.
	Fall                  float64
	NoRecycle, NoAdaptive bool // for comparison: planes forgotten, Gap from the beginning
	// Rho draws the weights of several tasks to each other, with the penalty of Coupled.
	Rho  float64
	Keep int // see Bundle
	Pull float64
}

// CCCPResult is where a run of CCCP ended. F is J; Lower is a bound of the last convex problem
// only, not of J.
type CCCPResult struct {
	BundleResult
	Outer []OuterStep
}

// OuterStep is what an outer step of CCCP came to.
type OuterStep struct {
	J        float64 // after it
	Gap      float64 // requested of its convex problem
	Tangents int     // of P, since the beginning
	Planes   int
}

// Minimize runs from w0, with planes of P that are known, nil for none. A step of the run is one
// tangent of P; by default there are at most 2000.
func (m CCCP) Minimize(p, r Risk, w0 []float64, cuts *Cuts, c *run.Control) (*CCCPResult, error) {
	return m.minimize([]Risk{p}, []Risk{r}, w0, cuts, c)
}

// MinimizeTasks is Minimize for Σ_d (P_d(w^d) - R_d(w^d)) with the penalty of Coupled, from w0
// for every task. The norm is L2. A step takes a tangent for each task.
func (m CCCP) MinimizeTasks(p, r []Risk, w0 []float64, c *run.Control) (*CCCPResult, error) {
	if len(p) == 0 || len(p) != len(r) {
		return nil, fmt.Errorf("optim: CCCP: %d and %d risks: tasks have a pair each", len(p), len(r))
	}
	if !(m.Rho > 0) || math.IsInf(m.Rho, 1) || m.Norm == L1 {
		return nil, fmt.Errorf("optim: CCCP: Rho %v, Norm %q: tasks need a positive Rho, and l2", m.Rho, m.Norm)
	}
	return m.minimize(p, r, w0, nil, c)
}

func (m CCCP) minimize(p, r []Risk, w0 []float64, cuts *Cuts, c *run.Control) (*CCCPResult, error) {
	n, tasks := p[0].Dim(), len(p)
	for d := range p {
		if p[d].Dim() != n || r[d].Dim() != n {
			return nil, fmt.Errorf("optim: CCCP: the risks of task %d have %d and %d weights, the first has %d",
				d, p[d].Dim(), r[d].Dim(), n)
		}
	}
	set := func(v *float64, zero float64) {
		if *v == 0 {
			*v = zero
		}
	}
	set(&m.Start, 1)
	set(&m.Shrink, 0.5)
	set(&m.Gap, 0.01)
	set(&m.Fall, m.Gap)
	m.Start = math.Max(m.Start, m.Gap)
	if err := checkBundle("CCCP", m.Lambda, m.Gap, 0, m.Pull, m.Keep, m.Norm); err != nil {
		return nil, err
	}
	switch {
	case !(m.Gap > 0) || !(m.Fall > 0) || !(m.Shrink > 0 && m.Shrink < 1):
		return nil, fmt.Errorf("optim: CCCP: Gap %v and Fall %v must be positive, Shrink %v between 0 and 1", m.Gap, m.Fall, m.Shrink)
	case m.Norm == L1 && !m.Above:
		return nil, errors.New("optim: CCCP: with l1 the convex part must lie above the concave one: see Above")
	}
	if m.NoAdaptive {
		m.Start = m.Gap
	}
	model, err := newMaster(n, tasks, m.Keep, cuts)
	if err != nil {
		return nil, err
	}
	if model.lambda = m.Lambda; m.Rho > 0 {
		model.coupled(m.Lambda, m.Rho)
	} else {
		model.couple, model.apart = [][]float64{{1 / m.Lambda}}, [][]float64{{m.Lambda}}
	}
	if m.Norm == L1 {
		model.norm = L1
	}
	b := &cccpRun{CCCP: m, master: model, p: p, r: r, run: run.Begin("cccp", c, 2000)}
	k, err := b.run.Taken()
	if err == nil && k != nil {
		err = k.Fits(n*tasks, "next", "at", "linear")
	}
	if err != nil {
		return nil, fmt.Errorf("optim: %w", err)
	}
	if k != nil {
		if err := b.restore(k); err != nil {
			return nil, err
		}
	} else {
		if err := CheckStart("CCCP", n, w0); err != nil {
			return nil, err
		}
		b.eps, b.pAt, b.last = m.Start, math.NaN(), math.Inf(1)
		for d := range tasks {
			b.w, b.at = append(b.w, slices.Clone(w0)), append(b.at, slices.Clone(w0))
			b.linear[d] = make([]float64, n)
		}
	}
	reason, err := b.run.Loop(b.step, b.checkpoint)
	if err != nil {
		err = fmt.Errorf("optim: %w", err)
	}
	j := b.last
	if !math.IsNaN(b.pAt) {
		j = math.Min(j, b.best) // the convex problem is nowhere below J
	}
	x := slices.Concat(b.w...)
	shared := x
	if m.Rho > 0 {
		shared = sharedOf(b.w, m.Lambda, m.Rho)
	}
	result := Result{X: x, F: j, Iterations: b.run.Steps(), Evaluations: b.run.Evaluations, Reason: reason}
	return &CCCPResult{BundleResult{Result: result, Lower: b.lower, Cuts: b.cuts, Tasks: b.w, Shared: shared}, b.outer}, err
}

type cccpRun struct {
	CCCP
	*master
	p, r []Risk // by task
	run  *run.Run

	w, at    [][]float64 // the best point of the convex problem, and where the next tangents are taken
	pAt      float64     // P(w); NaN where it is not known yet
	constant float64     // of R's tangent: its value at 0, negated
	best     float64     // of the convex problem, at w
	lower    float64
	eps      float64
	last     float64 // J where the outer step began
	outer    []OuterStep
	inside   bool // an outer step has begun
}

// step takes a step. One that fails changes nothing, so that a run that is interrupted can go on.
func (b *cccpRun) step() (*run.Row, run.Reason, error) {
	before, undo, w, at, n := *b, b.saved(), copies(b.w), copies(b.at), b.run.Evaluations
	row, reason, err := b.advance()
	if err != nil {
		undo()
		*b = before
		b.w, b.at, b.run.Evaluations = w, at, n
	}
	return row, reason, err
}

// advance takes one tangent of P, and as many outer steps as need none.
func (b *cccpRun) advance() (*run.Row, run.Reason, error) {
	for {
		fresh := !b.inside
		if fresh {
			if reason, err := b.begin(); err != nil || reason != "" {
				return nil, reason, err
			}
		}
		if len(b.cuts.Planes) == 0 || math.IsNaN(b.pAt) || fresh && b.NoRecycle {
			break
		}
		// The planes known may settle it, or what the risk recalls.
		if fresh {
			if err := b.solve(); err != nil {
				return nil, "", err
			}
		}
		var err error
		if b.lower, err = b.aim(b.p, b.w, b.at, b.best, b.lower, b.constant, b.eps, b.Pull); err != nil {
			return nil, "", err
		}
		if b.best-b.lower > b.eps {
			break
		}
		b.inside = false
	}
	a, total := make([]float64, b.n), 0.0
	for d, p := range b.p {
		value, upper, err := tangent(p, b.at[d], a)
		b.run.Evaluations++
		if err != nil {
			return nil, "", fmt.Errorf("cccp: step %d: %w", b.run.Steps()+1, err)
		}
		total += upper
		plane := NewPlane(a, value-floats.Dot(a, b.at[d]))
		plane.Task = d
		b.add(plane)
	}
	if j := b.around(b.at) + total + b.constant; math.IsNaN(b.pAt) || j < b.best {
		b.best, b.pAt = j, total
		for d := range b.w {
			copy(b.w[d], b.at[d])
		}
	}
	if err := b.solve(); err != nil {
		return nil, "", err
	}
	keep(b.p)
	b.inside = b.best-b.lower > b.eps
	detail := &CCCPRow{Outer: len(b.outer) + 1, Gap: b.best - b.lower, Planes: len(b.cuts.Planes)}
	return &run.Row{Objective: b.best, Detail: detail}, "", nil
}

// begin starts an outer step at w, or ends the run.
func (b *cccpRun) begin() (run.Reason, error) {
	b.constant = 0
	heights := make([]float64, len(b.r))
	for d, r := range b.r {
		v := make([]float64, b.n)
		value, _, err := tangent(r, b.w[d], v)
		if err != nil {
			return "", fmt.Errorf("cccp: outer step %d: %w", len(b.outer)+1, err)
		}
		heights[d] = value - floats.Dot(v, b.w[d])
		floats.Scale(-1, v)
		b.linear[d] = v
		b.constant -= heights[d]
	}
	if !math.IsNaN(b.pAt) { // an outer step ended here
		j := b.around(b.w) + b.pAt + b.constant
		b.outer = append(b.outer, OuterStep{J: j, Gap: b.eps, Tangents: b.run.Evaluations, Planes: len(b.cuts.Planes)})
		fall := b.last - j
		b.last = j
		if fall <= b.Fall && b.eps <= b.CCCP.Gap && len(b.outer) > 1 {
			return run.ImprovementSmall, nil
		}
		b.eps = math.Max(b.CCCP.Gap, b.eps*b.Shrink)
		b.best = j // the convex problem touches J here
	}
	if b.NoRecycle {
		*b.cuts = Cuts{}
		b.alpha, b.idle = nil, nil
	}
	if b.Above {
		for d, v := range b.linear {
			p := NewPlane(v, heights[d])
			p.Task = d
			floats.Scale(-1, p.Values)
			b.add(p)
		}
	}
	for d := range b.w {
		copy(b.at[d], b.w[d])
	}
	b.lower, b.inside = math.Inf(-1), true
	return "", nil
}

// solve solves the model.
func (b *cccpRun) solve() error {
	best := b.best
	if math.IsNaN(b.pAt) {
		best = math.Inf(1)
	}
	lower, err := b.master.solve(tight(best, b.eps))
	b.lower = math.Max(b.lower, lower+b.constant)
	return err
}

// CCCPRow is what a run of CCCP adds to its rows. The objective is that of the convex problem
// of the outer step, which is never below J.
type CCCPRow struct {
	Outer  int
	Gap    float64 // of the convex problem
	Planes int
}

// Fields implements run.Detail.
func (r *CCCPRow) Fields() []run.Field {
	return []run.Field{{Name: "outer", Value: float64(r.Outer)}, {Name: "gap", Value: r.Gap}, {Name: "planes", Value: float64(r.Planes)}}
}

// String implements run.Detail.
func (r *CCCPRow) String() string {
	return fmt.Sprintf("outer step %d, gap %.3g, %d planes", r.Outer, r.Gap, r.Planes)
}

func (b *cccpRun) checkpoint() (*run.Checkpoint, error) {
	inside := 0.0
	if b.inside {
		inside = 1
	}
	k := &run.Checkpoint{X: slices.Concat(b.w...), Scalars: map[string]float64{}, Arrays: map[string][]float64{
		"next": slices.Concat(b.next...), "at": slices.Concat(b.at...), "linear": slices.Concat(b.linear...),
		"state": {b.pAt, b.constant, b.best, b.lower, b.eps, b.last, inside},
	}}
	for _, o := range b.outer {
		k.Arrays["outer"] = append(k.Arrays["outer"], o.J, o.Gap, float64(o.Tangents), float64(o.Planes))
	}
	b.store(k)
	return k, nil
}

func (b *cccpRun) restore(k *run.Checkpoint) error {
	s, outer := k.Arrays["state"], k.Arrays["outer"]
	if err := b.master.restore(k); err != nil {
		return err
	}
	if len(s) != 7 || len(outer)%4 != 0 {
		return fmt.Errorf("optim: cccp: %w: its planes do not fit", run.ErrOther)
	}
	b.w, b.at, b.next, b.linear = rows(k.X, b.n), rows(k.Arrays["at"], b.n), rows(k.Arrays["next"], b.n), rows(k.Arrays["linear"], b.n)
	b.pAt, b.constant, b.best, b.lower, b.eps, b.last, b.inside = s[0], s[1], s[2], s[3], s[4], s[5], s[6] == 1
	for ; len(outer) > 0; outer = outer[4:] {
		b.outer = append(b.outer, OuterStep{outer[0], outer[1], int(outer[2]), int(outer[3])})
	}
	return nil
}
