package losses

import (
	"math"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// residualDelta is how far determinization may round residuals that are costs or
// logarithms, so that those which are equal but for the order of additions are
// taken for equal. See mass for residuals that are masses, and costGrid for costs that
// are large.
const residualDelta = 0x1p-40

// costGrid is a power of two. Costs of a tropical loss are rounded to its multiples
// before anything is added up, so that sums and differences of them are exact
// whatever their order, and residuals that are equal as sums of costs equal in
// their bits.
//
// Rounding residuals alone, as they arise, does not do: what was rounded on one
// route and then added to is not what was added to and then rounded on another,
// and costs beyond 2¹² have rounding errors of 2⁻⁴⁰ themselves. For an edit distance
// with costs 10⁵ and 10⁵+0.1 over strings of 7 of 3 symbols that gave 735 states
// in place of 530, and with match -999999.7 and three other costs 1154 in place of 532.
// Nor does it lose anything on small costs: 0.1, 0.37 and 0.21 have 421 states, 442 before.
type costGrid float64

// costGridOf returns the grid for the paths of at most n arcs of u, with a cap if
// that is not nil: the least multiple by a power of two of residualDelta on which
// sums of n weights and their differences are exact.
//
// Weights so great that such a grid would round the least weight by more than
// 2⁻³¹ of itself, 5·10⁻¹⁰, are left out of account: they are there to forbid, and
// must not blur what they do not forbid. Sums with them round, and their
// residuals may stay apart, which costs states and not digits.
func costGridOf(u fst.Expanded[semiring.Tropical64], limit *float64, n int) costGrid {
	each := func(f func(x float64)) {
		look := func(w semiring.Tropical64) {
			if x := math.Abs(float64(w)); x > 0 && x <= math.MaxFloat64 {
				f(x)
			}
		}
		for q := range fst.StateID(u.NumStates()) {
			look(u.Final(q))
			for _, e := range u.Arcs(q) {
				look(e.Weight)
			}
		}
		if limit != nil {
			look(semiring.Tropical64(*limit))
		}
	}
	least := math.Inf(1)
	each(func(x float64) { least = min(least, x) })
	g := residualDelta
	each(func(x float64) {
		// A residual is a difference of two sums, hence one bit more.
		_, exponent := math.Frexp(x * float64(2*n+2))
		if need := math.Ldexp(1, exponent-53); need > g && need <= 0x1p-30*least {
			g = need
		}
	})
	return costGrid(g)
}

// round returns the nearest multiple; infinities, and numbers so great that all
// their neighbours are multiples, stay.
func (g costGrid) round(w semiring.Tropical64) semiring.Tropical64 {
	if math.Abs(float64(w)) >= 0x1p52*float64(g) || w != w {
		return w
	}
	return semiring.Tropical64(math.RoundToEven(float64(w)/float64(g)) * float64(g))
}

// machine returns u with its weights rounded: u itself where they are multiples.
func (g costGrid) machine(u fst.Expanded[semiring.Tropical64]) fst.Expanded[semiring.Tropical64] {
	for q := range fst.StateID(u.NumStates()) {
		off := g.round(u.Final(q)) != u.Final(q)
		for _, e := range u.Arcs(q) {
			off = off || g.round(e.Weight) != e.Weight
		}
		if off {
			return ops.MapInto(u, g.round)
		}
	}
	return u
}
