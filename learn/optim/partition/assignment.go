package partition

import (
	"context"
	"math"
)

// assignment is a part whose sets have one or two elements, on two sides of a bipartite graph. It
// is solved as a perfect matching of least cost between rows and columns. Rows are the elements of
// one side and a double of each element of the other, and so are columns. An element in a set of
// its own is matched with its double. For every pair, the doubles of its elements can be matched
// with each other at no cost. The matching is sparse, and exists if and only if a cover does.
type assignment struct {
	ctx   context.Context
	p     *part
	n     int // rows
	start []int32
	to    []int32
	cost  []float64
	set   []int32 // of an edge; -1 between doubles
	err   error
}

// assignment reports whether the part is one.
func (p *part) assignment(ctx context.Context) (*assignment, bool) {
	n := p.elements()
	for h := range p.sets() {
		if len(p.members(int32(h))) > 2 {
			return nil, false
		}
	}
	side := make([]int8, n) // 0 is not known, else 1 or 2
	var queue []int32
	for v := range n {
		if side[v] != 0 {
			continue
		}
		side[v] = 1
		queue = append(queue[:0], int32(v))
		for len(queue) > 0 {
			x := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			for _, h := range p.with(x) {
				for _, y := range p.members(h) {
					switch {
					case y == x:
					case side[y] == 0:
						side[y] = 3 - side[x]
						queue = append(queue, y)
					case side[y] == side[x]:
						return nil, false
					}
				}
			}
		}
	}
	// Row v is element v of side 1, or the double of element v of side 2; columns the other way.
	x := &assignment{ctx: ctx, p: p, n: n, start: make([]int32, 1, n+1)}
	for v := range n {
		for _, h := range p.with(int32(v)) {
			m := p.members(h)
			switch {
			case len(m) == 1:
				x.edge(int32(v), -p.score[h], h)
			case side[v] == 1:
				x.edge(other(m, int32(v)), -p.score[h], h)
			default:
				x.edge(other(m, int32(v)), 0, -1)
			}
		}
		x.start = append(x.start, int32(len(x.to)))
	}
	return x, true
}

func other(m []int32, v int32) int32 {
	if m[0] == v {
		return m[1]
	}
	return m[0]
}

func (x *assignment) edge(to int32, cost float64, set int32) {
	x.to, x.cost, x.set = append(x.to, to), append(x.cost, cost), append(x.set, set)
}

// solve augments along shortest paths by reduced costs, one row at a time.
func (x *assignment) solve() result {
	none := result{nil, 0, math.Inf(-1)}
	n := x.n
	price := make([]float64, n) // of columns
	for j := range price {
		price[j] = math.Inf(1)
	}
	for e, j := range x.to {
		price[j] = math.Min(price[j], x.cost[e])
	}
	row := make([]float64, n) // duals of rows: the least reduced cost
	matched, edge := make([]int32, n), make([]int32, n)
	of := make([]int32, n) // row of a column
	for j := range of {
		of[j], matched[j] = -1, -1
	}
	for i := range n {
		row[i] = math.Inf(1)
		best := int32(-1)
		for e := x.start[i]; e < x.start[i+1]; e++ {
			if c := x.cost[e] - price[x.to[e]]; c < row[i] {
				row[i], best = c, e
			}
		}
		if best >= 0 && of[x.to[best]] < 0 {
			of[x.to[best]], matched[i], edge[i] = int32(i), x.to[best], best
		}
	}
	dist, from := make([]float64, n), make([]int32, n) // of columns in this search
	seen := make([]int32, n)
	var reached, h = []int32{}, heap{}
	for s := range n {
		if matched[s] >= 0 {
			continue
		}
		if s%64 == 0 && x.ctx.Err() != nil {
			x.err = context.Cause(x.ctx)
			return none
		}
		epoch := int32(s + 1)
		h.at, h.d = h.at[:0], h.d[:0]
		reached = reached[:0] // columns whose distance is final
		i, base, last := int32(s), 0.0, int32(-1)
		for {
			for e := x.start[i]; e < x.start[i+1]; e++ {
				j := x.to[e]
				d := base + math.Max(0, x.cost[e]-row[i]-price[j])
				if seen[j] != epoch || d < dist[j] {
					seen[j], dist[j], from[j] = epoch, d, e
					h.push(j, d)
				}
			}
			j, d, ok := h.pop(dist)
			if !ok {
				return none
			}
			if of[j] < 0 {
				last, base = j, d
				break
			}
			reached = append(reached, j)
			i, base = of[j], d
		}
		for _, j := range reached {
			if dist[j] < base {
				price[j] += dist[j] - base
				row[of[j]] += base - dist[j]
			}
		}
		row[s] += base
		for j := last; ; {
			e := from[j]
			i := x.source(e)
			of[j] = i
			j, matched[i], edge[i] = matched[i], j, e
			if i == int32(s) {
				break
			}
		}
	}
	r := result{sets: []int32{}}
	for i := range n {
		if g := x.set[edge[i]]; g >= 0 {
			r.sets = append(r.sets, x.p.name(g))
			r.value += x.p.score[g]
		}
	}
	r.bound = r.value
	return r
}

// source returns the row of an edge.
func (x *assignment) source(e int32) int32 {
	lo, hi := 0, x.n-1
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if x.start[mid+1] > e {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return int32(lo)
}

// heap is a binary heap of columns by distance; outdated entries are skipped.
type heap struct {
	at []int32
	d  []float64
}

func (h *heap) less(a, b int) bool {
	return h.d[a] < h.d[b] || h.d[a] == h.d[b] && h.at[a] < h.at[b]
}

func (h *heap) swap(a, b int) { h.at[a], h.at[b], h.d[a], h.d[b] = h.at[b], h.at[a], h.d[b], h.d[a] }

func (h *heap) push(j int32, d float64) {
	h.at, h.d = append(h.at, j), append(h.d, d)
	for i := len(h.d) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.less(i, up) {
			break
		}
		h.swap(i, up)
		i = up
	}
}

func (h *heap) pop(dist []float64) (j int32, d float64, ok bool) {
	for len(h.d) > 0 {
		j, d = h.at[0], h.d[0]
		last := len(h.d) - 1
		h.swap(0, last)
		h.at, h.d = h.at[:last], h.d[:last]
		for i := 0; ; {
			c := 2*i + 1
			if c+1 < last && h.less(c+1, c) {
				c++
			}
			if c >= last || !h.less(c, i) {
				break
			}
			h.swap(i, c)
			i = c
		}
		if d == dist[j] {
			return j, d, true
		}
	}
	return 0, 0, false
}
