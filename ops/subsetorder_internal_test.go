package ops

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// Candidates are ordered by key, of equal keys the latest first, whatever runs they come in.
func TestOrderCandidates(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 21))
	var spare []candidate
	for i := range 3000 {
		n := rng.IntN(300)
		if i%3 == 0 {
			n = rng.IntN(16)
		}
		kinds, rise := 1+rng.IntN(400), rng.IntN(20)
		var c []candidate
		var runs []int32
		for j := range n {
			key := uint64(rng.IntN(kinds))
			if j > 0 && rng.IntN(20) < rise {
				key = c[j-1].key + uint64(rng.IntN(3))
			}
			if j > 0 && key <= c[j-1].key {
				runs = append(runs, int32(j))
			}
			c = append(c, candidate{key, int32(j)})
		}
		want := slices.Clone(c)
		slices.SortFunc(want, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(b.index, a.index)) })
		var got []candidate
		if got, spare = orderCandidates(c, spare, runs); !slices.Equal(got, want) {
			t.Fatalf("%d candidates in %d runs: %v, want %v", n, len(runs)+1, got, want)
		}
	}
}
