package layered

import "math/bits"

// constraint asks that at[head] - at[tail] >= length, and counts the difference
// weight times.
type constraint struct {
	tail, head     int32
	weight, length int
}

// simplex finds integers at[0] ... at[n-1] that meet constraints and make the sum of
// weight · (at[head] - at[tail]) least. Layers are such numbers, and so are coordinates.
//
// This is the network simplex method of E. Gansner, E. Koutsofios, S. North and K.-P. Vo,
// "A technique for drawing directed graphs", IEEE Transactions on Software Engineering
// 19(3), 1993: a spanning tree of tight constraints fixes all numbers; a tree edge whose
// removal would let the sum shrink is exchanged for the tightest one that keeps the rest
// feasible. The value of cutting an edge is a difference of what goes into and out of the
// part below it, where all within cancels, so that it is a sum over a subtree of what each vertex
// adds by itself; no value has to be carried along.
//
// The constraints must have no cycle and connect all vertices.
type simplex struct {
	n       int
	edges   []constraint
	inc     [][]int32 // the edges at each vertex
	at      []int
	balance []int // of each vertex: weights of edges out of it less those into it

	inTree   []bool
	tree     [][]int32 // tree edges at each vertex
	treeList []int32
	listPos  []int32 // of each edge in treeList

	parent   []int32 // the tree edge above each vertex, -1 at the root
	low, lim []int32 // postorder numbers: the subtree of v has those from low[v] to lim[v]
	order    []int32 // the vertex of each postorder number
	below    []int   // the sum of balance over the subtree
	cut      int     // where the search for an edge to leave goes on
	work     int
	most     int // work after which it stops
	clock    *clock
	told     int // of work, what the clock knows of
}

// maxWork bounds the steps of a simplex. Stopped by it, the numbers still meet
// all constraints. Where there are so many vertices that it is stopped anyway, it is stopped sooner.
// layerWork is for the layers of large graphs.
const maxWork, maxWorkMany, layerWork = 400_000_000, 40_000_000, 6_000_000

// solve returns the numbers, after about most steps at the latest. They mean nothing when the clock has ended.
func solve(clock *clock, n int, edges []constraint, balanced bool, most int) []int {
	s := &simplex{n: n, edges: edges, most: most, clock: clock}
	if n == 0 {
		return nil
	}
	s.tree = make([][]int32, n)
	s.balance, s.below = make([]int, n), make([]int, n)
	s.inTree, s.listPos = make([]bool, len(edges)), make([]int32, len(edges))
	s.parent, s.low, s.lim, s.order = make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	for _, e := range edges {
		s.balance[e.tail] += e.weight
		s.balance[e.head] -= e.weight
	}
	s.incidence()
	s.earliest()
	if clock.err != nil || !s.tighten() {
		return s.at
	}
	s.number(0, -1, 0)
	for s.work < s.most && s.tell() {
		e := s.leaving()
		if e < 0 {
			break
		}
		s.exchange(e, s.entering(e))
	}
	if balanced {
		s.centre()
	}
	least := s.at[0]
	for _, x := range s.at {
		least = min(least, x)
	}
	for i := range s.at {
		s.at[i] -= least
	}
	return s.at
}

// incidence finds the edges at each vertex.
func (s *simplex) incidence() {
	s.inc = make([][]int32, s.n)
	degree := make([]int, s.n)
	for _, e := range s.edges {
		degree[e.tail]++
		degree[e.head]++
	}
	all := make([]int32, 2*len(s.edges))
	for v, d := range degree {
		s.inc[v], all = all[:0:d], all[d:]
	}
	for i, e := range s.edges {
		s.inc[e.tail] = append(s.inc[e.tail], int32(i))
		s.inc[e.head] = append(s.inc[e.head], int32(i))
	}
	s.clock.spend(s.n + len(s.edges))
}

// tell has the clock know of the work, and reports whether to go on.
func (s *simplex) tell() bool {
	steps := s.work - s.told
	s.told = s.work
	return s.clock.spend(steps)
}

func (s *simplex) slack(e int32) int {
	c := &s.edges[e]
	return s.at[c.head] - s.at[c.tail] - c.length
}

// earliest gives each vertex the least number that its constraints allow.
func (s *simplex) earliest() {
	s.at = make([]int, s.n)
	open := make([]int32, s.n)
	for _, e := range s.edges {
		open[e.head]++
	}
	var ready []int32
	for v := range s.n {
		if open[v] == 0 {
			ready = append(ready, int32(v))
		}
	}
	for len(ready) > 0 {
		v := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		if !s.clock.spend(1 + len(s.inc[v])/2) {
			return
		}
		for _, i := range s.inc[v] {
			if e := &s.edges[i]; e.tail == v {
				s.at[e.head] = max(s.at[e.head], s.at[v]+e.length)
				if open[e.head]--; open[e.head] == 0 {
					ready = append(ready, e.head)
				}
			}
		}
	}
}

// tighten moves vertices until a spanning tree is tight. It grows the tree from vertex 0
// by the constraint of least slack, for which all of the tree moves at once: what it has
// moved is kept beside, so that each constraint is looked at once. It reports whether it came to its end.
func (s *simplex) tighten() bool {
	var out, in slackHeap // constraints from the tree outwards, and into it
	moved := 0
	done := make([]bool, s.n)
	base := make([]int, s.n) // at[v] is base[v] + moved once v is in the tree
	add := func(v int32) {
		s.clock.spend(1 + len(s.inc[v])*bits.Len(uint(len(out)+len(in)))) // what comes into the heaps is taken out
		done[v] = true
		base[v] = s.at[v] - moved
		for _, i := range s.inc[v] {
			e := &s.edges[i]
			switch {
			case e.tail == v && !done[e.head]:
				out.push(slackOf{s.at[e.head] - base[v] - e.length, i})
			case e.head == v && !done[e.tail]:
				in.push(slackOf{base[v] - s.at[e.tail] - e.length, i})
			}
		}
	}
	add(0)
	for s.clock.err == nil {
		for len(out) > 0 && done[s.edges[out[0].edge].head] {
			out.pop()
		}
		for len(in) > 0 && done[s.edges[in[0].edge].tail] {
			in.pop()
		}
		if len(out) == 0 && len(in) == 0 {
			break
		}
		var i int32
		// Moving up makes those outwards tighter and the others looser.
		if len(in) == 0 || len(out) > 0 && out[0].slack-moved <= in[0].slack+moved {
			i = out.pop().edge
			moved += s.at[s.edges[i].head] - base[s.edges[i].tail] - moved - s.edges[i].length
			s.addTree(i)
			add(s.edges[i].head)
		} else {
			i = in.pop().edge
			moved -= base[s.edges[i].head] + moved - s.at[s.edges[i].tail] - s.edges[i].length
			s.addTree(i)
			add(s.edges[i].tail)
		}
	}
	for v := range s.n {
		s.at[v] = base[v] + moved
	}
	return s.clock.err == nil
}

func (s *simplex) addTree(i int32) {
	e := &s.edges[i]
	s.inTree[i] = true
	s.listPos[i] = int32(len(s.treeList))
	s.treeList = append(s.treeList, i)
	s.tree[e.tail] = append(s.tree[e.tail], i)
	s.tree[e.head] = append(s.tree[e.head], i)
}

func remove(list []int32, x int32) []int32 {
	for i, y := range list {
		if y == x {
			list[i] = list[len(list)-1]
			return list[:len(list)-1]
		}
	}
	return list
}

func (s *simplex) other(e, v int32) int32 {
	if s.edges[e].tail == v {
		return s.edges[e].head
	}
	return s.edges[e].tail
}

// number gives the subtree of root, whose edge to above is parent, postorder numbers
// from low on, and sums its balances.
func (s *simplex) number(root, parent, low int32) {
	type frame struct{ v, i int32 }
	path := []frame{{root, 0}}
	s.parent[root], s.low[root], s.below[root] = parent, low, s.balance[root]
	next := low
	for len(path) > 0 {
		f := &path[len(path)-1]
		v := f.v
		if int(f.i) < len(s.tree[v]) {
			e := s.tree[v][f.i]
			f.i++
			if e != s.parent[v] {
				u := s.other(e, v)
				s.parent[u], s.low[u], s.below[u] = e, next, s.balance[u]
				path = append(path, frame{u, 0})
			}
			continue
		}
		s.lim[v], s.order[next] = next, v
		next++
		if path = path[:len(path)-1]; len(path) > 0 {
			s.below[path[len(path)-1].v] += s.below[v]
		}
	}
	s.work += int(next - low)
}

// child is the end of tree edge e that is further from the root.
func (s *simplex) child(e int32) int32 {
	if c := &s.edges[e]; s.parent[c.tail] == e {
		return c.tail
	} else {
		return c.head
	}
}

// value is by how much the sum grows when the part at the head of tree edge e
// moves up by one against the part at its tail.
func (s *simplex) value(e int32) int {
	v := s.child(e)
	if v == s.edges[e].tail {
		return s.below[v]
	}
	return -s.below[v]
}

// leaving returns a tree edge of negative value, -1 if there is none: the worst of
// the first few that it comes across.
func (s *simplex) leaving() int32 {
	best, worst, found := int32(-1), 0, 0
	for range s.treeList {
		if s.cut++; s.cut >= len(s.treeList) {
			s.cut = 0
		}
		s.work++
		e := s.treeList[s.cut]
		if v := s.value(e); v < 0 {
			if v < worst {
				best, worst = e, v
			}
			if found++; found == 30 {
				break
			}
		}
	}
	return best
}

// entering returns the constraint of least slack that leads from the part at the
// head of tree edge e to the one at its tail, -1 if there is none.
func (s *simplex) entering(e int32) int32 {
	v := s.child(e)
	outwards := v == s.edges[e].head // from the subtree, else into it
	best, least := int32(-1), 0
	for i := s.low[v]; i <= s.lim[v]; i++ {
		u := s.order[i]
		for _, j := range s.inc[u] {
			c := &s.edges[j]
			if s.inTree[j] || (c.tail == u) != outwards {
				continue
			}
			if w := s.lim[s.other(j, u)]; w >= s.low[v] && w <= s.lim[v] {
				continue
			}
			if x := s.slack(j); best < 0 || x < least {
				best, least = j, x
			}
		}
		s.work += 1 + len(s.inc[u])
	}
	return best
}

// shift moves the subtree of v.
func (s *simplex) shift(v int32, by int) {
	for i := s.low[v]; i <= s.lim[v]; i++ {
		s.at[s.order[i]] += by
	}
	s.work += int(s.lim[v] - s.low[v])
}

// exchange has tree edge e leave and f enter.
func (s *simplex) exchange(e, f int32) {
	v, by := s.child(e), s.slack(f)
	if v == s.edges[e].tail { // f leads into the subtree, which moves down to tighten it
		by = -by
	}
	s.shift(v, by)
	// The lowest vertex above both ends of f: only its subtree is numbered anew.
	top := s.edges[f].tail
	for w := s.lim[s.edges[f].head]; w < s.low[top] || w > s.lim[top]; {
		top = s.other(s.parent[top], top)
	}
	c := &s.edges[e]
	s.inTree[e] = false
	s.tree[c.tail], s.tree[c.head] = remove(s.tree[c.tail], e), remove(s.tree[c.head], e)
	s.inTree[f] = true
	s.treeList[s.listPos[e]], s.listPos[f] = f, s.listPos[e]
	s.tree[s.edges[f].tail] = append(s.tree[s.edges[f].tail], f)
	s.tree[s.edges[f].head] = append(s.tree[s.edges[f].head], f)
	s.number(top, s.parent[top], s.low[top])
}

// centre moves parts that may lie anywhere within a range, at the same sum, to its
// middle.
func (s *simplex) centre() {
	for i := range s.treeList {
		if s.work >= s.most || !s.tell() {
			return
		}
		e := s.treeList[i]
		if s.value(e) != 0 {
			continue
		}
		f := s.entering(e)
		if f < 0 || s.slack(f) <= 1 {
			continue
		}
		by := s.slack(f) / 2
		if v := s.child(e); v == s.edges[e].tail {
			s.shift(v, -by)
		} else {
			s.shift(v, by)
		}
	}
}

// slackHeap is a heap of constraints by their slack, then number.
type slackHeap []slackOf

type slackOf struct {
	slack int
	edge  int32
}

func (a slackOf) less(b slackOf) bool {
	return a.slack < b.slack || a.slack == b.slack && a.edge < b.edge
}

func (h *slackHeap) push(x slackOf) {
	*h = append(*h, x)
	a := *h
	for i := len(a) - 1; i > 0 && a[i].less(a[(i-1)/2]); i = (i - 1) / 2 {
		a[i], a[(i-1)/2] = a[(i-1)/2], a[i]
	}
}

func (h *slackHeap) pop() slackOf {
	a := *h
	top := a[0]
	a[0] = a[len(a)-1]
	a = a[:len(a)-1]
	*h = a
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(a) {
			return top
		}
		if c+1 < len(a) && a[c+1].less(a[c]) {
			c++
		}
		if !a[c].less(a[i]) {
			return top
		}
		a[i], a[c] = a[c], a[i]
		i = c
	}
}
