package semiring

import (
	"math"
	"math/rand/v2"
	"testing"
)

// However small or large two probabilities are, it is their quotient that tells whether they are near,
// and what both are rounded to.
func TestProportionalScales(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const delta = 1.0 / 1024
	for range 2000 {
		a := Probability(0.5 + rng.Float64())
		b := Probability(float64(a) * (1 + delta*(4*rng.Float64()-2)))
		near := a.Near(b, delta)
		qa, _ := a.QuantizeFactor(delta)
		for _, e := range []int{-1000, -100, -3, 0, 5, 100, 1000} {
			scale := func(p Probability) Probability { return Probability(math.Ldexp(float64(p), e)) }
			if scale(a).Near(scale(b), delta) != near {
				t.Fatalf("%v and %v: near is not %v when both are multiplied by 2^%d", a, b, near, e)
			}
			if q, _ := scale(a).QuantizeFactor(delta); q != scale(qa) {
				t.Fatalf("%v times 2^%d becomes %v, want %v", a, e, q, scale(qa))
			}
			x, y := Expectation{float64(scale(a)), 3 * float64(scale(a))}, Expectation{float64(scale(b)), 3 * float64(scale(b))}
			if x.Near(y, delta) != near {
				t.Fatalf("%v and %v: near is not %v", x, y, near)
			}
			if q, _ := x.QuantizeFactor(delta); q != (Expectation{float64(scale(qa)), 3 * float64(scale(qa))}) {
				t.Fatalf("%v becomes %v", x, q)
			}
		}
		if quotient := math.Abs(math.Log(float64(a / b))); near != (quotient <= delta) && math.Abs(quotient-delta) > delta*delta {
			t.Fatalf("%v and %v: near is %v", a, b, near)
		}
	}
}

func TestQuantizeFactor(t *testing.T) {
	for _, c := range []struct{ in, delta, want float64 }{
		{0, 1e-3, 0},
		{1, 1.0 / 3, 1},
		{0.5, 1.0 / 3, 0.5},
		{0.75, 1.0 / 1024, 0.75},
		{1.1, 0.25, 1},
		{1.2, 0.25, 1.25},
		{1.9, 0.25, 2},
		{1.99, 0.35, 2},
		{0x1.9p-900, 0.25, 0x1.8p-900},
		{0x1p-1074, 0.25, 0x1p-1074},
		{0x1.9p-1030, 0.25, 0x1.9p-1030},
		{math.MaxFloat64, 0.25, math.MaxFloat64},
		{0.3, 0, 0.3},
		{0.3, -1, 0.3},
		{0.3, math.NaN(), 0.3},
		{0.3, math.Inf(1), 0.3},
	} {
		if got, ok := Probability(c.in).QuantizeFactor(c.delta); !ok || float64(got) != c.want {
			t.Errorf("%v by factors of %v: got %v, want %v", c.in, c.delta, got, c.want)
		}
	}
	if Probability(0).Near(0x1p-1074, 1) || !Probability(0).Near(0, 0) || Probability(1e-300).Near(2e-300, 0.5) {
		t.Error("near")
	}
	for _, c := range []struct {
		a, b Expectation
		want bool
	}{
		{Expectation{1e-30, 0}, Expectation{1e-30, 1e-31}, false},     // values 0 and 0.1
		{Expectation{1e-30, 0}, Expectation{1e-30, 1e-34}, true},      // 0 and 1e-4
		{Expectation{1, 1e30}, Expectation{1, 1.0001e30}, true},       // by a factor
		{Expectation{1, 1e30}, Expectation{1, -1e30}, false},          // another sign
		{Expectation{0, 1e-30}, Expectation{0, 2e-30}, false},         // no probability
		{Expectation{0, 1e-30}, Expectation{1e-40, 1e-30}, false},     // 0 is near 0 alone
		{Expectation{1e-300, 1e20}, Expectation{1e-300, 2e20}, false}, // values beyond float64
		{Expectation{1e-300, 1e20}, Expectation{1e-300, 1e20 * 1.0001}, true},
	} {
		if got := c.a.Near(c.b, 1e-3); got != c.want || c.b.Near(c.a, 1e-3) != c.want {
			t.Errorf("%v and %v: near is %v", c.a, c.b, got)
		}
	}
}
