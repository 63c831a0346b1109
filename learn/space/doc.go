// Package space is the interface between learners and structured outputs. A Space scores the
// outputs of an input, finds the best of them, and measures how wrong they are. Learners written
// against it, such as those of package margin, run on every space.
//
//	y, err := s.Argmax(ctx, x, w)                  // predict
//	v, err := s.ArgmaxLoss(ctx, x, w, a)           // the most violated output
//	z, err := s.ArgmaxWithin(ctx, x, w, a)         // the best that agrees with the annotation
//	s.AddPhi(grad, 1, x, v.Y)
//	s.AddPhi(grad, -1, x, z.Y)                     // a subgradient of the structured hinge
//
// # The types to know
//
// Space has three type parameters: inputs X, outputs Y and annotations A. An annotation says which
// outputs are right: one where it is complete, several where it is partial. Solution is an output
// with its value and a bound. Sample is an input with its annotation.
//
// Package lattice below has the space of acyclic acceptors of the engine, package sequence that
// of its taggers, package tracking that of assignments. Package spacetest checks any of them
// against enumeration.
//
// # What may be relied on
//
//   - Scores are maximised: f(x, y; w) = ⟨w, Φ(x, y)⟩. Spaces over tropical machines negate the
//     scores themselves.
//   - Methods may be called from several goroutines at once, and give the same result each time.
//   - A set without outputs is an *EmptyError, never a score of zero.
//   - ArgmaxLoss prefers the larger loss among equals. At w = 0 it would otherwise return the
//     annotation, and its cut would be uninformative.
//   - Value is that of the output returned. UpperBound holds for every output of the set, so
//     cuts are made of Value, and certificates of UpperBound.
//
// # References
//
// I. Tsochantaridis, T. Joachims, T. Hofmann and Y. Altun, "Large margin methods for structured
// and interdependent output variables", JMLR 6, 2005. X. Lou and F. Hamprecht, "Structured
// learning from partial annotations", ICML 2012.
package space
