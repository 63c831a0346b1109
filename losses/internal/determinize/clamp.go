package determinize

import (
	"cmp"
	"math"
	"slices"
)

// Clamping for every tropical transducer
//
// The general path ends in an acceptor A of strings, acyclic and without ε, in which a string has a
// path for every alignment. Determinization follows all paths of a string at once. Its states are
// subsets of pairs (q, r). q is a state of A, and r the cost of the best path to q beyond the best
// path to the subset. Let d_q(w) be the least cost of reading w from q to an end of A, +Inf where
// there is none. The loss of what comes after a subset is
//
//	min over (q, r) of r + d_q(w).
//
// For states q and q' let, with ρ the final weights and +Inf where an inner minimum has no arc,
//
//	D(q, q') = max( ρ(q') - ρ(q),  max over arcs (q, a, c, p) of min over arcs (q', a, c', p') of c' - c + D(p, p') )
//
// where the first term counts if q is final, and an empty maximum is -Inf.
//
// Theorem. d_q'(w) - d_q(w) ≤ D(q, q') for every w that can be read from q.
//
// Proof, by the length of w. For the empty w it is the first term. Let the best path of q for w = a
// w' begin with the arc (q, a, c, p), so that d_q(w) = c + d_p(w'). For every arc (q', a, c', p'),
// d_q'(w) ≤ c' + d_p'(w'). So d_q'(w) - d_q(w) ≤ min over p' of c' - c + d_p'(w') - d_p(w'), and
// that is at most min over p' of c' - c + D(p, p'), a term of the maximum. ∎
//
// Clamp. Where a subset has (q, r) and (q', r') with r' + D(q, q') ≤ r, for every w
// r' + d_q'(w) ≤ r' + D(q, q') + d_q(w) ≤ r + d_q(w): (q, r) never gives the minimum alone, and is
// dropped. Pairs are dropped one at a time, each against one that is still there, so the minimum
// is the same after each. Subsets that differ in dropped pairs alone become one state.
//
// Equivalent states. Where D(q, q') = -D(q', q), d_q' - d_q is D(q, q') for all w: the states
// differ by a constant. An arc to one of them then leads to the cheapest of them, and its cost
// takes the constant.
//
// D satisfies the triangle inequality, by the same induction: take the best p' for p, then the best
// p″ for p'. So domination is transitive. Two pairs dominate each other only if their states are
// equivalent, and of those there is one. So a subset is the same as when it is clamped once, at its
// end. There are no more states than without a clamp. Off a grid, where that cost is not exact, the
// arc stays, and so may some states.
//
// The same clamps arcs. Where (q, a, c, p) and (q, a, c', p') have c' + D(p, p') ≤ c, the first is
// left out of A: d_q stays. Of an edit loss, whose ε-removal leads from a position to all later
// ones, that leaves two or three arcs a label.
//
// Rounding. addUp rounds towards +Inf what is not exact. D is therefore a bound where costs have no
// common grid, too; on a grid nothing rounds.
//
// Only pairs that one string leads to are in one subset. States that one string leads to together
// form a class. D is a matrix for each class, made from the end backwards. A class of k states
// takes O(k² arcs²), with so many arcs a label. A class that one string alone leads to has one
// subset, and no matrix. Where matrices would take more than a share of the budget, the others are
// left out: D(q, q') = +Inf is always right.
//
// The clamp of align.Columns is this with the worst and the best of d_q' and d_q apart, in place of
// their greatest difference.

// addUp returns a+b, rounded towards +Inf where it is not exact.
func addUp(a, b float64) float64 {
	s := a + b
	v := s - a
	if e := (a - (s - v)) + (b - v); e > 0 { // Knuth's TwoSum; NaN where s is infinite
		return math.Nextafter(s, math.Inf(1))
	}
	if math.IsInf(s, -1) && !math.IsInf(a, -1) && !math.IsInf(b, -1) {
		return -math.MaxFloat64
	}
	return s
}

// clampedCosts is the algebra of costs.
type clampedCosts struct {
	matrices int64 // bytes that the matrices may still take
}

// NewClampedCosts returns the algebra of costs, whose matrices may take so many bytes.
func NewClampedCosts(matrices int64) *clampedCosts { return &clampedCosts{matrices} }

func (*clampedCosts) zero() float64          { return math.Inf(1) }
func (*clampedCosts) one() float64           { return 0 }
func (*clampedCosts) loss(w float64) float64 { return w }

// by is exact or does not happen.
func (*clampedCosts) by(e, same layerArc) layerArc {
	if up, down := addUp(e.Weight, same.Weight), -addUp(-e.Weight, -same.Weight); up == down {
		return layerArc{same.To, up}
	}
	return e
}

// join keeps the arcs that no other of them dominates.
func (*clampedCosts) join(c *layerClass, arcs []layerArc) []layerArc {
	slices.SortFunc(arcs, func(x, y layerArc) int {
		return cmp.Or(cmp.Compare(x.To, y.To),
			cmp.Compare(x.Weight, y.Weight))
	})
	arcs = slices.CompactFunc(arcs, func(x, y layerArc) bool { return x.To == y.To }) // keeps the cheaper
	return c.clamp(arcs)
}

func (*clampedCosts) gather(subset []layerArc, g *layerGroup, sums []float64) (lo, hi int32) {
	lo, hi = math.MaxInt32, -1
	for _, x := range subset {
		for _, e := range g.of(int(x.To)) {
			lo, hi = min(lo, e.To), max(hi, e.To)
			sums[e.To] = min(sums[e.To], x.Weight+e.Weight)
		}
	}
	return lo, hi
}

func (*clampedCosts) reduce(c *layerClass, pairs []layerArc) ([]layerArc, float64, error) {
	pairs = c.clamp(pairs)
	least := math.Inf(1)
	for _, x := range pairs {
		least = min(least, x.Weight)
	}
	for j := range pairs {
		pairs[j].Weight -= least
	}
	return pairs, least, nil
}

func (*clampedCosts) end(subset []layerArc, final []float64) float64 {
	least := math.Inf(1)
	for _, x := range subset {
		least = min(least, x.Weight+final[x.To])
	}
	return least
}

// learn fills the matrix of class r, and finds its equivalent states, where more than one
// string leads to it and there is room.
func (costs *clampedCosts) learn(a *layeredAcceptor, r int, stop func() error) (int64, error) {
	c := &a.Classes[r]
	k := int64(len(c.States))
	if !c.several || k == 1 || 8*k*k > costs.matrices {
		return 0, nil
	}
	costs.matrices -= 8 * k * k
	return 8*k*k + 16*k, a.bound(r, stop)
}

// clamp drops from pairs of states and residuals, by increasing state, those that others dominate.
func (c *layerClass) clamp(pairs []layerArc) []layerArc {
	k := len(c.States)
	if c.D == nil || len(pairs) < 2 {
		return pairs
	}
	// From the last down, so that of equals the first stays. A pair is dropped against any that is
	// there.
	for i := len(pairs) - 1; i >= 0; i-- {
		x := pairs[i]
		row := c.D[int(x.To)*k : int(x.To)*k+k]
		for j, y := range pairs {
			if j == i {
				continue
			}
			// Exact sums are the rule; addUp is for those near enough to matter.
			if d := row[y.To]; y.Weight+d <= x.Weight && addUp(y.Weight, d) <= x.Weight {
				pairs = append(pairs[:i], pairs[i+1:]...)
				break
			}
		}
	}
	return pairs
}

// bound fills the matrix of class r, those of later classes being known.
func (a *layeredAcceptor) bound(r int, stop func() error) error {
	c := &a.Classes[r]
	k := len(c.States)
	d := make([]float64, k*k)
	final := c.final
	for i := range k {
		if err := stop(); err != nil {
			return err
		}
		row := d[i*k : i*k+k]
		for j := range row {
			switch {
			case math.IsInf(final[i], 1):
				row[j] = math.Inf(-1)
			default:
				row[j] = addUp(final[j], -final[i]) // +Inf where j is not final
			}
		}
		for x := range c.groups {
			g := &c.groups[x]
			own := g.of(i)
			if len(own) == 0 {
				continue
			}
			next := &a.Classes[g.next]
			n := len(next.States)
			for j := range row {
				if j == i || row[j] > math.MaxFloat64 {
					continue
				}
				others := g.of(j)
				most := row[j]
				for _, e := range own {
					least := math.Inf(1)
					for _, o := range others {
						b := math.Inf(1)
						switch {
						case next.D != nil:
							b = next.D[int(e.To)*n+int(o.To)]
						case e.To == o.To:
							b = 0
						}
						least = min(least, addUp(addUp(o.Weight, -e.Weight), b))
					}
					most = max(most, least)
				}
				row[j] = most
			}
		}
		row[i] = 0
	}
	c.D = d
	c.same = make([]layerArc, k)
	for i := range c.same {
		c.same[i] = layerArc{int32(i), 0}
		for j := range k {
			// d_i = d_j + D(j, i). Of the cheapest the first, so that costs grow: nothing cancels
			// later.
			if x := d[j*k+i]; x == -d[i*k+j] && !math.IsInf(x, 0) &&
				(x > c.same[i].Weight || x == c.same[i].Weight && j < int(c.same[i].To)) {
				c.same[i] = layerArc{int32(j), x}
			}
		}
	}
	return nil
}
