package sparse

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// DiscreteOptions says how few kernels are made of a solution; nil is the same as the zero value.
type DiscreteOptions struct {
	// Fixed leaves peaks at the cells where they were found.
	Fixed bool
	// Joint moves centres, and widths unless the domain has only one, together with the
	// coefficients to the best fit. Peaks themselves are too narrow, since a wide bump costs least
	// as a spread of narrower kernels.
	Joint bool
	// Kernels is the most there may be; zero is no limit. Beyond it the kernels go whose
	// absence is least felt.
	Kernels int
	// Prune lets kernels go on going while the fit at the samples stays within the bound, or
	// no worse than with all of them.
	Prune bool
	// Intercept adds a constant to the kernels of the refit, which the integral has not.
	Intercept bool
	// L2 multiplies half the squared coefficients of a classifier, beside the mean logistic loss;
	// zero is 1e-4. For numbers it multiplies the squared coefficients, in units of the kernels'
	// mean squared norm, beside the squared errors; zero is 1e-10. Few samples ask for more.
	// Negative, as learner.None, is 1e-10 for both, which leaves least squares one solution.
	L2 float64
	// Noisy says that samples cannot all be fitted. L2 is then the least weight tried. Which one is
	// taken, whether kernels move, and how many go is decided by the error promised at new samples.
	// That is generalised cross-validation for numbers, and Akaike's criterion for classes.
	Noisy bool
}

// Discrete is a model of few kernels, and what it took.
type Discrete struct {
	*Sum
	Peaks  int     // before refits
	Edge   int     // peaks on the boundary of the domain
	Excess float64 // by how much it violates the bound at the samples
	Error  float64 // mean squared error at the samples; of classes the share of wrong signs
}

// Discretize makes a model of few kernels from a solution of p. It takes the peaks, with
// coefficients fitted anew by least squares with a tiny ridge, or for classes by logistic
// regression. O(peaks³) beside the refits, each of O(samples·kernels) a step.
func Discretize(p *Problem, s *Solution, bound optim.FitBound, eps float64, opts *DiscreteOptions,
	c *run.Control) (*Discrete, error) {
	var o DiscreteOptions
	if opts != nil {
		o = *opts
	}
	if bound == "" {
		bound = optim.TubeBound
	}
	r := &refit{p: p, o: o, bound: bound, eps: eps, classes: bound != optim.TubeBound,
		lo: s.Cells.Domain.WLo, hi: s.Cells.Domain.WHi}
	if c != nil {
		r.c = run.Control{Ctx: c.Ctx, Workers: c.Workers}
	}
	switch {
	case r.o.L2 < 0:
		r.o.L2 = tinyRidge
	case r.o.L2 == 0 && r.classes:
		r.o.L2 = 1e-4
	case r.o.L2 == 0:
		r.o.L2 = tinyRidge
	}
	d := &Discrete{Sum: &Sum{Family: s.Family, Dim: p.Dim}}
	moved, edge, err := r.peaks(s, o.Fixed)
	if err != nil {
		return nil, err
	}
	d.Sum, d.Edge, d.Peaks = moved, edge, moved.Len()
	if o.Noisy && o.Joint { // kernels that move may fit noise: those that stay may promise less error
		stay := *r
		stay.o.Joint = false
		still, edge, err := stay.peaks(s, true)
		if err != nil {
			return nil, err
		}
		peaks := still.Len()
		if err := r.run(moved); err != nil {
			return nil, err
		}
		if err := stay.run(still); err != nil {
			return nil, err
		}
		a, err := r.promise(moved)
		if err != nil {
			return nil, err
		}
		b, err := stay.promise(still)
		if err != nil {
			return nil, err
		}
		if !(a < b) {
			d.Sum, d.Edge, d.Peaks = still, edge, peaks
		}
	} else if err := r.run(d.Sum); err != nil {
		return nil, err
	}
	f := make([]float64, len(p.Y))
	d.Predict(r.c.Workers, p.X, f)
	d.Excess, d.Error = r.excess(f), r.err(f)
	return d, nil
}

// peaks returns the peaks of a solution as a sum, and how many lie on the boundary.
func (r *refit) peaks(s *Solution, fixed bool) (*Sum, int, error) {
	out, edge := &Sum{Family: s.Family, Dim: r.p.Dim}, 0
	peaks, err := s.Peaks(r.c.Context(), r.p, fixed, r.c.Workers)
	for _, k := range peaks {
		if k.Edge {
			edge++
		}
		out.Center = append(out.Center, k.Center...)
		out.Width = append(out.Width, k.Width)
		out.Coef = append(out.Coef, 0)
	}
	return out, edge, err
}

// refit fits the kernels of a sum to a problem.
type refit struct {
	p       *Problem
	o       DiscreteOptions
	c       run.Control
	bound   optim.FitBound
	eps     float64
	classes bool
	lo, hi  float64 // of widths
}

func (r *refit) excess(f []float64) float64 {
	return (&optim.FitDual{Bound: r.bound, Eps: r.eps, Target: r.p.Y, Weight: r.p.Weight}).Excess(f)
}

// err is the mean squared error, or the share of wrong signs.
func (r *refit) err(f []float64) float64 {
	sum := 0.0
	for i, y := range r.p.Y {
		switch {
		case !r.classes:
			sum += (y - f[i]) * (y - f[i])
		case !(y*f[i] > 0):
			sum++
		}
	}
	return sum / float64(len(f))
}

func (r *refit) run(s *Sum) error {
	if s.Len() == 0 {
		return nil
	}
	if err := r.choose(s); err != nil {
		return err
	}
	if err := r.fit(s); err != nil {
		return err
	}
	drop(s, 1e-6)
	if err := r.prune(s, r.o.Kernels, false); err != nil {
		return err
	}
	if r.o.Joint {
		steps := 1000
		if s.Len() > fewKernels {
			steps = 200
		}
		if err := r.joint(s, steps); err != nil {
			return err
		}
		drop(s, 1e-6)
	}
	if !r.o.Prune {
		return nil
	}
	before := s.Len()
	if err := r.prune(s, 0, true); err != nil {
		return err
	}
	if r.o.Joint && s.Len() < before {
		return r.joint(s, 1000)
	}
	return nil
}

// choose fits coefficients with the ridge that promises least.
func (r *refit) choose(s *Sum) error {
	if !r.o.Noisy {
		return nil
	}
	best, at := math.Inf(1), r.o.L2
	for ridge, tries := r.o.L2, 0; tries < 12; ridge, tries = ridge*math.Sqrt(10), tries+1 {
		r.o.L2 = ridge
		if err := r.fit(s); err != nil {
			return err
		}
		v, err := r.promise(s)
		if err != nil {
			return err
		}
		if v < best {
			best, at = v, ridge
		}
	}
	r.o.L2 = at
	return nil
}

// promise estimates the error at new samples of kernels whose coefficients are fitted. For numbers
// it is the mean square by generalised cross-validation, for classes the logistic loss by Akaike's
// criterion. Degrees of freedom are the trace of the smoother, and centres and widths where they
// were fitted.
func (r *refit) promise(s *Sum) (float64, error) {
	k, m := r.design(s, r.c.Workers)
	n := len(r.p.Y)
	f := make([]float64, n)
	s.Predict(r.c.Workers, r.p.X, f)
	loss, rho := r.err(f), math.Max(r.o.L2, tinyRidge)*meanSquare(k, m)
	if r.classes { // the smoother of the scores, weighted by the curvature of the mean loss
		loss = r.losses(f, make([]float64, n), make([]float64, n))
		rho = r.o.L2
		total := 0.0
		for i := range f {
			total += score.Weight(r.p.Weight, i)
		}
		for i, v := range f {
			p := score.Sigmoid(v)
			floats.Scale(math.Sqrt(p*(1-p)*score.Weight(r.p.Weight, i)/total), k[i*m:][:m])
		}
	}
	// The trace of K(KᵀK + ρ)⁻¹Kᵀ is m - ρ·tr(KᵀK + ρ)⁻¹.
	_, factor, err := leastSquares(k, r.p.Y, m, rho, 1)
	if err != nil {
		return 0, err
	}
	inverse := make([]float64, m*m)
	for j := range m {
		inverse[j*m+j] = 1
	}
	gemm.CholeskySolve(1, m, m, factor, m, inverse, m)
	free := float64(m)
	for j := range m {
		free -= rho * inverse[j*m+j]
	}
	if r.o.Joint {
		free += float64(s.Len() * (s.Dim + 1))
	}
	switch share := free / float64(n); {
	case r.classes:
		return loss + share, nil
	case share < 1:
		return loss / ((1 - share) * (1 - share)), nil
	}
	return math.Inf(1), nil
}

// drop removes kernels whose coefficient is below a share of the largest.
func drop(s *Sum, share float64) {
	least := share * optim.MaxAbs(s.Coef)
	var stay []int
	for j, a := range s.Coef {
		if math.Abs(a) > least {
			stay = append(stay, j)
		}
	}
	*s = *s.keep(stay)
}

// fit finds the coefficients.
func (r *refit) fit(s *Sum) error {
	if err := interrupted(r.c.Ctx); err != nil {
		return err
	}
	k, m := r.design(s, r.c.Workers)
	var a []float64
	var err error
	if r.classes {
		a, err = r.logistic(k, r.coefficients(s))
	} else {
		a, _, err = leastSquares(k, r.p.Y, m, r.o.L2, 0)
	}
	if err == nil {
		r.set(s, a)
	}
	return err
}

// design returns the values of the kernels at the samples, with a column of ones for a constant,
// and the number of columns.
func (r *refit) design(s *Sum, workers int) ([]float64, int) {
	k, m := s.Values(workers, r.p.X), s.Len()
	if !r.o.Intercept {
		return k, m
	}
	out := make([]float64, 0, len(k)+len(r.p.Y))
	for i := range r.p.Y {
		out = append(append(out, k[i*m:][:m]...), 1)
	}
	return out, m + 1
}

// coefficients returns those of the columns of design, and set sets them.
func (r *refit) coefficients(s *Sum) []float64 {
	if r.o.Intercept {
		return append(slices.Clone(s.Coef), s.Bias)
	}
	return slices.Clone(s.Coef)
}

func (r *refit) set(s *Sum, a []float64) {
	s.Coef = slices.Clone(a[:s.Len()])
	if r.o.Intercept {
		s.Bias = a[s.Len()]
	}
}

// tinyRidge times the mean squared norm of the kernels is added to the squares.
const tinyRidge = 1e-10

// meanSquare returns the mean of the squared norms of K's columns, K n×m.
func meanSquare(k []float64, m int) float64 { return floats.Dot(k, k) / float64(m) }

// leastSquares returns the a with the least |y - Ka|² + ridge·unit·|a|², K n×m, and the Cholesky
// factor of KᵀK + ridge·unit. A unit of 0 is the mean of the squared norms of K's columns.
func leastSquares(k, y []float64, m int, ridge, unit float64) (a, factor []float64, err error) {
	n := len(y)
	gram := make([]float64, m*m)
	gemm.Implementation{}.Dsyrk(blas.Lower, blas.Trans, m, n, 1, k, m, 0, gram, m)
	mean := unit
	if unit == 0 {
		mean = meanSquare(k, m)
	}
	factor = slices.Clone(gram)
	for ridge = math.Max(ridge, tinyRidge); ; ridge *= 100 { // from 0 it would not grow
		for j := range m {
			factor[j*m+j] += ridge * mean
		}
		if gemm.Cholesky(1, m, factor, m) {
			break
		}
		if !(ridge < 1) {
			return nil, nil, errors.New("sparse: the kernels at the samples are not finite")
		}
		copy(factor, gram)
	}
	a = make([]float64, m)
	gemm.Implementation{}.Dgemv(blas.Trans, n, m, 1, k, m, y, 1, 0, a, 1)
	gemm.CholeskySolve(1, m, 1, factor, m, a, 1)
	return a, factor, nil
}

// logistic returns the coefficients of least logistic loss with a ridge.
func (r *refit) logistic(k, start []float64) ([]float64, error) {
	m, n := len(start), len(r.p.Y)
	f, slope, h := make([]float64, n), make([]float64, n), make([]float64, n)
	b := gemm.Implementation{}
	objective := optim.Func{N: m, F: func(a, grad []float64) (float64, error) {
		b.Dgemv(blas.NoTrans, n, m, 1, k, m, a, 1, 0, f, 1)
		v := r.losses(f, slope, h) + r.o.L2/2*floats.Dot(a, a)
		if grad != nil {
			b.Dgemv(blas.Trans, n, m, 1, k, m, slope, 1, 0, grad, 1)
			floats.AddScaled(grad, r.o.L2, a)
		}
		return v, nil
	}}
	x, err := r.minimize(objective, start, 500)
	return x, err
}

// losses returns the mean logistic loss of scores f, and stores its slopes.
func (r *refit) losses(f, slope, h []float64) float64 {
	l := score.Logistic{}
	l.Values(h, r.p.Y, f)
	total, v := 0.0, 0.0
	for i, x := range h {
		w := score.Weight(r.p.Weight, i)
		v += w * x
		total += w
	}
	l.Gradients(slope, h, r.p.Y, f)
	for i := range slope {
		slope[i] *= score.Weight(r.p.Weight, i) / total
	}
	return v / total
}

func (r *refit) minimize(f optim.Objective, start []float64, steps int) ([]float64, error) {
	c := &run.Control{Ctx: r.c.Ctx, Stop: run.Stop{Iterations: steps, Relative: 1e-11, Gradient: 1e-9,
		Evaluations: 20 * steps}}
	res, err := optim.OWLQN{Memory: 20}.Minimize(f, start, c)
	if err != nil && (res == nil || res.X == nil || r.c.Context().Err() != nil) {
		return nil, fmt.Errorf("sparse: refit: %w", err)
	}
	return res.X, nil
}

// joint moves centres and widths too. For numbers the coefficients are those of least squares at
// every point (variable projection: G. Golub and V. Pereyra, SIAM J. Numer. Anal. 10, 1973).
func (r *refit) joint(s *Sum, steps int) error {
	m, n, dim := s.Len(), len(r.p.Y), s.Dim
	columns := len(r.coefficients(s))
	unit := slices.Clone(s.Width)
	center := slices.Clone(s.Center)
	moved := &Sum{Family: s.Family, Dim: dim, Center: slices.Clone(s.Center), Width: slices.Clone(s.Width),
		Coef: slices.Clone(s.Coef)}
	// Widths stay within the domain, where their logarithms are sigmoids of what moves: beyond
	// it kernels between two samples would each be free.
	ratio := math.Log(r.hi / r.lo)
	set := func(x []float64) {
		for j := range m {
			for l := range dim {
				moved.Center[j*dim+l] = center[j*dim+l] + x[j*dim+l]*unit[j]
			}
			if ratio > 0 {
				moved.Width[j] = r.lo * math.Exp(ratio*score.Sigmoid(x[m*dim+j]))
			}
		}
	}
	shape := m * (dim + 1)
	start := make([]float64, shape)
	for j, w := range unit {
		if ratio > 0 {
			at := math.Min(0.98, math.Max(0.02, math.Log(w/r.lo)/ratio))
			start[m*dim+j] = math.Log(at / (1 - at))
		}
	}
	f, slope, h := make([]float64, n), make([]float64, n), make([]float64, n)
	scale := 1e-300
	for _, y := range r.p.Y {
		scale += y * y
	}
	// byShape adds the derivatives by centres and widths, for slopes by the values at the samples.
	byShape := func(grad []float64) {
		clear(grad[:shape])
		for i := range n {
			if slope[i] == 0 {
				continue
			}
			x := r.p.X[i*dim:][:dim]
			for j := range m {
				z, sq := moved.Center[j*dim:][:dim], 0.0
				for l, v := range x {
					sq += (v - z[l]) * (v - z[l])
				}
				_, bySquare, byWidth := s.Family.Slopes(sq, moved.Width[j])
				t := slope[i] * moved.Coef[j]
				if ratio > 0 {
					at := math.Log(moved.Width[j]/r.lo) / ratio
					grad[m*dim+j] += t * byWidth * moved.Width[j] * ratio * at * (1 - at)
				}
				for l, v := range x {
					grad[j*dim+l] += 2 * t * bySquare * (z[l] - v) * unit[j]
				}
			}
		}
	}
	b := gemm.Implementation{}
	var objective optim.Func
	if r.classes {
		start = append(start, r.coefficients(s)...)
		objective = optim.Func{N: shape + columns, F: func(x, grad []float64) (float64, error) {
			set(x)
			a := x[shape:]
			copy(moved.Coef, a)
			k, c := r.design(moved, 1)
			b.Dgemv(blas.NoTrans, n, c, 1, k, c, a, 1, 0, f, 1)
			v := r.losses(f, slope, h) + r.o.L2/2*floats.Dot(a, a)
			if grad != nil {
				b.Dgemv(blas.Trans, n, c, 1, k, c, slope, 1, 0, grad[shape:], 1)
				floats.AddScaled(grad[shape:], r.o.L2, a)
				byShape(grad)
			}
			return v, nil
		}}
	} else {
		k, c := r.design(s, r.c.Workers)
		size := meanSquare(k, c)
		objective = optim.Func{N: shape, F: func(x, grad []float64) (float64, error) {
			set(x)
			k, c := r.design(moved, 1)
			a, _, err := leastSquares(k, r.p.Y, c, r.o.L2, size)
			if err != nil {
				return math.Inf(1), nil
			}
			copy(moved.Coef, a)
			b.Dgemv(blas.NoTrans, n, c, 1, k, c, a, 1, 0, f, 1)
			v := math.Max(r.o.L2, tinyRidge) * size * floats.Dot(a, a) / scale
			for i, y := range r.p.Y {
				slope[i] = 2 * (f[i] - y) / scale
				v += (f[i] - y) * (f[i] - y) / scale
			}
			if grad != nil {
				byShape(grad)
			}
			return v, nil
		}}
	}
	x, err := r.minimize(objective, start, steps)
	if err != nil {
		return err
	}
	set(x)
	s.Center, s.Width = moved.Center, moved.Width
	if r.classes {
		r.set(s, x[shape:])
		return nil
	}
	return r.fit(s)
}

// prune removes one kernel after the other, each time the one whose absence raises the loss least.
// It goes down to a number, and, with while, as long as the fit allows.
func (r *refit) prune(s *Sum, most int, while bool) error {
	if !while && (most == 0 || s.Len() <= most) {
		return nil
	}
	f := make([]float64, len(r.p.Y))
	s.Predict(r.c.Workers, r.p.X, f)
	limit, errors := math.Max(0, r.excess(f)), r.err(f)
	if while && r.o.Noisy {
		var err error
		if limit, err = r.promise(s); err != nil {
			return err
		}
	}
	// Of many kernels several go at once; where the fit does not allow it, half as many are tried.
	batch := s.Len()
	for s.Len() > 1 && (while || s.Len() > most) {
		if err := interrupted(r.c.Ctx); err != nil {
			return err
		}
		batch = max(1, min(batch, s.Len()/10))
		if !while {
			batch = min(batch, s.Len()-most)
		}
		gone := r.least(s)[:batch]
		stay := make([]int, 0, s.Len())
		for i := range s.Len() {
			if !slices.Contains(gone, i) {
				stay = append(stay, i)
			}
		}
		fewer := s.keep(stay)
		err := r.fit(fewer)
		if while && r.o.Joint && fewer.Len() <= fewKernels && err == nil {
			err = r.joint(fewer, 200)
		}
		if err != nil {
			return err
		}
		worse := false
		if while {
			if worse, err = r.worse(fewer, limit, errors, f); err != nil {
				return err
			}
		}
		if worse {
			if batch == 1 {
				return nil
			}
			batch /= 2
			continue
		}
		*s = *fewer
		if r.o.Noisy && while {
			if limit, err = r.promise(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// worse tells a fit that is no longer good enough; f is of work.
func (r *refit) worse(s *Sum, limit, errors float64, f []float64) (bool, error) {
	if r.o.Noisy {
		v, err := r.promise(s)
		return v > limit, err
	}
	s.Predict(r.c.Workers, r.p.X, f)
	if r.classes {
		return r.err(f) > errors*(1+1e-9)+1e-12, nil
	}
	return r.excess(f) > limit*(1+1e-9), nil
}

// fewKernels are those that are moved again after every removal of one.
const fewKernels = 30

// least orders the kernels by how much the removal of one, with a refit, raises the squared error
// of the fitted values. That is a_j²/P_jj for the inverse P of the kernels' Gram matrix.
func (r *refit) least(s *Sum) []int {
	order := make([]int, s.Len())
	for j := range order {
		order[j] = j
	}
	k, m := r.design(s, r.c.Workers)
	if r.classes { // of the scores, weighted by the curvature of the loss there
		f := make([]float64, len(r.p.Y))
		s.Predict(r.c.Workers, r.p.X, f)
		for i, v := range f {
			p := score.Sigmoid(v)
			root := math.Sqrt(p * (1 - p) * score.Weight(r.p.Weight, i))
			floats.Scale(root, k[i*m:][:m])
		}
	}
	_, factor, err := leastSquares(k, r.p.Y, m, math.Max(r.o.L2, tinyRidge), 0)
	if err != nil {
		return order
	}
	inverse := make([]float64, m*m)
	for j := range m {
		inverse[j*m+j] = 1
	}
	gemm.CholeskySolve(1, m, m, factor, m, inverse, m)
	rise := make([]float64, s.Len())
	for j, a := range s.Coef {
		rise[j] = a * a / inverse[j*m+j]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rise[a], rise[b]) })
	return order
}

// Fit finds the coefficients of least squares, with a tiny ridge, for the values of p.
func (s *Sum) Fit(p *Problem) error {
	return (&refit{p: p, o: DiscreteOptions{L2: tinyRidge}}).fit(s)
}
