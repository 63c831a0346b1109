package ops

import (
	"cmp"
	"errors"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/graph"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// LabelLookAhead returns f with what composition needs to look ahead. For each state these are the
// labels on the given side that it reaches by arcs with ε there, and whether it so reaches a final
// state. The labels of that side are renumbered from 1 in the order of a depth-first search, so
// that the sets are few intervals. Arcs are sorted by them, and the side's symbol table is removed.
// A machine that is composed with the result must be relabeled by the pairs. The pairs also map
// labels that f lacks, if they are among the new numbers, to a label that nothing has.
//
// Write stores the result as ilabel_lookahead or olabel_lookahead. The numbers are those
// of OpenFst.
//
// What is over lim is known before anything is made, but for the bytes of the intervals. Those of f
// count twice, for the copy that is relabeled is there beside the result.
//
// Cost: O(|Q| + |E| + I log I) for I intervals. These are |Q| times the number of labels at worst,
// and a few where f is a tree or deterministic.
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

// reachGraph returns f without labels. An arc with a label leads to a final state that stands for
// the label, and a final state has an arc to one that stands for NoLabel. A new start has arcs to
// all states that no arc leads to. The states of labels come after those of f, in the order of
// labels.
func reachGraph[W semiring.Weight[W]](f fst.Expanded[W], side Side,
	w *run.Stopwatch) (g *fst.Vector[semiring.Boolean], labels []fst.Label, err error) {
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

// reachIntervals numbers the final states of g, which have no arcs, from 1 in depth-first order. It
// returns for each component of g its number, if final, and the numbers that it reaches. of maps a
// state to its component.
func reachIntervals(g *fst.Vector[semiring.Boolean], m *run.Meter, w *run.Stopwatch) (sets [][]fst.Interval,
	index []fst.Label, of func(fst.StateID) fst.StateID, err error) {
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
	// join adds what t reaches to what q does. Where there is no room, what q has is united first.
	// So however many arcs lead to the same labels, their sets take a few times what is left of
	// them.
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

// reachPairs returns the pairs by which other machines are to be relabeled, in the order of the old
// labels. They are all of to except what stands for a final state. Labels among the new numbers
// that to does not map go to a number that nothing has.
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

// LookAhead has Compose look ahead: a pair of states is made only if one machine can meet the other
// there. It can when a label or a final state that it reaches by ε-arcs has a counterpart at the
// other state. A lexicon spells a word before it names it. With such late outputs, looking ahead
// avoids most dead pairs. The relation is the same; so is the trimmed machine, but for the numbers
// of states, where weights are not pushed.
//
// The machine that looks ahead must be whole (fst.Expanded). Sets of labels are intervals of labels
// numbered for the purpose, as LabelLookAhead makes them; neither machine is changed.
//
// After C. Allauzen, M. Riley and J. Schalkwyk, "A generalized composition algorithm for
// weighted finite-state transducers", Interspeech 2009.
type LookAhead struct {
	// Side is the machine that looks ahead: the first by its output labels, or the second by
	// its input labels.
	Side LookAheadSide

	// PushWeights multiplies an arc by the ⊕-sum of the other machine's weights that can
	// follow, and divides by it later. So a search or a pruning sees these weights as early as
	// possible. The weights must be divisible and commute. It needs no filter states: what is
	// pushed depends on the pair of states alone.
	PushWeights bool

	// PushLabels puts out the other machine's label early where the machine that looks ahead can
	// come to one of its arcs only. It then goes on behind that arc. That determinizes what is put
	// out, as far as it can be had on the fly. The filter is then SequenceFilter or
	// AltSequenceFilter, as the machine that looks asks for. With PushWeights this is how OpenFst
	// composes with files of its look-ahead types. Compose does so by itself when it is given one
	// and no other filter or matcher.
	PushLabels bool
}

// LookAheadSide is a machine of a composition.
type LookAheadSide uint8

const (
	LookAheadAuto   LookAheadSide = iota // the first if it has output ε, or is whole and the second is not
	LookAheadFirst                       // the first, by output labels
	LookAheadSecond                      // the second, by input labels
)

// lookAhead knows what the states of one machine, which looks, reach.
type lookAhead[W semiring.Weight[W]] struct {
	first  bool // the first machine looks, at the second
	number map[fst.Label]fst.Label
	final  fst.Label // the number that stands for final states; NoLabel if there is none
	sets   [][]fst.Interval
	of     func(fst.StateID) fst.StateID

	other  side[W]
	seen   []otherState[W]
	held   int64 // bytes of seen
	one    W
	divide func(by, w W) W // nil if weights are not pushed
}

// otherState is a state of the machine that is looked at, in the numbers of the one that
// looks.
type otherState[W any] struct {
	known, always, final bool // always: it can move without the other one
	weight               W    // final
	labels               []numbered[W]
}

type numbered[W any] struct {
	l fst.Label
	w W // the sum of the arcs with the label
}

// firstLooks tells whether it is the first machine that looks.
func firstLooks[W semiring.Weight[W]](a, b fst.Fst[W], s LookAheadSide) bool {
	if s != LookAheadAuto {
		return s == LookAheadFirst
	}
	_, okA := a.(fst.Expanded[W])
	_, okB := b.(fst.Expanded[W])
	return okA && (!okB || !fst.PropertiesOf(a, fst.NoOEpsilons).Has(fst.NoOEpsilons))
}

// newLookAhead finds what the states of the machine that looks reach, as o asks.
func newLookAhead[W semiring.Weight[W]](p *composePlan[W], o *LookAhead) (*lookAhead[W], error) {
	wholeA, okA := p.a.f.(fst.Expanded[W])
	wholeB, okB := p.b.f.(fst.Expanded[W])
	first := firstLooks(p.a.f, p.b.f, o.Side)
	looks, by := wholeB, Input
	l := &lookAhead[W]{first: first, other: p.a, one: semiring.One[W](), final: fst.NoLabel}
	if first {
		looks, by = wholeA, Output
		l.other = p.b
	}
	if first && !okA || !first && !okB {
		return nil, errors.New("ops: Compose: the machine that looks ahead is computed on demand, and so does " +
			"not know what it reaches: materialize it, or have the other one look")
	}
	if o.PushWeights {
		if _, ok := any(l.one).(semiring.Divisible[W]); !ok {
			return nil, errors.New("ops: Compose: weights that cannot be divided cannot be pushed")
		}
		if _, ok := any(l.one).(semiring.Commutative[W]); !ok {
			return nil, errors.New("ops: Compose: weights that do not commute cannot be pushed")
		}
		l.divide = func(by, w W) W { return any(by).(semiring.Divisible[W]).DivideLeft(w) }
	}
	m := p.Limits.workspace().meter("Compose").AtOnce()
	w := &run.Stopwatch{Op: m.Op, Ctx: p.Ctx}
	g, labels, err := reachGraph(looks, by, w)
	if err != nil {
		return nil, err
	}
	sets, index, of, err := reachIntervals(g, &m, w)
	if err != nil {
		return nil, err
	}
	l.sets, l.of = sets, of
	l.number = make(map[fst.Label]fst.Label, len(labels))
	for i, x := range labels {
		n := index[of(fst.StateID(looks.NumStates()+i))]
		if x == fst.NoLabel {
			l.final = n
		} else {
			l.number[x] = n
		}
	}
	return l, nil
}

// at returns what is known of state r of the machine that is looked at.
func (l *lookAhead[W]) at(r fst.StateID) *otherState[W] {
	if int(r) >= len(l.seen) {
		had := cap(l.seen)
		l.seen = slices.Grow(l.seen, int(r)+1-len(l.seen))[:r+1]
		l.held += int64(cap(l.seen)-had) * int64(unsafe.Sizeof(otherState[W]{}))
	}
	s := &l.seen[r]
	if s.known {
		return s
	}
	arcs := l.other.f.Arcs(r)
	s.known = true
	s.weight = l.other.f.Final(r)
	s.final = !semiring.IsZero(s.weight)
	for i := range arcs {
		x := label(&arcs[i], l.other.labels)
		if x == fst.Epsilon {
			s.always = true
		} else if n, ok := l.number[x]; ok {
			s.labels = append(s.labels, numbered[W]{n, arcs[i].Weight})
		}
	}
	slices.SortStableFunc(s.labels, func(x, y numbered[W]) int { return cmp.Compare(x.l, y.l) })
	out := s.labels[:0]
	for _, x := range s.labels {
		if n := len(out); n > 0 && out[n-1].l == x.l {
			out[n-1].w = out[n-1].w.Plus(x.w)
		} else {
			out = append(out, x)
		}
	}
	if s.labels = out; cap(out) > len(out)+len(out)/4 { // room for arcs whose labels are unknown or the same
		s.labels = slices.Clone(out)
	}
	l.held += int64(cap(s.labels)) * int64(unsafe.Sizeof(numbered[W]{}))
	return s
}

// heldAhead is how many bytes of look-ahead results are kept after the states that needed them are
// forgotten. They may be useful again, and can be recomputed in time linear in the arcs.
const heldAhead = 1 << 20

// forget drops what is known of the other machine, if it is much.
func (l *lookAhead[W]) forget() {
	if l.held > heldAhead {
		l.seen, l.held = nil, 0
	}
}

// pair tells the states of the machine that looks and of the other one.
func (l *lookAhead[W]) pair(s1, s2 fst.StateID) (q, r fst.StateID) {
	if l.first {
		return s1, s2
	}
	return s2, s1
}

// meets reports whether something can come of a pair, as far as that can be seen.
func (l *lookAhead[W]) meets(s1, s2 fst.StateID) bool {
	q, r := l.pair(s1, s2)
	s := l.at(r)
	if s.always {
		return true
	}
	set := l.sets[l.of(q)]
	if s.final && l.final != fst.NoLabel && inIntervals(set, l.final) {
		return true
	}
	found := false
	l.common(set, s.labels, func(*numbered[W]) bool { found = true; return false })
	return found
}

// common calls visit for the labels in the set, in order, as long as it returns true. It searches
// the labels for each interval, or the intervals for each label, whichever are fewer.
func (l *lookAhead[W]) common(set []fst.Interval, labels []numbered[W], visit func(*numbered[W]) bool) {
	if len(set) <= len(labels) {
		k := 0
		for _, i := range set {
			n, _ := slices.BinarySearchFunc(labels[k:], i.Begin, func(x numbered[W],
				b fst.Label) int {
				return cmp.Compare(x.l, b)
			})
			for k += n; k < len(labels) && labels[k].l < i.End; k++ {
				if !visit(&labels[k]) {
					return
				}
			}
		}
		return
	}
	for i := range labels {
		if inIntervals(set, labels[i].l) && !visit(&labels[i]) {
			return
		}
	}
}

// inIntervals reports whether l is in the set.
func inIntervals(set []fst.Interval, l fst.Label) bool {
	i, _ := slices.BinarySearchFunc(set, l, func(x fst.Interval, l fst.Label) int {
		if x.End <= l {
			return -1
		}
		return 1
	})
	return i < len(set) && set[i].Begin <= l
}

// potential is what has been pushed before a pair of states: the sum of the other machine's weights
// for what can be met there. It is 1̄ at the start, and where the machine can move on its own.
func (l *lookAhead[W]) potential(s1, s2 fst.StateID, start bool) W {
	if l == nil || l.divide == nil || start {
		return semiring.One[W]()
	}
	q, r := l.pair(s1, s2)
	s := l.at(r)
	if s.always {
		return l.one
	}
	set := l.sets[l.of(q)]
	sum := semiring.Zero[W]()
	if s.final && l.final != fst.NoLabel && inIntervals(set, l.final) {
		sum = s.weight
	}
	l.common(set, s.labels, func(x *numbered[W]) bool { sum = sum.Plus(x.w); return true })
	if semiring.IsZero(sum) { // arcs of weight 0̄ only: nothing to divide by
		return l.one
	}
	return sum
}
