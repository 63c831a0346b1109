package ops

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// ReweightToInitial moves weights towards the start of f, in place, by
// potentials V: an arc from p to q of weight w gets V(p)\(w⊗V(q)), a final weight
// ρ of p gets V(p)\ρ, and V(start) comes in front of every path: onto the arcs
// and the final weight of the start state when that lies on no cycle, else on an
// ε-arc from a new start state, which is the last state. So the weights of
// successful paths do not change, whatever the potentials are, up to rounding.
//
// Potentials that are missing at the end count as 0̄. A state of potential 0̄
// keeps its final weight, and so do the arcs into it and out of it: as with
// OpenFst, path weights are then kept only if no path from a state that has
// another potential leads there, as is the case for shortest distances.
//
// ⊗ must distribute on the left. Weights that come out of the semiring (a
// potential that cannot be divided by) are ErrNotMember in a StateError; f is
// then half changed.
//
// Cost: O(states + arcs). The construction is that of M. Mohri, "Weighted
// automata algorithms", in Handbook of Weighted Automata, 2009, section 5.
func ReweightToInitial[W semiring.Divisible[W]](f *fst.Vector[W], potentials []W) error {
	return reweight(f, potentials, func(vp, w, vq W) W { return vp.DivideLeft(w.Times(vq)) },
		func(vp, rho W) W { return vp.DivideLeft(rho) },
		func(v W) W { return v }, false)
}

// ReweightToFinal moves weights towards the final states of f, in place, by
// potentials V: an arc from p to q of weight w gets (V(p)⊗w)/V(q), a final weight
// ρ of p gets V(p)⊗ρ, and 1̄/V(start) comes in front of every path as in
// ReweightToInitial. ⊗ must distribute on the right; the rest is as there, but
// that a state of potential 0̄ stops being final: as a distance from the start it
// says that no path leads to the state.
func ReweightToFinal[W semiring.RightDivisible[W]](f *fst.Vector[W], potentials []W) error {
	return reweight(f, potentials, func(vp, w, vq W) W { return vq.DivideRight(vp.Times(w)) },
		func(vp, rho W) W { return vp.Times(rho) },
		func(v W) W { return v.DivideRight(v.One()) }, true)
}

// hasFront reports whether potentials v put something in front of all paths from s.
func hasFront[W semiring.Weight[W]](v []W, s fst.StateID) bool {
	return int(s) < len(v) && !semiring.IsZero(v[s]) && !semiring.IsOne(v[s])
}

// reweightAddsStart reports whether reweighting f by v will make a new start state.
func reweightAddsStart[W semiring.Weight[W]](f *fst.Vector[W], v []W) bool {
	s := f.Start()
	return s != fst.NoState && hasFront(v, s) && !fst.PropertiesOf(f, fst.InitialAcyclic).Has(fst.InitialAcyclic)
}

// reweight has the parts that differ as functions: the new weight of an arc, of
// a final state, and what comes in front. toFinal says that final weights change
// at potentials of 0̄ too.
func reweight[W semiring.Weight[W]](f *fst.Vector[W], v []W, arc func(vp, w, vq W) W, final func(vp, rho W) W, front func(W) W, toFinal bool) error {
	if f.NumStates() == 0 {
		return nil
	}
	zero := semiring.Zero[W]()
	at := func(q fst.StateID) W {
		if int(q) < len(v) {
			return v[q]
		}
		return zero
	}
	const kept = fst.Acceptor | fst.NotAcceptor | fst.IDeterministic | fst.NonIDeterministic | fst.ODeterministic | fst.NonODeterministic |
		fst.Epsilons | fst.NoEpsilons | fst.IEpsilons | fst.NoIEpsilons | fst.OEpsilons | fst.NoOEpsilons |
		fst.ILabelSorted | fst.NotILabelSorted | fst.OLabelSorted | fst.NotOLabelSorted |
		fst.Cyclic | fst.Acyclic | fst.InitialCyclic | fst.InitialAcyclic | fst.TopSorted | fst.NotTopSorted |
		fst.Accessible | fst.NotAccessible
	known := f.KnownProperties() & kept
	for q := range fst.StateID(f.NumStates()) {
		vq := at(q)
		live := !vq.Equal(zero)
		if live {
			arcs := f.MutableArcs(q)
			for i := range arcs {
				e := &arcs[i]
				vn := at(e.NextState)
				if vn.Equal(zero) {
					continue
				}
				e.Weight = arc(vq, e.Weight, vn)
				if !e.Weight.Member() {
					return &StateError{Op: "Reweight", State: q, Err: ErrNotMember}
				}
			}
		}
		if rho := f.Final(q); (live || toFinal) && !rho.Equal(zero) {
			w := final(vq, rho)
			if !w.Member() {
				return &StateError{Op: "Reweight", State: q, Err: ErrNotMember}
			}
			f.SetFinal(q, w)
		}
	}
	f.SetProperties(known, fst.AllProperties)
	s := f.Start()
	if s == fst.NoState {
		return nil
	}
	if hasFront(v, s) {
		w := front(at(s))
		if !w.Member() {
			return &StateError{Op: "Reweight", State: s, Err: ErrNotMember}
		}
		if fst.PropertiesOf(f, fst.InitialAcyclic)&fst.InitialAcyclic != 0 {
			arcs := f.MutableArcs(s)
			for i := range arcs {
				arcs[i].Weight = w.Times(arcs[i].Weight)
			}
			if rho := f.Final(s); !rho.Equal(zero) {
				f.SetFinal(s, w.Times(rho))
			}
		} else {
			q := f.AddState()
			f.AddArc(q, fst.Arc[W]{Weight: w, NextState: s})
			f.SetStart(q)
		}
	}
	f.SetProperties(f.KnownProperties()&kept, fst.AllProperties)
	return nil
}
