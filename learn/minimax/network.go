package minimax

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// network trains a model with hidden layers by the printed algorithm. The network's own optimiser
// updates w, plain projected ascent updates λ, both from the gradients at the old point. It
// computes in float32 and sums losses in float64.
//
// The result is the last iterate, or the one with the least worst objective on held-out data.
// Averages of weights mean nothing here, and nothing is guaranteed.
func (t *trainer) network() (*Fit, error) {
	t.stage = string(Descent)
	control := t.control(t.Passes)
	if t.Batch == 0 {
		return nil, errors.New("minimax: networks are trained on minibatches; give their size")
	}
	r := &netRun{trainer: t, run: run.Begin(netSolver, control, t.Passes), e: examplesOf[float32](t, t.data)}
	r.run.Examples = t.data.Rows
	if t.Network.Heldout != nil {
		r.heldout = examplesOf[float32](t, t.Network.Heldout)
	}
	r.w = nn.He[float32](t.net, t.Seed)
	r.lambda, r.frozen = t.mixture()
	p := len(t.objectives)
	r.sum, r.passValues = make([]float64, p), make([]float64, p)
	if err := r.optimizer(); err != nil {
		return nil, err
	}
	if err := r.resume(); err != nil {
		return nil, err
	}
	reason, err := r.run.Rounds(-1, r.pass, r.checkpoint)
	if err != nil {
		return r.finish(reason), err
	}
	return r.ended(reason)
}

type netRun struct {
	*trainer
	run        *run.Run // its steps are passes
	e, heldout *examples[float32]
	opt        *nn.Optimizer[float32]
	w, kept    []float32
	lambda     []float64
	frozen     bool

	position, step int
	sum            []float64 // of λ at every step
	passValues     []float64 // Σ of the objectives, as they enter the game, over the pass
	passRows       int
	first          float64
}

// rate is the factor of both steps in the pass that comes.
func (r *netRun) rate() float64 { return r.rateOf(r.run.Steps()) }

func (r *netRun) rateOf(pass int) float64 {
	if r.Network.Constant {
		return 1
	}
	return 1 / math.Sqrt(1+float64(pass))
}

// optimizer makes one for the rate of the pass; what it remembers is handed on.
func (r *netRun) optimizer() error {
	o, err := nn.NewOptimizer[float32](r.net.Dim(), &nn.OptimizerOptions{Method: r.Network.Method,
		Rate: r.StepW * r.rate(), Momentum: r.Network.Momentum,
		L2: r.Beta1, Penalised: r.net.AllWeights(), Workers: r.Workers})
	if err != nil {
		return fmt.Errorf("minimax: %w", err)
	}
	if r.opt != nil {
		if err := o.Restore(r.opt.State()); err != nil {
			return fmt.Errorf("minimax: %w", err)
		}
	}
	r.opt = o
	return nil
}

// pass takes the steps of a pass, or of what is left of one.
func (r *netRun) pass() (*run.Row, run.Reason, error) {
	p, rate := len(r.objectives), r.rate()
	coef, sums, gl := make([]float64, p), make([]float64, p), make([]float64, p)
	grad := make([]float32, r.net.Dim())
	if err := r.optimizer(); errors.Is(err, optim.ErrNotFinite) {
		return nil, "", r.diverged(r.step, rate, math.NaN(), err)
	} else if err != nil {
		return nil, "", err
	}
	order := rand.New(rand.NewPCG(r.Seed, uint64(r.run.Steps()))).Perm(r.data.Rows)
	for r.position < r.data.Rows {
		if err := r.run.Cancelled(); err != nil {
			return nil, "", err
		}
		batch := order[r.position:min(r.data.Rows, r.position+r.Batch)]
		for k := range coef {
			coef[k] = r.lambda[k] * r.objectives[k].scale / float64(len(batch))
		}
		clear(sums)
		r.e.batch(batch, r.w, coef, sums, grad)
		for k, s := range sums {
			o := &r.objectives[k]
			gl[k] = o.scale*s/float64(len(batch)) - o.offset
			r.passValues[k] += gl[k] * float64(len(batch))
		}
		r.handicap(gl)
		value := floats.Dot(r.lambda, gl)
		if r.step == 0 {
			r.first = value
		}
		if err := r.move(value, rate, gl, grad); err != nil {
			return nil, "", err
		}
		r.passRows += len(batch)
		r.position += len(batch)
		r.step++
	}
	r.run.Evaluations++ // of all examples
	r.position = 0
	detail := &saddle.Row{Values: slices.Clone(r.passValues), Lambda: slices.Clone(r.lambda),
		Upper: math.Inf(1), Lower: math.Inf(-1)}
	row := &run.Row{Step: r.StepW * rate, Detail: detail}
	for k := range detail.Values {
		detail.Values[k] /= float64(r.passRows)
		row.Objective += r.lambda[k] * detail.Values[k]
		detail.Mean = append(detail.Mean, r.sum[k]/float64(r.step))
	}
	clear(r.passValues)
	r.passRows = 0
	r.judge()
	return row, "", nil
}

// ended is finish for a run that took all of its steps: only then is it known where the
// last one led. A model that is worse than the start by a clear factor is none.
func (r *netRun) ended(reason run.Reason) (*Fit, error) {
	if !finite32(r.w) {
		return nil, r.lastStep(math.NaN(), optim.ErrNotFinite)
	}
	f := r.finish(reason)
	value := r.accounted(f.Values)
	switch {
	case value-value != 0 || f.Penalty-f.Penalty != 0:
		return nil, r.lastStep(value+f.Penalty, optim.ErrNotFinite)
	case r.worse(value, r.zero()) && r.worse(value, r.accounted(r.values(r.e, nn.He[float32](r.net, r.Seed)))):
		return nil, r.lastStep(value, saddle.ErrDiverged)
	}
	return f, nil
}

// lastStep is the error of a run that its last step, in the pass before, led astray.
func (r *netRun) lastStep(value float64, err error) error {
	return r.diverged(r.step, r.rateOf(max(0, r.run.Steps()-1)), value, err)
}

// worse tells a value that no run which converges ends at.
func (r *netRun) worse(value, start float64) bool { return value > clearlyWorse*start+floorWorse }

// zero is the value of the model whose scores are all zero.
func (r *netRun) zero() float64 {
	return r.accounted(r.scored(r.e, make([]float32, r.data.Rows*r.net.Outputs())))
}

// A model has diverged when its value exceeds clearlyWorse times that of the start and of zero
// scores. Steps that are too long end there, if not at +Inf. Where the start is nearly perfect
// already, values up to floorWorse do not count as divergence.
const (
	clearlyWorse = 3
	floorWorse   = 0.01
)

// accounted is the value that a run's end is held against its start by: of the worst mixture
// that it was trained for. Offsets, and terms that no weight changes, are left out: what
// remains is not negative, so that factors mean something.
func (r *netRun) accounted(values []float64) float64 {
	raw := make([]float64, len(values))
	for k, v := range values {
		raw[k] = v + r.objectives[k].offset
	}
	return r.worst(raw)
}

// worst is what the mixture that was trained for makes of values.
func (r *netRun) worst(values []float64) float64 {
	if r.frozen {
		return floats.Dot(r.lambda, values)
	}
	return r.preferences.Maximize(values, nil)
}

// values are the objectives at w on examples, as they enter the game.
func (r *netRun) values(e *examples[float32], w []float32) []float64 {
	scores := make([]float32, e.data.Rows*r.net.Outputs())
	e.scoresOf(w, scores)
	return r.scored(e, scores)
}

func (r *netRun) scored(e *examples[float32], scores []float32) []float64 {
	return entered(r.objectives, e.values(scores))
}

func finite32(w []float32) bool {
	return !slices.ContainsFunc(w, func(v float32) bool { return v-v != 0 })
}

// diverged is the error of a run that went astray by a step, counted from 1.
func (r *netRun) diverged(step int, rate, value float64, err error) error {
	w := slices.DeleteFunc(convert[float64](r.w), math.IsNaN)
	return &saddle.DivergenceError{Solver: string(Descent), Step: max(step, 1), StepW: r.StepW * rate,
		StepLambda: r.StepLambda * rate, Value: value, First: r.first, Norm: optim.MaxAbs(w), Err: err}
}

// move takes both steps, or says that the run diverged at this one, w being what it
// was before.
func (r *netRun) move(value, rate float64, gl []float64, grad []float32) error {
	switch {
	case value-value != 0:
		return r.diverged(r.step, rate, value, optim.ErrNotFinite)
	case math.Abs(value) > 1e8*(1+math.Abs(r.first)):
		return r.diverged(r.step, rate, value, saddle.ErrDiverged)
	}
	if err := r.opt.Step(r.w, grad); err != nil {
		if errors.Is(err, optim.ErrNotFinite) {
			return r.diverged(r.step+1, rate, value, err)
		}
		return fmt.Errorf("minimax: %w", err)
	}
	if r.Radius > 0 {
		w := convert[float64](r.w)
		if size := floats.Norm(w, 2); size > r.Radius {
			for j, v := range w {
				r.w[j] = float32(v * r.Radius / size)
			}
		}
	}
	for k, l := range r.lambda {
		r.sum[k] += l
	}
	if !r.frozen {
		for k, g := range gl {
			r.lambda[k] += r.StepLambda * rate * g
		}
		r.preferences.Project(r.lambda)
	}
	return nil
}

// handicap adds ±β_2 M_k to values of objectives. Constants may be infinite where nothing weighs
// them.
func (r *netRun) handicap(values []float64) {
	if r.Beta2 == 0 {
		return
	}
	for k := range values {
		values[k] += r.beta2() * r.objectives[k].lipschitz
	}
}

// judge keeps the parameters of the pass if they are the best on held-out data. Those that
// are not finite it leaves to the next step, or the end of the run.
func (r *netRun) judge() {
	if r.heldout == nil || !finite32(r.w) {
		return
	}
	values := r.values(r.heldout, r.w)
	r.handicap(values)
	if r.run.Judge(r.run.Steps()+1, r.worst(values)) {
		r.kept = slices.Clone(r.w)
	}
}

func (r *netRun) finish(reason run.Reason) *Fit {
	params := r.w
	if r.kept != nil && reason != run.Interrupted {
		params = r.kept
	}
	if !finite32(params) {
		return nil // float32 overflowed in the last step: the error beside it says so
	}
	f := &Fit{LastLambda: slices.Clone(r.lambda), Lambda: slices.Clone(r.lambda), Passes: r.run.Steps(),
		Evaluations: r.run.Evaluations, Reason: reason, Objectives: r.names(),
		Guarantee: "no convergence guarantee: a network is not convex"}
	if r.step > 0 {
		for k := range f.Lambda {
			f.Lambda[k] = r.sum[k] / float64(r.step)
		}
	}
	w := convert[float64](params)
	p := penalty{r.Beta1, false, r.net.AllWeights()}
	f.Penalty, _ = p.of(w)
	r.describe(f, w, r.values(r.e, params))
	return f
}

const netSolver = "almo network"

func (r *netRun) checkpoint() (*run.Checkpoint, error) {
	s := r.opt.State()
	k := &run.Checkpoint{X: convert[float64](r.w),
		Scalars: map[string]float64{"step": float64(r.step), "position": float64(r.position), "first": r.first,
			"rows": float64(r.passRows), "seed": float64(r.Seed), "optimizer": float64(s.Step)},
		Arrays: map[string][]float64{"lambda": slices.Clone(r.lambda), "sum": slices.Clone(r.sum),
			"values": slices.Clone(r.passValues), "a": convert[float64](s.A), "b": convert[float64](s.B)}}
	if r.kept != nil {
		k.Arrays["kept"] = convert[float64](r.kept)
	}
	return k, nil
}

func (r *netRun) resume() error {
	p, n := len(r.objectives), r.net.Dim()
	k, err := r.run.Point(n)
	if k == nil || err != nil {
		return err
	}
	if len(k.Arrays["lambda"]) != p || len(k.Arrays["sum"]) != p || len(k.Arrays["values"]) != p ||
		k.Scalars["seed"] != float64(r.Seed) {
		return fmt.Errorf("minimax: %w: its arrays or seed do not fit", run.ErrOther)
	}
	r.w = convert[float32](k.X)
	copy(r.lambda, k.Arrays["lambda"])
	copy(r.sum, k.Arrays["sum"])
	copy(r.passValues, k.Arrays["values"])
	r.step, r.position, r.passRows, r.first = int(k.Scalars["step"]), int(k.Scalars["position"]),
		int(k.Scalars["rows"]), k.Scalars["first"]
	if r.position < 0 || r.position >= r.data.Rows || r.step < 0 || r.passRows < 0 {
		return fmt.Errorf("minimax: the checkpoint's position %d of %d examples is impossible", r.position,
			r.data.Rows)
	}
	if kept := k.Arrays["kept"]; len(kept) == n {
		if r.kept = convert[float32](kept); k.Best == nil { // before runs had one
			step := int(k.Scalars["kept"])
			r.run.Best = run.Best{Loss: k.Scalars["best"], Step: step, Waited: k.Iteration - step}
		}
	}
	if err := r.opt.Restore(nn.OptimizerState[float32]{Step: int(k.Scalars["optimizer"]),
		A: convert[float32](k.Arrays["a"]), B: convert[float32](k.Arrays["b"])}); err != nil {
		return fmt.Errorf("minimax: the checkpoint: %w", err)
	}
	return nil
}

// convert returns v in another precision, nil for none.
func convert[T, F nn.Float](v []F) []T {
	if len(v) == 0 {
		return nil
	}
	out := make([]T, len(v))
	for i, x := range v {
		out[i] = T(x)
	}
	return out
}
