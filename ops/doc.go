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
// What was tried on composition, on the lexicon and grammar of a benchmark
// (782k × 55k states, 882k resulting arcs) and on a random machine (250k × 4
// states, 1.46M arcs), against OpenFst 1.7.9 in the same minutes (0.83 s and
// 2.9 s):
//
//   - fst.Table, one state at a time: 0.20 s and 0.68 s.
//   - Blocks of 16 states, whose arcs are all made before they are numbered: 0.19
//     and 0.61. The look-ups of a block overlap.
//   - A table of packed triples that touches the slots of a block's keys before
//     it looks them up, and operands read in a loop for each of their arrays: 0.18
//     and 0.53. Time is now spent where the operands' arcs first enter a cache.
//   - Bisection that does not branch on its last 64 arcs: 0.19 and 0.48, and a fifth
//     less on a machine of a thousand arcs. Without branches throughout: 0.23 on
//     the first, where a guess ahead hides a cache miss.
//   - What is known of a state's labels: a byte a state was half of composing the lexicon with a
//     grammar of 1000 arcs, for it had to be made zero. States of up to 8 arcs are looked at again,
//     longer lists that are known to be sorted are bisected for ε: 1.03 ms, then 0.65 (OpenFst 0.79).
//   - Bisection of more than 64 arcs that starts where the label would lie if all were spread
//     evenly: lexicon and grammar 0.21 to 0.18 s, lattices with a grammar 0.45 to 0.43.
//   - Workers: all expand, one numbers. Of the processor time of lexicon and grammar 55 % can be
//     shared and 45 % is the numbering, which goes on meanwhile; on the random machine a sixth
//     is the trimming, half of which can.
//   - Work space that is borrowed from the composition before, and a result collected there and copied when it is
//     trimmed, where it is small: of 173 kB for a result of 1447 arcs 76 are left, and of 42 first touches of
//     a page 20, each of which takes about 2 µs. compose_R_1e3 0.29 to 0.25 ms (OpenFst 0.33), compose_LG_1e3 0.54 to 0.42 (0.65),
//     words through two compositions each (spell_E2) 1.34 to 1.12 s, 200 lattices with a grammar 0.345 to 0.318 s and 104 to 90 MB at most.
//     Of larger results the first 16,000 states are copied once more, which is not to be seen.
//   - States of very many arcs, counted when 2¹⁵ are there and then made in one array of just their size, which the result
//     takes; numbered 2¹³ at a time. 450,000 arcs of a state with 60,000 loops: 147 ms for OpenFst, 80, then 29, and at most
//     34 MB, 64, then 30; two states of 3,000 arcs with 1,500 alike each 890 ms, 490, then 240, and 211 MB, 408, then 145.
//   - Looking ahead (LookAhead) on a lexicon of 5000 words and a random grammar of 200 states:
//     13 ms in place of 1.1 s, for one pair in a hundred comes to something there. It and the
//     matchers have an expansion of their own (composematch.go), for plain composition to stay as it is.
//     What pushes labels, too (lookaheadpush.go), has states with a label and a weight beside the pair, as
//     OpenFst's filters have; files of look-ahead types ask for it.
//   - Sweeps over states from the highest down, in place of a depth-first search,
//     find the states to trim: 5 % of the whole.
//
// On shortest distances: a heap that compares costs in place, where it had called a
// function, takes a search of a thousand arcs from 71 to 29 µs (OpenFst 57); heaps of components that are called without an
// interface, and targets that are not looked up where that would change nothing, took searches of 1e3 to 1e5 arcs to .77, .94 and .84 of
// their time in loud minutes (sd_cyc, medians of nine runs in turn). Work space of the search on demand that the next one takes over, one
// array in place of three: spell_E_lazy 65.5 to 58.2 ms (OpenFst 78; medians of 18). On ε-removal:
// states whose ε-arcs lead nowhere unfinished are closed side by side, a fifth of
// the time on a million arcs; most of the rest is finding what to trim. On Connect: a search
// from the start and sweeps backwards in place of Tarjan's search took 0.157 s for 0.164 on
// 635,000 arcs left of a random machine (OpenFst 0.264), and 66 MB at most for 74. Of 0.120 s in
// later minutes, 0.088 were left when the search took 16 states at a time, so that misses of the cache overlap, and
// 0.071 when the sweeps end where one finds less than an eighth (there the next two found 3 % in all) and what
// searches backwards counts arcs in 32 bits.
//
// Since then the search backwards, over lists of who waits for a state in place of a reversed copy of the arcs that two passes
// count and fill, takes 29 ms for 43 behind one sweep (connect_1e6: 71 to 60 ms in all; bits in place of bytes made no difference,
// waking each state as soon as it can be neither).
//
// Of connect_1e6 with one worker (54 ms) 14.2 were the sweep, 12.7 the search from the start, 12.2 waking, 10.7 deleting and 2.5
// asking each state for its final weight. 8.1 are left of the sweep since the compiler sees that what it looks up at each arc does not
// change, 7.3 of deleting with sets and sums of 64 states in place of an array of new numbers, and 0.3 of the final weights in one
// pass over them: 41. What did not help: to add what comes out of a test half the time in place of a jump (nothing in the
// search, in waking 23 ms for 12, since where to store then waits for what is loaded), 32 states at a time in place of 16, and rooms
// of 16,000 that wait in place of 4,000.
//
// On Connect with two workers: both search from the start, sweep (one from the highest state, the other from the middle),
// wake what waits, and delete, the deleted blocks being moved up at the end; states are claimed by atomic operations. Of 65 to 75 ms in
// loud minutes the search takes 27 with one and 14 with two, the sweep 10.5 and 8, waking 30 and 13: 1.8 in all. Before,
// one searched while the other swept all states, also those that are not reached: 1.5 to 1.6 in the same minutes, 1.4 on an idle machine.
// ε-removal trims so, too, and orders the ε-arcs while it looks which states are entered; closing is shared and
// putting the arcs in place is not.
//
// By the clock of two idle cores two workers are faster by 1.66 on connect_1e6 (66.6 to 40.1 ms), 1.67 on arcsort_L (3.62 to 2.17),
// 1.5 to 1.6 on compose_LG, 1.7 on compose_R_1e6, 1.65 to 1.9 on rmeps_1e6 and 1.7 to 2.0 on batches (run_workers.sh).
//
// On sorting arcs: of the 4.3 ms of arcsort_L half went through 781,000 states of mostly one arc and half was one state of
// 135,000; 3.05 are left since states of one arc are passed over by their number of arcs alone and keys get their room at once.
// Two goroutines share also the arcs of such a state, pieces of introsort as they are split, to the same result. When each of
// the five steps (states, keys, sorting, a copy, putting in place) was shared for itself, with a wait for both at its end, 2.3 to 2.5
// were left by the clock, for waking takes .05 to .1 each time; 1.85 since one goroutine makes the keys while the other goes through the
// states, and who has sorted a piece puts it in place.
//
// On Closure: a million arcs, 12,000 of 250,000 states final, 3.2 ms with Final and AddArc a state, 1.4 with one
// pass that gives each just the room it needs and neither asks for properties nor copies the other states for
// the new one (OpenFst 2.6). On sums over Log: e^-t from a table takes 10 ns for math.Exp's 18, and the shortest
// distances of 10,000 arcs 0.40 ms for 0.51 (OpenFst 0.65); the search for the order is a fifth of that.
//
// On growth: two steps from one size to ten times that are steeper than OpenFst's are so for the smaller one's sake. sd_log_1e3 to
// 1e4 is 23 to 362 µs (OpenFst 52 to 645), since a thousand arcs that are summed again and again are few enough for
// the processor to learn which way each comparison goes. Sums without that branch, with equal bits, are 30 to 370: as steep as
// OpenFst's, but slower at the smaller size, no faster at 100,000 arcs, and 7.0 ms for 5.5 on lattices (lat_sd_log); not kept.
// determinize_L_1e4 to 1e5 is 1.31 to 18.4 ms (OpenFst 5.0 to 71 in the same minutes, 4.9 to 51.5 on an idle machine) for
// 7.5 times the result: since states of the input no longer fit into the caches; a twentieth is the collector, which comes
// in the larger only, and a tenth copies what grows. With the states and arcs that the next 32 elements need fetched together, whatever
// subsets they belong to, misses overlap: 23 ms for 30, and a lexicon of 780,000 states 0.20 s for 0.26, composed with a language model 0.31 for
// 0.35. The like in the depth-first search for components, of what is known of targets, and of states further down the path, changed nothing.
//
// On memory: 200 lattices converted to Log64, each in one slab of its size, 35 MB for 39. Their
// determinization: 131 MB over Log64, 54 over Tropical. With work space that is
// borrowed from the construction before (scratch.go) and results copied out of a buffer into
// arrays of their size 121 and 44, at 2 to 8 % less processor time; a fifth of the first figures was
// what each construction threw away and the collector had no reason to look for yet. The program has 8.5 MB before the first machine
// is read (OpenFst's driver 5.6): 3.7 of read-only tables of types and of the runtime, 1.9 code, 1.4 tables of functions, 1.3 heap. Of the 49 MB of
// lat_det_tropical 34.3 are the arcs of inputs and results, 1.2 what their arrays are rounded up to and the runtime keeps beside them.
// (To let go of the program's own pages that nothing needs behind the reading leaves 45.4, OpenFst 44.9; they are shared and read-only, so
// that this would save a figure and no memory.)
// The machines that are read to be converted were garbage of which there was as much as of the results: read each into the memory of
// the one before (fst.Recycle) they take 35.0 MB at most for 40.0 (lat_sd_log; OpenFst 39.2), as a collection every 32 machines had
// done, and lat_det_log64 is what it was (126.5; OpenFst 126.4). Of a mapped const machine of 30 MB what has
// been checked is given back (fst.ReadOptions.Checked), but for the first 16 MiB: package mapping of cmd has the figures. To ask for the next part
// with MADV_POPULATE_READ, in place of a fault every 64 KB, changed nothing.
//
// # References
//
// M. Mohri, "Weighted automata algorithms", in Handbook of Weighted Automata,
// Springer 2009, is the place to read first; each file names the paper that it
// follows.
package ops
