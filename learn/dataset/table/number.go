package table

import (
	"math"
	"strconv"
)

var pow10 = [23]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// decimal is a number as it is written: sign, digits and a power of ten.
type decimal struct {
	m   uint64
	exp int
	neg bool
}

// scan reads a decimal number of at most 19 digits that starts at b[i]. It returns the position of
// the first byte that is not part of it. For anything else ok is false, and the caller must use the
// slow way. b must end in a byte that no number has (the parsers append a newline).
func scan(b []byte, i int) (d decimal, end int, ok bool) {
	if i >= len(b) {
		return d, i, false
	}
	if c := b[i]; c == '-' || c == '+' {
		d.neg = c == '-'
		i++
	}
	from := i
	for i < len(b) && b[i]-'0' <= 9 {
		d.m = 10*d.m + uint64(b[i]-'0')
		i++
	}
	digits := i - from
	if i < len(b) && b[i] == '.' {
		i++
		from = i
		for i < len(b) && b[i]-'0' <= 9 {
			d.m = 10*d.m + uint64(b[i]-'0')
			i++
		}
		d.exp = from - i
		digits += i - from
	}
	if digits == 0 || digits > 19 { // 10¹⁹ < 2⁶⁴: no overflow so far
		return d, i, false
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		neg := false
		if i < len(b) && (b[i] == '-' || b[i] == '+') {
			neg = b[i] == '-'
			i++
		}
		from = i
		e := 0
		for i < len(b) && b[i]-'0' <= 9 && i-from < 4 {
			e = 10*e + int(b[i]-'0')
			i++
		}
		if i == from || i < len(b) && b[i]-'0' <= 9 {
			return d, i, false
		}
		if neg {
			e = -e
		}
		d.exp += e
	}
	return d, i, d.exp >= -22 && d.exp <= 22
}

// float32 returns the nearest float32, or false when it cannot tell.
//
// float64(m) and its product or quotient with 10^|exp|, which is exact in float64, are each rounded
// once. x is therefore within 2 units of its last place of the number. A float64 has 29 bits more
// than a float32. Where these are further than 2 units from a tie, rounding x gives the nearest
// float32 of the number itself. Otherwise strconv decides, for one in fifty million random numbers.
// (The idea is that of W. Clinger, "How to read floating point numbers accurately", PLDI 1990, with
// a margin for error instead of exactness.)
func (d decimal) float32() (float32, bool) {
	x := float64(d.m)
	if d.exp < 0 {
		x /= pow10[-d.exp]
	} else {
		x *= pow10[d.exp]
	}
	const tie, near = 1 << 28, 4
	low := math.Float64bits(x) & (1<<29 - 1)
	// Below 2⁻¹²⁶ a float32 has fewer bits; above MaxFloat32 there is none.
	if low-(tie-near) <= 2*near && !(d.exp == 0 && d.m <= 1<<53) || x > math.MaxFloat32 ||
		x < 0x1p-126 && x != 0 {
		return 0, false
	}
	if d.neg {
		x = -x
	}
	return float32(x), true
}

// float64 returns the nearest float64, or false when it cannot tell.
func (d decimal) float64() (float64, bool) {
	if d.m > 1<<53 {
		return 0, false
	}
	x := float64(d.m)
	if d.exp < 0 {
		x /= pow10[-d.exp]
	} else {
		x *= pow10[d.exp]
	}
	if d.neg {
		x = -x
	}
	return x, true
}

// numberFault is why a text is no usable number.
type numberFault uint8

const (
	numberFine numberFault = iota
	numberBad              // not a number
	numberInfinite
	numberHuge // a finite number that the type cannot hold
)

// parseNumber reads the whole of s as a decimal number of 32 or 64 bits: the
// nearest one. It does not take what only programming languages write (0x1p3,
// 1_000).
func parseNumber(s []byte, bits int) (float64, numberFault) {
	if d, end, ok := scan(s, 0); ok && end == len(s) {
		if bits == 32 {
			if x, ok := d.float32(); ok {
				return float64(x), numberFine
			}
		} else if x, ok := d.float64(); ok {
			return x, numberFine
		}
	}
	for _, c := range s {
		if c-'0' > 9 && c != '.' && c != '-' && c != '+' && c|0x20 != 'e' {
			x, err := strconv.ParseFloat(string(s), 64)
			if err == nil && math.IsInf(x, 0) {
				return 0, numberInfinite
			}
			return 0, numberBad
		}
	}
	x, err := strconv.ParseFloat(string(s), bits)
	if err != nil {
		if math.IsInf(x, 0) {
			return 0, numberHuge
		}
		return 0, numberBad
	}
	return x, numberFine
}

func (f numberFault) describe(s []byte, bits int) string {
	switch f {
	case numberInfinite:
		return quote(string(s)) + " is infinite; leave the field empty if it is missing"
	case numberHuge:
		if bits == 32 {
			return quote(string(s)) + " is beyond the range of float32 (3.4e38); scale the column"
		}
		return quote(string(s)) + " is beyond the range of float64"
	}
	return quote(string(s)) + " is not a number"
}
