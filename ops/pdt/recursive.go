package pdt

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Shortest paths where the stack is unbounded. A search may have to enter itself, so no order
// completes each search before it is used. Therefore all searches run at once. What one finds
// better is passed on to all that use it, as for the least derivation of a grammar.
//
// Where no arc is better than 1̄, each pair of a source and a state is followed once. That is the
// order of D. Knuth, "A generalization of Dijkstra's algorithm", Information Processing Letters
// 6(1), 1977. Distances from the source alone would take every search as far as that from the
// start. The order is instead by the best path from the start through the pair (M.-J. Nederhof,
// "Weighted deductive parsing and Knuth's algorithm", Computational Linguistics 29(1), 2003). To it
// is added the least weight from there to a final state without regard to parentheses (D. Klein and
// C. Manning, "A* parsing", HLT-NAACL 2003). So the search ends when the first complete path is
// reached. It meets only pairs through which a path may be as good.
//
// Where an arc is better than 1̄, it proceeds by rounds, as Bellman and Ford find paths. If no
// cycle improves a path, the best derivation of a pair repeats no pair on a way down. Its height,
// and so the number of rounds, is at most the number of pairs.

// derived is a search state: a state of the PDT, the source of its search, and how its best
// balanced path ends. It ends with an arc of the search state parent, or with a call. A call is
// that arc, an opening parenthesis, the path to the search state exit of the search that it enters,
// and an arc from there.
type derived[W any] struct {
	distance W
	q        fst.StateID
	source   int32 // its number
	parent   int32 // none at a source
	arc      int32
	exit     int32 // none for an ordinary arc
	closing  int32
	flags    uint8
}

const (
	settled uint8 = 1 << iota // followed, and not improved since; of rounds, not in the next one
	met                       // followed before
)

// use is an arc of a search state, with an opening or a closing parenthesis.
type use struct{ state, arc int32 }

// caller is the best way of a search to enter another, or itself: the weight up to and with the
// parenthesis.
type caller[W any] struct {
	weight W
	prefix W // from the start
	source int32
	by     use
}

// leaving is the best way to leave a search with a parenthesis to a state: the weight from the
// source up to and with it.
type leaving[W any] struct {
	weight W
	to     fst.StateID
	by     use
}

// recursiveSource is a state from which there is a search.
type recursiveSource[W any] struct {
	state  fst.StateID
	prefix W      // of the best path from the start that leads here
	calls  places // of each entry, where in callers
}

// recursiveEntry is what enters a state by a pair of parentheses, and how that is left.
type recursiveEntry[W any] struct {
	callers []caller[W]
	exits   []leaving[W]
	to      places // of each state, where in exits
}

// recursion runs searches all at once, in the order of a weight for each search state. The weight
// is prefix ⊗ distance ⊗ ahead. prefix is the best path from the start by which its source is
// entered, and ahead the least weight from its state to the end.
type recursion[W semiring.Path[W]] struct {
	f      fst.Expanded[W]
	parens *parens
	op     string
	meter  *ops.Meter
	zero   W
	one    W
	keep   bool // what closes entries is kept

	ordered bool
	ahead   [2][]W // of the search from the start, and the others
	heap    weightHeap[W]
	next    []int32 // search states of the next round, where there is no order

	// The weight of the best complete path so far, and that beyond which nothing counts. What
	// is as good as that does not count either, unless far says that it does.
	best, bound W
	within      W // of bound to best
	far         func(w W) bool

	data    []derived[W]
	sources []source // of the same numbers as from
	from    []recursiveSource[W]
	of      []int32 // source that each state is, or none
	entries *fst.Table[entryKey]
	entry   []recursiveEntry[W]
	closing [][]int32 // with keep: of each entry, search states with a matching parenthesis
	arcs    int64
	held    int64 // bytes of places and lists
	work    int   // combinations of a caller and an exit since the limits were looked at
}

func newRecursion[W semiring.Path[W]](f fst.Expanded[W], p *parens, op string, lim ops.Limits) *recursion[W] {
	r := &recursion[W]{f: f, parens: p, op: op, meter: ops.NewMeter(op, lim), zero: semiring.Zero[W](), one: semiring.One[W]()}
	r.best, r.bound, r.within = r.zero, r.zero, r.one
	r.entries = fst.NewTable(func(k entryKey) uint64 { return fst.Mix(uint64(uint32(k.to))<<32 | uint64(uint32(k.paren))) })
	r.of = make([]int32, f.NumStates())
	r.ordered = true
	entered := false
	for q := range r.of {
		r.of[q] = none
		for _, a := range f.Arcs(fst.StateID(q)) {
			if a.Weight.Less(r.one) {
				r.ordered = false
			}
			if _, opens := p.of(a.ILabel); opens && a.NextState == f.Start() {
				entered = true
			}
		}
	}
	if r.ordered {
		r.ahead[0], r.ahead[1] = leastToEnd(f, p)
		if entered { // what enters the start state goes on with the search from there
			for q := range r.of {
				r.ahead[0][q] = r.ahead[0][q].Plus(r.ahead[1][q])
			}
		}
	}
	return r
}

// recursivePath is ShortestPath for any PDT; limits hold as there, and for the path, too.
func recursivePath[W semiring.Path[W]](f fst.Expanded[W], p *parens, op string, o *ShortestPathOptions) (*fst.Vector[W], error) {
	r := newRecursion(f, p, op, o.Limits)
	if err := r.run(); err != nil {
		return nil, err
	}
	return r.path(o.KeepParens)
}

// leastToEnd returns for each state a weight that no path from there to the end is better than,
// from outside all parentheses and from within some. Of the stack it heeds only whether it is
// empty: it must not be before a closing parenthesis, and must be at the end. No arc of f is better
// than 1̄. O((states + arcs) · log states).
func leastToEnd[W semiring.Path[W]](f fst.Expanded[W], p *parens) (outside, within []W) {
	n := f.NumStates()
	type back struct {
		weight          W
		from            fst.StateID
		opening, closes bool
	}
	first := make([]int, n+1) // of the arcs that lead to each state
	for q := range fst.StateID(n) {
		for _, a := range f.Arcs(q) {
			first[a.NextState+1]++
		}
	}
	for q := range n {
		first[q+1] += first[q]
	}
	arcs, place := make([]back, first[n]), slices.Clone(first[:n])
	d := slices.Repeat([]W{semiring.Zero[W]()}, 2*n) // outside, then within
	var h weightHeap[W]
	relax := func(q fst.StateID, side int, w W) {
		if i := int(q) + side*n; w.Less(d[i]) {
			d[i] = w
			h.push(w, int32(i))
		}
	}
	for q := range fst.StateID(n) {
		relax(q, 0, f.Final(q))
		for _, a := range f.Arcs(q) {
			id, opens := p.of(a.ILabel)
			arcs[place[a.NextState]] = back{a.Weight, q, opens, id != noParen && !opens}
			place[a.NextState]++
		}
	}
	for len(h) > 0 {
		w, i := h.pop()
		if d[i].Less(w) {
			continue // was improved since
		}
		q, side := int(i)%n, int(i)/n
		for _, a := range arcs[first[q]:first[q+1]] {
			v := a.weight.Times(w)
			switch {
			case a.closes:
				relax(a.from, 1, v)
			case !a.opening:
				relax(a.from, side, v)
			case side == 1:
				relax(a.from, 0, v)
				relax(a.from, 1, v)
			}
		}
	}
	return d[:n], d[n:]
}

// run makes the searches.
//
// If ⊗ is exact, a search state is followed when its distance is that of its best path. It is used
// only behind what enters its source. So what it is made of comes no later, be it a search state of
// the same source or one and an exit of the search that it enters. Their best path from the start
// is a beginning of its own, and ahead falls along a path by no more than what the path adds. Where
// rounding breaks this, improved search states are followed again.
func (r *recursion[W]) run() error {
	start := r.f.Start()
	if start == fst.NoState {
		return nil
	}
	r.begin(start, r.one)
	if !r.ordered {
		return r.rounds()
	}
	for len(r.heap) > 0 {
		w, i := r.heap.pop()
		if r.worse(w) {
			break
		}
		if r.data[i].flags&settled != 0 {
			continue
		}
		if err := r.follow(i); err != nil {
			return err
		}
	}
	return nil
}

// rounds follows search states in rounds: those that the round before improved.
func (r *recursion[W]) rounds() error {
	for round := 0; len(r.next) > 0; round++ {
		if round > len(r.data) {
			return &ops.StateError{Op: r.op, State: r.data[r.next[0]].q, Err: fmt.Errorf("a cycle through this state makes paths ever better: %w", ops.ErrNotClosed)}
		}
		now := r.next
		r.next = nil
		for _, i := range now {
			if err := r.follow(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// toEnd is the least weight from q to the end, as far as it is known. Search 0 is that from the
// start.
func (r *recursion[W]) toEnd(source int32, q fst.StateID) W { return r.ahead[min(source, 1)][q] }

// worse reports that nothing beyond a weight in the order counts.
func (r *recursion[W]) worse(w W) bool {
	return !w.Less(r.bound) && (r.far == nil || r.far(w))
}

// id returns the search state of q in the search of that number.
func (r *recursion[W]) id(source int32, q fst.StateID) int32 {
	at := r.sources[source].states.at(int32(q), r.f.NumStates(), &r.held)
	if *at == 0 {
		r.data = append(r.data, derived[W]{distance: r.zero, q: q, source: source, parent: none, exit: none, flags: settled})
		*at = int32(len(r.data))
	}
	return *at - 1
}

// anyKey bounds the keys of places that hold few, so that they never use an array.
const anyKey = 1 << 30

// begin starts the search from a state, if there is none, or has it come earlier in the order.
func (r *recursion[W]) begin(from fst.StateID, prefix W) {
	n := r.of[from]
	if n == none {
		n = int32(len(r.sources))
		r.of[from] = n
		r.sources = append(r.sources, source{})
		r.from = append(r.from, recursiveSource[W]{state: from, prefix: prefix})
		i := r.id(n, from)
		r.data[i].distance = r.one
		r.improved(i, prefix)
		return
	}
	if s := &r.from[n]; r.ordered && prefix.Less(s.prefix) {
		if i := r.id(n, from); r.data[i].flags&met == 0 {
			s.prefix = prefix
			r.improved(i, prefix)
		}
	}
}

// improved has search state i followed, to which the best path from the start has that weight.
func (r *recursion[W]) improved(i int32, prefix W) {
	d := &r.data[i]
	if d.source == 0 {
		if w := d.distance.Times(r.f.Final(d.q)); w.Less(r.best) {
			r.best, r.bound = w, w.Times(r.within)
		}
	}
	switch {
	case r.ordered:
		r.heap.push(prefix.Times(r.toEnd(d.source, d.q)), i)
	case d.flags&settled != 0:
		r.next = append(r.next, i)
	}
	d.flags &^= settled
}

func (r *recursion[W]) entryOf(paren int32, to fst.StateID) int32 {
	e, isNew := r.entries.ID(entryKey{paren, to})
	if isNew {
		r.entry = append(r.entry, recursiveEntry[W]{})
		if r.keep {
			r.closing = append(r.closing, nil)
		}
	}
	return int32(e)
}

// follow passes on what search state i has reached.
func (r *recursion[W]) follow(i int32) error {
	first := r.data[i].flags&met == 0
	r.data[i].flags |= settled | met
	d := r.data[i]
	prefix := r.from[d.source].prefix
	arcs := r.f.Arcs(d.q)
	if first {
		r.arcs += int64(len(arcs))
	}
	for k := range arcs {
		a := &arcs[k]
		here := use{i, int32(k)}
		w := d.distance.Times(a.Weight)
		switch id, opens := r.parens.of(a.ILabel); {
		case id == noParen:
			r.relax(d.source, a.NextState, w, prefix.Times(w), here, use{none, 0})
		case opens:
			r.call(id, a.NextState, caller[W]{w, prefix.Times(w), d.source, here})
		default:
			r.leave(id, leaving[W]{w, a.NextState, here}, d.source, first)
		}
		if r.work >= stepsPerLook {
			if err := r.look(); err != nil {
				return err
			}
		}
	}
	return r.look()
}

// look looks at the limits.
func (r *recursion[W]) look() error {
	r.work = 0
	return r.meter.Check(ops.Progress{States: len(r.data), Arcs: r.arcs, Bytes: r.size()})
}

// size is how many bytes are held.
func (r *recursion[W]) size() int64 {
	return r.held + r.entries.Bytes() + int64(cap(r.data))*int64(unsafe.Sizeof(derived[W]{})) +
		int64(cap(r.from))*int64(unsafe.Sizeof(recursiveSource[W]{})) + int64(cap(r.entry))*int64(unsafe.Sizeof(recursiveEntry[W]{})) +
		int64(cap(r.heap))*int64(unsafe.Sizeof(weighted[W]{})) + 4*int64(cap(r.next)+len(r.of)) + 2*int64(len(r.ahead[0]))*int64(unsafe.Sizeof(r.zero))
}

// call enters the state to by pair id, unless the search does that at no greater weight, and leaves
// it by all that is known.
func (r *recursion[W]) call(id int32, to fst.StateID, c caller[W]) {
	if r.ordered && r.worse(c.prefix.Times(r.toEnd(1, to))) {
		return
	}
	number := r.entryOf(id, to)
	r.begin(to, c.prefix)
	e := &r.entry[number]
	at := r.from[c.source].calls.at(number, anyKey, &r.held)
	switch {
	case *at == 0:
		before := cap(e.callers)
		e.callers = append(e.callers, c)
		r.held += int64(cap(e.callers)-before) * int64(unsafe.Sizeof(c))
		*at = int32(len(e.callers))
	case c.weight.Less(e.callers[*at-1].weight):
		e.callers[*at-1] = c
	default:
		return
	}
	r.work += len(e.exits)
	for k := range e.exits {
		x := &e.exits[k]
		r.relax(c.source, x.to, c.weight.Times(x.weight), c.prefix.Times(x.weight), c.by, x.by)
	}
}

// leave leaves the search of a source with pair id, unless it is left there at no greater weight,
// to all that entered it so.
func (r *recursion[W]) leave(id int32, x leaving[W], source int32, first bool) {
	number := r.entryOf(id, r.from[source].state)
	e := &r.entry[number]
	if r.keep && first {
		if list := r.closing[number]; len(list) == 0 || list[len(list)-1] != x.by.state {
			r.closing[number] = append(list, x.by.state)
			r.held += int64(cap(r.closing[number])-cap(list)) * numberSize
		}
	}
	at := e.to.at(int32(x.to), r.f.NumStates(), &r.held)
	switch {
	case *at == 0:
		before := cap(e.exits)
		e.exits = append(e.exits, x)
		r.held += int64(cap(e.exits)-before) * int64(unsafe.Sizeof(x))
		*at = int32(len(e.exits))
	case x.weight.Less(e.exits[*at-1].weight):
		e.exits[*at-1] = x
	default:
		return
	}
	r.work += len(e.callers)
	for k := range e.callers {
		c := &e.callers[k]
		r.relax(c.source, x.to, c.weight.Times(x.weight), c.prefix.Times(x.weight), c.by, x.by)
	}
}

// relax offers q, in the search from a source, a path of weight w; prefix is its weight from the
// start.
func (r *recursion[W]) relax(source int32, q fst.StateID, w, prefix W, last, exit use) {
	if r.ordered && r.worse(prefix.Times(r.toEnd(source, q))) {
		return
	}
	i := r.id(source, q)
	d := &r.data[i]
	if !w.Less(d.distance) {
		return
	}
	d.distance, d.parent, d.arc, d.exit, d.closing = w, last.state, last.arc, exit.state, exit.arc
	r.improved(i, prefix)
}

// distances is what the searches found, as one search at a time would have it, with what it keeps.
// Nothing else is to be asked of it.
func (r *recursion[W]) distances() *search[W] {
	s := &search[W]{f: r.f, parens: r.parens, op: r.op, zero: r.zero, one: r.one, keep: true,
		sources: r.sources, of: r.of, entries: r.entries, closing: r.closing, data: make([]searchState[W], len(r.data))}
	for i := range r.data {
		d := &r.data[i]
		s.data[i] = searchState[W]{distance: d.distance, q: d.q, parent: none, call: none}
	}
	for i := range s.sources {
		s.bytes += s.sources[i].states.bytes()
	}
	for e, from := range s.closing {
		if len(r.entry[e].callers) == 0 { // a parenthesis that nothing opened, at the end of the searches
			s.closing[e] = nil
		}
		s.bytes += numberSize * int64(cap(from))
	}
	return s
}

// path makes a machine of the best path, from its end on.
func (r *recursion[W]) path(keep bool) (*fst.Vector[W], error) {
	out := fst.NewVector[W](0)
	best, end := r.zero, none
	for i := range r.data {
		if d := &r.data[i]; d.source == 0 {
			if w := d.distance.Times(r.f.Final(d.q)); w.Less(best) {
				best, end = w, int32(i)
			}
		}
	}
	if end == none {
		return out, nil
	}
	p := out.AddState()
	out.SetFinal(p, r.f.Final(r.data[end].q))
	// What is still to be written: arcs, and the paths to search states, whose arc is none.
	todo := []use{{end, none}}
	for len(todo) > 0 {
		u := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		d := &r.data[u.state]
		switch {
		case u.arc == none && d.parent == none:
			continue
		case u.arc == none && d.exit == none:
			todo = append(todo, use{d.parent, none}, use{d.parent, d.arc})
			continue
		case u.arc == none:
			todo = append(todo, use{d.parent, none}, use{d.parent, d.arc}, use{d.exit, none}, use{d.exit, d.closing})
			continue
		}
		a := r.f.Arcs(d.q)[u.arc]
		if id, _ := r.parens.of(a.ILabel); id != noParen && !keep {
			a.ILabel, a.OLabel = fst.Epsilon, fst.Epsilon
		}
		a.NextState = p
		p = out.AddState()
		out.AddArc(p, a)
		n := ops.SizeOf[W](out.NumStates(), int64(out.NumArcs()))
		n.Bytes += 8 * int64(cap(todo))
		if err := r.meter.Check(n); err != nil {
			return nil, err
		}
	}
	out.SetStart(p)
	return out, nil
}

// weightHeap is a heap of numbers with weights, which pops one with the least weight. A number
// whose weight falls is pushed again.
type weightHeap[W semiring.Path[W]] []weighted[W]

type weighted[W any] struct {
	weight W
	number int32
}

// push and pop have four below each, which are side by side: fewer levels than two.
func (h *weightHeap[W]) push(w W, number int32) {
	s := append(*h, weighted[W]{w, number})
	i := len(s) - 1
	for ; i > 0 && w.Less(s[(i-1)/4].weight); i = (i - 1) / 4 {
		s[i] = s[(i-1)/4]
	}
	s[i] = weighted[W]{w, number}
	*h = s
}

func (h *weightHeap[W]) pop() (w W, number int32) {
	s := *h
	top, n := s[0], len(s)-1
	last := s[n]
	s = s[:n]
	i := 0
	for c := 1; c < n; c = 4*i + 1 {
		least := c
		for k := c + 1; k < min(c+4, n); k++ {
			if s[k].weight.Less(s[least].weight) {
				least = k
			}
		}
		if !s[least].weight.Less(last.weight) {
			break
		}
		s[i], i = s[least], least
	}
	if n > 0 {
		s[i] = last
	}
	*h = s
	return top.weight, top.number
}
