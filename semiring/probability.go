package semiring

import (
	"encoding/binary"
	"math"
)

// Probability is (ℝ₊, +, ·, 0, 1), the real semiring over float64: commutative.
// Its members are the finite numbers that are not negative; a sum or product
// too large for a float64 is +Inf and no member. OpenFst's name for it is real64.
type Probability float64

// Plus is +.
func (a Probability) Plus(b Probability) Probability { return a + b }

// Times is ·, except that 0̄ annihilates +Inf too. The conversion keeps compilers
// from fusing the product with a sum, which would depend on the machine and on
// the order.
func (a Probability) Times(b Probability) Probability {
	if p := Probability(a * b); p == p {
		return p
	}
	return productNaN(a, b)
}

// productNaN repairs 0·∞, and keeps NaN of NaN.
func productNaN(a, b Probability) Probability {
	if a != a || b != b {
		return Probability(math.NaN())
	}
	return 0
}

func (Probability) Zero() Probability          { return 0 }
func (Probability) One() Probability           { return 1 }
func (a Probability) Equal(b Probability) bool { return a == b }
func (a Probability) Member() bool             { return a >= 0 && a <= math.MaxFloat64 }
func (Probability) Commutes()                  {}
func (a Probability) Cancels() bool            { return a != 0 }
func (a Probability) Reverse() Probability     { return a }

// DivideLeft is c/a.
func (a Probability) DivideLeft(c Probability) Probability { return c / a }

// DivideRight is DivideLeft.
func (a Probability) DivideRight(c Probability) Probability { return c / a }

// Star is 1/(1-a) for a < 1; otherwise the sum diverges.
func (a Probability) Star() (Probability, bool) {
	if a < 1 {
		return 1 / (1 - a), true
	}
	return Probability(math.NaN()), false
}

// Power is a^x, where 0^0 is 1.
func (a Probability) Power(x float64) Probability { return Probability(math.Pow(float64(a), x)) }

// Near reports whether a and b differ by at most delta times the lesser of the two: a factor is
// what it is for small numbers as for large ones, as it is over Log, where it is a difference.
// (OpenFst's real64 compares with delta alone, and has any two numbers below it for equal.)
func (a Probability) Near(b Probability, delta float64) bool {
	return nearRelative(float64(a), float64(b), delta)
}

// Quantize rounds to a multiple of delta.
func (a Probability) Quantize(delta float64) Probability { return quantize(a, delta) }

// QuantizeFactor rounds to 2^e plus a multiple of delta·2^e, e being such that 2^e ≤ a < 2^(e+1).
func (a Probability) QuantizeFactor(delta float64) (Probability, bool) {
	return Probability(quantizeRelative(float64(a), delta)), true
}

// Claimed here, so that losing one fails the build.
var _ Component[Probability] = Probability(0)
var _ Cancellative[Probability] = Probability(0)
var _ Proportional[Probability] = Probability(0)

// AppendKey appends the bits of a, those of +0 for -0.
func (a Probability) AppendKey(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(float64(a+0)))
}

func (Probability) ArcType() string    { return "real64" }
func (Probability) WeightType() string { return "real64" }

func (a Probability) AppendText(dst []byte) []byte { return a.AppendTextFormat(dst, TextFormat{}) }
func (Probability) ParseText(s string) (Probability, error) {
	return Probability(0).ParseTextFormat(s, TextFormat{})
}

func (a Probability) AppendTextFormat(dst []byte, f TextFormat) []byte {
	return appendNumber(dst, float64(a), f.digits64())
}

// ParseTextFormat reads a number as C's strtod does; it reads what is negative
// or infinite, though that is no member.
func (Probability) ParseTextFormat(s string, _ TextFormat) (Probability, error) {
	v, err := parseNumber(s)
	return Probability(v), err
}

func (a Probability) AppendBinary(dst []byte) []byte { return appendFloat64(dst, float64(a)) }

func (Probability) DecodeBinary(src []byte) (Probability, int, error) {
	v, n := decodeFloat64(src)
	return Probability(v), n, nil
}
