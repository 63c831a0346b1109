package tree

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

func TestOrderedKeys(t *testing.T) {
	values := []float32{-math.MaxFloat32, -2, -1, -math.SmallestNonzeroFloat32, 0, math.SmallestNonzeroFloat32,
		1, 1.5, math.MaxFloat32}
	for i, v := range values {
		if got := unordered(ordered(v)); got != v {
			t.Errorf("%v becomes %v", v, got)
		}
		if i > 0 && ordered(values[i-1]) >= ordered(v) {
			t.Errorf("keys of %v and %v are out of order", values[i-1], v)
		}
	}
	if ordered(float32(math.Copysign(0, -1))) != ordered(0) {
		t.Error("the zeros differ")
	}
}

func TestRadixSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 255, 256, 1000, 70000} {
		for _, bits := range []int{1, 8, 32} {
			keys := make([]uint32, n)
			for i := range keys {
				keys[i] = rng.Uint32() >> (32 - bits)
			}
			want := slices.Sorted(slices.Values(keys))
			if got := radixSort(keys, make([]uint32, n)); !slices.Equal(got, want) {
				t.Fatalf("%d keys of %d bits are not sorted", n, bits)
			}
		}
	}
}

// The intervals of a sketch contain the true ranks, and are as narrow as promised.
func TestSketchRanks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, weighted := range []bool{false, true} {
		const n = 300000
		s := Sketch{Size: 512}
		values, weights := make([]float32, n), make([]float64, n)
		total := 0.0
		for i := range values {
			values[i] = float32(rng.NormFloat64())
			if i%5 == 0 {
				values[i] = float32(rng.IntN(3))
			}
			weights[i] = 1
			if weighted {
				weights[i] = rng.ExpFloat64()
			}
			total += weights[i]
		}
		if weighted {
			half := Sketch{Size: 512}
			half.addColumn(values[n/3:], weights[n/3:])
			s.addColumn(values[:n/3], weights[:n/3])
			s.Merge(&half)
		} else {
			s.addColumn(values, nil)
		}
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a,
			b int) int {
			return int(int64(ordered(values[a])) - int64(ordered(values[b])))
		})
		all := s.summary()
		if len(all) > 512 || len(all) < 256 {
			t.Fatalf("%d entries", len(all))
		}
		at, below := 0, 0.0
		widest := 0.0
		for _, e := range all {
			for at < n && ordered(values[order[at]]) < e.key {
				below += weights[order[at]]
				at++
			}
			upTo := below
			for k := at; k < n && ordered(values[order[k]]) == e.key; k++ {
				upTo += weights[order[k]]
			}
			if e.rmin > below+1e-6*total || e.rmax < upTo-1e-6*total {
				t.Fatalf("weighted %v: rank of %v within %v and %v, not [%v, %v]", weighted, unordered(e.key), below,
					upTo, e.rmin, e.rmax)
			}
			widest = max(widest, e.rmax-e.rmin-e.w)
		}
		if widest > 8*total/512 {
			t.Errorf("weighted %v: an interval is %v of %v wide", weighted, widest, total)
		}
	}
}

func TestCutsAreQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	const n = 200000
	x := &table.Table{Rows: n, Columns: []table.Column{{Name: "smooth"}, {Name: "spike"}, {Name: "few"}}}
	for range n {
		v := float32(rng.ExpFloat64())
		x.Columns[0].Values = append(x.Columns[0].Values, v)
		if rng.IntN(2) == 0 {
			v = 0
		}
		x.Columns[1].Values = append(x.Columns[1].Values, v)
		x.Columns[2].Values = append(x.Columns[2].Values, float32(rng.IntN(200)))
	}
	b, err := NewBins(x, &BinOptions{Max: 200})
	if err != nil {
		t.Fatal(err)
	}
	for j := range x.Columns {
		counts := make([]int, 256)
		for i := range n {
			counts[b.Code(i, j)]++
		}
		if b.Values(j) != 200 && j != 1 || b.Values(j) < 195 {
			t.Errorf("column %d: %d bins", j, b.Values(j))
		}
		share := n / 200
		for c, k := range counts[:b.Values(j)] {
			spike := j == 1 && c == 0
			if !spike && j < 2 && k > 2*share || k == 0 {
				t.Errorf("column %d: bin %d of %d has %d rows", j, c, b.Values(j), k)
			}
		}
		if j == 1 && (counts[0] < n*49/100 || counts[0] > n*52/100) {
			t.Errorf("the spike's bin has %d rows", counts[0])
		}
	}
}

// By definition: a code says which thresholds a value exceeds, and thresholds are
// in the middle between values that differ.
func TestCodesAndThresholds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	x := randomTable(rng, 3000, []int{1, 2, 254, 255, 256, 3000, 100000}, 0.05)
	x.Columns[0].Values[5] = float32(math.Copysign(0, -1))
	for _, workers := range []int{1, 3} {
		b, err := NewBins(x, &BinOptions{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		other, err := b.With(x, workers)
		if err != nil {
			t.Fatal(err)
		}
		for j := range x.Columns {
			distinct := map[float32]bool{}
			for i, v := range x.Columns[j].Values {
				c := int(b.Code(i, j))
				if got := other.Code(i, j); int(got) != c {
					t.Fatalf("row %d, column %d: code %d, binned again %d", i, j, c, got)
				}
				if v != v {
					if c != b.Values(j) {
						t.Fatalf("column %d: missing has code %d of %d", j, c, b.Values(j))
					}
					continue
				}
				distinct[v+0] = true
				if float64(v) > b.Threshold(j, c) || c > 0 && float64(v) <= b.Threshold(j, c-1) {
					t.Fatalf("column %d: %v has code %d, between %v and %v", j, v, c, b.Threshold(j, max(c-1, 0)),
						b.Threshold(j, c))
				}
			}
			if len(distinct) <= MaxBins && b.Values(j) != len(distinct) {
				t.Errorf("column %d: %d bins for %d values", j, b.Values(j), len(distinct))
			}
			sorted := make([]float32, 0, len(distinct))
			for v := range distinct {
				sorted = append(sorted, v)
			}
			slices.Sort(sorted)
			for c := range b.Values(j) - 1 {
				k, _ := slices.BinarySearchFunc(sorted, b.Threshold(j, c), func(v float32, th float64) int {
					if float64(v) <= th {
						return -1
					}
					return 1
				})
				if want := float64(sorted[k-1])/2 + float64(sorted[k])/2; b.Threshold(j, c) != want {
					t.Fatalf("column %d: threshold %v lies between %v and %v", j, b.Threshold(j, c), sorted[k-1], sorted[k])
				}
			}
		}
	}
}

// A row of weight 0 leaves no trace in bins and thresholds.
func TestWeightZeroIsRemoval(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	x := randomTable(rng, 800, []int{30, 5000, 700}, 0.1)
	x.Columns = append(x.Columns, table.Column{Name: "level", Kind: table.Categorical})
	w := make([]float64, 800)
	var rows []int
	for i := range w {
		x.Columns[3].Values = append(x.Columns[3].Values, float32(rng.IntN(9)+20*(i%3&1)))
		if i%3 != 1 {
			w[i] = float64(i % 5)
		}
		if w[i] > 0 {
			rows = append(rows, i)
		}
	}
	all, err := NewBins(x, &BinOptions{Weights: w, Max: 50})
	if err != nil {
		t.Fatal(err)
	}
	some := make([]float64, len(rows))
	for k, i := range rows {
		some[k] = w[i]
	}
	kept, err := NewBins(x.Subset(rows), &BinOptions{Weights: some, Max: 50})
	if err != nil {
		t.Fatal(err)
	}
	for j := range x.Columns {
		if diff := cmp.Diff(all.columns[j].theta, kept.columns[j].theta); diff != "" ||
			all.Values(j) != kept.Values(j) || !slices.Equal(all.columns[j].levels, kept.columns[j].levels) {
			t.Fatalf("column %d: %d and %d bins; thresholds with (-), without rows of weight 0 (+)\n%s", j,
				all.Values(j), kept.Values(j), diff)
		}
		for k, i := range rows {
			if all.Code(i, j) != kept.Code(k, j) {
				t.Fatalf("row %d, column %d: codes %d and %d", i, j, all.Code(i, j), kept.Code(k, j))
			}
		}
	}
}

func TestManyLevels(t *testing.T) {
	x := &table.Table{Rows: 2000, Columns: []table.Column{{Name: "level", Kind: table.Categorical}}}
	for i := range x.Rows {
		// squares mod 300: some often, some never
		x.Columns[0].Values = append(x.Columns[0].Values, float32(i*i%300))
	}
	b, err := NewBins(x, &BinOptions{Max: 10})
	if err != nil {
		t.Fatal(err)
	}
	count := map[float32]int{}
	for _, v := range x.Columns[0].Values {
		count[v]++
	}
	least := 1 << 30
	kept := map[int]bool{}
	for c := range b.Values(0) {
		kept[b.Level(0, c)] = true
		least = min(least, count[float32(b.Level(0, c))])
	}
	for i, v := range x.Columns[0].Values {
		c := int(b.Code(i, 0))
		if kept[int(v)] != (c < 10) || c < 10 && b.Level(0, c) != int(v) {
			t.Fatalf("level %v has code %d", v, c)
		}
		if c == 10 && count[v] > least {
			t.Fatalf("level %v is left out with %d rows; one with %d was kept", v, count[v], least)
		}
	}
}

func TestBinsRefuse(t *testing.T) {
	good := func() *table.Table {
		return &table.Table{Name: "t.csv", FirstLine: 2, Rows: 3,
			Columns: []table.Column{{Name: "a", Values: []float32{1, 2, 3}},
				{Name: "b", Kind: table.Categorical, Values: []float32{0, 1, 0}}}}
	}
	for _, c := range []struct {
		name string
		edit func(*table.Table, *BinOptions)
		want string
	}{
		{"rows", func(x *table.Table, _ *BinOptions) { x.Rows = 0 }, "no rows"},
		{"short", func(x *table.Table, _ *BinOptions) { x.Columns[1].Values = nil }, `"b" has 0 values for 3`},
		{"infinite", func(x *table.Table, _ *BinOptions) { x.Columns[0].Values[1] = float32(math.Inf(-1)) },
			`t.csv:3 (row 2)`},
		{"half level", func(x *table.Table, _ *BinOptions) { x.Columns[1].Values[2] = 0.5 },
			`0.5, which is not a level`},
		{"negative level", func(x *table.Table, _ *BinOptions) { x.Columns[1].Values[2] = -1 }, `"b"`},
		{"huge level", func(x *table.Table, _ *BinOptions) { x.Columns[1].Values[2] = 1e9 }, `"b"`},
		{"bins", func(_ *table.Table, o *BinOptions) { o.Max = 256 }, "256 bins"},
		{"weights", func(_ *table.Table, o *BinOptions) { o.Weights = []float64{1} }, "1 weights for 3 rows"},
		{"weight", func(_ *table.Table, o *BinOptions) { o.Weights = []float64{1, math.NaN(), 1} }, "row 2"},
	} {
		x, o := good(), &BinOptions{}
		c.edit(x, o)
		if _, err := NewBins(x, o); !errors.Is(err, ErrData) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
	b, err := NewBins(good(), nil)
	if err != nil {
		t.Fatal(err)
	}
	other := good()
	other.Columns[0].Name = "c"
	if _, err := b.With(other, 1); err == nil || !strings.Contains(err.Error(), `"c"`) {
		t.Errorf("other columns: %v", err)
	}
	g, err := NewGrower(b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]*Target{
		"length": {G: []float64{1, 2}}, "nan": {G: []float64{1, math.NaN(), 0}},
		"inf":      {G: []float64{1, 2, math.Inf(1)}},
		"negative": {G: []float64{1, 2, 3}, H: []float64{1, -1, 1}},
		"order":    {G: []float64{1, 2, 3}, Rows: []int32{1, 0}},
		"range":    {G: []float64{1, 2, 3}, Rows: []int32{3}}, "empty": {G: []float64{1, 2, 3}, Rows: []int32{}},
		"column": {G: []float64{1, 2, 3}, Columns: []int32{2}},
		"weight": {G: []float64{1, 2, 3}, W: []float64{1, 1}},
	} {
		if err := g.Start(target); !errors.Is(err, ErrData) {
			t.Errorf("%s: %v", name, err)
		}
		if g.Step() {
			t.Errorf("%s: a refused target was grown", name)
		}
		if err := g.Grow(context.Background(), &Target{G: []float64{1, 2, 3}}); err != nil || g.Splits() != 2 {
			t.Errorf("after %s: %d splits, %v", name, g.Splits(), err)
		}
	}
}

func BenchmarkBinning(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 6))
	x := randomTable(rng, 200000, []int{1 << 30, 1 << 30, 1 << 30, 1 << 30, 100, 100, 2, 2}, 0)
	for b.Loop() {
		if _, err := NewBins(x, &BinOptions{Workers: 1}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(x.Rows*len(x.Columns)), "ns/cell")
}
