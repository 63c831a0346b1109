package encoder

import (
	"math/rand/v2"

	"github.com/tropica-fst/tropica/learn/gemm"
)

// Float is what layers compute in. Networks are trained in float32.
type Float = gemm.Float

// Network computes scores for the positions of sequences of type X, such as []int32 for letters or
// Tokens for words. It holds no parameters: they are one flat vector. A network is immutable, and
// may be used by several goroutines.
type Network[X any] interface {
	Dim() int                            // parameters
	Outputs() int                        // scores of a position
	Start(params []float32, seed uint64) // stores the parameters where training starts
	NewPass() Pass[X]                    // returns work space for one goroutine
}

// Pass evaluates a network on one batch at a time, for one goroutine.
type Pass[X any] interface {
	// Forward returns the scores of all positions of the batch, sequence after sequence, a row of
	// Outputs for each. They live until the next call. drop is the source of dropout; nil is
	// prediction, without dropout. The scores of a sequence do not depend on the rest of the
	// batch, but for dropout.
	Forward(params []float32, batch []X, drop *rand.Rand) (scores []float32)
	// Backward adds to grad the gradient of a function of the scores of the last Forward, whose
	// derivatives by these scores are dScores. params and the batch must be as they were.
	Backward(params, dScores, grad []float32)
}

// Sparse is a Network with many parameters at the front, Sparse() of them. A batch touches few:
// tables of words. Its passes are Touching. Steps on these parameters are lazy, as on the extra
// ones.
type Sparse interface{ Sparse() int }

// Touching is a Pass, or a Source, that visits the parameters below Sparse that the last Forward
// read: at … at+n-1. It may visit some more than once.
type Touching interface{ Touched(visit func(at, n int)) }

// Source turns a batch of sequences into rows, for the layers behind it. It belongs to one
// goroutine, and keeps what Backward needs of the last Forward.
type Source[X any, T Float] interface {
	Dim() int     // parameters
	Outputs() int // columns of the rows
	// Marks returns how many rows the source adds at each end of a sequence. New cuts them off
	// before the scores.
	Marks() int
	Start(params []T, rng *rand.Rand)
	// Forward stores the boundaries of the rows in b.Starts, and returns the rows.
	Forward(params []T, batch []X, b *Batch) []T
	Backward(params, dy, grad []T) // adds to grad
}

// Layer maps the rows of a ragged batch to as many rows. It belongs to one goroutine, and keeps
// what Backward needs of the last Forward. What it returns lives until its next call; what it is
// given must stay as it is until Backward, and is never changed.
type Layer[T Float] interface {
	Dim() int     // parameters
	Inputs() int  // columns of the rows given
	Outputs() int // columns of the rows returned
	Start(params []T, rng *rand.Rand)
	Forward(params, x []T, b *Batch) []T
	// Backward adds to grad the gradient by the parameters, and returns the one by x, where dy is
	// the one by the rows returned.
	Backward(params, dy, grad []T, b *Batch) (dx []T)
}

// Batch describes rows that are laid end to end: sequence i has rows Starts[i] to Starts[i+1].
type Batch struct {
	Starts []int
	Drop   *rand.Rand // source of dropout; nil for none
}

// Rows returns the number of rows.
func (b *Batch) Rows() int { return b.Starts[len(b.Starts)-1] }

// New returns the network of a source, layers behind it, and a last linear layer of as many scores
// as asked for. build makes a source and a layer; it is called for every pass, for its work space,
// and must always make the same. Scores start near zero.
func New[X any](outputs int, build func() (Source[X, float32], Layer[float32])) Network[X] {
	return newBuilt(outputs, build)
}

func newBuilt[X any, T Float](outputs int, build func() (Source[X, T], Layer[T])) *built[X, T] {
	return &built[X, T]{outputs: outputs, build: build, shape: newPass(outputs, build)}
}

type built[X any, T Float] struct {
	outputs int
	build   func() (Source[X, T], Layer[T])
	shape   *pass[X, T] // never evaluated
}

func (n *built[X, T]) Dim() int     { return n.shape.dim() }
func (n *built[X, T]) Outputs() int { return n.outputs }

// Start implements Network.
func (n *built[X, T]) Start(params []T, seed uint64) {
	p := n.shape
	rng := rand.New(rand.NewPCG(seed, 0x656e636f646572))
	source, body, head := p.parts(params[:p.dim()])
	p.source.Start(source, rng)
	p.body.Start(body, rng)
	p.head.Start(head, rng)
}

// Sparse implements Sparse, for sources that do.
func (n *built[X, T]) Sparse() int {
	if s, ok := any(n.shape.source).(Sparse); ok {
		return s.Sparse()
	}
	return 0
}

// NewPass implements Network.
func (n *built[X, T]) NewPass() Pass[X] { return any(newPass(n.outputs, n.build)).(Pass[X]) }

// pass is a source, layers, and the last layer on the rows that are not marks.
type pass[X any, T Float] struct {
	source    Source[X, T]
	body      Layer[T]
	head      *Linear[T]
	all, kept Batch
	rows, d   []T
}

func newPass[X any, T Float](outputs int, build func() (Source[X, T], Layer[T])) *pass[X, T] {
	source, body := build()
	return &pass[X, T]{source: source, body: body, head: NewLinear[T](body.Outputs(), outputs)}
}

func (p *pass[X, T]) dim() int { return p.source.Dim() + p.body.Dim() + p.head.Dim() }

func (p *pass[X, T]) parts(v []T) (source, body, head []T) {
	n, m := p.source.Dim(), p.source.Dim()+p.body.Dim()
	return v[:n:n], v[n:m:m], v[m : m+p.head.Dim()]
}

// Forward implements Pass.
func (p *pass[X, T]) Forward(params []T, batch []X, drop *rand.Rand) []T {
	source, body, head := p.parts(params)
	p.all.Drop, p.kept.Drop = drop, drop
	h := p.body.Forward(body, p.source.Forward(source, batch, &p.all), &p.all)
	if m := p.source.Marks(); m > 0 {
		h = p.cut(h, m)
	} else {
		p.kept.Starts = p.all.Starts
	}
	return p.head.Forward(head, h, &p.kept)
}

// Touched implements Touching.
func (p *pass[X, T]) Touched(visit func(at, n int)) { any(p.source).(Touching).Touched(visit) }

// cut returns the rows without the first and last m of each sequence.
func (p *pass[X, T]) cut(h []T, m int) []T {
	n, w := len(p.all.Starts)-1, p.body.Outputs()
	p.kept.Starts = append(p.kept.Starts[:0], 0)
	p.rows = grown(p.rows, (p.all.Rows()-2*m*n)*w)
	at := 0
	for i := range n {
		rows := h[(p.all.Starts[i]+m)*w : (p.all.Starts[i+1]-m)*w]
		at += copy(p.rows[at:], rows)
		p.kept.Starts = append(p.kept.Starts, at/w)
	}
	return p.rows
}

// Backward implements Pass.
func (p *pass[X, T]) Backward(params, dScores, grad []T) {
	source, body, head := p.parts(params)
	dSource, dBody, dHead := p.parts(grad)
	d := p.head.Backward(head, dScores, dHead, &p.kept)
	if m := p.source.Marks(); m > 0 {
		w := p.body.Outputs()
		p.d = grown(p.d, p.all.Rows()*w)
		clear(p.d)
		for i := range len(p.all.Starts) - 1 {
			copy(p.d[(p.all.Starts[i]+m)*w:], d[p.kept.Starts[i]*w:p.kept.Starts[i+1]*w])
		}
		d = p.d
	}
	p.source.Backward(source, p.body.Backward(body, d, dBody, &p.all), dSource)
}

// grown returns a slice of n elements, the one given where it has room.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}
