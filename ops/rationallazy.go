package ops

import (
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// UnionLazy returns the union of machines, to be computed where it is looked at: a new start has
// an ε-arc to the start of each. The machines may be computed on demand themselves. Symbol
// tables must agree, else the error wraps ErrSymbols; the first machine's are the result's.
// cache adjusts the result's cache; nil is the default.
func UnionLazy[W semiring.Weight[W]](cache *fst.LazyOptions, fs ...fst.Fst[W]) (*fst.Lazy[W], error) {
	for i := 1; i < len(fs); i++ {
		if err := CompatibleSymbols("UnionLazy", fs[0], fs[i]); err != nil {
			return nil, fmt.Errorf("machine %d: %w", i+1, err)
		}
	}
	r := newRational(fs)
	r.first = func() []ending[W] {
		var to []ending[W]
		for i := range fs {
			to = append(to, ending[W]{i, semiring.One[W]()})
		}
		return to
	}
	return r.lazy(cache, semiring.Zero[W]()), nil
}

// ConcatLazy returns the concatenation of machines, one or more, to be computed where it is looked
// at. A final state of one has an ε-arc to the start of the next, and is final only in the last.
// For the rest see UnionLazy.
func ConcatLazy[W semiring.Weight[W]](cache *fst.LazyOptions, fs ...fst.Fst[W]) (*fst.Lazy[W], error) {
	if len(fs) == 0 {
		return nil, fmt.Errorf("ops: ConcatLazy: no machines, whose product would be over no known weights")
	}
	for i := 1; i < len(fs); i++ {
		if err := CompatibleSymbols("ConcatLazy", fs[0], fs[i]); err != nil {
			return nil, fmt.Errorf("machine %d: %w", i+1, err)
		}
	}
	r := newRational(fs)
	r.after = func(i int) (next int, final bool) {
		if i+1 < len(fs) {
			return i + 1, false
		}
		return none, true
	}
	return r.lazy(cache, semiring.Zero[W]()), nil
}

// ClosureLazy returns the concatenative closure of f, to be computed where it is looked at: final
// states have an ε-arc back to the start. For Star a new start is final, too. For the rest see
// UnionLazy.
func ClosureLazy[W semiring.Weight[W]](f fst.Fst[W], kind ClosureKind, cache *fst.LazyOptions) *fst.Lazy[W] {
	r := newRational([]fst.Fst[W]{f})
	r.after = func(int) (int, bool) { return 0, true }
	if kind == Plus {
		return r.lazy(cache, semiring.Zero[W]())
	}
	r.first = func() []ending[W] { return []ending[W]{{0, semiring.One[W]()}} }
	return r.lazy(cache, semiring.One[W]())
}

const none = -1

// ending is an ε-arc to the start of a machine.
type ending[W any] struct {
	to     int
	weight W
}

// partState is a state of one of the machines, or of none, which is the new start.
type partState struct {
	part int
	q    fst.StateID
}

// rational is the Expander of unions, concatenations and closures.
type rational[W semiring.Weight[W]] struct {
	fs    []fst.Fst[W]
	table *fst.Table[partState]
	first func() []ending[W]                    // what the new start leads to; nil is no new start
	after func(part int) (next int, final bool) // what final states of a machine lead to
	start W                                     // final weight of the new start
}

func newRational[W semiring.Weight[W]](fs []fst.Fst[W]) *rational[W] {
	return &rational[W]{fs: fs, table: fst.NewTable(func(k partState) uint64 { return fst.Mix(uint64(k.part+1)<<32 ^ uint64(uint32(k.q))) }),
		after: func(int) (int, bool) { return none, true }}
}

func (r *rational[W]) lazy(cache *fst.LazyOptions, start W) *fst.Lazy[W] {
	r.start = start
	if len(r.fs) > 0 {
		cache = withSymbols(cache, r.fs[0], r.fs[0])
	}
	return fst.NewLazy[W](r, cache)
}

func (r *rational[W]) id(part int, q fst.StateID) fst.StateID {
	id, _ := r.table.ID(partState{part, q})
	return id
}

// Start returns the new start, or the first machine's.
func (r *rational[W]) Start() (fst.StateID, error) {
	if r.first != nil {
		return r.id(none, 0), nil
	}
	s := r.fs[0].Start()
	if err := fst.Err(r.fs[0]); err != nil || s == fst.NoState {
		return fst.NoState, err
	}
	return r.id(0, s), nil
}

// Expand returns the final weight of q and appends its arcs to dst, those to the starts of
// machines last.
func (r *rational[W]) Expand(q fst.StateID, dst []fst.Arc[W]) (final W, arcs []fst.Arc[W], err error) {
	k := r.table.Key(q)
	var to []ending[W]
	if k.part == none {
		final, to = r.start, r.first()
	} else {
		f := r.fs[k.part]
		final = f.Final(k.q)
		for _, e := range f.Arcs(k.q) {
			e.NextState = r.id(k.part, e.NextState)
			dst = append(dst, e)
		}
		if err := fst.Err(f); err != nil {
			return final, dst, err
		}
		if next, stays := r.after(k.part); !semiring.IsZero(final) {
			if next != none {
				to = append(to, ending[W]{next, final})
			}
			if !stays {
				final = semiring.Zero[W]()
			}
		}
	}
	for _, e := range to {
		s := r.fs[e.to].Start()
		if err := fst.Err(r.fs[e.to]); err != nil {
			return final, dst, err
		}
		if s != fst.NoState {
			dst = append(dst, fst.Arc[W]{Weight: e.weight, NextState: r.id(e.to, s)})
		}
	}
	return final, dst, nil
}

var _ fst.Retainer = (*rational[semiring.Tropical])(nil)

// Retain forgets all states but live.
func (r *rational[W]) Retain(live []fst.StateID) { r.table = r.table.Only(live) }
