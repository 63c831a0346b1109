// Package losses gives sequence losses to gradient descent. It computes the exact value and
// gradient of log Z = log Σ_u exp(θ(u) + γ L(u, reference)) over all label strings u. L is an edit
// distance, an alignment score, an n-gram loss, a Hamming loss, or any loss that a transducer
// defines.
//
//	references := [][]int{{0, 1, 1}, {1, 0}}
//	theta := losses.Tensor[float32]{Batch: 2, Length: 3, Window: 2, Data: scores} // of your model
//	grad := losses.Tensor[float32]{Batch: 2, Length: 3, Window: 2, Data: make([]float32, 12)}
//	values := make([]float64, 2)
//	objective := losses.SoftmaxMargin[float32]{Loss: losses.Unit, Alphabet: 2}
//	err := objective.Eval(ctx, references, theta, values, &grad) // log Z - θ(reference), and d/dθ
//
// # Types to know
//
//   - [SoftmaxMargin] evaluates padded batches on all workers; [Tensor] is a flat array with strides.
//   - [Loss] is [Edit] ([Unit], [SmithWaterman], any costs), [Local], [NGram], [Hamming], [Span] or a
//     [Transducer]. It makes a [Machine] for a reference; a [Cache] keeps machines.
//   - [Sampler] estimates gradients of strings of hundreds of symbols, where exact machines are too
//     large, with an interval for each number. A [SampledBatch] evaluates many of them.
//   - [Evaluator] computes for a Machine and [Potentials] what a [Want] lists: log Z, marginals,
//     E[L], the risk and its gradient, Hessian products, best strings, samples. A [Batch] evaluates
//     many of them. [Evaluator.EvalTied] is for the weights of linear-chain models.
//
// [EvalGeneral] and [Lattice] evaluate along the general path. It pairs an [Automaton], made of any
// transducer by package ops, with potentials or with an acyclic acceptor. [Naive] enumerates.
// [CheckGradient] compares a gradient with differences. [Builder] makes a Machine of anything in
// layers.
//
// # What may be relied on
//
// The gradient of log Z with respect to θ_t(z) is the probability that the window at t is z. It
// gives softmax-margin training at γ = 1, reward-augmented likelihood at γ < 0 and the plain
// conditional random field at γ = 0.
//
// Everything is exact up to rounding, unless documented otherwise. A band (Edit.Band, Local.Band)
// gives an upper bound on the loss, and Result.LogZError tells how far log Z is off.
// Evaluator.Nodes truncates a quadrature. A [SampledResult] has 95 % intervals, and says whether to
// believe them. Costs have no unit: costs s times as large with γ/s give the same result. Results
// beyond float64 are [ErrRange].
//
// Exact machines of edit losses grow exponentially with the length, by about 2 a symbol for unit
// costs on random references. No exact method avoids this. Every machine has a [Budget],
// [DefaultBytes] by default. A machine beyond it is a *[BudgetError], returned after some thousand
// columns where growth allows. The error names the band to try, or another remedy.
//
// The zero value of an option is its default. Edit{} is the unit distance, Hamming{} counts,
// Local{} has gains 1 and -1, and SoftmaxMargin.Gamma is 1. Where 0 is a number like others it is
// not a default. Case.Gamma and the γ of Eval at 0 are the plain model; NGram.C = 0 leaves out
// strings that share no n-gram. The loss 0 is a nil Loss or Machine, not a loss with costs of 0,
// which are nearly always forgotten ones.
//
// Machines and automata are immutable and may be shared. Evaluators, batches and objectives
// serve one goroutine each. Results do not depend on the number of workers.
//
// # How it works
//
// Its rooms are internal packages. Package align explains how columns of alignments become states,
// ngram.go how counts do. Package layered lays machines out for potentials, and package sweep runs
// over them: whiten.go explains why nothing overflows. Package determinize makes the machines of
// the general path, and explains how it rounds costs and why it has no more states than others.
// Package gibbs samples. Start reading at machine.go, then align/columns.go, then sweep/sweep.go;
// for sampling, at sampled.go. What was tried and what it cost is in testdata/bench/NOTES.md.
//
// To add a loss, give it Machine and AppendKey. Machine unfolds it layer by layer into a Builder,
// and puts the common part of a state on the arcs. Test it against [Naive] as random_test.go does.
//
// References: C. Cortes, V. Kuznetsov, M. Mohri, D. Storcheus, S. Yang,
// "Efficient gradient computation for structured output learning with rational
// and tropical losses", NeurIPS 2018; E. Ukkonen, "Algorithms for approximate
// string matching", 1985; W. Masek, M. Paterson, "A faster algorithm computing
// string edit distances", 1980 (blocks by tables); G. Myers, "A fast bit-vector
// algorithm for approximate string matching", 1999.
package losses
