package subsets

import "github.com/tropica-fst/tropica/fst"

// Candidate is an arc out of one element of a subset that is expanded.
type Candidate struct {
	Key   uint64 // its label and next state, see Key
	Index int32  // its place among the arcs of all elements
}

// Key orders by label, then by next state.
func Key(l fst.Label, q fst.StateID) uint64 {
	return uint64(uint32(l)^1<<31)<<32 | uint64(uint32(q))
}

// Label is the label of the candidate.
func (c Candidate) Label() fst.Label { return fst.Label(uint32(c.Key>>32) ^ 1<<31) }

// State is the state that the candidate leads to.
func (c Candidate) State() fst.StateID { return fst.StateID(uint32(c.Key)) }

// Order sorts the candidates of a subset by label, then state, then latest first. It relies on what
// is sorted already: runs begin at the given places and at 0, and keys increase within one.
//
// Arcs of a state mostly come by label, so runs are few. A merge of neighbours takes n·log(runs)
// steps without a jump that depends on keys. That is half of the time of a comparison sort on
// lattices (lat_det_tropical of fst bench).
//
// The result lies in c or in spare, which has room for as many; the other is returned as rest.
func Order(c, spare []Candidate, runs []int32) (ordered, rest []Candidate) {
	if len(c) <= 12 {
		sortFew(c)
		return c, spare
	}
	if cap(spare) < len(c) {
		spare = make([]Candidate, cap(c))
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
			merge(spare[at:end], c[at:runs[i]], c[runs[i]:end])
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

// merge merges x with y. y was met after x, so its candidates go before their equals.
func merge(dst, x, y []Candidate) {
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
		if b.Key <= a.Key {
			a, step = b, 1
		}
		dst[k] = a
		j += step
		i += 1 - step
	}
}

// sortFew is an insertion sort.
func sortFew(c []Candidate) {
	for i := 1; i < len(c); i++ {
		x, j := c[i], i
		// x was met after all before it, so it goes before its equals.
		for ; j > 0 && c[j-1].Key >= x.Key; j-- {
			c[j] = c[j-1]
		}
		c[j] = x
	}
}
