// Package g2p converts spelling to pronunciation with a model that is trained on its own error
// rate.
//
// Every letter of a word emits one label of a small list, and a label expands to a string of zero,
// one or more phones. A linear-chain model scores the labels. The loss of an output is its edit
// distance to the reference phones. The softmax-margin objectives weight every competitor by
// exp(γ·loss), summed exactly over all outputs of the lattice through the loss machines of package
// losses. The model is thus trained on the loss by which it is judged.
//
//	lexicon, err := g2p.ReadLexicon(r, name)
//	if err != nil {
//		return err
//	}
//	o := g2p.Objective{Kind: g2p.LatentMargin, Gamma: 4}
//	model, err := g2p.Train(ctx, lexicon.Pairs, o, nil, nil)
//	if err != nil {
//		return err
//	}
//	phones, err := model.Predict("word", nil)
//
// # The types to know
//
//   - ReadLexicon reads pronunciations: tables with tabs, and the CMU dictionary.
//   - Train fits a Model to Pairs. Model.Predict pronounces a word; Write and Read store a model.
//   - Prepare and Problem.Fit are the two halves of Train, for several fits of one set of words.
//     Alignment, features and loss machines depend on the words only.
//   - Problem.FitNetworks trains networks under the same lattices, one or an ensemble. A LetterNetwork
//     of the caller's own can take the place of the ready ones.
//   - Compare and CrossValidate compare objectives on held-out words, with paired tests.
//
// # From words to weights
//
//   - align.go, emission.go, engine.go: expectation maximization over the ways to divide the phones
//     among the letters. The lattice of a word is Compose(word, EMIT, phones); the sweeps of package
//     ops give its expected counts.
//   - inventory.go: the labels that each letter used in the best alignments.
//   - backoff.go: what a letter may emit beyond these, so that nearly every pronunciation is
//     within reach.
//   - features.go: letter n-grams, letter pairs and label bigrams, in blocks of one weight for each
//     label of the letter.
//   - graph.go: loss machines laid out for one pass over a word.
//   - objective.go, problem.go, groups.go, evaluate.go, fit.go: values and gradients, summed over
//     words in a fixed order, and L-BFGS on them.
//   - views.go, history.go, marks.go, constraint.go: what a chain of neighbouring labels does not
//     see: n-grams of labels and phones, accents of a word, a machine that outputs must satisfy.
//   - trellis.go, trellises.go, search.go: the lattice of label strings that these tell apart, sums
//     over it with or without a loss machine, and the best paths.
//   - network.go, networkfit.go, networkviews.go: networks, whose scores of labels are added to those
//     of bigrams, features and views. Every objective trains them, through the same gradient by
//     scores.
//   - model.go, decode.go, save.go: best labels, best phone strings, least expected edit distance;
//     files.
//   - compare.go, report.go: held-out words, choice of constants, paired tests.
//
// # What may be relied on
//
// Results do not depend on the number of workers, nor on the order of any map.
//
// Letters are the code points of the data; nothing is normalized. Bring texts that mix composed and
// decomposed forms to one of them first. Normalization Form C keeps letters and their marks
// together. Case is folded for a model whose training words have no letter of that case. A letter
// that training did not have emits nothing and has no features; Inventory.Unseen lists such
// letters.
//
// Every letter may emit any label, at the price of Inventory.Backoff for those that training did
// not see there. Probabilities of hypotheses include such outputs.
//
// Most of the gain over cross-entropy comes from the margin; error rates are in
// testdata/bench/NOTES.md. A word with several pronunciations is right when the output is any of
// them. Its edits are those to the nearest one, whose length enters the rate.
//
// # Networks
//
// FitNetworks adds what a network says of each label to the scores of label bigrams. All parameters
// are trained together, by Adam, along the exact gradient of the objective. What is best for linear
// models differs: here a Hamming margin of γ = 1 is as good as the edit distance, and linear
// features of letters add nothing. Several networks are better than one: their mean scores are a
// model's.
//
// The recipe is that of NetworkOptions' zero value, with the Options of its Recipe. It was chosen
// on the dev sets of Icelandic, Greek, Adyghe and Dutch of SIGMORPHON 2021 (L. F. E. Ashby et al.,
// "Results of the second SIGMORPHON shared task on multilingual grapheme-to-phoneme conversion",
// 2021).
//
// # Conventions
//
// Training differs from package learn's convention: the context comes first, and FitOptions are
// what a run.Control is elsewhere. Settings are the options with tags.
//
// # Why gradients are collected by blocks
//
// A word stores the gradient with respect to its scores in its own place. Every block of weights
// then gathers from the words that it occurs in, in their order. This needs no locks, and gives the
// same sums for any number of workers. One dense vector per worker would take 10⁶ weights each, and
// a reduction that depends on the number of workers.
package g2p
