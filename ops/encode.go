package ops

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/graph"
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

// Encode replaces, in place, the labels or the weights or both of each arc of f by a label of t,
// which Decode turns back. An encoded machine is an acceptor, or unweighted, or both, so operations
// on such machines (Determinize, Minimize) keep each arc's labels and weight together.
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

// RmFinalEpsilon removes, in place, the final states that have no successful way on, where ε:ε-arcs
// lead to them. Such an arc becomes a final weight of the state it leaves. The machine is then
// trimmed.
func RmFinalEpsilon[W semiring.Weight[W]](f *fst.Vector[W]) {
	n := f.NumStates()
	p, changed := f.KnownProperties(), false
	trim := p.Has(fst.Accessible | fst.CoAccessible)
	var dead []bool
	if !trim {
		dead = graph.DeadStates(f, 1)
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

// Files of encode tables have the layout of OpenFst's encode mappers: a magic number, the arc type,
// a byte of flags, the number of triples, and the triples in order. The symbol tables that the
// flags announce follow.
const (
	encodeMagic    = 2128178506
	encodeHasInput = 4
	encodeHasOut   = 8
)

// WriteEncodeTable writes t in the form of OpenFst's encode mappers.
func WriteEncodeTable[W semiring.Codec[W]](w io.Writer, t *EncodeTable[W]) error {
	flags := byte(t.kind)
	if t.isyms != nil {
		flags |= encodeHasInput
	}
	if t.osyms != nil {
		flags |= encodeHasOut
	}
	var zero W
	le := binary.LittleEndian
	b := le.AppendUint32(nil, encodeMagic)
	b = le.AppendUint32(b, uint32(len(zero.ArcType())))
	b = append(append(b, zero.ArcType()...), flags)
	b = le.AppendUint64(b, uint64(t.Len()))
	for l := range t.Len() {
		in, out, x, _ := t.Triple(fst.Label(l + 1))
		b = le.AppendUint32(le.AppendUint32(b, uint32(in)), uint32(out))
		b = x.AppendBinary(b)
		if len(b) > 1<<16 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	for _, s := range []*fst.SymbolTable{t.isyms, t.osyms} {
		if s != nil {
			b = s.AppendBinary(b)
		}
	}
	_, err := w.Write(b)
	return err
}

// ReadEncodeTable reads what WriteEncodeTable, or OpenFst, wrote. Errors are
// fst.BinaryErrors; name is the source's, for them. Time and memory are within a
// constant factor of the size of the file.
func ReadEncodeTable[W semiring.Codec[W]](r io.Reader, name string) (*EncodeTable[W], error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	t, _, err := parseEncodeTable[W](data, 0, name)
	return t, err
}

// parseEncodeTable reads a table that begins at a place in data, and returns where
// it ends.
func parseEncodeTable[W semiring.Codec[W]](data []byte, at int, name string) (*EncodeTable[W], int, error) {
	fail := func(format string, args ...any) error {
		return &fst.BinaryError{Source: name, Offset: int64(at), Err: fmt.Errorf(format, args...)}
	}
	short := errors.New("the file ends within an encode table")
	take := func(n int) []byte {
		if n < 0 || n > len(data)-at {
			return nil
		}
		at += n
		return data[at-n : at]
	}
	le := binary.LittleEndian
	head := take(8)
	if head == nil {
		return nil, at, fail("%w", short)
	}
	if le.Uint32(head) != encodeMagic {
		at -= 8
		return nil, at, fail("not an encode table: it starts with %#08x, not with %#08x", le.Uint32(head),
			encodeMagic)
	}
	arcType := take(int(int32(le.Uint32(head[4:]))))
	rest := take(9)
	if arcType == nil || rest == nil {
		return nil, at, fail("%w", short)
	}
	var zero W
	if string(arcType) != zero.ArcType() {
		return nil, at, fail("an encode table over arcs of type %.40q, not %s", arcType, zero.ArcType())
	}
	flags, n := rest[0], le.Uint64(rest[1:])
	if n > math.MaxInt32 {
		return nil, at, fail("%d triples: more than there are labels", n)
	}
	t := NewEncodeTable[W](EncodeKind(flags))
	for i := range n {
		labels := take(8)
		if labels == nil {
			return nil, at, fail("%w, triple %d of %d", short, i, n)
		}
		x, used, err := zero.DecodeBinary(data[at:])
		switch {
		case err != nil:
			return nil, at, fail("triple %d: %w", i, err)
		case used == 0:
			return nil, at, fail("%w, triple %d of %d", short, i, n)
		case !x.Member():
			return nil, at, fail("triple %d: its weight is not a number", i)
		}
		at += used
		if l := t.Add(fst.Label(le.Uint32(labels)), fst.Label(le.Uint32(labels[4:])), x); uint64(l) != i+1 {
			return nil, at, fail("triple %d is the same as triple %d", i, l-1)
		}
	}
	s := fst.NewStream(bytes.NewReader(data[at:]), &fst.ReadOptions{Name: name, Offset: int64(at)})
	var err error
	if flags&encodeHasInput != 0 {
		if t.isyms, err = s.ReadSymbols(); err != nil {
			return nil, at, err
		}
	}
	if flags&encodeHasOut != 0 {
		if t.osyms, err = s.ReadSymbols(); err != nil {
			return nil, at, err
		}
	}
	return t, int(s.Offset()), nil
}
