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
// these units where classes overlap. testdata/bench/NOTES.md compares their errors on nine
// data sets.
//
// In Lipschitz units the default losses differ in size, and the mixture often is one of
// them alone. Regret measures each from its own least value and makes it a compromise,
// at two to ten times the time.
//
// # How linear models are solved
//
// Solvers take turns (linear.go), each from where the last ended, until the certificate is as
// close as asked for. Each is a step function of run.Loop. Auto runs, of this table, what is
// for the game:
//
//	stage        file          is for
//	mirror-prox  saddle        every game; a few per cent of the value, quickly
//	dual-ascent  cuts, dual    losses that separate by score; all space or a ball
//	newton-norm  normrun       a penalty of the norm itself
//	newton       newtonrun     few features; kinks, and biases within a bound (Bias)
//	smoothed     saddle        every game: L-BFGS on the smoothed maximum
//
// Dual ascent puts cutting planes over λ, and for each λ finds w by stochastic dual coordinate
// ascent. It hands over to Newton's method after as many passes as there are features, where
// an iteration of that costs no more than newtonWork multiplications. L-BFGS is for what the
// others cannot do: Softmax, many rows and features, weights that nothing holds, losses
// without kinks, and overflow. It proves little of a small penalty of the norm and of a
// radius that barely holds: both are looked at again at its end (tighten in normrun.go, and
// ballrun.go). Gaps, times and what was tried are in testdata/bench/NOTES.md.
package minimax
