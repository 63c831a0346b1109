package g2p

import (
	"fmt"
	"math"
)

// Kind names a training objective. Let Z_g = Σ_u exp(θ(u) + g·L(u)) over the label strings u of a
// word's lattice. L(u) is the edit distance between the expansion of u and the reference, and u*
// the aligned label string.
type Kind string

const (
	// CrossEntropy is log Z_0 - θ(u*): the conditional random field. Convex.
	CrossEntropy Kind = "ce"
	// HammingMargin is softmax-margin with the number of labels that differ from u* in place of L:
	// a plain chain with γ added to every wrong label. It is the control that separates the effect
	// of the margin from that of the edit distance. Convex.
	HammingMargin Kind = "hamming"
	// SoftmaxMargin is log Z_γ - θ(u*). Convex. K. Gimpel and N. A. Smith,
	// "Softmax-margin CRFs: training log-linear models with cost functions",
	// NAACL 2010.
	SoftmaxMargin Kind = "margin"
	// NGramMargin is SoftmaxMargin with an n-gram loss in place of L: -log(U + c), where U counts
	// the phone n-grams of the expansion of u that the reference has. It sees which phones follow
	// each other, not how many are wrong. n and c are options. Convex.
	NGramMargin Kind = "ngram"
	// LatentMargin is log Z_γ - log Σ exp θ(u) over all u that expand to the reference. No
	// alignment is fixed, and right alignments do not compete. Not convex; it starts well from
	// zero. With γ = 0 it is the likelihood of the phones.
	LatentMargin Kind = "latent"
	// MaxMargin is (1/β) log Σ exp β(θ(u) + γ L(u)) - θ(u*): for large β the
	// structured hinge loss. Convex.
	MaxMargin Kind = "maxmargin"
	// RiskMix is (1-Mix) times CrossEntropy plus Mix times the expected loss
	// E_0[L]. Not convex: start it from the weights of a CrossEntropy model.
	RiskMix Kind = "risk"
	// Mixture marks a model trained on several objectives at once by a caller's solver
	// (Problem.Objective, Problem.Model). It cannot be fitted.
	Mixture Kind = "mixture"
)

// Kinds lists all kinds, in the order in which reports show them.
func Kinds() []Kind {
	return []Kind{CrossEntropy, HammingMargin, SoftmaxMargin, NGramMargin, LatentMargin, MaxMargin, RiskMix}
}

// Objective is a training objective with its constants. Beside the sum over
// words, all have L2/2 |w|², not divided by the number of words.
type Objective struct {
	Kind  Kind    `json:"kind"`            // "" is LatentMargin
	Gamma float64 `json:"gamma,omitempty"` // weight of the loss, or of the Hamming margin; not used by CrossEntropy and RiskMix
	L2    float64 `json:"l2"`
	Beta  float64 `json:"beta,omitempty"` // of MaxMargin; 0 is 6
	Mix   float64 `json:"mix,omitempty"`  // of RiskMix, above 0, at most 1; 0 is .5
}

// DefaultObjective returns the constants that did best over small languages:
// γ = 4 where there is one, l2 = .3.
func DefaultObjective(kind Kind) Objective {
	o := Objective{Kind: kind, L2: 0.3}
	if kind.usesGamma() {
		o.Gamma = 4
	}
	o, _ = o.withDefaults()
	return o
}

func (k Kind) usesGamma() bool {
	return k == HammingMargin || k == SoftmaxMargin || k == NGramMargin || k == LatentMargin || k == MaxMargin
}

// usesLoss reports whether an objective needs the loss machines of the edit distance.
func (k Kind) usesLoss() bool {
	return k == SoftmaxMargin || k == LatentMargin || k == MaxMargin || k == RiskMix
}

func (o Objective) withDefaults() (Objective, error) {
	if o.Kind == "" {
		o.Kind = LatentMargin
	}
	switch o.Kind {
	case CrossEntropy, HammingMargin, SoftmaxMargin, NGramMargin, LatentMargin:
	case MaxMargin:
		if o.Beta == 0 {
			o.Beta = 6
		}
		if !(o.Beta > 0) || math.IsInf(o.Beta, 1) {
			return o, fmt.Errorf("g2p: β is %v, not a positive number", o.Beta)
		}
	case RiskMix:
		if o.Mix == 0 {
			o.Mix = 0.5
		}
		if !(o.Mix > 0 && o.Mix <= 1) {
			return o, fmt.Errorf("g2p: the share of the risk is %v, not above 0 and at most 1", o.Mix)
		}
	default:
		return o, fmt.Errorf("g2p: no objective is called %q; there are %v", o.Kind, Kinds())
	}
	if math.IsNaN(o.Gamma) || math.IsInf(o.Gamma, 0) || !(o.L2 >= 0) || math.IsInf(o.L2, 1) {
		return o, fmt.Errorf("g2p: γ is %v and l2 %v: γ must be finite, l2 finite and not negative", o.Gamma, o.L2)
	}
	return o, nil
}

// beta is the factor of scores within the partition function.
func (o *Objective) beta() float64 {
	if o.Kind == MaxMargin {
		return o.Beta
	}
	return 1
}

func (o Objective) String() string {
	s := string(o.Kind)
	if o.Kind.usesGamma() {
		s += fmt.Sprintf(" γ=%g", o.Gamma)
	}
	if o.Kind == MaxMargin {
		s += fmt.Sprintf(" β=%g", o.Beta)
	}
	if o.Kind == RiskMix {
		s += fmt.Sprintf(" mix=%g", o.Mix)
	}
	return s + fmt.Sprintf(" l2=%g", o.L2)
}
