package ops

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/graph"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// LabelLookAhead returns f with what composition needs to look ahead: for each state
// the labels on the given side that it reaches by arcs with ε there, and whether it so
// reaches a final state. For that the labels of that side are numbered anew, from 1 in
// the order in which a depth-first search comes to them, so that the sets are few
// intervals; arcs are sorted by them, and the side's symbol table goes. A machine that
// is composed with the result must be relabeled by the pairs, which also lead labels that f
// does not have, but which are among the new numbers, to one that nothing has.
//
// Write stores the result as ilabel_lookahead or olabel_lookahead. The numbers are those
// of OpenFst.
//
// What is over lim is known before anything is made, but for the bytes of the intervals. Those of f
// count twice, for the copy that is relabeled is there beside the result.
//
// Cost: O(|Q| + |E| + I log I) for I intervals, which are |Q| times the number of labels at
// worst, and a few where f is a tree or deterministic.
//
// After C. Allauzen, M. Riley and J. Schalkwyk, "A generalized composition algorithm for
// weighted finite-state transducers", Interspeech 2009.
func LabelLookAhead[W semiring.Weight[W]](f fst.Expanded[W], side Side, lim Limits) (*fst.Const[W], []fst.LabelPair, error) {
	m := lim.meter("LabelLookAhead").AtOnce()
	size := run.SizeOf[W](f.NumStates(), int64(fst.NumArcs(f)))
	size.Bytes *= 2
	if err := m.Check(size); err != nil {
		return nil, nil, err
	}
	m = lim.workspace().meter(m.Op).AtOnce()
	w := &run.Stopwatch{Op: m.Op, Ctx: lim.Ctx}
	g, labels, err := reachGraph(f, side, w)
	if err != nil {
		return nil, nil, err
	}
	data := &fst.LabelReach{Input: side == Input, Final: fst.NoLabel, Sets: make([][]fst.Interval, f.NumStates())}
	sets, index, of, err := reachIntervals(g, &m, w)
	if err != nil {
		return nil, nil, err
	}
	for q := range data.Sets {
		data.Sets[q] = sets[of(fst.StateID(q))]
	}
	size.Bytes += int64(len(data.Sets)) * int64(unsafe.Sizeof([]fst.Interval{}))
	for _, s := range sets {
		size.Bytes += int64(cap(s)) * int64(unsafe.Sizeof(fst.Interval{}))
	}
	m = lim.meter(m.Op)
	if err := m.CheckNow(size); err != nil {
		return nil, nil, err
	}
	to := make(map[fst.Label]fst.Label, len(labels))
	for i, l := range labels {
		n := index[of(fst.StateID(f.NumStates()+i))]
		if to[l] = n; l == fst.NoLabel {
			data.Final = n
		}
	}
	v := copyOf(f)
	for q := range fst.StateID(v.NumStates()) {
		arcs := v.MutableArcs(q)
		for i := range arcs {
			if l := labelOf(&arcs[i], side); *l != fst.Epsilon {
				*l = to[*l]
			}
		}
	}
	v.SetProperties(0, fst.AllProperties)
	fst.PropertiesOf(v, fst.Acceptor)
	ArcSort(v, side)
	out := &fst.MatcherData{Reach: data}
	add := &fst.AddOn{Type: "olabel_lookahead", Output: out}
	if side == Input {
		v.SetInputSymbols(nil)
		add = &fst.AddOn{Type: "ilabel_lookahead", Input: out}
	} else {
		v.SetOutputSymbols(nil)
	}
	c := fst.NewConst(v)
	c.SetAddOn(add)
	return c, reachPairs(to), nil
}

// labelOf returns the label of e on a side.
func labelOf[W any](e *fst.Arc[W], side Side) *fst.Label {
	if side == Input {
		return &e.ILabel
	}
	return &e.OLabel
}

// reachGraph returns f without labels, in which an arc with a label leads to a final state that
// stands for the label, and a final state has an arc to one that stands for NoLabel. A new
// start has arcs to all states without arcs into them. The states of labels come after those
// of f, in the order of labels.
func reachGraph[W semiring.Weight[W]](f fst.Expanded[W], side Side, w *run.Stopwatch) (g *fst.Vector[semiring.Boolean], labels []fst.Label, err error) {
	n := f.NumStates()
	g = fst.NewVector[semiring.Boolean](n)
	g.AddStates(n)
	state := map[fst.Label]fst.StateID{}
	into := make([]bool, n)
	find := func(l fst.Label) fst.StateID {
		s, ok := state[l]
		if !ok {
			s = fst.StateID(n + len(labels))
			state[l] = s
			labels = append(labels, l)
			g.AddState()
			g.SetFinal(s, true)
			into = append(into, true)
		}
		return s
	}
	arc := func(from, to fst.StateID) {
		g.AddArc(from, fst.Arc[semiring.Boolean]{Weight: true, NextState: to})
		into[to] = true
	}
	for q := range fst.StateID(n) {
		arcs := f.Arcs(q)
		if err := w.Spend(1 + 4*len(arcs)); err != nil {
			return nil, nil, err
		}
		for i := range arcs {
			to := arcs[i].NextState
			if l := *labelOf(&arcs[i], side); l != fst.Epsilon {
				to = find(l)
			}
			arc(q, to)
		}
		if fst.IsFinal[W](f, q) {
			arc(q, find(fst.NoLabel))
		}
	}
	start := g.AddState()
	g.SetStart(start)
	for q := range start {
		if !into[q] {
			g.AddArc(start, fst.Arc[semiring.Boolean]{Weight: true, NextState: q})
		}
	}
	return g, labels, nil
}

// reachIntervals numbers the final states of g, which have no arcs, from 1 as a depth-first
// search finds them, and returns for the components of g their number, if final, and the
// numbers they reach; of gives the component of a state.
func reachIntervals(g *fst.Vector[semiring.Boolean], m *run.Meter, w *run.Stopwatch) (sets [][]fst.Interval, index []fst.Label, of func(fst.StateID) fst.StateID, err error) {
	of = func(q fst.StateID) fst.StateID { return q }
	if fst.PropertiesOf(g, fst.Acyclic)&fst.Acyclic == 0 {
		c, _, err := graph.FindComponentsWithin(g, nil, 0, w)
		if err != nil {
			return nil, nil, nil, err
		}
		of = func(q fst.StateID) fst.StateID { return fst.StateID(c.Of[q]) }
		h := fst.NewVector[semiring.Boolean](c.N)
		h.AddStates(c.N)
		h.SetStart(of(g.Start()))
		for q := range fst.StateID(g.NumStates()) {
			if g.Final(q) {
				h.SetFinal(of(q), true)
			}
			if err := w.Spend(1 + 4*len(g.Arcs(q))); err != nil {
				return nil, nil, nil, err
			}
			for _, e := range g.Arcs(q) {
				if to := of(e.NextState); to != of(q) {
					h.AddArc(of(q), fst.Arc[semiring.Boolean]{Weight: true, NextState: to})
				}
			}
		}
		g = h
	}
	n := g.NumStates()
	sets, index = make([][]fst.Interval, n), make([]fst.Label, n)
	seen := make([]bool, n)
	next := fst.Label(1)
	held := int64(0)
	var path []graph.Frame
	enter := func(q fst.StateID) {
		seen[q] = true
		if g.Final(q) {
			index[q] = next
			sets[q] = []fst.Interval{{Begin: next, End: next + 1}}
			held++
			next++
		}
		path = append(path, graph.Frame{Q: q})
	}
	// join adds what t reaches to what q does. Where there is no room, what q has is united
	// first: so that however many arcs lead to the same labels, their sets take a few times
	// what is left of them.
	join := func(q, t fst.StateID) error {
		s, had := sets[q], cap(sets[q])
		if len(s)+len(sets[t]) > had {
			s = unite(s)
			s = slices.Grow(s, len(s)+len(sets[t]))
			held += int64(cap(s) - had)
			if err := m.Check(run.Progress{States: n, Bytes: 8 * held}); err != nil {
				return err
			}
		}
		sets[q] = append(s, sets[t]...)
		return w.Spend(1 + len(sets[t]))
	}
	for i := -1; i < n; i++ {
		root := fst.StateID(i)
		if i < 0 {
			root = g.Start()
		}
		if seen[root] {
			continue
		}
		enter(root)
		for len(path) > 0 {
			top := &path[len(path)-1]
			q, arcs := top.Q, g.Arcs(top.Q)
			if int(top.Arc) < len(arcs) {
				t := arcs[top.Arc].NextState
				top.Arc++
				if !seen[t] {
					enter(t)
				} else if err := join(q, t); err != nil { // t is finished, for there are no cycles
					return nil, nil, nil, err
				}
				continue
			}
			sets[q] = unite(sets[q])
			if err := m.Check(run.Progress{States: n, Bytes: 8 * held}); err != nil {
				return nil, nil, nil, err
			}
			if path = path[:len(path)-1]; len(path) > 0 {
				if err := join(path[len(path)-1].Q, q); err != nil {
					return nil, nil, nil, err
				}
			}
		}
	}
	return sets, index, of, nil
}

// unite sorts intervals and joins those that overlap or touch, in place.
func unite(s []fst.Interval) []fst.Interval {
	slices.SortFunc(s, func(a, b fst.Interval) int {
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(b.End, a.End))
	})
	out := s[:0]
	for _, i := range s {
		if n := len(out); n > 0 && i.Begin <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, i.End)
			continue
		}
		out = append(out, i)
	}
	return out
}

// reachPairs returns the pairs by which other machines are to be relabeled, in the order of
// the old labels: all of to but what stands for a final state, and, to a number that
// nothing has, the labels among the new numbers that to does not map.
func reachPairs(to map[fst.Label]fst.Label) []fst.LabelPair {
	var pairs []fst.LabelPair
	n := fst.Label(len(to))
	for l, i := range to {
		if l != fst.NoLabel {
			pairs = append(pairs, fst.LabelPair{From: l, To: i})
		}
	}
	for i := fst.Label(1); i <= n; i++ {
		if _, ok := to[i]; !ok {
			pairs = append(pairs, fst.LabelPair{From: i, To: n + 1})
		}
	}
	slices.SortFunc(pairs, func(a, b fst.LabelPair) int { return cmp.Compare(a.From, b.From) })
	return pairs
}
