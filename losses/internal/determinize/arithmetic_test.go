package determinize

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// addUp is never below the sum, and is the sum where that is a float64.
func TestAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 3))
	exact := 0
	for range 100000 {
		a, b := math.Ldexp(rng.NormFloat64(), rng.IntN(120)-60), math.Ldexp(rng.NormFloat64(),
			rng.IntN(120)-60)
		if rng.IntN(2) == 0 {
			a, b = float64(rng.IntN(2000)-1000)/8, float64(rng.IntN(2000)-1000)/8
		}
		sum := new(big.Float).SetPrec(300).Add(big.NewFloat(a), big.NewFloat(b))
		got := addUp(a, b)
		switch x, accuracy := sum.Float64(); {
		case accuracy == big.Exact:
			if exact++; got != x {
				t.Fatalf("%v + %v = %v, got %v", a, b, x, got)
			}
		case big.NewFloat(got).Cmp(sum) < 0 || got > math.Nextafter(x, math.Inf(1)):
			t.Fatalf("%v + %v is about %v, got %v", a, b, x, got)
		}
	}
	if exact < 1000 {
		t.Errorf("%d exact sums", exact)
	}
	inf := math.Inf(1)
	for _, c := range [][3]float64{{inf, 1, inf}, {1, -inf, -inf},
		{-math.MaxFloat64, -math.MaxFloat64, -math.MaxFloat64}, {math.MaxFloat64, math.MaxFloat64, inf}} {
		if got := addUp(c[0], c[1]); got != c[2] {
			t.Errorf("%v + %v = %v, should be %v", c[0], c[1], got, c[2])
		}
	}
}

// Masses that float64 does not hold side by side are refused.
func TestDivideOutOfRange(t *testing.T) {
	for _, pairs := range [][]layerArc{
		{{0, 1}, {1, 1e-200}}, {{0, .5}, {1, 1e200}}, {{0, 1e-170}}, {{0, math.NaN()}}, {{0, math.Inf(1)}},
	} {
		if d, err := (Masses{}).divide(pairs); err != ErrMassRange {
			t.Errorf("%v by %v: error %v", pairs, d, err)
		}
	}
}
