package semiring

import "math"

// ExpNegative is e^-t for t ≥ 0, to within an ulp or two: a power of two of 64ths from a table
// times a polynomial of what is left, by P. Tang, "Table-driven implementation of the exponential
// function in IEEE floating-point arithmetic", ACM Transactions on Mathematical Software 15(2),
// 1989. It takes 10 ns where math.Exp takes 18, which was a third of a sum over the paths of a
// machine over Log.
//
// t may be NaN, whose power is NaN, or infinite.
func ExpNegative(t float64) float64 {
	if !(t < 708) { // a subnormal number, zero or NaN
		return math.Exp(-t)
	}
	// Adding 1.5·2⁵² leaves the nearest integer in the low bits of the mantissa.
	const round = 0x1.8p52
	k := round - t*(expSteps/math.Ln2)
	bits := math.Float64bits(k)
	k -= round
	// ln 2/64 in two parts, the first with so few bits that its product with k is exact.
	const high = 0x1.62e42fefap-7
	const low = math.Ln2/expSteps - high
	r := -t - k*high - k*low // |r| ≤ ln 2/128
	r2 := r * r
	p := r + r2*(0.5+r*(1./6)) + r2*r2*(1./24+r*(1./120))
	s := math.Float64frombits(expTable[bits%expSteps] + bits<<(52-expStepBits))
	return s + s*p
}

const (
	expStepBits = 6
	expSteps    = 1 << expStepBits
)

// expTable has the bits of 2^(i/64), less what adding i to the bits above those of the table adds
// to the exponent.
var expTable = func() (table [expSteps]uint64) {
	for i := range table {
		table[i] = math.Float64bits(math.Exp2(float64(i)/expSteps)) - uint64(i)<<(52-expStepBits)
	}
	return table
}()
