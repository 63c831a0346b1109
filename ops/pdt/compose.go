package pdt

import (
	"errors"
	"fmt"
	"sort"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Filter says what a composition does with parentheses.
type Filter uint8

const (
	ParenFilter       Filter = iota // keep them: the result is a PDT with the same pairs
	ExpandFilter                    // expand: the result is finite and has ε for them
	ExpandParenFilter               // expand, and keep them
)

var filterNames = [...]string{"paren", "expand", "expand_paren"}

// ParseFilter returns the filter with the given name: paren, expand or expand_paren.
func ParseFilter(name string) (Filter, error) {
	for i, n := range filterNames {
		if n == name {
			return Filter(i), nil
		}
	}
	return 0, fmt.Errorf("unknown composition filter %q: want one of %q", name, filterNames)
}

// ComposeOptions adjusts Compose and ComposeMulti; nil is the same as the zero value.
type ComposeOptions struct {
	Filter   Filter
	Right    bool // the second machine has the parentheses; by default the first
	KeepDead bool // keep states that reach no final state; by default they are trimmed
	ops.Limits
}

// Compose returns the composition of two machines, one of them a PDT, where the other machine lets
// parentheses pass. The result has the paths of the PDT composed with those of the other, and by
// ParenFilter its parentheses, too. This is the construction of Bar-Hillel, Perles and Shamir
// (1961), which intersects a context-free language with a regular one.
//
// The first machine must be sorted by output label or the second by input label; otherwise the
// error wraps ops.ErrNotSorted. Symbol tables between them must agree, and parentheses must be
// positive labels. With a filter that expands, the result is infinite where the stack of the
// composition is unbounded; then only the limits stop it. States are numbered breadth first, as
// they are reached. The ε-moves of the finite machine go first.
//
// O(pairs of states reached · arcs), times the stacks where the filter expands.
//
// Allauzen and Riley 2012, section 5.1, with the composition filters of Allauzen,
// Riley and Schalkwyk, Interspeech 2009.
func Compose[W semiring.Weight[W]](a, b fst.Expanded[W], pairs []fst.LabelPair, opts *ComposeOptions) (*fst.Vector[W], error) {
	return compose("pdt.Compose", a, b, newOneStack(pairs), pairs, opts)
}

// ComposeMulti is Compose where one machine is an MPDT whose pair i belongs to stack
// stack[i], from 1.
func ComposeMulti[W semiring.Weight[W]](a, b fst.Expanded[W], pairs []fst.LabelPair, stack []int32, opts *ComposeOptions) (*fst.Vector[W], error) {
	const op = "pdt.ComposeMulti"
	if err := CheckStacks(op, pairs, stack); err != nil {
		return nil, err
	}
	return compose(op, a, b, newTwoStacks(pairs, stack), pairs, opts)
}

func compose[W semiring.Weight[W]](op string, a, b fst.Expanded[W], s stacks, pairs []fst.LabelPair, opts *ComposeOptions) (*fst.Vector[W], error) {
	var o ComposeOptions
	if opts != nil {
		o = *opts
	}
	for _, p := range pairs {
		if p.From <= 0 || p.To <= 0 {
			return nil, fmt.Errorf("ops: %s: parentheses %d and %d: only positive labels can be", op, p.From, p.To)
		}
	}
	if x, y := fst.OutputSymbols(a), fst.InputSymbols(b); !fst.Compatible(x, y) {
		return nil, fmt.Errorf("ops: %s: output symbols of the first machine (%q, %d symbols) against input symbols of the second (%q, %d symbols): %w: %s",
			op, x.Name(), x.Len(), y.Name(), y.Len(), ops.ErrSymbols, fst.Disagreement(x, y))
	}
	c := &composer[W]{f: [2]fst.Expanded[W]{a, b}, stack: s, parens: newParens(pairs), o: o, meter: ops.NewMeter(op, o.Limits),
		zero: semiring.Zero[W](), one: semiring.One[W](), list: 0}
	if o.Right {
		c.list = 1
	}
	for _, p := range pairs {
		c.opens.add(p.From)
		c.closes.add(p.To)
	}
	c.table = fst.NewTable(func(t tuple) uint64 {
		return fst.Mix(fst.Mix(uint64(uint32(t.q[0]))<<32|uint64(uint32(t.q[1]))) ^ uint64(uint32(t.stack))<<1 ^ uint64(t.filter))
	})
	if err := c.chooseSide(); err != nil {
		return nil, fmt.Errorf("ops: %s: %w", op, err)
	}
	out, err := ops.Materialize[W](c, ops.Limits{}) // c has the limits
	if err != nil {
		return nil, err
	}
	out.SetInputSymbols(fst.InputSymbols(a))
	out.SetOutputSymbols(fst.OutputSymbols(b))
	both := fst.AllProperties
	for _, f := range c.f {
		p, ok := f.(fst.Propertied)
		if !ok {
			both = 0
			break
		}
		both &= p.KnownProperties()
	}
	out.SetProperties(fst.Accessible|both&(fst.Acyclic|fst.InitialAcyclic), fst.AllProperties)
	if !o.KeepDead {
		ops.Connect(out)
	}
	return out, nil
}

// labelRange bounds a set of labels.
type labelRange struct {
	min, max fst.Label
	any      bool
}

func (r *labelRange) add(l fst.Label) {
	if !r.any {
		r.min, r.max, r.any = l, l, true
	}
	r.min, r.max = min(r.min, l), max(r.max, l)
}

// tuple is a state of the composition.
type tuple struct {
	q      [2]fst.StateID
	filter int8 // 1 after an ε-move of the machine whose turn is last
	stack  int32
}

// either says that the state with more arcs is searched.
const either = -1

type composer[W semiring.Weight[W]] struct {
	f             [2]fst.Expanded[W]
	list          int // which machine has the parentheses
	search        int // which machine is searched by label: 0, 1 or either
	stack         stacks
	parens        *parens
	opens, closes labelRange
	o             ComposeOptions
	table         *fst.Table[tuple]
	meter         *ops.Meter
	arcs          int64
	zero, one     W

	// Of the state at hand.
	at       tuple
	top      int32 // pair on top of the stack, where the filter expands
	noEps    bool  // the other machine's state has no ε on the inner side
	allEps   bool  // it has nothing else, and is not final
	dst      []fst.Arc[W]
	sinceErr int
	err      error
}

// chooseSide decides which machine is searched, as OpenFst does. It is both if both are known to be
// sorted. Otherwise it is the first that is known to be, and then the first that turns out to be.
func (c *composer[W]) chooseSide() error {
	sorted := [2]fst.Properties{fst.OLabelSorted, fst.ILabelSorted}
	var is [2]bool
	for i, f := range c.f {
		if p, ok := f.(fst.Propertied); ok {
			is[i] = p.KnownProperties().Has(sorted[i])
		}
	}
	switch {
	case is[0] && is[1]:
		c.search = either
	case is[0]:
		c.search = 0
	case is[1]:
		c.search = 1
	case fst.PropertiesOf[W](c.f[0], sorted[0]).Has(sorted[0]):
		c.search = 0
	case fst.PropertiesOf[W](c.f[1], sorted[1]).Has(sorted[1]):
		c.search = 1
	default:
		return ops.ErrNotSorted
	}
	return nil
}

func (c *composer[W]) id(t tuple) fst.StateID {
	q, _ := c.table.ID(t)
	return q
}

func (c *composer[W]) Start() (fst.StateID, error) {
	p, q := c.f[0].Start(), c.f[1].Start()
	if p == fst.NoState || q == fst.NoState {
		return fst.NoState, errors.Join(fst.Err(c.f[0]), fst.Err(c.f[1]))
	}
	return c.id(tuple{q: [2]fst.StateID{p, q}}), nil
}

// inner is the label of an arc of machine i on the side between the two.
func inner[W any](i int, a *fst.Arc[W]) fst.Label {
	if i == 0 {
		return a.OLabel
	}
	return a.ILabel
}

func (c *composer[W]) Expand(s fst.StateID, dst []fst.Arc[W]) (W, []fst.Arc[W], error) {
	t := c.table.Key(s)
	c.at, c.dst = t, dst
	arcs := [2][]fst.Arc[W]{c.f[0].Arcs(t.q[0]), c.f[1].Arcs(t.q[1])}
	other := 1 - c.list
	eps := 0
	for i := range arcs[other] {
		if inner(other, &arcs[other][i]) == fst.Epsilon {
			eps++
		}
	}
	c.noEps = eps == 0
	c.allEps = eps == len(arcs[other]) && !fst.IsFinal[W](c.f[other], t.q[other])
	if c.o.Filter != ParenFilter {
		c.top = c.stack.top(t.stack)
	}
	searched := c.search
	if searched == either {
		searched = 1
		if len(arcs[0]) > len(arcs[1]) {
			searched = 0
		}
	}
	waits := c.loop(1 - searched)
	c.match(searched, arcs[searched], fst.NoLabel, &waits)
	for i := range arcs[1-searched] {
		a := &arcs[1-searched][i]
		c.match(searched, arcs[searched], inner(1-searched, a), a)
	}
	final := c.f[0].Final(t.q[0])
	switch final2 := c.f[1].Final(t.q[1]); {
	case final.Equal(c.zero):
	case final2.Equal(c.zero) || t.stack != emptyStack:
		final = c.zero
	default:
		final = final.Times(final2)
	}
	dst, c.dst = c.dst, nil
	if c.err != nil {
		return final, dst, c.err
	}
	return final, dst, c.check(len(dst))
}

func (c *composer[W]) check(n int) error {
	p := ops.SizeOf[W](c.table.Len(), c.arcs)
	p.Bytes += c.table.Bytes() + c.stack.bytes()
	return c.meter.Check(p)
}

// loop is the arc by which machine i waits.
func (c *composer[W]) loop(i int) fst.Arc[W] {
	a := fst.Arc[W]{Weight: c.one, NextState: c.at.q[i]}
	if i == 0 {
		a.OLabel = fst.NoLabel
	} else {
		a.ILabel = fst.NoLabel
	}
	return a
}

// match pairs arc a of one machine with the arcs of machine i that match the label l between them.
// NoLabel stands for the machine that waits.
func (c *composer[W]) match(i int, arcs []fst.Arc[W], l fst.Label, a *fst.Arc[W]) {
	if i == c.list && l == fst.NoLabel {
		c.parentheses(i, arcs, a, &c.opens, true)
		closes := c.closes
		if c.o.Filter != ParenFilter { // only what is on top can be closed
			closes = labelRange{}
			if c.top != noParen {
				closes.add(c.parens.pairs[c.top].To)
			}
		}
		c.parentheses(i, arcs, a, &closes, false)
	}
	if i != c.list && l > fst.Epsilon && (c.isOpen(l) || c.isClose(l)) {
		waits := c.loop(i)
		c.pair(i, a, &waits)
		return
	}
	if l == fst.Epsilon {
		waits := c.loop(i)
		c.pair(i, a, &waits)
	}
	if l == fst.NoLabel {
		l = fst.Epsilon
	}
	k := sort.Search(len(arcs), func(k int) bool { return inner(i, &arcs[k]) >= l })
	for ; k < len(arcs) && inner(i, &arcs[k]) == l; k++ {
		c.pair(i, a, &arcs[k])
	}
}

// parentheses pairs a, by which the other machine waits, with the arcs of machine i
// that open or close.
func (c *composer[W]) parentheses(i int, arcs []fst.Arc[W], a *fst.Arc[W], r *labelRange, opens bool) {
	if !r.any {
		return
	}
	k := sort.Search(len(arcs), func(k int) bool { return inner(i, &arcs[k]) >= r.min })
	for ; k < len(arcs); k++ {
		l := inner(i, &arcs[k])
		if l > r.max {
			break
		}
		if opens && c.isOpen(l) || !opens && c.isClose(l) {
			c.pair(i, a, &arcs[k])
		}
	}
}

func (c *composer[W]) isOpen(l fst.Label) bool {
	_, opens := c.parens.of(l)
	return opens
}

// isClose reports whether l closes a pair, that on top where the filter expands.
func (c *composer[W]) isClose(l fst.Label) bool {
	id, opens := c.parens.of(l)
	return id != noParen && !opens && (c.o.Filter == ParenFilter || id == c.top)
}

// pair adds the arc made of a and of b, an arc of the searched machine i, if the filter allows it.
// The ε-moves of the finite machine come before those of the PDT, which include parentheses.
func (c *composer[W]) pair(i int, a, b *fst.Arc[W]) {
	if c.err != nil {
		return
	}
	var e [2]fst.Arc[W]
	e[1-i], e[i] = *a, *b
	list, other := c.list, 1-c.list
	t := tuple{q: [2]fst.StateID{e[0].NextState, e[1].NextState}, stack: c.at.stack}
	switch {
	case inner(other, &e[other]) == fst.NoLabel: // the PDT moves alone
		switch {
		case c.allEps:
			return
		case !c.noEps:
			t.filter = 1
		}
		if l := inner(list, &e[list]); l != fst.Epsilon {
			// A parenthesis passes to the other side as it is, or neither side has it.
			outer := [2]*fst.Label{&e[0].ILabel, &e[1].OLabel}
			if c.o.Filter == ExpandFilter {
				*outer[list] = fst.Epsilon
			} else {
				*outer[other] = l
			}
			if c.o.Filter != ParenFilter {
				if t.stack = c.stack.read(c.at.stack, l); t.stack == blocked {
					return
				}
			}
		}
	case inner(list, &e[list]) == fst.NoLabel: // the finite machine moves alone
		if c.at.filter != 0 {
			return
		}
	case e[0].OLabel == fst.Epsilon:
		return
	}
	c.dst = append(c.dst, fst.Arc[W]{ILabel: e[0].ILabel, OLabel: e[1].OLabel, Weight: e[0].Weight.Times(e[1].Weight), NextState: c.id(t)})
	c.arcs++
	if c.sinceErr++; c.sinceErr >= 1<<13 { // two states with a million equal labels each
		c.sinceErr = 0
		c.err = c.check(len(c.dst))
	}
}
