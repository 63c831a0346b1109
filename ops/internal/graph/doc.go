// Package graph has what operations ask of a machine as a graph, weights aside: strongly connected
// components (FindComponents), a topological order or a cycle (TopOrder), what the start reaches
// (Reached) and what lies on no accepting path (Useless, DeadStates).
//
// All take time linear in states and arcs. Answers do not depend on the number of workers.
package graph
