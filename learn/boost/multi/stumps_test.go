package multi

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/dataset/table/tabletest"
)

// edge of a tree's values under signed weights.
func edge(u, h []float64) float64 {
	e := 0.0
	for i, v := range h {
		e += u[i] * v
	}
	return e
}

// Stumps are the best of all stumps, written out by hand.
func TestStumpsAreBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 60 {
		x := tabletest.Messy(rng, 1+rng.IntN(40))
		d := &boost.Data{X: x, Y: make([]float64, x.Rows)}
		f, err := Stumps{}.Prepare(d, 2)
		if err != nil {
			t.Fatal(err)
		}
		slots := 1 + rng.IntN(5)
		u := make([][]float64, slots)
		for s := range u {
			u[s] = make([]float64, x.Rows)
			for i := range u[s] {
				if rng.IntN(4) > 0 {
					u[s][i] = rng.NormFloat64()
				}
			}
		}
		fits, err := f.(SlotFitter).FitSlots(context.Background(), u, 0)
		if err != nil {
			t.Fatal(err)
		}
		for s := range u {
			best := math.Abs(edge(u[s], constantOf(1, x.Rows)))
			for j := range x.Columns {
				c := &x.Columns[j]
				for _, at := range c.Values {
					for _, missingLeft := range []bool{false, true} {
						h := make([]float64, x.Rows)
						for i, v := range c.Values {
							left := v <= at
							if c.Kind == table.Categorical {
								left = v == at
							}
							if v != v {
								left = missingLeft
							}
							h[i] = -1
							if left {
								h[i] = 1
							}
						}
						best = max(best, math.Abs(edge(u[s], h)))
					}
				}
			}
			near(t, "edge", edge(u[s], fits[s].Values), best, 1e-9)
			// The predictor says on the rows what the fit says.
			h := make([]float64, x.Rows)
			fits[s].Predictor.Predict(h, x, 0)
			if !cmp.Equal(h, fits[s].Values) {
				t.Fatalf("the stump predicts %v, the fit has %v", h, fits[s].Values)
			}
			if err := fits[s].Predictor.(*tree.Tree).Check(len(x.Columns)); err != nil {
				t.Fatal(err)
			}
			// One slot alone gives the same stump.
			g := make([]float64, x.Rows)
			for i, v := range u[s] {
				g[i] = -v
			}
			one, err := f.Fit(context.Background(), &boost.Direction{G: g})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(one.Predictor, fits[s].Predictor); d != "" {
				t.Fatal(d)
			}
		}
	}
}

func constantOf(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// On numeric columns they are boost.Stumps, on all rows and on some.
func TestStumpsAgainstBoost(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for n := range 60 {
		x := tabletest.Messy(rng, 5+rng.IntN(60))
		x.Columns = x.Columns[:6]
		d := &boost.Data{X: x, Y: make([]float64, x.Rows)}
		a, err := Stumps{}.Prepare(d, 1)
		if err != nil {
			t.Fatal(err)
		}
		b, err := boost.Stumps{}.Prepare(d, 1)
		if err != nil {
			t.Fatal(err)
		}
		p := &boost.Direction{G: make([]float64, x.Rows)}
		for i := range p.G {
			p.G[i] = rng.NormFloat64() // no ties
			if n%2 == 0 || rng.IntN(3) > 0 || i == 0 {
				p.Rows = append(p.Rows, int32(i))
			}
		}
		if n%2 == 0 {
			p.Rows = nil
		}
		f, err := a.Fit(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		g, err := b.Fit(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		v, w := f.Predictor.(*tree.Tree), g.Predictor.(*tree.Tree)
		if !cmp.Equal(v.Feature, w.Feature) || !cmp.Equal(v.Value, w.Value) || len(v.Feature) > 1 &&
			v.Threshold[0] != w.Threshold[0] {
			t.Errorf("case %d: %v %v %v, boost.Stumps has %v %v %v", n, v.Feature, v.Threshold, v.Value, w.Feature,
				w.Threshold, w.Value)
		}
	}
}

func TestStumpsRefuse(t *testing.T) {
	x := numeric(nil, []float32{1, float32(math.Inf(1))})
	if _, err := (Stumps{}).Prepare(&boost.Data{X: x, Y: []float64{1, -1}}, 1); err == nil {
		t.Error("an infinite value was accepted")
	}
}

// BenchmarkStumps reports the time a cell and slot of a pass over columns of 256 values,
// as pixels have.
func BenchmarkStumps(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	const rows, columns = 10000, 64
	x := &table.Table{Name: "pixels", Rows: rows}
	for range columns {
		v := make([]float32, rows)
		for i := range v {
			v[i] = float32(rng.IntN(256))
		}
		x.Columns = append(x.Columns, table.Column{Name: "p", Values: v})
	}
	f, err := Stumps{}.Prepare(&boost.Data{X: x}, 1)
	if err != nil {
		b.Fatal(err)
	}
	for _, slots := range []int{1, 3, 4, 5} {
		u := make([][]float64, slots)
		for s := range u {
			u[s] = make([]float64, rows)
			for i := range u[s] {
				u[s][i] = rng.NormFloat64()
			}
		}
		b.Run(fmt.Sprintf("slots=%d", slots), func(b *testing.B) {
			for b.Loop() {
				if _, err := f.(SlotFitter).FitSlots(context.Background(), u, 0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows/columns, "ns/cell")
		})
	}
}
