package layered

import "math"

// place finds coordinates.
func (l *layout) place() {
	if l.large() {
		l.sweep()
	} else {
		l.straighten()
	}
	if l.err == nil {
		l.along()
	}
}

// apart is how far the line of w must be from that of v, which is before it in a layer.
func (l *layout) apart(v, w *vertex) int {
	sep := l.EdgeSep
	if v.node && w.node {
		sep = l.NodeSep
	}
	return int(math.Ceil(v.more + sep + w.less))
}

// The weights of bends: between two parts of an edge, at a node, and of what goes on freely.
const bendEdge, bendNode, bendLoose = 8, 2, 1

// straighten finds coordinates across: a network simplex keeps edges straight: it has a
// vertex more for each edge of a chain, which is no greater than either end, so that the
// distances to it add up to how far the edge bends. Bends between two parts of an edge cost more
// than at a node, as Gansner and others have it.
func (l *layout) straighten() {
	var cs []constraint
	n := len(l.vertices)
	for v := range l.vertices {
		for _, u := range l.vertices[v].down {
			weight := bendEdge
			if l.vertices[v].node || l.vertices[u].node {
				weight = bendNode
			}
			cs = append(cs, constraint{int32(n), int32(v), weight, 0}, constraint{int32(n), u, weight, 0})
			n++
		}
	}
	for _, e := range l.loose {
		cs = append(cs, constraint{int32(n), e[0], bendLoose, 0}, constraint{int32(n), e[1], bendLoose, 0})
		n++
	}
	for _, layer := range l.layers {
		for i := 1; i < len(layer); i++ {
			v, w := &l.vertices[layer[i-1]], &l.vertices[layer[i]]
			cs = append(cs, constraint{layer[i-1], layer[i], 0, l.apart(v, w)})
		}
	}
	most := maxWork
	if len(l.vertices) > fine {
		most = maxWorkMany
	}
	at := solve(&l.clock, n, cs, true, most)
	if l.err != nil {
		return
	}
	for v := range l.vertices {
		l.vertices[v].at = float64(at[v])
	}
}

// along finds the coordinates of layers.
func (l *layout) along() {
	l.middle, l.half = make([]float64, len(l.layers)), make([]float64, len(l.layers))
	edge := 0.0
	for k, layer := range l.layers {
		bend := 0.0
		for _, v := range layer {
			l.half[k] = max(l.half[k], math.Ceil(l.vertices[v].along))
			for _, u := range l.vertices[v].up {
				bend = max(bend, math.Abs(l.vertices[u].at-l.vertices[v].at))
			}
		}
		if k > 0 { // room for the steepest bend before the layer
			edge += max(l.LayerSep, min(math.Round(0.6*bend), 6*l.LayerSep))
		}
		l.middle[k] = edge + l.half[k]
		edge += 2 * l.half[k]
	}
}
