// Package sparse fits functions of few kernels, each with its own centre and width. These are
// sparse functions over a family of reproducing kernel Hilbert spaces.
//
//	m, result, err := sparse.Train(t, &sparse.Options{Eps: 0.02}, nil) // a table
//	m.WriteSource(w, sparse.C, "predict")                              // a function without dependencies
//
//	p := &sparse.Problem{X: x, Dim: 1, Y: y}                           // points
//	cells, err := sparse.Grid(sparse.Around(x, 1, 1, 0.1, 1), 200, 12) // centres and widths
//	s, _, err := sparse.Solve(p, &sparse.SolveOptions{Eps: 0.01, Gamma: 1, Cells: cells}, nil)
//	d, err := sparse.Discretize(p, s, optim.TubeBound, 0.01, &sparse.DiscreteOptions{Joint: true}, nil)
//
// The function is f(x) = ∫ α(z, w) k(x, z; w) dz dw over a compact set of centres and widths. It
// has the least ∫ α²/2 plus Gamma times the measure of the support of α, of all functions that fit
// the samples within a bound. The problem is not convex, but has no duality gap, and its dual is
// concave with one multiplier for each sample.
//
// # The types to know
//
// Cells are where the integral is evaluated: Grid, Candidates, FixedSample or fresh draws. Solve
// gives a Solution: α on the cells, and the multipliers. Discretize takes the peaks of α and makes
// a Discrete model, a Sum of kernels. Train does all of it for a table, and gives a Model. KOMP is
// a greedy method for comparison.
//
// # What may be relied on
//
//   - The gap is a certificate: no function on the cells within the bound is less complex than
//     Solution.Dual. On a grid a cell at the edge of the support may be partly in use. Primal and
//     dual then meet to any accuracy.
//   - Train without an Eps always has a function. Noisy rows exceed the bound at a price, or the
//     total hinge is what a ridge regression with the same kernels has. An Eps that is given is
//     kept, or is an error.
//   - Eps of a tube is a bound on squared errors, that of a hinge on the sum over all samples.
//   - The measure is Lebesgue's: a domain that reaches further leaves the function as it is, but a
//     normalised measure has another Gamma. Candidates measure widths only.
//   - A peak on the boundary of the domain is reported, since a larger domain may have a higher
//     one.
//   - Functions have no constant unless a refit is given one.
//   - Results have the same bits for any number of workers.
//
// # Departures from the source
//
// Signs, the volume of draws, and the joint reading of the total hinge loss are corrected as noted
// where they occur. Algorithm 1 is included for comparison. It divides by μ, which is near zero
// where a bound is slack, and does not converge on problems with such samples.
//
// # References
//
// M. Peifer, Balancing Fit and Complexity in Learned Representations, dissertation, chapter 2;
// M. Peifer, L. Chamon, S. Paternain and A. Ribeiro, "Sparse multiresolution representations with
// adaptive kernels", IEEE Trans. Signal Processing 68, 2020. Start reading at solve.go, whose
// duals are those of optim.FitDual, then peaks.go and refit.go.
package sparse
