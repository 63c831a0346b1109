package determinize

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/semiring"
)

// Quotients for rational losses
//
// Where weights are masses that are added up, the loss of what comes after a subset of pairs (q, r)
// is -log of
//
//	Σ over (q, r) of r d_q(w),
//
// d_q(w) being the mass of the paths that read w from q to an end of the acceptor.
//
// There is no clamp. Every term of the sum is positive, so a pair can be left out only where others
// take over its mass. d_q must then be a linear combination of other d's on all strings that
// follow. Costs may differ and the least still wins; masses that differ by however little give
// another sum. So the least number of states is that of the functions w ↦ Σ r d_q(w) that prefixes
// leave, up to a factor (Myhill and Nerode). All that can be done is to find out which subsets are
// the same function.
//
// Quotient. Let q ~ q' where d_q = k d_q' for a factor k > 0, and s(q) one state of each class. In
// place of (q, r) a subset then has (s(q), r k). Arcs of the acceptor are led to s(q), with weights
// multiplied by k, from the end backwards. That is the minimization of the weighted acceptor, when
// read from behind a layer at a time. After arcs were led so, it suffices for ~ that both states
// have the same arcs and the same final weight up to one factor.
//
// Theorem. This changes no sum, and there are no more subsets than without it.
//
// Proof. By induction from the end, d_q(a w) = Σ over arcs (q, a, c, p) of c d_p(w) = Σ of c k_p
// d_s(p)(w). Arcs to one state may be added up. If q' has the same sums but for k, d_q = k d_q'. So
// each term of a subset's sum stays what it was. The subset with (s(q), r k) is a linear function
// of that with (q, r). Subsets that were equal up to a factor therefore still are. ∎
//
// What it does not find are states with d_q = Σ k_i d_i for several i. Those are rare: states of a
// layer are positions of the reference, whose d's are independent as soon as enough symbols follow.
// TestQuotientLikeLeast counts, modulo a prime, the functions that there are;
// testdata/bench/NOTES.md has the figures. To use them for masses would take negative coefficients,
// with which small masses are lost in the differences of great ones.
//
// In a loss that counts n-grams, all states behind an n-gram that was found are one. So are all
// states within n-grams that need the same symbols to end. A subset is then the count so far, and
// the symbols that may end what the last ones began. These are the columns of the direct machine.
//
// Exactness. Masses that are integers stay so, and are divided by their greatest common divisor.
// Others are divided by the greatest and rounded. Quotients that are equal in the reals differ in
// their last bits, by the order of operations, and each would make a subset. Rounding is relative,
// as a string's small mass matters where it is all that the string has.

// massBits is the precision of a quotient. The error is 2⁻⁴¹ a position, 10⁻¹¹ of the sum after
// twenty: far above the rounding of float64, and harmless.
const massBits = 40

// roundMass rounds a positive mass to massBits.
func roundMass(w float64) float64 {
	const unit = 1 << (52 - massBits)
	return math.Float64frombits((math.Float64bits(w) + unit/2) &^ (unit - 1))
}

// ErrMassRange reports masses that float64 holds with too few digits: their logarithms are needed.
var ErrMassRange = errors.New("losses: masses out of range")

// massRange is how far from 1 a mass may be for two to be multiplied or divided.
const massRange = 0x1p500

func inRange(w float64) bool { return w >= 1/massRange && w <= massRange }

// Masses is the algebra of masses.
type Masses struct{}

func (Masses) zero() float64             { return 0 }
func (Masses) one() float64              { return 1 }
func (Masses) loss(w float64) float64    { return -math.Log(w) }
func (Masses) plus(a, b float64) float64 { return a + b }

func (Masses) by(e, same layerArc) layerArc { return layerArc{same.To, e.Weight * same.Weight} }

func (m Masses) join(_ *layerClass, arcs []layerArc) []layerArc { return addArcs(arcs, m.plus) }

func (Masses) gather(subset []layerArc, g *layerGroup, sums []float64) (lo, hi int32) {
	lo, hi = math.MaxInt32, -1
	for _, x := range subset {
		for _, e := range g.of(int(x.To)) {
			lo, hi = min(lo, e.To), max(hi, e.To)
			sums[e.To] += x.Weight * e.Weight
		}
	}
	return lo, hi
}

func (Masses) end(subset []layerArc, final []float64) float64 {
	sum := 0.0
	for _, x := range subset {
		sum += x.Weight * final[x.To]
	}
	return sum
}

func (m Masses) reduce(_ *layerClass, pairs []layerArc) ([]layerArc, float64, error) {
	d, err := m.divide(pairs)
	return pairs, d, err
}

// divide divides by the greatest common divisor where all weights are integers, and else by the
// greatest. Results are in range.
func (Masses) divide(pairs []layerArc) (divisor float64, err error) {
	const exact = 1 << 53
	whole := uint64(0)
	for _, x := range pairs {
		if !(x.Weight <= exact && x.Weight == math.Trunc(x.Weight)) {
			whole = 0
			break
		}
		if whole != 1 {
			whole = commonDivisor(whole, uint64(x.Weight))
		}
	}
	if whole == 1 {
		return 1, nil
	}
	d := float64(whole)
	if whole == 0 {
		for _, x := range pairs {
			d = max(d, x.Weight)
		}
	}
	if !inRange(d) {
		return 0, ErrMassRange
	}
	for i := range pairs {
		w := &pairs[i].Weight
		*w = roundMass(*w / d)
		if !inRange(*w) {
			return 0, ErrMassRange
		}
	}
	return d, nil
}

func commonDivisor(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (m Masses) learn(a *layeredAcceptor, r int, stop func() error) (int64, error) {
	c := &a.Classes[r]
	for i := range c.groups {
		for _, e := range c.groups[i].arcs {
			if !inRange(e.Weight) {
				return 0, ErrMassRange
			}
		}
	}
	for _, w := range c.final {
		if w != 0 && !inRange(w) {
			return 0, ErrMassRange
		}
	}
	ratio := func(a, b float64) (float64, bool) { return a / b, inRange(a / b) }
	return c.quotient(m.zero(), m.one(), m.divide, ratio, stop)
}

// LogMasses is the algebra of negated logarithms of masses.
type LogMasses struct{}

func (LogMasses) zero() float64          { return math.Inf(1) }
func (LogMasses) one() float64           { return 0 }
func (LogMasses) loss(w float64) float64 { return w }
func (LogMasses) plus(a, b float64) float64 {
	return float64(semiring.Log64(a).Plus(semiring.Log64(b)))
}

func (LogMasses) by(e, same layerArc) layerArc { return layerArc{same.To, e.Weight + same.Weight} }

func (m LogMasses) join(_ *layerClass, arcs []layerArc) []layerArc { return addArcs(arcs, m.plus) }

func (m LogMasses) gather(subset []layerArc, g *layerGroup, sums []float64) (lo, hi int32) {
	lo, hi = math.MaxInt32, -1
	for _, x := range subset {
		for _, e := range g.of(int(x.To)) {
			lo, hi = min(lo, e.To), max(hi, e.To)
			sums[e.To] = m.plus(sums[e.To], x.Weight+e.Weight)
		}
	}
	return lo, hi
}

func (m LogMasses) end(subset []layerArc, final []float64) float64 {
	sum := m.zero()
	for _, x := range subset {
		sum = m.plus(sum, x.Weight+final[x.To])
	}
	return sum
}

func (m LogMasses) reduce(_ *layerClass, pairs []layerArc) ([]layerArc, float64, error) {
	d, err := m.divide(pairs)
	return pairs, d, err
}

// divide divides by the greatest mass, and rounds to multiples of residualDelta.
func (m LogMasses) divide(pairs []layerArc) (divisor float64, err error) {
	d := m.zero()
	for _, x := range pairs {
		d = min(d, x.Weight)
	}
	for i := range pairs {
		pairs[i].Weight = float64(semiring.Log64(pairs[i].Weight - d).Quantize(residualDelta))
	}
	return d, nil
}

func (m LogMasses) learn(a *layeredAcceptor, r int, stop func() error) (int64, error) {
	ratio := func(a, b float64) (float64, bool) { return a - b, true }
	return a.Classes[r].quotient(m.zero(), m.one(), m.divide, ratio, stop)
}

// addArcs orders arcs by target, and adds up those to one.
func addArcs(arcs []layerArc, plus func(a, b float64) float64) []layerArc {
	slices.SortStableFunc(arcs, func(x, y layerArc) int { return cmp.Compare(x.To, y.To) })
	n := 0
	for _, e := range arcs {
		if n > 0 && arcs[n-1].To == e.To {
			arcs[n-1].Weight = plus(arcs[n-1].Weight, e.Weight)
			continue
		}
		arcs[n] = e
		n++
	}
	return arcs[:n]
}

// quotient finds states of c whose arcs and final weights are the same up to a factor. Of each such
// set the first state stands for all.
func (c *layerClass) quotient(zero, one float64,
	divide func([]layerArc) (float64, error), ratio func(a, b float64) (float64,
		bool), stop func() error) (int64, error) {
	k := len(c.States)
	if k < 2 {
		return 0, nil
	}
	c.same = make([]layerArc, k)
	divisors := make([]float64, k)
	known := map[string]int32{}
	var key []byte
	var weights []layerArc // numbered by group, which divide does not look at
	for i := range k {
		if i&255 == 0 {
			if err := stop(); err != nil {
				return 0, err
			}
		}
		c.same[i] = layerArc{int32(i), one}
		key, weights = key[:0], weights[:0]
		if c.final[i] != zero {
			weights = append(weights, layerArc{-1, c.final[i]})
		}
		for x := range c.groups {
			for _, e := range c.groups[x].of(i) {
				key = binary.LittleEndian.AppendUint32(key, uint32(e.To))
				weights = append(weights, layerArc{int32(x), e.Weight})
			}
		}
		if len(weights) == 0 {
			continue // no string follows
		}
		d, err := divide(weights)
		if err != nil {
			continue // too far apart to compare
		}
		divisors[i] = d
		for _, w := range weights {
			key = binary.LittleEndian.AppendUint32(key, uint32(w.To))
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(w.Weight+0))
		}
		j, ok := known[string(key)]
		if !ok {
			known[string(key)] = int32(i)
			continue
		}
		if factor, ok := ratio(d, divisors[j]); ok {
			c.same[i] = layerArc{j, factor}
		}
	}
	c.restrict()
	return 16 * int64(k), nil
}

// restrict drops the arcs of states for which others stand: no arc leads there any more. Labels
// that differed in these alone become one group.
func (c *layerClass) restrict() {
	others := false
	for i, s := range c.same {
		others = others || int(s.To) != i
	}
	if !others {
		return
	}
	known := map[string]int32{}
	renumbered := make([]int32, len(c.groups))
	var key []byte
	groups := c.groups[:0]
	for x, g := range c.groups {
		n, begin := int32(0), int32(0)
		for i := range c.States {
			end := g.ends[i+1]
			if int(c.same[i].To) == i {
				n += int32(copy(g.arcs[n:], g.arcs[begin:end]))
			}
			g.ends[i+1], begin = n, end
		}
		g.arcs = g.arcs[:n]
		key = g.appendKey(key[:0])
		id, ok := known[string(key)]
		if !ok {
			id = int32(len(groups))
			known[string(key)] = id
			groups = append(groups, g)
		}
		renumbered[x] = id
	}
	clear(c.groups[len(groups):])
	c.groups = groups
	for i := range c.labels {
		c.labels[i].group = renumbered[c.labels[i].group]
	}
}
