package evaluate

import (
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset"
)

// Examples of a group are in one part of every division, and every example is held out once a
// repetition.
func TestGrouped(t *testing.T) {
	group := []int{0, 1, 2, 0, 3, 4, 1, 5, 4}
	trials, err := Grouped(group, 3, 2, 2, 7)
	if err != nil || len(trials) != 6 {
		t.Fatalf("%d trials: %v", len(trials), err)
	}
	apart := func(f dataset.Fold) {
		t.Helper()
		for _, i := range f.Train {
			if slices.ContainsFunc(f.Test, func(k int) bool { return group[k] == group[i] }) {
				t.Errorf("%v: the group of example %d is on both sides", f, i)
			}
		}
	}
	held := make([]int, len(group))
	for _, x := range trials {
		apart(x.Fold)
		if len(x.Train)+len(x.Test) != len(group) || len(x.Inner) != 2 {
			t.Errorf("%+v", x)
		}
		for _, i := range x.Test {
			held[i]++
		}
		for _, f := range x.Inner {
			apart(f)
			for _, i := range slices.Concat(f.Train, f.Test) {
				if !slices.Contains(x.Train, i) {
					t.Errorf("inner fold %v has example %d, which is held out", f, i)
				}
			}
		}
	}
	if slices.Min(held) != 2 || slices.Max(held) != 2 {
		t.Errorf("examples are held out %v times", held)
	}
	if _, err := Grouped(nil, 2, 0, 1, 1); err == nil {
		t.Error("no examples are divided")
	}
}
