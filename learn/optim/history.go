package optim

import (
	"slices"
	"sync"
)

// history keeps the last pairs s = Δx, y = Δg of a quasi-Newton method, with
// the inner products among them that the direction needs.
type history struct {
	s, y [][]float64 // oldest first
	// sy[i][j] is ⟨s_i,y_j⟩ and yy[i][j] is ⟨y_i,y_j⟩.
	sy, yy [][]float64
	cap    int
	spare  [][]float64
}

func newHistory(memory, n int) *history {
	h := &history{cap: memory}
	for range 2 * memory {
		h.spare = append(h.spare, make([]float64, n))
	}
	return h
}

func (h *history) len() int { return len(h.s) }

func (h *history) reset() {
	h.spare = append(append(h.spare, h.s...), h.y...)
	h.s, h.y, h.sy, h.yy = nil, nil, nil, nil
}

// push adds the pair of a step, unless its curvature is not safely positive
// (a non-convex stretch, or rounding), in which case the pair is left out.
func (h *history) push(v vectors, xNew, x, gNew, g []float64) {
	if h.len() == h.cap {
		h.spare = append(h.spare, h.s[0], h.y[0])
		h.s, h.y = slices.Delete(h.s, 0, 1), slices.Delete(h.y, 0, 1)
		h.sy, h.yy = slices.Delete(h.sy, 0, 1), slices.Delete(h.yy, 0, 1)
		for i := range h.sy {
			h.sy[i], h.yy[i] = slices.Delete(h.sy[i], 0, 1), slices.Delete(h.yy[i], 0, 1)
		}
	}
	k := len(h.spare)
	s, y := h.spare[k-2], h.spare[k-1]
	v.each(len(x), func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			s[i] = xNew[i] - x[i]
			y[i] = gNew[i] - g[i]
		}
	})
	all := append(append(slices.Clone(h.s), h.y...), s, y)
	dy := v.dots(y, all) // ⟨·, y⟩
	ds := v.dots(s, h.y) // ⟨s, y_j⟩
	m := h.len()
	curvature, size := dy[2*m], dy[2*m+1]
	if !(curvature > 1e-10*size) { // ⟨s,y⟩ ≤ 1e-10 ⟨y,y⟩: the scale would explode
		return
	}
	h.spare = h.spare[:k-2]
	for i := range m {
		h.sy[i] = append(h.sy[i], dy[i])
		h.yy[i] = append(h.yy[i], dy[m+i])
	}
	h.s, h.y = append(h.s, s), append(h.y, y)
	h.sy = append(h.sy, append(ds, curvature))
	h.yy = append(h.yy, append(slices.Clone(dy[m:2*m]), size))
}

// direction stores -H·g, H being the L-BFGS approximation to the inverse Hessian.
func (h *history) direction(v vectors, dst, g []float64) {
	m := h.len()
	if m == 0 {
		v.each(len(g), func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				dst[i] = -g[i]
			}
		})
		return
	}
	basis := append(append(slices.Clone(h.s), h.y...), g)
	p := v.dots(g, basis) // ⟨g, s_i⟩, ⟨g, y_i⟩, ⟨g, g⟩
	// The vector of the two-loop recursion is q = Σ a_i s_i + Σ b_i y_i + c·g;
	// only the coefficients are computed.
	a, b, c := make([]float64, m), make([]float64, m), 1.0
	alpha := make([]float64, m)
	for i := m - 1; i >= 0; i-- { // q starts as g; α_i = ⟨s_i,q⟩/⟨s_i,y_i⟩; q -= α_i y_i
		sq := c * p[i]
		for j := range m {
			sq += b[j] * h.sy[i][j]
		}
		alpha[i] = sq / h.sy[i][i]
		b[i] -= alpha[i]
	}
	gamma := h.sy[m-1][m-1] / h.yy[m-1][m-1]
	c *= gamma
	for i := range b {
		b[i] *= gamma
	}
	for i := range m { // β = ⟨y_i,q⟩/⟨s_i,y_i⟩; q += (α_i-β) s_i
		yq := c * p[m+i]
		for j := range m {
			yq += a[j]*h.sy[j][i] + b[j]*h.yy[i][j]
		}
		a[i] += alpha[i] - yq/h.sy[i][i]
	}
	coef := append(append(a, b...), c)
	v.combine(dst, coef, basis)
}

// vectors does dense vector work on several goroutines. The stripes, and the
// order in which their sums are added, do not depend on how many there are.
type vectors struct{ workers int }

const stripe = 1 << 13 // 64 kB of a vector: several fit into a second-level cache

// each calls f(k, lo, hi) for all stripes of 0…n-1, k counting them.
func (v vectors) each(n int, f func(k, lo, hi int)) {
	count := (n + stripe - 1) / stripe
	workers := min(v.workers, count)
	part := func(w int) {
		for k := count * w / workers; k < count*(w+1)/workers; k++ {
			f(k, k*stripe, min(n, (k+1)*stripe))
		}
	}
	if workers <= 1 {
		workers = 1
		part(0)
		return
	}
	var wg sync.WaitGroup
	for w := 1; w < workers; w++ {
		wg.Go(func() { part(w) })
	}
	part(0)
	wg.Wait()
}

func (v vectors) dot(x, y []float64) float64 { return v.dots(x, [][]float64{y})[0] }

// dots returns ⟨x, y⟩ for each y of ys in one pass.
func (v vectors) dots(x []float64, ys [][]float64) []float64 {
	count := (len(x) + stripe - 1) / stripe
	part := make([]float64, count*len(ys))
	v.each(len(x), func(k, lo, hi int) {
		for j, y := range ys {
			part[k*len(ys)+j] = dot(x[lo:hi], y[lo:hi])
		}
	})
	out := make([]float64, len(ys))
	for k := range count {
		for j := range out {
			out[j] += part[k*len(ys)+j]
		}
	}
	return out
}

// dot keeps four sums, so that additions need not wait for each other.
func dot(x, y []float64) float64 {
	y = y[:len(x)]
	var a, b, c, d float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		a += x[i] * y[i]
		b += x[i+1] * y[i+1]
		c += x[i+2] * y[i+2]
		d += x[i+3] * y[i+3]
	}
	for ; i < len(x); i++ {
		a += x[i] * y[i]
	}
	return (a + b) + (c + d)
}

// combine stores -Σ coef_j xs_j.
func (v vectors) combine(dst, coef []float64, xs [][]float64) {
	v.each(len(dst), func(_, lo, hi int) {
		d := dst[lo:hi]
		clear(d)
		j := 0
		for ; j+2 <= len(xs); j += 2 {
			a, b := -coef[j], -coef[j+1]
			x, y := xs[j][lo:hi][:len(d)], xs[j+1][lo:hi][:len(d)]
			for i := range d {
				d[i] += a*x[i] + b*y[i]
			}
		}
		for ; j < len(xs); j++ {
			a, x := -coef[j], xs[j][lo:hi][:len(d)]
			for i := range d {
				d[i] += a * x[i]
			}
		}
	})
}
