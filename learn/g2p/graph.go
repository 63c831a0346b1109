package g2p

import (
	"math"

	"github.com/tropica-fst/tropica/losses"
)

// columnGraph is a loss machine, or the set of right outputs, laid out for the sweep of one
// word: nodes are pairs of a column and the last label, and every column has one
// edge for each label of the next letter. Edges that do not exist lead to node
// 0, whose backward value is 0 and whose forward value nobody reads.
//
// The layer behind the last letter has one node, because nothing follows that
// could tell its last labels apart.
type columnGraph struct {
	base   float64
	layers []graphLayer // one for each letter
	node   []int32      // first node of each column, by column over all layers, and one past the last
	label  []uint16     // of each node: index in the list of the letter before
	target []int32      // by edge: column by column, label by label
	value  []uint8      // by edge: number of the loss, see lossID and values
	values []float64    // losses by number; nil for small integers
	nodes  int          // all of them; the last is the final node
	reach  float64      // greatest loss, in absolute value, of a path from any column to the end
}

type graphLayer struct {
	column int32 // the first column
	edge   int32 // its first edge
}

// Loss values on arcs are small integers of either sign, numbered 0, 1, -1, 2,
// -2, … so that exp(γ·value) is a table.
func lossID(v float64) (id uint8, ok bool) {
	if v != float64(int(v)) || v < -127 || v > 127 {
		return 0, false
	}
	if v > 0 {
		return uint8(2*v - 1), true
	}
	return uint8(-2 * v), true
}

// loss returns the loss of a number.
func (g *columnGraph) loss(id uint8) float64 {
	if g.values != nil {
		return g.values[id]
	}
	return lossValue(int(id))
}

func lossValue(id int) float64 {
	if id&1 == 1 {
		return float64(id+1) / 2
	}
	return -float64(id) / 2
}

// newGraph lays out columns given layer by layer. sizes[t] is the number of
// labels of letter t. columns(t) is the number of columns before letter t, and
// arc the transition from one of them by a label: the column of the next layer,
// or -1, and the number of its loss value. The layer behind the last letter has
// one column.
func newGraph(sizes []int, columns func(t int) int, arc func(t, column, label int) (next int32, value uint8)) *columnGraph {
	g := &columnGraph{layers: make([]graphLayer, len(sizes))}
	edges, cols := 0, 0
	for t, size := range sizes {
		g.layers[t] = graphLayer{column: int32(cols), edge: int32(edges)}
		cols += columns(t)
		edges += columns(t) * size
	}
	g.target, g.value = make([]int32, edges), make([]uint8, edges)
	g.node = make([]int32, 1, cols+1)
	g.label = make([]uint16, 2, 2*cols+2)
	g.node[0] = 1 // node 1 is the start
	g.node = append(g.node, 2)
	g.nodes = 2
	var seen []int32
	for t, size := range sizes {
		n := columns(t)
		first := int(g.layers[t].edge)
		last := t+1 == len(sizes)
		width := 1
		if !last {
			width = columns(t + 1)
		}
		// seen[q·size+b] tells whether label b enters column q, then its node.
		seen = sized(seen, width*size)
		clear(seen)
		for c := range n {
			for b := range size {
				q, v := arc(t, c, b)
				g.target[first+c*size+b], g.value[first+c*size+b] = q, v
				if q >= 0 && !last {
					seen[int(q)*size+b] = 1
				}
			}
		}
		if last {
			for i := range n * size {
				if g.target[first+i] >= 0 {
					g.target[first+i] = int32(g.nodes)
				} else {
					g.target[first+i] = 0
				}
			}
			break
		}
		for q := range width {
			for b := range size {
				if seen[q*size+b] != 0 {
					seen[q*size+b] = int32(g.nodes)
					g.label = append(g.label, uint16(b))
					g.nodes++
				}
			}
			g.node = append(g.node, int32(g.nodes))
		}
		for c := range n {
			for b := range size {
				e := first + c*size + b
				if q := g.target[e]; q >= 0 {
					g.target[e] = seen[int(q)*size+b]
				} else {
					g.target[e] = 0
				}
			}
		}
	}
	g.nodes++ // the final node
	return g
}

// setReach computes reach. Columns without a path to the end count as having
// one of loss 0, which is no harm for a bound.
func (g *columnGraph) setReach(sizes []int) {
	lo, hi := make([]float64, g.nodes), make([]float64, g.nodes) // by node
	for t := len(sizes) - 1; t >= 0; t-- {
		e := int(g.layers[t].edge)
		for c := int(g.layers[t].column); c < g.columnEnd(t); c++ {
			least, most := math.Inf(1), math.Inf(-1)
			for i, to := range g.target[e : e+sizes[t]] {
				if to != 0 {
					v := g.loss(g.value[e+i])
					least, most = min(least, v+lo[to]), max(most, v+hi[to])
				}
			}
			if least > most {
				least, most = 0, 0
			}
			for i := g.node[c]; i < g.node[c+1]; i++ {
				lo[i], hi[i] = least, most
			}
			g.reach = max(g.reach, -least, most)
			e += sizes[t]
		}
	}
}

// lossGraph lays out a loss machine. full[t] gives, for each label of letter t, its
// label in the machine, or -1 where it was taken from the lattice. It reports
// false when a loss on an arc is not a small integer.
func lossGraph(m *losses.Machine, sizes []int, full [][]int32) (*columnGraph, bool) {
	ok := true
	g := machineGraph(m, sizes, full, func(v uint32) uint8 {
		id, fits := lossID(m.Value(v))
		ok = ok && fits
		return id
	})
	g.setReach(sizes)
	return g, ok
}

// maxValues is how many different losses the arcs of a graph may have.
const maxValues = 256

// valueGraph is lossGraph for losses of any values, which the graph keeps; nil when they are
// more than maxValues.
func valueGraph(m *losses.Machine, sizes []int, full [][]int32) *columnGraph {
	number := map[uint32]uint8{}
	values := []float64{}
	g := machineGraph(m, sizes, full, func(v uint32) uint8 {
		id, ok := number[v]
		if !ok && len(values) < maxValues {
			id = uint8(len(values))
			number[v] = id
		}
		if !ok {
			values = append(values, m.Value(v))
		}
		return id
	})
	if len(values) > maxValues {
		return nil
	}
	g.values = values
	g.setReach(sizes)
	return g
}

// machineGraph lays out a loss machine whose values are numbered by value.
func machineGraph(m *losses.Machine, sizes []int, full [][]int32, value func(v uint32) uint8) *columnGraph {
	classes := make([][]uint32, len(sizes))
	for t := range sizes {
		_, classes[t] = m.Classes(t)
	}
	g := newGraph(sizes, m.Columns, func(t, column, label int) (int32, uint8) {
		k := int32(label)
		if full[t] != nil {
			if k = full[t][label]; k < 0 {
				return -1, 0
			}
		}
		next, v := m.Arc(t, uint32(column), int(classes[t][k]))
		if v == losses.Excluded {
			return -1, 0
		}
		return int32(next), value(v)
	})
	g.base = m.Base()
	if len(sizes) > 0 && m.Columns(len(sizes)) > 0 {
		g.base += m.Value(m.Final(0))
	}
	return g
}

// rightGraph lays out the label strings that expand to exactly r: its columns
// are the numbers of phones emitted, of which those are kept that lie on some
// path to the end. It returns nil when there is none.
func rightGraph(r []int, lists [][][]int, full [][]int32) *columnGraph {
	n, m := len(lists), len(r)
	w := m + 1
	// alive[t·w+j]: the rest of r can be emitted from here.
	alive := make([]bool, (n+1)*w)
	alive[n*w+m] = true
	fits := func(j int, u []int) bool {
		if j+len(u) > m {
			return false
		}
		for i, p := range u {
			if r[j+i] != p {
				return false
			}
		}
		return true
	}
	in := func(t, k int) bool { return full[t] == nil || full[t][k] >= 0 }
	for t := n - 1; t >= 0; t-- {
		for j := range w {
			for k, u := range lists[t] {
				if in(t, k) && fits(j, u) && alive[(t+1)*w+j+len(u)] {
					alive[t*w+j] = true
					break
				}
			}
		}
	}
	if !alive[0] {
		return nil
	}
	// number[t·w+j]: the column, among those that are alive and reached.
	number := make([]int32, (n+1)*w)
	for i := range number {
		number[i] = -1
	}
	number[0] = 0
	at := make([][]int32, n+1)
	at[0] = []int32{0}
	sizes := make([]int, n)
	for t := range n {
		sizes[t] = len(lists[t])
		for _, j := range at[t] {
			for k, u := range lists[t] {
				if to := (t+1)*w + int(j) + len(u); in(t, k) && fits(int(j), u) && alive[to] && number[to] < 0 {
					number[to] = int32(len(at[t+1]))
					at[t+1] = append(at[t+1], j+int32(len(u)))
				}
			}
		}
	}
	return newGraph(sizes, func(t int) int { return len(at[t]) }, func(t, column, label int) (int32, uint8) {
		j := int(at[t][column])
		u := lists[t][label]
		if !in(t, label) || !fits(j, u) {
			return -1, 0
		}
		return number[(t+1)*w+j+len(u)], 0
	})
}
