package layered

import "math/bits"

// wordTable numbers distinct keys of a fixed number of words, in order of
// insertion: open addressing with linear probes, keys in one flat array.
type wordTable struct {
	words int
	keys  []uint64
	slots []uint32 // id+1, 0 is empty
	n     int
	shift uint8
}

func newWordTable(words int) *wordTable {
	return &wordTable{words: words, slots: make([]uint32, 64), shift: 64 - 6}
}

// Len returns the number of keys.
func (t *wordTable) Len() int { return t.n }

// Key returns key i; it is read-only.
func (t *wordTable) Key(i int) []uint64 { return t.keys[i*t.words : (i+1)*t.words] }
func (t *wordTable) bytes() int64       { return int64(cap(t.keys))*8 + int64(len(t.slots))*4 }

func hashWords(key []uint64) uint64 {
	h := uint64(len(key))
	for _, w := range key {
		hi, lo := bits.Mul64(w^0x9e3779b97f4a7c15^h, 0xd6e8feb86659fd93)
		h = hi ^ lo
	}
	return h * 0x9e3779b97f4a7c15
}

// insert returns the number of key, a new one if it was not there.
func (t *wordTable) insert(key []uint64) int {
	if t.n*2 >= len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
probe:
	for i := hashWords(key) >> t.shift; ; i = (i + 1) & mask {
		id := t.slots[i]
		if id == 0 {
			t.n++
			t.slots[i] = uint32(t.n)
			t.keys = append(t.keys, key...)
			return t.n - 1
		}
		for j, w := range t.Key(int(id - 1)) {
			if w != key[j] {
				continue probe
			}
		}
		return int(id - 1)
	}
}

func (t *wordTable) grow() {
	t.slots = make([]uint32, 2*len(t.slots))
	t.shift--
	mask := uint64(len(t.slots) - 1)
	for id := range t.n {
		i := hashWords(t.Key(id)) >> t.shift
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = uint32(id + 1)
	}
}
