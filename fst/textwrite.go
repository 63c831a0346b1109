package fst

import (
	"fmt"
	"io"
	"unsafe"

	"github.com/tropica-fst/tropica/semiring"
)

// WriteTextOptions adjusts WriteText; nil is the same as the zero value.
type WriteTextOptions struct {
	// Acceptor prints one label an arc, if f is an acceptor; if it is not, two
	// are printed all the same.
	Acceptor bool

	ShowWeightOne bool // print weights that are 1̄ too

	// Tables translate labels and states; with a nil one numbers are printed,
	// whatever tables f carries.
	InputSymbols, OutputSymbols, StateSymbols *SymbolTable

	// MissingSymbol is printed for what a table lacks; if it is empty, that is
	// an error.
	MissingSymbol string

	Separators string // the first of these bytes stands between fields; empty is DefaultSeparators

	Format semiring.TextFormat // of weights: 17 digits, or the look of composites
}

// MissingSymbolError reports a label or state that a symbol table does not name.
type MissingSymbolError struct {
	State StateID
	What  string // "input label", "output label" or "state"
	Label Label
	Table string // name of the table
}

func (e *MissingSymbolError) Error() string {
	return fmt.Sprintf("fst: state %d: the %s %d is not in %s", e.State, e.What, e.Label, shownTable(e.Table))
}

// WriteText writes f in the text format of ReadText, as OpenFst's fstprint does
// to the byte: the start state first, then the others in order; of each its
// arcs, then a line for its final weight, also (with weight 0̄) if it is neither
// final nor has arcs. A machine without a start state is an empty file. Weights
// of 64 bits lose digits unless opts.Format asks for 17.
//
// Symbols are written as they are, even if they hold separators.
func WriteText[W semiring.Codec[W]](w io.Writer, f Fst[W], opts *WriteTextOptions) error {
	t := &textWriter[W]{out: w, f: expanded(f), kind: numberKind[W](), buf: make([]byte, 0, textBuffer+4096)}
	if opts != nil {
		t.WriteTextOptions = *opts
	}
	_, t.sep = newSeparators(t.Separators)
	t.acceptor = t.Acceptor && PropertiesOf(f, Acceptor).Has(Acceptor)
	if t.Format != (semiring.TextFormat{}) {
		t.format, _ = any(*new(W)).(semiring.FormatCodec[W])
		t.kind = 0
	}
	t.one, t.zero = semiring.One[W](), semiring.Zero[W]()
	start := f.Start()
	if start == NoState {
		return Err(f)
	}
	if err := t.state(start); err != nil {
		return err
	}
	for q := range StateID(t.f.NumStates()) {
		if q == start {
			continue
		}
		if err := t.state(q); err != nil {
			return err
		}
	}
	if err := Err(f); err != nil {
		return err
	}
	return t.flush()
}

const textBuffer = 64 << 10

type textWriter[W semiring.Codec[W]] struct {
	WriteTextOptions
	out       io.Writer
	f         Expanded[W]
	acceptor  bool
	sep       byte
	kind      numbers32or64
	format    semiring.FormatCodec[W] // nil unless a TextFormat is asked for
	one, zero W
	buf       []byte
	prefix    []byte // the present state's name and a separator
	err       error  // a symbol that is missing
	q         StateID
}

func (t *textWriter[W]) flush() error {
	_, err := t.out.Write(t.buf)
	t.buf = t.buf[:0]
	return err
}

func (t *textWriter[W]) state(q StateID) error {
	arcs := t.f.Arcs(q)
	t.q = q
	t.prefix = append(t.name(t.prefix[:0], t.StateSymbols, Label(q), "state"), t.sep)
	for i := range arcs {
		e := &arcs[i]
		b := append(t.buf, t.prefix...)
		b = append(t.name(b, t.StateSymbols, Label(e.NextState), "state"), t.sep)
		b = t.name(b, t.InputSymbols, e.ILabel, "input label")
		if !t.acceptor {
			b = t.name(append(b, t.sep), t.OutputSymbols, e.OLabel, "output label")
		}
		t.buf = append(t.weight(b, &e.Weight), '\n')
		if len(t.buf) >= textBuffer || t.err != nil {
			if err := t.endLines(); err != nil {
				return err
			}
		}
	}
	final := t.f.Final(q)
	if isFinal := !final.Equal(t.zero); isFinal || len(arcs) == 0 {
		b := append(t.buf, t.prefix[:len(t.prefix)-1]...)
		t.buf = append(t.weight(b, &final), '\n')
	}
	if len(t.buf) >= textBuffer || t.err != nil {
		return t.endLines()
	}
	return nil
}

// endLines writes what there is, and reports what was missing in it.
func (t *textWriter[W]) endLines() error {
	if err := t.flush(); err != nil {
		return err
	}
	return t.err
}

func (t *textWriter[W]) name(b []byte, table *SymbolTable, l Label, what string) []byte {
	if table == nil {
		return appendInt(b, int32(l))
	}
	s, _ := table.Symbol(l)
	if s == "" {
		if s = t.MissingSymbol; s == "" {
			if t.err == nil {
				t.err = &MissingSymbolError{t.q, what, l, table.Name()}
			}
			s = "?"
		}
	}
	return append(b, s...)
}

// weight appends a separator and w, or nothing if w is 1̄ and that is not shown.
func (t *textWriter[W]) weight(b []byte, w *W) []byte {
	var x float64
	switch t.kind {
	case number32:
		x = float64(*(*float32)(unsafe.Pointer(w)))
	case number64:
		x = *(*float64)(unsafe.Pointer(w))
	default:
		if !t.ShowWeightOne && (*w).Equal(t.one) {
			return b
		}
		b = append(b, t.sep)
		if t.format != nil {
			return any(*w).(semiring.FormatCodec[W]).AppendTextFormat(b, t.Format)
		}
		return (*w).AppendText(b)
	}
	if x == 0 && !t.ShowWeightOne { // the 1̄ of all these weights, -0 included
		return b
	}
	b = append(b, t.sep)
	if b, ok := appendNine(b, x); ok {
		return b
	}
	return (*w).AppendText(b)
}
