package ops

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// ReweightToInitial moves weights towards the start of f, in place, by potentials V. An arc from p
// to q of weight w gets V(p)\(w⊗V(q)), and a final weight ρ of p gets V(p)\ρ. V(start) comes in
// front of every path. It is put on the arcs and the final weight of the start state if that lies
// on no cycle. Otherwise it is put on an ε-arc from a new start state, the last. So the weights of
// successful paths do not change, whatever the potentials are, up to rounding.
//
// Potentials that are missing at the end count as 0̄. A state of potential 0̄ keeps its final
// weight, and so do the arcs into it and out of it. As with OpenFst, path weights are then kept
// only if no path from a state with another potential leads there. For shortest distances that is
// so.
//
// ⊗ must distribute on the left. Weights that come out of the semiring (a
// potential that cannot be divided by) are ErrNotMember in a StateError; f is
// then half changed.
//
// Cost: O(states + arcs). The construction is that of M. Mohri, "Weighted
// automata algorithms", in Handbook of Weighted Automata, 2009, section 5.
func ReweightToInitial[W semiring.Divisible[W]](f *fst.Vector[W], potentials []W) error {
	return reweightBy(f, potentials, semiring.One[W](), false, W.DivideLeft)
}

// ReweightToFinal moves weights towards the final states of f, in place, by potentials V. An arc
// from p to q of weight w gets (V(p)⊗w)/V(q), and a final weight ρ of p gets V(p)⊗ρ. 1̄/V(start)
// comes in front of every path, as in ReweightToInitial. ⊗ must distribute on the right. The rest
// is as there, but that a state of potential 0̄ stops being final. As a distance from the start, 0̄
// says that no path leads to the state.
func ReweightToFinal[W semiring.RightDivisible[W]](f *fst.Vector[W], potentials []W) error {
	return reweightBy(f, potentials, semiring.One[W](), true, W.DivideRight)
}

// ReweightLog is ReweightToFinal if toFinal is set, and else ReweightToInitial, by potentials that
// are float64, as ShortestDistanceLog64 returns them. Each weight is rounded once. Potentials of
// long machines are large beside the weights, and their differences would lose in float32 what they
// are taken for.
func ReweightLog(f *fst.Vector[semiring.Log], potentials []semiring.Log64, toFinal bool) error {
	return reweightBy(f, potentials, 0, toFinal, semiring.Log64.DivideLeft)
}

// reweightBy is ReweightToInitial or ReweightToFinal by potentials D, in which sums over weights W
// are carried. It then divides all accepting paths by total, unless that is 0̄, at the end opposite
// to where the weights go. divide(a, c) removes c from a on the side that it asks for.
func reweightBy[W semiring.Weight[W], D semiring.Weight[D]](f *fst.Vector[W], d []D, total D, toFinal bool, divide func(a, c D) D) error {
	r := reweighting[W, D]{v: d, wide: sums.Widening[W, D](), narrow: sums.Narrowing[W, D](), toFinal: toFinal}
	remove := func(w D) D { return w }
	if !semiring.IsZero(total) && !semiring.IsOne(total) {
		remove = func(w D) D { return divide(total, w) }
	}
	if toFinal {
		r.arc = func(vp, w, vq D) D { return divide(vq, vp.Times(w)) }
		r.final = func(vp, rho D) D { return remove(vp.Times(rho)) }
		r.front = func(v, w D) D { return divide(v, v.One()).Times(w) }
	} else {
		r.arc = func(vp, w, vq D) D { return divide(vp, w.Times(vq)) }
		r.final = divide
		r.front = func(v, w D) D { return remove(v.Times(w)) }
	}
	return reweight(&r, f)
}

// hasFront reports whether potentials v put something in front of all paths from s.
func hasFront[D semiring.Weight[D]](v []D, s fst.StateID) bool {
	return int(s) < len(v) && !semiring.IsZero(v[s]) && !semiring.IsOne(v[s])
}

// reweightAddsStart reports whether reweighting f by v will make a new start state.
func reweightAddsStart[W semiring.Weight[W], D semiring.Weight[D]](f *fst.Vector[W], v []D) bool {
	s := f.Start()
	return s != fst.NoState && hasFront(v, s) && !fst.PropertiesOf(f, fst.InitialAcyclic).Has(fst.InitialAcyclic)
}

// reweighting has the parts that differ as functions: the new weight of an arc, of a final state,
// and in front of a weight at the start.
type reweighting[W, D any] struct {
	v       []D
	arc     func(vp, w, vq D) D
	final   func(vp, rho D) D
	front   func(v, w D) D
	wide    func(W) D
	narrow  func(D) W
	toFinal bool // final weights change at potentials of 0̄ too
}

func reweight[W semiring.Weight[W], D semiring.Weight[D]](r *reweighting[W, D], f *fst.Vector[W]) error {
	if f.NumStates() == 0 {
		return nil
	}
	zero := semiring.Zero[D]()
	at := func(q fst.StateID) D {
		if int(q) < len(r.v) {
			return r.v[q]
		}
		return zero
	}
	const kept = fst.Acceptor | fst.NotAcceptor | fst.IDeterministic | fst.NonIDeterministic | fst.ODeterministic | fst.NonODeterministic |
		fst.Epsilons | fst.NoEpsilons | fst.IEpsilons | fst.NoIEpsilons | fst.OEpsilons | fst.NoOEpsilons |
		fst.ILabelSorted | fst.NotILabelSorted | fst.OLabelSorted | fst.NotOLabelSorted |
		fst.Cyclic | fst.Acyclic | fst.InitialCyclic | fst.InitialAcyclic | fst.TopSorted | fst.NotTopSorted |
		fst.Accessible | fst.NotAccessible
	known := f.KnownProperties() & kept
	s := f.Start()
	// What comes in front is multiplied with the weights of the start before they are rounded:
	// it is as large as a potential.
	front := s != fst.NoState && hasFront(r.v, s)
	onArcs := front && fst.PropertiesOf(f, fst.InitialAcyclic)&fst.InitialAcyclic != 0
	for q := range fst.StateID(f.NumStates()) {
		vq := at(q)
		live := !vq.Equal(zero)
		put := func(w D) (W, error) {
			if onArcs && q == s {
				w = r.front(vq, w)
			}
			x := r.narrow(w)
			if !x.Member() {
				return x, &StateError{Op: "Reweight", State: q, Err: ErrNotMember}
			}
			return x, nil
		}
		if live {
			arcs := f.MutableArcs(q)
			for i := range arcs {
				e := &arcs[i]
				w := r.wide(e.Weight)
				if vn := at(e.NextState); !vn.Equal(zero) {
					w = r.arc(vq, w, vn)
				} else if !onArcs || q != s {
					continue
				}
				var err error
				if e.Weight, err = put(w); err != nil {
					return err
				}
			}
		}
		if rho := f.Final(q); (live || r.toFinal) && !semiring.IsZero(rho) {
			w, err := put(r.final(vq, r.wide(rho)))
			if err != nil {
				return err
			}
			f.SetFinal(q, w)
		}
	}
	f.SetProperties(known, fst.AllProperties)
	if front && !onArcs {
		w := r.narrow(r.front(at(s), zero.One()))
		if !w.Member() {
			return &StateError{Op: "Reweight", State: s, Err: ErrNotMember}
		}
		q := f.AddState()
		f.AddArc(q, fst.Arc[W]{Weight: w, NextState: s})
		f.SetStart(q)
	}
	f.SetProperties(f.KnownProperties()&kept, fst.AllProperties)
	return nil
}
