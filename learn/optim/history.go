package optim

import (
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/run"
)

// pairs is a history of either precision.
type pairs interface {
	len() int
	reset()
	push(v vectors, xNew, x, gNew, g []float64)
	direction(v vectors, dst, g []float64, pushed bool, x, xNew []float64) float64
}

// history keeps the last pairs s = Δx, y = Δg of a quasi-Newton method, with the inner products
// among them that the direction needs. With T = float32 pairs are rounded when they are stored, and
// all inner products use the stored values. The approximate Hessian is therefore that of exact
// pairs with ⟨s,y⟩ > 0, and positive definite.
type history[T float32 | float64] struct {
	s, y [][]T // oldest first
	// sy[i][j] is ⟨s_i,y_j⟩ and yy[i][j] is ⟨y_i,y_j⟩.
	sy, yy [][]float64
	sg, yg []float64 // what push found of its gNew: ⟨s_i,g⟩, ⟨y_i,g⟩
	cap    int
	spare  [][]T
}

func newHistory[T float32 | float64](memory, n int) *history[T] {
	h := &history[T]{cap: memory}
	for range 2 * memory {
		h.spare = append(h.spare, make([]T, n))
	}
	return h
}

func (h *history[T]) len() int { return len(h.s) }

func (h *history[T]) reset() {
	h.spare = append(append(h.spare, h.s...), h.y...)
	h.s, h.y, h.sy, h.yy = nil, nil, nil, nil
}

// push adds the pair of a step. It omits the pair if the curvature is not safely positive, because
// of a non-convex stretch or rounding. One pass over the stored vectors computes all inner products
// that the pair and gNew need. With 10 pairs, a pass for each kind would read them two and a half
// times as often.
func (h *history[T]) push(v vectors, xNew, x, gNew, g []float64) {
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
	// By pair: ⟨s_i,y⟩ ⟨s_i,g⟩ ⟨y_i,y⟩ ⟨y_i,g⟩ ⟨y_i,s⟩. The new pair comes last; its first entry is
	// ⟨s,y⟩.
	sums := v.sums(len(x), 5*m+5, func(out []float64, lo, hi int) {
		var bufS, bufY [stripe]float64
		s, y, g := s[lo:hi], y[lo:hi], g[lo:hi]
		gNew, x, xNew := gNew[lo:hi], x[lo:hi], xNew[lo:hi]
		ds, dy := bufS[:hi-lo], bufY[:hi-lo]
		difference(s, ds, xNew, x)
		difference(y, dy, gNew, g)
		for i := range m {
			dots((*[5]float64)(out[5*i:]), h.s[i][lo:hi], h.y[i][lo:hi], dy, gNew, ds)
		}
		dots((*[5]float64)(out[5*m:]), ds, dy, dy, gNew, ds)
	})
	last := sums[5*m:]
	h.sg, h.yg = h.sg[:0], h.yg[:0]
	for i := range m {
		h.sg, h.yg = append(h.sg, sums[5*i+1]), append(h.yg, sums[5*i+3])
	}
	// ⟨s,y⟩ ≤ 1e-10 ⟨y,y⟩: the scale would explode. Nothing infinite is kept, be it
	// for numbers beyond float32.
	if !(last[0] > 1e-10*last[2]) || !finite(last) {
		return
	}
	h.spare = h.spare[:k-2]
	var sy, yy []float64
	for i := range m {
		h.sy[i], h.yy[i] = append(h.sy[i], sums[5*i]), append(h.yy[i], sums[5*i+2])
		sy, yy = append(sy, sums[5*i+4]), append(yy, sums[5*i+2])
	}
	h.s, h.y = append(h.s, s), append(h.y, y)
	h.sy, h.yy = append(h.sy, append(sy, last[0])), append(h.yy, append(yy, last[2]))
	h.sg, h.yg = append(h.sg, last[1]), append(h.yg, last[3])
}

// direction stores d = -H·g, H being the L-BFGS approximation to the inverse
// Hessian, and returns ⟨d,g⟩. pushed tells that g is the gNew of the last push.
// Unless xNew is nil, it stores x + d there, in the same pass.
func (h *history[T]) direction(v vectors, dst, g []float64, pushed bool, x, xNew []float64) float64 {
	m := h.len()
	sg, yg := h.sg, h.yg
	if !pushed && m > 0 {
		p := v.sums(len(g), 5*m, func(out []float64, lo, hi int) {
			g := g[lo:hi]
			for i := range m {
				dots((*[5]float64)(out[5*i:]), h.s[i][lo:hi], h.y[i][lo:hi], g, g, g)
			}
		})
		sg, yg = make([]float64, m), make([]float64, m)
		for i := range m {
			sg[i], yg[i] = p[5*i+1], p[5*i+3]
		}
	}
	// The vector of the two-loop recursion is q = Σ a_i s_i + Σ b_i y_i + c·g;
	// only the coefficients are computed.
	a, b, c := make([]float64, m), make([]float64, m), 1.0
	alpha := make([]float64, m)
	for i := m - 1; i >= 0; i-- { // q starts as g; α_i = ⟨s_i,q⟩/⟨s_i,y_i⟩; q -= α_i y_i
		sq := c * sg[i]
		for j := range m {
			sq += b[j] * h.sy[i][j]
		}
		alpha[i] = sq / h.sy[i][i]
		b[i] -= alpha[i]
	}
	if m > 0 {
		gamma := h.sy[m-1][m-1] / h.yy[m-1][m-1]
		c *= gamma
		for i := range b {
			b[i] *= gamma
		}
	}
	for i := range m { // β = ⟨y_i,q⟩/⟨s_i,y_i⟩; q += (α_i-β) s_i
		yq := c * yg[i]
		for j := range m {
			yq += a[j]*h.sy[j][i] + b[j]*h.yy[i][j]
		}
		a[i] += alpha[i] - yq/h.sy[i][i]
	}
	return v.sums(len(dst), 1, func(out []float64, lo, hi int) {
		d, g := dst[lo:hi], g[lo:hi]
		floats.ScaleTo(d, -c, g)
		for i := range m {
			addTwo(d, h.s[i][lo:hi], h.y[i][lo:hi], -a[i], -b[i])
		}
		out[0] = floats.Dot(d, g)
		if xNew != nil {
			floats.AddTo(xNew[lo:hi], x[lo:hi], d)
		}
	})[0]
}

func finite(x []float64) bool { return FirstNotFinite(x) < 0 }

// vectors does dense vector work on several goroutines. The stripes, and the
// order in which their sums are added, do not depend on how many there are.
type vectors struct{ workers int }

const stripe = 1 << 10 // 8 kB of a vector: three or four stay in the first-level cache while others pass

// each calls f(k, lo, hi) for all stripes of 0…n-1, k counting them.
func (v vectors) each(n int, f func(k, lo, hi int)) {
	count := (n + stripe - 1) / stripe
	workers := max(1, min(v.workers, count))
	run.Each(workers, workers, func(_, w int) error { // cannot fail
		for k := count * w / workers; k < count*(w+1)/workers; k++ {
			f(k, k*stripe, min(n, (k+1)*stripe))
		}
		return nil
	})
}

func (v vectors) dot(x, y []float64) float64 {
	return v.sums(len(x), 1, func(out []float64, lo, hi int) { out[0] = floats.Dot(x[lo:hi], y[lo:hi]) })[0]
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

// MaxAbs returns the largest absolute value.
func (v vectors) maxAbs(x []float64) float64 {
	part := make([]float64, (len(x)+stripe-1)/stripe)
	v.each(len(x), func(i, lo, hi int) { part[i] = MaxAbs(x[lo:hi]) })
	return MaxAbs(part)
}
