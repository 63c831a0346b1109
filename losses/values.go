package losses

import (
	"math"

	"github.com/tropica-fst/tropica/losses/internal/align"
)

var infinity = math.Inf(1)

// Value returns the loss of y by dynamic programming over alignments, as it is
// defined: O(len(y) len(ref)), or O(len(y) Band + len(ref)) within a band. y and ref
// must suit the cost tables.
func (e Edit) Value(y, ref []int) float64 {
	e = e.or()
	l, m := len(y), len(ref)
	var first, last []int
	if e.Band > 0 {
		first, last = align.BandWindows(l, m, e.Band)
	}
	var small [64]float64 // no allocation for words: enumeration calls this for every string
	row := small[:]
	if m >= len(small) {
		row = make([]float64, m+1)
	}
	row = row[:m+1]
	lo, hi := 0, m
	if e.Band > 0 {
		lo, hi = first[0], last[0]
	}
	row[0] = 0
	for j := 1; j <= m; j++ {
		row[j] = row[j-1] + e.insert(ref[j-1])
		if j > hi {
			row[j] = infinity // and remains so until a window has it
		}
	}
	for t, s := range y {
		del := e.Del
		if e.DelTable != nil {
			del = e.DelTable[s]
		}
		before := lo
		if e.Band > 0 {
			lo, hi = first[t+1], last[t+1]
		}
		// Cells before the window are never read again, except for the one next to it.
		var diagonal float64
		if lo > 0 {
			diagonal = row[lo-1]
			if before < lo {
				row[lo-1] = infinity
			}
		} else {
			diagonal = row[0]
			row[0] += del
		}
		for j := max(1, lo); j <= hi; j++ {
			r := ref[j-1]
			sub := e.Sub
			switch {
			case e.SubTable != nil:
				sub = e.SubTable[s][r]
			case s == r:
				sub = e.Match
			}
			v := min(row[j]+del, diagonal+sub, row[j-1]+e.insert(r))
			diagonal, row[j] = row[j], v
		}
	}
	return row[m]
}

func (e *Edit) insert(r int) float64 {
	if e.InsTable != nil {
		return e.InsTable[r]
	}
	return e.Ins
}
