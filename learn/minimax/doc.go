// Package minimax trains one model for many objectives: so that its loss is small for
// the worst mixture of them, whichever mixture a user turns out to care about. It is
// agnostic learning with multiple objectives (ALMO), chapter 5 of the thesis
// "Large-scale learning", as a game
//
//	min_w max_λ  Σ_k λ_k (a_k L_k(w) - b_k ± β_2 M_k) + β_1 R(w)
//
// over the weights w of a model and the mixtures λ of a set of preferences.
//
//	f, err := minimax.Train(data, &minimax.Options{Beta1: 1e-4})
//	f.Gap() // no weights are better by more
//
// # The types to know
//
//   - Train fits a Model to Data; Options say which losses, in which units, over which
//     preferences, by which solver. Its zero value is a linear model for DefaultLosses; the
//     thesis' experiment is one for ThesisLosses. Hidden gives networks.
//   - Baselines trains what it is to be compared with, TradeOff the curve of two objectives.
//   - TrainMixture plays the same game over any functions of common parameters.
//   - Game is the problem itself, for solvers of the caller's own.
//
// Losses are those of package score. Start reading at train.go, then linear.go or network.go.
//
// # What may be relied on
//
//   - For linear models and convex losses, with a penalty or a radius, Fit.Gap is proved: no
//     weights have a worst mixture plus penalty that is lower by more. For networks, losses that
//     are not convex, and a zero-one loss shown to the players in two ways, there is no proof,
//     and Fit.Guarantee says so.
//   - Results have the same bits for any number of workers, and after an interruption.
//   - A run that diverged is a *saddle.DivergenceError with the step; Auto goes on from the start
//     where only steps that it chose itself diverge. No model with a NaN is handed out or written.
//
// # Readings
//
// The thesis leaves open what its normalisation is, and what its gradients of the zero-one loss
// are. Here a loss is divided by its Lipschitz constant in the score (Normalization has other
// units), and the zero-one loss is the surrogate log2(1+e^{-ys}) for both players (ZeroOneMode has
// others). Of losses that dominate each other pointwise, such as the hinge and the 1-norm of the
// score in equal units, only the largest can have weight: units and offsets are part of the model.
// Regret measures each loss from its own least value, at two to ten times the time.
//
// # How linear models are solved
//
// Stages take turns (linear.go), each from where the last ended, until the certificate is as close
// as asked for. Auto runs, of this table, what is for the game:
//
//	stage        solver           is for
//	mirror-prox  saddle           every game; a few per cent of the value, quickly
//	dual-ascent  saddle.Planes    losses that separate by score; all space or a ball
//	newton-norm  radial.go        a penalty of the norm itself
//	newton       saddle.Newton    few features; kinks, and biases within a bound (Bias)
//	smoothed     saddle.Smoothed  every game: L-BFGS on the smoothed maximum
//	(radius)     radial.go        what L-BFGS leaves of a norm, and of a radius that barely holds
//
// Dual ascent hands over to Newton's method after as many passes as there are features, where that
// is affordable. Gaps, times and what was tried are in testdata/bench/NOTES.md.
package minimax
