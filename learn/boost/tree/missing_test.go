package tree

import (
	"context"
	"math"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// What is missing where nothing was missing in training goes to the heavier child, in every
// way of growing; to the left one where they are alike.
func TestUnseenMissingGoesToTheHeavierChild(t *testing.T) {
	for _, c := range []struct {
		values []float32
		left   int // rows that go left
		want   float64
	}{
		{[]float32{0, 1, 1, 1, 1}, 1, 2}, {[]float32{0, 0, 0, 0, 1}, 4, -2}, {[]float32{0, 0, 1, 1}, 2, -2},
	} {
		m := len(c.values)
		for _, kind := range []table.Kind{table.Numeric, table.Categorical} {
			for _, oneHot := range []int{1, 4} { // levels in order, or one against the others
				x := &table.Table{Name: "t", Rows: m, Columns: []table.Column{{Name: "a", Kind: kind, Values: c.values}}}
				if kind == table.Categorical {
					x.Columns[0].Levels = []string{"p", "q"}
				}
				target := &Target{G: make([]float64, m)}
				for i := range target.G {
					target.G[i] = 2
					if i >= c.left {
						target.G[i] = -2
					}
				}
				o := Options{MaxLeaves: 2, OneHot: oneHot, Workers: 1}
				b, err := NewBins(x, nil)
				if err != nil {
					t.Fatal(err)
				}
				binned, err := NewGrower(b, o)
				if err != nil {
					t.Fatal(err)
				}
				exact, err := NewExactGrower(x, o)
				if err != nil {
					t.Fatal(err)
				}
				for name, g := range map[string]*Grower{"histogram": binned, "exact": exact} {
					if err := g.Grow(context.Background(), target); err != nil {
						t.Fatal(err)
					}
					grown := g.Tree(g.Splits())
					if grown.Splits() != 1 {
						t.Fatalf("%s: %d splits", name, grown.Splits())
					}
					probe := &table.Table{Name: "p", Rows: 1,
						Columns: []table.Column{{Name: "a", Kind: kind, Levels: x.Columns[0].Levels,
							Values: []float32{float32(math.NaN())}}}}
					got := make([]float64, 1)
					grown.Predict(got, probe, 0)
					// Where a one-hot split sends the second level left, the sides change
					// roles, but not the heavier one.
					if c.left*2 != m && got[0] != c.want || c.left*2 == m && got[0] != -2 && kind == table.Numeric {
						t.Errorf("%s, %v, one-hot %d, %d of %d rows left: missing gets %v, want %v", name, kind, oneHot, c.left,
							m, got[0], c.want)
					}
				}
			}
		}
	}
}
