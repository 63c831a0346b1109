package kernel

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	lapackgo "gonum.org/v1/gonum/lapack/gonum"

	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/run"
)

// Spectrum is the largest eigenvalues of a symmetric matrix with their eigenvectors.
type Spectrum struct {
	N        int       // side of the matrix
	Values   []float64 // descending
	Vectors  []float64 // N×len(Values), row by row: one eigenvector a column, its largest entry positive
	Trace    float64   // of the matrix: the sum of all eigenvalues
	Residual float64   // largest |Kv - λv|/max(|λ|, 1e-6 λ₁), as measured at the end
}

// Share returns the part of the trace that the first r eigenvalues have.
func (s *Spectrum) Share(r int) float64 {
	sum := 0.0
	for _, v := range s.Values[:r] {
		sum += max(v, 0)
	}
	if s.Trace <= 0 {
		return 0
	}
	return min(1, sum/s.Trace)
}

// Components returns how many eigenvalues have at least a share of the trace, and false
// where all that are known have less.
func (s *Spectrum) Components(share float64) (int, bool) {
	for r := range len(s.Values) + 1 {
		if s.Share(r) >= share-1e-12 {
			return r, true
		}
	}
	return len(s.Values), false
}

// Rank returns how many eigenvalues are above 1e-12 of the largest.
func (s *Spectrum) Rank() int {
	r := 0
	for r < len(s.Values) && s.Values[r] > 0 && s.Values[r] > 1e-12*s.Values[0] {
		r++
	}
	return r
}

// denseSide is the side up to which all eigenpairs are computed: a partial method saves
// nothing there.
const denseSide = 200

// residualLimit is the relative residual that eigenpairs must meet.
const residualLimit = 1e-6

// residualFloor of the largest eigenvalue is where residuals stop to be relative: below it
// rounding is most of what is left.
const residualFloor = 1e-6

// Top returns the r largest eigenpairs of the symmetric n×n matrix k, all of them where r
// is n or more.
//
// Small matrices, and most of the pairs of greater ones, use LAPACK's tridiagonal QR, O(n³).
// Otherwise it uses the block Lanczos method with full orthogonalisation and thick restarts (G.
// Golub and R. Underwood, 1977; K. Wu and H. Simon, SIAM J. Matrix Analysis 22, 2000). That takes a
// few dozen products of k with blocks of vectors, and about 16nr bytes. It measures the residual of
// every pair. A residual above 1e-6 of its eigenvalue and above 1e-12 of the largest is an error.
func Top(k []float64, n, r int, opts *Options) (*Spectrum, error) {
	o := opts.filled()
	if len(k) != n*n {
		return nil, fmt.Errorf("kernel: %d numbers are no %d by %d matrix", len(k), n, n)
	}
	if at := firstNotFinite(k); at >= 0 {
		return nil, fmt.Errorf("kernel: the matrix has %v at row %d, column %d", k[at], at/n+1, at%n+1)
	}
	trace := 0.0
	for i := range n {
		trace += k[i*n+i]
	}
	r = min(r, n)
	if n <= denseSide || 3*r > n {
		return all(k, n, r, trace, &o)
	}
	var s *Spectrum
	var err error
	if e := run.Breakable(o.Ctx, func() {
		s, err = lanczos(product(k, n, &o), n, r, residualLimit, residualFloor, &o)
	}); e != nil {
		return nil, e
	}
	if err != nil {
		return nil, err
	}
	s.Trace = trace
	return s, nil
}

// all computes every eigenpair and keeps r of them.
func all(k []float64, n, r int, trace float64, o *Options) (*Spectrum, error) {
	if err := Foresee(n, n, o); err != nil {
		return nil, err
	}
	a := slices.Clone(k)
	var values []float64
	var err error
	if e := run.Breakable(o.Ctx, func() { values, err = symmetricEigen(a, n) }); e != nil {
		return nil, e
	}
	if err != nil {
		return nil, err
	}
	s := &Spectrum{N: n, Trace: trace, Values: make([]float64, r), Vectors: make([]float64, n*r)}
	for c := range r {
		s.Values[c] = values[n-1-c]
		for i := range n {
			s.Vectors[i*r+c] = a[i*n+n-1-c]
		}
	}
	s.orient()
	return s, s.measure(product(k, n, o), residualFloor*max(math.Abs(values[0]), math.Abs(values[n-1])))
}

// product is the map of a matrix.
func product(k []float64, n int, o *Options) func(dst, x []float64, m int) error {
	return func(dst, x []float64, m int) error {
		gemm.Gemm(o.Workers, blas.NoTrans, blas.NoTrans, n, m, n, 1, k, n, x, m, 0, dst, m)
		return nil
	}
}

// symmetricEigen replaces a by its eigenvectors, one a column, and returns the eigenvalues,
// ascending.
func symmetricEigen(a []float64, n int) ([]float64, error) {
	values, work := make([]float64, n), make([]float64, 1)
	if n == 0 {
		return values, nil
	}
	var l lapackgo.Implementation
	l.Dsyev(lapack.EVCompute, blas.Upper, n, a, n, values, work, -1)
	work = make([]float64, int(work[0]))
	if !l.Dsyev(lapack.EVCompute, blas.Upper, n, a, n, values, work, len(work)) {
		return nil, fmt.Errorf("kernel: the eigenvalues of a matrix of side %d were not found", n)
	}
	return values, nil
}

// orient gives each eigenvector the sign that makes its largest entry positive: entries
// within 1e-9 of it count as equal, and the first of them decides.
func (s *Spectrum) orient() {
	r := len(s.Values)
	for c := range r {
		largest := 0.0
		for i := range s.N {
			largest = max(largest, math.Abs(s.Vectors[i*r+c]))
		}
		for i := range s.N {
			if v := s.Vectors[i*r+c]; math.Abs(v) >= largest*(1-1e-9) {
				if v < 0 {
					for i := range s.N {
						s.Vectors[i*r+c] = -s.Vectors[i*r+c]
					}
				}
				break
			}
		}
	}
}

// measure computes the residuals. Eigenvalues below floor times the largest in absolute value
// are measured as that.
func (s *Spectrum) measure(apply func(dst, x []float64, m int) error, floor float64) error {
	r := len(s.Values)
	image := make([]float64, s.N*r)
	if err := apply(image, s.Vectors, r); err != nil {
		return err
	}
	s.Residual = 0
	for c, v := range s.Values {
		sq := 0.0
		for i := range s.N {
			d := image[i*r+c] - v*s.Vectors[i*r+c]
			sq += d * d
		}
		if scale := max(math.Abs(v), floor); scale > 0 {
			s.Residual = max(s.Residual, math.Sqrt(sq)/scale)
		}
	}
	return nil
}

// lanczos finds the r largest eigenpairs of a symmetric map of n coordinates. Residuals are at most
// tolerance times the eigenvalue, or times floor·|A| where that is more. With an *EigenError comes
// the best that was found.
func lanczos(apply func(dst, x []float64, m int) error, n, r int, tolerance, floor float64,
	o *Options) (*Spectrum, error) {
	b := blockOf(r)
	most := min(n, 3*r+8*b) // dimensions before a restart
	l := &krylov{n: n, most: most, v: make([]float64, n*most), h: make([]float64, most*most), workers: o.Workers}
	rng := rand.New(rand.NewPCG(17, 4)) // any start will do
	next, image := make([]float64, n*b), make([]float64, n*b)
	start := func(m int) int {
		for i := range next[:n*m] {
			next[i] = rng.NormFloat64()
		}
		l.project(next, m, nil)
		l.project(next, m, nil)
		return l.orthonormal(next, m)
	}
	width := start(b)
	check := min(most, r+2*b)
	var probed []float64 // the largest Ritz values when a space was found to be invariant
	for restarts := 0; ; {
		if o.Ctx.Err() != nil {
			return nil, context.Cause(o.Ctx)
		}
		last := width
		if err := apply(image[:n*last], next[:n*last], last); err != nil {
			return nil, err
		}
		l.join(next, image, last)
		copy(next, image[:n*last])
		width = l.orthonormal(next, last)
		if l.size < check && l.size+width <= most && width > 0 {
			continue
		}
		theta, y, err := l.ritz()
		if err != nil {
			return nil, err
		}
		done := width == 0 && l.size >= n // the space is whole
		if width == 0 && !done && !slices.Equal(top(theta, r), probed) {
			// An invariant space, which may lack copies of an eigenvalue that has more of
			// them than a block has vectors: a new start must add none.
			probed = top(theta, r)
		} else if done || l.arrived(theta, y, r, last, tolerance, floor) {
			s := l.vectors(theta, y, r)
			s.orient()
			if err := s.measure(apply, floor*l.norm); err != nil {
				return nil, err
			}
			if s.Residual <= tolerance {
				return s, nil
			}
			if done {
				return s, &EigenError{r, s.Residual}
			}
		}
		if width == 0 {
			width = start(min(b, n-l.size))
		}
		if l.size+width > most {
			if restarts++; restarts > 200 {
				s := l.vectors(theta, y, r)
				s.orient()
				if err := s.measure(apply, floor*l.norm); err != nil {
					return nil, err
				}
				return s, &EigenError{r, s.Residual}
			}
			l.restart(theta, y, min(r+b, l.size-width))
		}
		check = min(most, l.size+max(b, l.size/4))
	}
}

// top returns the r last of ascending values, to nine digits.
func top(theta []float64, r int) []float64 {
	out := slices.Clone(theta[max(0, len(theta)-r):])
	unit := 1e-9 * math.Abs(theta[len(theta)-1])
	for i, v := range out {
		if unit > 0 {
			out[i] = math.Round(v / unit)
		}
	}
	return out
}

// EigenError reports eigenpairs that were not found as exactly as they must be.
type EigenError struct {
	Pairs    int
	Residual float64 // the largest, of its eigenvalue
}

func (e *EigenError) Error() string {
	return fmt.Sprintf("kernel: %d eigenpairs: the residual %.2g is above %.0g of the eigenvalue; ask "+
		"for fewer", e.Pairs, e.Residual, residualLimit)
}

// blockOf is the number of vectors that are multiplied at a time.
func blockOf(r int) int { return max(8, min(24, (r+1)/2)) }

// krylov is the space of a Lanczos run.
type krylov struct {
	n, most, size int
	norm          float64   // largest entry of the diagonal of VᵀAV that was seen: about |A|
	v             []float64 // n×most: orthonormal columns, size of them
	h             []float64 // most×most: VᵀAV
	r             []float64 // rRows×rCols: what the last image had along the next block
	rRows, rCols  int
	workers       int
}

// project takes VVᵀQ off the n×m matrix q, and adds VᵀQ to sum unless that is nil.
func (l *krylov) project(q []float64, m int, sum []float64) {
	if l.size == 0 || m == 0 {
		return
	}
	c := make([]float64, l.size*m)
	gemm.Gemm(l.workers, blas.Trans, blas.NoTrans, l.size, m, l.n, 1, l.v, l.most, q, m, 0, c, m)
	gemm.Gemm(l.workers, blas.NoTrans, blas.NoTrans, l.n, m, l.size, -1, l.v, l.most, c, m, 1, q, m)
	for i := range sum {
		sum[i] += c[i]
	}
}

// join appends the m orthonormal columns of q to the space, and takes off their image what
// lies along the space.
func (l *krylov) join(q, image []float64, m int) {
	at := l.size
	for i := range l.n {
		copy(l.v[i*l.most+at:], q[i*m:(i+1)*m])
	}
	l.size += m
	sum := make([]float64, l.size*m)
	for range 2 { // once is not orthogonal enough
		l.project(image[:l.n*m], m, sum)
	}
	for j := range m {
		for i := range l.size {
			v := sum[i*m+j]
			if i >= at { // symmetric on the diagonal block
				v = (v + sum[(at+j)*m+i-at]) / 2
			}
			l.h[i*l.most+at+j], l.h[(at+j)*l.most+i] = v, v
		}
		l.norm = max(l.norm, math.Abs(l.h[(at+j)*l.most+at+j]))
	}
}

// orthonormal makes the m columns of q, already orthogonal to the space, orthonormal. It
// leaves out those that hold nothing but rounding, packs the others, and returns their
// number.
func (l *krylov) orthonormal(q []float64, m int) int {
	n := l.n
	l.r, l.rCols = make([]float64, m*m), m
	columns := make([][]float64, 0, m)
	least := 1e-13 * l.norm
	gather := func(m int) {
		columns = columns[:0]
		for j := range m {
			x := make([]float64, n)
			for i := range x {
				x[i] = q[i*m+j]
			}
			length := 0.0
			for range 2 {
				for k, y := range columns {
					d := dot(x, y)
					if m == l.rCols {
						l.r[k*m+j] += d
					}
					axpy(-d, y, x)
				}
				length = math.Sqrt(dot(x, x))
			}
			if length <= least {
				continue
			}
			if m == l.rCols {
				l.r[len(columns)*m+j] = length
			}
			for i := range x {
				x[i] /= length
			}
			columns = append(columns, x)
		}
		for k, x := range columns {
			for i, v := range x {
				q[i*len(columns)+k] = v
			}
		}
		l.rRows = len(columns)
	}
	gather(m)
	if width := len(columns); width > 0 && l.size > 0 {
		// Short columns grew, and with them their rounding along the space.
		r := slices.Clone(l.r)
		l.project(q[:n*width], width, nil)
		least = 0.5
		gather(width)
		l.r = r
	}
	return len(columns)
}

func dot(a, b []float64) float64 {
	var s, t, u, v float64
	b = b[:len(a)]
	for len(a) >= 4 {
		s += a[0] * b[0]
		t += a[1] * b[1]
		u += a[2] * b[2]
		v += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s += a[i] * b[i]
	}
	return (s + t) + (u + v)
}

func axpy(alpha float64, x, y []float64) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += alpha * v
	}
}

// ritz returns eigenvalues of VᵀAV, ascending, and its eigenvectors, one a column.
func (l *krylov) ritz() (theta, y []float64, err error) {
	y = make([]float64, l.size*l.size)
	for i := range l.size {
		copy(y[i*l.size:], l.h[i*l.most:][:l.size])
	}
	theta, err = symmetricEigen(y, l.size)
	return theta, y, err
}

// arrived estimates the residuals of the r largest pairs: what the last block's part of
// them has outside of the space.
func (l *krylov) arrived(theta, y []float64, r, last int, tolerance, floor float64) bool {
	m := l.size
	if m < r {
		return false
	}
	for c := m - r; c < m; c++ {
		sq := 0.0
		for i := range l.rRows {
			s := 0.0
			for j := range last {
				s += l.r[i*l.rCols+j] * y[(m-last+j)*m+c]
			}
			sq += s * s
		}
		if math.Sqrt(sq) > 0.5*tolerance*max(math.Abs(theta[c]), floor*l.norm) {
			return false
		}
	}
	return true
}

// vectors returns the r largest pairs.
func (l *krylov) vectors(theta, y []float64, r int) *Spectrum {
	m := l.size
	r = min(r, m)
	w := make([]float64, m*r)
	s := &Spectrum{N: l.n, Values: make([]float64, r), Vectors: make([]float64, l.n*r)}
	for c := range r {
		s.Values[c] = theta[m-1-c]
		for i := range m {
			w[i*r+c] = y[i*m+m-1-c]
		}
	}
	gemm.Gemm(l.workers, blas.NoTrans, blas.NoTrans, l.n, r, m, 1, l.v, l.most, w, r, 0, s.Vectors, r)
	return s
}

// restart shrinks the space to its keep largest Ritz vectors.
func (l *krylov) restart(theta, y []float64, keep int) {
	s := l.vectors(theta, y, keep)
	for i := range l.n {
		copy(l.v[i*l.most:], s.Vectors[i*keep:(i+1)*keep])
	}
	clear(l.h)
	for i, v := range s.Values {
		l.h[i*l.most+i] = v
	}
	l.size = keep
}

// Extremes returns the smallest and the largest eigenvalue of the symmetric n×n matrix k. Their
// error is at most 1e-7 of its norm, and far less when they are isolated.
func Extremes(k []float64, n int, opts *Options) (smallest, largest float64, err error) {
	o := opts.filled()
	if n <= denseSide {
		values, err := symmetricEigen(slices.Clone(k), n)
		if err != nil || n == 0 {
			return 0, 0, err
		}
		return values[0], values[n-1], nil
	}
	end := func(sign float64) (float64, error) {
		apply := product(k, n, &o)
		s, err := lanczos(func(dst, x []float64, m int) error {
			err := apply(dst, x, m)
			for i := range dst {
				dst[i] *= sign
			}
			return err
		}, n, 1, 1e-7, 1, &o)
		if _, loose := err.(*EigenError); err != nil && !loose {
			return 0, err
		}
		return sign * s.Values[0], nil
	}
	var ends [2]float64
	e := run.Breakable(o.Ctx, func() {
		if ends[1], err = end(1); err == nil {
			ends[0], err = end(-1)
		}
	})
	if e != nil {
		return 0, 0, e
	}
	return ends[0], ends[1], err
}
