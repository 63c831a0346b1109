package losses

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// outgrown is the error of an automaton whose states are certain to exceed the budget, which
// determinization would find out after minutes; u is the transducer of the loss. A cap has no
// fewer: a state's subset has the column still, with the cap beside it.
func (o *editOrigin) outgrown(u fst.Expanded[semiring.Tropical64]) error {
	switch {
	case o.opts.trial || o.opts.Band > 0 || o.edit.Band > 0:
		return nil
	case o.allStrings():
		return o.outgrownColumns()
	}
	return o.outgrownSubsets(u)
}

// allStrings reports whether the strings are all those of a length, of which the direct path can
// tell at once.
func (o *editOrigin) allStrings() bool {
	l, err := chainLength(o.y)
	if err != nil || !o.opts.allPairs || l > 0 && len(o.y.Arcs(0)) < o.alphabet {
		return false
	}
	seen := make([]int, o.alphabet+1)
	for t := range fst.StateID(l) {
		n := 0
		for _, a := range o.y.Arcs(t) {
			if k := int(a.ILabel); k >= 1 && k <= o.alphabet && seen[k] != int(t)+1 {
				seen[k] = int(t) + 1
				n++
			}
		}
		if n < o.alphabet {
			return false
		}
	}
	return true
}

// outgrownColumns is outgrown for all strings of a length: where their columns alone, as the direct
// path counts and clamps them, are beyond the budget, which that path foresees in a fraction of a
// second. The states of the automaton are those columns unclamped, each with as many arcs as there
// are symbols.
func (o *editOrigin) outgrownColumns() error {
	l := o.y.NumStates() - 1
	if o.edit.cells(len(o.ref), l) > 1<<20 {
		return nil // what is longer is refused before anything is composed
	}
	e := o.edit
	e.Budget = Budget{Ctx: o.opts.Ctx, Bytes: newStages(o.opts.Limits).Bytes}
	var over *BudgetError
	if _, err := e.columns(o.ref, o.alphabet, l).build(); !errors.As(err, &over) {
		return nil // and what other errors there are the path finds itself
	}
	return &BudgetError{Stage: stageForeseen, Columns: over.Columns, Bytes: over.Bytes, Limit: over.Limit, Length: over.Length, Layer: over.Layer, advice: o.opts.advice}
}

// outgrownSubsets is outgrown for any lattice, and behind an expansion: where the states of the automaton, counted, with
// their subsets exceed the budget.
func (o *editOrigin) outgrownSubsets(u fst.Expanded[semiring.Tropical64]) error {
	s := o.opts.stages()
	need := func(states int, arcs int64) int64 {
		size := ops.SizeOf[semiring.Tropical64](states, arcs).Bytes
		return size + max(size, 12*int64(states-1)*int64(len(o.ref)+1)) // with the copy of it, or the subsets
	}
	states, arcs := o.countSubsets(u, s, func(states int, arcs int64) bool {
		if most := o.opts.Columns; most > 0 && states > most || s.States > 0 && states > s.States || s.Arcs > 0 && arcs > s.Arcs {
			return false // determinization ends there soon, and says so
		}
		return need(states, arcs) <= s.Bytes
	})
	if n := need(states, arcs); n > s.Bytes {
		return &BudgetError{Stage: stageForeseen, Columns: states, Bytes: n, Limit: s.Bytes, advice: o.opts.advice}
	}
	return nil
}

// countSubsets returns the number of states and arcs of the automaton, or those met until fits
// says no or the context is done.
//
// A state of the determinized loss is a state of the lattice, determinized itself, with a column:
// for each position in the reference, the least cost of an alignment up to there whose last step
// reads a symbol of the string, less the least of the column. They are met as in determinization,
// but without arcs, weights or ε, in a fiftieth of its time. Columns are known by 64 bits: should
// one be taken for another, the count is less, and no error where there is none. Behind an expansion of
// each string to one, not shorter, states are those after the first symbol of a label; behind others it is 0.
func (o *editOrigin) countSubsets(u fst.Expanded[semiring.Tropical64], s *stages, fits func(states int, arcs int64) bool) (states int, arcs int64) {
	y, err := o.spelled(s)
	if err != nil {
		return 0, 0 // the path finds it itself, as other errors
	}
	order, err := topologicalOrder[semiring.Tropical64](y)
	if err != nil || len(order) == 0 {
		return 0, 0
	}
	labels, ok := plainLabels(y, order)
	if !ok {
		return 0, 0
	}
	c := o.subsetColumns(costGridOf(u, o.opts.Cap, longest(o.y)+len(o.ref)))
	m := len(o.ref)
	type seen struct {
		columns []float64 // those with another closure, under insertions
		subsets map[uint64]struct{}
		closed  map[uint64]struct{}
	}
	at := make([]seen, y.NumStates())
	first := make([]float64, m+1)
	for j := range m {
		first[j+1] = first[j] + c.ins[j]
	}
	at[y.Start()].columns = first
	states, arcs = 1, labels[y.Start()]
	open, closed := make([]float64, m+1), make([]float64, m+1)
	type target struct {
		class int
		next  fst.StateID
		label bool // read here; else the symbol is a further one of the label before
	}
	var targets []target
	for _, q := range order {
		from := at[q].columns
		at[q] = seen{}
		targets = targets[:0]
		for _, e := range y.Arcs(q) {
			targets = append(targets, target{c.class(int(e.OLabel) - 1), e.NextState, e.ILabel != fst.Epsilon})
		}
		slices.SortFunc(targets, func(a, b target) int { return cmp.Or(cmp.Compare(a.next, b.next), cmp.Compare(a.class, b.class)) })
		targets = slices.Compact(targets)
		for ; len(from) > 0; from = from[m+1:] {
			if s.Ctx != nil && states&1023 == 0 && s.Ctx.Err() != nil {
				return states, arcs
			}
			for _, t := range targets {
				next := &at[t.next]
				if next.subsets == nil {
					next.subsets, next.closed = map[uint64]struct{}{}, map[uint64]struct{}{}
				}
				c.step(open, from[:m+1], t.class)
				if t.label {
					h := hashColumn(open)
					if _, ok := next.subsets[h]; ok {
						continue
					}
					next.subsets[h] = struct{}{}
					states++
					arcs += labels[t.next]
				}
				c.close(closed, open)
				h := hashColumn(closed)
				if _, ok := next.closed[h]; !ok {
					next.closed[h] = struct{}{}
					next.columns = append(next.columns, closed...)
				}
			}
			if !fits(states, arcs) {
				return states, arcs
			}
		}
	}
	return states, arcs
}

// spelled returns the strings, each along one path, with what their labels expand to as output.
func (o *editOrigin) spelled(s *stages) (*fst.Vector[semiring.Tropical64], error) {
	y, err := distinct(s, support[semiring.Tropical64](o.y))
	if err != nil {
		return nil, err
	}
	if o.opts.Expand == nil {
		ops.Project(y, ops.Input)
		ops.Connect(y)
		return y, nil
	}
	e, err := unweighted[semiring.Tropical64](o.opts.Expand)
	if err != nil {
		return nil, err
	}
	ops.ArcSort(e, ops.Input)
	if y, err = ops.Compose(y, e, &ops.ComposeOptions{Limits: s.left()}); err != nil {
		return nil, err
	}
	ops.Connect(y)
	return y, nil
}

// plainLabels returns by state of y how many labels can be read next. ok reports whether y has one path
// for each string and a symbol on every arc: a state reads labels, no two of them equal, or spells one more symbol
// without a label and does nothing else.
func plainLabels(y *fst.Vector[semiring.Tropical64], order []fst.StateID) (labels []int64, ok bool) {
	labels = make([]int64, y.NumStates())
	seen := map[fst.Label]bool{}
	for _, q := range slices.Backward(order) {
		clear(seen)
		arcs := y.Arcs(q)
		for _, e := range arcs {
			if e.OLabel == fst.Epsilon || seen[e.ILabel] {
				return nil, false
			}
			seen[e.ILabel] = true
		}
		labels[q] = int64(len(arcs))
		if seen[fst.Epsilon] {
			if len(arcs) > 1 || fst.IsFinal(y, q) {
				return nil, false
			}
			labels[q] = labels[arcs[0].NextState]
		}
	}
	return labels, true
}

// subsetColumns has the costs of an edit loss as the general path rounds them.
type subsetColumns struct {
	edit  Edit
	ref   []int
	round costGrid
	ins   []float64   // by position
	del   []float64   // by class of symbols
	diag  [][]float64 // by class and position: the cost of aligning with it
	known map[int]int // the class of a symbol; -1 is any that the costs do not tell apart
}

func (o *editOrigin) subsetColumns(round costGrid) *subsetColumns {
	c := &subsetColumns{edit: o.edit, ref: o.ref, round: round, ins: make([]float64, len(o.ref)), known: map[int]int{}}
	for j, r := range o.ref {
		c.ins[j] = c.cost(-1, r)
	}
	return c
}

func (c *subsetColumns) cost(y, r int) float64 {
	return float64(c.round.round(semiring.Tropical64(c.edit.cost(y, r))))
}

// class returns the class of symbol k: those of one class have the same costs.
func (c *subsetColumns) class(k int) int {
	if id, ok := c.known[k]; ok {
		return id
	}
	as := k
	if c.edit.SubTable == nil && c.edit.DelTable == nil && !slices.Contains(c.ref, k) {
		as = -1
	}
	id, ok := c.known[as]
	if !ok {
		id = len(c.del)
		diag := make([]float64, len(c.ref))
		for j, r := range c.ref {
			diag[j] = c.cost(k, r)
		}
		c.del, c.diag = append(c.del, c.cost(k, -1)), append(c.diag, diag)
		c.known[as] = id
	}
	c.known[k] = id
	return id
}

// step sets to to the column after reading a symbol, from one that is closed, less its least.
func (c *subsetColumns) step(to, from []float64, class int) {
	del, diag := c.del[class], c.diag[class]
	to[0] = from[0] + del
	least := to[0]
	for j, x := range diag {
		to[j+1] = min(from[j+1]+del, from[j]+x)
		least = min(least, to[j+1])
	}
	for j := range to {
		to[j] -= least
	}
}

// close sets to to a column closed under insertions, less its least.
func (c *subsetColumns) close(to, from []float64) {
	to[0] = from[0]
	least := to[0]
	for j, x := range c.ins {
		to[j+1] = min(from[j+1], to[j]+x)
		least = min(least, to[j+1])
	}
	for j := range to {
		to[j] -= least
	}
}

func hashColumn(c []float64) uint64 {
	h := uint64(len(c))
	for _, x := range c {
		h = (h ^ math.Float64bits(x)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}
