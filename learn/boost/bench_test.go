package boost

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/learn/run"
)

// BenchmarkRGB sets RGB with five candidates beside plain gradient boosting with trees
// of depth 6, binning included, on the same rows: 100 rounds each, in turn, so that what
// else the machine does falls on both. The ratios are those of the fastest runs.
func BenchmarkRGB(b *testing.B) {
	const rounds = 100
	for _, size := range [][2]int{{10000, 28}, {100000, 28}, {10000, 200}} {
		d := randomData(rand.New(rand.NewPCG(1, 1)), size[0], size[1], 0)
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("rows=%d/columns=%d/workers=%d", size[0], size[1], workers), func(b *testing.B) {
				c := control{Workers: workers}
				runs := []struct {
					name string
					do   func() (*Ensemble, error)
				}{
					{"gb-ms", func() (*Ensemble,
						error) {
						return trainGradient(d, &GradientOptions{Rounds: rounds}, c)
					}},
					{"all-rows-ratio", func() (*Ensemble, error) {
						return trainRGB(d, &RGBOptions{Families: Grid([]int{7, 15, 31, 63}, ThesisLambdas), RowSample: 1,
							ColumnSample: 1, Rounds: rounds}, c)
					}},
					{"default-ratio", func() (*Ensemble, error) {
						return trainRGB(d, &RGBOptions{ColumnSample: 1, Rounds: rounds}, c)
					}},
				}
				least := make([]float64, len(runs))
				for b.Loop() {
					for k, r := range runs {
						begin := time.Now()
						if _, err := r.do(); err != nil {
							b.Fatal(err)
						}
						if t := time.Since(begin).Seconds(); least[k] == 0 || t < least[k] {
							least[k] = t
						}
					}
				}
				b.ReportMetric(1000*least[0], runs[0].name)
				b.ReportMetric(least[1]/least[0], runs[1].name)
				b.ReportMetric(least[2]/least[0], runs[2].name)
			})
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
	o.fill(rows, 3)
	r := &rgbRun{o: o}
	var err error
	if r.training, err = newRun("rgb", "", d, o.Loss, []float64{0}, nil, &run.Control{Workers: 1}); err != nil {
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
