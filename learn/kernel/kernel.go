package kernel

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/run"
)

// Kernel is a positive semidefinite function of two examples of collections P.
type Kernel[P any] interface {
	// Name identifies the kernel with its constants, in reports and files.
	Name() string
	// Len returns the number of examples of x.
	Len(x P) int
	// Between makes the kernel ready for two collections, which must stay as they are. It
	// does once what would be done for each block. The error says what does not fit.
	Between(x, y P) (Blocks, error)
	// Diagonal returns k(x_i, x_i) of every example.
	Diagonal(x P) ([]float64, error)
}

// Blocks stores k(x_i, y_j) for i0 ≤ i < i1 and j0 ≤ j < j1 in dst, in rows of stride
// numbers. It is called by several goroutines at once. Each value depends on its own two
// examples alone: it has the same bits in every block.
type Blocks func(dst []float64, stride, i0, i1, j0, j1 int)

// tile is the side of the blocks that cross matrices are made of.
const tile = 512

// tileOf is the side for a Gram matrix of side n: large, since rows are packed anew for each
// block, but enough of them for several workers.
func tileOf(n int) int { return min(1024, max(128, (n/6+63)/64*64)) }

// Options adjusts what computes matrices; nil is the same as the zero value.
type Options struct {
	Ctx     context.Context // nil is never cancelled
	Workers int             // goroutines; zero is one a processor. Results do not depend on it
	// MaxBytes is the memory that matrices may take; zero is DefaultBytes.
	MaxBytes int64
}

// DefaultBytes is the memory that one call may take unless Options say otherwise.
const DefaultBytes = 4 << 30

func (o *Options) filled() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Ctx == nil {
		out.Ctx = context.Background()
	}
	if out.MaxBytes == 0 {
		out.MaxBytes = DefaultBytes
	}
	return out
}

// Gram returns the n×n matrix of k between all pairs of x, row by row, symmetric to the
// bit. O(n²) values, half of them computed. It takes 8n² bytes; beyond the limit the error
// is a *MemoryError.
func Gram[P any](k Kernel[P], x P, opts *Options) ([]float64, error) {
	o := opts.filled()
	n := k.Len(x)
	if err := Foresee(n, n, &o); err != nil {
		return nil, err
	}
	fill, err := k.Between(x, x)
	if err != nil {
		return nil, err
	}
	out := make([]float64, n*n)
	tile := tileOf(n)
	side := (n + tile - 1) / tile
	err = run.Each(o.Workers, side*(side+1)/2, func(_, job int) error {
		if o.Ctx.Err() != nil {
			return context.Cause(o.Ctx)
		}
		r, c := triangular(job)
		i0, j0 := r*tile, c*tile
		i1, j1 := min(n, i0+tile), min(n, j0+tile)
		fill(out[i0*n+j0:], n, i0, i1, j0, j1)
		mirror(out, n, i0, i1, j0, j1)
		return checkTile(k.Name(), out, n, i0, i1, j0, j1)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// checkTile returns an error that names the first value of a block that is not finite.
func checkTile(name string, a []float64, stride, i0, i1, j0, j1 int) error {
	for i := i0; i < i1; i++ {
		for j, v := range a[i*stride+j0 : i*stride+j1] {
			if v-v != 0 {
				return notFinite(name, i, j0+j, v)
			}
		}
	}
	return nil
}

func notFinite(name string, i, j int, v float64) error {
	return fmt.Errorf("kernel: %s of examples %d and %d is %v", name, i+1, j+1, v)
}

// mirror copies a tile of the lower triangle to the upper one, in squares that stay in cache.
func mirror(a []float64, n, i0, i1, j0, j1 int) {
	const small = 32
	for bi := i0; bi < i1; bi += small {
		for bj := j0; bj < j1 && bj <= bi; bj += small {
			for i := bi; i < min(bi+small, i1); i++ {
				for j := bj; j < min(bj+small, j1) && j < i; j++ {
					a[j*n+i] = a[i*n+j]
				}
			}
		}
	}
}

// triangular returns row and column of a cell of the lower triangle, counted row by row.
func triangular(job int) (r, c int) {
	r = int((math.Sqrt(8*float64(job)+1) - 1) / 2)
	for r*(r+1)/2 > job {
		r--
	}
	for (r+1)*(r+2)/2 <= job {
		r++
	}
	return r, job - r*(r+1)/2
}

// Cross returns the n×m matrix of k between the examples of x and those of y, row by row.
// It takes 8nm bytes; beyond the limit the error is a *MemoryError.
func Cross[P any](k Kernel[P], x, y P, opts *Options) ([]float64, error) {
	o := opts.filled()
	n, m := k.Len(x), k.Len(y)
	if err := Foresee(n, m, &o); err != nil {
		return nil, err
	}
	fill, err := k.Between(x, y)
	if err != nil {
		return nil, err
	}
	out := make([]float64, n*m)
	down, across := (n+tile-1)/tile, (m+tile-1)/tile
	err = run.Each(o.Workers, down*across, func(_, job int) error {
		if o.Ctx.Err() != nil {
			return context.Cause(o.Ctx)
		}
		i0, j0 := job/across*tile, job%across*tile
		fill(out[i0*m+j0:], m, i0, min(n, i0+tile), j0, min(m, j0+tile))
		return checkTile(k.Name(), out, m, i0, min(n, i0+tile), j0, min(m, j0+tile))
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// firstOdd returns an error that names the first value that is not finite.
func firstOdd(name string, a []float64, m int) error {
	for at, v := range a {
		if v-v != 0 {
			return notFinite(name, at/m, at%m, v)
		}
	}
	return nil
}

// ErrMemory reports a matrix beyond the limit of memory.
var ErrMemory = errors.New("not enough memory allowed")

// MemoryError says what a computation would take.
type MemoryError struct {
	Rows, Cols  int
	Need, Limit int64
	Landmarks   int // as many as the limit allows for; 0 where even one is too much
}

func (e *MemoryError) Error() string {
	s := fmt.Sprintf("kernel: a matrix of %d by %d takes %s, and %s are allowed", e.Rows, e.Cols,
		bytes(e.Need), bytes(e.Limit))
	if e.Landmarks > 0 {
		return s + fmt.Sprintf("; ask for at most %d landmarks, or allow more", e.Landmarks)
	}
	return s
}

// Unwrap returns ErrMemory.
func (e *MemoryError) Unwrap() error { return ErrMemory }

func bytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", n)
}

// Foresee returns a *MemoryError if a matrix of n by m numbers is beyond the limit.
func Foresee(n, m int, opts *Options) error {
	limit := opts.filled().MaxBytes
	if float64(n)*float64(m)*8 <= float64(limit) {
		return nil
	}
	need := int64(math.Min(float64(n)*float64(m)*8, math.MaxInt64/2))
	// c landmarks take an n×c and two c×c matrices.
	c, b := float64(n), float64(limit)/8
	landmarks := (math.Sqrt(c*c+8*b) - c) / 4
	return &MemoryError{n, m, need, limit, int(landmarks)}
}

// Centring holds the means that centring a kernel takes.
type Centring struct {
	Rows []float64 // mean of k(·, y_j) over the training examples, for each training example
	All  float64   // mean of all
}

// NewCentring takes the means of a Gram matrix of n examples. O(n²).
func NewCentring(k []float64, n int) *Centring {
	c := &Centring{Rows: make([]float64, n)}
	for i := range n {
		s := 0.0
		for _, v := range k[i*n : (i+1)*n] {
			s += v
		}
		c.Rows[i] = s / float64(n)
		c.All += c.Rows[i] / float64(n)
	}
	return c
}

// Gram centres the Gram matrix of the training examples in place: K - 1K - K1 + 1K1 with
// the matrix 1 of 1/n. Their images then have mean zero.
func (c *Centring) Gram(k []float64) {
	n := len(c.Rows)
	for i, r := range c.Rows {
		row := k[i*n:][:n]
		for j := range row {
			row[j] -= r + c.Rows[j] - c.All // symmetric to the bit
		}
	}
}

// Cross centres the kernel of other examples with all training examples in place. The
// means are those of training.
func (c *Centring) Cross(k []float64) {
	n := len(c.Rows)
	for at := 0; at+n <= len(k); at += n {
		row, s := k[at:][:n], 0.0
		for _, v := range row {
			s += v
		}
		s /= float64(n)
		for j := range row {
			row[j] -= s + c.Rows[j] - c.All
		}
	}
}
