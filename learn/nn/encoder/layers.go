package encoder

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"

	"github.com/tropica-fst/tropica/learn/gemm"
)

// multiply stores op(A)·op(B) + beta·C in C, an m by n matrix, on the caller's goroutine.
func multiply[T Float](tA, tB blas.Transpose, m, n, k int, a, b []T, beta T, c []T) {
	lda, ldb := k, n
	if tA == blas.Trans {
		lda = m
	}
	if tB == blas.Trans {
		ldb = k
	}
	gemm.Gemm(1, tA, tB, m, n, k, 1, a, lda, b, ldb, beta, c, n)
}

// normal fills v with draws of the deviation.
func normal[T Float](v []T, deviation float64, rng *rand.Rand) {
	for i := range v {
		v[i] = T(deviation * rng.NormFloat64())
	}
}

// uniform fills v with draws between -bound and bound.
func uniform[T Float](v []T, bound float64, rng *rand.Rand) {
	for i := range v {
		v[i] = T(bound * (2*rng.Float64() - 1))
	}
}

// Linear is x·W + b for each row. Its parameters are W, in rows of outputs, and b. They start
// uniform within 1/√inputs.
type Linear[T Float] struct {
	in, out  int
	x, y, dx []T
}

// NewLinear returns a linear layer.
func NewLinear[T Float](inputs, outputs int) *Linear[T] {
	positive("NewLinear", inputs, outputs)
	return &Linear[T]{in: inputs, out: outputs}
}

func positive(name string, sizes ...int) {
	for _, n := range sizes {
		if n < 1 {
			panic(fmt.Sprintf("encoder: %s with a size of %d", name, n))
		}
	}
}

func (l *Linear[T]) Dim() int     { return (l.in + 1) * l.out }
func (l *Linear[T]) Inputs() int  { return l.in }
func (l *Linear[T]) Outputs() int { return l.out }

// Start implements Layer.
func (l *Linear[T]) Start(params []T, rng *rand.Rand) {
	uniform(params, 1/math.Sqrt(float64(l.in)), rng)
}

// Forward implements Layer.
func (l *Linear[T]) Forward(params, x []T, b *Batch) []T {
	rows := b.Rows()
	l.x, l.y = x, grown(l.y, rows*l.out)
	w, bias := params[:l.in*l.out], params[l.in*l.out:]
	fillRows(l.y, bias)
	multiply(blas.NoTrans, blas.NoTrans, rows, l.out, l.in, x, w, 1, l.y)
	return l.y
}

// Backward implements Layer.
func (l *Linear[T]) Backward(params, dy, grad []T, b *Batch) []T {
	rows := b.Rows()
	w, dw, db := params[:l.in*l.out], grad[:l.in*l.out], grad[l.in*l.out:]
	l.dx = grown(l.dx, rows*l.in)
	multiply(blas.Trans, blas.NoTrans, l.in, l.out, rows, l.x, dy, 1, dw)
	addRows(db, dy)
	multiply(blas.NoTrans, blas.Trans, rows, l.in, l.out, dy, w, 0, l.dx)
	return l.dx
}

// fillRows stores bias in every row of y.
func fillRows[T Float](y, bias []T) {
	for at := 0; at < len(y); at += len(bias) {
		copy(y[at:], bias)
	}
}

// addRows adds every row of d to sum.
func addRows[T Float](sum, d []T) {
	for at := 0; at < len(d); at += len(sum) {
		add(sum, d[at:at+len(sum)])
	}
}

// ReLU is max(x, 0).
type ReLU[T Float] struct {
	width int
	y, dx []T
}

// NewReLU returns a rectifier of rows of the given width.
func NewReLU[T Float](width int) *ReLU[T] {
	positive("NewReLU", width)
	return &ReLU[T]{width: width}
}

func (l *ReLU[T]) Dim() int              { return 0 }
func (l *ReLU[T]) Inputs() int           { return l.width }
func (l *ReLU[T]) Outputs() int          { return l.width }
func (l *ReLU[T]) Start([]T, *rand.Rand) {}

// Forward implements Layer.
func (l *ReLU[T]) Forward(_, x []T, b *Batch) []T {
	l.y = grown(l.y, b.Rows()*l.width)
	rectify(l.y, x[:len(l.y)])
	return l.y
}

// Backward implements Layer.
func (l *ReLU[T]) Backward(_, dy, _ []T, b *Batch) []T {
	l.dx = grown(l.dx, len(l.y))
	maskPositive(l.dx, dy[:len(l.y)], l.y)
	return l.dx
}

// Dropout sets a share of the entries to zero in training, and divides the others by what is left
// (G. Hinton et al., 2012). Without a source of dropout, and with a share of 0, it does nothing.
type Dropout[T Float] struct {
	width int
	share float64
	mask  []T // nil when the last pass dropped nothing
	y, dx []T
}

// NewDropout returns dropout of rows of the given width. It panics unless 0 ≤ share < 1.
func NewDropout[T Float](width int, share float64) *Dropout[T] {
	positive("NewDropout", width)
	if !(share >= 0 && share < 1) {
		panic(fmt.Sprintf("encoder: NewDropout with a share of %v", share))
	}
	return &Dropout[T]{width: width, share: share}
}

func (l *Dropout[T]) Dim() int              { return 0 }
func (l *Dropout[T]) Inputs() int           { return l.width }
func (l *Dropout[T]) Outputs() int          { return l.width }
func (l *Dropout[T]) Start([]T, *rand.Rand) {}

// Forward implements Layer.
func (l *Dropout[T]) Forward(_, x []T, b *Batch) []T {
	if b.Drop == nil || l.share == 0 {
		l.mask = l.mask[:0]
		return x
	}
	n := b.Rows() * l.width
	l.mask, l.y = grown(l.mask, n), grown(l.y, n)
	dropMask(l.mask, l.share, b.Drop)
	product(l.y, x[:n], l.mask)
	return l.y
}

// Backward implements Layer.
func (l *Dropout[T]) Backward(_, dy, _ []T, b *Batch) []T {
	if len(l.mask) == 0 {
		return dy
	}
	l.dx = grown(l.dx, len(l.mask))
	product(l.dx, dy[:len(l.mask)], l.mask)
	return l.dx
}

// dropMask stores 0 with probability share, rounded to a multiple of 2^-16, and else the inverse of
// the other probability. One draw of drop seeds a generator that gives four entries at a time
// (SplitMix64; G. Steele, D. Lea and C. Flood, OOPSLA 2014).
func dropMask[T Float](mask []T, share float64, drop *rand.Rand) {
	limit := uint64(math.Round(share * (1 << 16)))
	keep := T(1 / (1 - float64(limit)/(1<<16)))
	values := [2]T{0, keep}
	state := drop.Uint64()
	for at := 0; at < len(mask); at += 4 {
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		if at+4 <= len(mask) {
			m := mask[at : at+4 : at+4]
			// The sign bit of limit-1-z tells z ≥ limit.
			m[0] = values[(limit-1-z&0xffff)>>63]
			m[1] = values[(limit-1-z>>16&0xffff)>>63]
			m[2] = values[(limit-1-z>>32&0xffff)>>63]
			m[3] = values[(limit-1-z>>48)>>63]
			continue
		}
		for i := at; i < len(mask); i++ {
			mask[i] = values[(limit-1-z&0xffff)>>63]
			z >>= 16
		}
	}
}

// LayerNorm subtracts the mean of a row, divides by its standard deviation, and then scales and
// shifts each column (J. Ba, J. Kiros and G. Hinton, 2016). Its parameters are the scales, which
// start at 1, and the shifts, which start at 0.
type LayerNorm[T Float] struct {
	width              int
	normal, inverse, y []T // normal: rows of mean 0 and deviation 1; inverse: of the deviations
	dx                 []T
}

// NewLayerNorm returns a layer that normalises rows of the given width.
func NewLayerNorm[T Float](width int) *LayerNorm[T] {
	positive("NewLayerNorm", width)
	return &LayerNorm[T]{width: width}
}

func (l *LayerNorm[T]) Dim() int     { return 2 * l.width }
func (l *LayerNorm[T]) Inputs() int  { return l.width }
func (l *LayerNorm[T]) Outputs() int { return l.width }

// Start implements Layer.
func (l *LayerNorm[T]) Start(params []T, _ *rand.Rand) {
	for i := range l.width {
		params[i], params[l.width+i] = 1, 0
	}
}

// Forward implements Layer.
func (l *LayerNorm[T]) Forward(params, x []T, b *Batch) []T {
	w, rows := l.width, b.Rows()
	l.normal, l.y, l.inverse = grown(l.normal, rows*w), grown(l.y, rows*w), grown(l.inverse, rows)
	scale, shift := params[:w], params[w:]
	for i := range rows {
		n := l.normal[i*w : (i+1)*w]
		l.inverse[i] = normalise(n, x[i*w:(i+1)*w])
		scaleShift(l.y[i*w:(i+1)*w], n, scale, shift)
	}
	return l.y
}

// Backward implements Layer.
func (l *LayerNorm[T]) Backward(params, dy, grad []T, b *Batch) []T {
	w, rows := l.width, b.Rows()
	l.dx = grown(l.dx, rows*w)
	for i := range rows {
		normaliseBack(l.dx[i*w:(i+1)*w], dy[i*w:(i+1)*w], l.normal[i*w:(i+1)*w], params[:w], grad[:w], grad[w:],
			l.inverse[i])
	}
	return l.dx
}

// Conv1D is a convolution of odd width within each sequence, beyond whose ends there are zeros: row
// t is the sum over j of x[t+j-width/2]·W[j], plus b. Its parameters are the W[j], each in rows of
// outputs, and b. They start uniform within 1/√(width·inputs).
type Conv1D[T Float] struct {
	in, out, reach int
	x              []T
	y, dx, columns []T
}

// NewConv1D returns a convolution. It panics unless width is odd.
func NewConv1D[T Float](inputs, outputs, width int) *Conv1D[T] {
	positive("NewConv1D", inputs, outputs, width)
	if width%2 == 0 {
		panic(fmt.Sprintf("encoder: NewConv1D with a width of %d, which is not odd", width))
	}
	return &Conv1D[T]{in: inputs, out: outputs, reach: width}
}

func (l *Conv1D[T]) Dim() int     { return (l.reach*l.in + 1) * l.out }
func (l *Conv1D[T]) Inputs() int  { return l.in }
func (l *Conv1D[T]) Outputs() int { return l.out }

// Start implements Layer.
func (l *Conv1D[T]) Start(params []T, rng *rand.Rand) {
	uniform(params, 1/math.Sqrt(float64(l.reach*l.in)), rng)
}

// stretch is the number of rows whose windows are laid out at a time: enough for the products to be
// fast, and a bounded amount of memory for sequences of any length.
const stretch = 512

// windows calls f for stretches of rows, from ≤ t < to. first is the sequence of row from.
func windows(b *Batch, f func(first, from, to int)) {
	first, rows := 0, b.Rows()
	for from := 0; from < rows; from += stretch {
		for b.Starts[first+1] <= from {
			first++
		}
		f(first, from, min(rows, from+stretch))
	}
}

// eachWindow calls f for each position t, from ≤ t < to, with the rows around it that are in its
// sequence: rows lo ≤ u < hi. Row lo is at offset j of the window.
func (l *Conv1D[T]) eachWindow(b *Batch, seq, from, to int, f func(t, j, lo, hi int)) {
	half := l.reach / 2
	for t := from; t < to; t++ {
		for b.Starts[seq+1] <= t {
			seq++
		}
		lo, hi := max(b.Starts[seq], t-half), min(b.Starts[seq+1], t+half+1)
		f(t, lo-(t-half), lo, hi)
	}
}

// layOut stores the windows of rows from … to-1 in columns.
func (l *Conv1D[T]) layOut(b *Batch, first, from, to int) []T {
	w := l.reach * l.in
	l.columns = grown(l.columns, (to-from)*w)
	l.eachWindow(b, first, from, to, func(t, j, lo, hi int) {
		row := l.columns[(t-from)*w : (t-from+1)*w]
		clear(row[:j*l.in])
		copied := copy(row[j*l.in:], l.x[lo*l.in:hi*l.in])
		clear(row[j*l.in+copied:])
	})
	return l.columns
}

// Forward implements Layer.
func (l *Conv1D[T]) Forward(params, x []T, b *Batch) []T {
	w := l.reach * l.in
	l.x, l.y = x, grown(l.y, b.Rows()*l.out)
	fillRows(l.y, params[w*l.out:])
	windows(b, func(first, from, to int) {
		columns := l.layOut(b, first, from, to)
		multiply(blas.NoTrans, blas.NoTrans, to-from, l.out, w, columns, params[:w*l.out], 1,
			l.y[from*l.out:to*l.out])
	})
	return l.y
}

// Backward implements Layer.
func (l *Conv1D[T]) Backward(params, dy, grad []T, b *Batch) []T {
	w := l.reach * l.in
	l.dx = grown(l.dx, b.Rows()*l.in)
	clear(l.dx)
	addRows(grad[w*l.out:], dy[:b.Rows()*l.out])
	windows(b, func(first, from, to int) {
		d := dy[from*l.out : to*l.out]
		columns := l.layOut(b, first, from, to)
		multiply(blas.Trans, blas.NoTrans, w, l.out, to-from, columns, d, 1, grad[:w*l.out])
		multiply(blas.NoTrans, blas.Trans, to-from, w, l.out, d, params[:w*l.out], 0, columns)
		l.eachWindow(b, first, from, to, func(t, j, lo, hi int) {
			at := (t-from)*w + j*l.in
			add(l.dx[lo*l.in:hi*l.in], columns[at:at+(hi-lo)*l.in])
		})
	})
	return l.dx
}

// Residual is x + f(x) for an inner layer f.
type Residual[T Float] struct {
	inner Layer[T]
	y, dx []T
}

// NewResidual returns a residual layer. It panics unless inner has as many outputs as inputs.
func NewResidual[T Float](inner Layer[T]) *Residual[T] {
	if inner.Inputs() != inner.Outputs() {
		panic(fmt.Sprintf("encoder: NewResidual of a layer of %d inputs and %d outputs", inner.Inputs(),
			inner.Outputs()))
	}
	return &Residual[T]{inner: inner}
}

func (l *Residual[T]) Dim() int     { return l.inner.Dim() }
func (l *Residual[T]) Inputs() int  { return l.inner.Inputs() }
func (l *Residual[T]) Outputs() int { return l.inner.Outputs() }

// Start implements Layer.
func (l *Residual[T]) Start(params []T, rng *rand.Rand) { l.inner.Start(params, rng) }

// Forward implements Layer.
func (l *Residual[T]) Forward(params, x []T, b *Batch) []T {
	n := b.Rows() * l.Inputs()
	l.y = grown(l.y, n)
	sum(l.y, x[:n], l.inner.Forward(params, x, b)[:n])
	return l.y
}

// Backward implements Layer.
func (l *Residual[T]) Backward(params, dy, grad []T, b *Batch) []T {
	n := b.Rows() * l.Inputs()
	l.dx = grown(l.dx, n)
	sum(l.dx, dy[:n], l.inner.Backward(params, dy, grad, b)[:n])
	return l.dx
}

// Stack is layers one after the other, their parameters in this order.
type Stack[T Float] struct{ layers []Layer[T] }

// NewStack returns a stack of at least one layer. It panics when one has another number of outputs
// than the next of inputs.
func NewStack[T Float](layers ...Layer[T]) *Stack[T] {
	if len(layers) == 0 {
		panic("encoder: NewStack of no layers")
	}
	for i, l := range layers[1:] {
		if n := layers[i].Outputs(); n != l.Inputs() {
			panic(fmt.Sprintf("encoder: NewStack: layer %d has %d outputs, the next %d inputs", i, n, l.Inputs()))
		}
	}
	return &Stack[T]{layers}
}

func (s *Stack[T]) Dim() int {
	n := 0
	for _, l := range s.layers {
		n += l.Dim()
	}
	return n
}
func (s *Stack[T]) Inputs() int  { return s.layers[0].Inputs() }
func (s *Stack[T]) Outputs() int { return s.layers[len(s.layers)-1].Outputs() }

// Start implements Layer.
func (s *Stack[T]) Start(params []T, rng *rand.Rand) {
	for _, l := range s.layers {
		l.Start(params[:l.Dim()], rng)
		params = params[l.Dim():]
	}
}

// Forward implements Layer.
func (s *Stack[T]) Forward(params, x []T, b *Batch) []T {
	for _, l := range s.layers {
		x = l.Forward(params[:l.Dim()], x, b)
		params = params[l.Dim():]
	}
	return x
}

// Backward implements Layer.
func (s *Stack[T]) Backward(params, dy, grad []T, b *Batch) []T {
	at := s.Dim()
	for i := len(s.layers) - 1; i >= 0; i-- {
		l := s.layers[i]
		from := at - l.Dim()
		dy = l.Backward(params[from:at], dy, grad[from:at], b)
		at = from
	}
	return dy
}
