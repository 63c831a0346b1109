package tree

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/tropica-fst/tropica/learn/run"
)

// Cell is a sum of gradients and second derivatives in fixed point: integers, in
// units of Scale.G and Scale.H.
//
// Sums of integers do not depend on their order. This has four consequences. A histogram obtained
// by subtraction equals one built from the rows bit for bit, and an empty bin holds exactly zero.
// Any division of the work among goroutines gives the same tree, and equal sides have equal gains.
// Sums of float64 have none of these, and their addition takes four times as long when consecutive
// rows hit one bin.
type Cell struct{ G, H int64 }

// Scale gives the units of fixed-point sums; both are powers of two.
type Scale struct {
	G, H  float64
	shift uint // if positive, the low bits of Cell.H count rows

	variance float64 // of all rows: see Node.variance
}

// Float returns the sums of c as floating-point numbers.
func (s Scale) Float(c Cell) (g, h float64) {
	return float64(c.G) * s.G, float64(c.H>>s.shift) * s.H
}

// rows is the number of rows in c, where they are counted.
func (s Scale) rows(c Cell) int64 { return c.H & (1<<s.shift - 1) }

func (c Cell) plus(d Cell) Cell  { return Cell{c.G + d.G, c.H + d.H} }
func (c Cell) minus(d Cell) Cell { return Cell{c.G - d.G, c.H - d.H} }

// Target is what a tree is grown for: derivatives of a loss by the score of each
// row. With r = -G/H it is the weighted least squares fit to r with weights H.
type Target struct {
	G []float64 // derivatives
	H []float64 // second derivatives, or weights of a least-squares fit, not negative; nil is all 1
	W []float64 // sample weights, multiplied into both; nil is all 1

	Rows    []int32 // rows to grow from, strictly ascending; nil is all
	Columns []int32 // columns to split on, strictly ascending; nil is all

	// Sample, for ColumnsByLevel and ColumnsByNode, starts their random draws.
	Sample uint64
}

func (t *Target) check(rows, columns int) error {
	if len(t.G) != rows {
		return fmt.Errorf("tree: %w: %d gradients for %d rows", ErrData, len(t.G), rows)
	}
	if t.H != nil && len(t.H) != rows || t.W != nil && len(t.W) != rows {
		return fmt.Errorf("tree: %w: %d second derivatives and %d weights for %d rows", ErrData,
			len(t.H), len(t.W), rows)
	}
	last := int32(-1)
	for _, i := range t.Rows {
		if i <= last || int(i) >= rows {
			return fmt.Errorf("tree: %w: rows must ascend within 0 to %d; %d follows %d", ErrData, rows-1, i, last)
		}
		last = i
	}
	if t.Rows != nil && len(t.Rows) == 0 {
		return fmt.Errorf("tree: %w: an empty sample of rows", ErrData)
	}
	last = -1
	for _, j := range t.Columns {
		if j <= last || int(j) >= columns {
			return fmt.Errorf("tree: %w: columns must ascend within 0 to %d; %d follows %d", ErrData,
				columns-1, j, last)
		}
		last = j
	}
	return nil
}

// at returns the weighted derivatives of row i.
func (t *Target) at(i int32) (g, h float64) {
	g, h = t.G[i], 1
	if t.H != nil {
		h = t.H[i]
	}
	if t.W != nil {
		g *= t.W[i]
		h *= t.W[i]
	}
	return g, h
}

// rowBlock is the number of rows of one task where rows are divided. It is fixed, so that sums of
// floats do not depend on the number of workers.
const rowBlock = 1 << 15

// fixed stores the derivatives of row i of rows in cells[i] and returns their units and sum. The
// units ensure that no sum over rows exceeds 2^62. With a thousand rows they keep 52 bits below the
// largest sum, with a million 42 below the mean row. A row counts at least one unit of H, so that H
// is zero only where there are no rows. When rows are to be counted, the low bits of H hold their
// number.
func (t *Target) fixed(rows []int32, cells []Cell, count bool, workers int) (Scale, Cell, error) {
	blocks := (len(rows) + rowBlock - 1) / rowBlock
	sums := make([]struct{ g, h, squares float64 }, blocks)
	run.Blocks(workers, len(rows), rowBlock, func(_, from, to int) {
		var sg, sh, squares float64
		for _, i := range rows[from:to] {
			g, h := t.at(i)
			sg += math.Abs(g)
			sh += h
			squares += g * g
			if h < 0 {
				sh = math.NaN()
			}
		}
		sums[from/rowBlock].g, sums[from/rowBlock].h, sums[from/rowBlock].squares = sg, sh, squares
	})
	var sg, sh, squares float64
	for _, s := range sums {
		sg += s.g
		sh += s.h
		squares += s.squares
	}
	if !(sg < math.Inf(1)) || !(sh < math.Inf(1)) {
		for _, i := range rows {
			if g, h := t.at(i); !(math.Abs(g) < math.Inf(1)) || !(h >= 0) || !(h < math.Inf(1)) {
				return Scale{}, Cell{}, fmt.Errorf("tree: row %d: %w: derivatives %v and %v; the first must be "+
					"finite, the second finite and not negative", i, ErrData, g, h)
			}
		}
		return Scale{}, Cell{}, fmt.Errorf("tree: %w: the derivatives of %d rows sum to %v and %v", ErrData,
			len(rows), sg, sh)
	}
	s := Scale{G: unit(sg, 61)}
	if v := squares / sh; v < math.Inf(1) {
		s.variance = v
	}
	if count {
		s.shift = uint(bits.Len(uint(len(rows))))
	}
	s.H = unit(sh, 61-int(s.shift))
	byG, byH := 1/s.G, 1/s.H
	parts := make([]Cell, blocks)
	run.Blocks(workers, len(rows), rowBlock, func(_, from, to int) {
		var sum Cell
		for _, i := range rows[from:to] {
			g, h := t.at(i)
			c := Cell{int64(math.RoundToEven(g * byG)), int64(math.RoundToEven(h * byH))}
			if s.shift > 0 {
				c.H = c.H<<s.shift + 1
			} else if c.H == 0 {
				c.H = 1
			}
			cells[i] = c
			add(&sum, c)
		}
		parts[from/rowBlock] = sum
	})
	var all Cell
	for _, c := range parts {
		add(&all, c)
	}
	return s, all, nil
}

// unit is the power of two by which sums up to total become integers up to 2^most.
// Rounding and the least unit of each row add less than 2^32 more.
func unit(total float64, most int) float64 {
	if total == 0 {
		return 1
	}
	_, e := math.Frexp(total)
	return math.Ldexp(1, min(max(e-most, -1000), 1000))
}
