package nn

import "math"

// The loops between the products. Each has its Go form here, which also handles the ends of vectors
// on machines that have another form (vector_amd64.go). Both compute the same operations in the
// same order.

// biasReLU stores max(y+bias, 0) in y, and NaN where the sum is NaN.
func biasReLU[T Float](y, bias []T) {
	for i := biasReLUFast(y, bias); i < len(y); i++ {
		if v := y[i] + bias[i]; v <= 0 {
			y[i] = 0
		} else {
			y[i] = v
		}
	}
}

// maskReLU stores zero in d where the output y of the unit is not positive, and adds d
// to sum.
func maskReLU[T Float](d, y, sum []T) {
	for i := maskReLUFast(d, y, sum); i < len(d); i++ {
		if !(y[i] > 0) {
			d[i] = 0
		}
		sum[i] += d[i]
	}
}

// stepSGD stores (w - rate·g)·shrink in w.
func stepSGD[T Float](w, g []T, rate, shrink T) {
	for i := stepSGDFast(w, g, rate, shrink); i < len(w); i++ {
		w[i] = (w[i] - rate*g[i]) * shrink
	}
}

// stepMomentum stores momentum·v + g in v, then (w - rate·v)·shrink in w.
func stepMomentum[T Float](w, v, g []T, rate, momentum, shrink T) {
	for i := stepMomentumFast(w, v, g, rate, momentum, shrink); i < len(w); i++ {
		v[i] = momentum*v[i] + g[i]
		w[i] = (w[i] - rate*v[i]) * shrink
	}
}

// stepAdaGrad adds g² to a, and stores (w - r·g)/(1 + r·l2) in w, where r = rate/(tiny+√a).
func stepAdaGrad[T Float](w, a, g []T, rate, tiny, l2 T) {
	for i := stepAdaGradFast(w, a, g, rate, tiny, l2); i < len(w); i++ {
		a[i] += g[i] * g[i]
		r := rate / (tiny + T(math.Sqrt(float64(a[i]))))
		w[i] = (w[i] - r*g[i]) / (1 + r*l2)
	}
}

// adam holds what the steps of all coordinates share: the moments' rates beta1 and
// beta2 (one minus their decay) and bias corrections c1 = 1/(1-decay1^t), c2.
type adam[T Float] struct{ rate, tiny, l2, beta1, beta2, c1, c2 T }

// stepAdam moves a by beta1·(g-a) and b by beta2·(g²-b), and stores
// (w - r·c1·a)/(1 + r·l2) in w, where r = rate/(tiny+√(c2·b)).
func stepAdam[T Float](w, a, b, g []T, s *adam[T]) {
	for i := stepAdamFast(w, a, b, g, s); i < len(w); i++ {
		a[i] += s.beta1 * (g[i] - a[i])
		b[i] += s.beta2 * (g[i]*g[i] - b[i])
		r := s.rate / (s.tiny + T(math.Sqrt(float64(b[i]*s.c2))))
		w[i] = (w[i] - r*(a[i]*s.c1)) / (1 + r*s.l2)
	}
}

// finite reports whether x holds no NaN and no infinity.
func finite[T Float](x []T) bool {
	n, ok := finiteFast(x)
	if !ok {
		return false
	}
	for _, v := range x[n:] {
		if v-v != 0 {
			return false
		}
	}
	return true
}
