package fst

import (
	"math"
	"unsafe"

	"github.com/tropica-fst/tropica/semiring"
)

// arcFacts gathers, while arcs whose weights are plain numbers pass by, what
// arcProperties would find in a pass of its own.
//
// Signs that are or-ed tell what there was among the arcs, without branches on labels, which the
// processor could not foresee.
type arcFacts struct {
	kind      numbers32or64 // zero: nothing is gathered
	zero, one float64       // 0̄ and 1̄
	start     StateID       // of the machine

	differ           Label // not zero: an arc is no acceptor's
	iEps, oEps, eps  int64 // negative, as those that follow: there is an arc with this ε
	iDown, oDown     int64 // labels that are less than those before them
	iEqual, oEqual   int64 // labels that are those before them
	back, loop, home int64 // arcs to lower states or the same, to the same, to the start
	weighted         bool

	prevI, prevO int64 // labels of the last arc of the present state
}

// begin starts a new state.
func (a *arcFacts) begin() { a.prevI, a.prevO = lowest, lowest }

func newArcFacts[W semiring.Weight[W]](start StateID) arcFacts {
	a := arcFacts{kind: numberKind[W](), start: start}
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

// lowest is below every label by more than any difference of labels.
const lowest = math.MinInt64 / 2

// note looks at rows of counts arcs each that lie one after the other, of state q and those that
// follow it; the first row may continue a state whose earlier arcs were noted before. It returns
// the number of the first row with a NaN weight or with a next state that is not below n, or -1.
// The facts of such a row are undefined.
func note[F float32 | float64](a *arcFacts, arcs []Arc[F], counts []int, q StateID, n uint32) int {
	zero, one := F(a.zero), F(a.one)
	prevI, prevO := a.prevI, a.prevO
	start := uint32(a.start)
	var differ Label
	var iEps, oEps, eps, iDown, oDown, iEqual, oEqual, back, loop, home int64
	weighted := a.weighted
	wrong := -1
rows:
	for r, k := range counts {
		from, row := uint32(q)+uint32(r), arcs[:k]
		arcs = arcs[len(row):]
		if r > 0 {
			prevI, prevO = lowest, lowest
		}
		for i := range row {
			e := &row[i]
			next := uint32(e.NextState)
			if next >= n || e.Weight != e.Weight {
				wrong = r
				break rows
			}
			il, ol := int64(e.ILabel), int64(e.OLabel)
			differ |= e.ILabel ^ e.OLabel
			// One less than a number of 32 bits is negative when that is zero.
			i0, o0 := int64(uint32(e.ILabel))-1, int64(uint32(e.OLabel))-1
			iEps |= i0
			oEps |= o0
			eps |= i0 & o0
			di, do := il-prevI, ol-prevO
			iDown |= di
			oDown |= do
			iEqual |= ^(di | -di)
			oEqual |= ^(do | -do)
			prevI, prevO = il, ol
			back |= int64(next) - int64(from) - 1
			loop |= int64(next^from) - 1
			home |= int64(next^start) - 1
			if !weighted && e.Weight != zero && e.Weight != one {
				weighted = true
			}
		}
	}
	a.differ |= differ
	a.iEps |= iEps
	a.oEps |= oEps
	a.eps |= eps
	a.iDown |= iDown
	a.oDown |= oDown
	a.iEqual |= iEqual
	a.oEqual |= oEqual
	a.back |= back
	a.loop |= loop
	a.home |= home
	a.weighted = weighted
	a.prevI, a.prevO = prevI, prevO
	return wrong
}

// noteRows is note for arcs whose weight type has the given kind.
func noteRows[W any](a *arcFacts, arcs []Arc[W], counts []int, q StateID, n uint32) int {
	if len(arcs) == 0 {
		return -1
	}
	if a.kind == number32 {
		return note(a, unsafe.Slice((*Arc[float32])(unsafe.Pointer(&arcs[0])), len(arcs)), counts, q, n)
	}
	return note(a, unsafe.Slice((*Arc[float64])(unsafe.Pointer(&arcs[0])), len(arcs)), counts, q, n)
}

// noteArcs notes arcs of state q, all or the next ones, and reports whether none is wrong.
func noteArcs[W any](a *arcFacts, arcs []Arc[W], q StateID, n uint32) bool {
	return noteRows(a, arcs, []int{len(arcs)}, q, n) < 0
}

// properties returns what is certain of a machine all of whose arcs and final
// weights were noted.
func (a *arcFacts) properties() Properties {
	p := pick(a.differ != 0, NotAcceptor, Acceptor) | pick(a.eps < 0, Epsilons, NoEpsilons) |
		pick(a.iEps < 0, IEpsilons, NoIEpsilons) | pick(a.oEps < 0, OEpsilons, NoOEpsilons) |
		pick(a.iDown < 0, NotILabelSorted, ILabelSorted) | pick(a.oDown < 0, NotOLabelSorted, OLabelSorted) |
		pick(a.weighted, Weighted, Unweighted) | pick(a.back < 0, NotTopSorted, TopSorted)
	switch {
	case a.iEqual < 0:
		p |= NonIDeterministic
	case a.iDown >= 0:
		p |= IDeterministic
	}
	switch {
	case a.oEqual < 0:
		p |= NonODeterministic
	case a.oDown >= 0:
		p |= ODeterministic
	}
	switch {
	case a.back >= 0:
		p |= Acyclic | InitialAcyclic | UnweightedCycles
	case !a.weighted:
		p |= UnweightedCycles
	}
	if a.loop < 0 {
		p |= Cyclic
	}
	if a.home >= 0 {
		p |= InitialAcyclic
	}
	return p
}
