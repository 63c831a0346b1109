// Package evaluate compares ways to learn on the same divisions of the same examples: nested
// cross-validation with grids, warm starts, known fits, and paired tests. Every cv, compare and
// experiment of this module uses it, for any kind of examples: it handles only their numbers.
//
//	plan := evaluate.Plan{
//		Measures: []string{"error", "loss"}, // what Fit returns; settings are chosen by the first
//		Trials:   evaluate.Folds(folds, nil),
//		Contestants: []evaluate.Contestant{
//			{Name: "ridge", Grid: []evaluate.Setting{{Name: "l2=1", Fit: fit(1)}, {Name: "l2=10", Fit: fit(10)}}},
//			{Name: "mean", Grid: []evaluate.Setting{{Fit: fitMean}}},
//		},
//	}
//	report, err := plan.Run(ctx)
//
// # The types to know
//
// A Trial is one division into training and test, with inner folds that choose settings. A
// Contestant has a grid of Settings; each Setting can Fit one fold and measure the examples left
// out. A Report has the measures of the chosen settings, by trial, and tests against one
// contestant. A contestant may choose by several measures in turn, or from the fits of another.
//
// # What may be relied on
//
//   - The test part of a trial does not influence the settings chosen for it.
//   - Every contestant is trained and tested on the same divisions: differences are paired.
//   - Results do not depend on the number of workers. Sums are taken in the order of the jobs, and
//     among equally good settings the first is chosen.
//   - A fit with a known setting and division is not repeated.
//   - A measure that is NaN is an error, and so is a different number of measures; both name trial
//     and setting.
//
// # Tests
//
// PairedT on trials whose training parts overlap finds too many differences; CorrectedT is the
// resampled test of C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine
// Learning 52:239-281, 2003. Reports have both.
package evaluate
