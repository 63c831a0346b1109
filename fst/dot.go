package fst

import (
	"bufio"
	"io"
	"math"
	"reflect"
	"strconv"
	"unsafe"

	"github.com/tropica-fst/tropica/semiring"
)

// DOTOptions adjusts WriteDOT; nil is the same as the zero value, and draws as
// OpenFst's fstdraw does without flags.
type DOTOptions struct {
	Acceptor      bool   // one label an arc, if f is an acceptor
	ShowWeightOne bool   // weights that are 1̄ too
	Vertical      bool   // bottom to top instead of left to right
	Portrait      bool   // a page that is higher than wide; else it is turned
	Title         string // stands beside the picture; none if empty

	// Tables translate labels and states; with a nil one numbers are drawn.
	InputSymbols, OutputSymbols, StateSymbols *SymbolTable

	// Sizes. Zeros are 8.5 by 11 inches, separations of 0.4 and 0.25, and 14
	// points, unless Exact is set: then they are zeros.
	Width, Height, RankSep, NodeSep float32
	FontSize                        int
	Exact                           bool

	// Precision is the number of digits of weights and sizes, as Format has
	// them: 'g' (zero too), 'e' or 'f'. Zero is 5 unless Exact is set.
	Precision int
	Format    byte
}

// WriteDOT writes f in Graphviz' language, as OpenFst's fstdraw does to the
// byte: the start state first, in bold, then the others in order; final states
// with a double circle. A machine without a start state is an empty file. A
// label that its table lacks is a MissingSymbolError.
func WriteDOT[W semiring.Codec[W]](w io.Writer, f Fst[W], opts *DOTOptions) error {
	d := newDOTWriter(w, f, opts)
	return d.write(d.head, d.state, "}\n")
}

func newDOTWriter[W semiring.Codec[W]](w io.Writer, f Fst[W], opts *DOTOptions) *dotWriter[W] {
	d := &dotWriter[W]{out: bufio.NewWriterSize(w, 64<<10), f: f, layout: layoutOf[W]()}
	if opts != nil {
		d.DOTOptions = *opts
	}
	if !d.Exact {
		orDefault(&d.Width, 8.5)
		orDefault(&d.Height, 11)
		orDefault(&d.RankSep, 0.4)
		orDefault(&d.NodeSep, 0.25)
		orDefault(&d.FontSize, 14)
		orDefault(&d.Precision, 5)
	}
	if d.Format == 0 {
		d.Format = 'g'
	}
	d.Acceptor = d.Acceptor && PropertiesOf(f, Acceptor).Has(Acceptor)
	return d
}

// write writes the head, the states, the start first, and the tail; nothing of a machine without
// a start.
func (d *dotWriter[W]) write(head func(), state func(StateID), tail string) error {
	f := d.f
	g := expanded(f)
	start := f.Start()
	if start == NoState {
		return Err(f)
	}
	head()
	state(start)
	for q := range StateID(g.NumStates()) {
		if q != start {
			state(q)
		}
		if d.err != nil {
			break
		}
	}
	d.text(tail)
	if err := d.out.Flush(); err != nil {
		return err
	}
	if d.err != nil {
		return d.err
	}
	return Err(f)
}

func orDefault[T int | float32](x *T, def T) {
	if *x == 0 {
		*x = def
	}
}

type dotWriter[W semiring.Codec[W]] struct {
	DOTOptions
	out    *bufio.Writer
	f      Fst[W]
	layout layout
	tmp    []byte
	err    error
}

func (d *dotWriter[W]) text(s string) { d.out.WriteString(s) }

// escaped writes s so that Graphviz reads it as it is.
func (d *dotWriter[W]) escaped(s []byte) {
	for _, c := range s {
		if c == '\\' || c == '"' {
			d.out.WriteByte('\\')
		}
		d.out.WriteByte(c)
	}
}

func (d *dotWriter[W]) int(x int) {
	d.tmp = strconv.AppendInt(d.tmp[:0], int64(x), 10)
	d.out.Write(d.tmp)
}

func (d *dotWriter[W]) number(x float64) {
	if math.IsInf(x, 0) { // as C prints it
		if x < 0 {
			d.text("-")
		}
		d.text("inf")
		return
	}
	d.tmp = strconv.AppendFloat(d.tmp[:0], x, d.Format, d.Precision, 64)
	d.out.Write(d.tmp)
}

func (d *dotWriter[W]) head() {
	d.text("digraph FST {\nrankdir = ")
	if d.Vertical {
		d.text("BT")
	} else {
		d.text("LR")
	}
	d.text(";\nsize = \"")
	d.number(float64(d.Width))
	d.text(",")
	d.number(float64(d.Height))
	d.text("\";\n")
	if d.Title != "" {
		d.text("label = \"" + d.Title + "\";\n")
	}
	d.text("center = 1;\norientation = ")
	if d.Portrait {
		d.text("Portrait")
	} else {
		d.text("Landscape")
	}
	d.text(";\nranksep = \"")
	d.number(float64(d.RankSep))
	d.text("\";\nnodesep = \"")
	d.number(float64(d.NodeSep))
	d.text("\";\n")
}

func (d *dotWriter[W]) state(q StateID) {
	d.int(int(q))
	d.text(" [label = \"")
	d.name(q, d.StateSymbols, Label(q), "state")
	if w := d.f.Final(q); !semiring.IsZero(w) {
		d.weight(w)
		d.text("\", shape = doublecircle,")
	} else {
		d.text("\", shape = circle,")
	}
	if q == d.f.Start() {
		d.text(" style = bold,")
	} else {
		d.text(" style = solid,")
	}
	d.text(" fontsize = ")
	d.int(d.FontSize)
	d.text("]\n")
	for _, e := range d.f.Arcs(q) {
		d.text("\t")
		d.int(int(q))
		d.text(" -> ")
		d.int(int(e.NextState))
		d.text(" [label = \"")
		d.name(q, d.InputSymbols, e.ILabel, "input label")
		if !d.Acceptor {
			d.text(":")
			d.name(q, d.OutputSymbols, e.OLabel, "output label")
		}
		d.weight(e.Weight)
		d.text("\", fontsize = ")
		d.int(d.FontSize)
		d.text("];\n")
	}
}

func (d *dotWriter[W]) name(q StateID, table *SymbolTable, l Label, what string) {
	var missing error
	d.tmp, missing = appendName(d.tmp[:0], q, table, l, what)
	if missing != nil && d.err == nil {
		d.err = missing
	}
	d.escaped(d.tmp)
}

// appendName appends what a label or state is drawn as: its symbol, or its number where
// there is no table.
func appendName(dst []byte, q StateID, table *SymbolTable, l Label, what string) ([]byte, error) {
	if table == nil {
		return strconv.AppendInt(dst, int64(l), 10), nil
	}
	if s, _ := table.Symbol(l); s != "" {
		return append(dst, s...), nil
	}
	return append(dst, '?'), &MissingSymbolError{q, what, l, table.Name()}
}

// weight writes a slash and w, or nothing if w is 1̄ and that is not shown.
func (d *dotWriter[W]) weight(w W) {
	if d.ShowWeightOne || !semiring.IsOne(w) {
		d.text("/")
		d.tmp = appendWeight(d.tmp[:0], w, d.layout, d.Format, d.Precision)
		d.escaped(d.tmp)
	}
}

// appendWeight appends a weight as it is drawn. Weights that are one number follow format
// and precision, others print as they do elsewhere.
func appendWeight[W semiring.Codec[W]](dst []byte, w W, l layout, format byte, precision int) []byte {
	x := math.NaN()
	switch l.float {
	case reflect.Float32:
		x = float64(*(*float32)(unsafe.Pointer(&w)))
	case reflect.Float64:
		x = *(*float64)(unsafe.Pointer(&w))
	}
	if math.IsInf(x, 0) || x != x {
		return w.AppendText(dst)
	}
	return strconv.AppendFloat(dst, x, format, precision, 64)
}
