package pdt

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// ExpandOptions adjusts Expand, ExpandMulti and ExpandPruned; nil is the same as the
// zero value.
type ExpandOptions struct {
	KeepParens bool // leave parentheses on the arcs; by default they become ε
	KeepDead   bool // keep states that reach no final state; by default they are trimmed
	ops.Limits
}

// Expand returns the finite machine of the PDT f: its strings are those of the paths
// of f whose parentheses balance, without the parentheses. A state is a state of f
// with a stack; they are numbered as they are first reached, breadth first.
//
// The stack of f must be bounded; if not, the error is a StateError around
// ErrUnbounded, found before anything is built. O(states + arcs) of the result, which
// is exponential in the depth of the stack at worst.
//
// Allauzen and Riley 2012, section 5.2.
func Expand[W semiring.Weight[W]](f fst.Expanded[W], pairs []fst.LabelPair, opts *ExpandOptions) (*fst.Vector[W], error) {
	var o ExpandOptions
	if opts != nil {
		o = *opts
	}
	if err := Bounded(f, pairs, o.Limits); err != nil {
		return nil, renamed(err, "pdt.Expand")
	}
	return expand(f, newOneStack(pairs), "pdt.Expand", &o)
}

// ExpandMulti is Expand of the MPDT f, where pair i belongs to stack stack[i], from 1.
// An MPDT may be infinite where no stack of its own is unbounded, which is not
// decidable from the parts: then only the limits stop it.
func ExpandMulti[W semiring.Weight[W]](f fst.Expanded[W], pairs []fst.LabelPair, stack []int32, opts *ExpandOptions) (*fst.Vector[W], error) {
	var o ExpandOptions
	if opts != nil {
		o = *opts
	}
	if err := CheckStacks("pdt.ExpandMulti", pairs, stack); err != nil {
		return nil, err
	}
	return expand(f, newTwoStacks(pairs, stack), "pdt.ExpandMulti", &o)
}

func expand[W semiring.Weight[W]](f fst.Expanded[W], s stacks, op string, o *ExpandOptions) (*fst.Vector[W], error) {
	e := newExpander(f, s, o.KeepParens, op, o.Limits)
	out, err := ops.Materialize[W](e, ops.Limits{}) // e has the limits
	if err != nil {
		return nil, err
	}
	out.CopySymbols(f)
	if p, ok := any(f).(fst.Propertied); ok {
		const kept = fst.Acceptor | fst.Acyclic | fst.InitialAcyclic | fst.Unweighted
		out.SetProperties(p.KnownProperties()&kept, fst.AllProperties)
	}
	if !o.KeepDead {
		ops.Connect(out)
	}
	return out, nil
}

// NewExpander returns what expands the PDT f on demand, for fst.NewLazy; an unbounded
// stack then does no harm until it is followed. The limits hold for the states met
// and the bytes of their tables.
func NewExpander[W semiring.Weight[W]](f fst.Fst[W], pairs []fst.LabelPair, opts *ExpandOptions) fst.Expander[W] {
	var o ExpandOptions
	if opts != nil {
		o = *opts
	}
	return newExpander(f, newOneStack(pairs), o.KeepParens, "pdt.Expand", o.Limits)
}

// configuration is a state of a PDT with its stack.
type configuration struct {
	q     fst.StateID
	stack int32
}

func configurations() *fst.Table[configuration] {
	return fst.NewTable(func(c configuration) uint64 {
		return fst.Mix(uint64(uint32(c.q))<<32 | uint64(uint32(c.stack)))
	})
}

type expander[W semiring.Weight[W]] struct {
	f     fst.Fst[W]
	stack stacks
	table *fst.Table[configuration]
	keep  bool
	meter *ops.Meter
	arcs  int64
	zero  W
}

func newExpander[W semiring.Weight[W]](f fst.Fst[W], s stacks, keep bool, op string, lim ops.Limits) *expander[W] {
	return &expander[W]{f: f, stack: s, table: configurations(), keep: keep, meter: ops.NewMeter(op, lim), zero: semiring.Zero[W]()}
}

func (e *expander[W]) id(q fst.StateID, stack int32) fst.StateID {
	id, _ := e.table.ID(configuration{q, stack})
	return id
}

func (e *expander[W]) Start() (fst.StateID, error) {
	q := e.f.Start()
	if q == fst.NoState {
		return fst.NoState, fst.Err(e.f)
	}
	return e.id(q, emptyStack), nil
}

func (e *expander[W]) Expand(s fst.StateID, dst []fst.Arc[W]) (W, []fst.Arc[W], error) {
	c := e.table.Key(s)
	final := e.zero
	if c.stack == emptyStack {
		final = e.f.Final(c.q)
	}
	for _, a := range e.f.Arcs(c.q) {
		next := e.stack.read(c.stack, a.ILabel)
		if next == blocked {
			continue
		}
		if next != c.stack && !e.keep {
			a.ILabel, a.OLabel = fst.Epsilon, fst.Epsilon
		}
		a.NextState = e.id(a.NextState, next)
		dst = append(dst, a)
		e.arcs++
	}
	if err := fst.Err(e.f); err != nil {
		return final, dst, err
	}
	p := ops.SizeOf[W](e.table.Len(), e.arcs)
	p.Bytes += e.table.Bytes() + e.stack.bytes()
	return final, dst, e.meter.Check(p)
}
