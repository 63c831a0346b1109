package sweep

import (
	"github.com/tropica-fst/tropica/losses/internal/features"
)

// WholeVectors rounds counts up to whole vectors.
func WholeVectors(k int) int { return (k + 8) &^ 7 }

// CountForward: b(e, k) = Σ_c p(c, e) a(c, k - gain(c, e)), k < lanes.
func CountForward(b, a, p []float64, gain []int32, d, stride, pad, lanes int) {
	if features.Vectors {
		countForwardVector(&b[0], &a[0], &p[0], &gain[0], d, stride, pad, lanes)
		return
	}
	for e := range d {
		clear(b[e*stride+pad:][:lanes])
	}
	for c := range d {
		for e := range d {
			x, g := p[c*d+e], int(gain[c*d+e])
			if x == 0 {
				continue
			}
			from, to := a[c*stride+pad-g:][:lanes], b[e*stride+pad:][:lanes]
			for k, y := range from {
				to[k] += x * y
			}
		}
	}
}

// CountBackward: beta(c, k) = Σ_e p(c, e) betaN(e, k + gain(c, e)), and
// x(c, e) = Σ_k alpha(c, k) betaN(e, k + gain(c, e)), k < lanes.
func CountBackward(x, beta, betaN, alpha, p []float64, gain []int32, d, stride, pad, lanes int) {
	if features.Vectors {
		countBackwardVector(&x[0], &beta[0], &betaN[0], &alpha[0], &p[0], &gain[0], d, stride, pad, lanes)
		return
	}
	for c := range d {
		own, al := beta[c*stride:][:lanes], alpha[c*stride+pad:][:lanes]
		clear(own)
		for e := range d {
			y, from := p[c*d+e], betaN[e*stride+int(gain[c*d+e]):][:lanes]
			sum := 0.0
			for k, z := range from {
				own[k] += y * z
				sum += al[k] * z
			}
			x[c*d+e] = sum
		}
	}
}
