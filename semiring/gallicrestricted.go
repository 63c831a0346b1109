package semiring

// GallicRestricted is the product of StringRestricted and W: the weight with which
// functional transducers are determinized (OpenFst's GALLIC_RESTRICT). A sum of
// weights with unequal strings is no member; its String.Conflict tells the two.
type GallicRestricted[W Component[W]] struct {
	String StringRestricted
	Weight W
}

// Plus is by parts.
func (a GallicRestricted[W]) Plus(b GallicRestricted[W]) GallicRestricted[W] {
	return GallicRestricted[W]{a.String.Plus(b.String), a.Weight.Plus(b.Weight)}
}

// Times is by parts.
func (a GallicRestricted[W]) Times(b GallicRestricted[W]) GallicRestricted[W] {
	return GallicRestricted[W]{a.String.Times(b.String), a.Weight.Times(b.Weight)}
}

func (a GallicRestricted[W]) Zero() GallicRestricted[W] {
	return GallicRestricted[W]{a.String.Zero(), a.Weight.Zero()}
}
func (a GallicRestricted[W]) One() GallicRestricted[W] {
	return GallicRestricted[W]{a.String.One(), a.Weight.One()}
}
func (a GallicRestricted[W]) Equal(b GallicRestricted[W]) bool {
	return a.String == b.String && a.Weight.Equal(b.Weight)
}
func (a GallicRestricted[W]) Member() bool { return a.String.Member() && a.Weight.Member() }

// Reverse turns the string around.
func (a GallicRestricted[W]) Reverse() GallicRestricted[W] {
	return GallicRestricted[W]{a.String.Reverse(), a.Weight}
}

// DivideLeft divides by parts, as Product does.
func (a GallicRestricted[W]) DivideLeft(c GallicRestricted[W]) GallicRestricted[W] {
	s := a.String.DivideLeft(c.String)
	if zero := a.String.Zero(); a.String == zero && c.String == zero {
		s = zero
	}
	return GallicRestricted[W]{s, dividePart(a.Weight, c.Weight)}
}

// DivideRight divides by parts, as Product does.
func (a GallicRestricted[W]) DivideRight(c GallicRestricted[W]) GallicRestricted[W] {
	s := a.String.DivideRight(c.String)
	if zero := a.String.Zero(); a.String == zero && c.String == zero {
		s = zero
	}
	return GallicRestricted[W]{s, dividePart(a.Weight, c.Weight)}
}

// CommonDivisor is the first label that the strings have in common, or else ε,
// with the sum of the weights.
func (a GallicRestricted[W]) CommonDivisor(b GallicRestricted[W]) GallicRestricted[W] {
	return GallicRestricted[W]{a.String.CommonDivisor(b.String), a.Weight.Plus(b.Weight)}
}

// Near holds when the strings are equal and the weights near.
func (a GallicRestricted[W]) Near(b GallicRestricted[W], delta float64) bool {
	return a.String == b.String && a.Weight.Near(b.Weight, delta)
}

// Quantize rounds the weight.
func (a GallicRestricted[W]) Quantize(delta float64) GallicRestricted[W] {
	return GallicRestricted[W]{a.String, a.Weight.Quantize(delta)}
}

// QuantizeFactor rounds the weight.
func (a GallicRestricted[W]) QuantizeFactor(delta float64) (GallicRestricted[W], bool) {
	w, ok := quantizeFactor(a.Weight, delta)
	return GallicRestricted[W]{a.String, w}, ok
}

// AppendKey appends the keys of the parts.
func (a GallicRestricted[W]) AppendKey(dst []byte) []byte {
	return a.Weight.AppendKey(a.String.AppendKey(dst))
}

// Claimed here, so that losing one fails the build.
var (
	_ CommonDivisor[GallicRestricted[Tropical]]                          = GallicRestricted[Tropical]{}
	_ RightDivisible[GallicRestricted[Tropical]]                         = GallicRestricted[Tropical]{}
	_ Approx[GallicRestricted[Tropical]]                                 = GallicRestricted[Tropical]{}
	_ Quantizable[GallicRestricted[Tropical]]                            = GallicRestricted[Tropical]{}
	_ Reversible[GallicRestricted[Tropical], GallicRestricted[Tropical]] = GallicRestricted[Tropical]{}
	_ FormatCodec[GallicRestricted[Tropical]]                            = GallicRestricted[Tropical]{}
)

func (a GallicRestricted[W]) ArcType() string  { return "restricted_gallic_" + a.Weight.ArcType() }
func (GallicRestricted[W]) WeightType() string { return "restricted_gallic" }

func (a GallicRestricted[W]) AppendText(dst []byte) []byte {
	return a.AppendTextFormat(dst, TextFormat{})
}
func (a GallicRestricted[W]) ParseText(s string) (GallicRestricted[W], error) {
	return a.ParseTextFormat(s, TextFormat{})
}

func (a GallicRestricted[W]) AppendTextFormat(dst []byte, f TextFormat) []byte {
	return appendPair(dst, a.String, a.Weight, f)
}

// ParseTextFormat reads a string and a weight with the separator between them.
func (GallicRestricted[W]) ParseTextFormat(s string, f TextFormat) (GallicRestricted[W], error) {
	l, w, err := parsePair[StringRestricted, W](s, f)
	return GallicRestricted[W]{l, w}, err
}

func (a GallicRestricted[W]) AppendBinary(dst []byte) []byte {
	return a.Weight.AppendBinary(a.String.AppendBinary(dst))
}
func (GallicRestricted[W]) DecodeBinary(src []byte) (GallicRestricted[W], int, error) {
	l, w, n, err := decodePair[StringRestricted, W](src)
	return GallicRestricted[W]{l, w}, n, err
}
