package transduce

import (
	"fmt"
	"math"
	"strings"

	"github.com/tropica-fst/tropica/fst"
)

// features numbers the features of a model. A feature is there when the best alignment of a
// training pair has it.
//
// At a place of the input an operation has as features the input's n-grams there, the distance from
// either end, the tags, and both together. After a history it has the last outputs, the operation
// before, and the tags with these.
type features struct {
	a       *alphabet
	order   int // of the history of outputs
	window  int
	damping float64
	table   *fst.Table[key]
}

// Templates. The bits from insertedShift on are the insertions at the place so far.
const (
	tWindow   = 0x000 // + 8·characters before + characters from the place on
	tLeftEnd  = 0x040 // + distance: a character before, and that of the place
	tRightEnd = 0x048
	tBias     = 0x050
	tStart    = 0x051
	tEnd      = 0x052
	tEndAt    = 0x053
	tLast     = 0x054 // + characters: the last ones of the input, and the end
	tList     = 0x060
	tListEnd  = 0x061
	tListHead = 0x062
	tListAt   = 0x063 // + characters before the place: the list, the end, characters from there to the place
	tListNear = 0x068
	tListLast = 0x069 // + characters
	tListInit = 0x06d
	tTag      = 0x070
	tTagEnd   = 0x071
	tTagHead  = 0x072
	tTagAt    = 0x073

	tPast     = 0x100 // + length: the output and those before it
	tListPast = 0x110
	tTagPast  = 0x118
	tEcho     = 0x1c0 // + 8 + distance: the output is the input character there
	tEchoHead = 0x1d0
	tEchoList = 0x1e0

	tKind     = 0x120 // of two operations
	tKindOp   = 0x121
	tListKind = 0x122
	tJoint    = 0x128 // + outputs: those before, and the input character

	insertedShift = 12
	templateMask  = 1<<insertedShift - 1
	lastFar       = 4 // distances from the end are told apart up to this
)

// visit visits the features of a piece.
func (f *features) visit(t *text, p *piece, visit func(key)) {
	if p.past {
		f.visitPast(t, p, visit)
		return
	}
	if p.op == opEnd {
		return
	}
	i := int(p.i)
	start, end := uint16(min(i, far)), uint16(min(len(t.in)-i, lastFar))
	give := func(template int, seen ...uint16) {
		k := key{template: uint16(template | int(p.k)<<insertedShift), op: p.op}
		copy(k.seen[:], seen)
		visit(k)
	}
	// Windows have a characters before the place, and b from it on; an operation on a
	// character sees that one.
	least := 1
	if p.op.inserts() {
		least = 0
	}
	var seen [6]uint16
	for a := 0; a <= f.window; a++ {
		for b := least; b <= f.window+least && a+b <= 5; b++ {
			if a+b == 0 || i-a < -1 || i+b > len(t.in)+1 {
				continue
			}
			for j := range a + b {
				seen[j] = t.at(i - a + j)
			}
			give(tWindow+8*a+b, seen[:a+b]...)
		}
	}
	for d := 2; d <= f.window; d++ {
		give(tLeftEnd+d, t.at(i-d), t.at(i))
		give(tRightEnd+d, t.at(i), t.at(i+d))
	}
	n := len(t.in)
	give(tBias)
	give(tStart, start)
	give(tEnd, end)
	give(tEndAt, end, t.at(i))
	give(tLast+2, end, t.at(n-1), t.at(n-2))
	give(tLast+3, end, t.at(n-1), t.at(n-2), t.at(n-3))
	f.visitEcho(t, p, visit)
	if len(t.tags) == 0 {
		return
	}
	give(tList, t.list)
	give(tListEnd, t.list, end)
	give(tListHead, t.list, start)
	give(tListAt, t.list, end, t.at(i))
	give(tListAt+1, t.list, end, t.at(i-1), t.at(i))
	give(tListAt+2, t.list, end, t.at(i-2), t.at(i-1), t.at(i))
	give(tListNear, t.list, t.at(i-1), t.at(i))
	give(tListLast+2, t.list, end, t.at(n-1), t.at(n-2))
	give(tListLast+3, t.list, end, t.at(n-1), t.at(n-2), t.at(n-3))
	give(tListInit, t.list, start, t.at(0), t.at(1))
	for _, g := range t.tags {
		give(tTag, g)
		give(tTagEnd, g, end)
		give(tTagHead, g, start)
		give(tTagAt, g, end, t.at(i-1), t.at(i))
	}
}

// visitEcho visits features of outputs that repeat an input character nearby, whichever it is:
// doubled letters, repeated syllables, letters that change places.
func (f *features) visitEcho(t *text, p *piece, visit func(key)) {
	if p.op < firstSymbol {
		return
	}
	o := opDelete // stands for all substitutions
	if p.op.inserts() {
		o = opStop
	}
	i, symbol := int(p.i), p.op.symbol()
	for d := -3; d <= 3; d++ {
		if t.at(i+d) != symbol {
			continue
		}
		k := key{template: uint16(tEcho + 8 + d | int(p.k)<<insertedShift), op: o}
		visit(k)
		k.template += tEchoHead - tEcho
		k.seen[0] = uint16(min(i, far))
		visit(k)
		if len(t.tags) > 0 {
			k.template += tEchoList - tEchoHead
			k.seen[1] = t.list
			visit(k)
		}
	}
}

func (f *features) visitPast(t *text, p *piece, visit func(key)) {
	give := func(template int, o op, seen ...uint16) {
		k := key{template: uint16(template), op: o}
		copy(k.seen[:], seen)
		visit(k)
	}
	var before [4]uint16
	for j := range f.order {
		before[j] = uint16(p.prior >> (16 * j))
	}
	if p.out != 0 || p.op == opEnd {
		// An output counts the same however it came about.
		o := opCopy
		if p.op == opEnd {
			o = opEnd
		}
		for j := 1; j <= f.order; j++ {
			give(tPast+j, o, append([]uint16{p.out}, before[:j]...)...)
			if j <= 3 && len(t.tags) > 0 {
				give(tListPast+j, o, append([]uint16{t.list, p.out}, before[:j]...)...)
			}
		}
		if p.op == opEnd && f.order >= 2 {
			for _, g := range t.tags {
				give(tTagPast, o, g, before[0], before[1])
			}
		}
	}
	kind := kindOf(p.op)
	inserted := uint16(p.k)
	give(tKind, opCopy, p.kind, kind, inserted)
	give(tKindOp, p.op, p.kind, inserted)
	if len(t.tags) > 0 {
		give(tListKind, opCopy, t.list, p.kind, kind, inserted)
	}
	for j := 1; j <= min(2, f.order); j++ {
		give(tJoint+j, p.op, append([]uint16{uint16(p.i), inserted}, before[:j]...)...)
	}
}

// value is the value of a feature of a template: the more characters it sees, the less.
func (f *features) value(template uint16) float64 {
	t := int(template & templateMask)
	n := 0
	switch {
	case t < tLeftEnd:
		n = t/8 + t%8 - 1
	case t < tBias:
		n = 1
	case t == tEndAt || t == tTagAt:
		n = 1
	case t >= tLast && t < tList:
		n = t - tLast
	case t >= tListAt && t < tListNear:
		n = t - tListAt + 1
	case t == tListNear || t == tListInit:
		n = 2
	case t >= tListLast && t < tListInit:
		n = t - tListLast
	case t >= tEcho:
		return 1
	case t >= tPast && t < tListPast:
		n = t - tPast - 1
	case t >= tListPast && t < tTagPast:
		n = t - tListPast
	case t >= tJoint:
		n = t - tJoint
	}
	return math.Pow(f.damping, float64(max(0, n)))
}

// collect numbers the features of aligned pairs that occur often enough, in order of occurrence.
func (f *features) collect(texts []*text, aligned []*edits, least int) {
	all := fst.NewTable(hashKey)
	var counts []int32
	for i, t := range texts {
		if aligned[i] == nil {
			continue
		}
		for _, p := range f.path(t, aligned[i]) {
			f.visit(t, &p, func(k key) {
				id, isNew := all.ID(k)
				if isNew {
					counts = append(counts, 0)
				}
				counts[id]++
			})
		}
	}
	f.table = fst.NewTable(hashKey)
	for id, n := range counts {
		if int(n) >= least {
			f.table.ID(all.Key(fst.StateID(id)))
		}
	}
}

// path returns the pieces of an alignment.
func (f *features) path(t *text, e *edits) []piece {
	var out []piece
	kind, prior := uint16(afterStart), uint64(0)
	for range f.order {
		prior = prior<<16 | edge
	}
	step := func(i, k int, o op) {
		_, number := f.a.emits(t, i, o)
		out = append(out, piece{i: int16(i), k: int16(min(k, far)), op: o},
			piece{past: true, i: int16(t.at(i)), k: int16(min(k, 1)), kind: kind, op: o, out: number, prior: prior})
		kind = after(kind, o)
		if o != opDelete && f.order > 0 {
			prior = prior<<16 | uint64(number)
			if f.order < 4 {
				prior &= 1<<(16*f.order) - 1
			}
		}
	}
	for i, list := range e.insert {
		for k, o := range list {
			step(i, k, o)
		}
		if i < len(e.at) {
			step(i, len(list), e.at[i])
		} else {
			step(i, len(list), opEnd)
		}
	}
	return out
}

// compile returns the numbers of the features of pieces, in rows.
func (f *features) compile(t *text, pieces []piece) (start, feature []int32) {
	start = make([]int32, 1, len(pieces)+1)
	for i := range pieces {
		f.visit(t, &pieces[i], func(k key) {
			if id := f.table.Find(k); id != fst.NoState {
				feature = append(feature, int32(id))
			}
		})
		start = append(start, int32(len(feature)))
	}
	return start, feature
}

// name writes a feature for people.
func (f *features) name(k key) string {
	c := func(n uint16) string {
		switch {
		case n == edge:
			return "|"
		case n == 0 || int(n) > len(f.a.runes):
			return "?"
		}
		return string(f.a.runes[n-1])
	}
	letters := func(list ...uint16) string {
		var b strings.Builder
		for _, n := range list {
			b.WriteString(c(n))
		}
		return b.String()
	}
	of := func(names []string, n uint16) string {
		if n == 0 || int(n) > len(names) {
			return "?"
		}
		return names[n-1]
	}
	list := func(n uint16) string { return of(f.a.lists, n) }
	tag := func(n uint16) string { return of(f.a.tags, n) }
	history := func(kind uint16) string {
		switch {
		case kind == afterStart:
			return "start"
		case kind < afterCopy+longestCopy:
			return fmt.Sprintf("copy %d", kind)
		}
		return of(kindNames, kind-afterOther+1)
	}
	backwards := func(list []uint16) string {
		var b strings.Builder
		for j := len(list) - 1; j >= 0; j-- {
			b.WriteString(c(list[j]))
		}
		return b.String()
	}
	t, s := int(k.template&templateMask), k.seen
	where := ""
	if n := k.template >> insertedShift; n > 0 {
		where = fmt.Sprintf(" after %d insertions", n)
	}
	switch {
	case t < tLeftEnd:
		a, b := t/8, t%8
		return "at " + letters(s[:a]...) + "^" + letters(s[a:a+b]...) + where
	case t < tRightEnd:
		return fmt.Sprintf("%s, %d back from %s", c(s[0]), t-tLeftEnd, c(s[1])) + where
	case t < tBias:
		return fmt.Sprintf("%s, %d on from %s", c(s[1]), t-tRightEnd, c(s[0])) + where
	case t == tBias:
		return "anywhere" + where
	case t == tStart:
		return fmt.Sprintf("%d from the start", s[0]) + where
	case t == tEnd:
		return fmt.Sprintf("%d from the end", s[0]) + where
	case t == tEndAt:
		return fmt.Sprintf("%d from the end at %s", s[0], c(s[1])) + where
	case t < tList:
		return fmt.Sprintf("%d from the end of -%s", s[0], backwards(s[1:1+t-tLast])) + where
	case t == tList:
		return list(s[0]) + where
	case t == tListEnd:
		return fmt.Sprintf("%s, %d from the end", list(s[0]), s[1]) + where
	case t == tListHead:
		return fmt.Sprintf("%s, %d from the start", list(s[0]), s[1]) + where
	case t < tListNear:
		n := t - tListAt
		return fmt.Sprintf("%s, %d from the end at %s^%s", list(s[0]), s[1], letters(s[2:2+n]...),
			c(s[2+n])) + where
	case t == tListNear:
		return fmt.Sprintf("%s at %s^%s", list(s[0]), c(s[1]), c(s[2])) + where
	case t < tListInit:
		return fmt.Sprintf("%s, %d from the end of -%s", list(s[0]), s[1], backwards(s[2:2+t-tListLast])) + where
	case t == tListInit:
		return fmt.Sprintf("%s, %d from the start of %s-", list(s[0]), s[1], letters(s[2:4]...)) + where
	case t == tTag:
		return tag(s[0]) + where
	case t == tTagEnd:
		return fmt.Sprintf("%s, %d from the end", tag(s[0]), s[1]) + where
	case t == tTagHead:
		return fmt.Sprintf("%s, %d from the start", tag(s[0]), s[1]) + where
	case t == tTagAt:
		return fmt.Sprintf("%s, %d from the end at %s^%s", tag(s[0]), s[1], c(s[2]), c(s[3])) + where
	case t < tListPast:
		return "output " + backwards(s[1:1+t-tPast]) + outputName(k.op, c(s[0]))
	case t < tTagPast:
		return list(s[0]) + ", output " + backwards(s[2:2+t-tListPast]) + outputName(k.op, c(s[1]))
	case t == tTagPast:
		return tag(s[0]) + ", output " + backwards(s[1:3]) + "|"
	case t >= tEcho:
		if t >= tEchoHead {
			where += fmt.Sprintf(", %d from the start", s[0])
		}
		if t >= tEchoList {
			where += ", " + list(s[1])
		}
		return fmt.Sprintf("the input character at distance %d", t%16-8) + where
	case t == tKind:
		return history(s[0]) + " then " + of(kindNames, s[1]+1)
	case t == tKindOp:
		return "after " + history(s[0])
	case t == tListKind:
		return list(s[0]) + ", " + history(s[1]) + " then " + kindNames[s[2]]
	}
	return "at " + c(s[0]) + " after output " + backwards(s[2:2+t-tJoint])
}

func outputName(o op, symbol string) string {
	if o == opEnd {
		return "|"
	}
	return symbol
}
