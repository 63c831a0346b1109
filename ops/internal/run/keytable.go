package run

import (
	"bytes"
	"hash/maphash"
)

// KeyTable numbers byte strings in the order in which they first appear, as fst.Table does
// values of one size: open addressing over one array that holds the strings one after
// another. The zero value is empty. Against a map from strings: no allocation a key, and
// nothing in it that the garbage collector looks at.
type KeyTable struct {
	seed  maphash.Seed
	text  []byte
	ends  []int
	slots []keySlot
}

// keySlot holds a number, biased by one so that zero is free, and half of the hash, which
// spares most comparisons.
type keySlot struct{ number, tag uint32 }

func (t *KeyTable) Key(k int32) []byte {
	begin := 0
	if k > 0 {
		begin = t.ends[k-1]
	}
	return t.text[begin:t.ends[k]]
}

// ID returns the number of key, giving it the next free one when it is new. key is copied.
func (t *KeyTable) ID(key []byte) (k int32, isNew bool) {
	if 4*len(t.ends) >= 3*len(t.slots) {
		t.grow()
	}
	h := maphash.Bytes(t.seed, key)
	mask := uint64(len(t.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.number == 0 {
			t.text = append(t.text, key...)
			t.ends = append(t.ends, len(t.text))
			*s = keySlot{uint32(len(t.ends)), uint32(h >> 32)}
			return int32(len(t.ends) - 1), true
		}
		if s.tag == uint32(h>>32) && bytes.Equal(t.Key(int32(s.number-1)), key) {
			return int32(s.number - 1), false
		}
	}
}

func (t *KeyTable) grow() {
	if len(t.slots) == 0 {
		t.seed = maphash.MakeSeed()
	}
	n := max(16, 2*len(t.slots))
	if uint64(n) > 1<<31 {
		panic("ops: a table of more than 2³¹-1 keys")
	}
	t.slots = make([]keySlot, n)
	mask := uint64(n - 1)
	for k := range t.ends {
		h := maphash.Bytes(t.seed, t.Key(int32(k)))
		i := h & mask
		for t.slots[i].number != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = keySlot{uint32(k + 1), uint32(h >> 32)}
	}
}
