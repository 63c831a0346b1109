package layered

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// A graph lays out the product of a loss machine with the contexts of order-q potentials. An entry
// is a column with the last q-1 labels that may lead into it. Entries of one column are neighbours,
// in groups by the classes of those labels: labels of one class arrive together. Measured for q =
// 2, a column has 1 to 4 entries.
//
// A row is a column for q ≤ 2. For q = 3 it is a column with the class of the last label. It holds
// a matrix: the label before last down, the last label across (width many). The entries of one last
// label share the vector of outgoing flow
//
//	v[d] = Σ_entries alpha · P_t[context, d],
//
// which the row's arcs, one per class of d, carry to consecutive entries of the next layer. Labels
// are renumbered at each position so that those of one class are neighbours, classes of one label
// first. For q = 1 labels of a class need not be distinguished, and the classes themselves replace
// labels.
//
// A graph depends only on the machine and on q.
type Graph struct {
	order  int
	Layers []GraphLayer // l + 1
	Bytes  int64
	Widest int  // entries of the largest layer, with room for a class beyond
	Total  int  // entries of all layers, with that room in each
	Most   int  // most labels at a position
	Plain  bool // labels keep their numbers
	shared bool // arcs are the machine's own

	limits Limits // while it is built
	spent  int64
	err    error
}

// charge counts a layer while the graph is built, and reports whether to go on.
func (g *Graph) charge(m *Machine, t int, gl *GraphLayer) bool {
	g.spent += 4*int64(len(gl.Start)+2*len(gl.Ctx)+len(gl.Width)+len(gl.Narrow)) + 8*int64(len(gl.Wide))
	g.err = g.limits.Over(len(m.Layers), t, m.TotalColumns(), g.spent)
	return g.err == nil
}

// GraphLayer is one position of a Graph: its rows, their entries, and their arcs.
type GraphLayer struct {
	At    int      // entries of earlier layers, with their room
	Start []uint32 // rows+1: entries of a row
	Ctx   []uint32 // by entry: its context, as a row number of P_t
	Width []uint32 // by row: labels of its class; nil stands for 1
	// by row and class: entry of the next layer << shift | value
	Narrow []uint32
	Wide   []uint64
	Shift  uint8
	Tails  *tails // for products of matrices over large alphabets; may be nil

	numbering
	Contexts int      // rows of P_t
	Column   []uint32 // last layer only: column of each entry
}

// numbering is the order of a position's labels in which classes are
// intervals. Several layers may share one.
type numbering struct {
	Labels  int      // as the kernels see them: classes for q = 1
	Classes int      //
	Cut     []uint32 // class k is the labels cut[k] … cut[k]+size[k]-1, new numbers
	Size    []uint32
	Perm    []uint32 // label by its new number (all labels, for q = 1 too)
	ClassOf []uint32 // by new number: its class
	Uniform bool     // class k is the one label k, for all k
	plain   bool     // and labels keep their numbers
	// trailing: the same but for the last class, which may have several labels.
	Trailing bool
	// Classes in order of their labels' numbers; the first single have one label.
	Single int
	Rank   []uint32 // by class
	rcut   []uint32 // by rank
	rsize  []uint32
}

func newNumbering(class []uint32, classes int) numbering {
	if n := len(class); n == classes && n <= len(Counting) && isCounting(class) {
		same := Counting[:n:n]
		return numbering{
			Labels: n, Classes: n, Cut: same, Size: allOne[:n:n], Perm: same, ClassOf: same, Uniform: true,
			plain:    true,
			Trailing: true, Single: n, Rank: same, rcut: same, rsize: allOne[:n:n],
		}
	}
	n := numbering{
		Labels: len(class), Classes: classes,
		Cut: make([]uint32, classes), Size: make([]uint32, classes), Perm: make([]uint32, len(class)),
		Rank: make([]uint32, classes), rcut: make([]uint32, 0, classes), rsize: make([]uint32, 0, classes),
	}
	for _, k := range class {
		n.Size[k]++
	}
	at := uint32(0)
	for _, one := range []bool{true, false} {
		for k, s := range n.Size {
			if (s == 1) == one {
				n.Cut[k], n.Rank[k] = at, uint32(len(n.rcut))
				n.rcut, n.rsize = append(n.rcut, at), append(n.rsize, s)
				at += s
			}
		}
		if one {
			n.Single = len(n.rcut)
		}
	}
	fill := slices.Clone(n.Cut)
	for j, k := range class {
		n.Perm[fill[k]] = uint32(j)
		fill[k]++
	}
	n.ClassOf = make([]uint32, len(class))
	for d, j := range n.Perm {
		n.ClassOf[d] = class[j]
	}
	n.setUniform()
	return n
}

// Numberings in which every label is a class of its own share their lists.
var Counting, allOne = func() (count, one [256]uint32) {
	for i := range count {
		count[i], one[i] = uint32(i), 1
	}
	return
}()

func isCounting(class []uint32) bool { return slices.Equal(class, Counting[:len(class)]) }

func (n *numbering) setUniform() {
	n.Uniform, n.Trailing = n.Single == n.Classes, n.Single >= n.Classes-1
	for k, c := range n.Cut {
		if int(c) != k {
			n.Uniform, n.Trailing = false, false
		}
	}
	if n.Single < n.Classes && n.Classes > 0 && n.Size[n.Classes-1] == 1 {
		n.Trailing = false
	}
}

// fold makes the classes the labels.
func (n numbering) fold() numbering {
	n.Labels, n.Single = n.Classes, n.Classes
	n.Cut, n.Size = make([]uint32, n.Classes), make([]uint32, n.Classes)
	for k := range n.Cut {
		n.Cut[k], n.Size[k] = uint32(k), 1
	}
	n.setUniform()
	return n
}

// NewGraph returns the layout of m for an order. spent is what m and its other layouts take of the
// limits.
func NewGraph(m *Machine, order int, lim Limits, spent int64) (*Graph, error) {
	if order == 2 && m.Fused != nil {
		return m.Fused, nil
	}
	shared := order == 1 && m.Fused == nil
	m = m.Columned()
	g := &Graph{order: order, shared: shared, limits: lim, spent: spent,
		Layers: make([]GraphLayer, len(m.Layers)+1), Plain: true}
	for t := range m.Layers {
		ml, gl := &m.Layers[t], &g.Layers[t]
		if t > 0 && sameClasses(ml, &m.Layers[t-1]) {
			gl.numbering = g.Layers[t-1].numbering
		} else {
			gl.numbering = newNumbering(ml.Class, ml.Classes)
			if order == 1 {
				gl.numbering = gl.numbering.fold()
			}
		}
		g.Most = max(g.Most, gl.Labels)
		g.Plain = g.Plain && gl.plain
	}
	switch order {
	case 1:
		g.order1(m)
	case 2:
		g.order2(m)
	default:
		g.order3(m)
	}
	if g.err != nil {
		return nil, g.err
	}
	g.limits = Limits{}
	if err := g.LayOut(); err != nil {
		return nil, err
	}
	return g, nil
}

// LayOut gives each layer its entries among those of all, when all are known.
func (g *Graph) LayOut() error {
	room := g.Most // an excluded arc points at entry 0 and a class beyond it
	for t := range g.Layers {
		gl := &g.Layers[t]
		entries := len(gl.Ctx)
		if int64(entries) > math.MaxUint32-int64(room) {
			return fmt.Errorf("losses: order %d: layer %d has %d columns with contexts; use a band or a "+
				"lower order", g.order, t, entries)
		}
		gl.At = g.Total
		g.Total += entries + room
		g.Widest = max(g.Widest, entries+room)
		g.Bytes += 4*int64(len(gl.Start)+len(gl.Ctx)+len(gl.Width)+len(gl.Column)) + 300
		if gl.Tails != nil {
			g.Bytes += gl.Tails.bytes()
		}
		if !g.shared {
			g.Bytes += 4*int64(len(gl.Narrow)) + 8*int64(len(gl.Wide))
		}
	}
	return nil
}

func sameClasses(a, b *Layer) bool {
	return a.Classes == b.Classes && len(a.Class) == len(b.Class) &&
		(len(a.Class) == 0 || &a.Class[0] == &b.Class[0])
}

// order1: an entry is a column, its context empty, and the machine's arcs are
// the graph's.
func (g *Graph) order1(m *Machine) {
	for t := range g.Layers {
		gl := &g.Layers[t]
		n := m.Columns(t)
		gl.Start = make([]uint32, n+1)
		for c := range gl.Start {
			gl.Start[c] = uint32(c)
		}
		gl.Ctx = make([]uint32, n)
		gl.Contexts = 1
		if t < len(m.Layers) {
			ml := &m.Layers[t]
			gl.Narrow, gl.Wide, gl.Shift = ml.Narrow, ml.Wide, ml.Shift
		} else {
			gl.Column = gl.Start[:n]
		}
	}
}

// order2: an entry is a column with its last label.
func (g *Graph) order2(m *Machine) {
	g.begin(m)
	for t := range m.Layers {
		ml, gl, next := &m.Layers[t], &g.Layers[t], &g.Layers[t+1]
		if t > 0 && !g.charge(m, t, &g.Layers[t-1]) {
			return
		}
		in := newGroups(m.Columns(t+1), gl.Classes)
		in.collect(ml, gl)
		next.Contexts = gl.Labels
		in.lay(next, gl)
		gl.pack(uint32(len(next.Ctx)), ml.top(), len(ml.Narrow)+len(ml.Wide))
		if ml.Narrow != nil && gl.Narrow != nil && in.words == 1 {
			in.connect(ml, gl, next)
			gl.Tails = newTails(gl)
			continue
		}
		for i := range ml.Columns * ml.Classes {
			if to, v := ml.Arc(i); v != Excluded {
				gl.set(i, next.Start[to]+in.before(gl, int(to), gl.Rank[i%ml.Classes]), v)
			}
		}
	}
	last := &g.Layers[len(m.Layers)]
	last.Column = make([]uint32, len(last.Ctx))
	for c := range len(last.Start) - 1 {
		for i := last.Start[c]; i < last.Start[c+1]; i++ {
			last.Column[i] = uint32(c)
		}
	}
}

// begin lays out layer 0: one entry with the empty context.
func (g *Graph) begin(m *Machine) {
	first := &g.Layers[0]
	first.Start, first.Ctx, first.Contexts = []uint32{0, 1}, []uint32{0}, 1
	if m.Columns(0) == 0 {
		first.Start, first.Ctx = []uint32{0}, nil
	}
}

// groups is, for each row of a layer, the set of classes (by rank) that lead
// into it.
type groups struct {
	words int
	set   []uint64
}

func newGroups(rows, classes int) groups {
	w := max(1, (classes+63)/64)
	return groups{words: w, set: make([]uint64, rows*w)}
}

func (in *groups) add(row int, r uint32) { in.set[row*in.words+int(r/64)] |= 1 << (r % 64) }

// appendRanks appends the classes of a row, in order.
func (in *groups) appendRanks(dst []uint32, row int) []uint32 {
	for w, set := range in.set[row*in.words : (row+1)*in.words] {
		for ; set != 0; set &= set - 1 {
			dst = append(dst, uint32(64*w+bits.TrailingZeros64(set)))
		}
	}
	return dst
}

// collect finds the classes that lead into each column.
func (in *groups) collect(ml *Layer, gl *GraphLayer) {
	if ml.Narrow != nil && in.words == 1 && ml.Classes > 0 {
		bit := make([]uint64, ml.Classes)
		for k, r := range gl.Rank {
			bit[k] = 1 << r
		}
		set, shift, mask := in.set, ml.Shift&31, uint32(1)<<ml.Shift-1
		for i := 0; i < len(ml.Narrow); i += ml.Classes {
			arcs := ml.Narrow[i : i+ml.Classes]
			for k, e := range arcs[:len(bit)] {
				if e&mask != 0 {
					set[e>>shift] |= bit[k]
				}
			}
		}
		return
	}
	for i := range ml.Columns * ml.Classes {
		if to, v := ml.Arc(i); v != Excluded {
			in.add(int(to), gl.Rank[i%ml.Classes])
		}
	}
}

// lay sets next.start and next.ctx: the labels of the classes that lead in.
func (in *groups) lay(next, gl *GraphLayer) {
	n := len(in.set) / in.words
	next.Start = make([]uint32, n+1)
	total := 0
	for c := range n {
		total += int(in.labels(gl, c))
		next.Start[c+1] = uint32(total)
	}
	next.Ctx = make([]uint32, total)
	ctx, at := next.Ctx, 0
	for c := range n {
		for w, set := range in.set[c*in.words : (c+1)*in.words] {
			for ; set != 0; set &= set - 1 {
				r := 64*w + bits.TrailingZeros64(set)
				cut := gl.rcut[r]
				if r < gl.Single {
					ctx[at] = cut
					at++
					continue
				}
				for d := range gl.rsize[r] {
					ctx[at] = cut + d
					at++
				}
			}
		}
	}
}

// connect points the machine's arcs at entries.
func (in *groups) connect(ml *Layer, gl, next *GraphLayer) {
	singles := Ones(gl.Single)
	mask := uint32(1)<<ml.Shift - 1
	below := make([]uint64, ml.Classes)
	for k, r := range gl.Rank {
		below[k] = 1<<r - 1
	}
	from, to := ml.Shift&31, gl.Shift&31
	for i := 0; i < len(ml.Narrow); i += ml.Classes {
		made := gl.Narrow[i : i+ml.Classes]
		for k, e := range ml.Narrow[i : i+ml.Classes] {
			v := e & mask
			if v == 0 {
				continue
			}
			c := e >> from
			set := in.set[c] & below[k]
			p := next.Start[c] + uint32(bits.OnesCount64(set&singles))
			for several := set &^ singles; several != 0; several &= several - 1 {
				p += gl.rsize[bits.TrailingZeros64(several)]
			}
			made[k] = p<<to | v
		}
	}
}

// labels returns the number of labels of the classes that lead into row c.
func (in *groups) labels(gl *GraphLayer, c int) uint32 {
	n := uint32(0)
	for w, set := range in.set[c*in.words : (c+1)*in.words] {
		s := Ones(max(0, gl.Single-64*w))
		n += uint32(bits.OnesCount64(set & s))
		for several := set &^ s; several != 0; several &= several - 1 {
			n += gl.rsize[64*w+bits.TrailingZeros64(several)]
		}
	}
	return n
}

// before is labels, of the classes before rank r only.
func (in *groups) before(gl *GraphLayer, c int, r uint32) uint32 {
	n := uint32(0)
	for w := 0; w <= int(r/64); w++ {
		set := in.set[c*in.words+w]
		if w == int(r/64) {
			set &= 1<<(r%64) - 1
		}
		s := Ones(max(0, gl.Single-64*w))
		n += uint32(bits.OnesCount64(set & s))
		for several := set &^ s; several != 0; several &= several - 1 {
			n += gl.rsize[64*w+bits.TrailingZeros64(several)]
		}
	}
	return n
}

// Ones returns a word with the lowest n bits set.
func Ones(n int) uint64 {
	if n >= 64 {
		return ^uint64(0)
	}
	return 1<<n - 1
}

// classRows are the rows of a layer for order 3: its columns with the classes of their last labels.
type classRows struct {
	column, last []uint32 // by row: its column, and the rank of the class of its last label

	in    groups   // by column: the classes of its rows
	first []uint32 // by column: its first row
}

// newClassRows makes a row of each column and class that leads into it.
func newClassRows(in groups) *classRows {
	columns := len(in.set) / in.words
	rows := &classRows{in: in, first: make([]uint32, columns)}
	for c := range columns {
		rows.first[c] = uint32(len(rows.column))
		rows.last = in.appendRanks(rows.last, c)
		for len(rows.column) < len(rows.last) {
			rows.column = append(rows.column, uint32(c))
		}
	}
	return rows
}

// row returns the row of a column and a class of rank r.
func (rows *classRows) row(column, r uint32) int {
	in := &rows.in
	n := int(rows.first[column])
	for w := 0; w <= int(r/64); w++ {
		set := in.set[int(column)*in.words+w]
		if w == int(r/64) {
			set &= 1<<(r%64) - 1
		}
		n += bits.OnesCount64(set)
	}
	return n
}

// noLabel stands for the numbering before the first label: one label that all strings have.
var noLabel = GraphLayer{numbering: newNumbering([]uint32{0}, 1)}

// order3: an entry is a column with its last two labels; a row is a column with
// the class of its last label.
func (g *Graph) order3(m *Machine) {
	g.begin(m)
	rows := &classRows{column: []uint32{0}, last: []uint32{0}}
	if m.Columns(0) == 0 {
		rows = &classRows{}
	}
	before := &noLabel // whose labels the rows' last labels are
	for t := range m.Layers {
		if t > 0 && !g.charge(m, t, &g.Layers[t-1]) {
			return
		}
		rows = g.third(m, t, before, rows)
		before = &g.Layers[t]
	}
	end := &g.Layers[len(m.Layers)]
	end.Column = make([]uint32, len(end.Ctx))
	for r, c := range rows.column {
		for i := end.Start[r]; i < end.Start[r+1]; i++ {
			end.Column[i] = c
		}
	}
}

// third lays out the arcs of layer t, which has the given rows, and the entries behind. It returns
// the rows behind.
func (g *Graph) third(m *Machine, t int, before *GraphLayer, rows *classRows) *classRows {
	ml, gl, next := &m.Layers[t], &g.Layers[t], &g.Layers[t+1]
	in := newGroups(m.Columns(t+1), gl.Classes)
	for _, c := range rows.column {
		for k := range ml.Classes {
			if to, v := ml.Arc(int(c)*ml.Classes + k); v != Excluded {
				in.add(int(to), gl.Rank[k])
			}
		}
	}
	behind := newClassRows(in)
	// What leads into each row: classes of the label before.
	pred := newGroups(len(behind.column), before.Classes)
	for i, c := range rows.column {
		for k := range ml.Classes {
			if to, v := ml.Arc(int(c)*ml.Classes + k); v != Excluded {
				pred.add(behind.row(to, gl.Rank[k]), rows.last[i])
			}
		}
	}
	behind.lay(next, gl, before, &pred)
	gl.pack(uint32(len(next.Ctx)), ml.top(), len(rows.column)*ml.Classes)
	for i, c := range rows.column {
		for k := range ml.Classes {
			to, v := ml.Arc(int(c)*ml.Classes + k)
			if v == Excluded {
				continue
			}
			r := behind.row(to, gl.Rank[k])
			gl.set(i*ml.Classes+k, next.Start[r]+pred.before(before, r, rows.last[i])*gl.Size[k], v)
		}
	}
	return behind
}

// lay sets the entries of next, whose rows these are: by class of the label before, that label, and
// the last label.
func (rows *classRows) lay(next, gl, before *GraphLayer, pred *groups) {
	next.Start = make([]uint32, len(rows.column)+1)
	next.Width = make([]uint32, len(rows.column))
	next.Contexts = before.Labels * gl.Labels
	var ranks []uint32
	for r, k := range rows.last {
		next.Width[r] = gl.rsize[k]
		ranks = pred.appendRanks(ranks[:0], r)
		for _, p := range ranks {
			for a := range before.rsize[p] {
				context := (before.rcut[p]+a)*uint32(gl.Labels) + gl.rcut[k]
				for d := range gl.rsize[k] {
					next.Ctx = append(next.Ctx, context+d)
				}
			}
		}
		next.Start[r+1] = uint32(len(next.Ctx))
	}
}

// top returns the greatest index that the layer's arcs may have.
func (l *Layer) top() uint32 {
	if l.Narrow != nil {
		return 1<<l.Shift - 1
	}
	top := uint32(0)
	for _, e := range l.Wide {
		top = max(top, uint32(e))
	}
	return top
}

// pack makes n arcs for entries up to total and values up to top.
func (gl *GraphLayer) pack(total, top uint32, n int) {
	gl.Shift = uint8(bits.Len32(top))
	if bits.Len32(total)+int(gl.Shift) <= ArcBits {
		gl.Narrow = make([]uint32, n)
		return
	}
	gl.Shift = 32
	gl.Wide = make([]uint64, n)
}

func (gl *GraphLayer) set(i int, p, v uint32) {
	if gl.Narrow != nil {
		gl.Narrow[i] = p<<gl.Shift | v
	} else {
		gl.Wide[i] = uint64(p)<<32 | uint64(v)
	}
}

// WidthOf returns the number of labels of the class of row r.
func (gl *GraphLayer) WidthOf(r int) uint32 {
	if gl.Width == nil {
		return 1
	}
	return gl.Width[r]
}

// Arc returns the entry that arc i leads to, and the index of its value.
func (gl *GraphLayer) Arc(i int) (next, value uint32) {
	if gl.Narrow != nil {
		e := gl.Narrow[i]
		return e >> gl.Shift, e & (1<<gl.Shift - 1)
	}
	e := gl.Wide[i]
	return uint32(e >> 32), uint32(e)
}

// RowOf returns the row of an entry, and which label of the row's class it has.
func (gl *GraphLayer) RowOf(entry uint32) (row int, o uint32) {
	lo, hi := 0, len(gl.Start)-1
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; gl.Start[mid] <= entry {
			lo = mid
		} else {
			hi = mid
		}
	}
	// Rows without entries have equal starts. The row is the last nonempty one with this start; lo
	// is it, for start[lo] ≤ entry < start[lo+1].
	return lo, (entry - gl.Start[lo]) % gl.WidthOf(lo)
}
