package sequence

import "math"

// The inner loops of training. Each has a Go form here. On amd64 with AVX2 and FMA an assembly form
// replaces it (kernels_amd64.s), which gives the same sums except for rounding. A program on one
// machine always uses one of them.

// sumRowsGo adds to dst the rows of w with the given numbers. A row has stride floats, and the
// first len(dst) are read.
func sumRowsGo(dst, w []float64, rows []int32, stride int) {
	n := len(dst)
	k := 0
	for ; k+2 <= len(rows); k += 2 { // two at a time: half the loads and stores of dst
		a := w[int(rows[k])*stride:][:n]
		b := w[int(rows[k+1])*stride:][:n]
		for j := range dst {
			dst[j] = dst[j] + a[j] + b[j] // in turn: the same for any division of rows among calls
		}
	}
	for ; k < len(rows); k++ {
		a := w[int(rows[k])*stride:][:n]
		for j := range dst {
			dst[j] += a[j]
		}
	}
}

// sumScaledRows is sumRows with a factor for each row.
func sumScaledRows(dst, w []float64, rows []int32, factors []float64, stride int) {
	n := len(dst)
	for k, r := range rows {
		f := factors[k]
		a := w[int(r)*stride:][:n]
		for j := range dst {
			dst[j] += f * a[j]
		}
	}
}

// vecMatGo stores a·m, m having len(a) rows of len(dst) floats.
func vecMatGo(dst, a, m []float64) {
	n := len(dst)
	clear(dst)
	i := 0
	for ; i+4 <= len(a); i += 4 {
		a0, a1, a2, a3 := a[i], a[i+1], a[i+2], a[i+3]
		m0, m1, m2, m3 := m[i*n:][:n], m[(i+1)*n:][:n], m[(i+2)*n:][:n], m[(i+3)*n:][:n]
		for j := range dst {
			dst[j] += (a0*m0[j] + a1*m1[j]) + (a2*m2[j] + a3*m3[j])
		}
	}
	for ; i < len(a); i++ {
		x, row := a[i], m[i*n:][:n]
		for j := range dst {
			dst[j] += x * row[j]
		}
	}
}

// addOuterGo adds the outer product of a and r to m, whose rows have len(r) floats.
func addOuterGo(m, a, r []float64) {
	n := len(r)
	for i, x := range a {
		row := m[i*n:][:n]
		for j, y := range r {
			row[j] += x * y
		}
	}
}

// mulSumGo multiplies a by e, entry by entry, and returns the sum.
func mulSumGo(a, e []float64) float64 {
	sum := 0.0
	for j, v := range e[:len(a)] {
		a[j] *= v
		sum += a[j]
	}
	return sum
}

// mulGo stores a·b·factor, entry by entry.
func mulGo(dst, a, b []float64, factor float64) {
	b = b[:len(dst)]
	for j, v := range a[:len(dst)] {
		dst[j] = v * b[j] * factor
	}
}

// scaleGo multiplies all of a by factor.
func scaleGo(a []float64, factor float64) {
	for j := range a {
		a[j] *= factor
	}
}

// expRowGo stores exp(src - top). No difference may be below -700 or above 700,
// but for numbers that are not looked at.
func expRowGo(dst, src []float64, top float64) {
	for j := range dst {
		dst[j] = math.Exp(src[j] - top)
	}
}

// spanGo returns the largest and the smallest number of v, which is not empty; any
// if there are NaNs.
func spanGo(v []float64) (top, low float64) {
	top, low = v[0], v[0]
	for _, x := range v[1:] {
		top, low = max(top, x), min(low, x)
	}
	return top, low
}
