// Package units finds a unit that costs are integer multiples of.
//
// Costs become integers so that columns are hashed and compared exactly. There
// are three ways, the first that serves:
//
//   - a grid: multiples of a unit that decimals and rationals have in common, whose float64s carry
//     rounding (0.1+0.2-0.3 is not 0). Each cost is on it within a few units in its own last place,
//     independently of the others. A tolerance relative to the greatest cost would swallow a small
//     one;
//   - multiples of a power of two far below the least, for costs of one sign and
//     of like size, where no sum can cancel;
//   - the float64s themselves, which are multiples of a power of two, as
//     integers of as many bits as that takes.
package units

import (
	"math"
	"math/big"
	"math/bits"
)

const (
	maxDenominator = 4096
	maxGrid        = 1 << 20
	ratioTolerance = 8e-16
)

// Grid returns the multiples, at most maxGrid, of a unit, and the unit. Each cost is an integer
// multiple up to the rounding of a float64.
func Grid(costs []float64) (unit float64, multiples []int64, ok bool) {
	top := greatestSize(costs)
	multiples = make([]int64, len(costs))
	if top == 0 {
		return 1, multiples, true
	}
	denominator := int64(1)
	for _, c := range costs {
		x := math.Abs(c) / top
		if x == 0 {
			if c != 0 {
				return 0, nil, false // so small that the quotient underflowed
			}
			continue
		}
		q := fraction(x, ratioTolerance*x)
		if q == 0 {
			return 0, nil, false
		}
		if denominator = denominator / GCD(denominator, q) * q; denominator > maxGrid {
			return 0, nil, false
		}
	}
	unit = top / float64(denominator)
	if unit < 0x1p-1000 {
		return 0, nil, false // would round itself
	}
	for i, c := range costs {
		multiples[i] = int64(math.Round(c / unit))
	}
	return unit, multiples, true
}

// Rounded returns costs of one sign as multiples of a power of two that is at most 2⁻³⁴ of the
// least. Sums of room of them have 57 bits.
func Rounded(costs []float64, room int) (unit float64, multiples []int64, ok bool) {
	top, least := greatestSize(costs), math.Inf(1)
	sign := 0.0
	for _, c := range costs {
		if c == 0 {
			continue
		}
		if c*sign < 0 || top > 1e300 {
			return 0, nil, false
		}
		sign = math.Copysign(1, c)
		least = min(least, math.Abs(c))
	}
	_, e := math.Frexp(top)
	_, low := math.Frexp(least)
	n := min(50, 57-bits.Len(uint(room)))
	if e-n < -1000 || low-(e-n) < 35 {
		return 0, nil, false
	}
	unit = math.Ldexp(1, e-n)
	multiples = make([]int64, len(costs))
	for i, c := range costs {
		multiples[i] = int64(math.Round(c / unit))
	}
	return unit, multiples, true
}

// Dyadic returns costs as integer multiples of 2^exponent, exactly.
func Dyadic(costs []float64) (exponent int, multiples []*big.Int) {
	exponent = math.MaxInt
	for _, c := range costs {
		if c != 0 {
			m, e := math.Frexp(c)
			exponent = min(exponent, e-53+bits.TrailingZeros64(uint64(int64(math.Abs(m)*(1<<53)))))
		}
	}
	multiples = make([]*big.Int, len(costs))
	for i, c := range costs {
		multiples[i] = new(big.Int)
		if c != 0 {
			m, e := math.Frexp(c)
			x := int64(m * (1 << 53))
			zeros := bits.TrailingZeros64(uint64(x))
			multiples[i].Lsh(big.NewInt(x>>zeros), uint(e-53+zeros-exponent))
		}
	}
	if exponent == math.MaxInt {
		exponent = 0
	}
	return exponent, multiples
}

func greatestSize(costs []float64) float64 {
	top := 0.0
	for _, c := range costs {
		top = max(top, math.Abs(c))
	}
	return top
}

// GCD returns the greatest common divisor; that of 0 and a is a.
func GCD(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// fraction returns the least q, up to maxDenominator, that has a convergent p/q of 0 ≤ x ≤ 1 within
// tol of x. Convergents are those of the continued fraction. It returns 0 if there is none.
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

// Index numbers distinct costs.
type Index struct {
	Costs []float64
	index map[float64]int32 // once they are many
}

// Add returns the number of a cost, a new one if it was not there.
func (x *Index) Add(c float64) int32 {
	const few = 8
	if len(x.Costs) <= few {
		for i, d := range x.Costs {
			if c == d {
				return int32(i)
			}
		}
	} else if i, ok := x.index[c]; ok {
		return i
	}
	i := int32(len(x.Costs))
	x.Costs = append(x.Costs, c)
	if len(x.Costs) > few {
		if x.index == nil {
			x.index = map[float64]int32{}
			for i, d := range x.Costs {
				x.index[d] = int32(i)
			}
		}
		x.index[c] = i
	}
	return i
}
