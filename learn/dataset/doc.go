// Package dataset reads labelled data from io.Readers and splits it.
//
//	sentences, err := dataset.ReadColumns(r, "train.txt", nil)
//
// ReadColumns reads CoNLL-style columns, ReadCoNLLU the CoNLL-U format of Universal Dependencies,
// and ReadTSV tables of tab-separated fields. Each returns all of its input as strings. The readers
// are strict. Input that violates the form is a *SyntaxError with the name, the line and the column
// (in characters) where it was found. Nothing is guessed or dropped silently.
//
// All accept lines that end in LF or CRLF, of up to MaxLine bytes, and skip a byte order mark. They
// reject bytes that are not UTF-8, because labels and features go into model files as text.
//
// Package table below this one reads tables of numbers and categories, with their splits.
package dataset
