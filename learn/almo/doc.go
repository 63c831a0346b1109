// Package almo is robustness to many losses (package minimax) as a learner of tables under the
// contract of package learner: options with tags, training on a table, predictions.
//
//	m, r, err := almo.Train(t, &almo.Options{L2: 1e-3}, nil)
//	p, err := m.Predict(ctx, t, 0)
//
// # The types to know
//
//   - Options are what a user says; Minimax makes the options of package minimax of them.
//   - Model is a minimax.Model that reads tables: what the learner's files hold.
//
// # What may be relied on
//
// What package minimax promises. Probabilities are those of the logistic function of each score,
// brought to sum 1: the mixture of losses is no likelihood, and they are not calibrated.
package almo
