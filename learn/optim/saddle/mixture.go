package saddle

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
			return fmt.Errorf("saddle: %s: %w", p.Name, err)
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
// An evaluation at a new w costs one of each objective. The results are kept, so that another λ at
// the same w costs p vector operations, or what the Joint needs.
type Mixture struct {
	Scale, Offset []float64 // a_k and b_k; Eval takes them as they are
	parts         []Part
	joint         Joint
	beta1         float64
	dim           int

	need   []bool    // objectives that count; nil is all
	at     []float64 // nil: nothing is kept
	values []float64
	c      []float64
}

// NewMixture returns the game with a_k = Scale and b_k = 0. joint evaluates the parts, which then
// need no Objective; nil is each apart.
func NewMixture(parts []Part, joint Joint, beta1 float64) (*Mixture, error) {
	if len(parts) == 0 {
		return nil, errors.New("saddle: no objectives: give at least one")
	}
	if !(beta1 >= 0) || math.IsInf(beta1, 1) {
		return nil, fmt.Errorf("saddle: a penalty of %v", beta1)
	}
	m := &Mixture{parts: slices.Clone(parts), joint: joint, beta1: beta1, values: make([]float64, len(parts)),
		c: make([]float64, len(parts))}
	switch {
	case joint != nil && joint.Len() != len(parts):
		return nil, fmt.Errorf("saddle: %d parts for the %d objectives of their joint", len(parts), joint.Len())
	case joint != nil:
		m.dim = joint.Dim()
	default:
		m.dim = parts[0].Objective.Dim()
	}
	for k, p := range parts {
		if joint == nil && p.Objective.Dim() != m.dim {
			return nil, fmt.Errorf("saddle: %s has %d parameters, %s has %d: they must share them", p.Name,
				p.Objective.Dim(), parts[0].Name, m.dim)
		}
		if p.Scale == 0 {
			p.Scale = 1
		}
		if !(p.Scale > 0) || math.IsInf(p.Scale, 1) {
			return nil, fmt.Errorf("saddle: %s is scaled by %v", p.Name, p.Scale)
		}
		if slices.ContainsFunc(parts[:k], func(q Part) bool { return q.Name == p.Name }) {
			return nil, fmt.Errorf("saddle: two objectives are called %q", p.Name)
		}
		m.Scale, m.Offset = append(m.Scale, p.Scale), append(m.Offset, 0)
	}
	if joint == nil {
		m.joint = newApart(m.parts)
	}
	return m, nil
}

// Dims implements Problem.
func (m *Mixture) Dims() (w, lambda int) { return m.dim, len(m.parts) }

// Curvature implements Convex.
func (m *Mixture) Curvature(mu []float64) bool {
	for j := range mu {
		mu[j] = m.beta1
	}
	return !slices.ContainsFunc(m.parts, func(p Part) bool { return p.Concave })
}

// Only makes later evaluations leave out the objectives without a weight in lambda; their
// values then are zero. Nil counts all.
func (m *Mixture) Only(lambda []float64) {
	m.at, m.need = nil, nil
	if lambda != nil {
		m.need = make([]bool, len(lambda))
		for k, v := range lambda {
			m.need[k] = v != 0
		}
	}
}

// Eval implements Problem.
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
			x = m.Scale[k]*x - m.Offset[k]
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
			m.c[k] = lambda[k] * m.Scale[k]
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

// Account returns the values of all parts at w, raw and as they enter the game.
func (m *Mixture) Account(w []float64) (raw, values []float64, err error) {
	values = make([]float64, len(m.parts))
	if _, err := m.Eval(w, make([]float64, len(m.parts)), nil, values); err != nil {
		return nil, nil, err
	}
	for k, v := range values {
		raw = append(raw, v+m.Offset[k])
	}
	return raw, values, nil
}
