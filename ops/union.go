package ops

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// Union makes a, in place, the union of a and b: (a∪b)(x, y) = a(x, y) ⊕ b(x, y).
//
// The states of b follow those of a. When a is known to be fst.InitialAcyclic, only an ε-arc from
// its start to b's start is added. Otherwise a new state, the last, becomes the start, with an
// ε-arc to each old one. What is known thus decides the shape, as in OpenFst; fst.PropertiesOf
// makes it known.
//
// Symbol tables must agree where both machines have them, else the error wraps
// ErrSymbols. b may be a itself. Over a limit a is as it was. O(|Q_b| + |E_b|) time and space.
func Union[W semiring.Weight[W]](a *fst.Vector[W], b fst.Expanded[W], lim Limits) error {
	if err := CompatibleSymbols("Union", a, b); err != nil {
		return err
	}
	p1, p2 := a.KnownProperties(), knownProperties(b)
	n1 := a.NumStates()
	start1, start2 := a.Start(), b.Start()
	if start2 == fst.NoState {
		return CheckLimits("Union", a, lim)
	}
	var more run.Progress // than the states and arcs of both
	switch {
	case start1 == fst.NoState:
	case p1.Has(fst.InitialAcyclic):
		more.Arcs = 1
	default:
		more.States, more.Arcs = 1, 2
	}
	if err := appendMachine("Union", a, b, more, lim); err != nil {
		return err
	}
	start2 += fst.StateID(n1)
	switch {
	case start1 == fst.NoState:
		a.SetStart(start2)
		if n1 > 0 {
			p2 = 0 // states of a that nothing reaches stand before b's
		}
		a.SetProperties(p2, fst.AllProperties)
	case p1.Has(fst.InitialAcyclic):
		a.AddArc(start1, fst.Arc[W]{Weight: semiring.One[W](), NextState: start2})
		a.SetProperties(unionProperties(p1, p2), fst.AllProperties)
	default:
		s := a.AddState()
		a.SetStart(s)
		a.AddArc(s, fst.Arc[W]{Weight: semiring.One[W](), NextState: start1})
		a.AddArc(s, fst.Arc[W]{Weight: semiring.One[W](), NextState: start2})
		a.SetProperties(unionProperties(p1, p2), fst.AllProperties)
	}
	return nil
}

// appendMachine appends the states of b to a, with their arcs. The properties of a are void
// afterwards. Over a limit, which is for what comes of it when more states and arcs are added, a is
// as it was.
func appendMachine[W semiring.Weight[W]](op string, a *fst.Vector[W], b fst.Expanded[W], more run.Progress, lim Limits) error {
	n1, n2 := a.NumStates(), b.NumStates()
	arcs := a.NumArcs() + fst.NumArcs(b)
	m := lim.meter(op)
	if err := m.CheckNow(run.SizeOf[W](n1+n2+more.States, int64(arcs)+more.Arcs)); err != nil {
		return err
	}
	a.ReserveStates(n1 + n2 + 1)
	shift := fst.StateID(n1)
	for q2 := range n2 {
		q := a.PushState(b.Final(fst.StateID(q2)), b.Arcs(fst.StateID(q2)))
		added := a.MutableArcs(q)
		for i := range added {
			added[i].NextState += shift
		}
	}
	return nil
}

// unionProperties returns what is known of a union in which both machines have
// a start state.
func unionProperties(p1, p2 fst.Properties) fst.Properties {
	const (
		ofBoth = fst.Acceptor | fst.Unweighted | fst.UnweightedCycles | fst.Acyclic | fst.Accessible | fst.CoAccessible
		ofOne  = fst.NotAcceptor | fst.NonIDeterministic | fst.NonODeterministic | fst.NotILabelSorted | fst.NotOLabelSorted |
			fst.Weighted | fst.WeightedCycles | fst.Cyclic | fst.NotTopSorted | fst.NotAccessible
	)
	return p1&p2&ofBoth | (p1|p2)&ofOne |
		fst.InitialAcyclic | fst.Epsilons | fst.IEpsilons | fst.OEpsilons
}
