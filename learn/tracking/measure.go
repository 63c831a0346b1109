package tracking

import (
	"cmp"
	"fmt"
	"slices"
)

// Graph is tracks as a graph: vertices of each frame, and edges to later frames.
type Graph struct {
	Vertices []int // in each frame
	Edges    []Edge
}

// Graph returns the true graph of a movie.
func (m *Movie) Graph() *Graph { return &Graph{m.sizes(), m.Edges} }

func (m *Movie) sizes() []int {
	out := make([]int, len(m.Frames))
	for f := range m.Frames {
		out[f] = len(m.Frames[f])
	}
	return out
}

// Matching says which reference vertex each computed one shows: Match[f][i] lists those of frame f
// that computed vertex i matches. By the Cell Tracking Challenge, a computed object matches
// the reference objects more than half of whose area it covers.
type Matching [][][]int

// Same is the matching of graphs over the same vertices.
func Same(g *Graph) Matching {
	out := make(Matching, len(g.Vertices))
	for f, n := range g.Vertices {
		for i := range n {
			out[f] = append(out[f], []int{i})
		}
	}
	return out
}

// Weights are the costs of the operations that turn a computed graph into the reference.
type Weights struct {
	Split, MissedVertex, FalseVertex float64 // vertices
	FalseEdge, MissedEdge, WrongEdge float64 // edges; wrong ones have another meaning
}

// Challenge are the weights that the Cell Tracking Challenge publishes.
var Challenge = Weights{5, 10, 1, 1, 1.5, 1}

// Counts is how a computed graph differs from a reference, by the acyclic oriented graph matching
// of P. Matula, M. Maška, D. Sorokin, P. Matula, C. Ortiz-de-Solórzano and M. Kozubek, "Cell
// tracking accuracy measurement based on comparison of acyclic oriented graphs", PLoS ONE 10, 2015.
type Counts struct {
	Vertices, Edges int // of the reference
	// Splits counts computed vertices that match several of the reference, once for each beyond the
	// first. Missed and False count those of the reference that nothing matches, and those computed
	// that match nothing.
	Splits, MissedVertices, FalseVertices int
	// Found edges join vertices that match one reference vertex each. False edges join such
	// vertices without an edge of the reference. Wrong edges are a parent's where the reference's
	// is not, or the other way round.
	Found, FalseEdges, MissedEdges, WrongEdges int
	// FalseJoins are the false edges from a reference vertex without successor to one without
	// predecessor. In movies whose parents are not annotated they may well be divisions.
	FalseJoins int
	// Divisions of the reference, those of them found within the tolerance, and computed ones that
	// are none.
	Divisions, DivisionsFound, DivisionsFalse int
}

// Add adds the counts of another graph.
func (c *Counts) Add(o *Counts) {
	a, b := c.fields(), o.fields()
	for i := range a {
		*a[i] += *b[i]
	}
}

func (c *Counts) fields() []*int {
	return []*int{&c.Vertices, &c.Edges, &c.Splits, &c.MissedVertices, &c.FalseVertices, &c.Found, &c.FalseEdges,
		&c.MissedEdges, &c.WrongEdges, &c.FalseJoins, &c.Divisions, &c.DivisionsFound, &c.DivisionsFalse}
}

// vertexCost and edgeCost are what it costs to mend vertices and edges.
func (c *Counts) vertexCost(w *Weights) float64 {
	return w.Split*float64(c.Splits) + w.MissedVertex*float64(c.MissedVertices) +
		w.FalseVertex*float64(c.FalseVertices)
}

func (c *Counts) edgeCost(w *Weights) float64 {
	return w.FalseEdge*float64(c.FalseEdges) + w.MissedEdge*float64(c.MissedEdges) +
		w.WrongEdge*float64(c.WrongEdges)
}

// accuracy is 1 minus a cost over that of making everything anew, 0 at least.
func accuracy(cost, empty float64) float64 {
	if empty == 0 {
		return 1
	}
	return 1 - min(cost, empty)/empty
}

// TRA returns the tracking accuracy: 1 is perfect, 0 no better than an empty result.
func (c *Counts) TRA(w Weights) float64 {
	return accuracy(c.vertexCost(&w)+c.edgeCost(&w),
		w.MissedVertex*float64(c.Vertices)+w.MissedEdge*float64(c.Edges))
}

// DET returns the accuracy of vertices alone.
func (c *Counts) DET(w Weights) float64 {
	return accuracy(c.vertexCost(&w), w.MissedVertex*float64(c.Vertices))
}

// LNK returns the accuracy of edges alone.
func (c *Counts) LNK(w Weights) float64 {
	return accuracy(c.edgeCost(&w), w.MissedEdge*float64(c.Edges))
}

// DivisionF1 returns the harmonic mean of precision and recall of divisions; 1 where there are
// none and none was found.
func (c *Counts) DivisionF1() float64 {
	if c.Divisions+c.DivisionsFound+c.DivisionsFalse == 0 {
		return 1
	}
	return 2 * float64(c.DivisionsFound) / float64(c.Divisions+c.DivisionsFound+c.DivisionsFalse)
}

// Compare counts how a computed graph differs from the reference. A division is found where a
// computed one has the same mother and daughters at most tolerance frames earlier or later. O((V +
// E) log E).
func Compare(computed, reference *Graph, match Matching, tolerance int) (*Counts, error) {
	c := &Counts{Edges: len(reference.Edges)}
	if len(match) != len(computed.Vertices) || len(reference.Vertices) != len(computed.Vertices) {
		return nil, fmt.Errorf("tracking: graphs of %d and %d frames, matched in %d", len(computed.Vertices),
			len(reference.Vertices), len(match))
	}
	to := map[Node]Node{} // computed vertices that match one reference vertex
	for f := range match {
		shown := make([]int, reference.Vertices[f])
		for i, list := range match[f] {
			for _, r := range list {
				shown[r]++
			}
			switch {
			case len(list) == 0:
				c.FalseVertices++
			case len(list) == 1:
				to[Node{f, i}] = Node{f, list[0]}
			default:
				c.Splits += len(list) - 1
			}
		}
		c.Vertices += len(shown)
		for _, n := range shown {
			if n == 0 {
				c.MissedVertices++
			}
		}
	}
	type ends [2]Node
	real := make(map[ends]bool, len(reference.Edges)) // whether it is a parent's
	out, in := map[Node]bool{}, map[Node]bool{}
	for _, e := range reference.Edges {
		real[ends{e.From, e.To}] = e.Parent
		out[e.From], in[e.To] = true, true
	}
	if len(real) != len(reference.Edges) {
		return nil, fmt.Errorf("tracking: the reference has an edge twice")
	}
	found := map[ends]bool{}
	for _, e := range computed.Edges {
		a, ok := to[e.From]
		b, ok2 := to[e.To]
		if !ok || !ok2 {
			continue // goes with its vertex
		}
		parent, ok := real[ends{a, b}]
		switch {
		case !ok:
			c.FalseEdges++
			if !out[a] && !in[b] {
				c.FalseJoins++
			}
			continue
		case parent != e.Parent:
			c.WrongEdges++
		}
		found[ends{a, b}] = true
	}
	c.Found = len(found)
	c.MissedEdges = len(reference.Edges) - c.Found
	c.divisions(computed, reference, to, tolerance)
	return c, nil
}

// families are the successors and predecessors of a graph's vertices.
type families struct {
	after, before map[Node][]Node
	split         map[Node]bool // vertices whose successors are parts of them
}

func (g *Graph) families() *families {
	f := &families{map[Node][]Node{}, map[Node][]Node{}, map[Node]bool{}}
	for _, e := range g.Edges {
		f.after[e.From] = append(f.after[e.From], e.To)
		f.before[e.To] = append(f.before[e.To], e.From)
		if e.Split {
			f.split[e.From] = true
		}
	}
	return f
}

// mothers returns the vertices that divide: with two successors or more that are no parts, sorted.
func (f *families) mothers() []Node {
	var out []Node
	for v, list := range f.after {
		if len(list) >= 2 && !f.split[v] {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a,
		b Node) int {
		return cmp.Or(cmp.Compare(a.Frame, b.Frame), cmp.Compare(a.Index, b.Index))
	})
	return out
}

// along follows single successors, or predecessors, to a frame; false where they end or fork.
func along(next map[Node][]Node, v Node, frame int) (Node, bool) {
	for v.Frame != frame {
		list := next[v]
		if len(list) != 1 || (list[0].Frame > v.Frame) != (frame > v.Frame) ||
			(list[0].Frame > frame) != (v.Frame > frame) && list[0].Frame != frame {
			return v, false
		}
		v = list[0]
	}
	return v, true
}

// divisions counts those found: first at the same frame, then each at the nearest one that is free.
func (c *Counts) divisions(computed, reference *Graph, to map[Node]Node, tolerance int) {
	got, want := computed.families(), reference.families()
	mothers := got.mothers()
	used := make([]bool, len(mothers))
	truth := want.mothers()
	c.Divisions = len(truth)
	done := make([]bool, len(truth))
	for shift := 0; shift <= tolerance; shift++ {
		for k, r := range truth {
			for i := 0; i < len(mothers) && !done[k]; i++ {
				m := mothers[i]
				if d := m.Frame - r.Frame; used[i] || d != shift && d != -shift {
					continue
				}
				if sameDivision(m, r, got, want, to) {
					used[i], done[k] = true, true
					c.DivisionsFound++
				}
			}
		}
	}
	for _, u := range used {
		if !u {
			c.DivisionsFalse++
		}
	}
}

// sameDivision reports whether the computed division of m is that of r. Of the two frames of
// mothers the earlier one has the mother, and the frame after the later one the daughters: both
// must match.
func sameDivision(m, r Node, got, want *families, to map[Node]Node) bool {
	early, late := min(m.Frame, r.Frame), max(m.Frame, r.Frame)
	a, ok := along(got.before, m, early)
	b, ok2 := along(want.before, r, early)
	if x, matched := to[a]; !ok || !ok2 || !matched || x != b {
		return false
	}
	var ours, theirs []Node
	for _, d := range got.after[m] {
		if v, ok := along(got.after, d, late+1); ok {
			if x, ok := to[v]; ok {
				ours = append(ours, x)
			}
		}
	}
	for _, d := range want.after[r] {
		if v, ok := along(want.after, d, late+1); ok {
			theirs = append(theirs, v)
		}
	}
	same := 0
	for _, v := range ours {
		if slices.Contains(theirs, v) {
			same++
		}
	}
	return same >= 2
}

// Reference returns the graph of the cells of a simulation, with how a movie's detections
// match it. A detection matches a cell if it covers more than half of its area.
func (c *Cells) Reference(m *Movie) (*Graph, Matching) {
	g, match := &Graph{}, make(Matching, len(m.Frames))
	last := map[int]int{} // id: place in the frame before
	for f, cells := range c.Frames {
		g.Vertices = append(g.Vertices, len(cells))
		match[f] = make([][]int, len(m.Frames[f]))
		now := map[int]int{}
		for i := range cells {
			x := &cells[i]
			now[x.ID] = i
			for k, d := range x.Seen {
				if x.Share[k] > 0.5 {
					match[f][d] = append(match[f][d], i)
				}
			}
			if j, ok := last[x.ID]; ok {
				g.Edges = append(g.Edges, Edge{From: Node{f - 1, j}, To: Node{f, i}})
			} else if mother := c.Mother[x.ID]; mother >= 0 {
				if j, ok := last[mother]; ok {
					g.Edges = append(g.Edges, Edge{From: Node{f - 1, j}, To: Node{f, i}, Parent: true})
				}
			}
		}
		last = now
	}
	slices.SortFunc(g.Edges, compareEdges)
	return g, match
}
