package structured

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/emirpasic/gods/v2/queues/priorityqueue"
)

// prefix is a state of the search over prefixes: lazy determinization of the intersection of
// all machines.
type prefix struct {
	bound  float64 // below F of every string that begins so
	id     int32   // in order of making
	parent int32
	state  int32
	label  int32
	depth  int32
	row    int32 // slot of its rows
}

// bestFirst expands the prefix of the least bound, until that is no lower than the best whole
// string. Prefixes in one state with equal rows are one. The budget bounds expansions.
//
// Rows are kept for open prefixes alone; of expanded ones 128 bits tell whether a prefix is
// like one of them.
func (s *Strings) bestFirst(ctx context.Context, l *Lattice, w *weighted, d *Decoded[[]int]) error {
	r, ok := newRows(s.loss, w.refs, w.alpha)
	if !ok {
		return s.kBest(ctx, l, w, d)
	}
	s.seed(l, w, d)
	var (
		nodes []prefix // for the strings of prefixes
		arena []float64
		free  []int32
		seen  map[[3]uint64]struct{}
	)
	if !l.tree {
		seen = map[[3]uint64]struct{}{}
	}
	slot := func() int32 {
		if n := len(free); n > 0 {
			k := free[n-1]
			free = free[:n-1]
			return k
		}
		k := int32(len(arena) / r.width)
		arena = append(arena, make([]float64, r.width)...)
		return k
	}
	rowOf := func(k int32) []float64 { return arena[int(k)*r.width:][:r.width] }
	open := priorityqueue.NewWith(func(a, b int32) int {
		x, y := &nodes[a], &nodes[b]
		// Of equal bounds the longer prefix: it is nearer to a whole string.
		return cmp.Or(cmp.Compare(x.bound, y.bound), cmp.Compare(y.depth, x.depth), cmp.Compare(a, b))
	})
	spell := func(id int32) []int {
		y := make([]int, nodes[id].depth)
		for k := len(y) - 1; k >= 0; k-- {
			y[k] = int(nodes[id].label)
			id = nodes[id].parent
		}
		return y
	}
	if r.width == 0 { // no weight at all
		r.width = 1
	}
	least := math.Inf(1) // of the bounds of prefixes given up for want of room
	push := func(p prefix) {
		row := rowOf(p.row)
		if l.final[p.state] {
			if f := r.value(row); f < d.Value {
				nodes = append(nodes, p)
				offer(d, spell(int32(len(nodes)-1)), f)
				nodes = nodes[:len(nodes)-1]
			}
		}
		short, long := l.short[p.state], l.long[p.state]
		if l.final[p.state] { // it goes on by one symbol at least
			short = math.MaxInt32
			for e := l.first[p.state]; e < l.first[p.state+1]; e++ {
				short = min(short, l.short[l.next[e]]+1)
			}
		}
		if l.first[p.state] == l.first[p.state+1] {
			free = append(free, p.row)
			return
		}
		p.bound = math.Max(p.bound, r.bound(row, short, long))
		if p.bound >= d.Value {
			free = append(free, p.row)
			return
		}
		if int64(len(arena))*8+int64(len(nodes))*64 > s.o.Bytes {
			least = math.Min(least, p.bound)
			free = append(free, p.row)
			return
		}
		if seen != nil {
			key := printOf(p.state, row)
			if _, ok := seen[key]; ok {
				free = append(free, p.row)
				return
			}
			seen[key] = struct{}{}
		}
		p.id = int32(len(nodes))
		nodes = append(nodes, p)
		open.Enqueue(p.id)
	}
	first := slot()
	r.start(rowOf(first))
	push(prefix{bound: math.Inf(-1), parent: -1, row: first})
	bound := math.Inf(1)
	for expanded := 0; ; expanded++ {
		id, ok := open.Dequeue()
		if !ok {
			break
		}
		if expanded%256 == 0 && ctx.Err() != nil {
			return nil // the caller says so
		}
		p := nodes[id]
		if p.bound >= d.Value {
			break
		}
		if expanded == s.o.Budget {
			bound = p.bound
			break
		}
		d.Steps++
		for e := l.first[p.state]; e < l.first[p.state+1]; e++ {
			k := slot()
			r.step(rowOf(k), rowOf(p.row), int(l.label[e]))
			push(prefix{bound: p.bound, parent: id, state: l.next[e], label: l.label[e], depth: p.depth + 1, row: k})
		}
		free = append(free, p.row)
	}
	d.LowerBound = math.Max(d.LowerBound, math.Min(d.Value, math.Min(bound, least)))
	return nil
}

// printOf is a fingerprint of a state and its rows, equal for equal ones, and for others only
// by a chance of 2⁻¹²⁸.
func printOf(state int32, row []float64) [3]uint64 {
	a, b := uint64(0x9e3779b97f4a7c15), uint64(0xbf58476d1ce4e5b9)
	for _, v := range row {
		x := math.Float64bits(v + 0) // -0 is 0
		a = (a ^ x) * 0xff51afd7ed558ccd
		a ^= a >> 32
		b = (b + x) * 0xc4ceb9fe1a85ec53
		b ^= b >> 29
	}
	return [3]uint64{a, b, uint64(state)}
}

// seeds is how many training outputs a search begins with.
const seeds = 20

// seed offers the training outputs of the largest weights that are candidates.
func (s *Strings) seed(l *Lattice, w *weighted, d *Decoded[[]int]) {
	order := make([]int, len(w.refs))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(w.alpha[b], w.alpha[a]) })
	for n, k := range order {
		if n == seeds {
			break
		}
		if l.Has(w.refs[k]) {
			offer(d, w.refs[k], s.value(w, w.refs[k]))
		}
	}
}
