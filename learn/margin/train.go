package margin

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/space"
)

// Options adjusts MaxMargin; zero fields are the defaults.
type Options struct {
	Lambda float64 `flag:"lambda" default:"0.01" above:"0" help:"Weight of the penalty beside the mean loss of the samples"`
	Norm   string  `flag:"norm" default:"l2" values:"l2,l1" help:"Penalty: half the squared weights, or the absolute ones"`
	Gap    float64 `flag:"gap" default:"0.01" above:"0" help:"Certified gap of the objective to stop at"`
	Keep   int     `flag:"keep" default:"200" min:"4" help:"Planes of the model before the least used become one" topic:"solver"`
	Pull   float64 `flag:"pull" default:"0.5" min:"0" max:"0.95" help:"How far from the model's minimum towards the best point planes are taken" topic:"solver"`
	// Remember is of spaces that are space.Remembering.
	Remember int     `flag:"remember" default:"10" min:"0" help:"Outputs of a sample that are kept: planes are made of them until only a search for others helps; 0 keeps none" topic:"solver"`
	Free     []int   // weights that are not penalised
	Weight   float64 // multiplies the mean loss; 0 is 1
	Relative float64 // gap of MaxMargin relative to the objective, in place of Gap; 0 is none
	Init     []float64
}

func (o *Options) norm() optim.Norm { return optim.Norm(o.Norm) }

func (o *Options) check(dim int) error {
	for _, j := range o.Free {
		if j < 0 || j >= dim {
			return fmt.Errorf("free: there is no weight %d of %d", j, dim)
		}
	}
	if !(o.Weight >= 0) || !(o.Relative >= 0) || math.IsInf(o.Weight, 1) {
		return fmt.Errorf("options Weight %v and Relative %v: neither may be negative, or infinite", o.Weight,
			o.Relative)
	}
	if o.Init != nil {
		return optim.CheckStart("margin", dim, o.Init)
	}
	return nil
}

// Linear is a learnt score ⟨W, Φ⟩.
type Linear struct {
	W      []float64
	Report Report
}

// Report says how training went.
type Report struct {
	Calls  int // of inference, one a sample
	Planes int // in the model, at the end
	// the objective is nowhere below; -Inf where that is not known, as with partial annotations
	Lower float64
	// share of samples whose output of largest score and loss had no loss when last evaluated
	Satisfied float64
	Inexact   bool // some inference was not proved optimal
	// Uncertified reports that some inference had no bound: the objective may be larger than
	// reported, and the gap is not certified.
	Uncertified bool
	Outer       []optim.OuterStep
}

// begin fills in what all learners share.
func begin[X, A any](name string, c *run.Control, data []space.Sample[X, A], settings string) (*run.Control,
	*run.Run, error) {
	if len(data) == 0 {
		return nil, nil, errors.New("no samples")
	}
	control := run.Control{}
	if c != nil {
		control = *c
	}
	if control.Problem != "" {
		control.Problem += " learner=" + name
		if settings != "" {
			control.Problem += " " + settings
		}
	}
	if control.Examples == 0 {
		control.Examples = len(data)
	}
	return &control, run.Begin(name, &control, 1), nil
}

// Path trains MaxMargin for each lambda, in the order given. Planes below the risk do not depend
// on lambda: those of one fit serve the next, which needs fewer inferences. A control without
// checkpoints is needed.
func Path[X, Y, A any](s space.Space[X, Y, A], data []space.Sample[X, A], lambdas []float64, opts *Options,
	c *run.Control) ([]*Linear, error) {
	if c != nil && (c.Resume != nil || c.Checkpoint != nil) {
		return nil, errors.New("margin: a path has no checkpoints: each of its fits would have its own")
	}
	var out []*Linear
	var cuts *optim.Cuts
	for _, lambda := range lambdas {
		var o Options
		if opts != nil {
			o = *opts
		}
		if o.Lambda = lambda; len(o.Free) > 0 {
			cuts = nil // the scale of free weights depends on lambda
		}
		m, b, err := maxMargin(s, data, &o, cuts, c)
		if err != nil {
			return out, err
		}
		cuts, out = b.Cuts, append(out, m)
	}
	return out, nil
}

// MaxMargin minimises Lambda Ω(w) + the mean over samples of max_y (f(y) + Δ(y)) - f(y*), the
// structured hinge of complete annotations, by a bundle; see optim.Bundle. A step is one
// inference of every sample. The result's F is the objective, and Report.Lower certifies it.
//
// Errors: options out of range, annotations that are not complete, samples without output, each
// named. When the run is interrupted, the weights so far stand beside the error.
func MaxMargin[X, Y, A any](s space.Space[X, Y, A], data []space.Sample[X, A], opts *Options,
	c *run.Control) (*Linear, *optim.Result, error) {
	m, b, err := maxMargin(s, data, opts, nil, c)
	if b == nil {
		return m, nil, err
	}
	return m, &b.Result, err
}

func maxMargin[X, Y, A any](s space.Space[X, Y, A], data []space.Sample[X, A], opts *Options,
	cuts *optim.Cuts, c *run.Control) (*Linear, *optim.BundleResult, error) {
	var o Options
	err := learner.Complete(&o, opts)
	if err == nil {
		err = o.check(s.Dim())
	}
	if err != nil {
		return nil, nil, fmt.Errorf("margin: %w", err)
	}
	control, r, err := begin("max-margin", c, data, learner.Settings(&o))
	if err != nil {
		return nil, nil, fmt.Errorf("margin: %w", err)
	}
	m := &Linear{}
	h, err := hinge(s, data, &o, r, &m.Report)
	if err != nil {
		return nil, nil, fmt.Errorf("margin: %w", err)
	}
	start := make([]float64, s.Dim())
	for j, v := range o.Init {
		start[j] = v / at(h.scale, j)
	}
	if err := remembering(control, h); err != nil {
		return nil, nil, fmt.Errorf("margin: %w", err)
	}
	bundle := optim.Bundle{Lambda: o.Lambda, Norm: o.norm(), Gap: o.Gap, Keep: o.Keep,
		Pull: learner.Amount(o.Pull)}
	if o.Relative > 0 {
		bundle.Gap, bundle.Relative = 0, o.Relative
	}
	b, err := bundle.Minimize(h, start, cuts, control)
	if b == nil {
		return nil, nil, err
	}
	m.W = weights(make([]float64, len(b.X)), b.X, h.scale)
	m.Report.Lower, m.Report.Planes = b.Lower, len(b.Cuts.Planes)
	return m, b, err
}

// remembering makes checkpoints hold what risks remember, and takes up what a checkpoint holds.
func remembering[X, Y, A any](c *run.Control, risks ...*risk[X, Y, A]) error {
	name := func(d int) string { return fmt.Sprintf("outputs %d", d) }
	for d, r := range risks {
		if err := r.memory.restore(c.Resume, name(d)); err != nil {
			return err
		}
	}
	if save := c.Checkpoint; save != nil {
		c.Checkpoint = func(k *run.Checkpoint) error {
			for d, r := range risks {
				r.memory.store(k, name(d))
			}
			return save(k)
		}
	}
	return nil
}

func at(scale []float64, j int) float64 {
	if scale == nil {
		return 1
	}
	return scale[j]
}

// PartialOptions adjusts Partial; zero fields are the defaults.
type PartialOptions struct {
	Options
	Coarse  float64 `flag:"coarse" default:"1" above:"0" help:"Gap of the convex problems at first, down to --gap" topic:"partial"`
	Shrink  float64 `flag:"shrink" default:"0.2" above:"0" max:"0.99" help:"What each outer step multiplies that gap by" topic:"partial"`
	Fall    float64 `flag:"fall" min:"0" help:"Fall of the objective in an outer step at which to stop; 0 is --gap" topic:"partial"`
	Start   string  `flag:"start" default:"auto" values:"auto,complete,perceptron,random,zero" help:"Initial weights: learnt from the complete samples, by a perceptron, drawn, or 0; auto is complete if there are such samples, else perceptron" topic:"partial"`
	Starts  int     `flag:"starts" default:"1" min:"1" help:"Starts; the best is kept, and those after the first are drawn" topic:"partial"`
	Seed    uint64  `flag:"seed" default:"1" help:"Seed of starts that are drawn" topic:"partial"`
	Forget  bool    `flag:"forget" help:"Forget planes and outputs in every outer step, for comparison" topic:"partial"`
	Precise bool    `flag:"precise" help:"Solve all convex problems to --gap, for comparison" topic:"partial"`
}

// Partial minimises Lambda Ω(w) + the mean over samples of max(0, p - r). p is the largest score
// plus loss of outputs that do not agree with the annotation, r the largest score of those that do.
// It is not convex: see optim.CCCP, the solver, and PartialOptions.Start. Report.Outer has the
// objective after every outer step; each takes one inference within the annotations.
//
// Errors are those of MaxMargin; a sample whose annotation no output satisfies is named.
func Partial[X, Y, A any](s space.Space[X, Y, A], data []space.Sample[X, A], opts *PartialOptions,
	c *run.Control) (*Linear, *optim.Result, error) {
	var o PartialOptions
	err := learner.Complete(&o, opts)
	if err == nil {
		err = o.check(s.Dim())
	}
	if err != nil {
		return nil, nil, fmt.Errorf("margin: %w", err)
	}
	settings := learner.Settings(&o)
	control, r, err := begin("partial", c, data, settings)
	if err != nil {
		return nil, nil, fmt.Errorf("margin: %w", err)
	}
	var best *Linear
	var result *optim.Result
	calls, first := 0, 0
	if k := control.Resume; k != nil && k.Arrays["starts"] != nil {
		// Starts that were finished, and the best of them.
		state := k.Arrays["starts"]
		if len(state) != 3 {
			return nil, nil, fmt.Errorf("margin: partial: %w: its starts do not fit", run.ErrOther)
		}
		first, calls = int(state[0]), int(state[2])
		if w := k.Arrays["best weights"]; w != nil {
			best, result = &Linear{W: slices.Clone(w)}, &optim.Result{X: slices.Clone(w), F: state[1]}
		}
	}
	for start := first; start < o.Starts; start++ {
		own := *control
		if start > first {
			own.Resume = nil
		}
		if save := own.Checkpoint; save != nil {
			own.Checkpoint = func(k *run.Checkpoint) error {
				k.Arrays["starts"] = []float64{float64(start), 0, float64(calls)}
				if best != nil {
					k.Arrays["starts"][1], k.Arrays["best weights"] = result.F, best.W
				}
				return save(k)
			}
		}
		m, b, err := partialFrom(s, data, &o, start, &own, r)
		if b == nil {
			return nil, nil, err
		}
		calls += m.Report.Calls
		if best == nil || b.F < result.F {
			best, result = m, b
		}
		if err != nil {
			best.Report.Calls = calls
			return best, result, err
		}
	}
	best.Report.Calls = calls
	return best, result, nil
}

// partialFrom runs CCCP from one start.
func partialFrom[X, Y, A any](s space.Space[X, Y, A], data []space.Sample[X, A], o *PartialOptions, start int,
	c *run.Control, r *run.Run) (*Linear, *optim.Result, error) {
	m := &Linear{}
	own := o.Options
	if o.Forget {
		own.Remember = 0
	}
	p, err := penalty(s, data, &own, r, &m.Report)
	if err == nil {
		err = remembering(c, p)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("margin: %w", err)
	}
	right := within(s, data, &o.Options, r, &m.Report)
	if start == 0 && c.Resume == nil {
		// Annotations that nothing satisfies are found before the work begins.
		if err := right.all(make([]float64, s.Dim())); err != nil {
			return nil, nil, fmt.Errorf("margin: %w", err)
		}
	}
	w0, err := from(s, data, o, start, c, &m.Report)
	if err != nil {
		return nil, nil, err
	}
	for j := range w0 {
		w0[j] /= at(p.scale, j)
	}
	cccp := optim.CCCP{Lambda: o.Lambda, Norm: o.norm(), Above: true, Start: o.Coarse, Shrink: o.Shrink,
		Gap: o.Gap, Fall: o.Fall, NoRecycle: o.Forget, NoAdaptive: o.Precise, Keep: o.Keep,
		Pull: learner.Amount(o.Pull)}
	b, err := cccp.Minimize(p, right, w0, nil, c)
	if b == nil {
		return nil, nil, err
	}
	m.W = weights(make([]float64, len(b.X)), b.X, p.scale)
	m.Report.Lower, m.Report.Planes, m.Report.Outer = math.Inf(-1), len(b.Cuts.Planes), b.Outer
	return m, &b.Result, err
}

// from returns the weights that start number start begins with.
func from[X, Y, A any](s space.Space[X, Y, A], data []space.Sample[X, A], o *PartialOptions, start int,
	c *run.Control, report *Report) ([]float64, error) {
	zero := make([]float64, s.Dim())
	if c.Resume != nil {
		return zero, nil // the point is the checkpoint's
	}
	kind := o.Start
	if start > 0 {
		kind = "random"
	} else if o.Init != nil {
		return slices.Clone(o.Init), nil
	}
	var complete []space.Sample[X, A]
	if kind == "auto" || kind == "complete" {
		for i := range data {
			if s.Complete(data[i].X, data[i].A) {
				complete = append(complete, data[i])
			}
		}
		switch {
		case len(complete) > 0:
			kind = "complete"
		case kind == "complete":
			return nil, errors.New("margin: start: no sample is annotated completely; start from a perceptron")
		default:
			kind = "perceptron"
		}
	}
	// Nothing of the way to the start is kept: it is a short one.
	own := &run.Control{Ctx: c.Ctx, Workers: c.Workers, Live: c.Live}
	var m *Linear
	var err error
	switch kind {
	case "complete":
		first := o.Options
		first.Gap, first.Init = 10*o.Gap, nil
		m, _, err = MaxMargin(s, complete, &first, own)
	case "perceptron":
		m, _, err = Perceptron(s, data, &PerceptronOptions{Averaged: true, Passes: 5}, own)
	case "random":
		rng := rand.New(rand.NewPCG(o.Seed, uint64(start)))
		for j := range zero {
			zero[j] = rng.NormFloat64() / math.Sqrt(float64(s.Dim()))
		}
		return zero, nil
	default:
		c.Warning("weights of zero do not tell outputs apart: the first completion of every annotation is " +
			"arbitrary, and the end may be a poor local minimum")
		return zero, nil
	}
	if err != nil {
		return nil, err
	}
	report.Calls += m.Report.Calls
	if kind == "perceptron" {
		// The scale of a perceptron's weights says nothing: the best multiple of them is taken.
		return m.W, scaled(s, data, o, c, report, m.W)
	}
	return m.W, nil
}

// scaled multiplies w by the factor of least objective among some.
func scaled[X, Y, A any](s space.Space[X, Y, A], data []space.Sample[X, A], o *PartialOptions, c *run.Control,
	report *Report, w []float64) error {
	r := run.Begin("start", &run.Control{Ctx: c.Ctx, Workers: c.Workers}, 1)
	p, err := penalty(s, data, &o.Options, r, report)
	if err != nil {
		return err
	}
	in := within(s, data, &o.Options, r, report)
	u, a := make([]float64, len(w)), make([]float64, len(w))
	best, factor := math.Inf(1), 1.0
	for _, f := range []float64{0.01, 0.1, 1} {
		for j := range u {
			u[j] = f * w[j] / at(p.scale, j)
		}
		clear(a)
		up, err := p.Tangent(u, a)
		if err != nil {
			return fmt.Errorf("margin: %w", err)
		}
		clear(a)
		down, err := in.Tangent(u, a)
		if err != nil {
			return fmt.Errorf("margin: %w", err)
		}
		j := up - down + o.Lambda/2*floats.Dot(u, u)
		if o.norm() == optim.L1 {
			j = up - down + o.Lambda*floats.Norm(u, 1)
		}
		if j < best {
			best, factor = j, f
		}
	}
	floats.Scale(factor, w)
	return nil
}
