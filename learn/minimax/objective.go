package minimax

import (
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim/score"
)

// ZeroOneMode says what the players of the game see of a zero-one loss, whose own
// gradient is zero almost everywhere.
type ZeroOneMode string

const (
	// Surrogate shows both the loss ZeroOne: one convex-concave game, whose value
	// bounds the true worst case from above. The default.
	Surrogate ZeroOneMode = "surrogate"
	// RampSurrogate shows both score.Ramp(1): closer to the zero-one loss, not convex.
	RampSurrogate ZeroOneMode = "ramp"
	// Proxy shows λ the true zero-one loss and w the surrogate: two games, and no
	// certificate (A. Cotter, H. Jiang and K. Sridharan, "Two-player games for
	// efficient non-convex constrained optimization", ALT 2019).
	Proxy ZeroOneMode = "proxy"
	// ZeroGradient shows λ the true zero-one loss and w nothing: what automatic
	// differentiation does. Unsound, since λ can move its mass to where w does not
	// see it; for reproduction only.
	ZeroGradient ZeroOneMode = "zero-grad"
)

// Normalization says which multiple of a loss, less which offset, enters the game.
// The largest of several losses depends on their units: this is part of the model.
type Normalization string

const (
	// Lipschitz is ℓ_k / Lip_k for the loss of one score, so that M_k = 1; the default. The
	// zero-one surrogate of C > 2 classes, C/2 times a mean, keeps that factor, and then has
	// M_k = C/2.
	Lipschitz Normalization = "lipschitz"
	Bounded   Normalization = "bounded"  // ℓ_k / max(Lip_k, Bound_k(B)): M_k ≤ 1 and values at most 1
	Baseline  Normalization = "baseline" // L_k / L_k(w0) for the start w0, which is zero for linear models
	// Regret is Lipschitz less L_k* = min_w L_k: excess losses. That minimum includes the penalty
	// of linear models, so that regrets that count it are not negative. A loss without a finite
	// constant is not divided, since regrets need L_k* only. Where β_2 and Bound do need constants
	// they say so.
	Regret Normalization = "regret"
	Raw    Normalization = "none"
)

// MultiClass says how losses of a margin become losses of several classes.
type MultiClass string

const (
	// OneVsAll is the mean over classes of the loss of each score against ±1. The
	// zero-one surrogate is C/2 times this mean, which bounds the error of the
	// argmax: where some s_c ≥ s_y, log2(1+e^{s_c}) + log2(1+e^{-s_y}) ≥ 2. The
	// default.
	OneVsAll MultiClass = "ova-mean"
	// Softmax losses are, for a row of class y: cross-entropy -ln softmax_y, and hinge max(0, 1 +
	// max_{c≠y} s_c - s_y). Zero-one is cross-entropy/ln 2, and other losses are sums over c of the
	// loss of s_c against 0 or 1.
	Softmax MultiClass = "softmax"
)

// objective is a loss on score vectors with its place in the game: Scale·L - Offset.
type objective struct {
	Loss
	factor        float64 // of the mean over outputs
	scale, offset float64
	lipschitz     float64 // M_k, after scaling
	bound         float64 // after scaling, for scores up to the bound; +Inf when there is none
}

// row says what the loss is of a row of scores: of none where it is a mean over outputs.
func (o *objective) row(m MultiClass, outputs int) score.RowKind {
	if m != Softmax || outputs == 1 {
		return score.NoRow
	}
	return o.RowKind()
}

// size says how large scores are, in messages.
func size(bound float64) string {
	if math.IsInf(bound, 1) {
		return "are unbounded"
	}
	return fmt.Sprintf("may be as large as %.4g", bound)
}

// newObjectives resolves losses by everything but baselines and regrets, which need
// training. scoreBound is how large scores can be, +Inf when nothing is known.
func newObjectives(losses []Loss, norm Normalization, mode ZeroOneMode, multi MultiClass, outputs int,
	scoreBound float64) ([]objective, error) {
	if len(losses) == 0 {
		return nil, fmt.Errorf("minimax: no objectives: give at least one loss")
	}
	switch mode {
	case Surrogate, RampSurrogate, Proxy, ZeroGradient:
	default:
		return nil, fmt.Errorf("minimax: there is no zero-one mode %q; choose surrogate, ramp, proxy or zero-grad",
			mode)
	}
	var out []objective
	for _, l := range losses {
		if slices.ContainsFunc(out, func(o objective) bool { return o.Name == l.Name }) {
			return nil, fmt.Errorf("minimax: two objectives are called %q", l.Name)
		}
		if l.At == nil || l.Lipschitz == nil || l.Bound == nil {
			return nil, fmt.Errorf("minimax: loss %q lacks a value, a Lipschitz constant or a bound", l.Name)
		}
		if l.Errors && mode == RampSurrogate {
			name := l.Name
			l, _ = score.Ramp(1)
			l.Name, l.Errors = name, true
		}
		o := objective{Loss: l, factor: 1, scale: 1}
		row := o.row(multi, outputs)
		if l.Errors && outputs > 1 && multi == OneVsAll {
			o.factor = float64(outputs) / 2
		}
		lip, bound := l.Lipschitz(scoreBound), l.Bound(scoreBound)
		if row != score.NoRow {
			lip, bound = l.RowConstants(outputs, scoreBound)
		}
		by := 1.0
		switch norm {
		case Lipschitz:
			by = lip
		case Regret:
			if !math.IsInf(lip, 1) {
				by = lip
			}
		case Bounded:
			by = o.factor * math.Max(lip, bound)
		case Baseline, Raw:
		default:
			return nil, fmt.Errorf("minimax: there is no normalisation %q; choose lipschitz, bounded, baseline, "+
				"regret or none", norm)
		}
		if math.IsInf(by, 1) {
			return nil, fmt.Errorf("minimax: %s has no finite constant to be normalised by (%s) while scores %s; "+
				"bound the weights, or give a bound of the scores, or choose another normalisation: %s needs no "+
				"constant", l.Name, norm, size(scoreBound), Regret)
		}
		if !(by > 0) {
			return nil, fmt.Errorf("minimax: %s has the Lipschitz constant %v: it cannot be normalised by it", l.Name,
				by)
		}
		o.scale = 1 / by
		o.lipschitz, o.bound = o.factor*lip*o.scale, o.factor*bound*o.scale
		out = append(out, o)
	}
	return out, nil
}

// scratch holds what the objectives share on a block of scores. It belongs to one
// goroutine.
type scratch struct {
	y      []float64 // targets
	lv, ld []float64 // logistic value and derivative in s
	have   bool
	// weight, if not nil, is what each score counts for, alike within a row; weights is
	// where it lives.
	weight, weights []float64
	row             []float64 // space for losses of a row
	under           bool      // relaxed losses give the lines below what was relaxed
}

// evaluate adds the sum of each objective's loss (mean over outputs times factor) to sums[k].
// Unless ds is nil, it stores there the derivative of Σ_k coef_k·Σ_i in the scores. Rows of s have
// the width outputs.
//
// y holds a target for each score; class the rows' classes, for losses of whole
// rows. Where the λ-player sees true zero-one errors, these are in sums.
func evaluate(objectives []objective, multi MultiClass, mode ZeroOneMode, outputs int, s []float64,
	y []float64, class []int32, coef, sums, ds []float64, c *scratch) {
	clear(ds)
	c.have = false
	inv := 1 / float64(outputs)
	for k := range objectives {
		o := &objectives[k]
		sum, a := 0.0, 0.0
		if ds != nil {
			a = coef[k]
		}
		switch row := o.row(multi, outputs); {
		case row != score.NoRow:
			sum = o.rows(row, outputs, s, class, a, ds, c)
		case o.Multiple != 0:
			if !c.have {
				c.lv, c.ld = sized(c.lv, len(s)), sized(c.ld, len(s))
				for i, v := range s {
					l, d := score.LogisticAt(y[i] * v)
					c.lv[i], c.ld[i] = l, y[i]*d
				}
				c.have = true
			}
			for i, v := range c.lv {
				sum += c.of(i) * v
			}
			sum *= o.Multiple * inv * o.factor
			if a *= o.Multiple * inv * o.factor; a != 0 && !(o.Errors && mode == ZeroGradient) {
				for i, d := range c.ld {
					ds[i] += a * d
				}
			}
		default:
			if a *= inv * o.factor; o.Errors && mode == ZeroGradient {
				a = 0
			}
			at := o.at(c.under)
			for i, v := range s {
				l, d := at(v, y[i])
				if sum += c.of(i) * l; a != 0 {
					ds[i] += a * d
				}
			}
			sum *= inv * o.factor
		}
		if o.Errors && (mode == Proxy || mode == ZeroGradient) {
			sum = countErrors(outputs, s, y, class, c.weight)
		}
		sums[k] += sum
	}
	if c.weight != nil {
		for i := range ds {
			ds[i] *= c.weight[i]
		}
	}
}

// of returns what score i counts for.
func (c *scratch) of(i int) float64 {
	if c.weight == nil {
		return 1
	}
	return c.weight[i]
}

func (o *objective) at(under bool) func(s, y float64) (float64, float64) {
	if under && o.Under != nil {
		return o.Under
	}
	return o.At
}

// rows returns Σ_i of a loss of whole rows, and adds a times its derivative.
func (o *objective) rows(kind score.RowKind, outputs int, s []float64, class []int32, a float64,
	ds []float64, c *scratch) float64 {
	c.row = sized(c.row, 2*outputs)
	sum := 0.0
	for i, y := range class {
		var d []float64
		if a != 0 {
			d = ds[i*outputs:][:outputs]
		}
		sum += c.of(i*outputs) * o.Row(kind, s[i*outputs:][:outputs], int(y), a, d, c.under, c.row)
	}
	return sum
}

// countErrors counts rows whose score is on the wrong side, or whose class is not the unique best
// one. Ties are errors, and so is NaN. Each counts by the weight of its score, or 1.
func countErrors(outputs int, s, y []float64, class []int32, weight []float64) float64 {
	n := 0.0
	for i := range len(s) / outputs {
		var label float64
		if outputs == 1 {
			label = y[i]
		} else {
			label = float64(class[i])
		}
		switch {
		case score.Margin(outputs, label, s[i*outputs:][:outputs]) > 0:
		case weight == nil:
			n++
		default:
			n += weight[i*outputs]
		}
	}
	return n
}

func sized[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n)
	}
	return v[:n]
}
