package optim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Smoothed finds saddle points of functions that are linear in λ,
//
//	φ(w, λ) = Σ_k λ_k L_k(w) + r(w),
//
// without a step size, on all examples: it minimises
//
//	F_τ(w) = max_λ φ(w, λ) - τ/2 |λ|²
//
// by L-BFGS for falling τ, each from the minimum of the last. The maximum is at the
// projection of L(w)/τ onto the set, whatever the set, and F_τ is within τ/2 of the
// maximum over any part of the simplex (Yu. Nesterov, "Smooth minimization of
// non-smooth functions", Math. Programming 103, 2005). Where its gradient vanishes,
// w minimises φ(·, λ) for that λ: both halves of the certificate come from one
// point.
//
// It is the reference that the steps of SaddlePoint are held against, and the
// quicker way where all examples fit into memory and φ is smooth in w, or nearly.
// A Euclidean Ball for w is a constraint c(w) = (|w|² - D²)/2 ≤ 0 with the multiplier ν
// of the augmented Lagrangian, F_τ + (max(0, ν + ρc)² - ν²)/2ρ (R. T. Rockafellar, J.
// Optimization Theory and Applications 12, 1973), whose ρ grows from round to round: at its
// minimum -∇F_τ points along w, so that the bound of the linearised problem over the ball
// is off by what is left across w alone. Of a Product's Box a round leaves alone the coordinates that
// are at their bound and would cross it. Any other set must be one whose constraints are not
// active. Points are projected before they are certified, and the certificate says what
// that cost.
type Smoothed struct {
	W, Lambda Set     // as in SaddlePoint
	Gap       float64 // stop at a gap of this times max(Least, |upper|); zero is 1e-4
	Least     float64 // zero is 1
	Absolute  bool    // Gap is meant as it is, not times max(Least, |upper|)
	Start     float64 // τ of the first round as a part of max L - min L at the start; zero is 0.1
	Factor    float64 // τ falls by this factor each round; zero is 0.2
	Inner     int     // L-BFGS steps of a round; zero is 200
	Workers   int     // for vector work; zero is 1
	Memory    int     // pairs of L-BFGS; zero is 20
	Single    bool    // which are kept in float32; see OWLQN
	// Scale, if not nil, preconditions L-BFGS: the root of the inverse of a guess at the
	// curvature along each coordinate of w (see Scaled).
	Scale []float64

	// Known, if its W is not nil, are bounds proved before: the run goes on from them.
	Known Certificate

	// Relaxed, if not nil, gives problems with a continuous gradient that never exceed
	// the problem, and are below it by at most the width: F_τ is then made of one whose
	// width is 20τ, then less, and the problem itself serves for Upper alone. L-BFGS needs
	// it where the problem has kinks. A relaxed problem that is Minorized proves more.
	Relaxed func(width float64) ConvexSaddle
}

// Solve runs from w0; an iteration is a round of one τ, by default at most 30; τ stays
// where it alone would leave an eighth of the gap asked for. The
// certificate is that of the best points met; W and Lambda are its points. Runs that
// reach no certificate at Gap end with IterationLimit.
//
// Where all curvatures are positive, and there are no kinks to relax and no W, every
// evaluation proves both bounds, for two passes over its gradient: rounds then end where
// what is left is the part of τ, and the run as soon as the gap is proved.
//
// When the problem is not convex there is no certificate, and the run ends with the
// last round.
func (m Smoothed) Solve(p Saddle, w0 []float64, c *Control) (*SaddleResult, error) {
	const solver = "smoothed"
	run := newRun(solver, c, 30)
	n, k := p.Dims()
	if m.Lambda == nil {
		m.Lambda = Simplex{}
	}
	for _, d := range []struct {
		v    *float64
		zero float64
	}{{&m.Gap, 1e-4}, {&m.Start, 0.1}, {&m.Factor, 0.2}} {
		if *d.v == 0 {
			*d.v = d.zero
		}
	}
	if m.Inner == 0 {
		m.Inner = 200
	}
	if !(m.Factor > 0 && m.Factor < 1) || !(m.Start > 0) || k < 1 {
		return nil, errors.New("optim: smoothed: Factor must be between 0 and 1, Start positive, and λ have coordinates")
	}
	if err := checkDim(solver, n, w0); err != nil {
		return nil, err
	}
	if m.Scale != nil && len(m.Scale) != n {
		return nil, fmt.Errorf("optim: smoothed: %d scales for %d coordinates", len(m.Scale), n)
	}
	convex, _ := p.(ConvexSaddle)
	if convex != nil && !convex.Curvature(make([]float64, n)) {
		convex = nil
	}
	inner := p
	within := func(c *Certificate) bool {
		if m.Absolute {
			return c.Gap() <= m.Gap
		}
		return c.within(m.Gap, m.Least)
	}
	size := func(v float64) float64 {
		if m.Absolute {
			return 1
		}
		return sizeOf(v, m.Least)
	}
	res := &SaddleResult{}
	if m.Known.W != nil && convex != nil {
		res.Certified, res.Certificate = true, m.Known
	}
	w := slices.Clone(w0)
	begin := 0
	if r := run.Resume; r != nil {
		if err := r.resume(solver, n); err != nil {
			return nil, err
		}
		copy(w, r.X)
		begin, run.evals, run.spent = r.Iteration, r.Evaluations, r.Seconds
	}
	if m.W != nil {
		m.W.Project(w)
	}
	values, lambda := make([]float64, k), make([]float64, k)
	for i := range lambda {
		lambda[i] = 1
	}
	m.Lambda.Project(lambda)
	v, err := inner.Eval(w, lambda, nil, values)
	if run.Resume == nil { // the run that goes on has counted it
		run.evals++
	}
	if err != nil {
		return nil, fmt.Errorf("optim: smoothed: %w", err)
	}
	if v-v != 0 || firstNotFinite(values) >= 0 {
		return nil, &DivergenceError{Solver: solver, Value: v, First: v, Norm: maxAbs(w), Err: ErrNotFinite}
	}
	// Objectives that agree at the start need not stay together: their size counts,
	// not only how far apart they are.
	tau := m.Start * math.Max(math.Max(slices.Max(values)-slices.Min(values), math.Abs(slices.Max(values))), 1e-3)
	if r := run.Resume; r != nil {
		tau = r.Scalars["tau"]
		if len(r.Arrays["lambda"]) != k || !(tau > 0) {
			return nil, errors.New("optim: smoothed: the checkpoint belongs to another problem")
		}
		copy(lambda, r.Arrays["lambda"])
		if u, l := r.Arrays["upperW"], r.Arrays["lowerLambda"]; len(u) == n && len(l) == k && n > 0 {
			res.Certified, res.Certificate = true, Certificate{r.Scalars["upper"], r.Scalars["lower"], u, l}
		}
	}
	round, stuck, unsettled, width := begin, 0, 0, 20*tau
	if r := run.Resume; r != nil {
		stuck, unsettled, width = int(r.Scalars["stuck"]), int(r.Scalars["unsettled"]), r.Scalars["width"]
		if last, ok := r.Scalars["value"]; ok {
			v = last // of what was relaxed, where something is
		}
	}
	f := &smoothed{set: m.Lambda, lambda: make([]float64, k), values: make([]float64, k), run: run}
	if b, ok := m.W.(Ball); ok && euclidean(b) {
		f.ball = &multiplier{radius: b.Radius}
		if r := run.Resume; r != nil {
			f.ball.nu, f.ball.rho = r.Scalars["nu"], r.Scalars["rho"]
			if !(f.ball.nu >= 0) || !(f.ball.rho > 0) {
				return nil, errors.New("optim: smoothed: the checkpoint belongs to another problem")
			}
		} else {
			// |∇φ|/D is of the size that ν has where the constraint holds.
			g := make([]float64, n)
			if _, err := inner.Eval(w, lambda, g, nil); err != nil {
				return nil, fmt.Errorf("optim: smoothed: %w", err)
			}
			run.evals++
			f.ball.rho = 10 * math.Max(math.Sqrt(dot(g, g))/b.Radius, 1e-6*size(v)/(b.Radius*b.Radius)) / (b.Radius * b.Radius)
		}
	}
	checkpoint := func() *Checkpoint {
		c := &Checkpoint{Solver: solver, Iteration: round, Evaluations: run.evals, Seconds: run.seconds(), X: slices.Clone(w),
			Scalars: map[string]float64{"tau": tau, "stuck": float64(stuck), "unsettled": float64(unsettled), "width": width}, Arrays: map[string][]float64{"lambda": slices.Clone(lambda)}}
		if v-v == 0 {
			c.Scalars["value"] = v
		}
		if f.ball != nil {
			c.Scalars["nu"], c.Scalars["rho"] = f.ball.nu, f.ball.rho
		}
		if res.Certified && !math.IsInf(res.Certificate.Lower, -1) {
			c.Scalars["upper"], c.Scalars["lower"] = res.Certificate.Upper, res.Certificate.Lower
			c.Arrays["upperW"], c.Arrays["lowerLambda"] = slices.Clone(res.Certificate.W), slices.Clone(res.Certificate.Lambda)
		}
		return c
	}
	finish := func(reason Reason, err error) (*SaddleResult, error) {
		res.LastW, res.LastLambda = slices.Clone(w), slices.Clone(lambda)
		res.W, res.Lambda = res.LastW, res.LastLambda
		if res.Certified {
			res.W, res.Lambda = res.Certificate.W, res.Certificate.Lambda
		}
		res.Value, res.Iterations, res.Evaluations, res.Reason = v, round, run.evals, reason
		return res, err
	}
	if convex != nil && m.W == nil && m.Relaxed == nil {
		mu := make([]float64, n)
		convex.Curvature(mu)
		if slices.Min(mu) > 0 {
			f.watch = &smoothedBounds{mu: mu, tol: func(upper float64) float64 { return m.Gap * size(upper) }}
			if res.Certified {
				f.watch.merge(res.Certificate)
			}
		}
	}
	memory := m.Memory
	if memory == 0 {
		memory = 20
	}
	for round < run.Stop.Iterations {
		f.tau = tau
		var below ConvexSaddle
		if m.Relaxed != nil {
			below = m.Relaxed(width)
			inner = below
		}
		f.p = inner
		copy(f.lambda, lambda)    // so that a round depends on what a checkpoint holds alone
		if run.Ctx.Err() == nil { // else the run that goes on does
			if err := f.hold(m.W, w); err != nil {
				return finish(Interrupted, err)
			}
			copy(f.lambda, lambda)
		}
		before := slices.Clone(w)
		var objective Objective = Func{n, f.eval}
		z := slices.Clone(w)
		if m.Scale != nil {
			objective = Scaled(objective, m.Scale, m.Workers)
			for j := range z {
				z[j] /= m.Scale[j]
			}
		}
		// A round need not be finished more finely than its τ.
		relative := math.Max(m.Gap*1e-4, 2e-2*tau/math.Max(1, math.Abs(v)))
		if f.watch != nil {
			relative = m.Gap * 1e-4 / math.Max(1, math.Abs(v)/size(v)) // the bounds tell better
			f.watch.begin()
		}
		r, err := OWLQN{Memory: memory, Single: m.Single, Workers: max(1, m.Workers)}.Minimize(objective, z, &Control{
			Ctx: run.Ctx, Recorder: f.live(round+1, res),
			Stop: Stop{Iterations: m.Inner, Evaluations: 3 * m.Inner, Relative: relative, Window: 20, Gradient: 1e-12},
		})
		proved := errors.Is(err, errProved)
		if proved {
			err = nil
		}
		if err != nil {
			if run.Ctx.Err() != nil {
				// The round will be run again from where it began.
				copy(w, before)
				err = fmt.Errorf("optim: smoothed: stopped after %d rounds: %w", round, context.Cause(run.Ctx))
				return finish(Interrupted, errors.Join(err, run.save(round, true, checkpoint)))
			}
			return finish(Interrupted, &DivergenceError{Solver: solver, Step: round + 1, Value: math.NaN(), Norm: maxAbs(w), Err: errors.Join(ErrNotFinite, err)})
		}
		if proved {
			copy(w, f.watch.at)
		} else {
			copy(w, r.X)
			for j := range m.Scale {
				w[j] *= m.Scale[j]
			}
		}
		if f.ball != nil {
			f.ball.update(w)
		}
		if m.W != nil {
			m.W.Project(w)
		}
		if v, err = inner.Eval(w, lambda, nil, f.values); err != nil {
			return finish(Interrupted, err)
		}
		f.best(lambda)
		run.evals++
		round++
		res.Steps += r.Iterations
		row := &SaddleRow{Values: slices.Clone(f.values), Lambda: slices.Clone(lambda), Mean: slices.Clone(lambda), Upper: math.Inf(1), Lower: math.Inf(-1)}
		if convex != nil {
			var c Certificate
			if f.watch != nil {
				c = f.watch.certificate()
			} else {
				var e int
				c, e, err = certify(convex, w, lambda, m.W, m.Lambda, &CertifyOptions{Relaxed: below, Scale: m.Scale, Enough: m.Gap, Least: m.Least})
				run.evals += e
				if err != nil {
					return finish(Interrupted, err)
				}
			}
			before := math.Inf(1)
			if res.Certified {
				before = res.Certificate.Gap()
			}
			res.Certificate.merge(c)
			res.Certified = true
			if stuck++; res.Certificate.Gap() < 0.9*before {
				stuck = 0
			}
			row.Upper, row.Lower = res.Certificate.Upper, res.Certificate.Lower
		}
		if run.Recorder != nil {
			if err := run.Recorder.Record(Row{Iteration: round, Objective: dot(lambda, f.values), Step: tau, Evaluations: run.evals, Seconds: run.seconds(), Saddle: row}); err != nil {
				return finish(Interrupted, fmt.Errorf("optim: smoothed: recorder: %w", err))
			}
		}
		if res.Certified && within(&res.Certificate) {
			return finish(GapSmall, nil)
		}
		// Which coordinates are left alone has to settle first: at a smaller τ rounds take longer.
		if held := f.held; walled(m.W) && unsettled < mostUnsettled {
			if err := f.hold(m.W, w); err != nil {
				return finish(Interrupted, err)
			}
			if !slices.Equal(held, f.held) {
				unsettled++
				if err := run.save(round, false, checkpoint); err != nil {
					return finish(Interrupted, err)
				}
				continue
			}
		}
		unsettled = 0
		floor := m.Gap / 8 * size(math.Max(0, slices.Max(f.values)))
		if tau <= floor && (convex == nil || stuck >= 3) {
			return finish(NoProgress, nil)
		}
		if tau <= floor {
			width /= 2
		} else {
			tau = math.Max(tau*m.Factor, floor)
			width = 20 * tau
		}
		if err := run.save(round, false, checkpoint); err != nil {
			return finish(Interrupted, err)
		}
		if t := run.Stop.Time; t > 0 && run.seconds() >= t.Seconds() {
			return finish(TimeLimit, nil)
		}
	}
	return finish(IterationLimit, nil)
}

// smoothed is F_τ.
type smoothed struct {
	p              Saddle
	set            Set
	tau            float64
	lambda, values []float64
	run            *run
	watch          *smoothedBounds // nil: evaluations prove nothing
	ball           *multiplier     // nil: there is no ball
	held           []int           // coordinates that a round leaves alone
}

// multiplier is the constraint |w| ≤ radius.
type multiplier struct{ radius, nu, rho float64 }

// add returns what the constraint adds at w, and adds its gradient.
func (b *multiplier) add(w, grad []float64) float64 {
	t := math.Max(0, b.nu+b.rho*b.excess(w))
	if grad != nil && t > 0 {
		for j, v := range w {
			grad[j] += t * v
		}
	}
	return (t*t - b.nu*b.nu) / (2 * b.rho)
}

func (b *multiplier) excess(w []float64) float64 { return (dot(w, w) - b.radius*b.radius) / 2 }

// update ends a round at w. The factor is one that L-BFGS copes with: ρ is the curvature
// along w, and nothing else.
func (b *multiplier) update(w []float64) {
	b.nu = math.Max(0, b.nu+b.rho*b.excess(w))
	if far := math.Abs(b.excess(w)); far > 1e-9*b.radius*b.radius && b.nu > 0 {
		b.rho *= 4
	}
}

// errProved ends a round whose bounds are as close as it can bring them.
var errProved = errors.New("proved")

// smoothedBounds are the bounds of Certify at every evaluation, of a problem that is
// strongly convex in w along every coordinate, w anywhere.
type smoothedBounds struct {
	mu      []float64
	tol     func(upper float64) float64
	best    Certificate
	at      []float64 // where the round ended
	running bool      // the first evaluation of a round is where the last ended
}

func (b *smoothedBounds) begin() { b.running = false }

func (b *smoothedBounds) merge(c Certificate) {
	b.best = Certificate{Upper: c.Upper, Lower: c.Lower, W: slices.Clone(c.W), Lambda: slices.Clone(c.Lambda)}
}

func (b *smoothedBounds) certificate() Certificate {
	return Certificate{Upper: b.best.Upper, Lower: b.best.Lower, W: slices.Clone(b.best.W), Lambda: slices.Clone(b.best.Lambda)}
}

// add takes note of φ(w, λ), its gradient along w, and max φ(w, ·). It returns errProved
// when the gap is proved, or when of the gap here what is due to w is a quarter of what is
// due to λ, which only a smaller τ can mend.
func (b *smoothedBounds) add(w, lambda, grad []float64, v, upper float64) error {
	rest := 0.0 // drop(nil, w, grad, b.mu), in half the time
	for j, g := range grad {
		rest += g * g / b.mu[j]
	}
	rest /= 2
	if b.best.W == nil || upper < b.best.Upper {
		b.best.Upper = upper
		b.best.W = append(b.best.W[:0], w...)
	}
	if b.best.Lambda == nil || v-rest > b.best.Lower {
		b.best.Lower = v - rest
		b.best.Lambda = append(b.best.Lambda[:0], lambda...)
	}
	first := !b.running
	b.running = true
	tol := b.tol(upper)
	if b.best.Gap() <= b.tol(b.best.Upper) || !first && upper-v > tol/2 && rest <= math.Max(upper-v, tol)/4 {
		b.at = append(b.at[:0], w...)
		return errProved
	}
	return nil
}

// mostUnsettled bounds the rounds in a row at the same τ.
const mostUnsettled = 4

// hold stores the coordinates that a round from w is to leave alone.
func (f *smoothed) hold(set Set, w []float64) error {
	if f.held = nil; !walled(set) {
		return nil
	}
	g := make([]float64, len(w))
	if _, err := f.eval(w, g); err != nil {
		return err
	}
	f.held = wallsAt(set, w, g)
	return nil
}

// live returns a recorder of the steps of a round for run.Live, or nil. res has the bounds
// of the rounds before.
func (f *smoothed) live(round int, res *SaddleResult) Recorder {
	if f.run.Live == nil {
		return nil
	}
	return RecorderFunc(func(r Row) error {
		s := &SaddleRow{Values: slices.Clone(f.values), Lambda: slices.Clone(f.lambda), Mean: slices.Clone(f.lambda), Upper: math.Inf(1), Lower: math.Inf(-1)}
		switch {
		case f.watch != nil && f.watch.best.W != nil:
			s.Upper, s.Lower = f.watch.best.Upper, f.watch.best.Lower
		case res.Certified:
			s.Upper, s.Lower = res.Certificate.Upper, res.Certificate.Lower
		}
		return f.run.Live.Record(Row{Iteration: round, Objective: r.Objective, GradNorm: r.GradNorm, Step: f.tau, Evaluations: f.run.evals, Seconds: f.run.seconds(), Saddle: s})
	})
}

// best stores the λ that attains the maximum for the values.
func (f *smoothed) best(lambda []float64) {
	for k, v := range f.values {
		lambda[k] = v / f.tau
	}
	// Only differences matter on the simplex, and large numbers lose them.
	if _, ok := f.set.(Simplex); ok {
		most := slices.Max(lambda)
		for k := range lambda {
			lambda[k] -= most
		}
	}
	f.set.Project(lambda)
}

func (f *smoothed) eval(w, grad []float64) (float64, error) {
	// The values do not depend on λ; a problem that remembers its last w does not
	// pay twice.
	base, err := f.p.Eval(w, f.lambda, nil, f.values)
	if err != nil {
		return base, err
	}
	base -= dot(f.lambda, f.values) // r(w)
	f.best(f.lambda)
	f.run.evals++
	if grad != nil {
		if _, err := f.p.Eval(w, f.lambda, grad, f.values); err != nil {
			return base, err
		}
		if f.watch != nil {
			if err := f.watch.add(w, f.lambda, grad, base+dot(f.lambda, f.values), base+maximize(f.set, f.values, nil)); err != nil {
				return base, err
			}
		}
	}
	if f.ball != nil {
		base += f.ball.add(w, grad)
	}
	if grad != nil {
		leave(f.held, grad)
	}
	return base + dot(f.lambda, f.values) - f.tau/2*dot(f.lambda, f.lambda), nil
}
