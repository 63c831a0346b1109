package pdt

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// ShortestPathOptions adjusts ShortestPath; nil is the same as the zero value.
type ShortestPathOptions struct {
	Queue      ops.Queue // QueueFIFO (also for QueueAuto), QueueLIFO or QueueStateOrder
	KeepParens bool      // leave parentheses on the arcs; by default they become ε
	ops.Limits           // States and Arcs bound the path, Bytes the search
}

// ShortestPath returns the best path of the PDT f whose parentheses balance, as a
// machine of its own, without states if there is none. State 0 is the last of the
// path.
//
// The stack must be bounded where f has paths of weights other than 0̄, and no cycle
// may improve a path: errors are StateErrors around ErrUnbounded and
// ops.ErrNotClosed.
//
// Each state that an opening parenthesis leads to is the source of a search of its
// own, over pairs of it and a state; what it finds up to the matching closing
// parentheses is used wherever a parenthesis leads there. With a FIFO queue, O(k·V·E)
// time for k such states, and O(k·(V+E)) where each search relaxes a state once.
//
// Equal paths are decided as in OpenFst 1.7.9, except where that mistakes the
// distance at which one search enters another for that of a third one which entered
// it just before, and so passes over better paths.
//
// Allauzen and Riley 2012, section 5.4; Allauzen et al. 2014, section 4.3.
func ShortestPath[W semiring.Path[W]](f fst.Expanded[W], pairs []fst.LabelPair, opts *ShortestPathOptions) (*fst.Vector[W], error) {
	var o ShortestPathOptions
	if opts != nil {
		o = *opts
	}
	s, err := newSearch(f, pairs, o.Queue, "pdt.ShortestPath", o.Limits)
	if err != nil {
		return nil, err
	}
	if err := s.run(); err != nil {
		return nil, err
	}
	out, err := s.path(o.KeepParens)
	if err != nil {
		return nil, err
	}
	out.CopySymbols(f)
	return out, ops.CheckLimits("pdt.ShortestPath", out, ops.Limits{States: o.States, Arcs: o.Arcs})
}

// none is no search state.
const none int32 = -1

// searchState is what is known of a state in the search from a source: the weight of
// the best balanced path between them, and how it ends.
type searchState[W any] struct {
	distance W
	parent   int32 // search state before the last arc, maybe of a search that was entered; none at the source
	call     int32 // index into calls of the entry whose closing parenthesis is the last arc; none for an ordinary one
	flags    uint8
}

const (
	queued uint8 = 1 << iota
	relaxed
	complete // of a source: its search is over
)

// callKey is where a search enters another: the pair of parentheses, the source of
// the one that enters and that of the one entered.
type callKey struct {
	paren    int32
	from, to fst.StateID
}

// callData is the best way to enter: the weight up to and with the parenthesis, and
// the search state that it leaves.
type callData[W any] struct {
	distance W
	parent   int32
}

// entryKey is a state that pair paren opens to.
type entryKey struct {
	paren int32
	to    fst.StateID
}

type search[W semiring.Path[W]] struct {
	f      fst.Expanded[W]
	parens *parens
	kind   ops.Queue
	op     string
	meter  *ops.Meter
	zero   W
	one    W

	states *fst.Table[configuration] // the stack is the source
	data   []searchState[W]
	calls  *fst.Table[callKey]
	entry  []callData[W]
	opened map[entryKey]bool          // where parentheses lead to
	closer map[entryKey][]fst.StateID // of those, states, ascending, with a matching parenthesis, once the search is over

	final  W // of the best path
	finalQ int32
}

func newSearch[W semiring.Path[W]](f fst.Expanded[W], pairs []fst.LabelPair, kind ops.Queue, op string, lim ops.Limits) (*search[W], error) {
	switch kind {
	case ops.QueueAuto, ops.QueueFIFO, ops.QueueLIFO, ops.QueueStateOrder:
	default:
		return nil, fmt.Errorf("ops: %s: queue discipline %v is none of fifo, lifo, state", op, kind)
	}
	s := &search[W]{f: f, parens: newParens(pairs), kind: kind, op: op,
		meter: ops.NewMeter(op, ops.Limits{Ctx: lim.Ctx, Bytes: lim.Bytes}), zero: semiring.Zero[W](), one: semiring.One[W](),
		states: configurations(), opened: map[entryKey]bool{}, closer: map[entryKey][]fst.StateID{}, finalQ: none}
	for q := range fst.StateID(f.NumStates()) {
		for _, a := range f.Arcs(q) {
			if id, opens := s.parens.of(a.ILabel); opens {
				s.opened[entryKey{id, a.NextState}] = true
			}
		}
	}
	s.calls = fst.NewTable(func(k callKey) uint64 {
		return fst.Mix(fst.Mix(uint64(uint32(k.from))<<32|uint64(uint32(k.to))) ^ uint64(uint32(k.paren)))
	})
	s.final = s.zero
	return s, nil
}

// id returns the search state of q from source.
func (s *search[W]) id(q, source fst.StateID) int32 {
	i, isNew := s.states.ID(configuration{q, int32(source)})
	if isNew {
		s.data = append(s.data, searchState[W]{distance: s.zero, parent: none, call: none})
	}
	return int32(i)
}

// distance is the weight of the best balanced path from source to q that was found.
func (s *search[W]) distance(q, source fst.StateID) W {
	if i := s.states.Find(configuration{q, int32(source)}); i != fst.NoState {
		return s.data[i].distance
	}
	return s.zero
}

// run is a search from a source under way. One that enters another waits below it
// on a stack, for the depth of parentheses is that of the input.
type run struct {
	source  fst.StateID
	queue   queue
	at      int32 // search state whose arcs are being followed, none before the first
	next    int   // arc of it
	steps   int   // states taken from the queue
	waiting bool  // for the search that arc next-1 enters
}

// run searches from the start state and all that is entered from there.
func (s *search[W]) run() error {
	start := s.f.Start()
	if start == fst.NoState {
		return nil
	}
	stack := []*run{s.begin(start)}
	for len(stack) > 0 {
		r := stack[len(stack)-1]
		entered, err := s.step(r)
		switch {
		case err != nil:
			return err
		case entered != fst.NoState:
			stack = append(stack, s.begin(entered))
		case r.queue.empty() && r.at == none:
			s.finish(r)
			stack = stack[:len(stack)-1]
		}
	}
	return nil
}

func (s *search[W]) begin(source fst.StateID) *run {
	r := &run{source: source, queue: newQueue(s.kind), at: none}
	i := s.id(source, source)
	s.enqueue(r, i)
	s.data[i].distance = s.one
	return r
}

// finish orders the closing parentheses that a search has found.
func (s *search[W]) finish(r *run) {
	s.data[s.id(r.source, r.source)].flags |= complete
	// The keys of this source are found by its pairs; each was appended to in the
	// order of the search.
	for id := range s.parens.pairs {
		k := entryKey{int32(id), r.source}
		if qs, ok := s.closer[k]; ok {
			slices.Sort(qs)
			s.closer[k] = slices.Compact(qs)
		}
	}
}

// step follows arcs until one enters a search that has not been made, whose source
// it returns, or those of one state are done.
func (s *search[W]) step(r *run) (entered fst.StateID, err error) {
	if r.at == none {
		if r.queue.empty() {
			return fst.NoState, nil
		}
		r.at, r.next = s.id(r.queue.pop(), r.source), 0
		s.data[r.at].flags &^= queued
		s.atFinal(r)
		r.steps++
		if err := s.check(r); err != nil {
			return fst.NoState, err
		}
	}
	q := s.states.Key(fst.StateID(r.at)).q
	arcs := s.f.Arcs(q)
	for r.waiting || r.next < len(arcs) {
		if r.waiting { // the search that it waited for is over
			r.waiting = false
			s.closeCall(r, &arcs[r.next-1])
			continue
		}
		a := &arcs[r.next]
		r.next++
		id, opens := s.parens.of(a.ILabel)
		switch {
		case id == noParen:
			s.relax(r, a.NextState, s.data[r.at].distance.Times(a.Weight), r.at, none)
		case opens:
			w := s.data[r.at].distance.Times(a.Weight)
			call, isNew := s.calls.ID(callKey{id, r.source, a.NextState})
			if isNew {
				s.entry = append(s.entry, callData[W]{s.zero, none})
			}
			e := &s.entry[call]
			if e.distance.Plus(w).Equal(e.distance) {
				continue
			}
			e.distance, e.parent = w, r.at
			r.waiting = true
			source := s.id(a.NextState, a.NextState)
			switch d := &s.data[source]; {
			case d.distance.Equal(s.zero) && d.flags&(complete|queued) == 0:
				return a.NextState, nil
			case d.flags&complete == 0:
				return fst.NoState, &ops.StateError{Op: s.op, State: q, Err: fmt.Errorf("parenthesis %d leads to state %d within itself, so that %w",
					a.ILabel, a.NextState, ErrUnbounded)}
			}
		case s.data[r.at].flags&relaxed == 0:
			if k := (entryKey{id, r.source}); s.opened[k] {
				s.closer[k] = append(s.closer[k], q)
			}
		}
	}
	s.data[r.at].flags |= relaxed
	r.at = none
	return fst.NoState, nil
}

// closeCall relaxes what follows the closing parentheses of the arc a, which opens.
func (s *search[W]) closeCall(r *run, a *fst.Arc[W]) {
	id, _ := s.parens.of(a.ILabel)
	call := int32(s.calls.Find(callKey{id, r.source, a.NextState}))
	w := s.entry[call].distance // of this arc: nothing has come between
	for _, q := range s.closer[entryKey{id, a.NextState}] {
		i := s.id(q, a.NextState)
		arcs := s.f.Arcs(q)
		for k := len(arcs) - 1; k >= 0; k-- { // OpenFst's table has them in this order
			if b := &arcs[k]; b.ILabel == s.parens.pairs[id].To {
				s.relax(r, b.NextState, w.Times(s.data[i].distance.Times(b.Weight)), i, call)
			}
		}
	}
}

// relax offers q, in the search r, a path of weight w that ends after the search
// state before.
func (s *search[W]) relax(r *run, q fst.StateID, w W, before, call int32) {
	i := s.id(q, r.source)
	d := &s.data[i]
	sum := d.distance.Plus(w)
	if sum.Equal(d.distance) {
		return
	}
	d.distance, d.parent, d.call = sum, before, call
	s.enqueue(r, i)
}

func (s *search[W]) enqueue(r *run, i int32) {
	if s.data[i].flags&queued == 0 {
		s.data[i].flags |= queued
		r.queue.push(s.states.Key(fst.StateID(i)).q)
	}
}

// atFinal updates the best complete path.
func (s *search[W]) atFinal(r *run) {
	if r.source != s.f.Start() {
		return
	}
	w := s.f.Final(s.states.Key(fst.StateID(r.at)).q)
	if w.Equal(s.zero) {
		return
	}
	if sum := s.final.Plus(s.data[r.at].distance.Times(w)); !sum.Equal(s.final) {
		s.final, s.finalQ = sum, r.at
	}
}

// check looks at the limits, and every now and then for a cycle of parents, which is
// there sooner or later just if one improves a path.
func (s *search[W]) check(r *run) error {
	bytes := s.states.Bytes() + int64(cap(s.data))*int64(unsafe.Sizeof(searchState[W]{})) +
		s.calls.Bytes() + int64(cap(s.entry))*int64(unsafe.Sizeof(callData[W]{}))
	if err := s.meter.Check(ops.Progress{States: len(s.data), Bytes: bytes}); err != nil {
		return err
	}
	if n := s.f.NumStates(); r.steps%(n+1) != n {
		return nil
	}
	// Brent: the hare waits at powers of two for the tortoise's place to come again.
	mark, i, lap, power := r.at, s.before(r.at), 0, 1
	for i != none && i != mark {
		if lap++; lap == power {
			mark, lap, power = i, 0, 2*power
		}
		i = s.before(i)
	}
	if i == none {
		return nil
	}
	return &ops.StateError{Op: s.op, State: s.states.Key(fst.StateID(i)).q, Err: fmt.Errorf("a cycle through this state makes paths ever better: %w", ops.ErrNotClosed)}
}

// before returns the search state before i in its own search.
func (s *search[W]) before(i int32) int32 {
	if call := s.data[i].call; call != none {
		return s.entry[call].parent
	}
	return s.data[i].parent
}

// path makes a machine of the best path, from its end on.
func (s *search[W]) path(keep bool) (*fst.Vector[W], error) {
	out := fst.NewVector[W](0)
	at := s.finalQ
	if at == none {
		return out, nil
	}
	p := out.AddState()
	out.SetFinal(p, s.f.Final(s.states.Key(fst.StateID(at)).q))
	var within []int32 // calls that the path is in, going backwards
	for {
		d := &s.data[at]
		prev, call, opens := d.parent, d.call, false
		if prev == none {
			if len(within) == 0 {
				break
			}
			call, opens = within[len(within)-1], true
			within = within[:len(within)-1]
			prev = s.entry[call].parent
		} else if call != none {
			within = append(within, call)
		}
		id := noParen
		if call != none {
			id = s.calls.Key(fst.StateID(call)).paren
		}
		a, err := s.arc(prev, at, id, opens)
		if err != nil {
			return nil, err
		}
		if id != noParen && !keep {
			a.ILabel, a.OLabel = fst.Epsilon, fst.Epsilon
		}
		next := p
		p = out.AddState()
		a.NextState = next
		out.AddArc(p, a)
		at = prev
		if err := s.meter.Check(ops.SizeOf[W](out.NumStates(), int64(out.NumArcs()))); err != nil {
			return nil, err
		}
	}
	out.SetStart(p)
	return out, nil
}

// arc returns the best arc between two search states with a parenthesis of the pair,
// or none: the last of equal ones.
func (s *search[W]) arc(from, to, paren int32, opens bool) (best fst.Arc[W], err error) {
	best = fst.Arc[W]{ILabel: fst.NoLabel, OLabel: fst.NoLabel, Weight: s.zero, NextState: fst.NoState}
	target := s.states.Key(fst.StateID(to)).q
	q := s.states.Key(fst.StateID(from)).q
	for _, a := range s.f.Arcs(q) {
		if a.NextState != target {
			continue
		}
		id, o := s.parens.of(a.ILabel)
		if id != paren || id != noParen && o != opens {
			continue
		}
		if a.Weight.Plus(best.Weight).Equal(a.Weight) {
			best = a
		}
	}
	if best.NextState == fst.NoState {
		err = &ops.StateError{Op: s.op, State: q, Err: fmt.Errorf("no arc to state %d is on the best path: are there NaN weights?", target)}
	}
	return best, err
}
