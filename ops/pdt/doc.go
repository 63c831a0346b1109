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
// What was tried, on machines of 2000 to 20,000 arcs without cycles, a third of the arcs
// parentheses of one pair or three, by whole processes in turn with OpenFst's:
//
//   - The test of the stack before Expand, which summed up the balanced paths from all
//     that is entered: 104 s at 20,000 arcs and 3.9 at 8000, where the expansion, in which
//     entries share their stacks, takes 1.2 and .14 (OpenFst 2.1 and .29). Now it looks at
//     the arcs within components first, begins when the result outgrows the input, and
//     takes a step for every four arcs from there on. An unbounded stack of 200,000 arcs is
//     found in .3 s.
//   - ShortestPath with one table of all pairs of a source and a state: .40 s at 2000 arcs
//     of one pair, where OpenFst took .34, and steeper. A small table or an array for each
//     source, which is given back with its search, and a list of the arcs that leave it
//     without those that are no better than one before: .11 (OpenFst .39), and .63 at 4000
//     of three pairs (OpenFst 5.1).
//   - ExpandPruned with a measure of each arc of each configuration against all that closes its
//     stack, and each exit of a search offered to each that enters it, no matter whether another
//     is better: 19 s at 8000 arcs of one pair and a threshold of .5, and no end in a minute at one of 2 (OpenFst 330 s and
//     more). Once a configuration, exits that improve something, and states of a search in topological
//     order: 3.3 s and 3.9, and at 20,000 arcs 45 s and 49. What is left is the search (two thirds).
//   - ShortestPath and ExpandPruned of random machines with an unbounded stack, of four arcs a state, a third of
//     them parentheses of three kinds. By rounds, in which all searches go on as far as they do: 1.5 s at 400 states
//     and 47 at 800, no end in minutes at 3000. In the order of the best paths from the start through what is searched,
//     to the end at least, only as far as a path may be the best: .001 s at 800, .002 to .02 at 3000, as for 9000
//     to 12,000 arcs of two to four kinds. Without the bound from ahead, which heeds whether the stack is empty, a
//     machine of 3000 states without any path took 26 s to a minute, since it came to all pairs of states, and combined
//     them as in the cube of their number: now .001. (OpenFst: an error.) Arcs better than 1̄ still take rounds.
//   - Labels looked up in an array in place of a map: a tenth to a fifth of Expand, Compose
//     and Replace.
//
// References: C. Allauzen and M. Riley, "A pushdown transducer extension for the
// OpenFst library", CIAA 2012; C. Allauzen, B. Byrne, A. de Gispert, G. Iglesias and
// M. Riley, "Pushdown automata in statistical machine translation", Computational
// Linguistics 40(3), 2014.
package pdt
