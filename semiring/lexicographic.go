package semiring

// Lexicographic orders pairs by their first parts, and by the second where the
// first are equal: ⊕ is the lesser of two, ⊗ is by parts. It is commutative and
// idempotent, with the path property. A pair of 0̄ and another weight is no
// member.
//
// It is a semiring only where the ⊗ of A cancels: c⊗a = c⊗b with c ≠ 0̄ makes
// a = b. That of Tropical does, up to rounding; that of MinMax does not.
type Lexicographic[A PathComponent[A], B PathComponent[B]] struct {
	First  A
	Second B
}

// Plus is the lesser of a and b, a where they are equal. A non-member is kept.
func (a Lexicographic[A, B]) Plus(b Lexicographic[A, B]) Lexicographic[A, B] {
	switch {
	case a.First.Less(b.First):
		return a
	case b.First.Less(a.First):
		return b
	case !a.First.Equal(b.First): // NaN is neither less nor equal
		return nonMember(a, b)
	case a.Second.Less(b.Second):
		return a
	case b.Second.Less(a.Second):
		return b
	case !a.Second.Equal(b.Second):
		return nonMember(a, b)
	}
	return a
}

func nonMember[W Weight[W]](a, b W) W {
	if a.Member() {
		return b
	}
	return a
}

// Less is the order of ⊕.
func (a Lexicographic[A, B]) Less(b Lexicographic[A, B]) bool {
	return a.First.Less(b.First) || a.First.Equal(b.First) && a.Second.Less(b.Second)
}

func (Lexicographic[A, B]) Idempotent() {}

func (a Lexicographic[A, B]) Times(b Lexicographic[A, B]) Lexicographic[A, B] {
	return Lexicographic[A, B]{a.First.Times(b.First), a.Second.Times(b.Second)}
}

func (a Lexicographic[A, B]) Zero() Lexicographic[A, B] {
	return Lexicographic[A, B]{a.First.Zero(), a.Second.Zero()}
}
func (a Lexicographic[A, B]) One() Lexicographic[A, B] {
	return Lexicographic[A, B]{a.First.One(), a.Second.One()}
}

func (a Lexicographic[A, B]) Equal(b Lexicographic[A, B]) bool {
	return a.First.Equal(b.First) && a.Second.Equal(b.Second)
}

// Member holds when both parts are members, and both or neither 0̄.
func (a Lexicographic[A, B]) Member() bool {
	return a.First.Member() && a.Second.Member() && IsZero(a.First) == IsZero(a.Second)
}

func (Lexicographic[A, B]) Commutes() {}

// Cancels holds when both parts cancel.
func (a Lexicographic[A, B]) Cancels() bool { return cancels(a.First) && cancels(a.Second) }

func (a Lexicographic[A, B]) Reverse() Lexicographic[A, B] { return a }

// DivideLeft divides by parts.
func (a Lexicographic[A, B]) DivideLeft(c Lexicographic[A, B]) Lexicographic[A, B] {
	return Lexicographic[A, B]{a.First.DivideLeft(c.First), a.Second.DivideLeft(c.Second)}
}

// DivideRight is DivideLeft.
func (a Lexicographic[A, B]) DivideRight(c Lexicographic[A, B]) Lexicographic[A, B] {
	return a.DivideLeft(c)
}

// Star is 1̄ where 1̄ is least of all powers; otherwise they have no bound.
func (a Lexicographic[A, B]) Star() (Lexicographic[A, B], bool) {
	return a.One(), !a.Less(a.One())
}

// Power is by parts.
func (a Lexicographic[A, B]) Power(x float64) Lexicographic[A, B] {
	return Lexicographic[A, B]{a.First.Power(x), a.Second.Power(x)}
}

// Near holds when both parts are near.
func (a Lexicographic[A, B]) Near(b Lexicographic[A, B], delta float64) bool {
	return a.First.Near(b.First, delta) && a.Second.Near(b.Second, delta)
}

// Quantize rounds both parts.
func (a Lexicographic[A, B]) Quantize(delta float64) Lexicographic[A, B] {
	return Lexicographic[A, B]{a.First.Quantize(delta), a.Second.Quantize(delta)}
}

// QuantizeFactor rounds both parts.
func (a Lexicographic[A, B]) QuantizeFactor(delta float64) (Lexicographic[A, B], bool) {
	first, ok1 := quantizeFactor(a.First, delta)
	second, ok2 := quantizeFactor(a.Second, delta)
	return Lexicographic[A, B]{first, second}, ok1 || ok2
}

// AppendKey appends the keys of the parts, which do not run into one another:
// those of Components are of one length for each type.
func (a Lexicographic[A, B]) AppendKey(dst []byte) []byte {
	return a.Second.AppendKey(a.First.AppendKey(dst))
}

// Claimed here, so that losing one fails the build.
var _ PathComponent[Lexicographic[Tropical, Tropical64]] = Lexicographic[Tropical, Tropical64]{}
var _ Cancellative[Lexicographic[Tropical, Tropical]] = Lexicographic[Tropical, Tropical]{}

func (a Lexicographic[A, B]) ArcType() string { return a.WeightType() }

func (a Lexicographic[A, B]) WeightType() string {
	return a.First.WeightType() + "_LT_" + a.Second.WeightType()
}

func (a Lexicographic[A, B]) AppendText(dst []byte) []byte {
	return a.AppendTextFormat(dst, TextFormat{})
}
func (a Lexicographic[A, B]) ParseText(s string) (Lexicographic[A, B], error) {
	return a.ParseTextFormat(s, TextFormat{})
}

func (a Lexicographic[A, B]) AppendTextFormat(dst []byte, f TextFormat) []byte {
	return appendPair(dst, a.First, a.Second, f)
}

// ParseTextFormat reads two parts with the separator between them.
func (Lexicographic[A, B]) ParseTextFormat(s string, f TextFormat) (Lexicographic[A, B], error) {
	first, second, err := parsePair[A, B](s, f)
	return Lexicographic[A, B]{first, second}, err
}

func (a Lexicographic[A, B]) AppendBinary(dst []byte) []byte {
	return a.Second.AppendBinary(a.First.AppendBinary(dst))
}

func (Lexicographic[A, B]) DecodeBinary(src []byte) (Lexicographic[A, B], int, error) {
	first, second, n, err := decodePair[A, B](src)
	return Lexicographic[A, B]{first, second}, n, err
}
