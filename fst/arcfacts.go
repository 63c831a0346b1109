package fst

import (
	"math"
	"unsafe"

	"github.com/tropica-fst/tropica/semiring"
)

// arcFacts gathers, while arcs whose weights are plain numbers pass by, what
// arcProperties would find in a pass of its own.
type arcFacts struct {
	kind      numbers32or64 // zero: nothing is gathered
	zero, one float64       // 0̄ and 1̄

	differ                           Label // not zero: an arc is no acceptor's
	iEps, oEps, eps                  bool
	iUnsorted, oUnsorted, isBackward bool
	weighted                         bool

	prevI, prevO Label // of the last arc of the present state
}

// begin starts a new state.
func (a *arcFacts) begin() { a.prevI, a.prevO = math.MinInt32, math.MinInt32 }

func newArcFacts[W semiring.Weight[W]]() arcFacts {
	a := arcFacts{kind: numberKind[W]()}
	zero, one := semiring.Zero[W](), semiring.One[W]()
	switch a.kind {
	case number32:
		a.zero, a.one = float64(*(*float32)(unsafe.Pointer(&zero))), float64(*(*float32)(unsafe.Pointer(&one)))
	case number64:
		a.zero, a.one = *(*float64)(unsafe.Pointer(&zero)), *(*float64)(unsafe.Pointer(&one))
	}
	return a
}

// final notes a final weight.
func (a *arcFacts) final(x float64) { a.weighted = a.weighted || x != a.zero && x != a.one }

// note looks at arcs of state q, all or the next ones, and returns the position of the first with
// a NaN weight or with a next state that is not below n, -1 if there is none.
func note[F float32 | float64](a *arcFacts, arcs []Arc[F], q StateID, n uint32) int {
	zero, one := F(a.zero), F(a.one)
	prevI, prevO := a.prevI, a.prevO
	for i := range arcs {
		e := &arcs[i]
		if uint32(e.NextState) >= n || e.Weight != e.Weight {
			return i
		}
		il, ol := e.ILabel, e.OLabel
		a.differ |= il ^ ol
		if il == Epsilon {
			a.iEps = true
			a.eps = a.eps || ol == Epsilon
		}
		if ol == Epsilon {
			a.oEps = true
		}
		if il < prevI {
			a.iUnsorted = true
		}
		if ol < prevO {
			a.oUnsorted = true
		}
		prevI, prevO = il, ol
		if e.NextState <= q {
			a.isBackward = true
		}
		if e.Weight != zero && e.Weight != one {
			a.weighted = true
		}
	}
	a.prevI, a.prevO = prevI, prevO
	return -1
}

// noteArcs is note for arcs whose weight type has the given kind.
func noteArcs[W any](a *arcFacts, arcs []Arc[W], q StateID, n uint32) int {
	if len(arcs) == 0 {
		return -1
	}
	if a.kind == number32 {
		return note(a, unsafe.Slice((*Arc[float32])(unsafe.Pointer(&arcs[0])), len(arcs)), q, n)
	}
	return note(a, unsafe.Slice((*Arc[float64])(unsafe.Pointer(&arcs[0])), len(arcs)), q, n)
}

// properties returns what is certain of a machine all of whose arcs and final
// weights were noted.
func (a *arcFacts) properties() Properties {
	pick := func(b bool, yes, no Properties) Properties {
		if b {
			return yes
		}
		return no
	}
	p := pick(a.differ != 0, NotAcceptor, Acceptor) | pick(a.eps, Epsilons, NoEpsilons) |
		pick(a.iEps, IEpsilons, NoIEpsilons) | pick(a.oEps, OEpsilons, NoOEpsilons) |
		pick(a.iUnsorted, NotILabelSorted, ILabelSorted) | pick(a.oUnsorted, NotOLabelSorted, OLabelSorted) |
		pick(a.weighted, Weighted, Unweighted) | pick(a.isBackward, NotTopSorted, TopSorted)
	if !a.isBackward {
		p |= Acyclic | InitialAcyclic | UnweightedCycles
	} else if !a.weighted {
		p |= UnweightedCycles
	}
	return p
}
