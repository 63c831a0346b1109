package sparse

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"

	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/run"
)

// Family is a family of kernels k(x, z; w) with a width w > 0, of the squared distance |x-z|².
type Family interface {
	// Name names the family in files.
	Name() string
	// Value returns k at a squared distance.
	Value(sq, w float64) float64
	// Slopes returns k, and its derivatives by the squared distance and by the width.
	Slopes(sq, w float64) (k, bySquare, byWidth float64)
	// Source returns k as an expression in C and Go, of the variables sq and w.
	Source() string
}

// Gaussian is exp(-|x-z|²/(2w²)), (2.24) of the dissertation.
type Gaussian struct{}

// Name implements Family.
func (Gaussian) Name() string { return "gaussian" }

// Value implements Family.
func (Gaussian) Value(sq, w float64) float64 { return math.Exp(-sq / (2 * w * w)) }

// Slopes implements Family.
func (Gaussian) Slopes(sq, w float64) (k, bySquare, byWidth float64) {
	k = math.Exp(-sq / (2 * w * w))
	return k, -k / (2 * w * w), k * sq / (w * w * w)
}

// Source implements Family.
func (Gaussian) Source() string { return "exp(-sq/(2*w*w))" }

// Cauchy is 1/(1 + |x-z|²/w²), whose tails are heavy.
type Cauchy struct{}

// Name implements Family.
func (Cauchy) Name() string { return "cauchy" }

// Value implements Family.
func (Cauchy) Value(sq, w float64) float64 { return 1 / (1 + sq/(w*w)) }

// Slopes implements Family.
func (Cauchy) Slopes(sq, w float64) (k, bySquare, byWidth float64) {
	k = 1 / (1 + sq/(w*w))
	return k, -k * k / (w * w), 2 * k * k * sq / (w * w * w)
}

// Source implements Family.
func (Cauchy) Source() string { return "1/(1+sq/(w*w))" }

// ParseFamily returns the family of a name.
func ParseFamily(name string) (Family, error) {
	switch name {
	case "", "gaussian":
		return Gaussian{}, nil
	case "cauchy":
		return Cauchy{}, nil
	}
	return nil, fmt.Errorf("sparse: there is no kernel family %q; there are gaussian, cauchy", name)
}

// squares stores |x_i - z_j|² of n points x and m points z of dim coordinates in d, n×m.
func squares(workers, dim int, x, z, d []float64) {
	n, m := len(x)/dim, len(z)/dim
	if dim <= 3 {
		run.Blocks(workers, n, 256, func(_, from, to int) {
			for i := from; i < to; i++ {
				a, row := x[i*dim:][:dim], d[i*m:][:m]
				for j := range row {
					sq := 0.0
					for l, v := range a {
						e := v - z[j*dim+l]
						sq += e * e
					}
					row[j] = sq
				}
			}
		})
		return
	}
	norms := func(x []float64) []float64 {
		out := make([]float64, len(x)/dim)
		for i := range out {
			for _, v := range x[i*dim:][:dim] {
				out[i] += v * v
			}
		}
		return out
	}
	nx, nz := norms(x), norms(z)
	gemm.Gemm(workers, blas.NoTrans, blas.Trans, n, m, dim, -2, x, dim, z, dim, 0, d, m)
	run.Blocks(workers, n, 256, func(_, from, to int) {
		for i := from; i < to; i++ {
			row := d[i*m:][:m]
			for j := range row {
				row[j] = math.Max(0, row[j]+nx[i]+nz[j])
			}
		}
	})
}

// Sum is Bias + Σ_j Coef_j k(x, Center_j; Width_j): a function of points of Dim coordinates.
type Sum struct {
	Family Family
	Dim    int
	Center []float64 // Len × Dim
	Width  []float64
	Coef   []float64
	Bias   float64 // 0 but where a refit was given one
}

// Len is the number of kernels.
func (s *Sum) Len() int { return len(s.Width) }

// Predict stores the values at points x, n × Dim, in f. O(n·Len·Dim).
func (s *Sum) Predict(workers int, x, f []float64) {
	n, m := len(f), s.Len()
	for i := range f {
		f[i] = s.Bias
	}
	if m == 0 {
		return
	}
	const rows = 512
	d := make([]float64, min(n, rows)*m)
	for from := 0; from < n; from += rows {
		to := min(n, from+rows)
		d := d[:(to-from)*m]
		squares(workers, s.Dim, x[from*s.Dim:to*s.Dim], s.Center, d)
		run.Blocks(workers, to-from, 64, func(_, a, b int) {
			for i := a; i < b; i++ {
				sum := s.Bias
				for j, sq := range d[i*m:][:m] {
					sum += s.Coef[j] * s.Family.Value(sq, s.Width[j])
				}
				f[from+i] = sum
			}
		})
	}
}

// Values returns the values of every kernel, without coefficients, at points x: n × Len.
func (s *Sum) Values(workers int, x []float64) []float64 {
	n, m := len(x)/s.Dim, s.Len()
	k := make([]float64, n*m)
	if m == 0 {
		return k
	}
	squares(workers, s.Dim, x, s.Center, k)
	run.Blocks(workers, n, 64, func(_, from, to int) {
		for i := from; i < to; i++ {
			row := k[i*m:][:m]
			for j, sq := range row {
				row[j] = s.Family.Value(sq, s.Width[j])
			}
		}
	})
	return k
}

// keep returns the sum of the kernels of those numbers.
func (s *Sum) keep(which []int) *Sum {
	out := &Sum{Family: s.Family, Dim: s.Dim, Bias: s.Bias}
	for _, j := range which {
		out.Center = append(out.Center, s.Center[j*s.Dim:][:s.Dim]...)
		out.Width = append(out.Width, s.Width[j])
		out.Coef = append(out.Coef, s.Coef[j])
	}
	return out
}
