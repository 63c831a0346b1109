package fst

import (
	"io"
	"strings"

	"github.com/tropica-fst/tropica/semiring"
)

// WriteD2 writes f in the language D2, as the newest fstdraw can: states as circles, final
// ones with a double border and their weight, the start in bold. What is written of a state
// and an arc is what WriteDOT writes. Width, Height, RankSep, NodeSep and Portrait mean
// nothing, for D2 has no words for them. A machine without a start state is an empty file; a
// label that its table lacks is a MissingSymbolError.
//
// Labels stand in single quotes, between which nothing but the quote has a meaning in D2.
//
// Cost: O(states + arcs).
func WriteD2[W semiring.Codec[W]](w io.Writer, f Fst[W], opts *DOTOptions) error {
	d := &d2Writer[W]{newDOTWriter(w, f, opts)}
	return d.write(d.head, d.state, "")
}

type d2Writer[W semiring.Codec[W]] struct{ *dotWriter[W] }

func (d *d2Writer[W]) head() {
	if d.Vertical {
		d.text("direction: up\n")
	} else {
		d.text("direction: right\n")
	}
	if d.Title != "" {
		d.text("title: " + d2Quote(d.Title) + " {shape: text; near: top-center}\n")
	}
}

// d2Quote quotes s: a quote is written twice, a line break as a space, since it would end the label.
func d2Quote(s string) string {
	return "'" + strings.NewReplacer("'", "''", "\n", " ", "\r", " ").Replace(s) + "'"
}

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

// fontSize writes the size of letters, which D2 takes from 8 to 100.
func (d *d2Writer[W]) fontSize() {
	d.text("style.font-size: ")
	d.int(min(max(d.FontSize, 8), 100))
}

func (d *d2Writer[W]) state(q StateID) {
	label := d.name(nil, q, d.StateSymbols, Label(q), "state")
	final := d.f.Final(q)
	if !semiring.IsZero(final) {
		label = d.weight(label, final)
	}
	d.int(int(q))
	d.text(": " + d2Quote(string(label)) + " {shape: circle; ")
	if !semiring.IsZero(final) {
		d.text("style.double-border: true; ")
	}
	if q == d.f.Start() {
		d.text("style.bold: true; ")
	}
	d.fontSize()
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
		d.text(": " + d2Quote(string(label)) + " {")
		d.fontSize()
		d.text("}\n")
	}
}
