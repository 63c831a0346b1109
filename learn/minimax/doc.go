// Package minimax trains one model for many objectives: so that its loss is small for
// the worst mixture of them, whichever mixture a user turns out to care about. It is
// agnostic learning with multiple objectives (ALMO), chapter 5 of the thesis
// "Large-scale learning", as a game
//
//	min_w max_λ  Σ_k λ_k (a_k L_k(w) - b_k ± β_2 M_k) + β_1 R(w)
//
// over the weights w of a model and the mixtures λ of a set of preferences.
//
// # Where to start
//
//   - Train fits a Model to Data (a table becomes Data through an Encoder); Options
//     say which losses, in which units, over which preferences, by which solver. Its
//     zero value is a linear model for DefaultLosses; the thesis' experiment is one for
//     ThesisLosses. Hidden gives networks.
//   - Baselines trains what it is to be compared with: each objective alone, and their
//     even mixture. TradeOff draws the curve between two objectives.
//   - TrainMixture plays the same game over any functions of common parameters, such as
//     the losses of sequences of packages sequence and g2p.
//   - Game is the problem itself, for the solvers of package optim.
//
// Files: loss.go and objective.go (losses, units), game.go (values and gradients over
// data), train.go (linear models), dual.go, prox.go, cuts.go, newton.go and newtonrun.go, normrun.go, ballrun.go
// (how they are certified), network.go (networks), mixture.go and mixturealone.go; problem.go (what a
// checkpoint belongs to); pareto.go, paretocheck.go, bound.go, tradeoff.go and model.go report.
//
// # What may be relied on
//
//   - For linear models and convex losses, with a penalty or a radius, Fit.Gap is proved:
//     no weights have a worst mixture plus penalty that is lower by more. Of the worst
//     mixture alone that says something where the penalty is small beside the gap, or none.
//     For networks there is no such thing, and Fit.Guarantee says so.
//   - Results have the same bits for any number of workers, and after an interruption.
//   - A loss that is not convex, or a zero-one loss shown to the two players in two
//     ways, takes the certificate away.
//   - Auto goes on, from the start, where the stochastic steps that it chose itself
//     diverge. Otherwise what a run diverged at is an saddle.DivergenceError
//     with the step. No model with a NaN is handed out or written.
//
// # Readings
//
// The thesis leaves open what its normalisation is, and what its gradients of the
// zero-one loss are. Here a loss is divided by its Lipschitz constant in the score
// (Normalization has other units), and the zero-one loss is the surrogate log2(1+e^{-ys})
// for both players (ZeroOneMode has others; the gradient of the thing itself is zero,
// and with it the game would be unsound). Of losses that dominate each other pointwise,
// such as the hinge and the 1-norm of the score in equal units, only the largest can
// have weight: their units and offsets are part of the model, and are saved with it.
// Where losses have different floors, Regret measures each from its own.
//
// The 1-norm of the thesis, |1-ys| of a score without bound, is no loss for classes: it
// grows with the confidence of right answers, is nowhere less than the hinge, and so takes
// most of the weight. DefaultLosses leave it out, and the hinge, which takes all weight in
// these units where classes overlap. Errors in per cent on rows held out, five folds of at
// most 3000 rows (Adult: its test set), l2 1e-4, of linear models of
//
//	               ThesisLosses  DefaultLosses  cross-entropy
//	adult             19.46          14.67          14.70
//	cancer             4.01           3.58           3.58
//	pima              22.39          22.66          22.79
//	sonar             26.90          23.57          23.57
//	wifi              10.80           2.60           3.00
//	higgs             37.15          35.70          35.65
//	ocr17              1.40           0.70           0.70
//	ocr49              6.60           5.90           5.85
//	semeion           16.32          13.31          12.37
//
// In Lipschitz units the default losses differ in size, and the mixture often is one of
// them alone. Regret measures each from its own least value and makes it a compromise,
// at two to ten times the time.
//
// # How linear models are solved
//
// Auto first runs stochastic mirror-prox, the thesis' algorithm in the form its text
// speaks of, and then, from there, until the certificate is as close as asked for,
// DualAscent: cutting planes over λ (cuts.go), and for each λ stochastic dual coordinate
// ascent (dual.go), which proves bounds at the kinks of hinge and 1-norm, in all space or in
// a ball. Where that takes as many passes as there are features, and an iteration costs no
// more than newtonWork multiplications, Newton's method in both players goes on from there
// (newtonrun.go, and newton.go for each λ). Biases within a bound (Bias) are Newton's from the
// beginning: on sonar, whose four losses L-BFGS left with gaps of 0.9 at |bias| ≤ 0.01 and
// 0.007 at 0.1, it takes 14 and 19 rounds to 1e-3. A penalty of the norm itself is that of its
// square by a weight that is sought (normrun.go), where Newton's steps are affordable, with
// a bound of biases or without: three rounds on sonar, for β_1 = 1e-4, where L-BFGS ended with a
// gap of 19.5. Where losses do not separate by score (Softmax), where rows and features are many
// and the norm itself is penalised or biases have a bound, where neither a penalty nor the
// radius holds w, where no loss has a kink, and where the others overflow or make no progress, it
// is saddle.Smoothed instead: L-BFGS on the smoothed maximum, with kinks smoothed along. Bounds of
// biases it keeps; of a penalty of the norm that is small it proves little, so that its end is
// looked at again there (tighten, in normrun.go): on 300 rows of 20 features and three classes by
// Softmax, β_1 = 1e-4, a gap of 0.39 became one of 1.8e-4. A radius that barely holds, of which it proves as
// little, is proved by games without one (ballrun.go). Few
// rows of many features (80 of 5000) take Newton's method seconds to minutes where dual ascent,
// which is for neither a norm nor a bound of biases, takes a tenth of one.
//
// Stochastic steps alone come within a few per cent of the value quickly, and need
// millions of steps for a gap of 1e-3. On the four losses of the thesis and β_1 = 1e-4, to a gap of 1e-3,
// dual ascent took 23 s of one processor on 60,000 images of MNIST (reading them and 24
// passes of mirror-prox included) and 9 on 2,500, where L-BFGS had gaps of 1.2e-3 after 922
// evaluations of all examples (a quarter of a second each) and of 0.04 after 3400. Within a
// radius that holds (1, on Adult) its gap of 1.5e-4 takes 6 evaluations, where L-BFGS without
// a multiplier for the radius ended at 4.2e-3 after 1377.
//
// Mixtures of kinks and powers were what dual ascent and L-BFGS could not finish: on sonar
// (208 rows, l2 1e-4) they ended with gaps of 2.7e-3 for the four losses, 8.0e-3 for the 1-,
// 2- and 1.5-norm, and up to 0.034 in other units. Newton's method takes each below 1e-5 of the
// value in at most 70 milliseconds and 500 steps: kinks are relaxed by a falling width, and λ
// moves by the second derivative of min φ(·, λ). The 1-norm alone on 2,500 images took 5.3 s
// of processor time to 1e-2 and 11.9 to 1e-3, dual ascent 13 and 82; the hinge alone is dual
// ascent's (1.4 and 2.7 s, and a third of that since it rests at bounds, where Newton takes 2.7
// and 8.2). Tried for kinks before: L-BFGS on their relaxation at the same widths, whose steps
// become as short as the width; a start at a narrow width, from which the Hessian sees no
// example (567 times the value left after 261 steps); a start as wide as the gap that dual
// ascent had left, which gained nothing.
package minimax
