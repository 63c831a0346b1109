package dataset

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
)

// Fold is one division of examples, by number, each part in ascending order.
type Fold struct{ Train, Test []int }

// Fingerprint names the division: 64 bits of FNV-1a, in hexadecimal. Others have different names,
// except with probability 2⁻⁶⁴.
func (f *Fold) Fingerprint() string {
	h := fnv.New64a()
	var b [binary.MaxVarintLen64]byte
	for _, part := range [][]int{f.Train, f.Test} {
		h.Write(b[:binary.PutVarint(b[:], int64(len(part)))])
		for _, i := range part {
			h.Write(b[:binary.PutVarint(b[:], int64(i))])
		}
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// KFold divides n examples into k parts whose sizes differ by one at most, and
// returns for each the division that tests on it. rng shuffles the examples
// first; nil keeps their order.
func KFold(n, k int, rng *rand.Rand) ([]Fold, error) {
	if k < 2 || k > n {
		return nil, fmt.Errorf("dataset: KFold: %d folds of %d examples", k, n)
	}
	order := permutation(n, rng)
	folds := make([]Fold, k)
	for f := range folds {
		lo, hi := n*f/k, n*(f+1)/k
		test := slices.Clone(order[lo:hi])
		train := append(slices.Clone(order[:lo]), order[hi:]...)
		slices.Sort(test)
		slices.Sort(train)
		folds[f] = Fold{train, test}
	}
	return folds, nil
}

// Split sets a part of n examples apart for testing: test of them, drawn by rng;
// the last ones when it is nil.
func Split(n, test int, rng *rand.Rand) (Fold, error) {
	if test < 0 || test > n {
		return Fold{}, fmt.Errorf("dataset: Split: %d of %d examples", test, n)
	}
	order := permutation(n, rng)
	f := Fold{slices.Clone(order[:n-test]), slices.Clone(order[n-test:])}
	slices.Sort(f.Train)
	slices.Sort(f.Test)
	return f, nil
}

func permutation(n int, rng *rand.Rand) []int {
	if rng != nil {
		return rng.Perm(n)
	}
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	return p
}

// Pick returns the elements of xs with the given numbers, in that order.
func Pick[T any](xs []T, numbers []int) []T {
	out := make([]T, len(numbers))
	for i, k := range numbers {
		out[i] = xs[k]
	}
	return out
}
