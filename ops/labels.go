package ops

import (
	"errors"
	"fmt"

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

// ErrNoTarget reports a label of a machine that has no label to become.
var ErrNoTarget = errors.New("the label has no counterpart in the target symbols")

// Relabel changes labels of f in place. Input labels change by the pairs of in, from From to To,
// and output labels by the pairs of out. Labels that are in no pair stay. Of two pairs for one
// label the first counts. A pair to NoLabel says that the label must not occur. An arc with it is a
// StateError around ErrNoTarget, and f is then as it was. Symbol tables are not touched (see
// SymbolTable.PairsTo for pairs that lead from one to another). O(|Q| + |E|) time.
func Relabel[W semiring.Weight[W]](f *fst.Vector[W], in, out []fst.LabelPair) error {
	table := func(pairs []fst.LabelPair) map[fst.Label]fst.Label {
		m := make(map[fst.Label]fst.Label, len(pairs))
		for _, p := range pairs {
			if _, ok := m[p.From]; !ok {
				m[p.From] = p.To
			}
		}
		return m
	}
	input, output := table(in), table(out)
	for q := range fst.StateID(f.NumStates()) {
		for _, e := range f.Arcs(q) {
			if to, ok := input[e.ILabel]; ok && to == fst.NoLabel {
				return &StateError{Op: "Relabel", State: q, Err: labelError("input", e.ILabel)}
			}
			if to, ok := output[e.OLabel]; ok && to == fst.NoLabel {
				return &StateError{Op: "Relabel", State: q, Err: labelError("output", e.OLabel)}
			}
		}
	}
	const kept = fst.Weighted | fst.Unweighted | fst.Cyclic | fst.Acyclic | fst.InitialCyclic | fst.InitialAcyclic |
		fst.TopSorted | fst.NotTopSorted | fst.Accessible | fst.NotAccessible | fst.CoAccessible | fst.NotCoAccessible |
		fst.String | fst.NotString | fst.WeightedCycles | fst.UnweightedCycles
	known := f.KnownProperties() & kept
	for q := range fst.StateID(f.NumStates()) {
		arcs := f.MutableArcs(q)
		for i := range arcs {
			e := &arcs[i]
			if to, ok := input[e.ILabel]; ok {
				e.ILabel = to
			}
			if to, ok := output[e.OLabel]; ok {
				e.OLabel = to
			}
		}
	}
	f.SetProperties(known, fst.AllProperties)
	return nil
}

func labelError(side string, l fst.Label) error {
	return fmt.Errorf("%s label %d: %w", side, l, ErrNoTarget)
}
