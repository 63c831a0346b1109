package run

import (
	"bytes"
	"hash/maphash"

	"github.com/tropica-fst/tropica/fst/engine"
)

// KeyTable numbers byte strings in the order in which they first appear, as fst.Table does values
// of one size. The strings lie one after the other in one array. The zero value is empty. Against a
// map from strings: no allocation a key, and nothing in it that the garbage collector looks at.
type KeyTable struct {
	seed  maphash.Seed
	text  []byte
	ends  []int
	index engine.Index
}

// Key returns the string with number k.
func (t *KeyTable) Key(k int32) []byte {
	begin := 0
	if k > 0 {
		begin = t.ends[k-1]
	}
	return t.text[begin:t.ends[k]]
}

// ID returns the number of key, giving it the next free one when it is new. key is copied.
func (t *KeyTable) ID(key []byte) (k int32, isNew bool) {
	if t.ends == nil {
		t.seed = maphash.MakeSeed()
	}
	h := uint32(maphash.Bytes(t.seed, key))
	p := t.index.Probe(h)
	for k = p.Next(); k >= 0; k = p.Next() {
		if bytes.Equal(t.Key(k), key) {
			return k, false
		}
	}
	k = int32(len(t.ends))
	t.text = append(t.text, key...)
	t.ends = append(t.ends, len(t.text))
	t.index.AddAt(p, k)
	return k, true
}
