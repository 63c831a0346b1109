package minimax

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// Solver names a way to the saddle point.
type Solver string

const (
	// Auto, for linear models, is MirrorProx followed by DualAscent until the certificate reaches
	// the gap requested. Newton takes over where that is slow and Newton affordable, Smoothed where
	// neither applies or makes progress. For networks it is Descent.
	Auto Solver = ""
	// MirrorProx, Descent and Alternating are methods of saddle.FirstOrder.
	MirrorProx  Solver = "mirror-prox"
	Descent     Solver = "gda"
	Alternating Solver = "alternating"
	// Smoothed is saddle.Smoothed: the quickest where no loss has a kink, and the only one to certify
	// losses of whole rows (Softmax).
	Smoothed Solver = "smoothed"
	// DualAscent is saddle.Planes with separable.Ascent: the quickest to a certificate where losses
	// have kinks and the data are many.
	DualAscent Solver = "dual-ascent"
	// Newton is saddle.Newton with separable.Newton. It is the fastest to a tight certificate, for
	// any kinks and powers, where Outputs·Rows·Features² multiplications are cheap. Biases may have
	// a bound.
	Newton Solver = "newton"
)

// Preferences are the mixtures that the model must be robust to. The zero value is
// the whole simplex; at most one of its kinds may be given.
type Preferences = optim.Mixtures

// setOf returns the set of f for p objectives.
func setOf(f Preferences, p int) (optim.Maximizer, error) {
	s, err := f.Set(p)
	if err != nil {
		return nil, fmt.Errorf("minimax: preferences: %w", err)
	}
	return s, nil
}

// Options adjusts Train; nil is the same as the zero value, which is a linear model
// robust to the mixtures of DefaultLosses. The thesis' experiment has ThesisLosses.
type Options struct {
	// The objectives and how they enter the game.
	Losses        []Loss        // nil is DefaultLosses
	Normalization Normalization // zero is Lipschitz
	ScoreBound    float64       // |s| is at most this, for constants that need it; zero is what Radius implies
	ZeroOne       ZeroOneMode   // zero is Surrogate
	MultiClass    MultiClass    // zero is OneVsAll
	Preferences   Preferences
	Fixed         []float64 // if not nil, the mixture to train on: a baseline. Weights are divided by their sum
	// Offsets are the L_k* of Regret in its units, if known: Values[k] of the model of objective k,
	// for a linear model plus its Penalty. Nil finds them.
	Offsets []float64

	// Penalties and sets.
	Beta1   float64 // of R(w) on the weights (and biases, see Bias); certificates need it or Radius
	Norm    bool    // R is |w|_2 (as the thesis prints it), not |w|²/2
	Beta2   float64 // of Σ λ_k M_k
	Penalty Penalty // what Beta2 does; zero is Handicap
	Radius  float64 // |w|_2 ≤ Radius, biases included; zero is none
	// Bias, for linear models without a radius, leaves biases out of R and bounds them by |bias| ≤
	// Bias. Zero penalises them like the weight of a constant feature. That costs β_1 b²/2, which
	// is negligible, and proves far closer bounds: a gradient g along biases then counts g²/2β_1
	// instead of 2·Bias·|g|.
	Bias float64

	Hidden []int // sizes of hidden layers; none is a linear model

	// How.
	Solver     Solver
	Steps      saddle.StepRule
	StepW      float64 // zero is 1, for networks 0.03
	StepLambda float64 // zero is 1, for networks 0.01
	Entropic   bool
	Batch      int // zero is 128, negative all; Smoothed takes all
	// Passes over the data; with negative Batch, steps, and zero is 1000. Otherwise zero is 20 for
	// networks, 10 for linear models, and for DualAscent and the rounds of Newton and Smoothed as
	// many as make progress. For Auto they limit the first part.
	Passes   int
	All      bool    // averages are of all steps, as in Theorem 5.4; by default of the last half
	Gap      float64 // to stop at, times max(leastValue, value); zero is 1e-3, negative as near as it gets
	NoPolish bool    // Auto: leave the second part out

	Network Network // of models with hidden layers

	Seed    uint64
	Workers int         // zero is GOMAXPROCS; results do not depend on it
	Control run.Control // of Stop, Time is used, and by networks with Heldout Patience
}

// Network is how networks are trained.
type Network struct {
	Method   optim.Method // SGD, AdaGrad or Adam, for w; λ always takes plain projected steps
	Momentum float64      // of SGD; negative is none, zero is 0.9
	Heldout  *Data        // if not nil, the pass with the least worst objective here gives the model
	Constant bool         // steps stay as they are; by default γ/√(1+pass)
}

// withDefaults returns the options as they will be used.
func (o *Options) withDefaults(d *Data) (Options, error) {
	var p Options
	if o != nil {
		p = *o
	}
	if p.Losses == nil {
		p.Losses = DefaultLosses()
	}
	network := len(p.Hidden) > 0
	p.Normalization, p.ZeroOne = cmp.Or(p.Normalization, Lipschitz), cmp.Or(p.ZeroOne, Surrogate)
	p.MultiClass, p.Penalty = cmp.Or(p.MultiClass, OneVsAll), cmp.Or(p.Penalty, Handicap)
	p.Gap, p.Workers = cmp.Or(p.Gap, 1e-3), run.WorkersOf(p.Workers)
	if network {
		p.StepW, p.StepLambda = cmp.Or(p.StepW, 0.03), cmp.Or(p.StepLambda, 0.01)
		if p.Network.Method == optim.SGD {
			p.Network.Momentum = cmp.Or(p.Network.Momentum, 0.9)
		}
		p.Network.Momentum = math.Max(p.Network.Momentum, 0)
	}
	p.Batch = max(0, min(cmp.Or(p.Batch, 128), d.Rows))
	switch {
	case p.Passes != 0:
	case network:
		p.Passes = 10
	case p.Solver == DualAscent || p.Solver == Newton || p.Solver == Smoothed: // no limit but their own
	case p.Batch == 0:
		p.Passes = 1000
	default:
		p.Passes = 20
	}
	switch {
	case !finite(p.Beta1, p.Beta2, p.Radius, p.Bias, p.StepW, p.StepLambda, p.Gap, p.ScoreBound):
		return p, errors.New("minimax: no setting may be infinite or NaN")
	case p.Beta1 < 0 || p.Beta2 < 0 || p.Radius < 0 || p.Bias < 0 || p.ScoreBound < 0 || p.StepW < 0 ||
		p.StepLambda < 0:
		return p, errors.New("minimax: penalties, radii, bounds and steps must not be negative")
	case p.MultiClass != OneVsAll && p.MultiClass != Softmax:
		return p, fmt.Errorf("minimax: there is no multi-class mode %q; choose ova-mean or softmax", p.MultiClass)
	case p.Penalty != Handicap && p.Penalty != Shy && p.Penalty != Constraint:
		return p, fmt.Errorf("minimax: there is no penalty %q; choose handicap, shy or constraint", p.Penalty)
	case p.Penalty == Constraint && p.Beta2 == 0:
		return p, errors.New("minimax: the constraint Σ λ_k M_k ≤ β_2 needs a β_2")
	case p.Fixed != nil && len(p.Fixed) != len(p.Losses):
		return p, fmt.Errorf("minimax: a mixture of %d weights for %d objectives", len(p.Fixed), len(p.Losses))
	case p.Offsets != nil && (p.Normalization != Regret || len(p.Offsets) != len(p.Losses) ||
		!finite(p.Offsets...)):
		return p, errors.New("minimax: offsets are for regrets, one finite number for each objective")
	case network && p.Solver != Auto && p.Solver != Descent:
		return p, fmt.Errorf("minimax: networks are trained by %s, not by %s", Descent, p.Solver)
	case network && (p.Steps != saddle.ConstantSteps || p.Entropic):
		return p, errors.New("minimax: networks take plain projected steps of λ; leave rule and geometry alone")
	case network && (p.Norm || p.Bias != 0 || p.All):
		return p, errors.New("minimax: Norm, Bias and All are for linear models, not for networks")
	case !network && p.Network != Network{}:
		return p, errors.New("minimax: Network is for models with hidden layers, not for linear ones")
	case p.Network.Heldout != nil && (p.Network.Heldout.Features != d.Features ||
		p.Network.Heldout.Outputs() != d.Outputs()):
		return p, errors.New("minimax: held-out data have other features or classes than the training data")
	}
	for k, v := range p.Preferences.Lo {
		if v < 0 && len(p.Preferences.Lo) == len(p.Losses) {
			return p, fmt.Errorf("minimax: preferences: the least weight of %s is %v: weights of objectives are not "+
				"negative; give 0 or more", p.Losses[k].Name, v)
		}
	}
	if k := slices.IndexFunc(p.Losses, func(l Loss) bool { return l.Margin }); d.Y != nil && k >= 0 {
		return p, fmt.Errorf("minimax: %s needs classes, but the targets are numbers; choose 1-norm (any "+
			"q-norm), squared or huber", p.Losses[k].Name)
	}
	var err error
	if p.Fixed != nil {
		p.Fixed, err = mixtureOfWeights(p.Fixed)
	}
	return p, err
}

// mixtureOfWeights returns weights divided by their sum, so that values are those of a
// mixture whatever the units of the weights. Weights that add up to 1 stay what they are.
func mixtureOfWeights(weights []float64) ([]float64, error) {
	if k := slices.IndexFunc(weights, func(v float64) bool { return !(v >= 0) || math.IsInf(v, 1) }); k >= 0 {
		return nil, fmt.Errorf("minimax: weight %d of the mixture is %v: weights are finite and not negative", k+1,
			weights[k])
	}
	sum := floats.Sum(weights)
	switch {
	case sum == 0:
		return nil, errors.New("minimax: all weights of the mixture are zero: there is nothing to train on; give " +
			"one objective weight at least")
	case math.IsInf(sum, 1):
		return nil, fmt.Errorf("minimax: the weights of the mixture add up to more than %.3g; divide them all by "+
			"the largest", math.MaxFloat64)
	}
	out := slices.Clone(weights)
	if math.Abs(sum-1) > 1e-9 {
		for k := range out {
			out[k] /= sum
		}
	}
	return out, nil
}

func finite(values ...float64) bool { return optim.FirstNotFinite(values) < 0 }
