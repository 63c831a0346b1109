package tree

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// levelTable has a column of levels and one of numbers.
func levelTable(level func(i int) int, rng *rand.Rand, rows int) *table.Table {
	x := &table.Table{Rows: rows, Columns: []table.Column{{Name: "level", Kind: table.Categorical}, {Name: "x"}}}
	for i := range rows {
		x.Columns[0].Values = append(x.Columns[0].Values, float32(level(i)))
		x.Columns[1].Values = append(x.Columns[1].Values, float32(rng.NormFloat64()))
	}
	return x
}

// grow returns the root of a tree of at most one split.
func firstSplit(t *testing.T, x *table.Table, target *Target, o Options) *Node {
	t.Helper()
	b, err := NewBins(x, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.MaxLeaves = 2
	g, err := NewGrower(b, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Grow(context.Background(), target); err != nil {
		t.Fatal(err)
	}
	return &g.Nodes()[0]
}

// What is taken off the gain of many levels is what noise gains: the rest is, on the average, what
// the cut is worth on other rows, measured here on fresh noise.
func TestLevelCostAgainstFreshRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	for _, c := range []struct{ levels, each int }{{30, 40}, {60, 12}, {200, 3}} {
		rows, draws := c.levels*c.each, 60
		x := levelTable(func(i int) int { return i % c.levels }, rng, rows)
		x.Columns = x.Columns[:1]
		rest, fresh := 0.0, 0.0
		for range draws {
			target, other := &Target{}, make([]float64, rows)
			for i := range rows {
				h := 0.5 + rng.Float64()
				target.H = append(target.H, h)
				target.G = append(target.G, 3*math.Sqrt(h)*rng.NormFloat64())
				other[i] = 3 * math.Sqrt(h) * rng.NormFloat64()
			}
			n := firstSplit(t, x, target, Options{LevelCost: -1, Smooth: -1})
			gains := newGains(&Options{OneHot: 4, LevelCost: 1}, Scale{G: 1, H: 1}, Cell{0, 1},
				math.Inf(-1), math.Inf(1))
			gains.variance = 9
			rest += n.Gain - gains.levelCost(make([]uint8, c.levels), nil)
			// The fall of Σ g w + ½ h w², twice, on fresh rows, with the leaves of these.
			var g, h [2]float64
			side := func(i int) int {
				code := i % c.levels
				return int(n.Set[code>>6] >> (code & 63) & 1)
			}
			for i := range rows {
				g[side(i)] += target.G[i]
				h[side(i)] += target.H[i]
			}
			all := -(g[0] + g[1]) / (h[0] + h[1])
			for i := range rows {
				w := -g[side(i)] / h[side(i)]
				fresh -= 2*other[i]*(w-all) + target.H[i]*(w*w-all*all)
			}
		}
		scale := 9 * float64(c.levels*draws) // a unit of variance a level
		if math.Abs(rest-fresh)/scale > 0.2 || fresh/scale > -0.4 {
			t.Errorf("%d levels of %d rows: %.3f of a unit a level are left, fresh rows give %.3f", c.levels, c.each,
				rest/scale, fresh/scale)
		}
	}
}

// A level for each row gains nothing, whatever the criterion; without the cost it gains most.
// Levels that say something are found also beside hundreds that do not.
func TestLevelCost(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 2))
	for _, o := range []Options{{}, {MinRows: 2}, {Criterion: DualNorm, R: 1}, {Criterion: DualNorm, R: 2},
		{Criterion: DualNorm, R: 1.5}} {
		each := max(o.MinRows, 1)
		rows := 250 * each
		x := levelTable(func(i int) int { return i / each }, rng, rows)
		target := &Target{}
		for i := range rows {
			target.G = append(target.G, rng.NormFloat64()-0.5*float64(x.Columns[1].Values[i]))
		}
		if n := firstSplit(t, x, target, o); n.Column != 1 {
			t.Errorf("%+v: column %d splits the root, gain %v", o, n.Column, n.Gain)
		}
		free := o
		free.LevelCost = -1
		if n := firstSplit(t, x, target, free); n.Column != 0 {
			t.Errorf("%+v without cost: column %d", o, n.Column)
		}
		// Six levels of many rows, where two differ, and 200 of one row.
		x = levelTable(func(i int) int {
			if i < 200 {
				return 10 + i
			}
			return i % 6
		}, rng, 1400)
		target = &Target{}
		for i := range 1400 {
			g := rng.NormFloat64()
			switch {
			case i < 200:
			case i%6 < 2:
				g -= 0.6
			default:
				g += 0.3
			}
			target.G = append(target.G, g)
		}
		n := firstSplit(t, x, target, o)
		if n.Column != 0 || n.Set[0]&3 != 3 && n.Set[0]&3 != 0 || n.Set[0]&63 == 0 || n.Set[0]&63 == 63 {
			t.Errorf("%+v: column %d, levels %b", o, n.Column, n.Set[0]&63)
		}
	}
}
