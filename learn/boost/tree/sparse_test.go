package tree

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// sparsePair makes a table twice, sparse and dense. Columns have entries in few or many rows, of
// few or many values, with missing ones among them.
func sparsePair(rng *rand.Rand, rows, columns int, implicit float32) (dense, sparse *table.Table) {
	s := &table.Sparse{Implicit: implicit, Start: []int{0}}
	dense = &table.Table{Rows: rows}
	sparse = &table.Table{Rows: rows, Sparse: s}
	for j := range columns {
		share := []float64{0, .005, .05, .3, .9, 1}[rng.IntN(6)]
		kinds := []int{1, 2, 5, 300, 100000}[rng.IntN(5)]
		values := make([]float32, rows)
		for i := range values {
			values[i] = implicit
			if rng.Float64() >= share {
				continue
			}
			v := float32(rng.IntN(kinds)-kinds/2) / 8
			if rng.IntN(20) == 0 {
				v = float32(math.NaN())
			}
			if v != implicit && (v == v || implicit == implicit) {
				values[i] = v
				s.Rows, s.Values = append(s.Rows, int32(i)), append(s.Values, v)
			}
		}
		s.Start = append(s.Start, len(s.Rows))
		c := table.Column{Name: fmt.Sprint(j)}
		sparse.Columns = append(sparse.Columns, c)
		c.Values = values
		dense.Columns = append(dense.Columns, c)
	}
	return dense, sparse
}

// Bins of a sparse table are those of the dense one: thresholds and codes, bit for bit.
func TestSparseBins(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for trial := range 40 {
		rows := []int{1, 7, 500, 3000}[trial%4]
		if trial == 36 {
			rows = 150000 // more than two chunks of a sketch
		}
		dense, sparse := sparsePair(rng, rows, 12, []float32{0, float32(math.NaN()), 1}[trial%3])
		o := &BinOptions{Max: []int{0, 1, 4, 100}[rng.IntN(4)], SketchSize: []int{0, 64}[rng.IntN(2)]}
		if trial%2 == 1 {
			for range rows {
				o.Weights = append(o.Weights, float64(rng.IntN(4)))
			}
			o.Weights[0] = 1
		}
		a, err := NewBins(dense, o)
		if err != nil {
			t.Fatal(err)
		}
		b, err := NewBins(sparse, o)
		if err != nil {
			t.Fatal(err)
		}
		withA, err := a.With(dense, 0)
		if err != nil {
			t.Fatal(err)
		}
		withB, err := b.With(sparse, 0)
		if err != nil {
			t.Fatal(err)
		}
		for j := range dense.Columns {
			if a.Values(j) != b.Values(j) {
				t.Fatalf("trial %d, column %d: %d values, %d in the sparse bins", trial, j, a.Values(j), b.Values(j))
			}
			if d := cmp.Diff(a.columns[j].theta, b.columns[j].theta, cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("trial %d, column %d: %s", trial, j, d)
			}
			for i := range rows {
				if a.Code(i, j) != b.Code(i, j) || withA.Code(i, j) != withB.Code(i, j) {
					t.Fatalf("trial %d, column %d, row %d: value %v: code %d, sparse %d; of other rows %d and %d", trial, j,
						i, dense.Columns[j].Values[i], a.Code(i, j), b.Code(i, j), withA.Code(i, j), withB.Code(i, j))
				}
			}
		}
	}
}

// Trees on a sparse table are those on the dense one, bit for bit, whatever the options, and
// predict the same.
func TestSparseTrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for trial := range 60 {
		rows := []int{40, 300, 2000}[trial%3]
		dense, sparse := sparsePair(rng, rows, 30, []float32{0, float32(math.NaN())}[trial/3%2])
		target := &Target{Sample: uint64(trial)}
		for i := range rows {
			g := rng.NormFloat64()
			for j := range 3 {
				if v := dense.Columns[j].Values[i]; v == v {
					g += float64(v)
				}
			}
			target.G = append(target.G, g)
			target.H = append(target.H, rng.Float64())
			target.W = append(target.W, float64(1+rng.IntN(3)))
			if trial%4 == 1 && rng.IntN(3) > 0 {
				target.Rows = append(target.Rows, int32(i))
			}
		}
		if trial%4 == 2 {
			for j := 1; j < 30; j += 2 {
				target.Columns = append(target.Columns, int32(j))
			}
		}
		o := Options{MaxLeaves: 20, MinWeight: float64(trial % 3), L2: float64(trial % 2), Workers: 1 + trial%3}
		switch trial % 7 {
		case 1:
			o.DepthWise, o.MaxLeaves, o.MaxDepth = true, 0, 5
		case 2:
			o.MinRows = 5
		case 3:
			o.Criterion, o.R = DualNorm, 1
		case 4:
			o.ColumnsByNode, o.ColumnsByLevel = .5, .7
		case 5:
			o.L1 = .3
			o.Monotone = make([]int8, 30)
			o.Monotone[0], o.Monotone[2] = 1, -1
		case 6:
			o.Gamma = 1
		}
		grow := func(x *table.Table) (*Grower, *Tree) {
			b, err := NewBins(x, &BinOptions{Max: []int{0, 7}[trial%2], Weights: target.W})
			if err != nil {
				t.Fatal(err)
			}
			g, err := NewGrower(b, o)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second tree finds clean memory
				if err := g.Grow(t.Context(), target); err != nil {
					t.Fatal(err)
				}
			}
			return g, g.Tree(g.Splits())
		}
		ga, a := grow(dense)
		gb, b := grow(sparse)
		if d := cmp.Diff(a, b); d != "" {
			t.Fatalf("trial %d: %s", trial, d)
		}
		if trial > 10 && trial%3 > 0 && a.Splits() == 0 {
			t.Errorf("trial %d: no split", trial)
		}
		ra, rb := make([]int32, rows), make([]int32, rows)
		ga.RouteRows(ra, nil, ga.Splits())
		gb.RouteRows(rb, nil, gb.Splits())
		if d := cmp.Diff(ra, rb); d != "" {
			t.Fatalf("trial %d: routes: %s", trial, d)
		}
		for _, at := range ga.Leaves(nil, ga.Splits()) {
			if d := cmp.Diff(ga.Rows(int(at)), gb.Rows(int(at))); d != "" {
				t.Fatalf("trial %d: rows of leaf %d: %s", trial, at, d)
			}
		}
		forest := NewForest(2)
		forest.Add(a, .5, 1)
		forest.Add(a, .25, 0)
		fa, fb := make([]float64, 2*rows), make([]float64, 2*rows)
		if err := forest.Predict(fa, dense, 2); err != nil {
			t.Fatal(err)
		}
		if err := forest.Predict(fb, sparse, 2); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(fa, fb); d != "" {
			t.Fatalf("trial %d: forest: %s", trial, d)
		}
		for _, n := range []int{rows, 9} {
			from := rng.IntN(rows - n + 1)
			pa, pb := make([]float64, n), make([]float64, n)
			a.Predict(pa, dense, from)
			a.Predict(pb, sparse, from)
			if d := cmp.Diff(pa, pb); d != "" {
				t.Fatalf("trial %d: prediction: %s", trial, d)
			}
		}
		// The exact grower makes the table dense.
		e, err := NewExactGrower(sparse, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Grow(t.Context(), target); err != nil {
			t.Fatal(err)
		}
	}
}
