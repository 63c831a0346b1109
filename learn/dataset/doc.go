// Package dataset reads labelled data from io.Readers and splits it.
//
// ReadColumns reads CoNLL-style columns, ReadCoNLLU the CoNLL-U format of
// Universal Dependencies, and ReadTSV tables of tab-separated fields. Each returns
// all of its input as strings. The readers are
// strict: what does not have the form is a *SyntaxError with the name, the line
// and the column (in characters) at which it was seen; nothing is guessed or
// dropped in silence.
//
// All of them take lines that end in LF or CRLF and that may be long (up to
// MaxLine bytes), skip a byte order mark, and refuse bytes that are not UTF-8,
// because labels and features go into model files as text.
//
// Tables of numbers and categories, with their splits, are read by the package
// table below this one.
package dataset
