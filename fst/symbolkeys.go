package fst

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
)

// Keys of symbol tables have 64 bits in files, labels of machines 32. Symbols with a key that no
// label can be are kept, in their order, so that a table is written as it was read; but as far
// as machines go they have no label. There are hardly ever any, so that they lie beside: what
// all other symbols take, and how they are found, is as if there were none.

// wideKeys are the keys beyond 32 bits.
type wideKeys struct {
	keys     map[int32]int64 // by position
	position map[int64]int32 // of the last symbol with that key
}

// isLabel reports whether a key can be a label.
func isLabel(key int64) bool { return key == int64(Label(key)) }

// AddKey is AddLabel for any key of 64 bits. A symbol with a key that is beyond the labels
// has none: Find does not find it, At and All say NoLabel.
func (t *SymbolTable) AddKey(symbol string, key int64) (int64, bool) {
	if isLabel(key) && t.wide == nil {
		l, ok := t.AddLabel(symbol, Label(key))
		return int64(l), ok
	}
	hash := hashSymbol(symbol)
	if i := t.symbols.find(symbol, hash); i >= 0 {
		has := t.key(i)
		return has, has == key
	}
	if key == int64(NoLabel) || len(symbol) > maxSymbol {
		return int64(NoLabel), false
	}
	t.insertKey(symbol, hash, key)
	return key, true
}

// insertKey adds a symbol that is new.
func (t *SymbolTable) insertKey(symbol string, hash uint32, key int64) {
	if isLabel(key) {
		t.insert(symbol, hash, Label(key))
		return
	}
	if t.wide == nil {
		t.wide = &wideKeys{keys: map[int32]int64{}, position: map[int64]int32{}}
	}
	i := t.symbols.add(symbol, hash, NoLabel)
	t.wide.keys[i], t.wide.position[key] = key, i
	if key >= t.next {
		t.next = key + min(1, math.MaxInt64-key)
	}
}

// key returns the key of the symbol at a position.
func (t *SymbolTable) key(i int32) int64 {
	if l := t.symbols.entries[i].label; l != NoLabel {
		return int64(l)
	}
	return t.wide.keys[i]
}

// keyPosition is position for keys.
func (t *SymbolTable) keyPosition(key int64) int32 {
	if isLabel(key) {
		return t.position(Label(key))
	}
	if t.wide != nil {
		if i, ok := t.wide.position[key]; ok {
			return i
		}
	}
	return -1
}

// FindKey returns the key of symbol, also one that no label can be.
func (t *SymbolTable) FindKey(symbol string) (int64, bool) {
	if i := t.symbols.find(symbol, hashSymbol(symbol)); i >= 0 {
		return t.key(i), true
	}
	return int64(NoLabel), false
}

// KeyAt is At for keys.
func (t *SymbolTable) KeyAt(i int) (string, int64) { return t.symbols.text(int32(i)), t.key(int32(i)) }

// Keys is All for keys.
func (t *SymbolTable) Keys() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for i := range t.symbols.entries {
			if !yield(t.KeyAt(i)) {
				return
			}
		}
	}
}

// inBinaryOrder returns the positions in the order of binary files: those whose
// key is the position, then the others by increasing key. Symbols that
// share a key are put so that a reader, by the rule of AddLabel, lets the
// same one win as here.
func (t *SymbolTable) inBinaryOrder() []int32 {
	order := make([]int32, t.Len())
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order[t.dense:], func(i, j int32) int { return cmp.Compare(t.key(i), t.key(j)) })
	dense := true // as the reader will count
	for a := 0; a < len(order); {
		key := t.key(order[a])
		b := a + 1
		for b < len(order) && t.key(order[b]) == key {
			b++
		}
		dense = dense && key == int64(a)
		group := order[a:b]
		if w := slices.Index(group, t.keyPosition(key)); w >= 0 && b-a > 1 {
			if dense {
				group[0], group[w] = group[w], group[0]
			} else {
				group[len(group)-1], group[w] = group[w], group[len(group)-1]
			}
		}
		dense = dense && b-a == 1
		a = b
	}
	return order
}

// lacks says in an error why symbol has no label here.
func (t *SymbolTable) lacks(symbol string) error {
	if key, ok := t.FindKey(symbol); ok {
		return fmt.Errorf("has the key %d in %s, and labels have 32 bits", key, t.shown())
	}
	return fmt.Errorf("is not in %s", t.shown())
}

// shown is how messages name a table.
func (t *SymbolTable) shown() string { return shownTable(t.name) }

func shownTable(name string) string {
	if name == "" {
		return "the symbol table"
	}
	return fmt.Sprintf("the symbol table %q", name)
}
