package ops

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/engine"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// Factors is one way to write a weight as a product.
type Factors[W any] struct{ First, Rest W }

// FactorWeightOptions adjusts FactorWeight; nil is the same as the zero value.
type FactorWeightOptions struct {
	KeepArcs   bool // leave arc weights as they are
	KeepFinals bool // leave final weights as they are

	// Delta rounds the second factors to its multiples, so that more of them
	// are the same; zero keeps them exactly.
	Delta float64

	FinalILabel, FinalOLabel fst.Label // on the arcs that final weights become; zero is ε
	IncrementILabel          bool      // the arcs of one state get FinalILabel, FinalILabel+1, …
	IncrementOLabel          bool

	Limits
}

// FactorWeight returns a machine like f whose arcs and final weights carry only
// first factors. factor(w) lists pairs with ⊕ First⊗Rest = w, or nothing for a
// weight that needs no more factoring. An arc becomes one for each pair, to a
// state that has Rest still to pay: it multiplies the weights there. A final
// weight becomes arcs to states whose final weight is Rest, factored further
// where that is needed. factor must come to an end on what it makes.
//
// States are pairs of a state of f and a weight owed, in the order in which they
// are reached. Cost: O(states + arcs) of the result.
//
// It is the second half of the normalization in M. Mohri, "Generic
// epsilon-removal and input epsilon-normalization algorithms for weighted
// transducers", Int. J. Foundations of Computer Science 13(1), 2002, for any
// weights; OpenFst has the same under this name.
func FactorWeight[W semiring.Weight[W]](f fst.Fst[W], factor func(W) []Factors[W], opts *FactorWeightOptions) (*fst.Vector[W], error) {
	x, err := newFactorer(f, factor, opts)
	if err != nil {
		return nil, err
	}
	out, err := expandAll(x)
	if err == nil {
		out.CopySymbols(f)
		out.LearnProperties(fst.Accessible)
	}
	return out, err
}

// FactorWeightLazy returns the machine of FactorWeight, to be computed where it
// is looked at.
func FactorWeightLazy[W semiring.Weight[W]](f fst.Fst[W], factor func(W) []Factors[W], opts *FactorWeightOptions, cache *fst.LazyOptions) (*fst.Lazy[W], error) {
	x, err := newFactorer(f, factor, opts)
	if err != nil {
		return nil, err
	}
	return fst.NewLazy(x, withSymbols(cache, f, f)), nil
}

// FactorOne moves the whole weight on, so that all paths to one state come with
// the same weight. It is for arcs only: set KeepFinals.
func FactorOne[W semiring.Weight[W]](w W) []Factors[W] {
	if semiring.IsOne(w) {
		return nil
	}
	return []Factors[W]{{w.One(), w}}
}

// FactorStringLeft splits the first label off a string.
func FactorStringLeft(s semiring.StringLeft) []Factors[semiring.StringLeft] {
	if s.Len() <= 1 {
		return nil
	}
	ls := s.AppendLabels(nil)
	return []Factors[semiring.StringLeft]{{semiring.NewStringLeft(ls[0]), semiring.NewStringLeft(ls[1:]...)}}
}

// FactorGallicLeft splits off the first label, with the whole weight.
func FactorGallicLeft[W semiring.Component[W]](g semiring.GallicLeft[W]) []Factors[semiring.GallicLeft[W]] {
	if g.String.Len() <= 1 {
		return nil
	}
	s := FactorStringLeft(g.String)[0]
	return []Factors[semiring.GallicLeft[W]]{{
		semiring.GallicLeft[W]{String: s.First, Weight: g.Weight},
		semiring.GallicLeft[W]{String: s.Rest, Weight: g.Weight.One()},
	}}
}

// FactorGallicRight splits off the first label, with the whole weight.
func FactorGallicRight[W semiring.Component[W]](g semiring.GallicRight[W]) []Factors[semiring.GallicRight[W]] {
	if g.String.Len() <= 1 {
		return nil
	}
	ls := g.String.AppendLabels(nil)
	return []Factors[semiring.GallicRight[W]]{{
		semiring.GallicRight[W]{String: semiring.NewStringRight(ls[0]), Weight: g.Weight},
		semiring.GallicRight[W]{String: semiring.NewStringRight(ls[1:]...), Weight: g.Weight.One()},
	}}
}

// factorer is the Expander of FactorWeight.
type factorer[W semiring.Weight[W]] struct {
	f        fst.Fst[W]
	factor   func(W) []Factors[W]
	o        FactorWeightOptions
	quantize func(W) W
	states   []owed[W]
	plain    []fst.StateID // the state with nothing owed, for each state of f
	ids      run.KeyTable  // of states with something owed, numbered apart
	owing    []fst.StateID
	key      []byte
	meter    run.Meter
	arcs     int64
	heap     func(*W) int64 // nil where weights hold nothing outside of themselves
	held     int64
}

// owed is a state of the result: a state of f, or NoState behind a final weight, with the weight
// still to be paid there.
type owed[W any] struct {
	state  fst.StateID
	weight W
}

func newFactorer[W semiring.Weight[W]](f fst.Fst[W], factor func(W) []Factors[W], opts *FactorWeightOptions) (*factorer[W], error) {
	x := &factorer[W]{f: f, factor: factor}
	if opts != nil {
		x.o = *opts
	}
	x.meter = x.o.Limits.meter("FactorWeight")
	if x.o.Bytes > 0 {
		x.heap = run.HeapOf[W]()
	}
	var err error
	x.quantize, err = quantizer("FactorWeight", x.f, x.o.Delta)
	return x, err
}

func (x *factorer[W]) id(q fst.StateID, w W) fst.StateID {
	next := fst.StateID(len(x.states))
	if q != fst.NoState && semiring.IsOne(w) {
		for int(q) >= len(x.plain) {
			x.plain = append(x.plain, fst.NoState)
		}
		if id := x.plain[q]; id != fst.NoState {
			return id
		}
		x.plain[q] = next
	} else {
		x.key = append(x.key[:0], byte(q), byte(q>>8), byte(q>>16), byte(q>>24))
		x.key = w.AppendKey(x.key)
		k, isNew := x.ids.ID(x.key)
		if !isNew {
			return x.owing[k]
		}
		x.owing = append(x.owing, next)
		x.held += int64(len(x.key)) + 48
	}
	if x.heap != nil {
		x.held += x.heap(&w)
	}
	x.states = append(x.states, owed[W]{q, w})
	return next
}

// Start returns the start state of f, with nothing owed.
func (x *factorer[W]) Start() (fst.StateID, error) {
	s := x.f.Start()
	if err := x.operandErr(); err != nil || s == fst.NoState {
		return fst.NoState, err
	}
	return x.id(s, semiring.One[W]()), nil
}

// operandErr returns the error of f, if reading it can fail and has.
func (x *factorer[W]) operandErr() error {
	if err := fst.Err(x.f); err != nil {
		return &partError{"FactorWeight", err}
	}
	return nil
}

func (x *factorer[W]) rest(w W) W {
	if x.quantize != nil {
		return x.quantize(w)
	}
	return w
}

// Expand returns what is final at q and its arcs: those of f's state in order,
// then those that a final weight became.
func (x *factorer[W]) Expand(q fst.StateID, dst []fst.Arc[W]) (W, []fst.Arc[W], error) {
	s := x.states[q]
	final := s.weight
	before := len(dst)
	if s.state != fst.NoState {
		final = s.weight.Times(x.f.Final(s.state))
		dst = slices.Grow(dst, len(x.f.Arcs(s.state)))
		for _, e := range x.f.Arcs(s.state) {
			w := s.weight.Times(e.Weight)
			var pairs []Factors[W]
			if !x.o.KeepArcs {
				pairs = x.factor(w)
			}
			next := e.NextState
			if len(pairs) == 0 {
				e.Weight, e.NextState = w, x.id(next, w.One())
				dst = append(dst, e)
			}
			for _, p := range pairs {
				e.Weight, e.NextState = p.First, x.id(next, x.rest(p.Rest))
				dst = append(dst, e)
			}
		}
	}
	if !x.o.KeepFinals && (s.state == fst.NoState || fst.IsFinal(x.f, s.state)) {
		il, ol := x.o.FinalILabel, x.o.FinalOLabel
		pairs := x.factor(final)
		if err := x.enoughLabels(len(pairs)); err != nil {
			return final, dst[:before], err
		}
		for _, p := range pairs {
			dst = append(dst, fst.Arc[W]{ILabel: il, OLabel: ol, Weight: p.First, NextState: x.id(fst.NoState, x.rest(p.Rest))})
			final = final.Zero()
			if x.o.IncrementILabel {
				il++
			}
			if x.o.IncrementOLabel {
				ol++
			}
		}
	}
	if err := x.operandErr(); err != nil {
		return final, dst, err
	}
	x.arcs += int64(len(dst) - before)
	if x.heap != nil {
		x.held += run.HeapOfArcs(x.heap, dst[before:])
	}
	return final, dst, x.meter.Check(x.built())
}

// built is what has been made.
func (x *factorer[W]) built() run.Progress {
	bytes := x.arcs*int64(unsafe.Sizeof(fst.Arc[W]{})) + int64(len(x.states))*(24+int64(unsafe.Sizeof(owed[W]{}))) + x.held
	return run.Progress{States: len(x.states), Arcs: x.arcs, Bytes: bytes}
}

// enoughLabels returns a LimitError when n arcs that a final weight becomes ask for labels beyond
// the last.
func (x *factorer[W]) enoughLabels(n int) error {
	first := fst.Label(math.MinInt32) // which n in memory cannot exhaust
	if x.o.IncrementILabel {
		first = x.o.FinalILabel
	}
	if x.o.IncrementOLabel {
		first = max(first, x.o.FinalOLabel)
	}
	err := enoughLabels(first, n, run.HintFinal)
	if err != nil {
		err.Op, err.Built = "FactorWeight", Progress(x.built())
		return err
	}
	return nil
}

var _ fst.Retainer = (*factorer[semiring.Tropical])(nil)

// Retain forgets all states but live.
func (x *factorer[W]) Retain(live []fst.StateID) {
	states := x.states
	x.states, x.plain, x.ids, x.owing, x.arcs, x.held = nil, nil, run.KeyTable{}, nil, 0, 0
	for _, q := range live {
		x.id(states[q].state, states[q].weight)
	}
}

// Conversions between transducers over W and acceptors over pairs of an output string and a weight
// of W. On these, labels can be pushed and minimized as weights are.

// toGallic returns f as an acceptor over its input, each output label and weight
// made one by pair; label ε is the empty string. The error is that of the stopwatch.
func toGallic[W semiring.Weight[W], G semiring.Weight[G]](f fst.Expanded[W], pair func(l fst.Label, w W) G,
	w *run.Stopwatch) (*fst.Vector[G], error) {
	n, size := f.NumStates(), fst.NumArcs(f)
	if err := w.Hold(run.SizeOf[G](n, int64(size)).Bytes); err != nil { // before so much is made
		return nil, err
	}
	g := fst.NewVector[G](n)
	for q := range n {
		if degree := len(f.Arcs(fst.StateID(q))); degree >= wideState {
			size -= degree
		}
	}
	g.ReserveArcs(size)
	var arcs []fst.Arc[G]
	zero := semiring.Zero[G]()
	for q := range n {
		arcs = slices.Grow(arcs[:0], len(f.Arcs(fst.StateID(q))))
		if err := w.Spend(8 + 8*len(f.Arcs(fst.StateID(q)))); err != nil {
			return nil, err
		}
		for _, e := range f.Arcs(fst.StateID(q)) {
			arcs = append(arcs, fst.Arc[G]{ILabel: e.ILabel, OLabel: e.ILabel, Weight: pair(e.OLabel, e.Weight),
				NextState: e.NextState})
		}
		final := zero
		if w := f.Final(fst.StateID(q)); !semiring.IsZero(w) {
			final = pair(fst.Epsilon, w)
		}
		arcs = pushOrGive(g, final, arcs)
	}
	g.SetStart(f.Start())
	g.SetInputSymbols(fst.InputSymbols(f))
	const shape = fst.IDeterministic | fst.NonIDeterministic | fst.IEpsilons | fst.NoIEpsilons | fst.ILabelSorted | fst.NotILabelSorted |
		fst.Cyclic | fst.Acyclic | fst.InitialCyclic | fst.InitialAcyclic | fst.TopSorted | fst.NotTopSorted |
		fst.Accessible | fst.NotAccessible | fst.CoAccessible | fst.NotCoAccessible
	g.LearnProperties(fst.Acceptor | knownProperties(f)&shape)
	return g, nil
}

// leftPair returns what makes a pair of a label and a weight, for one goroutine.
func leftPair[W semiring.Component[W]]() func(l fst.Label, w W) semiring.GallicLeft[W] {
	var of semiring.LabelStrings
	return func(l fst.Label, w W) semiring.GallicLeft[W] {
		if l == fst.Epsilon {
			return semiring.GallicLeft[W]{Weight: w}
		}
		return semiring.GallicLeft[W]{String: of.Left(int32(l)), Weight: w}
	}
}

func rightPair[W semiring.Component[W]]() func(l fst.Label, w W) semiring.GallicRight[W] {
	var of semiring.LabelStrings
	return func(l fst.Label, w W) semiring.GallicRight[W] {
		if l == fst.Epsilon {
			return semiring.GallicRight[W]{Weight: w}
		}
		return semiring.GallicRight[W]{String: of.Right(int32(l)), Weight: w}
	}
}

// splitter turns the states of an acceptor over pairs, in order, into those of a transducer.
// split gives the only output label of a pair, ε for none, and its weight. A final weight
// with an output becomes an arc, ε on the input side, to a new last state.
type splitter[G semiring.Weight[G], W semiring.Weight[W]] struct {
	split  func(G) (l fst.Label, w W, ok bool)
	out    *fst.Vector[W]
	arcs   []fst.Arc[W]
	ending []fst.StateID // their last arcs go to the new last state
}

// push adds the next state.
func (s *splitter[G, W]) push(final G, arcs []fst.Arc[G]) error {
	s.arcs = slices.Grow(s.arcs[:0], len(arcs)+1)
	for i := range arcs {
		e := &arcs[i]
		l, w, ok := s.split(e.Weight)
		if !ok {
			return s.bad(e.Weight)
		}
		s.arcs = append(s.arcs, fst.Arc[W]{ILabel: e.ILabel, OLabel: l, Weight: w, NextState: e.NextState})
	}
	last := semiring.Zero[W]()
	if !semiring.IsZero(final) {
		l, w, ok := s.split(final)
		if !ok {
			return s.bad(final)
		}
		if l == fst.Epsilon {
			last = w
		} else {
			s.ending = append(s.ending, fst.StateID(s.out.NumStates()))
			s.arcs = append(s.arcs, fst.Arc[W]{OLabel: l, Weight: w, NextState: fst.NoState})
		}
	}
	s.arcs = pushOrGive(s.out, last, s.arcs)
	return nil
}

// pushOrGive adds a state with the arcs in the buffer, and returns the buffer for the next, or none
// where it has become the state's.
func pushOrGive[W semiring.Weight[W]](f *fst.Vector[W], final W, arcs []fst.Arc[W]) []fst.Arc[W] {
	if len(arcs) < wideState || cap(arcs) > len(arcs)+len(arcs)/8 {
		f.PushState(final, arcs)
		return arcs
	}
	f.Engine(engine.Key{}).GiveState(final, arcs)
	return nil
}

func (s *splitter[G, W]) bad(w G) error {
	return &StateError{Op: "fromGallic", State: fst.StateID(s.out.NumStates()),
		Err: fmt.Errorf("weight %s does not stand for one label", weightText(w))}
}

// machine returns the transducer, with its start state.
func (s *splitter[G, W]) machine(start fst.StateID) *fst.Vector[W] {
	if len(s.ending) > 0 {
		last := s.out.PushState(semiring.One[W](), nil)
		for _, q := range s.ending {
			arcs := s.out.MutableArcs(q)
			arcs[len(arcs)-1].NextState = last
		}
	}
	s.out.SetStart(start)
	return s.out
}

// fromGallic turns an acceptor over pairs, of one label each, back into a transducer.
func fromGallic[G semiring.Weight[G], W semiring.Weight[W]](g fst.Expanded[G],
	split func(G) (fst.Label, W, bool)) (*fst.Vector[W], error) {
	n := g.NumStates()
	s := splitter[G, W]{split: split, out: fst.NewVector[W](n)}
	s.out.ReserveArcs(fst.NumArcs(g))
	for q := range fst.StateID(n) {
		if err := s.push(g.Final(q), g.Arcs(q)); err != nil {
			return nil, err
		}
	}
	out := s.machine(g.Start())
	out.SetInputSymbols(fst.InputSymbols(g))
	return out, nil
}

// spellOut is fromGallic of FactorWeight: a transducer in which each output string is spelled
// out label by label. The factored machine is not kept; held is what the operation op, whose
// limits are lim, has in use besides. Symbols are the caller's.
func spellOut[G semiring.Weight[G], W semiring.Weight[W]](op string, g fst.Expanded[G],
	factor func(G) []Factors[G],
	split func(G) (fst.Label, W, bool), lim Limits, held int64) (*fst.Vector[W], error) {
	x, err := newFactorer[G](g, factor, &FactorWeightOptions{Limits: lim.beside(held)})
	if err != nil {
		return nil, renamed(err, op)
	}
	start, err := x.Start()
	if err != nil {
		return nil, renamed(err, op)
	}
	s := splitter[G, W]{split: split, out: fst.NewVector[W](0)}
	var arcs []fst.Arc[G]
	for q := 0; q < len(x.states); q++ {
		var final G
		if final, arcs, err = x.Expand(fst.StateID(q), arcs[:0]); err != nil {
			return nil, wholeOf(err, op, lim, held)
		}
		if err := s.push(final, arcs); err != nil {
			return nil, renamed(err, op)
		}
	}
	out := s.machine(start)
	if err := CheckLimits(op, out, Limits{States: lim.States, Arcs: lim.Arcs}); err != nil { // with the ends of strings
		return nil, err
	}
	out.LearnProperties(fst.Accessible)
	return out, nil
}

func splitLeft[W semiring.Component[W]](g semiring.GallicLeft[W]) (fst.Label, W, bool) {
	switch {
	case !g.Member() || g.String.Equal(g.String.Zero()):
		return 0, g.Weight, g.Member() && semiring.IsZero(g.Weight)
	case g.String.Len() == 0:
		return fst.Epsilon, g.Weight, true
	}
	return fst.Label(g.String.At(0)), g.Weight, g.String.Len() == 1
}

func splitRight[W semiring.Component[W]](g semiring.GallicRight[W]) (fst.Label, W, bool) {
	switch {
	case !g.Member() || g.String.Equal(g.String.Zero()):
		return 0, g.Weight, g.Member() && semiring.IsZero(g.Weight)
	case g.String.Len() == 0:
		return fst.Epsilon, g.Weight, true
	}
	return fst.Label(g.String.At(0)), g.Weight, g.String.Len() == 1
}
