// Package metrics counts errors, and tests whether a difference between two models is more than
// chance.
//
//	var rate metrics.Rate
//	for i, p := range predictions {
//		rate = rate.Add(metrics.Edits(p, references[i]))
//	}
//	fmt.Println(rate) // pooled over all examples
//	t, err := metrics.PairedT(errorsOfA, errorsOfB)
//
// Error rates: Rate holds errors and their base. Symbols, Strings and Edits make one of predictions
// and references. Chunks counts chunks as the conlleval script of the CoNLL shared tasks does.
//
// Tables: Signs, WeightedError, LogLoss, AUC, MeanAUC, RMSE, MAE and Confusion judge predictions
// for rows; MeanSD is for the figures of several trials.
//
// Comparisons of two models on the same examples: PairedT tests means of differences, CorrectedT
// the same for trials whose training parts overlap. McNemar compares right and wrong, and Bootstrap
// gives an interval for any statistic.
package metrics
