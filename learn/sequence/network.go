package sequence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/tropica-fst/tropica/learn/model"
	neural "github.com/tropica-fst/tropica/learn/nn/encoder"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// Network adjusts the network whose scores TrainOptions.Network adds to those of the features. It
// sees the columns that the templates read, and the characters of the words. Zero fields have the
// defaults given.
type Network struct {
	Kind    neural.Kind // convolutions or long short-term memory; zero is the first
	Hidden  int         // channels, or units of a direction; zero is 128
	Layers  int         // blocks, or recurrent layers; zero is 3 and 1
	Dropout float64     // zero is 0.4, negative none
	Epochs  int         // passes over the examples; zero is 15
	Batch   int         // sequences of a step; zero is 32
	Rate    float64     // of Adam, for all weights; zero is 0.002
}

// network is the network of a model, with what numbers words for it.
type network struct {
	shape  neural.Shape
	params []float32
	inputs vocabularies
	net    neural.Network[neural.Tokens]
}

// vocabularies number what a network reads of a token.
type vocabularies struct {
	word    int           // column of the words
	columns []int         // others that are read
	tables  []*dictionary // of the words, in lower case and with digits as 0, and of the other columns
	chars   *dictionary
}

// Sizes of vectors, and how often a word must be seen in training for one of its own.
const (
	wordWidth   = 64
	columnWidth = 24
	charWidth   = 32
	charFilters = 64
	wordCount   = 2
)

const defaultEpochs = 15

// unknownShare is the share of the words that training replaces by the unknown one, whose vector
// would otherwise be learnt from rare words alone.
const unknownShare = 0.05

// fold is the word as its table has it.
func fold(word string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return '0'
		}
		return unicode.ToLower(r)
	}, word)
}

// newVocabularies numbers the words, characters and columns of examples.
func newVocabularies(examples []Example, o *TrainOptions) (*vocabularies, error) {
	width := 0
	for i := range examples {
		if e := &examples[i]; len(e.Columns) > 0 {
			width = len(e.Columns[0])
			break
		}
	}
	v := &vocabularies{word: o.Format.word()}
	if width <= v.word {
		return nil, errors.New("sequence: a network reads words: the examples need columns, not attributes alone")
	}
	for c := range width {
		if c != v.word && slices.ContainsFunc(o.Templates, func(t *Template) bool { return t.Reads(c, width) }) {
			v.columns = append(v.columns, c)
		}
	}
	count := make([]map[string]int, 1+len(v.columns))
	for k := range count {
		count[k] = map[string]int{}
	}
	chars := map[string]int{}
	for i := range examples {
		e := &examples[i]
		for t, row := range e.Columns {
			if len(row) != width {
				return nil, fmt.Errorf("sequence: %s: token %d has %d columns, others %d", nameOf(e.Source, i), t+1,
					len(row), width)
			}
			count[0][fold(row[v.word])]++
			for _, r := range row[v.word] {
				chars[string(r)]++
			}
			for k, c := range v.columns {
				count[k+1][row[c]]++
			}
		}
	}
	for k, words := range count {
		v.tables = append(v.tables, frequentWords(words, map[bool]int{true: wordCount, false: 1}[k == 0]))
	}
	v.chars = frequentWords(chars, 1)
	return v, nil
}

// frequentWords numbers what was seen often enough, in order of the alphabet.
func frequentWords(count map[string]int, least int) *dictionary {
	var names []string
	for _, w := range slices.Sorted(maps.Keys(count)) {
		if count[w] >= least {
			names = append(names, w)
		}
	}
	return newDictionary(names)
}

// tokens are the numbers of an input; those of a dictionary are counted from 1.
func (v *vocabularies) tokens(in *Input) (neural.Tokens, error) {
	number := func(d *dictionary, name string) int32 {
		if id, ok := d.index[name]; ok {
			return id + 1
		}
		return 0
	}
	n := in.Len()
	x := neural.Tokens{IDs: make([][]int32, len(v.tables)), Chars: make([][]int32, n)}
	for k := range x.IDs {
		x.IDs[k] = make([]int32, n)
	}
	for t := range n {
		if t >= len(in.Columns) {
			return x, errors.New("the network reads words, and the input has no columns")
		}
		row := in.Columns[t]
		if last := max(v.word, slices.Max(append([]int{0}, v.columns...))); last >= len(row) {
			return x, fmt.Errorf("token %d has %d columns, and the network reads column %d", t+1, len(row), last+1)
		}
		x.IDs[0][t] = number(v.tables[0], fold(row[v.word]))
		for k, c := range v.columns {
			x.IDs[k+1][t] = number(v.tables[k+1], row[c])
		}
		for _, r := range row[v.word] {
			x.Chars[t] = append(x.Chars[t], number(v.chars, string(r)))
		}
	}
	return x, nil
}

// shapeOf returns the shape of a network.
func (n *Network) shapeOf(v *vocabularies, labels int) neural.Shape {
	s := neural.Shape{Kind: cmp.Or(n.Kind, neural.Convolution), Outputs: labels, Marks: true,
		Chars: neural.CharShape{Table: neural.Table{Size: len(v.chars.names) + 1, Width: charWidth},
			Filters: charFilters, Reach: 3},
		Hidden: cmp.Or(n.Hidden, 128), Unknown: unknownShare, Dropout: max(0, cmp.Or(n.Dropout, 0.4))}
	s.InputDropout = s.Dropout / 2
	if s.Kind == neural.Recurrence {
		s.Layers = cmp.Or(n.Layers, 1)
	} else {
		s.Layers, s.Reach = cmp.Or(n.Layers, 3), 5
	}
	for k, d := range v.tables {
		width := columnWidth
		if k == 0 {
			width = wordWidth
		}
		s.Tables = append(s.Tables, neural.Table{Size: len(d.names) + 1, Width: width})
	}
	return s
}

// check says what a network is not trained with.
func (n *Network) check(t *TrainOptions) error {
	switch {
	case t.Relax != nil || t.Sampled != nil:
		return errors.New("sequence: a network is trained without relaxations and without sampled gradients")
	case t.Solver != QuasiNewton && t.Solver != Adam:
		return fmt.Errorf("sequence: a network is trained by Adam, not by %v", t.Solver)
	case n.Epochs < 0 || n.Batch < 0 || n.Hidden < 0 || n.Layers < 0 || !(n.Rate >= 0) || !(n.Dropout < 1):
		return fmt.Errorf("sequence: a network of %d layers of %d, %d epochs, batches of %d, rate %v and "+
			"dropout %v: none may be negative, and dropout is below 1", n.Layers, n.Hidden, n.Epochs, n.Batch, n.Rate,
			n.Dropout)
	case t.L1 > 0:
		return errors.New("sequence: a network is trained without l1")
	}
	return nil
}

// trainNetwork fits the weights of features and the parameters of a network together.
func (p *Problem) trainNetwork() (*Model, *optim.Result, error) {
	o := p.opts
	n := o.Network
	m := new(Model)
	*m = *p.model
	own := &network{}
	if o.Init != nil && o.Init.net != nil {
		if !slices.Equal(o.Init.labels, m.labels) {
			return nil, nil, errors.New("sequence: the network to start from scores other labels")
		}
		own.inputs, own.shape = o.Init.net.inputs, o.Init.net.shape
		if own.shape.Kind != cmp.Or(n.Kind, neural.Convolution) {
			return nil, nil, fmt.Errorf("sequence: the network to start from is of the kind %q", own.shape.Kind)
		}
		own.shape.Dropout = max(0, cmp.Or(n.Dropout, own.shape.Dropout))
	} else {
		v, err := newVocabularies(p.examples, &o)
		if err != nil {
			return nil, nil, err
		}
		own.inputs, own.shape = *v, n.shapeOf(v, len(m.labels))
	}
	var err error
	if own.net, err = own.shape.Tokens(); err != nil {
		return nil, nil, fmt.Errorf("sequence: %w", err)
	}
	dim := own.net.Dim()
	start := make([]float32, dim+m.layout.dim)
	own.net.Start(start[:dim:dim], o.Seed)
	if o.Init != nil {
		if o.Init.net != nil {
			copy(start, o.Init.net.params)
		}
		w := make([]float64, m.layout.dim)
		m.copyWeights(w, o.Init)
		toFloat32(start[dim:], w)
	}
	t, err := p.networkTask(own, &o)
	if err != nil {
		return nil, nil, err
	}
	control := o.Control
	control.Workers = o.Workers
	if control.Resume != nil || control.Checkpoint != nil {
		control.Problem = o.identity(p.examples) + " " + n.identity(&own.shape, &o)
	}
	fit := &neural.Options{Rate: n.Rate, Epochs: cmp.Or(n.Epochs, defaultEpochs), Batch: n.Batch,
		Seed: o.Seed, Start: start}
	set := func(params []float32) {
		own.params = params[:dim:dim]
		m.w = make([]float64, m.layout.dim)
		widen(m.w, params[dim:])
		m.net = own
	}
	if len(o.Dev) > 0 {
		fit.Dev = func(ctx context.Context, params []float32) (float64, error) {
			set(params)
			return m.wrong(ctx, o.Dev, o.Workers)
		}
	}
	params, r, err := neural.Fit(own.net, t, fit, &control)
	if params == nil {
		return nil, nil, fmt.Errorf("sequence: %w", err)
	}
	set(params)
	r.X = m.w
	m.training = fmt.Sprintf("sequence order=%d labels=%d dim=%d %v gamma=%v beta=%v sequences=%d network=%s "+
		"parameters=%d by Adam, %d epochs, %s", o.Order, len(m.labels), m.layout.dim, o.Kind, o.Gamma, o.Beta,
		p.corpus.sequences(),
		own.shape.Kind, dim, r.Iterations, r.Reason)
	return m, r, err
}

// identity describes what the network adds to that of the options.
func (n *Network) identity(s *neural.Shape, t *TrainOptions) string {
	dev := 0
	for i := range t.Dev {
		dev += t.Dev[i].Len()
	}
	return fmt.Sprintf("network=%s hidden=%d layers=%d dropout=%v epochs=%d batch=%d network_rate=%v "+
		"seed=%d dev=%d", s.Kind, s.Hidden, s.Layers, s.Dropout, n.Epochs, n.Batch, n.Rate, t.Seed, dev)
}

func toFloat32(dst []float32, v []float64) {
	for i, x := range v {
		dst[i] = float32(x)
	}
}

func widen(dst []float64, v []float32) {
	for i, x := range v {
		dst[i] = float64(x)
	}
}

// wrong returns the share of the labels of examples that the model has wrong.
func (m *Model) wrong(ctx context.Context, examples []Example, workers int) (float64, error) {
	taggers := make([]*Tagger, run.WorkersOf(workers))
	count := make([]int, len(examples))
	positions := 0
	for i := range examples {
		positions += len(examples[i].Labels)
	}
	err := run.Each(workers, len(examples), func(worker, i int) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if taggers[worker] == nil {
			taggers[worker] = m.Tagger()
		}
		labels, err := taggers[worker].Viterbi(&examples[i].Input)
		if err != nil {
			return fmt.Errorf("held-out data: %w", err)
		}
		for t, y := range labels {
			if y != examples[i].Labels[t] {
				count[i]++
			}
		}
		return nil
	})
	total := 0
	for _, n := range count {
		total += n
	}
	return float64(total) / math.Max(1, float64(positions)), err
}

// networkTask is the training objective of sequences as a function of a network's scores and of the
// weights of features, which are the extra parameters.
type networkTask struct {
	terms   *terms
	tokens  []neural.Tokens
	workers []*networkWorker
}

// networkWorker is the work space of a goroutine.
type networkWorker struct {
	termWorker
	x    []float64 // the weights that the sequence reads
	sink sparseAdder
}

func (p *Problem) networkTask(n *network, o *TrainOptions) (*networkTask, error) {
	t := &networkTask{terms: &terms{layout: p.model.layout, corpus: p.corpus,
		loss: newLossOf(o, p.model.layout, p.corpus)}}
	for i := range p.examples {
		x, err := n.inputs.tokens(&p.examples[i].Input)
		if err != nil {
			return nil, fmt.Errorf("sequence: %s: %w", p.corpus.name(i), err)
		}
		t.tokens = append(t.tokens, x)
	}
	t.workers = make([]*networkWorker, run.WorkersOf(o.Workers))
	return t, nil
}

func (t *networkTask) Len() int                  { return t.terms.Len() }
func (t *networkTask) Input(i int) neural.Tokens { return t.tokens[i] }
func (t *networkTask) Extra() int                { return t.terms.Dim() }
func (t *networkTask) Positions(i int) int {
	c := t.terms.corpus
	return c.start[i+1] - c.start[i]
}

// Loss implements neural.Task.
func (t *networkTask) Loss(worker, i int, scores, extra, dScores []float32,
	dExtra *neural.SparseGradient) (float64, error) {
	n := t.Positions(i)
	if n == 0 {
		return 0, nil
	}
	w := t.workers[worker]
	if w == nil {
		w = &networkWorker{termWorker: termWorker{terms: t.terms,
			scorer: newScorer(t.terms.layout, t.terms.corpus, t.terms.loss)},
			x: make([]float64, t.Extra())}
		t.workers[worker] = w
	}
	t.terms.Support(i, func(at, n int) { widen(w.x[at:at+n], extra[at:at+n]) })
	w.begin(i, w.x)
	node := w.scorer.labelScores(w.x, i)
	d, stride := t.terms.layout.labels, t.terms.loss.stride
	addSingle(node, scores, d, stride)
	v, err := w.scorer.evaluate(w.x, i, node, w.residual, &w.lane, w.pairs)
	if err != nil {
		return v, fmt.Errorf("%s: %w", t.terms.corpus.name(i), err)
	}
	for p := range n {
		toFloat32(dScores[p*d:(p+1)*d], w.residual[p*stride:p*stride+d])
	}
	w.sink.gradient = dExtra
	w.emit(i, &w.sink)
	return v, nil
}

// addSingle adds rows of d scores to rows of stride.
func addSingle(node []float64, scores []float32, d, stride int) {
	for p := range len(scores) / d {
		row := node[p*stride : p*stride+d]
		for k, v := range scores[p*d : (p+1)*d] {
			row[k] += float64(v)
		}
	}
}

// sparseAdder adds to a gradient of single precision.
type sparseAdder struct{ gradient *neural.SparseGradient }

func (a *sparseAdder) Add(at int, v float64) { a.gradient.Row(at, 1)[0] += float32(v) }
func (a *sparseAdder) AddRow(at int, row []float64) {
	dst := a.gradient.Row(at, len(row))
	for i, v := range row {
		dst[i] += float32(v)
	}
}

// networkTagger is what a tagger needs for a network.
type networkTagger struct {
	pass   neural.Pass[neural.Tokens]
	one    [1]neural.Tokens
	inputs *vocabularies
}

// addNetwork adds the network's scores to those of the labels.
func (t *Tagger) addNetwork(in *Input) error {
	n := t.m.net
	if t.network == nil {
		t.network = &networkTagger{pass: n.net.NewPass(), inputs: &n.inputs}
	}
	var err error
	if t.network.one[0], err = n.inputs.tokens(in); err != nil {
		if in.Source != "" {
			err = fmt.Errorf("%s: %w", in.Source, err)
		}
		return err
	}
	addSingle(t.node, t.network.pass.Forward(n.params, t.network.one[:], nil), len(t.m.labels), t.stride)
	return nil
}

// Network describes the network of the model: its shape, and the number of its parameters. ok is
// false for a model without one.
func (m *Model) Network() (shape neural.Shape, parameters int, ok bool) {
	if m.net == nil {
		return shape, 0, false
	}
	return m.net.shape, len(m.net.params), true
}

const networkName = "network"

// put stores the network in a file.
func (n *network) put(f *model.Container) error {
	if err := n.shape.Put(f, networkName, n.params); err != nil {
		return err
	}
	columns := []int32{int32(n.inputs.word)}
	for _, c := range n.inputs.columns {
		columns = append(columns, int32(c))
	}
	model.Put(f, networkName+" columns", columns)
	for k, d := range n.inputs.tables {
		if err := f.PutStrings(fmt.Sprintf("%s words %d", networkName, k), d.names); err != nil {
			return err
		}
	}
	return f.PutStrings(networkName+" characters", n.inputs.chars.names)
}

// getNetwork reads what put stored; nil where there is none.
func getNetwork(f *model.Container, labels int) (*network, error) {
	if _, ok := f.Shape(networkName); !ok {
		return nil, nil
	}
	bad := func(format string, args ...any) (*network, error) {
		return nil, fmt.Errorf("sequence: %w: the network: %s", model.ErrFormat, fmt.Sprintf(format, args...))
	}
	n := &network{}
	var err error
	if n.shape, n.params, err = neural.Get(f, networkName, 0); err != nil {
		return nil, fmt.Errorf("sequence: %w", err)
	}
	columns, err := model.Get[int32](f, networkName+" columns", len(n.shape.Tables))
	if err != nil {
		return nil, err
	}
	if n.shape.Outputs != labels {
		return bad("%d scores for %d labels", n.shape.Outputs, labels)
	}
	for k, c := range columns {
		if c < 0 {
			return bad("column %d", c)
		}
		if n.inputs.word = int(columns[0]); k > 0 {
			n.inputs.columns = append(n.inputs.columns, int(c))
		}
		names, err := f.Strings(fmt.Sprintf("%s words %d", networkName, k))
		if err != nil {
			return nil, err
		}
		n.inputs.tables = append(n.inputs.tables, newDictionary(names))
		if len(names)+1 != n.shape.Tables[k].Size {
			return bad("%d words for a table of %d", len(names), n.shape.Tables[k].Size)
		}
	}
	chars, err := f.Strings(networkName + " characters")
	if err != nil {
		return nil, err
	}
	if n.inputs.chars = newDictionary(chars); len(chars)+1 != n.shape.Chars.Size {
		return bad("%d characters for a table of %d", len(chars), n.shape.Chars.Size)
	}
	n.net, err = n.shape.Tokens()
	return n, err
}
