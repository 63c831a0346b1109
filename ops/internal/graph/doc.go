// Package graph treats a machine as a graph, without its weights. It has strongly connected
// components (FindComponents), a topological order or a cycle (TopOrder), the states that the start
// reaches (Reached), and those on no accepting path (Useless, DeadStates).
//
// All take time linear in states and arcs. Answers do not depend on the number of workers.
package graph
