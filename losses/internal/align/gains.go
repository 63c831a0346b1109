package align

import (
	"math"
	"math/bits"

	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// gainLayers collects the layers of a machine of gains, whose arcs come packed: column << shift |
// value.
type gainLayers struct {
	b     *Columns
	m     *layered.Machine
	fused *layered.Fusing // nil where the graph waits until it is asked for
	own   bool            // arcs are those of the graph
	shift uint8
	total int // columns of all layers so far
}

// newGainLayers begins a machine with the given values on its arcs; the first of them is not used.
func (b *Columns) newGainLayers(values []float64) *gainLayers {
	values[layered.Excluded] = math.Inf(1)
	g := &gainLayers{b: b, m: &layered.Machine{Layers: make([]layered.Layer, b.l), Values: values}, total: 1}
	g.shift = uint8(bits.Len(uint(len(values) - 1)))
	g.fused = layered.NewFusing(b.l, b.class, len(b.Gain))
	g.own = g.fused != nil
	return g
}

// ways returns what a table of columns notes of each class that leads to one.
func (g *gainLayers) ways(ways []uint32) []uint32 {
	ways = layered.Resize(ways, len(g.b.Gain))
	for k := range ways {
		ways[k] = 1
		if g.fused != nil {
			ways[k] = 1 << g.fused.Num.Rank[k]
		}
	}
	return ways
}

// fits reports whether the columns behind a layer of n certainly fit beside their values.
func (g *gainLayers) fits(n int) bool {
	arcs := n * len(g.b.Gain)
	return arcs == 0 || bits.Len(uint(arcs))+int(g.shift) <= 32
}

// size estimates the bytes of a layer of n columns with its graph, and the values of a sweep.
func (g *gainLayers) size(n int) int64 {
	if g.own {
		return layered.WithOwnGraph(n*len(g.b.Gain), n)
	}
	return layered.WithGraph(n*len(g.b.Gain), n)
}

// room returns the error of a machine beyond its limits, with n columns at layer t, next behind it,
// and held bytes beside.
func (g *gainLayers) room(t, n, next int, held int64) error {
	return g.b.limits.Over(g.b.l, t, g.total+next, g.m.Bytes+g.size(n)+held)
}

// close adds layer t, which has n columns, their arcs, and next columns behind it. reach is the
// least and the greatest value on the arcs. fill sets, by column behind, which ways lead to it.
func (g *gainLayers) close(t, n int, arcs []uint32, next int, reach [2]float64,
	fill func(ways []uint64)) error {
	b, ly := g.b, &g.m.Layers[t]
	*ly = layered.Layer{Columns: n, Classes: len(b.Gain), Class: b.class, Narrow: arcs, Shift: g.shift,
		Lo: reach[0], Hi: reach[1]}
	if g.fused != nil {
		fill(g.fused.Columns(next))
		if g.fused.Layer(t, arcs, g.shift) {
			ly.Enter = g.fused.Graph.Layers[t+1].Start
		} else {
			g.fused = nil // the layers so far are as good as the others
		}
	}
	g.m.Bytes += g.size(n)
	g.total += next
	if !b.whole {
		return nil
	}
	return b.limits.Outgrown(b.l, b.m, len(b.Gain), t, n, next, g.total, g.size(1))
}

// finish returns the machine, whose columns of the last layer, so many, have all one value.
func (g *gainLayers) finish(columns int, value uint32) (*layered.Machine, error) {
	m := g.m
	m.Final = make([]uint32, columns)
	for c := range m.Final {
		m.Final[c] = value
	}
	m.Count()
	if g.fused != nil && len(m.Layers) > 0 {
		m.Fused = g.fused.Finish(columns)
		if err := m.Fused.LayOut(); err != nil {
			return nil, err
		}
	}
	return m, nil
}
