package network

import (
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// ShardOptions are options of a network that is trained on all rows at once, in shards: plain
// training by L-BFGS or proximal steps. Zero fields are the defaults.
type ShardOptions struct {
	Hidden     []int   `flag:"hidden" default:"64" min:"0" help:"Units of each hidden layer; 0 alone is none, a linear model"`
	L2         float64 `flag:"l2" default:"0.0005" min:"0" help:"Weight of half the squared weights beside the mean loss"`
	Loss       string  `flag:"loss" default:"auto" values:"auto,logistic,softmax,squared,huber" help:"Loss; auto is logistic for two classes, softmax for more, squared for numbers"`
	HuberDelta float64 `flag:"huber_delta" default:"1" above:"0" help:"Residual from which --loss huber is linear"`
	Raw        bool    `flag:"raw" help:"Take columns as they are; by default they are brought to mean 0 and variance 1"`
	Seed       uint64  `flag:"seed" default:"1" help:"Seed of the start"`
	Solver     string  `flag:"solver" default:"lbfgs" values:"lbfgs,proximal" help:"Optimiser: lbfgs, or accelerated proximal steps along the gradient"`
}

// Shards trains a network on the shards of a table, with the plan that linear.NewPlan makes of
// them.
type Shards struct {
	plan *linear.Plan
	opts ShardOptions
	loss score.Loss
	net  *nn.Network
}

// NewShards returns the training of a plan.
func NewShards(p *linear.Plan, opts *ShardOptions) (*Shards, error) {
	s := &Shards{plan: p}
	if err := learner.Complete(&s.opts, opts); err != nil {
		return nil, fmt.Errorf("network: %w", err)
	}
	var err error
	if s.loss, err = (&linear.Options{Loss: s.opts.Loss, HuberDelta: s.opts.HuberDelta}).LossFor(p.Form.Table()); err != nil {
		return nil, err
	}
	if s.net, err = nn.New((&Options{Hidden: s.opts.Hidden}).sizes(len(p.Features), s.loss.Outputs())...); err != nil {
		return nil, fmt.Errorf("network: hidden: %w", err)
	}
	return s, nil
}

// Dim returns the number of weights.
func (s *Shards) Dim() int { return s.net.Dim() }

// model is an untrained one.
func (s *Shards) model() *Model {
	return &Model{form: s.plan.Form, loss: s.loss, settings: learner.Settings(&s.opts), rows: s.plan.Moments.Rows, inputs: s.plan.Features, net: s.net}
}

// Shard returns the sum of the losses over the rows of a shard, without the penalty, as a function
// of the weights. It belongs to one goroutine at a time, and uses workers itself. Memory is 4
// bytes a row and input.
func (s *Shards) Shard(t *table.Table, workers int) (optim.Objective, error) {
	d, err := s.plan.Data(t, s.loss)
	if err != nil {
		return nil, err
	}
	m, n := s.model(), len(s.plan.Features)
	if cells := float64(d.Rows()) * float64(n); cells > mostCells {
		return nil, fmt.Errorf("network: %s: %d rows of %d inputs are laid out in %.0f GB; cut the shard into smaller ones", d.X.Title(), d.Rows(), n, 4e-9*cells)
	}
	r := &Rows{Net: s.net, Loss: s.loss, X: make([]float32, d.Rows()*n), Y: d.Y, W: d.W}
	for i := range d.Rows() {
		m.input(r.X[i*n:][:n], d.X, i)
	}
	return &rowSum{New(r, workers).(*program)}, nil
}

// rowSum is the weighted sum of the losses of rows.
type rowSum struct{ *program }

// Examples returns the number of rows.
func (s *rowSum) Examples() int { return len(s.Y) }

// Eval implements optim.Objective.
func (s *rowSum) Eval(x, grad []float64) (float64, error) {
	d, k := s.Net.Inputs(), s.Net.Outputs()
	values := make([]float64, s.pass.Most())
	clear(grad)
	total := 0.0
	for from := 0; from < len(s.Y); from += s.pass.Most() {
		n := min(len(s.Y)-from, s.pass.Most())
		for j, c := range s.X[from*d : (from+n)*d] {
			s.x[j] = float64(c)
		}
		y, g := s.Y[from:from+n], s.g[:n*k]
		f := s.pass.Forward(x, s.x, n)
		s.Loss.Values(values[:n], y, f)
		for r, v := range values[:n] {
			total += score.Weight(s.W, from+r) * v
		}
		if grad == nil {
			continue
		}
		s.Loss.Gradients(g, nil, y, f)
		for r := range n {
			w := score.Weight(s.W, from+r)
			for c := range k {
				g[r*k+c] *= w
			}
		}
		s.pass.Backward(x, g, s.part)
		optim.AddParts(grad, s.part)
	}
	return total, nil
}

// Train minimises the mean of sum, the sum over all shards, plus the penalty, and returns the
// model. It is not convex: other seeds may end elsewhere.
func (s *Shards) Train(sum optim.Objective, c *run.Control) (*Model, *optim.Result, error) {
	if c == nil {
		c = &run.Control{}
	}
	control := *c
	control.Examples = s.plan.Moments.Rows
	l2, inverse := learner.Amount(s.opts.L2), 1/float64(s.plan.Moments.Rows)
	f := optim.Func{N: sum.Dim(), F: func(x, grad []float64) (float64, error) {
		v, err := sum.Eval(x, grad)
		for j := range grad {
			grad[j] *= inverse
		}
		sq := 0.0
		for _, span := range s.net.AllWeights() {
			for j := span.From; j < span.To; j++ {
				sq += x[j] * x[j]
				if grad != nil {
					grad[j] += l2 * x[j]
				}
			}
		}
		return inverse*v + l2/2*sq, err
	}}
	start := nn.He[float64](s.net, s.opts.Seed)
	_, biases := nn.Layer(s.net, s.net.Layers()-1, start)
	copy(biases, s.plan.Moments.Start(s.loss))
	r, err := optim.Solver(s.opts.Solver).Minimize(f, optim.OWLQN{Workers: control.Workers}, start, &control)
	if r == nil || r.X == nil {
		return nil, r, err
	}
	m := s.model()
	m.w = r.X
	if i := optim.FirstNotFinite(r.X); err == nil && i >= 0 {
		err = errors.New("network: weights that are not finite")
	}
	return m, r, err
}
