package losses

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// Clamping for every tropical transducer
//
// The general path ends in an acceptor A of strings, acyclic and without ε, in which a string has a path
// for every alignment. Determinization follows all paths of a string at once: its states are
// subsets of pairs (q, r), a state of A and what the best path to q costs beyond the best path to the subset. Let
// d_q(w) be the least cost of reading w from q to an end of A, +Inf where there is none.
// The loss of what comes after a subset is
//
//	min over (q, r) of r + d_q(w).
//
// For states q and q' let, with ρ the final weights and +Inf where an inner minimum has no arc,
//
//	D(q, q') = max( ρ(q') - ρ(q),  max over arcs (q, a, c, p) of min over arcs (q', a, c', p') of c' - c + D(p, p') )
//
// where the first term counts if q is final, and an empty maximum is -Inf.
//
// Theorem. d_q'(w) - d_q(w) ≤ D(q, q') for every w that can be read from q.
//
// Proof, by the length of w. For the empty w it is the first term. Let the best path of q for
// w = a w' begin with the arc (q, a, c, p), so that d_q(w) = c + d_p(w'). For every arc (q', a, c', p'),
// d_q'(w) ≤ c' + d_p'(w'). So d_q'(w) - d_q(w) ≤ min over p' of c' - c + d_p'(w') - d_p(w'), and that
// is at most min over p' of c' - c + D(p, p'), a term of the maximum. ∎
//
// Clamp. Where a subset has (q, r) and (q', r') with r' + D(q, q') ≤ r, for every w
// r' + d_q'(w) ≤ r' + D(q, q') + d_q(w) ≤ r + d_q(w): (q, r) never gives the minimum alone, and is
// dropped. Pairs are dropped one at a time, each against one that is still there, so the minimum
// is the same after each. Subsets that differ in dropped pairs alone become one state.
//
// Equivalent states. Where D(q, q') = -D(q', q), d_q' - d_q is D(q, q') for all w: the states differ by a constant.
// An arc to one of them then leads to the cheapest of them, and its cost takes the constant.
//
// D satisfies the triangle inequality, by the same induction: take the best p' for p, then the best p″ for p'.
// So domination is transitive. Two pairs dominate each other only if their states are equivalent, and of
// those there is one. So what is left of a subset is what is left after clamping at its end alone, and
// there are no more states than without a clamp. Off a grid, where that cost is not exact, the arc stays, and so
// may some states.
//
// The same clamps arcs: where (q, a, c, p) and (q, a, c', p') have c' + D(p, p') ≤ c, the
// first is left out of A, as d_q stays. Of an edit loss, whose ε-removal leads from a position to
// all later ones, that leaves two or three arcs a label.
//
// Rounding. addUp rounds towards +Inf what is not exact, so D is a bound also where
// costs have no common grid; on a grid nothing rounds.
//
// Only pairs that one string leads to are in one subset. Classes of states that strings lead
// to together come first; D is a matrix for each class, made from the end backwards, in
// O(k² arcs²) for a class of k states whose states have so many arcs a label. A class that
// one string alone leads to has one subset, and no matrix. Where matrices would take more than a
// share of the budget, the others are left out: D(q, q') = +Inf is always right.
//
// The clamp of columnBuilder is this with the worst and the best of d_q' and d_q apart, in place of
// their greatest difference.

// clampClass is a set of states of the acceptor, closed under what one string leads to.
type clampClass struct {
	states  []fst.StateID // in order; the rest numbers states by their place in it
	labels  []clampLabel  // by label
	groups  []clampGroup
	several bool      // more than one string may lead here
	d       []float64 // D(i, j) at i·len(states)+j; nil where nothing is known

	same []clampArc // by state, with d: the cheapest equivalent one, and the cost from here to there
}

// clampLabel is a label with its group: labels of one group do the same in every state of a class.
type clampLabel struct {
	label fst.Label
	group int32
}

// clampGroup has the arcs of one label: those of state i are arcs[ends[i]:ends[i+1]].
type clampGroup struct {
	next int32 // the class they lead to
	ends []int32
	arcs []clampArc
}

type clampArc struct {
	to   int32 // in the class next
	cost float64
}

func (g *clampGroup) of(i int) []clampArc { return g.arcs[g.ends[i]:g.ends[i+1]] }

// clampedAcceptor is an acyclic acceptor by classes, which are in topological order, the start's first.
type clampedAcceptor struct {
	classes []clampClass
	final   [][]float64 // by class and state
	bytes   int64       // of all that, as estimated
}

// addUp returns a+b, rounded towards +Inf where it is not exact.
func addUp(a, b float64) float64 {
	s := a + b
	v := s - a
	if e := (a - (s - v)) + (b - v); e > 0 { // Knuth's TwoSum; NaN where s is infinite
		return math.Nextafter(s, math.Inf(1))
	}
	if math.IsInf(s, -1) && !math.IsInf(a, -1) && !math.IsInf(b, -1) {
		return -math.MaxFloat64
	}
	return s
}

// clampAcceptor prepares f, whose arcs are sorted by label, acyclic and without ε. matrices is how many bytes
// the matrices may take; stop is asked now and then, and its error returned.
func clampAcceptor(f *fst.Vector[semiring.Tropical64], matrices int64, stop func(bytes int64) error) (*clampedAcceptor, error) {
	classOf, first := meetingClasses(f)
	order, err := topologicalOrder[semiring.Tropical64](first.graph)
	if err != nil {
		return nil, err
	}
	// Number classes in that order, beginning with the start's; those that it does not reach are left out.
	rank := make([]int32, len(order))
	for i := range rank {
		rank[i] = -1
	}
	n := 0
	reached := make([]int8, len(order)) // by how many ways, up to 2
	reached[first.start] = 1
	a := &clampedAcceptor{}
	for _, c := range order {
		if reached[c] == 0 {
			continue
		}
		rank[c] = int32(n)
		n++
		a.classes = append(a.classes, clampClass{several: reached[c] > 1})
		for _, e := range first.graph.Arcs(c) {
			reached[e.NextState] = min(2, reached[e.NextState]+reached[c])
		}
	}
	place := make([]int32, f.NumStates())
	a.final = make([][]float64, n)
	for q := range fst.StateID(f.NumStates()) {
		if r := rank[classOf[q]]; r >= 0 {
			c := &a.classes[r]
			place[q] = int32(len(c.states))
			c.states = append(c.states, q)
			a.final[r] = append(a.final[r], float64(f.Final(q)))
		}
	}
	used := int64(0)
	for r := n - 1; r >= 0; r-- {
		c := &a.classes[r]
		a.group(f, c, func(q fst.StateID) (int32, int32) { return rank[classOf[q]], place[q] })
		for i := range c.groups {
			a.bytes += 4*int64(cap(c.groups[i].ends)) + 16*int64(cap(c.groups[i].arcs))
		}
		if err := stop(a.bytes); err != nil {
			return nil, err
		}
		k := int64(len(c.states))
		if !c.several || k == 1 || used+8*k*k > matrices {
			continue
		}
		used += 8 * k * k
		a.bytes += 8*k*k + 16*k
		if err := a.bound(r, stop); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// meetings is the graph of classes: an arc for each label.
type meetings struct {
	graph *fst.Vector[semiring.Tropical64]
	start fst.StateID
}

// meetingClasses returns by state of f the class that it is in: the finest partition for which states
// that one string leads to are in one class, and so are the targets of a class by a label. It merges targets
// as Hopcroft and Karp's test of equivalence does, O(|Q| labels + |E|) in all.
//
// Each class is part of the states that a state of the strings is paired with, for those are another
// such partition. So its graph has no cycle.
func meetingClasses(f *fst.Vector[semiring.Tropical64]) (classOf []fst.StateID, m meetings) {
	n := f.NumStates()
	parent := make([]fst.StateID, n)
	for q := range parent {
		parent[q] = fst.StateID(q)
	}
	find := func(q fst.StateID) fst.StateID {
		for parent[q] != q {
			parent[q] = parent[parent[q]]
			q = parent[q]
		}
		return q
	}
	type move struct {
		label fst.Label
		to    fst.StateID
	}
	var meet [][2]fst.StateID
	moves := make([][]move, n)
	for q := range fst.StateID(n) {
		for _, e := range f.Arcs(q) {
			own := moves[q]
			if k := len(own) - 1; k >= 0 && own[k].label == e.ILabel {
				meet = append(meet, [2]fst.StateID{own[k].to, e.NextState})
				continue
			}
			moves[q] = append(own, move{e.ILabel, e.NextState})
		}
	}
	var merged []move
	for len(meet) > 0 {
		p, q := find(meet[len(meet)-1][0]), find(meet[len(meet)-1][1])
		meet = meet[:len(meet)-1]
		if p == q {
			continue
		}
		if q < p {
			p, q = q, p
		}
		parent[q] = p
		merged = merged[:0]
		x, y := moves[p], moves[q]
		for len(x) > 0 && len(y) > 0 {
			switch {
			case x[0].label < y[0].label:
				merged, x = append(merged, x[0]), x[1:]
			case x[0].label > y[0].label:
				merged, y = append(merged, y[0]), y[1:]
			default:
				meet = append(meet, [2]fst.StateID{x[0].to, y[0].to})
				merged, x, y = append(merged, x[0]), x[1:], y[1:]
			}
		}
		merged = append(append(merged, x...), y...)
		moves[p], moves[q] = append(moves[p][:0], merged...), nil
	}
	m.graph = fst.NewVector[semiring.Tropical64](0)
	classOf = make([]fst.StateID, n)
	for q := range fst.StateID(n) {
		if parent[q] == q {
			classOf[q] = m.graph.AddState()
		} else {
			classOf[q] = classOf[find(q)] // a root is the least of its class
		}
	}
	for q := range fst.StateID(n) {
		for _, e := range moves[q] {
			if parent[q] == q {
				m.graph.AddArc(classOf[q], fst.Arc[semiring.Tropical64]{ILabel: e.label, OLabel: e.label, NextState: classOf[e.to]})
			}
		}
	}
	m.start = classOf[f.Start()]
	return classOf, m
}

// group fills the labels and groups of c with its arcs, clamped. find tells the class and the place of a state.
func (a *clampedAcceptor) group(f *fst.Vector[semiring.Tropical64], c *clampClass, find func(fst.StateID) (int32, int32)) {
	arcs := make([][]fst.Arc[semiring.Tropical64], len(c.states)) // those still to be read
	for i, q := range c.states {
		arcs[i] = f.Arcs(q)
	}
	known := map[string]int32{}
	var key []byte
	for {
		label := fst.Label(math.MaxInt32)
		for _, x := range arcs {
			if len(x) > 0 {
				label = min(label, x[0].ILabel)
			}
		}
		g := clampGroup{next: -1, ends: make([]int32, 1, len(arcs)+1)}
		for i, x := range arcs {
			begin := len(g.arcs)
			for len(x) > 0 && x[0].ILabel == label {
				if w := float64(x[0].Weight); !math.IsInf(w, 1) {
					next, to := find(x[0].NextState)
					g.next = next
					g.arcs = append(g.arcs, a.classes[next].least(clampArc{to, w}))
				}
				x = x[1:]
			}
			arcs[i] = x
			if g.next >= 0 {
				g.arcs = g.arcs[:begin+len(a.clampArcs(g.next, g.arcs[begin:]))]
			}
			g.ends = append(g.ends, int32(len(g.arcs)))
		}
		if g.next < 0 {
			if slices.ContainsFunc(arcs, func(x []fst.Arc[semiring.Tropical64]) bool { return len(x) > 0 }) {
				continue // all of the label's weights are infinite
			}
			return
		}
		key = binary.LittleEndian.AppendUint32(key[:0], uint32(g.next))
		for _, end := range g.ends {
			key = binary.LittleEndian.AppendUint32(key, uint32(end))
		}
		for _, e := range g.arcs {
			key = binary.LittleEndian.AppendUint32(key, uint32(e.to))
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(e.cost+0))
		}
		id, ok := known[string(key)]
		if !ok {
			id = int32(len(c.groups))
			known[string(key)] = id
			g.arcs = slices.Clip(g.arcs)
			c.groups = append(c.groups, g)
		}
		c.labels = append(c.labels, clampLabel{label, id})
	}
}

// least returns an arc to the state that stands for those equivalent to the target, or e where the cost would not be exact.
func (c *clampClass) least(e clampArc) clampArc {
	if c.same == nil {
		return e
	}
	x := c.same[e.to]
	if up, down := addUp(e.cost, x.cost), -addUp(-e.cost, -x.cost); up == down {
		return clampArc{x.to, up}
	}
	return e
}

// clampArcs returns the arcs of a state for a label that no other of them dominates, by increasing target.
func (a *clampedAcceptor) clampArcs(next int32, arcs []clampArc) []clampArc {
	slices.SortFunc(arcs, func(x, y clampArc) int { return cmp.Or(cmp.Compare(x.to, y.to), cmp.Compare(x.cost, y.cost)) })
	arcs = slices.CompactFunc(arcs, func(x, y clampArc) bool { return x.to == y.to }) // keeps the cheaper
	return a.classes[next].clamp(arcs)
}

// clamp drops from pairs of states and residuals, by increasing state, those that others dominate.
func (c *clampClass) clamp(pairs []clampArc) []clampArc {
	k := len(c.states)
	if c.d == nil || len(pairs) < 2 {
		return pairs
	}
	// From the last down, so that of equals the first stays. A pair is dropped against any that is there.
	for i := len(pairs) - 1; i >= 0; i-- {
		x := pairs[i]
		row := c.d[int(x.to)*k : int(x.to)*k+k]
		for j, y := range pairs {
			if j == i {
				continue
			}
			// Exact sums are the rule; addUp is for those near enough to matter.
			if d := row[y.to]; y.cost+d <= x.cost && addUp(y.cost, d) <= x.cost {
				pairs = append(pairs[:i], pairs[i+1:]...)
				break
			}
		}
	}
	return pairs
}

// bound fills the matrix of class r, those of later classes being known.
func (a *clampedAcceptor) bound(r int, stop func(bytes int64) error) error {
	c := &a.classes[r]
	k := len(c.states)
	d := make([]float64, k*k)
	final := a.final[r]
	for i := range k {
		if err := stop(a.bytes); err != nil {
			return err
		}
		row := d[i*k : i*k+k]
		for j := range row {
			switch {
			case math.IsInf(final[i], 1):
				row[j] = math.Inf(-1)
			default:
				row[j] = addUp(final[j], -final[i]) // +Inf where j is not final
			}
		}
		for x := range c.groups {
			g := &c.groups[x]
			own := g.of(i)
			if len(own) == 0 {
				continue
			}
			next := &a.classes[g.next]
			n := len(next.states)
			for j := range row {
				if j == i || row[j] > math.MaxFloat64 {
					continue
				}
				others := g.of(j)
				most := row[j]
				for _, e := range own {
					least := math.Inf(1)
					for _, o := range others {
						b := math.Inf(1)
						switch {
						case next.d != nil:
							b = next.d[int(e.to)*n+int(o.to)]
						case e.to == o.to:
							b = 0
						}
						least = min(least, addUp(addUp(o.cost, -e.cost), b))
					}
					most = max(most, least)
				}
				row[j] = most
			}
		}
		row[i] = 0
	}
	c.d = d
	c.same = make([]clampArc, k)
	for i := range c.same {
		c.same[i] = clampArc{int32(i), 0}
		for j := range k {
			// d_i = d_j + D(j, i). Of the cheapest the first, so that costs grow: nothing cancels later.
			if x := d[j*k+i]; x == -d[i*k+j] && !math.IsInf(x, 0) && (x > c.same[i].cost || x == c.same[i].cost && j < int(c.same[i].to)) {
				c.same[i] = clampArc{int32(j), x}
			}
		}
	}
	return nil
}
