package ops

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/graph"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// ErrRecursion reports machines that call one another in a circle.
var ErrRecursion = errors.New("rules call one another in a circle")

// Rule is a machine that stands for a label.
type Rule[W semiring.Weight[W]] struct {
	Label fst.Label
	F     fst.Expanded[W]
}

// Labeling says which sides of an arc carry a label; the others have ε.
type Labeling uint8

const (
	LabelDefault Labeling = iota // the input of calls, neither side of returns
	LabelNeither
	LabelInput
	LabelOutput
	LabelBoth
)

// ReplaceOptions adjusts Replace; nil is the same as the zero value.
type ReplaceOptions struct {
	Call        Labeling  // which labels of the arc that calls a rule stay: zero leaves the input's, as OpenFst does; LabelNeither makes the call ε
	Return      Labeling  // which sides of the arc back carry ReturnLabel
	ReturnLabel fst.Label // zero is ε
	Limits
}

// Replace returns the machine of the rule with the label root. Each arc whose output label names a
// rule is replaced by the machine of that rule. An arc leads to its start, with the arc's weight,
// and arcs lead back from its final states, with their weights. Of two rules for one label the last
// counts. Rules that call one another in a circle, reached or not, are an error around
// ErrRecursion.
//
// Each call gets a copy of its own. States are numbered as they are first reached,
// the arc back before the others, as in OpenFst 1.7.9. Cost: O(states + arcs) of
// the result, which may be exponential in the depth of calls.
func Replace[W semiring.Weight[W]](rules []Rule[W], root fst.Label, opts *ReplaceOptions) (*fst.Vector[W], error) {
	r, err := newReplacer("Replace", rules, root, opts)
	if err != nil {
		return nil, err
	}
	if err := r.acyclic(); err != nil {
		return nil, err
	}
	out, err := Materialize[W](r, r.o.Limits)
	if err != nil {
		return nil, renamed(err, "Replace")
	}
	out.CopySymbols(rules[0].F)
	return out, nil
}

// ReplaceLazy is Replace, to be computed where it is looked at. Rules may call one another in a
// circle, for a call is followed only when its state is asked for. The Limits hold for the states
// met and for what is remembered of them, which calls stand open. cache adjusts the result's cache;
// nil is the default. The example of this function is a grammar that calls itself.
func ReplaceLazy[W semiring.Weight[W]](rules []Rule[W], root fst.Label, opts *ReplaceOptions, cache *fst.LazyOptions) (*fst.Lazy[W], error) {
	r, err := newReplacer("ReplaceLazy", rules, root, opts)
	if err != nil {
		return nil, err
	}
	m := r.o.Limits.meter("ReplaceLazy")
	r.meter = &m
	return fst.NewLazy[W](r, withSymbols(cache, rules[0].F, rules[0].F)), nil
}

func newReplacer[W semiring.Weight[W]](op string, rules []Rule[W], root fst.Label, opts *ReplaceOptions) (*replacer[W], error) {
	r := &replacer[W]{rules: rules, index: map[fst.Label]int{}, zero: semiring.Zero[W]()}
	if opts != nil {
		r.o = *opts
	}
	for i, rule := range rules {
		r.index[rule.Label] = i
		if i > 0 {
			if err := CompatibleSymbols(fmt.Sprintf("%s: rule of label %d", op, rule.Label), rules[0].F, rule.F); err != nil {
				return nil, err
			}
		}
	}
	var ok bool
	if r.root, ok = r.index[root]; !ok {
		return nil, fmt.Errorf("ops: %s: there is no rule for the root label %d", op, root)
	}
	r.stacks = fst.NewTable[callFrame](nil)
	r.stacks.ID(callFrame{}) // 0 is the empty stack; no other frame is like it
	r.table = fst.NewTable[callState](nil)
	return r, nil
}

// callFrame is a stack of calls: the stack below, and where the call returns to.
// rule counts from 1.
type callFrame struct {
	below      fst.StateID
	rule, back int32
}

// callState is a state of a rule, reached by a stack of calls.
type callState struct {
	stack fst.StateID
	rule  int32 // from 0
	q     fst.StateID
}

type replacer[W semiring.Weight[W]] struct {
	o      ReplaceOptions
	rules  []Rule[W]
	index  map[fst.Label]int
	root   int
	stacks *fst.Table[callFrame]
	table  *fst.Table[callState]
	left   int        // stacks that the last Retain which went through them left
	meter  *run.Meter // of the delayed form; nil where Materialize counts
	zero   W
}

// acyclic returns an error if rules call one another in a circle.
func (r *replacer[W]) acyclic() error {
	calls := fst.NewVector[semiring.Boolean](len(r.rules))
	calls.AddStates(len(r.rules))
	seen := map[fst.Label]bool{}
	for i, rule := range r.rules {
		clear(seen)
		for q := range fst.StateID(rule.F.NumStates()) {
			for _, e := range rule.F.Arcs(q) {
				if k, ok := r.index[e.OLabel]; ok && e.OLabel != fst.Epsilon && !seen[e.OLabel] {
					seen[e.OLabel] = true
					calls.AddArc(fst.StateID(i), fst.Arc[semiring.Boolean]{ILabel: e.OLabel, OLabel: e.OLabel, NextState: fst.StateID(k)})
				}
			}
		}
	}
	c, _ := graph.FindComponents[semiring.Boolean](calls, nil, 0)
	for i, rule := range r.rules {
		for _, e := range calls.Arcs(fst.StateID(i)) {
			if c.Of[i] == c.Of[e.NextState] {
				return fmt.Errorf("ops: Replace: the rule of label %d calls that of %d, which leads back to it: %w", rule.Label, e.OLabel, ErrRecursion)
			}
		}
	}
	return nil
}

// Bytes is what the tables of states and calls take.
func (r *replacer[W]) Bytes() int64 { return r.table.Bytes() + r.stacks.Bytes() }

func (r *replacer[W]) id(s callState) fst.StateID {
	id, _ := r.table.ID(s)
	return id
}

func (r *replacer[W]) Start() (fst.StateID, error) {
	start := r.rules[r.root].F.Start()
	if start == fst.NoState {
		return fst.NoState, nil
	}
	return r.id(callState{rule: int32(r.root), q: start}), nil
}

func (r *replacer[W]) Expand(s fst.StateID, dst []fst.Arc[W]) (W, []fst.Arc[W], error) {
	c := r.table.Key(s)
	f := r.rules[c.rule].F
	final := f.Final(c.q)
	if c.stack != 0 && !final.Equal(r.zero) {
		top := r.stacks.Key(c.stack)
		e := fst.Arc[W]{Weight: final, NextState: r.id(callState{stack: top.below, rule: top.rule - 1, q: fst.StateID(top.back)})}
		if l := r.o.Return; l == LabelInput || l == LabelBoth {
			e.ILabel = r.o.ReturnLabel
		}
		if l := r.o.Return; l == LabelOutput || l == LabelBoth {
			e.OLabel = r.o.ReturnLabel
		}
		dst = append(dst, e)
	}
	if c.stack != 0 {
		final = r.zero
	}
	for _, e := range f.Arcs(c.q) {
		k, call := r.index[e.OLabel]
		if !call || e.OLabel == fst.Epsilon {
			e.NextState = r.id(callState{stack: c.stack, rule: c.rule, q: e.NextState})
			dst = append(dst, e)
			continue
		}
		start := r.rules[k].F.Start()
		stack, _ := r.stacks.ID(callFrame{below: c.stack, rule: c.rule + 1, back: int32(e.NextState)})
		if start == fst.NoState {
			continue // a rule that accepts nothing
		}
		e.NextState = r.id(callState{stack: stack, rule: int32(k), q: start})
		if l := r.o.Call; l == LabelNeither || l == LabelOutput {
			e.ILabel = fst.Epsilon
		}
		if l := r.o.Call; l == LabelNeither || l == LabelInput || l == LabelDefault {
			e.OLabel = fst.Epsilon
		}
		dst = append(dst, e)
	}
	if r.meter != nil {
		if err := r.meter.Check(run.Progress{States: r.table.Len(), Bytes: r.Bytes()}); err != nil {
			return final, dst, err
		}
	}
	return final, dst, nil
}

var _ fst.Retainer = (*replacer[semiring.Tropical])(nil)

// Retain forgets all states but live, and the calls that stand open in none of them. It goes
// through those only when there are twice as many as it left the last time. So each new call pays
// for two, and not each Retain for the depth of a stack.
func (r *replacer[W]) Retain(live []fst.StateID) {
	if r.stacks.Len() <= 2*r.left+retainedLeast {
		r.table = r.table.Only(live)
		return
	}
	states, stacks := r.table, r.stacks
	r.table, r.stacks = fst.NewTable[callState](nil), fst.NewTable[callFrame](nil)
	r.stacks.ID(callFrame{})
	moved := map[fst.StateID]fst.StateID{0: 0}
	var open []fst.StateID // the stacks from a state's down to one that has been moved
	for _, q := range live {
		c := states.Key(q)
		open = open[:0]
		at, known := moved[c.stack]
		for s := c.stack; !known; at, known = moved[s] {
			open = append(open, s)
			s = stacks.Key(s).below
		}
		for _, s := range slices.Backward(open) {
			frame := stacks.Key(s)
			frame.below = at
			at, _ = r.stacks.ID(frame)
			moved[s] = at
		}
		c.stack = at
		r.table.ID(c)
	}
	r.left = r.stacks.Len()
}
