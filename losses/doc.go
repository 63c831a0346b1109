// Package losses turns sequence losses into machines, and machines into
// values, gradients, risks and decodings, exactly.
//
// # The problem
//
// Potentials θ of order q score label strings u of a fixed length; L(u) is the
// loss of u against a reference. With a parameter γ,
//
//	log Z = log Σ_u exp(θ(u) + γ L(u)),   P_aug(u) = exp(θ(u) + γ L(u)) / Z,
//
// and d log Z / d θ_t(z) = P_aug(window at t is z): the gradient of the
// softmax-margin objective log Z - θ(reference) at γ = 1, of
// reward-augmented likelihood at γ < 0, of the plain conditional random field
// at γ = 0. This is GRAD-TROPICAL and GRAD-RATIONAL of the thesis (chapter 6).
//
// # The map
//
//   - [Loss]: [Edit] ([Unit], [SmithWaterman] and any costs), [Local], [NGram],
//     [Hamming] prepare a [Machine] for a reference; a [Cache] keeps machines.
//   - [Machine]: a layered deterministic automaton of losses, in machine.go;
//     [Builder] makes one from anything that can be unfolded into layers.
//   - [Potentials]: θ, in potentials.go.
//   - [Evaluator] computes, as a [Want] says, what a [Result] holds: log Z,
//     marginals, E_aug[L], the risk E_0[L] and its gradient, Hessian-vector
//     products, best strings; [Evaluator.Sample] draws strings.
//   - [Naive] does the same by enumeration.
//   - The general path, for any loss that a transducer gives: [TropicalAutomaton]
//     and [RationalAutomaton] (general.go) make the deterministic [Automaton] of a
//     user's transducer or of one of those in transducers.go, by the operations
//     of package ops; [EvalGeneral] pairs it with potentials, a [Lattice] with any
//     acyclic acceptor of labels, which may expand to strings of symbols on the
//     way; [Automaton.Machine] hands it to an [Evaluator].
//   - [Budget], [BudgetError]: what a machine may take, and by which band or else it would fit.
//
// A newcomer reads machine.go, then columns.go, then sweep.go.
//
// # How a machine is built
//
// Edit-like losses (columns.go). As lengths are fixed, a constant cost only
// shifts L, and aligning y_t with r_j gains del + ins - sub or nothing:
// L = const - S, S the greatest sum of gains over alignments. The deterministic
// automaton of L has the columns of S as states, as they are after
// subtracting their first cell. Symbols that the reference lacks act alike.
//
// Clamping. With r symbols to come, what a continuation adds from cell j lies
// between low(j) and up(j) (least and greatest gains, min(r, m-j) of them for
// constant costs). G = max_j S[j] + low(j) is had whatever follows; raising
// S[j] to G - up(j) changes no final score, for that entry ends at G at most.
// Columns that differ only in what cannot matter become equal: 30 times fewer at
// length 12, 50 times at 14, and within a factor of 1.3 of the least possible
// number. What remains grows by about 2 a symbol for unit costs on random
// references and 2.8 for Smith-Waterman's, which no exact method avoids: the
// rank of the Hankel matrix of exp(L) bounds every weighted automaton.
//
// Columns are integers, hashed as such: multiples of a unit that decimals and
// rationals have in common, else of a power of two (costs.go). With few distinct
// small gains a column is one machine word, with one bit per unit of each step
// (words.go). All others, among them any with a cost so large that it forbids, are
// columns of least costs whose losses are added up from the least of all, so that
// nothing is lost beside a dear cost (least.go); evaluations at a γ so large that
// rounding would show use those too (careful.go).
//
// n-gram losses (ngram.go): a count automaton, the states of Aho and Corasick by
// counts. For n, q ≤ 2 evaluations run on vectors of counts without building
// it (ngramsweep.go), or by quadrature (quadrature.go).
//
// # How it is evaluated
//
// The graph of a machine for an order q (graph.go) has an entry for each column
// with the last q-1 labels that may lead into it. Potentials are whitened
// (whiten.go): plain backward messages make them probabilities p0(d | context),
// so that Z = Z0 E_p0[exp(γ L)] and no θ overflows. Sweeps (sweep.go, kernels.go,
// vector.go) run forward and backward over the graph, in linear numbers;
// tangents of the same sweeps give E_aug[L] (along γ), the risk's gradient
// (along γ at 0) and Hessian products (along V).
//
// Underflow is not guessed at: a linear sweep is accepted when the sums it ends
// with are so large that what underflowed cannot matter, else repeated with
// layers scaled, else done in logarithms (logsweep.go).
//
// # What is exact and what is not
//
// Everything is exact up to rounding but for these. Edit.Band > 0 restricts
// alignments to a band: L' ≥ L, with columns linear in the length. Then
// Result.LogZError tells how far log Z' is from log Z, as a certified bound
// where the mass of strings that an alignment outside the band could serve
// better is small, else as a Monte-Carlo estimate; the marginals' total
// variation distance is at most 1 - exp(-|log Z' - log Z|). The bound says
// something for models that know their references and bands that are wide
// enough; otherwise a wider band tells the greater part, and an estimate the rest
// (band.go). Local.Band is an upper bound likewise, with columns that grow as the cube of the
// length, as those of any such machine must (local.go), and an estimate alone: an alignment outside the band may gain as much as any. For γ < 0 it may be far off still: strings that the band scores badly
// are missing from its sample. Costs of both signs and of sizes that differ by more
// than a float64 holds may make log Z a difference of which nothing is left: that is
// an error, ErrRange. Evaluator.Nodes below the exact
// number truncates the quadrature. An n-gram loss with C = 0 leaves out
// the strings that share no n-gram with the reference.
//
// # Budgets
//
// Every machine has a budget, of DefaultBytes where none is stated, and beyond it a *[BudgetError],
// which says how far the machine had come and what to do. Direct constructions
// (budget.go) count columns and their evaluation; an edit loss is told the band to try.
// The general path (generalbudget.go) counts the machines of all its operations that are
// held at one time, and the error names the operation. Where the loss is an
// edit loss, on strings of one length or a lattice, it names a band whose automaton was found to fit on
// this path; else what would help: the direct path, a pruned lattice, a smaller
// transducer. A band holds on the general path too (generalband.go), on lattices and behind expansions
// as on strings of one length: l is then the length of each string of symbols. What it costs is told by a
// wider band, and a sample for the rest (latticeband.go).
//
// # What lost
//
// Low-rank compression of the columns (the numerical rank is about half of
// them), joining clamped prefixes with clamped suffixes (not exact when both
// are clamped, too many pairs otherwise), thresholds on the loss as the thesis
// proposes (with γ > 0 the mass is at large losses), and dropping columns of
// little posterior mass (half of them are needed for four digits).
//
// # To add a loss
//
// Give it Machine and AppendKey (and a Value by its definition, for tests and
// metrics); Machine unfolds the loss layer by layer into a Builder, hashing whatever
// state it needs, and puts what the state has in common on the arcs. Test it
// against [Naive] as random_test.go does.
//
// References: C. Cortes, V. Kuznetsov, M. Mohri, D. Storcheus, S. Yang,
// "Efficient gradient computation for structured output learning with rational
// and tropical losses", NeurIPS 2018; E. Ukkonen, "Algorithms for approximate
// string matching", 1985; W. Masek, M. Paterson, "A faster algorithm computing
// string edit distances", 1980 (blocks by tables); G. Myers, "A fast bit-vector
// algorithm for approximate string matching", 1999.
package losses
