package kernel

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/run"
)

// Inverse finds rows for coordinates of a Projection. These are pre-images, which for most
// coordinates do not exist exactly.
type Inverse struct {
	projection *Projection[*Matrix]
	kernel     Vector
	x          *Matrix // training rows
	z          *Matrix // their coordinates
	features   Vector
	weights    []float64 // training rows × columns
	centre     []float64 // mean of the training rows
}

// NewInverse learns rows from coordinates by kernel ridge regression on the sample x. The kernel is
// Gaussian of the median width, with the penalty of the least leave-one-out error among 10^-6,
// 10^-5, ..., 1. n³/3 operations for each.
func NewInverse(p *Projection[*Matrix], x *Matrix, opts *Options) (*Inverse, error) {
	o := opts.filled()
	k, ok := p.Kernel.(Vector)
	if !ok || x.Start != nil {
		return nil, errors.New("kernel: pre-images are of dense rows")
	}
	data, err := p.Transform(x, &o)
	if err != nil {
		return nil, err
	}
	v := &Inverse{projection: p, kernel: k, x: x, z: NewMatrix(x.Rows, p.Rank(), data), centre: x.means()}
	width, err := MedianDistance(v.z, Gaussian, nil, 0, 1)
	if err != nil {
		return nil, err
	}
	v.features = Vector{Kind: Gaussian, Width: width}
	gram, err := Gram(v.features, v.z, &o)
	if err != nil {
		return nil, err
	}
	y := x.minus(v.centre).Data
	best := math.Inf(1)
	for c := 1e-6; c < 2; c *= 10 {
		r, err := NewRidge(gram, x.Rows, c, &o)
		if errors.Is(err, ErrNotPositive) {
			continue // rounding
		}
		if err != nil {
			return nil, err
		}
		loo, err := r.LeaveOneOut(y, x.Cols)
		if err != nil {
			return nil, err
		}
		sum := 0.0
		for i, f := range loo {
			sum += (f - y[i]) * (f - y[i])
		}
		if sum < best {
			w := slices.Clone(y)
			if err := r.Solve(w, x.Cols); err != nil {
				return nil, err
			}
			best, v.weights = sum, w
		}
	}
	if v.weights == nil {
		return nil, errors.New("kernel: no penalty gives pre-images")
	}
	return v, nil
}

// Rows returns a row for each row of coordinates z. For a Gaussian kernel of an uncentred
// projection on the whole sample, what the regression says is then improved by the fixed
// points of S. Mika et al., "Kernel PCA and de-noising in feature spaces", NIPS 1998, as long
// as the distance to the projection falls.
func (v *Inverse) Rows(z *Matrix, opts *Options) (*Matrix, error) {
	o := opts.filled()
	cross, err := Cross(v.features, z, v.z, &o)
	if err != nil {
		return nil, err
	}
	n, d := v.x.Rows, v.x.Cols
	out := NewMatrix(z.Rows, d, make([]float64, z.Rows*d))
	p := v.projection
	fixed := v.kernel.Kind == Gaussian && v.kernel.Columns == nil && p.Centre == nil
	err = run.Each(o.Workers, z.Rows, func(_, i int) error {
		if o.Ctx.Err() != nil {
			return context.Cause(o.Ctx)
		}
		row := out.Row(i)
		copy(row, v.centre)
		for j, c := range cross[i*n : (i+1)*n] {
			axpy(c, v.weights[j*d:(j+1)*d], row)
		}
		if fixed {
			v.improve(row, z.Row(i))
		}
		return nil
	})
	return out, err
}

// improve moves a row to where k(row, ·) is nearer to Σ_j z_j v_j = Σ_i g_i k(b_i, ·). As k(x,x) is
// 1, Σ_i g_i k(b_i, x) is larger there.
func (v *Inverse) improve(row, z []float64) {
	p, r := v.projection, v.projection.Rank()
	g := make([]float64, p.Base.Rows)
	// The unit eigenfunction j is Σ_i k(b_i, ·) Weights[i,j] in coordinates, and so of length
	// 1 as a function.
	for i := range g {
		g[i] = dot(p.Weights[i*r:(i+1)*r], z)
	}
	scale := -1 / (2 * v.kernel.width() * v.kernel.width())
	value := func(x, mean []float64) float64 {
		clear(mean)
		total := 0.0
		for i, w := range g {
			sq := 0.0
			b := p.Base.Row(i)
			for j, t := range b {
				e := t - x[j]
				sq += e * e
			}
			w *= math.Exp(scale * sq)
			total += w
			axpy(w, b, mean)
		}
		for j := range mean {
			mean[j] /= total
		}
		return total
	}
	next, other := make([]float64, len(row)), make([]float64, len(row))
	now := value(row, next)
	for range 100 {
		if firstNotFinite(next) >= 0 {
			return
		}
		then := value(next, other)
		if !(then > now*(1+1e-12)) {
			return
		}
		copy(row, next)
		now = then
		next, other = other, next
	}
}
