// Package boost learns sums of base predictors: AdaBoost and its l1-regularised and
// deep variants, LogitBoost, gradient boosting, and regularised gradient boosting
// (RGB), after chapters 2 and 3 of a thesis on large-scale learning that the names
// Theorem 3.1, eq. 3.7 and figure 3.1 refer to.
//
// # The types to know
//
// Data is a table of features (package learn/dataset/table) with labels and
// weights; NewData makes one. TrainAdaBoost, TrainGradient and TrainRGB take Data and
// options whose zero value is the recommended setting, and return an Ensemble:
// scores, classes, probabilities, staged prediction, Save and Load. A Loss gives
// values and derivatives; a Learner makes base predictors, trees or a user's own.
// Control, part of all options, holds what every run can have: a context, workers,
// a watch on the rounds, validation rows with early stopping, checkpoints. Bounds
// evaluates the generalisation bound for a model.
//
// # What may be relied on
//
//   - The same data, settings and seed give the same model, byte for byte, for any
//     number of workers, and also when the run is interrupted and resumed from a
//     checkpoint.
//   - Scores of the training rows by Ensemble.Scores are those of training, to the
//     last bit; so are all scores after Save and Load.
//   - Weights of terms are not negative, as the convex hull of the bounds wants it; a
//     predictor that is wanted with the other sign is changed itself.
//   - A row of weight zero influences nothing. The unit of weights does not matter: what
//     leaves need and penalties on them are in units of the mean weight, and but for these
//     an integer weight is a row that occurs so many times.
//   - RGB and gradient boosting start at the best constant, AdaBoost at zero with the
//     constants among its base predictors.
//   - A score of zero predicts the first class, and errors are those of predicted classes.
//     In the bounds a margin of zero is an error for both classes.
//
// # Where the thesis' text does not hold as printed
//
// RGB keeps the literal reading as an option wherever it can be run.
//
//   - Line 4 of figure 3.1 is circular, since L'_k depends on the tree that is
//     sought. A coordinate is read as one tree and a family as a block of them: the
//     tree is fitted to the negative gradient under the family's constraints, then
//     stepped along. Eq. 3.2 lacks the minus sign of that gradient.
//   - Lemma A.1 bounds the curvature of family k by lambda_k Cmax, which needs
//     lambda ≤ 1 or leaves that do not exceed 1: a constant tree of 4 under the squared
//     loss goes 4, -8, 28, -80, 244. StepSafe takes the larger of that and the tree's own
//     constant, so it is the thesis' step wherever that descends; StepLambda is the
//     literal one.
//   - Eq. 3.7 multiplies a tree's complexity by |alpha|, line 5 of figure 3.1 does not:
//     L1Mode and Select.
//   - Complexities are "normalised to [0, 1]": divided by the largest (ByMaximum),
//     since min–max scaling makes the smallest family free and is 0/0 for one family.
//   - The families are nested. A tree is charged to the family it was drawn for, with
//     Tight to the smallest that holds it; Bounds always does the latter.
//   - Theorem 3.1 is about thresholds alone: sides of missing values and sets of levels are
//     counted as thresholds on more columns, see Questions.
//   - Theorem 3.1's statement lacks the 1/m of its proof; Theorem 3.2 hides constants, and
//     its base predictors must lie in [-1, 1]: see Confidence.
//   - The convergence rate of eq. 3.12 is for finitely many coordinates and exact
//     steps, and is reported nowhere. What holds for each step is
//     L_new ≤ L_old - max(|D|-c, 0)²/(2C), on the rows that the step was taken from, for
//     StepSafe, StepTree and StepLambda2 at learning rates up to 1.
//
// # Why the default is not the thesis' setting
//
// On the tables of the thesis the literal setting is behind a tuned XGBoost on sonar,
// the digits and higgs. Sampling of rows and columns, Newton leaves with their step, a
// learning rate, and candidates compared on left-out rows (the training loss
// favours the largest tree by construction) close the gap; lambda, q and the
// sampling of families then change nothing beyond noise. Thesis() is the literal
// setting, the zero RGBOptions the other; the learning rate (0.1 or 0.3) and the share
// of columns (0.3 or 1) deserve a cross-validation.
//
// # Speed
//
// testdata/bench/boost/run.sh times gradient boosting and RGB beside XGBoost; its README has
// figures.
//
// All candidates of a round are prefixes of one tree, so that five cost little more than one:
// what RGB takes longer is growing best split first, which looks at both children of every
// split, 125 nodes for 63 splits where level by level it is 63. Children that can no longer be
// among the splits of the round cannot be told beforehand: the bound Σ g²/h - G²/H on a
// node's gain, and the best division of its rows in two by g/h, rule out nodes
// with 0.3 % of the rows on higgs and 3 % on mnist49.
//
// # How many rounds
//
// Where Rounds is 0, RGB and gradient boosting have as many rounds as give the least loss on
// held-out rows: of parts of a fifth of the rows, one after the other until 2,000 rows were held
// out, each by a run of its own. The model is then trained on all rows. With Control.Valid the run
// stops by those rows.
//
// Start reading at loss.go and ensemble.go, then coordinate.go (AdaBoost) or rgb.go
// and rgbround.go.
//
// References: Y. Freund, R. Schapire, "A decision-theoretic generalization of on-line
// learning and an application to boosting", JCSS 55:119–139, 1997; J. Friedman, T. Hastie,
// R. Tibshirani, "Additive logistic regression", Annals of Statistics 28:337–407, 2000;
// J. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of
// Statistics 29:1189–1232, 2001; C. Cortes, M. Mohri, U. Syed, "Deep boosting", ICML 2014;
// C. Cortes, M. Mohri, D. Storcheus, "Regularized gradient boosting", NeurIPS 2019.
package boost
