package structured

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/tropica-fst/tropica/learn/run"
)

// arcs is a graph whose arc i→j of weight w[i·m+j] says that i should be above j. Of a pair of
// vertices one arc at most has a weight.
type arcs struct {
	m int
	w []float64
}

// newArcs makes the arcs of pairwise costs: those of i above j beyond those of j above i.
func newArcs(pairs []float64, m int) *arcs {
	g := &arcs{m, make([]float64, m*m)}
	for i := range m {
		for j := range m {
			g.w[i*m+j] = math.Max(pairs[i*m+j]-pairs[j*m+i], 0)
		}
	}
	return g
}

// cost is the weight of the arcs that lead upwards in an order of some vertices.
func (g *arcs) cost(order []int) float64 {
	c := 0.0
	for a, i := range order {
		for _, j := range order[a+1:] {
			c += g.w[j*g.m+i]
		}
	}
	return c
}

// solve returns an order of all vertices, top first, a lower bound on the cost of any, and the
// sweeps of sifting. Components are solved one by one: arcs between them can all lead
// downwards.
func (g *arcs) solve(ctx context.Context, method FAS) (order []int, bound float64, sweeps int, err error) {
	for _, part := range g.components() {
		if ctx.Err() != nil {
			return nil, 0, 0, &run.InterruptedError{Name: "structured", Err: context.Cause(ctx)}
		}
		if len(part) > 1 {
			if method == FASExact && len(part) <= exactItems {
				part = g.exact(part)
				bound += g.cost(part)
			} else {
				bound += g.cycles(part)
				part = g.heuristic(part)
				if method != FASHeuristic {
					n, err := g.sift(ctx, part)
					if err != nil {
						return nil, 0, 0, err
					}
					sweeps = max(sweeps, n)
				}
			}
		}
		order = append(order, part...)
	}
	return order, bound, sweeps, nil
}

// components returns the strongly connected components, each in ascending order, such that
// arcs between them lead from earlier to later ones. Tarjan's algorithm without recursion.
func (g *arcs) components() [][]int {
	m := g.m
	index, low, next := make([]int, m), make([]int, m), make([]int, m)
	on := make([]bool, m)
	var stack, path []int
	var out [][]int
	count := 0
	visit := func(v int) {
		count++
		index[v], low[v], on[v] = count, count, true
		stack, path = append(stack, v), append(path, v)
	}
	for root := range m {
		if index[root] != 0 {
			continue
		}
		visit(root)
		for len(path) > 0 {
			v := path[len(path)-1]
			down := false
			for ; next[v] < m; next[v]++ {
				u := next[v]
				if g.w[v*m+u] == 0 {
					continue
				}
				if index[u] == 0 {
					visit(u)
					down = true
					break
				}
				if on[u] {
					low[v] = min(low[v], index[u])
				}
			}
			if down {
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				p := path[len(path)-1]
				low[p] = min(low[p], low[v])
			}
			if low[v] == index[v] {
				at := slices.Index(stack, v)
				part := slices.Clone(stack[at:])
				stack = stack[:at]
				for _, u := range part {
					on[u] = false
				}
				slices.Sort(part)
				out = append(out, part)
			}
		}
	}
	slices.Reverse(out)
	return out
}

// heuristic is the algorithm of P. Eades, X. Lin and W. Smyth, "A fast and effective heuristic
// for the feedback arc set problem", Information Processing Letters 47:319-323, 1993, with
// weights. Of equal vertices the smallest is taken. The cost is at most half of all arcs.
// O(vertices²).
func (g *arcs) heuristic(of []int) []int {
	m := g.m
	// Arcs are counted too: sums of weights that were subtracted again are not quite zero.
	out, in := make([]int, m), make([]int, m)
	excess := make([]float64, m) // weight of arcs that leave less of those that enter
	for _, i := range of {
		for _, j := range of {
			if w := g.w[i*m+j]; w != 0 {
				out[i]++
				in[j]++
				excess[i] += w
				excess[j] -= w
			}
		}
	}
	rest := slices.Clone(of)
	left, right := make([]int, 0, len(of)), []int{}
	for len(rest) > 0 {
		at, sink := 0, false
		if k := slices.IndexFunc(rest, func(i int) bool { return out[i] == 0 }); k >= 0 {
			at, sink = k, true
		} else if k := slices.IndexFunc(rest, func(i int) bool { return in[i] == 0 }); k >= 0 {
			at = k
		} else {
			for k, i := range rest {
				if excess[i] > excess[rest[at]] {
					at = k
				}
			}
		}
		u := rest[at]
		rest = slices.Delete(rest, at, at+1)
		if sink {
			right = append(right, u)
		} else {
			left = append(left, u)
		}
		for _, v := range rest {
			if w := g.w[u*m+v]; w != 0 {
				in[v]--
				excess[v] += w
			}
			if w := g.w[v*m+u]; w != 0 {
				out[v]--
				excess[v] -= w
			}
		}
	}
	slices.Reverse(right)
	return append(left, right...)
}

// sift moves each vertex to its best place, until none moves, and returns the sweeps. The cost
// falls with each move. O(vertices²) a sweep.
func (g *arcs) sift(ctx context.Context, order []int) (sweeps int, err error) {
	m := g.m
	items := slices.Sorted(slices.Values(order))
	for moved := true; moved; sweeps++ {
		if ctx.Err() != nil {
			return sweeps, &run.InterruptedError{Name: "structured", Steps: sweeps, Err: context.Cause(ctx)}
		}
		moved = false
		for _, u := range items {
			at := slices.Index(order, u)
			best, to, scale := 0.0, at, 0.0
			for c, p := 0.0, at-1; p >= 0; p-- {
				up, down := g.w[order[p]*m+u], g.w[u*m+order[p]]
				c += up - down
				scale += up + down
				if c < best-1e-12*scale {
					best, to = c, p
				}
			}
			for c, p := 0.0, at+1; p < len(order); p++ {
				up, down := g.w[order[p]*m+u], g.w[u*m+order[p]]
				c += down - up
				scale += up + down
				if c < best-1e-12*scale {
					best, to = c, p
				}
			}
			if to != at {
				moved = true
				if to < at {
					copy(order[to+1:at+1], order[to:at])
				} else {
					copy(order[at:to], order[at+1:to+1])
				}
				order[to] = u
			}
		}
	}
	return sweeps, nil
}

// exact orders up to exactItems vertices at the least cost. d[S] is the least cost of an order that
// begins with the set S: the least over u of d[S-u] plus the arcs from u up to S-u. O(2^vertices ·
// vertices) time, 8·2^vertices bytes.
func (g *arcs) exact(of []int) []int {
	k := len(of)
	half := k / 2
	// up[u][h][s] is the weight of arcs from u to the set s of half h.
	up := make([][2][]float64, k)
	for u := range k {
		for h, size := range [2]int{half, k - half} {
			sums := make([]float64, 1<<size)
			for s := 1; s < len(sums); s++ {
				v := bits.TrailingZeros(uint(s))
				sums[s] = sums[s&(s-1)] + g.w[of[u]*g.m+of[h*half+v]]
			}
			up[u][h] = sums
		}
	}
	d, last := make([]float64, 1<<k), make([]uint8, 1<<k)
	for s := 1; s < len(d); s++ {
		best := math.Inf(1)
		for left := s; left != 0; left &= left - 1 {
			u := bits.TrailingZeros(uint(left))
			p := s &^ (1 << u)
			if c := d[p] + up[u][0][p&(1<<half-1)] + up[u][1][p>>half]; c < best {
				best, last[s] = c, uint8(u)
			}
		}
		d[s] = best
	}
	out := make([]int, k)
	for s, p := len(d)-1, k-1; s != 0; p-- {
		u := last[s]
		out[p] = of[u]
		s &^= 1 << u
	}
	return out
}

// cycleItems bounds the vertices among which cycles are looked for, in time vertices³.
const cycleItems = 300

// cycles is a lower bound on the cost of any order, as every order breaks every cycle. It takes
// cycles of three arcs apart, each with as much weight as its arcs have left.
func (g *arcs) cycles(of []int) float64 {
	if len(of) > cycleItems {
		return 0
	}
	k := len(of)
	w := make([]float64, k*k)
	for a, i := range of {
		for b, j := range of {
			w[a*k+b] = g.w[i*g.m+j]
		}
	}
	bound := 0.0
	for a := range k {
		for b := range k {
			if w[a*k+b] == 0 {
				continue
			}
			for c := range k {
				if t := min(w[a*k+b], w[b*k+c], w[c*k+a]); t > 0 {
					w[a*k+b] -= t
					w[b*k+c] -= t
					w[c*k+a] -= t
					bound += t
				}
			}
		}
	}
	return bound
}
