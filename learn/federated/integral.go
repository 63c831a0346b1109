package federated

import (
	"context"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/learner"
)

// gauss is exp(-|x-z|²/2w²) of a point p = (z, w).
func gauss(x, p []float64) float64 {
	d := 0.0
	for j, v := range x {
		d += (v - p[j]) * (v - p[j])
	}
	w := p[len(x)]
	return math.Exp(-d / (2 * w * w))
}

// points are those of the integral over centres and widths, the same for everyone: Halton's
// sequence in the box of the options. volume is that of a point.
func (o *KernelOptions) points(dim int) (out [][]float64, volume float64, err error) {
	if len(o.Widths) != 2 || len(o.Lo) != dim || len(o.Hi) != dim || !(o.Widths[0] < o.Widths[1]) ||
		dim >= len(primes) {
		return nil, 0,
			fail(BadConfig, "",
				"gamma above 0 needs two widths, and corners lo and hi of %d numbers each, of at most %d dimensions",
				dim, len(primes)-1)
	}
	volume = o.Widths[1] - o.Widths[0]
	for j := range dim {
		if !(o.Lo[j] < o.Hi[j]) {
			return nil, 0, fail(BadConfig, "", "lo %v and hi %v of dimension %d", o.Lo[j], o.Hi[j], j+1)
		}
		volume *= o.Hi[j] - o.Lo[j]
	}
	for g := range o.Points {
		p := make([]float64, dim+1)
		for j := range dim {
			p[j] = o.Lo[j] + (o.Hi[j]-o.Lo[j])*radicalInverse(g+1, primes[j])
		}
		p[dim] = o.Widths[0] + (o.Widths[1]-o.Widths[0])*radicalInverse(g+1, primes[dim])
		out = append(out, p)
	}
	return out, volume / float64(o.Points), nil
}

var primes = []int{2, 3, 5, 7, 11, 13, 17, 19, 23}

func radicalInverse(i, base int) float64 {
	v, f := 0.0, 1.0
	for i > 0 {
		f /= float64(base)
		v += f * float64(i%base)
		i /= base
	}
	return v
}

// ascend solves the dual of B2 with gamma above 0 by projected supergradient ascent,
//
//	u ← [u + step (1 - eps - y f(x))]_+,   f(x) = Σ_g volume α_g k(x, p_g),
//
// with α the thresholded abar of (3.26) and (3.27). Where a point enters or leaves the support
// the supergradient jumps, so that steps fall as 1/√t in the second half, and the mean of its
// iterates is the solution, if its dual value is not below the best one's.
func (o *KernelOptions) ascend(ctx context.Context, s *samples, r *solution, total float64) error {
	if o.Cost == "total-hinge" {
		return fail(BadConfig, "", "gamma above 0 is for the costs hinge and margin")
	}
	if o.Kernel != "gaussian" {
		return fail(BadConfig, "", "gamma above 0 is for the Gaussian kernel")
	}
	dim := len(s.x[r.rows[0]])
	points, volume, err := o.points(dim)
	if err != nil {
		return err
	}
	n, g := len(r.rows), len(points)
	k := make([][]float64, n) // y k(x, p)
	for i, row := range r.rows {
		k[i] = make([]float64, g)
		for j, p := range points {
			k[i][j] = r.y[i] * gauss(s.x[row], p)
		}
	}
	if o.Cost == "margin" {
		r.price = math.Inf(1)
	}
	alpha := make([]float64, g)
	margins := func(u, dst []float64) (dual float64) {
		o.coefficients(k, u, alpha)
		margin := 1 - learner.Amount(o.Eps)
		for _, v := range u {
			dual += margin * v
		}
		for _, a := range alpha {
			if a != 0 {
				dual -= volume * (a*a/2 - o.Gamma)
			}
		}
		for i := range dst {
			sum := 0.0
			for j, a := range alpha {
				if a != 0 {
					sum += a * k[i][j]
				}
			}
			dst[i] = volume * sum
		}
		return dual
	}
	norm := largest(k) * volume
	f, best, mean := make([]float64, n), slices.Clone(r.u), make([]float64, n)
	top, averaged := math.Inf(-1), 0.0
	margin := 1 - learner.Amount(o.Eps)
	half := o.Steps / 2
	for t := range o.Steps {
		if ctx != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if dual := margins(r.u, f); dual > top {
			top = dual
			copy(best, r.u)
		}
		step := 1 / norm
		if t > half {
			step /= math.Sqrt(float64(t - half))
		}
		for i := range r.u {
			r.u[i] = math.Min(math.Max(0, r.u[i]+step*(margin-f[i])), r.price*s.count[r.rows[i]])
			if r.u[i] > 1e6 {
				return infeasible(s, r.rows, r.y, r.u)
			}
		}
		if t >= half {
			averaged++
			for i, v := range r.u {
				mean[i] += (v - mean[i]) / averaged
			}
		}
	}
	r.steps += o.Steps
	copy(r.u, best)
	if margins(mean, f) >= top {
		copy(r.u, mean)
	}
	margins(r.u, f)
	r.f = f
	for i := range f {
		r.f[i] *= r.y[i]
	}
	return nil
}

// coefficients stores (3.27): abar where it exceeds √(2 gamma), else 0.
func (o *KernelOptions) coefficients(k [][]float64, u, alpha []float64) {
	clear(alpha)
	for i, v := range u {
		if v != 0 {
			for j, x := range k[i] {
				alpha[j] += v * x
			}
		}
	}
	for j, a := range alpha {
		if a*a <= 2*o.Gamma {
			alpha[j] = 0
		}
	}
}

// largest is about the largest eigenvalue of k k', from above: power iteration, times 1.05.
func largest(k [][]float64) float64 {
	v := make([]float64, len(k))
	for i := range v {
		v[i] = 1 + float64(i%7)/7
	}
	size := 0.0
	for range 30 {
		w := make([]float64, len(k[0]))
		for i, x := range v {
			for j, y := range k[i] {
				w[j] += x * y
			}
		}
		size = 0
		for i := range v {
			v[i] = 0
			for j, y := range k[i] {
				v[i] += y * w[j]
			}
			size += v[i] * v[i]
		}
		size = math.Sqrt(size)
		for i := range v {
			v[i] /= size
		}
	}
	return 1.05 * size
}
