package federated

import "math"

// Sums of boosting are in fixed point. Every row is rounded by itself, so that a sum has the same
// bits for any division of the rows among agents, any order, and under masks.
const (
	boostBits = 28 // behind the binary point
	otherBits = 24 // of sums of the domain classifier, under masks
	rowMost   = 1 << 18
)

// fixed rounds the number of one row, which is cut off at ±rowMost: exp(12.5). With 2¹⁶ rows
// a sum stays in 62 bits.
func fixed(v float64) int64 {
	return int64(math.RoundToEven(math.Ldexp(max(-rowMost, min(rowMost, v)), boostBits)))
}

// mostRows keeps sums of rows within 63 bits.
const mostRows = 1 << 16

// toFixed rounds the sums of an agent to fixed point. It is an error where one is too large:
// sums of 1024 agents must fit 63 bits.
func toFixed(v []float64, bits int) ([]int64, error) {
	out := make([]int64, len(v))
	for i, x := range v {
		y := math.RoundToEven(math.Ldexp(x, bits))
		if !(math.Abs(y) < 1<<52) {
			return nil,
				fail(NotFinite, "",
					"a sum of %v does not fit a secure sum, whose bound is %v: scale the columns", x,
					math.Ldexp(1, 52-bits))
		}
		out[i] = int64(y)
	}
	return out, nil
}
