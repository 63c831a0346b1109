package separable

import (
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// Problem is φ without the mixture of its terms. It is read-only for the solvers.
type Problem struct {
	X                       []float64 // a row of Features each
	Y                       []float64 // a target for each row and output
	Weight                  []float64 // v_i, of mean 1; nil is 1 each
	Rows, Features, Outputs int
	Signs                   bool // targets are -1 and +1

	Terms   []Term
	Beta    float64 // of the squares, halved
	Workers int     // at least 1
}

// Term is a loss of each score. The mean over outputs counts, times Scale, plus Shift.
type Term struct {
	Loss         score.Pointwise
	Scale, Shift float64
}

// Dim returns the number of parameters.
func (p *Problem) Dim() int { return (p.Features + 1) * p.Outputs }

// split returns the weights and the biases of parameters.
func (p *Problem) split(w []float64) (weights, biases []float64) {
	n := p.Features * p.Outputs
	return w[:n:n], w[n:]
}

// weight is what row i counts for: its losses are as if multiplied by it.
func (p *Problem) weight(i int) float64 {
	if p.Weight == nil {
		return 1
	}
	return p.Weight[i]
}

// Cornered reports whether dual ascent has Newton's steps for every mixture of the terms. It has
// them for multiples of the logistic loss and losses whose only corner is at ys = 1.
func (p *Problem) Cornered() bool {
	for _, t := range p.Terms {
		if t.Loss.Multiple == 0 && t.Loss.Corner == nil {
			return false
		}
	}
	return p.Signs
}

// mixture is f = Σ_k κ_k ℓ_k for the scores of one output.
type mixture struct {
	parts []part
	// Where every loss is a multiple of the logistic one or has its only corner at ys = 1 (the
	// losses of the thesis), the mixture is a·ln(1+e^{-z}) plus a line. The line has slope left
	// below z = ys = 1, and right above. Newton's steps then find what bisection does.
	corner         bool
	a, left, right float64
}

type part struct {
	at func(s, y float64) (float64, float64)
	k  float64
}

// mixtureOf returns the mixture of terms by λ.
func (p *Problem) mixtureOf(terms []Term, lambda []float64) *mixture {
	m := &mixture{corner: p.Signs}
	for k, l := range lambda {
		t := &terms[k]
		kappa := l * t.Scale / float64(p.Outputs)
		if kappa == 0 {
			continue
		}
		m.parts = append(m.parts, part{t.Loss.At, kappa})
		switch {
		case t.Loss.Multiple != 0:
			m.a += kappa * t.Loss.Multiple
		case t.Loss.Corner != nil:
			m.left, m.right = m.left+kappa*t.Loss.Corner[0], m.right+kappa*t.Loss.Corner[1]
		default:
			m.corner = false
		}
	}
	return m
}

// at returns the value and a subgradient.
func (m *mixture) at(s, y float64) (v, d float64) {
	for _, p := range m.parts {
		x, g := p.at(s, y)
		v, d = v+p.k*x, d+p.k*g
	}
	return v, d
}

// slope returns the derivative alone.
func (m *mixture) slope(s, y float64) float64 {
	_, d := m.at(s, y)
	return d
}
