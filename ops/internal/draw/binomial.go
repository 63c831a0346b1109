// Package draw has random numbers of distributions that the standard library lacks.
package draw

import (
	"math"
	"math/rand/v2"
)

// Binomial draws how many of n trials succeed, each with the chance p, with the exact distribution
// but for the rounding of p. It takes O(log n). The middle one of n sorted uniform numbers has a
// beta distribution. It tells how many of the others are still to be drawn, and on which side of p.
//
// D. A. Relles, "A simple algorithm for generating Binomial random variables when N is large", JASA
// 67(339), 1972.
func Binomial(rng *rand.Rand, n int, p float64) int {
	const few = 16
	sum := 0
	for n > few && p > 0 && p < 1 {
		k := n/2 + 1
		x := gamma(rng, float64(k))
		x /= x + gamma(rng, float64(n+1-k))
		if x <= p {
			sum, n, p = sum+k, n-k, (p-x)/(1-x)
		} else {
			n, p = k-1, p/x
		}
	}
	switch {
	case p >= 1:
		return sum + n
	case !(p > 0):
		return sum
	}
	for range n {
		if rng.Float64() < p {
			sum++
		}
	}
	return sum
}

// gamma draws from the gamma distribution of shape a ≥ 1, scale 1: G. Marsaglia and W. W. Tsang, "A
// simple method for generating gamma variables", ACM TOMS 26(3), 2000.
func gamma(rng *rand.Rand, a float64) float64 {
	d := a - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v *= v * v
		u := 1 - rng.Float64() // not 0
		if math.Log(u) < x*x/2+d*(1-v+math.Log(v)) {
			return d * v
		}
	}
}
