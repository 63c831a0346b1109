package ops

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// EncodeKind says what goes into the encoded label.
type EncodeKind uint8

const (
	EncodeLabels  EncodeKind = 1 << iota // the two labels: the result is an acceptor
	EncodeWeights                        // the weight: the result is unweighted
)

// ErrEncoding reports an arc that a Decode cannot take apart.
var ErrEncoding = errors.New("not an arc of an encoded machine")

// EncodeTable numbers the triples of input label, output label and weight that
// Encode has met, from 1 in the order of meeting. What is not encoded stands as
// 0 or 1̄ in them. The final weights that EncodeWeights turns into arcs have the
// triple (NoLabel, NoLabel, w), so that they are not mistaken for ε-arcs.
type EncodeTable[W semiring.Weight[W]] struct {
	kind    EncodeKind
	weights run.KeyTable // numbers the canonical bytes of weights
	table   *fst.Table[encodeKey]
	value   []W // weight of each triple
	key     []byte

	isyms, osyms *fst.SymbolTable
}

type encodeKey struct {
	ilabel, olabel fst.Label
	weight         int32
}

// NewEncodeTable returns an empty table for the given kind, EncodeLabels,
// EncodeWeights or both.
func NewEncodeTable[W semiring.Weight[W]](kind EncodeKind) *EncodeTable[W] {
	return &EncodeTable[W]{
		kind: kind & (EncodeLabels | EncodeWeights),
		table: fst.NewTable(func(k encodeKey) uint64 {
			return fst.Mix(fst.Mix(uint64(uint32(k.ilabel))<<32|uint64(uint32(k.olabel))) + uint64(k.weight))
		}),
	}
}

// Kind returns what the table encodes.
func (t *EncodeTable[W]) Kind() EncodeKind { return t.kind }

// Len returns the number of triples: the encoded labels are 1 to Len.
func (t *EncodeTable[W]) Len() int { return t.table.Len() }

// Symbols returns the symbol tables of the machine that was encoded last, for
// the decoded one.
func (t *EncodeTable[W]) Symbols() (input, output *fst.SymbolTable) { return t.isyms, t.osyms }

// SetSymbols replaces them.
func (t *EncodeTable[W]) SetSymbols(input, output *fst.SymbolTable) { t.isyms, t.osyms = input, output }

// Triple returns what the encoded label l stands for, ok if it is in the table.
func (t *EncodeTable[W]) Triple(l fst.Label) (ilabel, olabel fst.Label, w W, ok bool) {
	if l < 1 || int(l) > t.table.Len() {
		return 0, 0, w, false
	}
	k := t.table.Key(fst.StateID(l - 1))
	return k.ilabel, k.olabel, t.value[l-1], true
}

// Add returns the label for a triple, a new one if the triple is new. Tables read
// from files are filled with it.
func (t *EncodeTable[W]) Add(ilabel, olabel fst.Label, w W) fst.Label {
	k := encodeKey{ilabel: ilabel, olabel: olabel}
	if t.kind&EncodeWeights != 0 {
		t.key = w.AppendKey(t.key[:0])
		k.weight, _ = t.weights.ID(t.key)
	}
	id, isNew := t.table.ID(k)
	if isNew {
		t.value = append(t.value, w)
	}
	return fst.Label(id) + 1
}

// encode returns the arc for e.
func (t *EncodeTable[W]) encode(e fst.Arc[W], one W) fst.Arc[W] {
	o, w := fst.Epsilon, one
	if t.kind&EncodeLabels != 0 {
		o = e.OLabel
	}
	if t.kind&EncodeWeights != 0 {
		w, e.Weight = e.Weight, one
	}
	e.ILabel = t.Add(e.ILabel, o, w)
	if t.kind&EncodeLabels != 0 {
		e.OLabel = e.ILabel
	}
	return e
}

// Encode replaces, in place, the labels or the weights or both of each arc of f
// by a label of t, which Decode turns back. An encoded machine is an acceptor, or
// unweighted, or both, and what is done to it by operations on such machines
// (Determinize, Minimize) keeps each arc's labels and weight together.
//
// With EncodeWeights, final weights become arcs to a new state, the last. Symbol
// tables move from f to t. A table can serve several machines. O(|Q| + |E|) time.
func Encode[W semiring.Weight[W]](f *fst.Vector[W], t *EncodeTable[W]) {
	t.isyms, t.osyms = f.InputSymbols(), f.OutputSymbols()
	f.SetInputSymbols(nil)
	f.SetOutputSymbols(nil)
	if f.Start() == fst.NoState {
		return
	}
	p := f.KnownProperties()
	one, zero := semiring.One[W](), semiring.Zero[W]()
	n := f.NumStates()
	super := fst.NoState
	if t.kind&EncodeWeights != 0 {
		super = f.AddState()
	}
	for q := range n {
		s := fst.StateID(q)
		arcs := f.MutableArcs(s)
		for i := range arcs {
			arcs[i] = t.encode(arcs[i], one)
		}
		if w := f.Final(s); super != fst.NoState && !w.Equal(zero) {
			l := t.Add(fst.NoLabel, fst.NoLabel, w)
			e := fst.Arc[W]{ILabel: l, Weight: one, NextState: super}
			if t.kind&EncodeLabels != 0 {
				e.OLabel = l
			}
			f.AddArc(s, e)
			f.SetFinal(s, zero)
		}
	}
	if super != fst.NoState {
		f.SetFinal(super, one)
	}
	f.SetProperties(encodeProperties(p, t.kind), fst.AllProperties)
}

// encodeProperties returns what is known of an encoded machine.
func encodeProperties(p fst.Properties, kind EncodeKind) fst.Properties {
	const labels = inputSide | outputSide | fst.Acceptor | fst.NotAcceptor | fst.Epsilons | fst.NoEpsilons
	out := p &^ labels
	if kind&EncodeLabels == 0 {
		out |= p & outputSide &^ (fst.ODeterministic | fst.OLabelSorted | fst.NoOEpsilons)
	} else {
		out |= fst.Acceptor
	}
	if kind&EncodeWeights != 0 {
		out &^= fst.Accessible | fst.TopSorted | fst.String | fst.Weighted | fst.WeightedCycles
		out |= fst.Unweighted | fst.UnweightedCycles
	}
	return out | fst.NoIEpsilons | fst.NoEpsilons
}

// Decode turns the encoded machine f, in place, back into what it stands for,
// with the symbol tables that t kept. Arcs with input ε, which no Encode makes,
// stay as they are. Where f has final states without a way on, ε-arcs to these
// become final weights again, and the machine is trimmed.
//
// An arc that is not encoded in t is an error that wraps ErrEncoding, and f is
// then left as it was. O(|Q| + |E|) time.
func Decode[W semiring.Weight[W]](f *fst.Vector[W], t *EncodeTable[W]) error {
	one := semiring.One[W]()
	for q := range f.NumStates() {
		for i, e := range f.Arcs(fst.StateID(q)) {
			if e.ILabel == fst.Epsilon {
				continue
			}
			why := ""
			switch {
			case e.ILabel < 1 || int(e.ILabel) > t.Len():
				why = fmt.Sprintf("the table has labels 1 to %d", t.Len())
			case t.kind&EncodeLabels != 0 && e.ILabel != e.OLabel:
				why = fmt.Sprintf("its output label %d differs", e.OLabel)
			case t.kind&EncodeWeights != 0 && !e.Weight.Equal(one):
				why = "it has a weight"
			}
			if why != "" {
				return &StateError{Op: "Decode", State: fst.StateID(q), Err: fmt.Errorf("arc %d with label %d: %s: %w", i, e.ILabel, why, ErrEncoding)}
			}
		}
	}
	for q := range f.NumStates() {
		arcs := f.MutableArcs(fst.StateID(q))
		for i := range arcs {
			e := &arcs[i]
			il, ol, w, ok := t.Triple(e.ILabel)
			if !ok {
				continue
			}
			if il == fst.NoLabel {
				il, ol = fst.Epsilon, fst.Epsilon
				e.OLabel = fst.Epsilon
			}
			e.ILabel = il
			if t.kind&EncodeLabels != 0 {
				e.OLabel = ol
			}
			if t.kind&EncodeWeights != 0 {
				e.Weight = w
			}
		}
	}
	f.SetInputSymbols(t.isyms)
	f.SetOutputSymbols(t.osyms)
	const structure = fst.Acyclic | fst.InitialAcyclic | fst.TopSorted | fst.Accessible | fst.CoAccessible
	f.SetProperties(f.KnownProperties()&structure, fst.AllProperties)
	RmFinalEpsilon(f)
	return nil
}

// RmFinalEpsilon removes, in place, the final states that have no successful way
// on, where ε:ε-arcs lead to them: such an arc becomes a final weight of the
// state it leaves. The machine is then trimmed.
func RmFinalEpsilon[W semiring.Weight[W]](f *fst.Vector[W]) {
	n := f.NumStates()
	p, changed := f.KnownProperties(), false
	trim := p.Has(fst.Accessible | fst.CoAccessible)
	var dead []bool
	if !trim {
		dead = deadStates(f, 1)
	}
	isDead := func(q fst.StateID) bool { return dead != nil && dead[q] }
	ends := make([]bool, n) // final, and no way on from here
	for q := range n {
		s := fst.StateID(q)
		if !fst.IsFinal[W](f, s) {
			continue
		}
		ends[q] = true
		for _, e := range f.Arcs(s) {
			if !isDead(e.NextState) {
				ends[q] = false
				break
			}
		}
	}
	left := slices.Clone(ends) // ends that no arc leads to any more
	if s := f.Start(); s != fst.NoState {
		left[s] = false
	}
	for q := range n {
		s := fst.StateID(q)
		arcs := f.MutableArcs(s)
		w, k := f.Final(s), 0
		for _, e := range arcs {
			if ends[e.NextState] {
				if e.ILabel == fst.Epsilon && e.OLabel == fst.Epsilon {
					w = f.Final(e.NextState).Times(e.Weight).Plus(w)
					continue
				}
				left[e.NextState] = false
			}
			arcs[k] = e
			k++
		}
		if k < len(arcs) {
			f.TruncateArcs(s, k)
			f.SetFinal(s, w)
			changed = changed || k > 0
			trim = trim && !semiring.IsZero(w) // otherwise it may have lost its only way on
		}
	}
	const structure = fst.Acceptor | fst.IDeterministic | fst.ODeterministic | fst.NoEpsilons | fst.NoIEpsilons | fst.NoOEpsilons |
		fst.ILabelSorted | fst.OLabelSorted | fst.Acyclic | fst.InitialAcyclic | fst.TopSorted
	if changed && !p.Has(fst.TopSorted) {
		p &^= fst.Acyclic | fst.InitialAcyclic // as OpenFst, which adds the other arcs anew
	}
	f.SetProperties(p&structure, fst.AllProperties)
	if !trim {
		Connect(f)
		return
	}
	// Only ends can have become useless, and nothing leads on from them.
	if slices.Contains(left, true) {
		f.DeleteStates(left)
	}
	f.SetProperties(fst.Accessible|fst.CoAccessible, fst.Accessible|fst.NotAccessible|fst.CoAccessible|fst.NotCoAccessible)
}
