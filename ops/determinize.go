package ops

import (
	"errors"
	"iter"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/square"
	"github.com/tropica-fst/tropica/ops/internal/subsets"
	"github.com/tropica-fst/tropica/semiring"
)

// ErrCapability reports an operation, or an option of one, that asks for algebra which the
// weights do not have.
var ErrCapability = errors.New("the weights lack a capability that this needs")

// DeterminizeType says what a transducer may be.
type DeterminizeType uint8

const (
	// DeterminizeFunctional takes one output for each input, and reports a
	// FunctionalError when it meets two.
	DeterminizeFunctional DeterminizeType = iota
	// DeterminizeNonFunctional keeps all outputs, as several final arcs.
	DeterminizeNonFunctional
	// DeterminizeDisambiguate keeps the output of least weight, and needs the
	// path property.
	DeterminizeDisambiguate
)

// DeterminizeOptions adjusts Determinize; nil is the same as the zero value.
type DeterminizeOptions struct {
	// Delta rounds residuals to its multiples before subsets are compared; zero
	// compares them exactly. OpenFst's tools round to 1/1024, which can merge
	// unequal subsets and so give wrong sums. Where weights are multiplied as
	// numbers (semiring.Proportional), residuals that differ by factors of about 1±Delta
	// count as equal, and stay as they are otherwise.
	Delta float64

	Type DeterminizeType // what a transducer may be; zero is functional

	// SubsequentialLabel stands on the input side of the arcs that put out what
	// is left of an output string at a final state. Zero is ε, which makes the
	// result deterministic but for those arcs.
	SubsequentialLabel fst.Label
	// IncrementSubsequentialLabel gives the final arcs of one state the labels
	// SubsequentialLabel, SubsequentialLabel+1, …, so that they differ.
	IncrementSubsequentialLabel bool

	Limits
}

// Determinize returns a machine with the relation of f in which no state has two arcs with the same
// input label. The weight of an arc is the ⊕ (for outputs the first common label) of what it stands
// for. States are sets of pairs of a state of f and a residual weight.
//
// ε is an ordinary label here, as it is in OpenFst. Remove it first with RmEpsilon, or the result
// has ε-arcs and can have two paths for one string.
//
// The weights must be zero-sum-free (a⊕b = 0̄ only when both are) and left divisible. Every acyclic
// machine and every unweighted acceptor can be determinized. Over the tropical semiring every
// machine with the twins property can (see Twins), and an unambiguous one only then.
//
// From time to time a growing construction searches its input for a breach of that property, at a
// cost bounded by the work done so far. A breach ends it at once, with a TwinsError, where it
// proves that the construction does not end:
//
//   - on a machine without two paths from the start to one state with the same labels, as every
//     trim unambiguous machine is;
//   - where all outputs are kept, and they differ;
//   - over Tropical and Tropical64, for two cycles with the same labels that are the cheapest with
//     these labels and cost differently.
//
// Any other breach is a suspicion. The construction goes on to a million states, 256 MiB of output
// strings, or the limits and the deadline if set, and then returns it. Machines with weights that
// do not cancel (see Twins) are not searched: only a limit ends what does not end by itself. What
// stops at a limit is a DeterminizeError around the LimitError.
//
// States are numbered in the order in which they are first reached, arcs ordered by label, and sums
// made in the order that OpenFst has. A transducer is determinized as an acceptor whose weights
// carry output strings. What is left of a string at a final state leaves by arcs labeled
// SubsequentialLabel.
//
// Cost: for each state of the result the arcs of its subset, sorted; the number
// of states is exponential in those of f at worst.
//
// After M. Mohri, "Finite-state transducers in language and speech processing",
// Computational Linguistics 23(2):269-311, 1997, and "Weighted automata
// algorithms", in Handbook of Weighted Automata, 2009.
func Determinize[W semiring.Divisible[W]](f fst.Fst[W], opts *DeterminizeOptions) (*fst.Vector[W], error) {
	d, err := newDeterminizer(f, opts)
	if err != nil {
		return nil, err
	}
	return determinized(f, opts, d)
}

// determinized returns the whole machine of d, which determinizes f.
func determinized[W semiring.Divisible[W]](f fst.Fst[W], opts *DeterminizeOptions, d fst.Expander[W]) (*fst.Vector[W], error) {
	a, borrows := d.(*acceptorDeterminizer[W])
	if borrows = borrows && (opts == nil || opts.States == 0 && opts.Arcs == 0 && opts.Bytes == 0); borrows {
		a.m.borrow()
	}
	out, err := expandAll(d)
	if err != nil {
		return nil, err // which may tell of subsets
	}
	if borrows {
		a.m.giveBack()
	}
	out.SetInputSymbols(fst.InputSymbols(f))
	out.SetOutputSymbols(fst.OutputSymbols(f))
	out.LearnProperties(determinizedProperties(f, opts, out))
	return out, nil
}

// DeterminizeLazy returns the machine of Determinize, to be computed where it is
// looked at. f must not change meanwhile.
//
// f may be computed on demand, and without end: of its states only those are asked for that the
// subsets hold which are looked at. Whether such a machine is an acceptor is not known beforehand
// where it does not say. It is then determinized as a transducer, which gives the same. Over
// weights with a CommonDivisor, or without the path property for DeterminizeDisambiguate, it is
// determinized as an acceptor. An arc with two different labels is then an error around
// ErrNotAcceptor. The same holds of Determinize. Of the result it is known that it is sorted where
// f is known to be an acceptor.
func DeterminizeLazy[W semiring.Divisible[W]](f fst.Fst[W], opts *DeterminizeOptions, cache *fst.LazyOptions) (*fst.Lazy[W], error) {
	d, err := newDeterminizer(f, opts)
	if err != nil {
		return nil, err
	}
	o := withSymbols(cache, f, f)
	if acceptor, known := isAcceptor(f); known && acceptor {
		o.Properties |= fst.Acceptor | fst.IDeterministic | fst.ODeterministic | fst.ILabelSorted | fst.OLabelSorted
	}
	return fst.NewLazy(d, o), nil
}

// newDeterminizer chooses the algebra.
func newDeterminizer[W semiring.Divisible[W]](f fst.Fst[W], opts *DeterminizeOptions) (fst.Expander[W], error) {
	var o DeterminizeOptions
	if opts != nil {
		o = *opts
	}
	acceptor, known := isAcceptor(f)
	if known && !acceptor {
		return newTransducerDeterminizer(f, &o)
	}
	if !known {
		// As a transducer an acceptor has the same subsets, divisors and arcs. The paths of a
		// string to a state have one output, the string itself. Putting out an arc's label leaves
		// nothing of it.
		var w W
		_, common := any(w).(semiring.CommonDivisor[W])
		_, path := any(w).(semiring.Path[W])
		if !common && (path || o.Type != DeterminizeDisambiguate) {
			return newTransducerDeterminizer(f, &o)
		}
		f = &acceptorOnly[W]{Fst: f, op: "Determinize"}
	}
	return newAcceptorDeterminizer(f, &o)
}

// expandAll runs an expander of this package, which meets its own limits, to
// the end.
func expandAll[W semiring.Weight[W]](e fst.Expander[W]) (*fst.Vector[W], error) {
	start, err := e.Start()
	if err != nil || start == fst.NoState {
		return fst.NewVector[W](0), err
	}
	pool := run.Scratch[run.StateBuffer[W]]()
	b := pool.Get().(*run.StateBuffer[W])
	known := start
	for q := fst.StateID(0); q <= known; q++ {
		final, arcs, err := e.Expand(q, b.State[:0])
		b.State = arcs
		if err != nil {
			b.Reset()
			pool.Put(b)
			return nil, err
		}
		for i := range arcs {
			known = max(known, arcs[i].NextState)
		}
		b.PushPart(final, arcs)
	}
	out := b.Machine()
	pool.Put(b)
	out.SetStart(start)
	return out, nil
}

// acceptorDeterminizer is the Expander of a determinized acceptor.
type acceptorDeterminizer[W semiring.Divisible[W]] struct {
	m subsetMachine[W, W, plainResiduals[W]]
}

func newAcceptorDeterminizer[W semiring.Divisible[W]](f fst.Fst[W], o *DeterminizeOptions) (*acceptorDeterminizer[W], error) {
	d := &acceptorDeterminizer[W]{}
	var w W
	_, common := any(w).(semiring.CommonDivisor[W])
	d.m = subsetMachine[W, W, plainResiduals[W]]{op: "Determinize", f: f, table: subsets.NewTable[W](),
		alg: plainResiduals[W]{common}}
	d.m.meter = o.Limits.meter("Determinize")
	d.m.guard = newTwinsGuard(f, o.Limits, false, square.NewWeightDelays[W])
	d.m.guard.rounds(o.Delta)
	quantize, err := quantizer("Determinize", f, o.Delta)
	d.m.round(quantize, proportional[W]())
	return d, err
}

// Start returns the subset of the start state.
func (d *acceptorDeterminizer[W]) Start() (fst.StateID, error) { return d.m.start() }

// Expand returns the final weight of subset q and its arcs by increasing label.
func (d *acceptorDeterminizer[W]) Expand(q fst.StateID, dst []fst.Arc[W]) (W, []fst.Arc[W], error) {
	final, arcs, err := d.m.expand(q)
	if err != nil {
		return final, dst, err
	}
	for _, e := range arcs {
		dst = append(dst, fst.Arc[W]{ILabel: e.label, OLabel: e.label, Weight: e.weight, NextState: e.next})
	}
	return final, dst, nil
}

var _ fst.Retainer = (*acceptorDeterminizer[semiring.Tropical])(nil)

// Retain forgets all subsets but live. What is found to be wrong later is told by the labels
// from a subset that was kept, and not from the start.
func (d *acceptorDeterminizer[W]) Retain(live []fst.StateID) { d.m.retain(live) }

// plainResiduals is the algebra of acceptors: weights, with ⊕ as the common
// divisor unless they have one of their own.
type plainResiduals[W semiring.Divisible[W]] struct{ common bool }

func (plainResiduals[W]) one() W                           { return semiring.One[W]() }
func (plainResiduals[W]) zero() W                          { return semiring.Zero[W]() }
func (plainResiduals[W]) isZero(r W) bool                  { return semiring.IsZero(r) }
func (plainResiduals[W]) vanished(r W) bool                { return !cancels(r) }
func (plainResiduals[W]) step(r W, e *fst.Arc[W]) W        { return r.Times(e.Weight) }
func (plainResiduals[W]) stop(r, final W) W                { return r.Times(final) }
func (plainResiduals[W]) plus(a, b W) (W, bool)            { return a.Plus(b), true }
func (plainResiduals[W]) divide(d, r W) W                  { return d.DivideLeft(r) }
func (plainResiduals[W]) sum(r W) W                        { return r }
func (plainResiduals[W]) member(r W) bool                  { return r.Member() }
func (plainResiduals[W]) equal(a, b W) bool                { return a.Equal(b) }
func (plainResiduals[W]) appendKey(dst []byte, r W) []byte { return r.AppendKey(dst) }
func (plainResiduals[W]) begin()                           {}
func (plainResiduals[W]) keep(r W) W                       { return r }
func (plainResiduals[W]) only(iter.Seq[*W])                {}
func (plainResiduals[W]) bytes() int64                     { return 0 }
func (plainResiduals[W]) failed() error                    { return nil }

func (a plainResiduals[W]) divisor(d, r W) W {
	if a.common {
		return any(d).(semiring.CommonDivisor[W]).CommonDivisor(r)
	}
	return d.Plus(r)
}

// determinizedProperties are the facts about the result of a determinization of
// f that follow without looking at it.
func determinizedProperties[W semiring.Weight[W]](f fst.Fst[W], opts *DeterminizeOptions, out *fst.Vector[W]) fst.Properties {
	var in fst.Properties
	if p, ok := f.(fst.Propertied); ok {
		in = p.KnownProperties()
	}
	p := fst.Accessible
	if out.NumStates() == 0 {
		return p
	}
	if in&fst.Acyclic != 0 {
		p |= fst.Acyclic | fst.InitialAcyclic
	}
	if in&fst.InitialAcyclic != 0 {
		p |= fst.InitialAcyclic
	}
	if in&fst.Acceptor != 0 {
		p |= fst.Acceptor | fst.IDeterministic | fst.ODeterministic | fst.ILabelSorted | fst.OLabelSorted
		if in&fst.NoEpsilons != 0 {
			p |= fst.NoEpsilons | fst.NoIEpsilons | fst.NoOEpsilons
		}
	}
	return p
}
