package fst

import (
	"hash/maphash"
	"slices"
	"unsafe"
)

// symbolStore keeps the symbols of a table, their labels, and where each symbol is, without a
// pointer a symbol: the bytes of symbols lie one behind the other in blocks, and what finds them is
// an open-addressing table of positions. A garbage collection has a few blocks to mark where
// strings and a map of them were 126,000 objects for the words of a lexicon, and to find a symbol
// touches three lines of the cache.
//
// Bytes that were written are never changed nor moved, so that strings may share them. The hash has
// a seed of the process: nobody can prepare a file all of whose symbols collide. Nothing depends on
// it but time.
type symbolStore struct {
	entries []symbolEntry
	blocks  [][]byte
	slots   []uint64 // the hash above, position+1 below; zero is free; at most half are taken
}

// symbolEntry is a symbol by position: n bytes of a block, and its label.
type symbolEntry struct {
	block, at uint32
	n         int32
	label     Label
}

// maxSymbol is how long a symbol may be: files tell it as an int32.
const maxSymbol = 1<<31 - 1

// Blocks of symbols begin small and double, for small tables are common.
const firstSymbolBlock, maxSymbolBlock = 256, 64 << 10

var symbolSeed = maphash.MakeSeed()

// viewString returns b as a string for as long as b does not change.
func viewString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// text returns the symbol at a position.
func (s *symbolStore) text(i int32) string {
	e := &s.entries[i]
	return viewString(s.blocks[e.block][e.at:][:e.n])
}

func hashSymbol(symbol string) uint32 { return uint32(maphash.String(symbolSeed, symbol)) }

// find returns the position of symbol, which has the given hash, -1 if it is not there.
func (s *symbolStore) find(symbol string, hash uint32) int32 {
	if len(s.slots) == 0 {
		return -1
	}
	mask := uint64(len(s.slots) - 1)
	for k := uint64(hash) & mask; ; k = (k + 1) & mask {
		slot := s.slots[k]
		if slot == 0 {
			return -1
		}
		if i := int32(uint32(slot) - 1); uint32(slot>>32) == hash && s.text(i) == symbol {
			return i
		}
	}
}

// add adds a symbol, which must be new and not too long, and returns its position.
func (s *symbolStore) add(symbol string, hash uint32, l Label) int32 {
	i := len(s.entries)
	if 2*(i+1) > len(s.slots) {
		s.rehash(max(16, 2*len(s.slots)))
	}
	s.place(uint64(hash)<<32 | uint64(i+1))
	last := len(s.blocks) - 1
	if last < 0 || len(symbol) > cap(s.blocks[last])-len(s.blocks[last]) {
		size := firstSymbolBlock
		if last >= 0 {
			size = min(2*cap(s.blocks[last]), maxSymbolBlock)
		}
		s.blocks = append(s.blocks, make([]byte, 0, max(size, len(symbol))))
		last++
	}
	at := len(s.blocks[last])
	s.blocks[last] = append(s.blocks[last], symbol...)
	s.entries = append(s.entries, symbolEntry{uint32(last), uint32(at), int32(len(symbol)), l})
	return int32(i)
}

// place puts a slot at the first free place.
func (s *symbolStore) place(slot uint64) {
	mask := uint64(len(s.slots) - 1)
	k := slot >> 32 & mask
	for s.slots[k] != 0 {
		k = (k + 1) & mask
	}
	s.slots[k] = slot
}

// rehash makes a table of n slots, a power of two.
func (s *symbolStore) rehash(n int) {
	old := s.slots
	s.slots = make([]uint64, n)
	for _, slot := range old {
		if slot != 0 {
			s.place(slot)
		}
	}
}

// reserve makes room for n symbols more.
func (s *symbolStore) reserve(n int) {
	s.entries = slices.Grow(s.entries, n)
	size := max(16, len(s.slots))
	for size < 2*(len(s.entries)+n) {
		size *= 2
	}
	if size > len(s.slots) {
		s.rehash(size)
	}
}
