package layered

import (
	"math/bits"
	"slices"
)

// Fusing makes the graph of order 2 while a machine is built. Arcs of a layer are turned from
// columns to entries in place, as soon as the next layer is known. A machine and its graph then
// have them once. The machine finds a column from its entry by bisection, see Layer.Arc; what needs
// all columns of a layer turns them back, see Layer.Columned.
type Fusing struct {
	Graph *Graph
	Num   numbering
	below []uint32 // by class: those of a lower rank
	info  []uint64 // by column of the next layer: its first entry << 32 | the classes that lead in
}

// NewFusing returns nil for a machine whose graph waits until it is asked for. Such a machine has
// many classes, or large ones: a column then has many entries, which order 1 does not need.
func NewFusing(l int, class []uint32, classes int) *Fusing {
	if classes > 32 || len(class) > 64 {
		return nil
	}
	f := &Fusing{Num: newNumbering(class, classes), Graph: &Graph{order: 2, Layers: make([]GraphLayer, l+1),
		shared: true}}
	f.Graph.Most, f.Graph.Plain = f.Num.Labels, f.Num.plain
	f.below = make([]uint32, classes)
	for k, r := range f.Num.Rank {
		f.below[k] = 1<<r - 1
	}
	first := &f.Graph.Layers[0]
	first.Start, first.Ctx, first.Contexts = []uint32{0, 1}, []uint32{0}, 1
	return f
}

// Columns returns what layer reads: for each column of the next layer, the ranks of the classes
// that lead in.
func (f *Fusing) Columns(n int) []uint64 {
	f.info = Resize(f.info, n)
	return f.info
}

// Layer takes the arcs of layer t, column << shift | value, after columns was filled. It reports
// whether entries fit beside the values; if not, arcs are as they were.
func (f *Fusing) Layer(t int, arcs []uint32, shift uint8) bool {
	info, columns := f.info, len(f.info)
	n, gl, next := &f.Num, &f.Graph.Layers[t], &f.Graph.Layers[t+1]
	singles := uint32(Ones(n.Single))
	start := make([]uint32, columns+1)
	total := uint64(0)
	for c, w := range info {
		start[c] = uint32(total)
		info[c] = total<<32 | w
		total += uint64(bits.OnesCount32(uint32(w) & singles))
		for several := uint32(w) &^ singles; several != 0; several &= several - 1 {
			total += uint64(n.rsize[bits.TrailingZeros32(several)])
		}
	}
	if bits.Len64(total)+int(shift) > ArcBits {
		return false
	}
	start[columns] = uint32(total)
	ctx, at := make([]uint32, total), 0
	for _, w := range info {
		for set := uint32(w); set != 0; set &= set - 1 {
			r := bits.TrailingZeros32(set)
			cut := n.rcut[r]
			if r < n.Single {
				ctx[at] = cut
				at++
				continue
			}
			for d := range n.rsize[r] {
				ctx[at] = cut + d
				at++
			}
		}
	}
	f.connect(arcs, shift)
	gl.numbering, gl.Narrow, gl.Shift = *n, arcs, shift
	gl.Tails = newTails(gl)
	next.Start, next.Ctx, next.Contexts = start, ctx, n.Labels
	return true
}

// connect turns columns to entries.
func (f *Fusing) connect(arcs []uint32, shift uint8) {
	n, info, below, classes := &f.Num, f.info, f.below, f.Num.Classes
	shift &= 31
	mask := uint32(1)<<shift - 1
	if n.Single >= classes-1 { // no class of several labels is before another
		for ; len(arcs) >= classes; arcs = arcs[classes:] {
			row := arcs[:classes]
			for k, low := range below[:len(row)] {
				e := row[k]
				w := info[e>>shift]
				row[k] = (uint32(w>>32)+uint32(bits.OnesCount32(uint32(w)&low)))<<shift | e&mask
			}
		}
		return
	}
	singles := uint32(Ones(n.Single))
	for i, e := range arcs {
		w := info[e>>shift]
		set := uint32(w) & below[i%classes]
		p := uint32(w>>32) + uint32(bits.OnesCount32(set&singles))
		for several := set &^ singles; several != 0; several &= several - 1 {
			p += n.rsize[bits.TrailingZeros32(several)]
		}
		arcs[i] = p<<shift | e&mask
	}
}

// Finish lays out the last layer.
func (f *Fusing) Finish(final int) *Graph {
	g := f.Graph
	last := &g.Layers[len(g.Layers)-1]
	last.Column = make([]uint32, len(last.Ctx))
	for c := range final {
		for i := last.Start[c]; i < last.Start[c+1]; i++ {
			last.Column[i] = uint32(c)
		}
	}
	return g
}

// Columned returns the layer with arcs that lead to columns.
func (l *Layer) Columned() Layer {
	if l.Enter == nil {
		return *l
	}
	columns := make([]uint32, l.Enter[len(l.Enter)-1]) // by entry
	for c := range len(l.Enter) - 1 {
		for i := l.Enter[c]; i < l.Enter[c+1]; i++ {
			columns[i] = uint32(c)
		}
	}
	made := *l
	made.Enter, made.Narrow = nil, slices.Clone(l.Narrow)
	mask := uint32(1)<<l.Shift - 1
	for i, e := range made.Narrow {
		made.Narrow[i] = columns[e>>l.Shift]<<l.Shift | e&mask
	}
	return made
}

// Columned returns what the layout of a graph needs of the machine, with arcs that lead to columns.
func (m *Machine) Columned() *Machine {
	made := &Machine{Layers: make([]Layer, len(m.Layers)), Values: m.Values, Final: m.Final, Base: m.Base,
		Bytes: m.Bytes}
	for t := range m.Layers {
		made.Layers[t] = m.Layers[t].Columned()
	}
	return made
}
