package losses

import "math"

var infinity = math.Inf(1)

// Value returns the loss of y by dynamic programming over alignments, as it is
// defined (within the band, if there is one): O(len(y) len(ref)). y and ref
// must suit the cost tables.
func (e Edit) Value(y, ref []int) float64 {
	l, m := len(y), len(ref)
	b := columnBuilder{l: l, m: m}
	b.windows(e.Band)
	inf := math.Inf(1)
	row, next := make([]float64, m+1), make([]float64, m+1)
	for j := range row {
		row[j] = inf
	}
	row[0] = 0
	ins := func(r int) float64 {
		if e.InsTable != nil {
			return e.InsTable[r]
		}
		return e.Ins
	}
	for j := 1; j <= b.last[0]; j++ {
		row[j] = row[j-1] + ins(ref[j-1])
	}
	for t, s := range y {
		del := e.Del
		if e.DelTable != nil {
			del = e.DelTable[s]
		}
		for j := range next {
			next[j] = inf
		}
		for j := b.first[t+1]; j <= b.last[t+1]; j++ {
			v := row[j] + del
			if j > 0 {
				sub := e.Sub
				switch {
				case e.SubTable != nil:
					sub = e.SubTable[s][ref[j-1]]
				case s == ref[j-1]:
					sub = e.Match
				}
				v = min(v, row[j-1]+sub, next[j-1]+ins(ref[j-1]))
			}
			next[j] = v
		}
		row, next = next, row
	}
	return row[m]
}
