package losses

import (
	"math/bits"
	"sync"
)

// wordBuilder is columnBuilder.generic for columns that fit one 64-bit word:
// gains hi and lo only, as constant costs have, and hi bits for each step. It
// gives the same machine, about fifteen times sooner.
//
// A step of s ≤ hi is written as s ones at the high end of its group of hi
// bits, the steps from the low end of the word up. Then
//   - a score is a population count;
//   - raising the low cells to a common value is clearing ones from the low
//     end, and raising the high cells to the steepest slope is setting zeros
//     from the high end, one bit per unit: that is all the clamp does, for the
//     floor G - hi·min(r, m-j) is first flat and then has slope hi, while the
//     column has slopes between;
//   - one symbol moves a block of steps by a table: what leaves a block depends
//     on its steps, which of its cells match, and by how much the cell before
//     it rose (0 … hi); as in the method of four Russians.
//
// Tried: cells in byte lanes (prefix maxima in four shift-and-max rounds a
// word) needs 40 operations a word of eight cells; the tables need 6 a block
// of four unit-cost cells.
type wordBuilder struct {
	*columnBuilder
	hi, lo int
	tables *wordTables
}

// wordTables are the block tables of one pair of gains.
type wordTables struct {
	hi, lo int
	steps  int      // steps of a block
	width  int      // bits of a block
	move   []uint16 // [match][carry][block]: block after | carry out << 8
	rise   []int8   // greatest prefix sum of (step - lo), at least 0
	sum    []int8   // sum of (step - lo)
}

var wordTablesOf struct {
	sync.Mutex
	made map[[2]int]*wordTables
}

// tablesFor returns the tables of a pair of gains; there are at most 44 pairs,
// so that they are kept for good.
func tablesFor(hi, lo int) *wordTables {
	c := &wordTablesOf
	c.Lock()
	defer c.Unlock()
	if t := c.made[[2]int{hi, lo}]; t != nil {
		return t
	}
	t := &wordTables{hi: hi, lo: lo, steps: [9]int{0, 4, 4, 2, 2, 1, 1, 1, 1}[hi]}
	t.width = t.steps * hi
	blocks := 1 << t.width
	t.move = make([]uint16, blocks*(hi+1)<<t.steps)
	t.rise, t.sum = make([]int8, blocks), make([]int8, blocks)
	for block := range blocks {
		sum, rise := 0, 0
		for i := range t.steps {
			sum += t.step(block, i) - lo
			rise = max(rise, sum)
		}
		t.sum[block], t.rise[block] = int8(sum), int8(rise)
		for match := range 1 << t.steps {
			for carry := range hi + 1 {
				h, out := carry, 0
				for i := range t.steps {
					d, gain := t.step(block, i), lo
					if match>>i&1 != 0 {
						gain = hi
					}
					top := max(d, gain, h)
					e := top - h
					h = top - d
					out |= (1<<e - 1) << (hi - e) << (i * hi)
				}
				t.move[(match*(hi+1)+carry)<<t.width|block] = uint16(out | h<<8)
			}
		}
	}
	if c.made == nil {
		c.made = map[[2]int]*wordTables{}
	}
	c.made[[2]int{hi, lo}] = t
	return t
}

func (t *wordTables) step(block, i int) int {
	return bits.OnesCount(uint(block >> (i * t.hi) & (1<<t.hi - 1)))
}

// words returns the one-word builder when it covers the case, else nil.
func (b *columnBuilder) words() *wordBuilder {
	if b.most < 1 || b.most > 8 || !b.constant {
		return nil
	}
	hi, lo := b.most, b.most
	for _, row := range b.gain {
		for _, g := range row {
			lo = min(lo, g)
		}
	}
	for _, row := range b.gain {
		for _, g := range row {
			if g != hi && g != lo {
				return nil
			}
		}
	}
	for t := range b.first {
		f, n := b.first[t], b.last[t]
		if (n-f)*int(hi) > 64 {
			return nil
		}
		if t > 0 && (f-b.first[t-1] > 1 || n-b.last[t-1] > 1 || (n-b.first[t-1])*int(hi) > 64) {
			return nil
		}
		for j := f; j <= n; j++ {
			k := int64(min(b.l-t, b.m-j))
			if b.up[t][j-f] != hi*k || b.low[t][j-f] != lo*k {
				return nil
			}
		}
	}
	return &wordBuilder{columnBuilder: b, hi: int(hi), lo: int(lo), tables: tablesFor(int(hi), int(lo))}
}

// wordSlot is a slot of the table of one layer's columns.
type wordSlot struct {
	key   uint64
	id    uint32
	layer uint32 // slots of other layers are free
}

// wordScratch is what a build needs beside its result.
type wordScratch struct {
	slots      []wordSlot
	keys, next []uint64
	plane      []uint32
	stamp      uint32
}

var wordScratches = sync.Pool{New: func() any { return &wordScratch{slots: make([]wordSlot, 1<<10)} }}

func (w *wordBuilder) build() (*Machine, error) {
	b, tab := w.columnBuilder, w.tables
	l, hi := b.l, w.hi
	s := wordScratches.Get().(*wordScratch)
	defer func() {
		if len(s.slots) <= 1<<18 {
			wordScratches.Put(s)
		}
	}()
	m := &Machine{layers: make([]layer, l), base: b.base, values: make([]float64, 2+2*hi)}
	m.values[Excluded] = infinity
	for o := range 1 + 2*hi {
		m.values[1+o] = 0 - float64(o)*b.unit
	}
	shift := uint8(bits.Len(uint(len(m.values) - 1)))
	classes := len(b.gain)

	first, raised := w.clampWord(w.limits(0), 0)
	m.base -= float64(raised) * b.unit
	s.keys = append(s.keys[:0], first)
	total := 1
	for t := range l {
		n := len(s.keys)
		if n*classes > 0 && bits.Len(uint(n*classes))+int(shift) > 32 {
			// Columns of the next layer might not fit beside their values.
			return b.generic()
		}
		arcs := make([]uint32, n*classes)
		lim := w.limits(t + 1)
		f, f1, e1 := b.first[t], b.first[t+1], b.last[t+1]
		groups := e1 - f
		blocks := (groups + tab.steps - 1) / tab.steps
		w.planes(s, f, blocks)
		drop := uint(f1-f) * uint(hi)
		dropped := ones(int(drop))
		all := ones(groups * hi)
		s.next = s.next[:0]
		s.begin(2 * n)
		mask := uint64(len(s.slots) - 1)
		slots, stamp := s.slots, s.stamp
		hashShift := uint(64 - bits.Len64(mask))
		move, width := tab.move, uint(tab.width)
		blockMask := uint64(1)<<width - 1
		var bytes int64
		for c, key := range s.keys {
			row := arcs[c*classes : (c+1)*classes]
			planes := s.plane
			for k := range row {
				// Move.
				var out uint64
				if blocks == 3 {
					pl := planes[k*3 : k*3+3]
					a := move[pl[0]+uint32(key&blockMask)]
					b := move[pl[1]+uint32(a>>8)<<width+uint32(key>>width&blockMask)]
					c := move[pl[2]+uint32(b>>8)<<width+uint32(key>>(2*width))]
					out = uint64(a&255) | uint64(b&255)<<width | uint64(c&255)<<(2*width)
				} else {
					rest, carry, at := key, uint32(0), uint(0)
					for _, p := range planes[k*blocks : (k+1)*blocks] {
						x := move[p+carry<<width+uint32(rest&blockMask)]
						rest >>= width
						out |= uint64(x&255) << at
						carry = uint32(x >> 8)
						at += width
					}
				}
				out &= all
				offset := bits.OnesCount64(out & dropped)
				out >>= drop
				out, raised := w.clampWord(lim, out)
				offset += raised

				// Number it.
				var id uint32
				for i := (out * 0x9e3779b97f4a7c15) >> hashShift; ; i = (i + 1) & mask {
					e := &slots[i]
					if e.layer != stamp {
						id = uint32(len(s.next))
						*e = wordSlot{out, id, stamp}
						s.next = append(s.next, out)
						break
					}
					if e.key == out {
						id = e.id
						break
					}
				}
				if offset > 2*hi {
					return b.generic()
				}
				row[k] = id<<shift | uint32(offset+1)
			}
			if uint64(len(s.next)+classes)*2 > mask {
				s.grow()
				slots, stamp = s.slots, s.stamp
				mask = uint64(len(slots) - 1)
				hashShift = uint(64 - bits.Len64(mask))
				bytes = m.bytes + int64(len(arcs))*4 + int64(len(slots))*16 + int64(cap(s.next)+cap(s.keys))*8
				if err := b.overBudget(t, total+len(s.next), bytes); err != nil {
					return nil, err
				}
			}
		}
		if err := b.overBudget(t, total+len(s.next), m.bytes+int64(len(arcs))*4); err != nil {
			return nil, err
		}
		ly := &m.layers[t]
		*ly = layer{columns: n, classes: classes, class: b.class, narrow: arcs, shift: shift}
		ly.lo, ly.hi = m.values[1+2*hi], 0
		m.bytes += int64(len(arcs)) * 4
		total += len(s.next)
		s.keys, s.next = s.next, s.keys
	}
	// No symbol is left, so that all columns were raised to one.
	m.final = make([]uint32, len(s.keys))
	for c, key := range s.keys {
		if key != 0 {
			return b.generic()
		}
		m.final[c] = 1
	}
	m.count()
	return m, nil
}

// planes sets where the table of each class and block begins.
func (w *wordBuilder) planes(s *wordScratch, first, blocks int) {
	tab := w.tables
	s.plane = s.plane[:0]
	for _, g := range w.gain {
		for i := range blocks {
			match := 0
			for d := range tab.steps {
				j := first + i*tab.steps + d // the symbol before cell j+1
				if j < w.m && g[j] == w.most {
					match |= 1 << d
				}
			}
			s.plane = append(s.plane, uint32(match*(w.hi+1))<<tab.width)
		}
	}
}

// wordLimits are the constants of one layer's clamp.
type wordLimits struct {
	turn      uint   // bits before the cell where the floor turns from flat to steep
	before    uint64 // those bits
	sure      int    // what is certain to be gained from that cell
	low, high int    // most to be gained from the first and from the last cell
	all       uint64 // bits of all steps
}

func (w *wordBuilder) limits(t int) *wordLimits {
	r := w.l - t
	f, n := w.first[t], w.last[t]
	turn := min(max(w.m-r, f), n)
	return &wordLimits{
		turn:   uint((turn - f) * w.hi),
		before: ones((turn - f) * w.hi),
		sure:   w.lo * min(r, w.m-turn),
		low:    w.hi * min(r, w.m-f),
		high:   w.hi * min(r, w.m-n),
		all:    ones((n - f) * w.hi),
	}
}

// clampWord raises a column, and returns by how much its first cell rose.
func (w *wordBuilder) clampWord(lim *wordLimits, key uint64) (uint64, int) {
	tab := w.tables
	// G - S[first], the greatest sum over j ≥ turn of S[j] + low(j).
	g := bits.OnesCount64(key&lim.before) + lim.sure
	if lim.turn < 64 {
		sum, best := 0, 0
		width, blockMask := uint(tab.width), uint64(1)<<tab.width-1
		for rest := key >> lim.turn; rest != 0; rest >>= width {
			x := rest & blockMask
			best = max(best, sum+int(tab.rise[x]))
			sum += int(tab.sum[x])
		}
		g += best
	}
	top := g - lim.high - bits.OnesCount64(key)
	o := max(0, g-lim.low)
	for range o {
		key &= key - 1
	}
	for ; top > 0; top-- {
		key |= 1 << (bits.Len64(^key&lim.all) - 1)
	}
	return key, o
}

// begin frees the table for a new layer of about n columns.
func (s *wordScratch) begin(n int) {
	size := 1 << max(10, bits.Len(uint(2*n)))
	if len(s.slots) < size {
		s.slots = make([]wordSlot, size)
		s.stamp = 0
	}
	if s.stamp++; s.stamp == 0 {
		clear(s.slots)
		s.stamp = 1
	}
}

// grow doubles the table.
func (s *wordScratch) grow() {
	s.slots = make([]wordSlot, 2*len(s.slots))
	s.stamp = 1
	mask := uint64(len(s.slots) - 1)
	shift := uint(64 - bits.Len64(mask))
	for id, key := range s.next {
		i := (key * 0x9e3779b97f4a7c15) >> shift
		for s.slots[i].layer != 0 {
			i = (i + 1) & mask
		}
		s.slots[i] = wordSlot{key, uint32(id), 1}
	}
}
