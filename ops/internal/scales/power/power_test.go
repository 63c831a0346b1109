// Package power tests operations over tuples of weights of any size.
package power

import (
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/ops/internal/scales"
	"github.com/tropica-fst/tropica/semiring"
)

func TestKeepsScaledRelations(t *testing.T) {
	type power = semiring.Power[semiring.Probability, [2]semiring.Probability]
	scales.Keep(t, func(rng *rand.Rand) power {
		return power{Values: [2]semiring.Probability{scales.Draw(rng), scales.Draw(rng)}}
	}, func(w power) power { return w })
}

func TestDeterminizeFactorsHasNoEnd(t *testing.T) {
	type pair = semiring.Product[semiring.Probability, semiring.Probability]
	scales.HaveNoEnd(t, func(w semiring.Probability) pair {
		if w == 0 {
			return pair{}
		}
		return pair{First: 1, Second: w * w}
	})
}
