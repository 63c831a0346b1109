package g2p

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/losses"
)

// Options adjusts the preparation of training words; the zero value is right.
type Options struct {
	Align    AlignOptions
	Features FeatureOptions
	Views    ViewOptions

	// MaxEdges is the budget of column edges for the loss machine of one word; 0 is 40000, negative
	// is none. The machines of long words with many labels a letter double with every letter. A
	// word over the budget loses the rarest labels of its lattice, which then do not compete in it.
	MaxEdges int
	// NGram is the loss of NGramMargin. An N of 0 is 2, and a C of 0 is 1: without C, strings that
	// share no n-gram with the reference would have no loss. Its machines have the same budget, and
	// lattices of their own.
	NGram   losses.NGram
	Workers int // 0 is GOMAXPROCS; results do not depend on it
	// Live, if not nil, receives rows while words are prepared: iterations of the alignment, then
	// words whose features are numbered, and whose loss machines are built.
	Live run.Recorder
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.MaxEdges == 0 {
		d.MaxEdges = 40000
	}
	if d.NGram.N == 0 {
		d.NGram.N = 2
	}
	if d.NGram.C == 0 {
		d.NGram.C = 1
	}
	d.Workers = run.WorkersOf(d.Workers)
	return d
}

// Problem is a set of training words prepared for any number of fits. The words are aligned and
// their features numbered; loss machines are built when an objective first needs them. Fits of one
// Problem may run at the same time.
type Problem struct {
	Inventory *Inventory
	Features  *Features
	Alignment *Alignment
	Stats     ProblemStats

	opts  Options
	given []Pair // all pairs, lost ones too
	words []word

	// The words' unary scores, which the gradient with respect to them has one after another, and
	// which of them every block of weights collects.
	unary     int
	groups    groups
	groupOcc  occurrences
	pairCount []int32 // how often each letter pair occurs

	views  *views // nil is none
	events events // what the words' label strings pay for them
	number map[string]int32
	arcs   int // of all trellises

	graphs struct {
		sync.Mutex
		built, ngrams bool
	}
}

// ProblemStats counts what preparation met.
type ProblemStats struct {
	Pairs           int     `json:"pairs"`
	Unaligned       int     `json:"unaligned"`                  // pairs left out, those of Lost
	Irregular       int     `json:"irregular,omitempty"`        // words with letters that emit what they hardly ever do (MinProb), or more than MaxPhones phones, which is not learned
	Restricted      int     `json:"restricted"`                 // words whose lattice was cut to the budget; known once loss machines are built
	RestrictedNGram int     `json:"restricted_ngram,omitempty"` // the same for the n-gram loss
	Labels          int     `json:"labels"`
	PerLetter       float64 `json:"labels_per_letter"` // mean over the letters of the words
	Weights         int     `json:"weights"`
	Trained         int     `json:"trained_weights"` // after features that always occur together were merged
	Arcs            int     `json:"arcs,omitempty"`  // of the lattices of histories, all words together
	Columns         int     `json:"columns"`         // of the minimal loss machines, all words together
	Built           int     `json:"built"`           // before minimization

	// Rejected names the words whose pronunciation the constraint does not accept; they are left
	// out.
	Rejected []string `json:"rejected,omitempty"`

	// Lost names the pairs that are left out: words without letters, and those with more than 64
	// phones a letter.
	Lost []string `json:"lost,omitempty"`

	columns, built []int // by word
}

// word is a training word.
type word struct {
	compiled
	shape
	index int     // of the pair
	at    int     // of the word, among those trained on
	gold  []int32 // aligned labels, as places in the lists of their letters
	ref   []int

	unaryAt int // of its first unary score among all words'

	full  [][]int32 // by letter and label: place in the restricted list, or -1; nil where nothing was taken away
	loss  *losses.Machine
	right *losses.Machine

	fullNGram [][]int32 // as full, for the n-gram loss
	ngram     *losses.Machine

	// With views: the lattice, its aligned path, and the products with machines.
	trellis  *trellis
	goldPays []int32
	products map[*losses.Machine]*trellis
}

// machine returns the loss machine that an objective needs: nil for objectives without.
func (w *word) machine(k Kind) *losses.Machine {
	switch {
	case k == NGramMargin:
		return w.ngram
	case k.usesLoss():
		return w.loss
	}
	return nil
}

// occurrences lists, for every block, where the scores it adds to begin.
type occurrences struct {
	start []int32
	at    []int32
}

// number returns how often a block occurs.
func (o *occurrences) number(block int32) float64 { return float64(o.start[block+1] - o.start[block]) }

// Prepare aligns pairs and numbers their features. A word without letters, or one
// with more than 64 phones a letter, is left out and named in Stats.Lost.
func Prepare(ctx context.Context, pairs []Pair, opts *Options) (*Problem, error) {
	o := opts.withDefaults()
	fo, err := o.Features.withDefaults()
	if err != nil {
		return nil, err
	}
	ao := o.Align
	if ao.Workers == 0 {
		ao.Workers = o.Workers
	}
	if ao.Live == nil {
		ao.Live = o.Live
	}
	al, err := Align(ctx, pairs, &ao)
	if err != nil {
		return nil, err
	}
	p := &Problem{Inventory: al.Inventory, Features: newFeatures(al.Inventory, fo), Alignment: al, opts: o, given: pairs}
	p.Stats = ProblemStats{Pairs: len(pairs), Labels: len(al.Inventory.Labels)}
	if vo, err := o.Views.withDefaults(len(pairs)); err != nil {
		return nil, err
	} else if p.opts.Views = vo; vo.any() {
		if p.views, err = newViews(al.Inventory, &vo, al.Labels); err != nil {
			return nil, err
		}
		if p.views != nil && *p.views == (views{}) {
			p.views = nil
		}
	}
	var letters [][]int32
	for i, u := range al.Labels {
		if len(u) == 0 { // the empty word has nothing to learn from
			p.Stats.Lost = append(p.Stats.Lost, pairs[i].name(i))
			continue
		}
		if !p.views.accepts(al.Inventory, u) {
			p.Stats.Rejected = append(p.Stats.Rejected, pairs[i].name(i))
			continue
		}
		x := al.letters[i]
		if slices.ContainsFunc(x, func(id int32) bool { _, irregular := al.Inventory.base(id); return irregular }) {
			p.Stats.Irregular++
		}
		w := word{index: i, at: len(p.words), gold: make([]int32, len(u)), ref: al.phones[i]}
		sizes := make([]int, len(x))
		for t, l := range u {
			k, ok := slices.BinarySearch(al.Inventory.Allowed[x[t]], l)
			if !ok {
				return nil, fmt.Errorf("g2p: %s: letter %d is aligned with a label that it may not emit", pairs[i].where(i), t+1)
			}
			w.gold[t] = int32(k)
			sizes[t] = len(al.Inventory.Allowed[x[t]])
		}
		w.shape = newShape(sizes)
		w.unaryAt = p.unary
		p.unary += w.shape.unary[len(x)]
		if p.unary > math.MaxInt32 {
			return nil, fmt.Errorf("g2p: the words' lattices have more than %d labels; drop rare ones (AlignOptions)",
				math.MaxInt32)
		}
		letters = append(letters, x)
		p.words = append(p.words, w)
	}
	p.Stats.Unaligned = len(p.Stats.Lost)
	if n := len(p.Stats.Rejected); len(p.words) == 0 && n > 0 {
		return nil, fmt.Errorf("g2p: the constraint accepts none of %d pronunciations%s", n,
			ListLost(p.Stats.Rejected))
	}
	if len(p.words) == 0 {
		names := ""
		if len(pairs) > 0 {
			names = fmt.Sprintf(", as %s has", p.Stats.Lost[0])
		}
		return nil, fmt.Errorf("g2p: none of %d pairs can be aligned: all have no letters, or more than %d phones a letter (MaxPhones of AlignOptions)%s", len(pairs), ao.withDefaults(len(pairs)).MaxPhones, names)
	}
	if err := p.Features.collect(ctx, letters); err != nil {
		return nil, err
	}
	total := 0
	for i := range p.words {
		if err := stopped(ctx, i); err != nil {
			return nil, err
		}
		if i%every == 0 {
			if err := live(o.Live, "features of word", i, len(p.words), 0); err != nil {
				return nil, err
			}
		}
		p.words[i].compiled = p.Features.compile(letters[i])
		total += len(letters[i])
	}
	p.Stats.Weights = p.Features.dim + p.views.size()
	p.Stats.PerLetter = float64(p.unary) / float64(total)
	if err := p.index(ctx); err != nil {
		return nil, err
	}
	p.Stats.Trained = p.dim()
	if p.views != nil {
		if err := p.buildTrellises(ctx); err != nil {
			return nil, err
		}
		p.Stats.Arcs = p.arcs
	}
	return p, nil
}

// dim returns the number of trained weights: those of views are behind the others.
func (p *Problem) dim() int { return p.groups.dim + p.views.size() }

// index merges features into groups, and fills groupOcc and pairCount.
func (p *Problem) index(ctx context.Context) error {
	all := count(p.Features.grams.Len(), p.byGram)
	var err error
	if p.groups, err = p.Features.group(ctx, &all); err != nil {
		return err
	}
	for i := range p.words {
		if err := stopped(ctx, i); err != nil {
			return err
		}
		p.words[i].compiled.regroup(&p.groups)
	}
	p.occur()
	return nil
}

// occur fills groupOcc and pairCount.
func (p *Problem) occur() {
	p.groupOcc = count(len(p.groups.at), p.byGram)
	p.pairCount = make([]int32, p.Features.pairs.Len())
	for i := range p.words {
		for _, id := range p.words[i].pair {
			p.pairCount[id]++
		}
	}
}

// byGram yields the features of all letters, or their groups, and where the letters' scores begin.
func (p *Problem) byGram(yield func(block, at int32)) {
	for i := range p.words {
		w := &p.words[i]
		for t := range w.x {
			for _, id := range w.gram[w.start[t]:w.start[t+1]] {
				yield(id, int32(w.unaryAt+w.shape.unary[t]))
			}
		}
	}
}

// count lists what each yields, by block.
func count(blocks int, each func(yield func(block, at int32))) occurrences {
	o := occurrences{start: make([]int32, blocks+1)}
	each(func(block, _ int32) { o.start[block+1]++ })
	for i := range blocks {
		o.start[i+1] += o.start[i]
	}
	o.at = make([]int32, o.start[blocks])
	fill := slices.Clone(o.start[:blocks])
	each(func(block, at int32) {
		o.at[fill[block]] = at
		fill[block]++
	})
	return o
}

// shape says where a word's rows lie in arrays by label and by pair of labels.
type shape struct {
	sizes []int
	unary []int // first entry of letter t, and one past the last
	pairs []int // the same for pairs with the letter before; the first letter has one left label
}

func newShape(sizes []int) shape {
	s := shape{sizes: sizes, unary: make([]int, len(sizes)+1), pairs: make([]int, len(sizes)+1)}
	left := 1
	for t, n := range sizes {
		s.unary[t+1] = s.unary[t] + n
		s.pairs[t+1] = s.pairs[t] + left*n
		left = n
	}
	return s
}

// stopped returns the error of a preparation that was cancelled; it looks now and then, by
// the number of a loop.
func stopped(ctx context.Context, i int) error {
	if i&1023 == 0 && ctx.Err() != nil {
		return fmt.Errorf("g2p: stopped while features were numbered: %w", context.Cause(ctx))
	}
	return nil
}

// where says which pair word i is, for errors.
func (p *Problem) where(i int) string {
	k := p.words[i].index
	return p.given[k].where(k)
}

// Words returns the number of words that are trained on.
func (p *Problem) Words() int { return len(p.words) }

// BuildGraphs completes Stats and builds, unless they exist, two machines for every word: the loss
// machine of the edit distance and the machine of right outputs. Fit does so when its objective
// needs them, and builds those of the n-gram loss for NGramMargin. After an error, such as the
// context's, it can be called again.
func (p *Problem) BuildGraphs(ctx context.Context) error {
	p.graphs.Lock()
	defer p.graphs.Unlock()
	if p.graphs.built {
		return nil
	}
	stats, err := p.buildGraphs(ctx, func(b *graphBuilder, w *word) error {
		w.full = nil
		return b.build(w, p.Inventory, p.opts.MaxEdges)
	})
	if err != nil {
		return err
	}
	for i := range p.words {
		if p.words[i].full != nil {
			p.Stats.Restricted++
		}
		p.Stats.Columns += stats[i].Columns
		p.Stats.Built += stats[i].Built
		p.Stats.columns = append(p.Stats.columns, stats[i].Columns)
		p.Stats.built = append(p.Stats.built, stats[i].Built)
	}
	p.graphs.built = true
	return nil
}

// buildNGrams is BuildGraphs for the n-gram loss.
func (p *Problem) buildNGrams(ctx context.Context) error {
	p.graphs.Lock()
	defer p.graphs.Unlock()
	if p.graphs.ngrams {
		return nil
	}
	_, err := p.buildGraphs(ctx, func(b *graphBuilder, w *word) error {
		w.fullNGram = nil
		return b.buildNGram(w, p.Inventory, p.opts.NGram, p.opts.MaxEdges)
	})
	if err != nil {
		return err
	}
	for i := range p.words {
		if p.words[i].fullNGram != nil {
			p.Stats.RestrictedNGram++
		}
	}
	p.graphs.ngrams = true
	return nil
}

// need builds what an objective needs.
func (p *Problem) need(ctx context.Context, k Kind) error {
	var err error
	switch {
	case k == NGramMargin:
		err = p.buildNGrams(ctx)
	case k.usesLoss():
		err = p.BuildGraphs(ctx)
	}
	if err != nil || p.views == nil {
		return err
	}
	return p.buildProducts(ctx, func(w *word) []*losses.Machine {
		m := []*losses.Machine{w.machine(k)}
		if k == LatentMargin {
			m = append(m, w.right)
		}
		return m
	})
}

func (p *Problem) buildGraphs(ctx context.Context, build func(*graphBuilder, *word) error) ([]losses.ExpandStats, error) {
	stats := make([]losses.ExpandStats, len(p.words))
	builders := make([]graphBuilder, p.opts.Workers)
	errs := make([]error, len(p.words))
	var reporting sync.Mutex
	var reported error
	done := 0
	run.Blocks(p.opts.Workers, len(p.words), 8, func(worker, lo, hi int) {
		reporting.Lock()
		if done += hi - lo; done/every > (done-hi+lo)/every {
			reported = errors.Join(reported, live(p.opts.Live, "loss machines of word", done, len(p.words), 0))
		}
		reporting.Unlock()
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			errs[i] = build(&builders[worker], &p.words[i])
			stats[i] = builders[worker].expand.Stats
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("g2p: stopped while loss machines were built: %w", err)
	}
	if reported != nil {
		return nil, reported
	}
	for i := range p.words {
		if errs[i] != nil {
			return nil, fmt.Errorf("g2p: %s: %w", p.where(i), errs[i])
		}
	}
	return stats, nil
}

// graphBuilder is one worker's memory for building.
type graphBuilder struct {
	expand losses.ExpandBuilder
	labels losses.Expansions
	all    losses.Expansions
	full   [][]int32
}

// build makes the machines of a word for the edit distance.
func (b *graphBuilder) build(w *word, inv *Inventory, budget int) error {
	return b.fit(w, inv, budget, func(labels losses.Expansions, opts *losses.ExpandOptions, full [][]int32) error {
		machine, err := b.expand.Build(w.ref, labels, opts)
		if err != nil {
			return err
		}
		if w.full = nil; !b.whole() {
			w.full = full
		}
		if w.loss, err = lossMachine(machine, w.sizes, full); err != nil {
			return err
		}
		w.right, err = rightMachine(w.ref, b.all, full)
		return err
	})
}

// buildNGram makes the machine of a word for the n-gram loss.
func (b *graphBuilder) buildNGram(w *word, inv *Inventory, loss losses.NGram, budget int) error {
	return b.fit(w, inv, budget, func(labels losses.Expansions, opts *losses.ExpandOptions, full [][]int32) error {
		machine, err := b.expand.BuildNGram(w.ref, labels, loss, opts)
		if err != nil {
			return err
		}
		if w.fullNGram = nil; !b.whole() {
			w.fullNGram = full
		}
		w.ngram, err = lossMachine(machine, w.sizes, full)
		return err
	})
}

// whole reports whether no label has been taken away.
func (b *graphBuilder) whole() bool {
	return !slices.ContainsFunc(b.full, func(f []int32) bool { return f != nil })
}

// fit calls try with the labels of a word, and with fewer while that exceeds a budget. It removes
// labels with p(u|x) below .01, .016, …, but never the aligned one. full lists the remaining ones,
// as in word.
func (b *graphBuilder) fit(w *word, inv *Inventory, budget int, try func(labels losses.Expansions, opts *losses.ExpandOptions, full [][]int32) error) error {
	n := len(w.x)
	b.labels, b.full = sized(b.labels, n), make([][]int32, n) // the last full may be a word's
	b.all = make(losses.Expansions, n)
	for t, x := range w.x {
		for _, l := range inv.Allowed[x] {
			b.all[t] = append(b.all[t], inv.Labels[l])
		}
		b.labels[t], b.full[t] = b.all[t], nil
	}
	opts := &losses.ExpandOptions{MaxEdges: max(budget, 0)}
	err := try(b.labels, opts, b.full)
	for least := 0.01; errors.Is(err, losses.ErrEdgeBudget); least *= 1.6 {
		if least > 2 { // one label a letter was tried without a budget
			return err
		}
		b.full = make([][]int32, n)
		for t, x := range w.x {
			b.labels[t] = nil
			b.full[t] = make([]int32, len(b.all[t]))
			for k, u := range b.all[t] {
				b.full[t][k] = -1
				if inv.Prob[x][k] >= least || k == int(w.gold[t]) {
					b.full[t][k] = int32(len(b.labels[t]))
					b.labels[t] = append(b.labels[t], u)
				}
			}
		}
		if least > 1 { // one label a letter is left: whatever the budget, it is small
			opts.MaxEdges = 0
		}
		err = try(b.labels, opts, b.full)
	}
	return err
}
