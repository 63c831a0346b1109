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
// the input. Expand finds out on the way whether the stack is bounded, so
// that it ends: an unbounded one is an error around ErrUnbounded that says where it
// grows. ExpandPruned takes an unbounded one where what is near the best path is finite,
// and says where that grows if not. ShortestPath takes any.
//
// Results have the states, arcs and numbering of OpenFst 1.7.9, which the tests
// compare where its tools are installed. Where those crash, loop, or find a path
// that is not the best, these do not: ShortestPath tells.
//
// What was tried, and is no more there; `go test -run=NONE -bench=. ./ops/pdt` measures what is:
//
//   - The test of the stack before Expand, which summed up the balanced paths from all
//     that is entered, and took many times what the expansion takes, in which
//     entries share their stacks. Now it looks at
//     the arcs within components first, begins when the result outgrows the input, and
//     takes a step for every four arcs from there on.
//   - ShortestPath with one table of all pairs of a source and a state. A small table or an array for each
//     source, which is given back with its search, and a list of the arcs that leave it
//     without those that are no better than one before, took less, the more so the larger the machine.
//   - ExpandPruned with a measure of each arc of each configuration against all that closes its
//     stack, and each exit of a search offered to each that enters it, no matter whether another
//     is better: for wide thresholds it had no end in sight. Once a configuration, exits that improve something, and states of a
//     search in topological order. What is left is mostly the search.
//   - ShortestPath and ExpandPruned of machines with an unbounded stack by rounds, in which all searches go on as far as they
//     do. Now they go in the order of the best paths from the start through what is searched,
//     to the end at least, only as far as a path may be the best. Without the bound from ahead, which heeds whether the stack is
//     empty, a machine without any path came to all pairs of states, and combined
//     them as in the cube of their number. Arcs better than 1̄ still take rounds.
//   - Labels looked up in a map: an array takes less in Expand, Compose and Replace.
//
// References: C. Allauzen and M. Riley, "A pushdown transducer extension for the
// OpenFst library", CIAA 2012; C. Allauzen, B. Byrne, A. de Gispert, G. Iglesias and
// M. Riley, "Pushdown automata in statistical machine translation", Computational
// Linguistics 40(3), 2014.
package pdt
