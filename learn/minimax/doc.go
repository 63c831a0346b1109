// Package minimax trains one model for several objectives, so that it does well on the worst
// mixture of them. The mixture that matters to a user need not be known in advance. This is
// agnostic learning with multiple objectives (ALMO), chapter 5 of the thesis "Large-scale
// learning", posed as a game
//
//	min_w max_λ  Σ_k λ_k (a_k L_k(w) - b_k ± β_2 M_k) + β_1 R(w)
//
// over the weights w of a model and the mixtures λ of a set of preferences.
//
//	fit, err := minimax.Train(data, &minimax.Options{Beta1: 1e-4})
//	if err != nil {
//		return err
//	}
//	fmt.Println(fit.Lambda) // the worst mixture
//	fmt.Println(fit.Gap())  // no weights improve on the model by more
//	return fit.Model.Write(w)
//
// # The types to know
//
//   - Train fits a Model to Data. Options choose the losses, their units, the preferences and
//     the solver. The zero value is a linear model for DefaultLosses; ThesisLosses are those of
//     the thesis' experiment, and Hidden makes the model a network.
//   - Baselines trains the models to compare with, TradeOff the curve of two objectives.
//   - TrainMixture plays the same game over any functions of common parameters.
//   - Game is the problem itself, for a caller's own solver.
//
// Losses are those of package score. Start reading at train.go, then linear.go or network.go.
//
// # What may be relied on
//
//   - For linear models and convex losses, with a penalty or a radius, Fit.Gap is proved. No
//     weights have a worst mixture plus penalty that is lower by more. Networks, losses that are
//     not convex, and a zero-one loss shown to the players in two ways have no proof; Fit.Guarantee
//     says so.
//   - Results have the same bits for any number of workers, and after an interruption.
//   - A run that diverges returns a *saddle.DivergenceError with the step. When only Auto's own
//     choice of steps diverged, it continues from the start with other solvers. No model with a
//     NaN is returned or written.
//
// # How the thesis is read
//
// The thesis leaves open how it normalises losses, and which gradients its zero-one loss has.
// Here each loss is divided by its Lipschitz constant in the score; Normalization offers other
// units. The zero-one loss is the surrogate log2(1+e^{-ys}) for both players; ZeroOneMode offers
// others.
//
// Some losses dominate others pointwise, as the 1-norm of the score dominates the hinge in equal
// units. Only the largest can then have weight, so units and offsets are part of the model. Regret
// measures each loss from its own minimum, at two to ten times the time.
//
// # How linear models are solved
//
// A linear model is trained in stages (linear.go). Each stage starts where the last one ended, and
// the run stops once the certificate is as tight as requested. Auto picks from this table the
// stages that suit the game:
//
//	stage        solver           suits
//	mirror-prox  saddle           every game; gets within a few per cent of the value, quickly
//	dual-ascent  saddle.Planes    losses that separate by score; all of space or a ball
//	newton-norm  radial.go        a penalty on the norm itself
//	newton       saddle.Newton    few features; kinks, and biases within a bound (Bias)
//	smoothed     saddle.Smoothed  every game: L-BFGS on the smoothed maximum
//	(radius)     radial.go        gaps that L-BFGS leaves with a norm or a barely active radius
//
// Dual ascent makes as many passes as there are features and then hands over to Newton's method,
// if that is affordable. Gaps, times and rejected variants are in testdata/bench/NOTES.md.
//
// # Conventions
//
// Training differs from package learn's convention: the Control is a part of Options, and a Fit
// tells what an optim.Result does. Package almo follows the convention.
//
// References: M. Mohri, G. Sivek, A. T. Suresh, "Agnostic federated learning", ICML 2019;
// C. Cortes, M. Mohri, J. Gonzalvo, D. Storcheus, "Agnostic learning with multiple objectives",
// NeurIPS 2020.
package minimax
