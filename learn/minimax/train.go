package minimax

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim"
)

// Fit is what training found.
type Fit struct {
	Model      *Model
	Lambda     []float64 // averaged, or proved optimal by the certificate
	LastLambda []float64
	Raw        []float64 // each loss at the model, on the training data
	Values     []float64 // the same as they enter the game, without the β_2 term
	Worst      float64   // max over the preferences of Σ λ_k Values_k
	Penalty    float64   // β_1 R(w)

	// Certificate bounds the value of the game when Certified: the worst mixture with what β_2
	// adds, plus the penalty, is Upper at the model, and nowhere less than Lower. Worst, which is
	// without penalties, may well be further from the least possible.
	Certificate optim.Certificate
	Certified   bool

	Radii       optim.Radii // of TheoremSteps
	Passes      int
	Evaluations int
	Seconds     float64
	Reason      optim.Reason
	Guarantee   string // what is known of the model: "certified", or why not
	Objectives  []string
}

// Gap returns the certified gap, or +Inf: no weights have a worst mixture plus penalty that is
// lower than the model's by more.
func (f *Fit) Gap() float64 {
	if !f.Certified {
		return math.Inf(1)
	}
	return math.Max(0, f.Certificate.Gap()) // rounding can make it -1e-16
}

// Train fits a model to data that is robust to every mixture of the objectives. When
// interrupted (an error, divergence, a cancelled context), the fit holds the last
// finite state beside the error, unless the error came before training began or that state
// is not kept: networks that diverge in their last step give none.
//
// Linear models with convex losses are certified: Fit.Gap proves how far the
// model's worst mixture plus the penalty is from the least possible. Results are the same for any number
// of workers. Memory beside the data: 10·Rows·Outputs numbers, some twenty times the
// parameters.
func Train(data *Data, opts *Options) (*Fit, error) {
	if err := data.Check(); err != nil {
		return nil, err
	}
	o, err := opts.withDefaults(data)
	if err != nil {
		return nil, err
	}
	t, err := newTrainer(data, &o)
	if err != nil {
		return nil, err
	}
	if err := t.offsets(); err != nil {
		return nil, err
	}
	if len(o.Hidden) > 0 {
		return t.network()
	}
	return t.linear()
}

// NewGame returns the game that Train would play for a linear model or, in float64, a
// network, and the sets of both players, for solvers of the caller's own.
func NewGame(data *Data, opts *Options) (g *Game, w optim.Set, lambda optim.Set, err error) {
	if err := data.Check(); err != nil {
		return nil, nil, nil, err
	}
	o, err := opts.withDefaults(data)
	if err != nil {
		return nil, nil, nil, err
	}
	t, err := newTrainer(data, &o)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := t.offsets(); err != nil {
		return nil, nil, nil, err
	}
	return t.game(), t.set, t.preferences, nil
}

type trainer struct {
	Options
	data        *Data
	net         *nn.Network
	objectives  []objective
	constants   []float64 // M_k
	preferences optim.Maximizer
	set         optim.Set

	single string // of a run for regrets: what its checkpoints are of, in place of problem
	prefix string // of its stages
	stage  string // of the rows that are recorded
}

func newTrainer(data *Data, o *Options) (*trainer, error) {
	t := &trainer{Options: *o, data: data}
	sizes := append(append([]int{data.Features}, o.Hidden...), data.Outputs())
	var err error
	if t.net, err = nn.New(sizes...); err != nil {
		return nil, fmt.Errorf("minimax: %w", err)
	}
	bound := o.ScoreBound
	if bound == 0 {
		bound = math.Inf(1)
		if o.Radius > 0 && len(o.Hidden) == 0 {
			bound = o.Radius * data.longest()
		}
	}
	bound += data.beyond()
	if t.objectives, err = newObjectives(o.Losses, o.Normalization, o.ZeroOne, o.MultiClass, data.Outputs(), bound); err != nil {
		return nil, err
	}
	for k := range t.objectives {
		t.constants = append(t.constants, t.objectives[k].lipschitz)
	}
	if o.Beta2 > 0 && !finite(t.constants...) {
		return nil, fmt.Errorf("minimax: β_2 weighs Lipschitz constants, and that of %s is not finite while scores are unbounded; bound the weights or the scores", t.steepest())
	}
	if t.preferences, err = o.Preferences.set(t.constants, o.Penalty, o.Beta2); err != nil {
		return nil, err
	}
	switch {
	case o.Radius > 0:
		t.set = optim.Ball{Radius: o.Radius}
	case len(o.Hidden) == 0 && o.Bias > 0:
		t.set = biasBox(t.net, o.Bias)
	}
	return t, nil
}

// biasBox is the set of a linear model's parameters with biases of at most bound in size.
func biasBox(net *nn.Network, bound float64) optim.Product {
	b := net.Biases(0)
	return optim.Product{{Set: nil, Dim: b.From}, {Set: optim.Box{Lo: []float64{-bound}, Hi: []float64{bound}}, Dim: b.To - b.From}}
}

// steepest names the first objective without a finite constant.
func (t *trainer) steepest() string {
	k := slices.IndexFunc(t.objectives, func(o objective) bool { return math.IsInf(o.lipschitz, 1) })
	if k < 0 {
		return "none"
	}
	return t.objectives[k].Name
}

// beta2 is the signed coefficient of M_k in the values.
func (t *trainer) beta2() float64 {
	switch t.Penalty {
	case Handicap:
		return t.Beta2
	case Shy:
		return -t.Beta2
	}
	return 0
}

func (t *trainer) game() *Game {
	g := newGame(newExamples[float64](t.net, t.data, t.objectives, t.MultiClass, t.ZeroOne, t.Workers), t.Beta1, t.beta2(), t.Norm)
	if len(t.Hidden) == 0 && t.Bias == 0 {
		g.spans = []nn.Span{{From: 0, To: t.net.Dim()}}
	}
	return g
}

// start returns the parameters to start from: zero, but for networks.
func (t *trainer) start() []float64 {
	if len(t.Hidden) == 0 {
		return make([]float64, t.net.Dim())
	}
	return nn.He[float64](t.net, t.Seed)
}

// offsets completes the normalisations that depend on the data.
func (t *trainer) offsets() error {
	switch t.Normalization {
	case Baseline:
		g := t.game()
		w := t.start()
		gl := make([]float64, len(t.objectives))
		if _, err := g.Eval(w, make([]float64, len(gl)), nil, gl); err != nil {
			return err
		}
		for k := range gl {
			o := &t.objectives[k]
			v := gl[k] - g.handicap(k)
			if !(v > 1e-12) {
				return fmt.Errorf("minimax: %s is %.3g at the start: it cannot be measured in units of that; choose another normalisation", o.Name, v)
			}
			o.scale, o.lipschitz, o.bound = o.scale/v, o.lipschitz/v, o.bound/v
			t.constants[k] = o.lipschitz
		}
		var err error
		t.preferences, err = t.Options.Preferences.set(t.constants, t.Penalty, t.Beta2)
		return err
	case Regret:
		if t.Offsets == nil {
			var err error
			if t.Offsets, err = t.alone(); err != nil {
				return err
			}
		}
		for k, v := range t.Offsets {
			t.objectives[k].offset = v
		}
	}
	return nil
}

// mixture returns λ to start from, and whether it stays there.
func (t *trainer) mixture() ([]float64, bool) {
	p := len(t.objectives)
	if t.Fixed != nil {
		return slices.Clone(t.Fixed), true
	}
	l := slices.Repeat([]float64{1 / float64(p)}, p)
	t.preferences.Project(l)
	return l, false
}

// only is the set of one mixture.
func only(l []float64) optim.Maximizer {
	s, _ := optim.NewVertices([][]float64{l}) // finite, as was checked
	return s
}

// control returns the caller's Control with the problem written into checkpoints, and
// refuses another problem's.
func (t *trainer) control(iterations int) (*optim.Control, error) {
	c := t.Control
	c.Stop.Iterations = iterations
	problem := t.single
	if problem == "" && (c.Resume != nil || c.Checkpoint != nil) {
		problem = t.identity()
	}
	if k := c.Resume; k != nil {
		if err := k.BelongsTo(problem); err != nil {
			return nil, fmt.Errorf("minimax: %w", err)
		}
	}
	if save := c.Checkpoint; save != nil {
		c.Checkpoint = func(k *optim.Checkpoint) error {
			k.Problem = problem
			if t.Normalization == Regret {
				keep(k, t.Offsets)
			}
			return save(k)
		}
	}
	if recorder := c.Recorder; recorder != nil {
		var names []string
		for k := range t.objectives {
			names = append(names, t.objectives[k].Name)
		}
		c.Recorder = optim.RecorderFunc(func(r optim.Row) error {
			r.Stage = t.prefix + t.stage
			if r.Saddle != nil {
				r.Saddle.Names = names
			}
			return recorder.Record(r)
		})
	}
	return &c, nil
}

// leastValue is the least value that a gap is relative to: below it, where next to
// nothing is lost, gaps are held against this.
const leastValue = 0.01

// linear trains a model that is linear in its parameters; with other losses than
// convex ones too, but then without a certificate.
func (t *trainer) linear() (*Fit, error) {
	g := t.game()
	lambda, frozen := t.mixture()
	set := t.preferences
	if frozen {
		set = only(lambda)
	}
	convex := g.Curvature(make([]float64, t.net.Dim()))
	if convex {
		if err := t.confine(g, set); err != nil {
			return nil, err
		}
	}
	bounded := t.Beta1 > 0 || t.Radius > 0
	gap := t.Gap
	if !convex || !bounded {
		gap = -1
	}
	relaxed := g.relaxer()
	var certify optim.CertifyOptions
	if convex && relaxed != nil {
		certify.Relaxed = relaxed(t.Width)
	}
	certify.Scale, certify.Enough, certify.Least = g.scale(), math.Max(t.Gap, 0), leastValue
	passes := t.Passes
	first := optim.SaddlePoint{
		W: t.set, Lambda: set, Entropic: t.Entropic, Steps: t.Steps, StepW: t.StepW, StepLambda: t.StepLambda,
		Frozen: frozen, Batch: t.Batch, Seed: t.Seed, Suffix: !t.All, Gap: gap, Least: leastValue, Certify: certify,
	}
	second := t.Solver == Smoothed
	switch t.Solver {
	case Auto:
		second = convex && !t.NoPolish
		if second {
			first.Gap = -1
		}
		fallthrough
	case MirrorProx, Smoothed, DualAscent, Newton:
		// Backtracking is for smooth problems: at kinks it ends in tiny steps.
		if t.StepW == 0 && t.Steps == optim.ConstantSteps && (t.Batch > 0 || relaxed != nil) {
			first.Steps = optim.AdaptiveSteps
		}
	case Descent:
		first.Method = optim.DescentAscent
	case Alternating:
		first.Method = optim.Alternating
	default:
		return nil, fmt.Errorf("minimax: there is no solver %q; choose mirror-prox, gda, alternating, smoothed, dual-ascent or newton", t.Solver)
	}
	control, err := t.control(passes)
	if err != nil {
		return nil, err
	}
	w := t.start()
	ascends := t.Bias == 0 // of other sets dual ascent knows nothing
	var r *optim.SaddleResult
	inSecond := control.Resume != nil && (control.Resume.Solver == "smoothed" || control.Resume.Solver == cutSolver || control.Resume.Solver == newtonSolver || control.Resume.Solver == normSolver)
	if t.Solver != Smoothed && t.Solver != DualAscent && t.Solver != Newton && !inSecond {
		if t.stage = string(t.Solver); t.Solver == Auto {
			t.stage = string(MirrorProx)
		}
		r, err = first.Solve(g, w, lambda, control)
		var astray *optim.DivergenceError
		switch {
		case err != nil && second && t.StepW == 0 && errors.As(err, &astray):
			// Losses of very different steepness: no step that was chosen here suits them,
			// but what follows needs none.
			r = nil
		case r == nil:
			return nil, err
		case err != nil:
			return t.fit(g, r, frozen), err
		default:
			if w, err = t.lower(g, set, r.W, w); err != nil {
				return nil, err
			}
		}
		control.Resume = nil
	}
	if t.Solver == DualAscent && (gap < 0 && t.Gap > 0 || !ascends) {
		return nil, errDual
	}
	// Losses without kinks are for L-BFGS, unless dual ascent has Newton's steps for them, or
	// biases a bound: of what is at its bound L-BFGS knows nothing.
	quick := relaxed != nil || g.cornered() || t.Bias > 0
	beyond := control.Resume != nil && (control.Resume.Solver == "smoothed" || control.Resume.Solver == newtonSolver || control.Resume.Solver == normSolver)
	if ascends && (t.Solver == Auto && second && quick || t.Solver == DualAscent) && (gap > 0 || t.Solver == DualAscent) && !beyond {
		l := lambda
		if r != nil {
			l = r.Lambda
		}
		t.stage = cutSolver
		s, err := t.dual(g, set, w, l, gap, control)
		if err != nil && s != nil {
			return t.fit(g, s, frozen), err
		}
		if err != nil {
			return nil, err
		}
		if s != nil {
			// There may be no curvature for dual ascent, as in a radius that holds nothing back
			// without a penalty, or dual coordinates far from where they should be: L-BFGS
			// needs neither.
			r, second = s, t.Solver == Auto && stopped(s.Reason)
			control.Resume = nil
			w = s.W
		} else if t.Solver == DualAscent {
			return nil, errDual
		}
	}
	if second && r != nil && r.Reason == optim.GapSmall {
		second = false
	}
	if t.Solver == Auto && second && gap > 0 && t.Norm {
		s, err := t.normStage(g, set, w, lambda, gap, r, control)
		if err != nil && s != nil {
			return t.fit(g, s, frozen), err
		}
		if err != nil {
			return nil, err
		}
		if s != nil {
			control.Resume = nil
			r, w = s, s.W
			second = stopped(s.Reason)
		}
	}
	if t.Solver == Auto && second && gap > 0 && quick || t.Solver == Newton {
		s, err := t.newtonStage(g, set, w, lambda, gap, r, control)
		if err != nil && s != nil {
			return t.fit(g, s, frozen), err
		}
		if err != nil {
			return nil, err
		}
		if s != nil {
			control.Resume = nil
			r, w = s, s.W
			second = t.Solver == Auto && stopped(s.Reason)
		} else if t.Solver == Newton {
			return nil, errNewton
		}
	}
	if second {
		if t.Solver == Auto {
			control.Stop.Iterations = 0 // those of the first part
		}
		fresh := r == nil && !inSecond
		polish := optim.Smoothed{W: t.set, Lambda: set, Gap: math.Max(gap, 1e-9), Least: leastValue, Workers: t.Workers, Relaxed: relaxed, Scale: g.scale()}
		if t.Solver == Auto { // whether this run or the one that it goes on from came here
			polish.Inner = 400
		}
		if t.Solver == Auto && !fresh {
			polish.Start = 0.002 // the stochastic part came closer than this
		}
		if gap < 0 {
			polish.Gap = math.Max(t.Gap, 1e-6)
		}
		if r != nil && r.Certified {
			polish.Known = r.Certificate
		}
		t.stage = string(Smoothed)
		s, err := polish.Solve(g, w, control)
		if s == nil {
			return nil, err
		}
		if err != nil {
			return t.fit(g, s, frozen), err
		}
		if r = s; r.Reason == optim.IterationLimit && control.Stop.Iterations == 0 {
			r.Reason = RoundLimit // its rounds are not the caller's iterations
			if !r.Certified {
				r.Reason = optim.NoProgress // τ is as small as it gets: there is no other end
			}
		}
	}
	r.Reason = ended(r, gap)
	f := t.fit(g, r, frozen)
	if !finite(f.Values...) || !finite(f.Penalty) || !finite(f.Model.Params...) {
		return nil, &optim.DivergenceError{Solver: t.stage, Step: max(1, r.Steps), Value: f.Worst, First: math.NaN(), Err: optim.ErrNotFinite}
	}
	return f, nil
}

// confine bounds the weights of a game whose penalty is their norm. That has no curvature,
// without which all space proves nothing; but a w with φ(w, ·) ≤ φ(0, ·) for the worst mixture
// has
//
//	β_1|w| ≤ max_λ Σ λ_k L_k(0) - max_λ Σ λ_k min L_k
//
// and among these is the one that is sought: the least over that ball of φ(·, λ), for any
// λ, is a lower bound of the game. A ball that it sets does not hold weights back.
func (t *trainer) confine(g *Game, set optim.Maximizer) error {
	if !t.Norm || t.Beta1 == 0 {
		return nil
	}
	values, least := make([]float64, len(t.objectives)), make([]float64, len(t.objectives))
	if _, err := g.Eval(make([]float64, t.net.Dim()), make([]float64, len(values)), nil, values); err != nil {
		return err
	}
	outputs := t.net.Outputs()
	for k := range least {
		o := &t.objectives[k]
		low := math.Min(o.Least, 0) * o.factor
		if o.row(t.MultiClass, outputs) == rowSum {
			low *= float64(outputs)
		}
		least[k] = o.scale*low - o.offset + g.handicap(k)
	}
	radius := (set.Maximize(values, nil) - set.Maximize(least, nil)) / t.Beta1 * (1 + 1e-9)
	if !(radius > 0) || math.IsInf(radius, 1) {
		return nil // no loss at zero, which is then the best; or none that can be written
	}
	switch s := t.set.(type) {
	case nil:
		t.set = optim.Ball{Radius: radius}
	case optim.Ball:
		t.set = optim.Ball{Radius: math.Min(s.Radius, radius)}
	case optim.Product: // biases have their own bound, and no part in the norm
		s = slices.Clone(s)
		s[0].Set = optim.Ball{Radius: radius}
		t.set = s
	}
	return nil
}

// lower returns w, or the start where the worst mixture there is better, or alone finite.
func (t *trainer) lower(g *Game, set optim.Maximizer, w, start []float64) ([]float64, error) {
	values := make([]float64, len(t.objectives))
	var worst [2]float64
	for i, x := range [][]float64{w, start} {
		v, err := g.Eval(x, make([]float64, len(values)), nil, values)
		if err != nil {
			return nil, err
		}
		worst[i] = v + set.Maximize(values, nil)
	}
	if worst[0] <= worst[1] {
		return w, nil
	}
	return start, nil
}

// unheld reports whether there may be nothing but a radius to keep weights small.
func (t *trainer) unheld() bool { return t.Radius > 0 && t.Beta1 == 0 }

var errDual = errors.New("minimax: dual ascent is for linear models whose losses are convex and of one score each (no softmax), with the square of the norm as penalty or within a radius (no bound of biases); choose another solver")

var errNewton = errors.New("minimax: newton is for linear models whose losses are convex and of one score each (no softmax), with the square of the norm as penalty (no radius) and few enough rows and features for their products; choose another solver")

// fit describes the point that a solver found.
func (t *trainer) fit(g *Game, r *optim.SaddleResult, frozen bool) *Fit {
	f := &Fit{Lambda: r.Lambda, LastLambda: r.LastLambda, Certificate: r.Certificate, Certified: r.Certified, Radii: r.Radii, Passes: r.Iterations, Evaluations: r.Evaluations, Reason: r.Reason, Objectives: g.Names()}
	f.Guarantee = "certified"
	if !r.Certified || math.IsInf(r.Certificate.Lower, -1) {
		f.Certified = false
		f.Certificate = optim.Certificate{}
		switch {
		case !g.Curvature(make([]float64, t.net.Dim())):
			f.Guarantee = "no convergence guarantee: the problem is not convex"
		case !(t.Beta1 > 0 || t.Radius > 0):
			f.Guarantee = "not certified: without a penalty or a radius the weights are unbounded, and so is the bound"
		default:
			f.Guarantee = "not certified"
		}
	}
	if frozen {
		f.Lambda, f.LastLambda = slices.Clone(t.Fixed), slices.Clone(t.Fixed)
	}
	t.describe(f, g, r.W)
	f.Model.Certified, f.Model.Gap = f.Certified, 0
	if f.Certified {
		f.Model.Gap = f.Gap()
	}
	return f
}

// describe evaluates w on all training examples.
func (t *trainer) describe(f *Fit, g *Game, w []float64) {
	gl, zero := make([]float64, len(t.objectives)), make([]float64, len(t.objectives))
	// Scores and losses cannot fail; the value is the penalty, since λ is zero.
	f.Penalty, _ = g.Eval(w, zero, nil, gl)
	f.Raw, f.Values = make([]float64, len(gl)), make([]float64, len(gl))
	for k := range gl {
		o := &t.objectives[k]
		f.Values[k] = gl[k] - g.handicap(k)
		f.Raw[k] = (f.Values[k] + o.offset) / o.scale
	}
	f.Worst = t.preferences.Maximize(f.Values, nil)
	f.Model = t.model(w, f.Lambda)
}

// Baselines trains the models that a robust one is compared with, by the same solver
// and budget: on each objective alone, and on their even mixture (last). Their Worst is
// over the preferences, as the robust model's is.
func Baselines(data *Data, opts *Options) ([]*Fit, error) {
	if err := data.Check(); err != nil {
		return nil, err
	}
	var o Options
	if opts != nil {
		o = *opts
	}
	d, err := o.withDefaults(data)
	if err != nil {
		return nil, err
	}
	p := len(d.Losses)
	var out []*Fit
	for k := range p + 1 {
		o.Fixed = make([]float64, p)
		for j := range p {
			if k == p {
				o.Fixed[j] = 1 / float64(p)
			} else if j == k {
				o.Fixed[j] = 1
			}
		}
		f, err := Train(data, &o)
		if err != nil {
			return out, err
		}
		if d.Normalization == Regret {
			o.Offsets = f.known()
		}
		out = append(out, f)
	}
	return out, nil
}

// interrupted makes the error of a cancelled run.
func interrupted(ctx context.Context, pass int) error {
	return fmt.Errorf("minimax: stopped in pass %d: %w", pass+1, context.Cause(ctx))
}
