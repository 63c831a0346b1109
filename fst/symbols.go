package fst

import (
	"fmt"
	"iter"
	"slices"
)

// SymbolTable names labels. It maps symbols to labels and back and remembers
// the order in which symbols came.
//
// A symbol has one label; adding it again changes nothing. Two symbols may
// share a label, as in OpenFst; which of them the label then stands for is
// OpenFst's choice too: the first while the table counts 0, 1, 2, … up to that
// label, otherwise the last. The label -1 is NoLabel and never in a table.
//
// The zero value is an empty table without a name. Once attached to a machine
// a table must not change; it may then be read by several goroutines.
type SymbolTable struct {
	name    string
	symbols symbolStore
	dense   Label // positions below it have the position as label
	next    int64

	low   []int32         // position+1 by label, for labels not far above the number of symbols
	other map[Label]int32 // position by label, for the rest
	wide  *wideKeys       // nil without such keys
}

// NewSymbolTable returns an empty table. OpenFst calls a nameless one
// "<unspecified>".
func NewSymbolTable(name string) *SymbolTable { return &SymbolTable{name: name} }

// SymbolsOf returns a table that numbers the given symbols from 0, so that the
// first stands for epsilon.
func SymbolsOf(symbols ...string) *SymbolTable {
	t := &SymbolTable{}
	for _, s := range symbols {
		t.Add(s)
	}
	return t
}

// Name returns the table's name, which files carry and nothing compares.
func (t *SymbolTable) Name() string { return t.name }

// SetName changes the name.
func (t *SymbolTable) SetName(name string) { t.name = name }

// Len returns the number of symbols.
func (t *SymbolTable) Len() int { return len(t.symbols.entries) }

// AvailableKey returns one more than the largest key that the table has had,
// at least 0: what Add gives to the next new symbol.
func (t *SymbolTable) AvailableKey() int64 { return t.next }

// Add returns the label of symbol, giving it the next available one if it is new. It returns
// NoLabel when the table is full (after key 2³¹-1), for a symbol of 2³¹ bytes or more, and for a
// key that is no label.
func (t *SymbolTable) Add(symbol string) Label {
	hash := hashSymbol(symbol)
	if i := t.symbols.find(symbol, hash); i >= 0 {
		return t.symbols.entries[i].label
	}
	if t.next > 1<<31-1 || len(symbol) > maxSymbol {
		return NoLabel
	}
	l := Label(t.next)
	t.insert(symbol, hash, l)
	return l
}

// AddLabel gives symbol the label l and returns true. If the symbol has a label
// already, that stays: the answer is that label, and whether it is l. NoLabel
// is never given, nor any to a symbol of 2³¹ bytes or more, or with a key that is no label:
// the answer is then NoLabel and false.
func (t *SymbolTable) AddLabel(symbol string, l Label) (Label, bool) {
	hash := hashSymbol(symbol)
	if i := t.symbols.find(symbol, hash); i >= 0 {
		has := t.symbols.entries[i].label
		return has, has == l
	}
	if l == NoLabel || len(symbol) > maxSymbol {
		return NoLabel, false
	}
	t.insert(symbol, hash, l)
	return l, true
}

func (t *SymbolTable) insert(symbol string, hash uint32, l Label) {
	i := t.symbols.add(symbol, hash, l)
	t.next = max(t.next, int64(l)+1)
	if l == t.dense && Label(i) == l {
		t.dense++
	} else if l >= 0 && l < t.dense {
		return // the first stays
	}
	t.index(l, i)
}

// index makes l stand for position i. Labels up to four times the number of
// symbols are looked up in a slice, so that its size is bounded by the symbols
// and not by what a hostile file numbers them.
func (t *SymbolTable) index(l Label, i int32) {
	if l >= 0 && int64(l) < int64(len(t.low)) {
		t.low[l] = i + 1
		return
	}
	if l >= 0 && int64(l) < 4*int64(t.Len())+16 {
		t.low = slices.Grow(t.low, int(l)+1-len(t.low))
		old := len(t.low)
		t.low = t.low[:l+1]
		for k := old; k <= int(l); k++ { // what was too far before moves in
			t.low[k] = 0
			if len(t.other) > 0 {
				if j, ok := t.other[Label(k)]; ok {
					t.low[k] = j + 1
					delete(t.other, Label(k))
				}
			}
		}
		t.low[l] = i + 1
		return
	}
	if t.other == nil {
		t.other = make(map[Label]int32)
	}
	t.other[l] = i
}

func (t *SymbolTable) position(l Label) int32 {
	if l >= 0 && int(l) < len(t.low) {
		return t.low[l] - 1
	}
	if i, ok := t.other[l]; ok {
		return i
	}
	return -1
}

// Find returns the label of symbol, if it has one.
func (t *SymbolTable) Find(symbol string) (Label, bool) {
	if i := t.symbols.find(symbol, hashSymbol(symbol)); i >= 0 {
		l := t.symbols.entries[i].label
		return l, l != NoLabel
	}
	return NoLabel, false
}

// FindBytes is Find without a copy of the symbol.
func (t *SymbolTable) FindBytes(symbol []byte) (Label, bool) {
	return t.Find(viewString(symbol))
}

// Symbol returns the symbol that l stands for.
func (t *SymbolTable) Symbol(l Label) (string, bool) {
	if i := t.position(l); i >= 0 {
		return t.symbols.text(i), true
	}
	return "", false
}

// Has reports whether l stands for a symbol.
func (t *SymbolTable) Has(l Label) bool { return t.position(l) >= 0 }

// At returns the i-th symbol in order of insertion, and its label, NoLabel if its key is none.
func (t *SymbolTable) At(i int) (string, Label) {
	return t.symbols.text(int32(i)), t.symbols.entries[i].label
}

// All yields symbols and labels, as At, in order of insertion.
func (t *SymbolTable) All() iter.Seq2[string, Label] {
	return func(yield func(string, Label) bool) {
		for i := range t.symbols.entries {
			if !yield(t.At(i)) {
				return
			}
		}
	}
}

// Clone returns a copy that may be changed.
func (t *SymbolTable) Clone() *SymbolTable {
	c := &SymbolTable{name: t.name}
	c.reserve(t.Len())
	for s, key := range t.Keys() {
		c.insertKey(s, hashSymbol(s), key)
	}
	c.next = t.next
	return c
}

// AddTable adds the symbols of u that t does not have, in u's order, with fresh
// keys.
func (t *SymbolTable) AddTable(u *SymbolTable) {
	for s := range u.All() {
		t.AddKey(s, t.next)
	}
}

// Compatible reports whether machines with these tables may be combined: one is
// missing, or every key stands for the same symbol in both. Names, the order
// of insertion and second symbols of a label do not matter. OpenFst compares a
// checksum of the same facts.
func Compatible(a, b *SymbolTable) bool {
	if a == nil || b == nil || a == b {
		return true
	}
	return a.covers(b) && b.covers(a)
}

// covers reports whether every key of b stands for the same in a.
func (a *SymbolTable) covers(b *SymbolTable) bool {
	for k := range b.symbols.entries {
		key := b.key(int32(k))
		i, j := a.keyPosition(key), b.keyPosition(key)
		if i < 0 || a.symbols.text(i) != b.symbols.text(j) {
			return false
		}
	}
	return true
}

// Disagreement names a symbol or a label on which two tables differ, "" where they are Compatible:
// one that has two meanings if there is one, else one that a single table has.
func Disagreement(a, b *SymbolTable) string {
	if Compatible(a, b) {
		return ""
	}
	alone := ""
	for side, t := range []*SymbolTable{a, b} {
		other := [...]*SymbolTable{b, a}[side]
		for k := range t.symbols.entries {
			key := t.key(int32(k))
			s := t.symbols.text(t.keyPosition(key))
			i := other.keyPosition(key)
			if i >= 0 && other.symbols.text(i) == s {
				continue
			}
			at, there := other.FindKey(s)
			switch {
			case there && at != key && side == 0:
				return fmt.Sprintf("%q is %d in the first and %d in the second", s, key, at)
			case i >= 0 && side == 0:
				return fmt.Sprintf("%d is %q in the first and %q in the second", key, s, other.symbols.text(i))
			case alone == "":
				alone = fmt.Sprintf("%q, %d, is in the %s alone", s, key, [...]string{"first", "second"}[side])
			}
		}
	}
	return alone
}

// LabelPair says that the label From becomes To.
type LabelPair struct{ From, To Label }

// Relabel returns a table of the symbols of t that pairs mention, under their
// new labels and in the order of the pairs: what a machine relabelled by the
// same pairs should carry. Pairs whose From is not in t are skipped.
func (t *SymbolTable) Relabel(pairs []LabelPair) *SymbolTable {
	u := NewSymbolTable(t.name)
	if u.name != "" {
		u.name = "relabeled_" + u.name
	}
	for _, p := range pairs {
		if s, ok := t.Symbol(p.From); ok {
			u.AddLabel(s, p.To)
		}
	}
	return u
}

// PairsTo returns how labels change when the symbols of t are renumbered as to
// has them. Symbols that to lacks map to the label of unknown, if that is not
// empty and in to; otherwise they are listed in missing, as are those that have a label
// in t, but in to a key that is none.
func (t *SymbolTable) PairsTo(to *SymbolTable, unknown string) (pairs []LabelPair, missing []string) {
	other, hasOther := NoLabel, false
	if unknown != "" {
		other, hasOther = to.Find(unknown)
	}
	for s, l := range t.All() {
		if l == NoLabel || t.symbols.text(t.position(l)) != s {
			continue // no machine has it, or it is a second symbol of l, and l stands for another
		}
		if k, ok := to.FindKey(s); ok && isLabel(k) {
			pairs = append(pairs, LabelPair{l, Label(k)})
		} else if hasOther && !ok {
			pairs = append(pairs, LabelPair{l, other})
		} else {
			missing = append(missing, s)
		}
	}
	return pairs, missing
}

// reserve makes room for n symbols.
func (t *SymbolTable) reserve(n int) { t.symbols.reserve(n) }
