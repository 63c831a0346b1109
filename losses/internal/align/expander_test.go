package align

import "testing"

// The bytes of a build count edges, columns and what a column holds.
func TestExpandCountsBytes(t *testing.T) {
	var b Expander
	b.Stats.Edges = 11
	for _, c := range []struct{ columns, each, want int }{{0, 0, 88}, {7, 0, 88 + 56},
		{7, 16, 88 + 56 + 224}} {
		for limit := range 2 {
			b.opts.MaxBytes = int64(c.want - limit)
			if err := b.Check(3, c.columns, c.each); (err != nil) != (limit == 1) {
				t.Errorf("11 edges, %d columns of %d bytes within %d: %v", c.columns, c.each, b.opts.MaxBytes,
					err)
			}
		}
	}
}
