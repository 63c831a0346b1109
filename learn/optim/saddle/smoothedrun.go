package saddle

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

const smoothedSolver = "smoothed"

// errOtherProblem says that a checkpoint's arrays and scalars do not fit.
var errOtherProblem = errors.New("saddle: smoothed: the checkpoint belongs to another problem")

// smoothedRun is a run of Smoothed: what a checkpoint holds, and what the rounds share.
type smoothedRun struct {
	Smoothed
	run    *run.Run
	p      Problem // what the rounds minimise: the problem, or the last that is relaxed
	convex Convex  // the problem, if it is convex: rounds are certified
	f      *smoothed
	res    *Result

	w, lambda  []float64
	v          float64 // φ(w, λ) of what was minimised last
	tau, width float64
	round      int
	stuck      int // rounds since the gap fell by a tenth
	unsettled  int // rounds in a row at the same τ
}

// start evaluates the problem where the run begins or goes on.
func (m Smoothed) start(p Problem, w0 []float64, c *run.Control) (*smoothedRun, error) {
	n, k := p.Dims()
	m, err := m.withDefaults(n, k)
	if err != nil {
		return nil, err
	}
	if err := optim.CheckStart(smoothedSolver, n, w0); err != nil {
		return nil, err
	}
	s := &smoothedRun{Smoothed: m, run: run.Begin(smoothedSolver, c, 30), p: p, res: &Result{},
		w: slices.Clone(w0), lambda: make([]float64, k)}
	s.f = &smoothed{set: m.Lambda, lambda: make([]float64, k), values: make([]float64, k), run: s.run}
	mu := make([]float64, n)
	if convex, ok := p.(Convex); ok && convex.Curvature(mu) {
		s.convex = convex
		if m.Known.W != nil {
			s.res.Certified, s.res.Certificate = true, m.Known
		}
	}
	resumed, err := s.run.Point(n)
	if err != nil {
		return nil, err
	}
	if resumed != nil {
		copy(s.w, resumed.X)
		s.round = resumed.Iteration
	}
	if m.W != nil {
		m.W.Project(s.w)
	}
	for i := range s.lambda {
		s.lambda[i] = 1
	}
	m.Lambda.Project(s.lambda)
	values := make([]float64, k)
	if s.v, err = p.Eval(s.w, s.lambda, nil, values); err != nil {
		return nil, fmt.Errorf("saddle: smoothed: %w", err)
	}
	if s.v-s.v != 0 || optim.FirstNotFinite(values) >= 0 {
		return nil, &DivergenceError{Solver: smoothedSolver, Value: s.v, First: s.v, Norm: optim.MaxAbs(s.w),
			Err: optim.ErrNotFinite}
	}
	ball, constrained := m.W.(optim.Ball)
	if constrained = constrained && euclidean(ball); constrained {
		s.f.ball = &multiplier{radius: ball.Radius}
	}
	if resumed != nil {
		err = s.restore(resumed)
	} else {
		s.run.Evaluations++ // a run that goes on has counted it
		// Objectives that agree at the start need not stay together: their size counts,
		// not only how far apart they are.
		s.tau = m.Start * math.Max(math.Max(slices.Max(values)-slices.Min(values), math.Abs(slices.Max(values))),
			1e-3)
		s.width = 20 * s.tau
		if constrained {
			err = s.guessPenalty()
		}
	}
	if err != nil {
		return nil, err
	}
	if s.convex != nil && m.W == nil && m.Relaxed == nil && slices.Min(mu) > 0 {
		s.f.watch = &smoothedBounds{mu: mu, tol: func(upper float64) float64 { return m.Gap * s.size(upper) }}
		if s.res.Certified {
			s.f.watch.merge(s.res.Certificate)
		}
	}
	return s, nil
}

// restore takes up what checkpoint has stored; w is there already.
func (s *smoothedRun) restore(r *run.Checkpoint) error {
	s.tau = r.Scalars["tau"]
	if len(r.Arrays["lambda"]) != len(s.lambda) || !(s.tau > 0) {
		return errOtherProblem
	}
	copy(s.lambda, r.Arrays["lambda"])
	if best := restored(r, len(s.w), len(s.lambda)); best.W != nil && best.Lambda != nil {
		s.res.Certified, s.res.Certificate = true, best
	}
	s.stuck, s.unsettled, s.width = int(r.Scalars["stuck"]), int(r.Scalars["unsettled"]), r.Scalars["width"]
	if last, ok := r.Scalars["value"]; ok {
		s.v = last // of what was relaxed, where something is
	}
	if b := s.f.ball; b != nil {
		b.nu, b.rho = r.Scalars["nu"], r.Scalars["rho"]
		if !(b.nu >= 0) || !(b.rho > 0) {
			return errOtherProblem
		}
	}
	return nil
}

func (s *smoothedRun) checkpoint() (*run.Checkpoint, error) {
	c := &run.Checkpoint{X: slices.Clone(s.w),
		Scalars: map[string]float64{"tau": s.tau, "stuck": float64(s.stuck), "unsettled": float64(s.unsettled),
			"width": s.width}, Arrays: map[string][]float64{"lambda": slices.Clone(s.lambda)}}
	if s.v-s.v == 0 {
		c.Scalars["value"] = s.v
	}
	if b := s.f.ball; b != nil {
		c.Scalars["nu"], c.Scalars["rho"] = b.nu, b.rho
	}
	s.res.Certificate.save(c)
	return c, nil
}

// guessPenalty sets ρ of the ball: |∇φ|/D is of the size that ν has where the constraint
// holds.
func (s *smoothedRun) guessPenalty() error {
	g := make([]float64, len(s.w))
	if _, err := s.p.Eval(s.w, s.lambda, g, nil); err != nil {
		return fmt.Errorf("saddle: smoothed: %w", err)
	}
	s.run.Evaluations++
	square := s.f.ball.radius * s.f.ball.radius
	s.f.ball.rho = 10 * math.Max(math.Sqrt(dot(g, g))/s.f.ball.radius, 1e-6*s.size(s.v)/square) / square
	return nil
}

// within reports whether the gap is the one asked for.
func (s *smoothedRun) within(c *Certificate) bool {
	if s.Absolute {
		return c.Gap() <= s.Gap
	}
	return c.within(s.Gap, s.Least)
}

// size is what the gap asked for is a part of, where the objective is v.
func (s *smoothedRun) size(v float64) float64 {
	if s.Absolute {
		return 1
	}
	return sizeOf(v, s.Least)
}

// relax sets what the round minimises. It returns the relaxed problem, nil if there is
// none.
func (s *smoothedRun) relax() Convex {
	var below Convex
	if s.Relaxed != nil {
		below = s.Relaxed(s.width)
		s.p = below
	}
	s.f.p, s.f.tau = s.p, s.tau
	return below
}

// leaveWalls sets the coordinates that the round leaves alone.
func (s *smoothedRun) leaveWalls() error {
	copy(s.f.lambda, s.lambda) // so that a round depends on what a checkpoint holds alone
	if s.run.Ctx.Err() != nil {
		return nil // the run that goes on does
	}
	err := s.f.hold(s.W, s.w)
	copy(s.f.lambda, s.lambda)
	return err
}

// descend moves w to the minimum of F_τ, by one run of L-BFGS.
func (s *smoothedRun) descend() error {
	var objective optim.Objective = optim.Func{N: len(s.w), F: s.f.eval}
	z := slices.Clone(s.w)
	if s.Scale != nil {
		objective = optim.Scaled(objective, s.Scale, s.Workers)
		for j := range z {
			z[j] /= s.Scale[j]
		}
	}
	// A round need not be finished more finely than its τ.
	relative := math.Max(s.Gap*1e-4, 2e-2*s.tau/math.Max(1, math.Abs(s.v)))
	if s.f.watch != nil {
		relative = s.Gap * 1e-4 / math.Max(1, math.Abs(s.v)/s.size(s.v)) // the bounds tell better
		s.f.watch.begin()
	}
	r, err := optim.OWLQN{Memory: s.Memory, Single: s.Single, Workers: max(1, s.Workers)}.Minimize(
		objective, z, &run.Control{
			Ctx: s.run.Ctx, Recorder: s.f.live(s.round+1, s.res),
			Stop: run.Stop{Iterations: s.Inner, Evaluations: 3 * s.Inner, Relative: relative, Window: 20,
				Gradient: 1e-12},
		})
	switch {
	case errors.Is(err, errProved):
		copy(s.w, s.f.watch.at)
	case err != nil:
		return err
	default:
		copy(s.w, r.X)
		for j := range s.Scale {
			s.w[j] *= s.Scale[j]
		}
	}
	s.res.Steps += r.Iterations
	if s.f.ball != nil {
		s.f.ball.update(s.w)
	}
	if s.W != nil {
		s.W.Project(s.w)
	}
	return nil
}

// abandon returns the error of a round that began at before and failed.
func (s *smoothedRun) abandon(before []float64, err error) error {
	if s.run.Ctx.Err() == nil {
		return &DivergenceError{Solver: smoothedSolver, Step: s.round + 1, Value: math.NaN(),
			Norm: optim.MaxAbs(s.w), Err: errors.Join(optim.ErrNotFinite, err)}
	}
	copy(s.w, before) // the round will be run again from there
	return err
}

// measure evaluates and certifies where the round ended.
func (s *smoothedRun) measure(below Convex) (*Row, error) {
	var err error
	if s.v, err = s.p.Eval(s.w, s.lambda, nil, s.f.values); err != nil {
		return nil, err
	}
	s.f.best(s.lambda)
	s.run.Evaluations++
	s.round++
	row := &Row{Values: slices.Clone(s.f.values), Lambda: slices.Clone(s.lambda), Mean: slices.Clone(s.lambda),
		Upper: math.Inf(1), Lower: math.Inf(-1)}
	if s.convex == nil {
		return row, nil
	}
	var c Certificate
	if s.f.watch != nil {
		c = s.f.watch.certificate()
	} else {
		var evals int
		c, evals, err = certify(s.convex, s.w, s.lambda, s.W, s.Smoothed.Lambda,
			&CertifyOptions{Relaxed: below, Scale: s.Scale, Enough: s.Gap, Least: s.Least})
		s.run.Evaluations += evals
		if err != nil {
			return nil, err
		}
	}
	gap := math.Inf(1)
	if s.res.Certified {
		gap = s.res.Certificate.Gap()
	}
	s.res.Certificate.merge(c)
	s.res.Certified = true
	if s.stuck++; s.res.Certificate.Gap() < 0.9*gap {
		s.stuck = 0
	}
	row.Upper, row.Lower = s.res.Certificate.Upper, s.res.Certificate.Lower
	return row, nil
}

// unsettledWalls reports whether another round at the same τ is due. The set of coordinates at
// walls must settle first, since at a smaller τ rounds take longer.
func (s *smoothedRun) unsettledWalls() (bool, error) {
	if !walled(s.W) || s.unsettled >= mostUnsettled {
		s.unsettled = 0
		return false, nil
	}
	held := s.f.held
	if err := s.f.hold(s.W, s.w); err != nil {
		return false, err
	}
	if slices.Equal(held, s.f.held) {
		s.unsettled = 0
		return false, nil
	}
	s.unsettled++
	return true, nil
}

// lower sets τ and the width of the next round. It returns false where neither would bring
// the gap any closer.
func (s *smoothedRun) lower() bool {
	floor := s.Gap / 8 * s.size(math.Max(0, slices.Max(s.f.values)))
	switch {
	case s.tau > floor:
		s.tau = math.Max(s.tau*s.Factor, floor)
		s.width = 20 * s.tau
	case s.convex == nil || s.stuck >= 3:
		return false
	default:
		s.width /= 2
	}
	return true
}

func (s *smoothedRun) finish(reason run.Reason, err error) (*Result, error) {
	res := s.res
	res.LastW, res.LastLambda = slices.Clone(s.w), slices.Clone(s.lambda)
	res.W, res.Lambda = res.LastW, res.LastLambda
	if res.Certified {
		res.W, res.Lambda = res.Certificate.W, res.Certificate.Lambda
	}
	res.Value, res.Iterations, res.Evaluations, res.Reason = s.v, s.round, s.run.Evaluations, reason
	return res, err
}
