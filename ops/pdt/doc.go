// Package pdt has the operations on pushdown transducers: machines some of whose
// labels are parentheses, of which only the paths count whose parentheses balance.
//
// A pushdown transducer (PDT) is an fst.Fst with a list of pairs of labels, one that
// opens and one that closes; they are looked for on the input side of arcs. A
// multi-pushdown transducer (MPDT) has two stacks: each pair belongs to one of them,
// the parentheses of each stack balance by themselves, and the second is read only
// while the first is empty.
//
// Replace makes a PDT of a recursive transition network, that is a context-free
// grammar; Compose intersects it with a finite machine (Bar-Hillel, Perles and
// Shamir); Expand makes a finite machine of it, where its stack is bounded;
// ShortestPath finds its best path without expanding it, and ExpandPruned the part
// near that. All build state by state under ops.Limits, and no recursion grows with
// the input. Expand and its kin find out beforehand whether the stack is bounded, so
// that they end: an unbounded one is an error around ErrUnbounded that says where it
// grows.
//
// Results have the states, arcs and numbering of OpenFst 1.7.9, which the tests
// compare where its tools are installed. Where those crash, loop, or find a path
// that is not the best, these do not: ShortestPath tells.
//
// References: C. Allauzen and M. Riley, "A pushdown transducer extension for the
// OpenFst library", CIAA 2012; C. Allauzen, B. Byrne, A. de Gispert, G. Iglesias and
// M. Riley, "Pushdown automata in statistical machine translation", Computational
// Linguistics 40(3), 2014.
package pdt
