//go:build amd64 && !purego

package optim

import "golang.org/x/sys/cpu"

//go:noescape
func dots32AVX2(si, yi *float32, y, grad, s *float64, n int, out *[5]float64)

//go:noescape
func dots64AVX2(si, yi, y, grad, s *float64, n int, out *[5]float64)

//go:noescape
func addTwo32AVX2(dst *float64, si, yi *float32, n int, a, b float64)

//go:noescape
func addTwo64AVX2(dst, si, yi *float64, n int, a, b float64)

//go:noescape
func difference32AVX2(s *float32, d, a, b *float64, n int)

//go:noescape
func largestAVX2(x *float64, n int) (m, bad float64)

var hasAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// dotsFront adds the inner products over the longest prefix whose length is a multiple of 8, and
// returns that length. It returns zero where there is no assembly.
func dotsFront[T float32 | float64](out *[5]float64, si, yi []T, y, g, s []float64) int {
	n := len(si) &^ 7
	if !hasAVX2 || n == 0 {
		return 0
	}
	_, _, _, _ = yi[n-1], y[n-1], g[n-1], s[n-1]
	var sums [5]float64
	switch si := any(si).(type) {
	case []float32:
		dots32AVX2(&si[0], &any(yi).([]float32)[0], &y[0], &g[0], &s[0], n, &sums)
	case []float64:
		dots64AVX2(&si[0], &any(yi).([]float64)[0], &y[0], &g[0], &s[0], n, &sums)
	}
	for i, v := range sums {
		out[i] += v
	}
	return n
}

// addTwoFront does the same for addTwo.
func addTwoFront[T float32 | float64](dst []float64, si, yi []T, a, b float64) int {
	n := len(dst) &^ 7
	if !hasAVX2 || n == 0 {
		return 0
	}
	_, _ = si[n-1], yi[n-1]
	switch si := any(si).(type) {
	case []float32:
		addTwo32AVX2(&dst[0], &si[0], &any(yi).([]float32)[0], n, a, b)
	case []float64:
		addTwo64AVX2(&dst[0], &si[0], &any(yi).([]float64)[0], n, a, b)
	}
	return n
}

// differenceFront does the same for difference.
func differenceFront[T float32 | float64](s []T, d, a, b []float64) int {
	n := len(s) &^ 7
	s32, single := any(s).([]float32)
	if !hasAVX2 || n == 0 || !single {
		return 0
	}
	_, _, _ = d[n-1], a[n-1], b[n-1]
	difference32AVX2(&s32[0], &d[0], &a[0], &b[0], n)
	return n
}

// largestFront returns the largest absolute value of the front, and its length: zero
// also where a number of it is NaN or infinite.
func largestFront(x []float64) (float64, int) {
	n := len(x) &^ 7
	if !hasAVX2 || n == 0 {
		return 0, 0
	}
	m, bad := largestAVX2(&x[0], n)
	if bad != bad {
		return 0, 0
	}
	return m, n
}
