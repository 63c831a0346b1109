package boost

import (
	"slices"
	"sync"

	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/run"
)

// A growth is a tree as it grew, best split first. Its leaves are in slots. The root is in slot 0;
// split s divides a leaf, whose left child keeps the slot and whose right child takes slot s+1. The
// first n splits are therefore a tree with leaves 0 … n. It is the tree that growing to n splits
// would have given, since best-first growth does not look ahead (the prefix property of section 5.1
// of the specification). One growth serves all candidates of a round.
type growth struct {
	full      *tree.Tree // split s made the nodes 2s+1 and 2s+2
	parent    []int32    // slot that split s divided
	node      []int32    // node that split s divided
	low, high []float64  // what monotone constraints leave for each node's value
	slot      []int32    // of each row after the last split, sampled or not
}

func (g *growth) splits() int { return len(g.parent) }

// collect reads a growth off the grower. Rows that were not sampled are sent down
// the tree. The memory of an earlier growth, which is not needed any more, is used again;
// nil is none.
func collect(g *tree.Grower, rows int, in []bool, workers int, earlier *growth) *growth {
	n := g.Splits()
	nodes := g.Nodes()
	out := &growth{full: g.Tree(n), parent: make([]int32, n), node: make([]int32, n),
		low: make([]float64, 2*n+1), high: make([]float64, 2*n+1)}
	if earlier != nil {
		out.slot = earlier.slot // every row's is written
	} else {
		out.slot = make([]int32, rows)
	}
	at := make([]int32, 2*n+1) // slot of each node
	for s := range n {
		p := nodes[2*s+1].Parent
		out.node[s], out.parent[s] = p, at[p]
		at[2*s+1], at[2*s+2] = at[p], int32(s+1)
	}
	for i := range nodes {
		out.low[i], out.high[i] = nodes[i].Low, nodes[i].High
	}
	leaves := g.Leaves(nil, n)
	lists := make([][]int32, len(leaves))
	for j, l := range leaves {
		lists[j] = g.Rows(int(l))
	}
	run.Jobs(workers, len(leaves), func(_, j int) {
		slot := at[leaves[j]]
		for _, i := range lists[j] {
			out.slot[i] = slot
		}
	})
	if in != nil {
		run.Blocks(workers, rows, sumBlock, func(_, from, to int) {
			room := routings.Get().(*routing)
			defer routings.Put(room)
			list := room.rows[:0]
			for i := from; i < to; i++ {
				if !in[i] {
					list = append(list, int32(i))
				}
			}
			leaf := room.leaves[:len(list)]
			g.RouteRows(leaf, list, n)
			for k, i := range list {
				out.slot[i] = at[leaf[k]]
			}
		})
	}
	return out
}

// routing is room for the rows of a block that are sent down a tree.
type routing struct{ rows, leaves [sumBlock]int32 }

var routings = sync.Pool{New: func() any { return new(routing) }}

// fold returns, for the tree of the first n splits, the leaf into which each slot
// of the whole growth falls.
func (g *growth) fold(n int) []int32 {
	to := make([]int32, g.splits()+1)
	for s, p := range g.parent {
		if s < n {
			to[s+1] = int32(s + 1)
		} else {
			to[s+1] = to[p]
		}
	}
	return to
}

// leafNodes returns the node that is in each slot after n splits.
func (g *growth) leafNodes(n int) []int32 {
	at := make([]int32, n+1)
	for s := range n {
		at[g.parent[s]], at[s+1] = int32(2*s+1), int32(2*s+2)
	}
	return at
}

// tree is the tree of the first n splits with the given values by slot.
func (g *growth) tree(n int, leaves []float64) *tree.Tree {
	size := 2*n + 1
	f := g.full
	t := &tree.Tree{
		Feature: slices.Clone(f.Feature[:size]), Threshold: slices.Clone(f.Threshold[:size]),
		Left: slices.Clone(f.Left[:size]), Right: slices.Clone(f.Right[:size]), Flags: slices.Clone(f.Flags[:size]),
		Value: make([]float64, size), Gain: slices.Clone(f.Gain[:size]), Cover: slices.Clone(f.Cover[:size]),
		Count: slices.Clone(f.Count[:size]),
	}
	for i := range size {
		if int(t.Left[i]) >= size {
			t.Feature[i], t.Left[i], t.Right[i], t.Flags[i], t.Gain[i], t.Threshold[i] = -1, -1, -1, 0, 0, 0
		} else if f.Set != nil && f.Set[i] >= 0 && t.Left[i] >= 0 {
			if t.Set == nil {
				t.Set = slices.Repeat([]int32{-1}, size)
			}
			t.Set[i] = int32(len(t.Sets))
			t.Sets = append(t.Sets, f.Sets[f.Set[i]])
		}
	}
	for slot, at := range g.leafNodes(n) {
		t.Value[at] = leaves[slot]
	}
	return t
}

// leafSums are sums over the rows of each slot, of weights v, v g and v h.
type leafSums struct{ n, g, h []float64 }

// sumBlock rows are summed together; blocks are then added in order, so that the
// result does not depend on the number of workers.
const sumBlock = 1 << 14

// sums adds up the rows' numbers by slot; only rows with in[i] count, all when
// it is nil.
func (g *growth) sums(workers int, w, first, second []float64, in []bool) leafSums {
	leaves, m := g.splits()+1, len(g.slot)
	blocks := max((m+sumBlock-1)/sumBlock, 1)
	part := make([]float64, blocks*3*leaves)
	run.Blocks(workers, m, sumBlock, func(_, from, to int) {
		p := part[from/sumBlock*3*leaves:]
		n, sg, sh := p[:leaves], p[leaves:2*leaves], p[2*leaves:3*leaves]
		for i := from; i < to; i++ {
			if in != nil && !in[i] {
				continue
			}
			l, v := g.slot[i], 1.0
			if w != nil {
				v = w[i]
			}
			n[l] += v
			sg[l] += v * first[i]
			if second != nil {
				sh[l] += v * second[i]
			}
		}
	})
	out := part[:3*leaves]
	for b := 1; b < blocks; b++ {
		for j, v := range part[b*3*leaves : (b+1)*3*leaves] {
			out[j] += v
		}
	}
	return leafSums{out[:leaves], out[leaves : 2*leaves], out[2*leaves:]}
}

// fold returns the sums of the tree of the first n splits.
func (s leafSums) fold(to []int32, n int) leafSums {
	out := leafSums{make([]float64, n+1), make([]float64, n+1), make([]float64, n+1)}
	for l, t := range to {
		out.n[t] += s.n[l]
		out.g[t] += s.g[l]
		out.h[t] += s.h[l]
	}
	return out
}
