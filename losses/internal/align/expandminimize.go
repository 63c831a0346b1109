package align

import "slices"

// minimize merges the columns of every layer that have the same losses up to a constant, from the
// last layer back. It returns the constant of the first column, which is added to every path.
// Columns keep the order in which they were first built. O(edges).
func (b *Expander) minimize() int32 {
	phi := append(b.phi[0][:0], 0)       // of the columns of the next layer, before merging
	merged := append(b.merged[0][:0], 0) // their numbers after merging
	own, ids := b.phi[1], b.merged[1]
	for t := b.spent - 1; t >= 0; t-- {
		l := &b.layers[t]
		k := l.Classes
		size := 64
		for size < 2*l.columns {
			size *= 2
		}
		b.table = grown(b.table, size)
		table := b.table
		clear(table)
		own, ids = grown(own, l.columns), grown(ids, l.columns)
		count := 0
		for c := range l.columns {
			next, offset := l.next[c*k:(c+1)*k], l.offset[c*k:(c+1)*k]
			p := offset[0] + phi[next[0]]
			own[c] = p
			h := uint64(0x9e3779b97f4a7c15)
			// Rows of the result lie at or before the row they come from.
			outNext, outOffset := l.next[count*k:(count+1)*k], l.offset[count*k:(count+1)*k]
			for i, q := range next {
				to, off := merged[q], offset[i]+phi[q]-p
				h = (h ^ uint64(uint32(to))<<32 ^ uint64(uint32(off))) * 0xd6e8feb86659fd93
				h ^= h >> 29
				outNext[i], outOffset[i] = to, off
			}
			i := h & uint64(size-1)
			for table[i] != 0 {
				at := int(table[i]-1) * k
				if slices.Equal(l.next[at:at+k], outNext) && slices.Equal(l.offset[at:at+k], outOffset) {
					break
				}
				i = (i + 1) & uint64(size-1)
			}
			if table[i] == 0 {
				count++
				table[i] = int32(count)
			}
			ids[c] = table[i] - 1
		}
		l.columns = count
		l.next, l.offset = l.next[:count*k], l.offset[:count*k]
		phi, own = own, phi
		merged, ids = ids, merged
	}
	b.phi, b.merged = [2][]int32{phi, own}, [2][]int32{merged, ids}
	return phi[0]
}
