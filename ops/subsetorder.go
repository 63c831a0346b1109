package ops

// orderCandidates orders the candidates of a subset by label, then state, then latest first, and counts on what is
// ordered already: runs begin at the given places and at 0, and within one, keys increase. Arcs of a state mostly
// come by label, so that runs are few: a merge of neighbours takes n log(runs) steps, none of which is a jump
// that depends on keys. It is half of the time of a comparison sort on lattices (lat_det_tropical of fst bench).
//
// The result lies in c or in spare, which has room for as many; the other is returned as spare.
func orderCandidates(c, spare []candidate, runs []int32) (ordered, rest []candidate) {
	if len(c) <= 12 {
		sortFewCandidates(c)
		return c, spare
	}
	if cap(spare) < len(c) {
		spare = make([]candidate, cap(c))
	}
	spare = spare[:len(c)]
	for len(runs) > 0 {
		// Each pass merges every second run with the one behind it.
		left, at := runs[:0], int32(0)
		for i := 0; i < len(runs); i += 2 {
			end := int32(len(c))
			if i+1 < len(runs) {
				end = runs[i+1]
			}
			mergeCandidates(spare[at:end], c[at:runs[i]], c[runs[i]:end])
			if at = end; int(at) < len(c) {
				left = append(left, at)
			}
		}
		if int(at) < len(c) { // the last run has none behind it
			copy(spare[at:], c[at:])
		}
		c, spare, runs = spare, c, left
	}
	return c, spare
}

// mergeCandidates merges x with y, which was met after it, so that its candidates go before their equals.
func mergeCandidates(dst, x, y []candidate) {
	i, j := 0, 0
	for k := range dst {
		if i == len(x) {
			copy(dst[k:], y[j:])
			return
		}
		if j == len(y) {
			copy(dst[k:], x[i:])
			return
		}
		a, b := x[i], y[j]
		step := 0
		if b.key <= a.key {
			a, step = b, 1
		}
		dst[k] = a
		j += step
		i += 1 - step
	}
}

// sortFewCandidates is an insertion sort.
func sortFewCandidates(c []candidate) {
	for i := 1; i < len(c); i++ {
		x, j := c[i], i
		// x was met after all before it, so it goes before its equals.
		for ; j > 0 && c[j-1].key >= x.key; j-- {
			c[j] = c[j-1]
		}
		c[j] = x
	}
}
