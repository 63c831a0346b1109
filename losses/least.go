package losses

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// Columns of least costs: what builds every machine that words.go does not.
//
// Let D_t[j] be the least cost of aligning t symbols with j of the reference,
// best_t(j) the least that completing from (t, j) costs, whatever follows, and
//
//	h = min_j D_t[j] + best_t(j),   R[j] = D_t[j] + best_t(j) - h ≥ 0.
//
// h is the least loss of a string with this beginning, so that it never falls:
// with R as the column and the rise of h as the value of an arc, L is the least
// loss of all plus values that are not negative. A machine of gains (see
// columnBuilder) gives L as a difference of two sums, which loses what is small
// beside a cost that no alignment of interest pays; this one adds, and each
// value is rounded once, from integers. Each move of the program becomes its
// reduced cost c + best(to) - best(from) ≥ 0. Where losses are negative
// throughout, or less so at their greatest, the sum is taken downwards instead,
// from the guarantee G below, which never rises.
//
// Clamp. worst_t(j) is the least that completing from (t, j) costs along an
// alignment fixed beforehand, at the dearest symbols: G = min_j D[j] + worst(j) is
// had whatever follows, so that D[j] may be lowered to G - best(j): R[j] to
// min_j R[j] + worst(j) - best(j) - h. What deletions cost over the cheapest of
// them is the same for all cells, so that the clamp leaves it out of worst and
// best; low and up below are the differences that it then takes. And no cost above
// the greatest such guarantee needs to be told from it (top): that brings a
// forbidding 1e30 among ones back to a small integer.

// scalar is what costs are computed in: whole, or large where they do not fit.
type scalar[T any] interface {
	plus(T) T
	minus(T) T
	less(T) bool
}

type whole int64

func (a whole) plus(b whole) whole  { return a + b }
func (a whole) minus(b whole) whole { return a - b }
func (a whole) less(b whole) bool   { return a < b }

type large struct{ *big.Int }

func (a large) plus(b large) large  { return large{new(big.Int).Add(a.Int, b.Int)} }
func (a large) minus(b large) large { return large{new(big.Int).Sub(a.Int, b.Int)} }
func (a large) less(b large) bool   { return a.Cmp(b.Int) < 0 }

// exactCosts are costs that do not fit an int64, as multiples of 2^exponent.
type exactCosts struct {
	exponent int
	del, ins []large
	sub      [][]large
}

func newExactCosts(costs []float64, del, ins []int32, sub [][]int32) *exactCosts {
	x := &exactCosts{}
	var units []*big.Int
	x.exponent, units = dyadic(costs)
	pick := func(of []int32) []large {
		y := make([]large, len(of))
		for i, c := range of {
			y[i] = large{units[c]}
		}
		return y
	}
	x.del, x.ins = pick(del), pick(ins)
	for _, row := range sub {
		x.sub = append(x.sub, pick(row))
	}
	return x
}

// reducer turns costs into reduced costs, layer by layer.
type reducer[T scalar[T]] struct {
	b        *columnBuilder
	zero     T
	del, ins []T
	sub      [][]T
	best     [][]T // by layer and j-first[t]
	risk     [][]T // worst - best
	low, up  [][]T // of the clamp; up is nil for zeros
	top      T     // the greatest risk
}

func newReducer[T scalar[T]](b *columnBuilder, zero T, del, ins []T, sub [][]T, split bool) (*reducer[T], error) {
	r := &reducer[T]{b: b, zero: zero, del: del, ins: ins, sub: sub, top: zero}
	var worst [][]T
	var err error
	if r.best, worst, err = r.completions(false); err != nil {
		return nil, err
	}
	difference := func(x, y [][]T) [][]T {
		d := make([][]T, len(x))
		for t := range x {
			d[t] = make([]T, len(x[t]))
			for i := range d[t] {
				d[t][i] = x[t][i].minus(y[t][i])
			}
		}
		return d
	}
	r.risk = difference(worst, r.best)
	for _, row := range r.risk {
		for _, x := range row {
			if r.top.less(x) {
				r.top = x
			}
		}
	}
	r.low = r.risk
	if split {
		best, worst, err := r.completions(true)
		if err != nil {
			return nil, err
		}
		r.low, r.up = difference(worst, r.best), difference(r.best, best)
	}
	return r, nil
}

// completions returns the least costs of completing from each cell, at the
// cheapest symbols and at the dearest; split leaves out what deletions cost
// above the cheapest of them.
func (r *reducer[T]) completions(split bool) (best, worst [][]T, err error) {
	b := r.b
	extreme := func(n int, at func(k int) T) (lo, hi T) {
		lo, hi = r.zero, r.zero
		for k := range n {
			x := at(k)
			if k == 0 || x.less(lo) {
				lo = x
			}
			if k == 0 || hi.less(x) {
				hi = x
			}
		}
		return lo, hi
	}
	classes := len(r.del)
	delBest, delWorst := extreme(classes, func(k int) T { return r.del[k] })
	subBest, subWorst := make([]T, b.m), make([]T, b.m)
	for j := range b.m {
		subBest[j], subWorst[j] = extreme(classes, func(k int) T {
			if split {
				return r.sub[k][j].minus(r.del[k]).plus(delBest)
			}
			return r.sub[k][j]
		})
	}
	if split {
		delWorst = delBest
	}
	if best, err = r.completion(delBest, subBest); err != nil {
		return nil, nil, err
	}
	worst, err = r.completion(delWorst, subWorst)
	return best, worst, err
}

// completion is one backward dynamic program over the cells of the windows, each
// of which reaches the end.
func (r *reducer[T]) completion(del T, sub []T) ([][]T, error) {
	b := r.b
	rows := make([][]T, b.l+1)
	for t := b.l; t >= 0; t-- {
		f, n := b.first[t], b.last[t]
		row := make([]T, n-f+1)
		for j := n; j >= f; j-- {
			x, have := r.zero, t == b.l && j == b.m
			offer := func(y T) {
				if !have || y.less(x) {
					x, have = y, true
				}
			}
			if j < n {
				offer(row[j+1-f].plus(r.ins[j]))
			}
			if t < b.l {
				f1, n1 := b.first[t+1], b.last[t+1]
				if j >= f1 && j <= n1 {
					offer(rows[t+1][j-f1].plus(del))
				}
				if j+1 >= f1 && j+1 <= n1 {
					offer(rows[t+1][j+1-f1].plus(sub[j]))
				}
			}
			row[j-f] = x
		}
		rows[t] = row
		if t&63 == 0 {
			if err := b.budget.stopped(b.l, 0); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}

// moves are the reduced costs of the moves into the cells of a layer: ins from
// the cell before, del and sub by class from the layer before.
type moves[T any] struct {
	ins      []T
	del, sub [][]T
}

// layer returns the moves into layer t, those of ins alone for layer 0.
func (r *reducer[T]) layer(t int) *moves[T] {
	b := r.b
	f, n := b.first[t], b.last[t]
	best := r.best[t]
	cut := func(x T) T {
		if r.top.less(x) {
			return r.top
		}
		return x
	}
	mv := &moves[T]{ins: make([]T, n-f+1)}
	for i := range mv.ins {
		mv.ins[i] = r.zero
		if i > 0 {
			mv.ins[i] = cut(r.ins[f+i-1].plus(best[i]).minus(best[i-1]))
		}
	}
	if t == 0 {
		return mv
	}
	f0, n0 := b.first[t-1], b.last[t-1]
	before := r.best[t-1]
	for k := range r.del {
		del, sub := make([]T, n-f+1), make([]T, n-f+1)
		for i := range del {
			j := f + i
			del[i], sub[i] = r.zero, r.zero
			if j >= f0 && j <= n0 {
				del[i] = cut(r.del[k].plus(best[i]).minus(before[j-f0]))
			}
			if j-1 >= f0 && j-1 <= n0 {
				sub[i] = cut(r.sub[k][j-1].plus(best[i]).minus(before[j-1-f0]))
			}
		}
		mv.del, mv.sub = append(mv.del, del), append(mv.sub, sub)
	}
	return mv
}

// downward reports whether losses are to be summed down from the guarantee of
// the start rather than up from the least of all, whichever is closer to 0, and
// returns that.
func downward[T scalar[T]](r *reducer[T], guarantee T) (bool, T) {
	h := r.best[0][0]
	g := h.plus(guarantee)
	if h.less(r.zero) && g.less(r.zero.minus(h)) {
		return true, g
	}
	return false, h
}

// generic builds with columns of numbers: int64s where they fit, else words in a
// row.
func (b *columnBuilder) generic() (*Machine, error) {
	if b.exact == nil {
		del, ins, sub := asWhole(b.del), asWhole(b.ins), make([][]whole, len(b.sub))
		for k, row := range b.sub {
			sub[k] = asWhole(row)
		}
		r, err := newReducer(b, 0, del, ins, sub, !b.constant)
		if err != nil {
			return nil, err
		}
		return (&wholeColumns{reducer: r, unit: b.unit}).build(bits.Len64(uint64(b.most * b.scale)))
	}
	x := b.exact
	cells := 0
	for t := range b.first {
		cells += b.last[t] - b.first[t] + 1
	}
	if most := 1 << 22; cells > most/(1+len(x.del)) {
		return nil, &BudgetError{Bytes: int64(cells) * int64(1+len(x.del)) * 100, Limit: b.budget.allowance(), Length: b.l}
	}
	r, err := newReducer(b, large{new(big.Int)}, x.del, x.ins, x.sub, false)
	if err != nil {
		return nil, err
	}
	if r.top.BitLen() <= 58 {
		return (&wholeColumns{wide: r, unit: math.Ldexp(1, x.exponent)}).build(64)
	}
	return (&limbColumns{reducer: r}).build()
}

func asWhole(x []int64) []whole {
	y := make([]whole, len(x))
	for i, v := range x {
		y[i] = whole(v)
	}
	return y
}

// wholeColumns builds with cells of int64. Its reduced costs come from reducer, or
// from wide when the costs themselves do not fit but what is left of them does.
type wholeColumns struct {
	reducer *reducer[whole]
	wide    *reducer[large]
	unit    float64
	down    bool
	base    float64
}

// layer returns the moves into layer t with low, risk and up of the clamp.
func (c *wholeColumns) layer(t int) (mv *moves[whole], low, risk, up []whole) {
	if r := c.reducer; r != nil {
		if r.up != nil {
			up = r.up[t]
		}
		return r.layer(t), r.low[t], r.risk[t], up
	}
	fit := func(x []large) []whole {
		y := make([]whole, len(x))
		for i, v := range x {
			y[i] = whole(v.Int64())
		}
		return y
	}
	w := c.wide.layer(t)
	mv = &moves[whole]{ins: fit(w.ins)}
	for k := range w.del {
		mv.del, mv.sub = append(mv.del, fit(w.del[k])), append(mv.sub, fit(w.sub[k]))
	}
	low = fit(c.wide.risk[t])
	return mv, low, low, nil
}

// begin decides on the direction of the sum, given the guarantee of the start.
func (c *wholeColumns) begin(g whole) {
	if r := c.reducer; r != nil {
		var base whole
		c.down, base = downward(r, g)
		c.base = float64(base) * c.unit
		return
	}
	var base large
	c.down, base = downward(c.wide, large{big.NewInt(int64(g))})
	c.base = bigFloat(base.Int, c.wide.b.exact.exponent)
}

// bigFloat returns x·2^exponent.
func bigFloat(x *big.Int, exponent int) float64 {
	f := new(big.Float).SetInt(x)
	if f.Sign() != 0 {
		f.SetMantExp(f, exponent)
	}
	y, _ := f.Float64()
	return y
}

// build makes the machine, with width bits for each step of a column as a first
// attempt: by how much a cell falls short of an insertion after the cell before it.
// That is at most the greatest gain, but where windows meet in a corner.
func (c *wholeColumns) build(width int) (*Machine, error) {
	if m, err, fits := c.buildWidth(width); fits {
		return m, err
	}
	m, err, _ := c.buildWidth(64)
	return m, err
}

func (c *wholeColumns) columnBuilder() *columnBuilder {
	if c.reducer != nil {
		return c.reducer.b
	}
	return c.wide.b
}

func (c *wholeColumns) top() whole {
	if c.reducer != nil {
		return c.reducer.top
	}
	return whole(c.wide.top.Int64())
}

const never = whole(math.MaxInt64 / 2)

func (c *wholeColumns) buildWidth(width int) (_ *Machine, _ error, fits bool) {
	b := c.columnBuilder()
	var out Builder
	classes := 0
	if c.reducer != nil {
		classes = len(c.reducer.del)
	} else {
		classes = len(c.wide.del)
	}
	values := map[whole]uint32{}
	value := func(o whole) uint32 {
		v, ok := values[o]
		if !ok {
			v = out.Value(float64(o) * c.unit)
			values[o] = v
		}
		return v
	}
	perWord := 64
	if width > 0 {
		perWord = 64 / width
	}
	maxCells := 0
	for t := range b.first {
		maxCells = max(maxCells, b.last[t]-b.first[t]+1)
	}
	words := func(t int) int { return max(1, (b.last[t]-b.first[t]+perWord-1)/perWord) }
	cell, made := make([]whole, maxCells), make([]whole, maxCells)
	key := make([]uint64, maxCells+1)

	mv, low, risk, up := c.layer(0)
	start := made[:len(mv.ins)]
	start[0] = 0
	for i := 1; i < len(start); i++ {
		start[i] = min(start[i-1]+mv.ins[i], c.top()) // beyond the guarantee all is one
	}
	b.clampWhole(start, low, up)
	c.begin(guarantee(start, risk))
	out.SetBase(c.base)
	if !encode(key, start, mv.ins, width, perWord) {
		return nil, nil, false
	}
	tab := newWordTable(words(0))
	tab.insert(key[:words(0)])
	total, bytes := 1, int64(0)
	for t := range b.l {
		nw := words(t + 1)
		next := newWordTable(nw)
		n := tab.len()
		f, e := b.first[t], b.last[t]
		f1, e1 := b.first[t+1], b.last[t+1]
		before, riskBefore := mv.ins, risk
		mv, low, risk, up = c.layer(t + 1)
		to, off := make([]uint32, 0, n*classes), make([]uint32, 0, n*classes)
		s, d := cell[:e-f+1], made[:e1-f1+1]
		for q := range n {
			decode(s, tab.key(q), before, width, perWord)
			from := guarantee(s, riskBefore)
			for k := range classes {
				del, sub := mv.del[k], mv.sub[k]
				prev := never
				for j := f1; j <= e1; j++ {
					i := j - f1
					v := never
					if i > 0 {
						v = prev + mv.ins[i]
					}
					if j >= f && j <= e {
						v = min(v, s[j-f]+del[i])
					}
					if j > f && j-1 <= e {
						v = min(v, s[j-1-f]+sub[i])
					}
					d[i], prev = v, v
				}
				o := b.clampWhole(d, low, up)
				if !encode(key, d, mv.ins, width, perWord) {
					return nil, nil, false
				}
				to = append(to, uint32(next.insert(key[:nw])))
				if c.down {
					o += guarantee(d, risk) - from
				}
				off = append(off, value(o))
			}
			if q&255 == 0 {
				if err := b.budget.over(b.l, t, total+next.len(), bytes+withGraph(n*classes, n)+int64(n*classes)*4+next.bytes()+tab.bytes()); err != nil {
					return nil, err, true
				}
			}
		}
		if err := out.Layer(Layer{Labels: len(b.class), Class: b.class, Classes: classes, Columns: n, Next: to, Off: off}); err != nil {
			return nil, err, true
		}
		bytes += withGraph(len(to), n)
		total += next.len()
		if b.whole {
			if err := b.budget.outgrown(b.l, b.m, t, n, next.len(), total, bytes, withGraph(classes, 1)); err != nil {
				return nil, err, true
			}
		}
		tab = next
	}
	// What is to come is in R and in G already, and nothing is to come.
	zero := out.Value(0)
	final := make([]uint32, tab.len())
	for q := range final {
		final[q] = zero
	}
	m, err := out.Finish(final)
	return m, err, true
}

// guarantee returns G - h of a column.
func guarantee(s, risk []whole) whole {
	g := never
	for i, v := range s {
		g = min(g, v+risk[i])
	}
	return g
}

// clampWhole lowers the cells of a column as far as no final loss changes, and
// subtracts the least from all; it returns what it subtracted.
func (b *columnBuilder) clampWhole(s, low, up []whole) whole {
	if !b.noClamp {
		g := guarantee(s, low)
		for i := range s {
			if up == nil {
				s[i] = min(s[i], g)
			} else {
				s[i] = min(s[i], g+up[i])
			}
		}
	}
	o := s[0]
	for _, v := range s {
		o = min(o, v)
	}
	for i := range s {
		s[i] -= o
	}
	return o
}

// encode packs the steps of a column into words, and reports whether they fit.
func encode(key []uint64, s, ins []whole, width, perWord int) bool {
	clear(key[:max(1, (len(s)-1+perWord-1)/perWord)])
	for i := 1; i < len(s); i++ {
		d := uint64(s[i-1] + ins[i] - s[i])
		if width < 64 && d>>width != 0 {
			return false
		}
		if width > 0 {
			key[(i-1)/perWord] |= d << ((i - 1) % perWord * width)
		}
	}
	return true
}

// decode undoes encode: the least cell is 0.
func decode(s []whole, key []uint64, ins []whole, width, perWord int) {
	s[0] = 0
	least := whole(0)
	mask := uint64(math.MaxUint64) >> (64 - width)
	for i := 1; i < len(s); i++ {
		d := uint64(0)
		if width > 0 {
			d = key[(i-1)/perWord] >> ((i - 1) % perWord * width) & mask
		}
		s[i] = s[i-1] + ins[i] - whole(d)
		least = min(least, s[i])
	}
	for i := range s {
		s[i] -= least
	}
}

// limbColumns builds with cells of several words, least first. It is for costs of
// which some are so much greater than others that both matter.
type limbColumns struct {
	reducer *reducer[large]
	n       int // words of a cell
}

func (c *limbColumns) limbs(x []large) []uint64 {
	y := make([]uint64, len(x)*c.n)
	for i, v := range x {
		var w [8]byte
		raw := v.Bytes() // not negative; most significant first
		for k := range c.n {
			clear(w[:])
			end := len(raw) - 8*k
			if end <= 0 {
				break
			}
			part := raw[max(0, end-8):end]
			copy(w[8-len(part):], part)
			for _, byte := range w {
				y[i*c.n+k] = y[i*c.n+k]<<8 | uint64(byte)
			}
		}
	}
	return y
}

func lessLimbs(a, b []uint64) bool {
	for i := len(a) - 1; i >= 0; i-- {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

func addLimbs(dst, a, b []uint64) {
	carry := uint64(0)
	for i := range dst {
		dst[i], carry = bits.Add64(a[i], b[i], carry)
	}
}

func subLimbs(dst, a, b []uint64) {
	borrow := uint64(0)
	for i := range dst {
		dst[i], borrow = bits.Sub64(a[i], b[i], borrow)
	}
}

// limbsFloat returns a·2^exponent, rounded once.
func limbsFloat(a []uint64, exponent int) float64 {
	top := len(a) - 1
	for top > 0 && a[top] == 0 {
		top--
	}
	x, e := a[top], exponent+64*top
	if top > 0 && x != 0 {
		// 64 bits from the first that is set; what follows them only tells a tie.
		z := bits.LeadingZeros64(x)
		x, e = x<<z|a[top-1]>>(64-z)&(1<<z-1), e-z
		if a[top-1]<<z != 0 {
			x |= 1
		}
	}
	return math.Ldexp(float64(x), e)
}

func (c *limbColumns) build() (*Machine, error) {
	r := c.reducer
	b := r.b
	c.n = (r.top.BitLen() + 3 + 63) / 64
	nl, classes, exponent := c.n, len(r.del), b.exact.exponent
	var out Builder
	least := func(s, risk, g []uint64) { // g = min_i s[i] + risk[i]
		x := make([]uint64, nl)
		for i := 0; i < len(s); i += nl {
			if risk == nil {
				copy(x, s[i:i+nl])
			} else {
				addLimbs(x, s[i:i+nl], risk[i:i+nl])
			}
			if i == 0 || lessLimbs(x, g) {
				copy(g, x)
			}
		}
	}
	g, o, v, from := make([]uint64, nl), make([]uint64, nl), make([]uint64, nl), make([]uint64, nl)
	clamp := func(s, risk []uint64) {
		if !b.noClamp {
			least(s, risk, g)
			for i := 0; i < len(s); i += nl {
				if lessLimbs(g, s[i:i+nl]) {
					copy(s[i:i+nl], g)
				}
			}
		}
		least(s, nil, o)
		for i := 0; i < len(s); i += nl {
			subLimbs(s[i:i+nl], s[i:i+nl], o)
		}
	}
	mv, risk := r.layer(0), c.limbs(r.risk[0])
	ins := c.limbs(mv.ins)
	start := make([]uint64, len(ins))
	top := c.limbs([]large{r.top})
	for i := nl; i < len(ins); i += nl {
		addLimbs(start[i:i+nl], start[i-nl:i], ins[i:i+nl])
		if lessLimbs(top, start[i:i+nl]) {
			copy(start[i:i+nl], top) // at least the guarantee, which the clamp would lower it to
		}
	}
	clamp(start, risk)
	least(start, risk, g)
	guarantee := new(big.Int)
	for i := nl - 1; i >= 0; i-- {
		guarantee.Lsh(guarantee, 64).Or(guarantee, new(big.Int).SetUint64(g[i]))
	}
	down, base := downward(r, large{guarantee})
	out.SetBase(bigFloat(base.Int, exponent))
	tab := newWordTable(len(start))
	tab.insert(start)
	total, bytes := 1, int64(0)
	for t := range b.l {
		f, e := b.first[t], b.last[t]
		f1, e1 := b.first[t+1], b.last[t+1]
		riskBefore := risk
		mv, risk = r.layer(t+1), c.limbs(r.risk[t+1])
		ins := c.limbs(mv.ins)
		del, sub := make([][]uint64, classes), make([][]uint64, classes)
		for k := range classes {
			del[k], sub[k] = c.limbs(mv.del[k]), c.limbs(mv.sub[k])
		}
		made := make([]uint64, len(ins))
		next := newWordTable(len(made))
		n := tab.len()
		to, off := make([]uint32, 0, n*classes), make([]uint32, 0, n*classes)
		for q := range n {
			s := tab.key(q)
			if down {
				least(s, riskBefore, from)
			}
			for k := range classes {
				for j := f1; j <= e1; j++ {
					i := (j - f1) * nl
					d := made[i : i+nl]
					have := false
					offer := func(a, b []uint64) {
						addLimbs(v, a, b)
						if !have || lessLimbs(v, d) {
							copy(d, v)
							have = true
						}
					}
					if i > 0 {
						offer(made[i-nl:i], ins[i:i+nl])
					}
					if j >= f && j <= e {
						offer(s[(j-f)*nl:(j-f+1)*nl], del[k][i:i+nl])
					}
					if j > f && j-1 <= e {
						offer(s[(j-1-f)*nl:(j-f)*nl], sub[k][i:i+nl])
					}
				}
				clamp(made, risk)
				to = append(to, uint32(next.insert(made)))
				x := 0.0
				if down { // G before - h - G after, which is not negative
					least(made, risk, g)
					addLimbs(v, g, o)
					subLimbs(v, from, v)
					x = 0 - limbsFloat(v, exponent)
				} else {
					x = limbsFloat(o, exponent)
				}
				off = append(off, out.Value(x))
			}
			if q&63 == 0 {
				if err := b.budget.over(b.l, t, total+next.len(), bytes+withGraph(n*classes, n)+int64(n*classes)*4+next.bytes()+tab.bytes()); err != nil {
					return nil, err
				}
			}
		}
		if err := out.Layer(Layer{Labels: len(b.class), Class: b.class, Classes: classes, Columns: n, Next: to, Off: off}); err != nil {
			return nil, fmt.Errorf("losses: edit: %w", err)
		}
		bytes += withGraph(len(to), n)
		total += next.len()
		tab = next
	}
	zero := out.Value(0)
	final := make([]uint32, tab.len())
	for q := range final {
		final[q] = zero
	}
	return out.Finish(final)
}
