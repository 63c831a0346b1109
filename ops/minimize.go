package ops

import (
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/partition"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// ErrNotDeterministic reports a machine with two arcs of one input label at a
// state, where there must be none.
var ErrNotDeterministic = errors.New("the machine is not deterministic")

// ErrAcceptor reports an acceptor where there must be a transducer.
var ErrAcceptor = errors.New("the machine is an acceptor")

// MinimizeOptions adjusts Minimize; nil is the same as the zero value.
type MinimizeOptions struct {
	// Delta is how close counts as settled when weights are pushed, and what pushed weights are
	// rounded to before they are compared. Zero is ShortestDelta, or FactorDelta where weights are
	// multiplied as numbers (semiring.Proportional). Weights that are equal in truth differ by
	// rounding once they are pushed. Negative compares them exactly.
	Delta float64

	Truncation // of the sums that weights are pushed by

	// AllowNondet lets machines pass that are not deterministic, over idempotent
	// semirings. States are then merged that agree in their arcs up to such
	// merging (bisimilar ones), which need not be all equivalent ones.
	AllowNondet bool

	// ArcOrder keeps apart, in machines with cycles, states whose arcs have the same labels in
	// another order, as OpenFst does. With unsorted arcs its machines are not minimal. It makes no
	// difference where arcs are sorted.
	ArcOrder bool

	Limits
}

// minimizeDelta is o.Delta or what zero stands for.
func minimizeDelta[W semiring.Weight[W]](o *MinimizeOptions) float64 {
	if o.Delta == 0 {
		return ClosenessOf[W](ShortestDelta)
	}
	return o.Delta
}

// Minimize returns a deterministic machine with the relation of f and the fewest states. The
// weights of f must cancel for that (see semiring.Cancellative). Where they do not, as over MinMax,
// states whose pushed weights differ may yet be equivalent: the relation is kept, but fewer states
// might do. f must be deterministic on its input side, ε being an ordinary label; else the error is
// a StateError around ErrNotDeterministic, unless AllowNondet is set.
//
// Unweighted acceptors are minimized as such. Weights and output labels are first pushed to the
// start, and weights are rounded to Delta. Then arcs are compared by label, weight and output
// together. States that agree within Delta are merged, so the weights of paths change by about
// Delta an arc. A transducer comes out with chains of arcs with input ε for outputs longer than a
// label, which count as states too.
//
// The states that remain keep their order: which of a class remains is decided
// as in OpenFst, and so are the numbers.
//
// Cost: O(states + arcs) when acyclic and deterministic, O(arcs · log states) otherwise, and that
// of Push, with Labels for a transducer. Its strings can take the square of a chain's length.
//
// After M. Mohri, "Minimization algorithms for sequential transducers", Theoretical Computer
// Science 234:177-201, 2000; the partitions after D. Revuz (1992) and J. Hopcroft (1971), and R.
// Paige and R. Tarjan (1987) where the machine is not deterministic.
func Minimize[W semiring.Component[W]](f fst.Expanded[W], opts *MinimizeOptions) (*fst.Vector[W], error) {
	var o MinimizeOptions
	if opts != nil {
		o = *opts
	}
	if fst.PropertiesOf[W](f, fst.Acceptor)&fst.Acceptor != 0 {
		out := copyOf(f)
		return out, MinimizeAcceptor(out, &o)
	}
	g, err := minimizePairs(f, &o)
	if err != nil {
		return nil, err
	}
	out, err := spellOut("Minimize", g, FactorGallicLeft[W], splitLeft[W], o.Limits, machineBytes[semiring.GallicLeft[W]](g, o.Limits))
	if err != nil {
		return nil, err
	}
	out.CopySymbols(f)
	return out, nil
}

// MinimizeFactored is Minimize that keeps output strings whole. The output labels of the first
// machine are numbers of strings. The second machine, from those numbers to strings, spells them
// out. Their composition is the minimal transducer. The second has one state that is start and end.
// It has a loop through new states for each string, numbered from 1 in the order in which they are
// met. If f has output symbols, the strings are named by theirs, joined by "_".
func MinimizeFactored[W semiring.Component[W]](f fst.Expanded[W], opts *MinimizeOptions) (main, strings *fst.Vector[W], err error) {
	var o MinimizeOptions
	if opts != nil {
		o = *opts
	}
	strings = fst.NewVector[W](1)
	strings.AddState()
	strings.SetStart(0)
	strings.SetFinal(0, semiring.One[W]())
	osyms := fst.OutputSymbols(f)
	strings.SetOutputSymbols(osyms)
	if fst.PropertiesOf[W](f, fst.Acceptor)&fst.Acceptor != 0 {
		return nil, nil, fmt.Errorf("ops: MinimizeFactored: %w, which has no output strings to factor: use Minimize", ErrAcceptor)
	}
	g, err := minimizePairs(f, &o)
	if err != nil {
		return nil, nil, err
	}
	if err := CheckLimits("MinimizeFactored", g, o.Limits); err != nil {
		return nil, nil, err
	}
	ids := map[semiring.StringLeft]fst.Label{}
	name := func(l fst.Label) string {
		if osyms != nil {
			if s, ok := osyms.Symbol(l); ok {
				return s
			}
		}
		return fmt.Sprint(l)
	}
	var isyms *fst.SymbolTable
	if osyms != nil {
		isyms = fst.NewSymbolTable(osyms.Name() + "_from_gallic")
		isyms.AddLabel(name(fst.Epsilon), fst.Epsilon)
	}
	spell := func(s semiring.StringLeft) fst.Label {
		if s.Len() == 0 {
			return fst.Epsilon
		}
		id, ok := ids[s]
		if ok {
			return id
		}
		id = fst.Label(len(ids) + 1)
		ids[s] = id
		text := ""
		p := fst.StateID(0)
		for i, l := range s.AppendLabels(nil) {
			e := fst.Arc[W]{OLabel: fst.Label(l), Weight: semiring.One[W]()}
			if i == 0 {
				e.ILabel = id
				text = name(fst.Label(l))
			} else {
				text += "_" + name(fst.Label(l))
			}
			if i < s.Len()-1 {
				e.NextState = strings.AddState()
			}
			strings.AddArc(p, e)
			p = e.NextState
		}
		if isyms != nil {
			isyms.AddLabel(text, id)
		}
		return id
	}
	main, err = fromGallic(g, func(w semiring.GallicLeft[W]) (fst.Label, W, bool) {
		if !w.Member() || w.String.Equal(w.String.Zero()) {
			return 0, w.Weight, semiring.IsZero(w)
		}
		return spell(w.String), w.Weight, true
	})
	if err != nil {
		return nil, nil, renamed(err, "MinimizeFactored")
	}
	main.SetInputSymbols(fst.InputSymbols(f))
	main.SetOutputSymbols(isyms)
	strings.SetInputSymbols(isyms)
	return main, strings, nil
}

// minimizePairs minimizes the transducer f as an acceptor over pairs of an
// output string and a weight.
func minimizePairs[W semiring.Component[W]](f fst.Expanded[W], o *MinimizeOptions) (*fst.Vector[semiring.GallicLeft[W]], error) {
	if err := mayMinimize(f, o); err != nil {
		return nil, err
	}
	var pushed any
	var err error
	switch f := any(f).(type) {
	case fst.Expanded[semiring.Log]:
		pushed, err = pushedPairs[semiring.Log, semiring.Log64](f, o)
	case fst.Expanded[sums.CarriedProduct]:
		pushed, err = pushedPairs[sums.CarriedProduct, sums.CarriedProduct64](f, o)
	case fst.Expanded[W]:
		pushed, err = pushedPairs[W, W](f, o)
	}
	if err != nil {
		return nil, err
	}
	g := pushed.(*fst.Vector[semiring.GallicLeft[W]])
	return g, minimizePushed(g, o)
}

// pushedPairs returns f as an acceptor over pairs, pushed to the start, with weights that are D
// until they have been pushed.
func pushedPairs[W semiring.Component[W], D semiring.Component[D]](f fst.Expanded[W], o *MinimizeOptions) (*fst.Vector[semiring.GallicLeft[W]], error) {
	p := leftPairs[W, D]()
	g, err := toGallic(f, p.of, &run.Stopwatch{Op: "Minimize", Ctx: o.Ctx, Most: o.Bytes})
	if err != nil {
		return nil, err
	}
	if g.Start() != fst.NoState {
		po := minimizePush[semiring.GallicLeft[W]](o)
		err := pushWeights(g, po, func() ([]semiring.GallicLeft[D], error) {
			d, _, err := pairDistances(f, po, p)
			return d, err
		})
		if err != nil {
			return nil, minimizeError(err)
		}
	}
	if g, same := any(g).(*fst.Vector[semiring.GallicLeft[W]]); same {
		return g, nil
	}
	narrow := sums.Narrowing[W, D]()
	return MapInto(g, func(g semiring.GallicLeft[D]) semiring.GallicLeft[W] {
		return semiring.GallicLeft[W]{String: g.String, Weight: narrow(g.Weight)}
	}), nil
}

// minimizePush are the options of the push.
func minimizePush[W semiring.Weight[W]](o *MinimizeOptions) *PushOptions {
	return &PushOptions{Delta: minimizeDelta[W](o), Truncation: o.Truncation, Limits: o.Limits.workspace()}
}

// minimizable is asked for by the minimization of weighted acceptors.
type minimizable[W any] interface {
	divisible[W]
	semiring.Quantizable[W]
}

// MinimizeAcceptor is Minimize for acceptors only, in place, and for weights that need not be
// Components. After an error of Limits f has its relation still, as far as Delta keeps it, but may
// be pushed and trimmed.
func MinimizeAcceptor[W minimizable[W]](f *fst.Vector[W], opts *MinimizeOptions) error {
	var o MinimizeOptions
	if opts != nil {
		o = *opts
	}
	p := fst.PropertiesOf[W](f, fst.Acceptor|fst.Unweighted)
	if p&fst.Acceptor == 0 {
		return errors.New("ops: MinimizeAcceptor: not an acceptor")
	}
	if err := mayMinimize(f, &o); err != nil {
		return err
	}
	var err error
	if p&fst.Unweighted != 0 && !hasZeroArc(f) {
		err = minimizeUnweighted(f, &o)
	} else {
		if f.Start() != fst.NoState {
			if err := PushWeights(f, minimizePush[W](&o)); err != nil {
				return minimizeError(err)
			}
		}
		err = minimizePushed(f, &o)
	}
	if err != nil {
		return err
	}
	return CheckLimits("Minimize", f, o.Limits) // here: meanwhile final weights are arcs to one state more
}

// hasZeroArc reports an arc of weight 0̄, which a machine that counts as
// unweighted may have, but which is not like the others.
func hasZeroArc[W semiring.Weight[W]](f fst.Expanded[W]) bool {
	zero := semiring.Zero[W]()
	for q := range f.NumStates() {
		for _, e := range f.Arcs(fst.StateID(q)) {
			if e.Weight.Equal(zero) {
				return true
			}
		}
	}
	return false
}

// mayMinimize refuses what is not deterministic, or not allowed to be.
func mayMinimize[W semiring.Weight[W]](f fst.Expanded[W], o *MinimizeOptions) error {
	if fst.PropertiesOf[W](f, fst.IDeterministic)&fst.IDeterministic != 0 {
		return nil
	}
	if !semiring.IsIdempotent[W]() {
		if o.AllowNondet {
			return capabilityError[W]("Minimize: AllowNondet", "idempotence")
		}
	} else if o.AllowNondet {
		return nil
	}
	q, l := nondeterministic(f)
	return &StateError{Op: "Minimize", State: q, Err: fmt.Errorf("%w: two arcs with input label %s (determinize it first)", ErrNotDeterministic, symbolText(fst.InputSymbols(f), l))}
}

// nondeterministic returns a state with two arcs of one input label, and that.
func nondeterministic[W semiring.Weight[W]](f fst.Expanded[W]) (fst.StateID, fst.Label) {
	seen := map[fst.Label]bool{}
	for q := range f.NumStates() {
		clear(seen)
		for _, e := range f.Arcs(fst.StateID(q)) {
			if seen[e.ILabel] {
				return fst.StateID(q), e.ILabel
			}
			seen[e.ILabel] = true
		}
	}
	return fst.NoState, fst.NoLabel
}

// minimizePushed minimizes an acceptor whose weights are pushed after taking them, rounded, into
// the labels.
func minimizePushed[W minimizable[W]](f *fst.Vector[W], o *MinimizeOptions) error {
	if f.Start() == fst.NoState {
		f.Clear()
		return nil
	}
	unifyWeights(minimizeDelta[W](o), f)
	table := NewEncodeTable[W](EncodeLabels | EncodeWeights)
	known := f.KnownProperties()
	Encode(f, table)
	f.LearnProperties(known & fst.IDeterministic) // no two labels of a state have become one
	stopped := minimizeUnweighted(f, o)
	if err := Decode(f, table); err != nil {
		return err
	}
	return stopped
}

// minimizeError is an error of pushing, under the name of the whole.
func minimizeError(err error) error {
	var part *partError
	if errors.As(err, &part) {
		err = part.err
	}
	return renamed(err, "Minimize")
}

// minimizeUnweighted minimizes an acceptor whose weights are not looked at.
func minimizeUnweighted[W semiring.Weight[W]](f *fst.Vector[W], o *MinimizeOptions) error {
	if err := run.Cancelled("Minimize", o.Ctx); err != nil {
		return err
	}
	Connect(f)
	if err := CheckLimits("Minimize", f, o.Limits.workspace()); err != nil { // what is minimized is held meanwhile
		return err
	}
	if f.Start() == fst.NoState {
		return nil
	}
	p := fst.PropertiesOf[W](f, fst.Acyclic|fst.IDeterministic)
	w := &run.Stopwatch{Op: "Minimize", Ctx: o.Ctx, Most: o.Bytes, Held: run.SizeOf[W](f.NumStates(),
		int64(f.NumArcs()))}
	var stands []fst.StateID
	var err error
	if p.Has(fst.Acyclic | fst.IDeterministic) {
		ArcSort(f, Input)
		stands, err = partition.Acyclic(f, w)
	} else {
		stands, err = partition.Cyclic(f, o.ArcOrder, p&fst.IDeterministic != 0, w)
	}
	if err != nil {
		return err
	}
	mergeStates(f, stands)
	ArcUnique(f)
	return nil
}

// mergeStates keeps the states that stand for themselves, and leads the arcs to
// the others to what stands for these. States of one class have, but for
// repetitions, the same labels to the same classes, so the arcs of one are enough.
// f is trim and stays so: what stands for the states of a path has the arcs of a path
// with the same labels.
func mergeStates[W semiring.Weight[W]](f *fst.Vector[W], stands []fst.StateID) {
	start := f.Start()
	dead := make([]bool, f.NumStates())
	for q := range dead {
		if dead[q] = int(stands[q]) != q; dead[q] {
			continue
		}
		arcs := f.MutableArcs(fst.StateID(q))
		for i := range arcs {
			arcs[i].NextState = stands[arcs[i].NextState]
		}
	}
	f.SetStart(stands[start])
	f.DeleteStates(dead)
	const trim = fst.Accessible | fst.CoAccessible
	f.SetProperties(f.KnownProperties()&(fst.Acceptor|fst.Unweighted)|trim, fst.AllProperties)
}
