// Package model holds the one file format in which learners keep what they
// learned, and optimisers their checkpoints: a Container of named arrays under
// a JSON header, versioned, checksummed, and bit-identical when read back.
//
// A learner fills a Container with Put, PutStrings and SetMeta and writes it;
// later it reads the file with ReadKind, which also asks whether the reader understands
// the kind and the version, and takes the arrays out with Get and Strings.
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
// The header is an object with the fields kind (what the file is, such as
// "sequence"), version (of that kind, counted from 1), meta (an object that
// belongs to the kind) and arrays: a list of {name, dtype, shape, bytes}, where
// dtype is one of float64, float32, int64, int32, uint64, uint32, uint8 and
// utf8. An array of shape [a, b] holds a*b elements, the last index running
// fastest. A utf8 array of n strings is n lengths as uint32, then the bytes of
// the strings, one after the other.
//
// # What a later program may rely on
//
// Fields of the header that a reader does not know are ignored; arrays that it
// does not ask for are kept and written back by Write. A kind that changes the
// meaning of an array raises its version, and an older program then says that
// the file is too new. The layout version changes only if the bytes above do.
//
// Read trusts nothing: memory grows with the bytes that really arrive, not with
// what the header claims, and every departure from the layout, down to a
// padding byte, is an error with the offset at which it was seen.
package model
