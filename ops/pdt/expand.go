package pdt

import (
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// ExpandOptions adjusts Expand, ExpandMulti and ExpandPruned; nil is the same as the
// zero value.
type ExpandOptions struct {
	KeepParens bool // leave parentheses on the arcs; by default they become ε
	KeepDead   bool // keep states that reach no final state; by default they are trimmed
	ops.Limits      // those of ExpandPruned hold also for its search, as of ShortestPathOptions
}

// Expand returns the finite machine of the PDT f: its strings are those of the paths
// of f whose parentheses balance, without the parentheses. A state is a state of f
// with a stack; they are numbered as they are first reached, breadth first.
//
// The stack of f must be bounded; otherwise the error is a StateError around ErrUnbounded. The test
// of Bounded starts when the result is larger than f. It takes a step for every four arcs, until it
// knows. So the test adds little to an expansion that ends, and one that does not end makes at most
// four arcs for each step of the test. Cost: O(states + arcs) of the result, which is exponential
// in the depth of the stack at worst.
//
// Allauzen and Riley 2012, section 5.2.
func Expand[W semiring.Weight[W]](f fst.Expanded[W], pairs []fst.LabelPair, opts *ExpandOptions) (*fst.Vector[W], error) {
	var o ExpandOptions
	if opts != nil {
		o = *opts
	}
	return expandOne(f, pairs, "pdt.Expand", &o)
}

// ExpandMulti is Expand of the MPDT f, where pair i belongs to stack stack[i], from 1.
// Where all pairs are of one stack, f is a PDT, and the error that of Expand if it is not
// bounded. Of two stacks neither tells alone whether the expansion is finite, which is not
// decidable for both together: then only the limits stop it.
func ExpandMulti[W semiring.Weight[W]](f fst.Expanded[W], pairs []fst.LabelPair, stack []int32, opts *ExpandOptions) (*fst.Vector[W], error) {
	var o ExpandOptions
	if opts != nil {
		o = *opts
	}
	const op = "pdt.ExpandMulti"
	if err := CheckStacks(op, pairs, stack); err != nil {
		return nil, err
	}
	if len(stack) > 0 && !slices.ContainsFunc(stack, func(l int32) bool { return l != stack[0] }) { // a PDT
		return expandOne(f, pairs, op, &o)
	}
	return expand(f, newExpander(f, newTwoStacks(pairs, stack), o.KeepParens, op, o.Limits), &o)
}

// expandOne expands a PDT, whose stack it asks to be bounded.
func expandOne[W semiring.Weight[W]](f fst.Expanded[W], pairs []fst.LabelPair, op string, o *ExpandOptions) (*fst.Vector[W], error) {
	stack := newOneStack(pairs)
	e := newExpander(f, stack, o.KeepParens, op, o.Limits)
	e.watch = newWatch(f, stack.parens, op)
	return expand(f, e, o)
}

func expand[W semiring.Weight[W]](f fst.Expanded[W], e *expander[W], o *ExpandOptions) (*fst.Vector[W], error) {
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
	watch *watch[W] // nil where an unbounded stack does no harm
}

// watch runs the test of a stack beside the expansion.
type watch[W semiring.Weight[W]] struct {
	f       fst.Expanded[W]
	parens  *parens
	op      string
	entered []bool        // states that opening parentheses lead to
	from    int64         // arcs of the expansion, at which the test begins; MaxInt64 when it has ended
	test    *stackTest[W] // nil while there is none
}

func newWatch[W semiring.Weight[W]](f fst.Expanded[W], p *parens, op string) *watch[W] {
	n := f.NumStates()
	return &watch[W]{f: f, parens: p, op: op, entered: make([]bool, n), from: int64(n) + int64(fst.NumArcs(f))}
}

// enter is called at each opening parenthesis that is read.
func (w *watch[W]) enter(q fst.StateID) error {
	if w.entered[q] {
		return nil
	}
	w.entered[q] = true
	if w.test == nil {
		return nil
	}
	return w.test.enter(q, true)
}

// look is called after each state, when there are so many arcs.
func (w *watch[W]) look(arcs int64) error {
	if arcs < w.from {
		return nil
	}
	if w.test == nil {
		w.test = newStackTest(w.f, w.parens, w.op, w.entered)
	}
	err := w.test.work((arcs-w.from)/4 - w.test.steps())
	if w.test.done {
		w.test, w.from = nil, math.MaxInt64
	}
	return err
}

func (w *watch[W]) bytes() int64 {
	if w.test == nil {
		return int64(len(w.entered))
	}
	return w.test.size().Bytes
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
		if next > c.stack && e.watch != nil { // what is put on a stack has a higher number
			if err := e.watch.enter(a.NextState); err != nil {
				return final, dst, err
			}
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
	if e.watch != nil {
		if err := e.watch.look(e.arcs); err != nil {
			return final, dst, err
		}
		p.Bytes += e.watch.bytes()
	}
	return final, dst, e.meter.Check(p)
}
