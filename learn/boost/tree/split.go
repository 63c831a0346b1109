package tree

import (
	"math"
	"slices"
)

// best is the best split of a node that has been found so far.
type best struct {
	gain        float64 // score of both children less the node's; 0 when there is none
	score       float64 // of both children, in the node's own units
	column      int32
	code, next  uint8 // numeric: the last code that goes left, and the first that goes right and has rows
	missingLeft bool
	categorical bool
	set         [4]uint64 // categorical: codes that go left
	left        Cell      // sums of the left child
	threshold   float64   // exact grower: the bound itself
}

func (b *best) found() bool { return b.gain > 0 }

// gains scores the splits of one node.
type gains struct {
	o     *Options
	scale Scale
	total Cell

	size     int     // rows
	variance float64 // see Node
	lo, hi   float64 // bounds on leaf values, from monotone constraints above
	dual     bool    // Options.Criterion is DualNorm
	plain    bool    // least squares without L1 and constraints: what the short loop does

	l2      float64 // in units of H
	minH    int64   // in units of H
	minRows int64   // 0 when rows need not be counted
	parent  float64 // score of the node itself, in units G²/H when plain
	least   float64 // score that a split must exceed
	unit    float64 // of scores
}

// counts reports whether rows must be counted in histograms: one row a child is
// assured without.
func (o *Options) counts() bool { return o.MinRows > 1 }

func newGains(o *Options, scale Scale, total Cell, lo, hi float64) gains {
	s := gains{o: o, scale: scale, total: total, lo: lo, hi: hi}
	s.dual = o.Criterion == DualNorm
	s.plain = !s.dual && o.L1 == 0 && lo == math.Inf(-1) && hi == math.Inf(1)
	for _, d := range o.Monotone {
		s.plain = s.plain && d == 0
	}
	s.l2 = o.L2 / scale.H
	s.minH = max(1, int64(math.Ceil(min(o.MinWeight/scale.H, 1<<62))))
	if scale.shift > 0 {
		// Rows are counted beside H, whose own units may then be none.
		s.minH = int64(math.Ceil(min(o.MinWeight/scale.H, 1<<62)))
		s.minRows = int64(o.MinRows)
	}
	if s.plain {
		s.unit = scale.G * scale.G / scale.H
		g, h := float64(total.G), float64(total.H>>scale.shift)+s.l2
		if h > 0 {
			s.parent = g * g / h
		}
	} else {
		s.unit = 1
		g, h := scale.Float(total)
		s.parent = s.score(g, h)
	}
	s.least = s.parent + math.Abs(s.parent)*o.MinGain + o.Gamma/s.unit
	return s
}

// gainsOf scores the splits of a node, categorical ones among them.
func gainsOf(g *Grower, n *Node) gains {
	s := newGains(&g.o, g.scale, n.sum, n.Low, n.High)
	s.size, s.variance = int(n.to-n.from), n.variance
	return s
}

// need is the score that a split must exceed to replace b.
func (s *gains) need(b *best) float64 {
	if b.found() {
		return max(s.least, b.score)
	}
	return s.least
}

// admissible reports whether a child may have these sums.
func (s *gains) admissible(c Cell) bool {
	return c.H>>s.scale.shift >= s.minH && (s.minRows == 0 || s.scale.rows(c) >= s.minRows) && c.H > 0
}

// value is the leaf value of least penalised second-order loss, within bounds.
func (s *gains) value(g, h float64) float64 {
	return min(max(leafValue(s.o, g, h), s.lo), s.hi)
}

// leafValue minimises g w + ½ (h+L2) w² + L1 |w|.
func leafValue(o *Options, g, h float64) float64 {
	switch {
	case g > o.L1:
		g -= o.L1
	case g < -o.L1:
		g += o.L1
	default:
		return 0
	}
	if h+o.L2 <= 0 {
		return 0 // no curvature: no step is right
	}
	return -g / (h + o.L2)
}

// score is what a leaf with these sums adds to the criterion.
func (s *gains) score(g, h float64) float64 {
	if s.dual {
		switch r := s.o.R; {
		case r == 1 || math.IsInf(r, 1):
			return math.Abs(g)
		case r == 2:
			return g * g
		default:
			return math.Pow(math.Abs(g), r)
		}
	}
	w := s.value(g, h)
	return -(2*g*w + (h+s.o.L2)*w*w + 2*s.o.L1*math.Abs(w))
}

// both is the score of two children, or -Inf when direction forbids them.
func (s *gains) both(left, right Cell, direction int8) float64 {
	gl, hl := s.scale.Float(left)
	gr, hr := s.scale.Float(right)
	a, b := s.score(gl, hl), s.score(gr, hr)
	if s.dual && math.IsInf(s.o.R, 1) {
		return max(a, b)
	}
	if direction != 0 && float64(direction)*(s.value(gr, hr)-s.value(gl, hl)) < 0 {
		return math.Inf(-1)
	}
	return a + b
}

// numeric looks for a cut of an ordered column that is better than b. It tries a cut after each of
// the codes in occupied, whose sums are in cells, with missing values on one side, then on the
// other. Ties go to the lowest code, missing right.
func (s *gains) numeric(b *best, column int, occupied []uint8, cells []Cell, missing Cell) {
	s.cut(b, column, occupied, cells, Cell{}, missing, false)
	if missing.H != 0 {
		s.cut(b, column, occupied, cells, missing, missing, true)
	}
}

func (s *gains) cut(b *best, column int, occupied []uint8, cells []Cell, left, missing Cell,
	missingLeft bool) {
	direction := int8(0)
	if s.o.Monotone != nil {
		direction = s.o.Monotone[column]
	}
	shift := s.scale.shift & 63
	need := s.need(b)
	at := -1
	var atLeft Cell
	if s.plain && shift == 0 {
		need, at, atLeft = s.plainCut(need, occupied, cells, left)
	} else {
		for k, code := range occupied {
			c := cells[code]
			left.G += c.G
			left.H += c.H
			if left.H>>shift < s.minH || s.minRows > 0 && s.scale.rows(left) < s.minRows {
				continue
			}
			right := Cell{s.total.G - left.G, s.total.H - left.H}
			if right.H>>shift < s.minH || s.minRows > 0 && s.scale.rows(right) < s.minRows || right.H == 0 {
				break
			}
			var score float64
			if s.plain {
				gl, hl := float64(left.G), float64(left.H>>shift)+s.l2
				gr, hr := float64(right.G), float64(right.H>>shift)+s.l2
				// Comparing two products avoids two divisions for all but the few cuts that improve
				// on earlier ones. The slack keeps rounding from losing one.
				gl *= gl
				gr *= gr
				if gl*hr+gr*hl <= need*(1-1e-14)*(hl*hr) {
					continue
				}
				score = gl/hl + gr/hr
			} else {
				score = s.both(left, right, direction)
			}
			if score > need {
				need, at, atLeft = score, k, left
			}
		}
	}
	if at < 0 {
		return
	}
	*b = best{gain: (need - s.parent) * s.unit, score: need, column: int32(column), code: occupied[at],
		missingLeft: missingLeft, left: atLeft}
	b.next = b.code
	if at+1 < len(occupied) {
		b.next = occupied[at+1]
	}
	if missing.H == 0 {
		b.missingLeft = 2*(atLeft.H>>shift) >= s.total.H>>shift
	}
}

// levels looks for a division of a categorical column that is better than b. Codes
// without rows in this node go where what is missing goes.
func (s *gains) levels(b *best, column int, occupied []uint8, cells []Cell, missing Cell, order []uint8) {
	if len(occupied) < 2 && missing.H == 0 || len(occupied) == 0 {
		return
	}
	if len(occupied) <= s.o.OneHot {
		for _, code := range occupied {
			s.division(b, column, []uint8{code}, occupied, cells, missing)
		}
		return
	}
	order = append(order[:0], occupied...)
	smooth := s.o.Smooth
	var key [256]float64
	for _, code := range occupied {
		g, h := s.scale.Float(cells[code])
		if h += smooth; h > 0 {
			key[code] = g / h
		}
	}
	slices.SortStableFunc(order, func(a, b uint8) int {
		switch {
		case key[a] < key[b]:
			return -1
		case key[a] > key[b]:
			return 1
		}
		return 0
	})
	s.ordered(b, column, order, cells, missing)
	if s.o.LevelCost == 0 {
		return
	}
	// Rare levels cost as much as others and say little: once more, with those among what is
	// missing.
	kept := order[:0]
	for _, code := range order {
		if s.rows(cells[code]) < rareLevel {
			missing = missing.plus(cells[code])
		} else {
			kept = append(kept, code)
		}
	}
	if len(kept) < len(occupied) && len(kept) > 0 {
		s.ordered(b, column, kept, cells, missing)
	}
}

// rareLevel is the number of rows of a node below which a level is rare there.
const rareLevel = 10

// rows estimates the number of rows in c, where they are not counted.
func (s *gains) rows(c Cell) float64 {
	if s.scale.shift > 0 {
		return float64(s.scale.rows(c))
	}
	return float64(c.H) / float64(s.total.H) * float64(s.size)
}

// ordered looks for the best cut of levels in the order given.
func (s *gains) ordered(b *best, column int, order []uint8, cells []Cell, missing Cell) {
	cost := s.levelCost(order, cells)
	dear, found := *s, best{}
	dear.least = s.need(b) + cost
	dear.numeric(&found, column, order, cells, missing)
	if !found.found() {
		return
	}
	found.score -= cost
	found.gain = (found.score - s.parent) * s.unit
	if !found.found() {
		return
	}
	for _, code := range order {
		found.set[code>>6] |= 1 << (code & 63)
		if code == found.code {
			break
		}
	}
	*b = found
	b.categorical = true
	s.fill(b, order)
}

// levelCost returns the expected excess of the score of the best cut of ordered levels over the
// worth of that cut on other rows. It assumes that derivatives are noise with the variance of the
// tree's rows. It is the covariance penalty of B. Efron, "The estimation of prediction error", JASA
// 99:619-632, 2004, for levels of equal Σ H: the best cut is between those whose sum is negative
// and the others, and |G| of a level has the mean sqrt(2/pi) of its standard deviation. So the cut
// gains 2/pi for each level in units of the variance, and loses as much on other rows. Up to OneHot
// levels cost nothing: a cut of numbers gains as much from noise. For the dual norm half of Σ |G|
// is on either side. |G| is charged at its largest mean, one standard deviation: that of levels of
// one row, whose derivatives have the same size in AdaBoost.
func (s *gains) levelCost(order []uint8, cells []Cell) float64 {
	n := float64(len(order) - s.o.OneHot)
	if n <= 0 || s.o.LevelCost == 0 {
		return 0
	}
	if !s.dual {
		return s.o.LevelCost * 4 / math.Pi * n * s.variance / s.unit
	}
	sum := 0.0
	for _, code := range order {
		_, h := s.scale.Float(cells[code])
		sum += math.Sqrt(h * s.variance)
	}
	sum *= s.o.LevelCost / 2
	if r := s.o.R; r > 1 && !math.IsInf(r, 1) {
		return 2 * r * math.Pow(sum, r)
	} else if r == 1 {
		return 2 * sum
	}
	return sum
}

// division tries one set of levels, left, against the others.
func (s *gains) division(b *best, column int, left, occupied []uint8, cells []Cell, missing Cell) {
	var sum Cell
	for _, code := range left {
		sum = sum.plus(cells[code])
	}
	for _, missingLeft := range []bool{false, true} {
		if missingLeft {
			if missing.H == 0 {
				return
			}
			sum = sum.plus(missing)
		}
		right := s.total.minus(sum)
		if !s.admissible(sum) || !s.admissible(right) {
			continue
		}
		var score float64
		if s.plain {
			gl, hl := float64(sum.G), float64(sum.H>>s.scale.shift)+s.l2
			gr, hr := float64(right.G), float64(right.H>>s.scale.shift)+s.l2
			score = gl*gl/hl + gr*gr/hr
		} else {
			score = s.both(sum, right, 0)
		}
		if score <= s.need(b) {
			continue
		}
		*b = best{gain: (score - s.parent) * s.unit, score: score, column: int32(column), categorical: true,
			missingLeft: missingLeft, left: sum}
		for _, code := range left {
			b.set[code>>6] |= 1 << (code & 63)
		}
		if missing.H == 0 {
			b.missingLeft = 2*(sum.H>>s.scale.shift) >= s.total.H>>s.scale.shift
		}
		s.fill(b, occupied)
	}
}

// fill sends the codes that are not occupied where what is missing goes.
func (s *gains) fill(b *best, occupied []uint8) {
	if !b.missingLeft {
		return
	}
	var seen [4]uint64
	for _, code := range occupied {
		seen[code>>6] |= 1 << (code & 63)
	}
	for i := range b.set {
		b.set[i] |= ^seen[i]
	}
}
