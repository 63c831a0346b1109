package linear

import (
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
)

// Options adjusts Train; zero fields are the defaults.
type Options struct {
	Loss       string  `flag:"loss" default:"auto" values:"auto,logistic,softmax,squared,huber" help:"Loss; auto is logistic for two classes, softmax for more, squared for numbers"`
	L2         float64 `flag:"l2" default:"1" min:"0" help:"Weight of half the squared weights beside the sum of the losses of the rows"`
	L1         float64 `flag:"l1" min:"0" help:"Weight of the absolute weights; makes many of them zero"`
	Raw        bool    `flag:"raw" help:"Take columns as they are; by default they are brought to mean 0 and variance 1"`
	HuberDelta float64 `flag:"huber_delta" default:"1" above:"0" help:"Residual from which Huber's loss is linear"`
	Solver     string  `flag:"solver" default:"lbfgs" values:"lbfgs,proximal" help:"Optimiser: lbfgs, or accelerated proximal steps along the gradient"`

	resilient.Options // rows then count by h'(loss); see package resilient
}

// LossFor returns the loss for a table's target. "" is auto.
func (o *Options) LossFor(t *table.Table) (score.Loss, error) {
	name := o.Loss
	if name == "auto" || name == "" {
		switch {
		case t.Classes == nil:
			name = "squared"
		case len(t.Classes) > 2:
			name = "softmax"
		default:
			name = "logistic"
		}
	}
	classes := name == "logistic" || name == "softmax"
	switch {
	case classes && t.Classes == nil:
		return nil, fmt.Errorf("linear: loss: %s is for classes, and the target %q has numbers", name, t.TargetName)
	case !classes && t.Classes != nil:
		return nil, fmt.Errorf("linear: loss: %s is for numbers, and the target %q has %d classes", name, t.TargetName, len(t.Classes))
	case name == "logistic" && len(t.Classes) != 2:
		return nil, fmt.Errorf("linear: loss: logistic separates two classes, and the target %q has %d; softmax takes any number", t.TargetName, len(t.Classes))
	}
	switch name {
	case "softmax":
		return score.SoftMax{Classes: len(t.Classes)}, nil
	case "huber":
		return score.Huber{Delta: o.HuberDelta}, nil
	}
	return score.Parse(name)
}

// Train fits a model to the rows of t with a target and positive weight. The result says how
// the solver ended. When the run is interrupted, the model so far stands beside the error.
//
// Errors: unusable options, targets or columns, and those of the run. O(iterations · numbers
// that are not zero · outputs) time; memory beside the table is the Design and, of optim.OWLQN,
// some 26 vectors of the weights.
func Train(t *table.Table, opts *Options, c *run.Control) (*Model, *optim.Result, error) {
	var o Options
	if err := learner.Complete(&o, opts); err != nil {
		return nil, nil, fmt.Errorf("linear: %w", err)
	}
	h, err := o.Relaxation()
	if err != nil {
		return nil, nil, fmt.Errorf("linear: %w", err)
	}
	loss, err := o.LossFor(t)
	if err != nil {
		return nil, nil, err
	}
	d, err := boost.NewData(t, loss) // rows of weight 0 are left out
	if err != nil {
		return nil, nil, err
	}
	if c == nil {
		c = &run.Control{}
	}
	control := *c
	if control.Resume != nil || control.Checkpoint != nil {
		control.Problem = fmt.Sprintf("linear data=%016x loss=%s %s", d.X.Fingerprint(d.Y, d.W), loss.Name(), learner.Settings(&o))
	}
	if control.Stop.Relative == 0 {
		control.Stop.Relative = 1e-9
	}
	if control.Stop.Gradient == 0 {
		control.Stop.Gradient = -1 // a gradient that is small in one unit of the target is large in another
	}
	m := &Model{form: boost.SchemaOf(d.X), loss: loss, settings: learner.Settings(&o), rows: d.Rows()}
	if m.features, err = Standardised(d.X, d.W, o.Raw, control.Workers); err != nil {
		return nil, nil, err
	}
	w := shares(d.X.Rows, d.W)
	for i := range w { // the objective is a sum, with weights of mean 1
		w[i] *= float64(d.Rows())
	}
	k := loss.Outputs()
	p := Problem{X: NewDesign(d.X, m.features, control.Workers), Shift: Shifts(m.features), Loss: loss, Y: d.Y, W: w, L2: learner.Amount(o.L2), Workers: control.Workers}
	n := (len(m.features) + 1) * k
	start := make([]float64, n)
	copy(start[n-k:], loss.Start(d.Y, d.W))
	to := newScaling(d.Rows(), n-k, k, p.L2, loss)
	for j := range start {
		start[j] /= to.scale[j]
	}
	f := p.Objective()
	var relaxed *resilient.Objective
	if h != nil {
		if relaxed, err = resilient.NewObjective(p.Weighed(), h); err != nil {
			return nil, nil, err
		}
		f = relaxed
	}
	minimize := func(f optim.Objective, c *run.Control) (*optim.Result, error) {
		r, err := optim.Solver(o.Solver).Minimize(optim.Scaled(f, to.scale, control.Workers),
			optim.OWLQN{L1: o.L1, Penalty: to.penalty, Workers: control.Workers}, start, c)
		if r != nil {
			for j := range r.X {
				r.X[j] *= to.scale[j]
			}
		}
		return r, err
	}
	r, err := minimize(f, &control)
	if r == nil || r.X == nil {
		return nil, r, err
	}
	m.weights, m.bias = r.X[:n-k:n-k], r.X[n-k:]
	if relaxed != nil && err == nil {
		m.hard, err = relaxed.Difficulty(r.X, o.Folds, nil, func(f optim.Objective) ([]float64, error) {
			r, err := minimize(f, &run.Control{Ctx: control.Ctx, Stop: control.Stop})
			if err != nil {
				return nil, err
			}
			return r.X, nil
		}, func(i int) (string, string) { return d.X.At(i), d.X.Show(i) })
		if err != nil {
			return m, r, fmt.Errorf("linear: %w", err)
		}
	}
	m.centre()
	if err == nil && !finite(r.X) {
		err = errors.New("linear: weights that are not finite")
	}
	return m, r, err
}

func finite(x []float64) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}
