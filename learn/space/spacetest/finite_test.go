package spacetest

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestFiniteAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for trial := range 60 {
		s := Finite{N: 3, NonZero: trial%2 == 1}
		for _, e := range RandomFinite(rng, s, 2, 6, 0.3) {
			if trial%5 == 4 {
				e.A = nil // nothing agrees
			}
			l := Listed[*Input, int, []int]{X: e.X, A: e.A}
			for y := range e.X.Phi {
				l.Outputs, l.Agree = append(l.Outputs, y), append(l.Agree, slices.Contains(e.A, y))
			}
			Check(t, s, []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}, l, 1e-12)
		}
	}
}
