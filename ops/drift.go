package ops

import (
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/square"
	"github.com/tropica-fst/tropica/ops/internal/subsets"
	"github.com/tropica-fst/tropica/semiring"
)

// When a subset construction does not end, for costs where the least counts.
//
// Let a string y take a subset S to a subset of the same states, and let M be the square matrix of
// the least costs of y from each state of S to each. After yⁿ the residuals are those of v·Mⁿ,
// where v are those of S.
//
// A state q that lies on a cycle of M has a rate: the least mean cost of the cycles of M from which
// q is reached. The n-th cost of q is at least n times its rate, up to a constant, since what is on
// no cycle is no longer than S has states. On a cycle whose mean is the rate of its states, the
// cost of some state stays within a constant of that for all n. So if two such cycles have
// different means, the residuals after yⁿ diverge, and there are infinitely many subsets.
//
// This also holds for ambiguous machines, where a breach of the twins property proves nothing by
// itself. For transducers the costs are those of the inputs, whatever the outputs.
//
// Strings y are sought on the way to the subset in which residuals are farthest apart so far.

// leastCosts returns how weights are read as costs, nil where these are not numbers whose ⊕ is
// the least and ⊗ the sum.
func leastCosts[W semiring.Weight[W]]() func(W) float64 {
	var w W
	if _, ok := any(w).(semiring.Path[W]); !ok {
		return nil
	}
	cost, _, ok := costsOf[W]()
	if !ok {
		return nil
	}
	return cost
}

// longestDrift is how many labels the two cycles of a proof may have.
const longestDrift = 1 << 12

// drift looks for two cycles that prove that the construction does not end, with about so many
// steps.
func (m *subsetMachine[W, R, A]) drift(budget int64) *TwinsError {
	cost := leastCosts[W]()
	weigh, ok := any(m.alg).(interface{ sum(R) W })
	if cost == nil || !ok || m.related != nil || m.retained || m.fails != nil {
		return nil
	}
	spread := func(q fst.StateID) float64 {
		least, most := math.Inf(1), math.Inf(-1)
		for _, e := range m.table.Of(q) {
			if m.alg.isZero(e.Residual) {
				continue
			}
			c := cost(weigh.sum(e.Residual))
			least, most = min(least, c), max(most, c)
		}
		return most - least
	}
	farthest, apart := fst.NoState, 0.0
	for q := range fst.StateID(m.table.Len()) {
		if a := spread(q); a > apart {
			farthest, apart = q, a
		}
	}
	if farthest == fst.NoState {
		return nil
	}
	var way []fst.StateID // to the farthest, itself first
	for q := farthest; q != fst.NoState; q = m.table.Refs[q].Parent {
		way = append(way, q)
	}
	slices.Reverse(way)
	share := max(budget/16, 1<<12) // of one beginning: early ones make short evidence, but may be of subsets that never come again
	for i := 0; i < len(way)-1 && budget > 0; i++ {
		left := min(share, budget)
		budget -= left
		if b := m.driftFrom(way[i:], cost, &left); b != nil {
			return b
		}
		budget += max(left, 0)
	}
	return nil
}

// driftFrom tries the strings that lead from the first subset of way to others on it.
func (m *subsetMachine[W, R, A]) driftFrom(way []fst.StateID, cost func(W) float64, budget *int64) *TwinsError {
	from := m.table.Of(way[0])
	n := len(from)
	if n < 2 || int64(n)*int64(n) > *budget || slices.ContainsFunc(from,
		func(e subsets.Element[R]) bool { return m.alg.isZero(e.Residual) }) {
		return nil
	}
	costs := make([][]float64, n) // from each element to those of the subset that was come to
	for k := range costs {
		costs[k] = slices.Repeat([]float64{math.Inf(1)}, n)
		costs[k][k] = 0
	}
	for j := 1; j < len(way) && *budget > 0; j++ {
		before, after := m.table.Of(way[j-1]), m.table.Of(way[j])
		label := m.table.Refs[way[j]].Label
		next := make([][]float64, n)
		for k := range next {
			next[k] = slices.Repeat([]float64{math.Inf(1)}, len(after))
		}
		*budget -= int64(n) * int64(len(after))
		for c := range before {
			arcs := m.f.Arcs(before[c].State)
			*budget -= int64(len(arcs))
			for a := range arcs {
				e := &arcs[a]
				if e.ILabel != label || semiring.IsZero(e.Weight) {
					continue
				}
				to, ok := slices.BinarySearchFunc(after, e.NextState, func(x subsets.Element[R],
					q fst.StateID) int {
					return int(x.State) - int(q)
				})
				if !ok {
					continue
				}
				w := cost(e.Weight)
				*budget -= int64(n)
				for k := range costs {
					next[k][to] = min(next[k][to], costs[k][c]+w)
				}
			}
		}
		costs = next
		if slices.EqualFunc(from, after, func(x, y subsets.Element[R]) bool { return x.State == y.State }) {
			*budget -= int64(n) * int64(n) * int64(n)
			if *budget < 0 {
				return nil
			}
			left, right, ok := driftingCycles(costs, func(k int) bool {
				return m.guard.pruned == nil ||
					m.guard.pruned(way[0], from[k].State)
			})
			if ok {
				if b := m.driftEvidence(way[:j+1], left, right, cost); b != nil {
					return b
				}
			}
		}
	}
	return nil
}

// driftEvidence makes the error for two cycles if their costs differ by more than rounding. The
// cycles are of elements of the first subset of way, which its string leads to one another.
func (m *subsetMachine[W, R, A]) driftEvidence(way []fst.StateID, left, right []int, cost func(W) float64) *TwinsError {
	length := len(left) / gcd(len(left), len(right)) * len(right)
	if length*(len(way)-1) > longestDrift {
		return nil
	}
	side := func(cycle []int) (access, round []int32, passed []*fst.Arc[W], total float64) {
		_, access = m.trace(way[0], m.table.Of(way[0])[cycle[0]].State)
		for k := range length {
			arcs, along := m.cheapest(way, cycle[k%len(cycle)], cycle[(k+1)%len(cycle)], cost)
			round, passed = append(round, arcs...), append(passed, along...)
		}
		for _, e := range passed {
			total += cost(e.Weight)
		}
		return access, round, passed, total
	}
	la, lr, lp, lc := side(left)
	ra, rr, rp, rc := side(right)
	if m.guard.pruned != nil && lc != 0 {
		return nil // sooner or later this is pruned
	}
	if !driftsApart(lc, rc, len(lr), m.guard.delta) {
		return nil
	}
	e := &TwinsError{Op: m.op, Cycle: len(la), Exact: true, States: m.table.Len()}
	e.Left, e.Right = pathOf(m.f, m.f.Start(), append(la, lr...)), pathOf(m.f, m.f.Start(), append(ra, rr...))
	e.LeftFactor, e.RightFactor = m.guard.factor(lp, e.Left.osyms), m.guard.factor(rp, e.Right.osyms)
	live := square.Coaccessible(m.guard.f)
	e.Dead = !live[e.Left.States[e.Cycle]] || !live[e.Right.States[e.Cycle]]
	return e
}

// driftsApart reports whether the costs of two cycles of the given number of labels differ by more
// than rounding. That is the rounding of weights, and of residuals to multiples of delta.
func driftsApart(left, right float64, labels int, delta float64) bool {
	const rounding = 1e-4 // as unlikeRounding has it
	d := math.Abs(left - right)
	return d > rounding && d > delta*float64(labels)
}

// cheapest returns the arcs of a path of least cost along the labels of way, from an element of its
// first subset to one of its last.
func (m *subsetMachine[W, R, A]) cheapest(way []fst.StateID, from, to int, cost func(W) float64) (numbers []int32, arcs []*fst.Arc[W]) {
	type step struct {
		cost float64
		from int // element of the subset before
		arc  int32
	}
	none := step{cost: math.Inf(1)}
	best := [][]step{slices.Repeat([]step{none}, len(m.table.Of(way[0])))}
	best[0][from].cost = 0
	for j := 1; j < len(way); j++ {
		before, after := m.table.Of(way[j-1]), m.table.Of(way[j])
		now := slices.Repeat([]step{none}, len(after))
		for c := range before {
			if math.IsInf(best[j-1][c].cost, 1) {
				continue
			}
			for a, e := range m.f.Arcs(before[c].State) {
				if e.ILabel != m.table.Refs[way[j]].Label || semiring.IsZero(e.Weight) {
					continue
				}
				k, ok := slices.BinarySearchFunc(after, e.NextState, func(x subsets.Element[R],
					q fst.StateID) int {
					return int(x.State) - int(q)
				})
				if w := best[j-1][c].cost + cost(e.Weight); ok && w < now[k].cost {
					now[k] = step{w, c, int32(a)}
				}
			}
		}
		best = append(best, now)
	}
	for j, at := len(way)-1, to; j > 0; j-- {
		s := best[j][at]
		at = s.from
		numbers = append(numbers, s.arc)
		arcs = append(arcs, &m.f.Arcs(m.table.Of(way[j-1])[at].State)[s.arc])
	}
	slices.Reverse(numbers)
	slices.Reverse(arcs)
	return numbers, arcs
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// driftingCycles returns two cycles of the matrix whose means are the rates of their states and
// differ. The first is one of the least mean that begins with an element that keep accepts. ok is
// false if there are none.
func driftingCycles(costs [][]float64, keep func(int) bool) (left, right []int, ok bool) {
	n := len(costs)
	reach := make([][]bool, n)
	for i := range reach {
		reach[i] = make([]bool, n)
		for j := range reach[i] {
			reach[i][j] = !math.IsInf(costs[i][j], 1)
		}
	}
	for k := range n {
		for i := range n {
			if reach[i][k] {
				for j := range n {
					reach[i][j] = reach[i][j] || reach[k][j]
				}
			}
		}
	}
	type component struct {
		members []int
		mean    float64
		cycle   []int
	}
	var all []component
	done := make([]bool, n)
	for i := range n {
		if done[i] || !reach[i][i] {
			continue
		}
		var c component
		for j := range n {
			if reach[i][j] && reach[j][i] {
				done[j] = true
				c.members = append(c.members, j)
			}
		}
		c.mean, c.cycle = leastMeanCycle(costs, c.members)
		all = append(all, c)
	}
	if len(all) < 2 {
		return nil, nil, false
	}
	least, most := -1, -1
	for k, c := range all {
		own := true // its mean is the rate of its states
		for _, d := range all {
			own = own && (!reach[d.members[0]][c.members[0]] || d.mean >= c.mean)
		}
		if own && c.cycle != nil && (least < 0 || c.mean < all[least].mean) && keep(c.cycle[0]) {
			least = k
		}
		if own && c.cycle != nil && (most < 0 || c.mean > all[most].mean) {
			most = k
		}
	}
	if least < 0 || most < 0 || !(all[least].mean < all[most].mean) {
		return nil, nil, false
	}
	return all[least].cycle, all[most].cycle, true
}

// leastMeanCycle returns the least mean cost of the cycles within a strongly connected component,
// and a cycle that has it: nil where rounding hides it. O(n³).
//
// After R. Karp, "A characterization of the minimum cycle mean in a digraph", Discrete Mathematics
// 23(3):309-311, 1978.
func leastMeanCycle(costs [][]float64, members []int) (mean float64, cycle []int) {
	n := len(members)
	inf := math.Inf(1)
	d, by := make([][]float64, n+1), make([][]int, n+1) // of walks of k steps from the first member
	for k := range d {
		d[k], by[k] = slices.Repeat([]float64{inf}, n), make([]int, n)
	}
	d[0][0] = 0
	for k := 1; k <= n; k++ {
		for u, p := range members {
			if d[k-1][u] == inf {
				continue
			}
			for v, q := range members {
				if c := d[k-1][u] + costs[p][q]; c < d[k][v] {
					d[k][v], by[k][v] = c, u
				}
			}
		}
	}
	mean = inf
	at := -1
	for v := range members {
		if d[n][v] == inf {
			continue
		}
		worst := math.Inf(-1)
		for k := range n {
			if d[k][v] < inf {
				worst = max(worst, (d[n][v]-d[k][v])/float64(n-k))
			}
		}
		if worst < mean {
			mean, at = worst, v
		}
	}
	if at < 0 {
		return mean, nil
	}
	// The walk of n steps to it goes round cycles of that mean.
	walk := make([]int, n+1)
	for k, v := n, at; k >= 0; k-- {
		walk[k] = v
		v = by[k][v]
	}
	best := inf
	seen := make(map[int]int)
	var open []int
	for _, v := range walk {
		if i, ok := seen[v]; ok {
			round := open[i:]
			total := 0.0
			for k, u := range round {
				total += costs[members[u]][members[round[(k+1)%len(round)]]]
				if k > 0 {
					delete(seen, u)
				}
			}
			if m := total / float64(len(round)); m < best {
				best, cycle = m, cycle[:0]
				for _, u := range round {
					cycle = append(cycle, members[u])
				}
			}
			open = open[:i+1]
			continue
		}
		seen[v] = len(open)
		open = append(open, v)
	}
	if !(best <= mean+1e-9*(1+math.Abs(mean))) {
		return mean, nil
	}
	return mean, cycle
}
