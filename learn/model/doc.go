// Package model is the file format in which learners store models, and optimisers checkpoints. A
// Container holds named arrays under a JSON header. It is versioned, checksummed, and bit-identical
// when read back.
//
// A learner fills a Container with Put, PutStrings and SetMeta and writes it. Later ReadKind reads
// the file and checks that the reader understands the kind and the version; Get and Strings return
// the arrays.
//
// # Layout
//
// All integers are little-endian.
//
//	offset  bytes
//	0       8      magic "TROPICA\n"
//	8       4      version of this layout: 1
//	12      4      H, the length of the header
//	16      H      header, JSON (below)
//	               zero bytes up to a multiple of 8
//	        ...    each array, in the order of the header, then zero bytes up to a multiple of 8
//	end-32  32     SHA-256 of everything before it
//
// The header is a JSON object with four fields. kind says what the file is, such as "sequence";
// version counts from 1 for that kind; meta is an object that belongs to the kind. arrays is a list
// of {name, dtype, shape, bytes}, where dtype is one of float64, float32, int64, int32, uint64,
// uint32, uint8 and utf8. An array of shape [a, b] holds a*b elements, the last index running
// fastest. A utf8 array of n strings is n lengths as uint32, then the bytes of the strings, one
// after the other.
//
// # What a later program may rely on
//
// A reader ignores unknown fields of the header. It keeps arrays that it does not use, and Write
// writes them back. A kind that changes the meaning of an array raises its version, and an older
// program then says that the file is too new. The layout version changes only if the bytes above
// do.
//
// Read does not trust its input. Memory grows with the bytes that arrive, not with what the header
// claims. Every departure from the layout, down to a padding byte, is an error with the offset
// where it was found.
package model
