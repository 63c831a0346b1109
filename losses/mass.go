package losses

import (
	"math"

	"github.com/tropica-fst/tropica/semiring"
)

// mass is semiring.Probability with quotients rounded to 40 bits. Determinization
// keys its subsets by quotients, and quotients that are equal in the reals differ
// in their last bits when they were come by in different orders; a subset for
// each rounding would be kept. Rounding is relative to each quotient: residuals
// may differ by any factor, and a string's small mass matters where it is all
// that the string has.
type mass float64

// massBits is the precision of a quotient: an error of 2⁻⁴¹ a step, 10⁻¹¹ of the
// sum after twenty, far above the rounding of float64 and far below any use.
const massBits = 40

func (a mass) Plus(b mass) mass  { return a + b }
func (a mass) Times(b mass) mass { return mass(semiring.Probability(a).Times(semiring.Probability(b))) }
func (mass) Zero() mass          { return 0 }
func (mass) One() mass           { return 1 }
func (a mass) Equal(b mass) bool { return a == b }
func (a mass) Member() bool      { return semiring.Probability(a).Member() }
func (mass) Commutes()           {}
func (a mass) Reverse() mass     { return a }

func (a mass) AppendKey(dst []byte) []byte { return semiring.Probability(a).AppendKey(dst) }

// DivideLeft is c/a, rounded.
func (a mass) DivideLeft(c mass) mass {
	const half = 1 << (52 - massBits)
	bits := math.Float64bits(float64(c / a))
	return mass(math.Float64frombits((bits + half/2) &^ (half - 1)))
}

func (a mass) Near(b mass, delta float64) bool {
	return semiring.Probability(a).Near(semiring.Probability(b), delta)
}

func (a mass) Star() (mass, bool) {
	s, ok := semiring.Probability(a).Star()
	return mass(s), ok
}

// Claimed here, so that losing one fails the build.
var (
	_ algebra[mass]       = mass(0)
	_ semiring.Star[mass] = mass(0)
)
