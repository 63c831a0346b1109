package semiring

// GallicLeft is the product of StringLeft and W: the output and the weight of a
// path of a transducer, seen as one weight over its input. It distributes on the
// left only, and divides on the left only. Pushing to the start works over it.
type GallicLeft[W Component[W]] struct {
	String StringLeft
	Weight W
}

// Plus is by parts.
func (a GallicLeft[W]) Plus(b GallicLeft[W]) GallicLeft[W] {
	return GallicLeft[W]{a.String.Plus(b.String), a.Weight.Plus(b.Weight)}
}

// Times is by parts.
func (a GallicLeft[W]) Times(b GallicLeft[W]) GallicLeft[W] {
	return GallicLeft[W]{a.String.Times(b.String), a.Weight.Times(b.Weight)}
}

func (a GallicLeft[W]) Zero() GallicLeft[W] { return GallicLeft[W]{a.String.Zero(), a.Weight.Zero()} }
func (a GallicLeft[W]) One() GallicLeft[W]  { return GallicLeft[W]{a.String.One(), a.Weight.One()} }
func (a GallicLeft[W]) Equal(b GallicLeft[W]) bool {
	return a.String == b.String && a.Weight.Equal(b.Weight)
}
func (a GallicLeft[W]) Member() bool { return a.String.Member() && a.Weight.Member() }
func (GallicLeft[W]) LeftOnly()      {}

// Reverse turns the string around.
func (a GallicLeft[W]) Reverse() GallicRight[W] { return GallicRight[W]{a.String.Reverse(), a.Weight} }

// DivideLeft divides by parts, as Product does.
func (a GallicLeft[W]) DivideLeft(c GallicLeft[W]) GallicLeft[W] {
	s := a.String.DivideLeft(c.String)
	if zero := a.String.Zero(); a.String == zero && c.String == zero {
		s = zero
	}
	return GallicLeft[W]{s, dividePart(a.Weight, c.Weight)}
}

// CommonDivisor is the first label that the strings have in common, or else ε,
// with the sum of the weights.
func (a GallicLeft[W]) CommonDivisor(b GallicLeft[W]) GallicLeft[W] {
	return GallicLeft[W]{a.String.CommonDivisor(b.String), a.Weight.Plus(b.Weight)}
}

// Near holds when the strings are equal and the weights near.
func (a GallicLeft[W]) Near(b GallicLeft[W], delta float64) bool {
	return a.String == b.String && a.Weight.Near(b.Weight, delta)
}

// WithStringOf is b's string with a's weight: sums over cycles need the weight of what
// is new, and of the strings what they have all in common, which is shorter.
func (a GallicLeft[W]) WithStringOf(b GallicLeft[W]) GallicLeft[W] {
	return GallicLeft[W]{b.String, a.Weight}
}

// Quantize rounds the weight.
func (a GallicLeft[W]) Quantize(delta float64) GallicLeft[W] {
	return GallicLeft[W]{a.String, a.Weight.Quantize(delta)}
}

// QuantizeFactor rounds the weight.
func (a GallicLeft[W]) QuantizeFactor(delta float64) (GallicLeft[W], bool) {
	w, ok := quantizeFactor(a.Weight, delta)
	return GallicLeft[W]{a.String, w}, ok
}

// AppendKey appends the keys of the parts.
func (a GallicLeft[W]) AppendKey(dst []byte) []byte {
	return a.Weight.AppendKey(a.String.AppendKey(dst))
}

// Claimed here, so that losing one fails the build.
var (
	_ LeftSemiring[GallicLeft[Tropical]]                      = GallicLeft[Tropical]{}
	_ CommonDivisor[GallicLeft[Tropical]]                     = GallicLeft[Tropical]{}
	_ Approx[GallicLeft[Tropical]]                            = GallicLeft[Tropical]{}
	_ Quantizable[GallicLeft[Tropical]]                       = GallicLeft[Tropical]{}
	_ Reversible[GallicLeft[Tropical], GallicRight[Tropical]] = GallicLeft[Tropical]{}
	_ FormatCodec[GallicLeft[Tropical]]                       = GallicLeft[Tropical]{}
)

func (a GallicLeft[W]) ArcType() string  { return "left_gallic_" + a.Weight.ArcType() }
func (GallicLeft[W]) WeightType() string { return "left_gallic" }

func (a GallicLeft[W]) AppendText(dst []byte) []byte { return a.AppendTextFormat(dst, TextFormat{}) }
func (a GallicLeft[W]) ParseText(s string) (GallicLeft[W], error) {
	return a.ParseTextFormat(s, TextFormat{})
}

func (a GallicLeft[W]) AppendTextFormat(dst []byte, f TextFormat) []byte {
	return appendPair(dst, a.String, a.Weight, f)
}

// ParseTextFormat reads a string and a weight with the separator between them.
func (GallicLeft[W]) ParseTextFormat(s string, f TextFormat) (GallicLeft[W], error) {
	l, w, err := parsePair[StringLeft, W](s, f)
	return GallicLeft[W]{l, w}, err
}

func (a GallicLeft[W]) AppendBinary(dst []byte) []byte {
	return a.Weight.AppendBinary(a.String.AppendBinary(dst))
}
func (GallicLeft[W]) DecodeBinary(src []byte) (GallicLeft[W], int, error) {
	l, w, n, err := decodePair[StringLeft, W](src)
	return GallicLeft[W]{l, w}, n, err
}
