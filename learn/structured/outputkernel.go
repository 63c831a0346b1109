package structured

import (
	"context"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
	"gonum.org/v1/gonum/blas"
)

// KernelLoss is the loss that an output kernel h induces: the squared distance of the two
// outputs in its feature space, h(y,y) - 2h(y,y') + h(y',y').
func KernelLoss[Y any](h func(a, b Y) float64) Loss[Y] {
	return func(prediction, truth Y) float64 {
		return h(prediction, prediction) - 2*h(prediction, truth) + h(truth, truth)
	}
}

// GaussianLoss is 1 - exp(-gamma |y - y'|²).
func GaussianLoss(gamma float64) Loss[[]float64] {
	return func(prediction, truth []float64) float64 {
		return -math.Expm1(-gamma * squaredDistance(prediction, truth))
	}
}

func squaredDistance(a, b []float64) float64 {
	s := 0.0
	for j, v := range a {
		d := v - b[j]
		s += d * d
	}
	return s
}

// Dependency decodes over candidates by h(y,y) - 2 Σ_i α_i h(y, y_i). This is kernel dependency
// estimation, eq. (6). It agrees with KernelLoss where h(y,y) is the same for all outputs or Σα is
// 1. Otherwise it is not consistent for that loss; prefer KernelLoss.
type Dependency[Y any] struct {
	Outputs []Y
	n       int
	self    []float64
	cross   *Finite // of -2h
}

// NewDependency computes the kernel of candidates (nil: the truths) with truths.
func NewDependency[Y any](candidates, truths []Y, h func(a, b Y) float64,
	workers int) (*Dependency[Y], error) {
	if candidates == nil {
		candidates = truths
	}
	f, err := NewFinite(Losses(candidates, truths, func(a, b Y) float64 { return -2 * h(a, b) }, workers),
		len(truths), false)
	if err != nil {
		return nil, err
	}
	d := &Dependency[Y]{Outputs: candidates, n: len(truths), cross: f}
	for _, c := range candidates {
		d.self = append(d.self, h(c, c))
	}
	return d, nil
}

// Len implements Decoder.
func (d *Dependency[Y]) Len() int { return d.n }

// Decode implements Decoder. Value is h(y,y) - 2 Σ_i α_i h(y, y_i), and no F.
func (d *Dependency[Y]) Decode(_ context.Context, alpha []float64) (Decoded[Y], error) {
	if err := check(alpha, d.n); err != nil {
		return Decoded[Y]{}, err
	}
	v := d.cross.Values(alpha, 1, 1)
	for c := range v {
		v[c] += d.self[c]
	}
	best, margin := lowest(v)
	return Decoded[Y]{Output: d.Outputs[best], Value: v[best], LowerBound: v[best], Margin: margin,
		Exact: ExactOverCandidates}, nil
}

// Gaussian decodes vectors under GaussianLoss: it climbs S(y) = Σ_i α_i exp(-γ|y - y_i|²) from
// the best training outputs. What it finds is a local optimum: heuristic.
type Gaussian struct {
	dim, n int
	truth  []float64 // n×dim
	square []float64 // |y_i|²
	gamma  float64
	table  *Finite // losses among the truths, for the starts
}

// NewGaussian takes the vectors of the training examples. O(n²·dim).
func NewGaussian(truths [][]float64, gamma float64, workers int) (*Gaussian, error) {
	return newGaussian(context.Background(), truths, gamma, workers)
}

func newGaussian(ctx context.Context, truths [][]float64, gamma float64, workers int) (*Gaussian, error) {
	dim, err := vectors(truths)
	if err != nil {
		return nil, err
	}
	if !(gamma > 0) || math.IsInf(gamma, 1) {
		return nil, fmt.Errorf("structured: gamma is %v; it must be positive", gamma)
	}
	c, err := newCandidates(ctx, nil, truths, GaussianLoss(gamma), workers)
	if err != nil {
		return nil, err
	}
	g := &Gaussian{dim: dim, n: len(truths), gamma: gamma, table: c.Finite}
	for _, y := range truths {
		g.truth = append(g.truth, y...)
		g.square = append(g.square, dotProduct(y, y))
	}
	return g, nil
}

func dotProduct(a, b []float64) float64 {
	s := 0.0
	for j, v := range a {
		s += v * b[j]
	}
	return s
}

// vectors returns the length that all vectors must have.
func vectors(truths [][]float64) (int, error) {
	if len(truths) == 0 || len(truths[0]) == 0 {
		return 0, fmt.Errorf("%w: no example, or vectors of length 0", ErrOutputs)
	}
	for i, y := range truths {
		if len(y) != len(truths[0]) {
			return 0, fmt.Errorf("%w: that of example %d has %d numbers, the first %d", ErrOutputs, i+1,
				len(y), len(truths[0]))
		}
		if j := optim.FirstNotFinite(y); j >= 0 {
			return 0, fmt.Errorf("%w: number %d of example %d is %v", ErrOutputs, j+1, i+1, y[j])
		}
	}
	return len(truths[0]), nil
}

// Len implements Decoder.
func (g *Gaussian) Len() int { return g.n }

// Loss is the loss that is decoded.
func (g *Gaussian) Loss(prediction, truth []float64) float64 {
	return GaussianLoss(g.gamma)(prediction, truth)
}

// sums stores S(y) of k points, and Σb_i y_i of each, b_i = α_i exp(-γ|y - y_i|²). b is room for
// k by n numbers.
func (g *Gaussian) sums(alpha, y, s, mean, b []float64) {
	k, n := len(s), g.n
	gemm.Gemm(1, blas.NoTrans, blas.Trans, k, n, g.dim, 1, y, g.dim, g.truth, g.dim, 0, b, n)
	for r := range k {
		row, own := b[r*n:][:n], dotProduct(y[r*g.dim:][:g.dim], y[r*g.dim:][:g.dim])
		s[r] = 0
		for i, v := range row {
			row[i] = 0
			if a := alpha[i]; a != 0 {
				row[i] = a * math.Exp(-g.gamma*math.Max(0, own+g.square[i]-2*v))
				s[r] += row[i]
			}
		}
	}
	gemm.Gemm(1, blas.NoTrans, blas.NoTrans, k, g.dim, n, 1, b, n, g.truth, g.dim, 0, mean, g.dim)
}

// gaussianSteps bounds the steps of a climb from one start.
const gaussianSteps = 200

// Decode implements Decoder. A step is O(n·dim), for the five best training outputs side by side. A
// step goes to Σb_i y_i / Σb_i if S rises there. Under weights of both signs it may not, and L-BFGS
// takes over.
func (g *Gaussian) Decode(ctx context.Context, alpha []float64) (Decoded[[]float64], error) {
	if err := check(alpha, g.n); err != nil {
		return Decoded[[]float64]{}, err
	}
	values := g.table.Values(alpha, 1, 1)
	all := make([]int, len(values))
	total := 0.0
	for i := range all {
		all[i] = i
		total += alpha[i]
	}
	from := bestOf(all, starts, func(i int) float64 { return values[i] })
	k, dim := len(from), g.dim
	y, next := make([]float64, k*dim), make([]float64, k*dim)
	mean, other := make([]float64, k*dim), make([]float64, k*dim)
	s, up, b := make([]float64, k), make([]float64, k), make([]float64, k*g.n)
	for r, i := range from {
		copy(y[r*dim:], g.truth[i*dim:(i+1)*dim])
	}
	g.sums(alpha, y, s, mean, b)
	d := Decoded[[]float64]{LowerBound: math.Inf(-1), Margin: math.NaN(), Exact: Heuristic}
	done, stuck := make([]bool, k), make([]bool, k)
	for range gaussianSteps {
		if err := cancelled(ctx, d.Steps); err != nil {
			return d, err
		}
		open := false
		for r := range k {
			if !done[r] && s[r] <= 0 {
				done[r], stuck[r] = true, true
			}
			for j := range dim {
				next[r*dim+j] = y[r*dim+j]
				if !done[r] {
					next[r*dim+j] = mean[r*dim+j] / s[r]
				}
			}
			open = open || !done[r]
		}
		if !open {
			break
		}
		d.Steps++
		g.sums(alpha, next, up, other, b)
		for r := range k {
			if done[r] {
				continue
			}
			if up[r] < s[r] {
				// The last step may fall by rounding alone.
				done[r], stuck[r] = true, s[r]-up[r] > 1e-12*math.Abs(s[r])
				continue
			}
			done[r] = up[r]-s[r] <= 1e-10*up[r]
			s[r] = up[r]
			copy(y[r*dim:(r+1)*dim], next[r*dim:])
			copy(mean[r*dim:(r+1)*dim], other[r*dim:])
		}
	}
	best := math.Inf(-1)
	for r := range k {
		at := y[r*dim:][:dim]
		if stuck[r] {
			var err error
			if at, s[r], err = g.ascend(ctx, alpha, at); err != nil {
				return d, err
			}
		}
		if s[r] > best {
			best, d.Output = s[r], at
		}
	}
	d.Value = total - best
	return d, nil
}

// ascend climbs by L-BFGS.
func (g *Gaussian) ascend(ctx context.Context, alpha, y []float64) ([]float64, float64, error) {
	s, mean, b := make([]float64, 1), make([]float64, g.dim), make([]float64, g.n)
	f := optim.Func{N: g.dim, F: func(x, grad []float64) (float64, error) {
		g.sums(alpha, x, s, mean, b)
		for j := range grad { // -S' = 2γ (S x - Σb y)
			grad[j] = 2 * g.gamma * (s[0]*x[j] - mean[j])
		}
		return -s[0], nil
	}}
	r, err := optim.LBFGS{}.Minimize(f, y, &run.Control{Ctx: ctx, Workers: 1,
		Stop: run.Stop{Iterations: gaussianSteps, Relative: 1e-10}})
	if err != nil {
		return nil, 0, err
	}
	return r.X, -r.F, nil
}

// Vectors decodes vectors in the box [-Bound, Bound] under the squared distance: the loss that
// the linear kernel induces. Exact.
type Vectors struct {
	dim    int
	truths [][]float64
	bound  float64
}

// NewVectors takes the vectors of the training examples, and the largest absolute entry of a
// prediction (0 is that of the examples).
func NewVectors(truths [][]float64, bound float64) (*Vectors, error) {
	dim, err := vectors(truths)
	if err != nil {
		return nil, err
	}
	if bound == 0 {
		for _, y := range truths {
			bound = math.Max(bound, optim.MaxAbs(y))
		}
	}
	if !(bound >= 0) || math.IsInf(bound, 1) {
		return nil, fmt.Errorf("structured: the bound of vectors is %v", bound)
	}
	return &Vectors{dim, truths, bound}, nil
}

// Len implements Decoder.
func (v *Vectors) Len() int { return len(v.truths) }

// Loss is the loss that is decoded.
func (v *Vectors) Loss(prediction, truth []float64) float64 {
	return squaredDistance(prediction, truth)
}

// Decode implements Decoder: entry by entry, as Scalar does. O(n·dim).
func (v *Vectors) Decode(_ context.Context, alpha []float64) (Decoded[[]float64], error) {
	if err := check(alpha, len(v.truths)); err != nil {
		return Decoded[[]float64]{}, err
	}
	a := 0.0
	y := make([]float64, v.dim)
	for i, w := range alpha {
		a += w
		for j, t := range v.truths[i] {
			y[j] += w * t
		}
	}
	for j, b := range y {
		switch {
		case a > 0:
			y[j] = clip(b/a, v.bound)
		case b > 0: // the better end of a y² - 2 b y
			y[j] = v.bound
		default:
			y[j] = -v.bound
		}
	}
	d := Decoded[[]float64]{Output: y, Value: Risk(v.Loss, y, v.truths, alpha), Exact: ExactOverSpace,
		Margin: math.NaN()}
	d.LowerBound = d.Value
	return d, nil
}
