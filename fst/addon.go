package fst

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/semiring"
)

// AddOn is what files of some types hold beside a const machine: what composition is
// to know of its labels. Such files are look-ahead machines, which tell the labels
// that can be reached from each state, and machines with a label that stands for
// others: phi (on failure), rho (the rest), sigma (any).
//
// Reading keeps an AddOn with its Const, writing under the same type gives it back.
type AddOn struct {
	Type          string // of the file: AddOnTypes lists them
	Input, Output *MatcherData
}

// MatcherData is the part of an AddOn for one side. One of its fields is set.
type MatcherData struct {
	Reach   *LabelReach
	Special *SpecialLabel
}

// LabelReach tells which labels can be reached from each state by arcs that have ε
// there, as sets of intervals: the labels are numbered so that these are few, as
// C. Allauzen, M. Riley and J. Schalkwyk, "A generalized composition algorithm for
// weighted finite-state transducers", Interspeech 2009, have it.
type LabelReach struct {
	Input bool  // of input labels, else of output labels
	Final Label // stands for reaching a final state; NoLabel where there is none
	Index []LabelPair
	Sets  [][]Interval // of each state, in order, neither overlapping nor touching
}

// Interval is the labels from Begin to End-1.
type Interval struct{ Begin, End Label }

// SpecialLabel is a label that a matcher takes in a way of its own.
type SpecialLabel struct {
	Label   Label
	Loop    bool // of phi: a loop under the label consumes a symbol
	Rewrite Rewrite
}

// Rewrite says whether a matcher puts the symbol that was matched on the other side of
// an arc, too, when that has the special label.
type Rewrite int32

const (
	RewriteAuto   Rewrite = iota // if the machine is an acceptor
	RewriteAlways                // always
	RewriteNever                 // never
)

// AddOnTypes returns the types of files that hold an AddOn.
func AddOnTypes() []string {
	types := []string{"arc_lookahead", "ilabel_lookahead", "olabel_lookahead"}
	for _, special := range []string{"phi", "rho", "sigma"} {
		types = append(types, special, "input_"+special, "output_"+special)
	}
	return types
}

// specialOf returns phi, rho or sigma where a type has that label, else "".
func specialOf(fstType string) string {
	name := fstType[strings.IndexByte(fstType, '_')+1:]
	if name == "phi" || name == "rho" || name == "sigma" {
		return name
	}
	return ""
}

const addOnMagic = 446681434

// AddOn returns what the machine's file held beside it, or nil.
func (c *Const[W]) AddOn() *AddOn { return c.addOn }

// SetAddOn gives the machine something to be written beside it.
func (c *Const[W]) SetAddOn(a *AddOn) { c.addOn = a }

// addOn reads the body of a file with an add-on: a mark, a whole const file, and the
// data of either side.
func (b *bodyReader[W]) addOn() (*Const[W], error) {
	if b.h.Version != 1 {
		return nil, b.fail("version %d of the %s format; 1 is what can be read", b.h.Version, b.h.FstType)
	}
	magic, err := b.int32()
	if err != nil {
		return nil, err
	}
	if magic != addOnMagic {
		b.pos -= 4
		return nil, b.fail("%#08x where the mark %#08x of what follows should be", uint32(magic), uint32(addOnMagic))
	}
	f, err := b.inner("const")
	if err != nil {
		return nil, err
	}
	c := f.(*Const[W])
	b.outerSymbols(&c.isyms, &c.osyms)
	a := &AddOn{Type: b.h.FstType}
	c.addOn = a
	if has, err := b.flag(); err != nil || !has {
		return c, err
	}
	for _, side := range []**MatcherData{&a.Input, &a.Output} {
		has, err := b.flag()
		if err != nil {
			return nil, err
		}
		if !has {
			continue
		}
		*side = &MatcherData{}
		switch special := specialOf(a.Type); {
		case special != "":
			(*side).Special, err = b.special(special)
		case a.Type != "arc_lookahead":
			(*side).Reach, err = b.reach(c.NumStates())
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// inner reads a machine that stands whole inside another one's file; want is its
// type, "" for any.
func (b *bodyReader[W]) inner(want string) (Expanded[W], error) {
	if b.depth++; b.depth > 8 {
		return nil, b.fail("machines within machines, more than 8 deep")
	}
	h, err := b.ReadHeader()
	if err != nil {
		return nil, err
	}
	if want != "" && h.FstType != want {
		return nil, b.fail("a machine of type %q inside one of type %q, where %q belongs", h.FstType, b.h.FstType, want)
	}
	if h.NumStates < 0 {
		return nil, b.fail("a machine inside another one must tell the number of its states")
	}
	f, err := ReadBody[W](b.Stream, h)
	b.depth--
	return f, err
}

// outerSymbols takes the symbols of the outer header where there are some; OpenFst
// has them in the inner one.
func (b *bodyReader[W]) outerSymbols(in, out **SymbolTable) {
	if b.h.InputSymbols != nil {
		*in = b.h.InputSymbols
	}
	if b.h.OutputSymbols != nil {
		*out = b.h.OutputSymbols
	}
}

// flag reads a bool.
func (s *Stream) flag() (bool, error) {
	src, err := s.take(1)
	if err != nil {
		return false, err
	}
	if src[0] > 1 {
		s.pos--
		return false, s.fail("%d where 0 or 1 should be", src[0])
	}
	return src[0] == 1, nil
}

func (s *Stream) special(name string) (*SpecialLabel, error) {
	l, err := s.int32()
	if err != nil {
		return nil, err
	}
	d := &SpecialLabel{Label: Label(l)}
	if name == "phi" {
		if d.Loop, err = s.flag(); err != nil {
			return nil, err
		}
	}
	mode, err := s.int32()
	if err != nil {
		return nil, err
	}
	d.Rewrite = Rewrite(mode)
	if d.Rewrite < RewriteAuto || d.Rewrite > RewriteNever {
		s.pos -= 4
		return nil, s.fail("rewrite mode %d", mode)
	}
	return d, nil
}

// reach reads what labels can be reached, of a machine with n states.
func (s *Stream) reach(n int) (*LabelReach, error) {
	d := &LabelReach{}
	var err error
	if d.Input, err = s.flag(); err != nil {
		return nil, err
	}
	keep, err := s.flag()
	if err != nil {
		return nil, err
	}
	if keep {
		pairs, err := s.items(8, func(src []byte) { d.Index = append(d.Index, pairOf(src)) })
		if err != nil {
			return nil, err
		}
		d.Index = slices.Grow(d.Index, 0)[:pairs:pairs]
		if d.Index == nil {
			d.Index = []LabelPair{}
		}
	}
	final, err := s.int32()
	if err != nil {
		return nil, err
	}
	d.Final = Label(final)
	sets, err := s.int64()
	if err != nil {
		return nil, err
	}
	if sets != int64(n) {
		s.pos -= 8
		return nil, s.fail("sets of labels for %d states of %d", sets, n)
	}
	d.Sets = make([][]Interval, 0, s.room(sets, 12))
	for range sets {
		var set []Interval
		count, good := Label(0), true
		if _, err := s.items(8, func(src []byte) {
			p := pairOf(src)
			good = good && p.From < p.To && (len(set) == 0 || set[len(set)-1].End < p.From)
			set = append(set, Interval{p.From, p.To})
			count += p.To - p.From
		}); err != nil {
			return nil, err
		}
		total, err := s.int32()
		if err != nil {
			return nil, err
		}
		// OpenFst counts an empty set that was never looked at as -1.
		if !good || Label(total) != count && !(total == -1 && len(set) == 0) {
			s.pos -= 4
			return nil, s.fail("state %d: intervals that are out of order, or %d labels where %d are counted", len(d.Sets), count, total)
		}
		d.Sets = append(d.Sets, set)
	}
	return d, nil
}

func pairOf(src []byte) LabelPair {
	return LabelPair{Label(binary.LittleEndian.Uint32(src)), Label(binary.LittleEndian.Uint32(src[4:]))}
}

// items reads a count and so many items of the given size.
func (s *Stream) items(size int, do func(src []byte)) (int, error) {
	n, err := s.int64()
	if err != nil {
		return 0, err
	}
	if n < 0 || s.size >= 0 && n > (s.size-s.offset())/int64(size) {
		s.pos -= 8
		return 0, s.fail("a list of %d items", n)
	}
	for range n {
		src, err := s.take(size)
		if err != nil {
			return 0, err
		}
		do(src)
	}
	return int(n), nil
}

// addOnOf returns what to write beside f in a file of the given type.
func addOnOf[W semiring.Weight[W]](f Expanded[W], o *WriteOptions) (*AddOn, error) {
	if c, ok := f.(*Const[W]); ok && c.addOn != nil && c.addOn.Type == o.Type {
		return c.addOn, nil
	}
	if special := specialOf(o.Type); special != "" {
		d := SpecialLabel{Loop: special == "phi"}
		if o.Special != nil {
			d = *o.Special
		}
		if d.Label == Epsilon && special != "phi" {
			return nil, fmt.Errorf("fst: a file of type %s needs the label of %s, and that cannot be ε", o.Type, special)
		}
		side := &MatcherData{Special: &d}
		return &AddOn{o.Type, side, side}, nil
	}
	if o.Type == "arc_lookahead" {
		return &AddOn{Type: o.Type}, nil
	}
	return nil, fmt.Errorf("fst: a file of type %s tells what labels can be reached; ops.LabelLookAhead makes a machine that does", o.Type)
}

// appendBinary appends the data of one side.
func (d *MatcherData) appendBinary(dst []byte, special string) []byte {
	le := binary.LittleEndian
	flag := func(x bool) {
		if x {
			dst = append(dst, 1)
		} else {
			dst = append(dst, 0)
		}
	}
	flag(d != nil)
	if d == nil {
		return dst
	}
	if s := d.Special; s != nil {
		dst = le.AppendUint32(dst, uint32(s.Label))
		if special == "phi" {
			flag(s.Loop)
		}
		dst = le.AppendUint32(dst, uint32(s.Rewrite))
	}
	if r := d.Reach; r != nil {
		flag(r.Input)
		flag(r.Index != nil)
		if r.Index != nil {
			dst = le.AppendUint64(dst, uint64(len(r.Index)))
			for _, p := range r.Index {
				dst = le.AppendUint32(le.AppendUint32(dst, uint32(p.From)), uint32(p.To))
			}
		}
		dst = le.AppendUint32(dst, uint32(r.Final))
		dst = le.AppendUint64(dst, uint64(len(r.Sets)))
		for _, set := range r.Sets {
			dst = le.AppendUint64(dst, uint64(len(set)))
			count := Label(0)
			for _, i := range set {
				dst = le.AppendUint32(le.AppendUint32(dst, uint32(i.Begin)), uint32(i.End))
				count += i.End - i.Begin
			}
			dst = le.AppendUint32(dst, uint32(count))
		}
	}
	return dst
}

// withAddOn writes f with what stands beside it.
func (b *bodyWriter[W]) withAddOn(f Expanded[W], h *Header, o *WriteOptions) error {
	a, err := addOnOf(f, o)
	if err != nil {
		return err
	}
	inner := *h
	inner.FstType = "const"
	h.Version, h.Flags, h.Start, h.NumStates = 1, h.Flags&IsAligned, -1, 0
	h.Properties = Expandable | known[W](f, PropertiesOf[W](f, AllProperties))
	head := binary.LittleEndian.AppendUint32(h.appendBinary(nil), addOnMagic)
	if err := b.write(head); err != nil {
		return err
	}
	if err := b.constant(f, &inner, 4, o.Align); err != nil {
		return err
	}
	special := specialOf(a.Type)
	return b.write(a.Output.appendBinary(a.Input.appendBinary([]byte{1}, special), special))
}
