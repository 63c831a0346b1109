package sweep

import (
	"math"

	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// MaxFactor bounds |pair scores|, and twice it the range of a position's unary scores: then
// potentials range over no more than what Whitening.linear takes.
const MaxFactor = 50

// Factored is prepare and linear for potentials of order 2 that are sums, in the order of labels
// that they have. unary has the scores of the labels, position after position.
// pairs[at[t]+a·sizes[t]+b] is the exponential of the score of the pair (a, b) at t, with a = 0 at
// position 0. ok is false where linear messages may underflow or scores are not finite.
func (w *Whitening) Factored(sizes []int, unary, pairs []float64, at []int) (ok bool) {
	w.Order = 2
	w.labels = append(w.labels[:0], sizes...)
	n, before := 0, 1
	for _, size := range sizes {
		n, before = n+before*size, size
	}
	w.pBuf, w.P = layered.Resize(w.pBuf, n), layered.Resize(w.P, len(sizes))
	begin, before := 0, 1
	for t, size := range sizes {
		end := begin + before*size
		w.P[t] = w.pBuf[begin:end:end]
		begin, before = end, size
	}
	w.fold = w.P
	w.unary = layered.Resize(w.unary, len(unary))
	i, widest := 0, 1
	logZ := 0.0
	for _, size := range sizes {
		from, to := unary[i:i+size], w.unary[i:i+size]
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, x := range from {
			if x > hi {
				hi = x
			}
			if x < lo && x >= -math.MaxFloat64 {
				lo = x
			}
		}
		if !(hi-lo <= 2*MaxFactor && hi >= -math.MaxFloat64) {
			return false
		}
		for b, x := range from {
			to[b] = x - hi
		}
		logZ += hi
		i += size
		widest = max(widest, size)
	}
	ExpShifted(w.unary, w.unary, 0)
	w.um = layered.Resize(w.um, widest)
	w.h = layered.Resize(w.h, widest)
	h := w.h
	for b := range h {
		h[b] = 1
	}
	scale := 1.0
	for t := len(sizes) - 1; t >= 0; t-- {
		size := sizes[t]
		i -= size
		um := w.um[:size]
		for b, x := range w.unary[i : i+size] {
			um[b] = x * h[b]
		}
		p := w.P[t]
		e := pairs[at[t]:][:len(p)]
		most, least := 0.0, math.Inf(1)
		left := len(p) / size
		for a := range left {
			er, pr := e[a*size:(a+1)*size:(a+1)*size], p[a*size:(a+1)*size:(a+1)*size]
			sum := 0.0
			for b, x := range um {
				y := er[b] * x
				pr[b] = y
				sum += y
			}
			h[a] = sum
			if sum > most {
				most = sum
			}
			if !(sum >= least) {
				least = sum
			}
			inv := 1 / sum
			for b := range pr {
				pr[b] *= inv
			}
		}
		if !(least > 1e-200*most && most < 1e200) {
			return false // underflow, or a context without a continuation
		}
		inv := 1 / most
		for a := range h[:left] {
			h[a] *= inv
		}
		if scale *= most; scale > 1e50 || scale < 1e-50 {
			logZ += math.Log(scale)
			scale = 1
		}
	}
	w.LogZ0 = logZ + math.Log(scale)
	return !math.IsNaN(w.LogZ0) && !math.IsInf(w.LogZ0, 0)
}

// Chain stores the marginals of the plain model of order 2, renumbered as p is.
func (w *Whitening) Chain(out [][]float64) {
	one := [1]float64{1}
	left := one[:]
	for t, p := range w.P {
		size := w.labels[t]
		mu := layered.Resize(w.hNext, size)
		w.h, w.hNext = mu, w.h
		clear(mu)
		o := out[t]
		for a, la := range left {
			pr, or := p[a*size:(a+1)*size:(a+1)*size], o[a*size:(a+1)*size:(a+1)*size]
			for b, x := range pr {
				y := la * x
				mu[b] += y
				or[b] = y
			}
		}
		left = mu
	}
}
