// Package product tests operations over products of weights of any size.
package product

import (
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/ops/internal/scales"
	"github.com/tropica-fst/tropica/semiring"
)

func TestKeepsScaledRelations(t *testing.T) {
	type pair = semiring.Product[semiring.Probability, semiring.Tropical]
	scales.Keep(t, func(rng *rand.Rand) pair {
		return pair{First: scales.Draw(rng), Second: semiring.Tropical(rng.IntN(13)) / 4}
	}, func(w pair) pair { return w })
}
