package align

import (
	"math"
	"math/rand/v2"
)

// edits is an edit distance with constant costs.
type edits struct {
	match, sub, ins, del float64
	band                 int
}

func (e edits) cost(y, r int) float64 {
	switch {
	case y < 0:
		return e.ins
	case r < 0:
		return e.del
	case y == r:
		return e.match
	}
	return e.sub
}

func (e edits) problem(ref []int, alphabet, l int) Problem {
	return Problem{Ref: ref, Alphabet: alphabet, Length: l, Cost: e.cost, Band: e.band}
}

// value is the distance by its definition, cell by cell.
func (e edits) value(y, ref []int) float64 {
	first, last := BandWindows(len(y), len(ref), e.band)
	rows := make([][]float64, len(y)+1)
	for t := range rows {
		rows[t] = make([]float64, len(ref)+1)
		for j := range rows[t] {
			x := math.Inf(1)
			switch {
			case j < first[t] || j > last[t]:
				rows[t][j] = x
				continue
			case t == 0 && j == 0:
				x = 0
			}
			if t > 0 {
				x = min(x, rows[t-1][j]+e.del)
			}
			if j > 0 {
				x = min(x, rows[t][j-1]+e.ins)
			}
			if t > 0 && j > 0 {
				x = min(x, rows[t-1][j-1]+e.cost(y[t-1], ref[j-1]))
			}
			rows[t][j] = x
		}
	}
	return rows[len(y)][len(ref)]
}

func nearly(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a)) }

func randomString(rng *rand.Rand, n, alphabet int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = rng.IntN(alphabet)
	}
	return s
}
