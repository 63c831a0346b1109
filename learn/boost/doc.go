// Package boost learns sums of base predictors, mostly trees: AdaBoost and its l1-regularised and
// deep variants, LogitBoost, gradient boosting, and regularised gradient boosting (RGB). It follows
// chapters 2 and 3 of a thesis on large-scale learning; "Theorem 3.1", "eq. 3.7" and "figure 3.1"
// refer to it.
//
//	data, err := boost.NewData(t, boost.Logistic{}) // t is a *table.Table
//	if err != nil {
//		return err
//	}
//	model, _, err := boost.TrainRGB(data, &boost.RGBOptions{Rounds: 100}, nil)
//	if err != nil {
//		return err
//	}
//	return model.Write(w)
//
// # The types to know
//
//   - Data is a table of features (package learn/dataset/table) with labels and weights; NewData
//     makes one.
//   - TrainAdaBoost, TrainGradient and TrainRGB take Data and options, and return an Ensemble. The
//     zero options are the recommended setting.
//   - An Ensemble gives scores, classes, probabilities and staged predictions, and has Write and
//     Read. Bounds evaluates the generalisation bound for one.
//   - A Loss gives values and derivatives. A Learner makes base predictors: trees, or a user's own.
//   - A run.Control holds what every run can have: a context, workers, a watch on the rounds,
//     patience, checkpoints. Its rows have a *Progress. Validation rows are the option Valid: the
//     model is the prefix of rounds with the least loss on them.
//   - RGB, AdaBoost and Gradient are the boosters under the contract of package learner.
//
// Start reading at loss.go and ensemble.go, then coordinate.go (AdaBoost) or rgb.go and
// rgbround.go.
//
// # What may be relied on
//
//   - The same data, settings and seed give the same model, byte for byte. This holds for any
//     number of workers, and for a run that is interrupted and resumed from a checkpoint.
//   - Ensemble.Scores on the training rows returns the scores of training, to the last bit; so it
//     does after Write and Read.
//   - Weights of terms are not negative, as the convex hull of the bounds requires. A predictor
//     with the wrong sign is negated itself.
//   - A row of weight zero influences nothing. The unit of weights does not matter: limits and
//     penalties of leaves are in units of the mean weight. Apart from these, an integer weight n is
//     equivalent to n copies of the row.
//   - RGB and gradient boosting start at the best constant, AdaBoost at zero with the constants
//     among its base predictors.
//   - A score of zero predicts the first class, and errors are those of predicted classes. In the
//     bounds a margin of zero is an error for both classes.
//
// # Where the thesis does not hold as printed
//
// RGB keeps the literal reading as an option wherever it can be run.
//
//   - Line 4 of figure 3.1 is circular, since L'_k depends on the tree that is sought. Here a
//     coordinate is one tree and a family a block of them. The tree is fitted to the negative
//     gradient under the family's constraints, then stepped along. Eq. 3.2 lacks the minus sign of
//     that gradient.
//   - Lemma A.1 bounds the curvature of family k by lambda_k Cmax, which needs lambda ≤ 1 or leaves
//     that do not exceed 1. A constant tree of 4 under the squared loss goes 4, -8, 28, -80, 244.
//     StepSafe takes the larger of that and the tree's own constant, so it is the thesis' step
//     wherever that step descends. StepLambda is the literal one.
//   - Eq. 3.7 multiplies a tree's complexity by |alpha|, line 5 of figure 3.1 does not: see L1Mode
//     and Select.
//   - Complexities are "normalised to [0, 1]" by dividing by the largest (ByMaximum). Min–max
//     scaling would make the smallest family free, and is 0/0 for one family.
//   - The families are nested. A tree is charged to the family it was drawn for, with Tight to the
//     smallest that holds it; Bounds always does the latter.
//   - Theorem 3.1 covers thresholds only. Sides of missing values and sets of levels count as
//     thresholds on more columns: see Questions.
//   - Theorem 3.1's statement lacks the 1/m of its proof. Theorem 3.2 hides constants, and its base
//     predictors must lie in [-1, 1]: see Confidence.
//   - The convergence rate of eq. 3.12 is for finitely many coordinates and exact steps, and is
//     reported nowhere. Each step of StepSafe, StepTree and StepLambda2 at learning rates up to 1
//     satisfies L_new ≤ L_old - max(|D|-c, 0)²/(2C) on the rows that it was computed from.
//
// # Why the default is not the thesis' setting
//
// On the tables of the thesis the literal setting is behind a tuned XGBoost on sonar, the digits
// and higgs. Four changes close the gap: sampling of rows and columns, Newton leaves with their
// step, a learning rate, and comparing candidates on left-out rows. (The training loss favours the
// largest tree by construction.) With these, lambda, q and the sampling of families change nothing
// beyond noise. Thesis returns the literal setting. The learning rate (0.1 or 0.3) and the share of
// columns (0.3 or 1) deserve a cross-validation.
//
// # Speed
//
// All candidates of a round are prefixes of one tree, so five cost little more than one. RGB's
// extra time over gradient boosting is growing best split first, which evaluates both children of
// every split. Figures are in testdata/bench/NOTES.md.
//
// # How many rounds
//
// Where Rounds is 0, RGB and gradient boosting use the number of rounds with the least loss on
// held-out rows. The rows are divided in five. One part after the other is held out of a run of its
// own until 2,000 rows have been. The model is then trained on all rows. With validation rows the
// run stops by those instead.
//
// References: Y. Freund, R. Schapire, "A decision-theoretic generalization of on-line
// learning and an application to boosting", JCSS 55:119–139, 1997; J. Friedman, T. Hastie,
// R. Tibshirani, "Additive logistic regression", Annals of Statistics 28:337–407, 2000;
// J. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of
// Statistics 29:1189–1232, 2001; C. Cortes, M. Mohri, U. Syed, "Deep boosting", ICML 2014;
// C. Cortes, M. Mohri, D. Storcheus, "Regularized gradient boosting", NeurIPS 2019.
package boost
