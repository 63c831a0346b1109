package tree

import (
	"math"
	"math/rand/v2"
	"slices"
)

// mask draws the columns that may split each node, where options sample them.
func (h *histogram) mask(g *Grower) {
	h.masks = nil
	if g.o.ColumnsByLevel == 1 && g.o.ColumnsByNode == 1 {
		return
	}
	h.masks = map[int32][]bool{}
	for _, t := range h.tasks {
		for _, at := range []int32{t.small, t.large} {
			if at < 0 {
				continue
			}
			h.masks[at] = columnMask(g, at)
		}
	}
}

// columnMask draws the columns of a node. Its draws depend on the target's Sample, the depth and
// the node's number, not on what else was drawn.
func columnMask(g *Grower, at int32) []bool {
	columns := g.columns
	draw := func(share float64, stream uint64) {
		if share == 1 {
			return
		}
		rng := rand.New(rand.NewPCG(g.target.Sample, stream))
		columns = slices.Clone(columns)
		rng.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
		columns = columns[:max(1, int(math.Round(share*float64(len(columns)))))]
		slices.Sort(columns)
	}
	draw(g.o.ColumnsByLevel, uint64(g.nodes[at].Depth)<<32)
	draw(g.o.ColumnsByNode, 1<<63|uint64(at))
	mask := make([]bool, len(g.usable))
	for _, j := range columns {
		mask[j] = true
	}
	return mask
}

func (h *histogram) allowed(at int32, n *Node, j int) bool {
	return h.masks == nil || h.masks[at][j]
}
