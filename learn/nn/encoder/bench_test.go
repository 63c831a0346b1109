package encoder

import (
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/run"
)

// words are as long as those of pronunciation dictionaries, of 30 letters and 60 labels.
func words(n int) *labelling {
	rng := rand.New(rand.NewPCG(1, 1))
	l := &labelling{classes: 60}
	for range n {
		word := make([]int32, 3+rng.IntN(6)+rng.IntN(6))
		label := make([]int, len(word))
		for t := range word {
			word[t] = int32(rng.IntN(30))
			label[t] = int(word[t])
		}
		l.letters, l.labels = append(l.letters, word), append(l.labels, label)
	}
	return l
}

// BenchmarkFit trains on 800 words for one epoch on one goroutine.
func BenchmarkFit(b *testing.B) {
	l := words(800)
	for _, s := range []Shape{Convolutional(30, 60), Recurrent(30, 60)} {
		b.Run("kind="+string(s.Kind), func(b *testing.B) {
			net := must(s.Letters())
			for b.Loop() {
				if _, _, err := Fit(net, l, &Options{Epochs: 1}, &run.Control{Workers: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkForward scores 800 words, in batches of 32.
func BenchmarkForward(b *testing.B) {
	l := words(800)
	for _, s := range []Shape{Convolutional(30, 60), Recurrent(30, 60)} {
		b.Run("kind="+string(s.Kind), func(b *testing.B) {
			net := must(s.Letters())
			params := make([]float32, net.Dim())
			net.Start(params, 1)
			pass := net.NewPass()
			for b.Loop() {
				for at := 0; at < l.Len(); at += 32 {
					pass.Forward(params, l.letters[at:at+32], nil)
				}
			}
		})
	}
}
