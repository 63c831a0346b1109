package sparse

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/gemm"
)

// interrupted returns the cause of a context that was cancelled; nil contexts never are.
func interrupted(ctx context.Context) error {
	if ctx == nil || ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("sparse: interrupted: %w", context.Cause(ctx))
}

// KOMPOptions are the settings of KOMP.
type KOMPOptions struct {
	Family Family  // nil is Gaussian
	Width  float64 // of all kernels
	Ridge  float64 // of the fits, beside the mean squared norm of a kernel; zero is 1e-8
	// Kernels ends at that many, Error before the mean squared error at the samples exceeds it;
	// zero is none. Without either, one kernel is left.
	Kernels int
	Error   float64
	// Each, if not nil, is shown the kernels of every model on the way from All down: sample
	// numbers.
	Each func(kernels []int)
	All  int // from how many kernels on Each is called; zero is all
}

// KOMP is kernel orthogonal matching pursuit with pre-fitting, backward. It starts from the ridge
// fit with a kernel at every sample. It then removes, one after the other, the kernel whose removal
// and refit raises the squared error least (P. Vincent and Y. Bengio, Machine Learning 48, 2002; A.
// Koppel et al., JMLR 20, 2019). A removal updates the inverse of the Gram matrix in O(samples²).
func KOMP(ctx context.Context, p *Problem, o *KOMPOptions) (*Sum, error) {
	n := len(p.Y)
	if !(o.Width > 0) || n == 0 || len(p.X) != n*p.Dim {
		return nil, fmt.Errorf("sparse: KOMP: width %v, and %d numbers for %d samples of %d coordinates",
			o.Width, len(p.X), n, p.Dim)
	}
	f := o.Family
	if f == nil {
		f = Gaussian{}
	}
	s := &Sum{Family: f, Dim: p.Dim, Center: p.X, Width: make([]float64, n), Coef: make([]float64, n)}
	for i := range s.Width {
		s.Width[i] = o.Width
	}
	ridge := o.Ridge
	if ridge == 0 {
		ridge = 1e-8
	}
	k := s.Values(1, p.X)
	stay := make([]int, n)
	for i := range stay {
		stay[i] = i
	}
	var a, inverse []float64
	m, since := n, 0
	begin := func() error { // the inverse anew: rounding adds up
		part := make([]float64, n*m)
		for i := range n {
			for j, c := range stay {
				part[i*m+j] = k[i*n+c]
			}
		}
		var factor []float64
		var err error
		if a, factor, err = leastSquares(part, p.Y, m, ridge, 0); err != nil {
			return err
		}
		inverse, since = make([]float64, m*m), 0
		for j := range m {
			inverse[j*m+j] = 1
		}
		gemm.CholeskySolve(1, m, m, factor, m, inverse, m)
		return nil
	}
	if err := begin(); err != nil {
		return nil, err
	}
	last := stay
	values := make([]float64, n)
	for {
		mse := 0.0
		for i, y := range p.Y {
			values[i] = 0
			for j, c := range stay {
				values[i] += a[j] * k[i*n+c]
			}
			mse += (y - values[i]) * (y - values[i]) / float64(n)
		}
		if o.Error > 0 && mse > o.Error {
			break // the one before was the last within
		}
		last = append([]int(nil), stay...)
		if o.Each != nil && (o.All == 0 || m <= o.All) {
			o.Each(last)
		}
		if m == 1 || m <= o.Kernels {
			break
		}
		if err := interrupted(ctx); err != nil {
			return nil, err
		}
		best, least := 0, math.Inf(1)
		for j, v := range a {
			if rise := v * v / inverse[j*m+j]; rise < least {
				best, least = j, rise
			}
		}
		// Without row and column best: P - p pᵀ/P_bb, and a - p a_b/P_bb.
		row := append([]float64(nil), inverse[best*m:][:m]...)
		pivot, gone := row[best], a[best]
		fewer := make([]float64, 0, (m-1)*(m-1))
		kept := make([]float64, 0, m-1)
		for i := range m {
			if i == best {
				continue
			}
			old := inverse[i*m:][:m]
			floats.AddScaled(old, -row[i]/pivot, row)
			fewer = append(append(fewer, old[:best]...), old[best+1:]...)
			kept = append(kept, a[i]-row[i]*gone/pivot)
		}
		inverse, a = fewer, kept
		stay = append(stay[:best:best], stay[best+1:]...)
		m--
		if since++; since == 50 {
			if err := begin(); err != nil {
				return nil, err
			}
		}
	}
	out := s.keep(last)
	a, _, err := leastSquares(out.Values(1, p.X), p.Y, out.Len(), tinyRidge, 0)
	if err != nil {
		return nil, err
	}
	out.Coef = a
	return out, nil
}
