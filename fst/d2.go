package fst

import (
	"io"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/semiring"
)

// WriteD2 writes f in the language D2, in the layout of the newest fstdraw: states as circles,
// final ones with a double border and their weight, the start in bold. What is written of a state
// and an arc is what WriteDOT writes. Width, Height, RankSep, NodeSep and Portrait mean nothing,
// for D2 has no words for them; a FontSize of 0 leaves the size of letters to D2. A machine without
// a start state is an empty file; a label that its table lacks is a MissingSymbolError.
//
// Cost: O(states + arcs).
func WriteD2[W semiring.Codec[W]](w io.Writer, f Fst[W], opts *DOTOptions) error {
	size := 0
	if opts != nil {
		size = opts.FontSize
	}
	d := &d2Writer[W]{newDOTWriter(w, f, opts), size}
	return d.write(d.head, d.state, "")
}

type d2Writer[W semiring.Codec[W]] struct {
	*dotWriter[W]
	size int // of letters; 0 is D2's own
}

func (d *d2Writer[W]) head() {
	if d.Vertical {
		d.text("direction: up\n")
	} else {
		d.text("direction: right\n")
	}
	size := strconv.Itoa(min(max(d.size, 8), 100)) // what D2 takes
	d.text("*: {\n  shape: circle\n")
	if d.size != 0 {
		d.text("  style.font-size: " + size + "\n")
	}
	d.text("}\n")
	if d.size != 0 {
		d.text("(* -> *)[*].style.font-size: " + size + "\n")
	}
	if d.Title != "" { // behind what makes circles of all, since the last word counts
		d.text("title: " + d2Quote(d.Title) + " {shape: text; near: top-center}\n")
	}
}

// d2Quote quotes s. A line break would end the label, and ${ begin a variable.
func d2Quote(s string) string {
	return `"` + d2Escapes.Replace(s) + `"`
}

var d2Escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "${", `\${`, "\n", " ", "\r", " ")

// name appends what a label or state is drawn as to label.
func (d *d2Writer[W]) name(label []byte, q StateID, table *SymbolTable, l Label, what string) []byte {
	label, missing := appendName(label, q, table, l, what)
	if missing != nil && d.err == nil {
		d.err = missing
	}
	return label
}

func (d *d2Writer[W]) weight(label []byte, w W) []byte {
	if d.ShowWeightOne || !semiring.IsOne(w) {
		label = appendWeight(append(label, '/'), w, d.layout, d.Format, d.Precision)
	}
	return label
}

func (d *d2Writer[W]) state(q StateID) {
	label := d.name(nil, q, d.StateSymbols, Label(q), "state")
	final := d.f.Final(q)
	if !semiring.IsZero(final) {
		label = d.weight(label, final)
	}
	d.int(int(q))
	d.text(": {\n  label: " + d2Quote(string(label)) + "\n")
	if !semiring.IsZero(final) {
		d.text("  style.double-border: true\n")
	}
	if q == d.f.Start() {
		d.text("  style.bold: true\n")
	}
	d.text("}\n")
	for _, e := range d.f.Arcs(q) {
		label = d.name(label[:0], q, d.InputSymbols, e.ILabel, "input label")
		if !d.Acceptor {
			label = d.name(append(label, ':'), q, d.OutputSymbols, e.OLabel, "output label")
		}
		label = d.weight(label, e.Weight)
		d.int(int(q))
		d.text(" -> ")
		d.int(int(e.NextState))
		d.text(": " + d2Quote(string(label)) + "\n")
	}
}
