package losses

import (
	"encoding/binary"
	"math"
	"math/bits"
)

func appendFloats(dst []byte, xs ...float64) []byte {
	for _, x := range xs {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x+0))
	}
	return dst
}

func appendInts(dst []byte, xs ...int) []byte {
	for _, x := range xs {
		dst = binary.AppendVarint(dst, int64(x))
	}
	return dst
}

// Costs become integers so that columns are hashed and compared exactly. The
// unit comes from the fractions of least denominator within a few units in the
// last place, so that decimals and rationals, whose float64s carry rounding
// (0.1+0.2-0.3 is not 0), meet where they should. Costs without such a unit are
// multiples of their greatest over 2⁵⁰: as exact as the float64s they came from,
// and integers all the same.
const (
	maxDenominator = 4096
	ratioTolerance = 8e-16
)

// quantize returns a unit of which all costs are integer multiples, and the
// multiples. noise bounds the rounding that the costs carry; room is the number
// of costs that one sum may contain.
func quantize(costs []float64, noise float64, room int) (unit float64, multiples []int64) {
	top := 0.0
	for _, c := range costs {
		top = max(top, math.Abs(c))
	}
	multiples = make([]int64, len(costs))
	if top <= noise {
		return 1, multiples
	}
	tol := ratioTolerance + 2*noise/top
	denominator := int64(1)
	for _, c := range costs {
		q := fraction(math.Abs(c)/top, tol)
		if q == 0 || q > maxDenominator {
			denominator = 0
			break
		}
		denominator = denominator / gcd(denominator, q) * q
		if denominator > 1<<20 {
			denominator = 0
			break
		}
	}
	if denominator == 0 {
		denominator = 1 << min(50, 61-bits.Len(uint(room)))
	}
	unit = top / float64(denominator)
	for i, c := range costs {
		multiples[i] = int64(math.Round(c / unit))
	}
	return unit, multiples
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// fraction returns the least q, up to maxDenominator, of a convergent p/q of
// the continued fraction of 0 ≤ x ≤ 1 that is within tol of x, or 0.
func fraction(x, tol float64) int64 {
	p0, q0, p1, q1 := 0.0, 1.0, 1.0, 0.0
	for y := x; ; {
		a := math.Floor(y)
		p0, q0, p1, q1 = p1, q1, a*p1+p0, a*q1+q0
		switch {
		case q1 > maxDenominator:
			return 0
		case math.Abs(x-p1/q1) <= tol:
			return int64(q1)
		case y == a:
			return 0
		}
		y = 1 / (y - a)
	}
}
