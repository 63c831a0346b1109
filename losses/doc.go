// Package losses gives sequence losses to gradient descent: the exact value and gradient of
// log Z = log Σ_u exp(θ(u) + γ L(u, reference)) over all label strings u, where L is an edit
// distance, an alignment score, an n-gram loss, a Hamming loss, or what any transducer says.
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
//   - [Loss] is [Edit] ([Unit], [SmithWaterman], any costs), [Local], [NGram], [Hamming] or a [Transducer].
//     It makes a [Machine] for a reference; a [Cache] keeps machines.
//   - [Sampler] estimates gradients of strings of hundreds of symbols, with intervals, where exact machines are too large.
//   - [Evaluator] gives for a Machine and [Potentials] what a [Want] names: log Z, marginals, E[L], the risk
//     and its gradient, Hessian products, best strings, samples. A [Batch] does many of them.
//
// [EvalGeneral] and [Lattice] evaluate along the general path: an [Automaton] made of any transducer
// by package ops, paired with potentials or with any acyclic acceptor. [Naive] enumerates. [CheckGradient]
// compares a gradient with differences. [Builder] makes a Machine of anything in layers.
//
// # What may be relied on
//
// The gradient of log Z with respect to θ_t(z) is the probability that the window at t is z. It
// gives softmax-margin training at γ = 1, reward-augmented likelihood at γ < 0 and the plain
// conditional random field at γ = 0.
//
// Everything is exact up to rounding, but for what says that it is not: a band (Edit.Band,
// Local.Band) gives an upper bound on the loss, and Result.LogZError tells how far log Z is off;
// Evaluator.Nodes truncates a quadrature. A [SampledResult] holds 95 % intervals, which cover as often as they say where it says
// that its chains mixed. Costs have no unit: with costs s times as large and γ/s
// nothing changes. What float64 cannot hold is [ErrRange].
//
// Exact machines of edit losses grow exponentially with the length, by about 2 a symbol for unit costs on random
// references, which no exact method avoids. Every machine has a [Budget], of [DefaultBytes] where none
// is stated. Beyond it is a *[BudgetError], which comes after some thousand columns where growth tells, and names the band to try
// or what else helps.
//
// The zero value of an option is its default, so that what is not written is what the field
// takes for granted: Edit{} is the unit distance, Hamming{} counts, Local{} has gains 1 and -1,
// SoftmaxMargin.Gamma is 1. Where 0 is a number like others it stays one: Case.Gamma and the γ of Eval at 0 are the
// plain model; NGram.C = 0 leaves out strings that share no n-gram. The loss 0 is a nil Loss or Machine,
// never a loss with costs of 0, since such costs are nearly always forgotten ones.
//
// Machines and automata are immutable and may be shared. Evaluators, batches and objectives
// serve one goroutine each. Results do not depend on the number of workers.
//
// # How it works
//
// columns.go tells how columns of alignments become states, ngram.go how counts do, graph.go and
// sweep.go how they are swept, whiten.go why nothing overflows, costgrid.go how the general path
// rounds costs, generalclamp.go why its machines are no larger than others. A newcomer reads machine.go, then columns.go, then sweep.go. What was tried and
// what it cost is in testdata/bench/NOTES.md.
//
// To add a loss, give it Machine and AppendKey; Machine unfolds it layer by layer into a
// Builder, and puts what a state has in common on the arcs. Test it against [Naive] as
// random_test.go does.
//
// References: C. Cortes, V. Kuznetsov, M. Mohri, D. Storcheus, S. Yang,
// "Efficient gradient computation for structured output learning with rational
// and tropical losses", NeurIPS 2018; E. Ukkonen, "Algorithms for approximate
// string matching", 1985; W. Masek, M. Paterson, "A faster algorithm computing
// string edit distances", 1980 (blocks by tables); G. Myers, "A fast bit-vector
// algorithm for approximate string matching", 1999.
package losses
