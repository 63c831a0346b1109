package kernel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"

	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/run"
)

// Projection maps examples to the coordinates of the first eigenfunctions of a kernel on a
// sample: kernel principal components, uncentred unless Centre is set. Coordinate j of x is
//
//	φ_j(x) = Σ_i k(x, b_i) Weights[i,j]
//
// over base examples b: the whole sample, or landmarks. The mean of φ_j² over the sample
// is Values[j], and different coordinates are uncorrelated there.
type Projection[P any] struct {
	Kernel  Kernel[P]
	Base    P
	Weights []float64 // base examples × r
	Values  []float64 // eigenvalues of K/n, descending
	Trace   float64   // mean of k(x,x) over the sample: the sum of all eigenvalues
	Centre  *Centring // nil for none; only over the whole sample
}

// Rank returns r, the number of coordinates.
func (p *Projection[P]) Rank() int { return len(p.Values) }

// Share returns the part of the trace that the first r eigenvalues have.
func (p *Projection[P]) Share(r int) float64 {
	return (&Spectrum{Values: p.Values, Trace: p.Trace}).Share(r)
}

// ErrRank reports more components asked for than a kernel has.
var ErrRank = errors.New("more components than the rank of the kernel")

// Project finds the first r coordinates of the kernel on the sample x, by its Gram matrix:
// 8n² bytes. Where the rank is below r the error is ErrRank beside the projection with
// all there are.
func Project[P any](k Kernel[P], x P, r int, centre bool, opts *Options) (*Projection[P], error) {
	o := opts.filled()
	n := k.Len(x)
	gram, err := Gram(k, x, &o)
	if err != nil {
		return nil, err
	}
	p := &Projection[P]{Kernel: k, Base: x}
	if centre {
		p.Centre = NewCentring(gram, n)
		p.Centre.Gram(gram)
	}
	for i := range gram {
		gram[i] /= float64(n)
	}
	s, err := Top(gram, n, r, &o)
	if err != nil {
		return nil, err
	}
	if err := p.take(s, float64(n)); err != nil {
		return nil, err
	}
	return p, p.lacks(r)
}

// lacks returns ErrRank where there are fewer than r coordinates.
func (p *Projection[P]) lacks(r int) error {
	if len(p.Values) < r {
		return fmt.Errorf("kernel: %s: %w: %d asked for, and it has %d on this sample", p.Kernel.Name(),
			ErrRank, r, len(p.Values))
	}
	return nil
}

// take stores what is above the rank's threshold: vectors over the root of scale times the
// eigenvalue.
func (p *Projection[P]) take(s *Spectrum, scale float64) error {
	if len(s.Values) > 0 {
		if least := s.Values[len(s.Values)-1]; least < -1e-8*max(s.Values[0], 0) {
			return &NotPositiveError{Name: p.Kernel.Name(), Smallest: least, Largest: s.Values[0]}
		}
	}
	all, r := len(s.Values), s.Rank()
	p.Values, p.Trace = s.Values[:r:r], s.Trace
	p.Weights = make([]float64, s.N*r)
	for j, v := range p.Values {
		root := 1 / math.Sqrt(scale*v)
		for i := range s.N {
			p.Weights[i*r+j] = s.Vectors[i*all+j] * root
		}
	}
	return nil
}

// ProjectLandmarks is Project by the method of Nystrom. It replaces K by K_nm K_mm⁻¹ K_mn over m
// landmarks, which equals K where the landmarks span the sample. n·m² operations twice, and 24m²
// bytes.
func ProjectLandmarks[P any](k Kernel[P], x, landmarks P, r int, opts *Options) (*Projection[P], error) {
	o := opts.filled()
	n, m := k.Len(x), k.Len(landmarks)
	if err := Foresee(3*m, m, &o); err != nil {
		return nil, err
	}
	kmm, err := Gram(k, landmarks, &o)
	if err != nil {
		return nil, err
	}
	lower, err := factorNearly(kmm, m, false, &o)
	if err != nil {
		return nil, err
	}
	// Second moments of g(x) = L⁻¹k(x, landmarks). Those of k alone, divided by L twice, would
	// lose twice the digits.
	g := NewMoments(m)
	err = stream(k, x, landmarks, &o, func(i0, i1 int, rows []float64) {
		gemm.TriangularSolveRows(o.Workers, i1-i0, m, lower, m, rows, m)
		g.Add(rows, o.Workers)
	})
	if err != nil {
		return nil, err
	}
	s, err := g.Top(r, &o)
	if err != nil {
		return nil, err
	}
	p := &Projection[P]{Kernel: k, Base: landmarks}
	q := s.Rank()
	p.Values = s.Values[:q:q]
	p.Weights = make([]float64, m*q)
	for i := range m {
		copy(p.Weights[i*q:(i+1)*q], s.Vectors[i*len(s.Values):])
	}
	gemm.TriangularSolve(o.Workers, true, m, q, lower, m, p.Weights, q)
	d, err := k.Diagonal(x)
	if err != nil {
		return nil, err
	}
	for _, v := range d {
		p.Trace += v / float64(n)
	}
	return p, p.lacks(r)
}

// Transform returns the coordinates of the examples of x, n×r.
func (p *Projection[P]) Transform(x P, opts *Options) ([]float64, error) {
	return Times(p.Kernel, x, p.Base, p.Centre, p.Weights, p.Rank(), opts)
}

// Times returns K(x, base)·W, n×cols, for weights W of base examples × cols: predictions of
// weights that Ridge or LandmarkRidge found, coordinates of a projection. The kernel is centred
// by centre unless that is nil. Blocks of rows are computed at a time: memory is that of
// the result, and 16 MB a thousand base examples.
func Times[P any](k Kernel[P], x, base P, centre *Centring, w []float64, cols int,
	opts *Options) ([]float64, error) {
	o := opts.filled()
	n, m := k.Len(x), k.Len(base)
	if len(w) != m*cols {
		return nil, fmt.Errorf("kernel: %d weights for %d examples and %d columns", len(w), m, cols)
	}
	if err := Foresee(n, cols, &o); err != nil {
		return nil, err
	}
	out := make([]float64, n*cols)
	if cols == 0 || n == 0 {
		return out, nil
	}
	err := stream(k, x, base, &o, func(i0, i1 int, rows []float64) {
		if centre != nil {
			centre.Cross(rows)
		}
		gemm.Gemm(o.Workers, blas.NoTrans, blas.NoTrans, i1-i0, cols, m, 1, rows, m, w, cols, 0, out[i0*cols:],
			cols)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Fourier are random features z(x) of a Gaussian or Laplacian kernel with D/2 frequencies: √(2/D)
// (cos ω·x, sin ω·x), where E z(x)·z(y) = k(x, y) (A. Rahimi and B. Recht, NIPS 2007). The error
// falls as 1/√D.
type Fourier struct {
	Kernel Vector
	Seed   uint64
	D      int // even
	freq   *Matrix
}

// NewFourier draws the frequencies for rows of cols columns: normal ones over the width for
// the Gaussian kernel, Cauchy ones for the Laplacian. An odd d is rounded up.
func NewFourier(k Vector, cols, d int, seed uint64) (*Fourier, error) {
	if k.Kind != Gaussian && k.Kind != Laplacian {
		return nil, fmt.Errorf("kernel: random Fourier features are for gaussian and laplacian kernels, not "+
			"%s", k.Name())
	}
	if err := k.fits(cols, cols); err != nil {
		return nil, err
	}
	if d < 1 {
		return nil, fmt.Errorf("kernel: %d random features", d)
	}
	f := &Fourier{Kernel: k, Seed: seed, D: d + d%2}
	if k.Columns != nil {
		cols = len(k.Columns)
	}
	rng := rand.New(rand.NewPCG(seed, 0x666f7572))
	f.freq = NewMatrix(f.D/2, cols, make([]float64, f.D/2*cols))
	for i := range f.freq.Data {
		v := rng.NormFloat64()
		if k.Kind == Laplacian {
			v = math.Tan(math.Pi * (rng.Float64() - 0.5))
		}
		f.freq.Data[i] = v / k.width()
	}
	return f, nil
}

// Features returns z of each row, n×D.
func (f *Fourier) Features(x *Matrix, opts *Options) ([]float64, error) {
	o := opts.filled()
	if err := f.Kernel.fits(x.Cols, x.Cols); err != nil {
		return nil, err
	}
	if err := Foresee(x.Rows, f.D, &o); err != nil {
		return nil, err
	}
	x = x.columns(f.Kernel.Columns)
	if x.Cols != f.freq.Cols {
		return nil, fmt.Errorf("kernel: rows of %d columns, and frequencies of %d", x.Cols, f.freq.Cols)
	}
	out := make([]float64, x.Rows*f.D)
	h := f.D / 2
	scale := math.Sqrt(2 / float64(f.D))
	err := run.Each(o.Workers, (x.Rows+tile-1)/tile, func(_, job int) error {
		if o.Ctx.Err() != nil {
			return context.Cause(o.Ctx)
		}
		i0, i1 := job*tile, min(x.Rows, (job+1)*tile)
		rows := out[i0*f.D:]
		if x.Start == nil {
			products(rows, f.D, x, i0, i1, f.freq, 0, h)
		} else {
			for i := i0; i < i1; i++ {
				for j := range h {
					s, w := 0.0, f.freq.Row(j)
					for k := x.Start[i]; k < x.Start[i+1]; k++ {
						s += x.Data[k] * w[x.Index[k]]
					}
					rows[(i-i0)*f.D+j] = s
				}
			}
		}
		for i := range i1 - i0 {
			row := rows[i*f.D:][:f.D]
			for j, v := range row[:h] {
				sin, cos := math.Sincos(v)
				row[j], row[h+j] = scale*cos, scale*sin
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Moments are second moments of rows of D features, added up as rows come: the sample need
// not fit in memory.
type Moments struct {
	D     int
	Rows  int
	sum   []float64 // lower triangle of Σ zzᵀ
	trace float64
}

// NewMoments returns the moments of no rows.
func NewMoments(d int) *Moments { return &Moments{D: d, sum: make([]float64, d*d)} }

// Add adds rows of D features each. The bits depend on the blocks that rows come in, and not on
// workers. D² operations a row.
func (m *Moments) Add(z []float64, workers int) {
	n := len(z) / max(1, m.D)
	gemm.Syrk(workers, true, m.D, n, 1, z, m.D, 1, m.sum, m.D)
	for _, v := range z {
		m.trace += v * v
	}
	m.Rows += n
}

// Top returns the r largest eigenpairs of the mean of zzᵀ. Its vectors are directions in the
// space of features: coordinate j of a row is its product with vector j.
func (m *Moments) Top(r int, opts *Options) (*Spectrum, error) {
	if m.Rows == 0 {
		return nil, errors.New("kernel: moments of no rows")
	}
	a := make([]float64, m.D*m.D)
	for i := range m.D {
		for j := range i + 1 {
			v := m.sum[i*m.D+j] / float64(m.Rows)
			a[i*m.D+j], a[j*m.D+i] = v, v
		}
	}
	return Top(a, m.D, r, opts)
}
