package fst

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/semiring"
)

// ErrCompact reports a machine that a type of file cannot hold.
var ErrCompact = errors.New("the machine does not have the form that the type of file asks for")

// compactKind is one of OpenFst's compact types: files that leave out of an arc what
// is known of all arcs of the machine. Final weights are elements with label -1,
// the first of their state.
type compactKind uint8

const (
	compactString             compactKind = iota // one element a state: a label
	compactWeightedString                        // one element a state: a label, a weight
	compactUnweightedAcceptor                    // a label, a next state
	compactAcceptor                              // a label, a weight, a next state
	compactUnweighted                            // two labels, a next state
)

var compactNames = [...]string{"string", "weighted_string", "unweighted_acceptor", "acceptor", "unweighted"}

// needs are the properties that a machine of the kind has.
func (k compactKind) needs() Properties {
	return [...]Properties{
		Acceptor | String | Unweighted | Acyclic | InitialAcyclic | IDeterministic | ODeterministic | ILabelSorted | OLabelSorted | TopSorted | Accessible | CoAccessible | UnweightedCycles,
		Acceptor | String,
		Acceptor | Unweighted,
		Acceptor,
		Unweighted,
	}[k]
}

// parseCompact takes the name of a compact type apart; u is the size of its offsets.
func parseCompact(fstType string) (k compactKind, u int, ok bool) {
	rest, ok := strings.CutPrefix(fstType, "compact")
	if !ok {
		return 0, 0, false
	}
	size, name, ok := strings.Cut(rest, "_")
	u, known := map[string]int{"8": 1, "16": 2, "": 4, "64": 8}[size]
	i := slices.Index(compactNames[:], name)
	return compactKind(i), u, ok && known && i >= 0
}

// compactLayout says where the parts of an element lie, -1 for those it lacks.
// Elements are C structs, pairs in pairs.
type compactLayout struct{ size, olabel, weight, next int }

func (k compactKind) layout(l layout) compactLayout {
	align := max(4, l.align)
	weight := roundUp(4, l.align)
	pair := roundUp(weight+l.size, align)
	switch k {
	case compactString:
		return compactLayout{4, -1, -1, -1}
	case compactWeightedString:
		return compactLayout{pair, -1, weight, -1}
	case compactUnweightedAcceptor:
		return compactLayout{8, -1, -1, 4}
	case compactAcceptor:
		return compactLayout{roundUp(pair+4, align), -1, weight, pair}
	}
	return compactLayout{12, 4, -1, 8}
}

// isString reports whether states have one element each, without offsets.
func (l compactLayout) isString() bool { return l.next < 0 }

// compact reads the body of a compact file: where states have any number of elements
// an array of the offset of each, then the elements.
func (b *bodyReader[W]) compact(k compactKind, u int) (*Const[W], error) {
	switch {
	case b.h.Version != 1 && b.h.Version != 2:
		return nil, b.fail("version %d of the compact format; 1 and 2 are what can be read", b.h.Version)
	case b.layout.size == 0:
		return nil, b.fail("a compact machine cannot have arcs of type %q", b.h.ArcType)
	case b.h.NumStates < 0:
		return nil, b.fail("a compact machine must tell the number of its states")
	}
	b.facts.kind = 0 // arcs are not in one array of the file
	aligned := b.h.Version == 1 || b.h.Flags&IsAligned != 0
	l := k.layout(b.layout)
	n := int(b.h.NumStates)
	c := &Const[W]{start: StateID(b.h.Start), isyms: b.h.InputSymbols, osyms: b.h.OutputSymbols}
	var offsets []uint64
	if !l.isString() {
		if aligned {
			if err := b.align(); err != nil {
				return nil, err
			}
		}
		offsets = make([]uint64, 0, b.room(int64(n)+1, u))
		for q := 0; q <= n; q++ {
			src, err := b.peek(u)
			if err != nil {
				return nil, b.at(err, int64(q))
			}
			at := unsigned(src, u)
			if q == 0 && at != 0 || q > 0 && at < offsets[q-1] || at > uint64(b.h.NumArcs)+uint64(q) {
				return nil, b.fail("state %d has offset %d, which is out of order or beyond %d arcs", q, at, b.h.NumArcs)
			}
			offsets = append(offsets, at)
			b.pos += u
		}
	}
	if aligned {
		if err := b.align(); err != nil {
			return nil, err
		}
	}
	zero, one := semiring.Zero[W](), semiring.One[W]()
	c.finals = make([]W, 0, b.room(int64(n), l.size))
	c.offset = make([]int64, 1, b.room(int64(n), l.size)+1)
	c.arcs = make([]Arc[W], 0, b.room(b.h.NumArcs, l.size))
	for q := range n {
		many := uint64(1)
		if !l.isString() {
			many = offsets[q+1] - offsets[q]
		}
		c.finals = append(c.finals, zero)
		for i := range many {
			src, err := b.peek(l.size)
			if err != nil {
				return nil, b.at(err, int64(q))
			}
			e := Arc[W]{ILabel: Label(binary.LittleEndian.Uint32(src)), Weight: one, NextState: StateID(q) + 1}
			e.OLabel = e.ILabel
			if l.olabel >= 0 {
				e.OLabel = Label(binary.LittleEndian.Uint32(src[l.olabel:]))
			}
			if l.weight >= 0 {
				w, k, err := zero.DecodeBinary(src[l.weight:][:b.layout.size])
				if err != nil || k != b.layout.size || badWeight(w) {
					return nil, b.fail("state %d: a malformed weight", q)
				}
				e.Weight = w
			}
			if l.next >= 0 {
				e.NextState = StateID(binary.LittleEndian.Uint32(src[l.next:]))
			}
			switch {
			case i == 0 && e.ILabel == NoLabel:
				c.finals[q] = e.Weight
			case uint64(uint32(e.NextState)) >= uint64(n):
				return nil, b.fail("state %d has an arc to state %d of %d", q, e.NextState, n)
			default:
				c.arcs = append(c.arcs, e)
			}
			b.pos += l.size
		}
		c.offset = append(c.offset, int64(len(c.arcs)))
	}
	c.props.Store(uint64(b.properties(c)))
	return c, nil
}

// compact writes f as one of the compact types.
func (b *bodyWriter[W]) compact(f Expanded[W], h *Header, k compactKind, u int, align bool) error {
	if b.layout.size == 0 {
		return fmt.Errorf("fst: a file of type %s cannot hold arcs of type %q", h.FstType, h.ArcType)
	}
	p := PropertiesOf[W](f, AllProperties)
	if lacks := k.needs() &^ p; lacks != 0 {
		fits := "const"
		for i, name := range compactNames {
			if compactKind(i).needs()&^p == 0 {
				size, _, _ := strings.Cut(h.FstType, "_")
				fits = size + "_" + name
				break
			}
		}
		return fmt.Errorf("fst: a file of type %s holds %s, and %s: %w (type %s would do)", h.FstType,
			[...]string{"an acceptor of one string without weights", "an acceptor of one string", "an acceptor without weights", "an acceptor", "a machine without weights"}[k],
			misfit[W](f, k.needs()), ErrCompact, fits)
	}
	if align {
		h.Version = 1
	}
	h.NumArcs = int64(NumArcs(f))
	h.Properties = Expandable | known[W](f, p)
	l := k.layout(b.layout)
	elements := uint64(h.NumArcs)
	zero := semiring.Zero[W]()
	n := StateID(f.NumStates())
	for q := range n {
		// OpenFst's readers take the label -1 for the end of a path.
		if arcs := f.Arcs(q); len(arcs) > 0 && arcs[0].ILabel == NoLabel && f.Final(q).Equal(zero) {
			return fmt.Errorf("fst: a file of type %s cannot hold state %d, whose first arc has label -1: %w", h.FstType, q, ErrCompact)
		}
		if !f.Final(q).Equal(zero) {
			elements++
		}
	}
	if !l.isString() && u < 8 && elements >= 1<<(8*u) {
		return fmt.Errorf("fst: %d arcs and final weights are more than a file of type %s can count", elements, h.FstType)
	}
	if err := b.write(h.appendBinary(nil)); err != nil {
		return err
	}
	if !l.isString() {
		if err := b.pad(align); err != nil {
			return err
		}
		at := uint64(0)
		tmp := make([]byte, u)
		for q := StateID(0); ; q++ {
			putUnsigned(tmp, u, at)
			if err := b.write(tmp); err != nil {
				return err
			}
			if q == n {
				break
			}
			at += uint64(len(f.Arcs(q)))
			if !f.Final(q).Equal(zero) {
				at++
			}
		}
	}
	if err := b.pad(align); err != nil {
		return err
	}
	tmp := make([]byte, l.size)
	put := func(e *Arc[W]) error {
		clear(tmp)
		le := binary.LittleEndian
		le.PutUint32(tmp, uint32(e.ILabel))
		if l.olabel >= 0 {
			le.PutUint32(tmp[l.olabel:], uint32(e.OLabel))
		}
		if l.weight >= 0 {
			e.Weight.AppendBinary(tmp[l.weight:l.weight])
		}
		if l.next >= 0 {
			le.PutUint32(tmp[l.next:], uint32(e.NextState))
		}
		return b.write(tmp)
	}
	for q := range n {
		if w := f.Final(q); !w.Equal(zero) {
			if err := put(&Arc[W]{NoLabel, NoLabel, w, NoState}); err != nil {
				return err
			}
		}
		arcs := f.Arcs(q)
		for i := range arcs {
			if err := put(&arcs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// misfit names the first state or arc by which f is no Acceptor, Unweighted or String, whichever
// are needed.
func misfit[W semiring.Codec[W]](f Expanded[W], needs Properties) string {
	zero, one := semiring.Zero[W](), semiring.One[W]()
	named := func(l Label, t *SymbolTable) string {
		if t != nil {
			if s, ok := t.Symbol(l); ok {
				return fmt.Sprintf("%d (%q)", l, s)
			}
		}
		return fmt.Sprint(l)
	}
	for q := range StateID(f.NumStates()) {
		arcs := f.Arcs(q)
		for i := range arcs {
			e := &arcs[i]
			in, out := named(e.ILabel, InputSymbols(f)), named(e.OLabel, OutputSymbols(f))
			switch {
			case needs&Acceptor != 0 && e.ILabel != e.OLabel:
				return fmt.Sprintf("arc %d of state %d has input label %s and output label %s", i, q, in, out)
			case needs&Unweighted != 0 && !e.Weight.Equal(one):
				if e.ILabel == e.OLabel {
					return fmt.Sprintf("arc %d of state %d, with label %s, has weight %v", i, q, in, e.Weight)
				}
				return fmt.Sprintf("arc %d of state %d, with labels %s and %s, has weight %v", i, q, in, out, e.Weight)
			case needs&String != 0 && i > 0:
				return fmt.Sprintf("state %d has %d arcs", q, len(arcs))
			}
		}
		switch w := f.Final(q); {
		case needs&Unweighted != 0 && !w.Equal(zero) && !w.Equal(one):
			return fmt.Sprintf("state %d has final weight %v", q, w)
		case needs&String != 0 && len(arcs) > 0 && !w.Equal(zero):
			return fmt.Sprintf("state %d is final and has an arc", q)
		}
	}
	return "its states, in their order, are not those of one path"
}

// pad writes zeros up to the next multiple of 16 in the file.
func (b *bodyWriter[W]) pad(align bool) error {
	if k := int(b.at & 15); align && k != 0 {
		return b.write(make([]byte, 16-k))
	}
	return nil
}
