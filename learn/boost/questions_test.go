package boost

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// gappy is a table of m rows with a numeric column that has missing values, and a categorical one
// that has them where gaps is set.
func gappy(rng *rand.Rand, m, levels int, gaps bool) *table.Table {
	x := numeric(make([]float32, m), make([]float32, m), make([]float32, m))
	c := &x.Columns[2]
	c.Kind = table.Categorical
	for l := range levels {
		c.Levels = append(c.Levels, string(rune('a'+l)))
	}
	for i := range m {
		x.Columns[0].Values[i] = rng.Float32()
		x.Columns[1].Values[i] = rng.Float32()
		c.Values[i] = float32(i % levels)
	}
	x.Columns[1].Values[m/2] = float32(math.NaN())
	if gaps {
		c.Values[m-1] = float32(math.NaN())
	}
	return x
}

// divisionsOf are the divisions of a table's rows by trees of one split, those who go left as
// bits, each with its mirror image.
func divisionsOf(x *table.Table) map[int]bool {
	seen := map[int]bool{}
	try := func(t *tree.Tree) {
		h := make([]float64, x.Rows)
		t.Predict(h, x, 0)
		left := 0
		for i, v := range h {
			if v > 0 {
				left |= 1 << i
			}
		}
		seen[left], seen[1<<x.Rows-1-left] = true, true
	}
	for j, c := range x.Columns {
		for _, flags := range []uint8{0, tree.MissingLeft} {
			split := func() *tree.Tree {
				t := &tree.Tree{Feature: []int32{int32(j), -1, -1}, Threshold: make([]float64, 3),
					Left: []int32{1, -1, -1}, Right: []int32{2, -1, -1}, Flags: []uint8{flags, 0, 0},
					Value: []float64{0, 1, -1}, Gain: make([]float64, 3), Cover: make([]float64, 3), Count: make([]int32, 3)}
				return t
			}
			if c.Kind == table.Categorical {
				for set := range uint64(1) << len(c.Levels) {
					t := split()
					t.SetLevels(0, []uint64{set})
					try(t)
				}
				continue
			}
			for _, v := range append([]float32{-1}, c.Values...) {
				if v == v {
					t := split()
					t.Threshold[0] = float64(v)
					try(t)
				}
			}
		}
	}
	return seen
}

// Every division that a split can make is counted, and so is every labelling by trees of
// two splits; the count for thresholds alone is too small.
func TestQuestionsCountAllSplits(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for _, c := range []struct {
		m, levels int
		gaps      bool
	}{{6, 2, false}, {7, 3, false}, {8, 4, true}, {9, 6, false}, {9, 8, true}} {
		x := gappy(rng, c.m, c.levels, c.gaps)
		q := QuestionsOf(x)
		seen := divisionsOf(x)
		count := math.Exp(q.LogDivisions(c.m))
		if n := float64(len(seen)) / 2; !(n <= count*(1+1e-12)) {
			t.Errorf("%+v: %v divisions, counted %v", c, n, count)
		}
		if n, old := len(seen)/2, 3*(c.m-1)+1; c.levels > 5 && n <= old {
			t.Errorf("%+v: %d divisions are no more than the %d of thresholds: the case shows nothing", c, n, old)
		}
		// Written out by hand: one column, two for the gaps, and the levels'.
		groups := c.levels
		if c.gaps {
			groups++
		}
		near(t, "divisions", count, float64(3*(c.m-1))+math.Exp2(float64(groups-1))-1+1, 1e-12)
		near(t, "columns", math.Exp(q.LogColumns()), 3+math.Exp2(float64(groups-1))-1, 1e-12)

		labellings := map[int]bool{}
		all := 1<<c.m - 1
		for a := range seen {
			for b := range seen {
				for _, parts := range [][3]int{{a & b, a &^ b, all &^ a}, {all, 0, 0}} {
					for signs := range 8 {
						label := 0
						for k, part := range parts {
							if signs>>k&1 == 1 {
								label |= part
							}
						}
						labellings[label] = true
					}
				}
			}
		}
		w := q.Omega(CountBound, 2, 1, c.m)
		if logN := w * w * float64(c.m) / 2; math.Log(float64(len(labellings))) > logN {
			t.Errorf("%+v: %d labellings by two splits, counted %v", c, len(labellings), math.Exp(logN))
		}
	}
}

// Rademacher complexity by all signs against both bounds, where a column of levels alone
// shatters what thresholds cannot.
func TestQuestionsBoundComplexity(t *testing.T) {
	const m = 10
	x := gappy(rand.New(rand.NewPCG(8, 2)), m, m, false)
	seen := divisionsOf(x)
	sum := 0.0
	for signs := range 1 << m {
		best := math.Inf(-1)
		for a := range seen {
			e := 0
			for i := range m {
				e += (2*(a>>i&1) - 1) * (2*(signs>>i&1) - 1)
			}
			best = max(best, float64(e)/m)
		}
		sum += best / (1 << m)
	}
	q := QuestionsOf(x)
	if sum < 0.99 { // all divisions of ten levels
		t.Errorf("complexity %v", sum)
	}
	for _, b := range []ComplexityBound{VCBound, CountBound} {
		if w := q.Omega(b, 1, 1, m); !(w >= sum) {
			t.Errorf("%q: bound %v of a complexity of %v", b, w, sum)
		}
		if w := q.Omega(b, 1, 2, m); math.Abs(w-2*q.Omega(b, 1, 1, m)) > 1e-12 {
			t.Errorf("%q: not in proportion to lambda", b)
		}
	}
	// Without levels and gaps it is the bound of thresholds, and many levels do not overflow.
	plain := QuestionsOf(numeric(make([]float32, 3), make([]float32, 3)))
	for _, b := range []ComplexityBound{VCBound, CountBound} {
		if got, want := plain.Omega(b, 4, 0.5, 1000), Omega(b, 4, 0.5, 2, 1000); got != want {
			t.Errorf("%q: %v, want %v", b, got, want)
		}
		wide := Questions{whole: 3, groups: []int{100000}}
		if w := wide.Omega(b, 4, 1, 1000000); math.IsInf(w, 0) || math.IsNaN(w) {
			t.Errorf("%q: %v", b, w)
		}
		if w := (Questions{groups: []int{1}}).Omega(b, 2, 1, 50); math.IsNaN(w) || w < 0 {
			t.Errorf("%q: one level: %v", b, w)
		}
		if w := (Questions{gaps: 1}).Omega(b, 2, 1, 1); math.IsNaN(w) {
			t.Errorf("%q: one row: %v", b, w)
		}
	}
}
