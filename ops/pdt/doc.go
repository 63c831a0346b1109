// Package pdt has the operations on pushdown transducers: machines where some labels are
// parentheses, and only paths with balanced parentheses count.
//
// A pushdown transducer (PDT) is an fst.Fst with a list of pairs of labels, one that opens and one
// that closes. Parentheses are looked for on the input side of arcs. A multi-pushdown transducer
// (MPDT) has two stacks, and each pair of parentheses belongs to one of them. The parentheses of
// each stack balance separately, and the second stack is read only while the first is empty.
//
// The operations are:
//
//   - Replace makes a PDT of a recursive transition network, that is, of a context-free grammar.
//   - Compose intersects a PDT with a finite machine (Bar-Hillel, Perles and Shamir).
//   - Expand makes a finite machine of a PDT with a bounded stack. Otherwise it ends with an error
//     around ErrUnbounded that says where the stack grows.
//   - ShortestPath finds the best path of any PDT without expanding it.
//   - ExpandPruned expands the part near the best path. The stack may be unbounded if that part is
//     finite; otherwise the error says where it grows.
//
// All build state by state under ops.Limits, and no recursion grows with the input.
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
