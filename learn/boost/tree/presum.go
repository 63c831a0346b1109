package tree

import "github.com/tropica-fst/tropica/learn/run"

// presum sums the rows of nodes in parts when there are fewer pairs of nodes and blocks than
// goroutines. At the root of a narrow table nothing else would keep them busy. Integers make the
// parts' sums the node's, bit for bit.
func (h *histogram) presum(g *Grower) {
	clear(h.pre)
	workers, blocks := run.WorkersOf(g.o.Workers), len(h.b.blocks)
	if len(h.tasks)*blocks >= workers {
		return
	}
	type part struct {
		chunk
		block int
		sums  []Cell
	}
	var parts []part
	for i := range h.tasks {
		t := &h.tasks[i]
		for _, at := range []int32{t.small, t.large} {
			if at < 0 || at == t.large && t.parent != nil {
				continue
			}
			n := &g.nodes[at]
			size := (n.to - n.from + int32(workers) - 1) / int32(workers)
			if size < rowBlock/4 {
				continue
			}
			for block := range blocks {
				for from := n.from; from < n.to; from += size {
					parts = append(parts, part{chunk: chunk{node: at, from: from, to: min(n.to, from+size)}, block: block})
				}
			}
		}
	}
	run.Jobs(workers, len(parts), func(worker, i int) {
		p := &parts[i]
		if h.used[p.block] == 0 {
			return
		}
		p.sums = make([]Cell, blockColumns*h.b.blocks[p.block].stride)
		for from := p.from; from < p.to; from += tileRows {
			to := min(from+tileRows, p.to)
			h.add(g, p.block, p.sums, from, to, h.cells(g, &h.scratch[worker], from, to))
		}
	})
	for i := range parts {
		p := &parts[i]
		if h.pre == nil {
			h.pre = map[nodeBlock][]Cell{}
		}
		key := nodeBlock{p.node, p.block}
		if sums := h.pre[key]; sums == nil {
			h.pre[key] = p.sums
		} else {
			for k, c := range p.sums {
				add(&sums[k], c)
			}
		}
	}
}

// nodeBlock names a node's histograms of one block.
type nodeBlock struct {
	node  int32
	block int
}
