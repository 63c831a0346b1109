package losses

// Sweeps of order 2 over large alphabets.
//
// Most symbols of a large alphabet are not in the reference. They are one class, the tail, and cost
// D² a column. The columns that they lead to are far fewer than the columns they come from, and share
// no flow with others: with M[g, a] the sum of w·alpha over the entries of context a whose column has
// its tail arc to target g,
//
//	alpha'[g, d] = Σ_a M[g, a] P[a, d]          forward, for d in the tail
//	beta[i]     += w Y[g, a_i],  Y = beta' Pᵀ   backward, for the entries of g's columns
//	X[a, d]     += Σ_g M[g, a] beta'[g, d]
//
// which are products of matrices, done by tiles in registers. The symbols of the reference go through
// the kernels of rows, with a column of zeros in place of the tail.

// tails is the tail arcs of a layer by their targets.
type tails struct {
	at    []uint32 // by target: its first entry in the next layer
	first []uint32 // targets + 1: the first of its rows in rows
	rows  []uint32 // by target
}

// fewestTail is the least size of a tail for which products pay.
const fewestTail = 24

// newTails returns nil where products do not pay.
func newTails(gl *graphLayer) *tails {
	tail := gl.labels - gl.single
	if !gl.trailing || gl.narrow == nil || gl.single+1 != gl.classes || tail < fewestTail || len(gl.start) < 2 {
		return nil
	}
	n := len(gl.start) - 1
	t := &tails{rows: make([]uint32, n)}
	target, number := make([]uint32, n), map[uint32]uint32{}
	for r := range n {
		to := gl.narrow[r*gl.classes+gl.single] >> gl.shift
		g, ok := number[to]
		if !ok {
			g = uint32(len(t.at))
			number[to] = g
			t.at = append(t.at, to)
		}
		target[r] = g
	}
	t.first = make([]uint32, len(t.at)+1)
	for _, g := range target {
		t.first[g+1]++
	}
	for g := range t.at {
		t.first[g+1] += t.first[g]
	}
	fill := make([]uint32, len(t.at))
	copy(fill, t.first)
	for r, g := range target {
		t.rows[fill[g]] = uint32(r)
		fill[g]++
	}
	return t
}

func (t *tails) bytes() int64 { return 4 * int64(len(t.at)+len(t.first)+len(t.rows)) }

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
func (k *tailKernels) fits(gl *graphLayer) bool { return useLanes && gl.tails != nil }

// product stores A·B in c, or adds it: rows and columns are whole tiles, and element (i, j) of A is
// a[i·rowA + j·stepA].
func (k *tailKernels) product(rows, columns, depth int, a []float64, rowA, stepA int, b []float64, rowB int, c []float64, rowC int, add bool) {
	k.args = tileArgs{rowA: 8 * rowA, stepA: 8 * stepA, rowB: 8 * rowB, rowC: 8 * rowC, k: depth}
	if add {
		k.args.add = 1
	}
	for j := 0; j < columns; j += tileColumns {
		for i := 0; i < rows; i += tileRows {
			k.args.a, k.args.b, k.args.c = &a[i*rowA], &b[j], &c[i*rowC+j]
			tile512(&k.args)
		}
	}
	k.args = tileArgs{}
}

// prepare lays out P, which has rows of n labels, single ones first.
func (k *tailKernels) prepare(gl *graphLayer, p []float64, transposed bool) {
	n, contexts, single := gl.labels, gl.contexts, gl.single
	tail := n - single
	width, across := up(tail, tileColumns), up(contexts, tileColumns)
	k.single = resize(k.single, contexts*(single+1))
	k.p = resize(k.p, contexts*width)
	for a := range contexts {
		row := p[a*n : (a+1)*n]
		copy(k.single[a*(single+1):], row[:single])
		k.single[a*(single+1)+single] = 0
		if !transposed {
			clear(k.p[a*width+copy(k.p[a*width:], row[single:]) : (a+1)*width])
		}
	}
	k.m = resize(k.m, tailBlock*up(contexts, tileRows))
	k.to = resize(k.to, tailBlock*width)
	if !transposed {
		return
	}
	k.pT = resize(k.pT, tail*across)
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
func (k *tailKernels) gather(gl *graphLayer, g, n int, a, w []float64) {
	t, wide := gl.tails, up(gl.contexts, tileRows)
	clear(k.m[:up(n, tileRows)*wide])
	mask := uint32(1)<<gl.shift - 1
	for i := range n {
		m := k.m[i*wide:][:wide]
		for _, r := range t.rows[t.first[g+i]:t.first[g+i+1]] {
			y := w[gl.narrow[int(r)*gl.classes+gl.single]&mask]
			s, e := gl.start[r], gl.start[r+1]
			ctx := gl.ctx[s:e]
			for j, x := range a[s:e] {
				m[ctx[j]] += y * x
			}
		}
	}
}

func (k *tailKernels) forward(rows *rowKernels, gl *graphLayer, p, a, b, w []float64) {
	k.prepare(gl, p, false)
	small := gl.withoutTail()
	rows.forward(&small, k.single, a, b, w)
	tail, t := gl.labels-gl.single, gl.tails
	width, wide := up(tail, tileColumns), up(gl.contexts, tileRows)
	for g := 0; g < len(t.at); g += tailBlock {
		n := min(tailBlock, len(t.at)-g)
		k.gather(gl, g, n, a, w)
		k.product(up(n, tileRows), width, gl.contexts, k.m, wide, 1, k.p, width, k.to, width, false)
		for i := range n {
			// Of all arcs these alone lead there, but for an excluded one: to entry 0, with weight 0.
			to := b[t.at[g+i]:][:tail]
			for d, x := range k.to[i*width:][:tail] {
				to[d] += x
			}
		}
	}
}

func (k *tailKernels) backward(rows *rowKernels, gl *graphLayer, p, a, beta, betaN, w, x []float64) {
	k.prepare(gl, p, true)
	small := gl.withoutTail()
	n, single, contexts := gl.labels, gl.single, gl.contexts
	k.x = resize(k.x, contexts*(single+1))
	clear(k.x)
	rows.backward(&small, k.single, a, beta, betaN, w, k.x)
	tail, t := n-single, gl.tails
	width, across, wide := up(tail, tileColumns), up(contexts, tileColumns), up(contexts, tileRows)
	k.y = resize(k.y, tailBlock*across)
	k.flow = resize(k.flow, wide*width)
	clear(k.flow)
	mask := uint32(1)<<gl.shift - 1
	for g := 0; g < len(t.at); g += tailBlock {
		n := min(tailBlock, len(t.at)-g)
		k.gather(gl, g, n, a, w)
		clear(k.to[:up(n, tileRows)*width])
		for i := range n {
			copy(k.to[i*width:][:tail], betaN[t.at[g+i]:])
		}
		k.product(up(n, tileRows), across, tail, k.to, width, 1, k.pT, across, k.y, across, false)
		k.product(wide, width, n, k.m, 1, wide, k.to, width, k.flow, width, true)
		for i := range n {
			y := k.y[i*across:][:across]
			for _, r := range t.rows[t.first[g+i]:t.first[g+i+1]] {
				f := w[gl.narrow[int(r)*gl.classes+single]&mask]
				s, e := gl.start[r], gl.start[r+1]
				ctx, to := gl.ctx[s:e], beta[s:e]
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

// withoutTail returns the layer with one label in place of the tail.
func (gl *graphLayer) withoutTail() graphLayer {
	small := *gl
	small.labels, small.single = gl.classes, gl.classes
	return small
}
