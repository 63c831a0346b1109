package run

import (
	"slices"
	"testing"
)

// Inputs that defeat the choice of pivots end in heapsort: the depth is bounded.
func TestIntrosortWorstCase(t *testing.T) {
	const n = 1 << 14
	keys := make([]SortKey, n)
	for i := range keys { // Musser's median-of-3 killer
		switch k := n / 2; {
		case i < k && i%2 == 0:
			keys[i].Major = uint64(i + 1)
		case i < k:
			keys[i].Major = uint64(k + i + 1 - i%2)
		default:
			keys[i].Major = uint64(2 * (i - k + 1))
		}
		keys[i].At = int32(i)
	}
	heaped := slices.Clone(keys)
	Introsort(keys)
	heapsort(heaped)
	less := func(a, b SortKey) int {
		if a.Less(b) {
			return -1
		} else if b.Less(a) {
			return 1
		}
		return 0
	}
	if !slices.IsSortedFunc(keys, less) || !slices.IsSortedFunc(heaped, less) {
		t.Error("not sorted")
	}
}
