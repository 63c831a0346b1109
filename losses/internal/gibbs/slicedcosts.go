package gibbs

import "math/bits"

// slicedCosts has the rows of small integer costs as bits: the difference of neighbouring cells,
// plus Del, is 0 … Ins+Del, a number of three words. With A that of F[j] and F[j-1], and B the
// difference of N[j-1] and F[j-1] plus Ins, the next row N has
//
//	x = N[j] - F[j-1] = min(A, B, 0 or Sub),  A' = Ins+Del + x - B,  B' = Ins+Del + x - A
//
// which are 0 … Ins+Del again: everything is computed modulo 8.
type slicedCosts struct {
	s      *sliced
	row    [2][]three
	base   [2][]uint64 // by row, planes words: the value of its first cell, plus offset
	offset [2][]int
	planes int
	sums   []nine // odd sums by cell

	sub, top, above three // Sub, Ins+Del, and 1 more, in all lanes
}

// three and nine are numbers of all chains, by planes; nine has signs.
type (
	three [3]uint64
	nine  [9]uint64
)

// ones reports whether u counts edits.
func (u *Units) ones() bool { return u.Sub == 1 && u.Ins == 1 && u.Del == 1 }

// slices reports whether three words hold the differences of costs u.
func (u *Units) slices() bool { return u.Ins+u.Del <= 7 && u.Sub <= u.Ins+u.Del && u.Sub > 0 }

func every(x int) (n three) {
	for i := range n {
		n[i] = -uint64(x >> i & 1)
	}
	return n
}

func newSlicedCosts(s *sliced) *slicedCosts {
	b := s.b
	l, r := b.l, len(b.code[0])-2
	u := &b.units
	k := u.Ins + u.Del
	w := &slicedCosts{s: s, planes: bits.Len(uint(2*(l+r+1)*k)) + 1, sub: every(u.Sub), top: every(k),
		above: every(k + 1)}
	for d := range 2 {
		w.row[d] = make([]three, (l+1)*b.stride)
		w.base[d] = make([]uint64, (l+1)*w.planes)
		w.offset[d] = make([]int, l+1)
		first, last := b.window[d][0][0], b.window[d][1][0]
		w.offset[d][0] = -first * u.Ins
		for j := first + 1; j <= last; j++ {
			w.row[d][j-first] = w.top
		}
	}
	w.sums = make([]nine, b.stride+2)
	return w
}

// grow adds a small number.
func grow(planes []uint64, x three) {
	c := uint64(0)
	for i, p := range planes {
		y := uint64(0)
		if i < len(x) {
			y = x[i]
		} else if c == 0 {
			return
		}
		planes[i] = p ^ y ^ c
		c = p&y | c&(p^y)
	}
}

func (w *slicedCosts) cells(d, at int) []three {
	v := &w.s.b.window[d]
	return w.row[d][at*w.s.b.stride:][:v[1][at]-v[0][at]+1]
}

// next returns A' and B'.
func (w *slicedCosts) next(a, b three, match uint64) (across, down three) {
	// x = min(a, b)
	lt := b[0] &^ a[0]
	lt = b[1]&^a[1] | lt&^(a[1]^b[1])
	lt = b[2]&^a[2] | lt&^(a[2]^b[2])
	x0, x1, x2 := b[0]^(a[0]^b[0])&lt, b[1]^(a[1]^b[1])&lt, b[2]^(a[2]^b[2])&lt
	// x = min(x, substitution)
	s0, s1, s2 := w.sub[0]&^match, w.sub[1]&^match, w.sub[2]&^match
	lt = s0 &^ x0
	lt = s1&^x1 | lt&^(x1^s1)
	lt = s2&^x2 | lt&^(x2^s2)
	x0, x1, x2 = s0^(x0^s0)&lt, s1^(x1^s1)&lt, s2^(x2^s2)&lt
	// x + Ins+Del + 1, and the complements of b and a.
	k := &w.above
	c := x0 & k[0]
	z0, t := x0^k[0], x1^k[1]
	z1 := t ^ c
	z2 := x2 ^ k[2] ^ (x1&k[1] | c&t)
	return plusNot(z0, z1, z2, b), plusNot(z0, z1, z2, a)
}

// plusNot returns z + ^y modulo 8.
func plusNot(z0, z1, z2 uint64, y three) three {
	c := z0 &^ y[0]
	t := z1 ^ ^y[1]
	return three{z0 ^ ^y[0], t ^ c, z2 ^ ^y[2] ^ (z1&^y[1] | c&t)}
}

func (w *slicedCosts) step(d, at int) {
	b := w.s.b
	v := &b.window[d]
	f0, f1, n0, n1 := v[0][at], v[1][at], v[0][at+1], v[1][at+1]
	f, n := w.cells(d, at), w.cells(d, at+1)
	code, match := b.code[d], &w.s.match
	base := w.base[d][(at+1)*w.planes:][:w.planes]
	copy(base, w.base[d][at*w.planes:])
	offset := w.offset[d][at]
	for j := f0 + 1; j <= min(n0, f1); j++ {
		grow(base, f[j-f0])
		offset += b.units.Del
	}
	down := w.top
	j := n0
	if n0 > f0 {
		a := w.top // F beyond its window is as if it rose
		if n0 <= f1 {
			a = f[n0-f0]
		} else {
			grow(base, w.top)
			offset += b.units.Del
		}
		_, down = w.next(a, every(7), match[code[n0]%(2*most)])
	}
	grow(base, down)
	w.offset[d][at+1] = offset + b.units.Ins
	j++
	for ; j <= min(n1, f1); j++ {
		n[j-n0], down = w.next(f[j-f0], down, match[code[j]%(2*most)])
	}
	if j == f1+1 && j <= n1 {
		n[j-n0], _ = w.next(w.top, down, match[code[j]%(2*most)])
		j++
	}
	for ; j <= n1; j++ {
		n[j-n0] = w.top
	}
}

// scan finds by how much less each label costs: three words for each in save.
func (w *slicedCosts) scan(d, at int) {
	b := w.s.b
	v := &b.window[d]
	f0, f1, n0, n1 := v[0][at], v[1][at], v[0][at+1], v[1][at+1]
	f, g := w.cells(d, at), w.cells(1-d, b.l-1-at)
	from, to := max(n0, f0+1), min(n1, f1)
	code := b.code[d]
	save := &w.s.saves
	*save = [2 * most]three{}
	last := to
	if f1+1 <= n1 {
		last++
	}
	if last < from {
		return // no cell before has a label
	}
	// cur is F[j-1]+G[j], and base what a label costs that saves nothing, both relative to the
	// first sum: by deletion from F[j]+G[j], or by substitution.
	var cur, base nine
	for j := from; j <= last; j++ {
		w.sums[j-from] = cur
		least := w.sub
		if j == from && n0 <= f0 {
			least = lesser(least, g[n1-j+1])
		}
		if j <= f1 {
			least = lesser(least, f[j-f0])
		}
		made := cur
		grow(made[:], least)
		if j == from {
			base = made
		} else {
			base.lower(&made)
		}
		if j < last {
			cur.move(f[j-f0], g[n1-j])
		}
	}
	for j := from; j <= last; j++ {
		to := &save[code[j]%(2*most)]
		*to = greater(*to, base.over(&w.sums[j-from]))
	}
}

// lesser returns the minimum.
func lesser(a, b three) three {
	lt := b[0] &^ a[0]
	lt = b[1]&^a[1] | lt&^(a[1]^b[1])
	lt = b[2]&^a[2] | lt&^(a[2]^b[2])
	return three{b[0] ^ (a[0]^b[0])&lt, b[1] ^ (a[1]^b[1])&lt, b[2] ^ (a[2]^b[2])&lt}
}

// greater returns the maximum.
func greater(a, b three) three {
	lt := b[0] &^ a[0]
	lt = b[1]&^a[1] | lt&^(a[1]^b[1])
	lt = b[2]&^a[2] | lt&^(a[2]^b[2])
	return three{a[0] ^ (a[0]^b[0])&lt, a[1] ^ (a[1]^b[1])&lt, a[2] ^ (a[2]^b[2])&lt}
}

// move adds x, and subtracts y.
func (n *nine) move(x, y three) {
	// Four planes of x - y; the last is the sign.
	b := y[0] &^ x[0]
	e0, t := x[0]^y[0], x[1]^y[1]
	e1 := t ^ b
	b = y[1]&^x[1] | b&^t
	t = x[2] ^ y[2]
	e2 := t ^ b
	sign := y[2]&^x[2] | b&^t
	c := n[0] & e0
	n[0] ^= e0
	t = n[1] ^ e1
	c, n[1] = n[1]&e1|c&t, t^c
	t = n[2] ^ e2
	c, n[2] = n[2]&e2|c&t, t^c
	for i := 3; i < len(n); i++ {
		t = n[i] ^ sign
		c, n[i] = n[i]&sign|c&t, t^c
	}
}

// lower makes n the minimum of both.
func (n *nine) lower(m *nine) {
	lt := uint64(0)
	for i := range len(n) - 1 {
		lt = n[i]&^m[i] | lt&^(n[i]^m[i])
	}
	lt = m[8]&^n[8] | lt&^(n[8]^m[8])
	for i := range n {
		n[i] ^= (n[i] ^ m[i]) & lt
	}
}

// over returns n - m, at most 7, and 0 where it is negative.
func (n *nine) over(m *nine) three {
	var x three
	borrow := uint64(0)
	for i := range n {
		t := n[i] ^ m[i]
		y := t ^ borrow
		borrow = m[i]&^n[i] | borrow&^t
		if i < len(x) {
			x[i] = y
		} else if i == len(n)-1 {
			for k := range x {
				x[k] &^= y
			}
		}
	}
	return x
}

// total stores the losses, from the last row of direction d.
func (w *slicedCosts) total(d int, loss *[Lanes]float64) {
	b := w.s.b
	var sum number
	copy(sum[:], w.base[d][b.l*w.planes:][:w.planes])
	offset := w.offset[d][b.l]
	for _, x := range w.cells(d, b.l)[1:] {
		grow(sum[:w.planes+2], x)
		offset += b.units.Del
	}
	for c := range loss {
		loss[c] = b.units.Unit*float64(sum.of(c)-offset) + b.units.Shift
	}
}

// meet stores the losses, from row e of direction d and the one it meets.
func (w *slicedCosts) meet(d, e int, loss *[Lanes]float64) {
	b := w.s.b
	f, g := w.cells(d, e), w.cells(1-d, b.l-e)
	var own, other number
	copy(own[:], w.base[d][e*w.planes:][:w.planes])
	copy(other[:], w.base[1-d][(b.l-e)*w.planes:][:w.planes])
	offset := w.offset[d][e] + w.offset[1-d][b.l-e]
	for _, x := range g[1:] {
		grow(other[:w.planes+2], x)
		offset += b.units.Del
	}
	var cur, base nine
	for i, x := range f[1:] {
		cur.move(x, g[len(g)-1-i])
		base.lower(&cur)
	}
	for c := range loss {
		low := 0
		for i, p := range base {
			low |= int(p>>c&1) << i
		}
		if low >= 256 {
			low -= 512
		}
		loss[c] = b.units.Unit*float64(own.of(c)+other.of(c)-offset+low) + b.units.Shift
	}
}
