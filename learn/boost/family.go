package boost

import (
	"errors"
	"fmt"
	"math"
)

// Family is H_{n,lambda,q}: regression trees with at most Splits internal nodes
// whose leaf vector w has ‖w‖_q ≤ Lambda. q belongs to the booster, since one run
// has one. With a Learner, it is that learner's predictors, |h| ≤ Lambda.
type Family struct {
	Splits int     `json:"splits"` // n, at least 0: a single leaf is an intercept
	Lambda float64 `json:"lambda"` // positive; +Inf is no bound

	// Learner, if not nil, makes this family's predictors in place of trees: a
	// kernel, a network, anything. Its predictors are scaled to the range
	// [-Lambda, Lambda] when they exceed it.
	Learner Learner `json:"-"`
	// Complexity, for a family with a Learner, returns a bound on its Rademacher
	// complexity over m rows with d features. It is needed then.
	Complexity func(d, m int) float64 `json:"-"`
}

// ComplexityBound selects how the Rademacher complexity of trees is bounded.
type ComplexityBound string

const (
	// VCBound is Theorem 3.1 of the thesis.
	VCBound ComplexityBound = ""
	// CountBound counts the partitions that threshold trees can make of m points,
	// which is smaller in all practical cases and needs no VC dimension.
	CountBound ComplexityBound = "count"
)

// Omega bounds the Rademacher complexity (1/m) E_σ sup_h Σ σ_i h(x_i) on m rows. The predictors are
// trees with at most n internal nodes over d features and ‖w‖_q ≤ lambda, for any q ≥ 1.
//
// By Hölder's inequality Σ_l w_l Σ_{i in l} σ_i is at most lambda times the dual norm of the leaf
// sums. That norm is at most their l1 norm: lambda times the supremum over trees with leaves ±1.
// Those have VC dimension at most (2n+1) log2(d+2), hence at most (m+1)^VC labellings of the rows,
// and Massart's lemma gives
//
//	Omega = lambda sqrt((4n+2) log2(d+2) ln(m+1) / m)          (Theorem 3.1; its statement drops 1/m)
//
// CountBound replaces the number of labellings by Cat(n) (d(m-1)+1)^n 2^(n+1). The factors count
// shapes of the tree (Catalan number), a threshold between consecutive values or none at each node,
// and a sign at each leaf.
//
// Both cover only thresholds on numeric columns without missing values; Questions has the bounds
// for other columns.
func Omega(b ComplexityBound, n int, lambda float64, d, m int) float64 {
	if m < 1 {
		return math.Inf(1)
	}
	f, rows := float64(n), float64(m)
	if b == CountBound {
		labellings := logCatalan(n) + f*math.Log(float64(d)*(rows-1)+1) + (f+1)*math.Ln2
		return lambda * math.Sqrt(2*labellings/rows)
	}
	return lambda * math.Sqrt((4*f+2)*math.Log2(float64(d)+2)*math.Log(rows+1)/rows)
}

// logCatalan is the logarithm of (2n)! / (n! (n+1)!).
func logCatalan(n int) float64 {
	f := float64(n)
	a, _ := math.Lgamma(2*f + 1)
	b, _ := math.Lgamma(f + 1)
	return a - 2*b - math.Log(f+1)
}

// omega is the family's complexity.
func (f *Family) omega(b ComplexityBound, d, m int) float64 {
	if f.Learner != nil {
		return f.Complexity(d, m)
	}
	return Omega(b, f.Splits, f.Lambda, d, m)
}

// Normalisation maps the complexities of a grid to [0, 1].
type Normalisation string

const (
	ByMaximum Normalisation = ""       // Omega_k / max Omega: in (0, 1]
	MinMax    Normalisation = "minmax" // (Omega_k - min)/(max - min): the smallest family is free
)

// NormalisedOmega returns the penalties Omega~_k that multiply beta. For a grid of
// trees m and d cancel in ByMaximum of VCBound, and so would the columns that Questions
// adds. An unbounded family has 1; so has the only one, and with MinMax all of several
// equal ones.
func NormalisedOmega(families []Family, how Normalisation, b ComplexityBound, d, m int) []float64 {
	out := make([]float64, len(families))
	lo, hi := math.Inf(1), 0.0
	for k := range families {
		out[k] = families[k].omega(b, d, m)
		if !math.IsInf(out[k], 1) {
			lo, hi = min(lo, out[k]), max(hi, out[k])
		}
	}
	for k, v := range out {
		switch {
		case math.IsInf(v, 1) || hi == 0 || len(families) == 1:
			out[k] = 1
		case how == MinMax && hi > lo:
			out[k] = (v - lo) / (hi - lo)
		case how == MinMax:
			out[k] = 1
		default:
			out[k] = v / hi
		}
	}
	return out
}

// Sampling says how the probability of drawing a family grows with its lambda: by
// its Lipschitz constant C_k (eq. 3.10).
type Sampling string

const (
	// p_k ~ lambda_k: Lemma A.1 as printed, and the thesis' experiments
	ByLambda Sampling = ""
	// p_k ~ lambda_k², the bound that holds for all trees of the family
	ByLambdaSquared Sampling = "lambda-squared"
	Uniformly       Sampling = "uniform"
)

// Probabilities returns the distribution p over the families. It is uniform among unbounded
// families, since any power of lambda would favour them without limit; bounded families are then
// never drawn. Use Uniformly for such grids.
func (s Sampling) Probabilities(families []Family) []float64 {
	p := make([]float64, len(families))
	top := 0.0
	for k := range families {
		top = max(top, families[k].Lambda)
	}
	sum := 0.0
	for k := range families {
		r := families[k].Lambda / top // relative, so that no power overflows
		if math.IsInf(top, 1) {
			r = 0
			if math.IsInf(families[k].Lambda, 1) {
				r = 1
			}
		}
		switch s {
		case Uniformly:
			p[k] = 1
		case ByLambdaSquared:
			p[k] = r * r
		default:
			p[k] = r
		}
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}

// Grid returns the families of all pairs, splits outer, lambdas inner.
func Grid(splits []int, lambdas []float64) []Family {
	out := make([]Family, 0, len(splits)*len(lambdas))
	for _, n := range splits {
		for _, l := range lambdas {
			out = append(out, Family{Splits: n, Lambda: l})
		}
	}
	return out
}

// ErrFamily reports a grid of families that cannot be used.
var ErrFamily = errors.New("unusable family")

// MaxSplits bounds the internal nodes of a family's trees.
const MaxSplits = 1 << 20

func checkFamilies(families []Family) error {
	if len(families) == 0 {
		return fmt.Errorf("boost: %w: there is none", ErrFamily)
	}
	for k, f := range families {
		switch {
		case f.Splits < 0 || f.Splits > MaxSplits:
			return fmt.Errorf("boost: %w: family %d has %d internal nodes; 0 to %d are possible", ErrFamily, k,
				f.Splits, MaxSplits)
		case !(f.Lambda > 0):
			return fmt.Errorf("boost: %w: family %d has lambda %v, which is not positive", ErrFamily, k, f.Lambda)
		case f.Learner != nil && f.Complexity == nil:
			return fmt.Errorf("boost: %w: family %d has the learner %s but no complexity", ErrFamily, k,
				f.Learner.Name())
		}
	}
	return nil
}

// sampler draws family indices by inversion.
type sampler []float64 // cumulative probabilities

func newSampler(p []float64) sampler {
	c := make(sampler, len(p))
	sum := 0.0
	for k, v := range p {
		sum += v
		c[k] = sum
	}
	return c
}

// draw returns the index of uniform number u in [0, 1).
func (c sampler) draw(u float64) int {
	u *= c[len(c)-1]
	lo, hi := 0, len(c)-1
	for lo < hi {
		mid := (lo + hi) / 2
		if c[mid] > u {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// String names the family: "8 splits, lambda 0.5".
func (f Family) String() string {
	if f.Learner != nil {
		return fmt.Sprintf("%s, lambda %v", f.Learner.Name(), f.Lambda)
	}
	return fmt.Sprintf("%d splits, lambda %v", f.Splits, f.Lambda)
}
