package sweep

import (
	"context"
	"math"

	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// Sweeper is the linear (whitened) forward-backward sweep over a graph.
//
// Weights of arcs are exp(γ·value), divided by the greatest of them, so that forward and backward
// values stay in [0, 1] and nothing overflows. Underflow loses values. Each operation then errs by
// at most 2⁻¹⁰⁷⁴. The total is far below the result's last place as long as the sum is not itself
// tiny. That is checked afterwards (least), and makes the sweep either right or refused, for any
// potentials, γ and lengths. A refused sweep is repeated with every layer scaled to a greatest
// value of 1. If that is refused, too, the log-space sweep takes over.
type Sweeper struct {
	w, wd []float64 // by value: exp(γ·value)/scale; that times the value

	alpha, alpha1 []float64 // forward values and their tangents, all layers
	beta, betaN   []float64
	beta1, beta1N []float64
	x, x1         []float64
	rows          rowKernels
	tails         tailKernels
	v, v1         []float64
	keep          []float64 // if not empty, receives the backward values of all layers
	Ctx           context.Context
	scale         []float64 // by layer: log of what forward values were divided by
}

// Job is one pair of sweeps: at one γ, with at most one tangent.
type Job struct {
	Gamma      float64
	Tangent    tangent
	Marginals  [][]float64 // if not nil, receives Q
	Covariance [][]float64 // if not nil, receives Cov([window], F), F the tangent's functional

	LogZ   float64
	Mean   float64 // E[F], without the machine's base
	InLogs bool
}

// tangent names the functional F whose mean and covariances are wanted.
type tangent uint8

const (
	noTangent      tangent = iota
	AlongLoss              // F = L
	AlongDirection         // F = Σ_t V_t(window)
)

// Least is the least sum for which underflow cannot matter: there are fewer
// than 2⁴⁰ operations, and 2⁴⁰⁻¹⁰⁷⁴ / 1e-280 < 1e-30.
const Least = 1e-280

// Run does a job, and reports whether its results are certain.
func (s *Sweeper) Run(m *layered.Machine, g *layered.Graph, w *Whitening, j *Job, scaled bool) bool {
	if math.IsInf(w.LogZ0, -1) {
		j.LogZ, j.Mean = w.LogZ0, math.NaN()
		ClearRows(j.Marginals)
		ClearRows(j.Covariance)
		return true
	}
	shift := s.weights(m, j.Gamma)
	l := len(m.Layers)
	gammaBase := 0.0
	if j.Gamma != 0 {
		gammaBase = j.Gamma * m.Base
	}
	s.alpha = layered.Resize(s.alpha, g.Total)
	if !scaled {
		z, z1, final := s.forward(m, g, w, j, false)
		if z >= Least {
			if j.Marginals != nil || j.Covariance != nil {
				s.backward(m, g, w, j, z, z1, false)
			}
			j.LogZ = w.LogZ0 + gammaBase + float64(l)*shift + final + math.Log(z)
			j.Mean = z1 / z
			return true
		}
	}
	z, z1, final := s.forward(m, g, w, j, true)
	if !(z >= Least) {
		return false
	}
	// The certificate of a scaled sweep needs the backward values too.
	if !s.backward(m, g, w, j, z, z1, true) {
		return false
	}
	total := 0.0
	for _, x := range s.scale[:l+1] {
		total += x
	}
	j.LogZ = w.LogZ0 + gammaBase + float64(l)*shift + final + total + math.Log(z)
	j.Mean = z1 / z
	return true
}

// Stopped reports whether a context, which may be nil, is done. It allocates
// nothing.
func Stopped(ctx context.Context) bool { return ctx != nil && ctx.Err() != nil }

// ClearRows sets all numbers to 0.
func ClearRows(rows [][]float64) {
	for _, row := range rows {
		clear(row)
	}
}

// weights fills w and wd, and returns the log of the scale.
func (s *Sweeper) weights(m *layered.Machine, gamma float64) float64 {
	top := math.Inf(-1)
	for t := range m.Layers {
		l := &m.Layers[t]
		if l.Lo <= l.Hi {
			top = max(top, gamma*l.Lo, gamma*l.Hi)
		}
	}
	if math.IsInf(top, -1) {
		top = 0
	}
	s.w, s.wd = layered.Resize(s.w, len(m.Values)), layered.Resize(s.wd, len(m.Values))
	s.w[layered.Excluded], s.wd[layered.Excluded] = 0, 0
	for i, x := range m.Values[1:] {
		e := math.Exp(min(0, gamma*x-top)) // values of finals alone may exceed top
		s.w[i+1], s.wd[i+1] = e, e*x
	}
	return top
}

// forward fills alpha (and alpha1 for a tangent). It returns the sum over all strings, its tangent,
// and the log of the scale of the final weights.
func (s *Sweeper) forward(m *layered.Machine, g *layered.Graph, w *Whitening, j *Job,
	scaled bool) (z, z1, final float64) {
	l := len(m.Layers)
	s.v = layered.Resize(s.v, g.Most)
	clear(s.alpha)
	if len(g.Layers[0].Ctx) > 0 {
		s.alpha[0] = 1
	}
	if j.Tangent != noTangent {
		s.alpha1 = layered.Resize(s.alpha1, g.Total)
		clear(s.alpha1)
		s.v1 = layered.Resize(s.v1, g.Most)
	}
	s.scale = layered.Resize(s.scale, l+1)
	clear(s.scale)
	for t := range l {
		gl, next := &g.Layers[t], &g.Layers[t+1]
		if Stopped(s.Ctx) {
			return 0, 0, 0
		}
		end := g.Total
		if t+2 <= l {
			end = g.Layers[t+2].At
		}
		st := step{gl: gl, p: dual{x: w.fold[t]}, w: dual{x: s.w}, v: dual{x: s.v}}
		st.alpha.x, st.next.x = s.alpha[gl.At:next.At], s.alpha[next.At:end]
		if j.Tangent != noTangent {
			st.alpha.d, st.next.d = s.alpha1[gl.At:next.At], s.alpha1[next.At:end]
			s.along(&st, w, j.Tangent, t)
		}
		s.forwardStep(&st, j.Tangent != noTangent)
		if scaled {
			s.scale[t+1] = rescale(st.next)
		}
	}
	// Finals.
	final = math.Inf(-1)
	for _, f := range m.Final {
		if f != layered.Excluded {
			final = max(final, j.Gamma*m.Values[f])
		}
	}
	if math.IsInf(final, -1) {
		final = 0
	}
	end := &g.Layers[l]
	for i, c := range end.Column {
		x := m.Values[m.Final[c]]
		if m.Final[c] == layered.Excluded {
			continue
		}
		f := math.Exp(j.Gamma*x - final)
		z += s.alpha[end.At+i] * f
		if j.Tangent != noTangent {
			d := s.alpha1[end.At+i] * f
			if j.Tangent == AlongLoss {
				d += s.alpha[end.At+i] * f * x
			}
			z1 += d
		}
	}
	return z, z1, final
}

// along sets the tangents of what does not depend on the sweep.
func (s *Sweeper) along(st *step, w *Whitening, tan tangent, t int) {
	st.v.d = s.v1
	if tan == AlongDirection {
		st.p.d = w.foldV[t]
	} else {
		st.w.d = s.wd
	}
}

// forwardStep does one layer by the fastest kernel that can.
func (s *Sweeper) forwardStep(st *step, tangent bool) {
	switch gl := st.gl; {
	case tangent && gl.Narrow != nil:
		forward1(st, gl.Narrow)
	case tangent:
		forward1(st, gl.Wide)
	case s.tails.fits(gl):
		s.tails.forward(&s.rows, st)
	case s.rows.fits(gl):
		s.rows.forward(st)
	case gl.Narrow != nil:
		forward(st, gl.Narrow)
	default:
		forward(st, gl.Wide)
	}
}

// backwardStep does one layer by the fastest kernel that can.
func (s *Sweeper) backwardStep(st *step, tangent bool) {
	switch gl := st.gl; {
	case tangent && gl.Narrow != nil:
		backward1(st, gl.Narrow)
	case tangent:
		backward1(st, gl.Wide)
	case s.tails.fits(gl):
		s.tails.backward(&s.rows, st)
	case s.rows.fits(gl):
		s.rows.backward(st)
	case gl.Narrow != nil:
		backward(st, gl.Narrow)
	default:
		backward(st, gl.Wide)
	}
}

// rescale divides values by a power of two near their greatest, and returns
// its logarithm.
func rescale(v dual) float64 {
	a, a1 := v.x, v.d
	top := 0.0
	for _, x := range a {
		top = max(top, x)
	}
	if top == 0 || top >= 0.5 {
		return 0
	}
	_, e := math.Frexp(top)
	// In two steps: the reciprocal of a subnormal would overflow.
	f, g := math.Ldexp(1, -e/2), math.Ldexp(1, -(e-e/2))
	for i := range a {
		a[i] *= f
		a[i] *= g
	}
	for i := range a1 {
		a1[i] *= f
		a1[i] *= g
	}
	return float64(e) * math.Ln2
}

// backward computes marginals and covariances from the forward values, and,
// for a scaled sweep, whether they are certain.
func (s *Sweeper) backward(m *layered.Machine, g *layered.Graph, w *Whitening, j *Job, z, z1 float64,
	scaled bool) bool {
	l := len(m.Layers)
	s.beta, s.betaN = layered.Resize(s.beta, g.Widest), layered.Resize(s.betaN, g.Widest)
	clear(s.beta)
	clear(s.betaN)
	tan := j.Tangent != noTangent && j.Covariance != nil
	if tan {
		s.beta1, s.beta1N = layered.Resize(s.beta1, g.Widest), layered.Resize(s.beta1N, g.Widest)
		clear(s.beta1)
		clear(s.beta1N)
	}
	final := math.Inf(-1)
	for _, f := range m.Final {
		if f != layered.Excluded {
			final = max(final, j.Gamma*m.Values[f])
		}
	}
	end := &g.Layers[l]
	for i, c := range end.Column {
		if m.Final[c] == layered.Excluded {
			continue
		}
		x := m.Values[m.Final[c]]
		f := math.Exp(j.Gamma*x - final)
		s.betaN[i] = f
		if tan && j.Tangent == AlongLoss {
			s.beta1N[i] = f * x
		}
	}
	if len(s.keep) > 0 {
		copy(s.keep[end.At:], s.betaN[:len(end.Ctx)])
	}
	mean := z1 / z
	for t := l - 1; t >= 0; t-- {
		gl, next := &g.Layers[t], &g.Layers[t+1]
		if Stopped(s.Ctx) {
			return false
		}
		a := s.alpha[gl.At:next.At]
		s.x = layered.Resize(s.x, len(w.fold[t]))
		clear(s.x)
		st := step{gl: gl, p: dual{x: w.fold[t]}, w: dual{x: s.w}, v: dual{x: s.v}, alpha: dual{x: a}}
		st.beta.x, st.next.x, st.flow.x = s.beta, s.betaN, s.x
		if tan {
			s.x1 = layered.Resize(s.x1, len(s.x))
			clear(s.x1)
			st.alpha.d, st.beta.d, st.next.d, st.flow.d = s.alpha1[gl.At:next.At], s.beta1, s.beta1N, s.x1
			s.along(&st, w, j.Tangent, t)
		}
		if scaled {
			// Values of layer t+1, scaled to 1, times the forward ones must
			// not be tiny in sum.
			rescale(st.next)
		}
		s.backwardStep(&st, tan)
		zt := z
		if scaled {
			zt = 0
			n := len(gl.Ctx)
			for i, b := range s.beta[:n] {
				zt += a[i] * b
			}
			if !(zt >= Least) {
				return false
			}
		}
		if len(s.keep) > 0 {
			copy(s.keep[gl.At:], s.beta[:len(gl.Ctx)])
		}
		s.collect(g, w, j, t, 1/zt, mean)
		s.beta, s.betaN = s.betaN, s.beta
		s.beta1, s.beta1N = s.beta1N, s.beta1
	}
	return true
}

// collect turns flows into the marginals and covariances of position t.
func (s *Sweeper) collect(g *layered.Graph, w *Whitening, j *Job, t int, f, mean float64) {
	p := w.P[t]
	x, x1 := s.x, s.x1
	if w.Order == 1 {
		// Flows are by class: all labels of a class share one.
		class := g.Layers[t].ClassOf
		if j.Marginals != nil {
			q := j.Marginals[t]
			for d, k := range class {
				q[g.Layers[t].Perm[d]] = p[d] * x[k] * f
			}
		}
		if j.Covariance != nil {
			c := j.Covariance[t]
			for d, k := range class {
				v := mean
				if j.Tangent == AlongDirection {
					v -= w.v[t][d]
				}
				c[g.Layers[t].Perm[d]] = p[d] * f * (x1[k] - x[k]*v)
			}
		}
		return
	}
	if j.Covariance != nil {
		if j.Tangent == AlongDirection {
			for i, y := range w.v[t] {
				x1[i] = p[i] * f * (x1[i] + x[i]*(y-mean))
			}
		} else {
			for i := range p {
				x1[i] = p[i] * f * (x1[i] - x[i]*mean)
			}
		}
		if g.Plain {
			copy(j.Covariance[t], x1)
		} else {
			restore(j.Covariance[t], x1, g, t, w.Order)
		}
	}
	if j.Marginals != nil && g.Plain {
		q := j.Marginals[t][:len(p)]
		for i, y := range x[:len(p)] {
			q[i] = y * p[i] * f
		}
		return
	}
	if j.Marginals != nil {
		for i := range p {
			x[i] *= p[i] * f
		}
		restore(j.Marginals[t], x, g, t, w.Order)
	}
}
