package sweep

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// Whitening turns potentials into the conditional probabilities of the plain model, p0(d | context,
// t) = exp(θ_t(context, d)) h_{t+1}(context') / h_t(context), by backward messages h. Then Z = Z0 ·
// E_p0[exp(γ L)]. Forward values are probabilities times exp(γ L), backward values are conditional
// expectations of exp(γ L), and no θ can make them overflow.
//
// Labels are renumbered as the graph has them (see numbering).
type Whitening struct {
	Theta  [][]float64 // θ, renumbered
	P      [][]float64 // p0, renumbered
	fold   [][]float64 // order 1: p0 summed over classes; else the same as p
	exp    [][]float64 // exp(θ - peak), renumbered; rows of equal θ share one
	LogZ0  float64
	Order  int
	labels []int // real labels at each position

	v, pv, foldV [][]float64 // direction V, p0·V, and that summed over classes

	peak           []float64 // by position: greatest θ
	h, hNext       []float64
	wide           bool // some position's θ range beyond what linear messages carry
	thetaBuf, pBuf []float64
	expBuf         []float64
	foldBuf        []float64
	vBuf, pvBuf    []float64
	foldVBuf       []float64
	folded         [][]float64
	foldedV        [][]float64

	// of factored potentials: exponentials of unary scores, and those of a position times h
	unary, um []float64
}

// Potentials are those of losses.Potentials, with the same fields.
type Potentials struct {
	Sizes []int
	Order int
	Theta [][]float64
}

// RowLen returns the number of windows that end at position t, the greatest int where there are
// more.
func (p *Potentials) RowLen(t int) int {
	n := 1
	for s := max(0, t-p.Order+1); s <= t; s++ {
		hi, lo := bits.Mul(uint(n), uint(p.Sizes[s]))
		if n = int(lo); hi > 0 || n < 0 {
			return math.MaxInt
		}
	}
	return n
}

// ErrOverflow reports potentials whose scores of strings float64 cannot hold.
var ErrOverflow = errors.New("losses: the sum of the greatest potentials of the rows overflows")

// Check validates the shape and values of p, and finds the peaks. Where the sum of those is out of
// range, the error is errOverflow.
func (w *Whitening) Check(p *Potentials) error {
	if p == nil {
		return errors.New("losses: the potentials are nil; NewPotentials makes those of score 0")
	}
	if p.Order < 1 || p.Order > 3 {
		return fmt.Errorf("losses: potentials of order %d: 1, 2 and 3 are supported", p.Order)
	}
	if len(p.Theta) != len(p.Sizes) {
		return fmt.Errorf("losses: %d rows of potentials for %d positions", len(p.Theta), len(p.Sizes))
	}
	for t, n := range p.Sizes {
		if n < 0 {
			return fmt.Errorf("losses: position %d of the potentials has %d labels", t, n)
		}
	}
	w.peak = layered.Resize(w.peak, len(p.Theta))
	w.wide = false
	sum := 0.0
	for t, row := range p.Theta {
		if len(row) != p.RowLen(t) {
			return fmt.Errorf("losses: row %d has %d potentials, not %d", t, len(row), p.RowLen(t))
		}
		if t > 0 && sameRow(row, p.Theta[t-1]) {
			w.peak[t] = w.peak[t-1]
			sum += finite(w.peak[t])
			continue
		}
		lo, hi, bad := RangeOf(row)
		if bad {
			for i, x := range row {
				if !(x <= math.MaxFloat64) {
					return fmt.Errorf("losses: row %d: potential %d is %v", t, i, x)
				}
			}
		}
		w.peak[t] = hi
		sum += finite(hi)
		if hi-lo > 200 {
			w.wide = true
		}
	}
	if math.IsInf(sum, 0) {
		return ErrOverflow
	}
	return nil
}

// finite returns |x|, 0 for an infinite one.
func finite(x float64) float64 {
	if math.IsInf(x, 0) {
		return 0
	}
	return math.Abs(x)
}

// sameRow reports whether two rows are one and the same array.
func sameRow(a, b []float64) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// rows cuts buf into rows shaped as sizes say.
func (w *Whitening) rows(dst [][]float64, buf []float64, p *Potentials) ([][]float64, []float64) {
	n := 0
	for _, row := range p.Theta {
		n += len(row)
	}
	buf = layered.Resize(buf, n)
	dst = layered.Resize(dst, len(p.Theta))
	at := 0
	for t, row := range p.Theta {
		dst[t] = buf[at : at+len(row) : at+len(row)]
		at += len(row)
	}
	return dst, buf
}

// PrepareRaw fills theta, p and logZ0 without renumbering.
func (w *Whitening) PrepareRaw(p *Potentials) {
	w.Order = p.Order
	w.labels = append(w.labels[:0], p.Sizes...)
	w.P, w.pBuf = w.rows(w.P, w.pBuf, p)
	w.Theta = layered.Resize(w.Theta, len(p.Theta))
	for t := range p.Theta {
		w.Theta[t] = p.Theta[t]
		if t > 0 && slices.Equal(p.Theta[t], p.Theta[t-1]) {
			w.Theta[t] = w.Theta[t-1]
		}
	}
	w.messages(p)
}

// Prepare fills theta, p, fold and logZ0.
func (w *Whitening) Prepare(g *layered.Graph, p *Potentials) {
	w.Order = p.Order
	w.labels = append(w.labels[:0], p.Sizes...)
	w.Theta, w.thetaBuf = w.rows(w.Theta, w.thetaBuf, p)
	w.P, w.pBuf = w.rows(w.P, w.pBuf, p)
	for t := range p.Theta {
		if t > 0 && w.repeats(g, p, t) {
			w.Theta[t] = w.Theta[t-1]
			continue
		}
		renumber(w.Theta[t], p.Theta[t], g, t, p)
	}
	w.messages(p)
	if w.Order > 1 {
		w.fold = w.P
		return
	}
	n := 0
	for t := range w.P {
		n += g.Layers[t].Classes
	}
	w.foldBuf = layered.Resize(w.foldBuf, n)
	w.folded = layered.Resize(w.folded, len(w.P))
	w.fold = w.folded // not resized in place: for other orders fold is p itself
	foldRows(w.fold, w.foldBuf, w.P, g)
}

// messages fills p and logZ0 from theta.
func (w *Whitening) messages(p *Potentials) {
	widest := 1
	for t := range p.Theta {
		widest = max(widest, w.Contexts(t+1))
	}
	w.h, w.hNext = layered.Resize(w.h, widest), layered.Resize(w.hNext, widest)
	if w.wide || !w.linear(p) {
		w.inLogs()
	}
}

// foldRows sums the labels of each class.
func foldRows(dst [][]float64, buf []float64, src [][]float64, g *layered.Graph) {
	for t, row := range src {
		gl := &g.Layers[t]
		n := gl.Classes
		dst[t], buf = buf[:n:n], buf[n:]
		clear(dst[t])
		for d, k := range gl.ClassOf {
			dst[t][k] += row[d]
		}
	}
}

// repeats reports whether the potentials of position t are those of t-1, in
// the same numbering: the usual case of tied weights.
func (w *Whitening) repeats(g *layered.Graph, p *Potentials, t int) bool {
	for s := max(0, t-w.Order); s <= t; s++ {
		if s > 0 && (p.Sizes[s] != p.Sizes[s-1] || !sameNumbering(&g.Layers[s], &g.Layers[s-1])) {
			return false
		}
	}
	return slices.Equal(p.Theta[t], p.Theta[t-1])
}

func sameNumbering(a, b *layered.GraphLayer) bool {
	return len(a.Perm) == len(b.Perm) && (len(a.Perm) == 0 || &a.Perm[0] == &b.Perm[0])
}

// renumber copies a row from the order of labels to that of the graph.
func renumber(dst, src []float64, g *layered.Graph, t int, p *Potentials) {
	perm := g.Layers[t].Perm
	n := len(perm)
	if p.Order == 1 || t == 0 {
		for d, j := range perm {
			dst[d] = src[j]
		}
		return
	}
	before := g.Layers[t-1].Perm
	if p.Order == 2 || t == 1 {
		for a, i := range before {
			from, to := src[int(i)*n:int(i)*n+n], dst[a*n:a*n+n]
			for d, j := range perm {
				to[d] = from[j]
			}
		}
		return
	}
	nb := len(before)
	for a, i := range g.Layers[t-2].Perm {
		for b, k := range before {
			from, to := src[(int(i)*nb+int(k))*n:][:n], dst[(a*nb+b)*n:][:n]
			for d, j := range perm {
				to[d] = from[j]
			}
		}
	}
}

// restore adds nothing and moves a row back: dst[original] = src[renumbered].
func restore(dst, src []float64, g *layered.Graph, t, order int) {
	perm := g.Layers[t].Perm
	n := len(perm)
	if order == 1 || t == 0 {
		for d, j := range perm {
			dst[j] = src[d]
		}
		return
	}
	before := g.Layers[t-1].Perm
	if order == 2 || t == 1 {
		for a, i := range before {
			to, from := dst[int(i)*n:int(i)*n+n], src[a*n:a*n+n]
			for d, j := range perm {
				to[j] = from[d]
			}
		}
		return
	}
	nb := len(before)
	for a, i := range g.Layers[t-2].Perm {
		for b, k := range before {
			to, from := dst[(int(i)*nb+int(k))*n:][:n], src[(a*nb+b)*n:][:n]
			for d, j := range perm {
				to[j] = from[d]
			}
		}
	}
}

// Contexts returns the number of contexts of position t: 1, or the product of
// the last q-1 label counts.
func (w *Whitening) Contexts(t int) int {
	n := 1
	for s := max(0, t-w.Order+1); s < t; s++ {
		n *= w.labels[s]
	}
	return n
}

// after returns the first position, among the contexts of position t+1, of those that follow
// context c of position t. Label d leads to after + d (order 1: to 0).
func (w *Whitening) after(t, c int) int {
	if w.Order < 3 || t == 0 {
		return 0
	}
	return c % w.labels[t-1] * w.labels[t]
}

// linear computes messages by scaled sums of products, with one exponential per distinct potential.
// It reports false when a message could have underflowed, which needs forbidden windows and very
// uneven potentials.
func (w *Whitening) linear(p *Potentials) bool {
	w.exp, w.expBuf = w.rows(w.exp, w.expBuf, p)
	l := len(w.Theta)
	w.LogZ0 = 0
	next, h := w.hNext, w.h
	for i := range next[:w.Contexts(l)] {
		next[i] = 1
	}
	for t := range w.Theta {
		if t > 0 && sameRow(w.Theta[t], w.Theta[t-1]) {
			w.exp[t] = w.exp[t-1]
			continue
		}
		ExpShifted(w.exp[t], w.Theta[t], w.peak[t])
	}
	for t := l - 1; t >= 0; t-- {
		n, nc := w.labels[t], w.Contexts(t)
		if math.IsInf(w.peak[t], -1) { // no label at all
			w.LogZ0 = math.Inf(-1)
			return true
		}
		top := 0.0
		for c := range nc {
			e := w.exp[t][c*n : c*n+n]
			sum := 0.0
			if w.Order == 1 {
				for _, x := range e {
					sum += x
				}
				sum *= next[0]
			} else {
				hn := next[w.after(t, c):][:n]
				for d, x := range e {
					sum += x * hn[d]
				}
			}
			h[c] = sum
			top = max(top, sum)
		}
		if top == 0 {
			w.LogZ0 = math.Inf(-1)
			return true
		}
		for c := range nc {
			e, p0 := w.exp[t][c*n:c*n+n], w.P[t][c*n:c*n+n]
			sum := h[c]
			if sum == 0 {
				clear(p0) // a context that no allowed continuation has
				continue
			}
			if w.Order == 1 {
				f := next[0] / sum
				for d, x := range e {
					p0[d] = x * f
				}
			} else {
				f, hn := 1/sum, next[w.after(t, c):][:n]
				for d, x := range e {
					p0[d] = x * hn[d] * f
				}
			}
		}
		scale := 1 / top
		for c := range nc {
			h[c] *= scale
			// exp(-200) times this is far above the least float64, so that a
			// sum of 0 means that nothing is allowed.
			if h[c] < 1e-200 && h[c] != 0 {
				return false
			}
		}
		w.LogZ0 += w.peak[t] + math.Log(top)
		h, next = next, h
	}
	return true
}

// inLogs computes messages as logarithms.
func (w *Whitening) inLogs() {
	l := len(w.Theta)
	next, h := w.hNext, w.h
	clear(next[:w.Contexts(l)])
	for t := l - 1; t >= 0; t-- {
		n, nc := w.labels[t], w.Contexts(t)
		for c := range nc {
			th, p0 := w.Theta[t][c*n:c*n+n], w.P[t][c*n:c*n+n]
			top := math.Inf(-1)
			for d, x := range th {
				p0[d] = x + next[w.Follow(t, c, d)]
				top = max(top, p0[d])
			}
			if math.IsInf(top, -1) {
				clear(p0)
				h[c] = top
				continue
			}
			sum := 0.0
			for d, x := range p0 {
				p0[d] = math.Exp(x - top)
				sum += p0[d]
			}
			f := 1 / sum
			for d := range p0 {
				p0[d] *= f
			}
			h[c] = top + math.Log(sum)
		}
		h, next = next, h
	}
	w.LogZ0 = next[0]
}

// Follow returns the context of position t+1 after label d in context c.
func (w *Whitening) Follow(t, c, d int) int {
	if w.Order == 1 {
		return 0
	}
	return w.after(t, c) + d
}

// SetDirection renumbers V and forms p0·V.
func (w *Whitening) SetDirection(g *layered.Graph, p *Potentials, v [][]float64) {
	w.v, w.vBuf = w.rows(w.v, w.vBuf, p)
	w.pv, w.pvBuf = w.rows(w.pv, w.pvBuf, p)
	for t := range v {
		renumber(w.v[t], v[t], g, t, p)
		for i, x := range w.v[t] {
			w.pv[t][i] = w.P[t][i] * x
		}
	}
	if w.Order > 1 {
		w.foldV = w.pv
		return
	}
	w.foldVBuf = layered.Resize(w.foldVBuf, len(w.foldBuf))
	w.foldedV = layered.Resize(w.foldedV, len(w.P))
	w.foldV = w.foldedV
	foldRows(w.foldV, w.foldVBuf, w.pv, g)
}
