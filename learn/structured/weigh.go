package structured

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
	"gonum.org/v1/gonum/blas"
)

// Estimator says how a query's weights come from its kernel with the training inputs.
type Estimator string

// The estimators; all share the decoders.
const (
	Ridge          Estimator = "ridge"           // (K + nλI)⁻¹ K_x: consistent, and the default
	Conjugate      Estimator = "conjugate"       // the same by conjugate gradients, without a factor
	Nystrom        Estimator = "nystrom"         // the same over some training inputs, for large n
	NadarayaWatson Estimator = "nadaraya-watson" // K_x
	Neighbours     Estimator = "neighbours"      // 1/k for the k nearest by the kernel
)

// WeightOptions adjusts NewWeights; nil is all defaults.
type WeightOptions struct {
	Estimator Estimator // "" is Ridge
	// of Nystrom and of Conjugate's preconditioner; zero is 500, or all inputs where there are
	// fewer
	Landmarks int
	// Relative is the residual that Conjugate stops at, of each query; zero is 1e-6. Weights are
	// then off by at most √n·Relative·|K_x|/(nλ) in the sum of absolute values.
	Relative   float64
	Neighbours int    // zero is 5
	Seed       uint64 // draws the landmarks
	// Clip sets negative eigenvalues of the Gram matrix to zero, for kernels that are not
	// positive semidefinite; by default such a kernel is an error. It takes all eigenpairs.
	Clip bool
	kernel.Options
}

// WeightModel turns queries into weights of the training outputs: kernel ridge regression of
// unit vectors, without a loss. It may be used by several goroutines.
type WeightModel[P any] struct {
	Lambda float64
	// C is n·λ, which is what is added to the Gram matrix. It is held fixed where examples are
	// left out.
	C      float64
	Jitter float64 // added to the diagonal on top, where the matrix was not positive definite

	kernel kernel.Kernel[P]
	train  P
	n      int
	o      WeightOptions
	ridge  *kernel.Ridge
	// Of Nystrom: weights are B (BᵀB + cI)⁻¹ R⁻ᵀ k_m, with RᵀR the kernel of the landmarks and
	// B = K_nm R⁻¹.
	marks        P
	m            int
	b, root, mid []float64
	// Of Conjugate: the Gram matrix, or nil where it is computed again for every product.
	gram   []float64
	subset func(P, []int) P
	mu     sync.Mutex
	solved optim.ConjugateResult
}

// jitters are tried where a Cholesky factorisation fails: 1e-12 of the mean of the diagonal, and
// ten times as much up to 1e-6.
var jitters = []float64{0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6}

// NewWeights fits weights for training inputs: gram, if not nil, is their kernel matrix.
// subset returns some of the inputs; only Nystrom needs it.
//
// The ridge takes n³/3 operations and 16n² bytes, Nystrom O(n·landmarks²) and 8n·landmarks
// bytes. Memory beyond the limit of the options is a *kernel.MemoryError that says so before
// the work begins.
func NewWeights[P any](k kernel.Kernel[P], train P, gram []float64, lambda float64, subset func(P, []int) P,
	opts *WeightOptions) (*WeightModel[P], error) {
	w := &WeightModel[P]{Lambda: lambda, kernel: k, train: train, n: k.Len(train)}
	if opts != nil {
		w.o = *opts
	}
	w.C = float64(w.n) * lambda
	if w.n == 0 {
		return nil, errors.New("structured: no training example")
	}
	switch w.o.Estimator {
	case "", Ridge:
		w.o.Estimator = Ridge
		if !(lambda > 0) || math.IsInf(w.C, 1) {
			return nil, fmt.Errorf("structured: lambda is %v; it must be positive", lambda)
		}
		if gram == nil {
			var err error
			if gram, err = kernel.Gram(k, train, &w.o.Options); err != nil {
				return nil, err
			}
		}
		return w, w.factor(gram)
	case Nystrom:
		if !(lambda > 0) || math.IsInf(w.C, 1) {
			return nil, fmt.Errorf("structured: lambda is %v; it must be positive", lambda)
		}
		return w, w.landmarks(subset)
	case Conjugate:
		if !(lambda > 0) || math.IsInf(w.C, 1) {
			return nil, fmt.Errorf("structured: lambda is %v; it must be positive", lambda)
		}
		w.gram, w.subset = gram, subset
		if gram == nil {
			var err error
			if w.gram, err = kernel.Gram(k, train, &w.o.Options); err != nil && !errors.Is(err, kernel.ErrMemory) {
				return nil, err
			}
		}
		return w, w.landmarks(subset)
	case NadarayaWatson:
		return w, nil
	case Neighbours:
		if w.o.Neighbours == 0 {
			w.o.Neighbours = 5
		}
		w.o.Neighbours = min(w.o.Neighbours, w.n)
		return w, nil
	}
	return nil, fmt.Errorf("structured: there is no estimator %q", w.o.Estimator)
}

// mean returns the mean of the diagonal of a matrix.
func meanDiagonal(gram []float64, n int) float64 {
	s := 0.0
	for i := range n {
		s += gram[i*n+i]
	}
	return s / float64(n)
}

func (w *WeightModel[P]) factor(gram []float64) error {
	if w.o.Clip {
		var err error
		if gram, err = clipped(gram, w.n, &w.o.Options); err != nil {
			return err
		}
	}
	scale := meanDiagonal(gram, w.n)
	var err error
	for _, j := range jitters {
		w.Jitter = j * scale
		w.ridge, err = kernel.NewRidge(gram, w.n, w.C+w.Jitter, &w.o.Options)
		var odd *kernel.NotPositiveError
		if !errors.As(err, &odd) {
			return err
		}
		if odd.Smallest+w.C < -1e-6*scale { // no jitter helps
			odd.Name = w.kernel.Name()
			return fmt.Errorf("%w (or clip the negative eigenvalues)", err)
		}
	}
	return err
}

// clipped returns a symmetric matrix with its negative eigenvalues set to zero. O(n³).
func clipped(gram []float64, n int, o *kernel.Options) ([]float64, error) {
	s, err := kernel.Top(gram, n, n, o)
	if err != nil {
		return nil, err
	}
	scaled := make([]float64, len(s.Vectors))
	r := len(s.Values)
	for i := range n {
		for k, v := range s.Values {
			scaled[i*r+k] = s.Vectors[i*r+k] * math.Max(v, 0)
		}
	}
	out := make([]float64, n*n)
	gemm.Gemm(o.Workers, blas.NoTrans, blas.Trans, n, n, r, 1, scaled, r, s.Vectors, r, 0, out, n)
	for i := range n { // symmetric to the bit
		for j := range i {
			out[j*n+i] = out[i*n+j]
		}
	}
	return out, nil
}

func (w *WeightModel[P]) landmarks(subset func(P, []int) P) error {
	w.m = w.o.Landmarks
	if w.m == 0 {
		w.m = 500
	}
	w.m = min(w.m, w.n)
	w.marks = subset(w.train, kernel.Draw(w.n, w.m, w.o.Seed))
	inner, err := kernel.Gram(w.kernel, w.marks, &w.o.Options)
	if err != nil {
		return err
	}
	if w.b, err = kernel.Cross(w.kernel, w.train, w.marks, &w.o.Options); err != nil {
		return err
	}
	n, m := w.n, w.m
	scale := meanDiagonal(inner, m)
	for _, j := range jitters {
		if w.root != nil {
			break
		}
		w.Jitter = math.Max(j, 1e-14) * scale
		root := append([]float64(nil), inner...)
		for i := range m {
			root[i*m+i] += w.Jitter
		}
		if gemm.Cholesky(w.o.Workers, m, root, m) {
			w.root = root
		}
	}
	if w.root == nil {
		return &kernel.NotPositiveError{Name: w.kernel.Name(), Added: w.Jitter}
	}
	// The factor is L = Rᵀ: rows b of B solve L bᵀ = k_mᵀ. The columns of K_nmᵀ are solved at once.
	t := transposed(w.b, n, m)
	gemm.TriangularSolve(w.o.Workers, false, m, n, w.root, m, t, n)
	w.b = transposed(t, m, n)
	w.mid = make([]float64, m*m)
	gemm.Gemm(w.o.Workers, blas.Trans, blas.NoTrans, m, m, n, 1, w.b, m, w.b, m, 0, w.mid, m)
	for i := range m {
		w.mid[i*m+i] += w.C
	}
	if !gemm.Cholesky(w.o.Workers, m, w.mid, m) {
		return errors.New("structured: lambda is too small for these landmarks; take a larger one")
	}
	return nil
}

// transposed returns the transpose of a rows×cols matrix.
func transposed(a []float64, rows, cols int) []float64 {
	out := make([]float64, len(a))
	const side = 32 // blocks that stay in the cache
	for i0 := 0; i0 < rows; i0 += side {
		for j0 := 0; j0 < cols; j0 += side {
			for i := i0; i < min(i0+side, rows); i++ {
				for j := j0; j < min(j0+side, cols); j++ {
					out[j*rows+i] = a[i*cols+j]
				}
			}
		}
	}
	return out
}

// Len returns the number of training examples.
func (w *WeightModel[P]) Len() int { return w.n }

// Weights returns α of every query, row by row: queries by Len. The ridge takes n kernel values
// and 2n² operations a query.
func (w *WeightModel[P]) Weights(ctx context.Context, queries P, workers int) ([]float64, error) {
	o := w.o.Options
	o.Ctx, o.Workers = ctx, workers
	q := w.kernel.Len(queries)
	if w.o.Estimator == Nystrom {
		k, err := kernel.Cross(w.kernel, queries, w.marks, &o)
		if err != nil {
			return nil, err
		}
		t := transposed(k, q, w.m)
		gemm.TriangularSolve(workers, false, w.m, q, w.root, w.m, t, q)
		gemm.CholeskySolve(workers, w.m, q, w.mid, w.m, t, q)
		out := make([]float64, q*w.n)
		gemm.Gemm(workers, blas.Trans, blas.Trans, q, w.n, w.m, 1, t, q, w.b, w.m, 0, out, w.n)
		return out, nil
	}
	k, err := kernel.Cross(w.kernel, queries, w.train, &o)
	if err != nil {
		return nil, err
	}
	switch w.o.Estimator {
	case Conjugate:
		return w.conjugate(ctx, k, q, workers)
	case Ridge:
		t := transposed(k, q, w.n)
		if err := w.ridge.Solve(t, q); err != nil {
			return nil, err
		}
		return transposed(t, w.n, q), nil
	case Neighbours:
		for i := range q {
			nearest(k[i*w.n:][:w.n], w.o.Neighbours)
		}
	}
	return k, nil
}

// productRows are the rows of the Gram matrix that are computed together where it is not kept.
const productRows = 512

// conjugate solves (K + cI) α = K_x for q queries by conjugate gradients. The preconditioner is
// the inverse with K of the landmarks' span, (BBᵀ + cI)⁻¹ = (I - B (BᵀB + cI)⁻¹ Bᵀ)/c.
func (w *WeightModel[P]) conjugate(ctx context.Context, k []float64, q, workers int) ([]float64, error) {
	n, m := w.n, w.m
	apply := func(dst, v []float64) error {
		if w.gram != nil {
			gemm.Gemm(workers, blas.NoTrans, blas.NoTrans, n, q, n, 1, w.gram, n, v, q, 0, dst, q)
		} else {
			o := w.o.Options
			o.Ctx, o.Workers = ctx, workers
			limit := o.MaxBytes
			if limit == 0 {
				limit = kernel.DefaultBytes
			}
			step := int(min(productRows, max(1, limit/int64(8*n))))
			for from := 0; from < n; from += step {
				rows := make([]int, min(step, n-from))
				for r := range rows {
					rows[r] = from + r
				}
				part, err := kernel.Cross(w.kernel, w.subset(w.train, rows), w.train, &o)
				if err != nil {
					return err
				}
				gemm.Gemm(workers, blas.NoTrans, blas.NoTrans, len(rows), q, n, 1, part, n, v, q, 0, dst[from*q:], q)
			}
		}
		for i, x := range v {
			dst[i] += w.C * x
		}
		return nil
	}
	t := make([]float64, m*q)
	precondition := func(dst, v []float64) error {
		gemm.Gemm(workers, blas.Trans, blas.NoTrans, m, q, n, 1, w.b, m, v, q, 0, t, q)
		gemm.CholeskySolve(workers, m, q, w.mid, m, t, q)
		copy(dst, v)
		gemm.Gemm(workers, blas.NoTrans, blas.NoTrans, n, q, m, -1/w.C, w.b, m, t, q, 1/w.C, dst, q)
		return nil
	}
	x := make([]float64, n*q)
	r, err := optim.ConjugateGradient{Relative: w.o.Relative}.Solve(ctx, n, q, transposed(k, q, n), x,
		apply, precondition)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.solved.Iterations, w.solved.Residual = max(w.solved.Iterations, r.Iterations),
		math.Max(w.solved.Residual, r.Residual)
	w.mu.Unlock()
	return transposed(x, n, q), nil
}

// Solved returns the most iterations and the largest relative residual of conjugate gradients
// so far.
func (w *WeightModel[P]) Solved() optim.ConjugateResult {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.solved
}

// nearest gives the count largest entries of a row the weight 1/count, and the others none.
// Ties go to the lowest number.
func nearest(row []float64, count int) {
	all := make([]int, len(row))
	for i := range all {
		all[i] = i
	}
	best := bestOf(all, count, func(i int) float64 { return -row[i] })
	clear(row)
	for _, i := range best {
		row[i] = 1 / float64(count)
	}
}

// Held prepares weights for examples that are left out, in closed form: of the ridge it inverts
// the matrix, 2n³ operations and 8n² bytes.
func (w *WeightModel[P]) Held() (*Held, error) {
	h := &Held{n: w.n}
	switch w.o.Estimator {
	case Ridge:
		if err := kernel.Foresee(w.n, w.n, &w.o.Options); err != nil {
			return nil, err
		}
		inverse := make([]float64, w.n*w.n)
		for i := range w.n {
			inverse[i*w.n+i] = 1
		}
		if err := w.ridge.Solve(inverse, w.n); err != nil {
			return nil, err
		}
		h.inverse = inverse
		h.row = func(dst []float64, i int) { copy(dst, inverse[i*w.n:]) }
	case Nystrom: // I - B (BᵀB + cI)⁻¹ Bᵀ; the landmarks stay
		h.row = func(dst []float64, i int) {
			t := append([]float64(nil), w.b[i*w.m:][:w.m]...)
			gemm.CholeskySolve(1, w.m, 1, w.mid, w.m, t, 1)
			gemm.Gemm(1, blas.NoTrans, blas.NoTrans, w.n, 1, w.m, -1, w.b, w.m, t, 1, 0, dst, 1)
			dst[i]++
		}
	default:
		return nil, fmt.Errorf("structured: the estimator %s has no examples to leave out in closed form",
			w.o.Estimator)
	}
	return h, nil
}

// Held gives the weights of examples that are left out.
type Held struct {
	n       int
	inverse []float64                  // of the ridge
	row     func(dst []float64, i int) // row i of I - S, times any constant: S smooths the outputs
}

// Weights returns the weights for each example of a block, computed from all examples outside it.
// The result is block by n, row by row, and zero for the block itself. C stays the same: a refit on
// fewer examples with the same C, not the same λ, has these weights.
//
// A block of one takes O(n) for the ridge, one of b O(n·b² + b³).
func (h *Held) Weights(block []int) ([]float64, error) {
	b, n := len(block), h.n
	out, inner := make([]float64, b*n), make([]float64, b*b)
	for r, i := range block {
		h.row(out[r*n:][:n], i)
	}
	for r := range block {
		for c, j := range block {
			inner[r*b+c] = out[r*n+j]
		}
	}
	if b == 1 {
		for j := range out {
			out[j] /= inner[0]
		}
	} else {
		if !gemm.Cholesky(1, b, inner, b) {
			return nil, errors.New("structured: the penalty is too small to leave examples out")
		}
		gemm.CholeskySolve(1, b, n, inner, b, out, n)
	}
	for r := range block {
		row := out[r*n:][:n]
		for j := range row {
			row[j] = -row[j]
		}
		for _, i := range block {
			row[i] = 0
		}
	}
	return out, nil
}

// SurrogateLOO returns the mean squared distance in output space of leave-one-out predictions:
// (1/n) Σ_i [G⁻¹ H G⁻¹]_ii / [G⁻¹]_ii², for the n×n Gram matrix H of the outputs. It needs no
// decoding, and bounds how far the task loss can be from the best. It is for the ridge. O(n³).
func (h *Held) SurrogateLOO(outputs []float64, workers int) float64 {
	inverse, n := h.inverse, h.n
	half := make([]float64, n*n)
	gemm.Gemm(workers, blas.NoTrans, blas.NoTrans, n, n, n, 1, inverse, n, outputs, n, 0, half, n)
	s := 0.0
	for i := range n {
		v := 0.0
		for j, h := range half[i*n:][:n] {
			v += h * inverse[i*n+j]
		}
		s += v / (inverse[i*n+i] * inverse[i*n+i])
	}
	return s / float64(n)
}

// DefaultLambdas are 17 values from 1e-8 to 1 times the mean of the Gram matrix's diagonal.
func DefaultLambdas(gram []float64, n int) []float64 {
	scale := meanDiagonal(gram, n)
	var out []float64
	for k := range 17 {
		out = append(out, scale*math.Pow(10, float64(k)/2-8))
	}
	return out
}

// Validate returns the losses of examples that are left out block by block: loss(i, α) decodes
// the weights for example i and judges the output. Results do not depend on workers.
func (h *Held) Validate(ctx context.Context, blocks [][]int, workers int,
	loss func(i int, alpha []float64) (float64, error)) ([]float64, error) {
	out := make([]float64, h.n)
	err := run.Each(workers, len(blocks), func(_, k int) error {
		alpha, err := h.Weights(blocks[k])
		if err != nil {
			return err
		}
		for r, i := range blocks[k] {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if out[i], err = loss(i, alpha[r*h.n:][:h.n]); err != nil {
				return fmt.Errorf("structured: example %d left out: %w", i+1, err)
			}
		}
		return nil
	})
	return out, err
}

// Append adds training inputs: grown are those there were, in order, and the new ones behind them.
// C stays, as where examples are left out. The decoder needs the new outputs too. O(n²) for each of
// them.
//
// Errors: another estimator than Ridge, or clipped eigenvalues, which ask for a new fit. Where
// kernels are not positive semidefinite, no example is added.
func (w *WeightModel[P]) Append(grown P) error {
	if w.o.Estimator != Ridge || w.o.Clip {
		return fmt.Errorf("structured: examples are added to the estimator %s without clipping alone; fit "+
			"anew", Ridge)
	}
	m := w.kernel.Len(grown)
	if m < w.n {
		return fmt.Errorf("structured: %d training inputs, and there were %d already", m, w.n)
	}
	// The new inputs' kernels with all others.
	fill, err := w.kernel.Between(grown, grown)
	if err != nil {
		return err
	}
	own, err := w.kernel.Diagonal(grown)
	if err != nil {
		return err
	}
	for n := w.n; n < m; n++ {
		row := make([]float64, n)
		fill(row, n, n, n+1, 0, n)
		if err := w.ridge.Append(row, own[n]); err != nil {
			for ; n > w.n; n-- {
				err = errors.Join(err, w.ridge.Remove(n-1))
			}
			return err
		}
	}
	w.n, w.train = m, grown
	return nil
}

// Remove takes training example i out: rest are the inputs without it. C stays. O(n²); see Append.
func (w *WeightModel[P]) Remove(i int, rest P) error {
	if w.o.Estimator != Ridge || w.o.Clip {
		return fmt.Errorf("structured: examples are removed from the estimator %s without clipping alone; "+
			"fit anew", Ridge)
	}
	if m := w.kernel.Len(rest); m != w.n-1 {
		return fmt.Errorf("structured: %d training inputs are left of %d", m, w.n)
	}
	if err := w.ridge.Remove(i); err != nil {
		return err
	}
	w.n, w.train = w.n-1, rest
	return nil
}
