package ops

import (
	"math"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
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

// owed is a state of the result: a state of f, or NoState behind a final
// weight, and the weight that is still to be paid there.
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
