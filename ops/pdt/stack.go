package pdt

import (
	"errors"
	"fmt"

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

// parens finds the pair that a label belongs to. Of a label in several pairs the
// last counts, as in OpenFst.
type parens struct {
	pairs    []fst.LabelPair
	id       map[fst.Label]int32
	min, max fst.Label
}

func newParens(pairs []fst.LabelPair) *parens {
	p := &parens{pairs: pairs, id: make(map[fst.Label]int32, 2*len(pairs)), min: 0, max: -1}
	for i, pair := range pairs {
		p.id[pair.From], p.id[pair.To] = int32(i), int32(i)
		lo, hi := min(pair.From, pair.To), max(pair.From, pair.To)
		if i == 0 {
			p.min, p.max = lo, hi
		}
		p.min, p.max = min(p.min, lo), max(p.max, hi)
	}
	return p
}

// of returns the pair of label l, and whether l opens it; noParen where l is no
// parenthesis.
func (p *parens) of(l fst.Label) (id int32, opens bool) {
	if l < p.min || l > p.max {
		return noParen, false
	}
	id, ok := p.id[l]
	if !ok {
		return noParen, false
	}
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
