package semiring

import "testing"

// Strings made together are those made alone, and stay so when others follow, over the end of a block too.
func TestLabelStrings(t *testing.T) {
	var m LabelStrings
	labels := []int32{0, -1, -2, -3, 1, 1<<31 - 1, -1 << 31}
	for l := range int32(3 * labelStringsBlock / labelSize) {
		labels = append(labels, l)
	}
	var left []StringLeft
	var right []StringRight
	for _, l := range labels {
		left, right = append(left, m.Left(l)), append(right, m.Right(l))
	}
	for i, l := range labels {
		if left[i] != NewStringLeft(l) || right[i] != NewStringRight(l) {
			t.Fatalf("label %d: %v, %v", l, left[i], right[i])
		}
	}
	if n := testing.AllocsPerRun(10, func() {
		for range 1000 {
			m.Left(7)
		}
	}); n > 2 {
		t.Errorf("%v allocations for 1000 strings", n)
	}
}
