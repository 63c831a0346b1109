package ops

import (
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// Between transducers over W and acceptors over pairs of an output string and a
// weight of W, on which labels can be pushed and minimized as weights are.

// toGallic returns f as an acceptor over its input, each output label and weight
// made one by pair; label ε is the empty string.
func toGallic[W semiring.Weight[W], G semiring.Weight[G]](f fst.Expanded[W], pair func(l fst.Label, w W) G) *fst.Vector[G] {
	n := f.NumStates()
	g := fst.NewVector[G](n)
	var arcs []fst.Arc[G]
	zero := semiring.Zero[G]()
	for q := range n {
		arcs = arcs[:0]
		for _, e := range f.Arcs(fst.StateID(q)) {
			arcs = append(arcs, fst.Arc[G]{ILabel: e.ILabel, OLabel: e.ILabel, Weight: pair(e.OLabel, e.Weight), NextState: e.NextState})
		}
		final := zero
		if w := f.Final(fst.StateID(q)); !semiring.IsZero(w) {
			final = pair(fst.Epsilon, w)
		}
		g.PushState(final, arcs)
	}
	g.SetStart(f.Start())
	g.SetInputSymbols(fst.InputSymbols(f))
	const shape = fst.IDeterministic | fst.NonIDeterministic | fst.IEpsilons | fst.NoIEpsilons | fst.ILabelSorted | fst.NotILabelSorted |
		fst.Cyclic | fst.Acyclic | fst.InitialCyclic | fst.InitialAcyclic | fst.TopSorted | fst.NotTopSorted |
		fst.Accessible | fst.NotAccessible | fst.CoAccessible | fst.NotCoAccessible
	g.LearnProperties(fst.Acceptor | knownProperties(f)&shape)
	return g
}

func leftPair[W semiring.Component[W]](l fst.Label, w W) semiring.GallicLeft[W] {
	if l == fst.Epsilon {
		return semiring.GallicLeft[W]{Weight: w}
	}
	return semiring.GallicLeft[W]{String: semiring.NewStringLeft(int32(l)), Weight: w}
}

func rightPair[W semiring.Component[W]](l fst.Label, w W) semiring.GallicRight[W] {
	if l == fst.Epsilon {
		return semiring.GallicRight[W]{Weight: w}
	}
	return semiring.GallicRight[W]{String: semiring.NewStringRight(int32(l)), Weight: w}
}

// fromGallic turns an acceptor over pairs back into a transducer. split gives
// the only output label of a pair, ε for none, and its weight. A final weight
// with an output becomes an arc, ε on the input side, to a new last state.
func fromGallic[G semiring.Weight[G], W semiring.Weight[W]](g fst.Expanded[G], split func(G) (l fst.Label, w W, ok bool)) (*fst.Vector[W], error) {
	n := g.NumStates()
	f := fst.NewVector[W](n)
	zero := semiring.Zero[W]()
	superfinal := fst.NoState
	var arcs []fst.Arc[W]
	bad := func(q int, w G) error {
		return &StateError{Op: "fromGallic", State: fst.StateID(q), Err: fmt.Errorf("weight %s does not stand for one label", weightText(w))}
	}
	for q := range n {
		arcs = arcs[:0]
		for _, e := range g.Arcs(fst.StateID(q)) {
			l, w, ok := split(e.Weight)
			if !ok {
				return nil, bad(q, e.Weight)
			}
			arcs = append(arcs, fst.Arc[W]{ILabel: e.ILabel, OLabel: l, Weight: w, NextState: e.NextState})
		}
		final := zero
		if gw := g.Final(fst.StateID(q)); !semiring.IsZero(gw) {
			l, w, ok := split(gw)
			if !ok {
				return nil, bad(q, gw)
			}
			if l == fst.Epsilon {
				final = w
			} else {
				superfinal = fst.StateID(n)
				arcs = append(arcs, fst.Arc[W]{OLabel: l, Weight: w, NextState: superfinal})
			}
		}
		f.PushState(final, arcs)
	}
	if superfinal != fst.NoState {
		f.PushState(zero.One(), nil)
	}
	f.SetStart(g.Start())
	f.SetInputSymbols(fst.InputSymbols(g))
	return f, nil
}

func splitLeft[W semiring.Component[W]](g semiring.GallicLeft[W]) (fst.Label, W, bool) {
	switch {
	case !g.Member() || g.String.Equal(g.String.Zero()):
		return 0, g.Weight, g.Member() && semiring.IsZero(g.Weight)
	case g.String.Len() == 0:
		return fst.Epsilon, g.Weight, true
	}
	return fst.Label(g.String.At(0)), g.Weight, g.String.Len() == 1
}

func splitRight[W semiring.Component[W]](g semiring.GallicRight[W]) (fst.Label, W, bool) {
	switch {
	case !g.Member() || g.String.Equal(g.String.Zero()):
		return 0, g.Weight, g.Member() && semiring.IsZero(g.Weight)
	case g.String.Len() == 0:
		return fst.Epsilon, g.Weight, true
	}
	return fst.Label(g.String.At(0)), g.Weight, g.String.Len() == 1
}
