package semiring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// What the weights that are numbers share: text, bytes, keys, rounding.

// float is implemented by the representations of numeric weights.
type float interface{ ~float32 | ~float64 }

// errWeight wraps every complaint about a weight's text or bytes, so that all
// of them read alike. The text is cut: it may be a line of any length.
func errWeight(s, why string) error {
	const limit = 64
	if len(s) > limit {
		return fmt.Errorf("semiring: bad weight %q... (%d bytes): %s", s[:limit], len(s), why)
	}
	return fmt.Errorf("semiring: bad weight %q: %s", s, why)
}

// appendNumber appends v as C's %.*g would, and the words that OpenFst has for
// the numbers that are none.
func appendNumber(dst []byte, v float64, digits int) []byte {
	switch {
	case v != v:
		return append(dst, "BadNumber"...)
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	}
	return strconv.AppendFloat(dst, v, 'g', digits, 64)
}

const digits32 = 9 // of a float32: enough to read the same number back

func (f TextFormat) digits32() int {
	if f.Digits <= 0 {
		return digits32
	}
	return min(f.Digits, digits32)
}

func (f TextFormat) digits64() int {
	if f.Digits <= 0 {
		return 9
	}
	return min(f.Digits, 64) // a float64 has no more than 53 binary digits to show
}

// parseNumber reads the whole of s as C's strtod would: decimal or hexadecimal,
// with or without exponent, "inf" and "infinity" in any case; what is too large
// becomes infinite and what is too small 0. NaN is refused: no semiring here
// has it, and its printed form could not be read back either.
func parseNumber(s string) (float64, error) {
	if s == "" {
		return 0, errWeight(s, "empty, want a number")
	}
	// strconv would take digits with underscores between them after "0x", and
	// asks for an exponent there; strtod does neither.
	number := s
	if strings.IndexByte(s, '_') >= 0 {
		return 0, errWeight(s, "not a number")
	}
	if isHex(s) && !strings.ContainsAny(s, "pP") {
		number += "p0"
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		body := strings.ToLower(strings.TrimLeft(s, "+-"))
		if body == "badnumber" || strings.HasPrefix(body, "nan") {
			return 0, errWeight(s, "NaN is not a weight")
		}
		return 0, errWeight(s, "not a number")
	}
	if v != v {
		return 0, errWeight(s, "NaN is not a weight")
	}
	return v, nil
}

func isHex(s string) bool {
	if s[0] == '+' || s[0] == '-' {
		s = s[1:]
	}
	return len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x'
}

// appendFloat32 and the three after it are the binary forms.
func appendFloat32(dst []byte, v float32) []byte {
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
}

func appendFloat64(dst []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
}

func decodeFloat32(src []byte) (float32, int) {
	if len(src) < 4 {
		return 0, 0
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(src)), 4
}

func decodeFloat64(src []byte) (float64, int) {
	if len(src) < 8 {
		return 0, 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(src)), 8
}

// near is |a-b| ≤ delta in OpenFst's arithmetic, a ≤ b+delta and b ≤ a+delta with sums rounded
// to T (0.3 is near 0.2 by 0.1 in float32, not in float64). Equal infinities are near.
func near[T float](a, b T, delta float64) bool {
	d := T(delta)
	return a == b || a <= b+d && b <= a+d
}

// quantize is OpenFst's rounding to multiples of delta, ⌊v/delta + ½⌋·delta in
// the arithmetic of T (see Quantizable). What would overflow to ∞ = 0̄ stays as it is.
func quantize[T float](v T, delta float64) T {
	d := T(delta)
	if !(d > 0 && d < T(math.Inf(1))) {
		return v
	}
	q := T(math.Floor(float64(v/d+0.5))) * d
	if q-q != 0 { // ∞
		return v
	}
	return q
}

// nearRelative is |a-b| ≤ delta·min(|a|, |b|): for numbers that are multiplied, in which the size
// of both says nothing. 0 is near 0 alone.
func nearRelative(a, b, delta float64) bool {
	return a == b || math.Abs(a-b) <= delta*min(math.Abs(a), math.Abs(b))
}

// quantizeRelative rounds |v| in [2^e, 2^(e+1)) to 2^e plus a multiple of delta·2^e, whatever e is.
// Powers of two stay as they are, and with a delta that is one so do numbers of few binary
// digits. So do those too small to have all digits, and what would come out too large.
func quantizeRelative(v, delta float64) float64 {
	const least = 0x1p-1022
	if a := math.Abs(v); !(a >= least && a <= math.MaxFloat64) || !(delta >= 0x1p-51 && delta <= math.MaxFloat64) {
		return v
	}
	f, e := math.Frexp(v) // 1/2 ≤ |f| < 1
	m := 2*math.Abs(f) - 1
	m = min(math.Floor(m/delta+0.5)*delta, 1)
	if q := math.Ldexp(1+m, e-1); q <= math.MaxFloat64 {
		return math.Copysign(q, v)
	}
	return v
}

// power is a^x for the semirings in which ⊗ is +. 1̄ and whatever is raised
// to 0 give 1̄, where 0·∞ would be NaN.
func power[T float](a T, x float64) T {
	if x == 0 || a == 0 && x == x {
		return 0
	}
	return T(float64(a) * x)
}

// sumNaN repairs a+b = NaN: 0̄ = ∞ annihilates -∞ too, so that only NaN makes
// NaN. It is apart from Times so that Times stays small enough to be inlined.
func sumNaN[T float](a, b T) T {
	if a != a || b != b {
		return T(math.NaN())
	}
	return T(math.Inf(1))
}

// differenceNaN repairs c-a = NaN. -∞ divided by itself is 1̄; a division by
// 0̄ has no meaning, and stays NaN.
func differenceNaN[T float](a, c T) T {
	if a == c && a < 0 {
		return 0
	}
	return T(math.NaN())
}

func errBytes(src []byte, why string) error {
	return fmt.Errorf("semiring: bad weight in bytes % x: %s", src, why)
}
