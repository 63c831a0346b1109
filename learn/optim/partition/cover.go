package partition

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Cover is sets over the elements 0 … Elements()-1. It does not change and may be shared.
type Cover struct {
	start, member []int32 // of set h: member[start[h]:start[h+1]], ascending
	ofStart, of   []int32 // of element v: the sets that have it, ascending
}

// New makes a cover problem. Members of a set are distinct and below elements.
func New(elements int, sets [][]int32) (*Cover, error) {
	if elements < 0 || elements > math.MaxInt32/2 || len(sets) > math.MaxInt32/2 {
		return nil, fmt.Errorf("partition: %d elements and %d sets are not supported", elements, len(sets))
	}
	c := &Cover{start: make([]int32, 1, len(sets)+1)}
	for h, s := range sets {
		from := len(c.member)
		c.member = append(c.member, s...)
		mine := c.member[from:]
		slices.Sort(mine)
		for i, v := range mine {
			if v < 0 || int(v) >= elements || i > 0 && mine[i-1] == v {
				return nil, fmt.Errorf("partition: set %d: %v must have distinct members from 0 to %d", h, s, elements-1)
			}
		}
		if len(mine) == 0 || len(c.member) > math.MaxInt32 {
			return nil, fmt.Errorf("partition: set %d is empty, or there are too many members", h)
		}
		c.start = append(c.start, int32(len(c.member)))
	}
	c.ofStart, c.of = transpose(elements, c.start, c.member)
	return c, nil
}

// transpose returns which sets each element is in.
func transpose(elements int, start, member []int32) (ofStart, of []int32) {
	ofStart, of = make([]int32, elements+1), make([]int32, len(member))
	for _, v := range member {
		ofStart[v+1]++
	}
	for v := range elements {
		ofStart[v+1] += ofStart[v]
	}
	next := slices.Clone(ofStart)
	for h := range len(start) - 1 {
		for _, v := range member[start[h]:start[h+1]] {
			of[next[v]] = int32(h)
			next[v]++
		}
	}
	return ofStart, of
}

// Elements returns the number of elements.
func (c *Cover) Elements() int { return len(c.ofStart) - 1 }

// Sets returns the number of sets.
func (c *Cover) Sets() int { return len(c.start) - 1 }

// Members returns the elements of a set, ascending. They must not be changed.
func (c *Cover) Members(set int) []int32 { return c.member[c.start[set]:c.start[set+1]] }

// Of returns the sets that have an element, ascending. They must not be changed.
func (c *Cover) Of(element int) []int32 { return c.of[c.ofStart[element]:c.ofStart[element+1]] }

// Force forbids all sets that share an element with set h, by a score of -Inf: every cover then
// has h.
func (c *Cover) Force(score []float64, h int) {
	for _, v := range c.Members(h) {
		for _, g := range c.Of(int(v)) {
			if int(g) != h {
				score[g] = math.Inf(-1)
			}
		}
	}
}

// Components numbers the parts that share no element, with all sets allowed: of every element,
// by the least element of the part. An element of no set has a part of its own.
func (c *Cover) Components() []int32 {
	u := newUnion(c.Elements())
	for h := range c.Sets() {
		m := c.Members(h)
		for _, v := range m[1:] {
			u.join(m[0], v)
		}
	}
	out := make([]int32, c.Elements())
	for v := range out {
		out[v] = u.root(int32(v))
	}
	return out
}

// Options adjusts Solve; nil is the same as the zero value.
type Options struct {
	// Nodes is the most subproblems that branch and bound opens in a component, beyond which it gives
	// the best cover so far. One of many sets counts once more for every 500. Zero is 20000, some
	// seconds; negative is no limit.
	Nodes int
}

// Solution is a cover.
type Solution struct {
	Sets    []int   // ascending
	Value   float64 // the sum of their scores, in that order
	Bound   float64 // no cover has more; Value where Optimal
	Optimal bool
	Nodes   int // subproblems opened
}

// ErrInfeasible reports that no cover has every element exactly once.
var ErrInfeasible = errors.New("no exact cover exists")

// InfeasibleError names the first element for which no allowed set is left, -1 where the
// search had to find out.
type InfeasibleError struct{ Element int }

func (e *InfeasibleError) Error() string {
	if e.Element < 0 {
		return "partition: " + ErrInfeasible.Error()
	}
	return fmt.Sprintf("partition: %v: no allowed set is left for element %d", ErrInfeasible, e.Element)
}

// Unwrap returns ErrInfeasible.
func (e *InfeasibleError) Unwrap() error { return ErrInfeasible }

// ErrLimit reports that the limit of nodes was met before any cover was found.
var ErrLimit = errors.New("no exact cover was found within the limit of nodes")

// Solve returns the cover of largest score; a set of score -Inf is not allowed.
//
// Errors: scores of the wrong number, NaN or +Inf; an *InfeasibleError; ErrLimit; the context's.
// Cost: assignments O(n·m log n) for n elements and m sets. Other parts are exponential at worst,
// and in practice some hundred times the size of the structure.
func (c *Cover) Solve(ctx context.Context, score []float64, o *Options) (*Solution, error) {
	if len(score) != c.Sets() {
		return nil, fmt.Errorf("partition: %d scores for %d sets", len(score), c.Sets())
	}
	alive := make([]bool, len(score))
	most := 0.0
	for h, s := range score {
		if s != s || math.IsInf(s, 1) {
			return nil, fmt.Errorf("partition: the score of set %d is %v", h, s)
		}
		if alive[h] = !math.IsInf(s, -1); alive[h] {
			most = math.Max(most, math.Abs(s))
		}
	}
	limit := 20000
	if o != nil && o.Nodes != 0 {
		limit = o.Nodes
	}
	whole := &part{start: c.start, member: c.member, ofStart: c.ofStart, of: c.of, score: score}
	sv := &solver{ctx: ctx, tol: 1e-9 * most, limit: limit}
	chosen, pieces, dead := whole.split(alive)
	if dead >= 0 {
		return nil, &InfeasibleError{dead}
	}
	out := &Solution{Optimal: true}
	for _, h := range chosen {
		out.Sets = append(out.Sets, int(h))
		out.Bound += score[h]
	}
	for _, p := range pieces {
		sv.nodes = 0
		r := sv.solve(p, math.Inf(-1))
		out.Nodes += sv.nodes
		switch {
		case sv.err != nil:
			return nil, sv.err
		case r.sets == nil && math.IsInf(r.bound, -1):
			return nil, &InfeasibleError{-1}
		case r.sets == nil:
			return nil, fmt.Errorf("partition: after %d nodes: %w", sv.nodes, ErrLimit)
		}
		for _, h := range r.sets {
			out.Sets = append(out.Sets, int(h))
		}
		out.Bound += r.bound
		out.Optimal = out.Optimal && r.bound-r.value <= sv.tol*float64(p.elements())
	}
	slices.Sort(out.Sets)
	for _, h := range out.Sets {
		out.Value += score[h]
	}
	if out.Optimal || out.Bound < out.Value {
		out.Bound = out.Value
	}
	return out, nil
}

// Bound returns the Lagrangian bound for multipliers u, one for each element: no cover of the
// allowed sets has a larger score, for any u.
func (c *Cover) Bound(score, u []float64) float64 {
	b := 0.0
	for _, v := range u {
		b += v
	}
	for h, s := range score {
		for _, v := range c.Members(h) {
			s -= u[v]
		}
		b += math.Max(0, s)
	}
	return b
}

// union is disjoint sets, each with its least member as root.
type union []int32

func newUnion(n int) union {
	u := make(union, n)
	for i := range u {
		u[i] = int32(i)
	}
	return u
}

func (u union) root(v int32) int32 {
	for u[v] != v {
		u[v] = u[u[v]]
		v = u[v]
	}
	return v
}

func (u union) join(a, b int32) {
	a, b = u.root(a), u.root(b)
	if a < b {
		u[b] = a
	} else {
		u[a] = b
	}
}
