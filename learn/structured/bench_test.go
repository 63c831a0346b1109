package structured

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/losses"
)

// BenchmarkSketch decodes over lexicons of random words of 6 to 10 of 20 letters, with 30
// weights of both signs. exact is the share of decodings that were proved.
func BenchmarkSketch(b *testing.B) {
	for _, size := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("words=%d", size), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, uint64(size)))
			words := make([][]int, size)
			for i := range words {
				words[i] = randomString(rng, 20, 6, 10)
			}
			lex := must(NewLexicon(words, 20))(b)
			// Training outputs are near one word, as those of similar inputs are.
			middle := words[0]
			truths := make([][]int, 30)
			for i := range truths {
				t := append([]int{}, middle...)
				for range rng.IntN(4) {
					t[rng.IntN(len(t))] = rng.IntN(20)
				}
				truths[i] = t
			}
			alpha := draw(rng, 30, "mixed")
			for i := range alpha {
				alpha[i] = alpha[i]/3 + 0.5
			}
			s := must(NewStrings(truths, 20, losses.Unit, nil))(b)
			k := must(NewSketch(s, lex, &SketchOptions{Workers: 1}))(b)
			exact := 0
			for b.Loop() {
				d, err := k.Decode(ctx, alpha)
				if err != nil {
					b.Fatal(err)
				}
				if d.Exact == ExactOverCandidates {
					exact++
				}
			}
			b.ReportMetric(float64(exact)/float64(b.N), "exact")
		})
	}
}

// BenchmarkDecode decodes once each kind of loss, for 1000 training outputs.
func BenchmarkDecode(b *testing.B) {
	rng := rand.New(rand.NewPCG(2, 2))
	const n, m = 1000, 128
	alpha := draw(rng, n, "mixed")
	histograms, numbers := make([][]float64, n), draw(rng, n, "mixed")
	ratings := make([]Ratings, n)
	for i := range histograms {
		y, sum := make([]float64, m), 0.0
		for j := range y {
			y[j] = rng.Float64()
			sum += y[j]
		}
		for j := range y {
			y[j] /= sum
		}
		histograms[i] = y
		for j := range int32(100) {
			if rng.IntN(5) == 0 {
				ratings[i].Item, ratings[i].Value = append(ratings[i].Item, j),
					append(ratings[i].Value, float64(1+rng.IntN(5)))
			}
		}
	}
	run := func(name string, decode func() error) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := decode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, loss := range []HistogramLoss{HellingerSq, HellingerL1, ChiSquared} {
		h := must(NewHistogram(histograms, loss))(b)
		run("loss="+string(loss), func() error { _, err := h.Decode(ctx, alpha); return err })
	}
	for _, loss := range []ScalarLoss{Absolute, Cauchy} {
		s := must(NewScalar(numbers, loss, nil))(b)
		run("loss="+string(loss), func() error { _, err := s.Decode(ctx, alpha); return err })
	}
	r := must(NewRanking(ratings, 100, nil))(b)
	run("loss=rank", func() error { _, err := r.Decode(ctx, alpha); return err })
	g := must(NewGaussian(histograms, 100, 1))(b)
	run("loss=gaussian", func() error { _, err := g.Decode(ctx, alpha); return err })
}
