package sweep

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/losses/internal/features"
)

// The exponential of the vector unit is within two units in the last place of
// math.Exp, and 0 where nothing but underflow is left.
func TestExpShifted(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 30))
	inf := math.Inf(1)
	src := []float64{0, math.Copysign(0, -1), -1e-300, -700, -707.9, -708.1, -745, -1000, -1e300, -inf, 1, 5,
		3}
	for range 100000 {
		src = append(src, -rng.ExpFloat64()*[]float64{1e-3, 1, 30, 200}[rng.IntN(4)])
	}
	for _, shift := range []float64{0, 1.25} {
		for n := range 12 { // all remainders
			got := make([]float64, n)
			ExpShifted(got, src[:n], shift)
			for i := range got {
				checkExp(t, src[i]-shift, got[i])
			}
		}
		got := make([]float64, len(src))
		ExpShifted(got, src, shift)
		for i := range got {
			checkExp(t, src[i]-shift, got[i])
		}
	}
}

func checkExp(t *testing.T, x, got float64) {
	t.Helper()
	want := math.Exp(x)
	if x < -707 {
		if got < 0 || got > 1e-306 {
			t.Fatalf("exp(%v) = %v", x, got)
		}
		return
	}
	if math.Abs(got-want) > 5e-16*want {
		t.Fatalf("exp(%v) = %v, want %v", x, got, want)
	}
}

func TestRangeOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	special := []float64{math.Inf(1), math.Inf(-1), math.NaN()}
	defer func(v bool) { features.Vectors = v }(features.Vectors)
	vectors := features.Vectors
	for range 5000 {
		row := make([]float64, rng.IntN(14))
		for i := range row {
			row[i] = rng.NormFloat64()
			if rng.IntN(12) == 0 {
				row[i] = special[rng.IntN(3)]
			}
		}
		features.Vectors = vectors
		lo, hi, bad := RangeOf(row)
		features.Vectors = false
		lo1, hi1, bad1 := RangeOf(row)
		if bad != bad1 || !bad && (lo != lo1 || hi != hi1) {
			t.Fatalf("%v: %v %v %v, want %v %v %v", row, lo, hi, bad, lo1, hi1, bad1)
		}
	}
}
