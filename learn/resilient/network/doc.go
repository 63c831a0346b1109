// Package network trains feed-forward networks on tables by resilient learning. Rows count by
// multipliers that grow with their losses, so that wrong labels do little harm and can be found.
//
//	m, result, err := network.Train(t, &network.Options{Method: "huber", Delta: 0.2}, nil)
//	m.Difficulty().Top[0].Place // the row that is hardest to fit
//
// # The types to know
//
// Train takes Options and gives a Model. New makes the same problem a resilient.Program, for
// callers with a loop of their own. Choose compares ways of counting rows by rows that they did not
// see. Method auto takes plain training unless a strength of Huber's relaxation is clearly better,
// so that little is lost where no label is wrong.
//
// # What may be relied on
//
//   - Inputs are those of package linear: columns standardised to mean 0 and variance 1 (or raw), a
//     column for each level, and the mean for missing values. Without hidden layers the model is
//     package linear's.
//   - The objective is the mean over rows, with weights of mean 1, plus L2/2 |w|² of all weights
//     but the constants.
//   - Runs are determined by Seed. The same bits result for any number of workers, and after a run
//     is interrupted, even within a pass, and resumed.
//   - The problem is not convex with hidden layers: another seed gives another model. Residuals of
//     the saddle point are in the history and in Explain.
package network
