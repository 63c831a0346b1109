package fst

import "github.com/tropica-fst/tropica/semiring"

// RowSet holds rows of arcs that several goroutines write at a time, each for itself, and all
// may read: what an operation makes side by side of the states of a machine that it then
// becomes (Vector.SetRows), without being copied again. Rows never move.
//
// Goroutine k alone calls Put(k, …). A reader must receive the Row through something that orders
// the two goroutines, such as an atomic.
type RowSet[W semiring.Weight[W]] struct {
	writers []rowWriter[W]
}

// Row is the place of the arcs of one state in a RowSet; the zero value has none.
type Row struct {
	slab, at uint32 // slab: writer<<rowSlabBits | its slab
	n        int32
}

// rowWriter is what one goroutine has written. Its slabs are in an array, which readers look into
// while others are added: a slice would move.
type rowWriter[W semiring.Weight[W]] struct {
	slabs [1 << rowSlabBits][]Arc[W]
	last  int // the slab being filled; -1 is none yet
	top   int // arcs of it that are in use
	room  int // arcs of all slabs
}

// A slab is at least an eighth of those before, so that 2⁸ of them are enough for 2⁴⁰ arcs.
const rowSlabBits = 8

// NewRowSet returns an empty set for as many goroutines.
func NewRowSet[W semiring.Weight[W]](writers int) *RowSet[W] {
	s := &RowSet[W]{writers: make([]rowWriter[W], writers)}
	for k := range s.writers {
		s.writers[k].last = -1
	}
	return s
}

// Put copies arcs into the set, for goroutine k.
func (s *RowSet[W]) Put(k int, arcs []Arc[W]) Row {
	n := len(arcs)
	if n == 0 {
		return Row{}
	}
	if n > maxState {
		panic("fst: more than 2³¹-1 arcs at a state")
	}
	w := &s.writers[k]
	if w.last < 0 || w.top+n > len(w.slabs[w.last]) {
		size := max(slabSize, min(w.room/8, 1<<30), n)
		w.last++
		w.slabs[w.last], w.top = make([]Arc[W], size), 0
		w.room += size
	}
	copy(w.slabs[w.last][w.top:], arcs)
	r := Row{slab: uint32(k<<rowSlabBits | w.last), at: uint32(w.top), n: int32(n)}
	w.top += n
	return r
}

// At returns the arcs of a row, for reading.
func (s *RowSet[W]) At(r Row) []Arc[W] {
	if r.n == 0 {
		return nil
	}
	i := int(r.at)
	return s.writers[r.slab>>rowSlabBits].slabs[r.slab&(1<<rowSlabBits-1)][i : i+int(r.n) : i+int(r.n)]
}
