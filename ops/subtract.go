package ops

import (
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// Subtract returns the difference of two acceptors: what a accepts and b does not, with the weights
// of a. a must be an acceptor; b must be unweighted, without ε, deterministic and sorted by input
// label. Else the error wraps ErrNotAcceptor, ErrNotDeterministic or ErrNotSorted, or says that b
// is weighted. Symbol tables must agree. opts is as for Compose, but that Trace is not filled, and
// that the filter makes no difference, since b has no ε.
//
// It composes a with the complement of b. The complement has one more state that accepts
// everything; the labels that a state of b lacks lead there. The complement is not built: a pair of
// a state of a and one of b costs a look at the arcs of both. States are numbered as they are first
// reached, as in OpenFst 1.7.9.
func Subtract[W semiring.Weight[W]](a, b fst.Expanded[W], opts *ComposeOptions) (*fst.Vector[W], error) {
	var o ComposeOptions
	if opts != nil {
		o = *opts
	}
	if !fst.PropertiesOf(fst.Fst[W](a), fst.Acceptor).Has(fst.Acceptor) {
		return nil, fmt.Errorf("ops: Subtract: first machine: %w", ErrNotAcceptor)
	}
	d, err := newSubtraction("Subtract", fst.Fst[W](a), b)
	if err != nil {
		return nil, err
	}
	out, err := Materialize[W](d, o.Limits)
	if err != nil {
		return nil, renamed(err, "Subtract")
	}
	out.LearnProperties(fst.Acceptor)
	if !o.KeepDead {
		Connect(out)
	}
	out.SetInputSymbols(fst.InputSymbols(a))
	out.SetOutputSymbols(fst.OutputSymbols(b))
	return out, nil
}

// SubtractLazy is Subtract, to be computed where it is looked at. a may be computed on demand
// itself, and is then found to be no acceptor where it is looked at. States that reach no final
// state are kept. cache adjusts the result's cache; nil is the default.
func SubtractLazy[W semiring.Weight[W]](a fst.Fst[W], b fst.Expanded[W], cache *fst.LazyOptions) (*fst.Lazy[W], error) {
	symbols := a
	if acceptor, known := isAcceptor(a); !known {
		a = &acceptorOnly[W]{Fst: a, op: "SubtractLazy"}
	} else if !acceptor {
		return nil, fmt.Errorf("ops: SubtractLazy: first machine: %w", ErrNotAcceptor)
	}
	d, err := newSubtraction("SubtractLazy", a, b)
	if err != nil {
		return nil, err
	}
	return fst.NewLazy[W](d, withSymbols(cache, symbols, b)), nil
}

// newSubtraction checks the second machine, and the symbol tables.
func newSubtraction[W semiring.Weight[W]](op string, a fst.Fst[W], b fst.Expanded[W]) (*subtraction[W], error) {
	if err := compatibleSymbols(op, "output symbols of the first machine", "input symbols of the second",
		fst.OutputSymbols(a), fst.InputSymbols(b)); err != nil {
		return nil, err
	}
	p := fst.PropertiesOf(fst.Fst[W](b), fst.Acceptor|fst.IDeterministic|fst.NoEpsilons|fst.Unweighted|fst.ILabelSorted)
	switch {
	case p&fst.Acceptor == 0:
		return nil, fmt.Errorf("ops: %s: second machine: %w", op, ErrNotAcceptor)
	case p&fst.Unweighted == 0:
		return nil, fmt.Errorf("ops: %s: second machine: it has weights, which a complement cannot have (RmWeight removes them; fst map --map_type=rmweight)", op)
	case p&fst.NoEpsilons == 0:
		return nil, fmt.Errorf("ops: %s: second machine: it has ε-arcs (RmEpsilon removes them)", op)
	case p&fst.IDeterministic == 0:
		q, l := nondeterministic(b)
		return nil, fmt.Errorf("ops: %s: second machine: %w", op, &StateError{Op: op, State: q, Err: fmt.Errorf("several arcs with label %d: %w", l, ErrNotDeterministic)})
	case p&fst.ILabelSorted == 0:
		return nil, fmt.Errorf("ops: %s: second machine: not sorted by label: %w", op, ErrNotSorted)
	}
	return &subtraction[W]{a: a, b: b, zero: semiring.Zero[W](),
		table: fst.NewTable(func(k statePair) uint64 { return fst.Mix(uint64(uint32(k.p))<<32 | uint64(uint32(k.q))) })}, nil
}

// statePair is a state of a and one of the complement of b: b's, or NoState for
// the one that accepts everything.
type statePair struct{ p, q fst.StateID }

type subtraction[W semiring.Weight[W]] struct {
	a     fst.Fst[W]
	b     fst.Expanded[W]
	table *fst.Table[statePair]
	zero  W
}

// Bytes is what the table of pairs takes.
func (d *subtraction[W]) Bytes() int64 { return d.table.Bytes() }

func (d *subtraction[W]) id(p, q fst.StateID) fst.StateID {
	id, _ := d.table.ID(statePair{p, q})
	return id
}

// Start returns the pair of start states. A second machine without states accepts
// nothing, and so its complement everything.
func (d *subtraction[W]) Start() (fst.StateID, error) {
	start := d.a.Start()
	if err := fst.Err(d.a); err != nil || start == fst.NoState {
		return fst.NoState, err
	}
	return d.id(start, d.b.Start()), nil
}

// Expand follows each arc of a in b, or out of it.
func (d *subtraction[W]) Expand(s fst.StateID, dst []fst.Arc[W]) (W, []fst.Arc[W], error) {
	k := d.table.Key(s)
	final := d.a.Final(k.p)
	var arcs []fst.Arc[W]
	if k.q != fst.NoState {
		if !d.b.Final(k.q).Equal(d.zero) {
			final = d.zero
		}
		arcs = d.b.Arcs(k.q)
	}
	for _, e := range d.a.Arcs(k.p) {
		next := k.q
		if e.ILabel != fst.Epsilon {
			next = fst.NoState
			if i := searchLabel(arcs, e.ILabel); i < len(arcs) && arcs[i].ILabel == e.ILabel {
				next = arcs[i].NextState
			}
		}
		e.NextState = d.id(e.NextState, next)
		dst = append(dst, e)
	}
	return final, dst, fst.Err(d.a)
}

var _ fst.Retainer = (*subtraction[semiring.Tropical])(nil)

// Retain forgets all states but live.
func (d *subtraction[W]) Retain(live []fst.StateID) { d.table = d.table.Only(live) }

// searchLabel returns the position of the first arc whose input label is not below
// l, arcs being sorted by it.
func searchLabel[W any](arcs []fst.Arc[W], l fst.Label) int {
	lo, hi := 0, len(arcs)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); arcs[mid].ILabel < l {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
