package gibbs

import (
	"math"
	"math/bits"
	"unsafe"
)

// sliced has the rows of unit costs as bits, where there are no vectors: bit c of a word is chain
// c, so that one operation serves all 64.
//
// Neighbouring cells of a row differ by -1, 0 or 1, and so do cells of one column in neighbouring
// rows. Two words hold the differences of a cell to the one before it. The next row comes from them
// by ten logical operations a cell (G. Myers 1999; H. Hyyrö 2003, who have cells as bits instead of
// strings). The losses of all symbols of a site are within 1 of each other: a label saves 1 where
// its cells reach the least of F[j]+G[j] and F[j-1]+G[j], over all j. A counter of eight words
// follows that sum along the row, as its distance from the least so far.
//
// States, counts and random numbers have the same bits as those of the other kernels.
type sliced struct {
	b      *Bytes
	row    [2][]delta  // as Bytes.row
	base   [2][]uint64 // by row, planes words: the value of its first cell
	planes int
	// lanes in which each symbol saves 1; lanes whose symbol it is. The last one is no symbol.
	save, match [2 * most]uint64
	none        [2 * most]uint64
	marks       []delta // by cell: up where its odd sum is the least so far, down where a lower one follows
	counts      []uint64
	pairs       int
	drawn       [Lanes]uint32

	costs *slicedCosts    // of costs that are not 1; row, base and save are unused then
	saves [2 * most]three // what each symbol saves then
}

// delta is the difference of two cells: 1 in the lanes of up, -1 in those of down.
type delta struct{ up, down uint64 }

const allLanes = ^uint64(0)

func newSliced(b *Bytes) *sliced {
	l, r := b.l, len(b.code[0])-2
	s := &sliced{b: b, planes: bits.Len(uint(l+r)) + 1, pairs: (b.model.Sizes[0] + 1) / 2}
	if !b.units.ones() {
		s.costs = newSlicedCosts(s)
	}
	for d := range 2 {
		if s.costs != nil {
			break
		}
		s.row[d] = make([]delta, (l+1)*b.stride)
		s.base[d] = make([]uint64, (l+1)*s.planes)
		first, last := b.window[d][0][0], b.window[d][1][0]
		for range first {
			s.add(s.base[d][:s.planes], allLanes, 0)
		}
		for j := first + 1; j <= last; j++ {
			s.row[d][j-first] = delta{up: allLanes}
		}
	}
	s.marks = make([]delta, b.stride+2)
	places := l
	if b.shared {
		places = min(l, 3)
	}
	s.counts = make([]uint64, places*2*b.model.Sizes[0]*Groups*s.pairs)
	return s
}

// add adds 1 in the lanes of up, and subtracts it in those of down.
func (s *sliced) add(planes []uint64, up, down uint64) {
	c := up | down
	for i, p := range planes {
		if c == 0 {
			return
		}
		planes[i] = p ^ c
		c &= p ^ down
	}
}

// cells returns row s of direction d, from its first cell.
func (s *sliced) cells(d, at int) []delta {
	w := &s.b.window[d]
	return s.row[d][at*s.b.stride:][:w[1][at]-w[0][at]+1]
}

// step makes row at+1 of direction d by symbols k.
func (s *sliced) step(d, at int, k *lane) {
	s.match = [2 * most]uint64{}
	for c, x := range k {
		s.match[x%most] |= 1 << (c % Lanes)
	}
	if s.costs != nil {
		s.costs.step(d, at)
		return
	}
	w := &s.b.window[d]
	f0, f1, n0, n1 := w[0][at], w[1][at], w[0][at+1], w[1][at+1]
	f, n := s.cells(d, at), s.cells(d, at+1)
	code := s.b.code[d]
	base := s.base[d][(at+1)*s.planes:][:s.planes]
	copy(base, s.base[d][at*s.planes:])
	for j := f0 + 1; j <= min(n0, f1); j++ {
		s.add(base, f[j-f0].up, f[j-f0].down)
	}
	// The horizontal step of the first cell: by a deletion, or from the cell before it.
	hp, hn := allLanes, uint64(0)
	j := n0
	if n0 > f0 {
		v := delta{up: allLanes} // F beyond its window is as if it rose
		if n0 <= f1 {
			v = f[n0-f0]
		} else {
			s.add(base, allLanes, 0)
		}
		zero := s.match[code[n0]%(2*most)] | v.down
		hp, hn = v.down|^(zero|v.up), v.up&zero
	}
	s.add(base, hp, hn)
	j++
	last := min(n1, f1)
	if j <= last {
		codes := code[j : last+1]
		from, to := f[j-f0:][:len(codes)], n[j-n0:][:len(codes)]
		for i, y := range codes {
			v := from[i]
			zero := s.match[y%(2*most)] | v.down | hn
			to[i] = delta{hn | ^(zero | hp), hp & zero}
			hp, hn = v.down|^(zero|v.up), v.up&zero
		}
		j = last + 1
	}
	if j == f1+1 && j <= n1 {
		zero := s.match[code[j]%(2*most)] | hn
		n[j-n0] = delta{hn | ^(zero | hp), hp & zero}
		j++
	}
	for ; j <= n1; j++ {
		n[j-n0] = delta{up: allLanes}
	}
}

// scan finds the lanes in which each label of site at saves 1.
func (s *sliced) scan(d, at int) {
	if s.costs != nil {
		s.costs.scan(d, at)
		return
	}
	b := s.b
	w := &b.window[d]
	f0, f1, n0, n1 := w[0][at], w[1][at], w[0][at+1], w[1][at+1]
	f, g := s.cells(d, at), s.cells(1-d, b.l-1-at)
	from, to := max(n0, f0+1), min(n1, f1)
	code := b.code[d]
	s.save = [2 * most]uint64{}
	// The sums in turn are F[j-1]+G[j], which is odd, and F[j]+G[j].
	var d0, d1, d2, d3, d4, d5, d6, d7 uint64
	marks := s.marks
	n := 0
	if from <= to {
		n = to - from + 1
	}
	marks = marks[:n+1]
	fs := f[from-f0:]
	// G falls with j: its step from j-1 to j is that of its own cell n1-(j-1), downwards.
	for i := range marks {
		var v delta
		j := from + i
		if j > n0 { // else there is no sum before
			v = g[n1-j+1]
		}
		// To the odd sum.
		up, down := v.down, v.up
		drop := down &^ (d0 | d1 | d2 | d3 | d4 | d5 | d6 | d7)
		if i > 0 {
			marks[i-1].down |= drop
		}
		down &^= drop
		c := up | down
		x := d0 ^ down
		d0 ^= c
		c &= x
		x = d1 ^ down
		d1 ^= c
		c &= x
		x = d2 ^ down
		d2 ^= c
		c &= x
		x = d3 ^ down
		d3 ^= c
		c &= x
		x = d4 ^ down
		d4 ^= c
		c &= x
		x = d5 ^ down
		d5 ^= c
		c &= x
		if c != 0 {
			x = d6 ^ down
			d6 ^= c
			d7 ^= c & x
		}
		away := d0 | d1 | d2 | d3 | d4 | d5 | d6 | d7
		marks[i].up = ^away
		marks[i].down = 0
		if i == n {
			break
		}
		// To the even sum.
		v = fs[i]
		up, down = v.up, v.down
		drop = down &^ away
		marks[i].down = drop
		down &^= drop
		c = up | down
		x = d0 ^ down
		d0 ^= c
		c &= x
		x = d1 ^ down
		d1 ^= c
		c &= x
		x = d2 ^ down
		d2 ^= c
		c &= x
		x = d3 ^ down
		d3 ^= c
		c &= x
		x = d4 ^ down
		d4 ^= c
		c &= x
		x = d5 ^ down
		d5 ^= c
		c &= x
		if c != 0 {
			x = d6 ^ down
			d6 ^= c
			d7 ^= c & x
		}
	}
	if f1+1 > n1 { // the last odd sum is none
		n--
	}
	later := uint64(0)
	for i := n; i >= 0; i-- {
		later |= marks[i].down // drops to the next odd sum are among them
		s.save[code[from+i]%(2*most)] |= marks[i].up &^ later
	}
}

// spread stores what scan found as bytes.
func (s *sliced) spread() {
	for k := range s.b.model.Sizes[0] {
		x := three{s.save[k]}
		if s.costs != nil {
			x = s.saves[k]
		}
		for c := range Lanes {
			s.b.save[k][c] = uint8(x[0]>>c&1 | x[1]>>c&1<<1 | x[2]>>c&1<<2)
		}
	}
}

// number is a count of each chain, by planes.
type number [32]uint64

func (n *number) of(c int) int {
	x := 0
	for i, p := range n {
		x |= int(p>>c&1) << i
	}
	return x
}

// total stores the losses, from the last row of direction d.
func (s *sliced) total(d int, loss *[Lanes]float64) {
	u := &s.b.units
	if s.costs != nil {
		s.costs.total(d, loss)
		return
	}
	var sum number
	copy(sum[:], s.base[d][s.b.l*s.planes:][:s.planes])
	for _, v := range s.cells(d, s.b.l)[1:] {
		s.add(sum[:s.planes], v.up, v.down)
	}
	for c := range loss {
		loss[c] = u.Unit*float64(sum.of(c)) + u.Shift
	}
}

// meet stores the losses, from row e of direction d and the one it meets.
func (s *sliced) meet(d, e int, loss *[Lanes]float64) {
	if s.costs != nil {
		s.costs.meet(d, e, loss)
		return
	}
	var own, other, above, fell number
	f, g := s.cells(d, e), s.cells(1-d, s.b.l-e)
	n := s.planes
	copy(own[:], s.base[d][e*n:][:n])
	copy(other[:], s.base[1-d][(s.b.l-e)*n:][:n])
	for _, v := range g[1:] {
		s.add(other[:n], v.up, v.down)
	}
	// Along the row: how far the sum is above the least so far, and how often that fell.
	step := func(up, down uint64) {
		away := uint64(0)
		for _, p := range above[:n] {
			away |= p
		}
		s.add(fell[:n], down&^away, 0)
		s.add(above[:n], up, down&away)
	}
	for i, v := range f[1:] {
		w := g[len(g)-1-i]
		w.up, w.down = w.down, w.up
		opposed := v.up&w.down | v.down&w.up // else the sum between the two might be lower
		step(v.up&^opposed, v.down&^opposed)
		step(w.up&^opposed, w.down&^opposed)
	}
	u := &s.b.units
	for c := range loss {
		loss[c] = u.Unit*float64(own.of(c)+other.of(c)-fell.of(c)) + u.Shift
	}
}

// count returns the counts of a side of position t.
func (s *sliced) count(t, side int) []uint64 {
	n := s.b.model.Sizes[0] * Groups * s.pairs
	return s.counts[(s.b.place(t)*2+side)*n:][:n]
}

// flush adds the counts of a side of position t, and of group g, to rows of labels.
func (s *sliced) flush(t, side, g, rows int, to *Counts, data []float32) {
	from := s.count(t, side)
	if to.Order == 1 && side == 0 {
		rows = s.b.model.Sizes[0] // summed into one
	}
	for left := range rows {
		at := left
		if to.Order == 1 {
			at = 0
		}
		row := data[at*to.Stride:][:to.Stride]
		for i, x := range from[(left*Groups+g)*s.pairs:][:s.pairs] {
			row[2*i] += float32(int32(x)) * (1. / 255)
			row[2*i+1] += float32(int32(x>>32)) * (1. / 255)
		}
	}
}

// draw does what siteGo does, with bits for what labels save. A word of counts has two labels, and
// loops take two at a time: the second one of an odd number has weights of 0.
func (s *sliced) draw(a *siteArgs, save *[2 * most]uint64, countLeft, countRight []uint64) {
	type pairs = [most / 2][2][most]float32
	in := (*pairs)(unsafe.Pointer(a.in))[:s.pairs]
	out := (*pairs)(unsafe.Pointer(a.out))[:len(in)]
	saves := (*[most][2]uint64)(unsafe.Pointer(save))[:len(in)]
	several := (*[most][2]three)(unsafe.Pointer(&s.saves))[:len(in)]
	few := s.costs == nil || save == &s.none
	var p [most / 2][2]float32
	var sums [most / 2][2]int32 // positive floats compare as their bits do
	weights, running := p[:len(in)], sums[:len(in)]
	e := [2]float32{a.texp[0], a.texp[1]}
	shared := s.pairs * Groups
	drawn := s.numbers()
	for c := range Lanes {
		x := drawn[c>>2&3<<4|c>>4<<2|c&3]
		left, right := a.left[c]%most, a.right[c]%most
		z := float32(0)
		if few {
			for i := range in {
				u, v := &in[i], &out[i]
				x := float32(float32(e[saves[i][0]>>(c%Lanes)&1]*u[0][left]) * v[0][right])
				y := float32(float32(e[saves[i][1]>>(c%Lanes)&1]*u[1][left]) * v[1][right])
				z += x
				running[i][0] = int32(math.Float32bits(z))
				z += y
				running[i][1] = int32(math.Float32bits(z))
				weights[i] = [2]float32{x, y}
			}
		} else {
			for i := range in {
				u, v := &in[i], &out[i]
				for k := range 2 {
					w := &several[i][k]
					x := a.texp[w[0]>>(c%Lanes)&1|w[1]>>(c%Lanes)&1<<1|w[2]>>(c%Lanes)&1<<2]
					x = float32(float32(x*u[k][left]) * v[k][right])
					z += x
					weights[i][k], running[i][k] = x, int32(math.Float32bits(z))
				}
			}
		}
		cut := int32(math.Float32bits(z*(float32(x>>8)*0x1p-24))) + 1
		k := uint32(0)
		for i := range running {
			y := &running[i]
			k += uint32(y[0]-cut)>>31 + uint32(y[1]-cut)>>31
		}
		a.u[c] = uint8(k)
		if countLeft == nil {
			continue
		}
		scale := 255 / z
		v := float32(float32(x&255)*(1./256)) + 1./512
		group := c >> 4 * s.pairs
		to := countLeft[int(left)*shared+group:][:len(weights)]
		if countRight == nil {
			for i := range weights {
				y := &weights[i]
				to[i] += pair(float32(y[0]*scale), float32(y[1]*scale), v)
			}
			continue
		}
		other := countRight[int(right)*shared+group:][:len(weights)]
		for i := range weights {
			y := &weights[i]
			w := pair(float32(y[0]*scale), float32(y[1]*scale), v)
			to[i] += w
			other[i] += w
		}
	}
}

// numbers draws a random number for each chain.
func (s *sliced) numbers() *[Lanes]uint32 {
	r := s.b.random
	for k := range s.drawn {
		r0, r1, r2, r3 := r[0][k], r[1][k], r[2][k], r[3][k]
		s.drawn[k] = r0 + r3
		r2 ^= r0
		r3 ^= r1
		r[0][k], r[1][k], r[2][k] = r0^r3, r1^r2, r2^r1<<9
		r[3][k] = r3<<11 | r3>>21
	}
	return &s.drawn
}

// pair rounds two numbers at random, and puts them into a word.
func pair(x, y, v float32) uint64 {
	return uint64(uint32(int32(x+v))) | uint64(uint32(int32(y+v)))<<32
}
