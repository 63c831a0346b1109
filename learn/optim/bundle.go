package optim

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/run"
)

// Risk is a convex function of a weight vector, smooth or not, that is seen by its tangents:
// the largest loss-augmented score of structured learning, a hinge loss, a maximum.
type Risk interface {
	Dim() int
	// Tangent returns R(w) and stores a subgradient there in a, which is cleared: then
	// R(v) ≥ R(w) + ⟨a, v-w⟩ for all v.
	Tangent(w, a []float64) (float64, error)
}

// Cuts are planes ⟨A[k], w⟩ + B[k] that lie below a risk everywhere. They stay valid when the
// rest of an objective changes, and so are worth keeping for the next problem. The zero
// value has none.
type Cuts struct {
	A [][]float64
	B []float64

	gram [][]float64 // inner products of A, lower triangle
}

// Add appends the plane ⟨a, ·⟩ + b, and keeps a. O(len(A)·dim).
func (c *Cuts) Add(a []float64, b float64) {
	row := make([]float64, len(c.A)+1)
	for k := range c.A {
		row[k] = floats.Dot(a, c.A[k])
	}
	row[len(c.A)] = floats.Dot(a, a)
	c.A, c.B, c.gram = append(c.A, a), append(c.B, b), append(c.gram, row)
}

// Bundle minimises J(w) = Lambda/2 |w|² + R(w) + ⟨Linear, w⟩ by cutting planes: R is replaced
// by the maximum of tangents taken so far, the minimum of that model is found through its dual,
// a SimplexQP over the planes, and a tangent is taken there. The model is below J, so that
// its minimum proves how far the best point is from the least possible
// (C. Teo, S. Vishwanathan, A. Smola and Q. Le, "Bundle methods for regularized risk
// minimization", JMLR 11, 2010). It converges as 1/(Lambda·Gap) steps.
type Bundle struct {
	Lambda float64
	Linear []float64 // nil is 0
	// Gap, certified, at which to stop; zero is 1e-3 of max(1, |J|).
	Gap float64
	// Least is a lower bound of the risk: zero is 0, which holds for losses; -Inf is none.
	Least float64
	// Keep is how many planes the model has before the least used become one, their weighted
	// mean, which keeps the bound; zero is 200.
	Keep int
}

// BundleResult is where a bundle run ended.
type BundleResult struct {
	Result
	Lower float64 // J is nowhere below; -Inf where that is not known
	Cuts  *Cuts   // all planes of the model
}

// Gap returns how far F can be above the least value.
func (r *BundleResult) Gap() float64 { return r.F - r.Lower }

// Minimize runs from w0, which it keeps intact, with the planes of cuts as well, nil for
// none; they are added to. The result is the best point visited, not the last. By default it
// makes at most 1000 steps, each of one tangent.
func (m Bundle) Minimize(risk Risk, w0 []float64, cuts *Cuts, c *run.Control) (*BundleResult, error) {
	n := risk.Dim()
	if !(m.Lambda > 0) || math.IsInf(m.Lambda, 1) || !(m.Gap >= 0) || m.Keep < 0 || m.Linear != nil && len(m.Linear) != n {
		return nil, fmt.Errorf("optim: Bundle: Lambda %v must be positive, Gap %v and Keep %d not negative, and Linear, of %d entries, fit %d coordinates", m.Lambda, m.Gap, m.Keep, len(m.Linear), n)
	}
	b := &bundleRun{Bundle: m, risk: risk, n: n, cuts: cuts, run: run.Begin("bundle", c, 1000)}
	if b.Keep == 0 {
		b.Keep = 200
	}
	if b.cuts == nil {
		b.cuts = &Cuts{}
	}
	for _, a := range b.cuts.A {
		if len(a) != n {
			return nil, fmt.Errorf("optim: Bundle: a plane of %d coordinates, the risk has %d", len(a), n)
		}
	}
	k, err := b.run.Point(n, "next")
	if err != nil {
		return nil, fmt.Errorf("optim: %w", err)
	}
	b.best, b.lower = math.Inf(1), math.Inf(-1)
	if k != nil {
		if err := b.restore(k); err != nil {
			return nil, err
		}
	} else {
		if err := CheckStart("Bundle", n, w0); err != nil {
			return nil, err
		}
		b.w, b.next = slices.Clone(w0), slices.Clone(w0)
		if len(b.cuts.A) == 0 && !math.IsInf(m.Least, -1) {
			b.cuts.Add(make([]float64, n), m.Least) // the plane that needs no tangent
		}
		b.alpha = make([]float64, len(b.cuts.A)) // no point of the simplex: Maximize takes its centre
		if len(b.cuts.A) > 1 {
			// Planes of an earlier problem may already say where to look.
			if err := b.master(); err != nil {
				return nil, err
			}
		}
	}
	reason, err := b.run.Loop(b.step, b.checkpoint)
	if err != nil {
		err = fmt.Errorf("optim: %w", err)
	}
	return &BundleResult{Result: Result{X: b.w, F: b.best, Iterations: b.run.Steps(), Evaluations: b.run.Evaluations, Reason: reason}, Lower: b.lower, Cuts: b.cuts}, err
}

type bundleRun struct {
	Bundle
	risk Risk
	n    int
	run  *run.Run
	cuts *Cuts

	w, next []float64 // the best point, and where the next tangent is taken
	best    float64   // J(w)
	lower   float64   // the best bound
	alpha   []float64 // of the planes, in the last master problem
}

// around is the part of J beside the risk.
func (b *bundleRun) around(w []float64) float64 {
	v := b.Lambda / 2 * floats.Dot(w, w)
	if b.Linear != nil {
		v += floats.Dot(b.Linear, w)
	}
	return v
}

// step takes a tangent, and solves the master problem with it.
func (b *bundleRun) step() (*run.Row, run.Reason, error) {
	a := make([]float64, b.n)
	r, err := b.risk.Tangent(b.next, a)
	b.run.Evaluations++
	if err != nil {
		return nil, "", err
	}
	if r-r != 0 || FirstNotFinite(a) >= 0 {
		return nil, "", fmt.Errorf("bundle: step %d: risk %v: %w", b.run.Steps()+1, r, ErrNotFinite)
	}
	if j := b.around(b.next) + r; j < b.best {
		b.best = j
		copy(b.w, b.next)
	}
	b.cuts.Add(a, r-floats.Dot(a, b.next))
	b.alpha = append(b.alpha, 0)
	if err := b.master(); err != nil {
		return nil, "", err
	}
	gap := b.best - b.lower
	row := &run.Row{Objective: b.best, Detail: &BundleRow{Lower: b.lower, Planes: len(b.cuts.A)}}
	if gap <= b.tolerance() {
		return row, run.GapSmall, nil
	}
	return row, "", nil
}

func (b *bundleRun) tolerance() float64 {
	if b.Gap > 0 {
		return b.Gap
	}
	return 1e-3 * math.Max(1, math.Abs(b.best))
}

// master finds the minimum of the model: w = -(Linear + Σ α_k A_k)/Lambda for the α of its
// dual. The value of the dual is below the minimum of J, whatever α is.
func (b *bundleRun) master() error {
	b.aggregate()
	k := len(b.cuts.A)
	q := &SimplexQP{H: make([][]float64, k), C: slices.Clone(b.cuts.B)}
	constant := 0.0
	for i := range k {
		q.H[i] = make([]float64, i+1)
		for j, v := range b.cuts.gram[i] {
			q.H[i][j] = v / b.Lambda
		}
		if b.Linear != nil {
			q.C[i] -= floats.Dot(b.cuts.A[i], b.Linear) / b.Lambda
		}
	}
	if b.Linear != nil {
		constant = floats.Dot(b.Linear, b.Linear) / (2 * b.Lambda)
	}
	tol := 1e-9
	if !math.IsInf(b.best, 1) {
		tol = 0.05 * b.tolerance()
	}
	if _, err := q.Maximize(b.alpha, tol); err != nil && !errors.Is(err, ErrSteps) {
		return err
	}
	b.lower = math.Max(b.lower, q.Value(b.alpha)-constant)
	clear(b.next)
	if b.Linear != nil {
		floats.AddScaled(b.next, -1/b.Lambda, b.Linear)
	}
	for i, v := range b.alpha {
		if v != 0 {
			floats.AddScaled(b.next, -v/b.Lambda, b.cuts.A[i])
		}
	}
	return nil
}

// aggregate replaces planes beyond Keep. The mean of all by α has the value of the dual, so
// that no bound is lost; the newest, and those of the largest α, stay beside it.
func (b *bundleRun) aggregate() {
	k := len(b.cuts.A)
	if k <= b.Keep {
		return
	}
	mean, height := make([]float64, b.n), 0.0
	for i, v := range b.alpha {
		floats.AddScaled(mean, v, b.cuts.A[i])
		height += v * b.cuts.B[i]
	}
	order := make([]int, k-1) // but for the newest
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		switch {
		case b.alpha[x] > b.alpha[y]:
			return -1
		case b.alpha[x] < b.alpha[y]:
			return 1
		}
		return y - x // the newer
	})
	stay := append(order[:b.Keep/2], k-1)
	slices.Sort(stay)
	kept := &Cuts{}
	kept.Add(mean, height)
	for _, i := range stay {
		kept.Add(b.cuts.A[i], b.cuts.B[i])
	}
	*b.cuts = *kept
	b.alpha = make([]float64, len(kept.A))
	b.alpha[0] = 1
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
	k := &run.Checkpoint{X: slices.Clone(b.w), Scalars: map[string]float64{"planes": float64(len(b.cuts.A))},
		Arrays: map[string][]float64{"next": slices.Clone(b.next), "alpha": slices.Clone(b.alpha), "heights": slices.Clone(b.cuts.B), "bounds": {b.best, b.lower}, "slopes": slices.Concat(b.cuts.A...)}}
	return k, nil
}

// restore takes up what checkpoint has stored, in place of the planes given.
func (b *bundleRun) restore(k *run.Checkpoint) error {
	planes, a, bounds := int(k.Scalars["planes"]), k.Arrays["slopes"], k.Arrays["bounds"]
	heights := k.Arrays["heights"]
	if planes < 1 || len(heights) != planes || len(k.Arrays["alpha"]) != planes || len(a) != planes*b.n || len(bounds) != 2 {
		return fmt.Errorf("optim: bundle: %w: its planes do not fit", run.ErrOther)
	}
	b.w, b.next, b.alpha = slices.Clone(k.X), slices.Clone(k.Arrays["next"]), slices.Clone(k.Arrays["alpha"])
	b.best, b.lower = bounds[0], bounds[1]
	*b.cuts = Cuts{}
	for i := range planes {
		b.cuts.Add(slices.Clone(a[i*b.n:(i+1)*b.n]), heights[i])
	}
	return nil
}
