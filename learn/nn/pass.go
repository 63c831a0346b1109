package nn

import (
	"fmt"

	"gonum.org/v1/gonum/blas"

	"github.com/tropica-fst/tropica/learn/gemm"
)

// Product stores op(A)·op(B) + beta·C in C, as in BLAS, for matrices in rows.
type Product[T Float] func(tA, tB blas.Transpose, m, n, k int, a []T, lda int, b []T, ldb int,
	beta T, c []T, ldc int)

// Options adjusts NewPass; nil is the same as the zero value.
type Options[T Float] struct {
	Workers int        // goroutines; zero is GOMAXPROCS
	Product Product[T] // what multiplies matrices; nil is gemm.Gemm on Workers
}

// Pass evaluates a network, and the gradient of what a caller makes of its outputs,
// on one batch at a time. It is not for use by several goroutines at once.
type Pass[T Float] struct {
	net     *Network
	most    int // rows
	product Product[T]
	team    *team

	rows   int
	x      []T   // the batch
	y      [][]T // outputs of each layer
	delta  [][]T // derivatives with respect to them; nil for the last layer
	layer  int   // of the loop under way
	params []T
	grad   []T
	// loops bound once, since a closure a batch would be an allocation
	rectify, mask, sum, output func(job int)
	last                       []T // dL/doutputs of the batch
}

// NewPass returns work space for batches of up to most rows. It panics when most is
// not positive, or when most rows of a layer would pass 2^30 elements.
func NewPass[T Float](n *Network, most int, opts *Options[T]) *Pass[T] {
	if opts == nil {
		opts = &Options[T]{}
	}
	if most < 1 {
		panic(fmt.Sprintf("nn: a batch of %d rows", most))
	}
	p := &Pass[T]{net: n, most: most, product: opts.Product, team: newTeam(opts.Workers)}
	if p.product == nil {
		workers := p.team.workers
		p.product = func(tA, tB blas.Transpose, m, n, k int, a []T, lda int, b []T, ldb int, beta T,
			c []T, ldc int) {
			gemm.Gemm(workers, tA, tB, m, n, k, 1, a, lda, b, ldb, beta, c, ldc)
		}
	}
	for l := range n.Layers() {
		size := n.sizes[l+1]
		if most > maxParameters/size {
			panic(fmt.Sprintf("nn: a batch of %d rows makes layer %d larger than %d elements", most,
				l+1, maxParameters))
		}
		p.y = append(p.y, make([]T, most*size))
		if l+1 < n.Layers() {
			p.delta = append(p.delta, make([]T, most*size))
		}
	}
	p.rectify, p.mask, p.sum, p.output = p.rectifyRows, p.maskColumns, p.sumColumns, p.addBias
	return p
}

// Network returns the shape.
func (p *Pass[T]) Network() *Network { return p.net }

// Most returns the largest batch.
func (p *Pass[T]) Most() int { return p.most }

// block is the least number of elements worth a job of its own: some ten
// microseconds, several times what it takes to hand one over.
const block = 1 << 14

// Forward returns the outputs for the first rows rows of x, a matrix in rows as wide
// as the network's inputs. The result lives until the next call; x must stay as it is
// until Backward. It panics when x, params or rows do not fit the network.
func (p *Pass[T]) Forward(params, x []T, rows int) []T {
	n := p.net
	if rows < 0 || rows > p.most {
		panic(fmt.Sprintf("nn: Forward on %d rows, with space for %d", rows, p.most))
	}
	if len(params) != n.Dim() || len(x) < rows*n.Inputs() {
		panic(fmt.Sprintf("nn: Forward with %d parameters, of %d, and %d inputs, of %d", len(params), n.Dim(),
			len(x), rows*n.Inputs()))
	}
	p.rows, p.x, p.params = rows, x[:rows*n.Inputs()], params
	in := p.x
	for l := range n.Layers() {
		size := n.sizes[l+1]
		weights, _ := Layer(n, l, params)
		out := p.y[l][:rows*size]
		p.product(blas.NoTrans, blas.NoTrans, rows, size, n.sizes[l], in, n.sizes[l], weights, size, 0, out, size)
		p.layer = l
		f := p.rectify
		if l+1 == n.Layers() {
			f = p.output
		}
		p.team.run(p.rowJobs(size), f)
		in = out
	}
	p.params = nil
	return in
}

// rowsOf returns the rows of a job over a matrix of the given width, and rowJobs the
// number of such jobs.
func (p *Pass[T]) rowsOf(job, width int) (from, to int) {
	each := max(1, block/width)
	return job * each, min(p.rows, (job+1)*each)
}

func (p *Pass[T]) rowJobs(width int) int {
	each := max(1, block/width)
	return (p.rows + each - 1) / each
}

func (p *Pass[T]) rectifyRows(job int) {
	size := p.net.sizes[p.layer+1]
	_, biases := Layer(p.net, p.layer, p.params)
	from, to := p.rowsOf(job, size)
	for i := from; i < to; i++ {
		biasReLU(p.y[p.layer][i*size:(i+1)*size], biases)
	}
}

func (p *Pass[T]) addBias(job int) {
	size := p.net.sizes[p.layer+1]
	_, biases := Layer(p.net, p.layer, p.params)
	from, to := p.rowsOf(job, size)
	for i := from; i < to; i++ {
		row := p.y[p.layer][i*size : (i+1)*size]
		for j, b := range biases {
			row[j] += b
		}
	}
}

// Backward stores in grad the gradient, with respect to the parameters, of a function of the
// outputs of the last Forward. dOutputs holds its derivative with respect to these outputs (as many
// rows). params must be those of that Forward. The gradient is the sum over rows; for the mean,
// divide dOutputs. dOutputs stays as it is.
func (p *Pass[T]) Backward(params, dOutputs, grad []T) {
	n := p.net
	last := n.Layers() - 1
	if len(params) != n.Dim() || len(grad) != n.Dim() || len(dOutputs) < p.rows*n.Outputs() {
		panic(fmt.Sprintf("nn: Backward with %d parameters and a gradient of %d, of %d, and %d derivatives, of %d",
			len(params), len(grad), n.Dim(), len(dOutputs), p.rows*n.Outputs()))
	}
	p.grad, p.last = grad, dOutputs[:p.rows*n.Outputs()]
	delta := p.last
	for l := last; l >= 0; l-- {
		size, inputs := n.sizes[l+1], n.sizes[l]
		in := p.x
		if l > 0 {
			in = p.y[l-1][:p.rows*inputs]
		}
		p.layer = l
		f := p.mask
		if l == last {
			f = p.sum
		}
		p.team.run(p.columnJobs(size), f)
		weights, _ := Layer(n, l, params)
		dWeights, _ := Layer(n, l, grad)
		p.product(blas.Trans, blas.NoTrans, inputs, size, p.rows, in, inputs, delta, size, 0, dWeights, size)
		if l > 0 {
			d := p.delta[l-1][:p.rows*inputs]
			p.product(blas.NoTrans, blas.Trans, p.rows, inputs, size, delta, size, weights, size, 0, d, inputs)
			delta = d
		}
	}
	p.grad, p.last = nil, nil
}

// Biases gather over rows, so that jobs are stripes of columns there.

func (p *Pass[T]) stripe() int { return max(64, block/max(1, p.rows)/64*64) }

func (p *Pass[T]) columnJobs(width int) int { return (width + p.stripe() - 1) / p.stripe() }

func (p *Pass[T]) maskColumns(job int) {
	size := p.net.sizes[p.layer+1]
	from, to := job*p.stripe(), min(size, (job+1)*p.stripe())
	_, biases := Layer(p.net, p.layer, p.grad)
	clear(biases[from:to])
	for i := range p.rows {
		maskReLU(p.delta[p.layer][i*size+from:i*size+to], p.y[p.layer][i*size+from:i*size+to], biases[from:to])
	}
}

func (p *Pass[T]) sumColumns(job int) {
	size := p.net.sizes[p.layer+1]
	from, to := job*p.stripe(), min(size, (job+1)*p.stripe())
	_, biases := Layer(p.net, p.layer, p.grad)
	biases = biases[from:to]
	clear(biases)
	for i := range p.rows {
		for j, d := range p.last[i*size+from : i*size+to] {
			biases[j] += d
		}
	}
}
