package optim

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/run"
)

// FitBound names how FitDual bounds the errors of a function at its samples.
type FitBound string

// The bounds. Labels of Margin and Hinge are -1 and 1.
const (
	TubeBound   FitBound = "tube"   // |y_n - f_n| ≤ √Eps at each sample
	MarginBound FitBound = "margin" // y_n f_n ≥ 1 - Eps at each sample
	HingeBound  FitBound = "hinge"  // Σ_n w_n max(0, 1 - y_n f_n) ≤ Eps, one bound for all samples
)

// FitDual solves problems of least complexity under bounds of the fit,
//
//	min over α  Σ_g v_g r(α_g)   where f = K·(v∘α) fits the samples within the bound,
//
// with r(α) = α²/2 + Gamma for |α| ≥ √(2 Gamma), and √(2 Gamma)·|α| below: the convex hull of
// α²/2 + Gamma·1[α ≠ 0]. A cell of K below √(2 Gamma) is one that is in use for a part of its
// volume. Gamma = 0 gives the duals of support vector machines whose kernel is K·diag(v)·Kᵀ.
//
// It works on the dual, concave in one multiplier λ_n for each sample: maximise
//
//	Tube    Σ λ_n y_n - √Eps Σ|λ_n| - Φ(λ)
//	Margin  (1-Eps) Σ u_n - Φ(λ),       λ_n = y_n u_n, u_n ≥ 0
//	Hinge   Σ u_n - Eps·μ - Φ(λ),       λ_n = y_n u_n, 0 ≤ u_n ≤ w_n μ
//
// with Φ(λ) = Σ_g v_g max(0, t_g²/2 - Gamma) and t = Kᵀλ.
//
// A positive Ridge relaxes the bound: sample n may exceed it by u_n, at the cost of Σ u_n²/(2 Ridge).
// Then u_n = Ridge·λ_n, the dual loses Ridge/2 Σ λ_n², and there is always a solution. Bounds,
// Excess and violations are those of f_n + Ridge·λ_n.
type FitDual struct {
	K      []float64 // samples × cells, row-major: values of the cells' functions at the samples
	Volume []float64 // v, of each cell; positive
	Gamma  float64   // price of a unit of volume in use
	Bound  FitBound
	Eps    float64   // Hinge: positive
	Target []float64 // y, of each sample
	Weight []float64 // w of Hinge; nil is all 1
	Ridge  float64   // the larger, the cheaper it is to exceed the bound; 0 is not at all
	// Gap is the relative gap, and Violation the largest violation of the bound, at which Minimize
	// stops. Zero is 1e-6; violations of Tube are in units of the largest |y_n|.
	Gap, Violation float64
}

// FitDualResult is where a run ended. X are the multipliers λ, F is minus the value of the dual.
type FitDualResult struct {
	Result
	Alpha     []float64 // α of each cell; |α_g| < √(2 Gamma) is a cell in use in part
	Values    []float64 // f at the samples
	Primal    float64   // Σ v r(α), with Ridge/2 Σ λ²
	Dual      float64   // no α within the bound has less than this
	Violation float64   // by how much the bound is exceeded; of Hinge the total
}

// Gap returns the relative gap between primal and dual value.
func (r *FitDualResult) Gap() float64 {
	return math.Abs(r.Primal-r.Dual) / math.Max(math.Abs(r.Primal), 1e-300)
}

// ErrInfeasible reports bounds that no function meets.
var ErrInfeasible = errors.New("no function meets the bound")

// InfeasibleError is an ErrInfeasible, with the samples of the largest multipliers, the
// largest first.
type InfeasibleError struct{ Samples []int }

func (e *InfeasibleError) Error() string {
	return fmt.Sprintf("%v: the multipliers grow without end, most those of samples %v", ErrInfeasible, e.Samples)
}

// Unwrap returns ErrInfeasible.
func (e *InfeasibleError) Unwrap() error { return ErrInfeasible }

// Check returns an error that says what cannot be used.
func (d *FitDual) Check() error {
	n, g := len(d.Target), len(d.Volume)
	bad := func(format string, args ...any) error { return fmt.Errorf("optim: FitDual: "+format, args...) }
	switch {
	case n == 0 || g == 0 || len(d.K) != n*g:
		return bad("%d entries of K for %d samples and %d cells", len(d.K), n, g)
	case d.Weight != nil && len(d.Weight) != n:
		return bad("%d weights for %d samples", len(d.Weight), n)
	case !(d.Gamma >= 0) || math.IsInf(d.Gamma, 1) || !(d.Eps >= 0) || math.IsInf(d.Eps, 1):
		return bad("Gamma %v and Eps %v must be finite, and not negative", d.Gamma, d.Eps)
	case !(d.Ridge >= 0) || math.IsInf(d.Ridge, 1):
		return bad("Ridge %v must be finite, and not negative", d.Ridge)
	case d.Bound == HingeBound && d.Eps == 0:
		return bad("Eps of a total hinge must be positive; MarginBound with Eps = 0 allows none")
	case d.Bound == MarginBound && d.Eps >= 1:
		return bad("Eps %v of a margin is not below 1", d.Eps)
	case d.Bound != TubeBound && d.Bound != MarginBound && d.Bound != HingeBound:
		return bad("there is no bound %q", d.Bound)
	}
	if i := FirstNotFinite(d.K); i >= 0 {
		return bad("K of sample %d and cell %d: %w", i/g, i%g, ErrNotFinite)
	}
	for i, v := range d.Volume {
		if !(v > 0) || math.IsInf(v, 1) {
			return bad("volume %v of cell %d is not positive", v, i)
		}
	}
	for i, y := range d.Target {
		if y-y != 0 || d.Bound != TubeBound && y != 1 && y != -1 {
			return bad("target %v of sample %d", y, i)
		}
		if d.Weight != nil && (!(d.Weight[i] > 0) || math.IsInf(d.Weight[i], 1)) {
			return bad("weight %v of sample %d is not positive", d.Weight[i], i)
		}
	}
	return nil
}

func (d *FitDual) weight(n int) float64 {
	if d.Weight == nil {
		return 1
	}
	return d.Weight[n]
}

// Transpose stores Kᵀλ in t. O(samples·cells), as Apply.
func (d *FitDual) Transpose(lambda, t []float64) {
	g := len(d.Volume)
	gemm.Implementation{}.Dgemv(blas.Trans, len(lambda), g, 1, d.K, g, lambda, 1, 0, t, 1)
}

// Apply stores f = K·(v∘α) in f.
func (d *FitDual) Apply(alpha, f []float64) {
	va := make([]float64, len(alpha))
	floats.MulTo(va, alpha, d.Volume)
	g := len(d.Volume)
	gemm.Implementation{}.Dgemv(blas.NoTrans, len(f), g, 1, d.K, g, va, 1, 0, f, 1)
}

// Complexity returns Σ v r(α).
func (d *FitDual) Complexity(alpha []float64) float64 {
	sum, edge := 0.0, math.Sqrt(2*d.Gamma)
	for g, a := range alpha {
		switch a = math.Abs(a); {
		case a >= edge:
			sum += d.Volume[g] * (a*a/2 + d.Gamma)
		default:
			sum += d.Volume[g] * edge * a
		}
	}
	return sum
}

// Value returns the value of the dual at multipliers λ with t = Kᵀλ, -Inf where they have the
// wrong sign. μ of Hinge is the least that λ allows.
func (d *FitDual) Value(lambda, t []float64) float64 {
	v := 0.0
	for g, x := range t {
		v -= d.Volume[g] * math.Max(0, x*x/2-d.Gamma)
	}
	mu := 0.0
	for n, l := range lambda {
		u := l * d.Target[n]
		v -= d.Ridge / 2 * l * l
		switch {
		case d.Bound == TubeBound:
			v += u - math.Sqrt(d.Eps)*math.Abs(l)
		case u < 0:
			return math.Inf(-1)
		case d.Bound == MarginBound:
			v += (1 - d.Eps) * u
		default:
			v += u
			mu = math.Max(mu, u/d.weight(n))
		}
	}
	if d.Bound == HingeBound {
		v -= d.Eps * mu
	}
	return v
}

// Excess returns by how much the values f at the samples exceed the bound.
func (d *FitDual) Excess(f []float64) float64 {
	worst, total := 0.0, 0.0
	for n, v := range f {
		switch y := d.Target[n]; d.Bound {
		case TubeBound:
			worst = math.Max(worst, math.Abs(y-v)-math.Sqrt(d.Eps))
		case MarginBound:
			worst = math.Max(worst, 1-d.Eps-y*v)
		default:
			total += d.weight(n) * math.Max(0, 1-y*v)
		}
	}
	if d.Bound == HingeBound {
		return math.Max(0, total-d.Eps)
	}
	return worst
}

// Minimize runs a primal-dual interior-point method with Mehrotra's correction (Nocedal and Wright,
// Numerical Optimization, 2nd ed., algorithm 16.4). It starts from the multipliers start, nil for
// none, and by default takes at most 200 steps. The cells are eliminated from its linear systems,
// so that a step costs O(samples²·cells + samples³/3) with the cells in use.
//
// Errors: unusable problems, an *InfeasibleError, and those of the run.
func (d *FitDual) Minimize(start []float64, c *run.Control) (*FitDualResult, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	n := len(d.Target)
	zero := &FitDualResult{Alpha: make([]float64, len(d.Volume)), Values: make([]float64, n)}
	if d.Excess(zero.Values) <= 0 { // nothing at all is within the bound
		zero.X, zero.Reason = make([]float64, n), run.GapSmall
		return zero, nil
	}
	r := begin("fit dual", c, 200)
	p := newInterior(d, r.Run)
	k, err := r.resume(n)
	if err != nil {
		return nil, err
	}
	switch {
	case k != nil:
		if err := p.restore(k); err != nil {
			return nil, err
		}
	case start != nil:
		if err := CheckStart("FitDual", n, start); err != nil {
			return nil, err
		}
		p.begin(start)
	default:
		p.begin(nil)
	}
	reason, err := r.Loop(p.step, p.checkpoint)
	if err != nil {
		err = fmt.Errorf("optim: %w", err)
	}
	res := p.result()
	res.Reason, res.Iterations, res.Evaluations = reason, r.Steps(), r.Evaluations
	if err == nil && reason != run.GapSmall && (p.lost || res.Violation > 1e-3*p.unit) {
		worst := make([]int, n)
		for i := range worst {
			worst[i] = i
		}
		slices.SortStableFunc(worst, func(a, b int) int {
			switch x, y := math.Abs(res.X[a]), math.Abs(res.X[b]); {
			case x > y:
				return -1
			case x < y:
				return 1
			}
			return a - b
		})
		err = &InfeasibleError{worst[:min(n, 5)]}
	}
	return res, err
}

// FitDualRow is what a run of FitDual adds to its rows.
type FitDualRow struct{ Gap, Violation float64 }

// Fields implements run.Detail.
func (r *FitDualRow) Fields() []run.Field {
	return []run.Field{{Name: "gap", Value: r.Gap}, {Name: "violation", Value: r.Violation}}
}

// String implements run.Detail.
func (r *FitDualRow) String() string {
	return fmt.Sprintf("gap %.2g, violation %.2g", r.Gap, r.Violation)
}
