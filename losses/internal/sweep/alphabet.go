package sweep

import (
	"github.com/tropica-fst/tropica/losses/internal/features"
	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// Sweeps of order 2 over large alphabets.
//
// Most symbols of a large alphabet are not in the reference. They are one class, the tail, and cost
// D² a column. They lead to far fewer columns than they come from, and share no flow with others.
// Let M[g, a] be the sum of w·alpha over the entries of context a whose column has its tail arc to
// target g:
//
//	alpha'[g, d] = Σ_a M[g, a] P[a, d]          forward, for d in the tail
//	beta[i]     += w Y[g, a_i],  Y = beta' Pᵀ   backward, for the entries of g's columns
//	X[a, d]     += Σ_g M[g, a] beta'[g, d]
//
// which are products of matrices, done by tiles in registers. The symbols of the reference go
// through the kernels of rows, with a column of zeros in place of the tail.

// Sides of a tile, and targets of a block.
const (
	tileRows, tileColumns = 8, 24
	tailBlock             = 64
)

// tileArgs is what tile512 reads; its layout is known there. Distances are in bytes.
type tileArgs struct {
	a           *float64
	rowA, stepA int
	b           *float64
	rowB        int
	c           *float64
	rowC        int
	k           int
	add         int // 1: c is added to; 0: it is overwritten
}

func up(n, unit int) int { return (n + unit - 1) / unit * unit }

// tailKernels is the working memory of products over tails.
type tailKernels struct {
	args   tileArgs
	single []float64 // P without the tail, by context
	x      []float64 // flows of single
	p, pT  []float64 // P of the tail, and transposed; rows of whole tiles
	m      []float64 // of a block: by target and context
	to     []float64 // of a block: by target and symbol of the tail
	y      []float64 // of a block: by target and context
	flow   []float64 // X of the tail: by context and symbol
}

// fits reports whether products do the layer.
func (k *tailKernels) fits(gl *layered.GraphLayer) bool { return features.Lanes && gl.Tails != nil }

// matrix is a view: element (i, j) is x[i·row + j·step].
type matrix struct {
	x         []float64
	row, step int
}

// product stores A·B in c, or adds it. C is rows × columns of whole tiles, and A is rows × depth. b
// and c have step 1.
func (k *tailKernels) product(c, a, b matrix, rows, columns, depth int, add bool) {
	k.args = tileArgs{rowA: 8 * a.row, stepA: 8 * a.step, rowB: 8 * b.row, rowC: 8 * c.row, k: depth}
	if add {
		k.args.add = 1
	}
	for j := 0; j < columns; j += tileColumns {
		for i := 0; i < rows; i += tileRows {
			k.args.a, k.args.b, k.args.c = &a.x[i*a.row], &b.x[j], &c.x[i*c.row+j]
			tile512(&k.args)
		}
	}
	k.args = tileArgs{}
}

// prepare lays out P, which has rows of n labels, single ones first.
func (k *tailKernels) prepare(gl *layered.GraphLayer, p []float64, transposed bool) {
	n, contexts, single := gl.Labels, gl.Contexts, gl.Single
	tail := n - single
	width, across := up(tail, tileColumns), up(contexts, tileColumns)
	k.single = layered.Resize(k.single, contexts*(single+1))
	k.p = layered.Resize(k.p, contexts*width)
	for a := range contexts {
		row := p[a*n : (a+1)*n]
		copy(k.single[a*(single+1):], row[:single])
		k.single[a*(single+1)+single] = 0
		if !transposed {
			clear(k.p[a*width+copy(k.p[a*width:], row[single:]) : (a+1)*width])
		}
	}
	k.m = layered.Resize(k.m, tailBlock*up(contexts, tileRows))
	k.to = layered.Resize(k.to, tailBlock*width)
	if !transposed {
		return
	}
	k.pT = layered.Resize(k.pT, tail*across)
	clear(k.pT)
	const side = 16
	for a0 := 0; a0 < contexts; a0 += side {
		for d0 := 0; d0 < tail; d0 += side {
			for a := a0; a < min(a0+side, contexts); a++ {
				for d := d0; d < min(d0+side, tail); d++ {
					k.pT[d*across+a] = p[a*n+single+d]
				}
			}
		}
	}
}

// gather sums the flow into targets g to g+n-1 by context.
func (k *tailKernels) gather(gl *layered.GraphLayer, g, n int, a, w []float64) {
	t, wide := gl.Tails, up(gl.Contexts, tileRows)
	clear(k.m[:up(n, tileRows)*wide])
	mask := uint32(1)<<gl.Shift - 1
	for i := range n {
		m := k.m[i*wide:][:wide]
		for _, r := range t.Rows[t.First[g+i]:t.First[g+i+1]] {
			y := w[gl.Narrow[int(r)*gl.Classes+gl.Single]&mask]
			s, e := gl.Start[r], gl.Start[r+1]
			ctx := gl.Ctx[s:e]
			for j, x := range a[s:e] {
				m[ctx[j]] += y * x
			}
		}
	}
}

// forward is the function forward for layers that fit.
func (k *tailKernels) forward(rows *rowKernels, s *step) {
	gl, a, b, w := s.gl, s.alpha.x, s.next.x, s.w.x
	k.prepare(gl, s.p.x, false)
	small, of := gl.WithoutTail(), *s
	of.gl, of.p.x = &small, k.single
	rows.forward(&of)
	tail, t := gl.Labels-gl.Single, gl.Tails
	width, wide := up(tail, tileColumns), up(gl.Contexts, tileRows)
	for g := 0; g < len(t.At); g += tailBlock {
		n := min(tailBlock, len(t.At)-g)
		k.gather(gl, g, n, a, w)
		k.product(matrix{k.to, width, 1}, matrix{k.m, wide, 1}, matrix{k.p, width, 1}, up(n, tileRows), width,
			gl.Contexts, false)
		for i := range n {
			// Of all arcs these alone lead there, but for an excluded one: to entry 0, with weight
			// 0.
			to := b[t.At[g+i]:][:tail]
			for d, x := range k.to[i*width:][:tail] {
				to[d] += x
			}
		}
	}
}

// backward is the function backward for layers that fit.
func (k *tailKernels) backward(rows *rowKernels, s *step) {
	gl, a, beta, betaN, w, x := s.gl, s.alpha.x, s.beta.x, s.next.x, s.w.x, s.flow.x
	k.prepare(gl, s.p.x, true)
	small, of := gl.WithoutTail(), *s
	n, single, contexts := gl.Labels, gl.Single, gl.Contexts
	k.x = layered.Resize(k.x, contexts*(single+1))
	clear(k.x)
	of.gl, of.p.x, of.flow.x = &small, k.single, k.x
	rows.backward(&of)
	tail, t := n-single, gl.Tails
	width, across, wide := up(tail, tileColumns), up(contexts, tileColumns), up(contexts, tileRows)
	k.y = layered.Resize(k.y, tailBlock*across)
	k.flow = layered.Resize(k.flow, wide*width)
	clear(k.flow)
	mask := uint32(1)<<gl.Shift - 1
	for g := 0; g < len(t.At); g += tailBlock {
		n := min(tailBlock, len(t.At)-g)
		k.gather(gl, g, n, a, w)
		clear(k.to[:up(n, tileRows)*width])
		for i := range n {
			copy(k.to[i*width:][:tail], betaN[t.At[g+i]:])
		}
		k.product(matrix{k.y, across, 1}, matrix{k.to, width, 1}, matrix{k.pT, across, 1}, up(n, tileRows),
			across, tail, false)
		k.product(matrix{k.flow, width, 1}, matrix{k.m, 1, wide}, matrix{k.to, width, 1}, wide, width, n,
			true)
		for i := range n {
			y := k.y[i*across:][:across]
			for _, r := range t.Rows[t.First[g+i]:t.First[g+i+1]] {
				f := w[gl.Narrow[int(r)*gl.Classes+single]&mask]
				first, end := gl.Start[r], gl.Start[r+1]
				ctx, to := gl.Ctx[first:end], beta[first:end]
				for j := range to {
					to[j] += f * y[ctx[j]]
				}
			}
		}
	}
	for c := range contexts {
		row := x[c*n : (c+1)*n]
		copy(row, k.x[c*(single+1):][:single])
		copy(row[single:], k.flow[c*width:][:tail])
	}
}
