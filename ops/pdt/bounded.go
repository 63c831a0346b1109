package pdt

import (
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// ErrUnbounded reports a PDT whose stack grows without bound.
var ErrUnbounded = errors.New("the stack of parentheses is not bounded")

// Bounded returns nil if the stack of the PDT f is bounded, that is if its expansion is finite.
// Otherwise it returns a StateError around ErrUnbounded at a state from which the stack grows for
// ever. The limits bound the bytes and the time of the search.
//
// Call d a state that an opening parenthesis leads to. The stack is unbounded just if some reached
// d can be entered again on top of itself. Then a balanced path leads from d to an opening
// parenthesis, and from the state behind it the same leads back to d. All of that lies in one
// strongly connected component of f. If no component has an opening parenthesis inside, as in an
// acyclic machine, the answer takes O(states + arcs). Otherwise two searches run in turn, since
// either may finish first. One looks for such a d, component by component. The other looks at the
// states that can be entered.
//
// Cost: O(entries² · (states + arcs)) at worst, where entries are the states that opening
// parentheses lead to. Only entries inside components count if no d is found.
//
// The searches sum up balanced paths as R. Alur et al., "Analysis of recursive state
// machines", TOPLAS 27(4), 2005.
func Bounded[W semiring.Weight[W]](f fst.Expanded[W], pairs []fst.LabelPair, lim ops.Limits) error {
	const op = "pdt.Bounded"
	if f.Start() == fst.NoState || len(pairs) == 0 {
		return nil
	}
	t := newStackTest(f, newParens(pairs), op, make([]bool, f.NumStates()))
	meter := ops.NewMeter(op, ops.Limits{Ctx: lim.Ctx, Bytes: lim.Bytes})
	for !t.done {
		if err := t.work(1 << 8); err != nil {
			return err
		}
		if err := meter.Check(t.size()); err != nil {
			return err
		}
	}
	return nil
}

// stackTest finds out piece by piece whether the stack of f is bounded, so that it can
// run beside an expansion.
type stackTest[W semiring.Weight[W]] struct {
	op   string
	done bool // it is known

	within   *summary[W]               // balanced paths within each component
	complete bool                      // all of those are found
	known    int                       // calls of within that again is from
	again    map[fst.StateID]fst.Label // states that can be entered from above themselves, and by what
	reached  *summary[W]               // balanced paths from the start, and from what is entered on them
	entered  []bool                    // states that are entered, shared with the expansion
}

func newStackTest[W semiring.Weight[W]](f fst.Expanded[W], p *parens, op string, entered []bool) *stackTest[W] {
	component := componentsOf(f)
	t := &stackTest[W]{op: op, again: map[fst.StateID]fst.Label{}, entered: entered,
		within: newSummary(f, p, component), reached: newSummary(f, p, nil)}
	for q := range fst.StateID(f.NumStates()) {
		for _, a := range f.Arcs(q) {
			if id, opens := p.of(a.ILabel); id != noParen && opens && component[q] == component[a.NextState] {
				t.within.enter(a.NextState)
			}
		}
	}
	t.done = t.within.entries.Len() == 0
	t.reached.enter(f.Start())
	return t
}

// work does about n steps of the test; it ends with an error if the stack is not bounded.
func (t *stackTest[W]) work(n int64) error {
	for end := t.steps() + n; !t.done && t.steps() < end; {
		look := t.lookReached
		if !t.complete && t.within.steps <= t.reached.steps {
			look = t.lookWithin
		}
		if err := look(); err != nil {
			return err
		}
	}
	return nil
}

func (t *stackTest[W]) steps() int64 { return t.within.steps + t.reached.steps }

// lookWithin goes on with the search for states that can be entered from above
// themselves. They are sought when there are twice as many calls as before, which so
// costs no more than to find the calls.
func (t *stackTest[W]) lookWithin() error {
	t.complete = !t.within.next()
	if !t.complete && t.within.calls.Len() < 2*t.known {
		return nil
	}
	t.known = max(8, t.within.calls.Len())
	var err error
	t.within.circles(func(q fst.StateID, opening fst.Label) bool {
		t.again[q] = opening
		err = t.enter(q, t.entered[q])
		return err == nil
	})
	t.done = t.done || t.complete && len(t.again) == 0
	return err
}

// lookReached goes on with the search for states that are entered.
func (t *stackTest[W]) lookReached() (err error) {
	known := t.reached.entries.Len()
	if !t.reached.next() {
		t.done = true
		t.reached.circles(func(q fst.StateID, opening fst.Label) bool {
			err = t.unbounded(q, opening)
			return false
		})
		return err
	}
	for ; known < t.reached.entries.Len() && err == nil; known++ {
		err = t.enter(t.reached.entries.Key(fst.StateID(known)), true)
	}
	return err
}

// enter notes that an opening parenthesis leads to q on some path, if so it is.
func (t *stackTest[W]) enter(q fst.StateID, yes bool) error {
	if !yes {
		return nil
	}
	t.entered[q] = true
	if opening, ok := t.again[q]; ok {
		return t.unbounded(q, opening)
	}
	return nil
}

func (t *stackTest[W]) unbounded(q fst.StateID, opening fst.Label) error {
	t.done = true
	return &ops.StateError{Op: t.op, State: q, Err: fmt.Errorf("parenthesis %d leads back to this state on top of itself, so that %w", opening, ErrUnbounded)}
}

func (t *stackTest[W]) size() ops.Progress {
	p, other := t.within.size(), t.reached.size()
	return ops.Progress{States: p.States + other.States, Bytes: p.Bytes + other.Bytes + 32*int64(len(t.again)) + int64(len(t.entered))}
}

// componentsOf numbers the strongly connected components of f.
func componentsOf[W semiring.Weight[W]](f fst.Expanded[W]) []int32 {
	next := make([][]int32, f.NumStates())
	all := make([]int32, 0, fst.NumArcs(f))
	for q := range next {
		first := len(all)
		for _, a := range f.Arcs(fst.StateID(q)) {
			all = append(all, int32(a.NextState))
		}
		next[q] = all[first:]
	}
	of, _ := connected(next)
	return of
}

// summary finds the balanced paths from entries, the states that opening parentheses
// lead to. What is found of an entry is used wherever it is entered: a call. Where
// components are given, it is of the arcs within one alone.
type summary[W semiring.Weight[W]] struct {
	f         fst.Expanded[W]
	parens    *parens
	component []int32

	entries *fst.Table[fst.StateID]
	search  *fst.Table[configuration] // pairs of a state and an entry (the stack) that a balanced path leads to
	at      int                       // those before it are done
	steps   int64                     // arcs and matches that were looked at

	// What closes an entry's parenthesis, and who waits for that, is listed for each
	// entry and pair.
	sides   *fst.Table[side]
	exits   [][]fst.StateID
	callers [][]int32            // entries
	closed  *fst.Table[[2]int32] // side and state, of exits
	calls   *fst.Table[[2]int32] // side and entry, of callers
}

// side is an entry with one pair of parentheses.
type side struct{ entry, paren int32 }

func newSummary[W semiring.Weight[W]](f fst.Expanded[W], p *parens, component []int32) *summary[W] {
	two := func(k [2]int32) uint64 { return fst.Mix(uint64(uint32(k[0]))<<32 | uint64(uint32(k[1]))) }
	return &summary[W]{f: f, parens: p, component: component, search: configurations(),
		entries: fst.NewTable(func(q fst.StateID) uint64 { return fst.Mix(uint64(q)) }),
		sides:   fst.NewTable(func(s side) uint64 { return fst.Mix(uint64(uint32(s.entry))<<32 | uint64(uint32(s.paren))) }),
		closed:  fst.NewTable(two), calls: fst.NewTable(two)}
}

func (s *summary[W]) enter(q fst.StateID) int32 {
	e, isNew := s.entries.ID(q)
	if isNew {
		s.search.ID(configuration{q, int32(e)})
	}
	return int32(e)
}

func (s *summary[W]) side(entry, paren int32) int32 {
	id, isNew := s.sides.ID(side{entry, paren})
	if isNew {
		s.exits, s.callers = append(s.exits, nil), append(s.callers, nil)
	}
	return int32(id)
}

// next follows the arcs of one more pair of a state and an entry, and tells whether
// there was one.
func (s *summary[W]) next() bool {
	if s.at == s.search.Len() {
		return false
	}
	c := s.search.Key(fst.StateID(s.at))
	s.at++
	s.steps++
	for _, a := range s.f.Arcs(c.q) {
		if s.component != nil && s.component[a.NextState] != s.component[c.q] {
			continue
		}
		s.steps++
		switch id, opens := s.parens.of(a.ILabel); {
		case id == noParen:
			s.search.ID(configuration{a.NextState, c.stack})
		case opens:
			s.call(c.stack, s.side(s.enter(a.NextState), id))
		default:
			s.close(s.side(c.stack, id), a.NextState)
		}
	}
	return true
}

// call has the entry go on where the side that it enters is closed.
func (s *summary[W]) call(entry, into int32) {
	if _, isNew := s.calls.ID([2]int32{into, entry}); !isNew {
		return
	}
	s.callers[into] = append(s.callers[into], entry)
	s.steps += int64(len(s.exits[into]))
	for _, q := range s.exits[into] {
		s.search.ID(configuration{q, entry})
	}
}

// close has those that entered the side go on at q.
func (s *summary[W]) close(at int32, q fst.StateID) {
	if _, isNew := s.closed.ID([2]int32{at, int32(q)}); !isNew {
		return
	}
	s.exits[at] = append(s.exits[at], q)
	s.steps += int64(len(s.callers[at]))
	for _, entry := range s.callers[at] {
		s.search.ID(configuration{q, entry})
	}
}

// circles yields the entries that call themselves by way of others or at once, with
// the parenthesis that leads there, until yield returns false.
func (s *summary[W]) circles(yield func(q fst.StateID, opening fst.Label) bool) {
	next := make([][]int32, s.entries.Len())
	for i := range s.calls.Len() {
		c := s.calls.Key(fst.StateID(i))
		next[c[1]] = append(next[c[1]], s.sides.Key(fst.StateID(c[0])).entry)
	}
	of, _ := connected(next)
	for i := range s.calls.Len() {
		c := s.calls.Key(fst.StateID(i))
		into := s.sides.Key(fst.StateID(c[0]))
		if of[c[1]] == of[into.entry] && !yield(s.entries.Key(fst.StateID(into.entry)), s.parens.pairs[into.paren].From) {
			return
		}
	}
}

func (s *summary[W]) size() ops.Progress {
	bytes := s.entries.Bytes() + s.search.Bytes() + s.sides.Bytes() + s.closed.Bytes() + s.calls.Bytes()
	bytes += 4*int64(len(s.component)) + 48*int64(s.sides.Len()) + 8*int64(s.closed.Len()+s.calls.Len()) // lists, with the room in them
	return ops.Progress{States: s.search.Len(), Bytes: bytes}
}
