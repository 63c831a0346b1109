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
// costs an allocation a state and 24 bytes for the collector to trace. Against
// one flat array: it is copied whole when it grows, and has to be rebuilt when
// an early state gets an arc. Arcs as a slice from an interface, against an
// iterator: 1 ns an arc against 5 to 8. Properties kept in an atomic word, so that
// what a reader finds out is not lost, against a lock or a recomputation at each
// use. Printing nine digits by one 128-bit product costs 26 ns where strconv takes
// 58, and reading short decimals exactly by one division a third of its time;
// both are proven equal to strconv by test, which still does the rest.
//
// Reading a const machine of 30 MB, processor time: 16 ms state by state and with arcs tested
// until the first wrong one, 8.6 to 11 by blocks, without branches, into memory that is not cleared
// first (OpenFst, which checks nothing, 6.5 in the same minutes; 5 of ours are the kernel's copying,
// 2.6 when nothing else ran). Mapping the file and copying from there took 4.2 ms where
// reading took 2.6. Mapping it and leaving states and arcs where they are ([ReadBytes]) takes 2.2 to 2.4,
// 0.85 of it the page faults (populating the mapping at once: the same), and 1.35 the checks: 1.7
// before the loop over states had a function, and so registers, of its own, and that over
// arcs four at once. OpenFst, which copies, took 2.3 to 2.9 in turn with it. A file that is cut
// off while it is mapped is a crash, which is why reading is what the tools do unless told. Slabs that
// double all the way took 1.6 times what 200 lattices of 3,808 arcs hold, with smaller ones
// 1.2 times; reading each into a slab that is used again, and copying it from there, takes 1.0.
//
// Archives of 20,000 strings of 15 letters, processor time: farinfo 1.75 s when each machine had a slab as large as the
// rest of the file, .06 since only what begins where its file does has one (OpenFst .06); farcompilestrings .30 with a
// buffer for each machine that is written, .07 with one for all (OpenFst .12).
//
// Compiling text, processor time of the whole process, one processor: a lexicon of 917,000 arcs 257 ms
// with symbols as strings and a map of them, 182 with symbols in blocks and a table of positions (the
// collector had a fifth of the first), 176 when it is written from where it lies; a grammar of
// 383,000 arcs, 126,000 words, 180, then 116 (OpenFst 530 and 370), and 43 MB, then 30. Writing that lexicon: 20 ms
// through a buffered writer in two calls a state, 13 from a buffer of its own. Not faster, so far as was seen: to
// find a symbol and then add it with one hash for two (21.3 ms for 22.5 of reading the words). Arrays that are
// grown by slices.Grow are cleared by the runtime in one piece that cannot be interrupted; a collection that
// begins meanwhile waits busily for its end, which cost up to 0.1 s of processor time on two idle processors: large
// fresh ones are made at once.
//
// What headers claim is tested claim by claim (claims.go), each until a witness is found or it is certain by induction
// over the states: of a const machine of 100,000 states and 400,000 arcs drawn at random, whose header
// claims everything, that takes a tenth of the time of finding out by components which side of each pair is true. Whole
// processes, user and system: fstinvert of it took 84 ms, now 40 (OpenFst 60); fstequal and fstconvert, which have no
// use for what is claimed and do not test it, 115, now 20 (25), and 69, now 27 (30).
//
// # References
//
// M. Mohri, "Weighted automata algorithms", in Handbook of Weighted Automata,
// Springer 2009, for the notions and names. C. Allauzen, M. Riley, J. Schalkwyk,
// W. Skut, M. Mohri, "OpenFst: a general and efficient weighted finite-state
// transducer library", CIAA 2007, for the formats.
package fst
