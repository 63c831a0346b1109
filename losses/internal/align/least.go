package align

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/tropica-fst/tropica/losses/internal/layered"
	"github.com/tropica-fst/tropica/losses/internal/units"
)

// Columns of least costs: they build every machine that words.go does not.
//
// Let D_t[j] be the least cost of aligning t symbols with j of the reference. Let best_t(j) be the
// least cost of completing from (t, j), for any continuation. Let
//
//	h = min_j D_t[j] + best_t(j),   R[j] = D_t[j] + best_t(j) - h ≥ 0.
//
// h is the least loss of a string with this beginning, so it never falls. Take R as the column, and
// the rise of h as the value of an arc. L is then the least loss of all plus values that are not
// negative. A machine of gains (see Columns) gives L as a difference of two sums. That loses small
// parts beside a large cost, even one that no good alignment pays. This one adds, and each value is
// rounded once, from integers. Each move of the program becomes its reduced cost c + best(to) -
// best(from) ≥ 0. Where losses are negative throughout, or closer to 0 at their greatest, the sum
// goes downwards instead. It begins at the guarantee G below, which never rises.
//
// Clamp. worst_t(j) is the least cost of completing from (t, j) along an alignment fixed
// beforehand, at the dearest symbols. G = min_j D[j] + worst(j) is attained for any continuation,
// so D[j] may be lowered to G - best(j), and R[j] to min_j R[j] + worst(j) - best(j) - h. The cost
// of deletions over the cheapest of them is the same for all cells, so the clamp leaves it out of
// worst and best. low and up below are the differences that it then uses. Costs above the greatest
// such guarantee (top) need not be distinguished from it. That brings a forbidding 1e30 among ones
// back to a small integer.

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
	var multiples []*big.Int
	x.exponent, multiples = units.Dyadic(costs)
	pick := func(of []int32) []large {
		y := make([]large, len(of))
		for i, c := range of {
			y[i] = large{multiples[c]}
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
	b        *Columns
	zero     T
	del, ins []T
	sub      [][]T
	best     [][]T // by layer and j-first[t]
	risk     [][]T // worst - best
	low, up  [][]T // of the clamp; up is nil for zeros
	top      T     // the greatest risk
}

func newReducer[T scalar[T]](b *Columns, zero T, del, ins []T, sub [][]T, split bool) (*reducer[T], error) {
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

// completions returns the least costs of completing from each cell, at the cheapest symbols and at
// the dearest. split leaves out the cost of deletions above the cheapest of them.
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

// completion is one backward dynamic program over the cells of the windows; each cell reaches the
// end.
func (r *reducer[T]) completion(del T, sub []T) ([][]T, error) {
	b := r.b
	rows := make([][]T, b.l+1)
	for t := b.l; t >= 0; t-- {
		f, n := b.First[t], b.Last[t]
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
				f1, n1 := b.First[t+1], b.Last[t+1]
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
			if err := b.limits.Stopped(b.l, 0); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}

// moves are the reduced costs of the moves into the cells of a layer: ins from the cell before, del
// and sub by class from the layer before.
type moves[T any] struct {
	ins      []T
	del, sub [][]T
}

// layer returns the moves into layer t, those of ins alone for layer 0.
func (r *reducer[T]) layer(t int) *moves[T] {
	b := r.b
	f, n := b.First[t], b.Last[t]
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
	f0, n0 := b.First[t-1], b.Last[t-1]
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

// downward reports whether losses are summed down from the guarantee of the start rather than up
// from the least of all. It chooses the one closer to 0, and returns it.
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
func (b *Columns) generic() (*layered.Machine, error) {
	if b.Exact == nil {
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
	x := b.Exact
	cells := 0
	for t := range b.First {
		cells += b.Last[t] - b.First[t] + 1
	}
	if most := 1 << 22; cells > most/(1+len(x.del)) {
		return nil, &layered.Oversize{Bytes: int64(cells) * int64(1+len(x.del)) * 100, Limit: b.limits.Bytes,
			Length: b.l}
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
