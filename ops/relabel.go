package ops

import (
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

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
