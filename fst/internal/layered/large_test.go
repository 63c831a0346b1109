package layered

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
)

// shapes are graphs of n nodes that are hard in one way or another: each tells the edges from node q.
var shapes = []struct {
	name string
	arcs func(q, n int, arc func(p, q int), rng *rand.Rand)
}{
	{"random", func(q, n int, arc func(p, q int), rng *rand.Rand) {
		arc(q, rng.IntN(n))
		arc(q, rng.IntN(n))
	}},
	{"each of a layer to all of the next", func(q, _ int, arc func(p, q int), _ *rand.Rand) {
		for p := range 10 {
			arc(q, (q/10+1)*10+p)
		}
	}},
	{"one to all and back", func(q, _ int, arc func(p, q int), _ *rand.Rand) {
		arc(0, q)
		arc(q, 0)
	}},
	{"two to all, and all to two", func(q, n int, arc func(p, q int), _ *rand.Rand) {
		arc(0, q)
		arc(1, q)
		arc(q, n-1)
		arc(q, n-2)
	}},
	{"a line, all back", func(q, _ int, arc func(p, q int), _ *rand.Rand) {
		arc(q, q+1)
		arc(q, 0)
	}},
	{"a line, crossed", func(q, n int, arc func(p, q int), _ *rand.Rand) {
		arc(q, q+1)
		arc(q, n-1-q)
	}},
	{"near ones", func(q, _ int, arc func(p, q int), rng *rand.Rand) {
		arc(q, q+1)
		arc(q, q+1+rng.IntN(10))
		arc(q, q+1+rng.IntN(10))
	}},
	{"all to some", func(q, n int, arc func(p, q int), _ *rand.Rand) {
		for p := 0; p < n; p += n/8 + 1 {
			arc(q, p)
			arc(p, q)
		}
	}},
	{"one half to the other", func(q, n int, arc func(p, q int), rng *rand.Rand) {
		for range 5 {
			if q < n/2 {
				arc(q, n/2+rng.IntN(n/2))
			}
		}
	}},
	{"small cycles", func(q, _ int, arc func(p, q int), _ *rand.Rand) { arc(q, q-q%5+(q+1)%5) }},
}

func shaped(k, n int) *Graph {
	rng := rand.New(rand.NewPCG(13, uint64(n)))
	g := &Graph{Nodes: make([]Node, n)}
	seen := map[[2]int]bool{}
	for q := range n {
		g.Nodes[q].Radius = 20
		shapes[k].arcs(q, n, func(p, q int) {
			if e := [2]int{p, q}; p != q && p < n && q < n && !seen[e] {
				seen[e] = true
				g.Edges = append(g.Edges, Edge{From: p, To: q, Along: 30, Less: 20, More: 2})
			}
		}, rng)
	}
	return g
}

// The steps for a large graph, counted and not timed, are within what Lay says, and the vertices linear.
func TestSteps(t *testing.T) {
	for k, shape := range shapes {
		for _, n := range []int{2_500, 6_000} {
			g := shaped(k, n)
			l := &layout{Graph: g, Options: &Options{LayerSep: 20, NodeSep: 18, EdgeSep: 8}}
			if _, err := l.lay(); err != nil {
				t.Fatalf("%s: %v", shape.name, err)
			}
			size := len(g.Nodes) + len(g.Edges)
			if !l.large() {
				t.Fatalf("%s: %d nodes and edges are not large", shape.name, size)
			}
			if most := manyWork + stepsEach*size; l.work > most {
				t.Errorf("%s: %d nodes and edges took %d steps, want at most %d", shape.name, size, l.work, most)
			}
			if l.work < 10*size {
				t.Errorf("%s: %d nodes and edges took %d steps: they are not counted", shape.name, size, l.work)
			}
			if most := max(manyVertices, len(g.Nodes)+3*len(g.Edges)) + 3*len(g.Edges); len(l.vertices) > most {
				t.Errorf("%s: %d vertices, want at most %d", shape.name, len(l.vertices), most)
			}
		}
	}
}

// ending is a context that ends when it is looked at once more than left times. It keeps how many steps there were between
// two looks at most.
type ending struct {
	context.Context
	clock      *clock
	left       int
	last, most int
}

func (e *ending) Err() error {
	e.most = max(e.most, e.clock.work-e.last)
	e.last = e.clock.work
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// A context ends the layout wherever it is: it is looked at every some thousand steps, and once it has ended, little
// more is done.
func TestContext(t *testing.T) {
	for k, shape := range shapes {
		for _, n := range []int{60, 2500} {
			g := shaped(k, n)
			size := 0
			for left := 0; ; left = left*4 + 1 {
				e := &ending{Context: context.Background(), left: left}
				l := &layout{Graph: g, Options: &Options{LayerSep: 20, NodeSep: 18, EdgeSep: 8}}
				l.clock.ctx, e.clock = e, &l.clock
				out, err := l.lay()
				e.most = max(e.most, l.work-e.last)
				size = max(size, len(g.Nodes)+len(g.Edges), len(l.vertices))
				if most := 1<<16 + 40*size; e.most > most {
					t.Errorf("%s, %d nodes: %d steps without a look at the context, want at most %d", shape.name, n, e.most, most)
				}
				if err == nil {
					if out == nil || left == 0 {
						t.Errorf("%s, %d nodes: %v after a look that ends it", shape.name, n, out)
					}
					break
				}
				if !errors.Is(err, context.Canceled) || out != nil || e.left != -1 {
					t.Fatalf("%s, %d nodes: error %v, a layout: %v, %d looks after the end", shape.name, n, err, out != nil, -1-e.left)
				}
			}
		}
	}
}
