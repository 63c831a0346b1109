package determinize

import (
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses/internal/units"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// residualDelta is how far determinization may round residuals that are logarithms of masses.
// Residuals that differ only by the order of additions then become equal. A logarithm has no unit,
// so that this bounds relative errors of masses. See quotient.go for residuals that are masses, and
// CostGrid for costs, which have a unit.
const residualDelta = 0x1p-40

// CostGrid rounds costs of a tropical loss to multiples of step before anything is added
// up. Sums and differences of multiples are exact whatever their order, so that residuals
// which are equal as sums of costs are equal in their bits.
//
// Rounding residuals as they arise does not suffice: to round and then add is not to add and then
// round. Costs beyond 2¹² also have rounding errors of 2⁻⁴⁰ themselves. Over strings of 7 of 3
// symbols, costs of 10⁵ and 10⁵+0.1 gave 735 states in place of 530. A match of -999999.7 with
// three other costs gave 1154 in place of 532.
//
// Nothing in it is absolute: costs s times as large have a step s times as large, up to
// the rounding of s itself.
type CostGrid struct {
	// unit is what weights are multiples of, up to rounding. step stands for it: it is the same,
	// except for a unit whose multiples would not be exact.
	unit, Step float64
	// top is the greatest weight that counts.
	Top float64
	// moves is how far a weight may be from its multiple: 0, but for rounding, where the unit
	// is one that all weights have in common.
	moves float64
}

// CostGridOf returns the grid for the paths of at most n arcs of u, with a cap if
// that is not nil.
//
// Where the weights are small multiples of a unit that decimals and rationals have in common, that
// is the unit: 0.1+0.2 and 0.3 are then equal. Else the unit is a power of two, at most 2⁻³⁰ of the
// least weight. Rounding then changes no weight by more than 2⁻³¹ of itself, 5·10⁻¹⁰.
//
// Weights so great that their sums would not be exact on such a grid do not count. They are there
// to forbid, and must not blur what they do not forbid. Sums with them round, and their residuals
// may stay apart, which costs states and not digits.
func CostGridOf(u fst.Expanded[semiring.Tropical64], limit *float64, n int) CostGrid {
	var seen units.Index
	see := func(w semiring.Tropical64) {
		if x := math.Abs(float64(w)); x > 0 && x <= math.MaxFloat64 {
			seen.Add(x)
		}
	}
	for q := range fst.StateID(u.NumStates()) {
		see(u.Final(q))
		for _, e := range u.Arcs(q) {
			see(e.Weight)
		}
	}
	if limit != nil {
		see(semiring.Tropical64(*limit))
	}
	if len(seen.Costs) == 0 {
		return CostGrid{unit: 1, Step: 1}
	}
	// A residual is a difference of two sums.
	terms := float64(2*n + 2)
	if unit, multiples, ok := units.Grid(seen.Costs); ok {
		_, bits := math.Frexp(float64(slices.Max(multiples)) * terms)
		if bits <= 12 {
			return CostGrid{unit: unit, Step: leading(unit, 53-bits), Top: slices.Max(seen.Costs)}
		}
	}
	finest := 0x1p-30 * slices.Min(seen.Costs)
	g, top := 0.0, 0.0
	for _, x := range seen.Costs {
		_, exponent := math.Frexp(x * terms) // infinite at worst, which no grid has room for
		if need := math.Ldexp(1, exponent-53); need <= finest && !math.IsInf(x*terms, 1) {
			g, top = max(g, need), max(top, x)
		}
	}
	// As coarse as digits allow: weights that differ by rounding in the 40th bit are equal.
	_, exponent := math.Frexp(min(finest, 0x1p-40*top))
	g = max(g, math.Ldexp(1, exponent-1), math.SmallestNonzeroFloat64)
	return CostGrid{unit: g, Step: g, Top: top, moves: g}
}

// leading returns x rounded to so many bits.
func leading(x float64, bits int) float64 {
	m, e := math.Frexp(x)
	return math.Ldexp(math.RoundToEven(math.Ldexp(m, bits)), e-bits)
}

// Round returns the nearest multiple; infinities, and numbers so great that all
// their neighbours are multiples, stay.
func (g CostGrid) Round(w semiring.Tropical64) semiring.Tropical64 {
	x := float64(w) / g.unit
	if !(math.Abs(x) < 0x1p52) {
		return w
	}
	return semiring.Tropical64(math.RoundToEven(x) * g.Step)
}

// Cancels reports whether u has negative weights too large for the grid. What is added to them
// loses digits that another sum may bring back, so that sums in two orders differ by more than
// rounding.
func (g CostGrid) Cancels(u fst.Expanded[semiring.Tropical64]) bool {
	low := 0.0
	for q := range fst.StateID(u.NumStates()) {
		low = min(low, float64(u.Final(q)))
		for _, e := range u.Arcs(q) {
			low = min(low, float64(e.Weight))
		}
	}
	return low < -g.Top
}

// Noise bounds what rounding does to a sum of n weights.
func (g CostGrid) Noise(n int) float64 {
	return float64(n) * max(g.moves, 0x1p-40*g.Top)
}

// Machine returns u with its weights rounded: u itself where they are multiples.
func (g CostGrid) Machine(u fst.Expanded[semiring.Tropical64]) fst.Expanded[semiring.Tropical64] {
	for q := range fst.StateID(u.NumStates()) {
		off := g.Round(u.Final(q)) != u.Final(q)
		for _, e := range u.Arcs(q) {
			off = off || g.Round(e.Weight) != e.Weight
		}
		if off {
			return ops.MapInto(u, g.Round)
		}
	}
	return u
}
