// Package g2p converts spelling to pronunciation with a model that is trained on
// its own error rate.
//
// Every letter of a word emits one label of a small list, a label expands to a
// string of zero, one or more phones, and a linear-chain model scores the
// choices; the loss of an output is its edit distance to the reference phones.
// The softmax-margin objectives weigh every competitor by exp(γ·loss), summed
// exactly over all outputs of the lattice through the loss machines of package
// losses, and so train the model on what it is judged by.
//
// Where to start:
//
//   - ReadLexicon reads pronunciations: tables with tabs, and the CMU dictionary.
//   - Train fits a Model to Pairs; Model.Predict reads a word aloud; Save and Load.
//   - Prepare and Problem.Fit are the two halves of Train, for many fits of one
//     set of words: alignment, features and loss machines depend on the words only.
//   - Compare and CrossValidate set objectives side by side on held-out words,
//     with paired tests.
//
// From words to weights:
//
//   - align.go, emission.go, engine.go: expectation maximization over the ways in
//     which letters may share out the phones; the lattice of a word is
//     Compose(word, EMIT, phones), its expected counts come from the forward and
//     backward sweeps of package ops.
//   - inventory.go: the labels that each letter used in the best alignments.
//   - features.go: letter n-grams, letter pairs and label bigrams, in blocks of
//     one weight for each label of the letter.
//   - graph.go, sweep.go: loss machines laid out for one pass over a word.
//   - objective.go, problem.go, groups.go, evaluate.go, fit.go: values and
//     gradients, summed over words in a fixed order, and L-BFGS on them; slow.go
//     for scores beyond the range of floats.
//   - model.go, decode.go, save.go: best labels, best phone strings, least expected
//     edit distance; files.
//   - compare.go, report.go: held-out words, choice of constants, paired tests.
//
// Letters are code points as they stand in the data: nothing is normalized, so
// texts that mix composed and decomposed forms should be brought to one of them first
// (Normalization Form C keeps letters and their marks together). Case is folded for a
// model whose training words have no letter of that case. A letter that was never seen
// in training emits nothing and has no features; Inventory.Unseen names such letters.
//
// Results do not depend on the number of workers, nor on the order of any map.
//
// # What it gives
//
// Phone and word error rates in per cent, five folds over the 1000 words of each
// language in testdata, every objective with constants of its own chosen on
// three folds of each training set, all fits converged, in 80 s of processor time:
//
//	learn g2p cv --data testdata/g2p --languages ice,gre,ady
//
//	                 cross-entropy  Hamming margin  latent margin
//	Icelandic        7.02 / 29.4    6.77 / 28.6     6.53 / 27.9
//	Greek            3.46 / 19.8    3.34 / 19.4     3.39 / 19.5
//	Adyghe           6.80 / 27.8    6.46 / 26.9     6.55 / 27.1
//	pooled           5.66 / 25.7    5.43 / 25.0     5.40 / 24.8
//	change of PER                   -4.0%           -4.6%
//	p, edits/words                  .006 / .044     .003 / .015
//
// Most of the gain is the margin's. A word with several pronunciations is right when the
// output is any of them, and its edits are those to the nearest, whose phones the rate is by.
//
// # What lost
//
// Measured before pairs with rare labels were kept (see Align): the soft ramp, log Z_γ - log Z_-γ (K. Gimpel and N. A. Smith, NAACL 2012), which lets near misses
// stand in for a reference that the model all but excludes: from zero it ends in poor optima
// (pooled 7.04 where cross-entropy has 5.74, one setting for all), from the latent margin's model it
// stays there (5.48 for 5.45 at l2 .3, 5.56 for 5.56 at .1). Expected loss on Dutch (RiskMix, l2 .1, --seed 7): 2.88
// where cross-entropy has 2.93 and the latent margin 2.86, at four times the time. A smaller
// least probability of labels (.0003) or three phones a letter, on Dutch: all objectives alike,
// within .01.
//
// Summing word gradients into one dense vector per worker: a vector of 10⁶
// weights a worker and a reduction that depends on their number, or a slow one
// that does not. Here a word leaves the gradient with respect to its scores in
// its own place, and every block of weights then gathers from the words it
// occurs in, in their order: no locks, the same sums for any number of workers.
//
// A sweep over potentials in general form takes an exponential for every pair
// of labels and position; here pair scores belong to pairs of letters, and are
// exponentiated once per epoch.
package g2p
