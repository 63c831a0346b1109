package ops

import (
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/engine"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// Between transducers over W and acceptors over pairs of an output string and a
// weight of W, on which labels can be pushed and minimized as weights are.

// toGallic returns f as an acceptor over its input, each output label and weight
// made one by pair; label ε is the empty string. The error is that of the stopwatch.
func toGallic[W semiring.Weight[W], G semiring.Weight[G]](f fst.Expanded[W], pair func(l fst.Label, w W) G, w *run.Stopwatch) (*fst.Vector[G], error) {
	n, size := f.NumStates(), fst.NumArcs(f)
	if err := w.Hold(run.SizeOf[G](n, int64(size)).Bytes); err != nil { // before so much is made
		return nil, err
	}
	g := fst.NewVector[G](n)
	for q := range n {
		if degree := len(f.Arcs(fst.StateID(q))); degree >= wideState {
			size -= degree
		}
	}
	g.ReserveArcs(size)
	var arcs []fst.Arc[G]
	zero := semiring.Zero[G]()
	for q := range n {
		arcs = slices.Grow(arcs[:0], len(f.Arcs(fst.StateID(q))))
		if err := w.Spend(8 + 8*len(f.Arcs(fst.StateID(q)))); err != nil {
			return nil, err
		}
		for _, e := range f.Arcs(fst.StateID(q)) {
			arcs = append(arcs, fst.Arc[G]{ILabel: e.ILabel, OLabel: e.ILabel, Weight: pair(e.OLabel, e.Weight), NextState: e.NextState})
		}
		final := zero
		if w := f.Final(fst.StateID(q)); !semiring.IsZero(w) {
			final = pair(fst.Epsilon, w)
		}
		arcs = pushOrGive(g, final, arcs)
	}
	g.SetStart(f.Start())
	g.SetInputSymbols(fst.InputSymbols(f))
	const shape = fst.IDeterministic | fst.NonIDeterministic | fst.IEpsilons | fst.NoIEpsilons | fst.ILabelSorted | fst.NotILabelSorted |
		fst.Cyclic | fst.Acyclic | fst.InitialCyclic | fst.InitialAcyclic | fst.TopSorted | fst.NotTopSorted |
		fst.Accessible | fst.NotAccessible | fst.CoAccessible | fst.NotCoAccessible
	g.LearnProperties(fst.Acceptor | knownProperties(f)&shape)
	return g, nil
}

// leftPair returns what makes a pair of a label and a weight, for one goroutine.
func leftPair[W semiring.Component[W]]() func(l fst.Label, w W) semiring.GallicLeft[W] {
	var of semiring.LabelStrings
	return func(l fst.Label, w W) semiring.GallicLeft[W] {
		if l == fst.Epsilon {
			return semiring.GallicLeft[W]{Weight: w}
		}
		return semiring.GallicLeft[W]{String: of.Left(int32(l)), Weight: w}
	}
}

func rightPair[W semiring.Component[W]]() func(l fst.Label, w W) semiring.GallicRight[W] {
	var of semiring.LabelStrings
	return func(l fst.Label, w W) semiring.GallicRight[W] {
		if l == fst.Epsilon {
			return semiring.GallicRight[W]{Weight: w}
		}
		return semiring.GallicRight[W]{String: of.Right(int32(l)), Weight: w}
	}
}

// splitter turns the states of an acceptor over pairs, in order, into those of a transducer.
// split gives the only output label of a pair, ε for none, and its weight. A final weight
// with an output becomes an arc, ε on the input side, to a new last state.
type splitter[G semiring.Weight[G], W semiring.Weight[W]] struct {
	split  func(G) (l fst.Label, w W, ok bool)
	out    *fst.Vector[W]
	arcs   []fst.Arc[W]
	ending []fst.StateID // their last arcs go to the new last state
}

// push adds the next state.
func (s *splitter[G, W]) push(final G, arcs []fst.Arc[G]) error {
	s.arcs = slices.Grow(s.arcs[:0], len(arcs)+1)
	for i := range arcs {
		e := &arcs[i]
		l, w, ok := s.split(e.Weight)
		if !ok {
			return s.bad(e.Weight)
		}
		s.arcs = append(s.arcs, fst.Arc[W]{ILabel: e.ILabel, OLabel: l, Weight: w, NextState: e.NextState})
	}
	last := semiring.Zero[W]()
	if !semiring.IsZero(final) {
		l, w, ok := s.split(final)
		if !ok {
			return s.bad(final)
		}
		if l == fst.Epsilon {
			last = w
		} else {
			s.ending = append(s.ending, fst.StateID(s.out.NumStates()))
			s.arcs = append(s.arcs, fst.Arc[W]{OLabel: l, Weight: w, NextState: fst.NoState})
		}
	}
	s.arcs = pushOrGive(s.out, last, s.arcs)
	return nil
}

// pushOrGive adds a state with the arcs in the buffer, and returns the buffer for the next, or none
// where it has become the state's.
func pushOrGive[W semiring.Weight[W]](f *fst.Vector[W], final W, arcs []fst.Arc[W]) []fst.Arc[W] {
	if len(arcs) < wideState || cap(arcs) > len(arcs)+len(arcs)/8 {
		f.PushState(final, arcs)
		return arcs
	}
	f.Engine(engine.Key{}).GiveState(final, arcs)
	return nil
}

func (s *splitter[G, W]) bad(w G) error {
	return &StateError{Op: "fromGallic", State: fst.StateID(s.out.NumStates()), Err: fmt.Errorf("weight %s does not stand for one label", weightText(w))}
}

// machine returns the transducer, with its start state.
func (s *splitter[G, W]) machine(start fst.StateID) *fst.Vector[W] {
	if len(s.ending) > 0 {
		last := s.out.PushState(semiring.One[W](), nil)
		for _, q := range s.ending {
			arcs := s.out.MutableArcs(q)
			arcs[len(arcs)-1].NextState = last
		}
	}
	s.out.SetStart(start)
	return s.out
}

// fromGallic turns an acceptor over pairs, of one label each, back into a transducer.
func fromGallic[G semiring.Weight[G], W semiring.Weight[W]](g fst.Expanded[G], split func(G) (fst.Label, W, bool)) (*fst.Vector[W], error) {
	n := g.NumStates()
	s := splitter[G, W]{split: split, out: fst.NewVector[W](n)}
	s.out.ReserveArcs(fst.NumArcs(g))
	for q := range fst.StateID(n) {
		if err := s.push(g.Final(q), g.Arcs(q)); err != nil {
			return nil, err
		}
	}
	out := s.machine(g.Start())
	out.SetInputSymbols(fst.InputSymbols(g))
	return out, nil
}

// spellOut is fromGallic of FactorWeight: a transducer in which each output string is spelled
// out label by label. The factored machine is not kept; held is what the operation op, whose
// limits are lim, has in use besides. Symbols are the caller's.
func spellOut[G semiring.Weight[G], W semiring.Weight[W]](op string, g fst.Expanded[G], factor func(G) []Factors[G],
	split func(G) (fst.Label, W, bool), lim Limits, held int64) (*fst.Vector[W], error) {
	x, err := newFactorer[G](g, factor, &FactorWeightOptions{Limits: lim.beside(held)})
	if err != nil {
		return nil, renamed(err, op)
	}
	start, err := x.Start()
	if err != nil {
		return nil, renamed(err, op)
	}
	s := splitter[G, W]{split: split, out: fst.NewVector[W](0)}
	var arcs []fst.Arc[G]
	for q := 0; q < len(x.states); q++ {
		var final G
		if final, arcs, err = x.Expand(fst.StateID(q), arcs[:0]); err != nil {
			return nil, wholeOf(err, op, lim, held)
		}
		if err := s.push(final, arcs); err != nil {
			return nil, renamed(err, op)
		}
	}
	out := s.machine(start)
	if err := CheckLimits(op, out, Limits{States: lim.States, Arcs: lim.Arcs}); err != nil { // with the ends of strings
		return nil, err
	}
	out.LearnProperties(fst.Accessible)
	return out, nil
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
