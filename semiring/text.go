package semiring

// Codec is met by weights that have a text and a binary form, and so can stand
// in files. Both forms are OpenFst's, byte for byte, for the weights it has.
type Codec[W any] interface {
	Weight[W]

	// ArcType is the name that files and --arc_type give to machines over W:
	// "standard", "log", "log64", ... The receiver is not read.
	ArcType() string

	// AppendText appends the printed form: %.9g for numbers, "Infinity",
	// "-Infinity", "BadNumber".
	AppendText(dst []byte) []byte

	// ParseText reads the whole of s as a weight. The receiver is not read. An
	// error names what is wrong, but not where: the reader of the file does.
	ParseText(s string) (W, error)

	// AppendBinary appends the little-endian form.
	AppendBinary(dst []byte) []byte

	// DecodeBinary reads one weight from the front of src and returns the
	// number of bytes that it took. n is 0 when src is too short to tell, and
	// the caller may try again with more; a malformed weight is an error. The
	// receiver is not read.
	DecodeBinary(src []byte) (w W, n int, err error)
}
