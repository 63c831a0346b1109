package semiring

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestQuantizeAnywhere: whatever the number and the step, no member becomes 0̄ or no member, and nothing moves
// by more than half a step, but for rounding; where numbers have digits finer than the step, quantizing twice is
// quantizing once.
func TestQuantizeAnywhere(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 100000 {
		v := math.Ldexp(rng.Float64()*2-1, rng.IntN(260)-130)
		delta := math.Ldexp(1+rng.Float64(), rng.IntN(60)-50)
		quantizes(t, Tropical(v), delta, 1e-6)
		quantizes(t, Log64(v), delta, 1e-15)
	}
	for _, delta := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if got := Tropical(1.25).Quantize(delta); got != 1.25 {
			t.Errorf("Quantize(%v) is %v", delta, got)
		}
	}
}

func quantizes[W interface {
	~float32 | ~float64
	Quantizable[W]
}](t *testing.T, v W, delta, eps float64) {
	t.Helper()
	q := v.Quantize(delta)
	limit := W(1 << 22)
	if limit*4+1 != limit*4 {
		limit = 1 << 51
	}
	if fine := v / W(delta); -limit < fine && fine < limit && q.Quantize(delta) != q {
		t.Errorf("%v by %v is %v, and then %v", v, delta, q, q.Quantize(delta))
	}
	if v.Member() && (!q.Member() || math.Abs(float64(q-v)) > delta*(0.5+eps)+math.Abs(float64(v))*eps) {
		t.Errorf("%v by %v is %v", v, delta, q)
	}
}
