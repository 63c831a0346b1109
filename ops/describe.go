package ops

import (
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/graph"
	"github.com/tropica-fst/tropica/semiring"
)

// ArcFilter says along which arcs a search goes.
type ArcFilter uint8

const (
	AnyArc      ArcFilter = iota
	EpsilonArc            // input and output are ε
	IEpsilonArc           // the input is ε
	OEpsilonArc           // the output is ε
)

// keepArcs returns the test for f's arcs, nil for all.
func keepArcs[W any](f ArcFilter) func(*fst.Arc[W]) bool {
	switch f {
	case EpsilonArc:
		return isEpsilon[W]
	case IEpsilonArc:
		return func(e *fst.Arc[W]) bool { return e.ILabel == fst.Epsilon }
	case OEpsilonArc:
		return func(e *fst.Arc[W]) bool { return e.OLabel == fst.Epsilon }
	}
	return nil
}

// DescribeOptions adjusts Describe; nil is the same as the zero value.
type DescribeOptions struct {
	// Along restricts the arcs by which states count as accessible, coaccessible
	// or connected with each other; nothing else depends on it.
	Along ArcFilter
	// KnownOnly leaves Properties at what the machine remembers.
	KnownOnly bool
	// SizeOnly counts states, arcs and final states, and nothing else but the known properties.
	SizeOnly bool
}

// Description is what Describe counts.
type Description struct {
	States, Arcs, Finals             int
	Start                            fst.StateID // NoState if there is none
	Epsilons, IEpsilons, OEpsilons   int         // arcs ε:ε, with input ε, with output ε
	IMultiplicity, OMultiplicity     float64     // how many arcs of its state share the label of an arc, on average
	Accessible, CoAccessible, Useful int         // states reached from the start, that reach a final state, both
	Components, StrongComponents     int         // weakly and strongly connected
	Properties                       fst.Properties
}

// Describe counts what is to be said of a machine: OpenFst's fstinfo prints it.
// A machine without a start state has no components and no accessible states,
// as there.
//
// Cost: O(states + arcs) (with SizeOnly, O(states)), and a sort of the labels of states that are
// not sorted by them.
func Describe[W semiring.Weight[W]](f fst.Expanded[W], opts *DescribeOptions) *Description {
	var o DescribeOptions
	if opts != nil {
		o = *opts
	}
	d := &Description{States: f.NumStates(), Start: f.Start()}
	if o.KnownOnly || o.SizeOnly {
		if p, ok := f.(fst.Propertied); ok {
			d.Properties = p.KnownProperties()
		}
	} else {
		d.Properties = fst.PropertiesOf[W](f, fst.AllProperties)
	}
	zero := semiring.Zero[W]()
	var labels []fst.Label
	for q := range fst.StateID(d.States) {
		if !f.Final(q).Equal(zero) {
			d.Finals++
		}
		arcs := f.Arcs(q)
		d.Arcs += len(arcs)
		if o.SizeOnly {
			continue
		}
		labels = labels[:0]
		for i := range arcs {
			e := &arcs[i]
			if e.ILabel == fst.Epsilon {
				d.IEpsilons++
				if e.OLabel == fst.Epsilon {
					d.Epsilons++
				}
			}
			if e.OLabel == fst.Epsilon {
				d.OEpsilons++
			}
			labels = append(labels, e.ILabel)
		}
		d.IMultiplicity += sumSquares(labels)
		for i := range arcs {
			labels[i] = arcs[i].OLabel
		}
		d.OMultiplicity += sumSquares(labels)
	}
	if o.SizeOnly {
		return d
	}
	if d.Arcs > 0 {
		d.IMultiplicity /= float64(d.Arcs)
		d.OMultiplicity /= float64(d.Arcs)
	}
	if d.Start != fst.NoState {
		countConnected(d, f, keepArcs[W](o.Along))
	}
	return d
}

// countConnected fills in what depends on which states reach which.
func countConnected[W semiring.Weight[W]](d *Description, f fst.Expanded[W], keep func(*fst.Arc[W]) bool) {
	all, co := graph.FindComponents(f, keep, graph.WantCoaccess)
	reached, _ := graph.FindComponents(f, keep, graph.FromStart)
	d.StrongComponents = all.N
	d.Components = d.States
	parent := make([]fst.StateID, d.States)
	for q := range parent {
		parent[q] = fst.StateID(q)
	}
	root := func(q fst.StateID) fst.StateID {
		for parent[q] != q {
			parent[q] = parent[parent[q]]
			q = parent[q]
		}
		return q
	}
	for q := range fst.StateID(d.States) {
		if reached.Of[q] >= 0 {
			d.Accessible++
			if co[q] {
				d.Useful++
			}
		}
		if co[q] {
			d.CoAccessible++
		}
		arcs := f.Arcs(q)
		for i := range arcs {
			if keep != nil && !keep(&arcs[i]) {
				continue
			}
			// The lower root wins: no ranks, but paths are halved as they are walked.
			if a, b := root(q), root(arcs[i].NextState); a != b {
				parent[max(a, b)] = min(a, b)
				d.Components--
			}
		}
	}
}

// sumSquares returns the sum of the squares of how often each label occurs. It
// sorts the labels.
func sumSquares(labels []fst.Label) float64 {
	if !slices.IsSorted(labels) {
		slices.Sort(labels)
	}
	sum, run := 0.0, 0
	for i, l := range labels {
		run++
		if i+1 == len(labels) || labels[i+1] != l {
			sum += float64(run) * float64(run)
			run = 0
		}
	}
	return sum
}
