// Package lattice is the output space of acyclic acceptors: the outputs of an input are the strings
// of its lattice, and features are on arcs.
//
//	b := lattice.NewBuilder(4)
//	b.Arc(0, 1, 1, lattice.Feature{At: 0, Value: 1})    // from, to, label, features
//	b.Final(1)
//	lat, err := b.Lattice()
//	a, err := lat.Annotate(&lattice.Constraint{Right: c})   // any regular language
//	y, err := lattice.Space{Weights: 4}.ArgmaxWithin(ctx, lat, w, a)
//
// # The types to know
//
// Lattice is an input. Constraint is an annotation as a user writes it: an acceptor of the right
// strings, and a loss. Annotation is that prepared for one lattice. Path is an output: a string
// with the arcs that it takes. Chain makes the lattice of a linear-chain tagger. Positions makes
// the constraint of labels known at some positions, Edits and Transduced those of a loss by
// transducer.
//
// # What may be relied on
//
//   - f(x, y) is the score of the best path of string y. Its features are those of that path. In
//     lattices with several paths for a string, Path therefore depends on the weights. KBest has no
//     string twice. LogZ sums over paths.
//   - A loss is a deterministic machine, one path a string, before it is added to scores. One given
//     by a transducer is a minimum over alignments: its machine is composed with the lattice,
//     determinized, and only then maximised. Without that the maximum would use the worst alignment
//     of a string instead of its loss.
//   - Intersections keep the arcs of the lattice by number, so that features can be read from the
//     result.
//
// # References
//
// M. Mohri, "Weighted automata algorithms", in Handbook of Weighted Automata, 2009. M. Mohri
// and M. Riley, "An efficient algorithm for the n-best-strings problem", ICSLP 2002.
package lattice
