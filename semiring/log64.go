package semiring

import (
	"encoding/binary"
	"math"
)

// Log64 is (ℝ∪{∞}, ⊕, +, ∞, 0) with a⊕b = -log(e^-a + e^-b), over float64:
// negated log probabilities. It is commutative.
//
// -∞ and NaN are not members, though arithmetic tolerates -∞: no operation on
// members and -∞ gives NaN, but for division by 0̄.
type Log64 float64

// Plus is -log(e^-a + e^-b).
func (a Log64) Plus(b Log64) Log64 { return Log64(logAdd(float64(a), float64(b))) }

// Times is +, except that 0̄ = ∞ annihilates -∞ too.
func (a Log64) Times(b Log64) Log64 {
	if s := a + b; s == s {
		return s
	}
	return sumNaN(a, b)
}

func (Log64) Zero() Log64          { return Log64(math.Inf(1)) }
func (Log64) One() Log64           { return 0 }
func (a Log64) Equal(b Log64) bool { return a == b }
func (a Log64) Member() bool       { return a > Log64(math.Inf(-1)) }
func (Log64) Commutes()            {}
func (a Log64) Cancels() bool      { return !a.Equal(a.Zero()) }
func (a Log64) Reverse() Log64     { return a }

// DivideLeft is c - a.
func (a Log64) DivideLeft(c Log64) Log64 {
	if d := c - a; d == d {
		return d
	}
	return differenceNaN(a, c)
}

// DivideRight is DivideLeft.
func (a Log64) DivideRight(c Log64) Log64 { return a.DivideLeft(c) }

// Star is -log(1/(1 - e^-a)) for a > 0; otherwise the sum diverges.
func (a Log64) Star() (Log64, bool) {
	s, ok := logStar(float64(a))
	return Log64(s), ok
}

// Power is x·a.
func (a Log64) Power(x float64) Log64 { return power(a, x) }

// Near reports whether a and b differ by at most delta.
func (a Log64) Near(b Log64, delta float64) bool { return near(a, b, delta) }

// Quantize rounds to a multiple of delta.
func (a Log64) Quantize(delta float64) Log64 { return quantize(a, delta) }

// Claimed here, so that losing one fails the build.
var _ Component[Log64] = Log64(0)
var _ Cancellative[Log64] = Log64(0)

// AppendKey appends the bits of a, those of +0 for -0.
func (a Log64) AppendKey(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(float64(a+0)))
}

func (Log64) ArcType() string    { return "log64" }
func (Log64) WeightType() string { return "log64" }

func (a Log64) AppendText(dst []byte) []byte    { return a.AppendTextFormat(dst, TextFormat{}) }
func (Log64) ParseText(s string) (Log64, error) { return Log64(0).ParseTextFormat(s, TextFormat{}) }

func (a Log64) AppendTextFormat(dst []byte, f TextFormat) []byte {
	return appendNumber(dst, float64(a), f.digits64())
}

// ParseTextFormat reads a number as C's strtod does; it reads -∞, though that is
// no member.
func (Log64) ParseTextFormat(s string, _ TextFormat) (Log64, error) {
	v, err := parseNumber(s)
	return Log64(v), err
}

func (a Log64) AppendBinary(dst []byte) []byte { return appendFloat64(dst, float64(a)) }

func (Log64) DecodeBinary(src []byte) (Log64, int, error) {
	v, n := decodeFloat64(src)
	return Log64(v), n, nil
}
