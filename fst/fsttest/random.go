// Package fsttest helps to test operations on machines: random machines, the
// relation that a machine stands for by enumeration of its paths, comparison
// within a tolerance, and OpenFst's tools where they are installed.
//
// What is here follows definitions in the plainest way, and shares no code with
// what it checks.
package fsttest

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// Options shapes random machines. The zero value gives acyclic transducers
// over labels 1 to 3, without epsilons, not deterministic, arcs in random order.
type Options struct {
	Labels        int     // labels are 1 … Labels; zero is 3
	Degree        float64 // mean number of arcs of a state; zero is 2
	Epsilon       float64 // chance that a label is epsilon, on each side (of an acceptor: on both at once)
	Final         float64 // chance that a state is final; zero is 0.4
	Cyclic        bool    // arcs may go anywhere; else only to higher states
	EpsilonCycles bool    // with Cyclic: cycles of ε:ε arcs may arise; else such arcs go to higher states
	Acceptor      bool
	Deterministic bool // no two arcs of a state have the same input label, and none is epsilon
	Sorted        bool // arcs by input label, then output label
	Start         bool // the start may be any state (of an acyclic machine most are then cut off); else it is 0
}

// Random returns a machine of the given number of states, whose arc and final
// weights come from weight. At most one Options may be given; without any, it
// is an acyclic transducer with epsilons. The same rng gives the same machine.
func Random[W semiring.Weight[W]](rng *rand.Rand, states int, weight func(*rand.Rand) W, opts ...Options) *fst.Vector[W] {
	o := Options{Epsilon: 0.2}
	if len(opts) > 0 {
		o = opts[0]
	}
	if o.Labels == 0 {
		o.Labels = 3
	}
	if o.Degree == 0 {
		o.Degree = 2
	}
	if o.Final == 0 {
		o.Final = 0.4
	}
	v := fst.NewVector[W](states)
	v.AddStates(states)
	if states == 0 {
		return v
	}
	if o.Start {
		v.SetStart(fst.StateID(rng.IntN(states)))
	} else {
		v.SetStart(0)
	}
	for q := range fst.StateID(states) {
		var arcs []fst.Arc[W]
		used := map[fst.Label]bool{}
		for range int(2*o.Degree*rng.Float64() + 0.5) {
			e := fst.Arc[W]{ILabel: o.label(rng), OLabel: o.label(rng)}
			if o.Deterministic {
				e.ILabel = fst.Label(1 + rng.IntN(o.Labels))
				if used[e.ILabel] {
					continue
				}
				used[e.ILabel] = true
			}
			if o.Acceptor {
				e.OLabel = e.ILabel
			}
			forward := !o.Cyclic || e.ILabel == fst.Epsilon && e.OLabel == fst.Epsilon && !o.EpsilonCycles
			switch {
			case !forward:
				e.NextState = fst.StateID(rng.IntN(states))
			case int(q) < states-1:
				e.NextState = q + 1 + fst.StateID(rng.IntN(states-1-int(q)))
			default:
				continue
			}
			e.Weight = weight(rng)
			arcs = append(arcs, e)
		}
		if o.Sorted {
			slices.SortStableFunc(arcs, func(a, b fst.Arc[W]) int {
				return cmp.Or(cmp.Compare(a.ILabel, b.ILabel), cmp.Compare(a.OLabel, b.OLabel))
			})
		}
		for _, e := range arcs {
			v.AddArc(q, e)
		}
		if rng.Float64() < o.Final || int(q) == states-1 {
			v.SetFinal(q, weight(rng))
		}
	}
	return v
}

func (o *Options) label(rng *rand.Rand) fst.Label {
	if o.Epsilon > 0 && rng.Float64() < o.Epsilon {
		return fst.Epsilon
	}
	return fst.Label(1 + rng.IntN(o.Labels))
}

// String returns the machine that accepts one string of labels with weight 1̄.
func String[W semiring.Weight[W]](labels ...fst.Label) *fst.Vector[W] {
	v := fst.NewVector[W](len(labels) + 1)
	v.AddStates(len(labels) + 1)
	v.SetStart(0)
	one := semiring.One[W]()
	for q, l := range labels {
		v.AddArc(fst.StateID(q), fst.Arc[W]{ILabel: l, OLabel: l, Weight: one, NextState: fst.StateID(q + 1)})
	}
	v.SetFinal(fst.StateID(len(labels)), one)
	return v
}
