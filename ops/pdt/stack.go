package pdt

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/fst"
)

// noParen is the id of no pair of parentheses.
const noParen int32 = -1

// emptyStack is the id of the stack without parentheses; blocked that of none, after
// a parenthesis that may not be read.
const (
	emptyStack int32 = 0
	blocked    int32 = -1
)

// labelIndex maps labels to numbers from 0. It is an array where the labels lie close together, and
// otherwise a map, which took a quarter of Replace.
type labelIndex struct {
	min  fst.Label
	span uint32  // from min to the highest
	all  []int32 // from min on, none where there is nothing
	some map[fst.Label]int32
}

// newLabelIndex gives each label the place of it in the list, the last if it is there
// more than once.
func newLabelIndex(list []fst.Label) *labelIndex {
	x := &labelIndex{}
	if len(list) == 0 {
		return x
	}
	lo, hi := slices.Min(list), slices.Max(list)
	x.min, x.span = lo, uint32(hi)-uint32(lo)
	if near := int64(hi)-int64(lo) < 4*int64(len(list))+1<<12; near {
		x.all = slices.Repeat([]int32{none}, int(x.span)+1)
	} else {
		x.some = make(map[fst.Label]int32, len(list))
	}
	for i, l := range list {
		if x.all != nil {
			x.all[l-lo] = int32(i)
		} else {
			x.some[l] = int32(i)
		}
	}
	return x
}

// of returns what belongs to the label, or none.
func (x *labelIndex) of(l fst.Label) int32 {
	i := uint32(l) - uint32(x.min)
	switch {
	case i < uint32(len(x.all)):
		return x.all[i]
	case i > x.span || x.some == nil:
		return none
	}
	if i, ok := x.some[l]; ok {
		return i
	}
	return none
}

// parens finds the pair that a label belongs to. Of a label in several pairs the
// last counts, as in OpenFst.
type parens struct {
	pairs []fst.LabelPair
	index *labelIndex // of both labels of each pair, one after the other
}

func newParens(pairs []fst.LabelPair) *parens {
	both := make([]fst.Label, 0, 2*len(pairs))
	for _, pair := range pairs {
		both = append(both, pair.From, pair.To)
	}
	return &parens{pairs: pairs, index: newLabelIndex(both)}
}

// of returns the pair of label l, and whether l opens it; noParen where l is no
// parenthesis.
func (p *parens) of(l fst.Label) (id int32, opens bool) {
	i := p.index.of(l)
	if i == none {
		return noParen, false
	}
	id = i / 2
	return id, l == p.pairs[id].From
}

// stacks numbers the stacks of a PDT or MPDT as they are met.
type stacks interface {
	// read returns the stack after label l, blocked if l may not be read.
	read(stack int32, l fst.Label) int32
	// top returns the pair on top, noParen of the empty stack.
	top(stack int32) int32
	bytes() int64
}

// frame is a stack: the one below, and the pair on top.
type frame struct{ below, paren int32 }

// oneStack numbers the stacks of a PDT, which form a tree.
type oneStack struct {
	*parens
	table *fst.Table[frame]
}

func newOneStack(pairs []fst.LabelPair) *oneStack {
	s := &oneStack{newParens(pairs), fst.NewTable(func(f frame) uint64 {
		return fst.Mix(uint64(uint32(f.below))<<32 | uint64(uint32(f.paren)))
	})}
	s.table.ID(frame{blocked, noParen}) // emptyStack
	return s
}

func (s *oneStack) read(stack int32, l fst.Label) int32 {
	id, opens := s.of(l)
	switch {
	case id == noParen:
		return stack
	case opens:
		q, _ := s.table.ID(frame{stack, id})
		return int32(q)
	case s.top(stack) == id:
		return s.below(stack)
	}
	return blocked
}

func (s *oneStack) top(stack int32) int32   { return s.table.Key(fst.StateID(stack)).paren }
func (s *oneStack) below(stack int32) int32 { return s.table.Key(fst.StateID(stack)).below }
func (s *oneStack) bytes() int64            { return s.table.Bytes() }

// Stacks is how many stacks an MPDT has.
const Stacks = 2

// ErrStack reports a pair of parentheses of an MPDT that is on no stack.
var ErrStack = errors.New("a pair of parentheses belongs to stack 1 or 2")

// CheckStacks returns an error around ErrStack unless stack says, for each pair, that
// it belongs to stack 1 or 2.
func CheckStacks(op string, pairs []fst.LabelPair, stack []int32) error {
	if len(stack) != len(pairs) {
		return fmt.Errorf("ops: %s: stacks are given for %d of %d pairs of parentheses: %w", op, len(stack), len(pairs), ErrStack)
	}
	for i, s := range stack {
		if s < 1 || s > Stacks {
			return fmt.Errorf("ops: %s: parentheses %d and %d are assigned to stack %d: %w", op, pairs[i].From, pairs[i].To, s, ErrStack)
		}
	}
	return nil
}

// twoStacks numbers the configurations of the stacks of an MPDT. A parenthesis of
// the second closes only while the first is empty.
type twoStacks struct {
	*parens
	level []int32 // of each pair, from 0
	each  [Stacks]*oneStack
	outer [Stacks][]int32 // pair, by its id in each
	table *fst.Table[[Stacks]int32]
}

func newTwoStacks(pairs []fst.LabelPair, stack []int32) *twoStacks {
	s := &twoStacks{parens: newParens(pairs), table: fst.NewTable(func(k [Stacks]int32) uint64 {
		return fst.Mix(uint64(uint32(k[0]))<<32 | uint64(uint32(k[1])))
	})}
	var own [Stacks][]fst.LabelPair
	for i, pair := range pairs {
		l := stack[i] - 1
		s.level = append(s.level, l)
		own[l] = append(own[l], pair)
		s.outer[l] = append(s.outer[l], int32(i))
	}
	for l := range s.each {
		s.each[l] = newOneStack(own[l])
	}
	s.table.ID([Stacks]int32{}) // emptyStack
	return s
}

func (s *twoStacks) read(stack int32, l fst.Label) int32 {
	id, opens := s.of(l)
	if id == noParen {
		return stack
	}
	now, level := s.table.Key(fst.StateID(stack)), s.level[id]
	if !opens && level > 0 && now[0] != emptyStack {
		return blocked
	}
	next := s.each[level].read(now[level], l)
	if next == blocked {
		return blocked
	}
	now[level] = next
	q, _ := s.table.ID(now)
	return int32(q)
}

func (s *twoStacks) top(stack int32) int32 {
	for l, inner := range s.table.Key(fst.StateID(stack)) {
		if inner != emptyStack {
			return s.outer[l][s.each[l].top(inner)]
		}
	}
	return noParen
}

func (s *twoStacks) bytes() int64 {
	return s.table.Bytes() + s.each[0].bytes() + s.each[1].bytes()
}
