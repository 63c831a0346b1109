package pdt

import (
	"cmp"
	"errors"
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
	// Limits holds for the search: States are the pairs of a state and a source that it
	// comes to, and Arcs those that leave them. The path has no more of either.
	ops.Limits
}

// ShortestPath returns the best path of the PDT f whose parentheses balance, as a
// machine of its own, without states if there is none. State 0 is the last of the
// path.
//
// No cycle may improve a path: the error is a StateError around ops.ErrNotClosed.
//
// If the stack is unbounded, a search enters itself. Then all searches run at once, and the best
// path may be exponentially longer than f. If no arc is better than 1̄, they go on in order, and
// only as far as they may find part of a best path. That is mostly a small part of O(k·V·E·log +
// entries · exits), the cube of the number of states at worst. Entries are pairs of a search and a
// search that it enters, and exits are the arcs that close those. Otherwise they go on in rounds,
// each at that cost.
//
// Each state that an opening parenthesis leads to is the source of a search of its own, over pairs
// of it and a state. What the search finds up to the matching closing parentheses is used wherever
// a parenthesis leads to that source. With a FIFO queue, O(k·V·E) time for k such states, and
// O(k·(V+E)) where each search relaxes a state once.
//
// Ties are decided as in OpenFst 1.7.9, with one exception. OpenFst can mistake the distance at
// which one search enters another for that of a third search which entered it just before. It then
// misses better paths.
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
	var out *fst.Vector[W]
	if err = s.run(); errors.Is(err, ErrUnbounded) {
		out, err = recursivePath(f, s.parens, "pdt.ShortestPath", &o)
	} else if err == nil {
		out, err = s.path(o.KeepParens)
	}
	if err != nil {
		return nil, err
	}
	out.CopySymbols(f)
	return out, nil
}

// none is no search state.
const none int32 = -1

// searchState is what is known of a state in the search from a source: the weight of the best
// balanced path between them, and how that path ends.
type searchState[W any] struct {
	distance W
	q        fst.StateID
	parent   int32 // search state before the last arc, maybe of a search that was entered; none at the source
	call     int32 // the entry whose closing parenthesis is the last arc; none for an ordinary one
	flags    uint8
}

const (
	queued uint8 = 1 << iota
	relaxed
)

// callData is the best way for one search to enter another: the weight up to and including the
// parenthesis, and the search state that it leaves.
type callData[W any] struct {
	distance W
	parent   int32
	entry    int32
}

// entryKey is a state that pair paren opens to.
type entryKey struct {
	paren int32
	to    fst.StateID
}

// exit is an arc with the parenthesis that closes an entry. It has the state that the arc leads to,
// the search state that it leaves, and the weight from the entry's state up to and including the
// arc.
type exit[W any] struct {
	weight W
	to     fst.StateID
	from   int32
}

// source is a state from which there is a search.
type source struct {
	states   places // search states
	complete bool   // the search is over
}

type search[W semiring.Path[W]] struct {
	f      fst.Expanded[W]
	parens *parens
	kind   ops.Queue
	op     string
	meter  *ops.Meter
	zero   W
	one    W
	keep   bool    // distances are asked for when the search is over
	rank   []int32 // if not nil, states wait by theirs, the highest first, whatever kind says

	data    []searchState[W]
	calls   []callData[W]
	sources []source
	of      []int32 // source that each state is, or none
	entries *fst.Table[entryKey]
	closing [][]int32   // of each entry, while it is searched, search states with a matching parenthesis; with keep for good, by their states ascending
	exits   [][]exit[W] // then the arcs with it that may improve a path, by their states ascending, backwards at each
	best    []int32     // scratch: exit to each state, from 1
	arcs    int64
	work    int   // exits that were followed since the limits were looked at
	bytes   int64 // held by places and exits

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
		meter: ops.NewMeter(op, lim), zero: semiring.Zero[W](), one: semiring.One[W](),
		of: slices.Repeat([]int32{none}, f.NumStates()), finalQ: none}
	s.entries = fst.NewTable(func(k entryKey) uint64 { return fst.Mix(uint64(uint32(k.to))<<32 | uint64(uint32(k.paren))) })
	for q := range fst.StateID(f.NumStates()) {
		for _, a := range f.Arcs(q) {
			if id, opens := s.parens.of(a.ILabel); opens {
				s.entries.ID(entryKey{id, a.NextState})
			}
		}
	}
	s.closing, s.exits = make([][]int32, s.entries.Len()), make([][]exit[W], s.entries.Len())
	s.final = s.zero
	return s, nil
}

// id returns the search state of q in the search r.
func (s *search[W]) id(r *searching, q fst.StateID) int32 {
	at := s.sources[r.number].states.at(int32(q), s.f.NumStates(), &s.bytes)
	if *at == 0 {
		s.data = append(s.data, searchState[W]{distance: s.zero, q: q, parent: none, call: none})
		*at = int32(len(s.data))
	}
	return *at - 1
}

// distance is the weight of the best balanced path from source to q that was found.
func (s *search[W]) distance(q, source fst.StateID) W {
	if n := s.of[source]; n != none {
		if i := s.sources[n].states.find(int32(q)); i != 0 {
			return s.data[i-1].distance
		}
	}
	return s.zero
}

// searching is a search from a source under way. One that enters another waits below it
// on a stack, for the depth of parentheses is that of the input.
type searching struct {
	source  fst.StateID
	number  int32 // of the source
	queue   queue
	calls   places  // by the entry
	closed  []int32 // entries that closing is there for
	at      int32   // search state whose arcs are being followed, none before the first
	next    int     // arc of it
	steps   int     // states taken from the queue
	waiting bool    // for the search that arc next-1 enters
	call    int32   // by which it does
}

// run searches from the start state and all that is entered from there.
func (s *search[W]) run() error {
	start := s.f.Start()
	if start == fst.NoState {
		return nil
	}
	stack := []*searching{s.begin(start)}
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

func (s *search[W]) begin(from fst.StateID) *searching {
	r := &searching{source: from, number: int32(len(s.sources)), queue: s.newQueue(), at: none}
	s.of[from] = r.number
	s.sources = append(s.sources, source{})
	i := s.id(r, from)
	s.enqueue(r, i)
	s.data[i].distance = s.one
	return r
}

// finish lists the arcs by which the search can be left. It omits an arc if an earlier one leads to
// the same state with a weight that is no worse, since that arc never improves a path. Where only
// paths are sought, the index of the search's states is given back. Where distances are, the states
// that close the search are kept.
func (s *search[W]) finish(r *searching) {
	for _, e := range r.closed {
		from := s.closing[e]
		s.bytes -= numberSize * int64(len(from))
		slices.SortFunc(from, func(i, j int32) int { return cmp.Compare(s.data[i].q, s.data[j].q) })
		from = slices.Compact(from)
		closes := s.parens.pairs[s.entries.Key(fst.StateID(e)).paren].To
		var exits []exit[W]
		for _, i := range from {
			for _, a := range slices.Backward(s.f.Arcs(s.data[i].q)) { // OpenFst's table has them in this order
				if a.ILabel == closes {
					exits = append(exits, exit[W]{s.data[i].distance.Times(a.Weight), a.NextState, i})
				}
			}
		}
		exits = s.useful(exits)
		s.exits[e], s.closing[e] = exits, nil
		if s.keep {
			s.closing[e] = slices.Clip(from)
			s.bytes += numberSize * int64(len(from))
		}
		s.bytes += int64(cap(exits)) * int64(unsafe.Sizeof(exit[W]{}))
	}
	s.bytes -= r.calls.bytes()
	from := &s.sources[r.number]
	if from.complete = true; !s.keep {
		s.bytes -= from.states.bytes()
		from.states = places{}
	}
}

// useful leaves out the exits that are no better than one before them.
func (s *search[W]) useful(exits []exit[W]) []exit[W] {
	if len(exits) < 2 {
		return exits
	}
	if s.best == nil {
		s.best = make([]int32, s.f.NumStates())
	}
	kept := exits[:0]
	for _, x := range exits {
		if b := s.best[x.to]; b == 0 || x.weight.Less(kept[b-1].weight) {
			kept = append(kept, x)
			s.best[x.to] = int32(len(kept))
		}
	}
	for i := range kept {
		s.best[kept[i].to] = 0
	}
	return slices.Clone(kept)
}

// step follows arcs until one enters a search that has not been made, whose source
// it returns, or those of one state are done.
func (s *search[W]) step(r *searching) (entered fst.StateID, err error) {
	if r.at == none {
		if r.queue.empty() {
			return fst.NoState, nil
		}
		r.at, r.next = s.id(r, r.queue.pop()), 0
		s.data[r.at].flags &^= queued
		s.atFinal(r)
		r.steps++
		if err := s.check(r); err != nil {
			return fst.NoState, err
		}
	}
	q := s.data[r.at].q
	arcs := s.f.Arcs(q)
	for r.waiting || r.next < len(arcs) {
		if r.waiting { // the search that it waited for is over
			r.waiting = false
			s.closeCall(r)
			if s.work >= stepsPerLook {
				if err := s.look(); err != nil {
					return fst.NoState, err
				}
			}
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
			r.call = s.callOf(r, entryKey{id, a.NextState})
			e := &s.calls[r.call]
			if !w.Less(e.distance) {
				continue
			}
			e.distance, e.parent = w, r.at
			r.waiting = true
			switch n := s.of[a.NextState]; {
			case n == none:
				return a.NextState, nil
			case !s.sources[n].complete:
				return fst.NoState, &ops.StateError{Op: s.op, State: q, Err: fmt.Errorf("parenthesis %d leads to state %d within itself, so that %w",
					a.ILabel, a.NextState, ErrUnbounded)}
			}
		case s.data[r.at].flags&relaxed == 0:
			if e := s.entries.Find(entryKey{id, r.source}); e != fst.NoState {
				if s.closing[e] == nil {
					r.closed = append(r.closed, int32(e))
				}
				s.closing[e] = append(s.closing[e], r.at)
				s.bytes += numberSize
			}
		}
	}
	if s.data[r.at].flags&relaxed == 0 {
		s.data[r.at].flags |= relaxed
		s.arcs += int64(len(arcs))
	}
	r.at = none
	return fst.NoState, nil
}

// callOf returns the call of the search r that enters there.
func (s *search[W]) callOf(r *searching, there entryKey) int32 {
	e := int32(s.entries.Find(there))
	at := r.calls.at(e, s.entries.Len(), &s.bytes)
	if *at == 0 {
		s.calls = append(s.calls, callData[W]{s.zero, none, e})
		*at = int32(len(s.calls))
	}
	return *at - 1
}

// closeCall relaxes what follows the closing parentheses of the call at hand.
func (s *search[W]) closeCall(r *searching) {
	c := s.calls[r.call]
	s.work += len(s.exits[c.entry])
	for _, x := range s.exits[c.entry] {
		s.relax(r, x.to, c.distance.Times(x.weight), x.from, r.call)
	}
}

// relax offers q, in the search r, a path of weight w that ends after the search
// state before.
func (s *search[W]) relax(r *searching, q fst.StateID, w W, before, call int32) {
	i := s.id(r, q)
	d := &s.data[i]
	if !w.Less(d.distance) {
		return
	}
	d.distance, d.parent, d.call = w, before, call
	s.enqueue(r, i)
}

func (s *search[W]) enqueue(r *searching, i int32) {
	if s.data[i].flags&queued == 0 {
		s.data[i].flags |= queued
		r.queue.push(s.data[i].q)
	}
}

// atFinal updates the best complete path.
func (s *search[W]) atFinal(r *searching) {
	if r.source != s.f.Start() {
		return
	}
	w := s.f.Final(s.data[r.at].q)
	if w.Equal(s.zero) {
		return
	}
	if sum := s.final.Plus(s.data[r.at].distance.Times(w)); !sum.Equal(s.final) {
		s.final, s.finalQ = sum, r.at
	}
}

// stepsPerLook is how much may be done between looks at the limits, which look at the clock every
// 256th time: a quarter of a second.
const stepsPerLook = 1 << 16

// look looks at the limits.
func (s *search[W]) look() error {
	s.work = 0
	return s.meter.Check(ops.Progress{States: len(s.data), Arcs: s.arcs, Bytes: s.held()})
}

// held is how many bytes the search takes.
func (s *search[W]) held() int64 {
	return s.bytes + int64(cap(s.data))*int64(unsafe.Sizeof(searchState[W]{})) +
		s.entries.Bytes() + int64(cap(s.calls))*int64(unsafe.Sizeof(callData[W]{}))
}

// check looks at the limits, and from time to time for a cycle of parents. Such a cycle appears
// sooner or later just if a cycle improves a path.
func (s *search[W]) check(r *searching) error {
	if err := s.look(); err != nil {
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
	return &ops.StateError{Op: s.op, State: s.data[i].q, Err: fmt.Errorf("a cycle through this state makes paths ever better: %w", ops.ErrNotClosed)}
}

// before returns the search state before i in its own search.
func (s *search[W]) before(i int32) int32 {
	if call := s.data[i].call; call != none {
		return s.calls[call].parent
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
	out.SetFinal(p, s.f.Final(s.data[at].q))
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
			prev = s.calls[call].parent
		} else if call != none {
			within = append(within, call)
		}
		id := noParen
		if call != none {
			id = s.entries.Key(fst.StateID(s.calls[call].entry)).paren
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
		if err := s.meter.Check(ops.Progress{Bytes: ops.SizeOf[W](out.NumStates(), int64(out.NumArcs())).Bytes}); err != nil {
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
	target := s.data[to].q
	q := s.data[from].q
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
