package sequence

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// A corpus larger than one machine is trained on in shards. Each shard is surveyed where it lies;
// the surveys make a Plan, which numbers labels and attributes as Prepare would number those of
// all shards one after the other. Then each shard is an objective of its own, and their sum is
// made by optim.Reducer, or elsewhere with the same bits.

// Survey is what a Plan needs to know of a shard.
type Survey struct {
	Sequences, Positions int
	Labels               []string // sorted
	Single, Pair         Attributes
}

// Attributes are the names of attributes in the order of their first appearance, with the number
// of positions that have each. With observed labels, attribute a was seen with the labels
// Seen[Ptr[a]:Ptr[a+1]], places in Survey.Labels.
type Attributes struct {
	Names  []string
	Counts []int
	Ptr    []int
	Seen   []int32
}

// SurveyOf surveys the examples of a shard. Of the options it uses those that Prepare does.
func SurveyOf(examples []Example, opts *TrainOptions) (*Survey, error) {
	o, err := opts.forShards()
	if err != nil {
		return nil, err
	}
	o.MinCount = 1
	m, c, err := prepare(examples, &o)
	if err != nil {
		return nil, err
	}
	s := &Survey{Sequences: c.sequences(), Positions: c.positions(), Labels: m.labels}
	s.Single = Attributes{Names: m.single.names, Counts: c.single.counts(len(m.single.names)), Ptr: m.layout.ptr, Seen: m.layout.seen}
	s.Pair = Attributes{Names: m.pair.names, Counts: c.pair.counts(len(m.pair.names))}
	return s, nil
}

// counts returns how often each of n ids is in the rows.
func (s *sparse) counts(n int) []int {
	counts := make([]int, n)
	for _, id := range s.ids {
		counts[id]++
	}
	return counts
}

// forShards completes options and refuses those that need all examples at once.
func (o *TrainOptions) forShards() (TrainOptions, error) {
	p, err := o.withDefaults()
	switch {
	case err != nil:
	case p.Solver != QuasiNewton && p.Solver != Proximal:
		err = fmt.Errorf("sequence: the solver %v is not for shards; there are %v and %v", p.Solver, QuasiNewton,
			Proximal)
	case p.Relax != nil:
		err = errors.New("sequence: a relaxation looks at the losses of all sequences at once, and there is none of shards")
	case p.Init != nil:
		err = errors.New("sequence: weights to start from are not for shards")
	case p.Kind == Risk:
		err = errors.New("sequence: the risk needs weights to start from, which shards do not have")
	}
	return p, err
}

// Plan is the numbering of the labels and attributes of a corpus in shards.
type Plan struct {
	model                *Model
	opts                 TrainOptions
	single, pair         []int // positions of each attribute
	sequences, positions int
}

// merged is a list of attributes under way.
type merged struct {
	Attributes
	index map[string]int
	seen  []map[int32]bool // of labels, places in the labels of all
}

func (m *merged) append(a *Attributes, label []int32) {
	for k, name := range a.Names {
		id, ok := m.index[name]
		if !ok {
			id = len(m.Names)
			m.index[name] = id
			m.Names, m.Counts = append(m.Names, name), append(m.Counts, 0)
			if a.Ptr != nil {
				m.seen = append(m.seen, map[int32]bool{})
			}
		}
		m.Counts[id] += a.Counts[k]
		if a.Ptr != nil {
			for _, y := range a.Seen[a.Ptr[k]:a.Ptr[k+1]] {
				m.seen[id][label[y]] = true
			}
		}
	}
}

// atLeast drops attributes of fewer positions.
func (m *merged) atLeast(count int, observed bool) Attributes {
	out := Attributes{Names: []string{}}
	if observed {
		out.Ptr = []int{0}
	}
	for id, name := range m.Names {
		if m.Counts[id] < count {
			continue
		}
		out.Names, out.Counts = append(out.Names, name), append(out.Counts, m.Counts[id])
		if observed {
			from := len(out.Seen)
			for y := range m.seen[id] {
				out.Seen = append(out.Seen, y)
			}
			slices.Sort(out.Seen[from:])
			out.Ptr = append(out.Ptr, len(out.Seen))
		}
	}
	return out
}

// NewPlan numbers what the shards have, the first one first. O(names of all surveys) time; memory
// is that of the distinct names.
func NewPlan(surveys []*Survey, opts *TrainOptions) (*Plan, error) {
	o, err := opts.forShards()
	if err != nil {
		return nil, err
	}
	if len(surveys) == 0 {
		return nil, errors.New("sequence: there are no shards")
	}
	d := planData{}
	labels := map[string]bool{}
	for _, y := range o.Labels {
		labels[y] = true
	}
	for _, s := range surveys {
		for _, y := range s.Labels {
			labels[y] = true
		}
	}
	for y := range labels {
		d.Labels = append(d.Labels, y)
	}
	slices.Sort(d.Labels)
	single, pair := merged{index: map[string]int{}}, merged{index: map[string]int{}}
	for _, s := range surveys {
		d.Sequences += s.Sequences
		d.Positions += s.Positions
		number := make([]int32, len(s.Labels))
		for k, y := range s.Labels {
			at, _ := slices.BinarySearch(d.Labels, y)
			number[k] = int32(at)
		}
		single.append(&s.Single, number)
		pair.append(&s.Pair, nil)
	}
	d.Single = single.atLeast(o.MinCount, o.Observed)
	d.Pair = pair.atLeast(o.MinCount, false)
	return d.plan(o)
}

// planData is a Plan as bytes hold it.
type planData struct {
	Labels               []string
	Single, Pair         Attributes
	Sequences, Positions int
}

func (d *planData) plan(o TrainOptions) (*Plan, error) {
	if err := o.named(d.Labels); err != nil {
		return nil, err
	}
	p := &Plan{opts: o, single: d.Single.Counts, pair: d.Pair.Counts, sequences: d.Sequences, positions: d.Positions}
	p.model = &Model{templates: o.Templates, format: o.Format, labels: d.Labels, single: newDictionary(d.Single.Names), pair: newDictionary(d.Pair.Names)}
	var err error
	p.model.layout, err = newLayout(len(d.Labels), o.Order, len(d.Single.Names), len(d.Pair.Names), d.Single.Ptr, d.Single.Seen)
	return p, err
}

// MarshalBinary implements encoding.BinaryMarshaler; UnmarshalPlan reads it.
func (p *Plan) MarshalBinary() ([]byte, error) {
	l, m := p.model.layout, p.model
	d := planData{Labels: m.labels, Sequences: p.sequences, Positions: p.positions,
		Single: Attributes{m.single.names, p.single, l.ptr, l.seen}, Pair: Attributes{Names: m.pair.names, Counts: p.pair}}
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(&d)
	return b.Bytes(), err
}

// UnmarshalPlan reads what MarshalBinary wrote, with the options that the plan was made with.
func UnmarshalPlan(data []byte, opts *TrainOptions) (*Plan, error) {
	o, err := opts.forShards()
	if err != nil {
		return nil, err
	}
	var d planData
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&d); err != nil {
		return nil, fmt.Errorf("sequence: plan: %w", err)
	}
	return d.plan(o)
}

// Dim returns the number of weights.
func (p *Plan) Dim() int { return p.model.layout.dim }

// Examples returns the number of sequences of all shards.
func (p *Plan) Examples() int { return p.sequences }

// Positions returns the number of positions of all shards.
func (p *Plan) Positions() int { return p.positions }

// Labels returns the number of labels.
func (p *Plan) Labels() int { return len(p.model.labels) }

// Shard returns the sum over the examples of a shard, without penalties, as a function of the
// weights. It belongs to one goroutine at a time, and uses the Workers of the plan's options. It
// keeps what it needs of the examples: some 16 bytes an attribute of a position, and 8 a label
// and position.
func (p *Plan) Shard(examples []Example) (optim.Objective, error) {
	m, o := p.model, &p.opts
	c := newCorpus()
	e := &encoder{templates: o.Templates, single: m.single, pair: m.pair}
	numbers := make(map[string]int32, len(m.labels))
	for k, y := range m.labels {
		numbers[y] = int32(k)
	}
	if o.Partial {
		numbers[""] = -1
	}
	for i := range examples {
		x := &examples[i]
		if len(x.Labels) != x.Len() {
			return nil, fmt.Errorf("sequence: %s: %d labels for %d positions", nameOf(x.Source, i), len(x.Labels), x.Len())
		}
		if err := e.encode(c, &x.Input); err != nil {
			return nil, fmt.Errorf("sequence: %s: %w", nameOf(x.Source, i), err)
		}
		for t, y := range x.Labels {
			k, ok := numbers[y]
			if !ok {
				return nil, fmt.Errorf("sequence: %s: token %d has the label %q, which the shards did not have when they were surveyed", nameOf(x.Source, i), t+1, y)
			}
			c.labels = append(c.labels, k)
		}
	}
	if unknown(c.labels) {
		if err := o.partial(); err != nil {
			return nil, err
		}
	}
	return newObjective(m.layout, c, newLossOf(o, m.layout, c), 0, o.Workers), nil
}

// scale is objective.guess of all shards.
func (p *Plan) scale() []float64 {
	l := p.model.layout
	return l.guess(p.opts.L2, curvature, p.positions, nil, func(a int) int { return p.single[a] },
		func(a int) int { return p.pair[a] })
}

// Train minimises sum, the sum over all shards, with the penalties of the options, and returns the
// model. sum is an optim.Reducer of Shards, or the same made elsewhere. The options are those of
// the plan, but for Control. Weights and bits are those that Train would reach from all examples at
// once only up to rounding: sums are cut elsewhere.
func (p *Plan) Train(sum optim.Objective, c *run.Control) (*Model, *optim.Result, error) {
	o := p.opts
	var control run.Control
	if c != nil {
		control = *c
	}
	if sum.Dim() != p.Dim() {
		return nil, nil, fmt.Errorf("sequence: a sum over %d weights for a plan of %d", sum.Dim(), p.Dim())
	}
	control.Examples = p.sequences
	control.Stop.Iterations = cmp.Or(control.Stop.Iterations, o.Control.Stop.Iterations)
	control.Stop.Relative = cmp.Or(control.Stop.Relative, o.Control.Stop.Relative)
	scale := p.scale()
	f := optim.Scaled(optim.Ridge(sum, o.L2), scale, o.Workers)
	r, err := o.minimize(f, scale, make([]float64, p.Dim()), &control)
	if r == nil {
		return nil, nil, err
	}
	for i := range r.X {
		r.X[i] *= scale[i]
	}
	m := *p.model
	m.w = r.X
	m.training = fmt.Sprintf("sequence order=%d labels=%d dim=%d %v gamma=%v beta=%v l2=%v l1=%v sequences=%d by %v of shards, %d iterations, %s",
		o.Order, len(m.labels), p.Dim(), o.Kind, o.Gamma, o.Beta, o.L2, o.L1, p.sequences, o.Solver, r.Iterations, r.Reason)
	return &m, r, err
}
