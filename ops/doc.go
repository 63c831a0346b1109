// Package ops has the operations on weighted transducers, under the names of the literature and of
// OpenFst.
//
// Compose two machines, find the best path of the result, and print it:
//
//	both, err := ops.Compose(a, b, nil) // a's output labels meet b's input labels
//	if err != nil {
//		return err // it names the operation, the state and what to do
//	}
//	best, err := ops.ShortestPath(both, nil)
//	if err != nil {
//		return err
//	}
//	in, out, cost, err := fst.ToLabels[semiring.Tropical](best)
//
// # Where to start
//
// Compose is the centre: it combines two machines. ArcSort comes before it, since Compose needs
// sorted arcs. Project, RmEpsilon and Determinize make the result smaller or its paths unique.
// ShortestPath, ShortestDistance and ForwardBackward read it.
//
//	make     Union Concat Closure Reverse Invert Project        rational operations; relabelling
//	combine  Compose ComposeLazy Intersect Subtract Replace     Filter orders ε-moves, Trace tells where arcs came from
//	         NewComposer                                        the Expander that Compose and ComposeLazy are made of
//	simplify Connect ConnectWorkers DeadEnd RmEpsilon           same relation, other machine
//	         Determinize Minimize MinimizeFactored Push
//	         Disambiguate                                       one path a string, also where Determinize does not end
//	prune    Prune DeterminizePruned DisambiguatePruned         the best part of the relation
//	order    ArcSort ArcSortWorkers TopSort Synchronize EpsNormalize
//	weights  MapWeights InvertWeights PowerWeights QuantizeWeights PlusWeights TimesWeights RmWeight
//	         ReweightToInitial ReweightToFinal ReweightLog FactorWeight
//	         Convert MapInto                                    to another semiring
//	arcs     ArcSum ArcUnique SuperFinal RmFinalEpsilon EpsilonLabels Relabel
//	encode   Encode Decode                                      labels or weights as one label, and back
//	         Compress Decompress LabelLookAhead                 small files; the labels that each state can reach
//	search   ShortestDistance ShortestDistanceLog64             sums over paths,
//	         ShortestDistanceAcyclic TotalWeight
//	         ShortestPath ShortestPathUnique                    best paths, best strings
//	         ForwardBackward Posteriors ExpectedCounts          what passes through each arc
//	draw     RandGen                                            random paths
//	compare  Equal Compare Isomorphic Equivalent Distinguish RandEquivalent
//	ask      Twins Functional Unambiguous BoundedDelay          with a witness where the answer is no
//	         Stochastic Describe Check CheckLimits              Check tests the operations on a machine of yours
//	lazily   ComposeLazy IntersectLazy SubtractLazy ReplaceLazy UnionLazy ConcatLazy ClosureLazy DeterminizeLazy
//	         RmEpsilonLazy SynchronizeLazy FactorWeightLazy     Collect makes a machine in memory of any
//	         ShortestPathLazy ShortestDistanceLazy              searches that ask for states one by one
//	linear   ComposeLinear NormalizeLinear                      with an fst.LinearModel, a log-linear tagger or classifier
//
// # What holds everywhere
//
// An operation names the algebra that it needs as a constraint on the weights: Determinize asks for
// semiring.Divisible, ShortestPath for the path property. A wrong call does not compile.
//
// Options are structs whose zero value is the right default; nil is the zero value. Constructive
// operations embed Limits in their options. Beyond a limit they return a *LimitError that says how
// much was built.
//
// States are dense from 0, label 0 is ε, and the slice that Arcs returns is read-only.
//
// An operation named by a verb either changes a *fst.Vector in place (Invert, ArcSort, Connect) or
// builds a new machine from its operands (Compose, Reverse). Where both exist, the participle
// builds (Inverted, ArcSorted, Projected).
//
// A limit or a context that stops an operation gives a *LimitError; errors.Is finds ErrLimit,
// context.Canceled or context.DeadlineExceeded in it. After an error an operation in place leaves
// its machine as it was, with two exceptions. RmEpsilon and RmEpsilonPruned with one worker, and
// MinimizeAcceptor, leave a machine with the same relation. Reweighting by a potential that has no
// quotient (ErrNotMember in PushWeights, ReweightToInitial and ReweightToFinal) leaves a machine
// that is half changed.
//
// State numbers and the order of arcs are those of OpenFst 1.7.9, operation by operation: scripts
// and stored files depend on them. Results depend neither on the order of a map nor on the number
// of workers. The properties that a result claims are true of it.
//
// # How it is made
//
// A constructive operation is an fst.Expander, which computes the final weight and the arcs of one
// state. fst.Lazy caches it, and Materialize runs it to the end. Compose has an eager loop of its
// own over the same expansion, and a test that both agree.
//
// Internal packages hold what several operations share:
//
//   - run: limits, workers, work space, heaps, tables, sorting
//   - graph: components, orders, reached and dead states
//   - square: searches on pairs of states
//   - sums: sums over paths, and queues
//   - subsets: the states of determinization
//   - partition: which states are equivalent
//   - draw: random numbers
//
// To add an operation, add it in three places. It gets one file here with its tests and an example.
// In cmd/fst/internal/suite, where weight types are erased, it gets a method and its line of the
// interface. In cmd/fst it gets a tool that offers itself. Help, completion, the manual page, links
// and the tests of every tool follow from the tool. A test asks for the name in the table above.
// The C interface has one table of its own, in cmd/internal/calls, and the Python package a
// function for each entry.
//
// Three packages serve the engine from outside. go-cmp compares structures in tests and prints
// their difference. gonum is the dense linear algebra of package learn; sums over paths here are
// sparse and over semirings, which it does not have. gods holds ordered collections that change
// seldom: the cache of losses evicts by a tree map, and the searches of learn/structured use its
// priority queue. Heaps and tables here work arc by arc; they are written for their key types in
// internal/run.
//
// The history of attempts and timings is in testdata/bench/NOTES.md.
//
// # References
//
// Read M. Mohri, "Weighted automata algorithms", in Handbook of Weighted Automata, Springer 2009,
// first. Each file names the paper that it follows.
package ops
