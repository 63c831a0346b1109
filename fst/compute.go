package fst

import (
	"slices"

	"github.com/tropica-fst/tropica/semiring"
)

const (
	// depthProperties need the strongly connected components.
	depthProperties = Cyclic | Acyclic | InitialCyclic | InitialAcyclic | Accessible | NotAccessible |
		CoAccessible | NotCoAccessible | WeightedCycles | UnweightedCycles
	deterministicProperties = IDeterministic | NonIDeterministic | ODeterministic | NonODeterministic
)

// Compute determines the properties of f that mask names, and returns them with the mask of what is
// now known. Either side of a pair names both; often that is more than was asked. It does not look
// at what f remembers. A machine that is not Expanded is read to its end.
//
// Cost: one pass over the arcs, O(|Q| + |E|) and nothing allocated, for label
// order, epsilons and weights; determinism adds a sort of the labels of states
// that are not sorted; cycles, accessibility and weighted cycles add, unless the
// first pass finds the machine topologically sorted, the components of R.
// Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Computing
// 1(2):146-160, 1972, run without recursion.
func Compute[W semiring.Weight[W]](f Fst[W], mask Properties) (props, known Properties) {
	mask = mask.Known()
	props = Expandable
	if g, ok := f.(Propertied); ok {
		props = g.KnownProperties() & binaryProperties
	} else if _, ok := f.(Expanded[W]); !ok {
		props = 0
	}
	g := expanded(f)
	if mask&trinaryProperties == 0 {
		return props, props.Known()
	}
	props |= arcProperties(g, mask)
	if mask&depthProperties&^props.Known() == 0 {
		return props, props.Known()
	}
	if props.Has(TopSorted) {
		props |= sweepProperties(g, mask)
		return props, props.Known()
	}
	p, nodes := depthFirst(g)
	props |= p
	if mask&(WeightedCycles|UnweightedCycles)&^props.Known() != 0 {
		props |= weightedCycles(g, nodes)
	}
	return props, props.Known()
}

// PropertiesOf returns what is known of f, after making sure that what mask
// names (either side of a pair names both) is known: f is looked at only for
// what it does not remember, and is told what was found.
//
// A machine computed on demand that says nothing of itself is expanded whole,
// which does not end where it is infinite; where it fails, the properties are those
// of what was there before, and Err tells.
func PropertiesOf[W semiring.Weight[W]](f Fst[W], mask Properties) Properties {
	g, ok := f.(Propertied)
	if !ok {
		p, _ := Compute(f, mask)
		return p
	}
	p := g.KnownProperties()
	missing := mask.Known() & trinaryProperties &^ p.Known()
	if missing == 0 {
		return p
	}
	found, known := Compute(f, missing)
	g.LearnProperties(found & trinaryProperties &^ p.Known())
	return p | found&known
}

// expanded returns f itself, or what is found of f by expanding its states in
// the order in which they are first mentioned.
func expanded[W semiring.Weight[W]](f Fst[W]) Expanded[W] {
	if e, ok := f.(Expanded[W]); ok {
		return e
	}
	n := f.Start() + 1
	for q := StateID(0); q < n; q++ {
		for _, e := range f.Arcs(q) {
			n = max(n, e.NextState+1)
		}
	}
	return counted[W]{f, int(n)}
}

// counted is a machine whose states have been counted.
type counted[W any] struct {
	Fst[W]
	n int
}

func (c counted[W]) NumStates() int { return c.n }

// arcProperties returns what a pass over states and arcs shows.
func arcProperties[W semiring.Weight[W]](f Expanded[W], mask Properties) Properties {
	const (
		labels = 1 << iota
		iEps
		oEps
		eps
		iUnsorted
		oUnsorted
		iTwice
		oTwice
		weighted
		backward
		noString
	)
	saw := 0
	zero, one := semiring.Zero[W](), semiring.One[W]()
	iDet, oDet := mask&(IDeterministic|NonIDeterministic) != 0, mask&(ODeterministic|NonODeterministic) != 0
	var scratch []Label
	n := f.NumStates()
	finals := 0
	for q := range StateID(n) {
		arcs := f.Arcs(q)
		iLocal, oLocal := false, false // this state's labels are not in order
		iEqual, oEqual := false, false // neighbours have the same label
		for i := range arcs {
			e := &arcs[i]
			if e.ILabel != e.OLabel {
				saw |= labels
			}
			if e.ILabel == Epsilon {
				saw |= iEps
				if e.OLabel == Epsilon {
					saw |= eps
				}
			}
			if e.OLabel == Epsilon {
				saw |= oEps
			}
			if i > 0 {
				d := &arcs[i-1]
				iLocal = iLocal || d.ILabel > e.ILabel
				oLocal = oLocal || d.OLabel > e.OLabel
				iEqual = iEqual || d.ILabel == e.ILabel
				oEqual = oEqual || d.OLabel == e.OLabel
			}
			if e.NextState <= q {
				saw |= backward
			}
			if e.NextState != q+1 {
				saw |= noString
			}
			// Weights only until the answer is known: their comparisons are
			// calls, and cost as much as all the rest.
			if saw&weighted == 0 && !e.Weight.Equal(one) && !e.Weight.Equal(zero) {
				saw |= weighted
			}
		}
		if iLocal {
			saw |= iUnsorted
		}
		if oLocal {
			saw |= oUnsorted
		}
		if iEqual {
			saw |= iTwice
		} else if iDet && iLocal && saw&iTwice == 0 && twice(arcs, &scratch, func(e *Arc[W]) Label { return e.ILabel }) {
			saw |= iTwice
		}
		if oEqual {
			saw |= oTwice
		} else if oDet && oLocal && saw&oTwice == 0 && twice(arcs, &scratch, func(e *Arc[W]) Label { return e.OLabel }) {
			saw |= oTwice
		}
		if finals > 0 {
			saw |= noString
		}
		if w := f.Final(q); !w.Equal(zero) {
			finals++
			if !w.Equal(one) {
				saw |= weighted
			}
		} else if len(arcs) != 1 {
			saw |= noString
		}
	}
	if s := f.Start(); s > 0 || s == NoState && n > 0 || n > 0 && finals == 0 {
		saw |= noString
	}
	pick := func(bit int, yes, no Properties) Properties { return pick(saw&bit != 0, yes, no) }
	p := pick(labels, NotAcceptor, Acceptor) | pick(eps, Epsilons, NoEpsilons) |
		pick(iEps, IEpsilons, NoIEpsilons) | pick(oEps, OEpsilons, NoOEpsilons) |
		pick(iUnsorted, NotILabelSorted, ILabelSorted) | pick(oUnsorted, NotOLabelSorted, OLabelSorted) |
		pick(weighted, Weighted, Unweighted) | pick(backward, NotTopSorted, TopSorted) | pick(noString, NotString, String)
	if iDet || saw&iTwice != 0 || saw&iUnsorted == 0 {
		p |= pick(iTwice, NonIDeterministic, IDeterministic)
	}
	if oDet || saw&oTwice != 0 || saw&oUnsorted == 0 {
		p |= pick(oTwice, NonODeterministic, ODeterministic)
	}
	if saw&backward == 0 {
		p |= Acyclic | InitialAcyclic | UnweightedCycles
	} else if saw&weighted == 0 {
		p |= UnweightedCycles
	}
	return p
}

// sweepProperties is depthFirst for a machine whose arcs all go to higher
// states: two passes in the order of the states.
func sweepProperties[W semiring.Weight[W]](f Expanded[W], mask Properties) Properties {
	n := f.NumStates()
	seen := make([]bool, n)
	var p Properties
	if mask&(Accessible|NotAccessible) != 0 {
		p |= Accessible
		if s := f.Start(); s != NoState {
			seen[s] = true
		}
		for q := range StateID(n) {
			if !seen[q] {
				p = p&^Accessible | NotAccessible
				continue
			}
			for _, e := range f.Arcs(q) {
				seen[e.NextState] = true
			}
		}
	}
	if mask&(CoAccessible|NotCoAccessible) != 0 {
		p |= CoAccessible
		clear(seen)
		for q := StateID(n) - 1; q >= 0; q-- {
			seen[q] = IsFinal(f, q)
			for _, e := range f.Arcs(q) {
				if seen[q] {
					break
				}
				seen[q] = seen[e.NextState]
			}
			if !seen[q] {
				p = p&^CoAccessible | NotCoAccessible
			}
		}
	}
	return p
}

// weightedCycles looks for an arc with a weight of its own inside a component.
func weightedCycles[W semiring.Weight[W]](f Expanded[W], nodes []dfsNode) Properties {
	zero, one := semiring.Zero[W](), semiring.One[W]()
	for q := range StateID(f.NumStates()) {
		for _, e := range f.Arcs(q) {
			if nodes[q].comp == nodes[e.NextState].comp && !e.Weight.Equal(one) && !e.Weight.Equal(zero) {
				return WeightedCycles
			}
		}
	}
	return UnweightedCycles
}

// twice reports whether a label occurs twice among arcs.
func twice[W any](arcs []Arc[W], scratch *[]Label, label func(*Arc[W]) Label) bool {
	if len(arcs) <= 8 {
		for i := range arcs {
			for j := range i {
				if label(&arcs[i]) == label(&arcs[j]) {
					return true
				}
			}
		}
		return false
	}
	s := (*scratch)[:0]
	for i := range arcs {
		s = append(s, label(&arcs[i]))
	}
	*scratch = s
	slices.Sort(s)
	for i := 1; i < len(s); i++ {
		if s[i] == s[i-1] {
			return true
		}
	}
	return false
}

// dfsNode is what the search knows of a state, together so that looking at a
// state touches one cache line. (On a random machine of 300,000 states and
// 900,000 arcs, where arcs and not nodes are what the caches miss, four separate
// arrays were only 5% slower.)
type dfsNode struct {
	index    int32 // order of discovery from 1; 0 while unseen
	low      int32 // Tarjan's low link; closed once the component is complete
	comp     int32 // number of the component, once closed
	coaccess bool  // reaches a final state: certain once closed
}

const closed = 1<<31 - 1

// grown is append for a stack of at most most items: once it is large it has room for all of them,
// of which what is never used is never touched, where one that grows by and by leaves four times
// its size to the collector.
func grown[T any](s []T, v T, most int) []T {
	if len(s) == cap(s) && len(s) >= 4096 && len(s) < most {
		s = append(make([]T, 0, most), s...)
	}
	return append(s, v)
}

// depthFirst returns what a depth-first search over all states shows, start
// state first, and the component of each state. Weighted cycles need the
// weights too and are left open, unless there is no cycle at all.
//
// A machine without a start state but with states is NotAccessible.
func depthFirst[W semiring.Weight[W]](f Expanded[W]) (Properties, []dfsNode) {
	type frame struct {
		q    StateID
		next int32 // the arc to follow
	}
	n := f.NumStates()
	var (
		nodes  = make([]dfsNode, n)
		open   []StateID // Tarjan's stack
		frames []frame
		next   int32 = 1
		ncomp  int32
		zero   = semiring.Zero[W]()
		start  = f.Start()

		cyclic, initialCyclic bool
		coaccessible          = true
	)
	enter := func(q StateID) {
		nodes[q] = dfsNode{index: next, low: next, coaccess: !f.Final(q).Equal(zero)}
		next++
		open = grown(open, q, n)
		frames = grown(frames, frame{q: q}, n)
	}
	visit := func(root StateID) {
		enter(root)
	search:
		for len(frames) > 0 {
			top := &frames[len(frames)-1]
			q := top.q
			node := &nodes[q]
			arcs := f.Arcs(q)
			for i := int(top.next); i < len(arcs); i++ {
				t := arcs[i].NextState
				child := &nodes[t]
				if child.index == 0 {
					top.next = int32(i) // and come back to the same arc
					enter(t)
					continue search
				}
				if child.low != closed {
					// t is open, so it leads back to an ancestor of q, which
					// leads to q: a cycle, unless this is the way down to t.
					node.low = min(node.low, child.low)
					if child.index <= node.index {
						cyclic = true
						initialCyclic = initialCyclic || t == start
					}
				}
				node.coaccess = node.coaccess || child.coaccess
			}
			if node.low == node.index { // q is the first of its component
				i := len(open) - 1
				reach := false
				for ; ; i-- {
					reach = reach || nodes[open[i]].coaccess
					if open[i] == q {
						break
					}
				}
				for _, s := range open[i:] {
					nodes[s].comp, nodes[s].low, nodes[s].coaccess = ncomp, closed, reach
				}
				open = open[:i]
				ncomp++
				coaccessible = coaccessible && reach
			}
			frames = frames[:len(frames)-1]
		}
	}
	if start != NoState {
		visit(start)
	}
	accessible := int(next-1) == n
	for q := range StateID(n) {
		if nodes[q].index == 0 {
			visit(q)
		}
	}
	p := pick(cyclic, Cyclic, Acyclic) | pick(initialCyclic, InitialCyclic, InitialAcyclic) |
		pick(accessible, Accessible, NotAccessible) | pick(coaccessible, CoAccessible, NotCoAccessible)
	if !cyclic {
		p |= UnweightedCycles
	}
	return p, nodes
}
