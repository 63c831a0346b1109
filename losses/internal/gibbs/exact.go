package gibbs

import "math/bits"

// EditDistance returns the unit edit distance of u and ref, by the bit vectors of Myers (1999) in
// blocks of 64 cells.
type EditDistance struct {
	ref    int
	blocks int
	match  map[int][]uint64
	none   []uint64
	vp, vn []uint64
}

// NewEditDistance prepares a reference.
func NewEditDistance(ref []int) *EditDistance {
	e := &EditDistance{ref: len(ref), blocks: (len(ref) + 63) / 64, match: map[int][]uint64{}}
	e.none, e.vp, e.vn = make([]uint64, e.blocks), make([]uint64, e.blocks), make([]uint64, e.blocks)
	for j, y := range ref {
		if e.match[y] == nil {
			e.match[y] = make([]uint64, e.blocks)
		}
		e.match[y][j/64] |= 1 << (j % 64)
	}
	return e
}

// Of returns the distance of u.
func (e *EditDistance) Of(u []int) int {
	if e.blocks == 0 {
		return len(u)
	}
	for b := range e.vp {
		e.vp[b], e.vn[b] = ^uint64(0), 0
	}
	score, last := e.ref, uint(e.ref-1)%64
	for _, y := range u {
		match := e.match[y]
		if match == nil {
			match = e.none
		}
		// Horizontal steps come in at the top of each block: +1 at the first row.
		plus, minus := uint64(1), uint64(0)
		for b, eq := range match {
			vp, vn := e.vp[b], e.vn[b]
			xv := eq | vn
			eq |= minus
			sum, _ := bits.Add64(eq&vp, vp, 0)
			xh := (sum ^ vp) | eq
			hp, hn := vn|^(xh|vp), vp&xh
			top := uint(63)
			if b == e.blocks-1 {
				top = last
				score += int(hp>>top&1) - int(hn>>top&1)
			}
			hp, hn, plus, minus = hp<<1|plus, hn<<1|minus, hp>>63, hn>>63
			e.vp[b], e.vn[b] = hn|^(xv|hp), hp&xv
		}
	}
	return score
}
