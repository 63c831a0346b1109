package semiring

// GallicMin keeps the output with the lesser W, for determinization that disambiguates (OpenFst's
// GALLIC_MIN). ⊗ is by parts.
//
// Where W is the same in both, ⊕ keeps the second, as OpenFst does, whose results
// depend on it: ⊕ commutes only up to the string of such a tie. Otherwise it is
// a semiring where W is one whose ⊗ cancels, as for Lexicographic. It is idempotent.
type GallicMin[W PathComponent[W]] struct {
	String StringRestricted
	Weight W
}

// Plus is the one with the lesser W, and b where that is the same in both. A
// non-member is kept.
func (a GallicMin[W]) Plus(b GallicMin[W]) GallicMin[W] {
	if a.Weight.Less(b.Weight) && b.String.Member() || !a.Member() {
		return a
	}
	return b
}

// Times is by parts.
func (a GallicMin[W]) Times(b GallicMin[W]) GallicMin[W] {
	return GallicMin[W]{a.String.Times(b.String), a.Weight.Times(b.Weight)}
}

func (a GallicMin[W]) Zero() GallicMin[W] { return GallicMin[W]{a.String.Zero(), a.Weight.Zero()} }
func (a GallicMin[W]) One() GallicMin[W]  { return GallicMin[W]{a.String.One(), a.Weight.One()} }
func (a GallicMin[W]) Equal(b GallicMin[W]) bool {
	return a.String == b.String && a.Weight.Equal(b.Weight)
}
func (a GallicMin[W]) Member() bool { return a.String.Member() && a.Weight.Member() }
func (GallicMin[W]) Idempotent()    {}

// Reverse turns the string around.
func (a GallicMin[W]) Reverse() GallicMin[W] { return GallicMin[W]{a.String.Reverse(), a.Weight} }

// DivideLeft divides by parts, as Product does.
func (a GallicMin[W]) DivideLeft(c GallicMin[W]) GallicMin[W] {
	s := a.String.DivideLeft(c.String)
	if zero := a.String.Zero(); a.String == zero && c.String == zero {
		s = zero
	}
	return GallicMin[W]{s, dividePart(a.Weight, c.Weight)}
}

// DivideRight divides by parts, as Product does.
func (a GallicMin[W]) DivideRight(c GallicMin[W]) GallicMin[W] {
	s := a.String.DivideRight(c.String)
	if zero := a.String.Zero(); a.String == zero && c.String == zero {
		s = zero
	}
	return GallicMin[W]{s, dividePart(a.Weight, c.Weight)}
}

// CommonDivisor is the first label that the strings have in common, or else ε,
// with the sum of the weights.
func (a GallicMin[W]) CommonDivisor(b GallicMin[W]) GallicMin[W] {
	return GallicMin[W]{a.String.CommonDivisor(b.String), a.Weight.Plus(b.Weight)}
}

// Near holds when the strings are equal and the weights near.
func (a GallicMin[W]) Near(b GallicMin[W], delta float64) bool {
	return a.String == b.String && a.Weight.Near(b.Weight, delta)
}

// Quantize rounds the weight.
func (a GallicMin[W]) Quantize(delta float64) GallicMin[W] {
	return GallicMin[W]{a.String, a.Weight.Quantize(delta)}
}

// QuantizeFactor rounds the weight.
func (a GallicMin[W]) QuantizeFactor(delta float64) (GallicMin[W], bool) {
	w, ok := quantizeFactor(a.Weight, delta)
	return GallicMin[W]{a.String, w}, ok
}

// AppendKey appends the keys of the parts.
func (a GallicMin[W]) AppendKey(dst []byte) []byte {
	return a.Weight.AppendKey(a.String.AppendKey(dst))
}

// Claimed here, so that losing one fails the build.
var (
	_ CommonDivisor[GallicMin[Tropical]]                   = GallicMin[Tropical]{}
	_ RightDivisible[GallicMin[Tropical]]                  = GallicMin[Tropical]{}
	_ Idempotent[GallicMin[Tropical]]                      = GallicMin[Tropical]{}
	_ Approx[GallicMin[Tropical]]                          = GallicMin[Tropical]{}
	_ Quantizable[GallicMin[Tropical]]                     = GallicMin[Tropical]{}
	_ Reversible[GallicMin[Tropical], GallicMin[Tropical]] = GallicMin[Tropical]{}
	_ FormatCodec[GallicMin[Tropical]]                     = GallicMin[Tropical]{}
)

func (a GallicMin[W]) ArcType() string  { return "min_gallic_" + a.Weight.ArcType() }
func (GallicMin[W]) WeightType() string { return "min_gallic" }

func (a GallicMin[W]) AppendText(dst []byte) []byte { return a.AppendTextFormat(dst, TextFormat{}) }
func (a GallicMin[W]) ParseText(s string) (GallicMin[W], error) {
	return a.ParseTextFormat(s, TextFormat{})
}

func (a GallicMin[W]) AppendTextFormat(dst []byte, f TextFormat) []byte {
	return appendPair(dst, a.String, a.Weight, f)
}

// ParseTextFormat reads a string and a weight with the separator between them.
func (GallicMin[W]) ParseTextFormat(s string, f TextFormat) (GallicMin[W], error) {
	l, w, err := parsePair[StringRestricted, W](s, f)
	return GallicMin[W]{l, w}, err
}

func (a GallicMin[W]) AppendBinary(dst []byte) []byte {
	return a.Weight.AppendBinary(a.String.AppendBinary(dst))
}
func (GallicMin[W]) DecodeBinary(src []byte) (GallicMin[W], int, error) {
	l, w, n, err := decodePair[StringRestricted, W](src)
	return GallicMin[W]{l, w}, n, err
}
