// Package margin learns to score structured outputs. It trains with large margins from complete or
// partial annotations, by perceptrons, by likelihood, from annotations that it asks for itself, and
// for several data sets at once. It runs on any space.Space.
//
//	m, r, err := margin.MaxMargin(s, samples, &margin.Options{Lambda: 0.01}, &run.Control{Ctx: ctx})
//	y, err := s.Argmax(ctx, x, m.W)                  // predict
//	fmt.Println(r.F, m.Report.Lower)                 // objective, and what it is not below
//
// # The types to know
//
// MaxMargin trains on complete annotations: its objective is convex, and its gap certified. Partial
// trains on annotations that leave outputs open, and Likelihood does so by log Z - log
// Z(annotation), the baseline. Perceptron is the quick and rough way. Active chooses which inputs
// to ask an Annotator about. Transfer trains a weight vector for every data set, and draws them to
// each other. All give a Linear: weights and a Report.
//
// # What may be relied on
//
//   - Risks are means over samples: Lambda does not change when samples are repeated. Where a
//     source has sums, its lambda is Lambda times the number of samples.
//   - The weights returned are the best visited, not the last.
//   - Samples are inferred side by side and added up in their order: results have the same bits
//     for any number of workers.
//   - Where inference is not exact, planes are still below the risk, and the objective uses the
//     upper bounds of inference. The gap is valid, and may stay large.
//   - Resumed runs continue as if they had not been interrupted. Checkpoints hold all planes.
//
// # References
//
// X. Lou and F. Hamprecht, "Structured learning from partial annotations", ICML 2012. X. Lou,
// M. Schiegg and F. Hamprecht, "Active structured learning for cell tracking", IEEE TMI 33, 2014.
// M. Collins, "Discriminative training methods for hidden Markov models", EMNLP 2002.
package margin
