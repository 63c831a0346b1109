package transduce

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// Options adjusts Train; zero fields are the defaults.
type Options struct {
	Objective string  `flag:"objective" default:"margin" values:"likelihood,margin,max-margin,risk" help:"What training minimises"`
	Loss      string  `flag:"loss" default:"edit" values:"edit,hamming,zero-one" help:"Loss of an output: edits, operations that differ from the aligned ones, or 1 where it is wrong"`
	Gamma     float64 `flag:"gamma" default:"1" min:"0" help:"Weight of the loss"`
	Beta      float64 `flag:"beta" default:"6" above:"0" help:"Sharpness of max-margin"`
	L2        float64 `flag:"l2" default:"0.3" min:"0" help:"Weight of half the squared weights beside the sum over pairs"`
	Alignment string  `flag:"alignment" default:"latent" values:"latent,best" help:"The right alignments: all that make the output, or the best one by the channel"`

	Order      int     `flag:"order" default:"2" min:"0" max:"4" topic:"features" help:"Outputs that an operation sees before it"`
	Window     int     `flag:"window" default:"3" min:"0" max:"4" topic:"features" help:"Input characters to either side that an operation sees"`
	Damping    float64 `flag:"damping" default:"0.6" above:"0" max:"1" topic:"features" help:"Value of a feature of n more characters is this to the power n"`
	MinCount   int     `flag:"min_count" default:"1" min:"1" topic:"features" help:"Features seen less often in training are left out"`
	Insertions int     `flag:"insertions" default:"8" min:"0" max:"60" topic:"lattice" help:"Most insertions between two input characters"`
	Beam       float64 `flag:"beam" default:"7" above:"0" max:"100" topic:"lattice" help:"Alignments count if their probability by the channel is within exp of this of the best one"`
	MaxArcs    int     `flag:"max_arcs" default:"200000" min:"1000" topic:"lattice" help:"Most arcs of a lattice; a larger one gets a narrower beam"`
	LexiconBy  float64 `flag:"lexicon_weight" default:"1" min:"0" topic:"lattice" help:"Weight of the costs of a lexicon"`

	Solver string  `flag:"solver" default:"lbfgs" values:"lbfgs,adam" topic:"solver" help:"Optimiser: L-BFGS, or Adam on small batches"`
	Rate   float64 `flag:"rate" default:"0.03" above:"0" topic:"solver" help:"Step of Adam"`
	Batch  int     `flag:"batch" default:"16" min:"1" topic:"solver" help:"Pairs of a step of Adam"`
	Seed   uint64  `flag:"seed" default:"1" topic:"solver" help:"Seed of the order of pairs for Adam"`
}

// Names of objectives.
const (
	likelihood = "likelihood"
	margin     = "margin"
	maxMargin  = "max-margin"
	risk       = "risk"
)

// ErrData reports examples that cannot be used.
var ErrData = errors.New("transduce: unusable data")

// Problem is training data made ready: aligned, with features and lattices. Several objectives may
// be fitted to it, if they have the Loss that it was made for.
type Problem struct {
	o       Options
	a       *alphabet
	channel *channel
	f       *features
	lexicon *Lexicon
	tagged  bool
	words   []word
	data    string // fingerprint

	// Lost are the numbers of pairs that have no alignment, which are left out.
	Lost []int
	// Outside are the numbers of pairs whose output is not in the lexicon. They are trained on
	// against the lexicon's strings.
	Outside []int
}

// Prepare aligns the pairs and makes their lattices. Options about objective and solver may be
// changed for Fit; Loss may not.
//
// Errors wrap ErrData, or name the pair. Memory is some 40 bytes for each arc of the lattices, and
// 4 for each feature of its pieces.
func Prepare(d *Data, opts *Options, c *run.Control) (*Problem, error) {
	p := &Problem{}
	if err := learner.Complete(&p.o, opts); err != nil {
		return nil, fmt.Errorf("transduce: %w", err)
	}
	if d == nil || len(d.Pairs) == 0 {
		return nil, fmt.Errorf("%w: there is no pair", ErrData)
	}
	if !d.Labelled {
		return nil, fmt.Errorf("%w: the pairs have no outputs", ErrData)
	}
	ctx, workers := c.Context(), 0
	if c != nil {
		workers = c.Workers
	}
	workers = run.WorkersOf(workers)
	p.data, p.lexicon = d.Fingerprint(), d.Lexicon
	var err error
	if p.a, err = newAlphabet(d); err != nil {
		return nil, err
	}
	texts := make([]*text, len(d.Pairs))
	for i := range d.Pairs {
		pair := &d.Pairs[i]
		if len(pair.Tags) > 0 {
			p.tagged = true
		}
		if texts[i] = p.a.text(pair); len(texts[i].x) == 0 || len(texts[i].x) > maxLength ||
			len(texts[i].y) > maxLength {
			return nil,
				fmt.Errorf("transduce: %s: %.60q has %d characters and its output %d; an input has 1 to %d, an output "+
					"at most as many",
					pair.where(i), pair.Input, len(texts[i].x), len(texts[i].y), maxLength)
		}
	}
	inserts := int(learner.Amount(float64(p.o.Insertions)))
	var aligned []*edits
	if err := newStage(c, "aligning", len(texts)).record(); err != nil {
		return nil, err
	}
	if p.channel, aligned, err = newChannel(ctx, p.a, texts, inserts, workers); err != nil {
		return nil, fmt.Errorf("transduce: %w", err)
	}
	var kept []int
	for i := range aligned {
		if aligned[i] == nil {
			p.Lost = append(p.Lost, i)
		} else {
			kept = append(kept, i)
		}
		if d.Lexicon != nil && !d.Lexicon.Has(d.Pairs[i].Output) {
			p.Outside = append(p.Outside, i)
		}
	}
	if len(kept) == 0 {
		return nil, errAlign(&d.Pairs[0], 0, inserts)
	}
	p.warn(c, d, inserts)
	p.f = &features{a: p.a, order: int(learner.Amount(float64(p.o.Order))),
		window: int(learner.Amount(float64(p.o.Window))), damping: p.o.Damping}
	p.f.collect(texts, aligned, p.o.MinCount)
	p.words = make([]word, len(kept))
	narrowed := make([]bool, len(kept))
	show := newStage(c, "lattices", len(kept))
	err = run.Each(workers, len(kept), func(_, at int) error {
		if ctx.Err() != nil {
			return fmt.Errorf("transduce: %w", context.Cause(ctx))
		}
		i := kept[at]
		t := texts[i]
		b := p.builder(ctx, t)
		b.p = p.channel.probs(t, p.channel.own(t, aligned[i]))
		b.gold, b.truth, b.loss = aligned[i], newTruth(t, b.p), lossName(p.o.Loss)
		l, err := b.build()
		if err != nil {
			return fmt.Errorf("transduce: %s: %.60q: %w", d.Pairs[i].where(i), d.Pairs[i].Input, err)
		}
		if !l.reach {
			return fmt.Errorf("transduce: %s: %.60q: the lattice lacks the output", d.Pairs[i].where(i),
				d.Pairs[i].Input)
		}
		narrowed[at] = b.narrowed
		if err := show.next(); err != nil {
			return err
		}
		w := &p.words[at]
		w.lattice = l
		w.start, w.feature = p.f.compile(t, l.pieces)
		w.feature, l.pieces = slices.Clip(w.feature), slices.Clip(l.pieces)
		return nil
	})
	if err != nil {
		return nil, err
	}
	n := 0
	for _, b := range narrowed {
		if b {
			n++
		}
	}
	if n > 0 {
		c.Warning(fmt.Sprintf("%d of %d lattices had more than %d arcs and got a narrower beam; see max_arcs "+
			"and beam", n, len(kept), p.o.MaxArcs))
	}
	return p, nil
}

// stage is a part of the preparation, as people see it.
type stage struct {
	live run.Recorder
	name string
	of   int

	mu   sync.Mutex
	done int
}

func newStage(c *run.Control, name string, of int) *stage {
	s := &stage{name: name, of: of}
	if c != nil {
		s.live = c.Live
	}
	return s
}

// next counts one pair.
func (s *stage) next() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done++; s.done%32 != 0 {
		return nil
	}
	return s.record()
}

func (s *stage) record() error {
	if s.live == nil {
		return nil
	}
	return s.live.Record(run.Row{Stage: s.name, Iteration: s.done, Detail: ofPairs(s.of)})
}

// ofPairs is the number of pairs of a stage.
type ofPairs int

// Fields implements run.Detail.
func (n ofPairs) Fields() []run.Field { return []run.Field{{Name: "pairs", Value: float64(n)}} }

// String implements run.Detail.
func (n ofPairs) String() string { return fmt.Sprintf("of %d pairs", int(n)) }

// maxLength bounds strings: places are numbers of 16 bits, and work grows with the square.
const maxLength = 1000

func (p *Problem) warn(c *run.Control, d *Data, inserts int) {
	if n := len(p.Lost); n > 0 {
		i := p.Lost[0]
		c.Warning(fmt.Sprintf("%d of %d pairs need more than %d insertions between two characters and are left "+
			"out, such as %s, %.40q to %.40q",
			n, len(d.Pairs), inserts, d.Pairs[i].where(i), d.Pairs[i].Input, d.Pairs[i].Output))
	}
	if n := len(p.Outside); n > 0 {
		i := p.Outside[0]
		c.Warning(fmt.Sprintf("%d of %d outputs are not in the lexicon and will never be predicted, such as %s, "+
			"%.40q",
			n, len(d.Pairs), d.Pairs[i].where(i), d.Pairs[i].Output))
	}
}

// builder returns a builder for an input, without the channel's probabilities.
func (p *Problem) builder(ctx context.Context, t *text) *builder {
	return &builder{ctx: ctx, a: p.a, t: t, order: p.f.order, beam: p.o.Beam, most: p.o.MaxArcs,
		lexicon: p.lexicon, weight: learner.Amount(p.o.LexiconBy)}
}

// Words returns the number of pairs that are trained on.
func (p *Problem) Words() int { return len(p.words) }

// Dim returns the number of features.
func (p *Problem) Dim() int { return p.f.table.Len() }

// Arcs returns the number of arcs of all lattices.
func (p *Problem) Arcs() int {
	n := 0
	for i := range p.words {
		n += len(p.words[i].arcs)
	}
	return n
}

// terms returns the objective of options as a sum over the pairs.
func (p *Problem) terms(o *Options) *terms {
	t := &terms{words: p.words, scale: make([]float64, p.Dim()), objective: objective{kind: o.Objective,
		gamma: learner.Amount(o.Gamma), beta: o.Beta, aligned: o.Alignment == "best"}}
	for id := range t.scale {
		t.scale[id] = p.f.value(p.f.table.Key(stateID(id)).template)
	}
	return t
}

// Fit minimises an objective over the pairs. Zero options are those of Prepare's; Loss and what
// shapes lattices and features are always its own. On an interrupt the model so far stands beside
// the error. The cost of an evaluation is O(arcs + features of pieces).
func (p *Problem) Fit(opts *Options, c *run.Control) (*Model, *optim.Result, error) {
	o := p.o
	if opts != nil {
		var given Options
		if err := learner.Complete(&given, opts); err != nil {
			return nil, nil, fmt.Errorf("transduce: %w", err)
		}
		if given.Loss != p.o.Loss && given.Objective != likelihood {
			return nil, nil, fmt.Errorf("transduce: loss: the lattices were made for %s, not %s", p.o.Loss, given.Loss)
		}
		o.Objective, o.Gamma, o.Beta, o.L2, o.Alignment = given.Objective, given.Gamma, given.Beta, given.L2,
			given.Alignment
		o.Solver, o.Rate, o.Batch, o.Seed = given.Solver, given.Rate, given.Batch, given.Seed
	}
	var control run.Control
	if c != nil {
		control = *c
	}
	if control.Resume != nil || control.Checkpoint != nil {
		control.Problem = fmt.Sprintf("transduce data=%s %s", p.data, learner.Settings(&o))
	}
	if control.Stop.Relative == 0 {
		control.Stop.Relative = settled
	}
	t := p.terms(&o)
	t.ctx = control.Context()
	start := make([]float64, t.Dim())
	var r *optim.Result
	var err error
	l2 := learner.Amount(o.L2)
	if o.Solver == "adam" {
		r, err = optim.Stochastic{Method: optim.Adam, Rate: o.Rate, Batch: o.Batch, L2: l2, Seed: o.Seed,
			Workers: control.Workers}.Minimize(t, start, &control)
	} else {
		f := optim.Ridge(optim.NewSum(t, &optim.SumOptions{Workers: control.Workers}), l2)
		r, err = optim.LBFGS{Memory: 6}.Minimize(f, start, &control)
	}
	if r == nil || r.X == nil {
		return nil, r, err
	}
	m := &Model{o: o, a: p.a, channel: p.channel, f: p.f, lexicon: p.lexicon, tagged: p.tagged,
		pairs:   len(p.words),
		weights: make([]float64, len(r.X))}
	for j, x := range r.X {
		if m.weights[j] = x * t.scale[j]; math.IsNaN(m.weights[j]) || math.IsInf(m.weights[j], 0) {
			return nil, r, fmt.Errorf("transduce: weight %d is %v", j, m.weights[j])
		}
	}
	return m, r, err
}

// settled is the fraction of the objective, over five iterations, at which L-BFGS stops.
const settled = 1e-4

// Train fits a model to the pairs of d: Prepare and Fit. The result says how the solver ended. When
// the run is interrupted, the model so far stands beside the error.
func Train(d *Data, opts *Options, c *run.Control) (*Model, *optim.Result, error) {
	p, err := Prepare(d, opts, c)
	if err != nil {
		return nil, nil, err
	}
	return p.Fit(nil, c)
}
