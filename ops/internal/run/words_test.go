package run

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/fst"
)

// The numbers of strings are those of the strings themselves, whatever they were made of.
func TestWordTableAgainstStrings(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 1))
	for labels := 1; labels <= 4; labels++ {
		table := NewWords()
		words := [][]fst.Label{nil}
		ids := map[string]int32{"[]": 0}
		check := func(k int32, want []fst.Label) {
			t.Helper()
			text := fmt.Sprint(want)
			if id, ok := ids[text]; ok {
				if id != k {
					t.Fatalf("%v has the number %d, and before %d", want, k, id)
				}
				return
			}
			if int(k) != len(words) {
				t.Fatalf("%v is new and has the number %d of %d", want, k, len(words))
			}
			ids[text] = k
			words = append(words, want)
		}
		for range 6000 {
			k := int32(rng.IntN(len(words)))
			if rng.IntN(2) == 0 {
				k = int32(len(words) - 1)
			}
			l := fst.Label(rng.IntN(labels + 1))
			longer := slices.Clone(words[k])
			if l != fst.Epsilon {
				longer = append(longer, l)
			}
			if rng.IntN(5) > 1 {
				check(table.Push(k, l), longer)
				continue
			}
			first, rest := table.Pop(k, l)
			if len(longer) == 0 {
				longer = []fst.Label{fst.Epsilon}
			}
			if first != longer[0] {
				t.Fatalf("%v begins with %d, not %d", words[k], longer[0], first)
			}
			check(rest, longer[1:])
		}
		// Some of them are kept, and what is made of these is what was.
		var live []int32
		for k := range int32(len(words)) {
			if rng.IntN(8) == 0 {
				live = append(live, k)
			}
		}
		kept, now := table.Only(live)
		for _, k := range live {
			for at, rest := now[k], words[k]; len(rest) > 0; rest = rest[1:] {
				first, next := kept.Pop(at, fst.Epsilon)
				if first != rest[0] {
					t.Fatalf("%v is kept with %d in the place of %d", words[k], first, rest[0])
				}
				at = next
			}
		}
		if len(words) < 500 {
			t.Errorf("%d labels: only %d strings", labels, len(words))
		}
	}
}

// What is kept is found in one pass, in whatever order the strings are named: a suffix of each length, the shortest first, takes
// about as long as the longest first.
func TestWordTableKeepsSuffixesInAnyOrder(t *testing.T) {
	const n = 30_000
	table := NewWords()
	k := int32(0)
	for i := range n {
		k = table.Push(k, fst.Label(1+i))
	}
	var words []int32
	for ; k != 0; _, k = table.Pop(k, fst.Epsilon) {
		words = append(words, k)
	}
	reversed := slices.Clone(words)
	slices.Reverse(reversed)
	took := func(words []int32) time.Duration {
		begun := time.Now()
		kept, now := table.Only(words)
		if len(kept.labels) != n || len(now) != n+1 {
			t.Fatalf("%d labels and %d strings of %d are kept", len(kept.labels), len(now), n)
		}
		return time.Since(begun)
	}
	longest, shortest := time.Hour, time.Hour
	for range 3 { // a busy machine slows some, and not all
		longest, shortest = min(longest, took(words)), min(shortest, took(reversed))
		if shortest < 5*longest {
			return
		}
	}
	t.Errorf("%v when the shortest come first, and %v when the longest do", shortest, longest)
}
