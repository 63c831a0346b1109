package semiring

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exact is e^-t to 200 bits, by the series of e^(-t/2^20), squared 20 times.
func exact(t float64) *big.Float {
	const prec = 260
	x := new(big.Float).SetPrec(prec).SetFloat64(-t)
	x.SetMantExp(x, -20)
	sum, term := big.NewFloat(1).SetPrec(prec), big.NewFloat(1).SetPrec(prec)
	for n := 1; n < 60; n++ {
		term.Mul(term, x)
		term.Quo(term, new(big.Float).SetPrec(prec).SetInt64(int64(n)))
		sum.Add(sum, term)
	}
	for range 20 {
		sum.Mul(sum, sum)
	}
	return sum
}

func TestExpNegative(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	if got := ExpNegative(0); got != 1 {
		t.Errorf("e^0 is %v", got)
	}
	if got := ExpNegative(math.Inf(1)); got != 0 {
		t.Errorf("e^-∞ is %v", got)
	}
	if got := ExpNegative(math.NaN()); got == got {
		t.Errorf("e^NaN is %v", got)
	}
	r := rand.New(rand.NewPCG(3, 4))
	worst := 0.0
	check := func(x float64) {
		want, _ := exact(x).Float64()
		got := ExpNegative(x)
		ulps := math.Abs(got-want) / (math.Nextafter(want, 2) - want)
		if worst = max(worst, ulps); ulps > 2 {
			t.Errorf("e^-%v is %v, %.1f ulps from %v", x, got, ulps, want)
		}
	}
	for i := range 3000 {
		check(r.Float64() * math.Ldexp(700, -(i%60)))
		check(float64(i) * 700 / 3000)
		check((float64(i) + 0.5) * math.Ln2 / 64) // where the nearest integer changes
	}
	check(math.Nextafter(708, 0))
	check(708)
	t.Logf("at most %.2f ulps from the exact power", worst)
}

func BenchmarkExpNegative(b *testing.B) {
	x := make([]float64, 1024)
	for i := range x {
		x[i] = rand.Float64() * 20
	}
	b.Run("table", func(b *testing.B) {
		s := 0.0
		for i := range b.N {
			s += ExpNegative(x[i&1023])
		}
		sinkFloat = s
	})
	b.Run("math", func(b *testing.B) {
		s := 0.0
		for i := range b.N {
			s += math.Exp(-x[i&1023])
		}
		sinkFloat = s
	})
}

var sinkFloat float64
