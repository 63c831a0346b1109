package boost

import (
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/run"
)

// criterion is what a split is to improve.
type criterion struct {
	// dual, when not 0, is r: splits then gain in Σ_l |G_l|^r over leaf sums of
	// gradients, or with r = Inf in max_l |G_l|. That is what leaves of steepest
	// descent in the dual q-ball use (eq. 3.3). Else the gain is in Σ_l G_l²/H_l,
	// the decrease of the (weighted or second-order) least-squares error.
	dual     float64
	minRows  int     // rows a child needs; at least 1
	minH     float64 // Σ H a child needs
	minGain  float64 // relative to the score of all rows' absolute gradients
	monotone []int8  // sign a column; nil is none
}

// score of a leaf with sums g and h.
func (c *criterion) score(g, h float64) float64 {
	switch {
	case c.dual == 0:
		return g * g / h
	case c.dual == 2:
		return g * g
	case c.dual == 1 || math.IsInf(c.dual, 1):
		return math.Abs(g)
	}
	return math.Pow(math.Abs(g), c.dual)
}

// exactGrower is a second, independent grower, in plain floating-point sums: what
// the trees of a booster are compared with. It searches all thresholds of all
// columns, on sorted orders that are split along with the leaves. Memory: 4 bytes a cell
// for the orders, and as many for a growth; a growth of n splits costs
// O(rows·columns) for each level that it is deep.
type exactGrower struct {
	x       *table.Table
	workers int
	orders  [][]int32 // per column: rows by value; missing ones at the end, in row order
	present []int32   // per column: rows that are not missing
}

func newExactGrower(x *table.Table, workers int) *exactGrower {
	e := &exactGrower{x: x, workers: workers, orders: make([][]int32, len(x.Columns)),
		present: make([]int32, len(x.Columns))}
	run.Jobs(workers, len(x.Columns), func(_, c int) {
		values := x.Columns[c].Values
		order := make([]int32, 0, x.Rows)
		for i, v := range values {
			if v == v {
				order = append(order, int32(i))
			}
		}
		slices.SortFunc(order, func(a, b int32) int {
			switch x, y := values[a], values[b]; {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return int(a - b) // equal values in row order: sums do not depend on the sort
		})
		e.present[c] = int32(len(order))
		for i, v := range values {
			if v != v {
				order = append(order, int32(i))
			}
		}
		e.orders[c] = order
	})
	return e
}

// exactLeaf is a leaf that may still be divided: its rows stand in
// [from, to) of every column's order, the present ones first.
type exactLeaf struct {
	from, to int32
	present  []int32 // per column
	g, h     float64
	rows     int32
	best     candidate
	lo, hi   float64 // what monotone constraints leave for the value
}

// candidate is the best split of a leaf.
type candidate struct {
	ok          bool
	gain        float64
	column      int32
	threshold   float64
	levels      []uint64
	missingLeft bool
}

// grow makes a tree of at most splits internal nodes on the rows with in[i] (all
// when nil) for gradients g and second moments h, both already multiplied by the
// sample weights. Only the given columns are used; nil is all. Rows that are not
// in the sample are sent down the tree too.
//
// Ties go to the lowest column, then the lowest threshold, then missing values to
// the left.
func (e *exactGrower) grow(g, h []float64, in []bool, columns []int32, splits int, c criterion) *refGrowth {
	m := e.x.Rows
	out := &refGrowth{slot: make([]int32, m)}
	h = orOnes(h, m)
	if columns == nil {
		columns = make([]int32, len(e.x.Columns))
		for j := range columns {
			columns[j] = int32(j)
		}
	}
	c.minRows = max(c.minRows, 1)
	root := exactLeaf{present: make([]int32, len(columns)), lo: math.Inf(-1), hi: math.Inf(1)}
	size := 0.0
	for i := range m {
		if in == nil || in[i] {
			root.g += g[i]
			root.h += h[i]
			root.rows++
			if c.dual == 0 {
				if h[i] > 0 {
					size += g[i] * g[i] / h[i]
				}
			} else {
				size += math.Abs(g[i])
			}
		}
	}
	root.to = root.rows
	if c.dual != 0 {
		size = c.score(size, 1)
	}
	least := c.minGain * size
	orders := make([][]int32, len(columns))
	run.Jobs(e.workers, len(columns), func(_, j int) {
		src := e.orders[columns[j]]
		own := make([]int32, 0, root.rows)
		for at, i := range src {
			if in == nil || in[i] {
				own = append(own, i)
				if int32(at) < e.present[columns[j]] {
					root.present[j]++
				}
			}
		}
		orders[j] = own
	})
	leaves := []exactLeaf{root}
	if splits > 0 {
		e.search(&leaves[0], orders, columns, g, h, &c)
	}
	side := make([]bool, m)
	for len(out.splits) < splits {
		at, top := -1, 0.0
		for l := range leaves {
			top = max(top, c.score(leaves[l].g, 1))
		}
		for l := range leaves {
			b := &leaves[l].best
			enough := b.ok && b.gain > least
			if math.IsInf(c.dual, 1) {
				// The gain found is the larger child's |G|; it counts for what it
				// exceeds the largest leaf of the whole tree.
				enough = b.ok && b.gain-top > least
			}
			if enough && (at < 0 || b.gain > leaves[at].best.gain) {
				at = l
			}
		}
		if at < 0 {
			break
		}
		b := leaves[at].best
		sp := refSplit{int32(at), b.column, b.threshold, b.levels, b.missingLeft, b.gain}
		out.splits = append(out.splits, sp)
		values := e.x.Columns[b.column].Values
		right := exactLeaf{present: make([]int32, len(columns)), lo: leaves[at].lo, hi: leaves[at].hi}
		left := exactLeaf{present: make([]int32, len(columns)), lo: leaves[at].lo, hi: leaves[at].hi}
		slot := int32(len(out.splits))
		for i := range m {
			if out.slot[i] != int32(at) {
				continue
			}
			side[i] = sp.goesLeft(values[i])
			if !side[i] {
				out.slot[i] = slot
			}
			if in != nil && !in[i] {
				continue
			}
			child := &left
			if !side[i] {
				child = &right
			}
			child.rows++
			child.g += g[i]
			child.h += h[i]
		}
		from, to := leaves[at].from, leaves[at].to
		left.from, left.to = from, from+left.rows
		right.from, right.to = left.to, to
		old := leaves[at].present
		run.Jobs(e.workers, len(columns), func(_, j int) {
			partition(orders[j][from:to], int(old[j]), side, &left.present[j], &right.present[j])
		})
		if c.monotone != nil && c.monotone[b.column] != 0 && b.levels == nil {
			mid := (clampTo(-left.g/left.h, &left) + clampTo(-right.g/right.h, &right)) / 2
			if c.monotone[b.column] > 0 {
				left.hi, right.lo = min(left.hi, mid), max(right.lo, mid)
			} else {
				left.lo, right.hi = max(left.lo, mid), min(right.hi, mid)
			}
		}
		leaves[at] = left
		leaves = append(leaves, right)
		if len(out.splits) < splits {
			e.search(&leaves[at], orders, columns, g, h, &c)
			e.search(&leaves[slot], orders, columns, g, h, &c)
		}
	}
	return out
}

func clampTo(v float64, l *exactLeaf) float64 { return min(max(v, l.lo), l.hi) }

// partition moves rows of the left child before those of the right one, keeping
// present before missing and the order within each.
func partition(rows []int32, present int, side []bool, left, right *int32) {
	l, r := make([]int32, 0, len(rows)), make([]int32, 0, len(rows))
	for at, i := range rows {
		if side[i] {
			l = append(l, i)
			if at < present {
				*left++
			}
		} else {
			r = append(r, i)
			if at < present {
				*right++
			}
		}
	}
	copy(rows, l)
	copy(rows[len(l):], r)
}

// search finds the best split of a leaf.
func (e *exactGrower) search(l *exactLeaf, orders [][]int32, columns []int32, g, h []float64, c *criterion) {
	l.best = candidate{}
	if int(l.rows) < 2*c.minRows {
		return
	}
	found := make([]candidate, len(columns))
	run.Jobs(e.workers, len(columns), func(_, j int) {
		col := &e.x.Columns[columns[j]]
		rows := orders[j][l.from:l.to]
		present := rows[:l.present[j]]
		s := scan1{c: c, leaf: l, column: columns[j], missingRows: len(rows) - len(present)}
		for _, i := range rows[len(present):] {
			s.missingG += g[i]
			s.missingH += h[i]
		}
		if col.Kind == table.Categorical {
			s.categorical(col, present, g, h)
		} else {
			s.numeric(col.Values, present, g, h)
		}
		found[j] = s.best
	})
	for _, f := range found { // in order of columns: ties go to the lowest
		if f.ok && (!l.best.ok || f.gain > l.best.gain) {
			l.best = f
		}
	}
}

// scan1 searches one column of one leaf.
type scan1 struct {
	c           *criterion
	leaf        *exactLeaf
	column      int32
	missingRows int
	missingG    float64
	missingH    float64
	best        candidate
}

// try offers the split with present rows of sums (gl, hl, nl) on the left; it
// reports whether it is the best so far, with the side of missing values.
func (s *scan1) try(gl, hl float64, nl int) bool {
	better := false
	for _, missingLeft := range [2]bool{true, false} {
		gl, hl, nl := gl, hl, nl
		if missingLeft {
			gl, hl, nl = gl+s.missingG, hl+s.missingH, nl+s.missingRows
		}
		gr, hr, nr := s.leaf.g-gl, s.leaf.h-hl, int(s.leaf.rows)-nl
		if s.missingRows == 0 {
			// A missing value at prediction time goes where more weight went.
			if missingLeft != (hl >= hr) {
				continue
			}
		}
		if nl < s.c.minRows || nr < s.c.minRows || !(hl > 0) || !(hr > 0) || hl < s.c.minH || hr < s.c.minH {
			continue
		}
		if s.c.monotone != nil {
			if sign := s.c.monotone[s.column]; sign != 0 {
				a, b := clampTo(-gl/hl, s.leaf), clampTo(-gr/hr, s.leaf)
				if float64(sign)*(b-a) < 0 {
					continue
				}
			}
		}
		var gain float64
		if math.IsInf(s.c.dual, 1) {
			gain = max(math.Abs(gl), math.Abs(gr))
		} else {
			gain = s.c.score(gl, hl) + s.c.score(gr, hr) - s.c.score(s.leaf.g, s.leaf.h)
		}
		if gain > 0 && (!s.best.ok || gain > s.best.gain) {
			s.best.ok, s.best.gain, s.best.missingLeft, better = true, gain, missingLeft, true
		}
	}
	return better
}

func (s *scan1) numeric(values []float32, present []int32, g, h []float64) {
	s.best.column = s.column
	gl, hl := 0.0, 0.0
	for at, i := range present {
		if at > 0 && values[i] != values[present[at-1]] {
			if s.try(gl, hl, at) {
				// Exact in float64, so that left_max <= threshold < right_min.
				s.best.threshold = (float64(values[present[at-1]]) + float64(values[i])) / 2
			}
		}
		gl += g[i]
		hl += h[i]
	}
	if s.missingRows > 0 && len(present) > 0 {
		if s.try(gl, hl, len(present)) { // present against missing
			s.best.threshold = math.MaxFloat64
		}
	}
}

// oneHot levels or fewer are tried one by one; more are put in the order of their
// mean residuals, which for least squares has the best division among its
// prefixes (Fisher, "On grouping for maximum homogeneity", JASA 53:789–798, 1958).
const oneHot = 4

// levelSmoothing rows' worth of the leaf's mean are mixed into each level's, for
// their order only: rare levels do not go to the ends.
const levelSmoothing = 1

func (s *scan1) categorical(col *table.Column, present []int32, g, h []float64) {
	type level struct {
		id   int
		g, h float64
		n    int
	}
	all := make([]level, len(col.Levels))
	for _, i := range present {
		l := &all[int(col.Values[i])]
		l.g, l.h, l.n = l.g+g[i], l.h+h[i], l.n+1
	}
	var levels []level
	for id := range all {
		if all[id].n > 0 {
			all[id].id = id
			levels = append(levels, all[id])
		}
	}
	s.best.column = s.column
	if len(levels) <= oneHot {
		for _, l := range levels {
			if s.try(l.g, l.h, l.n) {
				s.best.levels = newLevels(len(col.Levels))
				s.best.levels[l.id>>6] |= 1 << (l.id & 63)
			}
		}
		return
	}
	per := s.leaf.h / float64(s.leaf.rows) * levelSmoothing
	mean := 0.0
	if s.leaf.h > 0 {
		mean = s.leaf.g / s.leaf.h
	}
	key := func(l *level) float64 { return (l.g + per*mean) / (l.h + per) }
	slices.SortFunc(levels, func(a, b level) int {
		switch x, y := key(&a), key(&b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return a.id - b.id
	})
	set := newLevels(len(col.Levels))
	gl, hl, nl := 0.0, 0.0, 0
	for _, l := range levels {
		set[l.id>>6] |= 1 << (l.id & 63)
		gl, hl, nl = gl+l.g, hl+l.h, nl+l.n
		if s.try(gl, hl, nl) {
			s.best.levels = slices.Clone(set)
		}
	}
}

// refGrowth is a tree as it grew.
type refGrowth struct {
	splits []refSplit
	slot   []int32 // leaf of each row after the last split; every row has one
}

type refSplit struct {
	leaf        int32
	column      int32
	threshold   float64  // numeric column: x <= threshold goes left
	levels      []uint64 // categorical column: bit set of the levels that go left; nil for a numeric one
	missingLeft bool
	gain        float64
}

// goesLeft sends one value.
func (s *refSplit) goesLeft(x float32) bool {
	switch {
	case x != x:
		return s.missingLeft
	case s.levels != nil:
		level := int(x)
		if level < 0 || level>>6 >= len(s.levels) {
			return s.missingLeft
		}
		return s.levels[level>>6]>>(level&63)&1 != 0
	}
	return float64(x) <= s.threshold
}

// newLevels returns an empty bit set for that many levels.
func newLevels(n int) []uint64 { return make([]uint64, (n+63)/64) }

func orOnes(h []float64, m int) []float64 {
	if h == nil {
		h = slices.Repeat([]float64{1}, m)
	}
	return h
}
