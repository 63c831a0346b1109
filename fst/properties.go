package fst

import "github.com/tropica-fst/tropica/semiring"

// Properties is a set of facts about a machine, with the bits of OpenFst's
// files. Expandable, Mutable and Error are plain; the others come in pairs, one
// bit for yes and one for no, and neither set means not known.
type Properties uint64

// The facts.
const (
	Expandable Properties = 0x1 // OpenFst's "expanded": the states can be counted
	Mutable    Properties = 0x2 // states and arcs can be changed
	Error      Properties = 0x4 // OpenFst's mark of a machine that came of a failure

	Acceptor          Properties = 0x10000        // ILabel = OLabel on every arc
	NotAcceptor       Properties = 0x20000        // some arc has different labels
	IDeterministic    Properties = 0x40000        // input labels differ among the arcs of each state
	NonIDeterministic Properties = 0x80000        // two arcs of a state have one input label
	ODeterministic    Properties = 0x100000       // output labels differ among the arcs of each state
	NonODeterministic Properties = 0x200000       // two arcs of a state have one output label
	Epsilons          Properties = 0x400000       // an arc ε:ε
	NoEpsilons        Properties = 0x800000       // no arc ε:ε
	IEpsilons         Properties = 0x1000000      // an arc with input ε
	NoIEpsilons       Properties = 0x2000000      // no arc with input ε
	OEpsilons         Properties = 0x4000000      // an arc with output ε
	NoOEpsilons       Properties = 0x8000000      // no arc with output ε
	ILabelSorted      Properties = 0x10000000     // arcs of each state are in order of input labels
	NotILabelSorted   Properties = 0x20000000     // those of some state are not
	OLabelSorted      Properties = 0x40000000     // arcs of each state are in order of output labels
	NotOLabelSorted   Properties = 0x80000000     // those of some state are not
	Weighted          Properties = 0x100000000    // a weight that is neither 0̄ nor 1̄
	Unweighted        Properties = 0x200000000    // all weights are 0̄ or 1̄
	Cyclic            Properties = 0x400000000    // some states lie on a cycle
	Acyclic           Properties = 0x800000000    // no cycles
	InitialCyclic     Properties = 0x1000000000   // a cycle through the start state
	InitialAcyclic    Properties = 0x2000000000   // no cycle through the start state
	TopSorted         Properties = 0x4000000000   // every arc goes to a higher state
	NotTopSorted      Properties = 0x8000000000   // some arc goes to its own state or a lower one
	Accessible        Properties = 0x10000000000  // every state is reached from the start
	NotAccessible     Properties = 0x20000000000  // some state is not reached from the start
	CoAccessible      Properties = 0x40000000000  // every state reaches a final one
	NotCoAccessible   Properties = 0x80000000000  // some state reaches no final one
	String            Properties = 0x100000000000 // states 0…n-1 in a chain, the last alone final
	NotString         Properties = 0x200000000000 // not such a chain
	WeightedCycles    Properties = 0x400000000000 // some arc on a cycle has a weight that is neither 0̄ nor 1̄
	UnweightedCycles  Properties = 0x800000000000 // the weights of arcs on cycles are 0̄ or 1̄
)

const (
	// NullProperties hold for the machine without states.
	NullProperties = Acceptor | IDeterministic | ODeterministic | NoEpsilons | NoIEpsilons | NoOEpsilons |
		ILabelSorted | OLabelSorted | Unweighted | Acyclic | InitialAcyclic | TopSorted |
		Accessible | CoAccessible | String | UnweightedCycles

	binaryProperties   Properties = 0x7
	positiveProperties Properties = 0x555555550000 // the yes bits of the pairs
	negativeProperties Properties = 0xaaaaaaaa0000
	trinaryProperties             = positiveProperties | negativeProperties

	// AllProperties has every bit that means something.
	AllProperties = binaryProperties | trinaryProperties

	labelProperties = Acceptor | NotAcceptor | IDeterministic | NonIDeterministic | ODeterministic | NonODeterministic |
		Epsilons | NoEpsilons | IEpsilons | NoIEpsilons | OEpsilons | NoOEpsilons |
		ILabelSorted | NotILabelSorted | OLabelSorted | NotOLabelSorted
	cycleProperties = Cyclic | Acyclic | InitialCyclic | InitialAcyclic | TopSorted | NotTopSorted | WeightedCycles | UnweightedCycles
)

// Known returns the mask of the pairs that p decides: both bits of each pair of
// which one is set, and the plain bits.
func (p Properties) Known() Properties {
	return binaryProperties | p&trinaryProperties | p&positiveProperties<<1 | p&negativeProperties>>1
}

// Has reports whether all of q hold in p.
func (p Properties) Has(q Properties) bool { return p&q == q }

// What the mutations of a machine leave known, as OpenFst has it: its files
// carry these bits, and some of its operations decide by them.

func addStateProps(p Properties) Properties { return p &^ (Accessible | CoAccessible | String) }

func setStartProps(p Properties) Properties {
	out := p & (binaryProperties | labelProperties | Weighted | Unweighted | Cyclic | Acyclic | TopSorted | NotTopSorted |
		CoAccessible | NotCoAccessible | WeightedCycles | UnweightedCycles)
	if p&Acyclic != 0 {
		out |= InitialAcyclic
	}
	return out
}

func setFinalProps[W semiring.Weight[W]](p Properties, old, w W) Properties {
	if !semiring.IsZero(old) && !semiring.IsOne(old) {
		p &^= Weighted
	}
	if !semiring.IsZero(w) && !semiring.IsOne(w) {
		p = p&^Unweighted | Weighted
	}
	return p & (binaryProperties | labelProperties | Weighted | Unweighted | cycleProperties | Accessible | NotAccessible)
}

func addArcProps[W semiring.Weight[W]](p Properties, q StateID, e, prev *Arc[W]) Properties {
	if e.ILabel != e.OLabel {
		p = p&^Acceptor | NotAcceptor
	}
	if e.ILabel == Epsilon {
		p = p&^NoIEpsilons | IEpsilons
		if e.OLabel == Epsilon {
			p = p&^NoEpsilons | Epsilons
		}
	}
	if e.OLabel == Epsilon {
		p = p&^NoOEpsilons | OEpsilons
	}
	if prev != nil {
		if prev.ILabel > e.ILabel {
			p = p&^ILabelSorted | NotILabelSorted
		}
		if prev.OLabel > e.OLabel {
			p = p&^OLabelSorted | NotOLabelSorted
		}
	}
	if p&Unweighted != 0 || p&Weighted == 0 {
		if !semiring.IsZero(e.Weight) && !semiring.IsOne(e.Weight) {
			p = p&^Unweighted | Weighted
		}
	}
	if e.NextState <= q {
		p = p&^TopSorted | NotTopSorted
	}
	p &= binaryProperties | NotAcceptor | NonIDeterministic | NonODeterministic | Epsilons | IEpsilons | OEpsilons |
		NotILabelSorted | NotOLabelSorted | Weighted | Cyclic | InitialCyclic | NotTopSorted | Accessible | CoAccessible | WeightedCycles |
		Acceptor | NoEpsilons | NoIEpsilons | NoOEpsilons | ILabelSorted | OLabelSorted | Unweighted | TopSorted
	if p&TopSorted != 0 {
		p |= Acyclic | InitialAcyclic
	}
	return p
}

const deleteStatesKept = binaryProperties | Acceptor | IDeterministic | ODeterministic | NoEpsilons | NoIEpsilons | NoOEpsilons |
	ILabelSorted | OLabelSorted | Unweighted | Acyclic | InitialAcyclic | TopSorted | UnweightedCycles

func deleteStatesProps(p Properties) Properties { return p & deleteStatesKept }

func deleteArcsProps(p Properties) Properties {
	return p & (deleteStatesKept | NotAccessible | NotCoAccessible)
}
