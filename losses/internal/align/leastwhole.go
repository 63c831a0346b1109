package align

import (
	"errors"
	"math"
	"math/big"

	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// wholeColumns builds with cells of int64. Its reduced costs come from reducer, or
// from wide when the costs themselves do not fit but what is left of them does.
type wholeColumns struct {
	reducer *reducer[whole]
	wide    *reducer[large]
	unit    float64
	down    bool
	base    float64
}

// layer returns the moves into layer t with low, risk and up of the clamp.
func (c *wholeColumns) layer(t int) (mv *moves[whole], low, risk, up []whole) {
	if r := c.reducer; r != nil {
		if r.up != nil {
			up = r.up[t]
		}
		return r.layer(t), r.low[t], r.risk[t], up
	}
	fit := func(x []large) []whole {
		y := make([]whole, len(x))
		for i, v := range x {
			y[i] = whole(v.Int64())
		}
		return y
	}
	w := c.wide.layer(t)
	mv = &moves[whole]{ins: fit(w.ins)}
	for k := range w.del {
		mv.del, mv.sub = append(mv.del, fit(w.del[k])), append(mv.sub, fit(w.sub[k]))
	}
	low = fit(c.wide.risk[t])
	return mv, low, low, nil
}

// begin decides on the direction of the sum, given the guarantee of the start.
func (c *wholeColumns) begin(g whole) {
	if r := c.reducer; r != nil {
		var base whole
		c.down, base = downward(r, g)
		c.base = float64(base) * c.unit
		return
	}
	var base large
	c.down, base = downward(c.wide, large{big.NewInt(int64(g))})
	c.base = bigFloat(base.Int, c.wide.b.Exact.exponent)
}

// bigFloat returns x·2^exponent.
func bigFloat(x *big.Int, exponent int) float64 {
	f := new(big.Float).SetInt(x)
	if f.Sign() != 0 {
		f.SetMantExp(f, exponent)
	}
	y, _ := f.Float64()
	return y
}

// build makes the machine. width is the initial number of bits for each step of a column. A step is
// how far a cell falls short of an insertion after the cell before it. That is at most the greatest
// gain, except where windows meet in a corner.
func (c *wholeColumns) build(width int) (*layered.Machine, error) {
	m, err := c.buildPacked(packing{width})
	if err == errWide {
		return c.buildPacked(packing{64})
	}
	return m, err
}

// errWide says that a step of a column has more bits than its packing.
var errWide = errors.New("losses: a step of a column does not fit its bits")

func (c *wholeColumns) columnBuilder() *Columns {
	if c.reducer != nil {
		return c.reducer.b
	}
	return c.wide.b
}

func (c *wholeColumns) top() whole {
	if c.reducer != nil {
		return c.reducer.top
	}
	return whole(c.wide.top.Int64())
}

const never = whole(math.MaxInt64 / 2)

func (c *wholeColumns) buildPacked(p packing) (*layered.Machine, error) {
	b := c.columnBuilder()
	widest := 0
	for t := range b.First {
		widest = max(widest, b.Last[t]-b.First[t]+1)
	}
	words := func(t int) int { return p.words(b.Last[t] - b.First[t] + 1) }
	cells, made := make([]whole, widest), make([]whole, widest)
	key := make([]uint64, p.words(widest))

	mv, low, risk, up := c.layer(0)
	start := made[:len(mv.ins)]
	start[0] = 0
	for i := 1; i < len(start); i++ {
		start[i] = min(start[i-1]+mv.ins[i], c.top()) // beyond the guarantee all is one
	}
	b.clampWhole(start, low, up)
	c.begin(guarantee(start, risk))
	if !p.encode(key, start, mv.ins) {
		return nil, errWide
	}
	g := layered.NewKeyed(b.limits, b.l, b.class, c.classes())
	g.SetBase(c.base)
	g.Start(key[:words(0)])
	values := map[whole]uint32{}
	value := func(o whole) uint32 {
		v, ok := values[o]
		if !ok {
			v = g.Value(float64(o) * c.unit)
			values[o] = v
		}
		return v
	}
	for t := range b.l {
		next := words(t + 1)
		n := g.Open(next)
		before, riskBefore := mv.ins, risk
		mv, low, risk, up = c.layer(t + 1)
		s, d := cells[:b.Last[t]-b.First[t]+1], made[:b.Last[t+1]-b.First[t+1]+1]
		shift := b.First[t+1] - b.First[t]
		for q := range n {
			p.decode(s, g.Tab.Key(q), before)
			from := guarantee(s, riskBefore)
			for k := range g.Classes {
				moveWhole(d, s, shift, mv.ins, mv.del[k], mv.sub[k])
				o := b.clampWhole(d, low, up)
				if !p.encode(key, d, mv.ins) {
					return nil, errWide
				}
				if c.down {
					o += guarantee(d, risk) - from
				}
				g.Arc(key[:next], value(o))
			}
			if q&255 == 0 {
				if err := g.Room(); err != nil {
					return nil, err
				}
			}
		}
		if err := g.Close(); err != nil {
			return nil, err
		}
		if b.whole {
			if err := b.limits.Outgrown(b.l, b.m, g.Classes, t, n, g.Next.Len(), g.Total,
				layered.WithGraph(g.Classes, 1)); err != nil {
				return nil, err
			}
		}
	}
	// What is to come is in R and in G already, and nothing is to come.
	return g.Finish()
}

func (c *wholeColumns) classes() int {
	if c.reducer != nil {
		return len(c.reducer.del)
	}
	return len(c.wide.del)
}

// moveWhole sets the cells d of a layer from those s of the layer before. Cell i+shift of s has the
// same place in the reference as cell i of d.
func moveWhole(d, s []whole, shift int, ins, del, sub []whole) {
	prev := never
	for i := range d {
		v := never
		if i > 0 {
			v = prev + ins[i]
		}
		j := i + shift
		if j < len(s) { // windows never move back: j is not negative
			v = min(v, s[j]+del[i])
		}
		if j > 0 && j <= len(s) {
			v = min(v, s[j-1]+sub[i])
		}
		d[i], prev = v, v
	}
}

// guarantee returns G - h of a column.
func guarantee(s, risk []whole) whole {
	g := never
	for i, v := range s {
		g = min(g, v+risk[i])
	}
	return g
}

// clampWhole lowers the cells of a column as far as no final loss changes, and
// subtracts the least from all; it returns what it subtracted.
func (b *Columns) clampWhole(s, low, up []whole) whole {
	if !b.NoClamp {
		g := guarantee(s, low)
		for i := range s {
			if up == nil {
				s[i] = min(s[i], g)
			} else {
				s[i] = min(s[i], g+up[i])
			}
		}
	}
	o := s[0]
	for _, v := range s {
		o = min(o, v)
	}
	for i := range s {
		s[i] -= o
	}
	return o
}

// packing stores a column in words by its steps, each of the same number of bits.
type packing struct{ width int }

func (p packing) perWord() int {
	if p.width == 0 {
		return 64
	}
	return 64 / p.width
}

// words returns the number of words of the given number of cells.
func (p packing) words(cells int) int { return max(1, (cells-1+p.perWord()-1)/p.perWord()) }

// encode packs the steps of a column into words, and reports whether they fit.
func (p packing) encode(key []uint64, s, ins []whole) bool {
	width, perWord := p.width, p.perWord()
	clear(key[:p.words(len(s))])
	for i := 1; i < len(s); i++ {
		d := uint64(s[i-1] + ins[i] - s[i])
		if width < 64 && d>>width != 0 {
			return false
		}
		if width > 0 {
			key[(i-1)/perWord] |= d << ((i - 1) % perWord * width)
		}
	}
	return true
}

// decode undoes encode: the least cell is 0.
func (p packing) decode(s []whole, key []uint64, ins []whole) {
	width, perWord := p.width, p.perWord()
	s[0] = 0
	least := whole(0)
	mask := uint64(math.MaxUint64) >> (64 - width)
	for i := 1; i < len(s); i++ {
		d := uint64(0)
		if width > 0 {
			d = key[(i-1)/perWord] >> ((i - 1) % perWord * width) & mask
		}
		s[i] = s[i-1] + ins[i] - whole(d)
		least = min(least, s[i])
	}
	for i := range s {
		s[i] -= least
	}
}
