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
// fst.go the interfaces; vector.go, const.go, lazy.go and lazyretain.go the machines; table.go
// the numbering of state tuples; properties.go what mutations leave known,
// compute.go properties by inspection, verify.go well-formedness; symbols.go and
// symbolsio.go symbol tables; text.go, textwrite.go and number.go the text
// format; stream.go, binary.go, binarywrite.go, layout.go and arcfacts.go the
// binary ones, claims.go what is true of a header's claims, inplace.go const machines that are not copied, compact.go, edit.go, addon.go and ngram.go further types of them, linear.go,
// lineario.go, linearbuild.go and lineartext.go log-linear models ([LinearModel]), far.go
// archives; strings.go strings to machines and back; dot.go drawing for
// Graphviz; svg.go, svgtext.go and svgwrite.go drawing by ourselves; paths.go enumeration. Package fsttest helps to
// test operations.
//
// # Files
//
// Formats and printing are those of OpenFst 1.7.9, byte for byte, for the fst
// types that [FileTypes] lists: vector and edit with any weight that is a
// [semiring.Codec], const, compact (8, 16, 32 and 64-bit offsets, aligned or not), ngram
// and those with an [AddOn] with weights of fixed size. Where OpenFst is silent about defects of its
// input, readers here are not: lines of 8096 bytes and more are read and not cut
// off, labels beyond 32 bits and NaN weights are errors, CRLF is accepted, and a
// binary file's counts, next states and claimed properties are checked. Memory
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
// # Rivals
//
// Arcs in slabs and a 16-byte span a state, against a slice a state: the latter
// costs an allocation a state and 24 bytes for the collector to trace (BenchmarkVectorAddArc). Against
// one flat array: it is copied whole when it grows, and has to be rebuilt when
// an early state gets an arc. Slabs that
// double all the way hold more than many lattices need, so they begin small. Arcs as a slice from an interface, against an
// iterator, which calls a function for each arc. Properties kept in an atomic word, so that
// what a reader finds out is not lost, against a lock or a recomputation at each
// use. Printing nine digits by one 128-bit product, against strconv, and reading short decimals exactly by one division
// (BenchmarkAppendNine and BenchmarkParseDecimal, path=fast and path=strconv);
// both are proven equal to strconv by test, which still does the rest.
//
// A const machine is read by blocks, without branches, into memory that is not cleared
// first, against state by state with arcs tested until the first wrong one. Mapping the file and copying from there was
// slower than reading; mapping it and leaving states and arcs where they are ([ReadBytes]) is faster, and most of what is left are
// page faults and the checks (BenchmarkReadConst, copy and inplace). A file that is cut
// off while it is mapped is a crash, which is why reading is what the tools do unless told.
//
// In an archive, only a machine that begins where its file does has a slab as large as the
// rest of the file, and one buffer is for all machines that are written (BenchmarkArchive).
//
// Symbols of text in blocks and a table of positions, against strings and a map of them, which the
// collector traces (BenchmarkReadText); lines from a buffer of the writer's own, against
// a buffered writer in two calls a state (BenchmarkWriteText). Not faster, so far as was seen: to
// find a symbol and then add it with one hash for two. Arrays that are
// grown by slices.Grow are cleared by the runtime in one piece that cannot be interrupted; a collection that
// begins meanwhile waits busily for its end: large fresh ones are made at once.
//
// What headers claim is tested claim by claim (claims.go), each until a witness is found or it is certain by induction
// over the states, against finding out by components which side of each pair is true (BenchmarkClaims and its compute,
// BenchmarkReadClaims).
//
// # References
//
// M. Mohri, "Weighted automata algorithms", in Handbook of Weighted Automata,
// Springer 2009, for the notions and names. C. Allauzen, M. Riley, J. Schalkwyk,
// W. Skut, M. Mohri, "OpenFst: a general and efficient weighted finite-state
// transducer library", CIAA 2007, for the formats.
package fst
