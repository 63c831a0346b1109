package fst

import "slices"

// Retainer is an Expander that can forget states, and what it remembers of them.
type Retainer interface {
	// Retain forgets all states but live, which differ from one another and whose numbers
	// become their positions in live. What is mentioned from then on gets the numbers after
	// these; a state that was forgotten may come back under another number. It is Lazy.Retain
	// that keeps numbers: a Lazy has a table from those that it shows to these.
	Retain(live []StateID)
}

// Retain forgets all states but live: their cached arcs, and what the Expander remembers of them,
// such as the pairs of a composition. The memory of a long search, such as a decoder that works
// frame by frame, is then bounded by the states that it holds, not by all that it has visited.
//
// States in live keep their numbers, other than with the Retainer below it, which counts them anew;
// those of the others are given to states that are met later, so that no state that is forgotten
// may be asked for, and numbers do not tell the order of mention any more. The start state may be
// among the forgotten: Start finds it again. Slices that Arcs returned stay as they are; the states
// that they lead to count as forgotten.
//
// An operand that is a Lazy itself keeps what it remembers: of a chain of delayed machines only the
// last one is bounded.
//
// It reports whether the Expander can forget; if not, nothing has happened. O(states held) time,
// those held before counted with those that stay.
func (l *Lazy[W]) Retain(live []StateID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.e.(Retainer)
	if !ok || l.err != nil {
		return false
	}
	n := StateID(0)
	for _, q := range live {
		n = max(n, q+1)
	}
	kept := make([]bool, n)
	outer := make([]StateID, 0, len(live))
	for _, q := range live {
		if _ = l.cache[q]; !kept[q] { // panics on a state that was never mentioned, as Arcs does
			kept[q] = true
			outer = append(outer, q)
		}
	}
	at := slices.Clone(outer)
	if l.names != nil {
		for i, q := range at {
			at[i] = l.names.inner[q]
		}
	}
	r.Retain(at)
	names := &renamed{outer: outer, inner: slices.Repeat([]StateID{NoState}, int(n))}
	for i, q := range outer {
		names.inner[q] = StateID(i)
	}
	for q := n - 1; q >= 0; q-- { // so that the lowest is given first
		if !kept[q] {
			names.free = append(names.free, q)
		}
	}
	l.names = names
	if l.begun && (l.start >= n || l.start != NoState && !kept[l.start]) {
		l.begun = false
	}
	old := l.cache
	l.cache = make([]*lazyState[W], n)
	for q, s := range old {
		if s == nil {
			continue
		}
		gone := StateID(q) >= n || !kept[q] ||
			slices.ContainsFunc(s.arcs, func(e Arc[W]) bool { return e.NextState >= n || !kept[e.NextState] })
		if gone {
			l.evict(s)
		} else {
			l.cache[q] = s
		}
	}
	return true
}

// evict takes s out of the ring.
func (l *Lazy[W]) evict(s *lazyState[W]) {
	if s.next == s {
		l.hand = nil
	} else if s.prev.next, s.next.prev = s.next, s.prev; l.hand == s {
		l.hand = s.next
	}
	l.cached--
	l.bytes -= l.size(s)
}

// renamed are the numbers of states after some have been forgotten: those that the Expander
// has for them, and those that the machine shows.
type renamed struct {
	inner []StateID // by shown number; NoState of a free one
	outer []StateID // by the Expander's number
	free  []StateID
}

// show returns the shown number of a state of the Expander's.
func (r *renamed) show(q StateID) StateID {
	for int(q) >= len(r.outer) {
		var shown StateID
		if k := len(r.free) - 1; k >= 0 {
			shown, r.free = r.free[k], r.free[:k]
		} else {
			shown = StateID(len(r.inner))
			r.inner = append(r.inner, NoState)
		}
		r.inner[shown] = StateID(len(r.outer))
		r.outer = append(r.outer, shown)
	}
	return r.outer[q]
}
