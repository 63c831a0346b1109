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

// Compute finds out the properties of f that mask names (either side of a pair
// names both) and returns them, with the mask of what is now known; often that
// is more than was asked. It does not look at what f remembers. A machine that
// is not Expanded is read to its end.
//
// Cost: one pass over the arcs, O(|Q| + |E|) and nothing allocated, for label
// order, epsilons and weights; determinism adds a sort of the labels of states
// that are not sorted; cycles, accessibility and weighted cycles add the
// components of R. Tarjan, "Depth-first search and linear graph algorithms",
// SIAM J. Computing 1(2):146-160, 1972, run without recursion.
func Compute[W semiring.Weight[W]](f Fst[W], mask Properties) (props, known Properties) {
	mask = mask.Known()
	props = Expandable
	if g, ok := f.(Propertied); ok {
		props = g.KnownProperties() & binaryProperties
	} else if _, ok := f.(Expanded[W]); !ok {
		props = 0
	}
	g := expanded(f)
	var comp []int32
	if mask&depthProperties != 0 {
		var p Properties
		p, comp = depthFirst(g)
		props |= p
	}
	if mask&trinaryProperties&^(depthProperties&^(WeightedCycles|UnweightedCycles)) != 0 {
		props |= arcProperties(g, mask, comp)
	}
	return props, props.Known()
}

// PropertiesOf returns what is known of f, after making sure that what mask
// names (either side of a pair names both) is known: f is looked at only for
// what it does not remember, and is told what was found.
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
func arcProperties[W semiring.Weight[W]](f Expanded[W], mask Properties, comp []int32) Properties {
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
		weightedCycle
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
			if saw&weighted == 0 || comp != nil && saw&weightedCycle == 0 && comp[q] == comp[e.NextState] {
				if !e.Weight.Equal(one) && !e.Weight.Equal(zero) {
					saw |= weighted
					if comp != nil && comp[q] == comp[e.NextState] {
						saw |= weightedCycle
					}
				}
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
	pick := func(bit int, yes, no Properties) Properties {
		if saw&bit != 0 {
			return yes
		}
		return no
	}
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
	if comp != nil {
		p |= pick(weightedCycle, WeightedCycles, UnweightedCycles)
	}
	return p
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

// depthFirst returns what a depth-first search over all states shows, start
// state first, and the component of each state. Weighted cycles need the
// weights too and are left to arcProperties.
//
// A machine without a start state but with states is NotAccessible.
func depthFirst[W semiring.Weight[W]](f Expanded[W]) (Properties, []int32) {
	n := f.NumStates()
	const unseen = 0
	type frame struct {
		q   StateID
		arc int32
	}
	var (
		index    = make([]int32, n) // order of discovery from 1; the component's complement once closed
		low      = make([]int32, n)
		comp     = make([]int32, n)
		coaccess = make([]bool, n) // of closed states: reaches a final state
		stack    []StateID         // open states, Tarjan's stack
		frames   []frame
		next     int32 = 1
		ncomp    int32
		zero     = semiring.Zero[W]()
	)
	cyclic, initialCyclic, accessible, coaccessible := false, false, true, true
	start := f.Start()
	const closed = 1<<31 - 1
	visit := func(root StateID) {
		frames = append(frames[:0], frame{q: root})
		for len(frames) > 0 {
			top := &frames[len(frames)-1]
			q := top.q
			if index[q] == unseen {
				index[q], low[q] = next, next
				next++
				stack = append(stack, q)
				coaccess[q] = !f.Final(q).Equal(zero)
			}
			arcs := f.Arcs(q)
			descended := false
			for int(top.arc) < len(arcs) {
				t := arcs[top.arc].NextState
				if index[t] == unseen {
					frames = append(frames, frame{q: t}) // and come back to the same arc
					descended = true
					break
				}
				if low[t] != closed { // t is open: q and t share a component, or the path back to it closes a cycle
					low[q] = min(low[q], low[t])
					if t == q || index[t] <= index[q] {
						cyclic = true
						if t == start {
							initialCyclic = true
						}
					}
				}
				coaccess[q] = coaccess[q] || coaccess[t]
				top.arc++
			}
			if descended {
				continue
			}
			if low[q] == index[q] { // q is the root of a component
				i := len(stack) - 1
				reach := false
				for ; ; i-- {
					reach = reach || coaccess[stack[i]]
					if stack[i] == q {
						break
					}
				}
				for _, s := range stack[i:] {
					comp[s], low[s], coaccess[s] = ncomp, closed, reach
				}
				stack = stack[:i]
				ncomp++
				coaccessible = coaccessible && reach
			}
			frames = frames[:len(frames)-1]
		}
	}
	if start != NoState {
		visit(start)
	}
	accessible = int(next-1) == n
	for q := range StateID(n) {
		if index[q] == unseen {
			visit(q)
		}
	}
	pick := func(b bool, yes, no Properties) Properties {
		if b {
			return yes
		}
		return no
	}
	return pick(cyclic, Cyclic, Acyclic) | pick(initialCyclic, InitialCyclic, InitialAcyclic) |
		pick(accessible, Accessible, NotAccessible) | pick(coaccessible, CoAccessible, NotCoAccessible), comp
}
