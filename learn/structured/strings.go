package structured

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// StringLoss is a loss of strings that the engine knows as a machine: losses.Edit, Local, NGram
// and Hamming are such.
type StringLoss interface {
	// Value returns the loss of y against a reference.
	Value(y, ref []int) float64
	// Automaton returns the losses of all strings of an acceptor, one path for each.
	Automaton(y fst.Expanded[semiring.Log64], ref []int, alphabet int,
		opts *losses.GeneralOptions) (*losses.Automaton, error)
}

// Method is a way to decode strings.
type Method string

// The ways to decode strings. What each proves is in the package comment.
const (
	Auto         Method = "auto"
	List         Method = "list"         // every string of the lattice, prefixes shared
	Position     Method = "position"     // Hamming and Positionwise: one shortest path
	Intersection Method = "intersection" // of the machines of all training outputs, for few of them
	BestFirst    Method = "best-first"   // over prefixes, by bounds on what may follow
	KBest        Method = "k-best"       // of a machine below F, rescored
	LocalSearch  Method = "local"        // by single edits
)

// Methods lists them all.
var Methods = []Method{Auto, List, Position, Intersection, BestFirst, KBest, LocalSearch}

// StringOptions adjusts NewStrings; nil is all defaults.
type StringOptions struct {
	Method Method // "" is Auto
	// Budget is how many prefixes of strings are tried, or strings rescored; zero is 20,000.
	Budget int
	// Bytes bounds the memory of a search; zero is 256 MB.
	Bytes int64
	// Machines is how many training outputs the bounding machine of KBest intersects; zero is
	// 2. Those of the largest positive weights are taken.
	Machines int
}

// Strings decodes strings among the candidates of a lattice, under a loss of the engine.
//
// The weights may have any sign. A machine with several alignments of one string must not be
// multiplied by a negative weight, which would turn the best alignment into the worst. Machines of
// losses have one path a string here, and rows hold the best of all alignments.
type Strings struct {
	truths   [][]int
	alphabet int
	loss     StringLoss
	o        StringOptions
}

// NewStrings takes the strings of the training examples, of symbols below alphabet.
//
// Losses of two training outputs that are not finite are an error: take NGram with C > 0.
func NewStrings(truths [][]int, alphabet int, loss StringLoss, opts *StringOptions) (*Strings, error) {
	if len(truths) == 0 || alphabet < 1 {
		return nil, fmt.Errorf("%w: %d strings of %d symbols", ErrOutputs, len(truths), alphabet)
	}
	s := &Strings{truths: truths, alphabet: alphabet, loss: loss}
	if opts != nil {
		s.o = *opts
	}
	if s.o.Method == "" {
		s.o.Method = Auto
	}
	if !slices.Contains(Methods, s.o.Method) {
		return nil, fmt.Errorf("structured: %q is no method for strings; there are %v", s.o.Method, Methods)
	}
	if s.o.Budget < 0 || s.o.Bytes < 0 || s.o.Machines < 0 {
		return nil, fmt.Errorf("structured: budget %d, %d bytes, %d machines: none may be negative", s.o.Budget,
			s.o.Bytes, s.o.Machines)
	}
	if s.o.Budget == 0 {
		s.o.Budget = 20000
	}
	if s.o.Bytes == 0 {
		s.o.Bytes = 256 << 20
	}
	if s.o.Machines == 0 {
		s.o.Machines = 2
	}
	for i, y := range truths {
		for _, a := range y {
			if a < 0 || a >= alphabet {
				return nil, fmt.Errorf("%w: that of example %d has symbol %d; the alphabet has %d", ErrOutputs,
					i+1, a, alphabet)
			}
		}
	}
	if h, ok := loss.(losses.Hamming); ok {
		s.loss = Positionwise{Scale: h.Scale, Missing: h.Scale}
	}
	if p, ok := loss.(Positionwise); ok {
		if err := p.check(alphabet); err != nil {
			return nil, err
		}
	}
	if g, ok := loss.(losses.NGram); ok && g.C == 0 {
		return nil, fmt.Errorf("%w: -log of the n-grams in common has no value for strings without one; set "+
			"C above 0", ErrLoss)
	}
	if e, ok := loss.(losses.Edit); ok {
		for i, y := range truths {
			if err := e.Check(y, alphabet, len(y)); err != nil {
				return nil, fmt.Errorf("structured: example %d: %w", i+1, err)
			}
		}
	}
	return s, nil
}

// Len returns the number of training outputs.
func (s *Strings) Len() int { return len(s.truths) }

// Alphabet returns the number of symbols.
func (s *Strings) Alphabet() int { return s.alphabet }

// Loss is the loss that is decoded. Of Hamming, lengths that differ cost as much a position as
// symbols do.
func (s *Strings) Loss(prediction, truth []int) float64 { return s.loss.Value(prediction, truth) }

// weighted are the training outputs whose weights are not zero, equal ones taken together.
type weighted struct {
	refs  [][]int
	alpha []float64
	l1    float64
}

func (s *Strings) weighted(alpha []float64) *weighted {
	w := &weighted{}
	place := map[string]int{}
	var key []byte
	for i, a := range alpha {
		if a == 0 {
			continue
		}
		key = appendSymbols(key[:0], s.truths[i])
		k, ok := place[string(key)]
		if !ok {
			k = len(w.refs)
			place[string(key)] = k
			w.refs, w.alpha = append(w.refs, s.truths[i]), append(w.alpha, 0)
		}
		w.alpha[k] += a
	}
	for k := 0; k < len(w.refs); {
		if w.alpha[k] != 0 {
			w.l1 += math.Abs(w.alpha[k])
			k++
			continue
		}
		w.refs, w.alpha = slices.Delete(w.refs, k, k+1), slices.Delete(w.alpha, k, k+1)
	}
	return w
}

// value returns F(y).
func (s *Strings) value(w *weighted, y []int) float64 {
	f := 0.0
	for k, ref := range w.refs {
		f += w.alpha[k] * s.Loss(y, ref)
	}
	return f
}

// Among is a decoder of strings of one lattice, the same for all queries.
func (s *Strings) Among(l *Lattice) Decoder[[]int] { return &among{s, l} }

type among struct {
	*Strings
	lattice *Lattice
}

// Decode implements Decoder.
func (a *among) Decode(ctx context.Context, alpha []float64) (Decoded[[]int], error) {
	return a.DecodeIn(ctx, a.lattice, alpha)
}

// listed is the number of strings up to which Auto tries them all.
const listed = 2000

// DecodeIn finds the string of a lattice with the least F. See Method for what it costs.
func (s *Strings) DecodeIn(ctx context.Context, l *Lattice, alpha []float64) (Decoded[[]int], error) {
	d := Decoded[[]int]{Value: math.Inf(1), LowerBound: math.Inf(-1), Margin: math.NaN()}
	if err := check(alpha, len(s.truths)); err != nil {
		return d, err
	}
	if l.Alphabet > s.alphabet {
		return d, fmt.Errorf("structured: candidates of %d symbols, and outputs of %d", l.Alphabet, s.alphabet)
	}
	w := s.weighted(alpha)
	var err error
	switch method := s.o.Method; method {
	case List:
		err = s.list(ctx, l, w, &d)
	case Position:
		err = s.position(l, w, &d)
	case Intersection:
		err = s.intersection(ctx, l, w, &d)
	case BestFirst:
		err = s.bestFirst(ctx, l, w, &d)
	case KBest:
		err = s.kBest(ctx, l, w, &d)
	case LocalSearch:
		err = s.local(ctx, l, w, &d)
	default:
		err = s.auto(ctx, l, w, &d)
	}
	if ctx.Err() != nil {
		return d, &run.InterruptedError{Name: "structured", Steps: d.Steps, Err: context.Cause(ctx)}
	}
	if err != nil {
		return d, err
	}
	if math.IsInf(d.Value, 1) {
		return d, errors.New("structured: no candidate was reached within the budget; raise it")
	}
	if math.IsNaN(d.Value) || math.IsInf(d.Value, 0) {
		return d, fmt.Errorf("%w: that of %v", ErrLoss, d.Output)
	}
	scale := 0.0
	for k, ref := range w.refs {
		scale += math.Abs(w.alpha[k] * s.Loss(d.Output, ref))
	}
	d.settle(scale, l.exactness())
	return d, nil
}

// auto takes what proves most: position by position where the loss is such, all strings of a
// short list, else a search with bounds. What that leaves open is polished by local search.
func (s *Strings) auto(ctx context.Context, l *Lattice, w *weighted, d *Decoded[[]int]) error {
	if _, ok := s.loss.(Positionwise); ok {
		return s.position(l, w, d)
	}
	if l.Count() <= listed {
		return s.list(ctx, l, w, d)
	}
	if _, ok := newRows(s.loss, nil, nil); ok {
		if err := s.bestFirst(ctx, l, w, d); err != nil {
			return err
		}
		if d.Gap() <= 1e-9*w.l1 {
			return nil
		}
	} else if err := s.kBest(ctx, l, w, d); err != nil {
		return err
	}
	return s.local(ctx, l, w, d)
}

// offer takes a string if its F is lower than that of the best so far. It copies it.
func offer(d *Decoded[[]int], y []int, f float64) {
	if f < d.Value {
		d.Value, d.Output = f, append([]int{}, y...)
	}
}

// list tries all strings of the lattice in lexicographic order, with rows of alignments shared
// by prefixes: O(prefixes · Σ_i |y_i|). Losses without rows are computed one by one.
func (s *Strings) list(ctx context.Context, l *Lattice, w *weighted, d *Decoded[[]int]) error {
	// Prefixes are counted before the work begins.
	if n := l.Count(); n > float64(s.o.Budget) && s.o.Method == List {
		return fmt.Errorf("structured: the lattice has %g strings; to try them all needs a budget as large, and "+
			"it is %d", n, s.o.Budget)
	}
	r, ok := newRows(s.loss, w.refs, w.alpha)
	second := math.Inf(1)
	see := func(y []int, f float64) {
		d.Steps++
		if f < d.Value {
			second = d.Value
			offer(d, y, f)
		} else if f < second {
			second = f
		}
	}
	if !ok {
		l.Strings(func(y []int) bool {
			see(y, s.value(w, y))
			return ctx.Err() == nil
		})
	} else {
		r.each(ctx, l, see)
	}
	d.LowerBound, d.Margin = d.Value, second-d.Value
	return nil
}

// each calls f with the value of every string of a lattice, in lexicographic order, until the
// context is cancelled.
func (r *rows) each(ctx context.Context, l *Lattice, f func(y []int, value float64)) {
	r.eachRow(l, func(y []int, row []float64) bool {
		if ctx.Err() != nil {
			return false
		}
		f(y, r.value(row))
		return true
	})
}

// eachRow calls f with every string of a lattice and its rows, in lexicographic order, until it
// returns false.
func (r *rows) eachRow(l *Lattice, f func(y []int, row []float64) bool) {
	_, depth := l.Lengths()
	stack := make([][]float64, depth+1)
	for t := range stack {
		stack[t] = make([]float64, r.width)
	}
	r.start(stack[0])
	var y []int
	var visit func(q int32) bool
	visit = func(q int32) bool {
		row := stack[len(y)]
		if l.final[q] && !f(y, row) {
			return false
		}
		for e := l.first[q]; e < l.first[q+1]; e++ {
			a := int(l.label[e])
			r.step(stack[len(y)+1], row, a)
			y = append(y, a)
			if !visit(l.next[e]) {
				return false
			}
			y = y[:len(y)-1]
		}
		return true
	}
	visit(0)
}

// position decodes a loss by positions with one shortest path: F is a sum over positions,
// whatever the signs. State (q, t) of the lattice unfolded by length, O(arcs·length).
func (s *Strings) position(l *Lattice, w *weighted, d *Decoded[[]int]) error {
	p, ok := s.loss.(Positionwise)
	if !ok {
		return fmt.Errorf("structured: method %s is for the Hamming loss", Position)
	}
	_, length := l.Lengths()
	width := l.Alphabet
	at := make([]float64, length*width) // S_t(a)
	end := make([]float64, length+1)    // of strings of t symbols: positions that they lack
	for k, ref := range w.refs {
		a := w.alpha[k]
		for t := range length {
			for b := range width {
				at[t*width+b] += a * p.cost(b, ref, t)
			}
		}
		for t := range length + 1 {
			end[t] += a * p.missing() * float64(max(0, len(ref)-t))
		}
	}
	type arc = fst.Arc[semiring.Tropical64]
	v := fst.NewVector[semiring.Tropical64](0)
	states := map[[2]int32]fst.StateID{}
	var queue [][2]int32
	state := func(q, t int32) fst.StateID {
		key := [2]int32{q, t}
		id, ok := states[key]
		if !ok {
			id = v.AddState()
			states[key] = id
			queue = append(queue, key)
		}
		return id
	}
	v.SetStart(state(0, 0))
	for k := 0; k < len(queue); k++ {
		q, t := queue[k][0], queue[k][1]
		if l.final[q] {
			v.SetFinal(fst.StateID(k), semiring.Tropical64(end[t]))
		}
		for e := l.first[q]; e < l.first[q+1]; e++ {
			a := l.label[e]
			to := state(l.next[e], t+1)
			v.AddArc(fst.StateID(k), arc{ILabel: fst.Label(a + 1), OLabel: fst.Label(a + 1),
				Weight: semiring.Tropical64(at[int(t)*width+int(a)]), NextState: to})
		}
	}
	y, f, err := shortest(v)
	if err != nil {
		return err
	}
	d.Output, d.Value, d.LowerBound = y, f, f
	return nil
}

// shortest returns the string of the best path of an acyclic machine and its weight; weights
// of any sign.
func shortest(v fst.Expanded[semiring.Tropical64]) ([]int, float64, error) {
	best, err := ops.ShortestPath(v, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("structured: %w", err)
	}
	if best.Start() == fst.NoState {
		return nil, 0, ErrEmpty
	}
	y, f := []int{}, 0.0
	q := best.Start()
	for len(best.Arcs(q)) > 0 {
		e := best.Arcs(q)[0]
		f += float64(e.Weight)
		if e.ILabel != fst.Epsilon {
			y = append(y, int(e.ILabel)-1)
		}
		q = e.NextState
	}
	return y, f + float64(best.Final(q)), nil
}

// machine returns the losses of the strings of a lattice against a reference, times a weight of
// any sign, with one path a string.
func (s *Strings) machine(ctx context.Context, lattice fst.Expanded[semiring.Log64], ref []int,
	alpha float64) (*fst.Vector[semiring.Tropical64], error) {
	o := &losses.GeneralOptions{Limits: ops.Limits{Ctx: ctx, Bytes: s.o.Bytes}}
	b, err := s.loss.Automaton(lattice, ref, s.alphabet, o)
	if err != nil {
		return nil, err
	}
	v := fst.NewVector[semiring.Tropical64](b.L.NumStates())
	v.AddStates(b.L.NumStates())
	if b.L.Start() != fst.NoState {
		v.SetStart(b.L.Start())
	}
	for q := range fst.StateID(b.L.NumStates()) {
		if w := float64(b.L.Final(q)); !math.IsInf(w, 1) {
			v.SetFinal(q, semiring.Tropical64(alpha*w))
		}
		for _, e := range b.L.Arcs(q) {
			v.AddArc(q, fst.Arc[semiring.Tropical64]{ILabel: e.ILabel, OLabel: e.OLabel,
				Weight: semiring.Tropical64(alpha * float64(e.Weight)), NextState: e.NextState})
		}
	}
	return v, nil
}

// product is the intersection of the machines of some references: the weight of a string is
// the sum of its losses, weighted.
func (s *Strings) product(ctx context.Context, l *Lattice, refs [][]int,
	alpha []float64) (*fst.Vector[semiring.Tropical64], error) {
	lattice := l.Acceptor()
	out := acceptor[semiring.Tropical64](l)
	for k, ref := range refs {
		m, err := s.machine(ctx, lattice, ref, alpha[k])
		if err != nil {
			return nil, err
		}
		ops.ArcSort(m, ops.Input)
		if out, err = ops.Intersect(out, m, &ops.ComposeOptions{
			Limits: ops.Limits{Ctx: ctx, Bytes: s.o.Bytes}}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// intersection decodes exactly by the intersection of all machines: its size is the product of
// theirs at worst, so it is for few training outputs.
func (s *Strings) intersection(ctx context.Context, l *Lattice, w *weighted, d *Decoded[[]int]) error {
	v, err := s.product(ctx, l, w.refs, w.alpha)
	if err != nil {
		return fmt.Errorf("structured: the machines of %d outputs: %w", len(w.refs), err)
	}
	y, _, err := shortest(v)
	if err != nil {
		return err
	}
	d.Output, d.Value, d.Steps = y, s.value(w, y), v.NumStates()
	d.LowerBound = d.Value
	return nil
}
