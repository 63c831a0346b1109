// Package fst holds weighted finite-state transducers: machines that can be
// changed, frozen, or computed on demand; symbol tables; and OpenFst's text and
// binary files, read and written.
//
// A newcomer needs three types. [Fst] is the small interface that algorithms
// take: a start state, and of each state its final weight and its arcs. [Vector]
// is the machine that one builds; its zero value is ready. [Arc] is a
// transition. [Const] is a frozen copy to share between goroutines, and [Lazy] a
// machine whose states are computed by an [Expander] when they are asked for,
// which is how operations are written.
//
// # What holds everywhere
//
//   - The states of an [Expanded] machine are 0 … NumStates()-1. [NoState] is
//     the start of a machine without states.
//   - Label 0 is ε, the empty string. Labels are 32 bits wide; negative ones
//     occur in files when an option allows them, and have no meaning here.
//   - A state is final when its final weight is not 0̄. The Go zero value of a
//     weight is seldom 0̄: use [Vector.AddState], not a made slice.
//   - What Arcs returns is read-only, and valid until the machine changes.
//   - Reading from several goroutines is safe while none writes; [Const] and
//     [Lazy] are always safe.
//   - Known [Properties] are true. Of each pair neither side may be known;
//     [PropertiesOf] finds out, and the machine remembers.
//   - Data-dependent failure is an error that tells the place: [TextError] the
//     line and field, [BinaryError] the byte, [VerifyError] the state and arc. A
//     state that a machine never issued is a bug, and panics.
//
// # Where to read
//
// fst.go the interfaces; vector.go, const.go, lazy.go and lazyretain.go the machines; table.go the
// numbering of state tuples; properties.go what mutations leave known, compute.go properties by
// inspection, verify.go well-formedness; symbols.go and symbolsio.go symbol tables; text.go,
// textwrite.go and number.go the text format; stream.go, binary.go, binarywrite.go, layout.go and
// arcfacts.go the binary ones, claims.go what is true of a header's claims, inplace.go const
// machines that are not copied, compact.go, edit.go, addon.go and ngram.go further types of them,
// linear.go, lineario.go, linearbuild.go and lineartext.go log-linear models ([LinearModel]),
// far.go archives; strings.go strings to machines and back; dot.go drawing for Graphviz; svg.go,
// svgtext.go and svgwrite.go drawing by ourselves; paths.go enumeration. Package fsttest helps to
// test operations.
//
// # Files
//
// Formats and printing are those of OpenFst 1.7.9, byte for byte, for the fst types that
// [FileTypes] lists: vector and edit with any weight that is a [semiring.Codec], const, compact (8,
// 16, 32 and 64-bit offsets, aligned or not), ngram and those with an [AddOn] with weights of fixed
// size. Where OpenFst is silent about defects of its input, readers here are not: lines of 8096
// bytes and more are read and not cut off, labels beyond 32 bits and NaN weights are errors, CRLF
// is accepted, and a binary file's counts, next states and claimed properties are checked. Memory
// grows with the data that arrive, never with what a header claims.
//
// The property bits in headers matter beyond information: some operations, here
// as in OpenFst, number the states of their result by what is known of their
// arguments. So the mutations of a Vector keep exactly OpenFst's bits.
//
// A state that a machine never issued, and a nil receiver, machine or callback where none is
// documented, are programming errors, and panic as an index out of range does; what
// comes of data is an error.
//
// # References
//
// M. Mohri, "Weighted automata algorithms", in Handbook of Weighted Automata,
// Springer 2009, for the notions and names. C. Allauzen, M. Riley, J. Schalkwyk,
// W. Skut, M. Mohri, "OpenFst: a general and efficient weighted finite-state
// transducer library", CIAA 2007, for the formats.
package fst
