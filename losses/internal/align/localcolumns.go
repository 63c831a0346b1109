package align

import (
	"math"
	"math/bits"

	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// LocalProblem is the negated score of local alignment with one reference, in whole gains. Its
// columns have the best score of an alignment that ends at each cell, and the best score so far, M:
// see losses.Local.
type LocalProblem struct {
	Ref                  []int // symbols outside of the alphabet match nothing
	Alphabet             int
	Length               int     // of the strings
	Unit                 float64 // of the gains
	Match, Sub, Ins, Del int64   // ins and del are not positive
	Band                 int     // 0 is none
	Limits               layered.Limits
}

// outgrown is Limits.Outgrown for columns that grow longer. The logarithm of the growth falls to 0
// at 0.6 to 0.75 of the shorter string. Half of all columns and more lie within a few layers of the
// peak. The estimate lets growth fall in a straight line to 0 at 0.6. It counts a quarter of the
// length for the layers about the peak. It gave 0.1 to 0.8 of all columns, from any layer of 2000
// on. That was for 12 machines of random references of 10 to 28 symbols of 2 to 15, three scores,
// lengths equal or not. Growth is taken over two layers, for it alternates: an odd number of
// symbols is needed to make up for a mismatch.
func (x *LocalProblem) outgrown(t int, sizes []int, total int, column int64) error {
	limit, n := x.Limits.Bytes, len(sizes)
	if x.Band > 0 || limit <= 0 || n < 3 || sizes[n-1] < 1<<12 || sizes[n-1] <= sizes[n-3] {
		return nil
	}
	short := float64(min(x.Length, len(x.Ref)))
	layers := 0.6*short - float64(t+1)
	if layers <= 0 {
		return nil
	}
	growth := math.Log(float64(sizes[n-1])/float64(sizes[n-3])) / 2
	all := float64(sizes[n-1]) * math.Exp(growth*layers/2) * max(1, short/4)
	if size := all * float64(column); size > float64(limit) {
		// How far beyond the budget is neither needed nor known.
		return &layered.Oversize{Columns: total, Bytes: int64(min(size, 1000*float64(limit), 1<<62)),
			Limit: limit, Length: x.Length, Layer: t + 1}
	}
	return nil
}

// localCells stores columns of a layer in words. A cell is stored as M+1 minus it, with 0 for a
// fresh start. As all else counts as a fresh start, that is at most step·min(l, m). The first word
// has M.
type localCells struct {
	p           *LocalProblem
	step        int64 // the most that one aligned pair gains
	first, last []int // windows of the layers
	width       int   // bits of a cell
	key         []uint64
}

// cells returns the layout for all layers.
func (x *LocalProblem) cells() *localCells {
	l, m := x.Length, len(x.Ref)
	c := &localCells{p: x, step: max(x.Match, x.Sub, 0)}
	c.first, c.last = BandWindows(l, m, x.Band)
	c.width = max(1, bits.Len64(uint64(c.step)*uint64(min(l, m))+1))
	wide := 0
	for t := range c.first {
		wide = max(wide, c.last[t]-c.low(t)+1)
	}
	perWord := 64 / c.width
	c.key = make([]uint64, (wide+perWord-1)/perWord+1)
	return c
}

// low is the first cell of layer t that is stored.
func (c *localCells) low(t int) int { return max(1, c.first[t]) }

// encode fills key with a column of layer t: its cells and M.
func (c *localCells) encode(t int, h []int64, best int64) {
	r, m := c.p.Length-t, len(c.p.Ref)
	perWord, mask := 64/c.width, uint64(math.MaxUint64)>>(64-c.width)
	clear(c.key)
	// Whatever M is, no fresh start exceeds what there is to gain.
	c.key[0] = uint64(min(best, c.step*int64(min(r, m))))
	for j, i := c.low(t), 0; j <= c.last[t]; j, i = j+1, i+1 {
		if h[j] > 0 && h[j]+c.step*int64(min(r, m-j)) > best {
			c.key[1+i/perWord] |= uint64(best-h[j]+1) & mask << (i % perWord * c.width)
		}
	}
}

// decode fills the cells of a column of layer t, and returns M.
func (c *localCells) decode(t int, key []uint64, h []int64) (best int64) {
	perWord, mask := 64/c.width, uint64(math.MaxUint64)>>(64-c.width)
	best = int64(key[0])
	for j, i := c.low(t), 0; j <= c.last[t]; j, i = j+1, i+1 {
		h[j] = 0
		if v := int64(key[1+i/perWord] >> (i % perWord * c.width) & mask); v > 0 {
			// Below M where M was forgotten, a cell may come out
			// negative: it is still so much behind, and only that counts.
			h[j] = best - (v - 1)
		}
	}
	return best
}

// move fills the column of layer t+1 that symbol y leads to from h, a column of layer t, and
// returns its M.
func (c *localCells) move(t, y int, h, made []int64, best int64) int64 {
	x := c.p
	for j := c.low(t + 1); j <= c.last[t+1]; j++ {
		v := int64(0)
		if j > c.low(t+1) {
			v = max(v, made[j-1]+x.Ins)
		}
		if j >= c.first[t] && j <= c.last[t] {
			v = max(v, h[j]+x.Del)
		}
		gain := x.Sub
		if y == x.Ref[j-1] {
			gain = x.Match
		}
		if j-1 >= c.low(t) && j-1 <= c.last[t] { // else it begins there
			gain += h[j-1]
		}
		v = max(v, gain)
		made[j] = v
		best = max(best, v)
	}
	return best
}

// Build returns the machine. The error is an *layered.Oversize, or the context's.
func (x *LocalProblem) Build() (*layered.Machine, error) {
	class, rep := ReferenceClasses(x.Ref, x.Alphabet)
	g := layered.NewKeyed(x.Limits, x.Length, class, len(rep))
	values := map[int64]uint32{}
	value := func(rise int64) uint32 {
		v, ok := values[rise]
		if !ok {
			v = g.Value(0 - float64(rise)*x.Unit)
			values[rise] = v
		}
		return v
	}
	c := x.cells()
	h, made := make([]int64, len(x.Ref)+1), make([]int64, len(x.Ref)+1)
	c.encode(0, h, 0)
	g.Start(c.key)
	sizes := []int{1}
	for t := range x.Length {
		for q := range g.Open(len(c.key)) {
			best := c.decode(t, g.Tab.Key(q), h)
			for _, y := range rep {
				top := c.move(t, y, h, made, best)
				c.encode(t+1, made, top)
				g.Arc(c.key, value(top-best))
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
		sizes = append(sizes, g.Next.Len())
		if err := x.outgrown(t, sizes, g.Total, layered.WithGraph(len(rep), 1)); err != nil {
			return nil, err
		}
	}
	return g.Finish()
}
