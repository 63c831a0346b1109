// Package almo makes robustness to many losses (package minimax) a learner of tables under the
// contract of package learner, with tagged options, training on a table, and predictions.
//
//	m, r, err := almo.Train(t, &almo.Options{L2: 1e-3}, nil)
//	p, err := m.Predict(ctx, t, 0)
//
// # The types to know
//
//   - Options are the user's settings; Minimax converts them to options of package minimax.
//   - Model is a minimax.Model that reads tables: what the learner's files hold.
//
// # What may be relied on
//
// What package minimax promises. Probabilities are those of the logistic function of each score,
// scaled to sum 1. They are not calibrated, since the mixture of losses is not a likelihood.
package almo
