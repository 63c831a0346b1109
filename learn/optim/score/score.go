// Package score holds the losses of a score: functions of a label and of a model's output for one
// example. Boosting, linear models, networks and structured learners share this one set.
//
//	l, err := score.Parse("huber:1")
//	l.Gradients(g, h, y, f)                  // of many rows at once
//	mean := score.Mean(l, y, weight, f, 0)   // on all processors
//
// Labels are -1 and +1 for losses of margins, class numbers for soft-max, and any finite
// numbers for regression; Labels takes them from a table.
//
// Loss works on many rows, for steps that need nothing but derivatives. Pointwise is a loss of one
// score at a point, with what proofs need: Lipschitz constants, bounds, kinks and their smooth
// minorants. Pointwise.Row makes losses of several scores and a class of it.
package score

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/run"
)

// Loss is a function Phi(y, F) of a label and the scores of one row, convex and
// differentiable in the scores. The methods work on many rows at once: scores,
// gradients and second derivatives of row i are f[i*K : (i+1)*K], K = Outputs().
//
// No method multiplies by a sample weight or divides by the number of rows; the caller that sums
// over rows does, once.
type Loss interface {
	Name() string // identifies the loss in model files, parameters included; see Parse
	Outputs() int // scores a row: 1, or the number of classes
	// Check returns an error unless y is a label of this loss: -1 or +1 for a margin loss, a class
	// number for soft-max, any finite number for regression.
	Check(y float64) error
	// Values stores Phi(y[i], F_i) in dst[i].
	Values(dst, y, f []float64)
	// Gradients stores the derivatives by each score in g and, unless h is nil,
	// the second derivatives (the diagonal of the Hessian) in h.
	Gradients(g, h, y, f []float64)
	// Curvature returns C_Phi(y), a bound on the second derivative of Phi(y, .)
	// along any direction that moves all scores at once: the Lipschitz constant of
	// the gradient. It is +Inf where there is none.
	Curvature(y float64) float64
	// Start returns the constant scores of least total loss on labels y with
	// weights w (nil: all 1).
	Start(y, w []float64) []float64
}

// Probabilistic is implemented by losses whose minimiser determines class probabilities.
// Probabilities stores P(y=+1) of each row in p when Outputs is 1, else all classes' probabilities,
// laid out as the scores are.
type Probabilistic interface {
	Loss
	Probabilities(p, f []float64)
	// Calibrated reports whether the loss is a likelihood, so that scores are
	// fitted to be probabilities. For the others the numbers order rows as the
	// scores do and no more should be read into them.
	Calibrated() bool
}

// ErrLabel reports a label that a loss does not know.
var ErrLabel = errors.New("not a label of this loss")

// Logistic is log(1+exp(-yF)), y = ±1, in base e or, with Base2, base 2: that
// one bounds the zero-one loss. The base scales the loss against a penalty, so it
// belongs to the model (spec of the objective, eq. 3.7 of the thesis).
type Logistic struct{ Base2 bool }

// Scale returns what multiplies the loss in base e: 1, or 1/ln 2 for base 2.
func (l Logistic) Scale() float64 {
	if l.Base2 {
		return 1 / math.Ln2
	}
	return 1
}

func (l Logistic) Name() string {
	if l.Base2 {
		return "logistic2"
	}
	return "logistic"
}
func (Logistic) Outputs() int          { return 1 }
func (Logistic) Check(y float64) error { return checkSign(y) }

func (l Logistic) Values(dst, y, f []float64) {
	s := l.Scale()
	for i := range dst {
		dst[i] = s * Softplus(-y[i]*f[i])
	}
}

// Softplus returns log(1+exp(z)) without overflow.
func Softplus(z float64) float64 {
	return max(z, 0) + math.Log1p(math.Exp(-math.Abs(z)))
}

func (l Logistic) Gradients(g, h, y, f []float64) {
	s := l.Scale()
	for i := range g {
		// With e = exp(-|z|) one exponential gives both derivatives, and neither
		// loses digits where the other's form would subtract.
		z := y[i] * f[i]
		e := math.Exp(-math.Abs(z))
		d := 1 / (1 + e)
		p := [2]float64{e * d, d} // 1/(1+exp(z)) for z >= 0 and below: no branch to guess
		g[i] = -s * y[i] * p[math.Float64bits(z)>>63]
		if h != nil {
			h[i] = s * e * d * d
		}
	}
}
func (l Logistic) Curvature(float64) float64 { return l.Scale() / 4 }

func (l Logistic) Start(y, w []float64) []float64 {
	pos, neg := signWeights(y, w)
	return []float64{math.Log(pos / neg)}
}

func (Logistic) Probabilities(p, f []float64) {
	for i := range p {
		p[i] = Sigmoid(f[i])
	}
}
func (Logistic) Calibrated() bool { return true }

// Exponential is exp(-yF), y = ±1. Its gradient has no Lipschitz constant, so
// that steps along a predictor come from a line search. Probabilities are
// those of its minimiser, F = ½ log(p/(1-p)) (Friedman, Hastie and Tibshirani,
// "Additive logistic regression", Annals of Statistics 28:337–407, 2000).
type Exponential struct{}

// expScore keeps exp(-yF) finite: beyond it the loss is at its largest number.
const expScore = 700

func (Exponential) Name() string          { return "exponential" }
func (Exponential) Outputs() int          { return 1 }
func (Exponential) Check(y float64) error { return checkSign(y) }
func (Exponential) Values(dst, y, f []float64) {
	for i := range dst {
		dst[i] = math.Exp(min(-y[i]*f[i], expScore))
	}
}
func (Exponential) Gradients(g, h, y, f []float64) {
	for i := range g {
		e := math.Exp(min(-y[i]*f[i], expScore))
		g[i] = -y[i] * e
		if h != nil {
			h[i] = e
		}
	}
}
func (Exponential) Curvature(float64) float64 { return math.Inf(1) }
func (Exponential) Start(y, w []float64) []float64 {
	pos, neg := signWeights(y, w)
	return []float64{math.Log(pos/neg) / 2}
}
func (Exponential) Probabilities(p, f []float64) {
	for i := range p {
		p[i] = Sigmoid(2 * f[i])
	}
}
func (Exponential) Calibrated() bool { return false }

// Squared is (y-F)²/2.
type Squared struct{}

func (Squared) Name() string          { return "squared" }
func (Squared) Outputs() int          { return 1 }
func (Squared) Check(y float64) error { return checkFinite(y) }
func (Squared) Values(dst, y, f []float64) {
	for i := range dst {
		d := y[i] - f[i]
		dst[i] = d * d / 2
	}
}
func (Squared) Gradients(g, h, y, f []float64) {
	for i := range g {
		g[i] = f[i] - y[i]
		if h != nil {
			h[i] = 1
		}
	}
}
func (Squared) Curvature(float64) float64 { return 1 }
func (Squared) Start(y, w []float64) []float64 {
	sum, total := 0.0, 0.0
	for i, v := range y {
		sum += Weight(w, i) * v
		total += Weight(w, i)
	}
	return []float64{sum / total}
}

// Huber is (y-F)²/2 up to |y-F| = Delta and linear beyond it: regression that
// far outliers do not steer. Delta must be positive.
//
// The second derivative stored is 1 within Delta and 0 beyond it; Newton steps
// want it bounded below by their own regularisation.
type Huber struct{ Delta float64 }

func (l Huber) Name() string            { return fmt.Sprintf("huber:%v", l.Delta) }
func (Huber) Outputs() int              { return 1 }
func (Huber) Check(y float64) error     { return checkFinite(y) }
func (Huber) Curvature(float64) float64 { return 1 }
func (l Huber) Values(dst, y, f []float64) {
	for i := range dst {
		d := math.Abs(y[i] - f[i])
		if d <= l.Delta {
			dst[i] = d * d / 2
		} else {
			dst[i] = l.Delta * (d - l.Delta/2)
		}
	}
}
func (l Huber) Gradients(g, h, y, f []float64) {
	for i := range g {
		d := f[i] - y[i]
		g[i] = min(max(d, -l.Delta), l.Delta)
		if h != nil {
			h[i] = 0
			if math.Abs(d) <= l.Delta {
				h[i] = 1
			}
		}
	}
}

// Start finds the zero of the increasing, piecewise linear derivative by
// bisection, to the last bit.
func (l Huber) Start(y, w []float64) []float64 {
	if len(y) == 0 {
		return []float64{0}
	}
	lo, hi := y[0], y[0]
	for _, v := range y {
		lo, hi = min(lo, v), max(hi, v)
	}
	for range 200 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		slope := 0.0
		for i, v := range y {
			slope += Weight(w, i) * min(max(mid-v, -l.Delta), l.Delta)
		}
		if slope < 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return []float64{lo + (hi-lo)/2}
}

// SoftMax is log Σ_c exp(F_c) - F_y for labels y = 0 … Classes-1.
type SoftMax struct{ Classes int }

func (l SoftMax) Name() string { return fmt.Sprintf("softmax:%d", l.Classes) }
func (l SoftMax) Outputs() int { return l.Classes }
func (l SoftMax) Check(y float64) error {
	if y != math.Trunc(y) || y < 0 || y >= float64(l.Classes) {
		return fmt.Errorf("%w: %v; the classes are 0 to %d", ErrLabel, y, l.Classes-1)
	}
	return nil
}
func (l SoftMax) Values(dst, y, f []float64) {
	k := l.Classes
	for i := range dst {
		row := f[i*k : i*k+k]
		top := row[0]
		for _, s := range row {
			top = max(top, s)
		}
		sum := 0.0
		for _, s := range row {
			sum += math.Exp(s - top)
		}
		dst[i] = math.Log(sum) + top - row[int(y[i])]
	}
}
func (l SoftMax) Gradients(g, h, y, f []float64) {
	k := l.Classes
	for i := range y {
		p := g[i*k : i*k+k]
		softmax(p, f[i*k:i*k+k])
		if h != nil {
			for c, v := range p {
				h[i*k+c] = v * (1 - v)
			}
		}
		p[int(y[i])]--
	}
}

// Curvature is ½, the largest eigenvalue that diag(p) - ppᵀ can have: ¼ would suffice along a
// single score, but the trees of all classes are added together.
func (l SoftMax) Curvature(float64) float64 { return 0.5 }
func (l SoftMax) Start(y, w []float64) []float64 {
	f := make([]float64, l.Classes)
	total := 0.0
	for i, v := range y {
		f[int(v)] += Weight(w, i)
		total += Weight(w, i)
	}
	for c := range f {
		// Half a row for a class that is not there keeps its score finite.
		f[c] = math.Log(max(f[c], 0.5*total/float64(max(len(y), 1))) / total)
	}
	return f
}
func (l SoftMax) Probabilities(p, f []float64) {
	k := l.Classes
	for i := 0; i+k <= len(f); i += k {
		softmax(p[i:i+k], f[i:i+k])
	}
}
func (SoftMax) Calibrated() bool { return true }

// softmax stores exp(f_c)/Σ exp(f) in p.
func softmax(p, f []float64) {
	top := f[0]
	for _, s := range f {
		top = max(top, s)
	}
	sum := 0.0
	for c, s := range f {
		p[c] = math.Exp(s - top)
		sum += p[c]
	}
	for c := range p {
		p[c] /= sum
	}
}

// Parse returns the loss of that Name: logistic, logistic2, exponential,
// squared, huber:DELTA or softmax:CLASSES.
func Parse(name string) (Loss, error) {
	var delta float64
	var classes int
	switch {
	case name == "logistic":
		return Logistic{}, nil
	case name == "logistic2":
		return Logistic{Base2: true}, nil
	case name == "exponential":
		return Exponential{}, nil
	case name == "squared":
		return Squared{}, nil
	case scan(name, "huber:%g", &delta) && delta > 0 && !math.IsInf(delta, 1):
		return Huber{Delta: delta}, nil
	case scan(name, "softmax:%d", &classes) && classes >= 2 && classes <= MaxClasses:
		return SoftMax{Classes: classes}, nil
	}
	return nil, fmt.Errorf("score: loss %q is none of logistic, logistic2, exponential, squared, huber:DELTA "+
		"(positive), softmax:CLASSES (2 to %d)", name, MaxClasses)
}

// Usable refuses a loss of this package whose parameter has no meaning: it would train, to
// a model that cannot be read back.
func Usable(l Loss) error {
	switch l := l.(type) {
	case Huber:
		if !(l.Delta > 0) || math.IsInf(l.Delta, 1) {
			return fmt.Errorf("score: the Huber loss has Delta %v; it must be positive and finite", l.Delta)
		}
	case SoftMax:
		if l.Classes < 2 || l.Classes > MaxClasses {
			return fmt.Errorf("score: the soft-max loss has %d classes; it must have 2 to %d", l.Classes, MaxClasses)
		}
	}
	return nil
}

// MaxClasses bounds the scores of a row, so that a damaged header cannot ask for
// any amount of memory.
const MaxClasses = 1 << 16

func scan(s, format string, v any) bool {
	var rest string
	n, _ := fmt.Sscanf(s+" .", format+" %s", v, &rest)
	return n == 2 && rest == "."
}

// CheckLabels returns an error that names the first label which the loss
// refuses.
func CheckLabels(l Loss, y []float64) error {
	for i, v := range y {
		if err := l.Check(v); err != nil {
			return fmt.Errorf("score: label of row %d: %w", i, err)
		}
	}
	return nil
}

// lossBlock rows are summed together.
const lossBlock = 512

// Mean returns Σ w Phi / Σ w; w nil is all 1. It sums in blocks of rows, in order, so that its
// bits do not depend on the number of goroutines (0 is one a processor).
func Mean(l Loss, y, w, f []float64, workers int) float64 {
	k := l.Outputs()
	plain, isLogistic := l.(Logistic)
	part := make([][2]float64, (len(y)+lossBlock-1)/lossBlock)
	run.Blocks(workers, len(part), 64, func(_, first, last int) {
		var buffer [lossBlock]float64
		for b := first; b < last; b++ {
			from, to := b*lossBlock, min((b+1)*lossBlock, len(y))
			p := &part[b]
			if isLogistic && w == nil {
				p[0], p[1] = plain.sum(y[from:to], f[from:to]), float64(to-from)
				continue
			}
			values := buffer[:to-from]
			l.Values(values, y[from:to], f[from*k:to*k])
			for i, v := range values {
				// An infinite loss of a row without weight is not NaN.
				if u := Weight(w, from+i); u != 0 {
					p[0] += u * v
					p[1] += u
				}
			}
		}
	})
	sum, total := 0.0, 0.0
	for _, p := range part {
		sum += p[0]
		total += p[1]
	}
	return sum / total
}

// sum returns Σ Phi over at most lossBlock rows, with one logarithm for all. Each factor
// 1+exp(-|yF|) is at most 2, so their product stays a float. What is below 1e-16 in one row is
// lost, as it would be beside any row of middling loss.
func (l Logistic) sum(y, f []float64) float64 {
	linear, product := 0.0, 1.0
	for i, v := range y {
		z := v * f[i]
		linear += max(-z, 0)
		product *= 1 + math.Exp(-math.Abs(z))
	}
	return l.Scale() * (linear + math.Log(product))
}

// Sigmoid returns 1/(1+exp(-z)), with all its digits at both ends.
func Sigmoid(z float64) float64 {
	if z >= 0 {
		return 1 / (1 + math.Exp(-z))
	}
	e := math.Exp(z)
	return e / (1 + e)
}

func checkSign(y float64) error {
	if y != 1 && y != -1 {
		return fmt.Errorf("%w: %v; it must be -1 or +1", ErrLabel, y)
	}
	return nil
}

func checkFinite(y float64) error {
	if math.IsNaN(y) || math.IsInf(y, 0) {
		return fmt.Errorf("%w: %v; it must be a finite number", ErrLabel, y)
	}
	return nil
}

// Weight returns w[i], 1 where w is nil.
func Weight(w []float64, i int) float64 {
	if w == nil {
		return 1
	}
	return w[i]
}

// signWeights sums the weights of both classes; one that is absent counts half a
// mean row, so that log-odds stay finite.
func signWeights(y, w []float64) (pos, neg float64) {
	for i, v := range y {
		if v > 0 {
			pos += Weight(w, i)
		} else {
			neg += Weight(w, i)
		}
	}
	least := 0.5 * (pos + neg) / float64(max(len(y), 1))
	if least == 0 {
		least = 1
	}
	return max(pos, least), max(neg, least)
}

// HasMargin reports whether the loss separates the classes -1 and +1 by the sign
// of one score.
func HasMargin(l Loss) bool {
	return l.Outputs() == 1 && l.Check(1) == nil && l.Check(-1) == nil && l.Check(0) != nil
}

// Distribution returns a probability for every class of every row, and whether l is a likelihood.
// It returns nil for a loss that is not Probabilistic. With one score a row the classes are two,
// and the second has the probability of the score.
func Distribution(l Loss, scores []float64) (p []float64, calibrated bool) {
	q, ok := l.(Probabilistic)
	if !ok {
		return nil, false
	}
	p = make([]float64, len(scores))
	if q.Probabilities(p, scores); l.Outputs() > 1 {
		return p, q.Calibrated()
	}
	two := make([]float64, 2*len(p))
	for i, v := range p {
		two[2*i], two[2*i+1] = 1-v, v
	}
	return two, q.Calibrated()
}

// ErrorRate is the weighted share of rows whose class differs from the one that ClassOf predicts.
// Comparing predictions with labels gives the same number. A score that is NaN is an error. Labels
// are -1 and +1 where l has one score, else indices.
func ErrorRate(l Loss, y, w, scores []float64) float64 {
	k := l.Outputs()
	wrong, total := 0.0, 0.0
	for i, v := range y {
		total += Weight(w, i)
		if !Right(k, v, scores[i*k:i*k+k]) {
			wrong += Weight(w, i)
		}
	}
	return wrong / total
}

// Right reports whether the scores of one row predict its label y: -1 or +1 where there is
// one score, else an index. None of them may be NaN.
func Right(outputs int, y float64, f []float64) bool {
	if slices.ContainsFunc(f, math.IsNaN) {
		return false
	}
	c := ClassOf(f)
	if outputs == 1 {
		return (c == 1) == (y > 0)
	}
	return c == int(y)
}

// ClassOf returns the class that the scores of one row predict. For one score it is 1 where the
// score is positive, else 0; for several it is the first of the highest.
func ClassOf(f []float64) int {
	if len(f) == 1 {
		if f[0] > 0 {
			return 1
		}
		return 0
	}
	best := 0
	for c, v := range f {
		if v > f[best] {
			best = c
		}
	}
	return best
}

// Margin of one row: y F, or with several scores that of the label minus the
// highest other one.
func Margin(outputs int, y float64, f []float64) float64 {
	if outputs == 1 {
		return y * f[0]
	}
	best := math.Inf(-1)
	for c, v := range f {
		if c != int(y) {
			best = max(best, v)
		}
	}
	return f[int(y)] - best
}
