package transduce

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/fst"
)

// alphabet numbers the code points and tags of training.
type alphabet struct {
	runes []rune   // ascending; rune i has the number i+1, and 0 is every other
	tags  []string // ascending, numbered alike
	lists []string // the lists of tags of pairs, ascending, joined by semicolons, numbered alike
}

const (
	edge     = 0xffff // the number of what is before and behind a string
	maxRunes = 0x7ff0 // each has two operations
)

func newAlphabet(d *Data) (*alphabet, error) {
	runes, tags, lists := map[rune]bool{}, map[string]bool{}, map[string]bool{}
	for i := range d.Pairs {
		p := &d.Pairs[i]
		for _, r := range p.Input + p.Output {
			runes[r] = true
		}
		for _, t := range p.Tags {
			tags[t] = true
		}
		lists[strings.Join(p.Tags, ";")] = true
	}
	for _, r := range d.Lexicon.symbols() {
		runes[r] = true
	}
	a := &alphabet{runes: sortedKeys(runes), tags: sortedKeys(tags), lists: sortedKeys(lists)}
	if len(a.runes) > maxRunes || len(a.tags) >= edge || len(a.lists) >= edge {
		return nil,
			fmt.Errorf("transduce: %d different characters, %d tags and %d lists of tags; there may be %d, %d and %d",
				len(a.runes), len(a.tags), len(a.lists), maxRunes, edge-1, edge-1)
	}
	return a, nil
}

func sortedKeys[K interface{ ~int32 | ~string }](m map[K]bool) []K {
	out := make([]K, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func numberOf[K interface{ ~int32 | ~string }](list []K, k K) uint16 {
	if i, ok := slices.BinarySearch(list, k); ok {
		return uint16(i + 1)
	}
	return 0
}

// op is an edit operation: what becomes of an input character, or what is inserted. Numbers from
// firstSymbol on are, for each character of the alphabet, its substitution and its insertion.
type op uint16

const (
	opCopy      op = 0 // the input character as it is, also one that training did not have
	opDelete    op = 1
	opEnd       op = 2 // of the output
	opStop      op = 3 // no further insertion here; only the channel scores it
	firstSymbol op = 4
)

func substitution(symbol uint16) op { return firstSymbol + 2*op(symbol-1) }
func insertion(symbol uint16) op    { return firstSymbol + 2*op(symbol-1) + 1 }

func (o op) inserts() bool      { return o >= firstSymbol && o&1 == 1 }
func (o op) substitutes() bool  { return o >= firstSymbol && o&1 == 0 }
func (o op) symbol() uint16     { return uint16(o-firstSymbol)/2 + 1 } // of the last two
func (a *alphabet) ops() int    { return int(firstSymbol) + 2*len(a.runes) }
func (a *alphabet) gaps() int   { return 1 + len(a.runes) } // choices between characters
func (a *alphabet) places() int { return 2 + len(a.runes) } // choices at a character

// kindOf is the kind of operation, as histories and features have it.
func kindOf(o op) uint16 {
	switch {
	case o == opCopy:
		return 1
	case o == opDelete:
		return 2
	case o == opEnd:
		return 3
	case o.inserts():
		return 5
	}
	return 4
}

var kindNames = []string{"start", "copy", "delete", "end", "substitute", "insert"}

// name writes an operation for people.
func (a *alphabet) name(o op) string {
	switch {
	case o.inserts():
		return "insert " + string(a.runes[o.symbol()-1])
	case o.substitutes():
		return "substitute " + string(a.runes[o.symbol()-1])
	}
	return kindNames[kindOf(o)]
}

// text is a pair as numbers.
type text struct {
	x, y []rune
	in   []uint16 // numbers of the input characters
	tags []uint16 // none where there are no tags
	list uint16   // of all tags
	out  []uint16 // numbers of the output characters
}

func (a *alphabet) text(p *Pair) *text {
	t := &text{x: []rune(p.Input), y: []rune(p.Output)}
	for _, r := range t.x {
		t.in = append(t.in, numberOf(a.runes, r))
	}
	for _, r := range t.y {
		t.out = append(t.out, numberOf(a.runes, r))
	}
	tags := p.Tags
	if len(a.tags) == 0 {
		tags = nil // training had none: they say nothing
	}
	for _, g := range tags {
		t.tags = append(t.tags, numberOf(a.tags, g))
	}
	t.list = numberOf(a.lists, strings.Join(tags, ";"))
	return t
}

// at is the number of the input character at place i, which may be outside.
func (t *text) at(i int) uint16 {
	if i < 0 || i >= len(t.in) {
		return edge
	}
	return t.in[i]
}

// emits returns what an operation at place i puts out, 0 for nothing.
func (a *alphabet) emits(t *text, i int, o op) (r rune, number uint16) {
	switch {
	case o == opCopy:
		return t.x[i], t.in[i]
	case o >= firstSymbol:
		return a.runes[o.symbol()-1], o.symbol()
	}
	return 0, 0
}

// key is a feature: a template, an operation, and what the template saw.
type key struct {
	template uint16
	op       op
	seen     [6]uint16
}

func hashKey(k key) uint64 {
	h := fst.Mix(uint64(k.template)<<32 | uint64(k.op)<<16 | uint64(k.seen[0]))
	h = fst.Mix(h ^ uint64(k.seen[1])<<48 ^ uint64(k.seen[2])<<32 ^ uint64(k.seen[3])<<16 ^ uint64(k.seen[4]))
	return fst.Mix(h ^ uint64(k.seen[5]))
}

// logSum returns log Σ exp v.
func logSum(v ...float64) float64 {
	m := slices.Max(v)
	if math.IsInf(m, -1) {
		return m
	}
	s := 0.0
	for _, x := range v {
		s += math.Exp(x - m)
	}
	return m + math.Log(s)
}
