package fst

import (
	"encoding/binary"
)

// edit reads the body of an edit file: a machine, and what was changed of it. That
// is a machine of the changed and the new states, which of its states stand for which,
// and final weights that were changed alone.
func (b *bodyReader[W]) edit() (*Vector[W], error) {
	if b.h.Version != 2 {
		return nil, b.fail("version %d of the edit format; 2 is what can be read", b.h.Version)
	}
	wrapped, err := b.inner("")
	if err != nil {
		return nil, err
	}
	changed, err := b.edits()
	if err != nil {
		return nil, err
	}
	old := wrapped.NumStates()
	n := int(b.h.NumStates)
	if n < old || n > old+changed.NumStates() {
		return nil, b.fail("%d states, where %d were and %d are changed or new", n, old, changed.NumStates())
	}
	stand := make(map[StateID]StateID) // the changed state that stands for a state
	bad := false
	if _, err := b.items(8, func(src []byte) {
		p := pairOf(src)
		bad = bad || p.From < 0 || int(p.From) >= n || p.To < 0 || int(p.To) >= changed.NumStates()
		stand[StateID(p.From)] = StateID(p.To)
	}); err != nil {
		return nil, err
	}
	if bad {
		return nil, b.fail("changed states that are beyond %d, or stand beyond %d", n, changed.NumStates())
	}
	count, err := b.int64()
	if err != nil {
		return nil, err
	}
	if count < 0 {
		return nil, b.fail("%d changed final weights", count)
	}
	finals := make(map[StateID]W)
	for range count {
		q, err := b.int32()
		if err != nil {
			return nil, err
		}
		w, err := b.weight()
		if err != nil {
			return nil, err
		}
		if q < 0 || int(q) >= n {
			return nil, b.fail("a final weight of state %d of %d", q, n)
		}
		finals[StateID(q)] = w
	}
	added, err := b.int32()
	if err != nil {
		return nil, err
	}
	if int(added) != n-old {
		b.pos -= 4
		return nil, b.fail("%d new states, where %d states are %d more than were", added, n, n-old)
	}
	v := NewVector[W](n)
	for q := range StateID(n) {
		var final W
		var arcs []Arc[W]
		if s, ok := stand[q]; ok {
			final, arcs = changed.Final(s), changed.Arcs(s)
		} else if int(q) < old {
			final, arcs = wrapped.Final(q), wrapped.Arcs(q)
		} else {
			return nil, b.fail("state %d is new, and nothing stands for it", q)
		}
		if w, ok := finals[q]; ok {
			final = w
		}
		for i := range arcs {
			if arcs[i].NextState < 0 || int(arcs[i].NextState) >= n {
				return nil, b.fail("arc %d of state %d goes to state %d of %d", i, q, arcs[i].NextState, n)
			}
		}
		v.PushState(final, arcs)
	}
	if b.h.Start >= int64(n) {
		return nil, b.fail("start state %d of %d", b.h.Start, n)
	}
	v.start = StateID(b.h.Start) + 1
	v.CopySymbols(wrapped)
	b.outerSymbols(&v.isyms, &v.osyms)
	b.facts.kind = 0
	// OpenFst sets the start of what it has read, and forgets as if it were a new one. Union
	// asks whether the start lies on a cycle, so this decides the shape of its result.
	v.props.Store(uint64(setStartProps(b.properties(v))))
	return v, nil
}

// edits reads the machine of changed states: its arcs and its start name states of
// the whole machine.
func (b *bodyReader[W]) edits() (*Vector[W], error) {
	h, err := b.readHeader(true)
	if err != nil {
		return nil, err
	}
	if h.FstType != "vector" || h.ArcType != b.h.ArcType || h.NumStates < 0 {
		return nil, b.fail("changes in a machine of type %q over %q, not %q over %q", h.FstType, h.ArcType, "vector", b.h.ArcType)
	}
	h.Start, h.Properties = -1, 0 // the outer header has those of the whole
	inner := &bodyReader[W]{Stream: b.Stream, h: h, layout: b.layout, anyNext: true}
	return inner.vector()
}

// edit writes f as an edit file without changes.
func (b *bodyWriter[W]) edit(f Expanded[W], h *Header) error {
	inner := *h
	inner.FstType = "vector"
	h.Flags &= IsAligned
	h.Properties = Expandable | Mutable
	if g, ok := f.(Propertied); ok {
		h.Properties |= known(f, g.KnownProperties())
	}
	if err := b.write(h.appendBinary(nil)); err != nil {
		return err
	}
	if err := b.vector(f, &inner); err != nil {
		return err
	}
	none := Header{FstType: "vector", ArcType: h.ArcType, Version: 2, Flags: h.Flags, Properties: h.Properties, Start: -1}
	// Three empty lists: of states, of final weights, of new states (a number).
	return b.write(binary.LittleEndian.AppendUint32(append(none.appendBinary(nil), make([]byte, 16)...), 0))
}
