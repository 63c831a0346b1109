package gemm

// A block of A or B is copied into panels, in which a tile finds its operands side by side. For
// each k in turn a panel has the w elements of its rows (of A) or columns (of B). Seen from here
// both are the same: a matrix of n vectors of k elements, taken w at a time. Elements beyond n are
// zero, so that tiles need no edge along k or inside a vector.

// pack copies n vectors of k elements from src into panels of w. The last panel is narrowed to a
// multiple of unit. It returns the filled part. along means that a vector's elements are adjacent
// (ld between vectors), else that the vectors' elements of the same k are (ld between ks).
func (p *path[T]) pack(dst, src []T, ld, n, k, w, unit int, along bool) []T {
	at := 0
	for i := 0; i < n; i += w {
		have := min(w, n-i)
		width := (have + unit - 1) / unit * unit
		panel := dst[at:][:width*k]
		at += width * k
		if along {
			p.packAlong(panel, src[i*ld:], ld, have, k, width)
		} else {
			packAcross(panel, src[i:], ld, have, k, width)
		}
	}
	return dst[:at]
}

// packAcross copies k runs of have elements into runs of w. (Filling all panels of a
// block row by row, so that src is read in long runs, took as long.)
func packAcross[T Float](dst, src []T, ld, have, k, w int) {
	if have == 8 && w == 8 { // a panel of A: a call of copy would cost more than the copy
		for p := range k {
			*(*[8]T)(dst[p*8:]) = *(*[8]T)(src[p*ld:])
		}
		return
	}
	for p := range k {
		run := dst[p*w:][:w]
		copy(run, src[p*ld:][:have])
		clear(run[have:])
	}
}

// packAlong copies have runs of k elements into columns of dst, whose rows have w.
func (p *path[T]) packAlong(dst, src []T, ld, have, k, w int) {
	i, square := 0, 0
	if p.transpose != nil {
		square = k / p.square * p.square
		if square > 0 {
			for ; i+p.square <= have; i += p.square {
				p.transpose(&dst[i], w, &src[i*ld], ld, square)
				if square < k {
					for j := i; j < i+p.square; j++ {
						column(dst[square*w+j:], src[j*ld+square:][:k-square], w)
					}
				}
			}
		}
	}
	for ; i+4 <= have; i += 4 {
		a, b, c, d := src[i*ld:][:k], src[(i+1)*ld:][:k], src[(i+2)*ld:][:k], src[(i+3)*ld:][:k]
		to := dst[i:]
		for j := range a {
			*(*[4]T)(to[j*w:]) = [4]T{a[j], b[j], c[j], d[j]}
		}
	}
	for ; i < have; i++ {
		column(dst[i:], src[i*ld:][:k], w)
	}
	if have < w {
		for j := range k {
			clear(dst[j*w+have : (j+1)*w])
		}
	}
}

func column[T Float](dst, run []T, w int) {
	for j, v := range run {
		dst[j*w] = v
	}
}
