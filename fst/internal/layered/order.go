package layered

import (
	"cmp"
	"math/bits"
	"slices"
)

// orderWork bounds the steps of orderLayers; of those for large graphs some are for each vertex.
const orderWork, orderWorkMany, orderWorkEach = 60_000_000, 6_000_000, 20

// orderLayers orders the vertices of each layer so that few edges cross: it starts
// with the order in which a depth-first search meets them, which has no crossings for trees,
// then goes over the layers forth and back, sorts each by the medians of neighbours in the
// one before, and exchanges neighbours where that helps. The best order found stays.
func (l *layout) orderLayers() {
	if l.firstOrder(); l.err != nil {
		return
	}
	best := l.positions()
	fewest := l.crossings()
	work, most := 0, orderWork
	if l.large() {
		most = orderWorkMany + orderWorkEach*len(l.vertices)
	}
	for round, since := 0, 0; fewest > 0 && since < 8 && round < 48 && work < most && l.err == nil; round++ {
		for i := range l.layers {
			k := i
			if round%2 == 1 {
				k = len(l.layers) - 1 - i
			}
			work += l.byMedian(k, round%2 == 0, round%4 < 2)
		}
		work += l.transpose(most - work)
		if len(l.vertices) > fine {
			work += 16 * len(l.vertices) // the count of crossings
		}
		since++
		if n := l.crossings(); n < fewest {
			fewest, best, since = n, l.positions(), 0
		}
	}
	for v, p := range best {
		l.vertices[v].pos = p
	}
	for _, layer := range l.layers {
		slices.SortFunc(layer, func(a, b int32) int { return cmp.Compare(best[a], best[b]) })
	}
}

func (l *layout) positions() []int {
	p := make([]int, len(l.vertices))
	for v := range l.vertices {
		p[v] = l.vertices[v].pos
	}
	return p
}

func (l *layout) settle(layer []int32) {
	for p, v := range layer {
		l.vertices[v].pos = p
	}
}

func (l *layout) firstOrder() {
	seen := make([]bool, len(l.vertices))
	var stack []int32
	visit := func(root int) {
		if root < 0 || seen[root] {
			return
		}
		stack = append(stack, int32(root))
		for len(stack) > 0 {
			v := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[v] {
				continue
			}
			seen[v] = true
			x := &l.vertices[v]
			if !l.spend(1 + len(x.down)) {
				return
			}
			x.pos = len(l.layers[x.layer])
			l.layers[x.layer] = append(l.layers[x.layer], v)
			for i := len(x.down) - 1; i >= 0; i-- {
				if !seen[x.down[i]] {
					stack = append(stack, x.down[i])
				}
			}
		}
	}
	visit(l.Start)
	for v := range l.Nodes { // what nothing leads to, first
		if len(l.vertices[v].up) == 0 {
			visit(v)
		}
	}
	for v := range l.vertices {
		visit(v)
	}
}

// byMedian sorts a layer by the medians of its vertices' neighbours in the layer before,
// or after; those without neighbours there keep their places. Equal medians
// keep their order, or change it.
func (l *layout) byMedian(k int, before, keep bool) (work int) {
	layer := l.layers[k]
	type item struct {
		v      int32
		median float64
	}
	var items []item
	var places, at []int
	for p, v := range layer {
		near := l.vertices[v].up
		if !before {
			near = l.vertices[v].down
		}
		if len(near) == 0 {
			continue
		}
		at = at[:0]
		for _, u := range near {
			at = append(at, l.vertices[u].pos)
		}
		slices.Sort(at)
		places = append(places, p)
		items = append(items, item{v, median(at)})
		work += len(near)
	}
	if !keep {
		slices.Reverse(items)
	}
	slices.SortStableFunc(items, func(a, b item) int { return cmp.Compare(a.median, b.median) })
	for i, p := range places {
		layer[p] = items[i].v
	}
	l.settle(layer)
	work += len(layer)
	l.spend(work)
	return work
}

// median is the weighted median of Gansner and others: with an even number, the middle two
// count by how close together those on the other's side are.
func median(at []int) float64 {
	n := len(at)
	m := n / 2
	switch {
	case n%2 == 1:
		return float64(at[m])
	case n == 2:
		return float64(at[0]+at[1]) / 2
	}
	left, right := float64(at[m-1]-at[0]), float64(at[n-1]-at[m])
	if left+right == 0 {
		return float64(at[m-1]+at[m]) / 2
	}
	return (float64(at[m-1])*right + float64(at[m])*left) / (left + right)
}

// transpose exchanges neighbours in layers as long as that lessens crossings.
func (l *layout) transpose(budget int) (work int) {
	for again := true; again && work < budget; {
		again = false
		for _, layer := range l.layers {
			before := work
			for i := 0; i+1 < len(layer); i++ {
				v, w := &l.vertices[layer[i]], &l.vertices[layer[i+1]]
				gain := 0
				for _, side := range [2][2][]int32{{v.up, w.up}, {v.down, w.down}} {
					g, steps := l.exchanged(side[0], side[1])
					gain += g
					work += steps
				}
				if gain > 0 {
					layer[i], layer[i+1] = layer[i+1], layer[i]
					v.pos, w.pos = i+1, i
					again = true
				}
			}
			if !l.spend(work - before) {
				return work
			}
		}
	}
	return work
}

// exchanged returns how many crossings fewer there are on the side of neighbours a of a vertex and b of
// the next one, when the two are exchanged. In a large graph, many pairs are counted by sorting.
func (l *layout) exchanged(a, b []int32) (gain, steps int) {
	if pairs := len(a) * len(b); !l.large() || pairs < 256 {
		for _, u := range a {
			for _, v := range b {
				gain += cmp.Compare(l.vertices[u].pos, l.vertices[v].pos)
			}
		}
		return gain, 1 + pairs
	}
	first, second := l.sortedPositions(a), l.sortedPositions(b)
	less, notMore := 0, 0 // of second, than the position in first
	for _, p := range first {
		for less < len(second) && second[less] < p {
			less++
		}
		for notMore < len(second) && second[notMore] <= p {
			notMore++
		}
		gain += less - (len(second) - notMore)
	}
	n := len(a) + len(b)
	return gain, n * bits.Len(uint(n))
}

func (l *layout) sortedPositions(near []int32) []int {
	p := make([]int, len(near))
	for i, u := range near {
		p[i] = l.vertices[u].pos
	}
	slices.Sort(p)
	return p
}

// crossings counts the pairs of edges that cross, after W. Barth, M. Jünger and P. Mutzel,
// "Simple and efficient bilayer cross counting", Graph Drawing 2002: edges sorted by one end
// cross as often as their other ends are out of order, which a tree of counts tells.
func (l *layout) crossings() int {
	total := 0
	var ends, tree []int
	for k := 0; k+1 < len(l.layers); k++ {
		n := len(l.layers[k+1])
		tree = append(tree[:0], make([]int, n+1)...)
		count := 0
		for _, v := range l.layers[k] {
			ends = ends[:0]
			for _, u := range l.vertices[v].down {
				ends = append(ends, l.vertices[u].pos)
			}
			slices.Sort(ends)
			for _, p := range ends {
				total += count
				for i := p + 1; i > 0; i &= i - 1 {
					total -= tree[i]
				}
			}
			for _, p := range ends {
				for i := p + 1; i <= n; i += i & -i {
					tree[i]++
				}
				count++
			}
		}
		if !l.spend(n + count*bits.Len(uint(n))) {
			break
		}
	}
	return total
}
