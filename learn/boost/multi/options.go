package multi

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/run"
)

// Directions says on which rows the base predictors of a domain's slot are trained.
type Directions string

const (
	Pooled Directions = ""    // on the rows of all domains, which sees the harm to others
	Own    Directions = "own" // on the rows of that domain, as in figure 4.1
)

// Slots says which slots a model has.
type Slots string

const (
	WithShared  Slots = ""       // one a domain, and a slot with Q = 1: the same alpha and h in all domains
	DomainsOnly Slots = "domain" // one a domain, as in eq. 4.3
)

// RoundKind says how many terms a round adds.
type RoundKind string

const (
	Block  RoundKind = ""       // one a slot, each with a line search of its own, best first
	Greedy RoundKind = "greedy" // the best one
)

// Score orders the slots of a round.
type Score string

const (
	NewtonScore     Score = ""           // g²/c, g the derivative and c = Σ (pi_k/m_k) Phi' Q²
	DerivativeScore Score = "derivative" // -g
	DecreaseScore   Score = "decrease"   // the fall of the objective by a line search of each slot
)

// Step says how far a term goes.
type Step string

const (
	LineSearch Step = ""       // to the least objective within [0, EtaMax]
	Closed     Step = "closed" // ½ log((1-eps)/eps): the least of the bound of its own domain
	Bound      Step = "bound"  // to the least of the bound of lemma 4.3, corrected
	SqrtStep   Step = "sqrt"   // StepC/sqrt(t)
)

// Options adjusts Train; nil is the zero value, the recommended setting. Thesis is the
// literal algorithm of figure 4.1. Tags are those of package learner.
type Options struct {
	Objective Objective `json:"objective" flag:"objective" default:"softmax" values:"softmax,max,sum,skew" help:"How the losses of the domains are made one number"`
	// Loss is exponential (nil), or logistic in either base.
	Loss   boost.Loss `json:"-"`
	Rounds int        `json:"rounds" flag:"rounds" default:"100" min:"1" help:"Rounds T"`
	// Mu is relative to the largest loss, mu_t = Mu / max F_k. With FixedMu it is mu itself, which
	// makes a plain average of the maximum as losses shrink.
	Mu      float64   `json:"mu" flag:"mu" default:"5" above:"0" help:"mu of softmax, divided by the largest loss in each round: 2 to 5 when the mean error matters, 20 when only the worst source does"`
	FixedMu bool      `json:"fixed_mu" flag:"fixed_mu" help:"mu is not divided by the largest loss"`
	Beta    float64   `json:"beta" flag:"beta" min:"0" help:"What the adversary of skew pays for weight on small sources"`
	Target  TargetSet `json:"target"`

	Directions Directions `json:"directions" flag:"directions" zero:"pooled" values:"pooled,own" help:"Rows that a source's base predictors are trained on: all, or its own, as with the objective max"`
	// Slots: Own directions never have a shared slot, since it has no rows of its own. A single
	// source has none either, since it would be the same slot twice.
	Slots        Slots     `json:"slots" flag:"slots" zero:"shared" values:"shared,domain" help:"One slot a source, and perhaps one that they share"`
	Round        RoundKind `json:"round" flag:"round" zero:"block" values:"block,greedy" help:"A round adds a term in every slot, or one, as with the objective max"`
	Score        Score     `json:"score" flag:"score" zero:"newton" values:"newton,derivative,decrease" help:"Order of the slots in a round"`
	DomainFactor float64   `json:"domain_factor" flag:"domain_factor" default:"1" above:"0" help:"Multiplies the scores of the sources' slots against the shared one (0.3 suits greedy rounds)"`

	Step   Step    `json:"step" flag:"step" zero:"line" values:"line,closed,bound,sqrt" help:"Length of steps: line search, the closed form of the own source, the bound of lemma 4.3, C/sqrt(t)"`
	StepC  float64 `json:"step_c" flag:"step_c" default:"0.3" above:"0" help:"C of --step=sqrt"`
	EtaMax float64 `json:"eta_max" flag:"eta_max" default:"10" above:"0" help:"Longest step; 5 where it is not given and steps are closed or bound"`

	// L1 is c in the penalty Σ r_k |alpha| within each domain's loss, with r_k =
	// c/sqrt(m_k); Penalty gives the r_k themselves.
	L1      float64   `json:"l1" flag:"l1" min:"0" help:"c of the penalty c/sqrt(m_k) times the sum of weights, in each source's loss"`
	Penalty []float64 `json:"penalty,omitempty"`

	// Literal leaves out what rescues Max from a stall: the next candidates, other
	// slots, and a step along a common direction of descent.
	Literal bool `json:"literal" flag:"literal" help:"Let --objective=max stall, as the thesis' algorithm does"`
	// Best returns the rounds up to the least maximum of the losses (of the validation
	// rows when there are any), not all of them.
	Best bool `json:"best" flag:"best" help:"Keep the rounds up to the least maximum of the losses"`

	// Learner makes the base predictors of all slots, with values in [-1, 1], of a
	// class closed under negation; nil is Stumps. Learners, if not nil, has one for each
	// slot: the domains, then the shared one.
	Learner  boost.Learner   `json:"-"`
	Learners []boost.Learner `json:"-"`
	// Families, if not nil, are the classes that base predictors come from, in place of Learner.
	// Each slot trains one of every family and takes the one with the best score, its penalty
	// included.
	Families []Family `json:"-"`

	// Q is an existing domain classifier. QTrain holds its values on the training rows, by row and
	// domain, in place of or beside it. When both are nil, multinomial logistic regression is
	// trained as QOptions says.
	Q          Classifier   `json:"-"`
	QTrain     []float64    `json:"-"`
	QOptions   QOptions     `json:"q"`
	Unlabelled *table.Table `json:"-"` // rows of known domain without labels, for Q alone

	// Valid, if not nil, are rows with sources on which the largest loss of a domain is watched.
	// The model is the rounds up to its least; run.Stop.Patience counts rounds without a lower one.
	Valid *boost.Data `json:"-"`
}

// Family is a class of base predictors and what it costs: the penalty of domain k is
//
//	Σ_j alpha_j r_k Charge(family of j)
//
// the family-dependent r_{k,fam(j)} of section 4.4, after C. Cortes, M. Mohri and U. Syed, "Deep
// boosting", ICML 2014. That r is a product loses nothing for r_{k,fam} = 2 Rad_{m_k}(H_fam) by
// Theorem 3.1, since that is a factor of the family times one of the sample. TreeFamilies has the
// first.
type Family struct {
	Learner boost.Learner
	Charge  float64 // at least 0; 1 is the penalty as it is without families
}

// familySeparator stands between the names of families in Model.Learners.
const familySeparator = " | "

// TreeFamilies returns trees with leaves ±1 of the given numbers of splits, in any order. Charges
// grow as the complexity over x by Theorem 3.1, the least being 1. bins is that of boost.SignTrees.
func TreeFamilies(x *table.Table, splits []int, bins int) []Family {
	q := boost.QuestionsOf(x)
	out := make([]Family, len(splits))
	least := math.Inf(1)
	for j, n := range splits {
		out[j] = Family{boost.SignTrees{Splits: n, Bins: bins}, q.Omega(boost.VCBound, n, 1, x.Rows)}
		least = min(least, out[j].Charge)
	}
	for j := range out {
		out[j].Charge /= least
	}
	return out
}

// Thesis returns the literal algorithm of figure 4.1 with the given step: the maximum,
// each slot trained on its own domain, one term a round.
func Thesis(step Step) *Options {
	return &Options{Objective: Max, Directions: Own, Slots: DomainsOnly, Round: Greedy,
		Step: step, Literal: true}
}

// EqualTerms returns the setting that adds one term a round: as many as AdaBoost in as
// many rounds. The factor keeps domain slots, which help one source, from being
// taken before the shared one does all it can.
func EqualTerms() *Options {
	return &Options{Round: Greedy, DomainFactor: 0.3}
}

// withDefaults fills in and checks settings for data of p domains with m rows each.
func (o Options) withDefaults(p int, m []float64) (Options, error) {
	if o.EtaMax == 0 && (o.Step == Closed || o.Step == Bound) {
		o.EtaMax = 5
	}
	if err := learner.Complete(&o, &o); err != nil {
		return o, fmt.Errorf("multi: %w", err)
	}
	if o.Loss == nil {
		o.Loss = boost.Exponential{}
	}
	if p == 1 {
		o.Slots = DomainsOnly
	}
	switch {
	case o.Beta != 0 && o.Objective != Skewed:
		return o, fmt.Errorf("multi: beta belongs to the objective skew, and this is %s", o.Objective)
	case o.Objective == Skewed && o.Target.Vertices != nil:
		return o, fmt.Errorf("multi: the objective skew takes bounds on the shares of domains, not vertices")
	case o.Objective == Sum && !o.Target.simplex():
		return o, fmt.Errorf("multi: the objective sum weighs all domains alike: it has no target set")
	case (o.Step == Closed || o.Step == Bound) && o.Round == Block && p > 1:
		return o, fmt.Errorf("multi: the step %s is for greedy rounds", o.Step)
	case o.Step == Bound && (o.Objective != Max || !o.Target.simplex()):
		return o, fmt.Errorf("multi: the step bound is that of the objective max over the whole simplex")
	case o.L1 != 0 && o.Penalty != nil:
		return o, fmt.Errorf("multi: both l1 and penalty are given; they are two ways to say r_k")
	case o.Penalty != nil && len(o.Penalty) != p:
		return o, fmt.Errorf("multi: %d penalties for %d domains", len(o.Penalty), p)
	case o.Unlabelled != nil && (o.Q != nil || o.QTrain != nil):
		return o, fmt.Errorf("multi: unlabelled rows train Q, and Q is given")
	}
	for k, r := range o.Penalty {
		if !(r >= 0) || math.IsInf(r, 1) {
			return o, fmt.Errorf("multi: penalty %v of domain %d must be finite and not negative", r, k+1)
		}
	}
	if o.Families != nil && (o.Learner != nil || o.Learners != nil) {
		return o, fmt.Errorf("multi: both families and a learner are given; Families are in place of Learner " +
			"and Learners")
	}
	if o.Families != nil && len(o.Families) == 0 {
		return o, fmt.Errorf("multi: Families is empty; nil is none")
	}
	for s, l := range o.Learners {
		if l == nil {
			return o, fmt.Errorf("multi: slot %d has no learner", s+1)
		}
	}
	for j, f := range o.Families {
		if f.Learner == nil || !(f.Charge >= 0) || math.IsInf(f.Charge, 1) {
			return o, fmt.Errorf("multi: family %d needs a learner, and its charge is %v; it must be finite and "+
				"not negative", j+1, f.Charge)
		}
	}
	if o.L1 > 0 {
		o.Penalty = make([]float64, p)
		for k := range o.Penalty {
			o.Penalty[k] = o.L1 / math.Sqrt(m[k])
		}
	}
	return o, o.Target.Check(p)
}

// settings returns the options as JSON, for the record, for data of p domains. Options of Q are
// those it was trained with, null where it was given.
func (o *Options) settings(p int) (string, error) {
	learners := []string{}
	for _, l := range o.Learners {
		learners = append(learners, l.Name())
	}
	type family struct {
		Learner string  `json:"learner"`
		Charge  float64 `json:"charge"`
	}
	var families []family
	for _, f := range o.Families {
		families = append(families, family{f.Learner.Name(), f.Charge})
	}
	var q *QOptions
	if o.Q == nil && o.QTrain == nil {
		used, err := o.QOptions.withDefaults(p)
		if err != nil {
			return "", err
		}
		q = &used
	}
	b, err := json.Marshal(struct {
		*Options
		Penalty  []float64 `json:"penalty,omitempty"`
		Q        *QOptions `json:"q"`
		Learners []string  `json:"learners"`
		Families []family  `json:"families,omitempty"`
	}{o, nil, q, learners, families})
	if err != nil {
		return "", fmt.Errorf("multi: settings: %w", err)
	}
	return string(b), nil
}

// Progress is one line of a run's history.
type Progress struct {
	Round     int       // rounds finished
	Sources   []string  // names
	Losses    []float64 // F_k of the training rows, penalties aside
	Max       float64   // the largest over the target set, penalties aside
	Objective float64   // what was minimised in this round, after it
	Terms     []Added   // terms of the round
	Valid     float64   // the same maximum of the validation rows; NaN without any
	Seconds   float64   // since the run began, resumed parts included
	// Rescued is set when the literal algorithm would have stalled here, and says how it
	// was helped.
	Rescued string
}

// Fields implements run.Detail; see Line.
func (p *Progress) Fields() []run.Field { return nil }

// Header implements run.Lined: losses of the sources, slots and steps of the terms.
func (p *Progress) Header() []string {
	head := []string{"round", "max_loss", "objective", "validation_max", "terms", "slots", "steps", "qbar",
		"rescued", "seconds"}
	for _, s := range p.Sources {
		head = append(head, "loss "+s)
	}
	return head
}

// Line implements run.Lined.
func (p *Progress) Line() []string {
	var slots, steps, qbar []string
	for _, t := range p.Terms {
		slots, steps, qbar = append(slots, strconv.Itoa(t.Slot+1)), append(steps, run.Cell(t.Step)),
			append(qbar, strconv.FormatFloat(t.Qbar, 'g', 4, 64))
	}
	line := []string{strconv.Itoa(p.Round), run.Cell(p.Max), run.Cell(p.Objective), run.Cell(p.Valid),
		strconv.Itoa(len(p.Terms)), strings.Join(slots, " "), strings.Join(steps, " "), strings.Join(qbar, " "),
		p.Rescued, strconv.FormatFloat(p.Seconds, 'f', 6, 64)}
	for _, f := range p.Losses {
		line = append(line, run.Cell(f))
	}
	return line
}

// String implements run.Detail, for people.
func (p *Progress) String() string { return fmt.Sprintf("largest loss %.5g", p.Max) }

// Added is a term that a round added.
type Added struct {
	Slot       int
	Step       float64
	Derivative float64 // of the objective along it, when it was chosen
	// Qbar is Σ D_k(i) Q(k|x_i) over the rows of the slot's own domain (1 for a shared
	// slot). Near 1/p Q does not separate the domain, and progress is slow.
	Qbar float64
}
