// Package metrics counts errors and tells whether a difference between two
// models is more than chance.
//
// Error rates: Rate holds errors and their base. Symbols, Strings and Edits make one of predictions
// and references. Chunks counts chunks as the conlleval script of the CoNLL shared tasks does.
//
// Tables: Signs, WeightedError, LogLoss, AUC, MeanAUC, RMSE, MAE and Confusion judge predictions
// for rows; MeanSD is for the figures of several trials.
//
// Comparisons of two models on the same examples: PairedT (means of differences), CorrectedT (the
// same for trials whose training parts overlap), McNemar (right or wrong), and Bootstrap (an
// interval for any statistic).
package metrics
