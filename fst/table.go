package fst

import (
	"hash/maphash"
	"math/bits"
	"unsafe"
)

// Table numbers keys in the order in which they first appear: key to dense id
// by open addressing, id to key by index. State tuples of compositions and the
// like are its keys. Measured against a Go map: 2.5 to 3.5 times faster to
// insert, 5 times to look up.
//
// Numbering depends on the order of the insertions alone, not on the hash.
type Table[K comparable] struct {
	keys  []K
	slots []slot
	hash  func(K) uint64
}

// slot holds an id, biased by one so that zero is free, and the hash's upper
// half, which spares most comparisons of keys.
type slot struct {
	id  uint32
	tag uint32
}

// NewTable returns an empty table. hash may be nil for a general one; packed
// integer keys do better with their own, such as Mix of the key.
func NewTable[K comparable](hash func(K) uint64) *Table[K] {
	if hash == nil {
		seed := maphash.MakeSeed()
		hash = func(k K) uint64 { return maphash.Comparable(seed, k) }
	}
	return &Table[K]{hash: hash}
}

// Mix spreads the bits of x over the word: a hash for integers.
func Mix(x uint64) uint64 {
	hi, lo := bits.Mul64(x^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return hi ^ lo
}

// Len returns the number of keys.
func (t *Table[K]) Len() int { return len(t.keys) }

// Bytes returns how much memory the table holds, without what keys point to.
func (t *Table[K]) Bytes() int64 {
	var k K
	return int64(cap(t.slots))*int64(unsafe.Sizeof(slot{})) + int64(cap(t.keys))*int64(unsafe.Sizeof(k))
}

// Key returns the key with the given id.
func (t *Table[K]) Key(id StateID) K { return t.keys[id] }

// Find returns the id of k, or NoState.
func (t *Table[K]) Find(k K) StateID {
	if len(t.slots) == 0 {
		return NoState
	}
	h := t.hash(k)
	mask := uint64(len(t.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := t.slots[i]
		if s.id == 0 {
			return NoState
		}
		if s.tag == uint32(h>>32) && t.keys[s.id-1] == k {
			return StateID(s.id - 1)
		}
	}
}

// ID returns the id of k, giving it the next free one when it is new.
func (t *Table[K]) ID(k K) (id StateID, isNew bool) {
	if 4*len(t.keys) >= 3*len(t.slots) {
		t.grow()
	}
	h := t.hash(k)
	mask := uint64(len(t.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.id == 0 {
			t.keys = append(t.keys, k)
			*s = slot{id: uint32(len(t.keys)), tag: uint32(h >> 32)}
			return StateID(len(t.keys) - 1), true
		}
		if s.tag == uint32(h>>32) && t.keys[s.id-1] == k {
			return StateID(s.id - 1), false
		}
	}
}

// Only returns a table of the keys with the given ids, which become their positions in live.
func (t *Table[K]) Only(live []StateID) *Table[K] {
	out := &Table[K]{hash: t.hash}
	for _, id := range live {
		out.ID(t.keys[id])
	}
	return out
}

func (t *Table[K]) grow() {
	n := max(16, 2*len(t.slots))
	if uint64(n) > 1<<31 {
		panic("fst: a Table of more than 2³¹-1 keys")
	}
	t.slots = make([]slot, n)
	mask := uint64(n - 1)
	for id, k := range t.keys {
		h := t.hash(k)
		i := h & mask
		for t.slots[i].id != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = slot{id: uint32(id + 1), tag: uint32(h >> 32)}
	}
}
