package kernel

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"

	"github.com/tropica-fst/tropica/learn/gemm"
)

// LandmarkOptions adjusts LandmarkRidge; nil is the same as the zero value.
type LandmarkOptions struct {
	Options
	// Iterations of preconditioned conjugate gradients. Zero solves by Cholesky: 1.5n·m²
	// multiplications for n examples and m landmarks, where an iteration takes 2nm·outputs and
	// the kernel again.
	Iterations int
	// Tolerance ends the iterations early, when the residual is below it in relation to the
	// right-hand side; zero is 1e-7.
	Tolerance float64
	// Single computes the kernel and its products in float32 and adds them up in float64. This
	// takes a third of the time, for kernels that support it (Vector). Directions in which the
	// squared kernel is below 1e-7 or so of its largest eigenvalue are damped. Where the penalty is
	// small this costs a percent of the objective. It has no effect on iterations.
	Single bool
}

// LandmarkResult is what LandmarkRidge found.
type LandmarkResult struct {
	Weights    []float64 // landmarks × outputs: a prediction is Σ_j k(x, z_j) w_j
	Iterations int       // taken; 0 for Cholesky
	Residual   float64   // relative, of the system that the iterations solve
}

// single is met by kernels that can be computed in float32.
type single[P any] interface {
	betweenSingle(x, y P) (func(dst []float32, stride, i0, i1, j0, j1 int), error)
}

func (k Vector) betweenSingle(x, y *Matrix) (func(dst []float32, stride, i0, i1, j0, j1 int), error) {
	return between[float32](k, x, y)
}

// LandmarkRidge fits Σ_j w_j k(x, z_j) over landmarks z to labels y (n × outputs). It minimises
// |K_nm w - y|² + c wᵀK_mm w, kernel ridge regression in the span of the landmarks. With all
// examples as landmarks it is Ridge. Rows of K_nm are computed in blocks, so that memory is 16m²
// bytes and a block of rows for any n.
//
// The iterations are preconditioned by the system of the landmarks only, as in A. Rudi, L.
// Carratino and L. Rosasco, "FALKON: an optimal large scale kernel method", NeurIPS 2017.
func LandmarkRidge[P any](k Kernel[P], x, z P, y []float64, outputs int, c float64,
	opts *LandmarkOptions) (*LandmarkResult, error) {
	var lo LandmarkOptions
	if opts != nil {
		lo = *opts
	}
	o := lo.filled()
	n, m := k.Len(x), k.Len(z)
	switch {
	case m < 1 || n < 1 || outputs < 1 || len(y) != n*outputs:
		return nil, fmt.Errorf("kernel: ridge: %d labels for %d examples with %d outputs, and %d landmarks",
			len(y), n, outputs, m)
	case !(c >= 0) || math.IsInf(c, 1):
		return nil, fmt.Errorf("kernel: ridge: the penalty %v must be finite and not negative", c)
	}
	if at := firstNotFinite(y); at >= 0 {
		return nil, fmt.Errorf("kernel: ridge: example %d has the label %v", at/outputs+1, y[at])
	}
	if err := Foresee(2*m, m, &o); err != nil {
		return nil, err
	}
	kmm, err := Gram(k, z, &o)
	if err != nil {
		return nil, err
	}
	rows := func(use func(i0, i1 int, rows []float64)) error { return stream(k, x, z, &o, use) }
	half, hasHalf := k.(single[P])
	if lo.Iterations > 0 {
		return falkon(kmm, m, n, y, outputs, c, &lo, &o, rows)
	}
	if !lo.Single || !hasHalf {
		// In the variables Lᵀw, with K_mm = LLᵀ, the penalty is the identity. Directions of little
		// weight then keep their digits.
		lower, err := factorNearly(kmm, m, false, &o)
		if err != nil {
			return nil, err
		}
		h, b, err := normal(func(use func(i0, i1 int, rows []float64)) error {
			return rows(func(i0, i1 int, block []float64) {
				gemm.TriangularSolveRows(o.Workers, i1-i0, m, lower, m, block, m)
				use(i0, i1, block)
			})
		}, y, m, outputs, &o)
		if err != nil {
			return nil, err
		}
		for i := range m {
			h[i*m+i] += c
		}
		factor, err := factorNearly(h, m, false, &o)
		if err != nil {
			return nil, err
		}
		gemm.CholeskySolve(o.Workers, m, outputs, factor, m, b, outputs)
		gemm.TriangularSolve(o.Workers, true, m, outputs, lower, m, b, outputs)
		return &LandmarkResult{Weights: b}, nil
	}
	fill, err := half.betweenSingle(x, z)
	if err != nil {
		return nil, err
	}
	h, b, err := normal(func(use func(i0, i1 int, rows []float32)) error {
		return streamed(k.Name(), fill, n, m, &o, use)
	}, y, m, outputs, &o)
	if err != nil {
		return nil, err
	}
	for i, v := range kmm {
		h[i] += c * v
	}
	factor, err := factorNearly(h, m, true, &o)
	if err != nil {
		return nil, err
	}
	gemm.CholeskySolve(o.Workers, m, outputs, factor, m, b, outputs)
	return &LandmarkResult{Weights: b}, nil
}

// normal adds up KᵀK, its lower triangle, and Kᵀy over blocks of rows of K.
func normal[T gemm.Float](rows func(use func(i0, i1 int, rows []T)) error, y []float64, m, outputs int,
	o *Options) (h, b []float64, err error) {
	h, b = make([]float64, m*m), make([]float64, m*outputs)
	labels := convert[T](y)
	square, right := make([]T, m*m), make([]T, m*outputs)
	_, double := any(square).([]float64)
	err = rows(func(i0, i1 int, block []T) {
		if double {
			gemm.Syrk(o.Workers, true, m, i1-i0, 1, block, m, 1, any(h).([]T), m)
			gemm.Gemm(o.Workers, blas.Trans, blas.NoTrans, m, outputs, i1-i0, 1, block, m, labels[i0*outputs:],
				outputs, 1, any(b).([]T), outputs)
			return
		}
		// Sums of many blocks stay in double precision.
		gemm.Syrk(o.Workers, true, m, i1-i0, 1, block, m, 0, square, m)
		gemm.Gemm(o.Workers, blas.Trans, blas.NoTrans, m, outputs, i1-i0, 1, block, m, labels[i0*outputs:],
			outputs, 0, right, outputs)
		for i := range m {
			to := h[i*m : i*m+i+1]
			for j, v := range square[i*m : i*m+i+1] {
				to[j] += float64(v)
			}
		}
		for i, v := range right {
			b[i] += float64(v)
		}
	})
	return h, b, err
}

// factorNearly returns the Cholesky factor of h, the lower triangle of a matrix that is positive
// semidefinite but for rounding. It adds the least multiple of the rounding error, of single or
// double precision, that makes the matrix definite. It keeps h.
func factorNearly(h []float64, m int, single bool, o *Options) ([]float64, error) {
	trace := 0.0
	for i := range m {
		trace += h[i*m+i]
	}
	a := make([]float64, m*m)
	most := 1e-9
	if single {
		most = 1e-5
	}
	for share := 0.0; share <= most; share = max(1e-16, 10*share) {
		if o.Ctx.Err() != nil {
			return nil, context.Cause(o.Ctx)
		}
		copy(a, h)
		for i := range m {
			a[i*m+i] += share * trace
		}
		if gemm.Cholesky(o.Workers, m, a, m) {
			return a, nil
		}
	}
	full := slices.Clone(h)
	for i := range m {
		for j := range i {
			full[j*m+i] = full[i*m+j]
		}
	}
	smallest, largest, err := Extremes(full, m, o)
	if err != nil {
		return nil, err
	}
	return nil, &NotPositiveError{Smallest: smallest, Largest: largest}
}

// falkon solves (K_nmᵀK_nm + cK_mm) w = K_nmᵀy by conjugate gradients, for all outputs side by
// side. The variables are β in w = T⁻¹A⁻¹β, with K_mm = TᵀT and TTᵀ·n/m + cI = AᵀA.
func falkon(kmm []float64, m, n int, y []float64, outputs int, c float64, lo *LandmarkOptions,
	o *Options, rows func(use func(i0, i1 int, rows []float64)) error) (*LandmarkResult, error) {
	tolerance := lo.Tolerance
	if tolerance == 0 {
		tolerance = 1e-7
	}
	lower, err := factorNearly(kmm, m, false, o) // K_mm = LLᵀ: T is Lᵀ
	if err != nil {
		return nil, err
	}
	for i := range m {
		clear(lower[i*m+i+1 : (i+1)*m])
	}
	// TTᵀ is LᵀL.
	inner := make([]float64, m*m)
	gemm.Syrk(o.Workers, true, m, m, float64(n)/float64(m), lower, m, 0, inner, m)
	scale := 0.0
	for i := range m {
		scale = max(scale, inner[i*m+i])
	}
	for i := range m {
		inner[i*m+i] += c + 1e-15*scale
	}
	if !gemm.Cholesky(o.Workers, m, inner, m) { // AᵀA with A the factor's transpose
		return nil, fmt.Errorf("kernel: ridge: the penalty %v is too small for iterations; take a larger "+
			"one, or solve without", c)
	}
	p := outputs
	// forward is A⁻ᵀT⁻ᵀ, of right-hand sides; backward T⁻¹A⁻¹, of solutions. The factors
	// stored are the transposes of T and A.
	forward := func(v []float64) {
		gemm.TriangularSolve(o.Workers, false, m, p, lower, m, v, p)
		gemm.TriangularSolve(o.Workers, false, m, p, inner, m, v, p)
	}
	backward := func(v []float64) {
		gemm.TriangularSolve(o.Workers, true, m, p, inner, m, v, p)
		gemm.TriangularSolve(o.Workers, true, m, p, lower, m, v, p)
	}
	// image is the system's matrix times v in the new variables.
	image := func(v []float64) ([]float64, error) {
		w := slices.Clone(v)
		gemm.TriangularSolve(o.Workers, true, m, p, inner, m, w, p)
		penalty := slices.Clone(w) // T⁻ᵀK_mm T⁻¹ is the identity
		gemm.TriangularSolve(o.Workers, true, m, p, lower, m, w, p)
		sum := make([]float64, m*p)
		var fitted []float64
		err := rows(func(i0, i1 int, block []float64) {
			if fitted == nil {
				fitted = make([]float64, streamRows*p)
			}
			f := fitted[:(i1-i0)*p]
			gemm.Gemm(o.Workers, blas.NoTrans, blas.NoTrans, i1-i0, p, m, 1, block, m, w, p, 0, f, p)
			gemm.Gemm(o.Workers, blas.Trans, blas.NoTrans, m, p, i1-i0, 1, block, m, f, p, 1, sum, p)
		})
		if err != nil {
			return nil, err
		}
		gemm.TriangularSolve(o.Workers, false, m, p, lower, m, sum, p)
		for i, v := range penalty {
			sum[i] += c * v
		}
		gemm.TriangularSolve(o.Workers, false, m, p, inner, m, sum, p)
		return sum, nil
	}
	right := make([]float64, m*p)
	if err := rows(func(i0, i1 int, block []float64) {
		gemm.Gemm(o.Workers, blas.Trans, blas.NoTrans, m, p, i1-i0, 1, block, m, y[i0*p:], p, 1, right, p)
	}); err != nil {
		return nil, err
	}
	forward(right)
	beta, residual := make([]float64, m*p), right
	direction := slices.Clone(residual)
	first := products2(residual, residual, p)
	now := slices.Clone(first)
	r := &LandmarkResult{}
	for r.Iterations = 0; r.Iterations < lo.Iterations; r.Iterations++ {
		if r.Residual = worst(now, first); r.Residual <= tolerance {
			break
		}
		q, err := image(direction)
		if err != nil {
			return nil, err
		}
		along := products2(direction, q, p)
		for i := range m {
			for j := range p {
				if along[j] > 0 && now[j] > 0 {
					step := now[j] / along[j]
					beta[i*p+j] += step * direction[i*p+j]
					residual[i*p+j] -= step * q[i*p+j]
				}
			}
		}
		next := products2(residual, residual, p)
		for i := range m {
			for j := range p {
				if now[j] > 0 {
					direction[i*p+j] = residual[i*p+j] + next[j]/now[j]*direction[i*p+j]
				}
			}
		}
		now = next
	}
	r.Residual = worst(now, first)
	backward(beta)
	r.Weights = beta
	return r, nil
}

// products2 returns the inner product of each column of a and b, rows of p.
func products2(a, b []float64, p int) []float64 {
	out := make([]float64, p)
	for i, v := range a {
		out[i%p] += v * b[i]
	}
	return out
}

// worst returns the largest root of now/first.
func worst(now, first []float64) float64 {
	out := 0.0
	for j, v := range now {
		if first[j] > 0 {
			out = max(out, math.Sqrt(v/first[j]))
		}
	}
	return out
}
