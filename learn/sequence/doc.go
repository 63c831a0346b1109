// Package sequence trains linear-chain models that label sequences, with the loss by which they
// will be judged.
//
// A Model scores a label sequence u for an input x by windows of up to q = 1, 2 or 3 labels,
//
//	θ(u) = Σ_t  Σ_a v_a(t) w[a, u_t] + w[u_t] + w[u_{t-1}, u_t] + w[u_{t-2}, u_{t-1}, u_t]
//	            + Σ_b v_b(t) w[b, u_{t-1}, u_t]
//
// where a and b run over the attributes of position t with values v. Templates extract attributes
// from the columns of the input, in the syntax of CRF++ and Wapiti (see Template); Input.Attributes
// gives others directly, as CRFsuite's files have them (ReadAttributes). The first positions have
// shorter windows; there is no padding.
//
//	model, _, err := sequence.Train(examples, &sequence.TrainOptions{L2: 1})
//	if err != nil {
//		return err
//	}
//	tagger := model.Tagger()
//	labels, err := tagger.Viterbi(input)
//
// # The types to know
//
//   - Train fits a Model to Examples. The zero TrainOptions give a conditional random field of order
//     2 with l2 = 1.
//   - Model.Tagger makes a Tagger for one goroutine. Its Viterbi, NBest and MinRisk label inputs, and
//     Marginals gives the probabilities of labels.
//   - Model.Write and Read store a model in a file.
//   - Kind names the training objectives. Loss is any loss of package losses, the Hamming distance
//     by default, LongEdit and LongLocal for alignments of long sequences, or Spans for chunks and
//     names. Label k of Model.Labels is symbol k to the loss. All objectives but Risk are convex.
//
// TrainOptions.Network adds the scores of a network of words and their characters (package encoder)
// to those of the features. Both are trained together, by the same gradients with respect to
// scores.
//
// # What may be relied on
//
// Results have the same bits for any number of workers. For this, gradients come in two phases:
// first residuals by position, then sums over a transposed corpus (objective.go). Processors with
// and without AVX2 or AVX-512 may differ in the last digits.
//
// # How it computes
//
// Forward-backward runs on exponentiated scores (chain.go) when the loss is a sum over positions
// and there are no label triples and no attributes of label pairs. On amd64 its inner loops are in
// assembly (kernels.go), with whole sequences of at most 32 labels at a time (chain_amd64.s). All
// other cases lay their scores out as losses.Potentials, which package losses evaluates
// (general.go).
//
// L-BFGS keeps its pairs in float32 where there are many weights (optim.OWLQN, Single); all else is
// float64. Scaling weights by their estimated curvature (precondition.go) saves a third to a half
// of the iterations. Weights for observed pairs only (TrainOptions.Observed) are a tenth as many,
// and have rows or lists by how frequent they are (narrow.go). Attributes that are always together
// are trained as one (columns.go).
//
// Start reading at train.go, then objective.go and chain.go. What was tried, with times, is in
// testdata/bench/NOTES.md.
//
// # Conventions
//
// Training differs from package learn's convention: the Control is a part of TrainOptions, and Kind
// and Solver are numbers with names. Settings are the options with tags.
//
// # References
//
// J. Lafferty, A. McCallum and F. Pereira, "Conditional random fields", ICML
// 2001. K. Gimpel and N. Smith, "Softmax-margin CRFs", NAACL 2010. M. Norouzi et
// al., "Reward augmented maximum likelihood", NIPS 2016. B. Taskar, C. Guestrin
// and D. Koller, "Max-margin Markov networks", NIPS 2003. C. Cortes, V. Kuznetsov,
// M. Mohri, D. Storcheus and S. Yang, "Efficient gradient computation for
// structured output learning with rational and tropical losses", NeurIPS 2018.
package sequence
