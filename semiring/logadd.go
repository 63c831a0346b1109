package semiring

import "math"

// logAdd is -log(e^-a + e^-b), with ∞ as the logarithm of nothing.
func logAdd(a, b float64) float64 {
	if a > b {
		a, b = b, a
	}
	d := b - a
	if d == 0 {
		return a - math.Ln2
	}
	if !(d <= 745.2) { // e^-d is 0; or d is NaN, from ∞-∞, -∞-(-∞) or NaN itself
		return logAddLimit(a, b)
	}
	if d > 37.5 && (a >= 1 || a <= -1) { // e^-d < 2^-54: less than half a unit in the last place of a
		return a
	}
	return a - math.Log1p(math.Exp(-d))
}

func logAddLimit(a, b float64) float64 {
	if a != a || b != b {
		return math.NaN()
	}
	return a
}

// logStar is -log(1 + e^-a + e^-2a + …) = log(1 - e^-a). Near 0 the difference
// is all in expm1, far from it in log1p (M. Mächler, "Accurately computing
// log(1 - exp(-|a|))", 2012).
func logStar(a float64) (float64, bool) {
	switch {
	case !(a > 0):
		return math.NaN(), false
	case a < math.Ln2:
		return math.Log(-math.Expm1(-a)), true
	}
	return math.Log1p(-math.Exp(-a)), true
}
