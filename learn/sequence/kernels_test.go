package sequence

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func random(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

func near(a, b []float64, tol float64) bool {
	for i := range a {
		if !(math.Abs(a[i]-b[i]) <= tol*(1+math.Abs(b[i]))) {
			return false
		}
	}
	return len(a) == len(b)
}

// The kernels in use against the Go forms, at all widths, with what lies beyond
// the slices watched.
func TestKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := 1; n <= 60; n++ {
		for _, count := range []int{0, 1, 2, 7, 30} {
			stride := n + rng.IntN(3)
			w := random(rng, 50*stride)
			rows := make([]int32, count)
			for i := range rows {
				rows[i] = int32(rng.IntN(50))
			}
			guarded := random(rng, n+8)
			before := slices.Clone(guarded)
			want := slices.Clone(guarded[4 : n+4])
			sumRowsGo(want, w, rows, stride)
			sumRows(guarded[4:n+4], w, rows, stride)
			if !near(guarded[4:n+4], want, 1e-13) || !slices.Equal(guarded[:4], before[:4]) || !slices.Equal(guarded[n+4:], before[n+4:]) {
				t.Fatalf("sumRows of %d rows of %d: %v, want %v", count, n, guarded, want)
			}
			if stride == n && count > 0 { // the last row ends the slice
				last := []int32{49}
				a, b := make([]float64, n), make([]float64, n)
				sumRowsGo(a, w, last, stride)
				sumRows(b, w, last, stride)
				if !slices.Equal(a, b) {
					t.Fatalf("last row of width %d", n)
				}
			}
			a, m := random(rng, count), random(rng, count*n+8)
			before = slices.Clone(m)
			want, got := make([]float64, n), random(rng, n)
			vecMatGo(want, a, m[:count*n])
			vecMat(got, a, m[:count*n])
			if !near(got, want, 1e-13) {
				t.Fatalf("vecMat of %d rows of %d: %v, want %v", count, n, got, want)
			}
			r := random(rng, n)
			wantM := slices.Clone(m[:count*n])
			addOuterGo(wantM, a, r)
			addOuter(m[:count*n], a, r)
			if !near(m[:count*n], wantM, 1e-13) || !slices.Equal(m[count*n:], before[count*n:]) {
				t.Fatalf("addOuter of %d rows of %d", count, n)
			}
		}
	}
}

func BenchmarkKernels(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	const d, s = 22, 24
	a, m, dst := random(rng, d), random(rng, d*s), make([]float64, s)
	w := random(rng, d*100_000)
	rows := make([]int32, 20)
	for i := range rows {
		rows[i] = int32(rng.IntN(300))
	}
	clear(m)
	for name, f := range map[string]func(){
		"sumRows/go":  func() { sumRowsGo(dst[:d], w, rows, d) },
		"sumRows":     func() { sumRows(dst[:d], w, rows, d) },
		"vecMat/go":   func() { vecMatGo(dst, a, m) },
		"vecMat":      func() { vecMat(dst, a, m) },
		"addOuter/go": func() { addOuterGo(m, a, dst) },
		"addOuter":    func() { addOuter(m, a, dst) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f()
				clear(dst)
			}
		})
	}
}

// The exponential is right to two units in the last place over all that chains
// ask for, and the span of a row is that of its numbers alone.
func TestExpRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 40; n++ {
		for _, scale := range []float64{0, 1e-300, 1e-9, 1, 30, 600} {
			src := make([]float64, n+8)
			for i := range src {
				src[i] = -scale * rng.Float64()
			}
			top, low := span(src[4 : n+4])
			if wantTop, wantLow := spanGo(src[4 : n+4]); top != wantTop || low != wantLow {
				t.Fatalf("span of %v: %v, %v", src[4:n+4], top, low)
			}
			got := random(rng, n+8)
			before := slices.Clone(got)
			expRow(got[4:n+4], src[4:n+4], top)
			for i, x := range src[4 : n+4] {
				if want := math.Exp(x - top); math.Abs(got[4+i]-want) > 4.5e-16*want {
					t.Fatalf("exp(%v) = %v, want %v", x-top, got[4+i], want)
				}
			}
			if !slices.Equal(got[:4], before[:4]) || !slices.Equal(got[n+4:], before[n+4:]) {
				t.Fatalf("what lies beyond a row of %d was written", n)
			}
		}
	}
}
