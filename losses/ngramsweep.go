package losses

import (
	"context"
	"math"

	"github.com/tropica-fst/tropica/losses/internal/layered"
	"github.com/tropica-fst/tropica/losses/internal/sweep"
)

// ngramSweeper is the dynamic program for unigram and bigram losses under potentials of order 1 and
// 2. A state is the last label b and the count k, with
//
//	alpha_{t+1}(d, k + c(bd)) += p0(d | b, t) alpha_t(b, k),
//
// finished with g(k) = (k + c)^-γ. Counts are the lanes of vectors. Forward values are
// probabilities, so that one forward pass gives every moment of the loss, and one backward pass
// each requested gradient.
type ngramSweeper struct {
	gain   []int32 // label × label: c(bd)
	alpha  []float64
	beta   []float64
	betaN  []float64
	p      []float64 // order 1: p0 repeated for every b
	f      []float64 // a final vector
	counts []float64 // distribution of the count
	loss   []float64 // L by count
	x      []float64
	from   *ngramPlan

	// Quadrature: the rule at hand, and which row of powers each pair reads.
	node, nodeWeight []float64
	ruleC            float64
	ruleN            int
	offset           []int32
	ctx              context.Context
}

func (s *ngramSweeper) covers(n *ngramPlan, p *Potentials, want Want) bool {
	return n.loss.N <= 2 && p.Order <= 2 && n.length > 0 && n.alphabet > 0 && n.alphabet <= 512 &&
		want&(WantMaxAug|WantViterbi|WantHVP|WantRiskHVP) == 0
}

// fits reports whether the values that a pass keeps are within the budget of the evaluation. Where
// that has none, the loss' budget holds.
func (s *ngramSweeper) fits(b Budget, n *ngramPlan, quadrature int) bool {
	_, width := s.stride(n)
	if quadrature > 0 {
		width = max(width, (n.top+1)*sweep.WholeVectors(min(quadrature, n.exactNodes())-1))
	}
	limit := b.Bytes
	if limit <= 0 {
		limit = n.loss.allowance()
	}
	return int64(n.length+2)*int64(n.alphabet)*int64(width)*8 <= limit
}

func (s *ngramSweeper) prepare(n *ngramPlan) {
	if s.from == n {
		return
	}
	s.from = n
	d := n.alphabet
	s.gain = layered.Resize(s.gain, d*d)
	k := n.classes
	for a := range d {
		q := 0
		if n.loss.N == 2 {
			q = int(n.delta[n.class[a]])
		}
		for b := range d {
			s.gain[a*d+b] = int32(n.gain[q*k+int(n.class[b])])
		}
	}
	counts := n.most[n.length] + 1
	s.loss, s.f, s.counts = layered.Resize(s.loss, counts), layered.Resize(s.f,
		counts), layered.Resize(s.counts, counts)
	for i := range s.loss {
		s.loss[i] = n.loss.of(i)
	}
}

// eval answers want, or hands the case to the automaton when a sum is too
// small to be certain.
func (s *ngramSweeper) eval(e *Evaluator, m *Machine, p *Potentials, gamma float64, want Want,
	r *Result) (done bool) {
	n := m.ngram
	s.ctx = e.Budget.Ctx
	w := &e.white
	w.PrepareRaw(p.rows())
	if math.IsInf(w.LogZ0, -1) {
		return false
	}
	s.prepare(n)
	if e.Nodes > 0 && s.quadratureServes(n, gamma, want) && s.quadrature(n, w, e.Nodes, p, want, r) {
		return true
	}
	s.forward(n, w)
	mass, z, top := 0.0, 0.0, math.Inf(-1)
	for k, x := range s.loss {
		if !math.IsInf(x, 1) {
			top = max(top, gamma*x)
			mass += s.counts[k]
		}
	}
	if math.IsInf(top, -1) {
		return false
	}
	for k, x := range s.loss {
		s.f[k] = 0
		if !math.IsInf(x, 1) {
			s.f[k] = math.Exp(gamma*x - top)
			z += s.f[k] * s.counts[k]
		}
	}
	if !(z >= sweep.Least) || !(mass >= sweep.Least) {
		return false
	}
	r.LogZ = w.LogZ0 + top + math.Log(z)
	if want&WantExpected != 0 {
		r.Expected = 0
		for k, x := range s.loss {
			if s.f[k] != 0 {
				r.Expected += s.f[k] * s.counts[k] / z * x
			}
		}
	}
	if want&WantMarginals != 0 {
		r.Marginals = shapeLike(r.Marginals, p)
		s.backward(n, w, 1/z, r.Marginals)
	}
	r.LogZ0 = w.LogZ0
	if n.loss.C == 0 {
		r.LogZ0 += math.Log(mass)
	}
	if want&(WantRisk|WantRiskGradient) != 0 {
		r.Risk = 0
		for k, x := range s.loss {
			if s.counts[k] != 0 && !math.IsInf(x, 1) {
				r.Risk += s.counts[k] / mass * x
			}
		}
	}
	if want&WantRiskGradient != 0 {
		// Cov(L, [window]) = E[(L - E L) [window]]
		for k, x := range s.loss {
			s.f[k] = 0
			if !math.IsInf(x, 1) {
				s.f[k] = x - r.Risk
			}
		}
		r.RiskGradient = shapeLike(r.RiskGradient, p)
		s.backward(n, w, 1/mass, r.RiskGradient)
	}
	return true
}

// stride returns row lengths: top zeros (for counts shifted up), then the counts of a layer in
// whole vectors.
func (s *ngramSweeper) stride(n *ngramPlan) (pad, stride int) {
	pad = (n.top + 7) &^ 7
	return pad, pad + sweep.WholeVectors(n.most[n.length]) + pad
}

// transition returns p0 of position t as a label × label matrix.
func (s *ngramSweeper) transition(n *ngramPlan, w *sweep.Whitening, t int) []float64 {
	if w.Order == 2 {
		return w.P[t]
	}
	d := n.alphabet
	s.p = layered.Resize(s.p, d*d)
	for b := range d {
		copy(s.p[b*d:(b+1)*d], w.P[t])
	}
	return s.p
}

func (s *ngramSweeper) forward(n *ngramPlan, w *sweep.Whitening) {
	d := n.alphabet
	pad, stride := s.stride(n)
	size := d * stride
	if s.alpha = layered.Resize(s.alpha, n.length*size); true {
		clear(s.alpha)
	}
	// alpha of layer t+1 is at t·size: label, then pad zeros and counts.
	for b, x := range w.P[0] {
		k := 0
		if n.loss.N == 1 {
			k = int(s.gain[b])
		}
		s.alpha[b*stride+pad+k] = x
	}
	for t := 1; t < n.length; t++ {
		if sweep.Stopped(s.ctx) {
			break // with sums of 0, which are refused
		}
		a, b := s.alpha[(t-1)*size:t*size], s.alpha[t*size:(t+1)*size]
		sweep.CountForward(b, a, s.transition(n, w, t), s.gain, d, stride, pad,
			sweep.WholeVectors(n.most[t+1]))
	}
	clear(s.counts)
	end := s.alpha[(n.length-1)*size:]
	for b := range d {
		for k := range s.counts {
			s.counts[k] += end[b*stride+pad+k]
		}
	}
}

// backward sets q_t(window) to scale times Σ alpha · p0 · beta, where beta ends
// with f.
func (s *ngramSweeper) backward(n *ngramPlan, w *sweep.Whitening, scale float64, q [][]float64) {
	d := n.alphabet
	pad, stride := s.stride(n)
	size := d * stride
	s.beta, s.betaN = layered.Resize(s.beta, size), layered.Resize(s.betaN, size)
	clear(s.beta)
	clear(s.betaN)
	s.x = layered.Resize(s.x, d*d)
	for b := range d {
		copy(s.betaN[b*stride:], s.f)
	}
	for t := n.length - 1; t > 0; t-- {
		p := s.transition(n, w, t)
		sweep.CountBackward(s.x, s.beta, s.betaN, s.alpha[(t-1)*size:t*size], p, s.gain, d, stride, pad,
			sweep.WholeVectors(n.most[t]))
		s.flows(n, w, t, scale, q[t])
		s.beta, s.betaN = s.betaN, s.beta
	}
	for b, x := range w.P[0] {
		k := 0
		if n.loss.N == 1 {
			k = int(s.gain[b])
		}
		q[0][b] = x * s.betaN[b*stride+k] * scale
	}
}

// flows sets q to scale times p0 times the flows in x.
func (s *ngramSweeper) flows(n *ngramPlan, w *sweep.Whitening, t int, scale float64, q []float64) {
	if w.Order == 2 {
		for i, x := range w.P[t] {
			q[i] = x * s.x[i] * scale
		}
		return
	}
	clear(q)
	for b := range n.alphabet {
		for i, x := range w.P[t] {
			q[i] += x * s.x[b*n.alphabet+i] * scale
		}
	}
}
