package subsets

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// Candidates are ordered by key, of equal keys the latest first, whatever runs they come in.
func TestOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 21))
	var spare []Candidate
	for i := range 3000 {
		n := rng.IntN(300)
		if i%3 == 0 {
			n = rng.IntN(16)
		}
		kinds, rise := 1+rng.IntN(400), rng.IntN(20)
		var c []Candidate
		var runs []int32
		for j := range n {
			key := uint64(rng.IntN(kinds))
			if j > 0 && rng.IntN(20) < rise {
				key = c[j-1].Key + uint64(rng.IntN(3))
			}
			if j > 0 && key <= c[j-1].Key {
				runs = append(runs, int32(j))
			}
			c = append(c, Candidate{key, int32(j)})
		}
		want := slices.Clone(c)
		slices.SortFunc(want, func(a, b Candidate) int {
			return cmp.Or(cmp.Compare(a.Key, b.Key),
				cmp.Compare(b.Index, a.Index))
		})
		var got []Candidate
		if got, spare = Order(c, spare, runs); !slices.Equal(got, want) {
			t.Fatalf("%d candidates in %d runs: %v, want %v", n, len(runs)+1, got, want)
		}
	}
}
