package align

import "slices"

// wideScratch is the working memory of columns of any costs.
type wideScratch struct {
	row []int32
	g   []int32 // the clamp's G_k
}

// buildWide builds the layers for any costs and any length of the reference.
// Columns are m+1 integers; the clamp takes the maximum over all lengths that
// may follow, O(m·kmax) a column.
func (b *Expander) buildWide(costs EditCosts) (init int32, err error) {
	m, n := len(b.Ref), len(b.Labels)
	col := slices.Grow(b.curWide[:0], m+1)[:m+1]
	for j := range col {
		col[j] = int32(j * costs.Insert)
	}
	b.wide.row = grown(b.wide.row, m+1)
	if n == 0 {
		return col[m], nil
	}
	if !b.opts.NoClamp {
		b.clampWide(col, costs, b.kmin[0], b.kmax[0])
	}
	init = normalizeWide(col)
	b.curWide = col
	for t := range n {
		columns := len(b.curWide) / (m + 1)
		l := b.newLayer(columns)
		b.classify(t, l)
		if err := b.charge(t, columns, columns*l.Classes); err != nil {
			return 0, err
		}
		if err := b.wideLayer(t, m, costs, l); err != nil {
			return 0, err
		}
		b.curWide, b.nextWide = b.nextWide, b.curWide
	}
	return init, nil
}

// wideLayer is packedLayer for columns of any costs.
func (b *Expander) wideLayer(t, m int, costs EditCosts, l *expandLayer) error {
	w := m + 1
	s := &b.classes
	last := t+1 == len(b.Labels)
	row := b.wide.row
	b.nextWide = b.nextWide[:0]
	size := 64
	for size < 2*l.columns {
		size *= 2
	}
	b.table = grown(b.table, size)
	table := b.table
	clear(table)
	count := 0
	for from := range l.columns {
		for k := range l.Classes {
			copy(row, b.curWide[from*w:(from+1)*w])
			for _, where := range s.where[s.ends[k]:s.ends[k+1]] {
				diag := row[0]
				row[0] += int32(costs.Delete)
				for j := 1; j <= m; j++ {
					step := costs.Substitute
					if where >= 0 && b.Ref[j-1] == b.Ref[where] {
						step = costs.Match
					}
					up := row[j]
					row[j] = min(diag+int32(step), up+int32(costs.Delete), row[j-1]+int32(costs.Insert))
					diag = up
				}
			}
			if last {
				// What is left of the reference is inserted; all columns end alike.
				loss := row[m]
				for j, d := range row {
					loss = min(loss, d+int32((m-j)*costs.Insert))
				}
				clear(row)
				row[m] = loss
			} else if !b.opts.NoClamp {
				b.clampWide(row, costs, b.kmin[t+1], b.kmax[t+1])
			}
			d := normalizeWide(row)
			if last {
				clear(row)
			}
			i := hashInts(row) & uint64(size-1)
			for table[i] != 0 && !slices.Equal(row, b.nextWide[int(table[i]-1)*w:int(table[i])*w]) {
				i = (i + 1) & uint64(size-1)
			}
			l.offset = append(l.offset, d)
			if table[i] != 0 {
				l.next = append(l.next, table[i]-1)
				continue
			}
			b.nextWide = append(b.nextWide, row...)
			count++
			table[i] = int32(count)
			l.next = append(l.next, int32(count-1))
			if 2*count > size {
				if err := b.Check(t, count, 4*w); err != nil {
					return err
				}
				size *= 2
				b.table = grown(b.table, size)
				table = b.table
				clear(table)
				for id := range count {
					i := hashInts(b.nextWide[id*w:(id+1)*w]) & uint64(size-1)
					for table[i] != 0 {
						i = (i + 1) & uint64(size-1)
					}
					table[i] = int32(id + 1)
				}
			}
		}
	}
	return nil
}

// clampWide clamps a column in place. An alignment with d diagonal moves costs k·del + s·ins -
// d·(del+ins) and its diagonals. When these pay there are min(k,s) of them in the cheapest, and at
// best all match, at worst none.
func (b *Expander) clampWide(col []int32, costs EditCosts, kmin, kmax int) {
	m := len(col) - 1
	gainBest := int32(max(0, costs.Delete+costs.Insert-min(costs.Match, costs.Substitute)))
	gainWorst := int32(max(0, costs.Delete+costs.Insert-max(costs.Match, costs.Substitute)))
	b.wide.g = grown(b.wide.g, kmax-kmin+1)
	g := b.wide.g
	for k := kmin; k <= kmax; k++ {
		least := int32(1<<31 - 1)
		for j, d := range col {
			s := m - j
			least = min(least, d+int32(s*costs.Insert)-int32(min(k, s))*gainWorst)
		}
		g[k-kmin] = least + int32(k*costs.Delete)
	}
	for j, d := range col {
		s := m - j
		h := int32(-1 << 31)
		for k := kmin; k <= kmax; k++ {
			h = max(h, g[k-kmin]-int32(k*costs.Delete)+int32(min(k, s))*gainBest)
		}
		col[j] = min(d, h-int32(s*costs.Insert))
	}
}

// normalizeWide makes the last entry 0 and returns what it was.
func normalizeWide(col []int32) int32 {
	d := col[len(col)-1]
	for j := range col {
		col[j] -= d
	}
	return d
}

// hashInts hashes a row of integers.
func hashInts(row []int32) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, x := range row {
		h = (h ^ uint64(uint32(x))) * 0xd6e8feb86659fd93
		h ^= h >> 29
	}
	return h
}
