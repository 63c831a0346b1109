package sweep

import (
	"context"
	"math"

	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// The Hessian of the risk times a direction V is the derivative of the risk's gradient along V. For
// each window it is the third joint cumulant under the plain distribution,
//
//	E[(L - E L) (V - E V) ([window] - Q)].
//
// A path carries its weight, and that times L, V and L·V: two dual numbers in one (Z. Li, J.
// Eisner, "First- and second-order expectation semirings", EMNLP 2009). Constants added to L or V
// change nothing, so each layer is centred: no mean is subtracted that is larger than what is left.

// moment is the sum over paths of their weights, and of weights times L, V and L·V.
type moment struct{ w, l, v, lv float64 }

// RiskSweeper computes Hessian products of the risk.
type RiskSweeper struct {
	alpha       []moment // all layers
	beta, betaN []moment
	v, x        []moment // by label of a context; by window
	out         []float64

	logAlpha          []logMoment
	logBeta, logBetaN []logMoment
	logV              []logMoment
	Ctx               context.Context
}

// Run stores the products in out, at once where linear says so and the weight of all strings is
// certain. Else it asks room, and goes on in logarithms, or returns the error.
func (s *RiskSweeper) Run(m *layered.Machine, g *layered.Graph, w *Whitening, linear bool, logs *LogSweeper,
	room func() error, out [][]float64) error {
	if linear && s.forward(m, g, w) {
		s.backward(m, g, w, out)
		return nil
	}
	if err := room(); err != nil {
		return err
	}
	s.inLogs(m, g, w, logs, out)
	return nil
}

// centre subtracts from L and V their means over moments with weights; nil weights are all 1.
func centre(a []moment, weights []moment) {
	var sum moment
	for i, x := range a {
		f := 1.0
		if weights != nil {
			f = weights[i].w
		}
		sum.w += f * x.w
		sum.l += f * x.l
		sum.v += f * x.v
	}
	if !(sum.w > 0) {
		return
	}
	l, v := sum.l/sum.w, sum.v/sum.w
	for i := range a {
		x := &a[i]
		x.l -= l * x.w
		x.lv -= l * x.v
		x.v -= v * x.w
		x.lv -= v * x.l
	}
}

// forward fills alpha, and reports whether the weight of all strings is certain.
func (s *RiskSweeper) forward(m *layered.Machine, g *layered.Graph, w *Whitening) bool {
	l := len(m.Layers)
	s.alpha = layered.Resize(s.alpha, g.Total)
	clear(s.alpha)
	s.v = layered.Resize(s.v, g.Most)
	if len(g.Layers[0].Ctx) > 0 {
		s.alpha[0].w = 1
	}
	for t := range l {
		if Stopped(s.Ctx) {
			return true // what there is, is thrown away
		}
		gl, next := &g.Layers[t], &g.Layers[t+1]
		a, b := s.alpha[gl.At:next.At], s.alpha[next.At:next.At+len(next.Ctx)]
		p, pv := w.fold[t], w.foldV[t]
		n := gl.Labels
		v := s.v[:n]
		for r := range len(gl.Start) - 1 {
			width := gl.WidthOf(r)
			for o := range width {
				clear(v)
				for i := gl.Start[r] + o; i < gl.Start[r+1]; i += width {
					x, c := a[i], int(gl.Ctx[i])*n
					q := pv[c:][:n]
					for d, y := range p[c:][:n] {
						z, to := q[d], &v[d]
						to.w += x.w * y
						to.l += x.l * y
						to.v += x.v*y + x.w*z
						to.lv += x.lv*y + x.l*z
					}
				}
				for k := range gl.Classes {
					to, val := gl.Arc(r*gl.Classes + k)
					if val == layered.Excluded {
						continue
					}
					size, y := gl.Size[k], m.Values[val]
					into := b[to+o*size:][:size]
					for d, x := range v[gl.Cut[k]:][:size] {
						to := &into[d]
						to.w += x.w
						to.l += x.l + y*x.w
						to.v += x.v
						to.lv += x.lv + y*x.v
					}
				}
			}
		}
		centre(b, nil)
	}
	z, end := 0.0, &g.Layers[l]
	for i, c := range end.Column {
		if m.Final[c] != layered.Excluded {
			z += s.alpha[end.At+i].w
		}
	}
	return z >= Least
}

// backward stores the products.
func (s *RiskSweeper) backward(m *layered.Machine, g *layered.Graph, w *Whitening, out [][]float64) {
	l := len(m.Layers)
	s.beta, s.betaN = layered.Resize(s.beta, g.Widest), layered.Resize(s.betaN, g.Widest)
	for i, c := range g.Layers[l].Column {
		s.betaN[i] = moment{}
		if f := m.Final[c]; f != layered.Excluded {
			s.betaN[i] = moment{w: 1, l: m.Values[f]}
		}
	}
	for t := l - 1; t >= 0; t-- {
		if Stopped(s.Ctx) {
			return
		}
		gl := &g.Layers[t]
		a, b := s.alpha[gl.At:][:len(gl.Ctx)], s.beta[:len(gl.Ctx)]
		p, pv := w.fold[t], w.foldV[t]
		s.x = layered.Resize(s.x, len(p))
		clear(s.x)
		n := gl.Labels
		v := s.v[:n]
		if n == 0 {
			clear(b)
		}
		for r := range len(gl.Start) - 1 {
			width := gl.WidthOf(r)
			for o := range width {
				for k := range gl.Classes {
					to, val := gl.Arc(r*gl.Classes + k)
					size := gl.Size[k]
					into := v[gl.Cut[k]:][:size]
					if val == layered.Excluded {
						clear(into)
						continue
					}
					y := m.Values[val]
					for d, x := range s.betaN[to+o*size:][:size] {
						into[d] = moment{x.w, x.l + y*x.w, x.v, x.lv + y*x.v}
					}
				}
				for i := gl.Start[r] + o; i < gl.Start[r+1]; i += width {
					ai, c := a[i], int(gl.Ctx[i])*n
					q, flow := pv[c:][:n], s.x[c:][:n]
					var sum moment
					for d, y := range p[c:][:n] {
						z, x, to := q[d], v[d], &flow[d]
						sum.w += y * x.w
						sum.l += y * x.l
						sum.v += y*x.v + z*x.w
						sum.lv += y*x.lv + z*x.l
						to.w += ai.w * x.w
						to.l += ai.l*x.w + ai.w*x.l
						to.v += ai.v*x.w + ai.w*x.v
						to.lv += ai.lv*x.w + ai.l*x.v + ai.v*x.l + ai.w*x.lv
					}
					b[i] = sum
				}
			}
		}
		s.collect(g, w, t, out[t])
		centre(b, a)
		s.beta, s.betaN = s.betaN, s.beta
	}
}

// collect turns the flows of position t into its products.
func (s *RiskSweeper) collect(g *layered.Graph, w *Whitening, t int, out []float64) {
	p, v := w.P[t], w.v[t]
	class := g.Layers[t].ClassOf
	at := func(i int) moment {
		k := i
		if w.Order == 1 {
			k = int(class[i])
		}
		x, y := s.x[k], p[i]
		return moment{y * x.w, y * x.l, y * (x.v + v[i]*x.w), y * (x.lv + v[i]*x.l)}
	}
	var sum moment
	for i := range p {
		x := at(i)
		sum.w += x.w
		sum.l += x.l
		sum.v += x.v
		sum.lv += x.lv
	}
	f := 1 / sum.w
	meanL, meanV, meanLV := sum.l*f, sum.v*f, sum.lv*f
	s.out = layered.Resize(s.out, len(p))
	for i := range p {
		x := at(i)
		s.out[i] = f * (x.lv - meanL*x.v - meanV*x.l + (2*meanL*meanV-meanLV)*x.w)
	}
	restore(out, s.out, g, t, w.Order)
}

// logMoment is the logarithm of the sum of weights of paths, with the means of L and V over these
// paths and their covariance. Nothing overflows, and nothing is subtracted.
type logMoment struct{ w, l, v, c float64 }

var noPaths = logMoment{w: math.Inf(-1)}

// add joins the paths of b to those of a.
func (a *logMoment) add(b logMoment) {
	if b.w > a.w {
		*a, b = b, *a
	}
	if math.IsInf(b.w, -1) {
		return
	}
	r := math.Exp(b.w - a.w)
	share := r / (1 + r)
	l, v := b.l-a.l, b.v-a.v
	a.w += math.Log1p(r)
	a.c += share * (b.c - a.c + (1-share)*l*v)
	a.l += share * l
	a.v += share * v
}

// inLogs is forward and backward in logarithms.
func (s *RiskSweeper) inLogs(m *layered.Machine, g *layered.Graph, w *Whitening, logs *LogSweeper,
	out [][]float64) {
	l := len(m.Layers)
	along := &Job{Tangent: AlongDirection}
	s.logAlpha = layered.Resize(s.logAlpha, g.Total)
	for i := range s.logAlpha {
		s.logAlpha[i] = noPaths
	}
	if len(g.Layers[0].Ctx) > 0 {
		s.logAlpha[0].w = 0
	}
	s.logV = layered.Resize(s.logV, g.Most)
	for t := range l {
		if Stopped(s.Ctx) {
			return
		}
		gl, next := &g.Layers[t], &g.Layers[t+1]
		th, dir := logs.potentials(gl, w, along, t)
		n := gl.Labels
		v := s.logV[:n]
		for r := range len(gl.Start) - 1 {
			width := gl.WidthOf(r)
			for o := range width {
				for d := range v {
					v[d] = noPaths
				}
				for i := gl.Start[r] + o; i < gl.Start[r+1]; i += width {
					a, c := s.logAlpha[gl.At+int(i)], int(gl.Ctx[i])*n
					for d := range v {
						v[d].add(logMoment{a.w + th[c+d], a.l, a.v + dir[c+d], a.c})
					}
				}
				for k := range gl.Classes {
					to, val := gl.Arc(r*gl.Classes + k)
					if val == layered.Excluded {
						continue
					}
					size, y := gl.Size[k], m.Values[val]
					for d, x := range v[gl.Cut[k]:][:size] {
						s.logAlpha[next.At+int(to+o*size)+d].add(logMoment{x.w, x.l + y, x.v, x.c})
					}
				}
			}
		}
	}
	s.logBeta, s.logBetaN = layered.Resize(s.logBeta, g.Widest), layered.Resize(s.logBetaN, g.Widest)
	total, end := noPaths, &g.Layers[l]
	for i, c := range end.Column {
		s.logBetaN[i] = noPaths
		if f := m.Final[c]; f != layered.Excluded {
			a, y := s.logAlpha[end.At+i], m.Values[f]
			s.logBetaN[i] = logMoment{l: y}
			total.add(logMoment{a.w, a.l + y, a.v, a.c})
		}
	}
	if math.IsInf(total.w, -1) {
		ClearRows(out)
		return
	}
	for t := l - 1; t >= 0; t-- {
		if Stopped(s.Ctx) {
			return
		}
		s.back(m, &g.Layers[t], w, logs, along, t, total)
		s.out = layered.Resize(s.out, len(w.v[t]))
		for i, v := range w.v[t] {
			k, share := i, 1.0
			if w.Order == 1 {
				k = int(g.Layers[t].ClassOf[i])
				share = 0
				if th := w.Theta[t][i]; !math.IsInf(th, -1) {
					share = math.Exp(th - logs.fold[k])
				}
			}
			s.out[i] = share * (s.x[k].lv + v*s.x[k].l)
		}
		restore(out[t], s.out, g, t, w.Order)
		s.logBeta, s.logBetaN = s.logBetaN, s.logBeta
	}
}

// back fills logBeta, and x with the flows of a position. x.l is the probability times how far L is
// beyond its mean. x.lv has the product of L and V in place of L, without the window's own V.
func (s *RiskSweeper) back(m *layered.Machine, gl *layered.GraphLayer, w *Whitening, logs *LogSweeper,
	along *Job, t int,
	total logMoment) {
	th, dir := logs.potentials(gl, w, along, t)
	n := gl.Labels
	s.x = layered.Resize(s.x, len(th))
	clear(s.x)
	v := s.logV[:n]
	for r := range len(gl.Start) - 1 {
		width := gl.WidthOf(r)
		for o := range width {
			for k := range gl.Classes {
				to, val := gl.Arc(r*gl.Classes + k)
				size := gl.Size[k]
				into := v[gl.Cut[k]:][:size]
				for d := range into {
					into[d] = noPaths
					if val != layered.Excluded {
						x := s.logBetaN[int(to+o*size)+d]
						into[d] = logMoment{x.w, x.l + m.Values[val], x.v, x.c}
					}
				}
			}
			for i := gl.Start[r] + o; i < gl.Start[r+1]; i += width {
				a, c := s.logAlpha[gl.At+int(i)], int(gl.Ctx[i])*n
				sum := noPaths
				for d, x := range v {
					y := x.w + th[c+d]
					if math.IsInf(y, -1) {
						continue
					}
					sum.add(logMoment{y, x.l, x.v + dir[c+d], x.c})
					e := math.Exp(a.w + y - total.w)
					l, to := a.l+x.l-total.l, &s.x[c+d]
					to.l += e * l
					to.lv += e * (l*(a.v+x.v-total.v) + a.c + x.c - total.c)
				}
				s.logBeta[i] = sum
			}
		}
	}
}
