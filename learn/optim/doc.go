// Package optim is the optimisation layer under every learner: what is
// minimised (Objective, Sum), where (Set, with its projections), by whom
// (LBFGS, OWLQN, Stochastic; SaddlePoint and Smoothed for games of two players), and
// how a run is watched, stopped, saved and taken up again (Control, Recorder,
// Checkpoint).
//
// # The types to know
//
// An Objective gives value and gradient together. Sum makes one from Terms, a
// sum over examples, using any number of goroutines; the result has the same
// bits for every number of them. Ridge adds λ/2 |x|²; Scaled preconditions. A
// solver takes an Objective (or Terms, when it draws minibatches), a start and a
// Control, and returns a Result.
//
// A Saddle is a function to be minimised over w and maximised over λ. SaddlePoint
// takes gradient steps, Smoothed needs none of their lengths, and Certify bounds how
// far from the value of the game a point can be: from above by the best answer of λ,
// exactly, and from below by convexity, after w was really minimised over. Sets of λ
// are Simplex, BoxSimplex (capped ones too), SimplexBall, Vertices and Polytope.
//
// # What may be relied on
//
//   - The same inputs give the same iterates, bit for bit, for any number of
//     workers: floats are added in an order that depends on the problem alone.
//   - Eval never changes x, and leaves grad alone when it is nil.
//   - An error inside Eval, a cancelled context or an error of the Recorder stops
//     the solver within one evaluation; the Result then holds the best point so
//     far beside the error.
//   - A value or gradient that is NaN is an error, never an iterate.
//
// # Why it is so
//
// One dense gradient per worker would be the fast way to a parallel sum, but then
// the bits depend on how examples fall to workers. Fixed blocks with one dense
// gradient each take blocks·dim floats, 128 MB at 16 blocks and a million
// weights; Sum keeps that for dense gradients (SumOptions.Dense), and for sparse
// ones logs the additions and replays them stripe by stripe, which gives the bits
// of the serial loop. A learner with structure can do better: package sequence
// has an Objective of its own.
//
// LBFGS is gonum's. OWLQN is ours, since gonum has no l1; with L1 = 0 it is an
// L-BFGS whose vector work runs on all workers and reads each stored vector twice
// an iteration instead of four times.
//
// Only averages of descent and ascent converge; last points go round in circles (the
// bilinear game in saddle_test.go). They are averages of the points where gradients
// were evaluated, which is what the proof of Theorem 5.4 bounds, and not of their
// successors, as the thesis prints.
//
// Start reading at objective.go, then control.go, then a solver; for games at
// saddle.go, saddlesolve.go, saddlecert.go.
package optim
