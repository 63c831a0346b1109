package pdt

import (
	"fmt"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Shortest paths where the stack is not bounded: then a search may have to enter itself, so that there is no order in which
// each is complete before it is used. All go on at once instead, round by round, and what one finds better is passed on to all
// that use it: the least derivation of a grammar, found as Bellman and Ford find paths (D. Knuth, "A generalization of
// Dijkstra's algorithm", Information Processing Letters 6(1), 1977, takes them in the order of their weights, which must not
// be better than 1̄ then). Where no cycle improves a path, the best derivation of a pair has none of them twice on a way down,
// so that its height, and with it the number of rounds, is at most that of the pairs.

// derived is a search state, a state of the PDT with the source of its search, and how its best balanced path ends: with
// an arc of the search state parent; or with a call, which is that arc, an opening parenthesis, then the path to the
// search state exit of the search that it enters, and an arc of that.
type derived[W any] struct {
	distance W
	parent   int32 // none at a source
	arc      int32
	exit     int32 // none for an ordinary arc
	closing  int32
	queued   bool
	met      bool // its parentheses are in the lists
}

// use is an arc of a search state, with an opening or a closing parenthesis.
type use struct{ state, arc int32 }

type recursion[W semiring.Path[W]] struct {
	f      fst.Expanded[W]
	parens *parens
	op     string
	meter  *ops.Meter
	zero   W
	one    W

	states  *fst.Table[configuration] // the stack is the source
	data    []derived[W]
	entries *fst.Table[entryKey]
	callers [][]use // of each entry
	exits   [][]use
	arcs    int64
	uses    int64
	next    []int32 // search states that were improved
}

// recursivePath is ShortestPath for any PDT; limits hold as there, and for the path, too.
func recursivePath[W semiring.Path[W]](f fst.Expanded[W], p *parens, op string, o *ShortestPathOptions) (*fst.Vector[W], error) {
	r := &recursion[W]{f: f, parens: p, op: op, meter: ops.NewMeter(op, o.Limits), zero: semiring.Zero[W](), one: semiring.One[W](), states: configurations()}
	r.entries = fst.NewTable(func(k entryKey) uint64 { return fst.Mix(uint64(uint32(k.to))<<32 | uint64(uint32(k.paren))) })
	r.begin(f.Start())
	for round := 0; len(r.next) > 0; round++ {
		if round > len(r.data) {
			q := r.states.Key(fst.StateID(r.next[0])).q
			return nil, &ops.StateError{Op: op, State: q, Err: fmt.Errorf("a cycle through this state makes paths ever better: %w", ops.ErrNotClosed)}
		}
		now := r.next
		r.next = nil
		for _, i := range now {
			r.data[i].queued = false
			if err := r.follow(i); err != nil {
				return nil, err
			}
		}
	}
	return r.path(o.KeepParens)
}

// id returns the search state of q in the search from source.
func (r *recursion[W]) id(q, source fst.StateID) int32 {
	i, isNew := r.states.ID(configuration{q, int32(source)})
	if isNew {
		r.data = append(r.data, derived[W]{distance: r.zero, parent: none, exit: none})
	}
	return int32(i)
}

// begin starts the search from a state, if there is none.
func (r *recursion[W]) begin(source fst.StateID) {
	if i := r.id(source, source); r.data[i].distance.Equal(r.zero) {
		r.data[i].distance = r.one
		r.improved(i)
	}
}

func (r *recursion[W]) improved(i int32) {
	if !r.data[i].queued {
		r.data[i].queued = true
		r.next = append(r.next, i)
	}
}

func (r *recursion[W]) entry(paren int32, to fst.StateID) int32 {
	e, isNew := r.entries.ID(entryKey{paren, to})
	if isNew {
		r.callers, r.exits = append(r.callers, nil), append(r.exits, nil)
	}
	return int32(e)
}

// follow passes on what search state i has reached.
func (r *recursion[W]) follow(i int32) error {
	at := r.states.Key(fst.StateID(i))
	source := fst.StateID(at.stack)
	arcs := r.f.Arcs(at.q)
	first := !r.data[i].met
	r.data[i].met = true
	if first {
		r.arcs += int64(len(arcs))
	}
	for k := range arcs {
		a := &arcs[k]
		here := use{i, int32(k)}
		switch id, opens := r.parens.of(a.ILabel); {
		case id == noParen:
			r.relax(r.id(a.NextState, source), r.data[i].distance.Times(a.Weight), here, use{none, 0})
		case opens:
			e := r.entry(id, a.NextState)
			if first {
				r.callers[e] = append(r.callers[e], here)
				r.uses++
				r.begin(a.NextState)
			}
			for _, x := range r.exits[e] {
				r.call(here, x)
			}
		default:
			e := r.entry(id, source)
			if first {
				r.exits[e] = append(r.exits[e], here)
				r.uses++
			}
			for _, c := range r.callers[e] {
				r.call(c, here)
			}
		}
	}
	bytes := r.states.Bytes() + r.entries.Bytes() + int64(cap(r.data))*int64(unsafe.Sizeof(derived[W]{})) +
		16*r.uses + 48*int64(len(r.exits)) + 8*int64(cap(r.next)) // lists, with the room in them
	return r.meter.Check(ops.Progress{States: len(r.data), Arcs: r.arcs, Bytes: bytes})
}

// call goes through the search that c enters, and leaves it by x.
func (r *recursion[W]) call(c, x use) {
	from := r.states.Key(fst.StateID(c.state))
	opening := &r.f.Arcs(from.q)[c.arc]
	closing := &r.f.Arcs(r.states.Key(fst.StateID(x.state)).q)[x.arc]
	w := r.data[c.state].distance.Times(opening.Weight).Times(r.data[x.state].distance).Times(closing.Weight)
	r.relax(r.id(closing.NextState, fst.StateID(from.stack)), w, c, x)
}

func (r *recursion[W]) relax(i int32, w W, last, exit use) {
	d := &r.data[i]
	if !w.Less(d.distance) {
		return
	}
	d.distance, d.parent, d.arc, d.exit, d.closing = w, last.state, last.arc, exit.state, exit.arc
	r.improved(i)
}

// path makes a machine of the best path, from its end on.
func (r *recursion[W]) path(keep bool) (*fst.Vector[W], error) {
	out := fst.NewVector[W](0)
	best, end := r.zero, none
	for i := range r.data {
		if at := r.states.Key(fst.StateID(i)); fst.StateID(at.stack) == r.f.Start() {
			if w := r.data[i].distance.Times(r.f.Final(at.q)); w.Less(best) {
				best, end = w, int32(i)
			}
		}
	}
	if end == none {
		return out, nil
	}
	p := out.AddState()
	out.SetFinal(p, r.f.Final(r.states.Key(fst.StateID(end)).q))
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
		a := r.f.Arcs(r.states.Key(fst.StateID(u.state)).q)[u.arc]
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
