package gibbs

import (
	"math"
	"unsafe"
)

const (
	most  = 32   // labels; up to 16 a look-up takes one register
	exps  = 16   // costs that a symbol can save, and 0
	dummy = most // the code of symbols that no label stands for
	far   = 127  // more than any cell
	limit = far - 1
)

type (
	lane  = [Lanes]uint8
	cells = [Lanes]int8
	table = [most][most]float32 // [label][index in the register]
)

// Units are the costs of an alignment as small integers, a match being 0: L = Unit·L' + Shift.
type Units struct {
	Sub, Ins, Del int
	Unit, Shift   float64
}

// Bytes is the engine of 64 chains in bytes.
type Bytes struct {
	core[uint8]
	labels     int // padded to a multiple of 4
	units      Units
	window     [2][2][]int // by direction: first and last
	centre     [2][]int
	period     int // rows between subtractions
	stride     int // cells of a row, guards included
	row        [2][]cells
	shift      [2][][Lanes]int32
	code       [2][]uint8 // of the symbol before cell j; code[.][0] is not read
	in, out    []*table   // weights by the left label, and by the right label
	texp, ones *[exps]float32
	save, zero *[most]lane
	x          *[most + 1]cells
	scratch    *[6*most + 4]lane
	none       *lane
	random     *[4][Lanes]uint32
	counts     []int32         // [t][side][neighbour][labels/4][group][4]
	held       [Groups]*Counts // what was taken from counts before they could overflow
	pending    int             // sweeps that counts hold
	most       int             // sweeps that they can hold
	shared     bool            // all complete windows have one place
	tied       bool
	power      []*table // tied: by the steps to the end of a block; open: summed over ends
	open       []*table
	bridge     [Partitions][][]*table // else: by block, and site in it
	isa        int                    // which kernels
	sliced     *sliced                // of isaSliced
}

// Fits reports whether Bytes can do a problem: the reason if not.
func (u *Units) Fits(m *Model, a *Alignment, gamma float64) bool {
	if a.Local || m.Order > 2 || m.Symbols != nil || len(m.Sizes) == 0 || len(m.Sizes) > 1<<20 {
		return false
	}
	widest := 0.0
	last := 0.0
	for t, n := range m.Sizes {
		if n != m.Sizes[0] || n > most {
			return false
		}
		lo, hi := math.Inf(1), math.Inf(-1)
		if t > 1 && &m.Theta[t][0] == &m.Theta[t-1][0] {
			widest = max(widest, 2*last)
			continue
		}
		for _, x := range m.Theta[t] {
			lo, hi = min(lo, x), max(hi, x)
		}
		widest = max(widest, hi-lo+last, 2*(hi-lo))
		last = hi - lo
	}
	if !(widest+math.Abs(gamma)*float64(u.Sub)*u.Unit < 80) { // a forbidden window is one of infinite range
		return false
	}
	return u.Sub <= exps-1 && u.bound(a) >= 4
}

// bound returns how many rows there may be between subtractions.
func (u *Units) bound(a *Alignment) int {
	l, m := len(a.First)-1, len(a.Ref)
	half, step := 0, 0
	for t := range a.First {
		c := centreOf(t, l, m)
		half = max(half, c-a.First[t], a.Last[t]-c)
		if t > 0 {
			step = max(step, c-centreOf(t-1, l, m))
		}
	}
	growth := u.Sub // of the diagonal, where it never falls
	if l != m {
		growth = u.Del + step*max(u.Ins, u.Del) + u.Sub
	}
	if half*(u.Ins+u.Del) > far || growth == 0 {
		return 0
	}
	return min(32, (limit-half*max(u.Ins, u.Del)-u.Ins-u.Sub)/growth)
}

func centreOf(t, l, m int) int { return int(int64(t) * int64(m) / int64(l)) }

// NewBytes returns an engine; Fits holds. Counts are for NewCounts(m, shared).
func NewBytes(m *Model, a *Alignment, u Units, gamma float64, block int, seed uint64, shared bool) *Bytes {
	isa := best
	if isa == isaAVX2 && (u.Sub > 7 || m.Sizes[0] > 16) {
		isa = isaGo // its look-ups have eight exponentials and 16 labels
	}
	if isa == isaGo && u.slices() {
		isa = isaSliced
	}
	return newBytes(m, a, u, gamma, block, seed, shared, isa)
}

func newBytes(m *Model, a *Alignment, u Units, gamma float64, block int, seed uint64, shared bool,
	isa int) *Bytes {
	b := &Bytes{units: u, isa: isa, shared: shared}
	l, n := len(m.Sizes), m.Sizes[0]
	b.labels = (n + 3) &^ 3
	if n > 16 {
		b.labels = (n + 7) &^ 7
	}
	b.period = u.bound(a)
	r := len(a.Ref)
	b.window[0] = [2][]int{a.First, a.Last}
	first, last := make([]int, l+1), make([]int, l+1)
	wide, jump := 0, 1
	for t := range l + 1 {
		first[l-t], last[l-t] = r-a.Last[t], r-a.First[t]
		wide = max(wide, a.Last[t]-a.First[t]+1)
		if t > 0 {
			jump = max(jump, a.Last[t]-a.Last[t-1], a.First[t]-a.First[t-1])
		}
	}
	b.window[1] = [2][]int{first, last}
	b.stride = wide + 1 + jump
	for d := range 2 {
		if isa != isaSliced {
			b.row[d] = aligned[cells]((l + 1) * b.stride)
		}
		for i := range b.row[d] {
			for c := range Lanes {
				b.row[d][i][c] = far
			}
		}
		b.shift[d] = make([][Lanes]int32, l/b.period+1)
		b.centre[d] = make([]int, l+1)
		for s := range l + 1 {
			b.centre[d][s] = centreOf(s, l, r)
			if d == 1 {
				b.centre[d][s] = r - centreOf(l-s, l, r)
			}
		}
		b.code[d] = make([]uint8, r+2)
		b.code[d][0] = dummy
		for j, y := range a.Ref {
			if y >= n || y < 0 {
				y = dummy
			}
			if d == 1 {
				j = r - 1 - j
			}
			b.code[d][j+1] = uint8(y)
		}
		for j := b.window[d][0][0]; j <= b.window[d][1][0] && isa != isaSliced; j++ {
			for c := range Lanes {
				b.row[d][1+j][c] = int8(j * u.Ins)
			}
		}
	}
	b.u = aligned[lane](l)
	b.texp, b.ones = &aligned[[exps]float32](1)[0], &aligned[[exps]float32](1)[0]
	b.save, b.zero = &aligned[[most]lane](1)[0], &aligned[[most]lane](1)[0]
	b.x = &aligned[[most + 1]cells](1)[0]
	b.scratch = &aligned[[6*most + 4]lane](1)[0]
	b.none, b.random = &aligned[lane](1)[0], &aligned[[4][Lanes]uint32](1)[0]
	for i := range b.ones {
		b.ones[i] = 1
	}
	b.init(b, m, block, seed)
	b.prop = aligned[lane](len(b.prop) + block)[:len(b.prop)]
	for i := range b.random {
		for k := range b.random[i] {
			b.random[i][k] = b.rng.Uint32()
		}
	}
	b.weights()
	b.SetGamma(gamma)
	// A sweep adds at most 255 for each chain of a group and, where places are shared, each site.
	places, sites := l, 1
	if shared {
		places, sites = min(l, 3), l
	}
	if isa == isaSliced {
		b.sliced = newSliced(b)
	} else {
		b.counts = aligned[int32](places * 2 * n * b.labels * 4)
	}
	b.most = max(1, math.MaxInt32/(255*Lanes/Groups*sites))
	renew(b.held[:], m, shared)
	return b
}

// aligned returns n zero elements at a multiple of 64 bytes.
func aligned[T any](n int) []T {
	var t T
	size := int(unsafe.Sizeof(t))
	buf := make([]byte, n*size+64)
	skip := -int(uintptr(unsafe.Pointer(&buf[0]))) & 63
	return unsafe.Slice((*T)(unsafe.Pointer(&buf[skip])), n)
}

// SetGamma implements Engine.
func (b *Bytes) SetGamma(gamma float64) {
	b.gamma = gamma
	g := gamma * b.units.Unit
	for k := range b.texp {
		b.texp[k] = 0
		switch {
		case k > b.units.Sub: // no symbol saves more
		case g >= 0:
			b.texp[k] = float32(math.Exp(-g * float64(k)))
		default:
			b.texp[k] = float32(math.Exp(-g * float64(k-b.units.Sub)))
		}
	}
}

// weights makes the look-up tables of exp θ.
func (b *Bytes) weights() {
	m, l := b.model, b.l
	n := m.Sizes[0]
	b.in, b.out = make([]*table, l), make([]*table, l)
	ones := new(table)
	for a := range n {
		for k := range n {
			ones[a][k] = 1
		}
	}
	tables := aligned[table](2 * l)
	used := 0
	fresh := func() *table { used++; return &tables[used-1] }
	b.tied = m.Order == 2
	for t := range l {
		row := m.Theta[t]
		if t > 1 && &row[0] == &m.Theta[t-1][0] {
			b.in[t] = b.in[t-1]
			b.out[t-1] = b.out[t-2]
			continue
		}
		if t > 1 {
			b.tied = false
		}
		top := math.Inf(-1)
		for _, x := range row {
			top = max(top, x)
		}
		in := fresh()
		b.in[t] = in
		if t == 0 || m.Order == 1 {
			for a := range n {
				for k := range most {
					in[a][k] = float32(math.Exp(row[a] - top))
				}
			}
			if t > 0 {
				b.out[t-1] = ones
			}
			continue
		}
		out := fresh()
		b.out[t-1] = out
		for left := range n {
			for a := range n {
				x := float32(math.Exp(row[left*n+a] - top))
				in[a][left], out[left][a] = x, x
			}
		}
	}
	b.out[l-1] = ones
	if b.tied {
		size := 0
		for _, bounds := range b.bounds {
			for i := range len(bounds) - 1 {
				size = max(size, bounds[i+1]-bounds[i])
			}
		}
		b.power, b.open = b.powers(size)
	}
}

// powers returns W, W², … up to size, normalised by column, and their row sums; open[0] is all
// ones.
func (b *Bytes) powers(size int) (power, open []*table) {
	n := b.model.Sizes[0]
	power, open = make([]*table, size+1), make([]*table, size+1)
	sums := make([]float64, n)
	for a := range sums {
		sums[a] = 1
	}
	open[0] = constant(sums)
	if b.l < 2 {
		return power, open
	}
	w := b.raw(1)
	at := append([]float64(nil), w...)
	tables := aligned[table](2 * size)
	for r := 1; r <= size; r++ {
		power[r] = &tables[2*r-2]
		columns(power[r], at, n)
		sums = times(w, sums, n, 1)
		open[r] = &tables[2*r-1]
		*open[r] = *constant(sums)
		at = times(w, at, n, n)
	}
	return power, open
}

// raw returns exp θ of position t as [left][label], the greatest being 1.
func (b *Bytes) raw(t int) []float64 {
	n, row := b.model.Sizes[0], b.model.Theta[t]
	w := make([]float64, n*n)
	top := math.Inf(-1)
	for _, x := range row {
		top = max(top, x)
	}
	for i := range w {
		w[i] = math.Exp(row[i%len(row)] - top) // order 1: by label alone
	}
	return w
}

// times returns w·x for n by k numbers x, scaled so that the greatest is 1.
func times(w, x []float64, n, k int) []float64 {
	y := make([]float64, n*k)
	top := 0.0
	for i := range n {
		to := y[i*k:][:k]
		for j := range n {
			f := w[i*n+j]
			for c, v := range x[j*k:][:k] {
				to[c] += f * v
			}
		}
		for _, v := range to {
			top = max(top, v)
		}
	}
	for i := range y {
		y[i] /= top
	}
	return y
}

// columns stores [label][end] so that each column's greatest is 1: an end is given, so that scale
// is free.
func columns(to *table, from []float64, n int) {
	for c := range n {
		top := 0.0
		for a := range n {
			top = max(top, from[a*n+c])
		}
		for a := range n {
			to[a][c] = float32(from[a*n+c] / top)
		}
	}
}

func constant(x []float64) *table {
	t := &aligned[table](1)[0]
	for a, v := range x {
		for k := range t[a] {
			t[a][k] = float32(v)
		}
	}
	return t
}

// bridges returns, for each site of a block, the weights of its label by the label at the block's
// end.
func (b *Bytes) bridges(part, block, from, to int) []*table {
	if b.bridge[part] == nil {
		b.bridge[part] = make([][]*table, len(b.bounds[part]))
	}
	if made := b.bridge[part][block]; made != nil {
		return made
	}
	n := b.model.Sizes[0]
	made := make([]*table, to-from)
	tables := aligned[table](to - from)
	k := n
	var x []float64
	if to == b.l {
		k, x = 1, make([]float64, n)
		for i := range x {
			x[i] = 1
		}
	} else {
		x = b.raw(to)
	}
	for t := to - 1; t >= from; t-- {
		made[t-from] = &tables[t-from]
		if k == 1 {
			*made[t-from] = *constant(x)
		} else {
			columns(made[t-from], x, n)
		}
		if t > from {
			x = times(b.raw(t), x, n, k)
		}
	}
	b.bridge[part][block] = made
	return made
}

// cell returns cell j of row s of direction d.
func (b *Bytes) cell(d, s, j int) *cells {
	return &b.row[d][s*b.stride+1+j-b.window[d][0][s]]
}

func (b *Bytes) left(t int) *lane {
	if t == 0 {
		return b.none
	}
	return &b.u[t-1]
}

func (b *Bytes) right(t int) *lane {
	if t == b.l-1 {
		return b.none
	}
	return &b.u[t+1]
}

// place returns the position whose counts those of t are added to: the first and the last one keep
// their own.
func (b *Bytes) place(t int) int {
	switch {
	case !b.shared || t < 2:
		return t
	case t == b.l-1:
		return 2
	}
	return 1
}

func (b *Bytes) count(t, side int) *int32 {
	t = b.place(t)
	return &b.counts[(t*2+side)*b.model.Sizes[0]*b.labels*4]
}

// scanArgs is what the kernel reads that finds by how much less each label costs than any other.
type scanArgs struct {
	f, g     *cells // at the first cell that both have: F[j-1] lies before f, G[j] falls with j
	code     *uint8 // of the symbol before that cell
	n        int    // cells that have F[j-1], F[j] and G[j]
	head     int    // 1: one cell before has F[j] and G[j] only; f and g stand behind it
	tail     int    // 1: one cell behind has F[j-1] and G[j] only
	x        *[most + 1]cells
	save     *[most]lane
	sub, del int
	labels   int
}

func (b *Bytes) scan(d, s int) {
	if b.sliced != nil {
		b.sliced.scan(d, s)
		return
	}
	n0, n1 := b.window[d][0][s+1], b.window[d][1][s+1]
	f0, f1 := b.window[d][0][s], b.window[d][1][s]
	from, to := max(n0, f0+1), min(n1, f1)
	a := scanArgs{x: b.x, save: b.save, sub: b.units.Sub, del: b.units.Del, labels: b.labels}
	if n0 <= f0 {
		a.head = 1 // then n0 is f0
	}
	if f1+1 <= n1 {
		a.tail = 1
	}
	a.n = max(0, to-from+1)
	// One of the rows may end at from-1: addresses are taken of what exists.
	base := s*b.stride + 1 - f0
	a.f = &b.row[d][base+from]
	a.g = &b.row[1-d][(b.l-1-s)*b.stride+1+n1-from]
	a.code = &b.code[d][from]
	if b.isa > isaSliced {
		scanVector(b.isa, &a)
		return
	}
	scanGo(&a)
}

// siteArgs is what the kernel reads that draws a site.
type siteArgs struct {
	save        *[most]lane
	left, right *lane
	in, out     *table
	texp        *[exps]float32
	random      *[4][Lanes]uint32
	u           *lane
	scratch     *[6*most + 4]lane
	countLeft   *int32 // nil: none
	countRight  *int32
	labels      int // padded
	true        int // labels
}

func (b *Bytes) draw(a *siteArgs) {
	a.random, a.scratch, a.labels, a.true = b.random, b.scratch, b.labels, b.model.Sizes[0]
	if b.isa > isaSliced {
		siteVector(b.isa, a)
		return
	}
	siteGo(a)
}

func (b *Bytes) site(d, s int, count bool) {
	b.scan(d, s)
	t := b.at(d, s)
	a := siteArgs{save: b.save, left: b.left(t), right: b.right(t), in: b.in[t], out: b.out[t],
		texp: b.texp, u: &b.u[t]}
	if count && s == 0 {
		if b.pending == b.most {
			b.flush()
		}
		b.pending++
	}
	if b.sliced != nil {
		var left, right []uint64
		if count {
			left = b.sliced.count(t, 0)
			if t+1 < b.l {
				right = b.sliced.count(t, 1)
			}
		}
		b.sliced.draw(&a, &b.sliced.save, left, right)
		return
	}
	if count {
		a.countLeft = b.count(t, 0)
		if t+1 < b.l {
			a.countRight = b.count(t, 1)
		}
	}
	b.draw(&a)
}

// stepArgs is what the kernel reads that makes a row.
type stepArgs struct {
	f, n          *cells // at the first cell
	code          *uint8
	cells         int
	k             *lane
	sub, ins, del int
}

func (b *Bytes) step(d, s int, k *lane) {
	if b.sliced != nil {
		b.sliced.step(d, s, k)
		return
	}
	n0, n1 := b.window[d][0][s+1], b.window[d][1][s+1]
	f0 := b.window[d][0][s]
	a := stepArgs{
		f: &b.row[d][s*b.stride+1+n0-f0], n: &b.row[d][(s+1)*b.stride+1], code: &b.code[d][n0],
		cells: n1 - n0 + 1, k: k, sub: b.units.Sub, ins: b.units.Ins, del: b.units.Del,
	}
	if b.isa > isaSliced {
		stepVector(b.isa, &a)
	} else {
		stepGo(&a)
	}
	if (s+1)%b.period == 0 {
		o := *b.cell(d, s+1, b.centre[d][s+1])
		i := (s + 1) / b.period
		if b.isa > isaSliced {
			lessVector(b.isa, a.n, &o, a.cells)
		} else {
			lessGo(a.n, &o, a.cells)
		}
		for c, x := range o {
			b.shift[d][i][c] = b.shift[d][i-1][c] + int32(x)
		}
	}
}

func (b *Bytes) propose(part, block, from, to int, prop []lane, extra *[Lanes]float64) {
	clear(extra[:])
	var ends []*table
	if !b.tied {
		ends = b.bridges(part, block, from, to)
	}
	prev, end := b.left(from), b.none
	if to < b.l {
		end = &b.u[to]
	}
	for t := from; t < to; t++ {
		a := siteArgs{save: b.zero, left: prev, right: end, in: b.in[t], texp: b.ones, u: &prop[t-from]}
		switch {
		case ends != nil:
			a.out = ends[t-from]
		case to < b.l:
			a.out = b.power[to-t]
		default:
			a.out = b.open[to-1-t]
		}
		if b.sliced != nil {
			b.sliced.draw(&a, &b.sliced.none, nil, nil)
		} else {
			b.draw(&a)
		}
		prev = &prop[t-from]
	}
}

func (b *Bytes) meet(d, e int, loss *[Lanes]float64) {
	if b.sliced != nil {
		b.sliced.meet(d, e, loss)
		return
	}
	f0, f1 := b.window[d][0][e], b.window[d][1][e]
	var low cells
	f, g := &b.row[d][e*b.stride+1], &b.row[1-d][(b.l-e)*b.stride+1+f1-f0]
	if b.isa > isaSliced {
		meetVector(b.isa, f, g, f1-f0+1, &low)
	} else {
		meetGo(f, g, f1-f0+1, &low)
	}
	x, y := &b.shift[d][e/b.period], &b.shift[1-d][(b.l-e)/b.period]
	for c, v := range low {
		loss[c] = b.units.Unit*float64(int32(v)+x[c]+y[c]) + b.units.Shift
	}
}

func (b *Bytes) total(d int, loss *[Lanes]float64) {
	if b.sliced != nil {
		b.sliced.total(d, loss)
		return
	}
	last := b.cell(d, b.l, len(b.code[d])-2)
	x := &b.shift[d][b.l/b.period]
	for c, v := range last {
		loss[c] = b.units.Unit*float64(int32(v)+x[c]) + b.units.Shift
	}
}

// flush moves counts to held.
func (b *Bytes) flush() {
	n, r := b.model.Sizes[0], b.labels/4
	places := b.l
	if b.shared {
		places = min(b.l, 3)
	}
	for g, to := range b.held {
		to.N += float64(b.pending) * Lanes / Groups
		for place := range places {
			t := place
			if b.shared && place == 2 {
				t = b.l - 1
			}
			for side := range 2 {
				rows := to.rows(t, side)
				data := to.side(t, side)
				if b.sliced != nil {
					b.sliced.flush(t, side, g, rows, to, data)
					continue
				}
				from := b.counts[(place*2+side)*n*b.labels*4:]
				if to.Order == 1 && side == 0 {
					rows = n // summed into one
				}
				for left := range rows {
					at := left
					if to.Order == 1 {
						at = 0
					}
					row := data[at*to.Stride:][:to.Stride]
					for i := range r {
						x := (*[4]int32)(from[((left*r+i)*Groups+g)*4:])
						row[4*i] += float32(x[0]) * (1. / 255)
						row[4*i+1] += float32(x[1]) * (1. / 255)
						row[4*i+2] += float32(x[2]) * (1. / 255)
						row[4*i+3] += float32(x[3]) * (1. / 255)
					}
				}
			}
		}
	}
	clear(b.counts)
	if b.sliced != nil {
		clear(b.sliced.counts)
	}
	b.pending = 0
}

// Take implements Engine.
func (b *Bytes) Take() []*Counts {
	b.flush()
	return renew(b.held[:], b.model, b.shared)
}

// Weigh implements Engine.
func (b *Bytes) Weigh(visit func(t, c int, p, loss []float64)) {
	n, d := b.model.Sizes[0], b.dir
	p, loss := make([]float64, n), make([]float64, n)
	var cost [Lanes]float64
	for s := range b.l {
		t := b.at(d, s)
		b.losses(d, s, &cost)
		left, right := b.left(t), b.right(t)
		for c := range Lanes {
			sum := 0.0
			for a := range n {
				save := b.save[a][c]
				p[a] = float64(b.texp[save]) * float64(b.in[t][a][left[c]]) * float64(b.out[t][a][right[c]])
				sum += p[a]
				loss[a] = cost[c] - b.units.Unit*float64(save)
			}
			for a := range p {
				p[a] /= sum
			}
			visit(t, c, p, loss)
		}
	}
	b.dir = 1 - d
}

// losses finds what the labels of site s save, as bytes, and what a label costs that saves nothing;
// and makes the next row.
func (b *Bytes) losses(d, s int, cost *[Lanes]float64) {
	t := b.at(d, s)
	b.scan(d, s)
	if b.sliced != nil {
		b.sliced.spread()
	}
	b.step(d, s, &b.u[t])
	b.meet(d, s+1, cost)
	for c := range cost {
		cost[c] += b.units.Unit * float64(b.save[b.u[t][c]][c])
	}
}

// WeighCounts is Weigh for the sums that a gradient of the risk needs: it adds the probability of
// each label, times its loss minus center, to counts, of the group of Lanes/len(k) chains that the
// chain belongs to.
func (b *Bytes) WeighCounts(center float64, k []*Counts) {
	n, d := b.model.Sizes[0], b.dir
	var cost [Lanes]float64
	var p, ones [most]float32
	for a := range ones {
		ones[a] = 1
	}
	share := Lanes / len(k)
	for s := range b.l {
		t := b.at(d, s)
		b.losses(d, s, &cost)
		left, right := b.left(t), b.right(t)
		// The weights of all labels, given a neighbour, lie side by side in the tables of the
		// windows about the site.
		var before [most]float32 // where no left neighbour counts
		var byLeft, byRight *table
		if t > 0 && b.model.Order == 2 {
			byLeft = b.out[t-1]
		} else {
			for a := range n {
				before[a] = b.in[t][a][0]
			}
		}
		if t+1 < b.l && b.model.Order == 2 {
			byRight = b.in[t+1]
		}
		for c := range Lanes {
			in, out := &before, &ones
			if byLeft != nil {
				in = &byLeft[left[c]]
			}
			if byRight != nil {
				out = &byRight[right[c]]
			}
			sum := float32(0)
			for a := range n {
				v := in[a] * out[a] * b.texp[b.save[a][c]&15]
				p[a] = v
				sum += v
			}
			scale := 1 / sum
			own := float32(cost[c] - center)
			unit := float32(b.units.Unit)
			for a := range n {
				p[a] *= scale * (own - unit*float32(b.save[a][c]))
			}
			to := k[c/share]
			row := 0
			if t > 0 && to.Order == 2 {
				row = int(left[c]) * to.Stride
			}
			sums := to.side(t, 0)[row:][:n]
			for a, v := range p[:n] {
				sums[a] += v
			}
			if t+1 < b.l && to.Order == 2 {
				sums := to.side(t, 1)[int(right[c])*to.Stride:][:n]
				for a, v := range p[:n] {
					sums[a] += v
				}
			}
		}
	}
	b.dir = 1 - d
}
