package g2p

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/nn/encoder"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// withDefaults fills in what depends on the number of words.
func (o *NetworkOptions) withDefaults(words int) (NetworkOptions, error) {
	var d NetworkOptions
	if o == nil {
		o = &d
	}
	if err := learner.Complete(&d, o); err != nil {
		return d, fmt.Errorf("g2p: %w", err)
	}
	d.Own, d.Seed = o.Own, o.Seed
	if d.Networks = d.Networks.For(min(words, MostWords)); d.Networks == NoNetwork && d.Own == nil {
		return d, errors.New("g2p: no network is to be trained; Fit trains models without")
	}
	many := words > fewWords
	epochs, members := 25, 5
	switch {
	case words > manyWords:
		epochs, members = 12, 4
	case many:
		epochs, members = 20, 6
	}
	d.Epochs, d.Members = cmp.Or(d.Epochs, epochs), cmp.Or(d.Members, members)
	if d.Own != nil {
		d.Members = len(d.Own)
	}
	if d.Batch == 0 {
		if d.Batch = 32; many {
			d.Batch = 64
		}
	}
	if d.FirstEpochs == 0 {
		d.FirstEpochs = (d.Epochs + 1) / 2
	}
	return d, nil
}

// Where the sizes of the recipe change: it trains smaller networks on few words, and fewer ones on
// many.
const (
	fewWords  = 2000
	manyWords = 20000
)

// Passes returns the passes that all members make together over so many words; 0 for options that
// FitNetworks refuses.
func (o *NetworkOptions) Passes(words int) int {
	d, err := o.withDefaults(words)
	if err != nil {
		return 0
	}
	return d.Members * d.Epochs
}

// kind returns the kind of member k.
func (o *NetworkOptions) kind(k int) Networks {
	if o.Networks == BothNetworks {
		return []Networks{Convolutional, Recurrent}[k%2]
	}
	return o.Networks
}

// shape returns the ready network of a kind.
func (o *NetworkOptions) shape(kind Networks, words, letters, labels int) encoder.Shape {
	s := encoder.Convolutional(letters, labels)
	if kind == Recurrent {
		s = encoder.Recurrent(letters, labels)
		s.InputDropout = learner.Amount(o.Dropout)
	}
	if words > fewWords && kind == Convolutional {
		s.Hidden = 192
	}
	if o.Hidden > 0 {
		s.Hidden = o.Hidden
	}
	s.Dropout = learner.Amount(o.Dropout)
	return s
}

// training returns the options of a member's training.
func (o *NetworkOptions) training(kind Networks, k, epochs int) *encoder.Options {
	e := &encoder.Options{Rate: o.Rate, Epochs: epochs, Batch: o.Batch, Seed: o.Seed + uint64(k)*seedStep}
	if e.Rate == 0 && kind == Recurrent {
		e.Rate = 0.004
	}
	return e
}

// seedStep lies between the seeds of two members, so that runs with neighbouring seeds share none.
const seedStep = 1 << 32

// Labels returns the number of labels: the outputs that a network for p needs.
func (p *Problem) Labels() int { return len(p.Inventory.Labels) }

// FitNetworks trains networks under the lattice: the score of a label is what a network says of it,
// plus that of its label bigram, plus linear features if asked for. All parameters of a member are
// trained together, by Adam along the exact gradient of the objective. CrossEntropy and
// HammingMargin have one stage; the others begin with passes of HammingMargin with γ = 1, and go on
// with the objective.
//
// Members are independent, and are trained beside each other on the workers of c. The model's
// scores are their mean, where both kinds count alike. The objective of the result is the mean over
// the members.
//
// c.Stop.Time ends the training early. Iterations and the rules on values are not used: the
// passes are those of the options.
func (p *Problem) FitNetworks(o Objective, n *NetworkOptions, c *run.Control) (*Model, *optim.Result, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, nil, err
	}
	no, err := n.withDefaults(len(p.words))
	if err != nil {
		return nil, nil, err
	}
	if !no.Features {
		o.L2 = 0 // what it is of is not there
	}
	if err := p.need(c.Context(), o.Kind); err != nil {
		return nil, nil, err
	}
	e, err := p.ensemble(o, &no, c)
	if err != nil {
		return nil, nil, err
	}
	workers := run.WorkersOf(e.control.Workers)
	beside := min(workers, len(e.members))
	err = run.Each(beside, len(e.members), func(_, k int) error { return e.fit(k, max(1, workers/beside)) })
	if err != nil {
		return nil, nil, err
	}
	m := &Model{Inventory: p.Inventory, Features: p.Features, Objective: o, views: p.views}
	m.setMembers(e.members)
	return m, e.result(), nil
}

// ensemble is the training of the members of a model.
type ensemble struct {
	p       *Problem
	o       Objective
	no      NetworkOptions
	control run.Control
	members []*member

	mu      sync.Mutex
	states  []*run.Checkpoint // the last of each member; nil before the first
	results []*optim.Result
	passes  int // of all members
	begin   time.Time
	spent   float64 // seconds of the run that was resumed
}

// ensembleSolver is the name of the training in checkpoints.
const ensembleSolver = "g2p networks"

func (p *Problem) ensemble(o Objective, no *NetworkOptions, c *run.Control) (*ensemble, error) {
	e := &ensemble{p: p, o: o, no: *no, members: make([]*member, no.Members),
		states: make([]*run.Checkpoint, no.Members), results: make([]*optim.Result, no.Members), begin: time.Now()}
	if c != nil {
		e.control = *c
	}
	for k := range e.members {
		b := &member{kind: no.kind(k)}
		if no.Own != nil {
			b.kind, b.net = ownNetwork, no.Own[k]
			if b.net.Outputs() != p.Labels() {
				return nil, fmt.Errorf("g2p: network %d has %d outputs, the words have %d labels", k, b.net.Outputs(),
					p.Labels())
			}
		} else {
			b.shape = no.shape(b.kind, len(p.words), 1+len(p.Inventory.Letters), p.Labels())
			net, err := b.shape.Letters()
			if err != nil {
				return nil, fmt.Errorf("g2p: %w", err)
			}
			b.net = net
		}
		e.members[k] = b
	}
	setShares(e.members)
	return e, e.resume()
}

// ownNetwork is the kind of members that the caller made.
const ownNetwork Networks = "own"

// setShares gives every kind the same share, divided among its members.
func setShares(members []*member) {
	number := map[Networks]int{}
	for _, b := range members {
		number[b.kind]++
	}
	for _, b := range members {
		b.share = 1 / float64(len(number)*number[b.kind])
	}
}

// fit trains member k.
func (e *ensemble) fit(k, workers int) error {
	b, p := e.members[k], e.p
	if e.results[k] != nil { // a resumed run had it
		return nil
	}
	stage := func(o Objective, epochs int, name string) encoder.Stage[[]int32] {
		return encoder.Stage[[]int32]{Name: name, Task: p.networkTask(o, e.no.Features, workers),
			Options: e.no.training(b.kind, k, epochs)}
	}
	var stages []encoder.Stage[[]int32]
	first := 0
	if kind := e.o.Kind; kind != CrossEntropy && kind != HammingMargin {
		first = min(e.no.FirstEpochs, e.no.Epochs-1)
	}
	if first > 0 {
		stages = append(stages, stage(Objective{Kind: HammingMargin, Gamma: 1, L2: e.o.L2}, first, "first"))
	}
	stages = append(stages, stage(e.o, e.no.Epochs-first, ""))
	c := e.memberControl(k, workers)
	all, r, err := encoder.FitAll(b.net, 1, c, stages...)
	if err != nil {
		return err
	}
	params := all[0]
	r.X = make([]float64, len(params))
	for i, x := range params {
		r.X[i] = float64(x)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.finish(k, r)
	if e.control.Checkpoint == nil {
		return nil
	}
	return e.save()
}

// NetworkRow is what FitNetworks adds to its rows, which count the passes of all members.
type NetworkRow struct {
	Kind    Networks
	Member  int // from 1
	Members int
	Pass    int // of the member
	Loss    float64
}

// Fields implements run.Detail.
func (r *NetworkRow) Fields() []run.Field {
	return []run.Field{{Name: "member", Value: float64(r.Member)}, {Name: "pass", Value: float64(r.Pass)}}
}

// String implements run.Detail.
func (r *NetworkRow) String() string {
	name := string(r.Kind)
	if r.Members > 1 {
		name += fmt.Sprintf(" %d of %d", r.Member, r.Members)
	}
	return fmt.Sprintf("%s, pass %d, loss %.4g", name, r.Pass, r.Loss)
}

// row makes a row of the ensemble of one of member k.
func (e *ensemble) row(k int, r run.Row, passes int) run.Row {
	r.Detail = &NetworkRow{e.members[k].kind, k + 1, len(e.members), r.Iteration, r.Objective}
	r.Stage, r.Iteration, r.Evaluations, r.Seconds = "", passes, passes, e.spent+time.Since(e.begin).Seconds()
	return r
}

// memberControl returns the control of member k: rows and checkpoints are those of all members.
func (e *ensemble) memberControl(k, workers int) *run.Control {
	c := e.control
	c.Workers, c.Examples = workers, len(e.p.words)
	c.Problem = fmt.Sprintf("%s member=%d", e.control.Problem, k)
	c.Stop = run.Stop{}
	if t := e.control.Stop.Time; t > 0 { // what is left; a member has one pass in any case
		c.Stop.Time = max(1, t-time.Since(e.begin)-time.Duration(e.spent*float64(time.Second)))
	}
	c.Resume = e.states[k]
	if to := e.control.Recorder; to != nil {
		c.Recorder = run.RecorderFunc(func(r run.Row) error {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.passes++
			return to.Record(e.row(k, r, e.passes))
		})
	}
	if to := e.control.Live; to != nil {
		c.Live = run.RecorderFunc(func(r run.Row) error {
			e.mu.Lock()
			defer e.mu.Unlock()
			return to.Record(e.row(k, r, e.passes+1))
		})
	}
	if e.control.Checkpoint != nil {
		c.Checkpoint = func(s *run.Checkpoint) error {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.states[k] = s
			return e.save()
		}
	}
	return &c
}

// result sums up those of the members.
func (e *ensemble) result() *optim.Result {
	all := &optim.Result{Reason: run.AllPasses}
	for _, r := range e.results {
		if r == nil {
			continue
		}
		all.F += r.F / float64(len(e.results))
		all.Iterations += r.Iterations
		all.Evaluations += r.Evaluations
		if r.Reason != run.AllPasses {
			all.Reason = r.Reason
		}
	}
	return all
}

// Names of what checkpoints keep of member k: its own checkpoint while it is trained, and its
// parameters once it is done.
func stateName(k int) string { return fmt.Sprintf("member%d", k) }

// save hands over what all members have reached.
func (e *ensemble) save() error {
	s := &run.Checkpoint{Solver: ensembleSolver, Problem: e.control.Problem, Files: map[string][]byte{},
		Arrays: map[string][]float64{}, Scalars: map[string]float64{}}
	for k := range e.members {
		name := stateName(k)
		switch r := e.results[k]; {
		case r != nil:
			s.Arrays[name] = r.X
			s.Scalars[name+"_value"] = r.F
			s.Scalars[name+"_iterations"] = float64(r.Iterations)
			s.Scalars[name+"_evaluations"] = float64(r.Evaluations)
			s.Iteration += r.Iterations
			s.Evaluations += r.Evaluations
		case e.states[k] != nil:
			var b bytes.Buffer
			if err := e.states[k].Write(&b); err != nil {
				return err
			}
			s.Files[name] = b.Bytes()
			s.Iteration += e.states[k].Iteration
			s.Evaluations += e.states[k].Evaluations
		}
	}
	s.Seconds = e.spent + time.Since(e.begin).Seconds()
	return e.control.Checkpoint(s)
}

// resume takes up what save kept.
func (e *ensemble) resume() error {
	s := e.control.Resume
	if s == nil {
		return nil
	}
	if s.Solver != ensembleSolver {
		return fmt.Errorf("g2p: %w: it was written by %s", run.ErrOther, s.Solver)
	}
	if err := s.BelongsTo(e.control.Problem); e.control.Problem != "" && err != nil {
		return fmt.Errorf("g2p: %w", err)
	}
	e.passes, e.spent = s.Iteration, s.Seconds
	for k, b := range e.members {
		name := stateName(k)
		if x := s.Arrays[name]; x != nil {
			if len(x) != b.net.Dim()+e.p.dim() {
				return fmt.Errorf("g2p: %w: member %d has %d parameters, not %d", run.ErrOther, k+1, len(x),
					b.net.Dim()+e.p.dim())
			}
			e.finish(k, &optim.Result{X: x, F: s.Scalars[name+"_value"], Reason: run.AllPasses,
				Iterations: int(s.Scalars[name+"_iterations"]), Evaluations: int(s.Scalars[name+"_evaluations"])})
			continue
		}
		if file := s.Files[name]; file != nil {
			state, err := run.ReadCheckpoint(bytes.NewReader(file))
			if err != nil {
				return fmt.Errorf("g2p: checkpoint of member %d: %w", k+1, err)
			}
			e.states[k] = state
		}
	}
	return nil
}

// finish keeps what member k has become.
func (e *ensemble) finish(k int, r *optim.Result) {
	b, dim := e.members[k], e.members[k].net.Dim()
	b.params = make([]float32, dim)
	for i, x := range r.X[:dim] {
		b.params[i] = float32(x)
	}
	groups, views := r.X[dim:dim+e.p.groups.dim], r.X[dim+e.p.groups.dim:]
	b.weights = append(e.p.Features.expand(&e.p.groups, groups), views...)
	e.results[k] = r
}
