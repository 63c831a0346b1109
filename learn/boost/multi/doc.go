// Package multi learns one classifier for rows of several sources, or domains, when the mixture of
// sources at the time of use is not known. The algorithm is MULTIBOOST, after chapter 4 and
// appendix B of the thesis on large-scale learning that package boost follows; "eq. 4.3" and
// "Theorem 4.4" refer to it.
//
//	data, err := multi.NewData(t, boost.Logistic{}) // t has sources
//	if err != nil {
//		return err
//	}
//	model, _, err := multi.Train(data, &multi.Options{}, nil)
//	if err != nil {
//		return err
//	}
//	return model.Write(w)
//
// # The types to know
//
// NewData takes a table with sources (learn/dataset/table). Train returns a Model: scores,
// classes, Write and Read. The model is a Q-ensemble,
//
//	f(x) = Σ_l Q(l|x) Σ_j alpha_{l,j} h_{l,j}(x),   alpha >= 0,
//
// where Q(l|x), a Classifier, is the probability that x comes from source l. FitQ trains one,
// multinomial logistic regression on the sources, and can also use rows without labels; any other
// can be given. Rows to predict need no source.
//
// Options choose the objective and its solver. Bounds evaluates the generalisation bounds.
// TrainBaseline and CrossValidate compare with AdaBoost on one source, or on all. Start reading at
// state.go and round.go, then q.go; maximum.go is the literal algorithm.
//
// # Why Q
//
// Take two sources that are each a single point, with different labels. Any convex combination of
// their own best predictors errs on at least half of the even mixture. Every Q-ensemble with both
// in it makes no error, whatever the mixture (propositions 4.1 and 4.2; a test).
//
// # What may be relied on
//
//   - The same data and options give the same model, byte for byte. This holds for any number of
//     workers, and for a run that is interrupted and resumed from a checkpoint.
//   - With one source the model is AdaBoost's, tree by tree.
//   - alpha is not negative and |h| <= 1, as the bounds require. The classes of base predictors are
//     closed under negation.
//   - With a fixed mu every round lowers the objective, for every objective but Max with the steps
//     Closed and SqrtStep.
//   - A score of zero predicts the first class, and errors are those of predicted classes.
//
// # Why the default is not figure 4.1
//
// The figure minimises max_k F_k by coordinate descent, one term at a time on a source of largest
// loss. That stalls at the first step. At alpha = 0 all losses are Phi(0), so every source has the
// largest one. A step then lowers the maximum only if it lowers all of them. Section 4.3 shows only
// that a step lowers its own.
//
// An example (TestStallA) has twenty rows a source and Q = 1/2. Its predictor is right on one
// source and, except for one row, wrong on the other. The derivatives are -0.5 and +0.45. An exact
// line search never moves, although both predictors together lower both losses. Closed-form steps,
// which consider one source only, do move, and may raise the maximum.
//
// Thesis is this algorithm. Unless Literal is set, Max then continues with other sources, and at
// last with a common direction of descent, the shortest vector of the hull of the gradients.
//
// The default instead minimises (1/mu) log Σ exp(mu F_k) (appendix B.4), with
//
//   - mu_t = 5/max F_k. A fixed mu turns into a plain average as losses shrink. 20/max F_k hardly
//     helps the worst source and costs the others.
//   - predictors of each slot trained on all rows, each with its source's weight and Q. On its own
//     rows only, a slot does not see the harm that it does where Q overlaps.
//   - a slot with Q = 1 beside those of the sources. It is the same alpha and h in all of them, so
//     the model stays a Q-ensemble. Where sources agree, a term there learns from all rows.
//   - a term in every slot a round, each with its own exact line search, best first. All weak
//     learners must be trained anyway to find the best. EqualTerms adds one term, for comparison
//     at equal terms.
//   - Q cross-fitted, since a Q is overconfident on the rows that it was trained on.
//
// # Where the thesis does not hold as printed
//
//   - Section 4.6 writes Phi(u) = exp(-u); with eq. 4.4 it must be exp(u).
//   - Lemma 4.3 is false for the logistic loss without A_l = F_l - Z_l/m_l; see stepBound.
//   - "For eta sufficiently large" in section 4.3 means mu.
//   - The weak-learning assumption (1 - E[y h])/2 <= 1/2 - gamma means E[y h] >= 2 gamma. Progress
//     is gamma times Qbar, the share of its own weight that a slot sees; Progress reports it for
//     every term.
//   - The skewness term of section 4.4 has no sign: see Skewed.
//   - Theorem 4.4's proof replaces the complexity of a union by the largest one: see Theorem44.
//     Reports have the value with and without the correction.
//   - Theorem B.2, for all rho at once, is printed with 2/rho and ln(p/delta). The theorem that it
//     quotes, and a proof, have 4/rho and ln(2p/delta): see TheoremB2.
//   - Theorem 4.5, part 1: the printed 3e/2 outside the root does not follow, the radius e itself
//     does. Part 2 with the unit vectors as cover is Theorem 4.4.
//   - The bounds require Q to be independent of the labelled rows. QOptions.OnlyUnlabelled, or a Q
//     from elsewhere, ensures this; reports say when it is violated.
//   - The prior of the sources in Q is not stated; it is Balanced.
//
// Training leaves out correction steps, which decrease an existing weight and are optional in the
// specification (section 5). Because terms are only ever added, the first n rounds of a model are
// the model of n rounds. Early stopping, Best, predictions by prefix and resuming rely on this.
// Without a penalty nothing is lost, since a step along -h is a smaller weight of h. With a penalty
// the norm counts both, and so exceeds the least norm of the same function.
//
// At equal rounds MULTIBOOST is below AdaBoost-all in both errors on the sets of table 4.1. At
// equal terms it is where sources label the same rows differently. Figures and tests are in
// testdata/bench/NOTES.md.
//
// References: C. Cortes, M. Mohri, D. Storcheus, A. T. Suresh, "Boosting with multiple
// sources", NeurIPS 2021; Y. Freund, R. Schapire, "A decision-theoretic generalization of
// on-line learning and an application to boosting", JCSS 55:119–139, 1997; P. Wolfe,
// "Finding the nearest point in a polytope", Mathematical Programming 11:128–149, 1976.
package multi
