package sparse

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"

	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// reference is a ridge regression with the kernels of an integral. It tells how well the rows can
// be fitted, and so which bound is within reach.
type reference struct {
	ridge float64   // penalty of the least squared error when each row is left out
	left  float64   // that error
	f     []float64 // values at all samples
}

// referenceRows are fitted, evenly chosen among the samples. Penalties are decades of the mean
// diagonal.
const referenceRows = 800

var referencePenalties = []float64{1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1, 3, 10, 100}

// newReference fits p by least squares with a ridge chosen by leaving out one row at a time, in
// closed form. With gamma = 0 it is what Solve finds for a tube without width and the same Ridge.
// nil without an error says that the kernels are too many to keep: Solve will say so.
// O(rows²·cells + rows³) with at most 800 rows.
func newReference(ctx context.Context, p *Problem, cells *Cells, family Family, workers int) (*reference,
	error) {
	n, g := len(p.Y), cells.Len()
	rows := min(n, referenceRows)
	if int64(rows)*int64(g) > 1<<27 {
		return nil, nil
	}
	x, y := make([]float64, 0, rows*p.Dim), make([]float64, rows)
	for j := range rows {
		i := j * n / rows
		x = append(x, p.X[i*p.Dim:][:p.Dim]...)
		y[j] = p.Y[i]
	}
	k := cells.Values(workers, family, x)
	if err := interrupted(ctx); err != nil {
		return nil, err
	}
	scaled := slices.Clone(k)
	for i := range scaled {
		scaled[i] *= math.Sqrt(cells.Volume[i%g])
	}
	gram := make([]float64, rows*rows)
	gemm.Implementation{Workers: workers}.Dsyrk(blas.Lower, blas.NoTrans, rows, g, 1, scaled, g, 0, gram, rows)
	mean := 0.0
	for i := range rows {
		mean += gram[i*rows+i] / float64(rows)
		for j := range i {
			gram[j*rows+i] = gram[i*rows+j]
		}
	}
	if !(mean > 0) || math.IsInf(mean, 1) {
		return nil, nil
	}
	r := &reference{left: math.Inf(1)}
	var lambda []float64
	for _, share := range referencePenalties {
		if err := interrupted(ctx); err != nil {
			return nil, err
		}
		c := share * mean
		fit, err := kernel.NewRidge(gram, rows, c, &kernel.Options{Ctx: ctx, Workers: workers})
		if err != nil {
			if err := interrupted(ctx); err != nil {
				return nil, err
			}
			continue // rounding leaves the matrix indefinite: a larger penalty will do
		}
		out, err := fit.LeaveOneOut(y, 1)
		if err != nil {
			return nil, err
		}
		sum := 0.0
		for i, v := range out {
			sum += (v - y[i]) * (v - y[i]) / float64(rows)
		}
		if sum < r.left {
			r.ridge, r.left, lambda = c, sum, slices.Clone(y)
			if err := fit.Solve(lambda, 1); err != nil {
				return nil, err
			}
		}
	}
	if lambda == nil {
		return nil, nil
	}
	alpha := make([]float64, g)
	gemm.Implementation{Workers: workers}.Dgemv(blas.Trans, rows, g, 1, k, g, lambda, 1, 0, alpha, 1)
	sum := cells.dense(family, alpha)
	r.f = make([]float64, n)
	for from := 0; from < n; from += predictRows {
		if err := interrupted(ctx); err != nil {
			return nil, err
		}
		to := min(n, from+predictRows)
		sum.Predict(workers, p.X[from*p.Dim:to*p.Dim], r.f[from:to])
	}
	return r, nil
}

// hinge returns the least total hinge loss of a multiple of the reference, which is a bound that
// can be met. It also counts the rows with a loss, or a margin of 1, there. The loss is convex in
// the multiple, and changes its slope where a row has the margin 1.
func (r *reference) hinge(p *Problem) (total float64, active int) {
	type kink struct{ at, slope float64 }
	var kinks []kink
	slope := 0.0
	for i, v := range r.f {
		w, margin := score.Weight(p.Weight, i), p.Y[i]*v
		total += w
		slope -= w * margin
		if margin > 0 {
			kinks = append(kinks, kink{1 / margin, w * margin})
		}
	}
	slices.SortStableFunc(kinks, func(a, b kink) int { return cmp.Compare(a.at, b.at) })
	at := 0.0
	for _, k := range kinks {
		if slope >= 0 {
			break
		}
		total += slope * (k.at - at)
		at, slope = k.at, slope+k.slope
	}
	for i, v := range r.f {
		if at*p.Y[i]*v <= 1 {
			active++
		}
	}
	return math.Max(0, total), active
}

// allowed is the bound of the fit of a function.
type allowed struct {
	known      bool
	eps, ridge float64
	noisy      bool // rows exceed the bound that there would be without noise
	// thin, if positive, is how many rows the integral is fitted to: more of all rows would have a
	// multiplier than can be solved at once.
	thin int
}

// thinRows are rows that the integral is fitted to where not all can be.
const thinRows = 1000

// allow sets the bound of the fit. Where none is asked for, errors of numbers and margins may
// exceed theirs, at the cost of the reference's ridge. The total hinge loss may be that of the
// reference.
func (tr *training) allow(p *Problem, s *SolveOptions) error {
	a := &tr.allowed
	if !a.known {
		*a = allowed{known: true, eps: tr.eps(p)}
		if tr.o.Eps == 0 && s.Cells != nil && s.Method != Paper {
			r, err := newReference(tr.run.Ctx, p, s.Cells, tr.m.family, tr.workers)
			if err != nil {
				return err
			}
			if r != nil {
				a.from(r, p, tr.bound)
			}
			if a.thin > 0 {
				tr.run.Warning(fmt.Sprintf("function %d of %d: the kernels are found on %d of %d rows, evenly "+
					"chosen; their coefficients are fitted to all", len(tr.m.functions)+1, len(tr.pairs), a.thin, len(p.Y)))
			}
		}
	}
	s.Eps, s.Ridge = a.eps, a.ridge
	return nil
}

func (a *allowed) from(r *reference, p *Problem, bound optim.FitBound) {
	total, active := r.hinge(p)
	switch bound {
	case optim.HingeBound:
		a.noisy = 1.001*total > a.eps
		a.eps = math.Max(a.eps, 1.001*total)
	default:
		a.ridge, a.noisy = r.ridge, true
		if bound == optim.TubeBound {
			active = 0
			for i, v := range r.f {
				if math.Abs(p.Y[i]-v) > math.Sqrt(a.eps) {
					active++
				}
			}
		}
	}
	if active > thinRows*4/5 {
		a.thin = thinRows
	}
}

// solve is Solve for all rows, or for those that allowed has chosen.
func (tr *training) solve(p *Problem, s *SolveOptions, c *run.Control) (*Solution, *optim.Result, error) {
	n, rows := len(p.Y), tr.allowed.thin
	if rows == 0 || rows >= n || s.Method != Interior {
		return Solve(p, s, c)
	}
	few, o := &Problem{Dim: p.Dim}, *s
	if o.Bound == optim.HingeBound {
		o.Eps *= float64(rows) / float64(n)
	}
	o.Start = nil
	for j := range rows {
		i := j * n / rows
		few.X, few.Y = append(few.X, p.X[i*p.Dim:][:p.Dim]...), append(few.Y, p.Y[i])
		if p.Weight != nil {
			few.Weight = append(few.Weight, p.Weight[i])
		}
		if s.Start != nil {
			o.Start = append(o.Start, s.Start[i])
		}
	}
	sol, r, err := Solve(few, &o, c)
	if sol != nil {
		lambda := make([]float64, n)
		for j, l := range sol.Lambda {
			lambda[j*n/rows] = l
		}
		sol.Lambda = lambda
	}
	return sol, r, err
}
