package kernel

import (
	"fmt"
	"strings"
)

// Sum is Σ_k Weight[k]·Kernels[k], positive semidefinite for weights from 0. Its coordinates are
// not those of the kernels side by side: Project finds directions across them.
type Sum[P any] struct {
	Kernels []Kernel[P]
	Weight  []float64 // one for each kernel
}

var _ Kernel[*Matrix] = Sum[*Matrix]{}

// Name implements Kernel.
func (k Sum[P]) Name() string {
	var parts []string
	for i, one := range k.Kernels {
		parts = append(parts, fmt.Sprintf("%.4g·%s", k.Weight[i], one.Name()))
	}
	return strings.Join(parts, " + ")
}

// Len implements Kernel.
func (k Sum[P]) Len(x P) int { return k.Kernels[0].Len(x) }

func (k Sum[P]) check() error {
	if len(k.Kernels) == 0 || len(k.Weight) != len(k.Kernels) {
		return fmt.Errorf("kernel: a sum of %d kernels with %d weights", len(k.Kernels), len(k.Weight))
	}
	for i, w := range k.Weight {
		if !(w >= 0) || w-w != 0 {
			return fmt.Errorf("kernel: the weight %v of %s must be finite and not negative", w, k.Kernels[i].Name())
		}
	}
	return nil
}

// Between implements Kernel.
func (k Sum[P]) Between(x, y P) (Blocks, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	fills := make([]Blocks, len(k.Kernels))
	for i, one := range k.Kernels {
		var err error
		if fills[i], err = one.Between(x, y); err != nil {
			return nil, err
		}
	}
	return func(dst []float64, stride, i0, i1, j0, j1 int) {
		n := j1 - j0
		block := make([]float64, (i1-i0)*n)
		for f, fill := range fills {
			fill(block, n, i0, i1, j0, j1)
			for i := range i1 - i0 {
				to := dst[i*stride:][:n]
				if f == 0 {
					clear(to)
				}
				for j, v := range block[i*n:][:n] {
					to[j] += k.Weight[f] * v
				}
			}
		}
	}, nil
}

// Diagonal implements Kernel.
func (k Sum[P]) Diagonal(x P) ([]float64, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	out := make([]float64, k.Len(x))
	for f, one := range k.Kernels {
		d, err := one.Diagonal(x)
		if err != nil {
			return nil, err
		}
		for i, v := range d {
			out[i] += k.Weight[f] * v
		}
	}
	return out, nil
}
