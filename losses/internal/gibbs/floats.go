package gibbs

import (
	"math"
	"slices"
)

// fixed are costs as multiples of Floats.unit: integers are compared without branches.
type fixed = [Lanes]int32

// far32 is more than any cost; the sum of two is an int32, with what cells outside of a window grow
// by.
const far32 = 1 << 29

// Floats is the engine that takes any alignment. Costs are fixed-point numbers, 2^28 of whose units
// hold the greatest loss: rounding is then below that of float32.
type Floats struct {
	core[uint16]
	a      *Alignment
	window [2][2][]int
	stride int
	row    [2][]fixed
	least  [2][]fixed // local: the least cell so far, by row
	code   [2][]int   // class of the symbol before cell j
	ins    [2][]int32
	kinds  []kind  // symbols that cost alike
	kindOf [][]int // by position and label
	del    []int32
	sub    []int32 // [kind][class]
	class  int     // classes of reference symbols
	plain  bool    // constant costs
	unit   float64 // a power of 2
	x      []fixed // by class
	m0     fixed
	cost   []fixed // by kind
	most   fixed   // local: what the site cannot change

	w, wt  [][]float64 // exp(θ - greatest of the row), and as [right][label] (order 2)
	counts [Groups]*Counts
	shared bool
	n      float64
	p      []float64
	e      []float64 // by lane and kind: exp(γ cost), the greatest of a lane being 1
	logs   []float64
	memory [1 << 10]struct { // exponentials of costs that were seen
		cost  int32
		known bool
		exp   float64
	}
	bridge [Partitions][][][]float64
	direct bool // blocks are bridged; else the site behind them decides
}

// kind is the class that a symbol matches, -1 for none.
type kind struct{ class int }

// NewFloats returns an engine. Counts of one position share memory with all others where shared.
// Where halted, which may be nil, reports true, a sweep ends where it is.
func NewFloats(m *Model, a *Alignment, gamma float64, block int, seed uint64, shared bool,
	halted func() bool) *Floats {
	f := &Floats{a: a}
	f.halted = halted
	l, r := len(m.Sizes), len(a.Ref)
	f.window[0] = [2][]int{a.First, a.Last}
	first, last := make([]int, l+1), make([]int, l+1)
	wide, jump := 0, 1
	for t := range l + 1 {
		first[l-t], last[l-t] = r-a.Last[t], r-a.First[t]
		wide = max(wide, a.Last[t]-a.First[t]+1)
		if t > 0 {
			jump = max(jump, a.Last[t]-a.Last[t-1], a.First[t]-a.First[t-1])
		}
	}
	f.window[1] = [2][]int{first, last}
	f.stride = wide + 1 + jump
	f.plain = a.SubTable == nil
	f.unit = unitOf(a, l)
	f.classes()
	f.alphabet(m)
	for d := range 2 {
		f.row[d] = make([]fixed, (l+1)*f.stride)
		for i := range f.row[d] {
			for c := range Lanes {
				f.row[d][i][c] = far32
			}
		}
		x := int32(0)
		for j := f.window[d][0][0]; j <= f.window[d][1][0]; j++ {
			if j > 0 && !a.Local {
				x += f.ins[d][j]
			}
			for c := range Lanes {
				f.row[d][1+j][c] = x
			}
		}
		if a.Local {
			f.least[d] = make([]fixed, l+1)
		}
	}
	f.u = make([][Lanes]uint16, l)
	f.weights(m)
	f.init(f, m, block, seed)
	f.gamma = gamma
	f.shared = shared
	renew(f.counts[:], m, shared)
	cubes := 0.0
	for t, n := range m.Sizes {
		if t > 0 {
			cubes += float64(n) * float64(n) * float64(m.Sizes[t-1])
		}
	}
	f.direct = m.Order == 1 || m.Order == 2 && cubes < 1e8
	return f
}

// unitOf returns the unit of costs.
func unitOf(a *Alignment, l int) float64 {
	most := 0.0
	a.each(func(x float64) { most = max(most, math.Abs(x)) })
	_, exp := math.Frexp(most * float64(l+len(a.Ref)+1))
	return math.Ldexp(1, exp-28)
}

// each calls visit for all costs.
func (a *Alignment) each(visit func(x float64)) {
	for _, x := range []float64{a.Match, a.Sub, a.Ins, a.Del} {
		visit(x)
	}
	for _, table := range append([][]float64{a.InsTable, a.DelTable}, a.SubTable...) {
		for _, x := range table {
			visit(x)
		}
	}
}

// Rounding returns how much the fixed-point costs of Floats may change a loss of strings of l
// symbols.
func (a *Alignment) Rounding(l int) float64 {
	unit, worst := unitOf(a, l), 0.0
	if unit == 0 {
		return 0
	}
	a.each(func(x float64) { worst = max(worst, math.Abs(x-unit*math.Round(x/unit))) })
	return worst * float64(l+len(a.Ref))
}

func (f *Floats) cost32(x float64) int32 { return int32(math.Round(x / f.unit)) }

// classes numbers the distinct symbols of the reference.
func (f *Floats) classes() {
	r := len(f.a.Ref)
	number := map[int]int{}
	for d := range 2 {
		f.code[d], f.ins[d] = make([]int, r+1), make([]int32, r+1)
		for j, y := range f.a.Ref {
			k, ok := number[y]
			if !ok {
				k = len(number)
				number[y] = k
			}
			at := j + 1
			if d == 1 {
				at = r - j
			}
			f.code[d][at] = k
			f.ins[d][at] = f.cost32(f.a.Ins)
			if f.a.InsTable != nil {
				f.ins[d][at] = f.cost32(f.a.InsTable[y])
			}
		}
	}
	f.class = len(number)
	f.x = make([]fixed, f.class)
}

// alphabet puts symbols that cost alike into kinds.
func (f *Floats) alphabet(m *Model) {
	a := f.a
	representative := make([]int, f.class)
	for j, y := range a.Ref {
		representative[f.code[0][j+1]] = y
	}
	seen := map[string]int{}
	of := map[int]int{}
	row := make([]float64, f.class+1)
	look := func(y int) int {
		if k, ok := of[y]; ok {
			return k
		}
		row[0] = a.Del
		if a.DelTable != nil {
			row[0] = a.DelTable[y]
		}
		match := -1
		for c, r := range representative {
			row[1+c] = a.Sub
			if a.SubTable != nil {
				row[1+c] = a.SubTable[y][r]
			} else if r == y {
				row[1+c], match = a.Match, c
			}
		}
		var key []byte
		for _, x := range row {
			b := math.Float64bits(x)
			for range 8 {
				key = append(key, byte(b))
				b >>= 8
			}
		}
		k, ok := seen[string(key)]
		if !ok {
			k = len(f.kinds)
			seen[string(key)] = k
			f.kinds = append(f.kinds, kind{match})
			f.del = append(f.del, f.cost32(row[0]))
			for _, x := range row[1:] {
				f.sub = append(f.sub, f.cost32(x))
			}
		}
		of[y] = k
		return k
	}
	var before []int
	for t, n := range m.Sizes {
		if t > 0 && m.Symbols == nil && n == m.Sizes[t-1] {
			f.kindOf = append(f.kindOf, before)
			continue
		}
		before = make([]int, n)
		for k := range before {
			before[k] = look(m.symbol(t, k))
		}
		f.kindOf = append(f.kindOf, before)
	}
	f.cost = make([]fixed, len(f.kinds))
}

func (f *Floats) weights(m *Model) {
	f.w = make([][]float64, len(m.Theta))
	if m.Order == 2 {
		f.wt = make([][]float64, len(m.Theta))
	}
	widest := 0
	for t, row := range m.Theta {
		widest = max(widest, m.Sizes[t])
		if t > 1 && len(row) > 0 && len(row) == len(m.Theta[t-1]) && &row[0] == &m.Theta[t-1][0] {
			f.w[t] = f.w[t-1]
			if f.wt != nil {
				f.wt[t] = f.wt[t-1]
			}
			continue
		}
		top := slices.Max(row)
		f.w[t] = make([]float64, len(row))
		for i, x := range row {
			f.w[t][i] = math.Exp(x - top)
		}
		if f.wt != nil && t > 0 {
			n, nb := m.Sizes[t], m.Sizes[t-1]
			f.wt[t] = make([]float64, len(row))
			for b := range nb {
				for a := range n {
					f.wt[t][a*nb+b] = f.w[t][b*n+a]
				}
			}
		}
	}
	f.p, f.e, f.logs = make([]float64, widest), make([]float64, Lanes*len(f.kinds)), make([]float64, widest)
}

// SetGamma implements Engine.
func (f *Floats) SetGamma(gamma float64) {
	f.gamma = gamma
	clear(f.memory[:])
}

// exp returns exp(γ x), from memory where it is there.
func (f *Floats) exp(x int32) float64 {
	m := &f.memory[uint32(x)*0x9e3779b1>>22]
	if !m.known || m.cost != x {
		m.cost, m.known, m.exp = x, true, math.Exp(f.gamma*f.unit*float64(x))
	}
	return m.exp
}

// leastSum lowers x to a + b where that is less.
func leastSum(x, a, b *fixed) {
	for c, v := range a {
		x[c] = min(x[c], v+b[c])
	}
}

// leastPlus lowers x to a + b where that is less.
func leastPlus(x, a *fixed, b int32) {
	for c, v := range a {
		x[c] = min(x[c], v+b)
	}
}

// scan finds the loss of every kind of symbol at site s.
func (f *Floats) scan(d, s int) {
	n0, n1 := f.window[d][0][s+1], f.window[d][1][s+1]
	f0, f1 := f.window[d][0][s], f.window[d][1][s]
	fr := f.row[d][s*f.stride+1:]
	gr := f.row[1-d][(f.l-1-s)*f.stride+1:]
	m0 := &f.m0
	for c := range m0 {
		m0[c] = far32
	}
	for k := range f.x {
		f.x[k] = *m0
	}
	for j := n0; j <= n1; j++ {
		g := &gr[n1-j]
		if j >= f0 && j <= f1 {
			leastSum(m0, &fr[j-f0], g)
		}
		if j > f0 && j-1 <= f1 {
			leastSum(&f.x[f.code[d][j]], &fr[j-1-f0], g)
		}
	}
	if f.a.Local {
		p, q := &f.least[d][s], &f.least[1-d][f.l-1-s]
		for c := range f.most {
			f.most[c] = min(p[c], q[c])
		}
	}
	if f.plain {
		f.constant()
	} else {
		for k := range f.kinds {
			y, sub := &f.cost[k], f.sub[k*f.class:][:f.class]
			for c := range y {
				y[c] = m0[c] + f.del[k]
			}
			for r, cost := range sub {
				leastPlus(y, &f.x[r], cost)
			}
		}
	}
	if f.a.Local {
		for k := range f.cost {
			for c, v := range f.most {
				f.cost[k][c] = min(f.cost[k][c], v)
			}
		}
	}
}

// constant is scan's last step for costs without a substitution table: only a match tells classes
// apart.
func (f *Floats) constant() {
	sub, match := f.cost32(f.a.Sub), f.cost32(f.a.Match)
	var low fixed
	for c := range low {
		low[c] = far32
	}
	for r := range f.x {
		leastPlus(&low, &f.x[r], 0)
	}
	for k, kind := range f.kinds {
		y := &f.cost[k]
		for c, v := range f.m0 {
			y[c] = v + f.del[k]
		}
		if kind.class >= 0 {
			leastPlus(y, &f.x[kind.class], match)
		}
		if kind.class < 0 || match <= sub { // else a match is no other symbol's place
			leastPlus(y, &low, sub)
			continue
		}
		for r := range f.x {
			if r != kind.class {
				leastPlus(y, &f.x[r], sub)
			}
		}
	}
}

// exponentials fills in e from the costs.
func (f *Floats) exponentials() {
	n := len(f.kinds)
	top := f.cost[0]
	for k := range f.cost[1:] {
		y := &f.cost[k+1]
		if f.gamma >= 0 {
			for c, v := range y {
				top[c] = max(top[c], v)
			}
		} else {
			for c, v := range y {
				top[c] = min(top[c], v)
			}
		}
	}
	for k := range f.cost {
		y := &f.cost[k]
		for c, v := range y {
			if x := v - top[c]; x != 0 {
				f.e[c*n+k] = f.exp(x)
			} else {
				f.e[c*n+k] = 1
			}
		}
	}
}

// conditional stores in p the weights of all labels of position t in chain c, summing to 1.
func (f *Floats) conditional(t, c int) []float64 {
	m := f.model
	n := m.Sizes[t]
	p, kinds := f.p[:n], f.kindOf[t]
	at := func(s int) int { return int(f.u[s][c]) }
	e := f.e[c*len(f.kinds):][:len(f.kinds)]
	copy(p, f.w[t][m.context(t, at)*n:][:n])
	switch {
	case m.Order == 2 && t+1 < f.l:
		for a, x := range f.wt[t+1][at(t+1)*n:][:n] {
			p[a] *= x
		}
	case m.Order == 3:
		f.windows(t, c, func(s, first, stride int) {
			for a := range p {
				p[a] *= f.w[s][first+a*stride]
			}
		})
	}
	sum := 0.0
	for a := range p {
		p[a] *= e[kinds[a]]
		sum += p[a]
	}
	if sum > 1e-280 {
		for a := range p {
			p[a] /= sum
		}
		return p
	}
	// Weights underflowed: the same by logarithms.
	logs := f.logs[:n]
	copy(logs, m.Theta[t][m.context(t, at)*n:][:n])
	f.windows(t, c, func(s, first, stride int) {
		for a := range logs {
			logs[a] += m.Theta[s][first+a*stride]
		}
	})
	for a := range logs {
		logs[a] += f.gamma * f.unit * float64(f.cost[kinds[a]][c])
	}
	top := slices.Max(logs)
	sum = 0
	for a, x := range logs {
		p[a] = math.Exp(x - top)
		sum += p[a]
	}
	for a := range p {
		p[a] /= sum
	}
	return p
}

// windows calls visit for the windows behind t that hold its label: in row s, label a is at first +
// a stride.
func (f *Floats) windows(t, c int, visit func(s, first, stride int)) {
	m := f.model
	for s := t + 1; s < min(f.l, t+m.Order); s++ {
		stride := 1
		first := 0
		for i := max(0, s-m.Order+1); i <= s; i++ {
			first *= m.Sizes[i]
			if i != t {
				first += int(f.u[i][c])
			}
			if i > t {
				stride *= m.Sizes[i]
			}
		}
		visit(s, first, stride)
	}
}

func (f *Floats) site(d, s int, count bool) {
	f.scan(d, s)
	f.exponentials()
	t := f.at(d, s)
	if count && s == 0 {
		f.n++
	}
	if f.model.Order < 3 {
		f.pairs(t, count)
		return
	}
	for c := range Lanes {
		p := f.conditional(t, c)
		f.u[t][c] = uint16(pick(f.rng.Float64(), p))
		if count {
			f.add(t, c, p)
		}
	}
}

// pairs is site for order 1 and 2.
func (f *Floats) pairs(t int, count bool) {
	m := f.model
	n := m.Sizes[t]
	p, kinds := f.p[:n], f.kindOf[t][:n]
	w := f.w[t]
	var wt []float64
	var left, right []float32
	stride := f.counts[0].Stride
	for c := range Lanes {
		if count && c%(Lanes/Groups) == 0 {
			k := f.counts[c/(Lanes/Groups)]
			left, right = k.side(t, 0), nil
			if t+1 < f.l && m.Order == 2 {
				right = k.side(t, 1)
			}
		}
		before, after := 0, 0
		if t > 0 && m.Order == 2 {
			before = int(f.u[t-1][c])
		}
		if t+1 < f.l && m.Order == 2 {
			after = int(f.u[t+1][c])
			wt = f.wt[t+1][after*n:][:n]
		}
		e := f.e[c*len(f.kinds):][:len(f.kinds)]
		sum := 0.0
		for a, x := range w[before*n:][:n] {
			if wt != nil {
				x = float64(x * wt[a])
			}
			x = float64(x * e[kinds[a]])
			p[a] = x
			sum += x
		}
		if !(sum > 1e-280) {
			copy(p, f.conditional(t, c))
			sum = 1
		}
		x := f.rng.Float64() * sum
		last := 0
		for a, y := range p {
			if y > 0 {
				last = a
				if x -= y; x < 0 {
					break
				}
			}
		}
		f.u[t][c] = uint16(last)
		if !count {
			continue
		}
		scale := 1 / sum
		row := left[before*stride:][:n]
		if right == nil {
			for a, x := range p {
				row[a] += float32(float64(x * scale))
			}
			continue
		}
		other := right[after*stride:][:n]
		for a, x := range p {
			y := float32(float64(x * scale))
			row[a] += y
			other[a] += y
		}
	}
}

// add adds probabilities to the counts, of order 3.
func (f *Floats) add(t, c int, p []float64) {
	m, n := f.model, f.model.Sizes[t]
	k := f.counts[c/(Lanes/Groups)]
	share := 1 / float64(min(3, t+1))
	at := m.context(t, func(s int) int { return int(f.u[s][c]) })
	for a, x := range k.Windows[t][at*n:][:n] {
		k.Windows[t][at*n+a] = x + p[a]*share
	}
	f.windows(t, c, func(s, first, stride int) {
		share := 1 / float64(min(3, s+1))
		row := k.Windows[s]
		for a, x := range p {
			row[first+a*stride] += x * share
		}
	})
}

func (f *Floats) step(d, s int, u *[Lanes]uint16) {
	n0, n1 := f.window[d][0][s+1], f.window[d][1][s+1]
	f0 := f.window[d][0][s]
	from := f.row[d][s*f.stride:] // its first cell is a guard
	to := f.row[d][(s+1)*f.stride+1:]
	var last, del fixed
	var base [Lanes]int
	kinds := f.kindOf[f.at(d, s)]
	for c := range last {
		last[c] = far32
		k := kinds[u[c]]
		del[c], base[c] = f.del[k], k*f.class
	}
	for j := n0; j <= n1; j++ {
		p, q, n := &from[j-f0], &from[j-f0+1], &to[j-n0]
		ins := f.ins[d][j]
		for c, x := range last {
			last[c] = min(q[c]+del[c], x+ins)
		}
		if j > 0 {
			sub := f.sub[f.code[d][j]:]
			for c, x := range p {
				last[c] = min(last[c], x+sub[base[c]])
			}
		}
		if f.a.Local {
			for c, x := range last {
				last[c] = min(x, 0)
			}
		}
		*n = last
	}
	if f.a.Local {
		least := f.least[d][s]
		for j := n0; j <= n1; j++ {
			leastPlus(&least, &to[j-n0], 0)
		}
		f.least[d][s+1] = least
	}
}

func (f *Floats) meet(d, e int, loss *[Lanes]float64) {
	f0, f1 := f.window[d][0][e], f.window[d][1][e]
	var low fixed
	for c := range low {
		low[c] = far32
	}
	fr, gr := f.row[d][e*f.stride+1:], f.row[1-d][(f.l-e)*f.stride+1:]
	for j := range f1 - f0 + 1 {
		leastSum(&low, &fr[j], &gr[f1-f0-j])
	}
	if f.a.Local {
		leastPlus(&low, &f.least[d][e], 0)
		leastPlus(&low, &f.least[1-d][f.l-e], 0)
	}
	for c, x := range low {
		loss[c] = f.unit * float64(x)
	}
}

func (f *Floats) total(d int, loss *[Lanes]float64) {
	at := &f.row[d][f.l*f.stride+1+len(f.a.Ref)-f.window[d][0][f.l]]
	if f.a.Local {
		at = &f.least[d][f.l]
	}
	for c, x := range at {
		loss[c] = f.unit * float64(x)
	}
}

// bridges returns, for each site of a block, the weights [label][label at the block's end].
func (f *Floats) bridges(part, block, from, to int) [][]float64 {
	if f.bridge[part] == nil {
		f.bridge[part] = make([][][]float64, len(f.bounds[part]))
	}
	if made := f.bridge[part][block]; made != nil {
		return made
	}
	m := f.model
	made := make([][]float64, to-from)
	k := 1
	x := slices.Repeat([]float64{1}, m.Sizes[to-1])
	if to < f.l && m.Order == 2 {
		k, x = m.Sizes[to], f.w[to]
	}
	for t := to - 1; t >= from; t-- {
		made[t-from] = x
		if t == from {
			break
		}
		n, nb := m.Sizes[t], m.Sizes[t-1]
		y := make([]float64, nb*k)
		for b := range nb {
			row := f.w[t][b*n%len(f.w[t]):][:n]
			for a, v := range row {
				for c := range k {
					y[b*k+c] += v * x[a*k+c]
				}
			}
		}
		for c := range k { // an end is given, so that the scale of a column is free
			top := 0.0
			for b := range nb {
				top = max(top, y[b*k+c])
			}
			if top > 0 {
				for b := range nb {
					y[b*k+c] /= top
				}
			}
		}
		x = y
	}
	f.bridge[part][block] = made
	return made
}

func (f *Floats) propose(part, block, from, to int, prop [][Lanes]uint16, extra *[Lanes]float64) {
	m := f.model
	var ends [][]float64
	if f.direct {
		ends = f.bridges(part, block, from, to)
	}
	for c := range Lanes {
		extra[c] = 0
		now := func(s int) int {
			if s >= from && s < to {
				return int(prop[s-from][c])
			}
			return int(f.u[s][c])
		}
		for t := from; t < to; t++ {
			n := m.Sizes[t]
			p := f.p[:n]
			if f.direct {
				copy(p, f.w[t][m.context(t, now)*n:][:n])
				end := ends[t-from]
				k := len(end) / n
				last := 0
				if k > 1 || to < f.l && m.Order == 2 {
					last = int(f.u[to][c])
				}
				sum := 0.0
				for a := range p {
					p[a] *= end[a*k+last]
					sum += p[a]
				}
				if !(sum > 0) {
					extra[c] = math.Inf(-1)
				}
			} else {
				copy(p, m.Cond[t][m.context(t, now)*n:][:n])
			}
			prop[t-from][c] = uint16(pick(f.rng.Float64(), p))
		}
		if f.direct {
			continue
		}
		was := func(s int) int { return int(f.u[s][c]) }
		for t := to; t < min(f.l, to+m.Order-1); t++ {
			n, k := m.Sizes[t], was(t)
			extra[c] += math.Log(m.Cond[t][m.context(t, now)*n+k]) - math.Log(m.Cond[t][m.context(t,
				was)*n+k])
		}
	}
}

// Take implements Engine.
func (f *Floats) Take() []*Counts {
	for _, c := range f.counts {
		c.N = f.n * Lanes / Groups
	}
	f.n = 0
	return renew(f.counts[:], f.model, f.shared)
}

// Weigh implements Engine.
func (f *Floats) Weigh(visit func(t, c int, p, loss []float64)) {
	d := f.dir
	loss := make([]float64, len(f.p))
	for s := range f.l {
		if f.stopped() {
			return
		}
		t := f.at(d, s)
		f.scan(d, s)
		f.exponentials()
		for c := range Lanes {
			p := f.conditional(t, c)
			for a, k := range f.kindOf[t] {
				loss[a] = f.unit * float64(f.cost[k][c])
			}
			visit(t, c, p, loss[:len(p)])
		}
		f.step(d, s, &f.u[t])
	}
	f.dir = 1 - d
}
