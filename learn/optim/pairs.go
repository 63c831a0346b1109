package optim

import "math"

// The inner loops of quasi-Newton methods run at the speed of memory, so each stored vector is read
// once for all products that it enters. On amd64 with AVX2 and FMA the longest prefix of a multiple
// of 8 elements goes through assembly (pairs_amd64.s). The sums differ from those in Go by rounding
// only.

// dots adds ⟨s_i,y⟩, ⟨s_i,g⟩, ⟨y_i,y⟩, ⟨y_i,g⟩ and ⟨y_i,s⟩ to out.
func dots[T float32 | float64](out *[5]float64, si, yi []T, y, g, s []float64) {
	for k := dotsFront(out, si, yi, y, g, s); k < len(si); k++ {
		a, b := float64(si[k]), float64(yi[k])
		out[0] += a * y[k]
		out[1] += a * g[k]
		out[2] += b * y[k]
		out[3] += b * g[k]
		out[4] += b * s[k]
	}
}

// addTwo adds a·s_i + b·y_i to dst.
func addTwo[T float32 | float64](dst []float64, si, yi []T, a, b float64) {
	for k := addTwoFront(dst, si, yi, a, b); k < len(dst); k++ {
		dst[k] += a*float64(si[k]) + b*float64(yi[k])
	}
}

// difference stores a - b in s, rounded to its precision, and what s then holds in d.
func difference[T float32 | float64](s []T, d, a, b []float64) {
	for k := differenceFront(s, d, a, b); k < len(s); k++ {
		s[k] = T(a[k] - b[k])
		d[k] = float64(s[k])
	}
}

// MaxAbs returns the largest absolute value of x; NaN if there is one.
func MaxAbs(x []float64) float64 {
	m, k := largestFront(x)
	for _, v := range x[k:] {
		m = max(m, math.Abs(v))
	}
	return m
}
