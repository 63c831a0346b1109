// Package structured predicts outputs of any kind under any loss: classes, numbers, sets of
// labels, histograms, vectors, rankings and strings.
//
//	w, err := structured.NewWeights(k, inputs, nil, 1e-3, nil, nil)  // kernel ridge regression
//	alpha, err := w.Weights(ctx, queries, 0)                         // a weight for each training output
//	d, err := structured.NewRanking(ratings, items, nil)             // a decoder of a loss
//	order, err := structured.Decode(ctx, d, alpha[:w.Len()])         // for the first query
//	fmt.Println(order.Output, order.Value, order.LowerBound, order.Exact)
//
// The prediction for x is the y with the least F(y) = Σ_i α_i(x) Δ(y, y_i). The y_i are the
// training outputs, Δ(prediction, truth) is the loss, and α(x) = (K + nλI)⁻¹ K_x depends on the
// inputs only. That is consistent for every loss that is a bilinear form of features of the
// outputs, which all losses on finitely many outputs are.
//
// # The types to know
//
// WeightModel turns queries into weights. A Decoder turns weights into an output, returned as a
// Decoded with its value, a lower bound and what was proved. Train makes a Model of both from Data,
// and chooses λ by the loss of left-out examples.
//
// # What may be relied on
//
//   - Weights may have any sign, and need not add up to one: no decoder assumes either.
//   - ExactOverSpace is claimed only where no output has a lower F, ExactOverCandidates only where
//     no candidate has. Results of a search that ended early are Bounded, and LowerBound holds.
//   - Ties go to the lowest number, or to what comes first in order. Results have the same bits
//     for any number of workers.
//   - Weights that are all zero give the output of least mean loss, marked Degenerate.
//   - λ is the penalty of the mean squared error. C = nλ is added to the matrix, and stays the same
//     when examples are left out.
//
// # Decoders
//
//	MultiClass, Finite, Candidates   0-1 loss; any matrix of losses; any list      exact
//	Hamming, Sets                    sets: Hamming, F1, precision, recall          exact
//	                                 Jaccard                                       heuristic
//	Ranking                          rank loss, all rated, or up to 20 in a cycle  exact
//	                                 larger feedback arc sets                      bounded
//	Histogram                        squared Hellinger                             exact
//	                                 Hellinger as printed, chi²                    bounded
//	Vectors; Gaussian                squared distance; Gaussian kernel loss        exact; heuristic
//	Scalar                           squared, piecewise linear, logistic           exact
//	                                 robust losses                                 bounded
//	Strings                          losses of package losses, over a Lattice      see Method
//	GramStrings                      losses of n-gram counts                       exact or bounded
//	Sketch                           strings of a Lexicon of up to millions        exact or bounded
//
// Exact decoding of strings is hard in general (the weighted median string is NP-hard), so searches
// have a budget and report the gap. The methods prove this:
//
//   - Position: exact, one shortest path; for Hamming's loss, which is additive.
//   - List: exact; every string of the lattice, with prefixes shared.
//   - Intersection: exact; the product of all machines, exponential in their number.
//   - BestFirst: exact where it ends within the budget, else bounded. For losses with rows: edit
//     and local alignment losses.
//   - KBest: exact where the bound of the next string reaches the best, else bounded.
//   - LocalSearch: heuristic.
//
// # The sign rule
//
// A machine of an edit loss has a path for every alignment of a string, and the least path counts.
// Multiplied by a negative number, the worst would count. Machines are therefore determinized
// first, one path a string. Losses that are sums over alignments are determinized in the semiring
// that adds.
//
// # Differences from the paper
//
// The kernel dependency estimator is printed with h(y,x) for h(y,y). The Hellinger loss (22) lacks
// a square that its table needs: both are here. The comparison inequality needs twice the constant
// c_Δ that is printed. Robust losses have their usual forms, from P. Huber and E. Ronchetti,
// "Robust Statistics", 2009.
//
// # Rivals
//
// Models do not keep the inverse or the factor of the Gram matrix. Files would have n² numbers for
// a factorisation that takes a second at n = 5000. For decoding one string once, rows of alignments
// were slower than package losses' automata: one automaton is made for each training output and
// lattice. They serve KBest and Intersection.
//
// References: C. Ciliberto, A. Rudi, L. Rosasco, "A consistent regularization approach for
// structured prediction", NIPS 2016. P. Eades, X. Lin, W. Smyth, "A fast and effective heuristic
// for the feedback arc set problem", Information Processing Letters 47, 1993. M. Mohri, M.
// Riley, "An efficient algorithm for the n-best-strings problem", ICSLP 2002.
package structured
