package tree

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// growForest grows trees on random targets.
func growForest(t testing.TB, x *table.Table, trees int, o Options) []*Tree {
	rng := rand.New(rand.NewPCG(3, 9))
	g := mustGrower(t, x, o)
	var out []*Tree
	for range trees {
		if err := g.Grow(context.Background(), randomTarget(rng, x.Rows, false)); err != nil {
			t.Fatal(err)
		}
		out = append(out, g.Tree(g.Splits()))
	}
	return out
}

// A forest adds what its trees predict one by one, to the last bit, whatever is
// missing, deep or categorical, for any number of workers.
func TestForestAgainstTrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, kind := range []string{"numbers", "missing", "levels"} {
		missing := 0.0
		if kind != "numbers" {
			missing = 0.01
		}
		x := randomTable(rng, 1111, []int{3, 600, 300, 8, 40}, missing)
		if kind == "levels" {
			x.Columns[3].Kind = table.Categorical
			for i, v := range x.Columns[3].Values {
				if v == v {
					x.Columns[3].Values[i] = float32(rng.IntN(12))
				}
			}
		}
		for _, o := range []Options{{MaxDepth: 4, DepthWise: true}, {MaxLeaves: 200}, {MaxLeaves: 1}} {
			trees := growForest(t, x, 6, o)
			f := NewForest(2)
			want := make([]float64, 2*x.Rows)
			one := make([]float64, x.Rows)
			for k, tree := range trees {
				f.Add(tree, 0.1*float64(k+1), k%2)
				tree.Predict(one, x, 0)
				row := make([]float32, len(x.Columns))
				for i, v := range one {
					if want := tree.Value[tree.Leaf(x.Row(i, row))]; v != want {
						t.Fatalf("%s: row %d is predicted as %v, its leaf has %v", kind, i, v, want)
					}
				}
				part := make([]float64, 200)
				tree.Predict(part, x, 700)
				if !slices.Equal(part, one[700:900]) {
					t.Fatalf("%s: rows from 700 on are predicted otherwise than among all", kind)
				}
				for i, v := range one {
					term := 0.1 * float64(k+1) * v
					want[2*i+k%2] += term
				}
			}
			for workers := 1; workers <= 3; workers++ {
				got := make([]float64, 2*x.Rows)
				if err := f.Predict(got, x, workers); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%s, %+v, %d workers: the forest's sums are not its trees'", kind, o, workers)
				}
			}
		}
	}
}

func TestForestRefuses(t *testing.T) {
	x := randomTable(rand.New(rand.NewPCG(3, 2)), 50, []int{9, 50}, 0)
	f := NewForest(1)
	for _, tree := range growForest(t, x, 3, Options{}) {
		f.Add(tree, 1, 0)
	}
	if err := f.Predict(make([]float64, 49), x, 1); err == nil {
		t.Error("too little room went unnoticed")
	}
	less := *x
	less.Columns = less.Columns[:1]
	if err := f.Predict(make([]float64, 50), &less, 1); err == nil {
		t.Error("a column short went unnoticed")
	}
}

func BenchmarkPredict(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 3))
	x := randomTable(rng, 200000, slices.Repeat([]int{1000}, 28), 0)
	small := x.Subset(slices.Collect(func(yield func(int) bool) {
		for i := range 20000 {
			if !yield(i) {
				return
			}
		}
	}))
	for _, o := range []Options{{MaxDepth: 6, DepthWise: true}, {MaxLeaves: 64}} {
		f := NewForest(1)
		for _, t := range growForest(b, small, 50, o) {
			f.Add(t, 1, 0)
		}
		dst := make([]float64, x.Rows)
		b.Run(fmt.Sprintf("rows=200k/trees=50/depth=%d/leaves=%d", o.MaxDepth, o.MaxLeaves), func(b *testing.B) {
			for b.Loop() {
				if err := f.Predict(dst, x, 1); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(x.Rows*50), "ns/row/tree")
		})
	}
}
