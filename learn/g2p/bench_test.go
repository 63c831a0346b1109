package g2p

import (
	"context"
	"fmt"
	"testing"

	"github.com/tropica-fst/tropica/losses"
)

// BenchmarkLossMachines builds the loss machines of the training words of a
// language; ns/word is the mean.
func BenchmarkLossMachines(b *testing.B) {
	for _, language := range []string{"ice", "gre", "ady"} {
		p, err := Prepare(context.Background(), words(b, language, "train", 800), &Options{Align: AlignOptions{Direct: true}})
		if err != nil {
			b.Fatal(err)
		}
		labels := make([]losses.Expansions, len(p.words))
		for i := range p.words {
			for _, x := range p.words[i].x {
				var list [][]int
				for _, l := range p.Inventory.Allowed[x] {
					list = append(list, p.Inventory.Labels[l])
				}
				labels[i] = append(labels[i], list)
			}
		}
		for _, minimize := range []bool{false, true} {
			b.Run(fmt.Sprintf("language=%s/minimize=%v", language, minimize), func(b *testing.B) {
				var x losses.ExpandBuilder
				built, columns := 0, 0
				for range b.N {
					for i := range p.words {
						if _, err := x.Build(p.words[i].ref, labels[i], &losses.ExpandOptions{NoMinimize: !minimize}); err != nil {
							b.Fatal(err)
						}
						built, columns = built+x.Stats.Built, columns+x.Stats.Columns
					}
				}
				n := float64(b.N) * float64(len(p.words))
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/n, "ns/word")
				b.ReportMetric(float64(built)/n, "clamped-columns/word")
				b.ReportMetric(float64(columns)/n, "columns/word")
			})
		}
	}
}

// BenchmarkEpoch evaluates an objective and its gradient over the training
// words of a language, loss machines being there.
func BenchmarkEpoch(b *testing.B) {
	for _, language := range []string{"ice", "gre", "ady"} {
		p := prepared(b, words(b, language, "train", 800), &Options{Align: AlignOptions{Direct: true}})
		for _, kind := range []Kind{CrossEntropy, SoftmaxMargin, LatentMargin, RiskMix} {
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("language=%s/objective=%s/workers=%d", language, kind, workers), func(b *testing.B) {
					e := p.evaluation(DefaultObjective(kind), workers)
					w, grad := make([]float64, e.Dim()), make([]float64, e.Dim())
					for b.Loop() {
						if _, err := e.Eval(w, grad); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(p.Words()), "ns/word")
				})
			}
		}
	}
}

// BenchmarkPredict pronounces test words.
func BenchmarkPredict(b *testing.B) {
	m := randomModel(b, "ice", 800, 0.3)
	test := words(b, "ice", "test", 100)
	for _, d := range []Decoding{Viterbi, Merged, MinRisk} {
		b.Run("decoding="+string(d), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if _, err := m.Predict(test[i%len(test)].Word, &DecodeOptions{Decoding: d}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAlign aligns the training words of a language.
func BenchmarkAlign(b *testing.B) {
	pairs := words(b, "ice", "train", 800)
	for _, direct := range []bool{false, true} {
		b.Run(fmt.Sprintf("direct=%v", direct), func(b *testing.B) {
			for b.Loop() {
				if _, err := Align(context.Background(), pairs, &AlignOptions{Direct: direct}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
