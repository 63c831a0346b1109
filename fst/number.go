package fst

import (
	"math"
	"math/bits"

	"github.com/tropica-fst/tropica/semiring"
)

// numbers32or64 tells of weights whose text is one plain number, as C prints
// and reads it, how wide they are. These are read and printed here, without a
// call a weight; strconv, through the weight's own methods, is the judge of
// both, and does what is not simple.
type numbers32or64 int

const (
	number32 numbers32or64 = 32
	number64 numbers32or64 = 64
)

func numberKind[W any]() numbers32or64 {
	var w W
	switch any(w).(type) {
	case semiring.Tropical, semiring.Log:
		return number32
	case semiring.Tropical64, semiring.Log64:
		return number64
	}
	return 0
}

var pow10float = [23]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// parseDecimal reads numbers of at most 15 or so digits exactly: a mantissa
// below 2⁵³ and a power of ten up to 10²² are both floats, and so their product
// or quotient is rounded once (W. Clinger, "How to read floating point numbers
// accurately", PLDI 1990). Of anything else it says that it cannot.
func parseDecimal(s []byte) (float64, bool) {
	i, n := 0, len(s)
	neg := false
	if n > 0 && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		i = 1
	}
	var m uint64
	exp, digits := 0, 0
	for ; i < n && s[i]-'0' <= 9; i++ {
		m = 10*m + uint64(s[i]-'0')
		digits++
	}
	if i < n && s[i] == '.' {
		i++
		from := i
		for ; i < n && s[i]-'0' <= 9; i++ {
			m = 10*m + uint64(s[i]-'0')
			digits++
		}
		exp = from - i
	}
	if digits == 0 || digits > 19 || m > 1<<53 {
		return 0, false
	}
	if i < n && s[i]|0x20 == 'e' {
		i++
		expNeg := false
		if i < n && (s[i] == '-' || s[i] == '+') {
			expNeg = s[i] == '-'
			i++
		}
		if i == n || n-i > 3 {
			return 0, false
		}
		e := 0
		for ; i < n && s[i]-'0' <= 9; i++ {
			e = 10*e + int(s[i]-'0')
		}
		if expNeg {
			e = -e
		}
		exp += e
	}
	if i != n || exp < -22 || exp > 22 {
		return 0, false
	}
	x := float64(m)
	if exp < 0 {
		x /= pow10float[-exp]
	} else {
		x *= pow10float[exp]
	}
	if neg {
		x = -x
	}
	return x, true
}

var pow10int = [20]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// appendNine appends x as C's %.9g does, if 10⁻⁵ ≤ |x| < 10⁹ or x is 0; else it
// returns false and appends nothing.
//
// x is m·2^-s exactly, with m < 2⁵³; its nine digits are m·10^p/2^s, rounded to
// even, with p ≤ 13. That is 97 bits, so that 128-bit integers give the exact
// result with one multiplication: 15 to 20 ns where strconv takes 60 to 80.
func appendNine(dst []byte, x float64) ([]byte, bool) {
	b := math.Float64bits(x)
	neg := b>>63 != 0
	b &= 1<<63 - 1
	if b == 0 {
		if neg {
			return append(dst, "-0"...), true
		}
		return append(dst, '0'), true
	}
	e2 := int(b>>52) - 1023 // 2^e2 ≤ |x| < 2^(e2+1)
	if e2 < -16 || e2 > 29 {
		return dst, false
	}
	m := b&(1<<52-1) | 1<<52
	s := uint(52 - e2)
	// ⌊log10 2^e2⌋, which is at most one below that of x.
	k := e2 * 1233 >> 12
	hi, lo := bits.Mul64(m, pow10int[8-k])
	d := shift(hi, lo, s)
	if d >= 1e9 {
		if k++; k > 8 {
			return dst, false
		}
		hi, lo = bits.Mul64(m, pow10int[8-k])
		d = shift(hi, lo, s)
	}
	// What was cut off decides the rounding.
	var half, rest bool
	if s > 64 {
		half = hi>>(s-65)&1 != 0
		rest = hi&(1<<(s-65)-1) != 0 || lo != 0
	} else {
		half = lo>>(s-1)&1 != 0
		rest = lo&(1<<(s-1)-1) != 0
	}
	if half && (rest || d&1 != 0) {
		if d++; d == 1e9 {
			d, k = 1e8, k+1
		}
	}
	if k < -4 || k > 8 {
		return dst, false
	}
	if neg {
		dst = append(dst, '-')
	}
	var digits [9]byte
	put9(&digits, uint32(d))
	n := 9
	for n > 1 && digits[n-1] == '0' {
		n--
	}
	switch {
	case k < 0:
		dst = append(dst, "0.0000"[:1-k]...)
		return append(dst, digits[:n]...), true
	case n <= k+1:
		return append(dst, digits[:k+1]...), true
	}
	dst = append(dst, digits[:k+1]...)
	dst = append(dst, '.')
	return append(dst, digits[k+1:n]...), true
}

// shift returns the 128-bit number hi·2⁶⁴+lo, divided by 2^s and cut off. The
// quotient fits.
func shift(hi, lo uint64, s uint) uint64 {
	if s >= 64 {
		return hi >> (s - 64)
	}
	return hi<<(64-s) | lo>>s
}

const twoDigits = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

func put9(d *[9]byte, x uint32) {
	for i := 7; i >= 1; i -= 2 {
		q := x / 100
		r := 2 * (x - 100*q)
		d[i], d[i+1] = twoDigits[r], twoDigits[r+1]
		x = q
	}
	d[0] = byte('0' + x)
}

// appendInt appends x in base 10.
func appendInt(dst []byte, x int32) []byte {
	u := uint32(x)
	if x < 0 {
		dst = append(dst, '-')
		u = -u
	}
	if u < 10 {
		return append(dst, byte('0'+u))
	}
	if u < 100 {
		return append(dst, twoDigits[2*u], twoDigits[2*u+1])
	}
	var d [10]byte
	i := len(d)
	for u >= 100 {
		q := u / 100
		r := 2 * (u - 100*q)
		i -= 2
		d[i], d[i+1] = twoDigits[r], twoDigits[r+1]
		u = q
	}
	if u >= 10 {
		i -= 2
		d[i], d[i+1] = twoDigits[2*u], twoDigits[2*u+1]
	} else {
		i--
		d[i] = byte('0' + u)
	}
	return append(dst, d[i:]...)
}
