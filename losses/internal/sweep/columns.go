package sweep

import (
	"context"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/losses/internal/features"
	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// Columns is the layout of a machine for potentials that are sums of label scores and of pair
// scores that all positions share. The exponentials of pair scores are then one matrix T, which
// stays in the first level of cache, and a position costs products with it:
//
//	V = A T                                     forward values of columns, by the last label
//	A'[to(c, b), b] += w(c, b) V[c, b] e'[b]     along the arcs
//	G[c, b] = w(c, b) e'[b] B'[to(c, b), b]     backward
//	B = G Tᵀ,  X += Aᵀ G                        and T∘X is the expected number of pairs
//
// Marginals of pairs are summed over positions, which the weights of a model want anyway. So no
// position costs anything that is quadratic in the labels but for these products.
//
// Columns that many labels lead into are dense: rows of all labels. Others list their entries; a
// column of a banded edit distance has either one label or all those outside the window. The
// largest class of labels is a wide arc of whole vectors. All other labels have arcs of their own.
type Columns struct {
	Labels int // D
	Width  int // of a row: D rounded up to whole tiles

	layers []columnLayer // l + 1
	all    []uint32      // by label: its row of T, in bytes
	ends   [2]uint32     // of that list
	size   int           // floats of all layers
	rows   int           // most rows of a layer
	widest int           // most floats of a layer
	Bytes  int64
}

// columnLayer is what lies before a position: its columns, and their arcs.
type columnLayer struct {
	at     int      // where its values begin: rows of dense columns, then entries of others
	dense  int      // columns
	sparse int      // columns
	first  []uint32 // by sparse column: its first entry; and one past the last
	label  []uint32 // by entry: the row of T, in bytes
	number []uint8  // by entry: its label

	// The arcs of the widest class of labels, by target: a dense column of the next layer. They
	// come from a place in v, which is stored << 8 | value, as those of single labels are.
	others []bool   // by label: whether it is in that class
	wide   bool     // whether there is one
	into   []uint32 // by target: its first arc; and one past the last
	from   []uint32
	// The arcs of the other labels: groups of targets that have as many arcs each. A group is that
	// number, the number of targets, and for each its place among the values of the next layer << 8
	// | label, and its arcs.
	stream []uint32
	groups int
	holes  bool     // some row lacks an arc
	final  []uint32 // last layer only: by column, dense ones first, its final value
}

// padded returns the rows of dense columns with those that complete a tile.
func (l *columnLayer) padded() int { return up(l.dense, tileRows) }

// wideFrom is the least class of labels that is a wide arc.
const wideFrom = 4

// NewColumns returns nil where there is no such layout: without AVX-512, or where positions have
// different labels, there are too many values or columns, or no positions. m has arcs to columns.
func NewColumns(m *layered.Machine) *Columns {
	n := len(m.Layers)
	if !features.Lanes || n == 0 || len(m.Values) > 256 || m.Layers[0].Columns == 0 {
		return nil
	}
	d := len(m.Layers[0].Class)
	if d == 0 || d > 256 {
		return nil
	}
	c := &Columns{Labels: d, Width: up(d, tileColumns), layers: make([]columnLayer, n+1)}
	c.layers[0] = columnLayer{sparse: 1, first: []uint32{0, 0}}
	number := []uint32{0} // by column: its row
	for t := range m.Layers {
		if len(m.Layers[t].Class) != d {
			return nil
		}
		l := m.Layers[t].Columned()
		if number = c.layer(t, &l, m.Columns(t+1), number); number == nil {
			return nil
		}
	}
	last := &c.layers[n]
	last.final = make([]uint32, last.dense+last.sparse)
	for q, r := range number {
		if r != none {
			last.final[r] = m.Final[q]
		}
	}
	c.pack()
	for b := range d {
		c.all = append(c.all, uint32(8*b*c.Width))
	}
	c.ends[1] = uint32(d)
	for t := range c.layers {
		l := &c.layers[t]
		l.at = c.size
		floats := l.padded()*c.Width + len(l.label)
		c.size += up(floats+c.Width, 8) // a wide arc that is excluded reads a row at place 0
		c.widest = max(c.widest, up(floats+c.Width, 8))
		c.rows = max(c.rows, l.padded()+l.sparse)
		c.Bytes += 4*int64(len(l.first)+len(l.label)+len(l.into)+len(l.from)+len(l.stream)+len(l.final)) +
			int64(len(l.number)+len(l.others)) + 300
	}
	return c
}

// pack puts the lists of all layers into one array, in the order in which sweeps read them.
func (c *Columns) pack() {
	lists := func(l *columnLayer) []*[]uint32 {
		return []*[]uint32{&l.first, &l.label, &l.into, &l.from, &l.stream}
	}
	n := 0
	for t := range c.layers {
		for _, list := range lists(&c.layers[t]) {
			n += len(*list)
		}
	}
	room := make([]uint32, 0, n)
	for t := range c.layers {
		for _, list := range lists(&c.layers[t]) {
			from := len(room)
			room = append(room, *list...)
			*list = room[from:len(room):len(room)]
		}
	}
}

// none is the row of a column that no string reaches.
const none = math.MaxUint32

// layer lays out the arcs of layer t, whose columns have the given rows, and the columns behind. It
// returns the rows of those, nil where the layout is too large.
func (c *Columns) layer(t int, ml *layered.Layer, columns int, number []uint32) []uint32 {
	from, to := &c.layers[t], &c.layers[t+1]
	size := make([]int, ml.Classes)
	for _, k := range ml.Class {
		size[k]++
	}
	wide := -1
	for k, n := range size {
		if n >= wideFrom && (wide < 0 || n > size[wide]) {
			wide = k
		}
	}
	var singles []int
	from.wide, from.others = wide >= 0, make([]bool, c.Labels)
	for b, k := range ml.Class {
		if from.others[b] = int(k) == wide; !from.others[b] {
			singles = append(singles, b)
		}
	}
	// What leads into each column: the wide class, and how many single labels.
	into, whole := make([]int, columns), make([]bool, columns)
	seen := make([]int32, columns*len(singles)) // by column and single label: its entry, plus one
	for q, r := range number {
		if r == none {
			continue
		}
		if wide >= 0 {
			if next, v := ml.Arc(q*ml.Classes + wide); v != layered.Excluded {
				whole[next] = true
			}
		}
		for i, b := range singles {
			next, v := ml.Arc(q*ml.Classes + int(ml.Class[b]))
			if at := int(next)*len(singles) + i; v != layered.Excluded && seen[at] == 0 {
				seen[at] = 1
				into[next]++
			}
		}
	}
	rows := make([]uint32, columns)
	dense := func(q int) bool { return whole[q] || into[q] > max(wideFrom, c.Labels/4) }
	for q := range rows {
		if dense(q) {
			rows[q] = uint32(to.dense)
			to.dense++
		}
	}
	to.first = []uint32{0}
	for q := range rows {
		if dense(q) {
			continue
		}
		if into[q] == 0 {
			rows[q] = none
			continue
		}
		rows[q] = uint32(to.dense + to.sparse)
		to.sparse++
		for i, b := range singles {
			if at := q*len(singles) + i; seen[at] != 0 {
				to.label, to.number = append(to.label, uint32(8*b*c.Width)), append(to.number, uint8(b))
				seen[at] = int32(len(to.label))
			}
		}
		to.first = append(to.first, uint32(len(to.label)))
	}
	entries := to.padded() * c.Width
	if max(entries+len(to.label), (from.padded()+from.sparse)*c.Width) >= 1<<24 {
		return nil
	}
	// Arcs by target, in the order of the rows that they come from.
	arcs := make([]singleArc, 0, (from.dense+from.sparse)*len(singles))
	place := func(r uint32) uint32 {
		if int(r) >= from.dense {
			r += uint32(from.padded() - from.dense)
		}
		return r * uint32(c.Width)
	}
	if from.wide {
		from.into = make([]uint32, to.dense+1)
	}
	byRow := make([]uint32, from.dense+from.sparse) // the column of a row
	for q, r := range number {
		if r != none {
			byRow[r] = uint32(q)
		}
	}
	for r, q := range byRow {
		for i, b := range singles {
			next, v := ml.Arc(int(q)*ml.Classes + int(ml.Class[b]))
			if v == layered.Excluded {
				from.holes = true
				continue
			}
			at := int(rows[next])*c.Width + b
			if !dense(int(next)) {
				at = entries + int(seen[int(next)*len(singles)+i]) - 1
			}
			arcs = append(arcs, singleArc{uint32(at)<<8 | uint32(b), (place(uint32(r))+uint32(b))<<8 | v})
		}
		if !from.wide {
			continue
		}
		if next, v := ml.Arc(int(q)*ml.Classes + wide); v != layered.Excluded {
			from.into[rows[next]+1]++
		} else {
			from.holes = true
		}
	}
	if from.wide {
		for g := range to.dense {
			from.into[g+1] += from.into[g]
		}
		from.from = make([]uint32, from.into[to.dense])
		fill := slices.Clone(from.into)
		for r, q := range byRow {
			if next, v := ml.Arc(int(q)*ml.Classes + wide); v != layered.Excluded {
				g := rows[next]
				from.from[fill[g]] = place(uint32(r))<<8 | v
				fill[g]++
			}
		}
	}
	from.group(arcs, entries+len(to.label))
	return rows
}

// singleArc is an arc of one label: its place among the next layer's values << 8 | label, and where
// it comes from.
type singleArc struct{ at, from uint32 }

// group makes the stream of arcs whose targets are below a bound, by counting.
func (l *columnLayer) group(arcs []singleArc, bound int) {
	first := make([]int32, bound+1) // by target: its first arc in order of targets
	longest := int32(0)
	for _, a := range arcs {
		first[a.at>>8+1]++
	}
	for g, n := range first[1:] {
		longest = max(longest, n)
		first[g+1] = first[g] + n
	}
	ordered, fill := make([]singleArc, len(arcs)), slices.Clone(first)
	for _, a := range arcs {
		g := a.at >> 8
		ordered[fill[g]] = a
		fill[g]++
	}
	of := make([]int32, longest+2) // by number of arcs, plus one: how many targets have it
	for g := range bound {
		of[first[g+1]-first[g]+1]++
	}
	at := make([]int, longest+1) // by number of arcs: where its next target goes
	size := 0
	for n := int32(1); n <= longest; n++ {
		if k := int(of[n+1]); k > 0 {
			at[n] = size
			size += 2 + k*(int(n)+1)
			l.groups++
		}
	}
	l.stream = make([]uint32, size)
	for n := int32(1); n <= longest; n++ {
		if k := of[n+1]; k > 0 {
			l.stream[at[n]], l.stream[at[n]+1] = uint32(n), uint32(k)
			at[n] += 2
		}
	}
	for g := range bound {
		own := ordered[first[g]:first[g+1]]
		if len(own) == 0 {
			continue
		}
		to := l.stream[at[len(own)]:]
		at[len(own)] += len(own) + 1
		to[0] = own[0].at
		for i, a := range own {
			to[i+1] = a.from
		}
	}
}

// PairMatrix is exp(score - top) of pairs of labels, as sweeps over Columns read it.
type PairMatrix struct {
	labels, width int
	t, transposed []float64 // D rows of width, padded with zeros
	top, span     float64
	ok            bool // all scores are finite
}

// Set takes scores, D rows of D. O(D²).
func (p *PairMatrix) Set(labels int, scores []float64) {
	p.labels, p.width = labels, up(labels, tileColumns)
	lo, hi, bad := RangeOf(scores)
	p.top, p.span = hi, hi-lo
	p.ok = !bad && !slices.ContainsFunc(scores, func(x float64) bool { return math.IsInf(x, -1) })
	if !p.ok {
		return
	}
	n := up(labels, tileRows) * p.width
	p.t, p.transposed = layered.Resize(p.t, n), layered.Resize(p.transposed, n)
	clear(p.t)
	clear(p.transposed)
	for a := range labels {
		row := p.t[a*p.width:][:labels]
		ExpShifted(row, scores[a*labels:(a+1)*labels], hi)
		for b, x := range row {
			p.transposed[b*p.width+a] = x
		}
	}
}

// columnArgs is what the kernels of columns read; its layout is known there.
type columnArgs struct {
	rows    *float64
	stride  int     // bytes of a row
	n       int     // rows
	arcs    *uint32 // or the first entry of each row, or a stream
	_       [1]int
	labels  *uint32 // of entries, or arcs
	_       [1]int
	w       *float64 // weights of values, or entries
	to      *float64 // targets, or a matrix
	factors *float64
	_       [1]int
	sums    *float64
	out     *float64
}

// ColumnSweeper is the forward-backward sweep over Columns.
//
// Forward values of a layer are divided by their sum, the next layer is made of the quotients, and
// backward values have the same divisors, so that the products of both add up to 1 at every
// position (L. Rabiner, "A tutorial on hidden Markov models", Proc. IEEE 77, 1989). This is also
// the certificate of a sweep: where what matters has vanished on the way forward, it is there
// backward, and the sum of an earlier position is not 1.
type ColumnSweeper struct {
	Ctx  context.Context // stops a sweep, whose results are then not certain; may be nil
	args columnArgs
	tile tailKernels

	w      []float64 // by value
	e      []float64 // by position: exp(score - top), then divided by the sum of the layer before
	a      []float64 // forward values, all layers
	v      []float64 // by row: A T, or G
	b, bn  []float64 // backward values
	x      []float64 // flow of pairs
	post   []float64
	sums   []float64
	others []float64 // e of the labels that wide arcs have, else 0
	risk   columnRisk
}

// ColumnJob is a sweep of a machine whose layout is Columns, at one γ.
type ColumnJob struct {
	Gamma  float64
	Unary  []float64 // scores of labels, position after position, rows of Stride
	Stride int
	Pairs  *PairMatrix

	LogZ      float64
	Marginals []float64 // receives the probabilities of labels, rows of Stride
	Expected  []float64 // is added the expected number of each pair, D rows of ExpectedStride
	Row       int       // floats from row to row of Expected
	Least     float64   // of RunRisk
}

// columnSpan bounds how far the logarithms of weights at a position may lie apart: products of them
// are then normal numbers.
const columnSpan = 300

// Run does a job, and reports whether its results are certain. Nothing is added to Expected if they
// are not.
func (s *ColumnSweeper) Run(m *layered.Machine, c *Columns, j *ColumnJob) bool {
	n, d, width := len(c.layers)-1, c.Labels, c.Width
	if j.Pairs.labels != d || !j.Pairs.ok {
		return false
	}
	shift, ok := s.begin(m, c, j)
	if !ok {
		return false
	}
	logZ := shift + j.Gamma*m.Base
	// Forward: from the one string without labels, which has no last label.
	clear(s.v[:width])
	for b := range d {
		s.v[b] = 1
	}
	sum := s.advance(c, 0, s.e[:width])
	for t := 1; t < n; t++ {
		if Stopped(s.Ctx) || !(sum > 0) {
			return false
		}
		logZ += math.Log(sum)
		e := s.e[t*width:][:width]
		inv := 1 / sum
		for b := range e {
			e[b] *= inv
		}
		s.spread(c, t, c.at(s.a, t), j.Pairs)
		sum = s.advance(c, t, e)
	}
	if !(sum > 0) {
		return false
	}
	// Finals.
	last := &c.layers[n]
	top := math.Inf(-1)
	for _, f := range last.final {
		if f != layered.Excluded {
			top = max(top, j.Gamma*m.Values[f])
		}
	}
	if math.IsInf(top, -1) {
		return false
	}
	a := c.at(s.a, n)
	clear(s.b)
	z := 0.0
	for r, f := range last.final {
		if f == layered.Excluded {
			continue
		}
		x := math.Exp(j.Gamma*m.Values[f] - top)
		from, to := r*width, r*width+d
		if r >= last.dense {
			from, to = last.entries(width, r-last.dense)
		}
		for i := from; i < to; i++ {
			s.b[i] = x
			z += x * a[i]
		}
	}
	logZ += top + math.Log(z)
	if !(z > 0) || math.IsInf(logZ, 0) || math.IsNaN(logZ) {
		return false
	}
	inv := 1 / z
	for i := range s.b {
		s.b[i] *= inv
	}
	// Backward. s.b is divided by the sum of its layer, as a is.
	clear(s.x)
	for t := n; ; t-- {
		if !s.collect(c, t, c.at(s.a, t), j.Marginals[(t-1)*j.Stride:]) {
			return false
		}
		if t == 1 {
			break
		}
		s.back(c, t-1, c.at(s.a, t-1), s.e[(t-1)*width:][:width], j.Pairs)
	}
	j.LogZ = logZ
	s.addPairs(j, d, width)
	return true
}

// at returns the values of a layer.
func (c *Columns) at(values []float64, t int) []float64 {
	end := c.size
	if t+1 < len(c.layers) {
		end = c.layers[t+1].at
	}
	return values[c.layers[t].at:end]
}

// entries returns where the values of a sparse column stand.
func (l *columnLayer) entries(width, column int) (from, to int) {
	base := l.padded() * width
	return base + int(l.first[column]), base + int(l.first[column+1])
}

// begin exponentiates scores and weights, and returns the logarithm of what they were divided by.
// ok is false where they lie too far apart.
func (s *ColumnSweeper) begin(m *layered.Machine, c *Columns, j *ColumnJob) (shift float64, ok bool) {
	n, d, width := len(c.layers)-1, c.Labels, c.Width
	s.a, s.e = layered.Resize(s.a, c.size), layered.Resize(s.e, n*width)
	s.v = layered.Resize(s.v, max(1, c.rows)*width)
	s.b, s.bn = layered.Resize(s.b, c.widest), layered.Resize(s.bn, c.widest)
	s.x = layered.Resize(s.x, up(d, tileRows)*width)
	s.post, s.sums = layered.Resize(s.post, width), layered.Resize(s.sums, width)
	lo, hi := math.Inf(1), math.Inf(-1)
	s.w = layered.Resize(s.w, 256)
	clear(s.w)
	for t := range m.Layers {
		if l := &m.Layers[t]; l.Lo <= l.Hi {
			lo, hi = min(lo, j.Gamma*l.Lo, j.Gamma*l.Hi), max(hi, j.Gamma*l.Lo, j.Gamma*l.Hi)
		}
	}
	if !(lo <= hi) {
		return 0, false
	}
	for i, x := range m.Values[1:] {
		s.w[i+1] = math.Exp(min(0, j.Gamma*x-hi)) // values of finals alone may exceed it
	}
	shift = float64(n)*hi + float64(n-1)*j.Pairs.top
	far := hi - lo + j.Pairs.span
	for t := range n {
		row, e := j.Unary[t*j.Stride:][:d], s.e[t*width:][:width]
		low, top, bad := RangeOf(row)
		if bad || !(top-low+far <= columnSpan) {
			return 0, false
		}
		ExpShifted(e[:d], row, top)
		if slices.Contains(e[:d], 0) { // a score of -Inf, which the range leaves out
			return 0, false
		}
		clear(e[d:])
		shift += top
	}
	return shift, true
}

// spread sets v to the values of layer t times the matrix: rows of dense columns, and from padded()
// on those of sparse ones.
func (s *ColumnSweeper) spread(c *Columns, t int, a []float64, p *PairMatrix) {
	l, w := &c.layers[t], c.Width
	if l.dense > 0 {
		s.tile.product(matrix{s.v, w, 1}, matrix{a, w, 1}, matrix{p.t, w, 1}, l.padded(), w, c.Labels, false)
	}
	if l.sparse > 0 {
		base := l.padded() * w
		s.args = columnArgs{rows: &s.v[base], stride: 8 * w, n: l.sparse, arcs: &l.first[0],
			labels: &l.label[0], w: &a[base], to: &p.t[0]}
		spreadEntries(&s.args)
		s.args = columnArgs{}
	}
}

// advance makes the values of layer t+1 of v, which spread has set, and returns their sum.
func (s *ColumnSweeper) advance(c *Columns, t int, e []float64) float64 {
	l, to, w := &c.layers[t], &c.layers[t+1], c.Width
	next := c.at(s.a, t+1)
	clear(s.sums)
	switch {
	case to.dense == 0:
	case l.wide:
		s.wide(c, l, to, s.v, next, e, s.w)
		s.args.sums = &s.sums[0]
		sumColumns(&s.args)
	default:
		clear(next[:to.dense*w])
	}
	clear(next[to.padded()*w:][:len(to.label)])
	if l.groups > 0 {
		s.args = columnArgs{rows: &s.v[0], n: l.groups, arcs: &l.stream[0], w: &s.w[0],
			to: &next[0], factors: &e[0], sums: &s.sums[0]}
		gatherSingles(&s.args)
	}
	s.args = columnArgs{}
	sum := 0.0
	for _, x := range s.sums {
		sum += x
	}
	return sum
}

// wide points the arguments at the wide arcs of a layer, at rows where they come from and at the
// values of the next layer.
func (s *ColumnSweeper) wide(c *Columns, l, to *columnLayer, rows, values, e, w []float64) {
	s.others = layered.Resize(s.others, len(e))
	clear(s.others)
	for b, is := range l.others {
		if is {
			s.others[b] = e[b]
		}
	}
	s.args = columnArgs{rows: &values[0], stride: 8 * c.Width, n: to.dense, arcs: &l.into[0], w: &w[0],
		to: &rows[0], factors: &s.others[0]}
	if len(l.from) > 0 {
		s.args.labels = &l.from[0]
	}
}

// carry sets the rows of layer t to the values of layer t+1 where their arcs lead, times the
// weights of the arcs and the factors e of their labels.
func (s *ColumnSweeper) carry(c *Columns, t int, rows, values, e, w []float64) {
	l, to := &c.layers[t], &c.layers[t+1]
	if l.holes {
		clear(rows[:(l.padded()+l.sparse)*c.Width])
	}
	if l.wide && to.dense > 0 {
		s.wide(c, l, to, rows, values, e, w)
		spreadColumns(&s.args)
	} else {
		for r := range l.padded() + l.sparse { // beyond the labels, which no arc sets
			clear(rows[r*c.Width+c.Labels : (r+1)*c.Width])
		}
	}
	if l.groups > 0 {
		s.args = columnArgs{rows: &rows[0], n: l.groups, arcs: &l.stream[0], w: &w[0],
			to: &values[0], factors: &e[0]}
		scatterSingles(&s.args)
	}
	s.args = columnArgs{}
}

// collect stores the probabilities of the labels that lead into layer t, and reports whether they
// add up to 1.
func (s *ColumnSweeper) collect(c *Columns, t int, a []float64, out []float64) bool {
	l := &c.layers[t]
	clear(s.post)
	s.byProduct(c, l, a, s.b, s.post)
	sum := 0.0
	for k, x := range s.post[:c.Labels] {
		out[k] = x
		sum += x
	}
	return math.Abs(sum-1) <= 1e-9
}

// byProduct adds up products of values of a layer by label.
func (s *ColumnSweeper) byProduct(c *Columns, l *columnLayer, a, b, sums []float64) {
	w := c.Width
	if l.dense > 0 {
		s.args = columnArgs{rows: &a[0], stride: 8 * w, n: l.dense, to: &b[0], sums: &sums[0]}
		multiplyRows(&s.args)
		s.args = columnArgs{}
	}
	base := l.padded() * w
	a, b = a[base:][:len(l.number)], b[base:][:len(l.number)]
	for i, k := range l.number {
		sums[k] += a[i] * b[i]
	}
}

// addPairs adds the flow of pairs, times the matrix, to what the job expects.
func (s *ColumnSweeper) addPairs(j *ColumnJob, d, width int) {
	for p := range d {
		row, x, to := j.Pairs.t[p*width:][:d], s.x[p*width:][:d], j.Expected[p*j.Row:][:d]
		for q, y := range row {
			to[q] += y * x[q]
		}
	}
}

// back turns the backward values of layer t+1 in s.b into those of layer t, and adds to the flow of
// pairs.
func (s *ColumnSweeper) back(c *Columns, t int, a, e []float64, p *PairMatrix) {
	l := &c.layers[t]
	s.carry(c, t, s.v, s.b, e, s.w)
	s.meet(c, l, a, p)
}

// meet makes backward values of the rows in v, and adds to the flow of pairs.
func (s *ColumnSweeper) meet(c *Columns, l *columnLayer, a []float64, p *PairMatrix) {
	w := c.Width
	if l.dense > 0 {
		s.tile.product(matrix{s.bn, w, 1}, matrix{s.v, w, 1}, matrix{p.transposed, w, 1}, l.padded(), w,
			c.Labels, false)
		s.tile.product(matrix{s.x, w, 1}, matrix{a, 1, w}, matrix{s.v, w, 1}, up(c.Labels, tileRows), w,
			l.dense, true)
	}
	if l.sparse > 0 {
		base := l.padded() * w
		s.args = columnArgs{rows: &s.v[base], stride: 8 * w, n: l.sparse, arcs: &l.first[0],
			labels: &l.label[0], w: &a[base], to: &p.t[0], sums: &s.x[0], out: &s.bn[base]}
		meetEntries(&s.args)
		s.args = columnArgs{}
	}
	s.b, s.bn = s.bn, s.b
}
