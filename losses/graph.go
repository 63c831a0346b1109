package losses

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// A graph lays out the product of a loss machine with the contexts of order-q
// potentials. An entry is a column with the last q-1 labels that may lead into
// it; entries of one column are neighbours, in groups by the classes of those
// labels, for labels of one class arrive together. Measured for q = 2, a column
// has 1 to 4 entries.
//
// A row is a column for q ≤ 2. For q = 3 it is a column with the class of the
// last label, and holds a matrix: the label before last down, the last label
// across (width many). The entries of one last label share the vector of
// outgoing flow
//
//	v[d] = Σ_entries alpha · P_t[context, d],
//
// which the row's arcs, one per class of d, carry to consecutive entries of the next layer. Labels
// are renumbered at each position so that those of one class are neighbours, classes of one label
// first. For q = 1 labels of a class need not be distinguished, and the classes themselves replace
// labels.
//
// A graph depends only on the machine and on q.
type graph struct {
	order  int
	layers []graphLayer // l + 1
	bytes  int64
	widest int  // entries of the largest layer, with room for a class beyond
	total  int  // entries of all layers, with that room in each
	most   int  // most labels at a position
	plain  bool // labels keep their numbers
	shared bool // arcs are the machine's own

	limits limits // while it is built
	spent  int64
	err    error
}

// charge counts a layer while the graph is built, and reports whether to go on.
func (g *graph) charge(m *core, t int, gl *graphLayer) bool {
	g.spent += 4*int64(len(gl.start)+2*len(gl.ctx)+len(gl.width)) + 4*int64(len(gl.narrow)) + 8*int64(len(gl.wide))
	g.err = g.limits.over(len(m.layers), t, m.totalColumns(), g.spent)
	return g.err == nil
}

type graphLayer struct {
	at    int      // entries of earlier layers, with their room
	start []uint32 // rows+1: entries of a row
	ctx   []uint32 // by entry: its context, as a row number of P_t
	width []uint32 // by row: labels of its class; nil stands for 1
	// by row and class: entry of the next layer << shift | value
	narrow []uint32
	wide   []uint64
	shift  uint8
	tails  *tails // for products of matrices over large alphabets; may be nil

	numbering
	contexts int      // rows of P_t
	column   []uint32 // last layer only: column of each entry
}

// numbering is the order of a position's labels in which classes are
// intervals. Several layers may share one.
type numbering struct {
	labels  int      // as the kernels see them: classes for q = 1
	classes int      //
	cut     []uint32 // class k is the labels cut[k] … cut[k]+size[k]-1, new numbers
	size    []uint32
	perm    []uint32 // label by its new number (all labels, for q = 1 too)
	classOf []uint32 // by new number: its class
	uniform bool     // class k is the one label k, for all k
	plain   bool     // and labels keep their numbers
	// trailing: the same but for the last class, which may have several labels.
	trailing bool
	// Classes in order of their labels' numbers; the first single have one label.
	single int
	rank   []uint32 // by class
	rcut   []uint32 // by rank
	rsize  []uint32
}

func newNumbering(class []uint32, classes int) numbering {
	if n := len(class); n == classes && n <= len(counting) && isCounting(class) {
		same := counting[:n:n]
		return numbering{
			labels: n, classes: n, cut: same, size: allOne[:n:n], perm: same, classOf: same, uniform: true, plain: true,
			trailing: true, single: n, rank: same, rcut: same, rsize: allOne[:n:n],
		}
	}
	n := numbering{
		labels: len(class), classes: classes,
		cut: make([]uint32, classes), size: make([]uint32, classes), perm: make([]uint32, len(class)),
		rank: make([]uint32, classes), rcut: make([]uint32, 0, classes), rsize: make([]uint32, 0, classes),
	}
	for _, k := range class {
		n.size[k]++
	}
	at := uint32(0)
	for _, one := range []bool{true, false} {
		for k, s := range n.size {
			if (s == 1) == one {
				n.cut[k], n.rank[k] = at, uint32(len(n.rcut))
				n.rcut, n.rsize = append(n.rcut, at), append(n.rsize, s)
				at += s
			}
		}
		if one {
			n.single = len(n.rcut)
		}
	}
	fill := slices.Clone(n.cut)
	for j, k := range class {
		n.perm[fill[k]] = uint32(j)
		fill[k]++
	}
	n.classOf = make([]uint32, len(class))
	for d, j := range n.perm {
		n.classOf[d] = class[j]
	}
	n.setUniform()
	return n
}

// Numberings in which every label is a class of its own share their lists.
var counting, allOne = func() (count, one [256]uint32) {
	for i := range count {
		count[i], one[i] = uint32(i), 1
	}
	return
}()

func isCounting(class []uint32) bool { return slices.Equal(class, counting[:len(class)]) }

func (n *numbering) setUniform() {
	n.uniform, n.trailing = n.single == n.classes, n.single >= n.classes-1
	for k, c := range n.cut {
		if int(c) != k {
			n.uniform, n.trailing = false, false
		}
	}
	if n.single < n.classes && n.classes > 0 && n.size[n.classes-1] == 1 {
		n.trailing = false
	}
}

// fold makes the classes the labels.
func (n numbering) fold() numbering {
	n.labels, n.single = n.classes, n.classes
	n.cut, n.size = make([]uint32, n.classes), make([]uint32, n.classes)
	for k := range n.cut {
		n.cut[k], n.size[k] = uint32(k), 1
	}
	n.setUniform()
	return n
}

// newGraph returns the layout of m for an order. spent is what m and its other layouts take of the limits.
func newGraph(m *core, order int, lim limits, spent int64) (*graph, error) {
	if order == 2 && m.fused != nil {
		return m.fused, nil
	}
	shared := order == 1 && m.fused == nil
	m = m.columned()
	g := &graph{order: order, shared: shared, limits: lim, spent: spent, layers: make([]graphLayer, len(m.layers)+1), plain: true}
	for t := range m.layers {
		ml, gl := &m.layers[t], &g.layers[t]
		if t > 0 && sameClasses(ml, &m.layers[t-1]) {
			gl.numbering = g.layers[t-1].numbering
		} else {
			gl.numbering = newNumbering(ml.class, ml.classes)
			if order == 1 {
				gl.numbering = gl.numbering.fold()
			}
		}
		g.most = max(g.most, gl.labels)
		g.plain = g.plain && gl.plain
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
	g.limits = limits{}
	if err := g.layOut(); err != nil {
		return nil, err
	}
	return g, nil
}

// layOut gives each layer its entries among those of all, when all are known.
func (g *graph) layOut() error {
	room := g.most // an excluded arc points at entry 0 and a class beyond it
	for t := range g.layers {
		gl := &g.layers[t]
		entries := len(gl.ctx)
		if int64(entries) > math.MaxUint32-int64(room) {
			return fmt.Errorf("losses: order %d: layer %d has %d columns with contexts; use a band or a lower order", g.order, t, entries)
		}
		gl.at = g.total
		g.total += entries + room
		g.widest = max(g.widest, entries+room)
		g.bytes += 4*int64(len(gl.start)+len(gl.ctx)+len(gl.width)+len(gl.column)) + 300
		if gl.tails != nil {
			g.bytes += gl.tails.bytes()
		}
		if !g.shared {
			g.bytes += 4*int64(len(gl.narrow)) + 8*int64(len(gl.wide))
		}
	}
	return nil
}

func sameClasses(a, b *layer) bool {
	return a.classes == b.classes && len(a.class) == len(b.class) && (len(a.class) == 0 || &a.class[0] == &b.class[0])
}

// order1: an entry is a column, its context empty, and the machine's arcs are
// the graph's.
func (g *graph) order1(m *core) {
	for t := range g.layers {
		gl := &g.layers[t]
		n := m.columns(t)
		gl.start = make([]uint32, n+1)
		for c := range gl.start {
			gl.start[c] = uint32(c)
		}
		gl.ctx = make([]uint32, n)
		gl.contexts = 1
		if t < len(m.layers) {
			ml := &m.layers[t]
			gl.narrow, gl.wide, gl.shift = ml.narrow, ml.wide, ml.shift
		} else {
			gl.column = gl.start[:n]
		}
	}
}

// order2: an entry is a column with its last label.
func (g *graph) order2(m *core) {
	g.begin(m)
	for t := range m.layers {
		ml, gl, next := &m.layers[t], &g.layers[t], &g.layers[t+1]
		if t > 0 && !g.charge(m, t, &g.layers[t-1]) {
			return
		}
		in := newGroups(m.columns(t+1), gl.classes)
		in.collect(ml, gl)
		next.contexts = gl.labels
		in.lay(next, gl)
		gl.pack(uint32(len(next.ctx)), ml.top(), len(ml.narrow)+len(ml.wide))
		if ml.narrow != nil && gl.narrow != nil && in.words == 1 {
			in.connect(ml, gl, next)
			gl.tails = newTails(gl)
			continue
		}
		for i := range ml.columns * ml.classes {
			if to, v := ml.arc(i); v != excluded {
				gl.set(i, next.start[to]+in.before(gl, int(to), gl.rank[i%ml.classes]), v)
			}
		}
	}
	last := &g.layers[len(m.layers)]
	last.column = make([]uint32, len(last.ctx))
	for c := range len(last.start) - 1 {
		for i := last.start[c]; i < last.start[c+1]; i++ {
			last.column[i] = uint32(c)
		}
	}
}

// begin lays out layer 0: one entry with the empty context.
func (g *graph) begin(m *core) {
	first := &g.layers[0]
	first.start, first.ctx, first.contexts = []uint32{0, 1}, []uint32{0}, 1
	if m.columns(0) == 0 {
		first.start, first.ctx = []uint32{0}, nil
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
func (in *groups) collect(ml *layer, gl *graphLayer) {
	if ml.narrow != nil && in.words == 1 && ml.classes > 0 {
		bit := make([]uint64, ml.classes)
		for k, r := range gl.rank {
			bit[k] = 1 << r
		}
		set, shift, mask := in.set, ml.shift&31, uint32(1)<<ml.shift-1
		for i := 0; i < len(ml.narrow); i += ml.classes {
			arcs := ml.narrow[i : i+ml.classes]
			for k, e := range arcs[:len(bit)] {
				if e&mask != 0 {
					set[e>>shift] |= bit[k]
				}
			}
		}
		return
	}
	for i := range ml.columns * ml.classes {
		if to, v := ml.arc(i); v != excluded {
			in.add(int(to), gl.rank[i%ml.classes])
		}
	}
}

// lay sets next.start and next.ctx: the labels of the classes that lead in.
func (in *groups) lay(next, gl *graphLayer) {
	n := len(in.set) / in.words
	next.start = make([]uint32, n+1)
	total := 0
	for c := range n {
		total += int(in.labels(gl, c))
		next.start[c+1] = uint32(total)
	}
	next.ctx = make([]uint32, total)
	ctx, at := next.ctx, 0
	for c := range n {
		for w, set := range in.set[c*in.words : (c+1)*in.words] {
			for ; set != 0; set &= set - 1 {
				r := 64*w + bits.TrailingZeros64(set)
				cut := gl.rcut[r]
				if r < gl.single {
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
func (in *groups) connect(ml *layer, gl, next *graphLayer) {
	singles := ones(gl.single)
	mask := uint32(1)<<ml.shift - 1
	below := make([]uint64, ml.classes)
	for k, r := range gl.rank {
		below[k] = 1<<r - 1
	}
	from, to := ml.shift&31, gl.shift&31
	for i := 0; i < len(ml.narrow); i += ml.classes {
		made := gl.narrow[i : i+ml.classes]
		for k, e := range ml.narrow[i : i+ml.classes] {
			v := e & mask
			if v == 0 {
				continue
			}
			c := e >> from
			set := in.set[c] & below[k]
			p := next.start[c] + uint32(bits.OnesCount64(set&singles))
			for rest := set &^ singles; rest != 0; rest &= rest - 1 {
				p += gl.rsize[bits.TrailingZeros64(rest)]
			}
			made[k] = p<<to | v
		}
	}
}

// labels returns the number of labels of the classes that lead into row c.
func (in *groups) labels(gl *graphLayer, c int) uint32 {
	n := uint32(0)
	for w, set := range in.set[c*in.words : (c+1)*in.words] {
		s := ones(max(0, gl.single-64*w))
		n += uint32(bits.OnesCount64(set & s))
		for rest := set &^ s; rest != 0; rest &= rest - 1 {
			n += gl.rsize[64*w+bits.TrailingZeros64(rest)]
		}
	}
	return n
}

// before is labels, of the classes before rank r only.
func (in *groups) before(gl *graphLayer, c int, r uint32) uint32 {
	n := uint32(0)
	for w := 0; w <= int(r/64); w++ {
		set := in.set[c*in.words+w]
		if w == int(r/64) {
			set &= 1<<(r%64) - 1
		}
		s := ones(max(0, gl.single-64*w))
		n += uint32(bits.OnesCount64(set & s))
		for rest := set &^ s; rest != 0; rest &= rest - 1 {
			n += gl.rsize[64*w+bits.TrailingZeros64(rest)]
		}
	}
	return n
}

// ones returns a word with the lowest n bits set.
func ones(n int) uint64 {
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
var noLabel = graphLayer{numbering: newNumbering([]uint32{0}, 1)}

// order3: an entry is a column with its last two labels; a row is a column with
// the class of its last label.
func (g *graph) order3(m *core) {
	g.begin(m)
	rows := &classRows{column: []uint32{0}, last: []uint32{0}}
	if m.columns(0) == 0 {
		rows = &classRows{}
	}
	before := &noLabel // whose labels the rows' last labels are
	for t := range m.layers {
		if t > 0 && !g.charge(m, t, &g.layers[t-1]) {
			return
		}
		rows = g.third(m, t, before, rows)
		before = &g.layers[t]
	}
	end := &g.layers[len(m.layers)]
	end.column = make([]uint32, len(end.ctx))
	for r, c := range rows.column {
		for i := end.start[r]; i < end.start[r+1]; i++ {
			end.column[i] = c
		}
	}
}

// third lays out the arcs of layer t, which has the given rows, and the entries behind. It returns the rows
// behind.
func (g *graph) third(m *core, t int, before *graphLayer, rows *classRows) *classRows {
	ml, gl, next := &m.layers[t], &g.layers[t], &g.layers[t+1]
	in := newGroups(m.columns(t+1), gl.classes)
	for _, c := range rows.column {
		for k := range ml.classes {
			if to, v := ml.arc(int(c)*ml.classes + k); v != excluded {
				in.add(int(to), gl.rank[k])
			}
		}
	}
	behind := newClassRows(in)
	// What leads into each row: classes of the label before.
	pred := newGroups(len(behind.column), before.classes)
	for i, c := range rows.column {
		for k := range ml.classes {
			if to, v := ml.arc(int(c)*ml.classes + k); v != excluded {
				pred.add(behind.row(to, gl.rank[k]), rows.last[i])
			}
		}
	}
	behind.lay(next, gl, before, &pred)
	gl.pack(uint32(len(next.ctx)), ml.top(), len(rows.column)*ml.classes)
	for i, c := range rows.column {
		for k := range ml.classes {
			to, v := ml.arc(int(c)*ml.classes + k)
			if v == excluded {
				continue
			}
			r := behind.row(to, gl.rank[k])
			gl.set(i*ml.classes+k, next.start[r]+pred.before(before, r, rows.last[i])*gl.size[k], v)
		}
	}
	return behind
}

// lay sets the entries of next, whose rows these are: by class of the label before, that label, and the last label.
func (rows *classRows) lay(next, gl, before *graphLayer, pred *groups) {
	next.start = make([]uint32, len(rows.column)+1)
	next.width = make([]uint32, len(rows.column))
	next.contexts = before.labels * gl.labels
	var ranks []uint32
	for r, k := range rows.last {
		next.width[r] = gl.rsize[k]
		ranks = pred.appendRanks(ranks[:0], r)
		for _, p := range ranks {
			for a := range before.rsize[p] {
				context := (before.rcut[p]+a)*uint32(gl.labels) + gl.rcut[k]
				for d := range gl.rsize[k] {
					next.ctx = append(next.ctx, context+d)
				}
			}
		}
		next.start[r+1] = uint32(len(next.ctx))
	}
}

// top returns the greatest index that the layer's arcs may have.
func (l *layer) top() uint32 {
	if l.narrow != nil {
		return 1<<l.shift - 1
	}
	top := uint32(0)
	for _, e := range l.wide {
		top = max(top, uint32(e))
	}
	return top
}

// pack makes n arcs for entries up to total and values up to top.
func (gl *graphLayer) pack(total, top uint32, n int) {
	gl.shift = uint8(bits.Len32(top))
	if bits.Len32(total)+int(gl.shift) <= arcBits {
		gl.narrow = make([]uint32, n)
		return
	}
	gl.shift = 32
	gl.wide = make([]uint64, n)
}

func (gl *graphLayer) set(i int, p, v uint32) {
	if gl.narrow != nil {
		gl.narrow[i] = p<<gl.shift | v
	} else {
		gl.wide[i] = uint64(p)<<32 | uint64(v)
	}
}

// widthOf returns the number of labels of the class of row r.
func (gl *graphLayer) widthOf(r int) uint32 {
	if gl.width == nil {
		return 1
	}
	return gl.width[r]
}

// arc returns the entry that arc i leads to, and the index of its value.
func (gl *graphLayer) arc(i int) (next, value uint32) {
	if gl.narrow != nil {
		e := gl.narrow[i]
		return e >> gl.shift, e & (1<<gl.shift - 1)
	}
	e := gl.wide[i]
	return uint32(e >> 32), uint32(e)
}

// rowOf returns the row of an entry, and which label of the row's class it has.
func (gl *graphLayer) rowOf(entry uint32) (row int, o uint32) {
	lo, hi := 0, len(gl.start)-1
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; gl.start[mid] <= entry {
			lo = mid
		} else {
			hi = mid
		}
	}
	// Rows without entries have equal starts. The row is the last nonempty one with this start; lo
	// is it, for start[lo] ≤ entry < start[lo+1].
	return lo, (entry - gl.start[lo]) % gl.widthOf(lo)
}
