package ops

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// Side names the input or the output of a transducer.
type Side uint8

const (
	Input Side = iota
	Output
)

// String returns "input" or "output".
func (s Side) String() string {
	if s == Output {
		return "output"
	}
	return "input"
}

// Project makes f, in place, the acceptor of its input strings or of its output strings. The label
// on the given side is copied to the other, and so is the symbol table. The weight of a string is
// the sum over all that it was related to. O(|Q| + |E|) time, no space.
func Project[W semiring.Weight[W]](f *fst.Vector[W], side Side) {
	p := f.KnownProperties()
	for q := range f.NumStates() {
		arcs := f.MutableArcs(fst.StateID(q))
		if side == Input {
			for i := range arcs {
				arcs[i].OLabel = arcs[i].ILabel
			}
		} else {
			for i := range arcs {
				arcs[i].ILabel = arcs[i].OLabel
			}
		}
	}
	if side == Input {
		f.SetOutputSymbols(f.InputSymbols())
	} else {
		f.SetInputSymbols(f.OutputSymbols())
	}
	f.SetProperties(projectProperties(p, side), fst.AllProperties)
}

// Projected returns the projection of f as a new machine; f stays as it is.
func Projected[W semiring.Weight[W]](f fst.Expanded[W], side Side) *fst.Vector[W] {
	v := copyOf(f)
	Project(v, side)
	return v
}

// projectProperties keeps what does not depend on labels, and lets the given
// side speak for both. An arc ε:ε is now one with ε on that side.
func projectProperties(p fst.Properties, side Side) fst.Properties {
	const labels = inputSide | outputSide | fst.Acceptor | fst.NotAcceptor | fst.Epsilons | fst.NoEpsilons
	in := p & inputSide
	if side == Output {
		in = p & outputSide >> 2
	}
	out := p&^labels | in | in<<2 | fst.Acceptor
	if in&fst.IEpsilons != 0 {
		out |= fst.Epsilons
	}
	if in&fst.NoIEpsilons != 0 {
		out |= fst.NoEpsilons
	}
	return out
}
