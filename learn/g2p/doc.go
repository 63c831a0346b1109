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
// three folds of each training set (Grid{}, Seed 2), all fits converged:
//
//	                 cross-entropy  Hamming margin  latent margin
//	Icelandic        6.67 / 28.2    6.32 / 27.5     6.16 / 27.2
//	Greek            3.42 / 19.4    3.55 / 20.1     3.48 / 19.7
//	Adyghe           6.98 / 29.8    6.70 / 28.3     6.58 / 28.1
//	pooled           5.59 / 25.8    5.44 / 25.3     5.33 / 25.0
//	change of PER                   -2.7%           -4.8%
//	p, edits/words                  .051 / .14      .0015 / .032
//
// The zero CompareOptions, with the constants of DefaultObjective for all, take
// 15 s of processor time and give pooled rates of 5.64 / 25.9, 5.46 / 25.1 and
// 5.40 / 25.1: -3.3% (p .009 / .010) and -4.2% (p .002 / .011). Most of the gain is the margin's: the latent margin's lead over the
// Hamming margin has p .06 in the first run and .2 in the second.
//
// Dutch (SIGMORPHON 2021, 10000 words, not in testdata), five folds, constants from {.1, .2, .4} and
// {4, 2} on three folds of each training set: 2.88 / 14.8, 2.88 / 14.9 and 2.81 / 14.6; the latent
// margin is 2.5% below cross-entropy (p .023) and 2.4% below the Hamming margin (p .003).
// Cross-entropy chose l2 .1 and .2, the latent margin .2 in every fold: a grid without .2 hides
// half of the difference.
//
// # What lost
//
// The soft ramp, log Z_γ - log Z_-γ (K. Gimpel and N. A. Smith, NAACL 2012), which lets near misses
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
