// Package align builds the machines of alignment losses from columns of scores.
//
//	columns := align.New(align.Problem{Ref: ref, Alphabet: 10, Length: 12, Cost: cost})
//	machine, subtracts, err := columns.Build()
//
// A Problem is a cost for each pair of symbols, a reference, and limits. What comes out is a
// layered.Machine. A column has the scores of a string so far with every prefix of the reference,
// as far as they matter: see Columns. There are three ways to build, the first that serves: columns
// of one word (words.go), of two (pairs.go), and of numbers (least.go). All make machines of the
// same losses.
//
// LocalProblem is local alignment. Expander builds machines of labels that expand to strings.
// ReferenceClasses and BandWindows serve other losses, too.
//
// References: E. Ukkonen, "Algorithms for approximate string matching", 1985; W. Masek, M.
// Paterson, "A faster algorithm computing string edit distances", 1980 (blocks by tables); G.
// Myers, "A fast bit-vector algorithm for approximate string matching", 1999.
package align
