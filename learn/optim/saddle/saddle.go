package saddle

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/learn/run"
)

// Problem is a function φ(w, λ) to be minimised over w and maximised over λ. The
// guarantees of the solvers hold when it is convex in w and concave in λ.
type Problem interface {
	Dims() (w, lambda int)
	// Eval returns φ(w, λ). Unless they are nil, it stores the (sub)gradient with respect to w in
	// gw and the (super)gradient with respect to λ in gl. It keeps w and λ intact, and retains no
	// slice.
	Eval(w, lambda, gw, gl []float64) (float64, error)
}

// Sampled is implemented by a mean over examples that can be estimated on some of them.
type Sampled interface {
	Problem
	Len() int
	// EvalBatch is Eval on the examples of the batch only: the mean over them replaces the mean
	// over all. The means over equal batches that divide the examples average to Eval.
	EvalBatch(batch []int, w, lambda, gw, gl []float64) (float64, error)
}

// Convex is implemented by functions that are convex in w for every λ of the set, and concave in λ.
// Only for these is there a certificate.
type Convex interface {
	Problem
	// Curvature stores μ ≥ 0 such that φ(·, λ) - Σ_j μ_j w_j²/2 is convex for every
	// λ, and reports whether φ is convex in w at all.
	Curvature(mu []float64) bool
}

// Func makes a Convex of a function; it promises convexity in w and
// concavity in λ, with curvature Mu along every coordinate of w.
type Func struct {
	W, Lambda int
	Mu        float64
	F         func(w, lambda, gw, gl []float64) (float64, error)
}

// Dims implements Problem.
func (f Func) Dims() (int, int) { return f.W, f.Lambda }

// Eval implements Problem.
func (f Func) Eval(w, lambda, gw, gl []float64) (float64, error) {
	return f.F(w, lambda, gw, gl)
}

// Curvature implements Convex.
func (f Func) Curvature(mu []float64) bool {
	for j := range mu {
		mu[j] = f.Mu
	}
	return true
}

// Method is a way to move both players; the zero value is MirrorProx.
type Method string

const (
	// MirrorProx looks ahead: a trial step from z gives z', and the gradients at z' move z. With
	// exact gradients and small enough steps its averages converge as 1/T where φ is smooth, and
	// the last point converges too (A. Nemirovski, SIAM J. Optimization 15, 2004). With noise see
	// A. Juditsky, A. Nemirovski and C. Tauvel, Stochastic Systems 1, 2011. A step takes two
	// evaluations, on two minibatches.
	MirrorProx Method = ""
	// DescentAscent moves both players at once along the gradients at the old
	// point. Only its averages converge, as 1/√T.
	DescentAscent Method = "gda"
	// Alternating moves λ along its gradient at the new w. It is another algorithm,
	// and Theorem 5.4 does not speak of it.
	Alternating Method = "alternating"
)

func (m Method) String() string { return cmp.Or(string(m), "mirror-prox") }

// StepRule says how long steps are. γ_w and γ_λ stand for StepW and StepLambda. The zero
// value is ConstantSteps.
type StepRule string

const (
	// ConstantSteps are γ_w and γ_λ throughout.
	ConstantSteps StepRule = ""
	// TheoremSteps are those of Theorem 5.4, constant and made for the number of
	// steps that the run will take; see Radii.
	TheoremSteps StepRule = "theorem"
	// DecreasingSteps are γ_w/√t and γ_λ/√t; averages weigh a point by its step.
	DecreasingSteps StepRule = "decreasing"
	// AdaptiveSteps shrink with the gradients met: γ_w and γ_λ are then radii, the distance to
	// travel. Descent and ascent divide them by √Σ|g|² (J. Duchi, E. Hazan and Y. Singer, JMLR 12,
	// 2011, with one rate a player). Mirror-prox divides by √(|g_1|² + Σ|g_s - g_s'|²), which
	// adapts to smooth and to other φ (after F. Bach and K. Levy, COLT 2019).
	AdaptiveSteps StepRule = "adaptive"
	// BacktrackedSteps are for mirror-prox without minibatches: γ·(γ_w, γ_λ). γ is at most 1.1
	// times the last, and the largest for which the operator changes by at most |z'-z|/γ between z
	// and z'. No step size needs to be known.
	BacktrackedSteps StepRule = "backtracked"
)

// stepRules are in the order of their numbers in checkpoints.
var stepRules = []StepRule{ConstantSteps, TheoremSteps, DecreasingSteps, AdaptiveSteps, BacktrackedSteps}

func (s StepRule) String() string { return cmp.Or(string(s), "constant") }

// number is that of the rule in checkpoints; -1 is none.
func (s StepRule) number() int { return slices.Index(stepRules, s) }

// ParseStepRule finds a rule by its name.
func ParseStepRule(name string) (StepRule, error) {
	for _, s := range stepRules {
		if s.String() == name {
			return s, nil
		}
	}
	return "", fmt.Errorf("saddle: %q is no rule for steps; choose one of %q", name, stepRules)
}

// Radii are the constants of Theorem 5.4 of the thesis "Large-scale learning". They are |w| ≤ W and
// |λ| ≤ Lambda on the sets, and the roots of σ² + G² for both stochastic gradients, which bound the
// mean of their squares.
//
// A zero field is computed: W and Lambda from a Ball or a set within the simplex. The norms are the
// root of the mean square of the gradients of the first 50 minibatches at the start, or of the full
// gradient without minibatches. Such norms are estimates, and so is then the theorem's bound.
type Radii struct{ W, Lambda, NormW, NormLambda float64 }

// Steps returns γ_w and γ_λ for T steps.
func (r Radii) Steps(t int) (w, lambda float64) {
	root := math.Sqrt(float64(t))
	return 2 * r.W / (root * r.NormW), 2 * r.Lambda / (root * r.NormLambda)
}

// Bound returns the theorem's bound on the expectation of max_λ φ(w̄, λ) - min_w
// max_λ φ(w, λ) after T steps of DescentAscent with these steps.
func (r Radii) Bound(t int) float64 {
	return 3 / math.Sqrt(float64(t)) * (r.W*r.NormW + r.Lambda*r.NormLambda)
}

// ErrDiverged reports a run whose values grew beyond all bounds.
var ErrDiverged = errors.New("the run diverges")

// DivergenceError says where a saddle-point run went astray. The result beside it
// holds the averages up to the step before, all finite.
type DivergenceError struct {
	Solver             string
	Step               int     // that caused it, from 1
	StepW, StepLambda  float64 // its lengths
	Value, First, Norm float64 // φ there, φ at the start, largest |w_j|
	Err                error   // ErrDiverged or ErrNotFinite
}

func (e *DivergenceError) Error() string {
	return fmt.Sprintf("saddle: %s: step %d (of length %.3g for w, %.3g for λ) led to the value %.6g, from "+
		"%.6g at the start, and to weights up to %.3g: %v; take shorter steps, or a bounded set for w",
		e.Solver, e.Step, e.StepW, e.StepLambda, e.Value, e.First, e.Norm, e.Err)
}

func (e *DivergenceError) Unwrap() error { return e.Err }

// Row is what a saddle-point solver adds to a Row.
type Row struct {
	Names []string // of the objectives; nil from solvers, which do not know them
	// gradient with respect to λ: of objectives that λ mixes, their values; means over the pass
	// where there are minibatches
	Values []float64
	Lambda []float64 // of now
	Mean   []float64 // λ averaged so far
	Upper  float64   // best certified bounds on the value of the game so far; infinite when there are none
	Lower  float64
}

// Result is where a saddle-point run ended.
type Result struct {
	W, Lambda         []float64 // averages, which the guarantees are about
	LastW, LastLambda []float64 // last iterates
	Value             float64   // the last value of φ met, an estimate where there are minibatches
	Certificate       Certificate
	Certified         bool // Certificate is of (W, Lambda) or better; else it is empty
	Radii             Radii
	Steps             int
	Iterations        int
	Evaluations       int // of φ on all examples; minibatches count by their share
	Reason            run.Reason
	Note              string
}

// Fields implements run.Detail: what each objective is at, its weight and its average
// weight, then the bounds.
func (s *Row) Fields() []run.Field {
	var out []run.Field
	for _, list := range []struct {
		what   string
		values []float64
	}{{"loss", s.Values}, {"lambda", s.Lambda}, {"mean_lambda", s.Mean}} {
		for k, v := range list.values {
			out = append(out, run.Field{Name: list.what + " " + s.name(k), Value: v})
		}
	}
	return append(out, run.Field{Name: "upper", Value: s.Upper}, run.Field{Name: "lower", Value: s.Lower})
}

// String implements run.Detail.
func (s *Row) String() string {
	var parts []string
	for k, v := range s.Values {
		name := s.name(k)
		if k >= len(s.Names) {
			name = "objective " + name
		}
		if v == v { // NaN was not evaluated: it has no weight
			parts = append(parts, fmt.Sprintf("%s %.4f (λ %.2f)", name, v, s.Lambda[k]))
		}
	}
	if gap := s.Upper - s.Lower; !math.IsInf(gap, 0) {
		parts = append(parts, fmt.Sprintf("gap %.2g", gap))
	}
	return strings.Join(parts, ", ")
}

func (s *Row) name(k int) string {
	if k < len(s.Names) {
		return s.Names[k]
	}
	return strconv.Itoa(k + 1)
}

// RowOf returns what a saddle-point solver added to a row, nil for rows of other solvers.
func RowOf(r run.Row) *Row {
	s, _ := r.Detail.(*Row)
	return s
}
