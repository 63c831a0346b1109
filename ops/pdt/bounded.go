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

// Bounded returns nil if the stack of the PDT f is bounded, that is if its expansion
// is finite; else a StateError around ErrUnbounded at a state from which the stack
// grows for ever. The limits hold for the bytes of the search, and its time.
//
// The stack is unbounded just if some state d, entered by an opening parenthesis,
// can be entered again from above: by a balanced path from d and an opening
// parenthesis into a state from which the same leads back to d. So it is a cycle in
// the graph of such entries, of which each is searched once, with the balanced paths
// of those that it enters summed up.
//
// O(entries · (states + arcs)) at worst, and never more than the expansion takes,
// since each pair of an entry and a state is a state of that.
//
// Summaries are those of R. Alur et al., "Analysis of recursive state machines",
// TOPLAS 27(4), 2005.
func Bounded[W semiring.Weight[W]](f fst.Expanded[W], pairs []fst.LabelPair, lim ops.Limits) error {
	const op = "pdt.Bounded"
	if f.Start() == fst.NoState || len(pairs) == 0 {
		return nil
	}
	p := newParens(pairs)
	meter := ops.NewMeter(op, ops.Limits{Ctx: lim.Ctx, Bytes: lim.Bytes})

	// An entry is the state that an opening parenthesis leads to; the first is the
	// start of f. The entries' search states are pairs of entry and state.
	entries := fst.NewTable(func(q fst.StateID) uint64 { return fst.Mix(uint64(q)) })
	type exit struct {
		paren int32
		to    fst.StateID
	}
	type caller struct{ paren, entry int32 }
	var (
		exits   [][]exit
		callers [][]caller
		calls   [][]int32 // entries that an entry enters
		pushes  = map[[2]int32]fst.Label{}
		search  = configurations() // the stack is the entry
	)
	enter := func(q fst.StateID) int32 {
		e, isNew := entries.ID(q)
		if isNew {
			exits, callers, calls = append(exits, nil), append(callers, nil), append(calls, nil)
			search.ID(configuration{q, int32(e)})
		}
		return int32(e)
	}
	seenExit := map[[3]int32]bool{}
	seenCall := map[[3]int32]bool{}
	enter(f.Start())
	for i := 0; i < search.Len(); i++ {
		c := search.Key(fst.StateID(i))
		for _, a := range f.Arcs(c.q) {
			id, opens := p.of(a.ILabel)
			switch {
			case id == noParen:
				search.ID(configuration{a.NextState, c.stack})
			case opens:
				d := enter(a.NextState)
				key := [3]int32{c.stack, id, d}
				if seenCall[key] {
					continue
				}
				seenCall[key] = true
				callers[d] = append(callers[d], caller{id, c.stack})
				if _, ok := pushes[[2]int32{c.stack, d}]; !ok {
					pushes[[2]int32{c.stack, d}] = a.ILabel
					calls[c.stack] = append(calls[c.stack], d)
				}
				for _, x := range exits[d] {
					if x.paren == id {
						search.ID(configuration{x.to, c.stack})
					}
				}
			default:
				key := [3]int32{c.stack, id, int32(a.NextState)}
				if seenExit[key] {
					continue
				}
				seenExit[key] = true
				exits[c.stack] = append(exits[c.stack], exit{id, a.NextState})
				for _, b := range callers[c.stack] {
					if b.paren == id {
						search.ID(configuration{a.NextState, b.entry})
					}
				}
			}
		}
		size := ops.Progress{States: search.Len(), Bytes: search.Bytes() + 64*int64(len(seenExit)+len(seenCall)+len(pushes))}
		if err := meter.Check(size); err != nil {
			return err
		}
	}

	// A cycle of entries, by depth-first search.
	const (
		open = 1
		done = 2
	)
	state := make([]uint8, len(calls))
	type visit struct {
		entry int32
		next  int
	}
	path := []visit{{0, 0}}
	state[0] = open
	for len(path) > 0 {
		v := &path[len(path)-1]
		if v.next == len(calls[v.entry]) {
			state[v.entry] = done
			path = path[:len(path)-1]
			continue
		}
		d := calls[v.entry][v.next]
		v.next++
		switch state[d] {
		case open:
			q := entries.Key(fst.StateID(d))
			return &ops.StateError{Op: op, State: q, Err: fmt.Errorf("parenthesis %d leads back to this state on top of itself, so that %w",
				pushes[[2]int32{v.entry, d}], ErrUnbounded)}
		case 0:
			state[d] = open
			path = append(path, visit{d, 0})
		}
	}
	return nil
}

// renamed gives the error of a part the name of the whole.
func renamed(err error, op string) error {
	var l *ops.LimitError
	if errors.As(err, &l) {
		l.Op = op
	}
	var s *ops.StateError
	if errors.As(err, &s) {
		s.Op = op
	}
	return err
}
