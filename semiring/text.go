package semiring

// Codec is implemented by weights that have a text and a binary form, and so can stand in files.
// Both forms are OpenFst's, byte for byte, for the weights it has.
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
	// the caller may try again with more; a malformed weight is an error. What
	// is well formed but no Member (NaN) is returned as it is: whether to accept
	// it is the caller's choice. Memory beyond a constant multiple of len(src)
	// is never allocated. The receiver is not read.
	DecodeBinary(src []byte) (w W, n int, err error)
}

// FormatCodec is a Codec whose text depends on a TextFormat. AppendText and
// ParseText are then AppendTextFormat and ParseTextFormat of the zero
// TextFormat. Every weight of this package meets it.
type FormatCodec[W any] interface {
	Codec[W]

	// WeightType is the name of the weight itself, from which composites make
	// theirs: "tropical" where ArcType is "standard". The receiver is not read.
	WeightType() string

	AppendTextFormat(dst []byte, f TextFormat) []byte
	ParseTextFormat(s string, f TextFormat) (W, error)
}

// TextFormat says how weights are written and read; the zero value is what
// OpenFst's tools do without flags.
type TextFormat struct {
	// Separator stands between the parts of a composite weight
	// (--fst_weight_separator); zero is a comma.
	Separator byte

	// Open and Close enclose each composite weight (--fst_weight_parentheses).
	// Zero is none; then only the last part of a composite may be composite.
	Open, Close byte

	// Digits is the number of significant digits of 64-bit numbers; zero is 9,
	// as OpenFst's. 17 suffice to read back the same number. 32-bit numbers
	// never have more than 9, which suffice for them.
	Digits int
}

// CanonicalArcType returns the arc type that files carry for one that a user
// wrote: "probability" means "real64", "expectation" "expectation_real64_real64".
func CanonicalArcType(name string) string {
	switch name {
	case "probability":
		return Probability(0).ArcType()
	case "expectation":
		return Expectation{}.ArcType()
	}
	return name
}
