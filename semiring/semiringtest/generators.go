package semiringtest

import (
	"math"
	"math/rand/v2"

	"github.com/tropica-fst/tropica/semiring"
)

// Generator yields random members of W.
type Generator[W any] = func(*rand.Rand) W

var negativeZero = math.Copysign(0, -1)

// eighths yields 0, -0, 1/8, ..., n/8.
func eighths(rng *rand.Rand, n int) float64 {
	if rng.IntN(12) == 0 {
		return negativeZero
	}
	return float64(rng.IntN(n+1)) / 8
}

// cost yields the weights of the semirings with (∞, 0) as (0̄, 1̄).
func cost(rng *rand.Rand) float64 {
	switch rng.IntN(8) {
	case 0:
		return math.Inf(1)
	case 1:
		return 0
	}
	return eighths(rng, 32)
}

// Tropical yields ∞, 0, -0 and eighths up to 4.
func Tropical(rng *rand.Rand) semiring.Tropical { return semiring.Tropical(cost(rng)) }

// Tropical64 yields what Tropical does.
func Tropical64(rng *rand.Rand) semiring.Tropical64 { return semiring.Tropical64(cost(rng)) }

// Log yields what Tropical does. Its laws hold within 1e-5.
func Log(rng *rand.Rand) semiring.Log { return semiring.Log(cost(rng)) }

// Log64 yields what Tropical does. Its laws hold within 1e-12.
func Log64(rng *rand.Rand) semiring.Log64 { return semiring.Log64(cost(rng)) }

// Probability yields eighths from 0 to 1, and -0.
func Probability(rng *rand.Rand) semiring.Probability {
	switch rng.IntN(8) {
	case 0:
		return 0
	case 1:
		return 1
	}
	return semiring.Probability(eighths(rng, 8))
}

// Boolean yields both truth values.
func Boolean(rng *rand.Rand) semiring.Boolean { return rng.IntN(2) == 0 }

// MinMax yields ∞, -∞, -0 and eighths from -2 to 2.
func MinMax(rng *rand.Rand) semiring.MinMax {
	switch rng.IntN(8) {
	case 0:
		return semiring.MinMax(math.Inf(1))
	case 1:
		return semiring.MinMax(math.Inf(-1))
	}
	v := eighths(rng, 16)
	if rng.IntN(2) == 0 {
		v = -v
	}
	return semiring.MinMax(v)
}

// text yields up to max labels from 1 to 3.
func text(rng *rand.Rand, max int) []int32 {
	ls := make([]int32, rng.IntN(max+1))
	for i := range ls {
		ls[i] = 1 + rng.Int32N(3)
	}
	return ls
}

// StringLeft yields ∞ and up to four labels from 1 to 3.
func StringLeft(rng *rand.Rand) semiring.StringLeft {
	if rng.IntN(8) == 0 {
		return semiring.Zero[semiring.StringLeft]()
	}
	return semiring.NewStringLeft(text(rng, 4)...)
}

// StringRight yields what StringLeft does.
func StringRight(rng *rand.Rand) semiring.StringRight { return StringLeft(rng).Reverse() }

// StringRestricted yields ∞ and at most one label from 1 to 3, so that often
// two are equal and their sum exists. Its laws are Partial.
func StringRestricted(rng *rand.Rand) semiring.StringRestricted {
	if rng.IntN(6) == 0 {
		return semiring.Zero[semiring.StringRestricted]()
	}
	return semiring.NewStringRestricted(text(rng, 1)...)
}

// Product yields pairs of what a and b yield.
func Product[A semiring.Component[A], B semiring.Component[B]](a Generator[A], b Generator[B]) Generator[semiring.Product[A, B]] {
	return func(rng *rand.Rand) semiring.Product[A, B] {
		if rng.IntN(8) == 0 {
			return semiring.Zero[semiring.Product[A, B]]()
		}
		return semiring.Product[A, B]{First: a(rng), Second: b(rng)}
	}
}

// Lexicographic yields pairs of what a and b yield, with 0̄ in both or neither.
func Lexicographic[A semiring.PathComponent[A], B semiring.PathComponent[B]](a Generator[A], b Generator[B]) Generator[semiring.Lexicographic[A, B]] {
	return func(rng *rand.Rand) semiring.Lexicographic[A, B] {
		w := semiring.Lexicographic[A, B]{First: a(rng), Second: b(rng)}
		if !w.Member() {
			return w.Zero()
		}
		return w
	}
}

// Power yields arrays of what g yields.
func Power[W semiring.Component[W], V semiring.Array[W]](g Generator[W]) Generator[semiring.Power[W, V]] {
	return func(rng *rand.Rand) (w semiring.Power[W, V]) {
		if rng.IntN(8) == 0 {
			return w.Zero()
		}
		for i := range len(w.Values) {
			w.Values[i] = g(rng)
		}
		return w
	}
}

// Expectation yields what Probability does with values in eighths from -1 to 1.
func Expectation(rng *rand.Rand) semiring.Expectation {
	if rng.IntN(8) == 0 {
		return semiring.Expectation{}
	}
	r := eighths(rng, 8)
	if rng.IntN(2) == 0 {
		r = -r
	}
	return semiring.Expectation{P: float64(Probability(rng)), R: r}
}

// ExpectationOf yields pairs of what g yields.
func ExpectationOf[W semiring.Component[W]](g Generator[W]) Generator[semiring.ExpectationOf[W]] {
	return func(rng *rand.Rand) semiring.ExpectationOf[W] {
		return semiring.ExpectationOf[W]{P: g(rng), R: g(rng)}
	}
}

// GallicLeft yields pairs of what StringLeft and g yield.
func GallicLeft[W semiring.Component[W]](g Generator[W]) Generator[semiring.GallicLeft[W]] {
	return func(rng *rand.Rand) semiring.GallicLeft[W] {
		return semiring.GallicLeft[W]{String: StringLeft(rng), Weight: g(rng)}
	}
}

// GallicRight yields pairs of what StringRight and g yield.
func GallicRight[W semiring.Component[W]](g Generator[W]) Generator[semiring.GallicRight[W]] {
	return func(rng *rand.Rand) semiring.GallicRight[W] {
		return semiring.GallicRight[W]{String: StringRight(rng), Weight: g(rng)}
	}
}

// GallicRestricted yields pairs of what StringRestricted and g yield. Its laws
// are Partial.
func GallicRestricted[W semiring.Component[W]](g Generator[W]) Generator[semiring.GallicRestricted[W]] {
	return func(rng *rand.Rand) semiring.GallicRestricted[W] {
		return semiring.GallicRestricted[W]{String: StringRestricted(rng), Weight: g(rng)}
	}
}

// GallicMin yields 0̄ and pairs of strings with what g yields but 0̄. Its sums
// commute up to ties.
func GallicMin[W semiring.PathComponent[W]](g Generator[W]) Generator[semiring.GallicMin[W]] {
	return func(rng *rand.Rand) semiring.GallicMin[W] {
		w := semiring.GallicMin[W]{String: semiring.NewStringRestricted(text(rng, 3)...), Weight: g(rng)}
		if semiring.IsZero(w.Weight) {
			return w.Zero()
		}
		return w
	}
}

// GallicUnion yields sets of up to three strings.
func GallicUnion[W semiring.Component[W]](g Generator[W]) Generator[semiring.GallicUnion[W]] {
	return func(rng *rand.Rand) semiring.GallicUnion[W] {
		set := make([]semiring.GallicRestricted[W], rng.IntN(4))
		for i := range set {
			set[i] = semiring.GallicRestricted[W]{String: semiring.NewStringRestricted(text(rng, 2)...), Weight: g(rng)}
		}
		return semiring.NewGallicUnion(set...)
	}
}
