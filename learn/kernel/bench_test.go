package kernel

import (
	"math/rand/v2"
	"testing"
)

func BenchmarkGram(b *testing.B) {
	x := random(rand.New(rand.NewPCG(1, 1)), 4000, 784)
	for b.Loop() {
		if _, err := Gram(Vector{Kind: Gaussian, Width: 28}, x, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTop(b *testing.B) {
	x := random(rand.New(rand.NewPCG(1, 1)), 5000, 50)
	k, err := Gram(Vector{Kind: Gaussian, Width: 7}, x, nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := Top(k, 5000, 50, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(s.Residual, "residual")
	}
}

func BenchmarkRidge(b *testing.B) {
	x := random(rand.New(rand.NewPCG(1, 1)), 5000, 50)
	k, err := Gram(Vector{Kind: Gaussian, Width: 7}, x, nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := NewRidge(k, 5000, 0.1, nil); err != nil {
			b.Fatal(err)
		}
	}
}
