// Package optim is the optimisation layer under every learner: what is minimised (Objective, Sum),
// over what (Set, with projections), and by whom (LBFGS, OWLQN, Stochastic). Package saddle below
// it has games of two players, package score losses of a score. Package run watches, stops, saves
// and resumes runs.
//
//	f := optim.Ridge(optim.NewSum(terms, nil), 0.1)     // Σ_i f_i(x) + 0.05 |x|²
//	r, err := optim.OWLQN{L1: 1}.Minimize(f, start, &run.Control{Ctx: ctx})
//
// # The types to know
//
// An Objective gives value and gradient together. Sum makes one from Terms, a sum over examples,
// using any number of goroutines; the result has the same bits for every number of them. Ridge adds
// λ/2 |x|²; Scaled preconditions. A solver takes an Objective (or Terms, when it draws
// minibatches), a start and a run.Control, and returns a Result. Maximizers are sets over which a
// linear function can be maximised: Simplex, BoxSimplex (capped ones too), SimplexBall, Vertices,
// Polytope. Mixtures describes one of them in numbers that a file can hold.
//
// # Who uses what
//
//	LBFGS       g2p, MULTIBOOST's domain classifier (federated too), federated averaging, tracking's
//	            single events, structured: preimages of output kernels
//	FitDual     sparse
//	Proximal    sparse: peaks, duals of many samples or of fresh draws, Algorithm 1
//	OWLQN       linear, sparse's refits, sequence (with and without l1), saddle.Smoothed, ALMO, margin's
//	            likelihood, resilient: shards and models out of sample
//	Stochastic  sequence; its Methods are the steps of nn's networks, of ALMO and resilient
//	saddle      ALMO: linear models, pronunciation and labels
//	separable   ALMO: dual ascent for saddle.Planes, Newton's method for saddle.Newton
//	score       boosting, MULTIBOOST, linear, skpca, ALMO (Pointwise, and its rows)
//	Newton      skpca: classifiers of few features
//	Interior    skpca: weights of kernels
//	Hinge       skpca: support vector machines of few features
//	Bundle      margin, sequence (max-margin); SimplexQP solves its duals, an interior point l1's
//	Coupled     margin (transfer): a bundle of several tasks
//	CCCP        margin (partial annotations), sequence through it
//	BoxQP       federated classification in one round
//	ConjugateGradient structured: weights of large kernels
//	partition   tracking: best exact covers
//	Descend     boosting and MULTIBOOST: coordinate descent over a dictionary given by an oracle
//	run.Loop    the solvers above; by themselves federated, margin (perceptron, active), resilient,
//	            skpca, sparse, structured
//
// # What may be relied on
//
//   - The same inputs give the same iterates, bit for bit, for any number of workers. Floats are
//     added in an order that depends only on the problem.
//   - Eval never changes x, and does not touch grad when it is nil.
//   - An error inside Eval, a cancelled context or an error of the Recorder stops the solver within
//     one evaluation. The Result beside the error then holds the best point so far.
//   - A NaN value or gradient is an error, never an iterate.
//
// # Why it is so
//
// One dense gradient per worker would be fast, but the bits would then depend on how examples are
// assigned to workers. Fixed blocks with one dense gradient each take blocks·dim floats, 128 MB for
// 16 blocks and a million weights. Sum does that for dense gradients (SumOptions.Dense). For sparse
// gradients it logs the additions and replays them stripe by stripe, which gives the bits of the
// serial loop. A learner with structure can do better: package sequence has an Objective of its
// own.
//
// LBFGS is gonum's. OWLQN is our own, since gonum has no l1. With L1 = 0 it is an L-BFGS whose
// vector work runs on all workers and reads each stored vector twice an iteration instead of four
// times.
//
// Start reading at objective.go, then control.go, then a solver.
package optim
