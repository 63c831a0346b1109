// Package separable minimises regularised means of losses that separate over rows and outputs,
//
//	φ(w) = 1/n Σ_i v_i Σ_c f(x_i·w_c + b_c, y_ic) + β/2 (|w|² + |b|²),
//
// where f is a mixture of convex losses of one score: linear classifiers and regressors, and the
// players of games over mixtures. It is exact where methods for any function are slow: at kinks.
//
//	p := &separable.Problem{X: x, Y: y, Rows: n, Features: f, Outputs: 1, Beta: 1e-3, Signs: true,
//		Terms: []separable.Term{{Loss: score.Hinge(), Scale: 1}}}
//	a := separable.NewAscent(p, make([]float64, n), 0, 1)
//	a.Turn([]float64{1})
//	for range 20 {
//		a.Pass()
//	}
//	w, least := a.Point(), a.Bound() // no weights have a value below least
//
// # The types to know
//
//   - Problem is the data, the losses (Terms) and the penalty. A mixture λ of its terms is chosen
//     afterwards, and may change.
//   - Ascent is stochastic dual coordinate ascent: many rows, kinks, a ball for the weights. It
//     is a saddle.Ascender.
//   - Newton is Newton's method on all rows: few features, any curvature, bounded biases. It is a
//     saddle.Minimizer.
//
// Parameters are the weights, feature by output, and then the biases: f·C + C numbers.
//
// # What may be relied on
//
//   - Bounds hold at any time, whether or not anything has converged.
//   - Results have the same bits for any number of workers: outputs do not meet, and each belongs
//     to one of them.
//
// References: S. Shalev-Shwartz and T. Zhang, "Stochastic dual coordinate ascent methods for
// regularized loss minimization", JMLR 14, 2013.
package separable
