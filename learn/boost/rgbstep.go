package boost

import (
	"math"

	"github.com/tropica-fst/tropica/learn/optim/score"
)

// takeStep stores the derivative of the mean loss along the proposal, its
// curvature constant and the step (sections 4.4 and 5.3 of the specification).
func (r *rgbRun) takeStep(p *proposal) {
	m := r.moments(p)
	p.derivative = m.derivative
	lambda := r.o.Families[p.family].Lambda
	cmax := r.cmax * r.unit * r.unit // of the loss by scores in units of lambda
	exact := r.treeCurvature(p, m)
	switch r.o.Step {
	case StepHess:
		// In several scores 2 Σ_c p_c(1-p_c) h_c² bounds the variance of h under p,
		// which is the second derivative of the loss along h.
		p.curvature = m.second
		if r.k > 1 {
			p.curvature *= 2
		}
		if !(p.curvature > 0) {
			p.curvature = exact
		}
	case StepTree:
		p.curvature = exact
	case StepSafe:
		p.curvature = exact
		if bound := lambda * cmax; !math.IsInf(bound, 1) {
			p.curvature = max(exact, bound)
		}
	case StepLambda:
		p.curvature = lambda * cmax
	case StepLambda2:
		p.curvature = lambda * lambda * cmax
	case StepLine:
		p.step = r.o.LearningRate * r.line(p)
		r.flip(p)
		return
	}
	slope := p.derivative
	if r.o.Mode == L1Mode {
		slope = MinimalSubgradient(slope, 0, r.beta()*p.charge)
	}
	if slope == 0 || !(p.curvature > 0) {
		return
	}
	p.step = -slope / p.curvature
	if math.IsInf(r.cmax, 1) && r.o.Step != StepHess {
		p.step = min(max(p.step, -r.o.AlphaMax), r.o.AlphaMax) // beyond it the bound does not hold
	}
	p.step *= r.o.LearningRate
	r.flip(p)
}

// flip makes the step positive, as the convex hull of the bounds wants it, by
// changing the sign of the trees. A step from left-out rows against the fit says
// that the tree has learned nothing: then there is none.
func (r *rgbRun) flip(p *proposal) {
	if p.step >= 0 {
		return
	}
	if r.o.StepRows == HeldOut || r.o.Monotone != nil {
		p.step = 0
		return
	}
	p.step, p.derivative = -p.step, -p.derivative
	for c := range p.leaves {
		for l := range p.leaves[c] {
			p.leaves[c][l] = -p.leaves[c][l]
		}
		for l := range p.table[c] {
			p.table[c][l] = -p.table[c][l]
		}
	}
	for i := range p.values {
		p.values[i] = -p.values[i]
	}
	for c := range p.parts {
		p.parts[c] = scaled(p.parts[c], -1)
	}
}

// moments are means over the rows that the step comes from.
type moments struct {
	derivative float64 // of g h
	square     float64 // of h²
	fourth     float64 // of h⁴
	largest    float64 // of h²
	second     float64 // of Phi'' h²
	bounded    float64 // of C_Phi h², or for a loss without bound of Phi'' exp(|h| AlphaMax) h²
}

func (r *rgbRun) moments(p *proposal) (m moments) {
	unbounded := math.IsInf(r.cmax, 1)
	add := func(n, g, h, c, w float64) {
		m.derivative += g * w
		m.square += n * w * w
		m.fourth += n * w * w * w * w
		m.second += h * w * w
		if unbounded {
			m.bounded += h * math.Exp(math.Abs(w)*r.o.AlphaMax) * w * w
		} else {
			m.bounded += c * w * w
		}
		m.largest = max(m.largest, w*w)
	}
	total := 0.0
	if p.values != nil || r.curvature != nil {
		// Row by row: the predictor has no leaves, or the curvature is each row's own.
		for i := range r.d.Rows() {
			if r.in != nil && r.in[i] == (r.o.StepRows == HeldOut) {
				continue
			}
			v := score.Weight(r.d.W, i)
			total += v
			curvature := r.cmax
			if r.curvature != nil {
				curvature = r.curvature[i]
			}
			for c := range r.k {
				j := i*r.k + c
				add(v, v*r.g[j], v*r.h[j], v*curvature, r.value(p, i, c))
			}
		}
	} else {
		total = r.fold.stepAll
		for c := range r.k {
			s := r.fold.step[c]
			for l, w := range p.table[c] {
				add(s.n[l], s.g[l], s.h[l], r.cmax*s.n[l], w)
			}
		}
	}
	if !(total > 0) {
		return moments{}
	}
	m.derivative /= total
	m.square /= total
	m.fourth /= total
	m.second /= total
	m.bounded /= total
	return m
}

// value is the proposal's prediction for one row and score.
func (r *rgbRun) value(p *proposal, i, c int) float64 {
	if p.values != nil {
		return p.values[i*r.k+c]
	}
	return p.table[c][r.grown[c].slot[i]]
}

// treeCurvature is C(h), or one of its upper bounds by Hölder's inequality.
func (r *rgbRun) treeCurvature(p *proposal, m moments) float64 {
	if math.IsInf(r.cmax, 1) {
		return m.bounded
	}
	switch r.o.Hoelder {
	case HoelderOneInf:
		return m.square * r.cmax
	case HoelderInfOne:
		return m.largest * r.cmean * float64(r.k)
	case HoelderTwoTwo:
		return math.Sqrt(m.fourth*float64(r.k)) * math.Sqrt(r.csquare)
	}
	return m.bounded
}

// line minimises the loss, and in L1Mode its penalty, along the proposal.
func (r *rgbRun) line(p *proposal) float64 {
	rows := r.scorer.rows(r.o.StepRows)
	n := r.d.Rows()
	if rows != nil {
		n = len(rows)
	}
	if n == 0 {
		return 0
	}
	f, h, y := make([]float64, n*r.k), make([]float64, n*r.k), make([]float64, n)
	var w []float64
	if r.d.W != nil {
		w = make([]float64, n)
	}
	for at := range n {
		i := at
		if rows != nil {
			i = int(rows[at])
		}
		y[at] = r.d.Y[i]
		if w != nil {
			w[at] = r.d.W[i]
		}
		for c := range r.k {
			f[at*r.k+c], h[at*r.k+c] = r.scores[i*r.k+c], r.value(p, i, c)
		}
	}
	penalty := 0.0
	if r.o.Mode == L1Mode {
		penalty = r.beta() * p.charge
	}
	return lineMin(r.e.Loss, y, w, f, h, penalty, 0, r.o.AlphaMax, r.Workers)
}

// halve shortens a Newton step until the objective on its own rows does not rise:
// the second derivative at one point bounds nothing elsewhere. before and after are the
// mean losses of those rows without the step and with it.
func (r *rgbRun) halve(p *proposal, before, after float64) {
	if p.step == 0 {
		return
	}
	penalty := 0.0
	if r.o.Mode == L1Mode {
		penalty = r.beta() * p.charge
	}
	for range 60 {
		if after+penalty*p.step <= before {
			return
		}
		p.step /= 2
		after = r.scorer.losses([]*proposal{p}, r.o.StepRows)[0]
	}
	p.step = 0
}
