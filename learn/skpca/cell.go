package skpca

import (
	"context"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// sample is the labelled examples as a classifier sees them.
type sample struct {
	phi     [][]float64 // φ_kj of each example, by kernel: m × len(values[k])
	y       [][]float64 // labels of each output
	w       []float64   // weights of the examples, with mean 1; nil is 1
	m       int
	loss    score.Loss // nil is the hinge loss
	free    bool       // a constant without a penalty
	workers int
	ctx     context.Context // nil is never cancelled
}

// fit is a solution of P(c), or of P(c) with frozen weights.
type fit struct {
	counts []int
	mu     []float64
	theta  [][]float64 // by output, features of kernel 0 first
	offset []float64   // by output; zeros without a constant
	loss   float64     // mean of the losses, added up over outputs
	norm   float64     // ‖w‖² = Σ ‖θ_k‖²/μ_k
	value  float64     // loss + gamma/2·norm
	gap    float64     // the value is at most this above the least of its cell; NaN if not asked for
	rounds int
}

// design gathers the features of a cell, and a last column of ones for a free constant.
func (s *sample) design(values [][]float64, counts []int) []float64 {
	d := 0
	for _, c := range counts {
		d += c
	}
	if s.free {
		d++
	}
	out := make([]float64, s.m*d)
	at := 0
	for k, c := range counts {
		all := len(values[k])
		for i := range s.m {
			copy(out[i*d+at:][:c], s.phi[k][i*all:][:c])
		}
		at += c
	}
	if s.free {
		for i := range s.m {
			out[i*d+d-1] = 1
		}
	}
	return out
}

// problem is the θ-step of one output: mean loss + Σ_j penalty_j θ_j²/2.
type problem struct {
	*sample
	x       []float64 // m×d
	y       []float64
	d       int
	penalty []float64
	f, g, h []float64
	scaled  []float64
	loss    float64 // mean loss of the last call
}

// Dim implements optim.Curved.
func (p *problem) Dim() int { return p.d }

// scores stores the scores of all examples.
func (p *problem) scores(theta []float64) {
	for i := range p.m {
		s := 0.0
		for j, v := range p.x[i*p.d : (i+1)*p.d] {
			s += v * theta[j]
		}
		p.f[i] = s
	}
}

// Curve implements optim.Curved.
func (p *problem) Curve(theta, grad, hess []float64) float64 {
	if p.ctx != nil && p.ctx.Err() != nil {
		return math.NaN() // ends the solver
	}
	p.scores(theta)
	p.sample.loss.Values(p.h, p.y, p.f)
	total := 0.0
	for i, v := range p.h {
		total += score.Weight(p.w, i) * v
	}
	p.loss = total / float64(p.m)
	value := p.loss
	for j, t := range theta {
		value += p.penalty[j] * t * t / 2
	}
	if grad == nil {
		return value
	}
	p.sample.loss.Gradients(p.g, p.h, p.y, p.f)
	for i := range p.m {
		w := score.Weight(p.w, i) / float64(p.m)
		g, root := w*p.g[i], math.Sqrt(w*p.h[i])
		for j, v := range p.x[i*p.d : (i+1)*p.d] {
			grad[j] += g * v
			p.scaled[i*p.d+j] = root * v
		}
	}
	gemm.Syrk(p.workers, true, p.d, p.m, 1, p.scaled, p.d, 0, hess, p.d)
	for j, t := range theta {
		grad[j] += p.penalty[j] * t
		hess[j*p.d+j] += p.penalty[j]
	}
	return value
}

// thetaStep minimises over θ and the constants for fixed μ, from what f has. It stores loss,
// norm and value.
func (s *sample) thetaStep(f *fit, x []float64, gamma float64) error {
	r := 0
	for _, c := range f.counts {
		r += c
	}
	d := r
	if s.free {
		d++
	}
	p := &problem{sample: s, x: x, d: d, penalty: make([]float64, d), f: make([]float64, s.m),
		g: make([]float64, s.m), h: make([]float64, s.m), scaled: make([]float64, s.m*d)}
	at := 0
	for k, c := range f.counts {
		for range c {
			p.penalty[at] = gamma / f.mu[k]
			at++
		}
	}
	f.loss, f.value = 0, 0
	for o, y := range s.y {
		p.y = y
		theta := make([]float64, d)
		copy(theta, f.theta[o])
		if s.free {
			theta[d-1] = f.offset[o]
		}
		if s.loss == nil {
			c := make([]float64, s.m)
			for i := range c {
				c[i] = score.Weight(s.w, i) / float64(s.m)
			}
			v, value, _, err := (&optim.Hinge{X: x, Y: y, C: c, Penalty: p.penalty}).Minimize()
			if err != nil {
				return fmt.Errorf("skpca: classifier with gamma %g: %w; a larger gamma may do", gamma, err)
			}
			theta = v
			p.loss = value
			for j, t := range theta {
				p.loss -= p.penalty[j] * t * t / 2
			}
		} else {
			_, _, err := optim.Newton{Tolerance: 1e-13, Scale: 1e-3}.Minimize(p, theta)
			if err != nil && s.ctx != nil && s.ctx.Err() != nil {
				return context.Cause(s.ctx)
			}
			if err != nil {
				return fmt.Errorf("skpca: classifier with gamma %g: %w; a larger gamma may do", gamma, err)
			}
			p.Curve(theta, nil, nil)
		}
		copy(f.theta[o], theta[:r])
		if s.free {
			f.offset[o] = theta[d-1]
		}
		f.loss += p.loss
	}
	f.norm = 0
	for k, a := range f.squares() {
		if a > 0 {
			f.norm += a / f.mu[k]
		}
	}
	f.value = f.loss + gamma/2*f.norm
	return nil
}

// squares returns a_k = ‖θ_k‖², over all outputs.
func (f *fit) squares() []float64 {
	a := make([]float64, len(f.counts))
	for _, theta := range f.theta {
		at := 0
		for k, c := range f.counts {
			for _, t := range theta[at : at+c] {
				a[k] += t * t
			}
			at += c
		}
	}
	return a
}

// slope returns dJ/dμ_k = -(gamma/2)‖θ_k‖²/μ_k², J being the least value over θ.
func (f *fit) slope(gamma float64) []float64 {
	g := f.squares()
	for k, a := range g {
		if g[k] = 0; a > 0 {
			g[k] = -gamma / 2 * a / (f.mu[k] * f.mu[k])
		}
	}
	return g
}

// limits of the alternation.
const (
	roundLimit   = 100
	roundRelated = 1e-7
)

// solve minimises P(c) by turns over θ and μ: jointly convex, so the turns end at the optimum. It
// starts from a fit of this or another cell; nil is none. It gives up with a nil fit when a lower
// bound shows that the value will not be below enough.
func (s *sample) solve(r *region, gamma, enough float64, from *fit) (*fit, error) {
	f := s.begin(r.set.values, r.counts, from)
	f.mu = r.spread(r.mid)
	if from != nil {
		// As near to where it was as the cell allows.
		for share := 0.1; share < 1; share += 0.3 {
			if x := r.inward(from.mu, share); r.inside(x) {
				f.mu = r.spread(x)
				break
			}
		}
	}
	x := s.design(r.set.values, r.counts)
	f.gap = math.NaN()
	last := math.Inf(1)
	for f.rounds = 1; ; f.rounds++ {
		if r.set.ctx.Err() != nil {
			return nil, context.Cause(r.set.ctx)
		}
		if err := s.thetaStep(f, x, gamma); err != nil {
			return nil, err
		}
		if last-f.value <= roundRelated*math.Abs(f.value) || f.rounds == roundLimit {
			break
		}
		last = f.value
		if !math.IsInf(enough, 1) { // most cells go at the first certificate
			gap, err := f.certificate(r, gamma)
			if err != nil {
				return nil, err
			}
			if f.value-gap >= enough {
				return nil, nil
			}
		}
		mu, err := r.reciprocal(f.squares(), f.mu, 1e-9)
		if err != nil {
			return nil, err
		}
		f.mu = mu
	}
	return f, nil
}

// certificate returns how far the value can be above the least of the cell: J is convex
// there, and so above its tangent.
func (f *fit) certificate(r *region, gamma float64) (float64, error) {
	g := f.slope(gamma)
	at := 0.0
	for k, v := range g {
		at += v * f.mu[k]
	}
	low, err := r.lowest(g)
	if err != nil {
		return 0, err
	}
	return max(0, at-low), nil
}

// begin makes a fit of the counts that has from's θ where they share features.
func (s *sample) begin(values [][]float64, counts []int, from *fit) *fit {
	f := &fit{counts: counts, theta: make([][]float64, len(s.y)), offset: make([]float64, len(s.y)),
		gap: math.NaN()}
	r := 0
	for _, c := range counts {
		r += c
	}
	for o := range s.y {
		f.theta[o] = make([]float64, r)
		if from == nil {
			continue
		}
		f.offset[o] = from.offset[o]
		to, at := 0, 0
		for k, c := range counts {
			old := from.counts[k]
			copy(f.theta[o][to:to+c], from.theta[o][at:at+old])
			to, at = to+c, at+old
		}
	}
	return f
}

// frozen fits θ for fixed weights: the two-stage method.
func (s *sample) frozen(values [][]float64, counts []int, mu []float64, gamma float64, from *fit) (*fit,
	error) {
	f := s.begin(values, counts, from)
	f.mu, f.rounds = mu, 1
	return f, s.thetaStep(f, s.design(values, counts), gamma)
}
