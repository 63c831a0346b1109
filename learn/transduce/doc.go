// Package transduce learns to turn strings into strings, under the loss by which the outputs are
// judged: misspelt words into words, lemmas and features into forms, recognised letters into text.
//
//	pairs, err := transduce.ReadPairs(r, name, nil)
//	if err != nil {
//		return err
//	}
//	m, _, err := transduce.Train(&transduce.Data{Pairs: pairs, Labelled: true}, nil, nil)
//	if err != nil {
//		return err
//	}
//	p, err := m.Predict(ctx, &transduce.Data{Pairs: []transduce.Pair{{Input: "word"}}}, 0)
//	fmt.Println(p.Each[0].Output)
//
// An output arises by copying, substituting and deleting the characters of the input, with
// insertions between them. A log-linear model scores these operations. It sees the input around
// them, the tags, the outputs before them (Options.Order), the operation before and the length of a
// run of copies.
//
// # The types to know
//
//   - Data are pairs, perhaps with a Lexicon, which restricts outputs, and with DecodeOptions.
//   - Train fits a Model. Prepare and Problem.Fit are its halves, for several fits of one loss.
//   - Model.Predict gives outputs, and the most probable ones with their probabilities.
//   - Learner is the package under the contract of package learner.
//
// # From pairs to weights
//
//   - align.go: expectation maximisation of an edit model without context; best alignments.
//   - channel.go: counts of operations by context, smoothed. They bound what a lattice must have.
//   - lattice.go, rows.go, lexicon.go: all alignments within a beam of the best one by the channel, as
//     the product of input, history, lexicon, true output, and the automaton of the edit distance.
//   - features.go, objective.go: features of the operations, sums over lattices, and their gradients.
//   - train.go, decode.go, model.go: solvers of package optim; outputs; files.
//
// # What may be relied on
//
// Objectives are exact over the lattice, for every loss: the state of a path has all that the loss
// needs. The lattice has all alignments within the beam, and all right ones within the beam of the
// best right one, whether the channel likes that or not. A pair's own counts are left out of its
// channel in training, so lattices are as large there as for new inputs.
//
// With a lexicon the beam is that of the best of its strings, in training too: the competitors of
// an output are the strings that could be predicted. Outputs outside are reported and never
// predicted.
//
// Merged probabilities leave out alignments below exp(-9) of the best one. An input character that
// training did not have can be copied or deleted. Results have the same bits for any number of
// workers. Characters are code points, and nothing is normalised.
//
// # Why the lattice is pruned by a model without history
//
// Its best rest of a path is known exactly at every place. A state is made only if a whole path
// through it is within the beam, so that nothing is made in vain. A beam search on the model itself
// would change its lattice with the weights, and the objective with it.
//
// # A model of one's own
//
// A network in place of the linear scores needs lattice.pieces alone: the score of an arc is the
// sum of those of two pieces, and sweep.backward gives the derivatives by piece.
//
// References: M. Dreyer, J. Smith, J. Eisner, "Latent-variable modeling of string transductions
// with finite-state methods", EMNLP 2008. K. Gimpel, N. Smith, "Softmax-margin CRFs", NAACL 2010.
// E. Ristad, P. Yianilos, "Learning string-edit distance", IEEE PAMI 20, 1998. I. Witten, T. Bell,
// "The zero-frequency problem", IEEE Transactions on Information Theory 37, 1991.
package transduce
