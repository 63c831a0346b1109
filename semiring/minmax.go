package semiring

import (
	"encoding/binary"
	"math"
)

// MinMax is (ℝ∪{-∞,∞}, min, max, ∞, -∞) over float32, the bottleneck semiring:
// commutative, idempotent, with the path property. NaN alone is no member. ⊗
// does not cancel, so that quotients are not unique.
type MinMax float32

// Plus is min. NaN is kept.
func (a MinMax) Plus(b MinMax) MinMax {
	if a < b || a != a {
		return a
	}
	return b
}

// Times is max. NaN is kept.
func (a MinMax) Times(b MinMax) MinMax {
	if a >= b || a != a {
		return a
	}
	return b
}

func (MinMax) Zero() MinMax          { return MinMax(math.Inf(1)) }
func (MinMax) One() MinMax           { return MinMax(math.Inf(-1)) }
func (a MinMax) Equal(b MinMax) bool { return a == b }
func (a MinMax) Less(b MinMax) bool  { return a < b }
func (a MinMax) Member() bool        { return a == a }
func (MinMax) Commutes()             {}

// Cancels holds for 1̄ alone: max(1, 3) = max(2, 3).
func (a MinMax) Cancels() bool { return a.Equal(a.One()) }

func (MinMax) Idempotent()       {}
func (a MinMax) Reverse() MinMax { return a }

// DivideLeft is c, the greatest of the solutions, where c ≥ a; there is none
// below, and NaN stands for it.
func (a MinMax) DivideLeft(c MinMax) MinMax {
	if c >= a {
		return c
	}
	return MinMax(math.NaN())
}

// DivideRight is DivideLeft.
func (a MinMax) DivideRight(c MinMax) MinMax { return a.DivideLeft(c) }

// Star is 1̄, which is below everything.
func (a MinMax) Star() (MinMax, bool) { return a.One(), true }

// Power is a, and 1̄ for x = 0.
func (a MinMax) Power(x float64) MinMax {
	if x == 0 {
		return a.One()
	}
	return a
}

// Near reports whether a and b differ by at most delta.
func (a MinMax) Near(b MinMax, delta float64) bool { return near(a, b, delta) }

// Quantize rounds to a multiple of delta.
func (a MinMax) Quantize(delta float64) MinMax { return quantize(a, delta) }

// Claimed here, so that losing one fails the build.
var _ PathComponent[MinMax] = MinMax(0)
var _ Cancellative[MinMax] = MinMax(0)

// AppendKey appends the bits of a, those of +0 for -0.
func (a MinMax) AppendKey(dst []byte) []byte {
	return binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(a+0)))
}

func (MinMax) ArcType() string    { return "minmax" }
func (MinMax) WeightType() string { return "minmax" }

func (a MinMax) AppendText(dst []byte) []byte { return a.AppendTextFormat(dst, TextFormat{}) }
func (MinMax) ParseText(s string) (MinMax, error) {
	return MinMax(0).ParseTextFormat(s, TextFormat{})
}

func (a MinMax) AppendTextFormat(dst []byte, f TextFormat) []byte {
	return appendNumber(dst, float64(a), f.digits32())
}

// ParseTextFormat reads a number as C's strtod does. Like there, it is rounded to
// float64 first.
func (MinMax) ParseTextFormat(s string, _ TextFormat) (MinMax, error) {
	v, err := parseNumber(s)
	return MinMax(v), err
}

func (a MinMax) AppendBinary(dst []byte) []byte { return appendFloat32(dst, float32(a)) }

func (MinMax) DecodeBinary(src []byte) (MinMax, int, error) {
	v, n := decodeFloat32(src)
	return MinMax(v), n, nil
}
