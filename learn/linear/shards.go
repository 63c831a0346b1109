package linear

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// A table larger than one machine is trained on in shards, all read with the form that
// table.MergeForms made of theirs. Moments of the shards, added up in their order, standardise the
// columns; then each shard is an objective of its own, and their sum is made by optim.Reducer, or
// elsewhere with the same bits.

// Moments are sums over rows that standardise columns, and say where training starts.
type Moments struct {
	Rows   int
	Weight float64   // sum of the weights
	Class  []float64 // weight of each class; nil for numbers
	Target Moment    // of numbers
	Column []ColumnMoments
}

// Moment is the weight, mean and sum of squared distances to the mean of some numbers.
type Moment struct{ Weight, Mean, Square float64 }

// ColumnMoments are those of a column. Numbers are of the values that are not missing; of a column
// of a sparse table, of those with an entry.
type ColumnMoments struct {
	Moment
	Entries bool // of a sparse table: other rows have the value 0
	Binary  bool // all values are 0 or 1
	Level   []float64
}

// add takes in a number.
func (m *Moment) add(v, w float64) {
	if w == 0 {
		return
	}
	m.Weight += w
	d := v - m.Mean
	m.Mean += d * w / m.Weight
	m.Square += w * d * (v - m.Mean)
}

// join takes in other numbers (T. Chan, G. Golub and R. LeVeque, "Updating formulae and a pairwise
// algorithm for computing sample variances", COMPSTAT 1982).
func (m *Moment) join(o Moment) {
	if o.Weight == 0 {
		return
	}
	total := m.Weight + o.Weight
	d := o.Mean - m.Mean
	m.Mean += d * o.Weight / total
	m.Square += o.Square + d*d*m.Weight*o.Weight/total
	m.Weight = total
}

// MomentsOf returns those of a shard. Rows of weight 0 are left out. O(cells).
func MomentsOf(t *table.Table) (*Moments, error) {
	if t.Target == nil {
		return nil, fmt.Errorf("linear: %s: there is no target column", t.Title())
	}
	m := &Moments{Class: make([]float64, len(t.Classes)), Column: make([]ColumnMoments, len(t.Columns))}
	for i, y := range t.Target {
		w := score.Weight(t.Weight, i)
		if w == 0 {
			continue
		}
		m.Rows++
		m.Weight += w
		if t.Classes != nil {
			m.Class[int(y)] += w
		} else {
			m.Target.add(y, w)
		}
	}
	for j := range t.Columns {
		c := &m.Column[j]
		c.Binary = true
		number := func(v float32, i int) {
			if v == v {
				c.add(float64(v), score.Weight(t.Weight, i))
				c.Binary = c.Binary && (v == 0 || v == 1)
			}
		}
		col := &t.Columns[j]
		switch {
		case t.Sparse != nil:
			c.Entries = true
			rows, values := t.Sparse.Column(j)
			for k, i := range rows {
				number(values[k], int(i))
			}
		case col.Kind == table.Categorical:
			c.Level = make([]float64, len(col.Levels))
			for i, v := range col.Values {
				if v == v && int(v) < len(c.Level) {
					c.Level[int(v)] += score.Weight(t.Weight, i)
				}
			}
		default:
			for i, v := range col.Values {
				number(v, i)
			}
		}
	}
	return m, nil
}

// Add adds the moments of the next shard, which was read with the same form.
func (m *Moments) Add(o *Moments) error {
	if len(m.Column) != len(o.Column) || len(m.Class) != len(o.Class) {
		return errors.New("linear: moments of tables of different forms")
	}
	for j := range m.Column {
		a, b := &m.Column[j], &o.Column[j]
		if len(a.Level) != len(b.Level) {
			return errors.New("linear: moments of tables of different forms")
		}
		if a.Entries != b.Entries {
			a.dense(m.Weight)
			c := *b
			c.dense(o.Weight)
			b = &c
		}
		a.join(b.Moment)
		a.Binary = a.Binary && b.Binary
		for l, w := range b.Level {
			a.Level[l] += w
		}
	}
	m.Rows += o.Rows
	m.Weight += o.Weight
	m.Target.join(o.Target)
	for k, w := range o.Class {
		m.Class[k] += w
	}
	return nil
}

// dense counts what has no entry as 0, among rows of so much weight.
func (c *ColumnMoments) dense(weight float64) {
	if c.Entries {
		c.join(Moment{Weight: max(weight-c.Weight, 0)})
		c.Entries = false
	}
}

// Features are those of Features, and Standardised's error.
func (m *Moments) Features(raw bool) ([]Feature, error) {
	var fs []Feature
	for j := range m.Column {
		c := m.Column[j]
		c.dense(m.Weight)
		if c.Level != nil {
			for l, w := range c.Level {
				if p := w / m.Weight; p > 0 && p < 1 {
					fs = append(fs, standard(j, l, p, p*(1-p), p < rareShare))
				}
			}
			continue
		}
		if v := c.Square / c.Weight; c.Weight > 0 && v > 1e-12*c.Mean*c.Mean && v > 0 {
			fs = append(fs, standard(j, -1, c.Mean, v, c.Binary && c.Mean < rareShare))
		}
	}
	if len(fs) == 0 {
		return nil, errors.New("linear: no column tells two rows apart")
	}
	if raw {
		for j := range fs {
			fs[j].Scale = 1
		}
	}
	return fs, nil
}

// Start returns the best scores without columns, or for Huber's loss those of the squared one.
func (m *Moments) Start(loss score.Loss) []float64 {
	if len(m.Class) == 0 {
		return []float64{m.Target.Mean}
	}
	var y, w []float64
	for k, v := range m.Class {
		if v > 0 {
			label := float64(k)
			if score.HasMargin(loss) {
				label = 2*label - 1
			}
			y, w = append(y, label), append(w, v)
		}
	}
	return loss.Start(y, w)
}

// Plan is what shards have in common: the form of the table, its moments and features.
type Plan struct {
	Form     boost.Schema
	Moments  Moments
	Features []Feature
}

// NewPlan returns the plan of a table whose shards, read like form, have these moments.
func NewPlan(form *table.Table, moments []*Moments, raw bool) (*Plan, error) {
	if len(moments) == 0 {
		return nil, errors.New("linear: there are no shards")
	}
	p := &Plan{Form: boost.SchemaOf(form), Moments: *moments[0]}
	p.Moments.Class = slices.Clone(p.Moments.Class)
	p.Moments.Column = slices.Clone(p.Moments.Column)
	for j := range p.Moments.Column {
		p.Moments.Column[j].Level = slices.Clone(p.Moments.Column[j].Level)
	}
	for _, m := range moments[1:] {
		if err := p.Moments.Add(m); err != nil {
			return nil, err
		}
	}
	var err error
	p.Features, err = p.Moments.Features(raw)
	return p, err
}

// Data returns the rows of a shard with their labels, and weights of mean 1 over all shards.
func (p *Plan) Data(t *table.Table, loss score.Loss) (*boost.Data, error) {
	if err := p.Form.Match(t); err != nil {
		return nil, err
	}
	d, err := boost.NewData(t, loss)
	if err != nil {
		return nil, err
	}
	w := make([]float64, d.Rows())
	for i := range w {
		w[i] = score.Weight(d.W, i) * float64(p.Moments.Rows) / p.Moments.Weight
	}
	d.W = w
	return d, nil
}

// forShards completes options, and refuses what needs all rows at once.
func (p *Plan) forShards(opts *Options) (o Options, loss score.Loss, err error) {
	if err := learner.Complete(&o, opts); err != nil {
		return o, nil, fmt.Errorf("linear: %w", err)
	}
	if h, err := o.Relaxation(); err != nil || h != nil {
		return o, nil, errors.Join(err, errors.New("linear: resilient: multipliers look at the losses of all rows at once, and there are none of shards"))
	}
	loss, err = o.LossFor(p.Form.Table())
	return o, loss, err
}

// Shard returns the sum over the rows of a shard, without penalties, as a function of weights and
// constants. It belongs to one goroutine at a time.
func (p *Plan) Shard(t *table.Table, opts *Options, workers int) (optim.Objective, error) {
	_, loss, err := p.forShards(opts)
	if err != nil {
		return nil, err
	}
	d, err := p.Data(t, loss)
	if err != nil {
		return nil, err
	}
	q := Problem{X: NewDesign(d.X, p.Features, workers), Shift: Shifts(p.Features), Loss: loss, Y: d.Y, W: d.W, Workers: workers}
	return q.Objective(), nil
}

// Dim returns the number of weights and constants.
func (p *Plan) Dim(opts *Options) (int, error) {
	_, loss, err := p.forShards(opts)
	if err != nil {
		return 0, err
	}
	return (len(p.Features) + 1) * loss.Outputs(), nil
}

// Train minimises sum, the sum over all shards, with the penalties of the options, and returns the
// model. It is Train's up to rounding.
func (p *Plan) Train(sum optim.Objective, opts *Options, c *run.Control) (*Model, *optim.Result, error) {
	o, loss, err := p.forShards(opts)
	if err != nil {
		return nil, nil, err
	}
	if c == nil {
		c = &run.Control{}
	}
	control := *c
	if control.Stop.Relative == 0 {
		control.Stop.Relative = 1e-9
	}
	if control.Stop.Gradient == 0 {
		control.Stop.Gradient = -1
	}
	control.Examples = p.Moments.Rows
	l2, k := learner.Amount(o.L2), loss.Outputs()
	weights := len(p.Features) * k
	s := newScaling(p.Moments.Rows, weights, k, l2, loss)
	start := make([]float64, weights+k)
	copy(start[weights:], p.Moments.Start(loss))
	for j := range start {
		start[j] /= s.scale[j]
	}
	f := optim.Func{N: sum.Dim(), F: func(x, grad []float64) (float64, error) {
		v, err := sum.Eval(x, grad)
		sq := 0.0
		for j, w := range x[:weights] {
			sq += w * w
			if grad != nil {
				grad[j] += l2 * w
			}
		}
		return v + l2/2*sq, err
	}}
	r, err := optim.Solver(o.Solver).Minimize(optim.Scaled(f, s.scale, control.Workers),
		optim.OWLQN{L1: o.L1, Penalty: s.penalty, Workers: control.Workers}, start, &control)
	if r == nil || r.X == nil {
		return nil, r, err
	}
	for j := range r.X {
		r.X[j] *= s.scale[j]
	}
	m := &Model{form: p.Form, loss: loss, settings: learner.Settings(&o), rows: p.Moments.Rows, features: p.Features, weights: r.X[:weights:weights], bias: r.X[weights:]}
	m.centre()
	if err == nil && !finite(r.X) {
		err = errors.New("linear: weights that are not finite")
	}
	return m, r, err
}

// scaling is a guess at the root of the inverse curvature along each coordinate, and the l1
// penalty of each as the scaled coordinate has it.
type scaling struct{ scale, penalty []float64 }

// newScaling guesses. The curvature of a standardised weight is about that of all rows; so is a
// constant's.
func newScaling(rows, weights, constants int, l2 float64, loss score.Loss) scaling {
	s := scaling{make([]float64, weights+constants), make([]float64, weights+constants)}
	for j := range s.scale {
		h := float64(rows) * loss.Curvature(1)
		if j < weights {
			h += l2
		}
		s.scale[j] = 1 / math.Sqrt(h)
		if j < weights {
			s.penalty[j] = s.scale[j]
		}
	}
	return s
}

// centre brings the constants of several scores to mean 0: only differences matter.
func (m *Model) centre() {
	k := len(m.bias)
	if k < 2 {
		return
	}
	mean := 0.0
	for _, b := range m.bias {
		mean += b / float64(k)
	}
	for c := range m.bias {
		m.bias[c] -= mean
	}
}
