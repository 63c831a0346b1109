// Package semiring has the weights of weighted automata: the algebra that each
// carries as its methods, and their text and bytes in files.
//
// A weight type W meets Weight[W]: ⊕ is Plus, ⊗ is Times, 0̄ and 1̄ are Zero and One. What an
// algorithm needs beyond that is a narrower constraint, so that a wrong call does not compile:
// Divisible for determinization and pushing, Path for shortest paths, Commutative, Idempotent,
// Star, Approx, Quantizable, Proportional, Reversible, Powered; LeftSemiring and RightSemiring say
// that ⊗ distributes on one side only. Each type claims what it has next to its definition, where
// losing it fails the build. Cancellative reports weight by weight whether it cancels, and is
// checked at run time: by Equivalent, and before determinization is said not to end. Component is
// what all numbers implement and composites require of their parts.
//
//	type             (K, ⊕, ⊗, 0̄, 1̄)                       arc type in files
//	Tropical         (ℝ∪∞, min, +, ∞, 0) in float32         standard
//	Tropical64       the same in float64                    tropical64
//	Log              (ℝ∪∞, -log(e^-a+e^-b), +, ∞, 0)         log
//	Log64            the same in float64                    log64
//	Probability      (ℝ₊, +, ·, 0, 1) in float64            real64 (a user may write probability)
//	Boolean          ({0,1}, ∨, ∧, 0, 1)                    boolean
//	MinMax           (ℝ∪±∞, min, max, ∞, -∞) in float32     minmax
//	StringLeft       (Σ*∪∞, common prefix, ·, ∞, ε)         left_standard_string
//	StringRight      (Σ*∪∞, common suffix, ·, ∞, ε)         right_standard_string
//	StringRestricted (Σ*∪∞, equal or no member, ·, ∞, ε)    restricted_standard_string
//	Product          A×B, by parts                          tropical_X_log
//	Lexicographic    A×B, the lesser                        tropical_LT_tropical
//	Power            Wⁿ in an array, n ≤ 8                  standard_^3
//	Expectation      (p, r) in float64                      expectation_real64_real64
//	ExpectationOf    (p, r) over W                          expectation_log_log
//	GallicLeft ...   a string and a W                       left_gallic_standard
//	GallicRight                                             right_gallic_standard
//	GallicRestricted for functional transducers             restricted_gallic_standard
//	GallicUnion      for all: sets of strings with weights  gallic_standard
//	GallicMin        for disambiguation                     min_gallic_standard
//
// The tools of cmd/fst know the arc types down to minmax, of the composites tropical_X_tropical,
// tropical_X_log, tropical_LT_tropical and expectation_real64_real64; strings, Gallic weights,
// powers and other composites are for programs, which read and write files of them by the same
// names.
//
// # What to rely on
//
// Zero is not the Go zero value: Tropical(0) is 1̄. Equal is exact, and thus fit for keys; -0
// equals 0, and AppendKey gives both the same bytes. Near has the tolerance. Weights are values:
// none is changed once made. Arithmetic can produce values outside K: NaN, or two outputs where one
// was promised. Member is false for them, and further arithmetic keeps them. The algorithm that
// meets one returns an error. Text, bytes, order and the choice between equals are OpenFst's, for
// the weights it has; testdata has its answers.
//
// Sums of log weights along a row of arcs are better made by LogSum than by Plus.
//
// # Where to start
//
// weight.go has the constraints, tropical.go the simplest weight, text.go what
// files need, composite.go how composites are written. Semirings and their use
// in shortest distances are M. Mohri's, "Semiring frameworks and algorithms for
// shortest-distance problems", 2002, and "Weighted automata algorithms", 2009.
//
// # To add a semiring
//
// Three places. One file with the type, its methods and a line "var _ Component[Mine] = Mine(0)",
// or of the constraints that it meets. AppendKey must give equal weights equal bytes, and other
// weights others. A test with a generator and the line semiringtest.Laws(t, gen). For files,
// FormatCodec, and the suite in cmd/fst/internal/arctypes: one line in the package of its memory
// layout, and its place in the list All.
//
// # Rivals
//
// A semiring as a separate value or type parameter (S.Plus(a, b)) keeps weights bare. But it has to
// be passed to all code that touches a weight, and a weight of one semiring then fits another. An
// equality with a tolerance inside, which OpenFst's determinization has, is not transitive: a table
// keyed by it loses states. String weights as []int32 were dropped for packed Go strings, which
// compare, hash and share prefixes as they are, and are immutable. Power over a slice would
// allocate for every sum.
package semiring
