package losses

import (
	"testing"
)

// The published references (seeds 1, 2, 3).
var published = [3]string{
	"820649858463770390303787749700",
	"857365758663084887959529765818",
	"775918988700008176969380456442",
}

func publishedRef(seed, l int) []int {
	ref := make([]int, l)
	for i := range ref {
		ref[i] = int(published[seed][i] - '0')
	}
	return ref
}

// Numbers of columns that a separate implementation of the same clamp had.
func TestColumnCounts(t *testing.T) {
	for _, c := range []struct {
		name    string
		loss    Edit
		seed, l int
		want    int
	}{
		{"edit", Unit, 0, 8, 312},
		{"edit", Unit, 0, 10, 1412},
		{"edit", Unit, 0, 12, 5673},
		{"edit", Unit, 0, 14, 24475},
		{"edit", Edit{Sub: 2, Ins: 1, Del: 1}, 0, 8, 363},
		{"edit", Edit{Sub: 2, Ins: 1, Del: 1}, 0, 12, 4003},
		{"edit", Edit{Sub: 1, Ins: 3, Del: 2}, 0, 8, 48},
		{"edit", Edit{Sub: 1, Ins: 3, Del: 2}, 0, 12, 396},
		{"edit", Edit{Sub: 1, Ins: 3, Del: 2}, 0, 16, 3294},
		{"sw", SmithWaterman, 0, 8, 2825},
		{"sw", SmithWaterman, 0, 10, 19252},
		{"sw", SmithWaterman, 0, 12, 137838},
		{"sw", SmithWaterman, 1, 12, 43212},
		{"sw", SmithWaterman, 2, 12, 79957},
	} {
		m, err := c.loss.Machine(publishedRef(c.seed, c.l), 10, c.l)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.TotalColumns(); got != c.want {
			t.Errorf("%s %v seed %d l %d: %d columns, want %d", c.name, c.loss, c.seed+1, c.l, got, c.want)
		}
	}
}
