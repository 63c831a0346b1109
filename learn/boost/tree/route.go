package tree

// hop is a split as routing wants it.
type hop struct {
	codes       []uint8 // of its column
	set         *[4]uint64
	missing     uint8 // code of missing values
	last        uint8 // highest code that goes left
	missingLeft bool
	left, right int32 // left is -1 at a leaf
}

// RouteRows stores in dst[k] the leaf of rows[k], sampled or not, in the tree after the given
// number of splits; rows nil is 0, 1, …. It is Route for many rows at a time, several times as
// fast. It takes one goroutine; callers may divide the rows.
func (g *Grower) RouteRows(dst, rows []int32, splits int) {
	h, ok := g.f.(*histogram)
	if !ok {
		for k := range dst {
			row := int32(k)
			if rows != nil {
				row = rows[k]
			}
			dst[k] = g.Route(row, splits)
		}
		return
	}
	hops := make([]hop, 2*splits+1)
	for at := range hops {
		n := &g.nodes[at]
		if n.Left < 0 || int(n.Left) > 2*splits {
			hops[at].left = -1
			continue
		}
		hops[at] = hop{codes: h.b.columns[n.Column].rows, missing: uint8(h.b.columns[n.Column].values),
			last: n.Code, missingLeft: n.MissingLeft, left: n.Left, right: n.Right}
		if n.Categorical {
			hops[at].set = &n.Set
		}
	}
	for k := range dst {
		row := int32(k)
		if rows != nil {
			row = rows[k]
		}
		at := int32(0)
		for p := &hops[0]; p.left >= 0; p = &hops[at] {
			c := p.codes[row]
			left := c <= p.last
			if p.set != nil {
				left = p.set[c>>6]>>(c&63)&1 == 1
			}
			if c == p.missing {
				left = p.missingLeft
			}
			at = p.right
			if left {
				at = p.left
			}
		}
		dst[k] = at
	}
}
