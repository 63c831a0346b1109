package losses

import (
	"math"
	"math/bits"
)

// gainLayers collects the layers of a machine of gains, whose arcs come packed: column << shift | value.
type gainLayers struct {
	b     *columnBuilder
	m     *core
	fused *fusing // nil where the graph waits until it is asked for
	own   bool    // arcs are those of the graph
	shift uint8
	total int // columns of all layers so far
}

// newGainLayers begins a machine with the given values on its arcs; the first of them is not used.
func (b *columnBuilder) newGainLayers(values []float64) *gainLayers {
	values[excluded] = math.Inf(1)
	g := &gainLayers{b: b, m: &core{layers: make([]layer, b.l), values: values}, total: 1}
	g.shift = uint8(bits.Len(uint(len(values) - 1)))
	g.fused = newFusing(b.l, b.class, len(b.gain))
	g.own = g.fused != nil
	return g
}

// ways returns what a table of columns notes of each class that leads to one.
func (g *gainLayers) ways(ways []uint32) []uint32 {
	ways = resize(ways, len(g.b.gain))
	for k := range ways {
		ways[k] = 1
		if g.fused != nil {
			ways[k] = 1 << g.fused.num.rank[k]
		}
	}
	return ways
}

// fits reports whether the columns behind a layer of n certainly fit beside their values.
func (g *gainLayers) fits(n int) bool {
	arcs := n * len(g.b.gain)
	return arcs == 0 || bits.Len(uint(arcs))+int(g.shift) <= 32
}

// size estimates the bytes of a layer of n columns with its graph, and the values of a sweep.
func (g *gainLayers) size(n int) int64 {
	if g.own {
		return withOwnGraph(n*len(g.b.gain), n)
	}
	return withGraph(n*len(g.b.gain), n)
}

// room returns the error of a machine beyond its limits, with n columns at layer t, next behind it, and held bytes beside.
func (g *gainLayers) room(t, n, next int, held int64) error {
	return g.b.limits.over(g.b.l, t, g.total+next, g.m.bytes+g.size(n)+held)
}

// close adds layer t, which has n columns, their arcs, and next columns behind it. reach is the least and the
// greatest value on the arcs. fill sets, by column behind, which ways lead to it.
func (g *gainLayers) close(t, n int, arcs []uint32, next int, reach [2]float64, fill func(ways []uint64)) error {
	b, ly := g.b, &g.m.layers[t]
	*ly = layer{columns: n, classes: len(b.gain), class: b.class, narrow: arcs, shift: g.shift, lo: reach[0], hi: reach[1]}
	if g.fused != nil {
		fill(g.fused.columns(next))
		if g.fused.layer(t, arcs, g.shift) {
			ly.enter = g.fused.graph.layers[t+1].start
		} else {
			g.fused = nil // the layers so far are as good as the others
		}
	}
	g.m.bytes += g.size(n)
	g.total += next
	if !b.whole {
		return nil
	}
	return b.limits.outgrown(b.l, b.m, len(b.gain), t, n, next, g.total, g.size(1))
}

// finish returns the machine, whose columns of the last layer, so many, have all one value.
func (g *gainLayers) finish(columns int, value uint32) (*core, error) {
	m := g.m
	m.final = make([]uint32, columns)
	for c := range m.final {
		m.final[c] = value
	}
	m.count()
	if g.fused != nil && len(m.layers) > 0 {
		m.fused = g.fused.finish(columns)
		if err := m.fused.layOut(); err != nil {
			return nil, err
		}
	}
	return m, nil
}
