package boost

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/boost/tree"
)

// plainRounds is gradient boosting with nothing around it: gradients, one tree of
// depth 6 on all rows, its values added to the scores. It is what RGB's rounds are
// measured against.
func plainRounds(d *Data, b *tree.Bins, rounds, workers int) error {
	gr, err := tree.NewGrower(b, tree.Options{MaxDepth: 6, DepthWise: true, MinWeight: 1, Workers: workers})
	if err != nil {
		return err
	}
	m := d.Rows()
	f, g, h := make([]float64, m), make([]float64, m), make([]float64, m)
	for range rounds {
		forBlocks(workers, m, lineBlock, func(from, to int) {
			Logistic{}.Gradients(g[from:to], h[from:to], d.Y[from:to], f[from:to])
		})
		if err := gr.Grow(nil, &tree.Target{G: g, H: h}); err != nil {
			return err
		}
		for _, l := range gr.Leaves(nil, gr.Splits()) {
			v := 0.1 * gr.Value(int(l))
			for _, i := range gr.Rows(int(l)) {
				f[i] += v
			}
		}
	}
	return nil
}

// BenchmarkRGB compares a round of RGB, five candidates, with one of plain gradient
// boosting on the same bins' worth of data. ns/row is per row and round.
func BenchmarkRGB(b *testing.B) {
	const rounds = 10
	for _, size := range [][2]int{{10000, 28}, {100000, 28}, {10000, 200}} {
		d := randomData(rand.New(rand.NewPCG(1, 1)), size[0], size[1], 0)
		bins, err := tree.NewBins(d.X, nil)
		if err != nil {
			b.Fatal(err)
		}
		report := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rounds*size[0]), "ns/row")
		}
		for _, workers := range []int{1, 2} {
			name := fmt.Sprintf("rows=%d/columns=%d/workers=%d", size[0], size[1], workers)
			b.Run(name+"/plain", func(b *testing.B) {
				for b.Loop() {
					if err := plainRounds(d, bins, rounds, workers); err != nil {
						b.Fatal(err)
					}
				}
				report(b)
			})
			for _, x := range []struct {
				name string
				o    RGBOptions
			}{
				{"all-rows-S=1", RGBOptions{Families: Grid([]int{63}, ThesisLambdas), Candidates: 1, RowSample: 1, ColumnSample: 1}},
				{"all-rows-S=5", RGBOptions{Families: Grid([]int{7, 15, 31, 63}, ThesisLambdas), RowSample: 1, ColumnSample: 1}},
				{"default", RGBOptions{ColumnSample: 1}},
			} {
				b.Run(name+"/"+x.name, func(b *testing.B) {
					for b.Loop() {
						o := x.o
						o.Rounds, o.Workers, o.bins = rounds, workers, bins
						if _, err := TrainRGB(d, &o); err != nil {
							b.Fatal(err)
						}
					}
					report(b)
				})
			}
		}
	}
}

// BenchmarkLeafProjection fits the leaf vector of a tree to its ball.
func BenchmarkLeafProjection(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, leaves := range []int{32, 256} {
		mu, n, w := make([]float64, leaves), make([]float64, leaves), make([]float64, leaves)
		for l := range mu {
			mu[l], n[l] = rng.NormFloat64(), float64(1+rng.IntN(100))
		}
		for _, q := range []float64{1, 1.5, 2} {
			b.Run(fmt.Sprintf("leaves=%d/q=%v", leaves, q), func(b *testing.B) {
				for b.Loop() {
					FitLeaves(w, mu, n, q, 1)
				}
			})
		}
	}
}

// BenchmarkCandidates compares five candidates by their losses, the short way and
// by the loss itself.
func BenchmarkCandidates(b *testing.B) {
	const rows = 100000
	d := randomData(rand.New(rand.NewPCG(1, 1)), rows, 3, 0)
	o := &RGBOptions{}
	o.Workers = 1
	o.fill(rows, 3)
	r := &rgbRun{o: o}
	var err error
	if r.run, err = newRun("rgb", "", d, o.Loss, []float64{0}, &o.Control); err != nil {
		b.Fatal(err)
	}
	if err := r.prepare(); err != nil {
		b.Fatal(err)
	}
	r.scorer.gradients()
	if err := r.grow(32); err != nil {
		b.Fatal(err)
	}
	var five []*proposal
	for k := range 5 {
		p, err := r.propose(5 * k)
		if err != nil {
			b.Fatal(err)
		}
		five = append(five, p)
	}
	for _, short := range []bool{true, false} {
		b.Run(fmt.Sprintf("short=%v", short), func(b *testing.B) {
			r.scorer.logistic = short
			for b.Loop() {
				r.scorer.losses(five, Training)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows*5), "ns/row")
		})
	}
}
