package boost

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// Variant names a coordinate-descent booster.
type Variant string

const (
	// Plain is AdaBoost (thesis, figure 2.1): the exponential loss without penalty.
	Plain Variant = "plain"
	// L1 is AdaBoost with lambda Σ|alpha| (section 2.3.4).
	L1 Variant = "l1"
	// Deep is DeepBoost (Cortes, Mohri and Syed, ICML 2014; eq. 2.17). The penalty of a term is
	// lambda r + beta, where r is the complexity of its family.
	Deep Variant = "deep"
	// LogitCD is coordinate descent on the logistic loss, what the thesis calls
	// LogitBoost (section 2.3.2). With Lambda it is l1-regularised.
	LogitCD Variant = "logit-cd"
	// LogitNewton is Friedman, Hastie and Tibshirani's LogitBoost (2000): weighted
	// regression on working responses, F += h/2.
	LogitNewton Variant = "logit-newton"
)

// AdaBoostOptions adjusts TrainAdaBoost; nil is the zero value, plain AdaBoost with
// stumps. Tags are those of package learner.
type AdaBoostOptions struct {
	Variant Variant `json:"variant" flag:"variant" default:"plain" values:"plain,l1,deep,logit-cd,logit-newton" help:"AdaBoost, with l1 penalty, DeepBoost, or LogitBoost by coordinate descent or Newton steps"`
	Rounds  int     `json:"rounds" flag:"rounds" default:"100" min:"1" help:"Rounds"`
	Lambda  float64 `json:"lambda" flag:"lambda" min:"0" help:"Penalty on weights (l1, logit-cd), or on complexity times weight (deep)"`
	Beta    float64 `json:"beta" flag:"beta" min:"0" help:"Penalty on weights (deep)"`
	// AlphaMax 0 is ½ log((1-e)/e) at e = 1/(2m), and twice that for LogitCD, whose scores are
	// whole log-odds.
	AlphaMax float64 `json:"alphaMax" flag:"alpha_max" min:"0" help:"Weight of a perfect base predictor, and the longest step without penalty; 0 is that of half a row's error"`
	// Tolerance is the least edge, ½ - eps, or subgradient that still counts; 0 is
	// 1e-10.
	Tolerance float64 `json:"tolerance"`

	// Learner makes the base predictors, with values in [-1, 1]; nil is Stumps{}, or
	// for LogitNewton regression stumps. Deep has Families instead.
	Learner Learner `json:"-"`
	// Families, for Deep, are trees of at most Splits internal nodes with leaves ±1 (Lambda is not
	// read), or a user's learner. Nil is trees of 1, 2, 4 and 8 splits. Their complexity r is
	// Omega(Bound, Splits, 1, d, m).
	Families []Family        `json:"families,omitempty"`
	Bound    ComplexityBound `json:"bound,omitempty" flag:"bound" zero:"vc" values:"vc,count" help:"Bound of the families' Rademacher complexity"`

	Valid *Data `json:"-"` // rows on which the loss is watched; see package comment
}

// TrainAdaBoost minimises mean Phi(y, Σ alpha_j h_j(x)) + Σ c_j |alpha_j| by coordinate descent.
// Each round takes the base predictor along which the objective falls fastest, and the step that
// minimises it there. Phi is exponential, or logistic for the logit variants; c_j is 0, Lambda, or
// Lambda r_j + Beta.
//
// With base predictors of values ±1 and the exponential loss the step has a closed form: AdaBoost's
// without penalty, that of section 3 of the specification with one. With real values in [-1, 1]
// plain AdaBoost minimises the usual upper bound, and the other variants search the line. Weights
// are computed afresh from the scores each round, so they do not drift.
//
// Plain AdaBoost, and LogitCD without penalty, add a term each round even if a predictor recurs.
// With a penalty a predictor is one coordinate, which can shrink and return to exactly zero. Such a
// model is Joint, and has no prefixes. Training ends early when no base predictor has an edge, or
// when one is perfect.
//
// Errors: unusable data or settings, errors of the learner, and *run.InterruptedError (with
// the model so far).
func TrainAdaBoost(d *Data, o *AdaBoostOptions, control *run.Control) (*Ensemble, *optim.Result, error) {
	var opts AdaBoostOptions
	if o != nil {
		opts = *o
	}
	o = &opts
	if err := learner.Complete(o, o); err != nil {
		return nil, nil, fmt.Errorf("boost: adaboost: %w", err)
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-10
	}
	if err := o.check(); err != nil {
		return nil, nil, err
	}
	if o.Variant == LogitNewton {
		return trainLogitNewton(d, o, control)
	}
	if o.Variant == Deep && o.Families == nil {
		o.Families = Grid([]int{1, 2, 4, 8}, []float64{1})
	}
	if o.AlphaMax == 0 && d != nil && d.X != nil {
		e0 := 1 / (2 * float64(max(d.Rows(), 1)))
		o.AlphaMax = math.Log((1-e0)/e0) / 2
		if o.Variant == LogitCD {
			o.AlphaMax *= 2
		}
	}
	settings, err := json.Marshal(struct {
		*AdaBoostOptions
		Learner string `json:"learner,omitempty"` // its name; Deep has families
	}{o, o.learnerName()})
	if err != nil {
		return nil, nil, fmt.Errorf("boost: settings: %w", err)
	}
	c := &coordinateRun{o: o}
	var loss Loss = Exponential{}
	if o.Variant == LogitCD {
		loss = Logistic{}
	}
	if c.training, err = newRun("adaboost-"+string(o.Variant), string(settings), d, loss, []float64{0},
		o.Valid, control); err != nil {
		return nil, nil, err
	}
	return c.train()
}

// learnerName is the learner's, or that of the default one; "" where families are in its place.
func (o *AdaBoostOptions) learnerName() string {
	switch {
	case o.Variant == Deep:
		return ""
	case o.Learner == nil:
		return Stumps{}.Name()
	}
	return o.Learner.Name()
}

func (o *AdaBoostOptions) check() error {
	switch {
	case o.Lambda != 0 && (o.Variant == Plain || o.Variant == LogitNewton):
		return fmt.Errorf("boost: the variant %s has no penalty: lambda must be 0", o.Variant)
	case o.Beta != 0 && o.Variant != Deep:
		return fmt.Errorf("boost: beta is for the variant deep")
	case !(o.Tolerance >= 0):
		return fmt.Errorf("boost: adaboost: Tolerance is %v; it must not be negative", o.Tolerance)
	case o.Families != nil && o.Variant != Deep:
		return fmt.Errorf("boost: families are for the variant deep; the others take one learner")
	case o.Variant == Deep && o.Learner != nil:
		return fmt.Errorf("boost: the variant deep takes families, not one learner")
	}
	if o.Families != nil {
		return checkFamilies(o.Families)
	}
	return nil
}

// ErrRange reports a base predictor with values outside what its booster can
// use.
var ErrRange = errors.New("base predictor out of range")

// coordinate is one base predictor of a penalised run, with its weight.
type coordinate struct {
	alpha     float64
	c         float64   // penalty per unit of weight
	values    []float64 // nil once packed
	signs     []int8    // the values, packed, when all are ±1: an eighth of the memory
	key       uint64    // of the values up to sign
	binary    bool      // all values are ±1
	family    int
	predictor Predictor
}

// pack keeps the values for the rest of the run.
func (co *coordinate) pack() {
	if !co.binary {
		return
	}
	co.signs = make([]int8, len(co.values))
	for i, v := range co.values {
		co.signs[i] = int8(v)
	}
	co.values = nil
}

// unpacked returns the values, in buffer if they were packed.
func (co *coordinate) unpacked(buffer []float64) []float64 {
	if co.signs == nil {
		return co.values
	}
	for i, s := range co.signs {
		buffer[i] = float64(s)
	}
	return buffer
}

// edge is Σ u h.
func (co *coordinate) edge(u []float64) float64 {
	sum := 0.0
	if co.signs == nil {
		for i, v := range co.values {
			sum += u[i] * v
		}
		return sum
	}
	for i, s := range co.signs {
		sum += u[i] * float64(s)
	}
	return sum
}

type coordinateRun struct {
	*training
	o       *AdaBoostOptions
	fitters []Fitter
	penalty []float64
	coords  []coordinate
	seed    maphash.Seed
	signed  []float64 // D_i y_i
	g       []float64
	buffer  []float64 // values of the coordinate at hand
	mean    float64   // of |Phi'|: S
}

func (c *coordinateRun) train() (*Ensemble, *optim.Result, error) {
	o := c.o
	families := 1
	if o.Variant == Deep {
		families = len(o.Families)
		c.e.Families = o.Families
	}
	merge := o.Lambda > 0 || o.Beta > 0
	c.e.Joint = merge
	c.seed = maphash.MakeSeed() // only equality of hashes is used, and then the values are compared
	for k := range families {
		learner, pen := o.Learner, o.Lambda
		if learner == nil {
			learner = Stumps{}
		}
		if o.Variant == Deep {
			f := &o.Families[k]
			if learner = f.Learner; learner == nil {
				learner = SignTrees{Splits: f.Splits}
			}
			unit := *f
			unit.Lambda = 1
			pen = o.Lambda*unit.omega(o.Bound, len(c.d.X.Columns), c.d.Rows()) + o.Beta
		}
		fitter, err := learner.Prepare(c.d, c.Workers)
		if err != nil {
			return nil, nil, fmt.Errorf("boost: %s: learner %s: %w", c.e.Algorithm, learner.Name(), err)
		}
		c.fitters = append(c.fitters, fitter)
		c.penalty = append(c.penalty, pen)
	}
	m := c.d.Rows()
	c.signed, c.g, c.buffer = make([]float64, m), make([]float64, m), make([]float64, m)
	if merge {
		c.restore()
	}
	c.one = func() (*Progress, error) {
		if !c.weigh() {
			return nil, nil
		}
		p := &Progress{Family: -1}
		var err error
		if merge {
			c.over, err = c.penalised(p)
		} else {
			c.over, err = c.plain(p)
		}
		if err != nil || c.over && p.Step == 0 {
			return nil, err
		}
		p.Loss = score.Mean(c.e.Loss, c.d.Y, c.d.W, c.scores, c.Workers)
		p.Objective = p.Loss
		for i := range c.coords {
			p.Objective += c.coords[i].c * math.Abs(c.coords[i].alpha)
		}
		if merge {
			c.terms()
		}
		return p, nil
	}
	return c.rounds()
}

// weigh stores D y and the gradient to fit to, normalised; it reports false when
// no row has any weight left.
func (c *coordinateRun) weigh() bool {
	y, f := c.d.Y, c.scores
	// In the logarithm, so that neither large margins nor large errors overflow:
	// log |Phi'| is -yF, or -log(1+exp(yF)).
	top := math.Inf(-1)
	for i, v := range y {
		z := v * f[i]
		if c.o.Variant == LogitCD {
			c.g[i] = -score.Softplus(z)
		} else {
			c.g[i] = -z
		}
		top = max(top, c.g[i])
	}
	sum := 0.0
	for i := range y {
		c.g[i] = score.Weight(c.d.W, i) * math.Exp(c.g[i]-top)
		sum += c.g[i]
	}
	c.mean = math.Exp(top+math.Log(sum)) / c.total
	if !(sum > 0) || !(c.mean > 0) || math.IsInf(c.mean, 1) {
		return false
	}
	for i, v := range y {
		c.signed[i] = c.g[i] / sum * v
		c.g[i] = -c.signed[i]
	}
	return true
}

// fit asks a learner and checks what it returns.
func (c *coordinateRun) fit(k int) (*coordinate, error) {
	fit, err := c.fitters[k].Fit(c.Ctx, &Direction{G: c.g, Round: c.Steps()})
	if err != nil {
		return nil, fmt.Errorf("boost: %s: round %d: %w", c.e.Algorithm, c.Steps()+1, err)
	}
	co := &coordinate{values: fit.Values, family: -1, predictor: fit.Predictor, binary: true, c: c.penalty[k]}
	if c.e.Families != nil {
		co.family = k
	}
	if len(fit.Values) != c.d.Rows() {
		return nil, fmt.Errorf("boost: %s: round %d: the base predictor has %d values for %d rows", c.e.Algorithm,
			c.Steps()+1, len(fit.Values), c.d.Rows())
	}
	for i, v := range fit.Values {
		if !(v >= -1 && v <= 1) {
			return nil, fmt.Errorf("boost: %s: round %d: %w: it is %v at %s, and must be in [-1, 1]", c.e.Algorithm,
				c.Steps()+1, ErrRange, v, c.d.X.At(i))
		}
		if v != 1 && v != -1 {
			co.binary = false
		}
	}
	return co, nil
}

// errorOf returns eps = (1 - Σ D y h)/2; for values ±1 it adds up the wrong rows,
// which keeps the digits of small errors.
func (c *coordinateRun) errorOf(co *coordinate) (wrong, right float64) {
	values := co.unpacked(c.buffer)
	for i, u := range c.signed {
		if p := u * values[i]; p < 0 {
			wrong -= p
		} else {
			right += p
		}
	}
	if co.binary {
		return wrong, right
	}
	edge := right - wrong
	return (1 - edge) / 2, (1 + edge) / 2
}

// plain is a round without penalty.
func (c *coordinateRun) plain(p *Progress) (stop bool, err error) {
	co, err := c.fit(0)
	if err != nil {
		return true, err
	}
	wrong, right := c.errorOf(co)
	if wrong > right { // the class is closed under negation
		co.negate()
		wrong, right = right, wrong
	}
	eps := wrong / (wrong + right)
	if eps >= 0.5-c.o.Tolerance {
		return true, nil
	}
	p.Derivative = c.mean * (2*eps - 1)
	switch {
	case eps <= c.o.Tolerance && co.binary:
		p.Step, stop = c.o.AlphaMax, true
	case c.o.Variant == LogitCD:
		p.Step = lineMin(c.e.Loss, c.d.Y, c.d.W, c.scores, co.values, 0, 0, c.o.AlphaMax, c.Workers)
	default:
		p.Step = math.Log(right/wrong) / 2
		p.Step = min(p.Step, c.o.AlphaMax)
	}
	t := Term{Weight: p.Step, Predictor: co.predictor, Family: -1, Round: c.Steps()}
	p.Splits = splitsOf(co.predictor)
	c.e.Terms = append(c.e.Terms, t)
	addScaled(c.scores, co.values, p.Step, 0, 1)
	c.addValid(&t)
	return stop, nil
}

func splitsOf(p Predictor) int {
	if s, ok := p.(Sized); ok {
		return s.Splits()
	}
	return 0
}

// negate turns h into -h.
func (co *coordinate) negate() {
	co.values = slices.Clone(co.values)
	for i := range co.values {
		co.values[i] = -co.values[i]
	}
	co.predictor = scaled(co.predictor, -1)
}

// penalised is a round of coordinate descent on the l1-regularised objective. The coordinates are
// those in the model and the best new one of each family.
func (c *coordinateRun) penalised(p *Progress) (stop bool, err error) {
	before := len(c.coords)
	for k := range c.fitters {
		co, err := c.fit(k)
		if err != nil {
			c.coords = c.coords[:before]
			return true, err
		}
		if wrong, right := c.errorOf(co); wrong > right {
			co.negate()
		}
		co.key = c.hash(co.values)
		if !slices.ContainsFunc(c.coords, func(o coordinate) bool {
			return o.key == co.key && o.family == co.family && equalUpToSign(o.unpacked(c.buffer), co.values)
		}) {
			co.pack()
			c.coords = append(c.coords, *co)
		}
	}
	best, size := -1, 0.0
	slope := make([]float64, len(c.coords))
	run.Jobs(c.Workers, len(c.coords), func(_, j int) {
		slope[j] = -c.mean * c.coords[j].edge(c.signed)
	})
	for j := range c.coords {
		d := MinimalSubgradient(slope[j], c.coords[j].alpha, c.coords[j].c)
		if math.Abs(d) > size {
			best, size = j, math.Abs(d)
		}
	}
	if best < 0 || size <= c.o.Tolerance {
		c.sweep()
		return true, nil
	}
	co := &c.coords[best]
	p.Derivative, p.Family, p.Splits = slope[best], co.family, splitsOf(co.predictor)
	if co.binary && c.o.Variant != LogitCD {
		wrong, right := c.errorOf(co)
		p.Step = L1Step(wrong/(wrong+right), co.alpha, co.c/c.mean)
		if math.IsInf(p.Step, 0) {
			p.Step = math.Copysign(c.o.AlphaMax, p.Step) - co.alpha
		}
	} else {
		p.Step = lineMin(c.e.Loss, c.d.Y, c.d.W, c.scores, co.unpacked(c.buffer), co.c, co.alpha,
			math.Abs(co.alpha)+c.o.AlphaMax, c.Workers)
	}
	if p.Step == 0 {
		c.sweep()
		return true, nil
	}
	if p.Step == -co.alpha {
		co.alpha = 0
	} else {
		co.alpha += p.Step
	}
	t := Term{Weight: p.Step, Predictor: co.predictor}
	addScaled(c.scores, co.unpacked(c.buffer), p.Step, 0, 1)
	c.addValid(&t)
	c.sweep()
	return false, nil
}

// sweep forgets the coordinates without weight: a learner finds them again when
// they are wanted, and memory grows with the model, not with the rounds.
func (c *coordinateRun) sweep() {
	c.coords = slices.DeleteFunc(c.coords, func(o coordinate) bool { return o.alpha == 0 })
}

// hash of values up to sign.
func (c *coordinateRun) hash(values []float64) uint64 {
	flip := 1.0
	for _, v := range values {
		if v != 0 {
			flip = sign(v)
			break
		}
	}
	var h maphash.Hash
	h.SetSeed(c.seed)
	for _, v := range values {
		maphash.WriteComparable(&h, v*flip+0)
	}
	return h.Sum64()
}

// equalUpToSign reports whether a is b or -b.
func equalUpToSign(a, b []float64) bool {
	flip := 0.0
	for i, v := range a {
		if flip == 0 && v != 0 {
			flip = 1
			if v == -b[i] {
				flip = -1
			}
		}
		if v != flip*b[i] {
			return false
		}
	}
	return true
}

// terms lists the coordinates in the model, in the order they came in. A round may
// change the weight of any of them, so all belong to the last one: the model is Joint.
func (c *coordinateRun) terms() {
	c.e.Terms = c.e.Terms[:0:0]
	for i := range c.coords {
		co := &c.coords[i]
		c.e.Terms = append(c.e.Terms, Term{Weight: co.alpha, Predictor: co.predictor, Family: co.family,
			Round: c.Steps()})
	}
}

// restore makes coordinates of the terms of a checkpoint.
func (c *coordinateRun) restore() {
	for _, t := range c.e.Terms {
		co := coordinate{alpha: t.Weight, c: c.penalty[max(t.Family, 0)], values: make([]float64, c.d.Rows()),
			family: t.Family, predictor: t.Predictor, binary: true}
		t.Predictor.Predict(co.values, c.d.X, 0)
		for _, v := range co.values {
			co.binary = co.binary && (v == 1 || v == -1)
		}
		co.key = c.hash(co.values)
		co.pack()
		c.coords = append(c.coords, co)
	}
}

// MinimalSubgradient is the element of least magnitude in the subdifferential of G(alpha) +
// c|alpha| in one coordinate. With slope the derivative of G it is slope + c sign(alpha), or at
// alpha = 0 the soft threshold of slope.
func MinimalSubgradient(slope, alpha, c float64) float64 {
	if alpha != 0 {
		return slope + c*sign(alpha)
	}
	return sign(slope) * max(math.Abs(slope)-c, 0)
}

// L1Step minimises (1-e) exp(-eta) + e exp(eta) + c|a+eta| over eta. This is the step of coordinate
// descent on the exponential loss for a base predictor of values ±1 with weighted error e and
// weight a. c is its penalty divided by the mean exponential loss (section 3 of the specification).
// c = 0 is AdaBoost's step. With e = 0 or 1 and c = 0 it is infinite.
func L1Step(e, a, c float64) float64 {
	u := (1-e)*math.Exp(a) - e*math.Exp(-a)
	if math.Abs(u) <= c {
		return -a
	}
	if c == 0 {
		return math.Log((1-e)/e) / 2
	}
	s := sign(u)
	if s < 0 {
		// Mirrored, so that one formula serves: e and a change roles with 1-e and -a.
		return -L1Step(1-e, -a, c)
	}
	// exp(eta) is the positive root of e t² + c t - (1-e) = 0; this form does not
	// cancel for small e.
	return math.Log(2 * (1 - e) / (c + math.Sqrt(c*c+4*e*(1-e))))
}
