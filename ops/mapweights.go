package ops

import (
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// The weights of a machine changed one by one: MapWeights takes any function,
// the others are those of OpenFst's fstmap. Each changes f in place, but for
// Convert, whose result is over another semiring. All take O(|Q| + |E|) time.

// MapWeights replaces the weight of every arc and every final weight, 0̄ of
// states that are not final included, by its image under g.
func MapWeights[W semiring.Weight[W]](f *fst.Vector[W], g func(W) W) {
	p := f.KnownProperties()
	c := weightChange[W, W]{kept: true}
	for q := range f.NumStates() {
		arcs := f.MutableArcs(fst.StateID(q))
		for i := range arcs {
			w := g(arcs[i].Weight)
			c.arc(w)
			arcs[i].Weight = w
		}
		old := f.Final(fst.StateID(q))
		w := g(old)
		c.final(old, w)
		if !w.Equal(old) {
			f.SetFinal(fst.StateID(q), w)
		}
	}
	f.SetProperties(c.properties(p), fst.AllProperties)
}

// weightChange follows what happens to properties while weights change.
type weightChange[V semiring.Weight[V], W semiring.Weight[W]] struct {
	weighted bool // a weight is neither 0̄ nor 1̄
	kept     bool // the same states are final as before
}

func (c *weightChange[V, W]) arc(w W) {
	c.weighted = c.weighted || !semiring.IsZero(w) && !semiring.IsOne(w)
}

func (c *weightChange[V, W]) final(old V, w W) {
	c.arc(w)
	c.kept = c.kept && semiring.IsZero(old) == semiring.IsZero(w)
}

func (c *weightChange[V, W]) properties(p fst.Properties) fst.Properties {
	p &^= fst.Weighted | fst.Unweighted | fst.WeightedCycles | fst.UnweightedCycles
	if c.weighted {
		p |= fst.Weighted
	} else {
		p |= fst.Unweighted | fst.UnweightedCycles
	}
	if !c.kept {
		p &^= fst.CoAccessible | fst.NotCoAccessible | fst.String | fst.NotString
	}
	return p
}

// InvertWeights replaces each weight but 0̄ by its inverse, w with w⊗w⁻¹ = 1̄.
func InvertWeights[W semiring.Divisible[W]](f *fst.Vector[W]) {
	zero, one := semiring.Zero[W](), semiring.One[W]()
	MapWeights(f, func(w W) W {
		if w.Equal(zero) {
			return w
		}
		return w.DivideLeft(one)
	})
}

// PowerWeights raises each weight to the power x. As with OpenFst, 0̄ to the power 0 is 1̄, which
// makes every state final. Below, 0̄ has no power, and stays (OpenFst makes it -∞, which is in no
// semiring).
func PowerWeights[W semiring.Powered[W]](f *fst.Vector[W], x float64) {
	zero, one := semiring.Zero[W](), semiring.One[W]()
	MapWeights(f, func(w W) W {
		switch {
		case x == 0:
			return one
		case w.Equal(zero):
			return zero
		}
		return w.Power(x)
	})
}

// QuantizeWeights rounds each weight to a multiple of delta.
func QuantizeWeights[W semiring.Quantizable[W]](f *fst.Vector[W], delta float64) {
	MapWeights(f, func(w W) W { return w.Quantize(delta) })
}

// PlusWeights adds x to each weight but 0̄.
func PlusWeights[W semiring.Weight[W]](f *fst.Vector[W], x W) {
	zero := semiring.Zero[W]()
	MapWeights(f, func(w W) W {
		if w.Equal(zero) {
			return w
		}
		return w.Plus(x)
	})
}

// TimesWeights multiplies each weight but 0̄ by x, from the right.
func TimesWeights[W semiring.Weight[W]](f *fst.Vector[W], x W) {
	zero := semiring.Zero[W]()
	MapWeights(f, func(w W) W {
		if w.Equal(zero) {
			return w
		}
		return w.Times(x)
	})
}

// RmWeight replaces each weight but 0̄ by 1̄.
func RmWeight[W semiring.Weight[W]](f *fst.Vector[W]) {
	zero, one := semiring.Zero[W](), semiring.One[W]()
	MapWeights(f, func(w W) W {
		if w.Equal(zero) {
			return w
		}
		return one
	})
}

// SuperFinal adds a state, the last, and makes it the only final one. Each state that was final
// gets an arc to it, its last, with the given label on both sides and the final weight. A machine
// without a start state stays as it is.
func SuperFinal[W semiring.Weight[W]](f *fst.Vector[W], label fst.Label) {
	if f.Start() == fst.NoState {
		return
	}
	p := f.KnownProperties()
	super := f.AddState()
	added := redirectFinals(f, super, func(w W) fst.Arc[W] {
		return fst.Arc[W]{ILabel: label, OLabel: label, Weight: w}
	})
	f.SetFinal(super, semiring.One[W]())
	f.SetProperties(superFinalProperties(p, added, label)|factsOf(f), fst.AllProperties)
}

// redirectFinals turns each final weight of f into the arc that mark makes of
// it, to the state super, and reports whether there was any.
func redirectFinals[W semiring.Weight[W]](f *fst.Vector[W], super fst.StateID, mark func(W) fst.Arc[W]) (added bool) {
	zero := semiring.Zero[W]()
	for q := range f.NumStates() {
		s := fst.StateID(q)
		w := f.Final(s)
		if s == super || w.Equal(zero) {
			continue
		}
		e := mark(w)
		e.NextState = super
		f.AddArc(s, e)
		f.SetFinal(s, zero)
		added = true
	}
	return added
}

// superFinalProperties returns what is known once final weights have become arcs
// with the given label on both sides.
func superFinalProperties(p fst.Properties, added bool, label fst.Label) fst.Properties {
	p &= fst.Acceptor | fst.NotAcceptor | fst.NonIDeterministic | fst.NonODeterministic |
		fst.Epsilons | fst.IEpsilons | fst.OEpsilons | fst.NotILabelSorted | fst.NotOLabelSorted |
		fst.Weighted | fst.Unweighted | fst.Cyclic | fst.Acyclic | fst.InitialCyclic | fst.InitialAcyclic |
		fst.NotTopSorted | fst.NotAccessible | fst.CoAccessible | fst.NotCoAccessible | fst.NotString |
		fst.WeightedCycles | fst.UnweightedCycles
	if added && label == fst.Epsilon {
		p |= fst.Epsilons | fst.IEpsilons | fst.OEpsilons
	}
	return p
}

// factsOf looks at the arcs of f for what shows in one pass: labels, their order,
// weights, whether states are in topological order. OpenFst keeps account of
// these while it adds arcs one by one, so that they are known of the results of
// operations that do.
func factsOf[W semiring.Weight[W]](f *fst.Vector[W]) fst.Properties {
	p, _ := fst.Compute[W](f, fst.ILabelSorted)
	p &^= fst.String | fst.NotString
	if p.Has(fst.TopSorted) {
		p |= fst.Acyclic | fst.InitialAcyclic
	}
	return p
}

// EpsilonLabels makes all labels on the given side ε and detaches the symbol
// table of that side.
func EpsilonLabels[W semiring.Weight[W]](f *fst.Vector[W], side Side) {
	p := f.KnownProperties()
	for q := range f.NumStates() {
		arcs := f.MutableArcs(fst.StateID(q))
		for i := range arcs {
			if side == Input {
				arcs[i].ILabel = fst.Epsilon
			} else {
				arcs[i].OLabel = fst.Epsilon
			}
		}
	}
	own, sorted, eps, noEps := inputSide, fst.ILabelSorted, fst.IEpsilons, fst.NoIEpsilons
	if side == Output {
		own, sorted, eps, noEps = outputSide, fst.OLabelSorted, fst.OEpsilons, fst.NoOEpsilons
		f.SetOutputSymbols(nil)
	} else {
		f.SetInputSymbols(nil)
	}
	p = p&^(own|fst.Acceptor|fst.NotAcceptor|fst.Epsilons|fst.NoEpsilons) | sorted
	if f.NumArcs() > 0 {
		p |= eps
	} else {
		p |= noEps
	}
	f.SetProperties(p|factsOf(f), fst.AllProperties)
}

// ArcSum sorts the arcs of each state by input label, output label and next
// state, and adds up those that agree in all three.
func ArcSum[W semiring.Weight[W]](f *fst.Vector[W]) {
	switch f := any(f).(type) {
	case *fst.Vector[semiring.Log]:
		arcSum[semiring.Log, semiring.Log64](f)
		return
	case *fst.Vector[sums.CarriedProduct]:
		arcSum[sums.CarriedProduct, sums.CarriedProduct64](f)
		return
	}
	arcSum[W, W](f)
}

// arcSum is ArcSum with sums carried in D.
func arcSum[W semiring.Weight[W], D semiring.Weight[D]](f *fst.Vector[W]) {
	wide, narrow := sums.Widening[W, D](), sums.Narrowing[W, D]()
	var of *fst.Arc[W] // the arc with the sum
	var sum D
	mergeArcs(f, func(kept *fst.Arc[W], e *fst.Arc[W]) bool {
		if kept != of {
			of, sum = kept, wide(kept.Weight)
		}
		sum = sum.Plus(wide(e.Weight))
		kept.Weight = narrow(sum)
		return true
	}, fst.Weighted|fst.Unweighted|fst.WeightedCycles|fst.UnweightedCycles)
}

// ArcUnique sorts the arcs of each state by input label, output label and next state. It keeps one
// arc of each run that agrees in all three and in the weight.
func ArcUnique[W semiring.Weight[W]](f *fst.Vector[W]) {
	mergeArcs(f, func(kept *fst.Arc[W], e *fst.Arc[W]) bool {
		return kept.Weight.Equal(e.Weight)
	}, 0)
}

// mergeArcs sorts arcs by labels and next state, and offers merge each arc that
// agrees in these with the one kept before it. forget is not known afterwards.
func mergeArcs[W semiring.Weight[W]](f *fst.Vector[W], merge func(kept, e *fst.Arc[W]) bool, forget fst.Properties) {
	p := f.KnownProperties()
	var s run.ArcSorter[W]
	for q := range f.NumStates() {
		arcs := f.MutableArcs(fst.StateID(q))
		if len(arcs) < 2 {
			continue
		}
		s.Sort(arcs, func(e *fst.Arc[W]) run.SortKey {
			k := run.LabelKey(e.ILabel, e.OLabel)
			k.Minor = uint32(e.NextState)
			return k
		})
		n := 1
		for i := 1; i < len(arcs); i++ {
			last, e := &arcs[n-1], &arcs[i]
			if e.ILabel == last.ILabel && e.OLabel == last.OLabel && e.NextState == last.NextState && merge(last, e) {
				continue
			}
			arcs[n] = *e
			n++
		}
		f.TruncateArcs(fst.StateID(q), n)
	}
	p &^= forget | fst.NotILabelSorted | fst.OLabelSorted | fst.NotOLabelSorted |
		fst.NonIDeterministic | fst.NonODeterministic | fst.String | fst.NotString
	f.SetProperties(p|factsOf(f), fst.AllProperties)
}

// Convert returns f over the semiring V: ops.Convert[semiring.Log64](f). Tropical and log weights
// are negative logarithms of probabilities and keep their value; to and from probabilities it is x
// = -log p. Between float32 and float64 the number is rounded. Other pairs of semirings give an
// error. So does a weight that V has no number for, or only 0̄, which would take its paths away (a
// *StateError). But a probability below the least float64 is 0: underflow is what probabilities do.
// MapInto takes any function.
func Convert[V semiring.Weight[V], W semiring.Weight[W]](f fst.Expanded[W]) (*fst.Vector[V], error) {
	g, err := Converter[V, W]()
	if err != nil {
		return nil, err
	}
	out := MapInto(f, g)
	for q := range f.NumStates() {
		q := fst.StateID(q)
		if err := converted(f.Final(q), out.Final(q)); err != nil {
			return nil, &StateError{Op: "Convert", State: q, Err: fmt.Errorf("the final weight %w", err)}
		}
		to := out.Arcs(q)
		for i, e := range f.Arcs(q) {
			if err := converted(e.Weight, to[i].Weight); err != nil {
				return nil, &StateError{Op: "Convert", State: q, Err: fmt.Errorf("the weight of arc %d, %d:%d, %w", i, e.ILabel, e.OLabel, err)}
			}
		}
	}
	return out, nil
}

// converted says how w got lost on the way to v.
func converted[W semiring.Weight[W], V semiring.Weight[V]](w W, v V) error {
	_, probability := any(v).(semiring.Probability)
	switch {
	case !w.Member():
		return nil // it was no weight before
	case !v.Member():
		return fmt.Errorf("%v is too large for %s", w, weightName(v))
	case semiring.IsZero(v) && !semiring.IsZero(w) && !probability:
		return fmt.Errorf("%v would be 0̄ in %s, and its paths lost", w, weightName(v))
	}
	return nil
}

// MapInto returns a machine like f with each weight replaced by its image in
// another semiring, final weights 0̄ included.
func MapInto[V semiring.Weight[V], W semiring.Weight[W]](f fst.Expanded[W], g func(W) V) *fst.Vector[V] {
	out := fst.NewVector[V](f.NumStates())
	c := weightChange[W, V]{kept: true}
	n := 0
	for q := range f.NumStates() {
		n += len(f.Arcs(fst.StateID(q)))
	}
	out.ReserveArcs(n)
	var arcs []fst.Arc[V]
	for q := range f.NumStates() {
		arcs = arcs[:0]
		for _, e := range f.Arcs(fst.StateID(q)) {
			w := g(e.Weight)
			c.arc(w)
			arcs = append(arcs, fst.Arc[V]{ILabel: e.ILabel, OLabel: e.OLabel, Weight: w, NextState: e.NextState})
		}
		old := f.Final(fst.StateID(q))
		w := g(old)
		c.final(old, w)
		out.PushState(w, arcs)
	}
	out.SetStart(f.Start())
	out.CopySymbols(f)
	out.SetProperties(c.properties(knownProperties(f)), fst.AllProperties)
	return out
}

// Converter returns the function that takes weights from W to V, as Convert uses
// it.
func Converter[V semiring.Weight[V], W semiring.Weight[W]]() (func(W) V, error) {
	var w W
	var v V
	if _, same := any(w).(V); same {
		return func(w W) V { return any(w).(V) }, nil
	}
	to, from := cost[W](), fromCost[V]()
	if to == nil || from == nil {
		return nil, fmt.Errorf("ops: Convert: no conversion from arc type %s to %s is defined", weightName(w), weightName(v))
	}
	return func(w W) V { return from(to(w)) }, nil
}

// cost returns the function that gives a weight as a negative logarithm, nil if
// W has none. The type is asked once, not for every weight.
func cost[W any]() func(W) float64 {
	var w W
	var f any
	switch any(w).(type) {
	case semiring.Tropical:
		f = func(w semiring.Tropical) float64 { return float64(w) }
	case semiring.Tropical64:
		f = func(w semiring.Tropical64) float64 { return float64(w) }
	case semiring.Log:
		f = func(w semiring.Log) float64 { return float64(w) }
	case semiring.Log64:
		f = func(w semiring.Log64) float64 { return float64(w) }
	case semiring.Probability:
		f = func(w semiring.Probability) float64 { return -math.Log(float64(w)) }
	case semiring.Boolean:
		f = func(w semiring.Boolean) float64 {
			if w {
				return 0
			}
			return math.Inf(1)
		}
	}
	g, _ := f.(func(W) float64)
	return g
}

// fromCost is the inverse of cost. A Boolean is true where the cost is finite.
func fromCost[V any]() func(float64) V {
	var v V
	var f any
	switch any(v).(type) {
	case semiring.Tropical:
		f = func(x float64) semiring.Tropical { return semiring.Tropical(x) }
	case semiring.Tropical64:
		f = func(x float64) semiring.Tropical64 { return semiring.Tropical64(x) }
	case semiring.Log:
		f = func(x float64) semiring.Log { return semiring.Log(x) }
	case semiring.Log64:
		f = func(x float64) semiring.Log64 { return semiring.Log64(x) }
	case semiring.Probability:
		f = func(x float64) semiring.Probability { return semiring.Probability(math.Exp(-x)) }
	case semiring.Boolean:
		f = func(x float64) semiring.Boolean { return semiring.Boolean(x < math.Inf(1)) }
	}
	g, _ := f.(func(float64) V)
	return g
}

// rounded returns sums in the weights of the machine: d itself where these are the same. A sum that
// is too large for them, and so would be 0̄, is ErrNotMember.
func rounded[W semiring.Weight[W], D semiring.Weight[D]](op string, d []D) ([]W, error) {
	if d, same := any(d).([]W); same {
		return d, nil
	}
	w := sums.RoundedOnly[W](d)
	if bad := sums.OutsideOf[W]()(w); bad >= 0 {
		return nil, &StateError{Op: op, State: fst.StateID(bad), Err: ErrNotMember}
	}
	for q := range w {
		if semiring.IsZero(w[q]) && !semiring.IsZero(d[q]) {
			return nil, &StateError{Op: op, State: fst.StateID(q), Err: ErrNotMember}
		}
	}
	return w, nil
}

// replaceBy makes f what g is, with the weights rounded. f keeps its symbols.
func replaceBy[W semiring.Weight[W], D semiring.Weight[D]](f *fst.Vector[W], g *fst.Vector[D]) {
	narrow := sums.Narrowing[W, D]()
	c := weightChange[D, W]{kept: true}
	f.Clear()
	f.ReserveStates(g.NumStates())
	f.ReserveArcs(g.NumArcs())
	var arcs []fst.Arc[W]
	for q := range fst.StateID(g.NumStates()) {
		arcs = arcs[:0]
		for _, e := range g.Arcs(q) {
			w := narrow(e.Weight)
			c.arc(w)
			arcs = append(arcs, fst.Arc[W]{ILabel: e.ILabel, OLabel: e.OLabel, Weight: w, NextState: e.NextState})
		}
		final := narrow(g.Final(q))
		c.final(g.Final(q), final)
		f.PushState(final, arcs)
	}
	f.SetStart(g.Start())
	f.SetProperties(c.properties(g.KnownProperties()), fst.AllProperties)
}
