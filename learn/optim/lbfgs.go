package optim

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"github.com/tropica-fst/tropica/learn/run"
)

// LBFGS minimises a smooth objective by gonum's limited-memory BFGS (Nocedal and
// Wright, Numerical Optimization, 2nd ed., algorithm 7.5) with its Moré-Thuente
// line search. Each point is evaluated once, value and gradient together. Where the
// value is +Inf, outside of the domain of a barrier, say, the line search steps back.
//
// Its checkpoints hold the current point only. A resumed run starts a new history from there and
// says so in Result.Note, so it does not repeat the interrupted one exactly. Memory is 2·Memory+8
// vectors.
type LBFGS struct {
	Memory int // pairs kept; zero is 10
}

const lbfgsNote = "the history of L-BFGS was started afresh at the checkpoint"

// Minimize runs from x0, which it keeps intact.
func (m LBFGS) Minimize(f Objective, x0 []float64, c *run.Control) (*Result, error) {
	const solver = "LBFGS"
	if m.Memory < 0 {
		return nil, fmt.Errorf("optim: LBFGS: Memory is %d; it must not be negative", m.Memory)
	}
	r := begin(solver, c, 1000)
	if r.Examples == 0 {
		r.Examples = examplesOf(f)
	}
	res := &Result{}
	start := 0
	if k, err := r.resume(f.Dim()); err != nil {
		return nil, err
	} else if k != nil {
		x0, start = k.X, k.Iteration
		res.Note = lbfgsNote
	}
	if err := CheckStart(solver, f.Dim(), x0); err != nil {
		return nil, err
	}
	res.X = slices.Clone(x0)
	if f.Dim() == 0 { // gonum refuses it
		v, err := r.eval(f, res.X, nil)
		res.F, res.Evaluations, res.Reason = v, r.Evaluations, run.GradientSmall
		return res, err
	}
	p := &point{r: r, f: f, x: make([]float64, f.Dim()), grad: make([]float64, f.Dim())}
	if !p.at(x0) {
		res.Reason, res.Evaluations = run.Interrupted, r.Evaluations
		return res, p.err
	}
	// What is best so far is kept here, since gonum gives nothing back on some errors.
	res.F, res.GradNorm, res.Iterations = p.v, MaxAbs(p.grad), start
	checkpoint := func() *run.Checkpoint {
		return &run.Checkpoint{X: slices.Clone(res.X)}
	}
	finish := func(reason run.Reason, err error) (*Result, error) {
		res.Reason, res.Evaluations = reason, r.Evaluations
		return res, r.ended(err, checkpoint)
	}
	if reason, err := r.step(start, res.F, res.GradNorm, 0); reason != "" {
		return finish(reason, err)
	}

	watch := &watcher{r: r, p: p, res: res, checkpoint: checkpoint, start: start}
	memory := m.Memory
	if memory == 0 {
		memory = 10
	}
	settings := &optimize.Settings{
		InitValues:        &optimize.Location{F: p.v, Gradient: slices.Clone(p.grad)},
		GradientThreshold: math.NaN(), // Stop has the rules
		Converger:         optimize.NeverTerminate{},
		FuncEvaluations:   max(1, r.Stop.Evaluations), // gonum's own loops may be endless without
		MajorIterations:   0,
		Recorder:          watch,
	}
	problem := optimize.Problem{
		Func: func(x []float64) float64 { p.at(x); return p.v },
		Grad: func(g, x []float64) { p.at(x); copy(g, p.grad) },
		Status: func() (optimize.Status, error) {
			if p.err != nil {
				return optimize.Failure, p.err
			}
			return optimize.NotTerminated, nil
		},
	}
	g, err := optimize.Minimize(problem, x0, settings, &optimize.LBFGS{Store: memory, Linesearcher: &retreat{}, GradStopThreshold: math.NaN()})
	switch {
	case p.err != nil:
		return finish(run.Interrupted, p.err)
	case watch.reason != "":
		return finish(watch.reason, watch.err)
	case g != nil && g.Status == optimize.FunctionEvaluationLimit:
		return finish(run.EvaluationLimit, nil)
	case err != nil || g != nil && g.Status != optimize.NotTerminated:
		// A line search that finds nothing lower has met the limit of rounding:
		// what it stopped at is the answer, not a failure.
		return finish(run.NoProgress, nil)
	}
	return finish(run.IterationLimit, nil)
}

// point remembers the last evaluation, because gonum requests value and gradient in two calls.
type point struct {
	r     *solving
	f     Objective
	x     []float64
	grad  []float64
	v     float64
	valid bool
	err   error
}

func (p *point) at(x []float64) bool {
	if p.err != nil {
		p.v = math.Inf(1)
		return false
	}
	if p.valid && slices.Equal(p.x, x) {
		return true
	}
	copy(p.x, x)
	p.valid = true
	if p.v, p.err = p.r.eval(p.f, p.x, p.grad); p.err != nil {
		p.v, p.valid = math.Inf(1), false
		clear(p.grad)
	}
	return p.err == nil
}

// errStop tells gonum to end the run for a reason already noted.
var errStop = errors.New("stop")

// watcher is gonum's Recorder: it turns its major iterations into ours.
type watcher struct {
	r          *solving
	p          *point
	res        *Result
	checkpoint func() *run.Checkpoint
	start      int
	reason     run.Reason
	err        error
}

func (w *watcher) Init() error { return nil }

func (w *watcher) Record(loc *optimize.Location, op optimize.Operation, _ *optimize.Stats) error {
	if op != optimize.MajorIteration || w.reason != "" || w.p.err != nil || loc.F > w.res.F {
		return nil
	}
	step := 0.0
	for i, x := range loc.X {
		step = math.Max(step, math.Abs(x-w.res.X[i]))
	}
	if step == 0 { // gonum's first is the start, which was recorded
		return nil
	}
	copy(w.res.X, loc.X)
	w.res.F, w.res.GradNorm = loc.F, MaxAbs(loc.Gradient)
	w.res.Iterations++
	w.reason, w.err = w.r.step(w.res.Iterations, loc.F, w.res.GradNorm, step)
	if w.err == nil {
		if err := w.r.save(false, w.checkpoint); err != nil {
			w.reason, w.err = run.Interrupted, err
		}
	}
	if w.reason != "" {
		return errStop
	}
	return nil
}
