package tree

import "github.com/tropica-fst/tropica/learn/run"

// leftCodes is a table, by code, of whether rows go left at a split node.
func (b *Bins) leftCodes(n *Node, table *[256]uint8) {
	missing := b.columns[n.Column].values
	for c := range table {
		table[c] = 0
		if n.Categorical && n.Set[c>>6]>>(c&63)&1 == 1 || !n.Categorical && c <= int(n.Code) {
			table[c] = 1
		}
	}
	table[missing] = 0
	if n.MissingLeft {
		table[missing] = 1
	}
}

// chunk is a part of a node's rows.
type chunk struct {
	node, from, to int32
	lefts          int32
}

// chunks cuts the rows of nodes into parts of rowBlock rows.
func chunks(g *Grower, nodes []int32) []chunk {
	var out []chunk
	for _, at := range nodes {
		n := &g.nodes[at]
		for from := n.from; from < n.to; from += rowBlock {
			out = append(out, chunk{node: at, from: from, to: min(n.to, from+rowBlock)})
		}
	}
	return out
}

func (h *histogram) partition(g *Grower, nodes []int32) {
	parts := chunks(g, nodes)
	run.Jobs(g.o.Workers, len(parts), func(_, i int) {
		p := &parts[i]
		n := &g.nodes[p.node]
		var left [256]uint8
		h.b.leftCodes(n, &left)
		codes := h.b.columns[n.Column].rows
		rows, other := g.rows[p.from:p.to], g.buffer[p.from:p.to]
		l, r := 0, 0
		for _, row := range rows {
			// Both stores are made and one of them counts: no branch to guess.
			// A left row never lands beyond the one being read.
			yes := int(left[codes[row]])
			rows[l] = row
			other[r] = row
			l += yes
			r += 1 - yes
		}
		p.lefts = int32(l)
	})
	join(g, parts)
}

// join brings together the left and right rows of the parts of each node. Every part has its left
// rows at its front, and its right rows at the front of the same range of the buffer.
func join(g *Grower, parts []chunk) {
	for len(parts) > 0 {
		n := &g.nodes[parts[0].node]
		k, at := 0, n.from
		for k < len(parts) && parts[k].node == parts[0].node {
			p := parts[k]
			at += int32(copy(g.rows[at:], g.rows[p.from:p.from+p.lefts]))
			k++
		}
		middle := at
		for _, p := range parts[:k] {
			at += int32(copy(g.rows[at:], g.buffer[p.from:p.to-p.lefts]))
		}
		l, r := &g.nodes[n.Left], &g.nodes[n.Right]
		l.from, l.to, r.from, r.to = n.from, middle, middle, n.to
		parts = parts[k:]
	}
}
