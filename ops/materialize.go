package ops

import (
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
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
	m := lim.meter("Materialize")
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
		p := run.Progress{States: int(known) + 1, Arcs: int64(out.NumArcs())}
		p.Bytes = p.Arcs*int64(unsafe.Sizeof(fst.Arc[W]{})) + int64(p.States)*24
		if held != nil {
			p.Bytes += held.Bytes()
		}
		if err := m.Check(p); err != nil {
			return nil, err
		}
	}
	out.SetStart(start)
	return out, nil
}

// Collect returns what can be reached of f as a machine in memory: the end of a chain of machines
// that are computed on demand. States keep their numbers, and the symbol tables come with them.
//
// Cost: O(states + arcs) and what f takes to compute them. Errors are those of f, and a LimitError;
// a machine that is infinite ends only so.
func Collect[W semiring.Weight[W]](f fst.Fst[W], lim Limits) (*fst.Vector[W], error) {
	m := lim.meter("Collect")
	out := fst.NewVector[W](0)
	out.CopySymbols(f)
	start := f.Start()
	if err := fst.Err(f); err != nil {
		return nil, err
	}
	if start == fst.NoState {
		return out, nil
	}
	// Machines that number states as they are first mentioned are read from 0 up, and written
	// once: states wait in order of their numbers. Of others a state may turn up when its place
	// has been passed.
	mentioned := []bool{}
	var late []fst.StateID
	mention := func(q fst.StateID) {
		if n := int(q) + 1; n > len(mentioned) {
			mentioned = slices.Grow(mentioned, n-len(mentioned))[:n]
		}
		if !mentioned[q] && int(q) < out.NumStates() {
			late = append(late, q)
		}
		mentioned[q] = true
	}
	mention(start)
	for len(late) > 0 || out.NumStates() < len(mentioned) {
		q, passed := fst.StateID(out.NumStates()), len(late) > 0
		if passed {
			q, late = late[len(late)-1], late[:len(late)-1]
		} else if !mentioned[q] {
			out.AddState() // not reached, so far
			continue
		}
		final, arcs := f.Final(q), f.Arcs(q)
		if err := fst.Err(f); err != nil {
			return nil, err
		}
		if passed {
			out.SetFinal(q, final)
			out.SetArcs(q, arcs)
		} else {
			out.PushState(final, arcs)
		}
		for i := range arcs {
			mention(arcs[i].NextState)
		}
		arcsSoFar := int64(out.NumArcs())
		if err := m.Check(run.Progress{States: len(mentioned), Arcs: arcsSoFar,
			Bytes: arcsSoFar*int64(unsafe.Sizeof(fst.Arc[W]{})) + int64(len(mentioned))*24}); err != nil {
			return nil, err
		}
	}
	out.SetStart(start)
	return out, nil
}

// withSymbols are the options of a delayed result that has the input symbols of one machine and the
// output symbols of another.
func withSymbols(cache *fst.LazyOptions, in, out any) *fst.LazyOptions {
	var o fst.LazyOptions
	if cache != nil {
		o = *cache
	}
	o.InputSymbols, o.OutputSymbols = fst.InputSymbols(in), fst.OutputSymbols(out)
	return &o
}

// knownProperties returns what f knows of itself without being looked at.
func knownProperties(f any) fst.Properties {
	if p, ok := f.(fst.Propertied); ok {
		return p.KnownProperties()
	}
	return 0
}

// The delayed forms can forget states (fst.Lazy.Retain). The table of pairs, subsets or whatever
// states are made of is then rebuilt from the states that are left. O(states that are left). The
// states of RmEpsilonLazy are its operand's, and have no table. Arcs that were made before no
// longer count for a limit: a limit holds for what there is.

// retainedLeast is how many open calls, rests or labels are not worth going through.
const retainedLeast = 64
