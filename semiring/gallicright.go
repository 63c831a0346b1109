package semiring

// GallicRight is the product of StringRight and W: GallicLeft read backwards. It
// distributes on the right only, and divides on the right only.
type GallicRight[W Component[W]] struct {
	String StringRight
	Weight W
}

// Plus is by parts.
func (a GallicRight[W]) Plus(b GallicRight[W]) GallicRight[W] {
	return GallicRight[W]{a.String.Plus(b.String), a.Weight.Plus(b.Weight)}
}

// Times is by parts.
func (a GallicRight[W]) Times(b GallicRight[W]) GallicRight[W] {
	return GallicRight[W]{a.String.Times(b.String), a.Weight.Times(b.Weight)}
}

func (a GallicRight[W]) Zero() GallicRight[W] {
	return GallicRight[W]{a.String.Zero(), a.Weight.Zero()}
}
func (a GallicRight[W]) One() GallicRight[W] { return GallicRight[W]{a.String.One(), a.Weight.One()} }
func (a GallicRight[W]) Equal(b GallicRight[W]) bool {
	return a.String == b.String && a.Weight.Equal(b.Weight)
}
func (a GallicRight[W]) Member() bool { return a.String.Member() && a.Weight.Member() }
func (GallicRight[W]) RightOnly()     {}

// Reverse turns the string around.
func (a GallicRight[W]) Reverse() GallicLeft[W] { return GallicLeft[W]{a.String.Reverse(), a.Weight} }

// DivideRight divides by parts, as Product does.
func (a GallicRight[W]) DivideRight(c GallicRight[W]) GallicRight[W] {
	s := a.String.DivideRight(c.String)
	if zero := a.String.Zero(); a.String == zero && c.String == zero {
		s = zero
	}
	return GallicRight[W]{s, dividePart(a.Weight, c.Weight)}
}

// Near holds when the strings are equal and the weights near.
func (a GallicRight[W]) Near(b GallicRight[W], delta float64) bool {
	return a.String == b.String && a.Weight.Near(b.Weight, delta)
}

// WithStringOf is b's string with a's weight: sums over cycles need the weight of what
// is new, and of the strings what they have all in common, which is shorter.
func (a GallicRight[W]) WithStringOf(b GallicRight[W]) GallicRight[W] {
	return GallicRight[W]{b.String, a.Weight}
}

// Quantize rounds the weight.
func (a GallicRight[W]) Quantize(delta float64) GallicRight[W] {
	return GallicRight[W]{a.String, a.Weight.Quantize(delta)}
}

// QuantizeFactor rounds the weight.
func (a GallicRight[W]) QuantizeFactor(delta float64) (GallicRight[W], bool) {
	w, ok := quantizeFactor(a.Weight, delta)
	return GallicRight[W]{a.String, w}, ok
}

// AppendKey appends the keys of the parts.
func (a GallicRight[W]) AppendKey(dst []byte) []byte {
	return a.Weight.AppendKey(a.String.AppendKey(dst))
}

// Claimed here, so that losing one fails the build.
var (
	_ RightSemiring[GallicRight[Tropical]]                    = GallicRight[Tropical]{}
	_ RightDivisible[GallicRight[Tropical]]                   = GallicRight[Tropical]{}
	_ Approx[GallicRight[Tropical]]                           = GallicRight[Tropical]{}
	_ Quantizable[GallicRight[Tropical]]                      = GallicRight[Tropical]{}
	_ Reversible[GallicRight[Tropical], GallicLeft[Tropical]] = GallicRight[Tropical]{}
	_ FormatCodec[GallicRight[Tropical]]                      = GallicRight[Tropical]{}
)

func (a GallicRight[W]) ArcType() string  { return "right_gallic_" + a.Weight.ArcType() }
func (GallicRight[W]) WeightType() string { return "right_gallic" }

func (a GallicRight[W]) AppendText(dst []byte) []byte { return a.AppendTextFormat(dst, TextFormat{}) }
func (a GallicRight[W]) ParseText(s string) (GallicRight[W], error) {
	return a.ParseTextFormat(s, TextFormat{})
}

func (a GallicRight[W]) AppendTextFormat(dst []byte, f TextFormat) []byte {
	return appendPair(dst, a.String, a.Weight, f)
}

// ParseTextFormat reads a string and a weight with the separator between them.
func (GallicRight[W]) ParseTextFormat(s string, f TextFormat) (GallicRight[W], error) {
	l, w, err := parsePair[StringRight, W](s, f)
	return GallicRight[W]{l, w}, err
}

func (a GallicRight[W]) AppendBinary(dst []byte) []byte {
	return a.Weight.AppendBinary(a.String.AppendBinary(dst))
}
func (GallicRight[W]) DecodeBinary(src []byte) (GallicRight[W], int, error) {
	l, w, n, err := decodePair[StringRight, W](src)
	return GallicRight[W]{l, w}, n, err
}
