package ops

import (
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/engine"
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
func appendMachine[W semiring.Weight[W]](op string, a *fst.Vector[W], b fst.Expanded[W], more run.Progress,
	lim Limits) error {
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

// concatProperties returns what is known of a concatenation of machines that have start states.
// joined means that the first has a final state, so that arcs lead over.
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

// closureProperties returns what is known of the closure of a machine with properties p. started
// and any tell whether the machine had a start state and any final state.
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

// UnionLazy returns the union of machines, to be computed where it is looked at: a new start has
// an ε-arc to the start of each. The machines may be computed on demand themselves. Symbol
// tables must agree, else the error wraps ErrSymbols; the first machine's are the result's.
// cache adjusts the result's cache; nil is the default.
func UnionLazy[W semiring.Weight[W]](cache *fst.LazyOptions, fs ...fst.Fst[W]) (*fst.Lazy[W], error) {
	for i := 1; i < len(fs); i++ {
		if err := CompatibleSymbols("UnionLazy", fs[0], fs[i]); err != nil {
			return nil, fmt.Errorf("machine %d: %w", i+1, err)
		}
	}
	r := newRational(fs)
	r.first = func() []ending[W] {
		var to []ending[W]
		for i := range fs {
			to = append(to, ending[W]{i, semiring.One[W]()})
		}
		return to
	}
	return r.lazy(cache, semiring.Zero[W]()), nil
}

// ConcatLazy returns the concatenation of machines, one or more, to be computed where it is looked
// at. A final state of one has an ε-arc to the start of the next, and is final only in the last.
// For the rest see UnionLazy.
func ConcatLazy[W semiring.Weight[W]](cache *fst.LazyOptions, fs ...fst.Fst[W]) (*fst.Lazy[W], error) {
	if len(fs) == 0 {
		return nil, fmt.Errorf("ops: ConcatLazy: no machines, whose product would be over no known weights")
	}
	for i := 1; i < len(fs); i++ {
		if err := CompatibleSymbols("ConcatLazy", fs[0], fs[i]); err != nil {
			return nil, fmt.Errorf("machine %d: %w", i+1, err)
		}
	}
	r := newRational(fs)
	r.after = func(i int) (next int, final bool) {
		if i+1 < len(fs) {
			return i + 1, false
		}
		return none, true
	}
	return r.lazy(cache, semiring.Zero[W]()), nil
}

// ClosureLazy returns the concatenative closure of f, to be computed where it is looked at: final
// states have an ε-arc back to the start. For Star a new start is final, too. For the rest see
// UnionLazy.
func ClosureLazy[W semiring.Weight[W]](f fst.Fst[W], kind ClosureKind, cache *fst.LazyOptions) *fst.Lazy[W] {
	r := newRational([]fst.Fst[W]{f})
	r.after = func(int) (int, bool) { return 0, true }
	if kind == Plus {
		return r.lazy(cache, semiring.Zero[W]())
	}
	r.first = func() []ending[W] { return []ending[W]{{0, semiring.One[W]()}} }
	return r.lazy(cache, semiring.One[W]())
}

const none = -1

// ending is an ε-arc to the start of a machine.
type ending[W any] struct {
	to     int
	weight W
}

// partState is a state of one of the machines, or of none, which is the new start.
type partState struct {
	part int
	q    fst.StateID
}

// rational is the Expander of unions, concatenations and closures.
type rational[W semiring.Weight[W]] struct {
	fs    []fst.Fst[W]
	table *fst.Table[partState]
	first func() []ending[W]                    // what the new start leads to; nil is no new start
	after func(part int) (next int, final bool) // what final states of a machine lead to
	start W                                     // final weight of the new start
}

func newRational[W semiring.Weight[W]](fs []fst.Fst[W]) *rational[W] {
	return &rational[W]{fs: fs, table: fst.NewTable(func(k partState) uint64 { return fst.Mix(uint64(k.part+1)<<32 ^ uint64(uint32(k.q))) }),
		after: func(int) (int, bool) { return none, true }}
}

func (r *rational[W]) lazy(cache *fst.LazyOptions, start W) *fst.Lazy[W] {
	r.start = start
	if len(r.fs) > 0 {
		cache = withSymbols(cache, r.fs[0], r.fs[0])
	}
	return fst.NewLazy[W](r, cache)
}

func (r *rational[W]) id(part int, q fst.StateID) fst.StateID {
	id, _ := r.table.ID(partState{part, q})
	return id
}

// Start returns the new start, or the first machine's.
func (r *rational[W]) Start() (fst.StateID, error) {
	if r.first != nil {
		return r.id(none, 0), nil
	}
	s := r.fs[0].Start()
	if err := fst.Err(r.fs[0]); err != nil || s == fst.NoState {
		return fst.NoState, err
	}
	return r.id(0, s), nil
}

// Expand returns the final weight of q and appends its arcs to dst, those to the starts of
// machines last.
func (r *rational[W]) Expand(q fst.StateID, dst []fst.Arc[W]) (final W, arcs []fst.Arc[W], err error) {
	k := r.table.Key(q)
	var to []ending[W]
	if k.part == none {
		final, to = r.start, r.first()
	} else {
		f := r.fs[k.part]
		final = f.Final(k.q)
		for _, e := range f.Arcs(k.q) {
			e.NextState = r.id(k.part, e.NextState)
			dst = append(dst, e)
		}
		if err := fst.Err(f); err != nil {
			return final, dst, err
		}
		if next, stays := r.after(k.part); !semiring.IsZero(final) {
			if next != none {
				to = append(to, ending[W]{next, final})
			}
			if !stays {
				final = semiring.Zero[W]()
			}
		}
	}
	for _, e := range to {
		s := r.fs[e.to].Start()
		if err := fst.Err(r.fs[e.to]); err != nil {
			return final, dst, err
		}
		if s != fst.NoState {
			dst = append(dst, fst.Arc[W]{Weight: e.weight, NextState: r.id(e.to, s)})
		}
	}
	return final, dst, nil
}

var _ fst.Retainer = (*rational[semiring.Tropical])(nil)

// Retain forgets all states but live.
func (r *rational[W]) Retain(live []fst.StateID) { r.table = r.table.Only(live) }
