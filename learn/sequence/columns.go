package sequence

import (
	"hash/maphash"
	"math"
	"slices"
)

// columns are the attributes of a corpus with those merged that have the same values at the same
// positions, and no others. The weights of k such attributes are equal at the minimum, and in all
// points on the way there from zero. Their sum x takes their place, with l2/k in the place of l2,
// as k (x/k)² = x²/k; l1 stays, as k |x/k| = |x|. Most of them are the attributes of a word that
// training has seen once.
type columns struct {
	layout *layout
	corpus *corpus
	of     []int32   // by attribute: the column
	share  []float64 // by column: 1/k
}

// mergeColumns returns the columns of a corpus; nil if there are as many as attributes.
func mergeColumns(l *layout, c *corpus) *columns {
	byID := c.single.transposed(l.single)
	m := &columns{of: make([]int32, l.single)}
	seed := maphash.MakeSeed() // results do not depend on it: equal hashes are compared
	first := map[uint64]int32{}
	var column []int32 // their first attributes
	next := make([]int32, 0, l.single)
	var h maphash.Hash
	h.SetSeed(seed)
	for a := range l.single {
		rows, values := byID.row(a)
		h.Reset()
		for i, r := range rows {
			v := uint64(0)
			if values != nil {
				v = math.Float64bits(values[i])
			}
			maphash.WriteComparable(&h, [2]uint64{uint64(r), v})
		}
		key := h.Sum64()
		id, ok := first[key]
		if !ok {
			id = -1
		}
		k := id
		for k >= 0 && !byID.same(int(column[k]), a) {
			k = next[k]
		}
		if k < 0 {
			k = int32(len(column))
			column, next, m.share = append(column, int32(a)), append(next, id), append(m.share, 0)
			first[key] = k
		}
		m.of[a] = k
		m.share[k]++
	}
	if len(column) == l.single {
		return nil
	}
	for k := range m.share {
		m.share[k] = 1 / m.share[k]
	}
	merged := *l
	merged.single = len(column)
	if l.ptr != nil {
		merged.ptr = []int{0}
		merged.seen = nil
		for _, a := range column {
			merged.seen = append(merged.seen, l.seen[l.ptr[a]:l.ptr[a+1]]...)
			merged.ptr = append(merged.ptr, len(merged.seen))
		}
	}
	m.layout, _ = newLayout(l.labels, l.order, len(column), l.pair, merged.ptr, merged.seen) // smaller than l
	m.corpus = &corpus{source: c.source, start: c.start, pair: c.pair, labels: c.labels, single: newSparse()}
	s := &m.corpus.single
	s.ids = make([]int32, 0, len(c.single.ids))
	for r := range c.single.rows() {
		ids, values := c.single.row(r)
		for i, a := range ids {
			k := m.of[a]
			if column[k] != a {
				continue
			}
			v := 1.0
			if values != nil {
				v = values[i]
			}
			s.add(k, v)
		}
		s.endRow()
	}
	return m
}

// same reports whether two rows have the same entries.
func (s *sparse) same(a, b int) bool {
	ra, va := s.row(a)
	rb, vb := s.row(b)
	return slices.Equal(ra, rb) && slices.Equal(va, vb)
}

// expand stores the weights of the attributes, those of the columns being x.
func (m *columns) expand(l *layout, w, x []float64) {
	for a, k := range m.of {
		from, to := l.row(a)
		at, _ := m.layout.row(int(k))
		share := m.share[k]
		for i := from; i < to; i++ {
			w[i] = share * x[at+i-from]
		}
	}
	copy(w[l.at1:], x[m.layout.at1:])
}
