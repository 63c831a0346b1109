package layered

import (
	"math"
	"slices"
)

// ends returns the nodes of edge i in the order in which it is laid out.
func (l *layout) ends(i int) (first, second int) {
	e := &l.Edges[i]
	if l.turned[i] {
		return e.To, e.From
	}
	return e.From, e.To
}

// turnBack finds edges that close cycles in a depth-first search from the start, which so
// keeps its place before all that it reaches.
func (l *layout) turnBack() {
	out := make([][]int32, len(l.Nodes))
	for i, e := range l.Edges {
		out[e.From] = append(out[e.From], int32(i))
	}
	l.turned = make([]bool, len(l.Edges))
	const (
		unseen = iota
		open
		done
	)
	state := make([]uint8, len(l.Nodes))
	type frame struct{ q, i int }
	var path []frame
	for k := -1; k < len(l.Nodes); k++ {
		root := k
		if k < 0 {
			root = l.Start
		}
		if root < 0 || state[root] != unseen {
			continue
		}
		state[root] = open
		path = append(path, frame{q: root})
		for len(path) > 0 {
			f := &path[len(path)-1]
			if f.i == len(out[f.q]) {
				state[f.q] = done
				path = path[:len(path)-1]
				continue
			}
			i := out[f.q][f.i]
			f.i++
			if !l.spend(1) {
				return
			}
			switch to := l.Edges[i].To; state[to] {
			case open:
				l.turned[i] = true
			case unseen:
				state[to] = open
				path = append(path, frame{q: to})
			}
		}
	}
}

// components numbers the parts of the graph that no edge connects.
func (l *layout) components() (of []int, n int) {
	of = make([]int, len(l.Nodes))
	for i := range of {
		of[i] = i
	}
	find := func(i int) int {
		for of[i] != i {
			of[i] = of[of[i]]
			i = of[i]
		}
		return i
	}
	for _, e := range l.Edges {
		a, b := find(e.From), find(e.To)
		of[max(a, b)] = min(a, b)
	}
	number := make([]int, len(of))
	for i := range of {
		if r := find(i); r == i { // roots are the least of their part, so they come first
			number[i] = n
			n++
		} else {
			number[i] = number[r]
		}
	}
	return number, n
}

// fine is how many vertices are laid out with all care. For more the layers are made by another rule, which
// makes fewer of them, and long edges are loose: what takes part in the layout is bounded by
// manyVertices, or a few times the edges, and not by the edges' lengths.
const fine, manyVertices = 4000, 20_000

// assignLayers gives nodes the even layers, so that the layers of labels lie between
// them, and makes the chains of edges.
func (l *layout) assignLayers() error {
	l.turnBack()
	at := l.nodeLayers()
	if l.err == nil && l.chained(at) > fine {
		l.turnFar()
		at = l.nodeLayers()
	}
	if l.err != nil {
		return l.err
	}
	n := len(l.Nodes)
	count := 0
	l.vertices = make([]vertex, n)
	for q := range l.Nodes {
		l.vertices[q] = nodeVertex(&l.Nodes[q], at[q])
		count = max(count, l.vertices[q].layer+1)
	}
	l.layers = make([][]int32, count)
	longest := l.longest(at)
	l.chain, l.labelAt = make([][]int32, len(l.Edges)), make([]int, len(l.Edges))
	for i := range l.Edges {
		l.makeChain(i, longest)
		if l.Vertices > 0 && len(l.vertices) > l.Vertices {
			return &SizeError{l.Vertices}
		}
		if !l.spend(1 + len(l.chain[i])) {
			break
		}
	}
	return l.err
}

// nodeLayers returns layers, all even and each part's from 0 on, of least length of edges in all
// as far as the steps for that suffice; nothing when the context has ended.
func (l *layout) nodeLayers() []int {
	if l.err != nil {
		return nil
	}
	of, parts := l.components()
	n := len(l.Nodes)
	var cs []constraint
	for i := range l.Edges {
		a, b := l.ends(i)
		cs = append(cs, constraint{int32(a), int32(b), 1, 1})
	}
	hung := make([]bool, parts)
	for q, c := range of { // all parts hang on one vertex more
		if !hung[c] {
			hung[c] = true
			cs = append(cs, constraint{int32(n), int32(q), 0, 0})
		}
	}
	most := maxWork
	if l.large() {
		most = layerWork / 2 // there may be layers twice
	}
	at := solve(&l.clock, n+1, cs, false, most)
	if l.err != nil {
		return nil
	}
	at = at[:n]
	first := slices.Repeat([]int{math.MaxInt}, parts)
	for q, c := range of {
		first[c] = min(first[c], at[q])
	}
	for q, c := range of {
		at[q] = 2 * (at[q] - first[c])
	}
	return at
}

// chained returns how many vertices there are with those of all chains.
func (l *layout) chained(at []int) int {
	sum := len(l.Nodes)
	for i := range l.Edges {
		a, b := l.ends(i)
		sum += at[b] - at[a] - 1
	}
	return sum
}

// turnFar turns the edges that lead back in a breadth-first search from the start. Beside those
// that close cycles these are others, so that a picture has more arcs against its direction; but no way
// through a large graph without order is then long, where a depth-first search goes
// through most of its nodes one after the other.
func (l *layout) turnFar() {
	out := make([][]int32, len(l.Nodes))
	for _, e := range l.Edges {
		out[e.From] = append(out[e.From], int32(e.To))
	}
	place := make([]int, len(l.Nodes)) // in the order of the search, from 1
	var queue []int32
	visit := func(q int32) {
		if place[q] == 0 {
			queue = append(queue, q)
			place[q] = len(queue)
		}
	}
	head := 0
	for k := -1; k < len(l.Nodes); k++ {
		root := k
		if k < 0 {
			root = l.Start
		}
		if root >= 0 {
			visit(int32(root))
		}
		for ; head < len(queue) && l.spend(1+len(out[queue[head]])); head++ {
			for _, to := range out[queue[head]] {
				visit(to)
			}
		}
	}
	for i, e := range l.Edges {
		l.turned[i] = place[e.From] > place[e.To]
	}
}

// longest returns how many layers an edge may span and have a vertex in each: as many as
// leaves no more than manyVertices.
func (l *layout) longest(at []int) int {
	var spans []int // how many edges span so many layers
	for i := range l.Edges {
		a, b := l.ends(i)
		d := at[b] - at[a]
		for d >= len(spans) {
			spans = append(spans, 0)
		}
		spans[d]++
	}
	sum := len(l.Nodes)
	for d, n := range spans {
		if sum += n * (d - 1); sum > manyVertices {
			return max(d-1, leastLoose-1)
		}
	}
	return len(spans)
}

// leastLoose is the span from which on an edge can be loose: its chain then has the vertices beside
// its ends and the label, and goes on between them without regard to what else is there.
const leastLoose = 6

// makeChain makes the chain of edge i, a loose one if it spans more than longest layers.
func (l *layout) makeChain(i, longest int) {
	a, b := l.ends(i)
	from, to := l.vertices[a].layer, l.vertices[b].layer
	middle := (from + to) / 2
	if middle%2 == 0 {
		middle-- // an odd layer, as those of labels are
	}
	loose := to-from > longest
	last := int32(a)
	for layer := from + 1; layer < to; layer++ {
		if loose && layer != from+1 && layer != middle && layer != to-1 {
			continue
		}
		v := vertex{layer: layer}
		if layer == middle {
			e := &l.Edges[i]
			v.along, v.less, v.more = e.Along/2, e.Less, e.More
			l.labelAt[i] = len(l.chain[i])
		}
		next := int32(len(l.vertices))
		l.vertices = append(l.vertices, v)
		if !loose || layer == from+1 {
			l.connect(last, next)
		} else {
			l.loose = append(l.loose, [2]int32{last, next})
		}
		last = next
		l.chain[i] = append(l.chain[i], last)
	}
	l.connect(last, int32(b))
}

func nodeVertex(x *Node, layer int) vertex {
	v := vertex{layer: layer, node: true}
	v.along = max(x.HalfAlong+x.Radius, x.Loop.Along/2)
	v.less = x.HalfAcross + x.Radius
	v.more = v.less
	if x.Loop.Rise > 0 {
		if x.Loop.Less {
			v.less += x.Loop.Rise + x.Loop.Across
		} else {
			v.more += x.Loop.Rise + x.Loop.Across
		}
	}
	return v
}

func (l *layout) connect(a, b int32) {
	l.vertices[a].down = append(l.vertices[a].down, b)
	l.vertices[b].up = append(l.vertices[b].up, a)
}
