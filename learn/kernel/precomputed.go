package kernel

import (
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/learn/gemm"
)

// Places are examples known by their numbers in a precomputed matrix.
type Places []int

// Precomputed is a kernel whose values were computed elsewhere, for N examples.
type Precomputed struct {
	N     int
	K     []float64 // N×N, symmetric
	Title string    // for Name; "" is precomputed
}

var _ Kernel[Places] = &Precomputed{}

// NewPrecomputed checks that k is a finite, symmetric n×n matrix, up to rounding, and positive
// semidefinite (see CheckPositive), and keeps it. The error names the place, or is a
// *NotPositiveError with the smallest eigenvalue.
func NewPrecomputed(k []float64, n int, title string, opts *Options) (*Precomputed, error) {
	if len(k) != n*n {
		return nil, fmt.Errorf("kernel: %d numbers are no %d by %d matrix", len(k), n, n)
	}
	p := &Precomputed{n, k, title}
	if err := firstOdd(p.Name(), k, n); err != nil {
		return nil, err
	}
	floor := 0.0 // rounding of the largest entry, whatever the units are
	for _, v := range k {
		floor = max(floor, 1e-9*v, -1e-9*v)
	}
	for i := range n {
		for j := range i {
			a, b := k[i*n+j], k[j*n+i]
			if d := a - b; d > floor || -d > floor {
				return nil, fmt.Errorf("kernel: %s of examples %d and %d is %g, and %g the other way round: it is "+
					"not symmetric", p.Name(), i+1, j+1, a, b)
			}
		}
	}
	if err := CheckPositive(p.Name(), k, n, opts); err != nil {
		return nil, err
	}
	return p, nil
}

// Name implements Kernel.
func (k *Precomputed) Name() string {
	if k.Title == "" {
		return "precomputed"
	}
	return k.Title
}

// Len implements Kernel.
func (k *Precomputed) Len(x Places) int { return len(x) }

func (k *Precomputed) check(x Places) error {
	for _, i := range x {
		if i < 0 || i >= k.N {
			return fmt.Errorf("kernel: %s has no example %d, only %d", k.Name(), i+1, k.N)
		}
	}
	return nil
}

// Between implements Kernel.
func (k *Precomputed) Between(x, y Places) (Blocks, error) {
	if err := k.check(x); err != nil {
		return nil, err
	}
	if err := k.check(y); err != nil {
		return nil, err
	}
	return func(dst []float64, stride, i0, i1, j0, j1 int) {
		for i := i0; i < i1; i++ {
			from, to := k.K[x[i]*k.N:][:k.N], dst[(i-i0)*stride:][:j1-j0]
			for j := range to {
				to[j] = from[y[j0+j]]
			}
		}
	}, nil
}

// Diagonal implements Kernel.
func (k *Precomputed) Diagonal(x Places) ([]float64, error) {
	if err := k.check(x); err != nil {
		return nil, err
	}
	out := make([]float64, len(x))
	for i, p := range x {
		out[i] = k.K[p*k.N+p]
	}
	return out, nil
}

// CheckPositive returns a *NotPositiveError, with the smallest eigenvalue, if the symmetric n×n
// matrix k has one below -1e-8 times the largest. A Cholesky factorisation decides: n³/3
// operations and 8n² bytes.
func CheckPositive(name string, k []float64, n int, opts *Options) error {
	o := opts.filled()
	if n == 0 {
		return nil
	}
	if err := Foresee(n, n, &o); err != nil {
		return err
	}
	smallest, largest, err := Extremes(k, n, &o)
	if err != nil {
		return err
	}
	least := -1e-8 * max(largest, 0)
	if smallest >= least {
		// The smallest may hide among others.
		a := slices.Clone(k)
		for i := range n {
			a[i*n+i] -= least
		}
		if largest <= 0 || gemm.Cholesky(o.Workers, n, a, n) {
			return nil
		}
		smallest = least
	}
	return &NotPositiveError{Name: name, Smallest: smallest, Largest: largest}
}
