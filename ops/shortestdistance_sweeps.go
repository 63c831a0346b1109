package ops

import (
	"math"
	"slices"
)

// Sums over the cycles of components that are too large for elimination.

// orderAfter is how many sweeps go over the states in the order of their numbers, before arcs decide it. Sparse random
// components have mostly settled by then.
const orderAfter = 64

// sweepLinear solves x = b + x·A for non-negative A, with b given in x, by sweeps over the states, loops summed
// exactly, until a sweep changes nothing that float64 shows. Sums of non-negative numbers only grow from sweep to
// sweep, so there is an end: at a fixed point, at an overflow, or at the bound on visits, where an answer within
// Delta is taken if it is certain that there is one.
func sweepLinear(arcs []innerArc[float64], x []float64, o *ShortestDistanceOptions) int {
	most := max(1, o.maxVisits(len(x))/int64(len(x)))
	b := slices.Clone(x)
	bad, left := sweepInOrder(arcs, b, x, min(orderAfter, most), o)
	if left == 0 {
		return bad
	}
	if most <= orderAfter {
		return settledWithin(bad, left, o)
	}
	// Against the arcs a sweep carries a sum over one of them, along them round a cycle.
	place := alongArcs(arcs, len(x))
	for i := range arcs {
		e := &arcs[i]
		e.from, e.to = place[e.from], place[e.to]
	}
	c, y := make([]float64, len(x)), make([]float64, len(x))
	for q, p := range place {
		c[p] = b[q]
	}
	if bad, left = sweepInOrder(arcs, c, y, most, o); left > 0 {
		bad = settledWithin(bad, left, o)
	}
	for q, p := range place {
		x[q] = y[p]
	}
	if bad >= 0 {
		bad = slices.Index(place, int32(bad))
	}
	return bad
}

// settledWithin is what comes of sweeps that have not come to their end: an answer if it is near enough, else the state
// that has changed most.
func settledWithin(worst int, left float64, o *ShortestDistanceOptions) int {
	if left <= o.delta(false) {
		return solved
	}
	return worst
}

// sweepInOrder sweeps at most so many times, from x = 0 on. It returns solved, or why there is no answer, with
// left = 0; or else the state that has changed most, and by how much of itself, infinitely if there may be no sum.
//
// Where the sum diverges, what sweeps add never fades: weighed by the states' parts in a left eigenvector each sweep
// adds as much as the one before, so that what the k-th adds is 1/k of all so far, or more, at some state. Only
// less than that is proof of a sum, however large Delta: round a cycle that sums to just 1 the change is 1/k.
func sweepInOrder(arcs []innerArc[float64], b, x []float64, most int64, o *ShortestDistanceOptions) (bad int, left float64) {
	n := len(x)
	loop := make([]float64, n)
	first := make([]int32, n+2) // arcs into each state
	for _, e := range arcs {
		if e.from == e.to {
			loop[e.to] += e.w
		} else {
			first[e.to+2]++
		}
	}
	for q := range n {
		if !(loop[q] < 1) {
			return q, 0
		}
		first[q+2] += first[q+1]
	}
	from, ws := make([]int32, len(arcs)), make([]float64, len(arcs))
	for _, e := range arcs {
		if e.from != e.to {
			k := first[e.to+1]
			from[k], ws[k] = e.from, e.w
			first[e.to+1]++
		}
	}
	clear(x)
	const settled = 1e-15
	for sweeps := int64(1); ; sweeps++ {
		if o.Ctx != nil && o.Ctx.Err() != nil {
			return interrupted, 0
		}
		change, worst := 0.0, 0
		for q := range n {
			sum := b[q]
			for k := first[q]; k < first[q+1]; k++ {
				sum += x[from[k]] * ws[k]
			}
			sum /= 1 - loop[q]
			if c := (sum - x[q]) / sum; c > change {
				change, worst = c, q
			}
			x[q] = sum
			if !(sum <= math.MaxFloat64) {
				return q, 0
			}
		}
		if change <= settled {
			return solved, 0
		}
		if sweeps >= most {
			if change*float64(sweeps) >= 0.5 {
				change = math.Inf(1)
			}
			return worst, change
		}
	}
}

// alongArcs numbers states so that each but the first has an arc from a lower one, where it can: in the reverse of
// the order in which a depth-first search leaves them, so that only arcs back to where it has come from go down.
func alongArcs(arcs []innerArc[float64], n int) []int32 {
	first := make([]int32, n+2)
	for _, e := range arcs {
		first[e.from+2]++
	}
	for q := range n {
		first[q+2] += first[q+1]
	}
	to := make([]int32, len(arcs))
	for _, e := range arcs {
		to[first[e.from+1]] = e.to
		first[e.from+1]++
	}
	next := slices.Clone(first[:n])
	place, seen := make([]int32, n), make([]bool, n)
	number := int32(n)
	var path []int32
	for root := range int32(n) {
		if seen[root] {
			continue
		}
		seen[root] = true
		for path = append(path, root); len(path) > 0; {
			q := path[len(path)-1]
			if next[q] == first[q+1] {
				number--
				place[q] = number
				path = path[:len(path)-1]
				continue
			}
			if t := to[next[q]]; !seen[t] {
				seen[t] = true
				path = append(path, t)
			}
			next[q]++
		}
	}
	return place
}
