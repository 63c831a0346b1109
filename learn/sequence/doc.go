// Package sequence is a linear-chain model that labels sequences, trained with
// the loss that one will be judged by.
//
// A Model scores a label sequence u for an input x by windows of up to q = 1, 2
// or 3 labels,
//
//	θ(u) = Σ_t  Σ_a v_a(t) w[a, u_t] + w[u_t] + w[u_{t-1}, u_t] + w[u_{t-2}, u_{t-1}, u_t]
//	            + Σ_b v_b(t) w[b, u_{t-1}, u_t]
//
// where a and b run over the attributes of position t with values v: those that
// Templates read off the columns of the input (the syntax of CRF++, see
// Template), and those given directly (Input.Attributes). The first positions
// have shorter windows; there is no padding.
//
// # Use
//
// Train fits a Model to Examples, with TrainOptions whose zero value is a
// conditional random field of order 2 with l2 = 1. Model.Tagger makes a Tagger
// for one goroutine, whose Viterbi, NBest and MinRisk label inputs. Model.Write
// and Read keep a model in a file.
//
// # What training can minimise
//
// Kind names the objectives; Loss is any loss of package losses, the Hamming
// distance by default, or LongEdit and LongLocal for alignments of long sequences. Label k
// of Model.Labels is symbol k to the loss. All but Risk are convex.
//
// # How it computes
//
// Where the loss is a sum over positions and there are no label triples and no
// attributes of label pairs, the forward and backward recursions run on
// exponentiated scores (chain.go), with the inner loops in assembly on amd64
// (kernels.go; of at most 32 labels, whole sequences at a time, chain_amd64.s). All else lays its scores out as losses.Potentials and is
// evaluated by package losses (general.go). Gradients come in two phases, from
// residuals by position and a transposed corpus (objective.go), so that results
// have the same bits for any number of workers; processors with and without AVX2
// or AVX-512 may differ in the last digits. L-BFGS keeps its pairs in float32 where there
// are many weights (optim.OWLQN, Single); all else is float64.
//
// Start reading at train.go, then objective.go and chain.go.
//
// # What was tried
//
// On CoNLL-2000 chunking (118658 attributes seen at least twice, 22 labels, 2.6
// million weights, 211727 positions; TestExperiment with SEQUENCE_TASK=chunking),
// processor time of an iteration: 0.73 s with everything in Go and a pass over
// memory for each set of inner products of L-BFGS; 0.36 s with the assembly
// kernels and gonum's inner products; 0.33 s with one pass for all inner
// products. The machine was busy: read ratios only.
//
// Then, in processor seconds of the whole training on one worker of a busy machine,
// from 33 to 16. L-BFGS, at the speed of memory, fell from 15 to 6 with pairs in
// float32, products that read each pair once, the step's end and slope taken in the
// pass that makes the direction, and the preconditioning inside of the objective
// instead of around it; fewer pairs were no way: with 4 instead of 10, the objective
// after 100 iterations is 8655 for 8634, and on handwriting 5 give 85.71 % of the
// letters for 85.83. The sums over rows (scores by position, gradients by attribute),
// 9 to 5: with rows that begin at lines of the cache and are fetched ahead, AVX-512,
// and groups of frequent attributes (frequent.go). The chain, 6.7 to 2.5: with the
// recursions of a whole sequence in one call, rows of the forward pass scaled one
// position late, and the expected pairs of a sequence as a product of matrices (by
// package gemm, a third of the chain's time went into its preparations). Not worth
// their while: large pages (a tenth at most), and merging attributes that always stand
// together (5 % of chunking's, 18 % of the part-of-speech tagger's).
//
// Scaling weights by their guessed curvature (precondition.go) saves a third to a half
// of the iterations. Weights for observed pairs only (TrainOptions.Observed) are a
// tenth as many, at about the same time an iteration.
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
