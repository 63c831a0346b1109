package sequence

// Where only observed pairs have weights, most positions' attributes are frequent ones with weights
// for many labels, and most attributes are rare ones with weights for one or two. The former are
// summed as rows with a weight for every label, zero where there is none; of the latter, each
// position lists the weights themselves.

// narrow holds the attributes of a corpus so.
type narrow struct {
	layout    *layout
	stride    int
	attribute []int32   // by row
	rows      []float64 // one every stride floats
	wide      sparse    // by position: rows
	index     sparse    // by position: weights
	label     []int32   // their labels, at the same offsets
}

// Attributes have rows when they have weights for at least one in wideShare labels, or, while rows
// are short, when they have wideCount positions.
const (
	wideShare  = 8
	wideCount  = 32
	wideStride = 32
)

func newNarrow(l *layout, c *corpus, byID *sparse, stride int) *narrow {
	n := &narrow{layout: l, stride: stride}
	row := make([]int32, l.single) // by attribute, -1 for none
	entries, weights := 0, 0
	for a := range row {
		from, to := l.row(a)
		count := byID.ptr[a+1] - byID.ptr[a]
		row[a] = -1
		if (to-from)*wideShare >= l.labels && count > 1 || stride <= wideStride && count >= wideCount {
			row[a] = int32(len(n.attribute))
			n.attribute = append(n.attribute, int32(a))
			entries += count
		} else {
			weights += count * (to - from)
		}
	}
	n.rows = make([]float64, len(n.attribute)*stride)
	n.wide = sparse{ptr: make([]int, 1, len(c.single.ptr)), ids: make([]int32, 0, entries)}
	n.index = sparse{ptr: make([]int, 1, len(c.single.ptr)), ids: make([]int32, 0, weights)}
	n.label = make([]int32, 0, weights)
	for t := range c.single.rows() {
		ids, values := c.single.row(t)
		for k, a := range ids {
			v := 1.0
			if values != nil {
				v = values[k]
			}
			if r := row[a]; r >= 0 {
				n.wide.add(r, v)
				continue
			}
			from, to := l.row(int(a))
			for i := from; i < to; i++ {
				n.index.add(int32(i), v)
				n.label = append(n.label, l.seen[i])
			}
		}
		n.wide.endRow()
		n.index.endRow()
	}
	return n
}

// set stores the weights in rows.
func (n *narrow) set(w []float64) {
	for r, a := range n.attribute {
		row := n.rows[r*n.stride:][:n.stride]
		from, to := n.layout.row(int(a))
		for i, y := range n.layout.seen[from:to] {
			row[y] = w[from+i]
		}
	}
}

// addScores is layout.addScores at position t.
func (n *narrow) addScores(dst, w []float64, t int) {
	dst = dst[:n.layout.labels]
	rows, values := n.wide.row(t)
	if values == nil {
		// Behind a position's rows stand those of the next, to be fetched early.
		sumRowsOf(dst, n.rows, rows[:cap(rows)], len(rows), n.stride)
	} else {
		sumScaledRows(dst, n.rows, rows, values, n.stride)
	}
	index, values := n.index.row(t)
	label := n.label[n.index.ptr[t]:n.index.ptr[t+1]]
	if values == nil {
		for i, at := range index {
			dst[label[i]] += w[at]
		}
	} else {
		for i, at := range index {
			dst[label[i]] += values[i] * w[at]
		}
	}
	for y, v := range w[n.layout.at1:][:len(dst)] {
		dst[y] += v
	}
}
