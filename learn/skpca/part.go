package skpca

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"

	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/run"
)

// part is one base kernel with its first eigenfunctions on the sample U.
type part struct {
	kernel kernel.Vector
	name   string
	scale  float64   // the kernel is multiplied by it, so that k(x,x) ≤ 1 on U
	values []float64 // λ_j of the scaled kernel over the size of U
	trace  float64   // of the scaled kernel over the size of U

	// One of two ways to compute φ: from kernels with base rows, or as directions in a space
	// of features, that of the rows themselves or a random one.
	weights    []float64 // base × len(values)
	centre     *kernel.Centring
	directions []float64 // features × len(values)
	fourier    *kernel.Fourier
}

// space is what parts of one training share.
type space struct {
	x         *kernel.Matrix // U
	landmarks *kernel.Matrix // base rows where they are not U; nil otherwise
	opts      kernel.Options
}

func (s *space) base() *kernel.Matrix {
	if s.landmarks != nil {
		return s.landmarks
	}
	return s.x
}

// newSpace draws the landmarks, if there are to be any.
func newSpace(x *kernel.Matrix, o *Options, kernels []kernel.Vector, ctx context.Context,
	workers int) (*space, error) {
	s := &space{x: x, opts: kernel.Options{Ctx: ctx, Workers: workers, MaxBytes: int64(o.Megabytes) << 20}}
	if o.Landmarks == 0 || o.Landmarks >= x.Rows {
		return s, nil
	}
	var list []int
	var err error
	switch o.Choice {
	case "uniform":
		list = kernel.Draw(x.Rows, o.Landmarks, o.Seed)
	case "spread":
		list, err = kernel.Spread[*kernel.Matrix](kernels[0], x, o.Landmarks, o.Seed, &s.opts)
	default:
		pilot := kernel.Draw(x.Rows, o.Landmarks, o.Seed)
		var l []float64
		c := 1e-3 * float64(x.Rows)
		if l, err = kernel.Leverage[*kernel.Matrix](kernels[0], x, x.Subset(pilot), pilot, c, &s.opts); err == nil {
			list = kernel.DrawWeighted(l, o.Landmarks, o.Seed+1)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("skpca: landmarks: %w", err)
	}
	s.landmarks = x.Subset(list)
	return s, nil
}

// newPart finds the first r eigenfunctions of a kernel on U, or all there are.
func (s *space) newPart(k kernel.Vector, name string, r int, o *Options) (*part, error) {
	p := &part{kernel: k, name: name, scale: 1}
	wrap := func(err error) error { return fmt.Errorf("skpca: %s: %w", name, err) }
	diagonal, err := k.Diagonal(s.x)
	if err != nil {
		return nil, wrap(err)
	}
	d := s.x.Cols
	if k.Columns != nil {
		d = len(k.Columns)
	}
	switch {
	case o.Fourier > 0 && (k.Kind == kernel.Gaussian || k.Kind == kernel.Laplacian):
		if o.Centre {
			return nil, wrap(errors.New("random features are not centred; leave out --centre or --fourier"))
		}
		if err := s.foresee(o.Fourier); err != nil {
			return nil, wrap(fmt.Errorf("%d random features: %w", o.Fourier, err))
		}
		if p.fourier, err = kernel.NewFourier(k, s.x.Cols, o.Fourier, o.Seed); err != nil {
			return nil, wrap(err)
		}
		if err := s.moments(p, p.fourier.D, r); err != nil {
			return nil, wrap(err)
		}
	case k.Kind == kernel.Linear && !k.Normal && !o.Centre && s.x.Start == nil && d <= s.x.Rows:
		if err := s.moments(p, d, r); err != nil { // no Gram matrix, and exact
			return nil, wrap(err)
		}
	default:
		if k.Kind == kernel.Sigmoid {
			gram, err := kernel.Gram[*kernel.Matrix](k, s.base(), &s.opts)
			if err == nil {
				err = kernel.CheckPositive(name, gram, s.base().Rows, &s.opts)
			}
			if err != nil {
				return nil, wrap(err)
			}
		}
		var q *kernel.Projection[*kernel.Matrix]
		if s.landmarks != nil {
			if o.Centre {
				return nil, wrap(errors.New("landmarks are not centred; leave out --centre or --landmarks"))
			}
			q, err = kernel.ProjectLandmarks[*kernel.Matrix](k, s.x, s.landmarks, r, &s.opts)
		} else {
			q, err = kernel.Project[*kernel.Matrix](k, s.x, r, o.Centre, &s.opts)
		}
		if err != nil && !errors.Is(err, kernel.ErrRank) {
			return nil, wrap(err)
		}
		p.values, p.trace, p.weights, p.centre = q.Values, q.Trace, q.Weights, q.Centre
		if p.centre != nil {
			for i, v := range diagonal {
				diagonal[i] = v - 2*p.centre.Rows[i] + p.centre.All
			}
		}
	}
	if p.weights == nil && p.directions == nil || len(p.values) == 0 {
		return nil, wrap(errors.New("the kernel is zero on all rows"))
	}
	largest := 0.0
	for _, v := range diagonal {
		largest = max(largest, v)
	}
	// A kernel with k(x,x) = 1 stays as it is, to the bit.
	if math.Abs(largest-1) > 1e-12 {
		p.scale = 1 / largest
		for j := range p.values {
			p.values[j] *= p.scale
		}
		p.trace *= p.scale
	}
	return p, nil
}

// foresee returns an error where second moments of d features take too much memory.
func (s *space) foresee(d int) error {
	err := kernel.Foresee(2*d, d, &s.opts)
	var e *kernel.MemoryError
	if errors.As(err, &e) {
		e.Landmarks = 0 // they are no help here
	}
	return err
}

// moments finds directions from second moments of features, over blocks of rows.
func (s *space) moments(p *part, d, r int) error {
	if err := s.foresee(d); err != nil {
		return err
	}
	m := kernel.NewMoments(d)
	const block = 4096
	for i := 0; i < s.x.Rows; i += block {
		z, err := s.features(p, rowsOf(s.x, i, min(s.x.Rows, i+block)))
		if err != nil {
			return err
		}
		m.Add(z, s.opts.Workers)
	}
	spectrum, err := m.Top(r, &s.opts)
	if err != nil {
		return err
	}
	all, q := len(spectrum.Values), spectrum.Rank()
	p.values, p.trace = spectrum.Values[:q:q], spectrum.Trace
	p.directions = make([]float64, d*q)
	for i := range d {
		copy(p.directions[i*q:(i+1)*q], spectrum.Vectors[i*all:])
	}
	return nil
}

// rowsOf returns some rows of x, shared where they are dense.
func rowsOf(x *kernel.Matrix, i0, i1 int) *kernel.Matrix {
	if x.Start == nil {
		return kernel.NewMatrix(i1-i0, x.Cols, x.Data[i0*x.Cols:i1*x.Cols])
	}
	list := make([]int, i1-i0)
	for i := range list {
		list[i] = i0 + i
	}
	return x.Subset(list)
}

// features returns what directions are directions of.
func (s *space) features(p *part, x *kernel.Matrix) ([]float64, error) {
	if p.fourier != nil {
		return p.fourier.Features(x, &s.opts)
	}
	if p.kernel.Columns == nil {
		return x.Data, nil
	}
	d := len(p.kernel.Columns)
	out := make([]float64, x.Rows*d)
	for i := range x.Rows {
		for j, c := range p.kernel.Columns {
			out[i*d+j] = x.Data[i*x.Cols+c]
		}
	}
	return out, nil
}

// times returns φ(x)·w for weights w of the first features, c × cols.
func (s *space) times(p *part, x *kernel.Matrix, w []float64, c, cols int) ([]float64, error) {
	all, rows := len(p.values), p.weights
	if rows == nil {
		rows = p.directions
	}
	n := len(rows) / max(1, all)
	folded := make([]float64, n*cols)
	for i := range n {
		for j := range c {
			v := rows[i*all+j] * math.Sqrt(p.scale)
			for o := range cols {
				folded[i*cols+o] += v * w[j*cols+o]
			}
		}
	}
	if p.directions == nil {
		return kernel.Times[*kernel.Matrix](p.kernel, x, s.base(), p.centre, folded, cols, &s.opts)
	}
	out := make([]float64, x.Rows*cols)
	const block = 4096
	for i := 0; i < x.Rows && cols > 0; i += block {
		if err := s.opts.Ctx.Err(); err != nil {
			return nil, context.Cause(s.opts.Ctx)
		}
		m := min(x.Rows-i, block)
		z, err := s.features(p, rowsOf(x, i, i+m))
		if err != nil {
			return nil, err
		}
		gemm.Gemm(s.opts.Workers, blas.NoTrans, blas.NoTrans, m, cols, n, 1, z, n, folded, cols, 0,
			out[i*cols:], cols)
	}
	return out, nil
}

// phi returns the first c features of rows, n×c.
func (s *space) phi(p *part, x *kernel.Matrix, c int) ([]float64, error) {
	w := make([]float64, c*c)
	for j := range c {
		w[j*c+j] = 1
	}
	return s.times(p, x, w, c, c)
}

// inSample returns the features of the rows of U themselves, √(uλ)v, without the kernel.
func (p *part) inSample(u int) []float64 {
	r := len(p.values)
	out := make([]float64, len(p.weights))
	for i := range u {
		for j, v := range p.values { // weights are v/√(uλ/scale)
			out[i*r+j] = p.weights[i*r+j] * float64(u) * v / p.scale * math.Sqrt(p.scale)
		}
	}
	return out
}

// cut keeps the first c features of a part.
func (p *part) cut(c int) *part {
	q := *p
	shorten := func(rows []float64) []float64 {
		if rows == nil {
			return nil
		}
		all := len(p.values)
		out := make([]float64, 0, len(rows)/all*c)
		for at := 0; at < len(rows); at += all {
			out = append(out, rows[at:at+c]...)
		}
		return out
	}
	q.values, q.weights, q.directions = p.values[:c:c], shorten(p.weights), shorten(p.directions)
	return &q
}

// keep stores a part in a checkpoint's arrays, as kernel k.
func (p *part) keep(to map[string][]float64, k int) {
	put := func(name string, x []float64) { to[fmt.Sprintf("%s.%d", name, k)] = slices.Clone(x) }
	put("eigenvalues", p.values)
	put("scale", []float64{p.scale, p.trace})
	if p.weights != nil {
		put("weights", p.weights)
	} else {
		put("directions", p.directions)
	}
	if p.centre != nil {
		put("centre", append([]float64{p.centre.All}, p.centre.Rows...))
	}
}

// restored returns the parts of the first n kernels that a checkpoint keeps.
func (t *trainer) restored(from *run.Checkpoint, n int) ([]*part, error) {
	var out []*part
	for k := range n {
		get := func(name string) []float64 { return from.Arrays[fmt.Sprintf("%s.%d", name, k)] }
		p := &part{kernel: t.kernels[k], name: t.names[k], values: get("eigenvalues"), weights: get("weights"),
			directions: get("directions")}
		scale, centre, r := get("scale"), get("centre"), len(p.values)
		if p.weights == nil && p.kernel.Kind != kernel.Linear {
			var err error
			if p.fourier, err = kernel.NewFourier(p.kernel, t.x.Cols, t.o.Fourier, t.o.Seed); err != nil {
				return nil, fmt.Errorf("skpca: %w: %v", run.ErrOther, err)
			}
		}
		if r == 0 || len(scale) != 2 || !(scale[0] > 0) || len(p.weights)+len(p.directions) == 0 ||
			len(p.weights)%r+len(p.directions)%r > 0 {
			return nil, fmt.Errorf("skpca: %w: its kernel %d is incomplete", run.ErrOther, k+1)
		}
		p.scale, p.trace = scale[0], scale[1]
		if len(centre) > 0 {
			p.centre = &kernel.Centring{All: centre[0], Rows: centre[1:]}
		}
		out = append(out, p)
	}
	return out, nil
}
