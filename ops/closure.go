package ops

import (
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/engine"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// ClosureKind says whether the closure has the empty repetition.
type ClosureKind uint8

const (
	Star ClosureKind = iota // f* = ε ∪ f ∪ ff ∪ …
	Plus                    // f⁺ = f ∪ ff ∪ …
)

// Closure makes f, in place, its concatenative closure. Each final state gets an ε-arc back to the
// start, with the final weight. For Star a new state, the last, becomes the start. It is final,
// with an ε-arc to the old start. Weights of strings that f accepts empty parts of are infinite
// sums, which exist only where ⊕ converges. Over a limit, which is a LimitError, f is as it was.
// O(|Q|) time.
func Closure[W semiring.Weight[W]](f *fst.Vector[W], kind ClosureKind, lim Limits) error {
	if kind != Star && kind != Plus {
		return fmt.Errorf("ops: Closure: unknown kind %d", kind)
	}
	p := f.KnownProperties()
	start := f.Start()
	one := semiring.One[W]()
	any := false
	size := run.Progress{States: f.NumStates(), Arcs: int64(f.NumArcs())}
	if start != fst.NoState {
		size.Arcs += int64(f.NumFinals())
	}
	if kind == Star {
		size.States++
		if start != fst.NoState {
			size.Arcs++
		}
	}
	m := lim.meter("Closure").AtOnce()
	if err := m.Check(run.SizeOf[W](size.States, size.Arcs)); err != nil {
		return err
	}
	if start != fst.NoState {
		any = f.Engine(engine.Key{}).JoinFinals(start) > 0
	}
	if kind == Star {
		s := f.AddState()
		f.SetStart(s)
		f.SetFinal(s, one)
		if start != fst.NoState {
			f.AddArc(s, fst.Arc[W]{Weight: one, NextState: start})
		}
	}
	f.SetProperties(closureProperties(p, start != fst.NoState, any, kind), fst.AllProperties)
	return nil
}

// closureProperties returns what is known of the closure of a machine with
// properties p, which had a start state or not and any final state or not.
func closureProperties(p fst.Properties, started, any bool, kind ClosureKind) fst.Properties {
	out := p & (fst.Acceptor | fst.NotAcceptor | fst.NonIDeterministic | fst.NonODeterministic |
		fst.Epsilons | fst.IEpsilons | fst.OEpsilons | fst.NotILabelSorted | fst.NotOLabelSorted |
		fst.Unweighted | fst.Weighted | fst.Cyclic | fst.NotTopSorted | fst.WeightedCycles)
	if started {
		out |= p & (fst.Accessible | fst.NotAccessible | fst.NotCoAccessible)
	}
	if any {
		out |= fst.Epsilons | fst.IEpsilons | fst.OEpsilons
	}
	if kind == Star {
		out |= p & fst.CoAccessible // the new start is final
		// Nothing leads to the new start either, but OpenFst does not know of
		// InitialAcyclic here, which decides the shape of a later Union.
		if started {
			out |= fst.Epsilons | fst.IEpsilons | fst.OEpsilons | fst.NotTopSorted
		}
	} else {
		out |= p & fst.CoAccessible
	}
	return out
}
