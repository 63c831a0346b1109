package engine

import "unsafe"

// Index finds numbers by a hash of what they stand for: open addressing with linear probes over
// numbers alone. Its user keeps the keys, in whatever array suits them, and compares them:
//
//	p := x.Probe(hash)
//	for k := p.Next(); k >= 0; k = p.Next() {
//		if keys[k] == key {
//			return k
//		}
//	}
//	keys = append(keys, key)
//	x.AddAt(p, int32(len(keys)-1))
//
// A slot keeps the whole hash beside the number. So few keys are compared in vain, and growing
// reads none. The zero value is empty. A Go map would hold every key a second time.
type Index struct {
	slots []indexSlot
	n     int
}

// indexSlot holds a number, biased by one so that zero is free.
type indexSlot struct{ number, hash uint32 }

const (
	indexSlotBytes = int64(unsafe.Sizeof(indexSlot{}))
	firstIndexSize = 16
	mostIndexSize  = 1 << 31
)

// freeSlot is what an empty index is searched in.
var freeSlot [1]indexSlot

// Probe is a search for the numbers with one hash.
type Probe struct {
	slots    []indexSlot
	at, hash uint32
}

// Probe begins a search for the numbers that were added with the hash. The index must not change
// until it ends. O(1) time in the mean for hashes that are spread.
func (x *Index) Probe(hash uint32) Probe {
	if len(x.slots) == 0 {
		return Probe{freeSlot[:], hash, hash}
	}
	return Probe{x.slots, hash, hash}
}

// Next returns the next number with the hash, -1 when there is none left.
func (p *Probe) Next() int32 {
	for {
		s := p.slots[p.at&uint32(len(p.slots)-1)]
		p.at++
		if s.number == 0 || s.hash == p.hash {
			return int32(s.number) - 1
		}
	}
}

// Add enters a number, between 0 and 2³¹-2, that is found by the hash from now on.
func (x *Index) Add(hash uint32, number int32) {
	if 4*x.n >= 3*len(x.slots) {
		x.grow()
	}
	x.n++
	x.enter(indexSlot{uint32(number) + 1, hash})
}

// AddAt is Add where a search for the same hash has come to its end, which saves a second one.
func (x *Index) AddAt(p Probe, number int32) {
	if 4*x.n >= 3*len(x.slots) {
		x.grow()
		x.n++
		x.enter(indexSlot{uint32(number) + 1, p.hash})
		return
	}
	x.n++
	x.slots[(p.at-1)&uint32(len(x.slots)-1)] = indexSlot{uint32(number) + 1, p.hash}
}

// enter takes the first free slot.
func (x *Index) enter(s indexSlot) {
	mask := uint32(len(x.slots) - 1)
	i := s.hash & mask
	for x.slots[i].number != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = s
}

// grow doubles the slots.
func (x *Index) grow() { x.resize(max(firstIndexSize, 2*len(x.slots))) }

// resize makes an array of as many slots, a power of two.
func (x *Index) resize(size int) {
	if int64(size) > mostIndexSize {
		panic("fst: an index of more than 2³¹-1 numbers")
	}
	old := x.slots
	x.slots = make([]indexSlot, size)
	for _, s := range old {
		if s.number != 0 {
			x.enter(s)
		}
	}
}

// sizeFor is how many slots hold n numbers.
func sizeFor(n int) int {
	size := firstIndexSize
	for 4*n >= 3*size {
		size *= 2
	}
	return size
}

// Reserve makes room for n numbers in all.
func (x *Index) Reserve(n int) {
	if size := sizeFor(n); size > len(x.slots) {
		x.resize(size)
	}
}

// Reset empties the index and makes room for n numbers, in the memory that it has if that does.
func (x *Index) Reset(n int) {
	size := sizeFor(n)
	x.n = 0
	if size > cap(x.slots) {
		x.slots = make([]indexSlot, size)
		return
	}
	x.slots = x.slots[:size]
	clear(x.slots)
}

// Clear empties the index and keeps its size.
func (x *Index) Clear() {
	x.n = 0
	clear(x.slots)
}

// Size is how many slots there are; a quarter of them at least is free.
func (x *Index) Size() int { return len(x.slots) }

// Bytes is what the slots take.
func (x *Index) Bytes() int64 { return int64(cap(x.slots)) * indexSlotBytes }

// IndexBytes is what an index with room for n numbers takes.
func IndexBytes(n int) int64 { return int64(sizeFor(n)) * indexSlotBytes }
