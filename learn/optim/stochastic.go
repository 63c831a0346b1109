package optim

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/learn/run"
)

// Method is a rule that turns minibatch gradients into steps; the zero value is SGD.
type Method string

const (
	SGD     Method = ""        // rate/(1+Decay·t) for all coordinates (H. Robbins and S. Monro, 1951)
	AdaGrad Method = "AdaGrad" // rate/(1e-8+√Σg²) for each coordinate (J. Duchi, E. Hazan and Y. Singer, JMLR 12, 2011)
	Adam    Method = "Adam"    // moments with decay 0.9 and 0.999 (D. Kingma and J. Ba, ICLR 2015)
)

func (m Method) String() string { return cmp.Or(string(m), "SGD") }

// Known reports whether the method is one of those above.
func (m Method) Known() bool { return m == SGD || m == AdaGrad || m == Adam }

// Stochastic minimises Σ_i f_i(x) + L2/2 |x|² + L1 Σ|x_j| by steps on minibatches drawn without
// replacement in passes over the terms. Steps follow the mean gradient of the minibatch, and the
// penalties divided by the number of terms. The rate therefore does not depend on the number of
// examples.
//
// The penalties act as proximal steps: weights become exactly zero under L1. For Supported terms
// they are applied to a coordinate when it is next read, in closed form for all the steps in
// between. A step then costs only the coordinates that its minibatch touches. Adam then does not
// update the moments of untouched coordinates.
//
// Runs are determined by Seed, for any number of workers. A run resumed from a checkpoint continues
// exactly as if it had not been interrupted.
//
// In rows and Result, Objective is the sum of the minibatch values met during the pass, plus the
// penalties at its end. GradNorm is zero. Exact values would take a further pass. With a constant
// rate these values may never settle within Stop.Relative: the run then ends at its limit of
// passes, and has not converged. One whose values rise has diverged.
type Stochastic struct {
	Method  Method
	Rate    float64 // zero is 0.1 for SGD and AdaGrad, 0.001 for Adam
	Decay   float64 // SGD only, a step of one minibatch; zero is 1/(minibatches of a pass)
	Batch   int     // terms of a minibatch; zero is 1
	L1, L2  float64
	Seed    uint64
	Workers int // goroutines for a minibatch; zero is 1
	Set     Set // if not nil, every step ends with a projection of the whole vector onto it
}

// Minimize runs from x0, which it keeps intact. By default it makes 50 passes;
// Stop.Gradient is not used.
func (m Stochastic) Minimize(t Terms, x0 []float64, c *run.Control) (*Result, error) {
	solver := m.Method.String()
	r := begin(solver, c, 50)
	r.Examples = t.Len()
	s := &stochastic{Stochastic: m, run: r, terms: t, dim: t.Dim(), n: t.Len()}
	if s.Batch == 0 {
		s.Batch = 1
	}
	if s.Rate == 0 {
		s.Rate = 0.1
		if m.Method == Adam {
			s.Rate = 0.001
		}
	}
	if s.Decay == 0 && m.Method == SGD {
		s.Decay = float64(s.Batch) / float64(max(1, s.n))
	}
	if !m.Method.Known() {
		return nil, fmt.Errorf("optim: Stochastic: unknown method %v", m.Method)
	}
	if !nonNegative(s.Rate, s.Decay, m.L1, m.L2) || m.Batch < 0 {
		return nil, fmt.Errorf("optim: %s: Rate %v, Decay %v, L1 %v, L2 %v, Batch %d: none may be negative, infinite or NaN", solver, s.Rate, s.Decay, m.L1, m.L2, m.Batch)
	}
	if s.n == 0 {
		return nil, errors.New("optim: Stochastic: no terms")
	}
	if err := s.start(x0); err != nil {
		return nil, err
	}
	return s.minimize()
}

type stochastic struct {
	Stochastic
	run     *solving
	terms   Terms
	support Supported
	workers []Worker
	logs    []*gradientLog
	values  []float64
	dim, n  int

	x    []float64
	a, b []float64 // AdaGrad: a = Σg²; Adam: a, b = first and second moment
	// What the penalties did to a coordinate since it was last read. With SGD's common rate, the
	// steps in between took |x| to shrink·(|x|/shrinkAt - (slack-slackAt)). AdaGrad and Adam have a
	// rate for each coordinate, which stays as it was when last touched. The penalties use the same
	// rates as the gradient; otherwise the minimum would move, as with Adam's decoupled weight
	// decay.
	shrinkAt, slackAt []float64 // SGD
	shrink, slack     float64   // SGD
	stepAt, rateAt    []float64 // AdaGrad, Adam

	watch   *watching
	grad    []float64
	stamp   []int64 // step at which the coordinate was last touched
	touched []int32

	pass, position int     // passes finished; terms of the current pass that are done
	step           int     // steps taken
	partial        float64 // values of the current pass so far
}

func (s *stochastic) start(x0 []float64) error {
	solver := s.run.Name
	s.support, _ = s.terms.(Supported)
	if s.Set != nil {
		s.support = nil
	}
	s.shrink = 1
	arrays := []string{"shrinkAt", "slackAt"}
	if s.Method != SGD {
		arrays = []string{"a", "stepAt", "rateAt"}
	}
	if s.Method == Adam {
		arrays = append(arrays, "b")
	}
	k, err := s.run.resume(s.dim, arrays...)
	if err != nil {
		return err
	}
	if k != nil {
		x0 = k.X
		s.a, s.b = slices.Clone(k.Arrays["a"]), slices.Clone(k.Arrays["b"])
		s.shrinkAt, s.slackAt = slices.Clone(k.Arrays["shrinkAt"]), slices.Clone(k.Arrays["slackAt"])
		s.stepAt, s.rateAt = slices.Clone(k.Arrays["stepAt"]), slices.Clone(k.Arrays["rateAt"])
		t := &s.run.Trend
		t.History = slices.Clone(k.Arrays["history"])
		if k.Iteration > 0 {
			t.First, t.Best = k.Scalars["first"], k.Scalars["best"]
		}
		s.shrink, s.slack, s.partial = k.Scalars["shrink"], k.Scalars["slack"], k.Scalars["partial"]
		s.pass, s.position, s.step = k.Iteration, int(k.Scalars["position"]), int(k.Scalars["step"])
		for _, x := range []struct {
			name string
			have float64
		}{{"seed", float64(s.Seed)}, {"batch", float64(s.Batch)}, {"terms", float64(s.n)}} {
			if k.Scalars[x.name] != x.have {
				return fmt.Errorf("optim: %s: the checkpoint was written with %s %v, this run has %v", solver, x.name, k.Scalars[x.name], x.have)
			}
		}
		if s.position < 0 || s.position >= s.n || s.step < 0 || !(s.shrink > 0) {
			return fmt.Errorf("optim: %s: the checkpoint's position %d of %d terms is impossible", solver, s.position, s.n)
		}
	}
	if err := CheckStart(solver, s.dim, x0); err != nil {
		return err
	}
	s.x = slices.Clone(x0)
	s.watch = watch(s.terms, k)
	if s.a == nil && s.Method != SGD {
		s.a = make([]float64, s.dim)
	}
	if s.b == nil && s.Method == Adam {
		s.b = make([]float64, s.dim)
	}
	switch {
	case s.Method == SGD && s.shrinkAt == nil:
		s.shrinkAt, s.slackAt = make([]float64, s.dim), make([]float64, s.dim)
		s.mark()
	case s.Method != SGD && s.stepAt == nil:
		s.stepAt, s.rateAt = make([]float64, s.dim), make([]float64, s.dim)
	}
	s.grad = make([]float64, s.dim)
	s.stamp = make([]int64, s.dim)
	workers := max(1, min(s.Workers, s.Batch))
	for range workers {
		s.workers = append(s.workers, s.terms.Worker())
	}
	for range s.Batch {
		s.logs = append(s.logs, newGradientLog(s.dim))
	}
	s.values = make([]float64, s.Batch)
	return nil
}

// mark notes that all coordinates are up to date.
func (s *stochastic) mark() {
	for j := range s.stepAt {
		s.stepAt[j] = float64(s.step)
	}
	s.shrink, s.slack = 1, 0
	for j := range s.shrinkAt {
		s.shrinkAt[j], s.slackAt[j] = 1, 0
	}
}

func (s *stochastic) penalised() bool { return s.L1 > 0 || s.L2 > 0 }

// flush brings all coordinates up to date.
func (s *stochastic) flush() {
	if !s.penalised() {
		return
	}
	for j := range s.x {
		s.catchUp(j)
	}
	s.mark()
}

// catchUp applies to coordinate j the penalties of the steps since it was last read.
func (s *stochastic) catchUp(j int) {
	x := math.Abs(s.x[j])
	if s.Method != SGD {
		steps := float64(s.step) - s.stepAt[j]
		s.stepAt[j] = float64(s.step)
		if steps == 0 || x == 0 || s.rateAt[j] == 0 { // never touched: it has no rate yet
			return
		}
		eta := s.rateAt[j] / float64(s.n)
		r := 1 / (1 + eta*s.L2)
		power, series := math.Pow(r, steps), steps // series = Σ_{i=1..steps} r^i
		if r < 1 {
			series = r * (1 - power) / (1 - r)
		}
		x = x*power - eta*s.L1*series
	} else {
		if s.shrinkAt[j] == s.shrink && s.slackAt[j] == s.slack {
			return
		}
		x = s.shrink * (x/s.shrinkAt[j] - (s.slack - s.slackAt[j]))
		s.shrinkAt[j], s.slackAt[j] = s.shrink, s.slack
	}
	s.x[j] = math.Copysign(math.Max(x, 0), s.x[j])
}

func (s *stochastic) rate() float64 {
	if s.Method == SGD {
		return s.Rate / (1 + s.Decay*float64(s.step))
	}
	return s.Rate
}

func (s *stochastic) minimize() (*Result, error) {
	result := func(reason run.Reason, err error) (*Result, error) {
		x := slices.Clone(s.x)
		if err == nil {
			s.flush()
			x = s.x
		}
		x, note := s.watch.point(s.run, x)
		f := math.NaN()
		if h := s.run.Trend.History; len(h) > 0 {
			f = h[len(h)-1]
		}
		return &Result{X: x, F: f, Iterations: s.pass, Evaluations: s.run.Evaluations, Reason: reason, Note: note},
			err
	}
	for {
		order := rand.New(rand.NewPCG(s.Seed, uint64(s.pass))).Perm(s.n)
		for s.position < s.n {
			if s.run.Ctx.Err() != nil {
				return result(run.Interrupted, s.run.ended(s.run.cancelled(), s.checkpoint))
			}
			batch := order[s.position:min(s.n, s.position+s.Batch)]
			if err := s.minibatch(batch); err != nil {
				if s.run.Ctx.Err() != nil { // it took no step: the run can go on before it
					return result(run.Interrupted, s.run.ended(s.run.cancelled(), s.checkpoint))
				}
				return result(run.Interrupted, fmt.Errorf("optim: %s: pass %d: %w", s.run.Name, s.pass+1, err))
			}
			s.position += len(batch)
		}
		s.flush()
		f := s.partial
		if s.penalised() {
			for _, w := range s.x {
				f += s.L2/2*w*w + s.L1*math.Abs(w)
			}
		}
		s.pass++
		s.run.Evaluations++
		s.position, s.partial = 0, 0
		if err := s.watch.judge(s.run, s.pass, s.x); err != nil {
			return result(run.Interrupted, err)
		}
		reason, err := s.run.step(s.pass, f, -1, s.rate())
		if err == nil && reason == "" {
			err = s.run.save(false, s.checkpoint)
		} else {
			err = s.run.ended(err, s.checkpoint)
		}
		if err != nil {
			return result(run.Interrupted, err)
		}
		if reason != "" {
			return result(reason, nil)
		}
	}
}

func (s *stochastic) minibatch(batch []int) error {
	if s.penalised() {
		if s.support == nil {
			s.flush()
		} else {
			for _, i := range batch {
				s.support.Support(i, func(at, n int) {
					for j := at; j < at+n; j++ {
						s.catchUp(j)
					}
				})
			}
		}
	}
	err := run.Each(len(s.workers), len(batch), func(w, k int) error {
		s.logs[k].reset()
		v, err := s.workers[w].Eval(batch[k], s.x, &Gradient{log: s.logs[k]})
		if err != nil {
			return fmt.Errorf("example %d: %w", batch[k]+1, err)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("example %d: value %v: %w", batch[k]+1, v, ErrNotFinite)
		}
		s.values[k] = v
		return nil
	})
	if err != nil {
		return err
	}
	s.step++
	s.touched = s.touched[:0]
	for k := range batch {
		s.partial += s.values[k]
		s.gather(s.logs[k])
	}
	inv := 1 / float64(len(batch))
	for _, j32 := range s.touched {
		j := int(j32)
		g := s.grad[j] * inv
		s.grad[j] = 0
		if g-g != 0 {
			return fmt.Errorf("gradient[%d] is %v: %w", j, g, ErrNotFinite)
		}
		switch s.Method {
		case SGD:
			s.x[j] -= s.rate() * g
		case AdaGrad:
			s.a[j] += g * g
			s.rateAt[j] = s.Rate / (1e-8 + math.Sqrt(s.a[j]))
			s.x[j] -= s.rateAt[j] * g
		case Adam:
			s.a[j] += 0.1 * (g - s.a[j])
			s.b[j] += 0.001 * (g*g - s.b[j])
			t := float64(s.step)
			first, second := s.a[j]/(1-math.Pow(0.9, t)), s.b[j]/(1-math.Pow(0.999, t))
			s.rateAt[j] = s.Rate / (1e-8 + math.Sqrt(second))
			s.x[j] -= s.rateAt[j] * first
		}
	}
	if s.penalised() && s.Method == SGD {
		// One more step for all coordinates: |x| to r(|x|-a), never below zero.
		eta := s.rate() / float64(s.n)
		s.slack += eta * s.L1 / s.shrink
		s.shrink /= 1 + eta*s.L2
		if s.shrink < 1e-100 {
			s.flush()
		}
	}
	if s.Set != nil {
		s.flush()
		s.Set.Project(s.x)
	}
	return nil
}

// gather adds a log to grad and notes the coordinates it touches.
func (s *stochastic) gather(l *gradientLog) {
	for part := range l.parts {
		for _, r := range l.parts[part].runs {
			for j := r.at; j < r.at+r.n; j++ {
				if s.stamp[j] != int64(s.step) {
					s.stamp[j] = int64(s.step)
					s.touched = append(s.touched, int32(j))
				}
			}
		}
		l.replay(part, s.grad)
	}
}

func (s *stochastic) checkpoint() *run.Checkpoint {
	k := &run.Checkpoint{ // X between two catch-ups, as shrinkAt and the others have it
		X: slices.Clone(s.x),
		Scalars: map[string]float64{
			"shrink": s.shrink, "slack": s.slack, "partial": s.partial, "position": float64(s.position), "step": float64(s.step),
			"seed": float64(s.Seed), "batch": float64(s.Batch), "terms": float64(s.n),
		},
		Arrays: map[string][]float64{},
	}
	if s.pass > 0 {
		k.Scalars["first"], k.Scalars["best"] = s.run.Trend.First, s.run.Trend.Best
	}
	for name, v := range map[string][]float64{
		"shrinkAt": s.shrinkAt, "slackAt": s.slackAt, "stepAt": s.stepAt, "rateAt": s.rateAt,
		"a": s.a, "b": s.b, "history": s.run.Trend.History,
	} {
		if v != nil {
			k.Arrays[name] = slices.Clone(v)
		}
	}
	return s.watch.keep(k)
}
