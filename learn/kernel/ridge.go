package kernel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/run"
)

// Ridge is a factored matrix G = K + cI: kernel ridge regression before it has seen a
// label. Its weights for labels Y are α = G⁻¹Y, and a prediction is Σ_i α_i k(x_i, x). With
// the mean squared loss and the penalty λ|g|², c is nλ.
type Ridge struct {
	n       int
	c       float64
	factor  []float64 // lower triangle of G = LLᵀ
	workers int
	ctx     context.Context
	inverse []float64 // diagonal of G⁻¹, once it was asked for
}

// NewRidge factors K + cI for the n×n Gram matrix k, which it keeps intact. The error is
// a *NotPositiveError, with the smallest eigenvalue, where that is not positive definite.
// n³/3 operations, 8n² bytes.
func NewRidge(k []float64, n int, c float64, opts *Options) (*Ridge, error) {
	o := opts.filled()
	if len(k) != n*n {
		return nil, fmt.Errorf("kernel: %d numbers are no %d by %d matrix", len(k), n, n)
	}
	if !(c >= 0) || math.IsInf(c, 1) {
		return nil, fmt.Errorf("kernel: ridge: the penalty %v must be finite and not negative", c)
	}
	if err := firstOdd("matrix", k, n); err != nil {
		return nil, err
	}
	if err := Foresee(n, n, &o); err != nil {
		return nil, err
	}
	r := &Ridge{n: n, c: c, factor: slices.Clone(k), workers: o.Workers, ctx: o.Ctx}
	for i := range n {
		r.factor[i*n+i] += c
	}
	var definite bool
	if err := run.Breakable(o.Ctx, func() { definite = gemm.Cholesky(o.Workers, n, r.factor, n) }); err != nil {
		return nil, err
	}
	if !definite {
		smallest, largest, err := Extremes(k, n, &o)
		if err != nil {
			return nil, err
		}
		return nil, &NotPositiveError{Smallest: smallest, Largest: largest, Added: c}
	}
	return r, nil
}

// ErrNotPositive reports a matrix that is not positive (semi)definite.
var ErrNotPositive = errors.New("not positive semidefinite")

// NotPositiveError reports the eigenvalues of such a matrix.
type NotPositiveError struct {
	Name              string // of the kernel, if known
	Smallest, Largest float64
	Added             float64 // to the diagonal
}

func (e *NotPositiveError) Error() string {
	name := e.Name
	if name == "" {
		name = "the matrix"
	}
	s := fmt.Sprintf("kernel: %s has the eigenvalue %.4g (the largest is %.4g)", name, e.Smallest, e.Largest)
	if e.Added > 0 {
		return s + fmt.Sprintf(": with %.4g added it is not positive definite; take a larger penalty", e.Added)
	}
	return s + ": it is no kernel of a feature space, or needs a penalty"
}

// Unwrap returns ErrNotPositive.
func (e *NotPositiveError) Unwrap() error { return ErrNotPositive }

// Len returns the number of examples.
func (r *Ridge) Len() int { return r.n }

// Solve replaces y, n×m row by row, by G⁻¹y. Columns of labels become weights; columns of
// k(x_i, x) become the α(x) of structured prediction. 2n²m operations.
func (r *Ridge) Solve(y []float64, m int) error {
	if len(y) != r.n*m {
		return fmt.Errorf("kernel: ridge: %d numbers for %d examples and %d columns", len(y), r.n, m)
	}
	if at := firstNotFinite(y); at >= 0 {
		return fmt.Errorf("kernel: ridge: example %d has the label %v", at/m+1, y[at])
	}
	gemm.CholeskySolve(r.workers, r.n, m, r.factor, r.n, y, m)
	return nil
}

// Append adds an example: k are its kernels with those there are, in order, and own that with
// itself. c stays. The error is a *NotPositiveError where the matrix would not be positive
// definite. n² operations, and a copy of the factor.
func (r *Ridge) Append(k []float64, own float64) error {
	n := r.n
	if len(k) != n {
		return fmt.Errorf("kernel: ridge: %d numbers for %d examples", len(k), n)
	}
	row := append(slices.Clone(k), own)
	if at := firstNotFinite(row); at >= 0 {
		return fmt.Errorf("kernel: ridge: the new example has the kernel %v with example %d", row[at], at+1)
	}
	gemm.TriangularSolve(r.workers, false, n, 1, r.factor, n, row[:n], 1)
	left := own + r.c - dot(row[:n], row[:n])
	if !(left > 1e-15*(own+r.c)) {
		return &NotPositiveError{Name: "the matrix with the new example", Smallest: left, Largest: own, Added: r.c}
	}
	row[n] = math.Sqrt(left)
	factor := make([]float64, (n+1)*(n+1))
	for i := range n {
		copy(factor[i*(n+1):], r.factor[i*n:i*n+i+1])
	}
	copy(factor[n*(n+1):], row)
	r.n, r.factor, r.inverse = n+1, factor, nil
	return nil
}

// Remove takes example i out; those behind it move up by one place. c stays. n² operations, and a
// copy of the factor: what is right of i and below is updated by rotations (G. Golub and C. Van
// Loan, Matrix Computations, section 6.5).
func (r *Ridge) Remove(i int) error {
	n := r.n
	if i < 0 || i >= n || n == 1 {
		return fmt.Errorf("kernel: ridge: example %d of %d cannot be removed", i+1, n)
	}
	m := n - 1
	factor, out := make([]float64, m*m), make([]float64, m-i)
	for j := range m {
		from := j
		if j >= i {
			from = j + 1
			out[j-i] = r.factor[from*n+i]
		}
		copy(factor[j*m:], r.factor[from*n:from*n+min(i, from+1)])
		if from > i {
			copy(factor[j*m+i:], r.factor[from*n+i+1:from*n+from+1])
		}
	}
	for j := i; j < m; j++ { // L'L'ᵀ = LLᵀ + outᵀout
		a, b := factor[j*m+j], out[j-i]
		h := math.Hypot(a, b)
		cos, sin := a/h, b/h
		factor[j*m+j] = h
		for k := j + 1; k < m; k++ {
			a, b := factor[k*m+j], out[k-i]
			factor[k*m+j], out[k-i] = cos*a+sin*b, cos*b-sin*a
		}
	}
	r.n, r.factor, r.inverse = m, factor, nil
	return nil
}

func firstNotFinite(x []float64) int {
	return slices.IndexFunc(x, func(v float64) bool { return v-v != 0 })
}

// InverseDiagonal returns the diagonal of G⁻¹, which is kept. n³/3 operations at first.
func (r *Ridge) InverseDiagonal() ([]float64, error) {
	if r.inverse != nil {
		return r.inverse, nil
	}
	// The column of L⁻¹ for unit vector j begins at row j.
	const block = 128
	n := r.n
	out := make([]float64, n)
	blocks := (n + block - 1) / block
	err := run.Each(r.workers, blocks, func(_, b int) error {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		from := b * block
		m := min(block, n-from)
		x := make([]float64, (n-from)*m)
		for j := range m {
			x[j*m+j] = 1
		}
		gemm.TriangularSolve(1, false, n-from, m, r.factor[from*n+from:], n, x, m)
		for i := range n - from {
			for j, v := range x[i*m : (i+1)*m] {
				out[from+j] += v * v
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.inverse = out
	return out, nil
}

// LeaveOneOut returns the prediction of each example's labels from the other examples, n×m: y_i -
// α_i/(G⁻¹)_ii. It equals n fits without one example each and with the same c.
func (r *Ridge) LeaveOneOut(y []float64, m int) ([]float64, error) {
	d, err := r.InverseDiagonal()
	if err != nil {
		return nil, err
	}
	out := slices.Clone(y)
	if err := r.Solve(out, m); err != nil {
		return nil, err
	}
	for i := range r.n {
		for c := range m {
			out[i*m+c] = y[i*m+c] - out[i*m+c]/d[i]
		}
	}
	return out, nil
}

// LeaveBlockOut returns what the labels of the examples listed are predicted as by all
// others: y_B - ((G⁻¹)_BB)⁻¹ α_B. For n examples, b of them listed, 2n²b operations.
func (r *Ridge) LeaveBlockOut(y []float64, m int, list []int) ([]float64, error) {
	n, b := r.n, len(list)
	alpha := slices.Clone(y)
	if err := r.Solve(alpha, m); err != nil {
		return nil, err
	}
	columns := make([]float64, n*b)
	for j, i := range list {
		if i < 0 || i >= n {
			return nil, fmt.Errorf("kernel: ridge: example %d of %d", i+1, n)
		}
		if slices.Index(list, i) < j {
			return nil, fmt.Errorf("kernel: ridge: example %d is listed twice", i+1)
		}
		columns[i*b+j] = 1
	}
	if err := r.Solve(columns, b); err != nil {
		return nil, err
	}
	inner, right := make([]float64, b*b), make([]float64, b*m)
	for j, i := range list {
		copy(inner[j*b:], columns[i*b:(i+1)*b])
		copy(right[j*m:], alpha[i*m:(i+1)*m])
	}
	if !gemm.Cholesky(r.workers, b, inner, b) {
		return nil, errors.New("kernel: ridge: the penalty is too small to leave these out")
	}
	gemm.CholeskySolve(r.workers, b, m, inner, b, right, m)
	for j, i := range list {
		for c := range m {
			right[j*m+c] = y[i*m+c] - right[j*m+c]
		}
	}
	return right, nil
}
