package multi

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// BoundOptions adjusts Bounds; nil is the zero value.
type BoundOptions struct {
	// Rho are the margins for which the bounds are evaluated, each in (0, 1]. Choose them before
	// looking at the data: delta is shared among them. None is 0.05, 0.1, 0.2, 0.3, 0.5 and 0.7.
	Rho   []float64
	Delta float64 // probability with which the bounds may fail; 0 is 0.05
	// AnyRho makes both theorems hold for all rho in (0, 1] at once, instead of sharing
	// delta among those given: TheoremB2.
	AnyRho bool
	Target TargetSet // over which the agnostic bound is the largest
	// Lambda is a mixture to evaluate the bounds for; nil is the even one.
	Lambda []float64
	// Cover are the points V of Theorem 4.5; nil is the unit vectors. Radius is the l1
	// distance of Lambda from them that part 1 allows.
	Cover  [][]float64
	Radius float64
	// Complexity returns a bound on the Rademacher complexity of each H_l over m rows. Nil is
	// Massart's of Count, or Theorem 3.1 where that is smaller.
	Complexity func(m int) float64
	// Count is the logarithm of the number of different base predictors on m rows, for Theorem 4.5.
	// Nil counts stumps, or trees with as many splits as the model's learners were allowed, used or
	// not. The count covers thresholds, sides of missing values and sets of levels
	// (boost.Questions).
	Count func(m int) float64

	IndependentQ bool // Q does not depend on the labelled rows; Model.Apart says so of itself

	fitted []int // slots whose class of base predictors had to be taken from the trained ones
}

// DomainTerms are the parts of Theorem 4.4 for one domain at one rho.
type DomainTerms struct {
	Empirical  float64 `json:"empirical"`  // share of its rows with margin at most rho
	Complexity float64 `json:"complexity"` // (2/rho) max_l Rad(H_l); 4/rho in Theorem B.2
	Union      float64 `json:"union"`      // (2/rho) sqrt(2 ln p/m_k), or 4/rho, which the thesis does not have
	Confidence float64 `json:"confidence"`
	Sum        float64 `json:"sum"`
	// as the thesis prints it: without Union, and Theorem B.2 with less elsewhere too
	AsStated float64 `json:"as_stated"`
}

// MixtureBound are the bounds at one rho.
type MixtureBound struct {
	Rho     float64       `json:"rho"`
	Domains []DomainTerms `json:"domains"`

	// Theorem 4.4, or B.2: of the mixture asked for, and the largest over the target set. The
	// second of each is without the correction, as the thesis states it.
	Mixture        float64 `json:"mixture"`
	MixtureStated  float64 `json:"mixture_as_stated"`
	Agnostic       float64 `json:"agnostic"`
	AgnosticStated float64 `json:"agnostic_as_stated"`
	// Theorem 4.5 for the mixture: by the best point of the cover (nil when none is within the
	// radius), and as a mixture of its points (nil when it is none).
	Near  *float64 `json:"cover_point,omitempty"`
	Mixed *float64 `json:"cover_mixture,omitempty"`
}

// BoundReport is Theorems 4.4 and 4.5 evaluated for a trained model. With probability at least 1 -
// Delta the error on the mixture is at most the bound.
type BoundReport struct {
	Sources []string  `json:"sources"`
	Rows    []int     `json:"rows"`
	Columns int       `json:"columns"`
	Norm    float64   `json:"weight_sum"`
	Delta   float64   `json:"delta"`
	AnyRho  bool      `json:"any_rho"` // the bounds are those for all rho at once
	Lambda  []float64 `json:"lambda"`
	Cover   int       `json:"cover"`
	Radius  float64   `json:"radius"`
	Errors  []float64 `json:"training_errors"`
	// of each domain, at 0, 5, 10, 25, 50, 75, 90, 95 and 100 %
	Margins  [][]float64    `json:"margin_quantiles"`
	At       []MixtureBound `json:"at"`    // one for each rho
	Best     int            `json:"best"`  // the one with the least agnostic bound
	Bound    float64        `json:"bound"` // min(1, At[Best].Agnostic)
	Vacuous  bool           `json:"vacuous"`
	Warnings []string       `json:"warnings,omitempty"`

	margins [][]float64
}

// ErrBound reports a model or data to which the bounds do not apply.
var ErrBound = errors.New("no bound applies")

// LogStumps is ln(2d(m-1)+2), a bound on the logarithm of the number of different
// decision stumps on m rows of d numeric columns, constants included.
func LogStumps(d, m int) float64 {
	return math.Log(2*float64(d)*float64(max(m, 1)-1) + 2)
}

// logStumps is LogStumps for the columns of a table. A categorical column has two stumps a level,
// and one with missing values can send them to either side.
func logStumps(x *table.Table, m int) float64 {
	n := 2.0
	for j := range x.Columns {
		c := &x.Columns[j]
		cuts := float64(max(m, 1) - 1)
		if c.Kind == table.Categorical {
			cuts = float64(len(c.Levels))
		}
		sides := 1.0
		if slices.ContainsFunc(c.Values, func(v float32) bool { return v != v }) {
			sides = 2
			cuts++ // what is present against what is not
		}
		n += 2 * sides * cuts
	}
	return math.Log(n)
}

// Massart returns sqrt(2 ln(N)/m) from the logarithm of N. It bounds the Rademacher complexity of N
// predictors of values in [-1, 1] on m rows (Massart's lemma).
func Massart(logN float64, m int) float64 { return math.Sqrt(2 * logN / float64(m)) }

// Theorem44 returns the parts of Theorem 4.4 beside the empirical one, for a domain of m
// rows of p: rad is max_l Rad_m(H_l).
//
// The correction is sqrt(2 ln p/m) within the bracket. The proof replaces the complexity of the
// union of the G_l = {Q(l|.) h} by the largest of theirs, which is false (eight classes of one
// function each, ten rows: 0.465 against 0). By bounded differences it is at most the largest plus
// this correction. The factor 2/rho is right although the proof loses a 2: multiplying by Q(l|x_i)
// is a contraction row by row, so Rad(G_l) <= Rad(H_l).
func Theorem44(rad, rho, delta float64, p, m int) DomainTerms {
	rows := float64(m)
	return DomainTerms{Complexity: 2 / rho * rad, Union: 2 / rho * math.Sqrt(2*math.Log(float64(p))/rows),
		Confidence: math.Sqrt(math.Log(float64(p)/delta) / (2 * rows))}
}

// TheoremB2 is Theorem44 for all rho in (0, 1] at once:
//
//	(4/rho) (rad + sqrt(2 ln p/m)) + sqrt(ln log2(2/rho)/m) + sqrt(ln(2p/delta)/(2m))
//
// It follows from Theorem 4.4 at rho_k = 2^-k, k = 1, 2, …, with (delta/2)/k² for the k-th; these
// sum to less than delta. And sqrt(ln(2p k²/delta)/(2m)) is at most sqrt(ln(2p/delta)/(2m)) +
// sqrt(ln k/m). For a given rho use the next rho_k below. No more margins are below it, k is at
// most log2(2/rho), and 1/rho_k lies in (1/rho, 2/rho]. The factor is therefore 4 and the logarithm
// that of 2/delta, where Theorem B.2 and its proof have 2 and 1/delta. The theorem that the thesis
// quotes agrees: M. Mohri, A. Rostamizadeh, A. Talwalkar, "Foundations of machine learning", 2nd
// edition, 2018, Theorem 5.9.
func TheoremB2(rad, rho, delta float64, p, m int) DomainTerms {
	t := Theorem44(rad, rho, delta/2, p, m)
	t.Complexity *= 2
	t.Union *= 2
	t.Confidence += math.Sqrt(peeling(rho) / float64(m))
	return t
}

// peeling is ln log2(2/rho).
func peeling(rho float64) float64 { return math.Log(math.Log2(2 / rho)) }

// Bounds evaluates Theorems 4.4 and 4.5 on the rows that a model was trained on. The model
// is read as a convex combination: f is divided by ||alpha||_1, in which a shared term counts
// once for each domain.
//
// Margins on training rows are those of the model as it predicts, by its final Q.
//
// Errors: ErrBound for a model without terms, or for base learners with neither Complexity nor
// Count known.
func Bounds(m *Model, d *boost.Data, opts *BoundOptions) (*BoundReport, error) {
	var o BoundOptions
	if opts != nil {
		o = *opts
	}
	if err := check(d); err != nil {
		return nil, err
	}
	p := m.Domains()
	if len(d.X.Sources) != p {
		return nil, fmt.Errorf("multi: bounds: the model has %d domains, the rows %d", p, len(d.X.Sources))
	}
	if o.Delta == 0 {
		o.Delta = 0.05
	}
	if len(o.Rho) == 0 {
		o.Rho = []float64{0.05, 0.1, 0.2, 0.3, 0.5, 0.7}
	}
	if o.Lambda == nil {
		o.Lambda = slices.Repeat([]float64{1 / float64(p)}, p)
	}
	if o.Cover == nil {
		for k := range p {
			v := make([]float64, p)
			v[k] = 1
			o.Cover = append(o.Cover, v)
		}
	}
	if err := o.check(p); err != nil {
		return nil, err
	}
	if err := o.complexities(m, d.X); err != nil {
		return nil, err
	}
	r := &BoundReport{Sources: d.X.Sources, Rows: d.X.SourceCounts(), Columns: len(d.X.Columns), Norm: m.Norm(),
		Delta: o.Delta, AnyRho: o.AnyRho, Lambda: o.Lambda, Cover: len(o.Cover), Radius: o.Radius}
	if r.Norm == 0 {
		return nil, fmt.Errorf("multi: bounds: %w: the model has no terms", ErrBound)
	}
	if err := r.measure(m, d); err != nil {
		return nil, err
	}
	delta := o.Delta
	if !o.AnyRho {
		delta /= float64(len(o.Rho))
	}
	for _, rho := range o.Rho {
		r.At = append(r.At, r.at(&o, rho, delta, p))
		if n := len(r.At) - 1; r.At[n].Agnostic < r.At[r.Best].Agnostic {
			r.Best = n
		}
	}
	best := r.At[r.Best].Agnostic
	r.Bound, r.Vacuous = min(1, best), best >= 1
	r.warn(m, d, &o, best)
	return r, nil
}

func (o *BoundOptions) check(p int) error {
	if !(o.Delta > 0 && o.Delta < 1) {
		return fmt.Errorf("multi: bounds: delta is %v; it must lie between 0 and 1", o.Delta)
	}
	if !(o.Radius >= 0) || math.IsInf(o.Radius, 1) {
		return fmt.Errorf("multi: bounds: the radius of the cover is %v; it must be finite and not negative",
			o.Radius)
	}
	for _, rho := range o.Rho {
		if !(rho > 0 && rho <= 1) {
			return fmt.Errorf("multi: bounds: rho is %v; margins lie between 0 and 1", rho)
		}
	}
	for _, s := range []*TargetSet{{Vertices: [][]float64{o.Lambda}}, {Vertices: o.Cover}, &o.Target} {
		if err := s.Check(p); err != nil {
			return fmt.Errorf("bounds: %w", err)
		}
	}
	return nil
}

// complexities fills in what is known of the model's base learners.
func (o *BoundOptions) complexities(m *Model, x *table.Table) error {
	if o.Complexity != nil && o.Count != nil {
		return nil
	}
	splits, stumps := 1, true
	for s, e := range m.Slots {
		offered, known := 0, true
		for _, name := range strings.Split(m.Learners[s], familySeparator) {
			own := name == Stumps{}.Name()
			n, ok := boost.SignTreesOf(name)
			if own {
				n = 1
			}
			offered, known, stumps = max(offered, n), known && (ok || own), stumps && own
		}
		used := 0
		for i := range e.Terms {
			p := e.Terms[i].Predictor
			if v, ok := p.(boost.Scaled); ok && (v.Factor == 1 || v.Factor == -1) {
				p = v.Of
			}
			t, ok := p.(boost.Sized)
			if !ok {
				return fmt.Errorf("multi: bounds: %w: the base predictors of slot %d (%s) are no trees; give "+
					"Complexity and Count", ErrBound, s+1, m.Learners[s])
			}
			used = max(used, t.Splits())
		}
		if !known || used > offered {
			o.fitted = append(o.fitted, s+1)
		}
		splits = max(splits, offered, used)
	}
	if splits == 1 && stumps && o.Count == nil {
		o.Count = func(rows int) float64 { return logStumps(x, rows) }
	}
	questions := boost.QuestionsOf(x)
	if o.Count == nil {
		o.Count = func(rows int) float64 {
			if splits == 1 {
				// A division with a sign for each side, and the constants.
				return math.Ln2 + questions.LogDivisions(rows)
			}
			// Omega of the counting bound is sqrt(2 ln N/m).
			w := questions.Omega(boost.CountBound, splits, 1, rows)
			return w * w * float64(rows) / 2
		}
	}
	if o.Complexity == nil {
		count := o.Count
		o.Complexity = func(rows int) float64 {
			return min(Massart(count(rows), rows), questions.Omega(boost.VCBound, splits, 1, rows))
		}
	}
	return nil
}

// measure computes margins and errors.
func (r *BoundReport) measure(m *Model, d *boost.Data) error {
	f, err := m.Scores(d.X, nil)
	if err != nil {
		return err
	}
	r.margins = make([][]float64, len(r.Sources))
	for i, y := range d.Y {
		k := d.X.Source[i]
		r.margins[k] = append(r.margins[k], y*f[i]/r.Norm)
	}
	for k := range r.margins {
		slices.Sort(r.margins[k])
		r.Errors = append(r.Errors, r.upTo(k, 0))
		var q []float64
		for _, a := range MarginQuantiles {
			q = append(q, r.margins[k][int(math.Round(a*float64(len(r.margins[k])-1)))])
		}
		r.Margins = append(r.Margins, q)
	}
	return nil
}

// MarginQuantiles are the shares at which a report has quantiles of margins.
var MarginQuantiles = []float64{0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1}

// MarginsOf returns the sorted margins y f(x)/||alpha||_1 of a domain's rows.
func (r *BoundReport) MarginsOf(k int) []float64 { return r.margins[k] }

// upTo is the share of a domain's margins that are at most x.
func (r *BoundReport) upTo(k int, x float64) float64 {
	n, _ := slices.BinarySearch(r.margins[k], math.Nextafter(x, math.Inf(1)))
	return float64(n) / float64(len(r.margins[k]))
}

// at evaluates both theorems at one rho.
func (r *BoundReport) at(o *BoundOptions, rho, delta float64, p int) MixtureBound {
	b := MixtureBound{Rho: rho, Domains: make([]DomainTerms, p)}
	sums, stated := make([]float64, p), make([]float64, p)
	for k, m := range r.Rows {
		rad := o.Complexity(m)
		t := Theorem44(rad, rho, delta, p, m)
		t.Empirical = r.upTo(k, rho)
		t.AsStated = t.Empirical + t.Complexity + t.Confidence
		if o.AnyRho {
			b2 := TheoremB2(rad, rho, delta, p, m)
			b2.Empirical, b2.AsStated = t.Empirical, t.AsStated+math.Sqrt(peeling(rho)/float64(m))
			t = b2
		}
		t.Sum = t.Empirical + t.Complexity + t.Union + t.Confidence
		b.Domains[k], sums[k], stated[k] = t, t.Sum, t.AsStated
	}
	b.Mixture, b.MixtureStated = dot(o.Lambda, sums), dot(o.Lambda, stated)
	b.Agnostic, _ = o.Target.Max(sums)
	b.AgnosticStated, _ = o.Target.Max(stated)

	empirical := 0.0
	for k, l := range o.Lambda {
		empirical += l * b.Domains[k].Empirical
	}
	all := 0
	for _, m := range r.Rows {
		all += m
	}
	// The parts of Theorem 4.5 at a point of the cover.
	point := func(beta []float64) float64 {
		square := 0.0
		for k, v := range beta {
			square += v * v / float64(r.Rows[k])
		}
		rad := math.Sqrt(square) * math.Sqrt(2*o.Count(all))
		if k := slices.Index(beta, 1); k >= 0 {
			// At a vertex the complexity is the domain's own, as in Theorem 4.4.
			rad = o.Complexity(r.Rows[k])
		}
		complexity := rad + math.Sqrt(2*math.Log(float64(p))*square)
		points := float64(len(o.Cover))
		if o.AnyRho { // as in TheoremB2, with square in place of 1/m
			return 4/rho*complexity + math.Sqrt(peeling(rho)*square) + math.Sqrt(math.Log(2*points/delta)*square/2)
		}
		return 2/rho*complexity + math.Sqrt(math.Log(points/delta)*square/2)
	}
	for _, beta := range o.Cover {
		distance := 0.0
		for k, v := range beta {
			distance += math.Abs(v - o.Lambda[k])
		}
		// Half the radius for the error and half for the margins: the printed 3e/2
		// outside the root does not follow from the derivation.
		if distance <= o.Radius+1e-12 {
			if v := empirical + o.Radius + point(beta); b.Near == nil || v < *b.Near {
				b.Near = &v
			}
		}
	}
	if mu := mixtureOf(o.Cover, o.Lambda); mu != nil {
		sum := empirical
		for l, beta := range o.Cover {
			if mu[l] > 0 {
				sum += mu[l] * point(beta)
			}
		}
		b.Mixed = &sum
	}
	return b
}

// mixtureOf returns weights with which points sum to x, or nil if there are none. It finds the
// point of their hull nearest to x, shifted to the origin.
func mixtureOf(points [][]float64, x []float64) []float64 {
	at := -1
	unit := true
	for l, v := range points {
		if slices.Equal(v, x) {
			at = l
		}
		unit = unit && l < len(x) && v[l] == 1
	}
	if at >= 0 {
		mu := make([]float64, len(points))
		mu[at] = 1
		return mu
	}
	if unit && len(points) == len(x) {
		return slices.Clone(x)
	}
	shifted := make([][]float64, len(points))
	for l, v := range points {
		shifted[l] = make([]float64, len(x))
		for k := range x {
			shifted[l][k] = v[k] - x[k]
		}
	}
	v, mu := shortestWith(shifted)
	if math.Sqrt(dot(v, v)) > 1e-6 {
		return nil
	}
	return mu
}

func (r *BoundReport) warn(m *Model, d *boost.Data, o *BoundOptions, best float64) {
	add := func(format string, v ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, v...)) }
	if r.Vacuous {
		add("the bound is vacuous: its parts add up to %.3g, and no error exceeds 1; more rows in the smallest "+
			"source would lower it most", best)
	}
	if !o.IndependentQ && !m.Apart && r.Cover+len(r.Sources) > 2 && len(r.Sources) > 1 {
		switch m.Q.(type) {
		case Uniform:
		case *Logistic:
			how := "trained on the labelled rows"
			if m.CrossFitted {
				how = "cross-fitted on the labelled rows"
			}
			add("Q was %s: the theorems want it independent of them (train it on unlabelled rows alone)", how)
		default:
			add("Q must be independent of the labelled rows; whether this one is, is not known here")
		}
	}
	if len(o.fitted) > 0 {
		add("what the learners of slots %v may return is not known here, and was taken from the trained trees: "+
			"the theorems want the class chosen before it saw the data (give Complexity and Count)", o.fitted)
	}
	if d.W != nil {
		add("rows are weighted: the theorems are about rows drawn independently from each source, each counted once")
	}
	if !slices.Equal(m.Rows, r.Rows) {
		add("the model was trained on %v rows of the sources and these are %v: the bounds hold for the rows "+
			"that it was trained on", m.Rows, r.Rows)
	}
}
