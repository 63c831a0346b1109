// Package skpca projects rows onto a few features of several kernels, and classifies them there. It
// chooses kernel weights, and so the features, together with the classifier. Kernel PCA keeps the
// directions of most variance, which need not be informative of the labels.
//
//	o := &skpca.Options{Rank: []int{5, 10}, Kernels: []string{"linear", "gaussian:0.5", "gaussian:1"}}
//	m, result, err := skpca.Train(t, o, nil)       // rank by cross-validation
//	s, err := m.Predict(ctx, rows, 0)              // scores and probabilities
//	z, err := m.Transform(ctx, rows, 0)            // the features, for other learners
//	m.Kernels(), m.Weights(), m.Counts()           // which kernels, how heavy, how many features
//	b := m.Bounds()                                // what the theory promises, with caveats in Explain
//
// # The types to know
//
// Train takes Options and gives a Model. Decompose computes the eigenfunctions of a table once,
// for many fits by Spectra.Path.
//
// # What is minimised
//
// For kernels K_k with eigenvalues λ_kj and eigenfunctions φ_kj on the sample U, and counts c
// of features with sum r, P(c) is
//
//	min (1/m) Σ_i ℓ(y_i Σ_{j≤c_k} θ_kj φ_kj(x_i)) + (γ/2) Σ_k ‖θ_k‖²/μ_k
//
// over θ and weights μ ≥ 0 with Σμ ≤ 1, Σ1/μ ≤ ν and the r largest μ_kλ_kj being those of c, with a
// sum of at most Λ. It is jointly convex. Alternating a classifier (package optim) and a barrier
// method for μ reaches its optimum, which a certificate bounds. The objective jumps between cells,
// so counts are searched: all of them, or by moves of one feature.
//
// # What may be relied on
//
//   - Results have the same bits for any number of workers, and files give them back.
//   - The set of features is stored: prediction never finds it again from μ.
//   - Search exact is the global optimum for its constants. Search local is one that no move of a
//     feature between two kernels improves by 1e-6. Search two-stage is not an optimum.
//   - A share of the trace (Options.Trace) sets the number of features by the sample U alone, on each
//     fold anew.
//   - Unlabelled rows are those of weight 0. Rows held out of a fold are never in U.
//   - Constraints without a solution are a *FeasibilityError with the least ν and Λ.
//   - With more than two classes there is a score for each, against the rest, on shared
//     features: losses and ‖θ‖² are added up over the classes.
//
// # Where to read
//
// Start reading at region.go, which has the sets of weights, then cell.go, the solver of P(c), and
// search.go, which searches the counts. part.go has the eigenfunctions (whole samples, landmarks,
// random features, second moments), bounds.go the theory.
//
// The method is chapter 7 of the thesis, "supervised kernel projection", whose hypotheses and
// bounds these are; the algorithm is our own. Features live in the direct sum of the
// kernels' spaces, so that kernels may depend on one another.
package skpca
