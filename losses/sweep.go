package losses

import (
	"context"
	"math"
)

// sweeper is the linear (whitened) forward-backward sweep over a graph.
//
// Weights of arcs are exp(γ·value), divided by the greatest of them, so that forward and backward
// values stay in [0, 1] and nothing overflows. Underflow loses values. Each operation then errs by
// at most 2⁻¹⁰⁷⁴, so that the total is far below the result's last place as long as the sum is not
// itself tiny. That is checked afterwards (least), and makes the sweep either right or refused, for
// any potentials, γ and lengths. A refused sweep is repeated with every layer scaled to a greatest
// value of 1. If that is refused, too, the log-space sweep takes over.
type sweeper struct {
	w, wd []float64 // by value: exp(γ·value)/scale; that times the value

	alpha, alpha1 []float64 // forward values and their tangents, all layers
	beta, betaN   []float64
	beta1, beta1N []float64
	x, x1         []float64
	rows          rowKernels
	tails         tailKernels
	v, v1         []float64
	keep          []float64 // if not empty, receives the backward values of all layers
	ctx           context.Context
	scale         []float64 // by layer: log of what forward values were divided by
}

// job is one pair of sweeps: at one γ, with at most one tangent.
type job struct {
	gamma      float64
	tangent    tangent
	marginals  [][]float64 // if not nil, receives Q
	covariance [][]float64 // if not nil, receives Cov([window], F), F the tangent's functional

	logZ   float64
	mean   float64 // E[F], without the machine's base
	inLogs bool
}

// tangent names the functional F whose mean and covariances are wanted.
type tangent uint8

const (
	noTangent      tangent = iota
	alongLoss              // F = L
	alongDirection         // F = Σ_t V_t(window)
)

// least is the least sum for which underflow cannot matter: there are fewer
// than 2⁴⁰ operations, and 2⁴⁰⁻¹⁰⁷⁴ / 1e-280 < 1e-30.
const least = 1e-280

// run does a job, and reports whether its results are certain.
func (s *sweeper) run(m *core, g *graph, w *whitening, j *job, scaled bool) bool {
	if math.IsInf(w.logZ0, -1) {
		j.logZ, j.mean = w.logZ0, math.NaN()
		clearRows(j.marginals)
		clearRows(j.covariance)
		return true
	}
	shift := s.weights(m, j.gamma)
	l := len(m.layers)
	gammaBase := 0.0
	if j.gamma != 0 {
		gammaBase = j.gamma * m.base
	}
	s.alpha = resize(s.alpha, g.total)
	if !scaled {
		z, z1, final := s.forward(m, g, w, j, false)
		if z >= least {
			if j.marginals != nil || j.covariance != nil {
				s.backward(m, g, w, j, z, z1, false)
			}
			j.logZ = w.logZ0 + gammaBase + float64(l)*shift + final + math.Log(z)
			j.mean = z1 / z
			return true
		}
	}
	z, z1, final := s.forward(m, g, w, j, true)
	if !(z >= least) {
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
	j.logZ = w.logZ0 + gammaBase + float64(l)*shift + final + total + math.Log(z)
	j.mean = z1 / z
	return true
}

// stopped reports whether a context, which may be nil, is done. It allocates
// nothing.
func stopped(ctx context.Context) bool { return ctx != nil && ctx.Err() != nil }

func clearRows(rows [][]float64) {
	for _, row := range rows {
		clear(row)
	}
}

// weights fills w and wd, and returns the log of the scale.
func (s *sweeper) weights(m *core, gamma float64) float64 {
	top := math.Inf(-1)
	for t := range m.layers {
		l := &m.layers[t]
		if l.lo <= l.hi {
			top = max(top, gamma*l.lo, gamma*l.hi)
		}
	}
	if math.IsInf(top, -1) {
		top = 0
	}
	s.w, s.wd = resize(s.w, len(m.values)), resize(s.wd, len(m.values))
	s.w[excluded], s.wd[excluded] = 0, 0
	for i, x := range m.values[1:] {
		e := math.Exp(min(0, gamma*x-top)) // values of finals alone may exceed top
		s.w[i+1], s.wd[i+1] = e, e*x
	}
	return top
}

// forward fills alpha (and alpha1 for a tangent). It returns the sum over all strings, its tangent,
// and the log of the scale of the final weights.
func (s *sweeper) forward(m *core, g *graph, w *whitening, j *job, scaled bool) (z, z1, final float64) {
	l := len(m.layers)
	s.v = resize(s.v, g.most)
	clear(s.alpha)
	if len(g.layers[0].ctx) > 0 {
		s.alpha[0] = 1
	}
	if j.tangent != noTangent {
		s.alpha1 = resize(s.alpha1, g.total)
		clear(s.alpha1)
		s.v1 = resize(s.v1, g.most)
	}
	s.scale = resize(s.scale, l+1)
	clear(s.scale)
	for t := range l {
		gl, next := &g.layers[t], &g.layers[t+1]
		if stopped(s.ctx) {
			return 0, 0, 0
		}
		end := g.total
		if t+2 <= l {
			end = g.layers[t+2].at
		}
		st := step{gl: gl, p: dual{x: w.fold[t]}, w: dual{x: s.w}, v: dual{x: s.v}}
		st.alpha.x, st.next.x = s.alpha[gl.at:next.at], s.alpha[next.at:end]
		if j.tangent != noTangent {
			st.alpha.d, st.next.d = s.alpha1[gl.at:next.at], s.alpha1[next.at:end]
			s.along(&st, w, j.tangent, t)
		}
		s.forwardStep(&st, j.tangent != noTangent)
		if scaled {
			s.scale[t+1] = rescale(st.next)
		}
	}
	// Finals.
	final = math.Inf(-1)
	for _, f := range m.final {
		if f != excluded {
			final = max(final, j.gamma*m.values[f])
		}
	}
	if math.IsInf(final, -1) {
		final = 0
	}
	end := &g.layers[l]
	for i, c := range end.column {
		x := m.values[m.final[c]]
		if m.final[c] == excluded {
			continue
		}
		f := math.Exp(j.gamma*x - final)
		z += s.alpha[end.at+i] * f
		if j.tangent != noTangent {
			d := s.alpha1[end.at+i] * f
			if j.tangent == alongLoss {
				d += s.alpha[end.at+i] * f * x
			}
			z1 += d
		}
	}
	return z, z1, final
}

// along sets the tangents of what does not depend on the sweep.
func (s *sweeper) along(st *step, w *whitening, tan tangent, t int) {
	st.v.d = s.v1
	if tan == alongDirection {
		st.p.d = w.foldV[t]
	} else {
		st.w.d = s.wd
	}
}

// forwardStep does one layer by the fastest kernel that can.
func (s *sweeper) forwardStep(st *step, tangent bool) {
	switch gl := st.gl; {
	case tangent && gl.narrow != nil:
		forward1(st, gl.narrow)
	case tangent:
		forward1(st, gl.wide)
	case s.tails.fits(gl):
		s.tails.forward(&s.rows, st)
	case s.rows.fits(gl):
		s.rows.forward(st)
	case gl.narrow != nil:
		forward(st, gl.narrow)
	default:
		forward(st, gl.wide)
	}
}

// backwardStep does one layer by the fastest kernel that can.
func (s *sweeper) backwardStep(st *step, tangent bool) {
	switch gl := st.gl; {
	case tangent && gl.narrow != nil:
		backward1(st, gl.narrow)
	case tangent:
		backward1(st, gl.wide)
	case s.tails.fits(gl):
		s.tails.backward(&s.rows, st)
	case s.rows.fits(gl):
		s.rows.backward(st)
	case gl.narrow != nil:
		backward(st, gl.narrow)
	default:
		backward(st, gl.wide)
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
func (s *sweeper) backward(m *core, g *graph, w *whitening, j *job, z, z1 float64, scaled bool) bool {
	l := len(m.layers)
	s.beta, s.betaN = resize(s.beta, g.widest), resize(s.betaN, g.widest)
	clear(s.beta)
	clear(s.betaN)
	tan := j.tangent != noTangent && j.covariance != nil
	if tan {
		s.beta1, s.beta1N = resize(s.beta1, g.widest), resize(s.beta1N, g.widest)
		clear(s.beta1)
		clear(s.beta1N)
	}
	final := math.Inf(-1)
	for _, f := range m.final {
		if f != excluded {
			final = max(final, j.gamma*m.values[f])
		}
	}
	end := &g.layers[l]
	for i, c := range end.column {
		if m.final[c] == excluded {
			continue
		}
		x := m.values[m.final[c]]
		f := math.Exp(j.gamma*x - final)
		s.betaN[i] = f
		if tan && j.tangent == alongLoss {
			s.beta1N[i] = f * x
		}
	}
	if len(s.keep) > 0 {
		copy(s.keep[end.at:], s.betaN[:len(end.ctx)])
	}
	mean := z1 / z
	for t := l - 1; t >= 0; t-- {
		gl, next := &g.layers[t], &g.layers[t+1]
		if stopped(s.ctx) {
			return false
		}
		a := s.alpha[gl.at:next.at]
		s.x = resize(s.x, len(w.fold[t]))
		clear(s.x)
		st := step{gl: gl, p: dual{x: w.fold[t]}, w: dual{x: s.w}, v: dual{x: s.v}, alpha: dual{x: a}}
		st.beta.x, st.next.x, st.flow.x = s.beta, s.betaN, s.x
		if tan {
			s.x1 = resize(s.x1, len(s.x))
			clear(s.x1)
			st.alpha.d, st.beta.d, st.next.d, st.flow.d = s.alpha1[gl.at:next.at], s.beta1, s.beta1N, s.x1
			s.along(&st, w, j.tangent, t)
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
			n := len(gl.ctx)
			for i, b := range s.beta[:n] {
				zt += a[i] * b
			}
			if !(zt >= least) {
				return false
			}
		}
		if len(s.keep) > 0 {
			copy(s.keep[gl.at:], s.beta[:len(gl.ctx)])
		}
		s.collect(g, w, j, t, 1/zt, mean)
		s.beta, s.betaN = s.betaN, s.beta
		s.beta1, s.beta1N = s.beta1N, s.beta1
	}
	return true
}

// collect turns flows into the marginals and covariances of position t.
func (s *sweeper) collect(g *graph, w *whitening, j *job, t int, f, mean float64) {
	p := w.p[t]
	x, x1 := s.x, s.x1
	if w.order == 1 {
		// Flows are by class: all labels of a class share one.
		class := g.layers[t].classOf
		if j.marginals != nil {
			q := j.marginals[t]
			for d, k := range class {
				q[g.layers[t].perm[d]] = p[d] * x[k] * f
			}
		}
		if j.covariance != nil {
			c := j.covariance[t]
			for d, k := range class {
				v := mean
				if j.tangent == alongDirection {
					v -= w.v[t][d]
				}
				c[g.layers[t].perm[d]] = p[d] * f * (x1[k] - x[k]*v)
			}
		}
		return
	}
	if j.covariance != nil {
		if j.tangent == alongDirection {
			for i, y := range w.v[t] {
				x1[i] = p[i] * f * (x1[i] + x[i]*(y-mean))
			}
		} else {
			for i := range p {
				x1[i] = p[i] * f * (x1[i] - x[i]*mean)
			}
		}
		if g.plain {
			copy(j.covariance[t], x1)
		} else {
			restore(j.covariance[t], x1, g, t, w.order)
		}
	}
	if j.marginals != nil && g.plain {
		q := j.marginals[t][:len(p)]
		for i, y := range x[:len(p)] {
			q[i] = y * p[i] * f
		}
		return
	}
	if j.marginals != nil {
		for i := range p {
			x[i] *= p[i] * f
		}
		restore(j.marginals[t], x, g, t, w.order)
	}
}
