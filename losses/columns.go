package losses

import "math"

// columnBuilder builds the machine of an alignment loss from columns of scores.
//
// Since the lengths are fixed, deleting all of y and inserting all of the
// reference is a constant per symbol, and aligning y_t with r_j gains
// g = del + ins - sub over it, or nothing (not aligning them): so
//
//	L(y) = Σ_t del(y_t) + Σ_j ins(r_j) - S(y),   S = max Σ of gains.
//
// A gain below 0 counts as 0, for deleting y_t and inserting r_j is then at
// least as good, wherever one of the two cells between, (t, j+1) and (t+1, j),
// lies in the band. Neither does where two windows meet in a corner only
// (pinches): all alignments pass there and pay what it costs.
//
// The column S_t[j] is the best score of t symbols of y with j of the
// reference. Its steps lie in [0, greatest gain], with a band too: S_t[j] ≥
// S_t[j-1] by an insertion, and leaving out r_j from an alignment keeps it in
// the band, as the layers of a cell j are consecutive.
//
// Clamp. With r = l-t symbols to come, any continuation f adds low_t(j) ≤
// R_j(f) ≤ up_t(j) from entry j, both from small dynamic programs over what is
// the least and the most that one more symbol may gain. G = max_j S[j] + low(j)
// is a score that is had whatever follows, so raising S[j] to G - up(j) changes
// no final score: the raised entry ends at G at most. Then S[first] is
// subtracted and put on the arc. Columns that differ only in what cannot matter
// become equal; Ukkonen's band is a weak special case.
type columnBuilder struct {
	l, m   int
	budget Budget
	class  []uint32 // of each symbol
	unit   float64  // of the costs below
	del    []int64  // by class
	ins    []int64  // by symbol of the reference
	sub    [][]int64
	exact  *exactCosts // costs that do not fit; del, ins, sub are nil then
	gain   [][]int64   // by class and symbol of the reference, where costs are on a grid
	most   int64       // greatest gain
	scale  int64       // units of a gain
	base   float64     // of the machine of gains: all deletions and insertions
	fixed  int64       // the same in units

	first    []int // window of layer t: first[t] ≤ j ≤ last[t]
	last     []int
	up, low  [][]int64 // by layer and j-first[t]
	whole    bool      // all cells are in the windows
	noClamp  bool      // for tests
	noWords  bool      // for tests, and for machines of no cancellation: never the one-word path
	constant bool      // del is the same in every class
}

// columns puts the costs into integers and finds symbols that act alike.
func (e Edit) columns(ref []int, alphabet, l int) *columnBuilder {
	e = e.or()
	m := len(ref)
	b := &columnBuilder{l: l, m: m, budget: e.Budget, constant: true}
	// Symbols that act alike: without tables those that ref lacks; with tables
	// those of equal rows.
	var representative []int
	if e.SubTable == nil && e.DelTable == nil {
		b.class, representative = referenceClasses(ref, alphabet)
	} else {
		b.class, representative = rowClasses(alphabet, func(y int) []float64 {
			row := make([]float64, 0, m+1)
			for _, r := range ref {
				row = append(row, e.cost(y, r))
			}
			return append(row, e.cost(y, -1))
		})
	}
	b.windows(e.Band)
	b.whole = e.Band == 0
	// A few costs are used many times: number those that are.
	var seen costIndex
	del, ins, sub := make([]int32, len(representative)), make([]int32, m), make([][]int32, len(representative))
	for j, r := range ref {
		ins[j] = seen.add(e.cost(-1, r))
	}
	for k, y := range representative {
		del[k] = seen.add(e.cost(y, -1))
		b.constant = b.constant && del[k] == del[0]
		sub[k] = make([]int32, m)
		for j, r := range ref {
			sub[k][j] = seen.add(e.cost(y, r))
		}
	}
	room := l + m + 2
	unit, units, onGrid := grid(seen.costs)
	if !onGrid {
		var ok bool
		if unit, units, ok = rounded(seen.costs, room); !ok {
			b.exact = newExactCosts(seen.costs, del, ins, sub)
			return b
		}
	}
	b.unit = unit
	pick := func(of []int32) []int64 {
		x := make([]int64, len(of))
		for i, c := range of {
			x[i] = units[c]
		}
		return x
	}
	b.del, b.ins = pick(del), pick(ins)
	b.sub = make([][]int64, len(sub))
	for k := range sub {
		b.sub[k] = pick(sub[k])
	}
	b.gains()
	if onGrid && b.constant {
		b.bounds()
	}
	return b
}

// gains sets what the machine of gains needs: gains in their greatest unit, and
// the constant.
func (b *columnBuilder) gains() {
	pinched := b.pinches()
	b.gain = make([][]int64, len(b.sub))
	for k, row := range b.sub {
		b.gain[k] = make([]int64, b.m)
		for j, s := range row {
			g := b.del[k] + b.ins[j] - s
			if g < 0 && !pinched[j] {
				g = 0 // aligning them is never better
			}
			b.gain[k][j] = g
			b.scale = gcd(b.scale, max(g, -g))
			b.most = max(b.most, g)
		}
	}
	b.scale = max(1, b.scale)
	b.most /= b.scale
	for _, row := range b.gain {
		for j := range row {
			row[j] /= b.scale
		}
	}
	b.fixed = 0
	if len(b.del) > 0 {
		b.fixed = b.del[0] * int64(b.l)
	}
	for _, x := range b.ins {
		b.fixed += x
	}
	b.base = float64(b.fixed) * b.unit
}

// costIndex numbers distinct costs.
type costIndex struct {
	costs []float64
	index map[float64]int32 // once they are many
}

func (x *costIndex) add(c float64) int32 {
	const few = 8
	if len(x.costs) <= few {
		for i, d := range x.costs {
			if c == d {
				return int32(i)
			}
		}
	} else if i, ok := x.index[c]; ok {
		return i
	}
	i := int32(len(x.costs))
	x.costs = append(x.costs, c)
	if len(x.costs) > few {
		if x.index == nil {
			x.index = map[float64]int32{}
			for i, d := range x.costs {
				x.index[d] = int32(i)
			}
		}
		x.index[c] = i
	}
	return i
}

// pinches says for each symbol of the reference whether some alignment has to
// align it: the windows of two layers meet in a corner there. It takes a
// reference much longer than y.
func (b *columnBuilder) pinches() []bool {
	pinched := make([]bool, b.m)
	for t := range b.l {
		if j := b.last[t]; b.first[t+1] == j+1 {
			pinched[j] = true
		}
	}
	return pinched
}

// referenceClasses gives each symbol that occurs in ref a class of its own, in
// order of appearance, and one last class to all that do not. The
// representative of a class is its least symbol.
func referenceClasses(ref []int, alphabet int) (class []uint32, representative []int) {
	class = make([]uint32, alphabet)
	for _, r := range ref {
		if r < alphabet && class[r] == 0 {
			representative = append(representative, r)
			class[r] = uint32(len(representative))
		}
	}
	n := uint32(len(representative))
	for k := range class {
		if class[k] == 0 {
			if int(n) == len(representative) {
				representative = append(representative, k)
			}
			class[k] = n + 1
		}
		class[k]--
	}
	return class, representative
}

// rowClasses puts symbols with equal rows into one class.
func rowClasses(alphabet int, row func(y int) []float64) (class []uint32, representative []int) {
	class = make([]uint32, alphabet)
	seen := map[string]uint32{}
	var key []byte
	for y := range alphabet {
		key = appendFloats(key[:0], row(y)...)
		k, ok := seen[string(key)]
		if !ok {
			k = uint32(len(representative))
			seen[string(key)] = k
			representative = append(representative, y)
		}
		class[y] = k
	}
	return class, representative
}

// windows sets the cells of each layer.
func (b *columnBuilder) windows(band int) { b.first, b.last = bandWindows(b.l, b.m, band) }

// bandWindows returns the first and last cell of each layer: all, or those with
// |j - t m/l| ≤ band, widened until consecutive windows touch.
func bandWindows(l, m, band int) (first, last []int) {
	first, last, _ = widenedWindows(l, m, band)
	return first, last
}

// BandFor returns the band that alignments of l symbols with a reference of m are kept to:
// Band, or the least that has an alignment of them. 0 is none. O(l) time, times the
// logarithm of m/l where Band has none.
func (e Edit) BandFor(m, l int) int {
	if e.Band <= 0 || l <= 0 || m < 0 || e.Band >= l+m {
		return e.Band
	}
	_, _, used := widenedWindows(l, m, e.Band)
	return used
}

// widenedWindows is bandWindows with the band that it took.
func widenedWindows(l, m, band int) (first, last []int, used int) {
	first, last = make([]int, l+1), make([]int, l+1)
	if band == 0 || l == 0 {
		for t := range last {
			last[t] = m
		}
		return first, last, band
	}
	// ceil and floor of t m/l ∓ band, without overflow: m, l ≤ 2³¹ or so, and a band
	// beyond the lengths is one of all cells.
	band = min(band, l+m)
	set := func(band int) (touch bool) {
		touch = true
		for t := range first {
			at := int64(t) * int64(m)
			first[t] = max(0, int((at+int64(l)-1)/int64(l))-band)
			last[t] = min(m, int(at/int64(l))+band)
			if t > 0 && last[t-1]+1 < first[t] {
				touch = false
			}
		}
		return touch
	}
	if set(band) {
		return first, last, band
	}
	// Windows move by m/l a layer, and have 2·band+1 cells or one less: the
	// wider, the sooner they touch, and at m/l they all do.
	lo, hi := band, m/l+1
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; set(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	set(hi)
	return first, last, hi
}

// bounds fills up and low backwards from the end, which every cell of the
// windows reaches.
func (b *columnBuilder) bounds() {
	l, m := b.l, b.m
	best, worst := make([]int64, m), make([]int64, m)
	for j := range m {
		for k, g := range b.gain {
			if k == 0 {
				best[j], worst[j] = g[j], g[j]
			}
			best[j], worst[j] = max(best[j], g[j]), min(worst[j], g[j])
		}
	}
	b.up, b.low = make([][]int64, l+1), make([][]int64, l+1)
	for t := l; t >= 0; t-- {
		f, n := b.first[t], b.last[t]
		up, low := make([]int64, n-f+1), make([]int64, n-f+1)
		for j := n; j >= f; j-- {
			i := j - f
			u, w := int64(math.MinInt64/2), int64(math.MinInt64/2)
			switch {
			case j < n:
				u, w = up[i+1], low[i+1]
			case t == l:
				u, w = 0, 0
			}
			if t < l {
				f1, n1 := b.first[t+1], b.last[t+1]
				if j >= f1 && j <= n1 {
					u, w = max(u, b.up[t+1][j-f1]), max(w, b.low[t+1][j-f1])
				}
				if j+1 >= f1 && j+1 <= n1 {
					u, w = max(u, b.up[t+1][j+1-f1]+best[j]), max(w, b.low[t+1][j+1-f1]+worst[j])
				}
			}
			up[i], low[i] = u, w
		}
		b.up[t], b.low[t] = up, low
	}
}

func (b *columnBuilder) build() (*Machine, error) {
	if !b.noWords && !b.noClamp {
		if w := b.words(); w != nil {
			return w.build()
		}
		if p := b.pairs(); p != nil {
			return p.build()
		}
	}
	return b.generic()
}

// withGraph estimates the bytes of a layer with its graph of order 2 and the
// values of one sweep, which the budget is to hold as well.
func withGraph(arcs, columns int) int64 { return 8*int64(arcs) + 32*int64(columns) }

// withOwnGraph is withGraph for a machine whose arcs are those of its graph.
func withOwnGraph(arcs, columns int) int64 { return 4*int64(arcs) + 32*int64(columns) }
