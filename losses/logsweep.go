package losses

import (
	"context"
	"math"
)

// logSweeper is the sweep in logarithms: slower by an order of magnitude, and correct for any
// ranges of θ and γ L. Beside each log weight it keeps the mean of the tangent's functional over
// the paths that the weight sums. Means replace tangents because they do not overflow.
type logSweeper struct {
	arc []float64 // by value: γ·value; -Inf when excluded
	inc []float64 // by value: what it adds to the functional

	fold, foldV []float64 // order 1: log Σ exp θ over a class, mean V of it

	alpha, mean   []float64 // all layers
	beta, meanB   []float64
	betaN, meanBN []float64
	v, v1         []float64
	x, x1         []float64
	ctx           context.Context
	keep          []float64 // if not empty, receives the backward values of all layers
}

// logAdd adds weight l2 with mean m2 to l1 with mean m1.
func logAdd(l1, m1, l2, m2 float64) (float64, float64) {
	if l2 > l1 {
		l1, m1, l2, m2 = l2, m2, l1, m1
	}
	if math.IsInf(l2, -1) {
		return l1, m1
	}
	r := math.Exp(l2 - l1)
	return l1 + math.Log1p(r), m1 + (m2-m1)*(r/(1+r))
}

func (s *logSweeper) run(m *core, g *graph, w *whitening, j *job) {
	inf := math.Inf(1)
	l := len(m.layers)
	s.arc, s.inc = resize(s.arc, len(m.values)), resize(s.inc, len(m.values))
	for i, x := range m.values {
		s.arc[i], s.inc[i] = j.gamma*x, 0
		if j.tangent == alongLoss {
			s.inc[i] = x
		}
	}
	s.arc[excluded], s.inc[excluded] = -inf, 0
	s.alpha, s.mean = resize(s.alpha, g.total), resize(s.mean, g.total)
	for i := range s.alpha {
		s.alpha[i] = -inf
	}
	clear(s.mean)
	s.v, s.v1 = resize(s.v, g.most), resize(s.v1, g.most)
	if len(g.layers[0].ctx) > 0 {
		s.alpha[0] = 0
	}
	for t := range l {
		gl, next := &g.layers[t], &g.layers[t+1]
		if stopped(s.ctx) {
			j.logZ = math.NaN()
			return
		}
		th, dir := s.potentials(gl, w, j, t)
		n := gl.labels
		v, v1 := s.v[:n], s.v1[:n]
		for r := range len(gl.start) - 1 {
			width := gl.widthOf(r)
			for o := range width {
				for d := range v {
					v[d], v1[d] = -inf, 0
				}
				for i := gl.start[r] + o; i < gl.start[r+1]; i += width {
					a, f := s.alpha[gl.at+int(i)], s.mean[gl.at+int(i)]
					if math.IsInf(a, -1) {
						continue
					}
					c := int(gl.ctx[i]) * n
					for d, x := range th[c : c+n] {
						y := f
						if dir != nil {
							y += dir[c+d]
						}
						v[d], v1[d] = logAdd(v[d], v1[d], a+x, y)
					}
				}
				for k := range gl.classes {
					to, val := gl.arc(r*gl.classes + k)
					if val == excluded {
						continue
					}
					size, cut := gl.size[k], gl.cut[k]
					at := next.at + int(to+o*size)
					for d := range size {
						i := at + int(d)
						s.alpha[i], s.mean[i] = logAdd(s.alpha[i], s.mean[i], v[cut+d]+s.arc[val], v1[cut+d]+s.inc[val])
					}
				}
			}
		}
	}
	s.betaN, s.meanBN = resize(s.betaN, g.widest), resize(s.meanBN, g.widest)
	s.beta, s.meanB = resize(s.beta, g.widest), resize(s.meanB, g.widest)
	end := &g.layers[l]
	z, mean := -inf, 0.0
	for i, c := range end.column {
		f := m.final[c]
		s.betaN[i], s.meanBN[i] = s.arc[f], s.inc[f]
		z, mean = logAdd(z, mean, s.alpha[end.at+i]+s.arc[f], s.mean[end.at+i]+s.inc[f])
	}
	j.logZ, j.mean = z+j.gamma*m.base, mean
	if math.IsInf(z, -1) {
		j.logZ, j.mean = z, math.NaN()
		clearRows(j.marginals)
		clearRows(j.covariance)
		return
	}
	if j.marginals == nil && j.covariance == nil && len(s.keep) == 0 {
		return
	}
	if len(s.keep) > 0 {
		copy(s.keep[end.at:], s.betaN[:len(end.ctx)])
	}
	for t := l - 1; t >= 0; t-- {
		if stopped(s.ctx) {
			return
		}
		s.back(m, g, w, j, t, z, mean)
		if len(s.keep) > 0 {
			copy(s.keep[g.layers[t].at:], s.beta[:len(g.layers[t].ctx)])
		}
		s.beta, s.betaN = s.betaN, s.beta
		s.meanB, s.meanBN = s.meanBN, s.meanB
	}
}

// potentials returns log potentials and the direction as the kernels see them.
func (s *logSweeper) potentials(gl *graphLayer, w *whitening, j *job, t int) (th, dir []float64) {
	if w.order > 1 {
		if j.tangent == alongDirection {
			dir = w.v[t]
		}
		return w.theta[t], dir
	}
	s.fold, s.foldV = resize(s.fold, gl.classes), resize(s.foldV, gl.classes)
	for k := range s.fold {
		s.fold[k], s.foldV[k] = math.Inf(-1), 0
	}
	for d, k := range gl.classOf {
		y := 0.0
		if j.tangent == alongDirection {
			y = w.v[t][d]
		}
		s.fold[k], s.foldV[k] = logAdd(s.fold[k], s.foldV[k], w.theta[t][d], y)
	}
	return s.fold, s.foldV
}

// back does the backward step of one position.
func (s *logSweeper) back(m *core, g *graph, w *whitening, j *job, t int, z, mean float64) {
	inf := math.Inf(1)
	gl := &g.layers[t]
	th, dir := s.potentials(gl, w, j, t)
	n := gl.labels
	s.x, s.x1 = resize(s.x, len(th)), resize(s.x1, len(th))
	clear(s.x)
	clear(s.x1)
	v, v1 := s.v[:n], s.v1[:n]
	for r := range len(gl.start) - 1 {
		width := gl.widthOf(r)
		for o := range width {
			for k := range gl.classes {
				to, val := gl.arc(r*gl.classes + k)
				size, cut := gl.size[k], gl.cut[k]
				at := to + o*size
				for d := range size {
					if val == excluded {
						v[cut+d], v1[cut+d] = -inf, 0
						continue
					}
					v[cut+d], v1[cut+d] = s.betaN[at+d]+s.arc[val], s.meanBN[at+d]+s.inc[val]
				}
			}
			for i := gl.start[r] + o; i < gl.start[r+1]; i += width {
				c := int(gl.ctx[i]) * n
				a, f := s.alpha[gl.at+int(i)], s.mean[gl.at+int(i)]
				sum, sumF := -inf, 0.0
				for d, x := range th[c : c+n] {
					y := x + v[d]
					if math.IsInf(y, -1) {
						continue
					}
					f1 := v1[d]
					if dir != nil {
						f1 += dir[c+d]
					}
					sum, sumF = logAdd(sum, sumF, y, f1)
					// V of the window itself is added in collect, by label.
					e := math.Exp(a + y - z)
					s.x[c+d] += e
					s.x1[c+d] += e * (f + v1[d])
				}
				s.beta[i], s.meanB[i] = sum, sumF
			}
		}
	}
	s.collect(g, w, j, t, mean)
}

// collect writes marginals and covariances of position t from the flows x and
// the flows times means x1.
func (s *logSweeper) collect(g *graph, w *whitening, j *job, t int, mean float64) {
	x, x1 := s.x, s.x1
	gl := &g.layers[t]
	along := func(i int) float64 {
		if j.tangent == alongDirection {
			return w.v[t][i]
		}
		return 0
	}
	if w.order == 1 {
		for d, k := range gl.classOf {
			share := math.Exp(w.theta[t][d] - s.fold[k])
			if math.IsInf(w.theta[t][d], -1) {
				share = 0
			}
			if j.marginals != nil {
				j.marginals[t][gl.perm[d]] = x[k] * share
			}
			if j.covariance != nil {
				j.covariance[t][gl.perm[d]] = share * (x1[k] + x[k]*(along(d)-mean))
			}
		}
		return
	}
	if j.covariance != nil {
		for i := range x1 {
			x1[i] += x[i] * (along(i) - mean)
		}
		restore(j.covariance[t], x1, g, t, w.order)
	}
	if j.marginals != nil {
		restore(j.marginals[t], x, g, t, w.order)
	}
}
