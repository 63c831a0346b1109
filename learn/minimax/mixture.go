package minimax

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// Part is an objective of a Mixture: any function of the common parameters, such as a
// loss of sequences summed over a corpus.
type Part struct {
	Name      string
	Objective optim.Objective
	Scale     float64 // multiplies: one over the number of examples makes a mean; zero is 1
	Concave   bool    // the objective is not convex: there is no certificate
}

// Joint is several objectives of common parameters that share work, such as
// sequence.Joint. It belongs to one goroutine.
type Joint interface {
	Dim() int
	Len() int
	// Values stores the value at w of each objective for which need holds (nil: of all),
	// and leaves the others' as they are.
	Values(w, values []float64, need []bool) error
	// Gradient stores Σ_k c_k ∇L_k at the w of the last call of Values, which needed all
	// with c_k ≠ 0.
	Gradient(c, grad []float64) error
}

// apart makes a Joint of objectives that share nothing. Memory: a vector each.
type apart struct {
	parts []Part
	grads [][]float64
}

func newApart(parts []Part) *apart {
	a := &apart{parts: parts}
	for _, p := range parts {
		a.grads = append(a.grads, make([]float64, p.Objective.Dim()))
	}
	return a
}

func (a *apart) Dim() int { return a.parts[0].Objective.Dim() }
func (a *apart) Len() int { return len(a.parts) }

func (a *apart) Values(w, values []float64, need []bool) error {
	for k, p := range a.parts {
		if need != nil && !need[k] {
			continue
		}
		v, err := p.Objective.Eval(w, a.grads[k])
		if err != nil {
			return fmt.Errorf("minimax: %s: %w", p.Name, err)
		}
		values[k] = v
	}
	return nil
}

func (a *apart) Gradient(c, grad []float64) error {
	clear(grad)
	for k, g := range a.grads {
		if c[k] != 0 {
			for j, x := range g {
				grad[j] += c[k] * x
			}
		}
	}
	return nil
}

// Mixture is the game over objectives that are any functions of common parameters,
//
//	φ(w, λ) = Σ_k λ_k (a_k L_k(w) - b_k) + β_1/2 |w|².
//
// An evaluation at a new w costs one of each objective; what it found is kept, so that
// another λ at the same w costs p vector operations, or what the Joint asks for.
type Mixture struct {
	parts         []Part
	joint         Joint
	scale, offset []float64
	beta1         float64
	dim           int

	need   []bool    // objectives that count; nil is all
	at     []float64 // nil: nothing is kept
	values []float64
	c      []float64
}

// NewMixture returns the game with a_k = Scale and b_k = 0.
func NewMixture(parts []Part, beta1 float64) (*Mixture, error) {
	return newMixture(parts, nil, beta1)
}

func newMixture(parts []Part, joint Joint, beta1 float64) (*Mixture, error) {
	if len(parts) == 0 {
		return nil, errors.New("minimax: no objectives: give at least one")
	}
	if !(beta1 >= 0) || math.IsInf(beta1, 1) {
		return nil, fmt.Errorf("minimax: a penalty of %v", beta1)
	}
	m := &Mixture{parts: slices.Clone(parts), joint: joint, beta1: beta1, values: make([]float64, len(parts)), c: make([]float64, len(parts))}
	switch {
	case joint != nil && joint.Len() != len(parts):
		return nil, fmt.Errorf("minimax: %d parts for the %d objectives of their joint", len(parts), joint.Len())
	case joint != nil:
		m.dim = joint.Dim()
	default:
		m.dim = parts[0].Objective.Dim()
	}
	for k, p := range parts {
		if joint == nil && p.Objective.Dim() != m.dim {
			return nil, fmt.Errorf("minimax: %s has %d parameters, %s has %d: they must share them", p.Name, p.Objective.Dim(), parts[0].Name, m.dim)
		}
		if p.Scale == 0 {
			p.Scale = 1
		}
		if !(p.Scale > 0) || math.IsInf(p.Scale, 1) {
			return nil, fmt.Errorf("minimax: %s is scaled by %v", p.Name, p.Scale)
		}
		if slices.ContainsFunc(parts[:k], func(q Part) bool { return q.Name == p.Name }) {
			return nil, fmt.Errorf("minimax: two objectives are called %q", p.Name)
		}
		m.scale, m.offset = append(m.scale, p.Scale), append(m.offset, 0)
	}
	if joint == nil {
		m.joint = newApart(m.parts)
	}
	return m, nil
}

// Dims implements saddle.Problem.
func (m *Mixture) Dims() (w, lambda int) { return m.dim, len(m.parts) }

// Curvature implements saddle.Convex.
func (m *Mixture) Curvature(mu []float64) bool {
	for j := range mu {
		mu[j] = m.beta1
	}
	return !slices.ContainsFunc(m.parts, func(p Part) bool { return p.Concave })
}

// only makes later evaluations leave out the objectives without a weight in lambda; their
// values then are zero. Nil counts all.
func (m *Mixture) only(lambda []float64) {
	m.at, m.need = nil, nil
	if lambda != nil {
		m.need = make([]bool, len(lambda))
		for k, v := range lambda {
			m.need[k] = v != 0
		}
	}
}

// Eval implements saddle.Problem.
func (m *Mixture) Eval(w, lambda, gw, gl []float64) (float64, error) {
	if m.at == nil || !slices.Equal(m.at, w) {
		kept := m.at
		m.at = nil
		if err := m.joint.Values(w, m.values, m.need); err != nil {
			return math.NaN(), err
		}
		m.at = append(kept[:0], w...)
	}
	v, sq := 0.0, 0.0
	for k, x := range m.values {
		if m.need != nil && !m.need[k] {
			x = 0
		} else {
			x = m.scale[k]*x - m.offset[k]
		}
		v += lambda[k] * x
		if gl != nil {
			gl[k] = x
		}
	}
	for _, x := range w {
		sq += x * x
	}
	if gw != nil {
		for k := range m.c {
			m.c[k] = lambda[k] * m.scale[k]
		}
		if err := m.joint.Gradient(m.c, gw); err != nil {
			return math.NaN(), err
		}
		for j, x := range w {
			gw[j] += m.beta1 * x
		}
	}
	return v + m.beta1/2*sq, nil
}

// MixtureOptions adjusts TrainMixture; nil is the same as the zero value.
type MixtureOptions struct {
	Normalization Normalization // Raw (the zero value here), Baseline or Regret; see Normalization
	Preferences   Preferences
	Fixed         []float64 // if not nil, the mixture to train on: a baseline. Weights are divided by their sum
	Beta1         float64   // of |w|²/2
	Start         []float64 // nil is zero
	Solver        Solver    // Smoothed is the default; MirrorProx and Descent take Steps steps
	Steps         int       // zero is 1000; of Smoothed the rounds, where zero is 30
	Gap           float64   // as in Options
	Absolute      bool      // Gap is meant as it is, not times max(1, |upper|): of Smoothed
	Inner         int       // L-BFGS steps of a round of Smoothed; zero is 200
	Workers       int       // for vector work; zero is 1
	Control       run.Control
	Offsets       []float64 // of Regret, where they are known from before; nil finds them

	Joint  Joint     // evaluates the parts, which then need no Objective; nil is each apart
	Memory int       // pairs of Smoothed's L-BFGS, in float32 where parameters are many; zero is 20
	Along  []float64 // preconditions it; see saddle.Smoothed.Scale

	stage string // in front of the solver's name in rows
}

// MixtureFit is what TrainMixture found.
type MixtureFit struct {
	W, Lambda   []float64
	Raw, Values []float64 // a_k L_k, and as they enter the game
	Worst       float64
	Offsets     []float64 // b_k
	Result      *saddle.Result
}

// TrainMixture finds parameters that are robust to every mixture of the parts. Losses of
// one structured problem often dominate each other pointwise (a softmax margin is never
// below the cross-entropy): without Regret, or Baseline, the game then is that of the
// largest alone.
func TrainMixture(parts []Part, opts *MixtureOptions) (*MixtureFit, error) {
	var o MixtureOptions
	if opts != nil {
		o = *opts
	}
	m, err := newMixture(parts, o.Joint, o.Beta1)
	if err != nil {
		return nil, err
	}
	p := len(parts)
	start := o.Start
	if start == nil {
		start = make([]float64, m.dim)
	}
	if len(start) != m.dim || o.Fixed != nil && len(o.Fixed) != p {
		return nil, fmt.Errorf("minimax: a start of %d parameters and a mixture of %d weights for %d and %d", len(start), len(o.Fixed), m.dim, p)
	}
	if o.Fixed != nil {
		if o.Fixed, err = mixtureOfWeights(o.Fixed); err != nil {
			return nil, err
		}
	}
	switch o.Normalization {
	case "", Raw:
	case Baseline:
		gl := make([]float64, p)
		if _, err := m.Eval(start, make([]float64, p), nil, gl); err != nil {
			return nil, err
		}
		for k, v := range gl {
			if !(v > 1e-12) {
				return nil, fmt.Errorf("minimax: %s is %.3g at the start: it cannot be measured in units of that; choose another normalisation", parts[k].Name, v)
			}
			m.scale[k] /= v
		}
	case Regret:
		if err := m.alone(&o, start); err != nil {
			return nil, err
		}
		copy(m.offset, o.Offsets)
		if save := o.Control.Checkpoint; save != nil {
			o.Control.Checkpoint = func(k *run.Checkpoint) error {
				keep(k, m.offset)
				return save(k)
			}
		}
	default:
		return nil, fmt.Errorf("minimax: mixtures have no normalisation %q: their Lipschitz constants are not known; choose none, baseline or regret", o.Normalization)
	}
	return m.solve(&o, start)
}

// Account returns the values of all parts at w, raw and as they enter the game.
func (m *Mixture) Account(w []float64) (raw, values []float64, err error) {
	values = make([]float64, len(m.parts))
	if _, err := m.Eval(w, make([]float64, len(m.parts)), nil, values); err != nil {
		return nil, nil, err
	}
	for k, v := range values {
		raw = append(raw, v+m.offset[k])
	}
	return raw, values, nil
}

// singleFrom is as in learn/sequence.
const singleFrom = 1 << 16

func (m *Mixture) solve(o *MixtureOptions, start []float64) (*MixtureFit, error) {
	p := len(m.parts)
	set, err := o.Preferences.set(slices.Repeat([]float64{1}, p), Handicap, 0)
	if err != nil {
		return nil, err
	}
	var lambda optim.Set = set
	l0 := slices.Repeat([]float64{1 / float64(p)}, p)
	if o.Fixed != nil {
		l0 = o.Fixed
		lambda = only(l0)
	}
	gap := o.Gap
	if gap == 0 {
		gap = 1e-3
	}
	convex := m.Curvature(make([]float64, m.dim)) && m.beta1 > 0
	control := o.Control
	m.tell(o, &control)
	var r *saddle.Result
	switch o.Solver {
	case Auto, Smoothed:
		control.Stop.Iterations = o.Steps
		s := saddle.Smoothed{Lambda: lambda, Gap: math.Max(gap, 1e-9), Absolute: o.Absolute, Inner: o.Inner, Workers: o.Workers, Memory: o.Memory, Single: m.dim > singleFrom, Scale: o.Along}
		if o.Fixed != nil {
			s.Start = 1e-9 // there is nothing to smooth, and rounds would only forget curvature
			m.only(o.Fixed)
		}
		r, err = s.Solve(m, start, &control)
		m.only(nil)
	case MirrorProx, Descent, Alternating:
		s := saddle.FirstOrder{Lambda: lambda, Frozen: o.Fixed != nil, Suffix: true, Gap: gap}
		if !convex {
			s.Gap = -1
		}
		switch o.Solver {
		case Descent:
			s.Method, s.Steps = saddle.DescentAscent, saddle.AdaptiveSteps
		case Alternating:
			s.Method, s.Steps = saddle.Alternating, saddle.AdaptiveSteps
		}
		control.Stop.Iterations = o.Steps
		r, err = s.Solve(m, start, l0, &control)
	default:
		return nil, fmt.Errorf("minimax: there is no solver %q; choose mirror-prox, gda, alternating or smoothed", o.Solver)
	}
	if r == nil {
		return nil, err
	}
	f := &MixtureFit{W: r.W, Lambda: r.Lambda, Offsets: slices.Clone(m.offset), Result: r}
	if o.Fixed != nil {
		f.Lambda = slices.Clone(o.Fixed)
	}
	if err != nil {
		return f, err
	}
	if f.Raw, f.Values, err = m.Account(f.W); err != nil {
		return f, err
	}
	f.Worst = set.Maximize(f.Values, nil)
	return f, nil
}
