package align

import "math/bits"

// packedColumn is a column of unit costs, normalised to D[m] = 0: bit j-1 of up
// (down) is set where D[j]-D[j-1] is 1 (-1). References have at most 64 symbols.
type packedColumn struct{ up, down uint64 }

func (c packedColumn) hash() uint64 {
	hi, lo := bits.Mul64(c.up^0x9e3779b97f4a7c15, bits.RotateLeft64(c.down, 32)^0xd6e8feb86659fd93)
	return hi ^ lo
}

// buildPacked builds the layers for unit costs and a reference of at most 64 symbols. It returns
// the loss of the path so far at the first column.
func (b *Expander) buildPacked() (init int32, err error) {
	m, n := len(b.Ref), len(b.Labels)
	mask := uint64(0)
	if m > 0 {
		mask = ^uint64(0) >> (64 - m)
	}
	first := packedColumn{up: mask} // D[j] = j
	init = int32(m)
	if n > 0 && !b.opts.NoClamp {
		var d int32
		first, d = first.clamp(m, b.kmin[0], b.kmax[0])
		init += d
	}
	b.cur = append(b.cur[:0], first)
	for t := range n {
		l := b.newLayer(len(b.cur))
		b.classify(t, l)
		if err := b.charge(t, len(b.cur), len(b.cur)*l.Classes); err != nil {
			return 0, err
		}
		l.next = grown(l.next, len(b.cur)*l.Classes)
		l.offset = grown(l.offset, len(b.cur)*l.Classes)
		if err := b.packedLayer(t, m, l); err != nil {
			return 0, err
		}
		b.cur, b.next = b.next, b.cur
	}
	return init, nil
}

// packedLayer fills the transitions of position t and the columns they reach.
func (b *Expander) packedLayer(t, m int, l *expandLayer) error {
	kmin, kmax := b.kmin[t+1], b.kmax[t+1]
	last, clamp := t+1 == len(b.Labels), !b.opts.NoClamp
	top := uint64(0) // the bit of D[m]-D[m-1]
	mask := uint64(0)
	if m > 0 {
		top = 1 << (m - 1)
		mask = ^uint64(0) >> (64 - m)
	}
	// Where symbols of the classes match, class by class.
	s := &b.classes
	eqs := s.masks[:0]
	for _, w := range s.where {
		eq := uint64(0)
		if w >= 0 {
			for j := int(w); j < m; j++ {
				if b.Ref[j] == b.Ref[w] {
					eq |= 1 << j
				}
			}
		}
		eqs = append(eqs, eq)
	}
	s.masks = eqs

	b.next = b.next[:0]
	size := 64
	for size < 2*len(b.cur) {
		size *= 2
	}
	if cap(b.table) < size {
		b.table = make([]int32, size)
	}
	table := b.table[:size]
	clear(table)
	e := 0
	for _, from := range b.cur {
		for k := range l.Classes {
			c, d := from, int32(0)
			for _, eq := range eqs[s.ends[k]:s.ends[k+1]] {
				// Myers' update; hu and hd are the steps along the row, N[j]-D[j].
				xv := eq | c.down
				xh := (((eq & c.up) + c.up) ^ c.up) | eq
				hu := c.down | ^(xh | c.up)
				hd := c.up & xh
				if m == 0 || hu&top != 0 {
					d++
				} else if hd&top != 0 {
					d--
				}
				hu, hd = hu<<1|1, hd<<1
				c.up = (hd | ^(xv | hu)) & mask
				c.down = hu & xv & mask
			}
			if last {
				c = packedColumn{} // all columns end alike: the loss is D[m]
			} else if clamp {
				var lower int32
				c, lower = c.clamp(m, kmin, kmax)
				d += lower
			}
			// Find c among the columns of the next layer.
			i := c.hash() & uint64(size-1)
			for table[i] != 0 && b.next[table[i]-1] != c {
				i = (i + 1) & uint64(size-1)
			}
			if table[i] == 0 {
				b.next = append(b.next, c)
				table[i] = int32(len(b.next))
				l.next[e] = table[i] - 1
				if 2*len(b.next) > size {
					if err := b.Check(t, len(b.next), 16); err != nil {
						return err
					}
					size *= 2
					table = b.growPacked(size)
				}
			} else {
				l.next[e] = table[i] - 1
			}
			l.offset[e] = d
			e++
		}
	}
	return nil
}

// growPacked hashes the columns of b.next again, into size slots.
func (b *Expander) growPacked(size int) []int32 {
	if cap(b.table) < size {
		b.table = make([]int32, size)
	}
	table := b.table[:size]
	clear(table)
	for id, c := range b.next {
		i := c.hash() & uint64(size-1)
		for table[i] != 0 {
			i = (i + 1) & uint64(size-1)
		}
		table[i] = int32(id + 1)
	}
	return table
}

// clamp returns the clamped column, normalised again, and the change of D[m].
//
// Below s_j = kmin, that is for j > m-kmin, H_j = min{D[i] : i ≥ m-kmin} + m - j. Above s_j = kmax,
// for j < m-kmax, H_j = min{D[i] : i ≥ m-kmax} + 2 kmax - m + j. As D is 1-Lipschitz, each line
// cuts it once, and beyond the cut D takes the slope of the line.
func (c packedColumn) clamp(m, kmin, kmax int) (packedColumn, int32) {
	low, high := m-kmin, m-kmax
	var lower int32
	if kmin > 0 {
		if least := c.least(max(low, 0)); least < 0 {
			// min(D[j], line - j); the line passes below D[m] = 0.
			line := least + m
			j := m - 1
			d := c.step(m)
			for d = -d; d+j > line; j-- {
				d -= c.step(j)
			}
			beyond := ^uint64(0) << j // steps j+1 … m, which are bits j … m-1
			if m < 64 {
				beyond &= 1<<m - 1
			}
			if high > 0 { // before the column changes: the two lines do not see one another
				c = c.clampHigh(high, 2*kmax-m)
			}
			c.up &^= beyond
			c.down |= beyond
			if d+j < line {
				c.down &^= 1 << j
			}
			return c, int32(least)
		}
	}
	if high > 0 {
		c = c.clampHigh(high, 2*kmax-m)
	}
	return c, lower
}

// clampHigh is the clamp for j < high: min(D[j], line + j), line being base + the
// least of D from high on.
func (c packedColumn) clampHigh(high, base int) packedColumn {
	line := base + c.least(high)
	d := bits.OnesCount64(c.down) - bits.OnesCount64(c.up) // D[0]
	if d <= line {
		return c
	}
	j := 1
	for d += c.step(1); d-j > line; d += c.step(j) {
		j++
	}
	beyond := ^uint64(0) >> (64 - j) // steps 1 … j, which are bits 0 … j-1
	c.up |= beyond
	c.down &^= beyond
	if d-j < line {
		c.up &^= 1 << (j - 1)
	}
	return c
}

// step is D[j]-D[j-1], for j from 1.
func (c packedColumn) step(j int) int {
	return int(c.up>>(j-1)&1) - int(c.down>>(j-1)&1)
}

// least returns the least of D[j] for j from `from` to m, with D[m] = 0: four steps at a time. This
// takes two thirds of the time of one step at a time (BenchmarkLossMachines of learn/g2p).
func (c packedColumn) least(from int) int {
	up, down := c.up>>from, c.down>>from
	d := bits.OnesCount64(down) - bits.OnesCount64(up) // D[from]
	least := d
	for up|down != 0 {
		t := &fourSteps[up&15|down&15<<4]
		least = min(least, d+int(t.least))
		d += int(t.sum)
		up, down = up>>4, down>>4
	}
	return least
}

// fourSteps is indexed by four bits of up and, above them, four of down. It holds the sum of the
// steps, and the least sum of the first few of them, including none.
var fourSteps = func() (table [256]struct{ sum, least int8 }) {
	for i := range table {
		t := &table[i]
		for j := range 4 {
			t.sum += int8(i>>j&1) - int8(i>>(j+4)&1)
			t.least = min(t.least, t.sum)
		}
	}
	return table
}()
