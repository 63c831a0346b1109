package tree

import (
	stdcmp "cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// The histograms of every node are those of its rows, whether summed, subtracted or
// taken from few rows, and whether or not memory for them runs out: then trees
// are the same.
func TestHistogramsAgainstRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	x := randomTable(rng, 3000, []int{3, 2000, 300, 2, 40, 7, 90, 200, 15, 1, 16, 17}, 0.05)
	target := randomTarget(rng, 3000, true)
	b, err := NewBins(x, nil)
	if err != nil {
		t.Fatal(err)
	}
	var trees []*Tree
	kept := 0
	for _, bytes := range []int64{0, 200 << 10, 1} {
		g, err := NewGrower(b, Options{MaxLeaves: 60, HistogramBytes: bytes, MinRows: 2})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Start(target); err != nil {
			t.Fatal(err)
		}
		h := g.f.(*histogram)
		for g.Step() {
			g.findSplits() // so that the histograms of all leaves are there
			for at := range g.nodes {
				n := &g.nodes[at]
				if n.hist == nil {
					continue
				}
				kept++
				for block := range b.blocks {
					bl := &b.blocks[block]
					want := make([]Cell, blockColumns*bl.stride)
					for _, i := range g.Rows(at) {
						for k := range bl.columns {
							add(&want[k*bl.stride+int(b.Code(int(i), bl.first+k))], g.cells[i])
						}
					}
					got := n.hist[h.offsets[block]:h.offsets[block+1]]
					if k := bl.columns * bl.stride; !slices.Equal(got[:k], want[:k]) {
						t.Fatalf("%d bytes, %d splits, node %d, block %d: the histogram is not that of its rows", bytes,
							g.Splits(), at, block)
					}
				}
			}
		}
		trees = append(trees, g.Tree(g.Splits()))
	}
	if kept < 100 {
		t.Errorf("only %d histograms were looked at", kept)
	}
	for _, other := range trees[1:] {
		if diff := cmp.Diff(trees[0], other); diff != "" {
			t.Fatalf("the tree depends on memory for histograms:\n%s", diff)
		}
	}
}

// Against all divisions of the levels: ordered by mean derivative the best cut is the
// best division of all; with OneHot the best single level.
func TestLevelsAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 2))
	for round := range 60 {
		rows, levels := 200, 2+round%8
		x := &table.Table{Rows: rows, Columns: []table.Column{{Name: "level", Kind: table.Categorical}}}
		for range rows {
			v := float32(rng.IntN(levels))
			if round%2 == 1 && rng.IntN(9) == 0 {
				v = nan32
			}
			x.Columns[0].Values = append(x.Columns[0].Values, v)
		}
		target := randomTarget(rng, rows, round%3 == 0)
		for _, oneHot := range []int{1, 100} {
			o := Options{MaxLeaves: 2, Smooth: -1, OneHot: oneHot, LevelCost: -1}
			for name, g := range growers(t, x, o) {
				if err := g.Grow(context.Background(), target); err != nil {
					t.Fatal(err)
				}
				best := 0.0
				for set := range 1 << levels {
					if oneHot == 100 && bits.OnesCount(uint(set)) != 1 {
						continue
					}
					for _, missingLeft := range []bool{false, true} {
						var gl, hl, gr, hr float64
						for i, v := range x.Columns[0].Values {
							gi, hi := target.at(int32(i))
							if v != v && missingLeft || v == v && set>>int(v)&1 == 1 {
								gl, hl = gl+gi, hl+hi
							} else {
								gr, hr = gr+gi, hr+hi
							}
						}
						if hl > 0 && hr > 0 {
							best = max(best, gl*gl/hl+gr*gr/hr-(gl+gr)*(gl+gr)/(hl+hr))
						}
					}
				}
				n := g.Nodes()[0]
				if math.Abs(n.Gain-best) > 1e-9*(1+best) {
					t.Fatalf("round %d, %d levels, OneHot %d, %s: gain %v, by enumeration %v", round, levels, oneHot,
						name, n.Gain, best)
				}
				tree := g.Tree(g.Splits())
				var gl float64
				for i := range rows {
					if tree.Leaf(x.Row(i, make([]float32, 1))) == 1 {
						gi, _ := target.at(int32(i))
						gl += gi
					}
				}
				if g.Splits() == 1 && math.Abs(gl-g.Nodes()[1].G) > 1e-9 {
					t.Fatalf("round %d: the tree sends %v left, the split %v", round, gl, g.Nodes()[1].G)
				}
			}
		}
	}
}

func TestUnseenLevelsGoWhereMissingGoes(t *testing.T) {
	x := &table.Table{Rows: 6, Columns: []table.Column{
		{Name: "level", Kind: table.Categorical, Values: []float32{2, 2, 2, 5, 5, nan32}}}}
	for _, missing := range []float64{1, -1} {
		g := mustGrower(t, x, Options{})
		if err := g.Grow(context.Background(), &Target{G: []float64{-1, -1, -1, 1, 1, missing}}); err != nil {
			t.Fatal(err)
		}
		tree := g.Tree(1)
		want := tree.Leaf([]float32{nan32})
		for _, v := range []float32{0, 3, 6, 63, 64, 1000, -1} {
			if got := tree.Leaf([]float32{v}); got != want {
				t.Errorf("level %v goes to leaf %d, missing to %d", v, got, want)
			}
		}
		if tree.Leaf([]float32{2}) == tree.Leaf([]float32{5}) {
			t.Error("levels that were seen are not told apart")
		}
	}
}

func TestDualNormSplits(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 3))
	x := randomTable(rng, 150, []int{5, 100, 30}, 0)
	target := randomTarget(rng, 150, false)
	for _, r := range []float64{1, 2, 3.5, math.Inf(1)} {
		norm := func(g ...float64) float64 {
			sum, top := 0.0, 0.0
			for _, v := range g {
				sum += math.Pow(math.Abs(v), r)
				top = max(top, math.Abs(v))
			}
			if math.IsInf(r, 1) {
				return top
			}
			return sum
		}
		for name, g := range growers(t, x, Options{Criterion: DualNorm, R: r, MaxLeaves: 2}) {
			if err := g.Grow(context.Background(), target); err != nil {
				t.Fatal(err)
			}
			best, whole := 0.0, 0.0
			for _, v := range target.G {
				whole += v
			}
			for j := range x.Columns {
				for _, cut := range x.Columns[j].Values {
					left, n := 0.0, 0
					for i, v := range x.Columns[j].Values {
						if v <= cut {
							left += target.G[i]
							n++
						}
					}
					if n < 150 {
						best = max(best, norm(left, whole-left)-norm(whole))
					}
				}
			}
			if got := g.Nodes()[0].Gain; math.Abs(got-best) > 1e-9*(1+best) {
				t.Errorf("r = %v, %s: gain %v, by enumeration %v", r, name, got, best)
			}
		}
	}
}

// Values of sibling leaves keep the constraint, and so does every prediction along a
// constrained column.
func TestMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 4))
	x := randomTable(rng, 800, []int{60, 500, 30}, 0)
	target := &Target{G: make([]float64, 800)}
	for i := range target.G {
		target.G[i] = float64(x.Columns[0].Values[i]) - 2*math.Sin(3*float64(x.Columns[1].Values[i])) +
			rng.NormFloat64()
	}
	for _, o := range []Options{{MaxLeaves: 40, Monotone: []int8{1, -1, 0}},
		{MaxDepth: 5, DepthWise: true, Monotone: []int8{-1, 1, 0}, L1: 0.5, L2: 1}} {
		for name, g := range growers(t, x, o) {
			if err := g.Grow(context.Background(), target); err != nil {
				t.Fatal(err)
			}
			tree := g.Tree(g.Splits())
			used := make([]bool, 3)
			for _, f := range tree.Feature {
				if f >= 0 {
					used[f] = true
				}
			}
			if !used[0] && !used[1] {
				t.Errorf("%s: no constrained column is used", name)
			}
			row := make([]float32, 3)
			for start := range 100 {
				for j, direction := range o.Monotone[:2] {
					x.Row(start, row)
					values := slices.Sorted(slices.Values(x.Columns[j].Values))
					last := math.Inf(-1)
					for _, v := range values {
						row[j] = v
						value := float64(direction) * tree.Value[tree.Leaf(row)]
						if value < last-1e-12 {
							t.Fatalf("%s: column %d: the value falls from %v to %v", name, j, last, value)
						}
						last = value
					}
				}
			}
		}
	}
}

// Only the order of a column's values matters to the rows it was grown on, and rows in
// another order give the same tree.
func TestInvariances(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 5))
	x := randomTable(rng, 400, []int{30, 400, 9}, 0.1)
	target := randomTarget(rng, 400, true)
	order := rng.Perm(400)
	shuffled := &Target{}
	for _, i := range order {
		shuffled.G = append(shuffled.G, target.G[i])
		shuffled.H = append(shuffled.H, target.H[i])
	}
	bent := x.Subset(slices.Collect(func(yield func(int) bool) {
		for i := range 400 {
			if !yield(i) {
				return
			}
		}
	}))
	for j := range bent.Columns {
		for i, v := range bent.Columns[j].Values {
			bent.Columns[j].Values[i] = float32(math.Exp(float64(v) / 50))
		}
	}
	values := func(x *table.Table, name string, target *Target) []float64 {
		g := growers(t, x, Options{MaxLeaves: 30})[name]
		if err := g.Grow(context.Background(), target); err != nil {
			t.Fatal(err)
		}
		out := make([]float64, x.Rows)
		g.Tree(g.Splits()).Predict(out, x, 0)
		return out
	}
	for _, name := range []string{"histogram", "exact"} {
		want := values(x, name, target)
		got := values(x.Subset(order), name, shuffled)
		for k, i := range order {
			if got[k] != want[i] {
				t.Fatalf("%s: rows in another order: %v and %v", name, got[k], want[i])
			}
		}
		// Bins are quantiles, which order alone determines; thresholds between them are
		// chosen by distance, which may matter only to rows it was not grown on.
		if diff := cmp.Diff(want, values(bent, name, target)); diff != "" {
			t.Errorf("%s: columns bent by exp:\n%s", name, diff)
		}
	}
}

func TestSampledColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 6))
	x := randomTable(rng, 500, slices.Repeat([]int{200}, 20), 0)
	target := randomTarget(rng, 500, false)
	target.Columns = []int32{1, 3, 8, 9, 10, 11, 12, 19}
	for name, g := range growers(t, x, Options{MaxLeaves: 30}) {
		if err := g.Grow(context.Background(), target); err != nil {
			t.Fatal(err)
		}
		for _, n := range g.Nodes() {
			if n.Left >= 0 && !slices.Contains(target.Columns, n.Column) {
				t.Fatalf("%s: column %d is not in the sample", name, n.Column)
			}
		}
	}
	// By level, with few columns, each level sees its own.
	seen := map[int32]map[int32]bool{}
	g := mustGrower(t, x, Options{MaxDepth: 5, DepthWise: true, ColumnsByLevel: 0.1})
	target.Columns = nil
	for sample := range uint64(5) {
		target.Sample = sample
		if err := g.Grow(context.Background(), target); err != nil {
			t.Fatal(err)
		}
		for _, n := range g.Nodes() {
			if n.Left >= 0 {
				key := n.Depth + 10*int32(sample)
				if seen[key] == nil {
					seen[key] = map[int32]bool{}
				}
				seen[key][n.Column] = true
			}
		}
	}
	all := map[int32]bool{}
	for key, columns := range seen {
		if len(columns) > 2 {
			t.Errorf("level %d used %d columns, the share is 2", key, len(columns))
		}
		for c := range columns {
			all[c] = true
		}
	}
	if len(all) < 8 {
		t.Errorf("all levels of five trees drew from %d columns of 20", len(all))
	}
}

func TestDegenerate(t *testing.T) {
	for name, c := range map[string]struct {
		columns [][]float32
		g       []float64
		splits  int
	}{
		"one row":     {[][]float32{{1}}, []float64{1}, 0},
		"constant":    {[][]float32{{2, 2, 2}}, []float64{1, 2, 3}, 0},
		"all missing": {[][]float32{{nan32, nan32}}, []float64{1, 2}, 0},
		"no gradient": {[][]float32{{1, 2, 3}}, []float64{0, 0, 0}, 0},
		"same":        {[][]float32{{1, 2, 3}}, []float64{5, 5, 5}, 0},
		"two rows":    {[][]float32{{1, 2}}, []float64{1, -1}, 1},
		"neighbours":  {[][]float32{{1, math.Nextafter32(1, 2)}}, []float64{1, -1}, 1},
		"far apart":   {[][]float32{{-math.MaxFloat32, math.MaxFloat32}}, []float64{1, -1}, 1},
		"or missing":  {[][]float32{{3, nan32, 3, nan32}}, []float64{1, -1, 1, -1}, 1},
		"huge":        {[][]float32{{1, 2, 3}}, []float64{1e300, -1e300, 1e-300}, 2},
		"tiny":        {[][]float32{{1, 2}}, []float64{1e-120, -1e-120}, 1},
	} {
		x := &table.Table{Rows: len(c.g)}
		for j, v := range c.columns {
			x.Columns = append(x.Columns, table.Column{Name: fmt.Sprint(j), Values: v})
		}
		for method, g := range growers(t, x, Options{}) {
			if err := g.Grow(context.Background(), &Target{G: c.g}); err != nil {
				t.Errorf("%s, %s: %v", name, method, err)
				continue
			}
			if g.Splits() != c.splits {
				t.Errorf("%s, %s: %d splits, want %d", name, method, g.Splits(), c.splits)
			}
			tree := g.Tree(g.Splits())
			if err := tree.Check(len(x.Columns)); err != nil {
				t.Errorf("%s, %s: %v", name, method, err)
			}
			for i := range x.Rows {
				if leaf := tree.Leaf(x.Row(i, make([]float32, len(x.Columns)))); !slices.Contains(
					g.Rows(leaf), int32(i)) {
					t.Errorf("%s, %s: row %d is predicted by a leaf that is not its own", name, method, i)
				}
			}
		}
	}
}

func TestCheckTrees(t *testing.T) {
	x := randomTable(rand.New(rand.NewPCG(11, 7)), 100, []int{30, 40}, 0)
	for name, damage := range map[string]func(*Tree){
		"child back":  func(t *Tree) { t.Left[1] = 0 },
		"two parents": func(t *Tree) { t.Left[0] = t.Right[0] },
		"far":         func(t *Tree) { t.Right[0] = 1 << 30 },
		"column":      func(t *Tree) { t.Feature[0] = 2 },
		"short":       func(t *Tree) { t.Value = t.Value[1:] },
		"even":        func(t *Tree) { *t = *newTree(2) },
		"empty":       func(t *Tree) { *t = Tree{} },
		"threshold":   func(t *Tree) { t.Threshold[0] = math.NaN() },
		"value":       func(t *Tree) { t.Value[len(t.Value)-1] = math.Inf(1) },
		"set":         func(t *Tree) { t.SetLevels(0, nil); t.Set[0] = 7 },
	} {
		tree := growForest(t, x, 1, Options{MaxDepth: 4, DepthWise: true})[0]
		if err := tree.Check(2); err != nil {
			t.Fatal(err)
		}
		damage(tree)
		if err := tree.Check(2); err == nil {
			t.Errorf("%s: not noticed", name)
		}
	}
}

func BenchmarkSplit(b *testing.B) {
	rng := rand.New(rand.NewPCG(11, 8))
	var s gains
	for _, filled := range []int{32, 256} {
		cells, occupied := make([]Cell, 256), []uint8{}
		total := Cell{}
		for i := range cells {
			if rng.IntN(256) < filled {
				cells[i] = Cell{rng.Int64N(1<<40) - 1<<39, rng.Int64N(1 << 40)}
				total = total.plus(cells[i])
				occupied = append(occupied, uint8(i))
			}
		}
		o := Options{L2: 1}.withDefaults()
		s = newGains(&o, Scale{G: 0x1p-40, H: 0x1p-40}, total, math.Inf(-1), math.Inf(1))
		b.Run(fmt.Sprintf("occupied=%d", filled), func(b *testing.B) {
			for b.Loop() {
				var found best
				s.numeric(&found, 0, occupied, cells, Cell{})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(occupied)), "ns/bin")
		})
	}
}

func BenchmarkGrow(b *testing.B) {
	rng := rand.New(rand.NewPCG(11, 9))
	x := randomTable(rng, 100000, slices.Repeat([]int{1 << 20}, 28), 0)
	target := randomTarget(rng, x.Rows, true)
	for _, o := range []Options{{MaxDepth: 6, DepthWise: true}, {MaxLeaves: 64}} {
		for workers := 1; workers <= 2; workers++ {
			o.Workers = workers
			g := mustGrower(b, x, o)
			b.Run(fmt.Sprintf("rows=100k/columns=28/depth=%d/leaves=%d/workers=%d", o.MaxDepth, o.MaxLeaves, workers),
				func(b *testing.B) {
					for b.Loop() {
						if err := g.Grow(context.Background(), target); err != nil {
							b.Fatal(err)
						}
					}
				})
		}
	}
}

// Up to four levels a split takes one of them, and from five on any set that is first in
// the order of their means (section 8 of the specification).
func TestFewLevelsAreSplitOneByOne(t *testing.T) {
	for levels, want := range map[int]int{4: 1, 5: 2, 6: 3} {
		x := &table.Table{Name: "t", Rows: levels, Columns: []table.Column{{Name: "a", Kind: table.Categorical}}}
		target := &Target{G: make([]float64, levels)}
		for i := range levels {
			c := &x.Columns[0]
			c.Levels, c.Values = append(c.Levels, string(rune('a'+i))), append(c.Values, float32(i))
			// Half of the levels are of one sign, the other of the other: the best set has half of them.
			target.G[i] = 1
			if i < levels/2 {
				target.G[i] = -1
			}
		}
		b, err := NewBins(x, nil)
		if err != nil {
			t.Fatal(err)
		}
		g, err := NewGrower(b, Options{MaxLeaves: 2, Smooth: -1})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Grow(context.Background(), target); err != nil {
			t.Fatal(err)
		}
		left, right := len(g.Rows(1)), len(g.Rows(2))
		if min(left, right) != want {
			t.Errorf("%d levels are split %d and %d, want the smaller part to be %d", levels, left, right, want)
		}
	}
}

// Levels are ordered by G/(H+Smooth), so that one of few rows stands near the middle, and cut
// where the gain is largest.
func TestLevelsAreOrderedBySmoothedMeans(t *testing.T) {
	const levels = 7
	rng := rand.New(rand.NewPCG(8, 1))
	different := 0
	for range 60 {
		x := &table.Table{Name: "t", Rows: levels, Columns: []table.Column{{Name: "a", Kind: table.Categorical}}}
		target := &Target{G: make([]float64, levels), W: make([]float64, levels)}
		for i := range levels {
			c := &x.Columns[0]
			c.Levels, c.Values = append(c.Levels, string(rune('a'+i))), append(c.Values, float32(i))
			target.W[i] = math.Exp2(float64(rng.IntN(9) - 4))
			target.G[i] = rng.NormFloat64()
		}
		// cut returns the levels on the side of level 0.
		cut := func(smooth float64) string {
			order := make([]int, levels)
			for i := range order {
				order[i] = i
			}
			key := func(i int) float64 { return target.W[i] * target.G[i] / (target.W[i] + smooth) }
			slices.SortFunc(order, func(a, b int) int { return stdcmp.Compare(key(a), key(b)) })
			best, at := 0.0, 0
			for n := 1; n < levels; n++ {
				var g, h [2]float64
				for k, i := range order {
					side := 0
					if k >= n {
						side = 1
					}
					g[side] += target.W[i] * target.G[i]
					h[side] += target.W[i]
				}
				if v := g[0]*g[0]/h[0] + g[1]*g[1]/h[1]; v > best {
					best, at = v, n
				}
			}
			left := order[:at]
			if !slices.Contains(left, 0) {
				left = order[at:]
			}
			return fmt.Sprint(slices.Sorted(slices.Values(left)))
		}
		for _, smooth := range []float64{-1, 0, 10} {
			want := cut(map[float64]float64{-1: 0, 0: 1, 10: 10}[smooth])
			if want != cut(0) {
				different++
			}
			b, err := NewBins(x, nil)
			if err != nil {
				t.Fatal(err)
			}
			g, err := NewGrower(b, Options{MaxLeaves: 2, Smooth: smooth, LevelCost: -1})
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Grow(context.Background(), target); err != nil {
				t.Fatal(err)
			}
			rows := slices.Clone(g.Rows(1))
			if !slices.Contains(rows, 0) {
				rows = g.Rows(2)
			}
			if got := fmt.Sprint(slices.Sorted(slices.Values(rows))); got != want {
				t.Errorf("smooth %v, means %.3g, weights %v: levels %s are apart, want %s", smooth, target.G,
					target.W, got, want)
			}
		}
	}
	if different < 10 {
		t.Errorf("smoothing makes a difference in %d cases: too few", different)
	}
}
