package semiring_test

import (
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/semiring"
	"github.com/tropica-fst/tropica/semiring/semiringtest"
)

// negated yields the weights of gen with either sign. 0̄ = ∞ stays.
func negated[W ~float32 | ~float64](gen func(*rand.Rand) W) func(*rand.Rand) W {
	return func(rng *rand.Rand) W {
		w := gen(rng)
		if rng.IntN(2) == 0 && w < 100 {
			return -w
		}
		return w
	}
}

type (
	tropical = semiring.Tropical
	log      = semiring.Log
	log64    = semiring.Log64
)

func TestLaws(t *testing.T) {
	t.Run("Tropical", func(t *testing.T) { semiringtest.Laws(t, negated(semiringtest.Tropical)) })
	t.Run("Tropical64", func(t *testing.T) { semiringtest.Laws(t, negated(semiringtest.Tropical64)) })
	t.Run("Log", func(t *testing.T) {
		semiringtest.Laws(t, negated(semiringtest.Log), semiringtest.Within[log](1e-5))
	})
	t.Run("Log64", func(t *testing.T) {
		semiringtest.Laws(t, negated(semiringtest.Log64), semiringtest.Within[log64](1e-12))
	})
	t.Run("Probability", func(t *testing.T) { semiringtest.Laws(t, semiringtest.Probability) })
	t.Run("Boolean", func(t *testing.T) { semiringtest.Laws(t, semiringtest.Boolean) })
	t.Run("MinMax", func(t *testing.T) { semiringtest.Laws(t, semiringtest.MinMax) })
	t.Run("StringLeft", func(t *testing.T) { semiringtest.Laws(t, semiringtest.StringLeft) })
	t.Run("StringRight", func(t *testing.T) { semiringtest.Laws(t, semiringtest.StringRight) })
	t.Run("StringRestricted", func(t *testing.T) {
		semiringtest.Laws(t, semiringtest.StringRestricted, semiringtest.Partial[semiring.StringRestricted]())
	})
	t.Run("Expectation", func(t *testing.T) { semiringtest.Laws(t, semiringtest.Expectation) })
	t.Run("ExpectationOf/Log64", func(t *testing.T) {
		semiringtest.Laws(t, semiringtest.ExpectationOf(semiringtest.Log64), semiringtest.Within[semiring.ExpectationOf[log64]](1e-12))
	})
	t.Run("ExpectationOf/Tropical", func(t *testing.T) {
		semiringtest.Laws(t, semiringtest.ExpectationOf(semiringtest.Tropical))
	})
}

func TestLawsOfProducts(t *testing.T) {
	t.Run("Tropical×Probability", func(t *testing.T) {
		semiringtest.Laws(t, semiringtest.Product(semiringtest.Tropical, semiringtest.Probability))
	})
	t.Run("MinMax×Boolean", func(t *testing.T) {
		semiringtest.Laws(t, semiringtest.Product(semiringtest.MinMax, semiringtest.Boolean))
	})
	t.Run("nested", func(t *testing.T) {
		semiringtest.Laws(t, semiringtest.Product(
			semiringtest.Product(semiringtest.Tropical, semiringtest.Tropical64),
			semiringtest.Power[tropical, [2]tropical](semiringtest.Tropical)))
	})
	t.Run("Lexicographic", func(t *testing.T) {
		semiringtest.Laws(t, semiringtest.Lexicographic(semiringtest.Tropical, semiringtest.Tropical64))
	})
	t.Run("Lexicographic/negative", func(t *testing.T) {
		semiringtest.Laws(t, semiringtest.Lexicographic(negated(semiringtest.Tropical), negated(semiringtest.Tropical)))
	})
	t.Run("Lexicographic/nested", func(t *testing.T) {
		semiringtest.Laws(t, semiringtest.Lexicographic(
			semiringtest.Lexicographic(semiringtest.Tropical, semiringtest.Tropical), semiringtest.Tropical))
	})
	t.Run("Power1", func(t *testing.T) {
		semiringtest.Laws(t, semiringtest.Power[tropical, [1]tropical](semiringtest.Tropical))
	})
	t.Run("Power3", func(t *testing.T) {
		semiringtest.Laws(t, semiringtest.Power[log64, [3]log64](semiringtest.Log64), semiringtest.Within[semiring.Power[log64, [3]log64]](1e-12))
	})
	t.Run("Power8", func(t *testing.T) {
		semiringtest.Laws(t, semiringtest.Power[semiring.Probability, [8]semiring.Probability](semiringtest.Probability))
	})
}

func TestLawsOfGallics(t *testing.T) {
	t.Run("Left", func(t *testing.T) { semiringtest.Laws(t, semiringtest.GallicLeft(semiringtest.Tropical)) })
	t.Run("Left/Log", func(t *testing.T) {
		semiringtest.Laws(t, semiringtest.GallicLeft(semiringtest.Log), semiringtest.Within[semiring.GallicLeft[log]](1e-5))
	})
	t.Run("Right", func(t *testing.T) { semiringtest.Laws(t, semiringtest.GallicRight(semiringtest.Tropical)) })
	t.Run("Restricted", func(t *testing.T) {
		semiringtest.Laws(t, semiringtest.GallicRestricted(semiringtest.Tropical), semiringtest.Partial[semiring.GallicRestricted[tropical]]())
	})
	t.Run("Min", func(t *testing.T) {
		semiringtest.Laws(t, semiringtest.GallicMin(semiringtest.Tropical), semiringtest.UpTo(func(a, b semiring.GallicMin[tropical]) bool {
			return a.Weight.Equal(b.Weight)
		}))
	})
	t.Run("Union", func(t *testing.T) { semiringtest.Laws(t, semiringtest.GallicUnion(semiringtest.Tropical)) })
	t.Run("Union/Log64", func(t *testing.T) {
		semiringtest.Laws(t, semiringtest.GallicUnion(semiringtest.Log64), semiringtest.Within[semiring.GallicUnion[log64]](1e-12))
	})
	t.Run("Union/Probability", func(t *testing.T) {
		semiringtest.Laws(t, semiringtest.GallicUnion(semiringtest.Probability))
	})
}
