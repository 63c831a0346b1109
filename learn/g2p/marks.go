package g2p

import (
	"fmt"
	"slices"
	"strings"
)

// marks counts marked phones of some kinds, up to two each: in a word so far.
type marks struct {
	names []string // as given
	kinds int
	kind  []int8 // of each phone; -1 is none
}

// perKind are the features of a kind: a mark where there were 0, 1, or 2 and more before, and the
// end of the word then.
const perKind = 6

func (m *marks) size() int { return perKind * m.kinds }

func (m *marks) step(state uint16, phone int, first int32, entries []int32) ([]int32, uint16) {
	k := m.kind[phone]
	if k < 0 {
		return entries, state
	}
	shift := 2 * uint(k)
	count := state >> shift & 3
	entries = append(entries, first+int32(perKind*int(k)+int(count)))
	if count < 2 {
		state += 1 << shift
	}
	return entries, state
}

func (m *marks) end(state uint16, first int32, entries []int32) []int32 {
	for k := range m.kinds {
		entries = append(entries, first+int32(perKind*k+3+int(state>>(2*uint(k))&3)))
	}
	return entries
}

const maxMarks = 8 // kinds: two bits each

func newMarks(phones, names []string) (*marks, error) {
	m := &marks{names: slices.Clone(names), kind: make([]int8, len(phones))}
	kinds, err := markKinds(phones, names)
	if err != nil {
		return nil, err
	}
	if len(kinds) > maxMarks {
		return nil, fmt.Errorf("g2p: %d kinds of marks to count, more than %d", len(kinds), maxMarks)
	}
	for i := range m.kind {
		m.kind[i] = -1
	}
	m.kinds = len(kinds)
	for k, list := range kinds {
		for _, p := range list {
			if m.kind[p] < 0 { // the first of several counts
				m.kind[p] = int8(k)
			}
		}
	}
	return m, nil
}

// AutoMarks, as the only mark, stands for those that the phones have; NoMarks for none.
const (
	AutoMarks = "auto"
	NoMarks   = "none"
)

// markGroups are the marks that AutoMarks knows: those of tone and accent, and each degree of
// stress for itself. Others, such as length, do not concern a word as a whole.
var markGroups = []string{
	"\u0300\u0301\u0302\u0304\u030b\u030c\u030f\u0311\u1dc4\u1dc5\u1dc6\u1dc7\u1dc8\u1dc9",
	"ˈ1", "ˌ2", "3", "˥˦˧˨˩",
}

// markKinds returns the phones of every kind of mark. A name is a phone, or what marks phones:
// characters in them; several joined by + are one kind. AutoMarks takes those of markGroups without
// which a phone would be another one, or one with another mark.
func markKinds(phones, names []string) ([][]int, error) {
	if len(names) == 1 && names[0] == AutoMarks {
		return autoMarks(phones), nil
	}
	var kinds [][]int
	for _, name := range names {
		var kind []int
		for i, p := range phones {
			for _, m := range strings.Split(name, "+") {
				if m != "" && strings.Contains(p, m) && (p == m || !slices.Contains(phones, m)) {
					kind = append(kind, i)
					break
				}
			}
		}
		if len(kind) == 0 {
			return nil, fmt.Errorf("g2p: no phone is or has the mark %q", name)
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

func autoMarks(phones []string) [][]int {
	isMark := func(r rune) bool { // 0 is the digit of no stress
		return r == '0' || slices.ContainsFunc(markGroups,
			func(g string) bool { return strings.ContainsRune(g, r) })
	}
	bare := map[string]int{} // phones by what is left without marks
	strip := func(p string) string {
		return strings.Map(func(r rune) rune {
			if isMark(r) {
				return -1
			}
			return r
		}, p)
	}
	for _, p := range phones {
		bare[strip(p)]++
	}
	var kinds [][]int
	for _, group := range markGroups {
		var kind []int
		for i, p := range phones {
			if b := strip(p); b != "" && bare[b] > 1 && strings.ContainsAny(p, group) {
				kind = append(kind, i)
			}
		}
		if len(kind) > 0 {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
