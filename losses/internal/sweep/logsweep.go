package sweep

import (
	"context"
	"math"

	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// LogSweeper is the sweep in logarithms: slower by an order of magnitude, and correct for any
// ranges of θ and γ L. Beside each log weight it keeps the mean of the tangent's functional over
// the paths that the weight sums. Means replace tangents because they do not overflow.
type LogSweeper struct {
	arc []float64 // by value: γ·value; -Inf when excluded
	inc []float64 // by value: what it adds to the functional

	fold, foldV []float64 // order 1: log Σ exp θ over a class, mean V of it

	alpha, mean   []float64 // all layers
	beta, meanB   []float64
	betaN, meanBN []float64
	v, v1         []float64
	x, x1         []float64
	Ctx           context.Context
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

// Run does a job. Where the context is done, its LogZ is NaN.
func (s *LogSweeper) Run(m *layered.Machine, g *layered.Graph, w *Whitening, j *Job) {
	inf := math.Inf(1)
	l := len(m.Layers)
	s.arc, s.inc = layered.Resize(s.arc, len(m.Values)), layered.Resize(s.inc, len(m.Values))
	for i, x := range m.Values {
		s.arc[i], s.inc[i] = j.Gamma*x, 0
		if j.Tangent == AlongLoss {
			s.inc[i] = x
		}
	}
	s.arc[layered.Excluded], s.inc[layered.Excluded] = -inf, 0
	s.alpha, s.mean = layered.Resize(s.alpha, g.Total), layered.Resize(s.mean, g.Total)
	for i := range s.alpha {
		s.alpha[i] = -inf
	}
	clear(s.mean)
	s.v, s.v1 = layered.Resize(s.v, g.Most), layered.Resize(s.v1, g.Most)
	if len(g.Layers[0].Ctx) > 0 {
		s.alpha[0] = 0
	}
	for t := range l {
		gl, next := &g.Layers[t], &g.Layers[t+1]
		if Stopped(s.Ctx) {
			j.LogZ = math.NaN()
			return
		}
		th, dir := s.potentials(gl, w, j, t)
		n := gl.Labels
		v, v1 := s.v[:n], s.v1[:n]
		for r := range len(gl.Start) - 1 {
			width := gl.WidthOf(r)
			for o := range width {
				for d := range v {
					v[d], v1[d] = -inf, 0
				}
				for i := gl.Start[r] + o; i < gl.Start[r+1]; i += width {
					a, f := s.alpha[gl.At+int(i)], s.mean[gl.At+int(i)]
					if math.IsInf(a, -1) {
						continue
					}
					c := int(gl.Ctx[i]) * n
					for d, x := range th[c : c+n] {
						y := f
						if dir != nil {
							y += dir[c+d]
						}
						v[d], v1[d] = logAdd(v[d], v1[d], a+x, y)
					}
				}
				for k := range gl.Classes {
					to, val := gl.Arc(r*gl.Classes + k)
					if val == layered.Excluded {
						continue
					}
					size, cut := gl.Size[k], gl.Cut[k]
					at := next.At + int(to+o*size)
					for d := range size {
						i := at + int(d)
						s.alpha[i], s.mean[i] = logAdd(s.alpha[i], s.mean[i], v[cut+d]+s.arc[val],
							v1[cut+d]+s.inc[val])
					}
				}
			}
		}
	}
	s.betaN, s.meanBN = layered.Resize(s.betaN, g.Widest), layered.Resize(s.meanBN, g.Widest)
	s.beta, s.meanB = layered.Resize(s.beta, g.Widest), layered.Resize(s.meanB, g.Widest)
	end := &g.Layers[l]
	z, mean := -inf, 0.0
	for i, c := range end.Column {
		f := m.Final[c]
		s.betaN[i], s.meanBN[i] = s.arc[f], s.inc[f]
		z, mean = logAdd(z, mean, s.alpha[end.At+i]+s.arc[f], s.mean[end.At+i]+s.inc[f])
	}
	j.LogZ, j.Mean = z+j.Gamma*m.Base, mean
	if math.IsInf(z, -1) {
		j.LogZ, j.Mean = z, math.NaN()
		ClearRows(j.Marginals)
		ClearRows(j.Covariance)
		return
	}
	if j.Marginals == nil && j.Covariance == nil && len(s.keep) == 0 {
		return
	}
	if len(s.keep) > 0 {
		copy(s.keep[end.At:], s.betaN[:len(end.Ctx)])
	}
	for t := l - 1; t >= 0; t-- {
		if Stopped(s.Ctx) {
			return
		}
		s.back(m, g, w, j, t, z, mean)
		if len(s.keep) > 0 {
			copy(s.keep[g.Layers[t].At:], s.beta[:len(g.Layers[t].Ctx)])
		}
		s.beta, s.betaN = s.betaN, s.beta
		s.meanB, s.meanBN = s.meanBN, s.meanB
	}
}

// potentials returns log potentials and the direction as the kernels see them.
func (s *LogSweeper) potentials(gl *layered.GraphLayer, w *Whitening, j *Job, t int) (th, dir []float64) {
	if w.Order > 1 {
		if j.Tangent == AlongDirection {
			dir = w.v[t]
		}
		return w.Theta[t], dir
	}
	s.fold, s.foldV = layered.Resize(s.fold, gl.Classes), layered.Resize(s.foldV, gl.Classes)
	for k := range s.fold {
		s.fold[k], s.foldV[k] = math.Inf(-1), 0
	}
	for d, k := range gl.ClassOf {
		y := 0.0
		if j.Tangent == AlongDirection {
			y = w.v[t][d]
		}
		s.fold[k], s.foldV[k] = logAdd(s.fold[k], s.foldV[k], w.Theta[t][d], y)
	}
	return s.fold, s.foldV
}

// back does the backward step of one position.
func (s *LogSweeper) back(m *layered.Machine, g *layered.Graph, w *Whitening, j *Job, t int,
	z, mean float64) {
	inf := math.Inf(1)
	gl := &g.Layers[t]
	th, dir := s.potentials(gl, w, j, t)
	n := gl.Labels
	s.x, s.x1 = layered.Resize(s.x, len(th)), layered.Resize(s.x1, len(th))
	clear(s.x)
	clear(s.x1)
	v, v1 := s.v[:n], s.v1[:n]
	for r := range len(gl.Start) - 1 {
		width := gl.WidthOf(r)
		for o := range width {
			for k := range gl.Classes {
				to, val := gl.Arc(r*gl.Classes + k)
				size, cut := gl.Size[k], gl.Cut[k]
				at := to + o*size
				for d := range size {
					if val == layered.Excluded {
						v[cut+d], v1[cut+d] = -inf, 0
						continue
					}
					v[cut+d], v1[cut+d] = s.betaN[at+d]+s.arc[val], s.meanBN[at+d]+s.inc[val]
				}
			}
			for i := gl.Start[r] + o; i < gl.Start[r+1]; i += width {
				c := int(gl.Ctx[i]) * n
				a, f := s.alpha[gl.At+int(i)], s.mean[gl.At+int(i)]
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
func (s *LogSweeper) collect(g *layered.Graph, w *Whitening, j *Job, t int, mean float64) {
	x, x1 := s.x, s.x1
	gl := &g.Layers[t]
	along := func(i int) float64 {
		if j.Tangent == AlongDirection {
			return w.v[t][i]
		}
		return 0
	}
	if w.Order == 1 {
		for d, k := range gl.ClassOf {
			share := math.Exp(w.Theta[t][d] - s.fold[k])
			if math.IsInf(w.Theta[t][d], -1) {
				share = 0
			}
			if j.Marginals != nil {
				j.Marginals[t][gl.Perm[d]] = x[k] * share
			}
			if j.Covariance != nil {
				j.Covariance[t][gl.Perm[d]] = share * (x1[k] + x[k]*(along(d)-mean))
			}
		}
		return
	}
	if j.Covariance != nil {
		for i := range x1 {
			x1[i] += x[i] * (along(i) - mean)
		}
		restore(j.Covariance[t], x1, g, t, w.Order)
	}
	if j.Marginals != nil {
		restore(j.Marginals[t], x, g, t, w.Order)
	}
}
