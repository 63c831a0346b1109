package minimax

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
)

// Part is an objective of a Mixture: any function of the common parameters, such as a
// loss of sequences summed over a corpus.
type Part struct {
	Name      string
	Objective optim.Objective
	Scale     float64 // multiplies: one over the number of examples makes a mean; zero is 1
	Concave   bool    // the objective is not convex: there is no certificate
}

// Mixture is the game over objectives that each have a gradient of their own,
//
//	φ(w, λ) = Σ_k λ_k (a_k L_k(w) - b_k) + β_1/2 |w|².
//
// An evaluation at a new w costs one of each objective; values and gradients are kept,
// so that another λ at the same w costs p vector operations. Memory: p+1 vectors.
type Mixture struct {
	parts         []Part
	scale, offset []float64
	beta1         float64
	dim           int

	at     []float64 // nil: nothing is kept
	values []float64
	grads  [][]float64
}

// NewMixture returns the game with a_k = Scale and b_k = 0.
func NewMixture(parts []Part, beta1 float64) (*Mixture, error) {
	if len(parts) == 0 {
		return nil, errors.New("minimax: no objectives: give at least one")
	}
	if !(beta1 >= 0) || math.IsInf(beta1, 1) {
		return nil, fmt.Errorf("minimax: a penalty of %v", beta1)
	}
	m := &Mixture{parts: slices.Clone(parts), beta1: beta1, dim: parts[0].Objective.Dim(), values: make([]float64, len(parts))}
	for k, p := range parts {
		if p.Objective.Dim() != m.dim {
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
		m.grads = append(m.grads, make([]float64, m.dim))
	}
	return m, nil
}

// Dims implements optim.Saddle.
func (m *Mixture) Dims() (w, lambda int) { return m.dim, len(m.parts) }

// Curvature implements optim.ConvexSaddle.
func (m *Mixture) Curvature(mu []float64) bool {
	for j := range mu {
		mu[j] = m.beta1
	}
	return !slices.ContainsFunc(m.parts, func(p Part) bool { return p.Concave })
}

// Eval implements optim.Saddle.
func (m *Mixture) Eval(w, lambda, gw, gl []float64) (float64, error) {
	if m.at == nil || !slices.Equal(m.at, w) {
		m.at = nil
		for k, p := range m.parts {
			v, err := p.Objective.Eval(w, m.grads[k])
			if err != nil {
				return v, fmt.Errorf("minimax: %s: %w", p.Name, err)
			}
			m.values[k] = v
		}
		m.at = slices.Clone(w)
	}
	v, sq := 0.0, 0.0
	for k, x := range m.values {
		x = m.scale[k]*x - m.offset[k]
		v += lambda[k] * x
		if gl != nil {
			gl[k] = x
		}
	}
	for _, x := range w {
		sq += x * x
	}
	if gw != nil {
		for j, x := range w {
			gw[j] = m.beta1 * x
		}
		for k, g := range m.grads {
			if a := lambda[k] * m.scale[k]; a != 0 {
				for j, x := range g {
					gw[j] += a * x
				}
			}
		}
	}
	return v + m.beta1/2*sq, nil
}

// MixtureOptions adjusts TrainMixture; nil is the same as the zero value.
type MixtureOptions struct {
	Normalization Normalization // Raw (the zero value here), Baseline or Regret; see Normalization
	Preferences   Preferences
	Fixed         []float64 // if not nil, the mixture to train on: a baseline
	Beta1         float64   // of |w|²/2
	Start         []float64 // nil is zero
	Solver        Solver    // Smoothed is the default; MirrorProx and Descent take Steps steps
	Steps         int       // zero is 1000
	Gap           float64   // as in Options
	Inner         int       // L-BFGS steps of a round of Smoothed; zero is 200
	Workers       int       // for vector work; zero is 1
	Control       optim.Control
	Offsets       []float64 // of Regret, where they are known from before; nil finds them
}

// MixtureFit is what TrainMixture found.
type MixtureFit struct {
	W, Lambda   []float64
	Raw, Values []float64 // a_k L_k, and as they enter the game
	Worst       float64
	Offsets     []float64 // b_k
	Result      *optim.SaddleResult
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
	m, err := NewMixture(parts, o.Beta1)
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
		if o.Offsets != nil && len(o.Offsets) != p {
			return nil, fmt.Errorf("minimax: %d offsets for %d objectives", len(o.Offsets), p)
		}
		if o.Offsets == nil {
			for k := range parts {
				single := o
				single.Normalization, single.Fixed, single.Control = Raw, make([]float64, p), optim.Control{Ctx: o.Control.Ctx}
				single.Fixed[k] = 1
				f, err := m.solve(&single, start)
				if err != nil {
					return nil, fmt.Errorf("minimax: the least %s alone, for regrets: %w", parts[k].Name, err)
				}
				sq := 0.0
				for _, x := range f.W {
					sq += x * x
				}
				// With the penalty: regrets, penalties included, are then never negative.
				o.Offsets = append(o.Offsets, f.Values[k]+m.beta1/2*sq)
			}
		}
		copy(m.offset, o.Offsets)
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

func (m *Mixture) solve(o *MixtureOptions, start []float64) (*MixtureFit, error) {
	p := len(m.parts)
	set, err := o.Preferences.set(slices.Repeat([]float64{1}, p), Handicap, 0)
	if err != nil {
		return nil, err
	}
	var lambda optim.Set = set
	l0 := slices.Repeat([]float64{1 / float64(p)}, p)
	if o.Fixed != nil {
		for k, v := range o.Fixed {
			if !(v >= 0) || math.IsInf(v, 1) {
				return nil, fmt.Errorf("minimax: weight %d of the mixture is %v", k+1, v)
			}
		}
		l0 = o.Fixed
		lambda = only(l0)
	}
	gap := o.Gap
	if gap == 0 {
		gap = 1e-3
	}
	convex := m.Curvature(make([]float64, m.dim)) && m.beta1 > 0
	control := o.Control
	var r *optim.SaddleResult
	switch o.Solver {
	case Auto, Smoothed:
		control.Stop.Iterations = 0
		r, err = optim.Smoothed{Lambda: lambda, Gap: math.Max(gap, 1e-9), Inner: o.Inner, Workers: o.Workers}.Solve(m, start, &control)
	case MirrorProx, Descent, Alternating:
		s := optim.SaddlePoint{Lambda: lambda, Frozen: o.Fixed != nil, Suffix: true, Gap: gap}
		if !convex {
			s.Gap = -1
		}
		switch o.Solver {
		case Descent:
			s.Method, s.Steps = optim.DescentAscent, optim.AdaptiveSteps
		case Alternating:
			s.Method, s.Steps = optim.Alternating, optim.AdaptiveSteps
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
