// Package ops has the operations on weighted transducers, one a file, under the
// names that the literature and OpenFst's users know.
//
// # Where to start
//
// Compose is the centre: it combines two machines, and ShortestPath,
// ShortestDistance or ForwardBackward read the result. Before them come ArcSort,
// which composition asks for, and often Project, RmEpsilon and Determinize, which
// make the result smaller or its paths unique.
//
//	make     Union Concat Closure Reverse Invert Project        rational operations, and what only moves labels
//	combine  Compose ComposeLazy Intersect Subtract Replace     with Filter, and Trace for where arcs came from
//	simplify Connect RmEpsilon Determinize Minimize Push Prune  same relation (Prune: the best part of it), other machine
//	         Disambiguate                                       one path a string, where Determinize does not end
//	order    ArcSort TopSort Synchronize EpsNormalize
//	weights  MapWeights InvertWeights PowerWeights QuantizeWeights PlusWeights TimesWeights RmWeight
//	         ReweightToInitial ReweightToFinal
//	         Convert MapInto                                    to another semiring
//	arcs     ArcSum ArcUnique SuperFinal EpsilonLabels Relabel
//	encode   Encode Decode                                      labels or weights as one label, and back
//	         Compress Decompress LabelLookAhead                 small files; what labels each state can reach
//	search   ShortestDistance ShortestPath ForwardBackward      sums over paths, best paths, posteriors of arcs
//	draw     RandGen                                            random paths
//	compare  Equal Compare Isomorphic Equivalent RandEquivalent Twins BoundedDelay Describe
//	lazily   ComposeLazy IntersectLazy SubtractLazy ReplaceLazy UnionLazy ConcatLazy ClosureLazy DeterminizeLazy
//	         RmEpsilonLazy SynchronizeLazy FactorWeightLazy    and Collect, which makes a machine in memory of any
//	         ShortestPathLazy ShortestDistanceLazy              searches that ask for states one by one
//	linear   ComposeLinear NormalizeLinear                      with an fst.LinearModel, a log-linear tagger or classifier
//
// # What holds everywhere
//
// An operation asks for the algebra that it needs by its constraint: Determinize
// for semiring.Divisible, ShortestPath for the path property; a wrong call does
// not compile. Options are structs whose zero value is the right default, nil
// included; the constructive ones embed Limits, and what goes beyond one is a
// *LimitError with what had been built.
//
// States are dense from 0, label 0 is ε, and what Arcs returns is read-only.
// Operations named by a verb change a *fst.Vector in place (Invert, ArcSort,
// Connect) or build a new machine from their operands (Compose, Reverse); where
// both are wanted, the participle is the one that builds (Inverted, ArcSorted,
// Projected).
//
// What stops at a limit or a context is a *LimitError, in which errors.Is finds ErrLimit, context.Canceled or
// context.DeadlineExceeded. A machine that was to be changed in place is after any error what it was, but for these:
// RmEpsilon and RmEpsilonPruned, by one worker, and MinimizeAcceptor, which is also what Minimize makes of its copy, leave a machine
// with the same relation; reweighting by a potential that cannot be divided by (ErrNotMember in PushWeights, ReweightToInitial,
// ReweightToFinal) leaves one that is half changed.
//
// State numbers and the order of arcs are those of OpenFst 1.7.9, operation by
// operation: scripts and stored files depend on them. Results depend neither on
// the order of a map nor on the number of workers. Properties that a result
// claims to know are true of it; what OpenFst knows of the same result is mostly
// known here too.
//
// # How it is made
//
// A constructive operation is an fst.Expander, which gives the final weight and
// the arcs of one state; fst.Lazy caches it and Materialize runs it to the end.
// Compose has an eager loop of its own beside that, over the same expansion, and
// a test that both agree.
//
// # What was tried
//
// Times are of the benchmark in testdata/bench on two cores of a shared machine, before → after, most of
// them medians of runs in turn; OpenFst 1.7.9 in the same minutes stands in brackets. "Not kept" did not help.
//
// Composition of a lexicon and a grammar (compose_LG: 782,000 × 55,000 states, 882,000 arcs come out), and of
// random machines (compose_R_1e6: 250,000 × 4 states, 1.46 million arcs):
//
//   - Pairs numbered by fst.Table, one state at a time: 0.20 s and 0.68 s (0.83 and 2.9). Blocks of 16
//     states, whose arcs are all made before they are numbered, so that look-ups overlap: 0.19 and 0.61.
//   - A table of packed triples that touches the slots of a block's keys before it looks them up, and
//     operands read in one loop for each of their arrays: 0.18 and 0.53. What is left is where the
//     operands' arcs first enter a cache.
//   - Bisection that does not branch within its last 64 arcs: 0.19 and 0.48. Without branches throughout: 0.23 on the
//     first, where a guess ahead hides a miss; not kept.
//   - Bisection of more than 64 arcs that starts where the label would lie if all were spread evenly:
//     0.21 → 0.18 s, lattices with a grammar 0.45 → 0.43.
//   - A byte for each state of what is known of its labels was half of compose_LG_1e3, since it had to be made zero.
//     Short lists are looked at again instead: 1.03 → 0.65 ms (0.79).
//   - Work space borrowed from the composition before, small results collected there: of 42 first touches
//     of a page, 2 µs each, 20 are left. compose_R_1e3 0.29 → 0.25 ms (0.33), spell_E2 1.34 → 1.12 s, lat_intersect_G 104 → 90 MB.
//   - The states of a block are pushed at once (fst.Vector.PushStates), not one by one: compose_R_1e5 28.6 → 26.9 ms.
//   - States with more than 2¹⁵ arcs are counted, then made in one array of just that size, which the result takes:
//     450,000 arcs of a state with 60,000 loops 80 → 29 ms and 64 → 30 MB (147 and 34).
//   - Looking ahead, a lexicon of 5000 words with a random grammar of 200 states: 1.1 s → 13 ms. It has an expansion
//     of its own (composematch.go, lookaheadpush.go), so that plain composition stays as it is.
//   - What is to be trimmed is found by sweeps over states from the highest down, in place of a depth-first search: 5 % of the whole.
//   - Two workers: both expand, one of them numbers. Of the lexicon and grammar 45 % of the time is numbering,
//     which goes on meanwhile; of the random machines a sixth is trimming, half of which is shared.
//
// Shortest distance and paths:
//
//   - A heap that compares costs in place of calling a function: sd_cyc_1e3 71 → 29 µs (57). Heaps of components
//     called without an interface: .77 to .94 of the time at 1e3 to 1e5 arcs.
//   - One array that the next search takes over, where there were three new ones: spell_E_lazy 65.5 → 58.2 ms (78).
//   - Over log weights, e^-t from a table: 18 → 10 ns, sd_log_1e4 0.51 → 0.40 ms (0.65).
//   - sd_log grows more steeply from 1e3 to 1e4 arcs than OpenFst's (23 → 362 µs for 52 → 645) because the
//     processor learns the comparisons of a thousand arcs that are summed again and again. Sums without that branch: 30 → 370, and
//     lat_sd_log 5.5 → 7.0 ms; not kept.
//
// Determinization:
//
//   - States and arcs that the next 32 elements of subsets need are fetched together, so that misses overlap: determinize_L_1e5 30 → 23 ms,
//     determinize_L 0.26 → 0.20 s, determinize_LG 0.35 → 0.31. The like in the search for components: no change; not kept.
//   - Work space borrowed from the construction before, results copied into arrays of their size: 200 lattices
//     131 → 121 MB over Log64, 54 → 44 MB over Tropical, 2 to 8 % less time.
//
// Connect, of 635,000 arcs of a random machine (connect_1e6):
//
//   - A search from the start and sweeps backwards in place of Tarjan's: 0.164 → 0.157 s (0.264), 74 → 66 MB.
//   - Searching 16 states at a time, so that misses overlap, and fewer sweeps: 0.120 → 0.071. 32 at a time: no change; not kept.
//   - Backwards by lists of who waits for a state, in place of a reversed copy of the arcs: 71 → 60 ms.
//     Bits in place of bytes for what is visited: no change; not kept.
//   - In the sweep, what does not change is kept out of the loop: 14.2 → 8.1 ms. Deleting by sets and sums of 64 states
//     in place of an array of numbers: 10.7 → 7.3. Adding the outcome of a test in place of a jump: waking 12 → 23 ms, since
//     where to store then waits for what is loaded; not kept.
//   - Two workers share all four parts; states are claimed by atomic operations. One that searched while the
//     other swept all states: 1.4 times as fast as one; so: 1.66.
//
// Other operations:
//
//   - RmEpsilon: states whose ε-arcs lead nowhere unfinished are closed side by side, a fifth of the time on a million arcs.
//     Arcs that come last, and differ among themselves, are looked for but not entered where others look: rmepsilon_G 33 → 29 ms (OpenFst
//     65). Slots only as many as suit the state, to be nearer: 38, since a fuller table is harder to foretell; not kept.
//   - ArcSort (arcsort_L): states of one arc are passed over by their number of arcs, keys get their room at once: 4.3 → 3.05 ms. With two
//     workers, pieces of the one state of 135,000 arcs are shared as they are split. To wait for each other after each of five
//     steps left 2.4, since waking takes .05 to .1 ms; who has sorted a piece now puts it in place: 1.85.
//   - Closure, of which 12,000 of 250,000 states are final: one pass that gives each just the room it needs: 3.2 → 1.4 ms (2.6).
//
// Memory:
//
//   - Lattices converted to Log64, each in one slab of its size: 39 → 35 MB. Each read into the memory of the one
//     before (fst.Recycle): 40 → 35 (lat_sd_log; 39).
//   - Of a mapped const machine what has been checked is given back (fst.ReadOptions.Checked); package mapping of cmd has
//     the figures. Asking for pages ahead with MADV_POPULATE_READ: no change; not kept.
//   - lat_det_tropical needs 48 MB (44.9): 34.4 are arcs of inputs and results, as there, 10.2 the program's own read-only pages, of
//     types, code and tables of functions (OpenFst's driver: 5.6), 2.3 the runtime. To let go of pages that are not needed any more would leave 45.4;
//     they are shared with the file, so that it would save a figure and no memory; not kept.
//   - Pages of 2 MB for the heap (THP always): 0 to 15 % less time on large machines, 2 to 8 MB more; not kept.
//
// # References
//
// M. Mohri, "Weighted automata algorithms", in Handbook of Weighted Automata,
// Springer 2009, is the place to read first; each file names the paper that it
// follows.
package ops
