// Package encoder computes scores for the positions of sequences by networks, and trains them
// under any loss that gives derivatives by these scores: those of a lattice, for one.
//
//	net, err := encoder.Convolutional(letters, labels).Letters()
//	params, result, err := encoder.Fit(net, task, &encoder.Options{Seed: 1}, control)
//	pass := net.NewPass()                                // one for each goroutine
//	scores := pass.Forward(params, [][]int32{word}, nil) // len(word) rows of labels
//
// # The types to know
//
//   - Network computes scores from sequences of any type X: letters ([]int32), words with their
//     characters (Tokens), or a caller's own. A caller's own network implements it, or is made by
//     New of a Source, such as NewLetters, and Layers.
//   - Shape describes the ready networks: Convolutional and Recurrent. Its Put and Get store a
//     network in a model file.
//   - Task is what a network is trained for. It may have parameters of its own, such as scores of
//     label pairs, and sparse ones in any number.
//   - Fit trains by Adam; FitAll in stages of several tasks, and ensembles.
//
// # Ragged batches
//
// The sequences of a batch lie end to end in one matrix, a row for each position, and Batch says
// where each one starts. There is no padding and there are no masks: a mixture of lengths costs
// what its positions cost. A convolution lays out the windows of its rows, with zeros beyond the
// ends of a sequence, and is one product. A recurrent layer makes the product of all inputs at
// once, and then steps over the sequences that still run, the longest first.
//
// # What may be relied on
//
//   - Scores of a sequence depend on nothing else in its batch, but for rounding, and in training
//     for dropout.
//   - Training gives the same bits for any number of workers, and when it is resumed.
//   - Nothing is allocated by a Pass after the largest batch. A convolution needs memory for 512
//     windows at a time, however long a sequence is.
//   - Numbers outside a vocabulary are those of the unknown, 0.
//
// Rounding differs between processors, as it does in package gemm. Layers are generic: tests
// compare their derivatives with differences in float64.
//
// # References
//
// J. Ba, J. Kiros and G. Hinton, "Layer normalization", 2016. K. He, X. Zhang, S. Ren and J. Sun,
// "Identity mappings in deep residual networks", ECCV 2016. S. Hochreiter and J. Schmidhuber, "Long
// short-term memory", Neural Computation 9(8), 1997. D. Kingma and J. Ba, "Adam", ICLR 2015. X. Ma
// and E. Hovy, "End-to-end sequence labeling via bi-directional LSTM-CNNs-CRF", ACL 2016.
package encoder
