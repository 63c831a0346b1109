// Package layered lays out directed graphs in layers, as K. Sugiyama, S. Tagawa and M. Toda,
// "Methods for visual understanding of hierarchical system structures", IEEE Transactions on
// Systems, Man, and Cybernetics 11(2), 1981, began it, in the form that E. Gansner,
// E. Koutsofios, S. North and K.-P. Vo gave it in "A technique for drawing directed
// graphs", IEEE Transactions on Software Engineering 19(3), 1993.
//
// It knows of boxes and curves alone, not of machines or of text. Layers follow one
// another along one axis, vertices of a layer across it, so that the same code draws from left
// to right and from bottom to top. The steps, a file each:
//
//	layers.go   edges that close cycles are turned, nodes get layers (network simplex); an edge
//	            becomes a chain of vertices, one in each layer between; one of these is its label
//	order.go    vertices of a layer are ordered for few crossings (medians and transpositions)
//	place.go    and get coordinates that keep edges straight (network simplex again)
//	sweep.go    coordinates of large graphs (means of neighbours, kept apart)
//	route.go    curves
//	simplex.go  the network simplex method
//	clock.go    steps are counted, and end with a context
//
// A label is a vertex with the size of the label: it takes part in all that keeps
// vertices apart, so that no label lies on another one, or on a node, by construction. Edges bend
// only between the layers, and so do not cross labels either.
//
// Tried and left: the coordinates of U. Brandes and B. Köpf (2001), faster, but labels
// and loops make vertices of very different sizes, which their compaction handles with
// corrections; with the simplex, sizes are lengths of constraints, and nothing else.
package layered

import (
	"context"
	"fmt"
)

// Point is a place along the layers and across them.
type Point struct{ Along, Across float64 }

// Node is a vertex to be placed. Its shape is the points within Radius of a box with the
// given half sides.
type Node struct {
	HalfAlong, HalfAcross, Radius float64

	// Loop is the room that a loop with its label takes up, on the side of lesser
	// Across if Loop.Less is set.
	Loop Loop
}

// Loop is the room for a loop of a node and its label.
type Loop struct {
	Rise   float64 // of the curve over the shape; 0 is no loop
	Along  float64 // extent of the label along
	Across float64 // extent of the label across, with the gap to the curve
	Less   bool
}

// Edge leads from a node to another one. Its label takes Along along, and reaches
// from Less before the line to More after it.
type Edge struct {
	From, To          int
	Along, Less, More float64
}

// Graph is what is to be laid out.
type Graph struct {
	Nodes []Node
	Edges []Edge
	Start int // goes first, -1 is none
}

// Options are distances, which must be set, and a bound.
type Options struct {
	LayerSep float64 // least distance of layers
	NodeSep  float64 // least distance of nodes of a layer
	EdgeSep  float64 // least distance of edges, and of their labels
	Vertices int     // bound on nodes and on where edges meet layers; 0 is none

	Ctx context.Context // ends the layout; nil is none
}

// Layout is a graph with places.
type Layout struct {
	Nodes    []Point // centres
	Edges    []Route
	Min, Max Point // of all boxes
}

// Route is the way of an edge: Curve has a point, and three for each Bézier curve that
// follows. It ends at the border of the node that the edge leads to.
type Route struct {
	Curve []Point
	Label Point // the middle of the label along, and the line across
}

// SizeError reports a graph that is too large to be laid out.
type SizeError struct{ Bound int }

func (e *SizeError) Error() string {
	return fmt.Sprintf("more than %d states and meetings of arcs and layers", e.Bound)
}

// Lay lays g out. Edges must not be loops, and at most one may lead from a node to
// another. The error is a SizeError, or the context's.
//
// Time: with few nodes and edges mostly that of the simplex, about quadratic in the vertices. Beyond few of them
// the drawing becomes coarser instead of slower: the steps are at most about manyWork + stepsEach·(nodes + edges),
// that of sorting among them, and the memory is linear in nodes and edges.
func Lay(g *Graph, o *Options) (*Layout, error) {
	if o.Vertices > 0 && (len(g.Nodes) > o.Vertices || len(g.Edges) > o.Vertices) {
		return nil, &SizeError{o.Vertices}
	}
	l := &layout{Graph: g, Options: o, clock: clock{ctx: o.Ctx}}
	return l.lay()
}

func (l *layout) lay() (*Layout, error) {
	if err := l.assignLayers(); err != nil {
		return nil, err
	}
	l.orderLayers()
	if l.err == nil {
		l.place()
	}
	if l.err != nil {
		return nil, l.err
	}
	out := l.draw()
	if l.err != nil {
		return nil, l.err
	}
	return out, nil
}

// few is how many nodes and edges are laid out with all care. With more, what takes part is bounded
// by their number, and so are the steps: the simplex gives layers alone, and stops early; crossings are
// lessened for a while; coordinates are means.
const few = 4000

func (l *layout) large() bool { return len(l.Nodes)+len(l.Edges) > few }

// The steps of the layout of a large graph: those of the simplex and of ordering that
// do not depend on its size, and at most so many for each node and edge.
const manyWork, stepsEach = layerWork + orderWorkMany, 500

// layout is a graph on its way.
type layout struct {
	*Graph
	*Options
	clock
	turned   []bool // edges that are laid out the other way round
	vertices []vertex
	chain    [][]int32  // of each edge: its vertices in layers between its ends, in the order of layers
	labelAt  []int      // of each edge: the index in its chain of the label
	loose    [][2]int32 // vertices that follow one another in a chain, but not in the next layer
	layers   [][]int32  // vertices in order
	middle   []float64  // of layers, along
	half     []float64  // of layers, along
}

// vertex is a node, or where an edge meets a layer.
type vertex struct {
	layer      int
	pos        int     // in the layer
	along      float64 // half the extent
	less, more float64 // extents across
	node       bool    // else a part of an edge
	up, down   []int32 // neighbours in the layers before and after
	at         float64 // across
}
