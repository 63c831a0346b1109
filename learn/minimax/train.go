package minimax

import (
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
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

	// Certificate bounds the value of the game when Certified: the worst mixture with the terms of
	// β_2, plus the penalty. It is Upper at the model, and at least Lower everywhere. Worst, which
	// is without penalties, may well be further from the least possible. Shared is the part that
	// β_2 adds to all objectives alike, ±β_2 min M_k. It does not affect the game, so Certificate
	// and recorded rows omit it, where it would only make gaps seem small.
	Certificate saddle.Certificate
	Certified   bool
	Shared      float64
	// OffsetGap, of Regret, bounds how far the minimum of a single objective is below the value
	// found. Certificate treats offsets as exact. It is +Inf where nothing is proved, zero where
	// offsets were given.
	OffsetGap float64

	Radii       saddle.Radii // of TheoremSteps
	Passes      int
	Evaluations int
	Reason      run.Reason
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

// Train fits a model to data that is robust to every mixture of the objectives. When interrupted by
// an error, divergence or a cancelled context, Train returns the last finite state beside the
// error. There is none before training began, or for networks that diverge in their last step.
//
// Linear models with convex losses are certified: Fit.Gap proves how far the model's worst mixture
// plus the penalty is from the least possible. Results are the same for any number of workers.
// Memory beside the data: 10·Rows·Outputs numbers, some twenty times the parameters.
func Train(data *Data, opts *Options) (*Fit, error) {
	t, err := prepared(data, opts)
	if err != nil {
		return nil, err
	}
	f, err := t.train()
	if f != nil {
		f.OffsetGap = t.offsetGap()
	}
	return f, err
}

// NewGame returns the game that Train would play, and the sets of both players, for a caller's own
// solver. The model is linear or, in float64, a network.
func NewGame(data *Data, opts *Options) (g *Game, w optim.Set, lambda optim.Set, err error) {
	t, err := prepared(data, opts)
	if err != nil {
		return nil, nil, nil, err
	}
	return t.game(), t.set, t.preferences, nil
}

// prepared returns what trains on checked data, in units that are known.
func prepared(data *Data, opts *Options) (*trainer, error) {
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
	return t, t.offsets()
}

// train trains a model, linear or with hidden layers.
func (t *trainer) train() (*Fit, error) {
	if len(t.Hidden) > 0 {
		return t.network()
	}
	return t.linear()
}

type trainer struct {
	Options
	data        *Data
	net         *nn.Network
	objectives  []objective
	constants   []float64   // M_k
	allowed     Preferences // those of the options, cut by the constraint of constants if that is the penalty
	preferences optim.Maximizer
	set         optim.Set

	solo   *solo  // of Offsets that were sought
	single string // of a run on one objective alone: what its checkpoints are of, in place of problem
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
			bound = o.Radius * data.Longest()
		}
	}
	bound += beyond(data)
	if t.objectives, err = newObjectives(o.Losses, o.Normalization, o.ZeroOne, o.MultiClass, data.Outputs(),
		bound); err != nil {
		return nil, err
	}
	for k := range t.objectives {
		t.constants = append(t.constants, t.objectives[k].lipschitz)
	}
	if k := optim.FirstNotFinite(t.constants); o.Beta2 > 0 && k >= 0 {
		return nil, fmt.Errorf("minimax: β_2 weighs Lipschitz constants, and that of %s is not finite while "+
			"scores %s; bound the weights or the scores", t.objectives[k].Name, size(bound))
	}
	if err := t.restrict(); err != nil {
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

// restrict sets the mixtures that count.
func (t *trainer) restrict() (err error) {
	t.allowed = t.Options.Preferences.Clone()
	if t.Penalty == Constraint {
		if t.allowed, err = t.allowed.Cut(t.constants, t.Beta2); err != nil {
			return fmt.Errorf("minimax: preferences: the constraint Σ λ_k M_k ≤ β_2: %w", err)
		}
	}
	t.preferences, err = setOf(t.allowed, len(t.objectives))
	return err
}

// biasBox is the set of a linear model's parameters with biases of at most bound in size.
func biasBox(net *nn.Network, bound float64) optim.Product {
	b := net.Biases(0)
	return optim.Product{{Set: nil, Dim: b.From}, {Set: optim.Box{Lo: []float64{-bound}, Hi: []float64{bound}},
		Dim: b.To - b.From}}
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

// examplesOf returns the objectives on data, in one precision.
func examplesOf[T nn.Float](t *trainer, d *Data) *examples[T] {
	return newExamples[T](t.net, d, t.objectives, t.MultiClass, t.ZeroOne, t.Workers)
}

func (t *trainer) game() *Game {
	g := newGame(examplesOf[float64](t, t.data), t.Beta1, t.beta2(), t.Norm)
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
		for k := range gl { // all, before their constants change
			gl[k] -= g.handicap(k)
		}
		for k, v := range gl {
			o := &t.objectives[k]
			if !(v > 1e-12) {
				return unmeasurable(o.Name, v)
			}
			o.scale, o.lipschitz, o.bound = o.scale/v, o.lipschitz/v, o.bound/v
			t.constants[k] = o.lipschitz
		}
		return t.restrict()
	case Regret:
		if t.Offsets == nil {
			if err := t.findOffsets(); err != nil {
				return err
			}
		}
		for k, v := range t.Offsets {
			t.objectives[k].offset = v
		}
	}
	return nil
}

// unmeasurable is the error of units that would divide by next to nothing.
func unmeasurable(name string, value float64) error {
	return fmt.Errorf("minimax: %s is %.3g at the start: it cannot be measured in units of that; choose "+
		"another normalisation", name, value)
}

// names returns those of the objectives.
func (t *trainer) names() []string {
	var names []string
	for k := range t.objectives {
		names = append(names, t.objectives[k].Name)
	}
	return names
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

// control returns the caller's Control with the problem, and with offsets kept in checkpoints.
func (t *trainer) control(iterations int) *run.Control {
	c := t.Control
	c.Stop.Iterations = iterations
	if c.Problem = t.single; c.Problem == "" && (c.Resume != nil || c.Checkpoint != nil) {
		c.Problem = t.identity()
	}
	if save := c.Checkpoint; save != nil && t.Normalization == Regret {
		known := t.solo
		if known == nil { // given
			known = &solo{proved: true, values: t.Offsets}
		}
		c.Checkpoint = func(k *run.Checkpoint) error {
			known.keep(k)
			return save(k)
		}
	}
	if recorder := c.Recorder; recorder != nil {
		shared, names := shared(t.beta2(), t.objectives), t.names()
		c.Recorder = run.RecorderFunc(func(r run.Row) error {
			r.Stage = t.prefix + t.stage
			if s := saddle.RowOf(r); s != nil {
				s.Names = names
				s.Upper += shared // as Fit.Shared
				s.Lower += shared
			}
			return recorder.Record(r)
		})
	}
	return &c
}

// leastValue is the least value that a gap is relative to: below it, where next to
// nothing is lost, gaps are held against this.
const leastValue = 0.01

// sizeOf is what gaps are relative to at a value.
func sizeOf(value float64) float64 { return math.Max(leastValue, math.Abs(value)) }

// fit describes the point that a solver found.
func (t *trainer) fit(g *Game, r *saddle.Result, frozen bool) *Fit {
	f := &Fit{Lambda: r.Lambda, LastLambda: r.LastLambda, Certificate: r.Certificate, Certified: r.Certified,
		Radii: r.Radii, Passes: r.Iterations, Evaluations: r.Evaluations, Reason: r.Reason, Objectives: t.names(),
		Shared: shared(g.beta2, g.objectives)}
	f.Guarantee = "certified"
	if !r.Certified || math.IsInf(r.Certificate.Lower, -1) {
		f.Certified = false
		f.Certificate = saddle.Certificate{}
		switch {
		case !g.Curvature(make([]float64, t.net.Dim())):
			f.Guarantee = "no convergence guarantee: the problem is not convex"
		case !(t.Beta1 > 0 || t.Radius > 0):
			f.Guarantee = "not certified: without a penalty or a radius the weights are unbounded, and so is the " +
				"bound"
		default:
			f.Guarantee = "not certified"
		}
	}
	if frozen {
		f.Lambda, f.LastLambda = slices.Clone(t.Fixed), slices.Clone(t.Fixed)
	}
	gl, zero := make([]float64, len(t.objectives)), make([]float64, len(t.objectives))
	// Scores and losses cannot fail; the value is the penalty, since λ is zero.
	f.Penalty, _ = g.Eval(r.W, zero, nil, gl)
	for k := range gl {
		gl[k] -= g.handicap(k)
	}
	t.describe(f, r.W, gl)
	f.Model.Certified, f.Model.Gap = f.Certified, 0
	if f.Certified {
		f.Model.Gap = f.Gap()
	}
	return f
}

// describe completes the fit of w, whose objectives on the training examples are values.
func (t *trainer) describe(f *Fit, w, values []float64) {
	f.Values = values
	for k, v := range values {
		f.Raw = append(f.Raw, (v+t.objectives[k].offset)/t.objectives[k].scale)
	}
	f.Worst = t.preferences.Maximize(values, nil)
	f.Model = t.model(w, f.Lambda)
}
