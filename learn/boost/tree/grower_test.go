package tree

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

var nan32 = float32(math.NaN())

// randomTable makes numeric columns with the given numbers of distinct values, a
// share of them missing, and derivatives.
func randomTable(rng *rand.Rand, rows int, distinct []int, missing float64) *table.Table {
	x := &table.Table{Rows: rows, Name: "random"}
	for j, n := range distinct {
		c := table.Column{Name: string(rune('a' + j)), Values: make([]float32, rows)}
		scale := float32(rng.NormFloat64())
		for i := range c.Values {
			c.Values[i] = float32(rng.IntN(n)-n/2) * scale
			if rng.Float64() < missing {
				c.Values[i] = nan32
			}
		}
		x.Columns = append(x.Columns, c)
	}
	return x
}

func randomTarget(rng *rand.Rand, rows int, newton bool) *Target {
	t := &Target{G: make([]float64, rows)}
	for i := range t.G {
		t.G[i] = rng.NormFloat64()
	}
	if newton {
		t.H = make([]float64, rows)
		for i := range t.H {
			t.H[i] = rng.Float64()
		}
	}
	return t
}

// bruteForce returns the best gain of a numeric split of the given rows, by
// definition: every column, every value as a threshold, missing on either side.
func bruteForce(x *table.Table, t *Target, o *Options, rows []int32) float64 {
	score := func(g, h float64) float64 {
		w := leafValue(o, g, h)
		return -(2*g*w + (h+o.L2)*w*w + 2*o.L1*math.Abs(w))
	}
	var sg, sh float64
	for _, i := range rows {
		g, h := t.at(i)
		sg += g
		sh += h
	}
	best := 0.0
	for j := range x.Columns {
		values := x.Columns[j].Values
		cuts := []float32{float32(math.Inf(1))}
		for _, i := range rows {
			if v := values[i]; v == v {
				cuts = append(cuts, v)
			}
		}
		for _, cut := range cuts {
			for _, missingLeft := range []bool{false, true} {
				var gl, hl float64
				n := 0
				for _, i := range rows {
					if v := values[i]; v <= cut || v != v && missingLeft {
						g, h := t.at(i)
						gl += g
						hl += h
						n++
					}
				}
				least := max(1, o.MinRows)
				if n < least || len(rows)-n < least || hl < o.MinWeight || sh-hl < o.MinWeight {
					continue
				}
				best = max(best, score(gl, hl)+score(sg-gl, sh-hl)-score(sg, sh))
			}
		}
	}
	if best <= o.Gamma {
		return 0
	}
	return best
}

func mustGrower(t testing.TB, x *table.Table, o Options) *Grower {
	t.Helper()
	b, err := NewBins(x, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := NewGrower(b, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// growers are the methods that must agree where every value has its own bin.
func growers(t testing.TB, x *table.Table, o Options) map[string]*Grower {
	e, err := NewExactGrower(x, o)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*Grower{"histogram": mustGrower(t, x, o), "exact": e}
}

// Every split of a grown tree has the gain that enumeration finds for its node, and
// no leaf could have been split.
func TestSplitsAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	options := []Options{
		{MaxLeaves: 9}, {MaxLeaves: 9, L2: 1, MinRows: 7}, {MaxDepth: 3, DepthWise: true, L2: 0.5, MinWeight: 3},
		{MaxLeaves: 8, L1: 2, L2: 0.1}, {MaxLeaves: 20, Gamma: 3},
	}
	for round := range 12 {
		rows := []int{2, 30, 250, 400}[round%4]
		x := randomTable(rng, rows, []int{3, 200, 17, 2, 1, 40, 5, 60, 9, 100}, []float64{0, 0.2}[round%2])
		target := randomTarget(rng, rows, round%3 == 0)
		if round%4 == 3 {
			target.Rows = randomRows(rng, rows, rows/2)
		}
		for k, o := range options {
			for name, g := range growers(t, x, o) {
				if err := g.Grow(context.Background(), target); err != nil {
					t.Fatal(err)
				}
				for at := range g.Nodes() {
					n := g.Nodes()[at]
					want := bruteForce(x, target, &o, slices.Sorted(slices.Values(g.Rows(at))))
					leaf := n.Left < 0
					if leaf && (o.MaxLeaves > 0 && g.Splits()+1 >= o.MaxLeaves || o.MaxDepth > 0 &&
						int(n.Depth) >= o.MaxDepth) {
						continue
					}
					if math.Abs(n.Gain-want) > 1e-9*(1+want) {
						t.Fatalf("round %d, options %d, %s, node %d (leaf %v) of %d rows: gain %v, by enumeration %v", round, k,
							name, at, leaf, len(g.Rows(at)), n.Gain, want)
					}
				}
			}
		}
	}
}

// The rows of a node are those that its ancestors' rules send to it, by codes, by
// the tree and by the partition.
func TestRowsRoutesAndTreesAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	x := randomTable(rng, 700, []int{3, 600, 300, 2, 40}, 0.1)
	x.Columns[3].Kind, x.Columns[4].Kind = table.Categorical, table.Categorical
	for _, j := range []int{3, 4} {
		for i, v := range x.Columns[j].Values {
			if v == v {
				x.Columns[j].Values[i] = float32(rng.IntN(8 * j))
			}
		}
	}
	target := randomTarget(rng, 700, true)
	target.Rows = randomRows(rng, 700, 500)
	for name, g := range growers(t, x, Options{MaxLeaves: 60, L2: 1}) {
		if err := g.Grow(context.Background(), target); err != nil {
			t.Fatal(err)
		}
		if g.Splits() != 59 {
			t.Fatalf("%d splits", g.Splits())
		}
		for _, splits := range []int{0, 1, 5, 30, 59} {
			tree := g.Tree(splits)
			if err := tree.Check(len(x.Columns)); err != nil {
				t.Fatal(err)
			}
			values := make([]float64, x.Rows)
			tree.Predict(values, x, 0)
			row := make([]float32, len(x.Columns))
			for _, leaf := range g.Leaves(nil, splits) {
				rows := g.Rows(int(leaf))
				sorted := slices.Sorted(slices.Values(rows))
				var sg, sh float64
				for _, i := range sorted {
					if at := g.Route(i, splits); at != leaf {
						t.Fatalf("%s, %d splits: row %d is in leaf %d, its codes lead to %d", name, splits, i, leaf, at)
					}
					if at := tree.Leaf(x.Row(int(i), row)); at != int(leaf) {
						t.Fatalf("%s, %d splits: row %d is in leaf %d, the tree puts it in %d", name, splits, i, leaf, at)
					}
					if values[i] != tree.Value[leaf] {
						t.Fatalf("row %d: predicted %v, its leaf has %v", i, values[i], tree.Value[leaf])
					}
					gi, hi := target.at(i)
					sg += gi
					sh += hi
				}
				n := g.Nodes()[leaf]
				if math.Abs(n.G-sg) > 1e-10 || math.Abs(n.H-sh) > 1e-10 {
					t.Fatalf("leaf %d: sums %v, %v; by rows %v, %v", leaf, n.G, n.H, sg, sh)
				}
			}
			routes := make([]int32, 700)
			g.RouteRows(routes, nil, splits)
			some := make([]int32, len(target.Rows))
			g.RouteRows(some, target.Rows, splits)
			for k, i := range target.Rows {
				if some[k] != routes[i] {
					t.Fatalf("row %d: %d among some, %d among all", i, some[k], routes[i])
				}
			}
			for i := range int32(700) {
				if routes[i] != g.Route(i, splits) {
					t.Fatalf("row %d: %d among all, %d alone", i, routes[i], g.Route(i, splits))
				}
				if at := tree.Leaf(x.Row(int(i), row)); at != int(g.Route(i, splits)) {
					t.Fatalf("row %d: route %d, tree %d", i, g.Route(i, splits), at)
				}
			}
		}
	}
}

func TestPrefixProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 3))
	x := randomTable(rng, 500, []int{30, 400, 300, 5}, 0.05)
	target := randomTarget(rng, 500, false)
	for name, big := range growers(t, x, Options{MaxLeaves: 40}) {
		if err := big.Grow(context.Background(), target); err != nil {
			t.Fatal(err)
		}
		for splits := 1; splits < 40; splits += 6 {
			alone := growers(t, x, Options{MaxLeaves: splits + 1})[name]
			if err := alone.Grow(context.Background(), target); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(alone.Tree(splits), big.Tree(splits), cmp.AllowUnexported(Tree{})); diff != "" {
				t.Fatalf("%s, %d splits: alone (-), prefix (+)\n%s", name, splits, diff)
			}
		}
	}
}

func TestWorkersDoNotMatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 4))
	for _, columns := range [][]int{{3, 5000, 300, 2, 40, 70000, 9, 10, 11, 50}, {300, 70000, 7}} {
		x := randomTable(rng, 70000, columns, 0.01)
		testWorkers(t, x, randomTarget(rng, x.Rows, true))
	}
}

func testWorkers(t *testing.T, x *table.Table, target *Target) {
	for _, depthWise := range []bool{false, true} {
		var first *Tree
		for _, workers := range []int{1, 2, 3, 7} {
			b, err := NewBins(x, &BinOptions{Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			g, err := NewGrower(b, Options{MaxLeaves: 64, DepthWise: depthWise, MinRows: 3, Workers: workers,
				ColumnsByNode: 0.7})
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Grow(context.Background(), target); err != nil {
				t.Fatal(err)
			}
			tree := g.Tree(g.Splits())
			if first == nil {
				first = tree
			}
			if diff := cmp.Diff(first, tree, cmp.AllowUnexported(Tree{})); diff != "" {
				t.Fatalf("1 worker (-), %d workers (+)\n%s", workers, diff)
			}
		}
	}
}
