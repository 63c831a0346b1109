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

// assignLayers gives nodes the even layers, so that the layers of labels lie between
// them, and makes the chains of edges.
func (l *layout) assignLayers() error {
	l.turnBack()
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
	at := solve(n+1, cs, false)[:n]
	first := slices.Repeat([]int{math.MaxInt}, parts)
	for q, c := range of {
		first[c] = min(first[c], at[q])
	}
	count := 0
	l.vertices = make([]vertex, n)
	for q := range l.Nodes {
		l.vertices[q] = nodeVertex(&l.Nodes[q], 2*(at[q]-first[of[q]]))
		count = max(count, l.vertices[q].layer+1)
	}
	l.layers = make([][]int32, count)
	l.chain, l.labelAt = make([][]int32, len(l.Edges)), make([]int, len(l.Edges))
	for i := range l.Edges {
		a, b := l.ends(i)
		from, to := l.vertices[a].layer, l.vertices[b].layer
		if len(l.vertices)+to-from > l.Vertices {
			return &SizeError{l.Vertices}
		}
		middle := (from + to) / 2
		if middle%2 == 0 {
			middle-- // an odd layer, as those of labels are
		}
		last := int32(a)
		for layer := from + 1; layer < to; layer++ {
			v := vertex{layer: layer}
			if layer == middle {
				e := &l.Edges[i]
				v.along, v.less, v.more = e.Along/2, e.Less, e.More
				l.labelAt[i] = len(l.chain[i])
			}
			last = l.follow(last, v)
			l.chain[i] = append(l.chain[i], last)
		}
		l.connect(last, int32(b))
	}
	return nil
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

// follow adds v after a.
func (l *layout) follow(a int32, v vertex) int32 {
	b := int32(len(l.vertices))
	l.vertices = append(l.vertices, v)
	l.connect(a, b)
	return b
}

func (l *layout) connect(a, b int32) {
	l.vertices[a].down = append(l.vertices[a].down, b)
	l.vertices[b].up = append(l.vertices[b].up, a)
}
