package losses

import (
	"math/bits"
	"slices"
)

// fusing makes the graph of order 2 while a machine is built. Arcs of a layer are turned from columns
// to entries in place, as soon as the layer behind it is known, so that a machine and its graph have
// them once. The machine finds a column from its entry by bisection, see layer.arc; what needs all
// columns of a layer turns them back, see layer.columned.
type fusing struct {
	graph *graph
	num   numbering
	below []uint32 // by class: those of a lower rank
	info  []uint64 // by column of the next layer: its first entry << 32 | the classes that lead in
}

// newFusing returns nil for a machine whose graph waits until it is asked for: one of many classes, or
// one with large classes, where a column has many entries that order 1 has no use for.
func newFusing(l int, class []uint32, classes int) *fusing {
	if classes > 32 || len(class) > 64 {
		return nil
	}
	f := &fusing{num: newNumbering(class, classes), graph: &graph{order: 2, layers: make([]graphLayer, l+1), shared: true}}
	f.graph.most, f.graph.plain = f.num.labels, f.num.plain
	f.below = make([]uint32, classes)
	for k, r := range f.num.rank {
		f.below[k] = 1<<r - 1
	}
	first := &f.graph.layers[0]
	first.start, first.ctx, first.contexts = []uint32{0, 1}, []uint32{0}, 1
	return f
}

// columns returns what layer reads: for each column of the next layer, the ranks of the classes that
// lead in.
func (f *fusing) columns(n int) []uint64 {
	f.info = resize(f.info, n)
	return f.info
}

// layer takes the arcs of layer t, column << shift | value, after columns was filled. It reports
// whether entries fit beside the values; if not, arcs are as they were.
func (f *fusing) layer(t int, arcs []uint32, shift uint8) bool {
	info, columns := f.info, len(f.info)
	n, gl, next := &f.num, &f.graph.layers[t], &f.graph.layers[t+1]
	singles := uint32(ones(n.single))
	start := make([]uint32, columns+1)
	total := uint64(0)
	for c, w := range info {
		start[c] = uint32(total)
		info[c] = total<<32 | w
		total += uint64(bits.OnesCount32(uint32(w) & singles))
		for rest := uint32(w) &^ singles; rest != 0; rest &= rest - 1 {
			total += uint64(n.rsize[bits.TrailingZeros32(rest)])
		}
	}
	if bits.Len64(total)+int(shift) > arcBits {
		return false
	}
	start[columns] = uint32(total)
	ctx, at := make([]uint32, total), 0
	for _, w := range info {
		for set := uint32(w); set != 0; set &= set - 1 {
			r := bits.TrailingZeros32(set)
			cut := n.rcut[r]
			if r < n.single {
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
	gl.numbering, gl.narrow, gl.shift = *n, arcs, shift
	gl.tails = newTails(gl)
	next.start, next.ctx, next.contexts = start, ctx, n.labels
	return true
}

// connect turns columns to entries.
func (f *fusing) connect(arcs []uint32, shift uint8) {
	n, info, below, classes := &f.num, f.info, f.below, f.num.classes
	shift &= 31
	mask := uint32(1)<<shift - 1
	if n.single >= classes-1 { // no class of several labels is before another
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
	singles := uint32(ones(n.single))
	for i, e := range arcs {
		w := info[e>>shift]
		set := uint32(w) & below[i%classes]
		p := uint32(w>>32) + uint32(bits.OnesCount32(set&singles))
		for rest := set &^ singles; rest != 0; rest &= rest - 1 {
			p += n.rsize[bits.TrailingZeros32(rest)]
		}
		arcs[i] = p<<shift | e&mask
	}
}

// finish lays out the last layer.
func (f *fusing) finish(final int) *graph {
	g := f.graph
	last := &g.layers[len(g.layers)-1]
	last.column = make([]uint32, len(last.ctx))
	for c := range final {
		for i := last.start[c]; i < last.start[c+1]; i++ {
			last.column[i] = uint32(c)
		}
	}
	return g
}

// columned returns the layer with arcs that lead to columns.
func (l *layer) columned() layer {
	if l.enter == nil {
		return *l
	}
	columns := make([]uint32, l.enter[len(l.enter)-1]) // by entry
	for c := range len(l.enter) - 1 {
		for i := l.enter[c]; i < l.enter[c+1]; i++ {
			columns[i] = uint32(c)
		}
	}
	made := *l
	made.enter, made.narrow = nil, slices.Clone(l.narrow)
	mask := uint32(1)<<l.shift - 1
	for i, e := range made.narrow {
		made.narrow[i] = columns[e>>l.shift]<<l.shift | e&mask
	}
	return made
}

// columned returns what the layout of a graph needs of the machine, with arcs that lead to columns.
func (m *core) columned() *core {
	made := &core{layers: make([]layer, len(m.layers)), values: m.values, final: m.final, base: m.base, bytes: m.bytes}
	for t := range m.layers {
		made.layers[t] = m.layers[t].columned()
	}
	return made
}
