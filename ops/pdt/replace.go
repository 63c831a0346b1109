package pdt

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Parser says how Replace makes a PDT of rules.
type Parser uint8

const (
	// LeftParser goes top down: each call is a parenthesis. Rules that call
	// themselves first (left recursion) make the stack unbounded.
	LeftParser Parser = iota
	// LeftSRParser is LeftParser, except for rules that call one another in a circle only as the
	// first or only as the last thing (strongly regular grammars). Those calls become ε-arcs, so
	// that the stack stays bounded. It also trims the result.
	LeftSRParser
)

var parserNames = [...]string{"left", "left_sr"}

// ParseParser returns the parser with the given name: left or left_sr.
func ParseParser(name string) (Parser, error) {
	for i, n := range parserNames {
		if n == name {
			return Parser(i), nil
		}
	}
	return 0, fmt.Errorf("unknown parser type %q: want one of %q", name, parserNames)
}

// ErrParenLabels reports that the labels that parentheses would have are taken.
var ErrParenLabels = errors.New("labels for the parentheses are taken")

// ReplaceOptions adjusts Replace; nil is the same as the zero value.
type ReplaceOptions struct {
	Parser Parser
	// FirstParen is the first label for parentheses: those that open come first,
	// then those that close. Zero is one more than the highest output label.
	FirstParen fst.Label
	// Open and Close begin the symbols of parentheses, in front of a number from 0;
	// empty is "(_" and ")_".
	Open, Close string
	ops.Limits
}

// Replace returns a PDT whose balanced paths are those of the rule of the label root. An arc whose
// output label is that of a rule calls that rule. The call becomes an arc with an opening
// parenthesis and the call's weight to the start of the rule's machine. From each final state, an
// arc with the matching closing parenthesis and the final weight leads to where the call returns.
// Rules may call one another in circles, as those of a context-free grammar do. Each rule is there
// once, whoever calls it. A pair of parentheses belongs to a called rule and the state to which the
// call returns.
//
// Of two rules for one label the last counts. It is an error if a rule's label is not positive. It
// is an error around ErrParenLabels if a parenthesis has the input label of some other arc, or the
// symbol of another label. Symbol tables must agree; those of the first rule get the symbols of the
// parentheses. O(states + arcs) of the rules, and an arc for each final state of each call.
//
// Allauzen and Riley 2012, section 4.3; the strongly regular case is that of M. Mohri
// and F. Pereira, "Dynamic compilation of weighted context-free grammars", ACL 1998.
func Replace[W semiring.Weight[W]](rules []ops.Rule[W], root fst.Label, opts *ReplaceOptions) (*fst.Vector[W], []fst.LabelPair, error) {
	const op = "pdt.Replace"
	r := &replacer[W]{rules: rules, zero: semiring.Zero[W](), one: semiring.One[W]()}
	if opts != nil {
		r.o = *opts
	}
	r.meter = ops.NewMeter(op, r.o.Limits)
	labels := make([]fst.Label, 0, len(rules))
	for i, x := range rules {
		if x.Label <= fst.Epsilon {
			return nil, nil, fmt.Errorf("ops: %s: rule %d is for label %d: only positive labels can be called", op, i, x.Label)
		}
		labels = append(labels, x.Label)
		if err := ops.CompatibleSymbols(fmt.Sprintf("%s: rule of label %d", op, x.Label), rules[0].F, x.F); err != nil {
			return nil, nil, err
		}
	}
	r.rule = newLabelIndex(labels)
	if r.root = int(r.rule.of(root)); r.root < 0 {
		return nil, nil, fmt.Errorf("ops: %s: there is no rule for the root label %d", op, root)
	}
	r.closeWeight = make([]bool, len(rules))
	if err := r.union(); err != nil {
		return nil, nil, err
	}
	if r.o.Parser == LeftSRParser {
		if err := r.linearize(); err != nil {
			return nil, nil, err
		}
	}
	pairs, err := r.label(op)
	if err != nil {
		return nil, nil, err
	}
	if err := r.addParens(pairs); err != nil {
		return nil, nil, err
	}
	if err := r.symbols(op, pairs); err != nil {
		return nil, nil, err
	}
	if r.o.Parser == LeftSRParser {
		ops.Connect(r.out)
	}
	return r.out, pairs, nil
}

// final is a final state of a rule in the result.
type final[W any] struct {
	q fst.StateID
	w W
}

type replacer[W semiring.Weight[W]] struct {
	o         ReplaceOptions
	rules     []ops.Rule[W]
	rule      *labelIndex
	root      int
	meter     *ops.Meter
	zero, one W

	out         *fst.Vector[W]
	order       []int         // rules that are reached, in the order of their states in out
	of          []int32       // rule of each state of out
	offset      []fst.StateID // first state of each rule in out, NoState of one that is not reached
	start       []fst.StateID // where calls of each rule lead
	finals      [][]final[W]  // where they return from
	closeWeight []bool        // the weight of a call is on its closing parentheses
	top         fst.Label     // highest output label
	calls       []call        // in the order of their states and arcs
	linear      *components
}

// call is an arc of the result that calls a rule.
type call struct {
	s    fst.StateID
	arc  int32
	rule int32
	pair int32 // of parentheses; none of ε, where there are no parentheses
}

// callTo is a call of a rule (or, in a linear component, of its first) that returns
// to a state.
type callTo struct {
	rule int32
	back fst.StateID
}

// called returns the rule that the arc calls.
func (r *replacer[W]) called(e *fst.Arc[W]) (rule int, ok bool) {
	if e.OLabel <= fst.Epsilon {
		return 0, false
	}
	rule = int(r.rule.of(e.OLabel))
	return rule, rule >= 0
}

// union puts the rules that are called side by side, calls and all.
func (r *replacer[W]) union() error {
	n := len(r.rules)
	r.out = fst.NewVector[W](0)
	r.offset, r.start = slices.Repeat([]fst.StateID{fst.NoState}, n), slices.Repeat([]fst.StateID{fst.NoState}, n)
	r.finals = make([][]final[W], n)
	r.top = fst.NoLabel
	r.order = []int{r.root}
	queued := make([]bool, n)
	queued[r.root] = true
	for k := 0; k < len(r.order); k++ {
		i := r.order[k]
		f := r.rules[i].F
		base := fst.StateID(r.out.NumStates())
		r.offset[i] = base
		for q := range fst.StateID(f.NumStates()) {
			s := r.out.AddState()
			r.of = append(r.of, int32(i))
			if q == f.Start() {
				r.start[i] = s
				if i == r.root {
					r.out.SetStart(s)
				}
			}
			if w := f.Final(q); !w.Equal(r.zero) {
				if i == r.root {
					r.out.SetFinal(s, w)
				}
				r.finals[i] = append(r.finals[i], final[W]{s, w})
			}
			for _, e := range f.Arcs(q) {
				e.NextState += base
				r.top = max(r.top, e.OLabel)
				if next, ok := r.called(&e); ok {
					if r.rules[next].F.Start() == fst.NoState {
						continue // accepts nothing
					}
					if !queued[next] {
						queued[next] = true
						r.order = append(r.order, next)
					}
				}
				r.out.AddArc(s, e)
			}
			if err := r.check(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *replacer[W]) check() error {
	p := ops.SizeOf[W](r.out.NumStates(), int64(r.out.NumArcs()))
	p.Bytes += int64(cap(r.calls)) * int64(unsafe.Sizeof(call{}))
	return r.meter.Check(p)
}

// label numbers the pairs of parentheses that calls need, and gives them labels.
func (r *replacer[W]) label(op string) ([]fst.LabelPair, error) {
	known := fst.NewTable(func(c callTo) uint64 { return fst.Mix(uint64(uint32(c.rule))<<32 | uint64(uint32(c.back))) })
	var ids []int32 // of each in the table
	count := make([]int32, len(r.rules))
	total := int32(0)
	for s := range fst.StateID(r.out.NumStates()) {
		arcs := r.out.Arcs(s)
		for k := range arcs {
			i, ok := r.called(&arcs[k])
			if !ok {
				continue
			}
			c := call{s: s, arc: int32(k), rule: int32(i), pair: none}
			first := i
			if l := r.linear; l != nil && l.member[l.of[i]] != nil {
				if l.of[r.of[s]] == l.of[i] {
					r.calls = append(r.calls, c) // within a linear component there are only ε
					continue
				}
				first = l.member[l.of[i]][0]
			}
			// OpenFst makes ε of the second call of a component that returns to a
			// state, if it is of another rule.
			id, isNew := known.ID(callTo{int32(first), arcs[k].NextState})
			if isNew {
				ids = append(ids, count[first])
				count[first]++
				total = max(total, count[first])
			}
			c.pair = ids[id]
			r.calls = append(r.calls, c)
		}
	}
	base := int64(r.o.FirstParen)
	if base == 0 {
		base = int64(r.top) + 1
	}
	if total > 0 && (base < 1 || base+2*int64(total)-1 > 1<<31-1) {
		return nil, fmt.Errorf("ops: %s: %d pairs of parentheses would get the labels from %d on, which are not all positive 32-bit numbers: %w", op, total, base, ErrParenLabels)
	}
	for s := range fst.StateID(r.out.NumStates()) {
		for _, e := range r.out.Arcs(s) {
			if int64(e.ILabel) < base || int64(e.ILabel) >= base+2*int64(total) {
				continue
			}
			if _, ok := r.called(&e); !ok {
				return nil, fmt.Errorf("ops: %s: %d pairs of parentheses get the labels from %d on, but the rule of label %d has arcs with input label %d: %w",
					op, total, base, r.rules[r.of[s]].Label, e.ILabel, ErrParenLabels)
			}
		}
	}
	pairs := make([]fst.LabelPair, total)
	for i := range pairs {
		pairs[i].From = fst.Label(base + int64(i))
		pairs[i].To = fst.Label(base + int64(total) + int64(i))
	}
	return pairs, nil
}

// addParens turns calls into parentheses.
func (r *replacer[W]) addParens(pairs []fst.LabelPair) error {
	dead := fst.NoState
	for _, c := range r.calls { // arcs are added behind those that may be calls
		i, e := c.rule, r.out.Arcs(c.s)[c.arc]
		var pair fst.LabelPair // of ε, where there are no parentheses
		if c.pair != none {
			pair = pairs[c.pair]
		}
		open := fst.Arc[W]{ILabel: pair.From, OLabel: pair.From, Weight: e.Weight, NextState: r.start[i]}
		if r.closeWeight[i] {
			open.Weight = r.one
			if pair.From == fst.Epsilon {
				// The state that is called is the one that calls: the return is
				// enough.
				if dead == fst.NoState {
					dead = r.out.AddState()
				}
				open.NextState = dead
			}
		}
		r.out.MutableArcs(c.s)[c.arc] = open
		if pair.To != fst.Epsilon || r.closeWeight[i] {
			for _, f := range r.finals[i] {
				w := f.w
				if r.closeWeight[i] {
					w = e.Weight.Times(w)
				}
				r.out.AddArc(f.q, fst.Arc[W]{ILabel: pair.To, OLabel: pair.To, Weight: w, NextState: e.NextState})
			}
		}
		if err := r.check(); err != nil {
			return err
		}
	}
	r.out.SetProperties(0, fst.AllProperties)
	return nil
}

// symbols names the parentheses in the tables of the first rule.
func (r *replacer[W]) symbols(op string, pairs []fst.LabelPair) error {
	open, closing := r.o.Open, r.o.Close
	if open == "" {
		open = "(_"
	}
	if closing == "" {
		closing = ")_"
	}
	name := func(t *fst.SymbolTable) (*fst.SymbolTable, error) {
		if t == nil || len(pairs) == 0 {
			return t, nil
		}
		t = t.Clone()
		for side := range 2 {
			for i, p := range pairs {
				l, s := p.From, fmt.Sprint(open, i)
				if side == 1 {
					l, s = p.To, fmt.Sprint(closing, i)
				}
				if got, ok := t.AddLabel(s, l); !ok {
					return nil, fmt.Errorf("ops: %s: the symbol %q of a parenthesis has label %d already (another prefix helps): %w", op, s, got, ErrParenLabels)
				}
			}
		}
		return t, nil
	}
	in, err := name(fst.InputSymbols(r.rules[0].F))
	if err != nil {
		return err
	}
	out := in
	if fst.OutputSymbols(r.rules[0].F) != fst.InputSymbols(r.rules[0].F) {
		if out, err = name(fst.OutputSymbols(r.rules[0].F)); err != nil {
			return err
		}
	}
	r.out.SetInputSymbols(in)
	r.out.SetOutputSymbols(out)
	return nil
}
