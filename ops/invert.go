package ops

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// Invert exchanges input and output of f, in place: f⁻¹(x, y) = f(y, x). Symbol
// tables change sides too. O(|Q| + |E|) time, no space.
func Invert[W semiring.Weight[W]](f *fst.Vector[W]) {
	p := f.KnownProperties()
	for q := range f.NumStates() {
		arcs := f.MutableArcs(fst.StateID(q))
		for i := range arcs {
			e := &arcs[i]
			e.ILabel, e.OLabel = e.OLabel, e.ILabel
		}
	}
	in, out := f.InputSymbols(), f.OutputSymbols()
	f.SetInputSymbols(out)
	f.SetOutputSymbols(in)
	f.SetProperties(invertProperties(p), fst.AllProperties)
}

// Inverted returns the inverse of f as a new machine; f stays as it is.
func Inverted[W semiring.Weight[W]](f fst.Expanded[W]) *fst.Vector[W] {
	v := copyOf(f)
	Invert(v)
	return v
}

const (
	inputSide = fst.IDeterministic | fst.NonIDeterministic | fst.IEpsilons | fst.NoIEpsilons |
		fst.ILabelSorted | fst.NotILabelSorted
	outputSide = fst.ODeterministic | fst.NonODeterministic | fst.OEpsilons | fst.NoOEpsilons |
		fst.OLabelSorted | fst.NotOLabelSorted
)

// invertProperties swaps what is known of the input with what is known of the
// output. The bits of the two sides lie two places apart.
func invertProperties(p fst.Properties) fst.Properties {
	return p&^(inputSide|outputSide) | (p&inputSide)<<2 | (p&outputSide)>>2
}

// vectorOf returns f as a Vector to be read: f itself if it is one, and else a copy.
func vectorOf[W semiring.Weight[W]](f fst.Expanded[W]) *fst.Vector[W] {
	if v, ok := f.(*fst.Vector[W]); ok {
		return v
	}
	return copyOf(f)
}

// copyOf returns a copy of f that may be changed, with its symbol tables and
// known properties.
func copyOf[W semiring.Weight[W]](f fst.Expanded[W]) *fst.Vector[W] {
	if v, ok := f.(*fst.Vector[W]); ok {
		return v.Clone()
	}
	v := fst.NewVector[W](f.NumStates())
	for q := range f.NumStates() {
		v.PushState(f.Final(fst.StateID(q)), f.Arcs(fst.StateID(q)))
	}
	v.SetStart(f.Start())
	v.CopySymbols(f)
	v.SetProperties(knownProperties(f), fst.AllProperties)
	return v
}
