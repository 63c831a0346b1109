package semiring

// Product is the cartesian product of two semirings, with ⊕ and ⊗ by parts. It
// is commutative. It has no path property, and is idempotent when both parts
// are, which IsIdempotent tells.
type Product[A Component[A], B Component[B]] struct {
	First  A
	Second B
}

func (a Product[A, B]) Plus(b Product[A, B]) Product[A, B] {
	return Product[A, B]{a.First.Plus(b.First), a.Second.Plus(b.Second)}
}

func (a Product[A, B]) Times(b Product[A, B]) Product[A, B] {
	return Product[A, B]{a.First.Times(b.First), a.Second.Times(b.Second)}
}

func (a Product[A, B]) Zero() Product[A, B] { return Product[A, B]{a.First.Zero(), a.Second.Zero()} }
func (a Product[A, B]) One() Product[A, B]  { return Product[A, B]{a.First.One(), a.Second.One()} }

func (a Product[A, B]) Equal(b Product[A, B]) bool {
	return a.First.Equal(b.First) && a.Second.Equal(b.Second)
}

func (a Product[A, B]) Member() bool { return a.First.Member() && a.Second.Member() }
func (Product[A, B]) Commutes()      {}

// Cancels holds when both parts cancel.
func (a Product[A, B]) Cancels() bool { return cancels(a.First) && cancels(a.Second) }

// IdempotentWeights reports whether ⊕ of both parts is idempotent.
func (Product[A, B]) IdempotentWeights() bool { return IsIdempotent[A]() && IsIdempotent[B]() }

func (a Product[A, B]) Reverse() Product[A, B] { return a }

// DivideLeft divides by parts. Where a part of a is 0̄, though a is not, that of
// c can only be 0̄, and so is that of the quotient.
func (a Product[A, B]) DivideLeft(c Product[A, B]) Product[A, B] {
	return Product[A, B]{dividePart(a.First, c.First), dividePart(a.Second, c.Second)}
}

// DivideRight is DivideLeft.
func (a Product[A, B]) DivideRight(c Product[A, B]) Product[A, B] { return a.DivideLeft(c) }

// dividePart is a.DivideLeft(c) for a part a of a composite weight, which may
// be 0̄ where the whole is not.
func dividePart[W Divisible[W]](a, c W) W {
	if zero := a.Zero(); a.Equal(zero) && c.Equal(zero) {
		return zero
	}
	return a.DivideLeft(c)
}

// Star is by parts, and diverges where either does.
func (a Product[A, B]) Star() (Product[A, B], bool) {
	first, ok1 := a.First.Star()
	second, ok2 := a.Second.Star()
	return Product[A, B]{first, second}, ok1 && ok2
}

// Power is by parts.
func (a Product[A, B]) Power(x float64) Product[A, B] {
	return Product[A, B]{a.First.Power(x), a.Second.Power(x)}
}

// Near holds when both parts are near.
func (a Product[A, B]) Near(b Product[A, B], delta float64) bool {
	return a.First.Near(b.First, delta) && a.Second.Near(b.Second, delta)
}

// Quantize rounds both parts.
func (a Product[A, B]) Quantize(delta float64) Product[A, B] {
	return Product[A, B]{a.First.Quantize(delta), a.Second.Quantize(delta)}
}

// QuantizeFactor rounds both parts.
func (a Product[A, B]) QuantizeFactor(delta float64) (Product[A, B], bool) {
	first, ok1 := quantizeFactor(a.First, delta)
	second, ok2 := quantizeFactor(a.Second, delta)
	return Product[A, B]{first, second}, ok1 || ok2
}

// AppendKey appends the keys of the parts, which do not run into one another:
// those of Components are of one length for each type.
func (a Product[A, B]) AppendKey(dst []byte) []byte {
	return a.Second.AppendKey(a.First.AppendKey(dst))
}

// Claimed here, so that losing one fails the build.
var _ Component[Product[Tropical, Log]] = Product[Tropical, Log]{}
var _ Cancellative[Product[Tropical, Log]] = Product[Tropical, Log]{}
var _ Proportional[Product[Tropical, Log]] = Product[Tropical, Log]{}

func (a Product[A, B]) ArcType() string { return a.WeightType() }

func (a Product[A, B]) WeightType() string {
	return a.First.WeightType() + "_X_" + a.Second.WeightType()
}

func (a Product[A, B]) AppendText(dst []byte) []byte { return a.AppendTextFormat(dst, TextFormat{}) }
func (a Product[A, B]) ParseText(s string) (Product[A, B], error) {
	return a.ParseTextFormat(s, TextFormat{})
}

func (a Product[A, B]) AppendTextFormat(dst []byte, f TextFormat) []byte {
	return appendPair(dst, a.First, a.Second, f)
}

// ParseTextFormat reads two parts with the separator between them.
func (Product[A, B]) ParseTextFormat(s string, f TextFormat) (Product[A, B], error) {
	first, second, err := parsePair[A, B](s, f)
	return Product[A, B]{first, second}, err
}

func (a Product[A, B]) AppendBinary(dst []byte) []byte {
	return a.Second.AppendBinary(a.First.AppendBinary(dst))
}

func (Product[A, B]) DecodeBinary(src []byte) (Product[A, B], int, error) {
	first, second, n, err := decodePair[A, B](src)
	return Product[A, B]{first, second}, n, err
}
