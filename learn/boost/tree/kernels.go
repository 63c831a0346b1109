package tree

// addBlockGo adds cells[k] to the histograms of a block's first columns, at the codes of row
// rows[k]; rows nil is 0, 1, …. The word of row i is codes[i·step]. hist holds eight histograms of
// stride cells, and what becomes of those beyond columns does not matter.
//
// The assembly of kernels_amd64.s computes the same, and this runs elsewhere. The assembly replaces
// two additions by one of 128 bits, and prefetches rows.
func addBlockGo(hist []Cell, stride, columns int, codes []uint64, step int, rows []int32, cells []Cell) {
	if stride == 256 && columns > 4 {
		// Arrays of 256 cells need no bounds checks under an index of eight bits.
		h0 := (*[256]Cell)(hist[0*256:])
		h1 := (*[256]Cell)(hist[1*256:])
		h2 := (*[256]Cell)(hist[2*256:])
		h3 := (*[256]Cell)(hist[3*256:])
		h4 := (*[256]Cell)(hist[4*256:])
		h5 := (*[256]Cell)(hist[5*256:])
		h6 := (*[256]Cell)(hist[6*256:])
		h7 := (*[256]Cell)(hist[7*256:])
		for k, c := range cells {
			at := k
			if rows != nil {
				at = int(rows[k])
			}
			w := codes[at*step]
			add(&h0[uint8(w)], c)
			add(&h1[uint8(w>>8)], c)
			add(&h2[uint8(w>>16)], c)
			add(&h3[uint8(w>>24)], c)
			add(&h4[uint8(w>>32)], c)
			add(&h5[uint8(w>>40)], c)
			add(&h6[uint8(w>>48)], c)
			add(&h7[uint8(w>>56)], c)
		}
		return
	}
	for k, c := range cells {
		at := k
		if rows != nil {
			at = int(rows[k])
		}
		w := codes[at*step]
		for j := range columns {
			add(&hist[j*stride+int(uint8(w))], c)
			w >>= 8
		}
	}
}

func add(p *Cell, c Cell) {
	p.G += c.G
	p.H += c.H
}

// addColumn adds cells[k] to the histogram of one column, at the code of row rows[k].
func addColumn(hist []Cell, codes []uint8, rows []int32, cells []Cell) {
	for k, c := range cells {
		at := k
		if rows != nil {
			at = int(rows[k])
		}
		add(&hist[codes[at]], c)
	}
}

// gatherGo stores the cells of rows in to.
func gatherGo(to, cells []Cell, rows []int32) {
	for k, row := range rows {
		to[k] = cells[row]
	}
}

// subtractGo takes the sums of b from those of a.
func subtractGo(a, b []Cell) {
	b = b[:len(a)]
	for i := range a {
		a[i].G -= b[i].G
		a[i].H -= b[i].H
	}
}

// occupiedGo sets the bits of mask at the numbers of cells that have rows. There are at most 256
// cells.
func occupiedGo(mask *[4]uint64, cells []Cell) {
	*mask = [4]uint64{}
	for i, c := range cells {
		mask[i>>6&3] |= uint64(-c.H) >> 63 << (i & 63) // H is never negative
	}
}
