package semiring

import (
	"encoding/binary"
	"math"
)

// Log is (ℝ∪{∞}, ⊕, +, ∞, 0) with a⊕b = -log(e^-a + e^-b), over float32:
// negated log probabilities. It is commutative. Sums are computed in float64 and
// then rounded.
//
// -∞ and NaN are not members, though arithmetic tolerates -∞: no operation on
// members and -∞ gives NaN, but for division by 0̄.
type Log float32

// Plus is -log(e^-a + e^-b).
func (a Log) Plus(b Log) Log { return Log(logAdd(float64(a), float64(b))) }

// Times is +, except that 0̄ = ∞ annihilates -∞ too.
func (a Log) Times(b Log) Log {
	if s := a + b; s == s {
		return s
	}
	return sumNaN(a, b)
}

func (Log) Zero() Log          { return Log(math.Inf(1)) }
func (Log) One() Log           { return 0 }
func (a Log) Equal(b Log) bool { return a == b }
func (a Log) Member() bool     { return a > Log(math.Inf(-1)) }
func (Log) Commutes()          {}
func (a Log) Cancels() bool    { return !a.Equal(a.Zero()) }
func (a Log) Reverse() Log     { return a }

// DivideLeft is c - a.
func (a Log) DivideLeft(c Log) Log {
	if d := c - a; d == d {
		return d
	}
	return differenceNaN(a, c)
}

// DivideRight is DivideLeft.
func (a Log) DivideRight(c Log) Log { return a.DivideLeft(c) }

// Star is -log(1/(1 - e^-a)) for a > 0; otherwise the sum diverges.
func (a Log) Star() (Log, bool) {
	s, ok := logStar(float64(a))
	return Log(s), ok
}

// Power is x·a.
func (a Log) Power(x float64) Log { return power(a, x) }

// Near reports whether a and b differ by at most delta.
func (a Log) Near(b Log, delta float64) bool { return near(a, b, delta) }

// Quantize rounds to a multiple of delta.
func (a Log) Quantize(delta float64) Log { return quantize(a, delta) }

// Claimed here, so that losing one fails the build.
var _ Component[Log] = Log(0)
var _ Cancellative[Log] = Log(0)

// AppendKey appends the bits of a, those of +0 for -0.
func (a Log) AppendKey(dst []byte) []byte {
	return binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(a+0)))
}

func (Log) ArcType() string    { return "log" }
func (Log) WeightType() string { return "log" }

func (a Log) AppendText(dst []byte) []byte  { return a.AppendTextFormat(dst, TextFormat{}) }
func (Log) ParseText(s string) (Log, error) { return Log(0).ParseTextFormat(s, TextFormat{}) }

func (a Log) AppendTextFormat(dst []byte, f TextFormat) []byte {
	return appendNumber(dst, float64(a), f.digits32())
}

// ParseTextFormat reads a number as C's strtod does. Like there, it is rounded to
// float64 first.
func (Log) ParseTextFormat(s string, _ TextFormat) (Log, error) {
	v, err := parseNumber(s)
	return Log(v), err
}

func (a Log) AppendBinary(dst []byte) []byte { return appendFloat32(dst, float32(a)) }

func (Log) DecodeBinary(src []byte) (Log, int, error) {
	v, n := decodeFloat32(src)
	return Log(v), n, nil
}
