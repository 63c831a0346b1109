// Package partition finds the best exact cover. Among sets with scores it chooses those that
// contain every element exactly once and have the largest sum of scores. It is weighted set
// partitioning, the integer program behind tracking by assignment, and it needs no other solver.
//
//	c, err := partition.New(3, [][]int32{{0}, {1}, {2}, {0, 2}, {1, 2}})
//	s, err := c.Solve(ctx, []float64{0, 0, 0, 1.5, 2}, nil)
//	s.Sets    // 0, 4: the sets {0} and {1, 2}
//	s.Value   // 2
//	s.Optimal // true: s.Bound proves it
//
// # The types to know
//
// Cover is the structure, without scores: it is made once and solved with many. Solution has
// the sets chosen, their value, and a bound that no cover exceeds.
//
// # How it is solved
//
// A set whose score is -Inf is forbidden. Forcing a set forbids all sets that intersect it; see
// Force. Elements that only one set can cover are settled first, and the rest falls into components
// that share no element. A component of sets of one or two elements that forms a bipartite graph is
// an assignment, solved by shortest augmenting paths. Any other is solved by branch and bound. The
// bound is Lagrangian, with a multiplier u for every element:
//
//	Σ_v u_v + Σ_h max(0, s_h - Σ_{v in h} u_v)
//
// Block coordinate descent lowers it first, then subgradient steps. Sets that cannot be in a better
// cover than the best one known are dropped, and the remainder is split into components again. Most
// problems end there without a branch.
//
// # What may be relied on
//
//   - Optimal is a proof, up to 1e-9 of the largest score for every element. The linear
//     relaxation is never rounded.
//   - With a limit of nodes, the best cover found comes with its bound; Optimal is then false.
//   - The result depends only on the structure and the scores, not on time.
//   - A cancelled context is obeyed within 0.1 s.
//
// # References
//
// M. Fisher, "The Lagrangian relaxation method for solving integer programming problems",
// Management Science 27, 1981. R. Jonker and A. Volgenant, "A shortest augmenting path algorithm
// for dense and sparse linear assignment problems", Computing 38, 1987. K. Murty, "An algorithm for
// ranking all the assignments in order of increasing cost", Operations Research 16, 1968; E.
// Lawler, Management Science 18, 1972.
package partition
