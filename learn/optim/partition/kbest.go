package partition

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
)

// KBest returns the k covers of largest score, best first, no two of them the same; fewer where
// there are no more. A cover that could not be proved to be the next best has Optimal false, and
// so have all after it.
//
// Ranking is by components: that of each is by Lawler's and Murty's subdivision, and lists are
// then merged. Subproblems are solved when their bound makes them next, so that most are
// not. Errors are those of Solve.
func (c *Cover) KBest(ctx context.Context, score []float64, k int, o *Options) ([]*Solution, error) {
	first, err := c.Solve(ctx, score, o)
	if err != nil || k <= 1 {
		return []*Solution{first}[:min(max(k, 0), 1)], err
	}
	all := []*Solution{{Optimal: true}}
	for _, q := range c.independent(score) {
		var own []int32
		for _, h := range first.Sets {
			if _, ok := slices.BinarySearch(q.sets, int32(h)); ok {
				own = append(own, int32(h))
			}
		}
		list, err := q.kbest(ctx, score, own, first.Optimal, k, o)
		if err != nil {
			return nil, err
		}
		all = merge(all, list, k)
	}
	for _, s := range all {
		slices.Sort(s.Sets)
		s.Value = 0
		for _, h := range s.Sets {
			s.Value += score[h]
		}
		s.Bound = math.Max(s.Bound, s.Value)
		if s.Optimal {
			s.Bound = s.Value
		}
	}
	return all, nil
}

// merge returns the k best sums of one of each list; both are best first.
func merge(a, b []*Solution, k int) []*Solution {
	var out []*Solution
	for i, x := range a {
		for j, y := range b {
			if (i+1)*(j+1) > k {
				break // enough covers are at least as good
			}
			out = append(out, &Solution{Sets: slices.Concat(x.Sets, y.Sets), Value: x.Value + y.Value,
				Bound: x.Bound + y.Bound, Optimal: x.Optimal && y.Optimal, Nodes: x.Nodes + y.Nodes})
		}
	}
	slices.SortStableFunc(out, func(x, y *Solution) int { return cmp.Compare(y.Value, x.Value) })
	return out[:min(k, len(out))]
}

// component is allowed sets that share elements with one another only.
type component struct {
	cover *Cover  // of its elements and sets alone
	sets  []int32 // their names in the whole
}

// independent returns the components of the allowed sets.
func (c *Cover) independent(score []float64) []*component {
	alive := make([]bool, len(score))
	for h, s := range score {
		alive[h] = !math.IsInf(s, -1)
	}
	whole := &part{start: c.start, member: c.member, ofStart: c.ofStart, of: c.of, score: score}
	var out []*component
	for _, p := range whole.pieces(alive, make([]int32, c.Elements())) {
		out = append(out, &component{&Cover{p.start, p.member, p.ofStart, p.of}, p.id})
	}
	return out
}

// node is the covers that its scores allow.
type node struct {
	score    []float64
	bound    float64   // of all of them
	solution *Solution // nil until it is solved
	order    int       // of making, for ties
}

// kbest ranks the covers of a component. best is the first, in names of the whole.
func (q *component) kbest(ctx context.Context, score []float64, best []int32, optimal bool, k int,
	o *Options) ([]*Solution, error) {
	c := q.cover
	local := make([]float64, len(q.sets))
	place := map[int32]int{}
	for i, h := range q.sets {
		local[i], place[h] = score[h], i
	}
	first := &Solution{Optimal: optimal}
	for _, h := range best {
		first.Sets = append(first.Sets, place[h])
		first.Value += score[h]
	}
	if first.Bound = first.Value; !optimal {
		s, err := c.Solve(ctx, local, o)
		if err != nil {
			return nil, err
		}
		first = s
	}
	known := make([]int32, len(first.Sets))
	for i, h := range first.Sets {
		known[i] = int32(h)
	}
	r := newDual(&part{start: c.start, member: c.member, ofStart: c.ofStart, of: c.of,
		score: local, cover: known})
	r.improve(ctx, 1, 0, first.Value)
	queue := []*node{{score: local, bound: first.Bound, solution: first}}
	made, nodes := 1, 0
	var out []*Solution
	for len(queue) > 0 && len(out) < k {
		at := 0
		for i, x := range queue {
			if y := queue[at]; x.bound > y.bound || x.bound == y.bound &&
				(x.solution != nil && y.solution == nil || (x.solution == nil) == (y.solution == nil) &&
					x.order < y.order) {
				at = i
			}
		}
		x := queue[at]
		if x.solution == nil {
			s, err := c.Solve(ctx, x.score, o)
			if errors.Is(err, ErrInfeasible) {
				queue = slices.Delete(queue, at, at+1)
				continue
			}
			if err != nil {
				return nil, err
			}
			x.solution, x.bound = s, math.Min(x.bound, s.Bound)
			nodes += s.Nodes
			if s.Optimal || x.bound < s.Value {
				x.bound = s.Value
			}
			continue
		}
		queue = slices.Delete(queue, at, at+1)
		s := x.solution
		here := *s
		here.Nodes, nodes = nodes, 0
		if len(out) > 0 {
			here.Optimal = here.Optimal && out[len(out)-1].Optimal
		}
		here.Sets = make([]int, len(s.Sets))
		for i, h := range s.Sets {
			here.Sets[i] = int(q.sets[h])
		}
		out = append(out, &here)
		// Those after s: the first j sets of it, and not the next. Sets that the node has fixed
		// come first.
		forced := slices.Clone(x.score)
		for _, h := range s.Sets {
			others := 0
			for _, v := range c.Members(h) {
				for _, g := range c.Of(int(v)) {
					if int(g) != h && !math.IsInf(forced[g], -1) {
						others++
					}
				}
			}
			if others == 0 {
				continue // every cover of the node has it
			}
			child := &node{score: slices.Clone(forced), order: made}
			made++
			child.score[h] = math.Inf(-1)
			child.bound = math.Min(math.Max(s.Value, x.bound), r.bound-math.Max(0, r.r[h]))
			queue = append(queue, child)
			c.Force(forced, h)
		}
	}
	return out, nil
}
