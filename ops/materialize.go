package ops

import (
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// Materialize expands the machine that e computes, state by state in order of
// their numbers, into a mutable one. Only states that are reached exist in the
// result; it has no symbol tables and only trivial properties.
//
// Cost: that of the expansions, and one copy of the arcs. When a limit is met the
// error is a LimitError. What e itself holds counts for Limits.Bytes if it says so, by a
// method Bytes() int64. A machine that is infinite ends only so.
func Materialize[W semiring.Weight[W]](e fst.Expander[W], lim Limits) (*fst.Vector[W], error) {
	m := meter{op: "Materialize", lim: lim}
	out := fst.NewVector[W](0)
	start, err := e.Start()
	if err != nil {
		return nil, err
	}
	if start == fst.NoState {
		return out, nil
	}
	var scratch []fst.Arc[W]
	known := start // the highest state mentioned
	held, _ := e.(interface{ Bytes() int64 })
	for q := fst.StateID(0); q <= known; q++ {
		final, arcs, err := e.Expand(q, scratch[:0])
		scratch = arcs
		if err != nil {
			return nil, err
		}
		for i := range arcs {
			known = max(known, arcs[i].NextState)
		}
		out.PushState(final, arcs)
		p := Progress{States: int(known) + 1, Arcs: int64(out.NumArcs())}
		p.Bytes = p.Arcs*int64(unsafe.Sizeof(fst.Arc[W]{})) + int64(p.States)*24
		if held != nil {
			p.Bytes += held.Bytes()
		}
		if err := m.check(p); err != nil {
			return nil, err
		}
	}
	out.SetStart(start)
	return out, nil
}
