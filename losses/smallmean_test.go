package losses

import (
	"math"
	"math/rand/v2"
	"testing"
)

// An expected loss far below the costs it is made of keeps its places: at γ = -20 nearly all of the
// augmented distribution is on the reference, whose loss is 0.
func TestSmallExpectedLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	const alphabet, l = 3, 6
	ref, p := randomRef(rng, l, alphabet), publishedPotentials(1, alphabet, l, 2)
	m, err := Unit.Machine(ref, alphabet, l)
	if err != nil {
		t.Fatal(err)
	}
	var got, want Result
	for _, gamma := range []float64{-20, -25} {
		if err := new(Evaluator).Eval(m, p, gamma, WantExpected, &got); err != nil {
			t.Fatal(err)
		}
		if err := Naive(func(u []int) float64 { return Unit.Value(u, ref) }, p, gamma, WantExpected, nil,
			&want); err != nil {
			t.Fatal(err)
		}
		if want.Expected > 1e-5 || math.Abs(got.Expected-want.Expected) > 1e-12*want.Expected {
			t.Errorf("γ %v: E[L] %v, by enumeration %v", gamma, got.Expected, want.Expected)
		}
	}
}
