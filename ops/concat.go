package ops

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// Concat turns a, in place, into the concatenation ab. It relates xx' to yy' with the sum of a(x,
// y) ⊗ b(x', y') over all ways to cut the strings. The states of b follow those of a. Each final
// state of a gets an ε-arc to b's start, with its final weight, and is final no more.
//
// Symbol tables must agree where both machines have them, else the error wraps
// ErrSymbols. b may be a itself. Over a limit a is as it was. O(|Q_a| + |Q_b| + |E_b|) time.
func Concat[W semiring.Weight[W]](a *fst.Vector[W], b fst.Expanded[W], lim Limits) error {
	if err := CompatibleSymbols("Concat", a, b); err != nil {
		return err
	}
	p1, p2 := a.KnownProperties(), knownProperties(b)
	start2 := b.Start()
	if a.Start() == fst.NoState {
		return CheckLimits("Concat", a, lim)
	}
	n1 := a.NumStates()
	zero := semiring.Zero[W]()
	var more run.Progress // than the states and arcs of both
	if start2 != fst.NoState && (lim.Arcs > 0 || lim.Bytes > 0) {
		for q := range n1 {
			if !a.Final(fst.StateID(q)).Equal(zero) {
				more.Arcs++
			}
		}
	}
	if err := appendMachine("Concat", a, b, more, lim); err != nil {
		return err
	}
	finals := 0
	for q := range n1 {
		w := a.Final(fst.StateID(q))
		if w.Equal(zero) {
			continue
		}
		finals++
		a.SetFinal(fst.StateID(q), zero)
		if start2 != fst.NoState {
			a.AddArc(fst.StateID(q), fst.Arc[W]{Weight: w, NextState: start2 + fst.StateID(n1)})
		}
	}
	if start2 == fst.NoState {
		if b.NumStates() > 0 {
			a.SetProperties(0, fst.AllProperties)
		} // else SetFinal has kept the books
		return nil
	}
	a.SetProperties(concatProperties(p1, p2, finals > 0), fst.AllProperties)
	return nil
}

// concatProperties returns what is known of a concatenation of machines that
// have start states; joined if the first has a final state, so that arcs lead
// over.
func concatProperties(p1, p2 fst.Properties, joined bool) fst.Properties {
	const (
		ofBoth = fst.Acceptor | fst.Unweighted | fst.Acyclic
		ofOne  = fst.NotAcceptor | fst.NonIDeterministic | fst.NonODeterministic | fst.Epsilons | fst.IEpsilons | fst.OEpsilons |
			fst.NotILabelSorted | fst.NotOLabelSorted | fst.Weighted | fst.Cyclic | fst.NotTopSorted | fst.WeightedCycles |
			fst.NotAccessible | fst.NotCoAccessible
	)
	out := p1&p2&ofBoth | (p1|p2)&ofOne | p1&(fst.InitialAcyclic|fst.InitialCyclic)
	if joined {
		out |= fst.Epsilons | fst.IEpsilons | fst.OEpsilons | p1&p2&fst.Accessible
	}
	return out
}
