package boost

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// BoundOptions adjusts Bounds; nil is the zero value.
type BoundOptions struct {
	// Rho are the margins for which the bound is evaluated, each above 0 and at most the report's
	// Range B, which no margin exceeds. Choose them before looking at the data: delta is shared
	// among them evenly. An empty list is the infinite grid B, B/2, B/4, …, where the i-th margin,
	// from 0, may fail with probability Delta/((i+1)(i+2)). These sum to Delta. A small margin
	// costs about 2 ln ln(B/rho) within the confidence term, as in the version of the theorem for
	// all margins at once. It is followed until no smaller margin can be better.
	Rho   []float64
	Delta float64         // failure probability; 0 is 0.05
	Bound ComplexityBound // of the families
	Q     float64         // norm of leaf vectors; 0 is that of the model's settings, or 2
	// Grid is the set of families that the model was chosen from. Nil is the ensemble's own, or
	// that of the learner named in its settings. It must not depend on the data.
	Grid []Family

	// Facts of training that the model's settings do not contain; those that they contain cause
	// warnings anyway.
	Sampled      bool // the model was trained on weighted or selected rows
	LabelledBins bool // features were chosen or binned with the help of labels
}

// BoundReport is Theorem 3.2 of the thesis evaluated for a trained model. With probability at least
// 1 - Delta over the sample, the error on new rows is at most Bound.
type BoundReport struct {
	Rows       int     `json:"rows"`
	Features   int     `json:"features"`
	GridSize   int     `json:"grid_size"` // K
	Range      float64 `json:"range"`     // B: the largest |h| of the grid, at least 1
	WeightSum  float64 `json:"weight_sum"`
	TrainError float64 `json:"train_error"`
	Delta      float64 `json:"delta"`

	Margins  []float64     `json:"margin_quantiles"` // of y F/A at 0, 5, 10, 25, 50, 75, 90, 95 and 100 %
	Families []FamilyShare `json:"families"`
	Terms    []BoundTerms  `json:"terms"` // one for each rho
	Best     int           `json:"best"`  // index into Terms
	Bound    float64       `json:"bound"` // Terms[Best].Bound
	Vacuous  bool          `json:"vacuous"`
	Warnings []string      `json:"warnings,omitempty"`
}

// FamilyShare is one family's part in a model.
type FamilyShare struct {
	Family Family  `json:"family"`
	Name   string  `json:"name"`
	Terms  int     `json:"terms"`
	Share  float64 `json:"share"` // of Σ |alpha|
	Omega  float64 `json:"omega"` // Rademacher bound of Theorem 3.1, levels and missing values counted
	Part   float64 `json:"part"`  // Share · Omega
}

// BoundTerms are the parts of the bound at one rho.
type BoundTerms struct {
	Rho        float64 `json:"rho"`
	Delta      float64 `json:"delta"`      // failure probability of this rho's part
	Empirical  float64 `json:"empirical"`  // share of rows with margin at most rho
	Complexity float64 `json:"complexity"` // (4/rho) Σ (|alpha|/A) Omega
	Confidence float64 `json:"confidence"`
	Sum        float64 `json:"sum"`   // of the three, which may exceed 1
	Bound      float64 `json:"bound"` // min(1, Sum)
}

// ErrBound reports a model or data to which the bounds do not apply.
var ErrBound = errors.New("no bound applies")

// Confidence is the part of Theorem 3.2's bound that depends on neither model nor labels. The
// arguments are the range B of the base predictors, m rows, K families, the margin rho and the
// failure probability delta; with rho' = rho/B,
//
//	(2/rho') sqrt(ln K / m) + sqrt(ceil((4/rho'²) ln(rho'² m / ln K)) ln K / m + ln(2/delta)/(2m))
//
// It is the explicit form of the theorem's C(m, K) (Cortes, Mohri and Syed, "Deep
// boosting", ICML 2014; the thesis prints rho m² for rho² m / ln K), applied to h/B, since
// the theorem wants base predictors in [-1, 1]. The ceiling is at least 1. For K = 1 it
// is sqrt(ln(1/delta)/(2m)), of the bound for one family (eq. 2.16).
func Confidence(b float64, m, families int, rho, delta float64) float64 {
	rows := float64(m)
	if families <= 1 {
		return math.Sqrt(math.Log(1/delta) / (2 * rows))
	}
	lnK := math.Log(float64(families))
	r := rho / b
	n := max(1, math.Ceil(4/(r*r)*math.Log(r*r*rows/lnK)))
	return 2/r*math.Sqrt(lnK/rows) + math.Sqrt(n*lnK/rows+math.Log(2/delta)/(2*rows))
}

// Bounds evaluates the generalisation bound for a model on the rows that it was trained on. The
// model is read as a convex combination. F is divided by the sum A of the weights, signs move into
// the trees, and a constant start counts as a single leaf. Each tree is charged to the smallest
// family of the grid that holds it, which is as valid as the family it was drawn from. Families are
// those of trees over the table's columns as they are, with levels and missing values (Questions).
//
// Every component is reported, since on small tables the sum exceeds 1; models
// can be compared all the same.
//
// Errors: ErrBound for a loss without margins, terms outside the grid, or no terms.
func Bounds(e *Ensemble, d *Data, o *BoundOptions) (*BoundReport, error) {
	if o == nil {
		o = &BoundOptions{}
	}
	opts := *o
	o = &opts
	if o.Delta == 0 {
		o.Delta = 0.05
	}
	if e == nil {
		return nil, fmt.Errorf("boost: bounds: %w: there is no model", ErrBound)
	}
	if o.Q == 0 {
		o.Q = normOf(e)
	}
	if o.Grid == nil {
		o.Grid = e.Families
	}
	if o.Grid == nil {
		o.Grid = offered(e)
	}
	if len(o.Rho) == 0 {
		o.Rho = nil
	}
	if !score.HasMargin(e.Loss) {
		return nil, fmt.Errorf("boost: bounds: %w: the %s loss does not separate two classes by the sign of one score", ErrBound, e.Loss.Name())
	}
	if err := d.check(e.Loss); err != nil {
		return nil, err
	}
	if !(o.Delta > 0 && o.Delta < 1) {
		return nil, fmt.Errorf("boost: bounds: delta is %v; it must lie between 0 and 1", o.Delta)
	}
	derived := o.Grid == nil
	if derived {
		o.Grid = gridOf(e, o.Q)
	}
	if err := checkFamilies(o.Grid); err != nil {
		return nil, err
	}
	r := &BoundReport{Rows: d.Rows(), Features: len(d.X.Columns), GridSize: len(o.Grid),
		Range: 1, Delta: o.Delta}
	for k, f := range o.Grid {
		if math.IsInf(f.Lambda, 1) {
			return nil, fmt.Errorf("boost: bounds: %w: family %d (%s) has no bound on its leaves", ErrBound, k, f)
		}
		r.Range = max(r.Range, f.Lambda)
	}
	for _, rho := range o.Rho {
		if !(rho > 0 && rho <= r.Range) {
			return nil, fmt.Errorf("boost: bounds: rho is %v; margins y F/Σ|alpha| of this grid lie between 0 and %v",
				rho, r.Range)
		}
	}
	complexity, err := r.charge(e, d.X, o)
	if err != nil {
		return nil, err
	}
	f, err := e.Scores(d.X, nil)
	if err != nil {
		return nil, err
	}
	for i, y := range d.Y {
		f[i] *= y / r.WeightSum
	}
	r.TrainError = shareUpTo(f, d.W, 0)
	r.Margins = quantiles(f, []float64{0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1})
	for i := range rhoCount(o) {
		rho, delta := rhoAt(o, i, r.Range)
		t := BoundTerms{Rho: rho, Delta: delta, Empirical: shareUpTo(f, d.W, rho), Complexity: 4 / rho * complexity}
		if r.GridSize == 1 {
			t.Complexity = 2 / rho * complexity
		}
		t.Confidence = Confidence(r.Range, r.Rows, r.GridSize, rho, delta)
		t.Sum = t.Empirical + t.Complexity + t.Confidence
		t.Bound = min(1, t.Sum)
		r.Terms = append(r.Terms, t)
		if t.Sum < r.Terms[r.Best].Sum {
			r.Best = len(r.Terms) - 1
		}
		if o.Rho == nil && t.Empirical <= r.TrainError {
			break // the empirical part cannot fall any more, and the others grow
		}
	}
	r.Bound = r.Terms[r.Best].Bound
	r.Vacuous = r.Terms[r.Best].Sum >= 1
	r.warn(e, d, o, derived)
	return r, nil
}

// rhoCount is how many margins are evaluated at most. 64 halvings are below the
// resolution of margins that any table has.
func rhoCount(o *BoundOptions) int {
	if o.Rho == nil {
		return 64
	}
	return len(o.Rho)
}

// rhoAt is the i-th margin and its part of delta.
func rhoAt(o *BoundOptions, i int, most float64) (rho, delta float64) {
	if o.Rho == nil {
		return math.Ldexp(most, -i), o.Delta / (float64(i+1) * float64(i+2))
	}
	return o.Rho[i], o.Delta / float64(len(o.Rho))
}

// normOf reads the norm of leaf vectors from the settings that RGB leaves in a model.
// The predictors of AdaBoost are bounded value by value.
func normOf(e *Ensemble) float64 {
	if strings.HasPrefix(e.Algorithm, "adaboost-") && e.Algorithm != "adaboost-"+string(LogitNewton) {
		return math.Inf(1)
	}
	var s struct{ Q string }
	if e.Settings != "" && json.Unmarshal([]byte(e.Settings), &s) == nil {
		if q, err := strconv.ParseFloat(s.Q, 64); err == nil && checkNorm(q) == nil {
			return q
		}
	}
	return 2
}

// offered returns the family of the learner named in the settings of a coordinate-descent booster.
// It returns nil unless these are trees with leaves ±1 and every term is such a tree.
func offered(e *Ensemble) []Family {
	splits, ok := SignTreesOf(settingsOf(e).Learner)
	if !ok {
		return nil
	}
	for i := range e.Terms {
		t, ok := e.Terms[i].Predictor.(Sized)
		if !ok || t.Splits() > splits || Norm(t.Leaves(), math.Inf(1)) > 1 {
			return nil
		}
	}
	return []Family{{Splits: splits, Lambda: 1}}
}

// gridOf makes a grid for a model without one: powers of two of splits and norms up
// to the largest that the model uses.
func gridOf(e *Ensemble, q float64) []Family {
	splits, norm := 1, 1.0
	for i := range e.Terms {
		if t, ok := e.Terms[i].Predictor.(Sized); ok {
			splits = max(splits, t.Splits())
			norm = max(norm, Norm(t.Leaves(), q))
		}
	}
	var n []int
	for v := 1; v < 2*splits; v *= 2 {
		n = append(n, v)
	}
	var l []float64
	for v := 1.0; v < 2*norm && len(l) < 64; v *= 2 {
		l = append(l, v)
	}
	return Grid(n, l)
}

// charge assigns every term to a family and returns Σ (|alpha|/A) Omega.
func (r *BoundReport) charge(e *Ensemble, x *table.Table, o *BoundOptions) (float64, error) {
	omega := make([]float64, len(o.Grid))
	shares := make([]FamilyShare, len(o.Grid))
	questions := QuestionsOf(x)
	for k := range o.Grid {
		f := &o.Grid[k]
		if f.Learner != nil {
			omega[k] = f.Complexity(r.Features, r.Rows)
		} else {
			omega[k] = questions.Omega(o.Bound, f.Splits, f.Lambda, r.Rows)
		}
		shares[k] = FamilyShare{Family: *f, Name: f.String(), Omega: omega[k]}
	}
	add := func(k int, alpha float64) {
		shares[k].Terms++
		shares[k].Share += math.Abs(alpha)
		r.WeightSum += math.Abs(alpha)
	}
	smallest := func(splits int, norm float64) int {
		best := -1
		for k, f := range o.Grid {
			// The last bits of a norm that was projected onto the ball do not matter.
			if f.Learner == nil && splits <= f.Splits && norm <= f.Lambda*(1+1e-12) &&
				(best < 0 || omega[k] < omega[best]) {
				best = k
			}
		}
		return best
	}
	for i := range e.Terms {
		t := &e.Terms[i]
		if t.Weight == 0 {
			continue
		}
		if tree, ok := t.Predictor.(Sized); ok && tree.Leaves() != nil {
			if k := smallest(tree.Splits(), Norm(tree.Leaves(), o.Q)); k >= 0 {
				add(k, t.Weight)
				continue
			}
		} else if t.Family >= 0 && t.Family < len(o.Grid) && o.Grid[t.Family].Learner != nil {
			add(t.Family, t.Weight)
			continue
		}
		return 0, fmt.Errorf("boost: bounds: %w: term %d belongs to no family of the grid", ErrBound, i)
	}
	// A constant start is a tree of one leaf. Its value may be any part of the weight, so it is
	// written as |F0|/lambda times a leaf of lambda.
	if e.Start[0] != 0 {
		k := smallest(0, 0)
		if k < 0 {
			return 0, fmt.Errorf("boost: bounds: %w: the start score belongs to no family of trees", ErrBound)
		}
		add(k, e.Start[0]/o.Grid[k].Lambda)
	}
	if r.WeightSum == 0 {
		return 0, fmt.Errorf("boost: bounds: %w: the model has no terms", ErrBound)
	}
	sum := 0.0
	for k := range shares {
		shares[k].Share /= r.WeightSum
		shares[k].Part = shares[k].Share * omega[k]
		sum += shares[k].Part
	}
	for _, s := range shares {
		if s.Terms > 0 {
			r.Families = append(r.Families, s)
		}
	}
	slices.SortStableFunc(r.Families, func(a, b FamilyShare) int {
		switch {
		case a.Part > b.Part:
			return -1
		case a.Part < b.Part:
			return 1
		}
		return 0
	})
	return sum, nil
}

// shareUpTo is the weighted share of values at most x.
func shareUpTo(values, w []float64, x float64) float64 {
	part, all := 0.0, 0.0
	for i, v := range values {
		all += score.Weight(w, i)
		if v <= x {
			part += score.Weight(w, i)
		}
	}
	return part / all
}

func quantiles(values, at []float64) []float64 {
	s := slices.Sorted(slices.Values(values))
	out := make([]float64, len(at))
	for j, p := range at {
		out[j] = s[int(math.Round(p*float64(len(s)-1)))]
	}
	return out
}

// Write prints the report for a person.
func (r *BoundReport) Write(w io.Writer) error {
	var b strings.Builder
	t := r.Terms[r.Best]
	fmt.Fprintf(&b, "Generalisation bound (Theorem 3.2): with probability %.4g the error on new rows is at "+
		"most %.4g", 1-r.Delta, r.Bound)
	if r.Vacuous {
		fmt.Fprintf(&b, " (the parts add up to %.4g)", t.Sum)
	}
	fmt.Fprintf(&b, ".\nTraining error %.4g on %d rows of %d features; %d families, |h| at most %.4g, "+
		"Σ|alpha| = %.4g.\n\n", r.TrainError, r.Rows, r.Features, r.GridSize, r.Range, r.WeightSum)
	fmt.Fprintf(&b, "%10s %12s %12s %12s %12s\n", "rho", "margin<=rho", "complexity", "confidence", "sum")
	for i, t := range r.Terms {
		mark := ""
		if i == r.Best {
			mark = "  <- least"
		}
		fmt.Fprintf(&b, "%10.4g %12.4g %12.4g %12.4g %12.4g%s\n", t.Rho, t.Empirical, t.Complexity,
			t.Confidence, t.Sum, mark)
	}
	if slices.ContainsFunc(r.Terms, func(t BoundTerms) bool { return t.Rho > 1 }) {
		fmt.Fprintf(&b, "Margins reach B = %.4g here, the largest |h| of the families, and so does rho: both "+
			"are not divided by B.\n", r.Range)
	}
	b.WriteString("\nMargins y F(x)/Σ|alpha|, quantiles:\n")
	for i, p := range []int{0, 5, 10, 25, 50, 75, 90, 95, 100} {
		fmt.Fprintf(&b, "%9d%% %12.4g\n", p, r.Margins[i])
	}
	b.WriteString("\nFamilies (Theorem 3.1), each tree charged to the smallest that holds it:\n")
	fmt.Fprintf(&b, "%28s %6s %10s %12s %12s\n", "family", "terms", "share", "Omega", "part")
	for _, f := range r.Families {
		fmt.Fprintf(&b, "%28s %6d %10.4g %12.4g %12.4g\n", f.Name, f.Terms, f.Share, f.Omega, f.Part)
	}
	for _, s := range r.Warnings {
		fmt.Fprintf(&b, "\nWarning: %s.\n", s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
