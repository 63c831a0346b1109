package linear

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table/tabletest"
)

// Sparse and dense designs, and more classes than the loop for three has, are the same
// regression.
func TestDesigns(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	x := tabletest.Messy(rng, 90)
	fs := Features(x, slices.Repeat([]float64{1.0 / 90}, 90), 1)
	d := NewDesign(x, fs, 1)
	dense := &Design{n: d.n, d: d.d, dense: make([]float32, d.n*d.d)}
	for i := range d.n {
		for j := range fs {
			dense.dense[i*d.d+j] = float32(fs[j].Cell(x, i) * fs[j].Scale)
		}
	}
	csr := &Design{n: d.n, d: d.d, start: []int{0}}
	for i := range d.n {
		for j := range d.d {
			if v := dense.dense[i*d.d+j]; v != 0 {
				csr.index, csr.value = append(csr.index, int32(j)), append(csr.value, v)
			}
		}
		csr.start = append(csr.start, len(csr.index))
	}
	for _, p := range []int{2, 3, 5} {
		w := make([]float64, len(fs)*p)
		for i := range w {
			w[i] = rng.NormFloat64()
		}
		for i := range d.n {
			var s, g [3][]float64
			for n, m := range []*Design{d, dense, csr} {
				s[n], g[n] = make([]float64, p), make([]float64, len(w))
				m.Times(s[n], i, w)
				m.Add(g[n], i, s[0])
			}
			for n := 1; n < 3; n++ {
				for k := range s[0] {
					near(t, "score", s[n][k], s[0][k], 1e-6)
				}
				for k := range g[0] {
					near(t, "gradient", g[n][k], g[0][k], 1e-6)
				}
			}
		}
	}
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s: %.12g, want %.12g", what, got, want)
	}
}
