package layered

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

var options = &Options{LayerSep: 20, NodeSep: 18, EdgeSep: 8, Vertices: 4000}

// random draws a graph with loops, cycles and parts that nothing connects.
func random(rng *rand.Rand, n, m int) *Graph {
	g := &Graph{Start: rng.IntN(n)}
	for range n {
		x := Node{Radius: 17 + 7*rng.Float64()}
		if rng.IntN(3) == 0 {
			x.HalfAlong = 30 * rng.Float64()
		}
		if rng.IntN(3) == 0 {
			x.Loop = Loop{Rise: 19, Along: 10 + 90*rng.Float64(), Across: 20 + 80*rng.Float64(), Less: rng.IntN(2) == 0}
		}
		g.Nodes = append(g.Nodes, x)
	}
	seen := map[[2]int]bool{}
	for range m {
		e := Edge{From: rng.IntN(n), To: rng.IntN(n), Along: 10 + 90*rng.Float64(), Less: 20 + 40*rng.Float64(), More: 2}
		if k := [2]int{e.From, e.To}; e.From != e.To && !seen[k] {
			seen[k] = true
			g.Edges = append(g.Edges, e)
		}
	}
	return g
}

type box struct{ a0, a1, c0, c1 float64 }

func (b box) meets(d box) bool { return b.a0 < d.a1 && d.a0 < b.a1 && b.c0 < d.c1 && d.c0 < b.c1 }

func bezier(p []Point, t float64) Point {
	f := func(a, b, c, d float64) float64 {
		u := 1 - t
		return u*u*u*a + 3*u*u*t*b + 3*u*t*t*c + t*t*t*d
	}
	return Point{f(p[0].Along, p[1].Along, p[2].Along, p[3].Along), f(p[0].Across, p[1].Across, p[2].Across, p[3].Across)}
}

// inside reports whether p is in the shape of x at c, by more than a little.
func (x *Node) inside(c, p Point) bool {
	return math.Hypot(max(math.Abs(p.Along-c.Along)-x.HalfAlong, 0), max(math.Abs(p.Across-c.Across)-x.HalfAcross, 0)) < x.Radius-0.6
}

// What no drawing may do: boxes of nodes and labels overlap, a curve lead through a label, or
// through a node, or end anywhere but at the border of its own.
func TestNothingOverlaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 400 {
		n := 1 + rng.IntN(14)
		g := random(rng, n, rng.IntN(2*n+1))
		l, err := Lay(g, options)
		if err != nil {
			t.Fatal(err)
		}
		var boxes, labels []box
		for q, c := range l.Nodes {
			v := nodeVertex(&g.Nodes[q], 0)
			boxes = append(boxes, box{c.Along - v.along, c.Along + v.along, c.Across - v.less, c.Across + v.more})
			if x := &g.Nodes[q]; x.Loop.Rise > 0 { // the label of the loop
				top := x.HalfAcross + x.Radius + x.Loop.Rise
				b := box{c.Along - x.Loop.Along/2, c.Along + x.Loop.Along/2, c.Across + top, c.Across + top + x.Loop.Across}
				if x.Loop.Less {
					b.c0, b.c1 = c.Across-top-x.Loop.Across, c.Across-top
				}
				labels = append(labels, b)
			}
		}
		for i, e := range g.Edges {
			c := l.Edges[i].Label
			b := box{c.Along - e.Along/2, c.Along + e.Along/2, c.Across - e.Less, c.Across + e.More}
			boxes = append(boxes, b)
			b.c1 = c.Across - 1
			labels = append(labels, b)
		}
		for i := range boxes {
			for j := range i {
				if boxes[i].meets(boxes[j]) {
					t.Fatalf("trial %d: boxes %d and %d overlap: %v %v", trial, j, i, boxes[j], boxes[i])
				}
			}
		}
		for i, e := range g.Edges {
			c := l.Edges[i].Curve
			for k := 0; k+3 < len(c); k += 3 {
				for s := range 33 {
					p := bezier(c[k:], float64(s)/32)
					for q := range g.Nodes {
						if g.Nodes[q].inside(l.Nodes[q], p) {
							t.Fatalf("trial %d: edge %d→%d runs through node %d at %v", trial, e.From, e.To, q, p)
						}
					}
					for j, b := range labels {
						if b.meets(box{p.Along, p.Along, p.Across, p.Across}) {
							t.Fatalf("trial %d: edge %d→%d runs through label %d at %v", trial, e.From, e.To, j, p)
						}
					}
				}
			}
			for end, q := range map[int]int{0: e.From, len(c) - 1: e.To} {
				near := g.Nodes[q]
				near.Radius += 1.2
				if !near.inside(l.Nodes[q], c[end]) {
					t.Fatalf("trial %d: edge %d→%d does not end at node %d", trial, e.From, e.To, q)
				}
			}
		}
		again, err := Lay(g, options)
		if err != nil || !reflect.DeepEqual(l, again) {
			t.Fatalf("trial %d: another layout for the same graph", trial)
		}
	}
}

// The simplex finds the least sum, which enumeration tells for small numbers.
func TestSolve(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for trial := range 300 {
		n := 2 + rng.IntN(4)
		var cs []constraint
		for v := 1; v < n; v++ { // connected
			cs = append(cs, constraint{int32(rng.IntN(v)), int32(v), rng.IntN(4), rng.IntN(3)})
		}
		for range rng.IntN(6) {
			if a, b := rng.IntN(n), rng.IntN(n); a < b {
				cs = append(cs, constraint{int32(a), int32(b), rng.IntN(4), rng.IntN(3)})
			}
		}
		sum := func(at []int) (total int, ok bool) {
			for _, c := range cs {
				d := at[c.head] - at[c.tail]
				if d < c.length {
					return 0, false
				}
				total += c.weight * d
			}
			return total, true
		}
		want := math.MaxInt
		at := make([]int, n)
		for code := range int(math.Pow(9, float64(n))) {
			for v := range at {
				at[v] = code % 9
				code /= 9
			}
			if x, ok := sum(at); ok {
				want = min(want, x)
			}
		}
		for _, balanced := range []bool{false, true} {
			got, ok := sum(solve(&clock{}, n, cs, balanced, maxWork))
			if !ok || got != want {
				t.Fatalf("trial %d: sum %d (feasible %v), want %d: %v", trial, got, ok, want, cs)
			}
		}
	}
}

// Crossings are those that a comparison of all pairs finds; a tree has none.
func TestOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		n := 2 + rng.IntN(12)
		l := &layout{Graph: random(rng, n, 2*n), Options: options}
		if err := l.assignLayers(); err != nil {
			t.Fatal(err)
		}
		l.firstOrder()
		before := l.crossings()
		if want := l.allCrossings(); before != want {
			t.Fatalf("%d crossings, want %d", before, want)
		}
		for _, layer := range l.layers {
			clear(layer[:0])
		}
		for k := range l.layers {
			l.layers[k] = nil
		}
		l.orderLayers()
		if after := l.crossings(); after > before {
			t.Fatalf("%d crossings after ordering, %d before", after, before)
		}
		tree := &Graph{Nodes: make([]Node, n)}
		for v := 1; v < n; v++ {
			tree.Edges = append(tree.Edges, Edge{From: rng.IntN(v), To: v})
		}
		l = &layout{Graph: tree, Options: options}
		if err := l.assignLayers(); err != nil {
			t.Fatal(err)
		}
		if l.orderLayers(); l.crossings() != 0 {
			t.Fatalf("a tree with %d crossings", l.crossings())
		}
	}
}

func (l *layout) allCrossings() int {
	n := 0
	for _, layer := range l.layers {
		for i, v := range layer {
			for _, w := range layer[:i] {
				for _, a := range l.vertices[v].down {
					for _, b := range l.vertices[w].down {
						if l.vertices[a].pos < l.vertices[b].pos {
							n++
						}
					}
				}
			}
		}
	}
	return n
}

// A graph of any size is laid out: what takes part is bounded by its size, not by the lengths of its
// edges, and still nothing lies on anything else but long edges.
func TestMany(t *testing.T) {
	for _, size := range [][2]int{{100, 300}, {500, 1500}, {2500, 7500}, {100, 9000}, {20, 380}, {12_000, 11_999}} {
		rng := rand.New(rand.NewPCG(11, uint64(size[0])))
		g := random(rng, size[0], size[1])
		if size[1] < size[0] { // a long line
			g.Start, g.Edges = 0, nil
			for q := range size[1] {
				g.Edges = append(g.Edges, Edge{From: q, To: q + 1, Along: 20, Less: 20, More: 2})
			}
			g.Edges = append(g.Edges, Edge{From: 0, To: size[1], Along: 20, Less: 20, More: 2})
		}
		o := *options
		o.Vertices = 0
		l := &layout{Graph: g, Options: &o}
		if err := l.assignLayers(); err != nil {
			t.Fatal(err)
		}
		if n, most := len(l.vertices), max(manyVertices, len(g.Nodes)+3*len(g.Edges))+3*len(g.Edges); n > most {
			t.Errorf("%v: %d vertices, want at most %d", size, n, most)
		}
		l.orderLayers()
		l.place()
		out := l.draw()
		byLayer := map[int][]box{}
		for v := range l.vertices {
			x := &l.vertices[v]
			b := box{l.middle[x.layer] - x.along, l.middle[x.layer] + x.along, x.at - x.less, x.at + x.more}
			for _, other := range byLayer[x.layer] {
				if b.meets(other) {
					t.Fatalf("%v: boxes overlap in layer %d: %v %v", size, x.layer, b, other)
				}
			}
			byLayer[x.layer] = append(byLayer[x.layer], b)
			if h := l.half[x.layer]; x.along > h {
				t.Fatalf("%v: a box is wider than its layer", size)
			}
		}
		for i, e := range g.Edges {
			c := out.Edges[i].Curve
			for end, q := range map[int]int{0: e.From, len(c) - 1: e.To} {
				near := g.Nodes[q]
				near.Radius += 1.2
				if !near.inside(out.Nodes[q], c[end]) {
					t.Fatalf("%v: edge %d→%d ends at %v, off node %d", size, e.From, e.To, c[end], q)
				}
			}
		}
	}
}

func TestBound(t *testing.T) {
	g := random(rand.New(rand.NewPCG(7, 8)), 30, 60)
	_, err := Lay(g, &Options{LayerSep: 1, NodeSep: 1, EdgeSep: 1, Vertices: 40})
	var size *SizeError
	if !errors.As(err, &size) || size.Bound != 40 {
		t.Fatalf("error %v, want a SizeError", err)
	}
	if l, err := Lay(&Graph{Start: -1}, options); err != nil || len(l.Nodes) != 0 {
		t.Fatalf("the empty graph: %v, %v", l, err)
	}
}

func BenchmarkLay(b *testing.B) {
	for _, n := range []int{20, 200, 600} {
		g := random(rand.New(rand.NewPCG(9, 9)), n, n+n/4)
		o := *options
		o.Vertices = 1 << 20
		b.Run("", func(b *testing.B) {
			for b.Loop() {
				if _, err := Lay(g, &o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
