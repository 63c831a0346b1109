package losses

import (
	"math"
	"math/bits"
)

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
	l, m     int
	columns  int // budget
	bytes    int64
	class    []uint32 // of each symbol
	gain     [][]int64
	del      []float64 // by class, as a value of its own
	unit     float64
	base     float64
	first    []int // window of layer t: first[t] ≤ j ≤ last[t]
	last     []int
	up, low  [][]int64 // by layer and j-first[t]
	most     int64     // greatest gain
	noClamp  bool      // for tests
	noWords  bool      // for tests: never the one-word path
	constant bool      // del is 0 in every class (it went into base)
}

// columns puts the costs into integers and finds symbols that act alike.
func (e Edit) columns(ref []int, alphabet, l int) *columnBuilder {
	m := len(ref)
	b := &columnBuilder{l: l, m: m, columns: e.Columns, bytes: DefaultBytes}
	ins := func(r int) float64 {
		if e.InsTable != nil {
			return e.InsTable[r]
		}
		return e.Ins
	}
	del := func(y int) float64 {
		if e.DelTable != nil {
			return e.DelTable[y]
		}
		return e.Del
	}
	sub := func(y, r int) float64 {
		switch {
		case e.SubTable != nil:
			return e.SubTable[y][r]
		case y == r:
			return e.Match
		}
		return e.Sub
	}
	// Symbols that act alike: without tables those that ref lacks; with tables
	// those of equal rows.
	var representative []int
	if e.SubTable == nil && e.DelTable == nil {
		b.class, representative = referenceClasses(ref, alphabet)
	} else {
		b.class, representative = rowClasses(alphabet, func(y int) []float64 {
			row := make([]float64, 0, m+1)
			for _, r := range ref {
				row = append(row, sub(y, r))
			}
			return append(row, del(y))
		})
	}
	b.windows(e.Band)
	pinched := b.pinches()
	var all []float64
	noise := 0.0
	for _, y := range representative {
		for j, r := range ref {
			d, i, s := del(y), ins(r), sub(y, r)
			g := d + i - s
			n := 4e-16 * (math.Abs(d) + math.Abs(i) + math.Abs(s))
			noise = max(noise, n)
			if math.Abs(g) <= n || g < 0 && !pinched[j] {
				g = 0 // aligning them is never better
			}
			all = append(all, g)
		}
	}
	// The same cost many times makes one multiple many times: find distinct ones.
	distinct, place := distinctFloats(all)
	unit, units := quantize(distinct, noise, l+m+2)
	b.unit = unit
	for k, y := range representative {
		g := make([]int64, m)
		for j := range g {
			g[j] = units[place[k*m+j]]
			b.most = max(b.most, g[j])
		}
		b.gain = append(b.gain, g)
		b.del = append(b.del, del(y))
	}
	if e.DelTable == nil {
		b.constant = true
		b.base = e.Del * float64(l)
		clear(b.del)
	}
	if e.InsTable == nil {
		b.base += e.Ins * float64(m)
	} else {
		for _, r := range ref {
			b.base += ins(r)
		}
	}
	b.bounds()
	return b
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

func distinctFloats(xs []float64) (distinct []float64, place []int) {
	seen := map[float64]int{}
	place = make([]int, len(xs))
	for i, x := range xs {
		p, ok := seen[x]
		if !ok {
			p = len(distinct)
			seen[x] = p
			distinct = append(distinct, x)
		}
		place[i] = p
	}
	return distinct, place
}

// windows sets the cells of each layer.
func (b *columnBuilder) windows(band int) { b.first, b.last = bandWindows(b.l, b.m, band) }

// bandWindows returns the first and last cell of each layer: all, or those with
// |j - t m/l| ≤ band, widened until consecutive windows touch.
func bandWindows(l, m, band int) (first, last []int) {
	first, last = make([]int, l+1), make([]int, l+1)
	if band == 0 || l == 0 {
		for t := range last {
			last[t] = m
		}
		return first, last
	}
	// Windows move by m/l a layer, and have 2·band+1 cells or one less.
	for ; ; band++ {
		touch := true
		for t := range first {
			// ceil and floor of t m/l ∓ band
			first[t] = max(0, (t*m+l-1)/l-band)
			last[t] = min(m, t*m/l+band)
			if t > 0 && last[t-1]+1 < first[t] {
				touch = false
			}
		}
		if touch {
			return first, last
		}
	}
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
	m, err := (*Machine)(nil), error(nil)
	if w := b.words(); w != nil && !b.noWords && !b.noClamp {
		m, err = w.build()
	} else {
		m, err = b.generic()
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// overBudget returns the error of a build that has reached layer t.
func (b *columnBuilder) overBudget(t, columns int, bytes int64) error {
	limit := int64(b.columns)
	if (limit == 0 && bytes <= b.bytes) || (limit > 0 && int64(columns) <= limit) {
		return nil
	}
	return &BudgetError{Columns: columns, Bytes: bytes, Length: b.l, Layer: t}
}

// withGraph estimates the bytes of a layer with its graph of order 2 and the
// values of one sweep, which the budget is to hold as well.
func withGraph(arcs, columns int) int64 { return 8*int64(arcs) + 32*int64(columns) }

// generic builds with columns of int64 cells and keys of as many words as they
// need. It is the reference of the one-word path, and serves whatever that
// cannot.
func (b *columnBuilder) generic() (*Machine, error) {
	width := bits.Len64(uint64(b.most))
	if m, err, fits := b.genericWidth(width); fits {
		return m, err
	}
	m, err, _ := b.genericWidth(64)
	return m, err
}

func (b *columnBuilder) genericWidth(width int) (_ *Machine, _ error, fits bool) {
	var out Builder
	out.SetBase(b.base)
	classes := len(b.gain)
	values := make([]map[int64]uint32, max(1, classes))
	for k := range values {
		values[k] = map[int64]uint32{}
	}
	value := func(k int, o int64) uint32 {
		v, ok := values[k][o]
		if !ok {
			v = out.Value(b.del[k] - float64(o)*b.unit)
			values[k][o] = v
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
	words := func(t int) int { return (b.last[t] - b.first[t] + perWord - 1) / perWord }
	cell, made := make([]int64, maxCells), make([]int64, maxCells)
	key := make([]uint64, maxCells+1)

	tab := newWordTable(max(1, words(0)))
	start := b.clamp(0, made[:b.last[0]-b.first[0]+1])
	b.base -= float64(start) * b.unit
	out.SetBase(b.base)
	if !encode(key, made[:b.last[0]-b.first[0]+1], width, perWord) {
		return nil, nil, false
	}
	tab.insert(key[:max(1, words(0))])
	total, bytes := 1, int64(0)
	for t := range b.l {
		nw := max(1, words(t+1))
		next := newWordTable(nw)
		n := tab.len()
		f, e := b.first[t], b.last[t]
		f1, e1 := b.first[t+1], b.last[t+1]
		to, off := make([]uint32, 0, n*classes), make([]uint32, 0, n*classes)
		for c := range n {
			decode(cell[:e-f+1], tab.key(c), width, perWord)
			for k := range classes {
				g := b.gain[k]
				prev := int64(math.MinInt64 / 2)
				for j := f1; j <= e1; j++ {
					v := prev
					if j >= f && j <= e {
						v = max(v, cell[j-f])
					}
					if j > f && j-1 <= e {
						v = max(v, cell[j-1-f]+g[j-1])
					}
					made[j-f1], prev = v, v
				}
				o := b.clamp(t+1, made[:e1-f1+1])
				if !encode(key, made[:e1-f1+1], width, perWord) {
					return nil, nil, false
				}
				to = append(to, uint32(next.insert(key[:nw])))
				off = append(off, value(k, o))
			}
			if c&255 == 0 {
				if err := b.overBudget(t, total+next.len(), bytes+withGraph(n*classes, n)+int64(n*classes)*4+next.bytes()+tab.bytes()); err != nil {
					return nil, err, true
				}
			}
		}
		if err := out.Layer(Layer{Labels: len(b.class), Class: b.class, Classes: classes, Columns: n, Next: to, Off: off}); err != nil {
			return nil, err, true
		}
		bytes += withGraph(len(to), n)
		total += next.len()
		tab = next
	}
	// The last layer has one column when the clamp is on; a column of the
	// unclamped machine still has its score in the last cell.
	final := make([]uint32, tab.len())
	for c := range final {
		n := b.last[b.l] - b.first[b.l] + 1
		decode(cell[:n], tab.key(c), width, perWord)
		final[c] = out.Value(-float64(cell[n-1]) * b.unit)
	}
	m, err := out.Finish(final)
	return m, err, true
}

// clamp raises the cells of a column of layer t as far as no final score
// changes, and subtracts the first from all; it returns what it subtracted.
func (b *columnBuilder) clamp(t int, s []int64) int64 {
	if !b.noClamp {
		up, low := b.up[t], b.low[t]
		g := int64(math.MinInt64)
		for i, v := range s {
			g = max(g, v+low[i])
		}
		for i := range s {
			s[i] = max(s[i], g-up[i])
		}
	}
	o := s[0]
	for i := range s {
		s[i] -= o
	}
	return o
}

// encode packs the steps of a column into words, and reports whether they fit.
func encode(key []uint64, s []int64, width, perWord int) bool {
	n := (len(s) - 1 + perWord - 1) / perWord
	clear(key[:max(1, n)])
	if width == 0 {
		for i := 1; i < len(s); i++ {
			if s[i] != s[i-1] {
				return false
			}
		}
		return true
	}
	for i := 1; i < len(s); i++ {
		d := uint64(s[i] - s[i-1])
		if width < 64 && d>>width != 0 {
			return false
		}
		key[(i-1)/perWord] |= d << ((i - 1) % perWord * width)
	}
	return true
}

func decode(s []int64, key []uint64, width, perWord int) {
	s[0] = 0
	if width == 0 {
		clear(s)
		return
	}
	mask := uint64(math.MaxUint64) >> (64 - width)
	for i := 1; i < len(s); i++ {
		s[i] = s[i-1] + int64(key[(i-1)/perWord]>>((i-1)%perWord*width)&mask)
	}
}
