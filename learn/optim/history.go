package optim

import (
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"
)

// history keeps the last pairs s = Δx, y = Δg of a quasi-Newton method, with
// the inner products among them that the direction needs.
type history struct {
	s, y [][]float64 // oldest first
	// sy[i][j] is ⟨s_i,y_j⟩ and yy[i][j] is ⟨y_i,y_j⟩.
	sy, yy [][]float64
	// What push found of its gNew: ⟨s_i,g⟩, ⟨y_i,g⟩, ⟨g,g⟩.
	sg, yg []float64
	gg     float64
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
// (a non-convex stretch, or rounding), in which case the pair is left out. All
// inner products that the pair and gNew need are taken in one pass over the
// stored vectors: with 10 pairs a pass for each kind read them two and a half
// times as often.
func (h *history) push(v vectors, xNew, x, gNew, g []float64) {
	if h.len() == h.cap {
		h.spare = append(h.spare, h.s[0], h.y[0])
		h.s, h.y = slices.Delete(h.s, 0, 1), slices.Delete(h.y, 0, 1)
		h.sy, h.yy = slices.Delete(h.sy, 0, 1), slices.Delete(h.yy, 0, 1)
		for i := range h.sy {
			h.sy[i], h.yy[i] = slices.Delete(h.sy[i], 0, 1), slices.Delete(h.yy[i], 0, 1)
		}
	}
	k, m := len(h.spare), h.len()
	s, y := h.spare[k-2], h.spare[k-1]
	// By pair: ⟨s_i,y⟩ ⟨s_i,g⟩ ⟨y_i,y⟩ ⟨y_i,g⟩ ⟨y_i,s⟩; then ⟨s,y⟩ ⟨y,y⟩ ⟨s,g⟩ ⟨y,g⟩ ⟨g,g⟩.
	sums := v.sums(len(x), 5*m+5, func(out []float64, lo, hi int) {
		s, y, g := s[lo:hi], y[lo:hi], g[lo:hi]
		gNew, x, xNew := gNew[lo:hi], x[lo:hi], xNew[lo:hi]
		for i, w := range xNew {
			s[i] = w - x[i]
			y[i] = gNew[i] - g[i]
		}
		for i := range m {
			si, yi, o := h.s[i][lo:hi], h.y[i][lo:hi], out[5*i:]
			o[0], o[1] = floats.Dot(si, y), floats.Dot(si, gNew)
			o[2], o[3], o[4] = floats.Dot(yi, y), floats.Dot(yi, gNew), floats.Dot(yi, s)
		}
		o := out[5*m:]
		o[0], o[1], o[2] = floats.Dot(s, y), floats.Dot(y, y), floats.Dot(s, gNew)
		o[3], o[4] = floats.Dot(y, gNew), floats.Dot(gNew, gNew)
	})
	last := sums[5*m:]
	h.sg, h.yg, h.gg = h.sg[:0], h.yg[:0], last[4]
	for i := range m {
		h.sg, h.yg = append(h.sg, sums[5*i+1]), append(h.yg, sums[5*i+3])
	}
	if !(last[0] > 1e-10*last[1]) { // ⟨s,y⟩ ≤ 1e-10 ⟨y,y⟩: the scale would explode
		return
	}
	h.spare = h.spare[:k-2]
	var sy, yy []float64
	for i := range m {
		h.sy[i], h.yy[i] = append(h.sy[i], sums[5*i]), append(h.yy[i], sums[5*i+2])
		sy, yy = append(sy, sums[5*i+4]), append(yy, sums[5*i+2])
	}
	h.s, h.y = append(h.s, s), append(h.y, y)
	h.sy, h.yy = append(h.sy, append(sy, last[0])), append(h.yy, append(yy, last[1]))
	h.sg, h.yg = append(h.sg, last[2]), append(h.yg, last[3])
}

// direction stores -H·g, H being the L-BFGS approximation to the inverse
// Hessian. pushed tells that g is the gNew of the last push.
func (h *history) direction(v vectors, dst, g []float64, pushed bool) {
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
	p := append(append(slices.Clone(h.sg), h.yg...), h.gg)
	if !pushed {
		p = v.dots(g, basis) // ⟨g, s_i⟩, ⟨g, y_i⟩, ⟨g, g⟩
	}
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

const stripe = 1 << 10 // 8 kB of a vector: three or four stay in the first-level cache while others pass

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
	return v.sums(len(x), len(ys), func(out []float64, lo, hi int) {
		for j, y := range ys {
			out[j] = floats.Dot(x[lo:hi], y[lo:hi])
		}
	})
}

// sums adds up, over the stripes of 0…n-1, the k numbers that f stores for each.
func (v vectors) sums(n, k int, f func(out []float64, lo, hi int)) []float64 {
	count := (n + stripe - 1) / stripe
	part := make([]float64, count*k)
	v.each(n, func(i, lo, hi int) { f(part[i*k:][:k], lo, hi) })
	out := make([]float64, k)
	for i := range count {
		for j := range out {
			out[j] += part[i*k+j]
		}
	}
	return out
}

// maxAbs returns the largest absolute value.
func (v vectors) maxAbs(x []float64) float64 {
	part := make([]float64, (len(x)+stripe-1)/stripe)
	v.each(len(x), func(i, lo, hi int) { part[i] = maxAbs(x[lo:hi]) })
	return maxAbs(part)
}

// combine stores -Σ coef_j xs_j.
func (v vectors) combine(dst, coef []float64, xs [][]float64) {
	v.each(len(dst), func(_, lo, hi int) {
		d := dst[lo:hi]
		clear(d)
		for j, x := range xs {
			floats.AddScaled(d, -coef[j], x[lo:hi])
		}
	})
}
