package optim

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/run"
)

// Risk is a convex function of a weight vector, smooth or not, known by its tangents. Examples are
// the largest loss-augmented score of structured learning, a hinge loss, and a maximum.
type Risk interface {
	Dim() int
	// Tangent returns R(w) and stores a subgradient there in a, which is cleared: then
	// R(v) ≥ R(w) + ⟨a, v-w⟩ for all v.
	Tangent(w, a []float64) (float64, error)
}

// BoundedRisk is a Risk whose value is known only up to a bound, since a maximum in it is not
// always found. The plane of TangentBound touches at value, and R(w) ≤ upper.
type BoundedRisk interface {
	Risk
	TangentBound(w, a []float64) (value, upper float64, err error)
}

// tangent returns the value that the plane touches at, and a bound of the risk.
func tangent(r Risk, w, a []float64) (value, upper float64, err error) {
	clear(a)
	if b, ok := r.(BoundedRisk); ok {
		value, upper, err = b.TangentBound(w, a)
	} else {
		value, err = r.Tangent(w, a)
		upper = value
	}
	if err == nil && (value-value != 0 || math.IsNaN(upper) || FirstNotFinite(a) >= 0) {
		err = fmt.Errorf("risk %v, bound %v: %w", value, upper, ErrNotFinite)
	}
	return value, upper, err
}

// Bundle minimises J(w) = Lambda/2 |w|² + R(w) + ⟨Linear, w⟩ by cutting planes. It replaces R by
// the maximum of the tangents taken so far and minimises that model through its dual, a SimplexQP
// over the planes. The next tangent is taken at that minimum. The model is below J, so that its
// minimum proves how far the best point is from the least possible (C. Teo, S. Vishwanathan, A.
// Smola and Q. Le, "Bundle methods for regularized risk minimization", JMLR 11, 2010). It converges
// as 1/(Lambda·Gap) steps. With the norm L1 the penalty is Lambda |w|₁, and the model a linear
// program.
type Bundle struct {
	Lambda float64
	Norm   Norm      // "" is L2
	Linear []float64 // nil is 0
	// Gap, certified, at which to stop; zero is Relative, 1e-3 if that is zero, times max(1, |J|).
	Gap, Relative float64
	// Least is a lower bound of the risk: zero is 0, which holds for losses; -Inf is none.
	Least float64
	// Keep is how many planes the model has before the least used become one, their weighted
	// mean, which keeps the bound; zero is 200.
	Keep int
	// Pull is how far from the model's minimum towards the best point a tangent is taken,
	// from 0 to below 1 (V. Franc and S. Sonnenburg, "Optimized cutting plane algorithm for
	// large-scale risk minimization", JMLR 10, 2009). Where the penalty is small it saves
	// most of the steps, in which the minimum of the model swings.
	Pull float64
}

// Coupled minimises one risk for every task, with weights that are drawn to each other:
//
//	Lambda/2 |w|² + Rho/2 Σ_d |w^d - w|² + Σ_d R_d(w^d)   over w and w¹ … w^D.
//
// A step takes one tangent for each task. The dual is a SimplexQP of a block a task.
type Coupled struct {
	Lambda, Rho   float64
	Gap, Relative float64     // as of Bundle
	Least         float64     // of every risk, as of Bundle
	Linear        [][]float64 // a vector for each task; nil is 0
	Keep          int         // planes of a task
	Pull          float64
}

// checkBundle refuses settings that no bundle method takes.
func checkBundle(solver string, lambda, gap, relative, pull float64, keep int, norm Norm) error {
	switch {
	case !(lambda > 0) || math.IsInf(lambda, 1):
		return fmt.Errorf("optim: %s: Lambda %v must be positive and finite", solver, lambda)
	case !(gap >= 0) || !(relative >= 0) || keep < 0:
		return fmt.Errorf("optim: %s: Gap %v, Relative %v, Keep %d: none may be negative", solver, gap, relative, keep)
	case !(pull >= 0 && pull < 1):
		return fmt.Errorf("optim: %s: Pull %v must be from 0 to below 1", solver, pull)
	case norm != "" && norm != L2 && norm != L1:
		return fmt.Errorf("optim: %s: Norm %q must be l1 or l2", solver, norm)
	}
	return nil
}

// BundleResult is where a bundle run ended.
type BundleResult struct {
	Result
	Lower float64 // J is nowhere below; -Inf where that is not known
	Cuts  *Cuts   // all planes of the model
	// Tasks has the weights of every task, and Shared what they are drawn to. Of Bundle both
	// are X.
	Tasks  [][]float64
	Shared []float64
}

// Gap returns how far F can be above the least value.
func (r *BundleResult) Gap() float64 { return r.F - r.Lower }

// Minimize runs from w0, which it keeps intact, with the planes of cuts as well, nil for
// none; they are added to. The result is the best point visited, not the last. By default it
// makes at most 1000 steps, each of one tangent. Where the risk is a BoundedRisk, F is a bound
// of J, so that the gap holds.
func (m Bundle) Minimize(risk Risk, w0 []float64, cuts *Cuts, c *run.Control) (*BundleResult, error) {
	n := risk.Dim()
	if err := checkBundle("Bundle", m.Lambda, m.Gap, m.Relative, m.Pull, m.Keep, m.Norm); err != nil {
		return nil, err
	}
	if m.Linear != nil && len(m.Linear) != n {
		return nil, fmt.Errorf("optim: Bundle: a linear part of %d entries for %d coordinates", len(m.Linear), n)
	}
	model, err := newMaster(n, 1, m.Keep, cuts)
	if err != nil {
		return nil, err
	}
	model.lambda, model.couple, model.apart = m.Lambda, [][]float64{{1 / m.Lambda}}, [][]float64{{m.Lambda}}
	model.linear[0] = m.Linear
	if m.Norm == L1 {
		model.norm = L1
	}
	b := &bundleRun{master: model, risks: []Risk{risk}, gap: m.Gap, relative: m.Relative, least: m.Least, pull: m.Pull,
		run: run.Begin("bundle", c, 1000)}
	r, err := b.minimize([][]float64{w0})
	if r != nil {
		r.Shared = r.X
	}
	return r, err
}

// Minimize runs from w0 for every task; see Bundle.Minimize. X has the weights of all tasks,
// one after the other.
func (m Coupled) Minimize(risks []Risk, w0 []float64, c *run.Control) (*BundleResult, error) {
	tasks := len(risks)
	if err := checkBundle("Coupled", m.Lambda, m.Gap, m.Relative, m.Pull, m.Keep, L2); err != nil {
		return nil, err
	}
	if tasks == 0 || m.Linear != nil && len(m.Linear) != tasks {
		return nil, fmt.Errorf("optim: Coupled: %d risks, and %d linear parts", tasks, len(m.Linear))
	}
	if !(m.Rho > 0) || math.IsInf(m.Rho, 1) {
		return nil, fmt.Errorf("optim: Coupled: Rho %v must be positive: tasks that nothing couples are without a penalty; "+
			"train each alone instead", m.Rho)
	}
	n := risks[0].Dim()
	for d, r := range risks {
		if r.Dim() != n || m.Linear != nil && m.Linear[d] != nil && len(m.Linear[d]) != n {
			return nil, fmt.Errorf("optim: Coupled: task %d has %d weights, the first %d", d, r.Dim(), n)
		}
	}
	model, err := newMaster(n, tasks, m.Keep, nil)
	if err != nil {
		return nil, err
	}
	model.coupled(m.Lambda, m.Rho)
	if m.Linear != nil {
		copy(model.linear, m.Linear)
	}
	b := &bundleRun{master: model, risks: risks, gap: m.Gap, relative: m.Relative, least: m.Least, pull: m.Pull,
		run: run.Begin("coupled bundle", c, 1000)}
	start := make([][]float64, tasks)
	for d := range start {
		start[d] = w0
	}
	r, err := b.minimize(start)
	if r != nil {
		r.Shared = sharedOf(r.Tasks, m.Lambda, m.Rho)
	}
	return r, err
}

// coupled sets the penalty to that of Coupled.
func (m *master) coupled(lambda, rho float64) {
	tasks := len(m.next)
	for d := range tasks {
		m.couple, m.apart = append(m.couple, make([]float64, tasks)), append(m.apart, make([]float64, tasks))
		for e := range tasks {
			// 1/λ + 1/ρ on the diagonal, 1/λ else; the inverse by Sherman and Morrison.
			m.couple[d][e], m.apart[d][e] = 1/lambda, -rho/(lambda/rho+float64(tasks))
		}
		m.couple[d][d] += 1 / rho
		m.apart[d][d] += rho
	}
}

// sharedOf returns the w that is best for the weights of the tasks.
func sharedOf(tasks [][]float64, lambda, rho float64) []float64 {
	w := make([]float64, len(tasks[0]))
	for _, x := range tasks {
		floats.AddScaled(w, 1/(lambda/rho+float64(len(tasks))), x)
	}
	return w
}

// bundleRun is the run of Bundle and Coupled.
type bundleRun struct {
	*master
	risks            []Risk
	gap, least, pull float64
	relative         float64
	run              *run.Run

	w     [][]float64 // the best points
	at    [][]float64 // where the next tangents are taken
	best  float64     // J(w)
	lower float64     // the best bound
}

func (b *bundleRun) minimize(w0 [][]float64) (*BundleResult, error) {
	n, tasks := b.n, len(b.risks)
	k, err := b.run.Taken()
	if err == nil && k != nil {
		err = k.Fits(n*tasks, "next", "at")
	}
	if err != nil {
		return nil, fmt.Errorf("optim: %w", err)
	}
	b.best, b.lower = math.Inf(1), math.Inf(-1)
	if k != nil {
		if err := b.restore(k); err != nil {
			return nil, err
		}
	} else {
		for d := range tasks {
			if err := CheckStart("Bundle", n, w0[d]); err != nil {
				return nil, err
			}
			b.w, b.at = append(b.w, slices.Clone(w0[d])), append(b.at, slices.Clone(w0[d]))
		}
		given := len(b.cuts.Planes)
		if given == 0 && !math.IsInf(b.least, -1) {
			for d := range tasks {
				b.add(Plane{B: b.least, Task: d}) // the plane that needs no tangent
			}
		}
		if given > 1 {
			// Planes of an earlier problem may already say where to look.
			if err := b.solve(); err != nil {
				return nil, err
			}
			if err := b.aim(); err != nil {
				return nil, err
			}
		}
	}
	reason, err := b.run.Loop(b.step, b.checkpoint)
	if err != nil {
		err = fmt.Errorf("optim: %w", err)
	}
	result := Result{X: slices.Concat(b.w...), F: b.best, Iterations: b.run.Steps(), Evaluations: b.run.Evaluations, Reason: reason}
	return &BundleResult{Result: result, Lower: b.lower, Cuts: b.cuts, Tasks: b.w}, err
}

// step takes a step. One that fails changes nothing, so that a run that is interrupted can go on.
func (b *bundleRun) step() (*run.Row, run.Reason, error) {
	before, undo, w, at, n := *b, b.saved(), copies(b.w), copies(b.at), b.run.Evaluations
	row, reason, err := b.advance()
	if err != nil {
		undo()
		*b = before
		b.w, b.at, b.run.Evaluations = w, at, n
	}
	return row, reason, err
}

// advance aims, takes the tangents there, and solves the model with them.
func (b *bundleRun) advance() (*run.Row, run.Reason, error) {
	if !math.IsInf(b.best, 1) {
		if err := b.aim(); err != nil {
			return nil, "", err
		}
		if b.best-b.lower <= b.tolerance() {
			return nil, run.GapSmall, nil
		}
	}
	j := b.around(b.at)
	a := make([]float64, b.n)
	for d, r := range b.risks {
		value, upper, err := tangent(r, b.at[d], a)
		b.run.Evaluations++
		if err != nil {
			return nil, "", fmt.Errorf("bundle: step %d: %w", b.run.Steps()+1, err)
		}
		j += upper
		p := NewPlane(a, value-floats.Dot(a, b.at[d]))
		p.Task = d
		b.add(p)
	}
	if j < b.best {
		b.best = j
		for d := range b.w {
			copy(b.w[d], b.at[d])
		}
	}
	if err := b.solve(); err != nil {
		return nil, "", err
	}
	keep(b.risks)
	row := &run.Row{Objective: b.best, Detail: &BundleRow{Lower: b.lower, Planes: len(b.cuts.Planes)}}
	if b.best-b.lower <= b.tolerance() {
		return row, run.GapSmall, nil
	}
	return row, "", nil
}

func (b *bundleRun) tolerance() float64 {
	if b.gap > 0 {
		return b.gap
	}
	return cmp.Or(b.relative, 1e-3) * math.Max(1, math.Abs(b.best))
}

func (b *bundleRun) solve() error {
	lower, err := b.master.solve(tight(b.best, b.tolerance()))
	b.lower = math.Max(b.lower, lower)
	return err
}

// aim says where the next tangents are taken.
func (b *bundleRun) aim() (err error) {
	b.lower, err = b.master.aim(b.risks, b.w, b.at, b.best, b.lower, 0, b.tolerance(), b.pull)
	return err
}

// pulled stores the point between next and best, if there is one yet.
func pulled(dst, next, best []float64, pull, value float64) {
	copy(dst, next)
	if pull > 0 && !math.IsInf(value, 1) {
		floats.Scale(1-pull, dst)
		floats.AddScaled(dst, pull, best)
	}
}

// BundleRow is what a bundle run adds to its rows.
type BundleRow struct {
	Lower  float64 // the bound
	Planes int
}

// Fields implements run.Detail.
func (r *BundleRow) Fields() []run.Field {
	return []run.Field{{Name: "lower", Value: r.Lower}, {Name: "planes", Value: float64(r.Planes)}}
}

// String implements run.Detail.
func (r *BundleRow) String() string { return fmt.Sprintf("bound %.6g, %d planes", r.Lower, r.Planes) }

func (b *bundleRun) checkpoint() (*run.Checkpoint, error) {
	k := &run.Checkpoint{X: slices.Concat(b.w...), Scalars: map[string]float64{}, Arrays: map[string][]float64{
		"next": slices.Concat(b.next...), "at": slices.Concat(b.at...), "bounds": {b.best, b.lower},
	}}
	b.store(k)
	return k, nil
}

// restore takes up what checkpoint has stored, in place of the planes given.
func (b *bundleRun) restore(k *run.Checkpoint) error {
	bounds := k.Arrays["bounds"]
	if err := b.master.restore(k); err != nil {
		return err
	}
	if len(bounds) != 2 {
		return fmt.Errorf("optim: bundle: %w: its planes do not fit", run.ErrOther)
	}
	b.best, b.lower = bounds[0], bounds[1]
	b.w, b.next, b.at = rows(k.X, b.n), rows(k.Arrays["next"], b.n), rows(k.Arrays["at"], b.n)
	return nil
}

// rows cuts a vector into copies of n entries each.
func rows(x []float64, n int) [][]float64 {
	var out [][]float64
	for from := 0; from < len(x); from += n {
		out = append(out, slices.Clone(x[from:from+n]))
	}
	return out
}
