package sparse

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// Problem is what a function is to fit: values Y at the points X, or classes -1 and 1.
type Problem struct {
	X      []float64 // samples × Dim
	Dim    int
	Y      []float64
	Weight []float64 // of samples in a total hinge; nil is all 1
}

// Method names how the dual is solved.
type Method string

// The methods.
const (
	Interior Method = "interior" // optim.FitDual: certified, to any accuracy; the default
	Prox     Method = "proximal" // optim.Proximal on the reduced dual: for many samples, and for fresh draws
	Paper    Method = "paper"    // Algorithm 1 of the dissertation, for comparison
)

// SolveOptions are the settings of Solve.
type SolveOptions struct {
	Bound optim.FitBound // "" is optim.TubeBound
	Eps   float64        // of the bound: Tube takes it squared, |y - f| ≤ √Eps
	Gamma float64        // price of a unit of volume in use
	// Ridge, if positive, lets samples exceed the bound by u_n at the cost of Σ u_n²/(2 Ridge), so
	// that there is always a solution. Not for Paper.
	Ridge  float64
	Family Family // nil is Gaussian

	Cells *Cells // where the integral is taken; may be nil with Draw
	// Draw, if positive, has Prox and Paper take Draw fresh cells of Domain at each step, at
	// random from Seed. Results are then reported on Cells, nil being ten times as many fixed ones.
	Draw   int
	Domain Domain
	Seed   uint64

	Method Method
	// Steps of Prox (nil: by itself) and of Paper: η of λ, and of μ. Decay is
	// optim.Proximal's.
	Step, StepMu, Decay float64
	Gap, Violation      float64   // of Interior; zero is 1e-6
	Start               []float64 // multipliers to start from; nil is none
	// Samples is how many samples Interior takes at once at most; zero is 1500. Of more than that,
	// or than 400 without noise, it begins with 300, and adds those that violate the bound until
	// none does.
	Samples int
	// MaxBytes bounds the memory of the kernels' values; zero is 2 GiB.
	MaxBytes int64
}

// Solution is a function, not yet of few kernels, with the multipliers of its samples.
type Solution struct {
	Cells   *Cells
	Family  Family
	Gamma   float64
	Lambda  []float64 // of each sample: how hard it is to fit; 0 where its bound is slack
	Alpha   []float64 // of each cell
	Primal  float64
	Dual    float64 // no function within the bound is less complex
	Excess  float64 // by how much the function violates the bound, beyond what Ridge allows
	Support float64 // volume of the cells in use; those in use in part count in part
}

// Gap is the relative gap between primal and dual value.
func (s *Solution) Gap() float64 {
	return math.Abs(s.Primal-s.Dual) / math.Max(math.Abs(s.Primal), 1e-300)
}

// Dense returns the function as it is, without loss: a kernel for each cell in use.
func (s *Solution) Dense() *Sum { return s.Cells.dense(s.Family, s.Alpha) }

// Solve finds the least complex function within the bound (PII). The result says how the run
// ended.
//
// Errors: unusable problems and settings, memory beyond MaxBytes, *optim.InfeasibleError with
// sample numbers of p, and those of the run.
func Solve(p *Problem, o *SolveOptions, c *run.Control) (*Solution, *optim.Result, error) {
	s, err := newSolver(p, o, c)
	if err != nil {
		return nil, nil, err
	}
	switch s.o.Method {
	case Interior:
		return s.interior()
	case Prox:
		return s.proximal()
	case Paper:
		return s.paper()
	}
	return nil, nil, fmt.Errorf("sparse: there is no method %q; there are interior, proximal, paper", o.Method)
}

type solver struct {
	p *Problem
	o SolveOptions
	c run.Control
	n int
}

func newSolver(p *Problem, o *SolveOptions, c *run.Control) (*solver, error) {
	s := &solver{p: p, o: *o, n: len(p.Y)}
	if c != nil {
		s.c = *c
	}
	s.o.Bound, s.o.Method = cmp.Or(o.Bound, optim.TubeBound), cmp.Or(o.Method, Interior)
	s.o.Samples, s.o.MaxBytes = cmp.Or(o.Samples, 1500), cmp.Or(o.MaxBytes, 2<<30)
	if s.o.Family == nil {
		s.o.Family = Gaussian{}
	}
	if s.o.Ridge < 0 || math.IsInf(s.o.Ridge, 1) || math.IsNaN(s.o.Ridge) || s.o.Ridge > 0 &&
		s.o.Method == Paper {
		return nil, fmt.Errorf("sparse: the ridge %v must be finite and not negative, and 0 for the method "+
			"paper", s.o.Ridge)
	}
	if p.Dim < 1 || s.n == 0 || len(p.X) != s.n*p.Dim {
		return nil, fmt.Errorf("sparse: %d numbers for %d samples of %d coordinates", len(p.X), s.n, p.Dim)
	}
	if i := optim.FirstNotFinite(p.X); i >= 0 {
		return nil, fmt.Errorf("sparse: coordinate %d of sample %d is %v", i%p.Dim+1, i/p.Dim, p.X[i])
	}
	if o.Start != nil && len(o.Start) != s.n {
		return nil, fmt.Errorf("sparse: %d multipliers to start from, for %d samples", len(o.Start), s.n)
	}
	if o.Draw > 0 {
		if s.o.Method == Interior {
			return nil, errors.New("sparse: fresh draws at each step are for the methods proximal and paper")
		}
		if err := o.Domain.check(p.Dim); err != nil {
			return nil, err
		}
		if o.Cells == nil {
			var err error
			if s.o.Cells, err = FixedSample(o.Domain, 10*o.Draw); err != nil {
				return nil, err
			}
		}
	}
	if s.o.Cells == nil {
		return nil, errors.New("sparse: there are no cells to integrate over")
	}
	if s.o.Cells.Dim != p.Dim {
		return nil, fmt.Errorf("sparse: cells of %d coordinates for points of %d", s.o.Cells.Dim, p.Dim)
	}
	rows := s.n
	if s.o.Method == Interior {
		rows = min(rows, s.o.Samples)
	}
	if bytes := 8 * int64(rows) * int64(s.o.Cells.Len()); bytes > s.o.MaxBytes {
		return nil, fmt.Errorf("sparse: kernels of %d cells at %d samples take %d MB, beyond %d MB; ask for "+
			"at most %d cells (fewer centres or widths), or for fewer samples at once",
			s.o.Cells.Len(), rows, bytes>>20, s.o.MaxBytes>>20, s.o.MaxBytes/8/int64(rows))
	}
	return s, nil
}

// dual returns the problem of some of the samples, nil for all.
func (s *solver) dual(rows []int) *optim.FitDual {
	d := &optim.FitDual{Volume: s.o.Cells.Volume, Gamma: s.o.Gamma, Bound: s.o.Bound, Eps: s.o.Eps,
		Ridge: s.o.Ridge, Gap: s.o.Gap, Violation: s.o.Violation}
	if rows == nil {
		d.K, d.Target, d.Weight = s.o.Cells.Values(s.c.Workers, s.o.Family, s.p.X), s.p.Y, s.p.Weight
		return d
	}
	x := make([]float64, 0, len(rows)*s.p.Dim)
	for _, i := range rows {
		x = append(x, s.p.X[i*s.p.Dim:][:s.p.Dim]...)
		d.Target = append(d.Target, s.p.Y[i])
		if s.p.Weight != nil {
			d.Weight = append(d.Weight, s.p.Weight[i])
		}
	}
	d.K = s.o.Cells.Values(s.c.Workers, s.o.Family, x)
	return d
}

// interior solves with all samples, or with those that matter.
func (s *solver) interior() (*Solution, *optim.Result, error) {
	// With noise most samples have a multiplier, and there is nothing to leave out.
	most := 400
	if s.o.Ridge > 0 || s.o.Bound == optim.HingeBound && s.o.Eps > 0.1*float64(s.n) {
		most = s.o.Samples
	}
	if s.n <= min(most, s.o.Samples) {
		r, err := s.dual(nil).Minimize(s.o.Start, &s.c)
		if r == nil {
			return nil, nil, err
		}
		return s.solution(r.X, r.Alpha, r.Primal, r.Dual, r.Violation), &r.Result, err
	}
	// Samples whose multiplier is 0 may be left out. Those that violate the bound are added, the
	// worst first, until there are none; those of multiplier 0 make room.
	first := min(300, s.o.Samples)
	active := make([]int, first)
	for j := range active {
		active[j] = j * s.n / first
	}
	lambda := make([]float64, s.n)
	if s.o.Start != nil {
		copy(lambda, s.o.Start)
	}
	out := &optim.Result{}
	top := 0.0
	for {
		start := make([]float64, len(active))
		for j, i := range active {
			start[j] = lambda[i]
		}
		if optim.MaxAbs(start) == 0 {
			start = nil
		}
		r, err := s.dual(active).Minimize(start, &s.c)
		var bad *optim.InfeasibleError
		if errors.As(err, &bad) {
			for j, k := range bad.Samples {
				bad.Samples[j] = active[k]
			}
		}
		if r == nil {
			return nil, nil, err
		}
		clear(lambda)
		for j, i := range active {
			lambda[i] = r.X[j]
		}
		f := make([]float64, s.n)
		sum := s.o.Cells.dense(s.o.Family, r.Alpha)
		for from := 0; from < s.n; from += predictRows {
			to := min(s.n, from+predictRows)
			if err := interrupted(s.c.Ctx); err != nil {
				return nil, nil, err
			}
			sum.Predict(s.c.Workers, s.p.X[from*s.p.Dim:to*s.p.Dim], f[from:to])
		}
		floats.AddScaled(f, s.o.Ridge, lambda)
		excess := (&optim.FitDual{Bound: s.o.Bound, Eps: s.o.Eps, Target: s.p.Y, Weight: s.p.Weight}).Excess(f)
		out.X, out.F, out.Reason = lambda, r.F, r.Reason
		out.Iterations += r.Iterations
		out.Evaluations += r.Evaluations
		if err != nil {
			return s.solution(lambda, r.Alpha, r.Primal, r.Dual, excess), out, err
		}
		// Samples of no weight go, unless the dual has not risen: then they could take turns
		// without an end. A total hinge so large that the function 0 meets it for the samples at
		// hand is such a case.
		least := -1.0
		if r.Dual > top+1e-9*math.Abs(top) {
			least, top = 1e-7*optim.MaxAbs(r.X), r.Dual
		}
		inside := make([]bool, s.n)
		var next []int
		for j, i := range active {
			inside[i] = true
			if math.Abs(r.X[j]) > least {
				next = append(next, i)
			}
		}
		type outside struct {
			i    int
			over float64
		}
		var worse []outside
		tol := 1e-4
		if s.o.Bound == optim.TubeBound {
			tol *= math.Max(1e-300, optim.MaxAbs(s.p.Y))
		}
		for i, v := range f {
			if inside[i] {
				continue
			}
			over := 0.0
			switch y := s.p.Y[i]; s.o.Bound {
			case optim.TubeBound:
				over = math.Abs(y-v) - math.Sqrt(s.o.Eps)
			case optim.MarginBound:
				over = 1 - s.o.Eps - y*v
			default:
				over = 1 - y*v
			}
			if over > tol {
				worse = append(worse, outside{i, over})
			}
		}
		if len(worse) == 0 {
			return s.solution(lambda, r.Alpha, r.Primal, r.Dual, excess), out, nil
		}
		slices.SortStableFunc(worse, func(a, b outside) int { return cmp.Compare(b.over, a.over) })
		room := s.o.Samples - len(next)
		if room <= 0 {
			return nil, nil, fmt.Errorf("sparse: %d samples have a multiplier that is not 0, as many as are "+
				"solved at once; allow a larger bound, take the default one, or the method proximal", len(next))
		}
		for _, w := range worse[:min(len(worse), room, max(200, len(next)))] {
			next = append(next, w.i)
		}
		slices.Sort(next)
		active = next
	}
}

// solution completes what a method found.
func (s *solver) solution(lambda, alpha []float64, primal, dual, excess float64) *Solution {
	edge, most := math.Sqrt(2*s.o.Gamma), optim.MaxAbs(alpha)
	out := &Solution{Cells: s.o.Cells, Family: s.o.Family, Gamma: s.o.Gamma, Lambda: lambda,
		Alpha: slices.Clone(alpha), Primal: primal, Dual: dual, Excess: excess}
	for g, a := range out.Alpha {
		if math.Abs(a) <= 1e-6*math.Max(most, edge) {
			out.Alpha[g] = 0
			continue
		}
		part := 1.0
		if edge > 0 {
			part = math.Min(1, math.Abs(a)/edge)
		}
		out.Support += part * s.o.Cells.Volume[g]
	}
	return out
}

// threshold stores α_d of (2.15) for t = Kᵀλ.
func threshold(gamma float64, t, alpha []float64) {
	for g, v := range t {
		alpha[g] = 0
		if v*v > 2*gamma {
			alpha[g] = v
		}
	}
}

// recovered is the solution that multipliers alone stand for.
func (s *solver) recovered(lambda []float64) *Solution {
	d := s.dual(nil)
	t, f := make([]float64, s.o.Cells.Len()), make([]float64, s.n)
	d.Transpose(lambda, t)
	value := d.Value(lambda, t)
	threshold(s.o.Gamma, t, t)
	d.Apply(t, f)
	floats.AddScaled(f, s.o.Ridge, lambda)
	return s.solution(lambda, t, d.Complexity(t)+s.o.Ridge/2*floats.Dot(lambda, lambda), value, d.Excess(f))
}

// descent is minus the reduced dual, as a smooth (or subdifferentiable) part and one whose
// proximal points are known. Its point is λ of Tube; u of Margin; u and then μ of Hinge.
type descent struct {
	*solver
	d    *optim.FitDual
	rng  *rand.Rand // nil: the cells are always the same
	t, f []float64
}

func (e *descent) Dim() int {
	if e.o.Bound == optim.HingeBound {
		return e.n + 1
	}
	return e.n
}

// fresh draws cells.
func (e *descent) fresh() error {
	if e.rng == nil {
		return nil
	}
	c, err := MonteCarlo(e.o.Domain, e.o.Draw, e.rng)
	if err != nil {
		return err
	}
	e.d.K, e.d.Volume = c.Values(e.c.Workers, e.o.Family, e.p.X), c.Volume
	return nil
}

// phi returns Φ(λ), and stores f_d at the samples.
func (e *descent) phi(lambda []float64) (float64, error) {
	if err := e.fresh(); err != nil {
		return 0, err
	}
	if len(e.t) != len(e.d.Volume) {
		e.t, e.f = make([]float64, len(e.d.Volume)), make([]float64, e.n)
	}
	e.d.Transpose(lambda, e.t)
	v := 0.0
	for g, t := range e.t {
		v += e.d.Volume[g] * math.Max(0, t*t/2-e.o.Gamma)
	}
	threshold(e.o.Gamma, e.t, e.t)
	e.d.Apply(e.t, e.f)
	floats.AddScaled(e.f, e.o.Ridge, lambda)
	return v + e.o.Ridge/2*floats.Dot(lambda, lambda), nil
}

func (e *descent) Eval(x, grad []float64) (float64, error) {
	lambda := x[:e.n]
	if e.o.Bound != optim.TubeBound {
		lambda = make([]float64, e.n)
		floats.MulTo(lambda, x[:e.n], e.p.Y)
	}
	v, err := e.phi(lambda)
	if err != nil {
		return 0, err
	}
	for i, y := range e.p.Y {
		switch slope := e.f[i]; e.o.Bound {
		case optim.TubeBound:
			v -= x[i] * y
			if grad != nil {
				grad[i] = slope - y
			}
		default:
			goal := 1.0
			if e.o.Bound == optim.MarginBound {
				goal -= e.o.Eps
			}
			v -= goal * x[i]
			if grad != nil {
				grad[i] = y*slope - goal
			}
		}
	}
	if e.o.Bound == optim.HingeBound {
		v += e.o.Eps * x[e.n]
		if grad != nil {
			grad[e.n] = e.o.Eps
		}
	}
	return v, nil
}

func (e *descent) Prox(x, step []float64) {
	switch e.o.Bound {
	case optim.TubeBound:
		for i, v := range x {
			x[i] = math.Copysign(math.Max(0, math.Abs(v)-math.Sqrt(e.o.Eps)*step[i%len(step)]), v)
		}
	case optim.MarginBound:
		for i, v := range x {
			x[i] = math.Max(0, v)
		}
	default:
		e.project(x)
	}
}

// project replaces (u, μ) by the nearest point with 0 ≤ u_n ≤ w_n μ. The distance falls until
// μ - μ0 = Σ w_n (u_n - w_n μ)₊, whose two sides cross once.
func (e *descent) project(x []float64) {
	weight := func(i int) float64 {
		if e.p.Weight == nil {
			return 1
		}
		return e.p.Weight[i]
	}
	slope := func(mu float64) float64 {
		s := mu - x[e.n]
		for i, u := range x[:e.n] {
			s -= weight(i) * math.Max(0, u-weight(i)*mu)
		}
		return s
	}
	lo, hi := 0.0, math.Max(0, x[e.n])
	for i, u := range x[:e.n] {
		hi = math.Max(hi, u/weight(i))
	}
	for range 200 {
		mid := lo + (hi-lo)/2
		if mid == lo || mid == hi {
			break
		}
		if slope(mid) < 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	x[e.n] = hi
	for i := range e.n {
		x[i] = math.Min(math.Max(0, x[i]), weight(i)*hi)
	}
}

func (e *descent) Penalty(x []float64) float64 {
	if e.o.Bound != optim.TubeBound {
		return 0
	}
	return math.Sqrt(e.o.Eps) * floats.Norm(x, 1)
}

// norm returns ‖K·diag(v)·Kᵀ‖₂, by the power method, a little above.
func (e *descent) norm() float64 {
	x := slices.Repeat([]float64{1}, e.n)
	t, y := make([]float64, len(e.d.Volume)), make([]float64, e.n)
	size := 0.0
	for range 50 {
		e.d.Transpose(x, t)
		e.d.Apply(t, y)
		floats.AddScaled(y, e.o.Ridge, x)
		size = floats.Norm(y, 2)
		if size == 0 {
			return 1
		}
		floats.ScaleTo(x, 1/size, y)
	}
	return 1.02 * size
}

func (s *solver) descent() (*descent, error) {
	e := &descent{solver: s}
	d := *s.dual(nil)
	if err := d.Check(); err != nil {
		return nil, err
	}
	e.d = &d
	if s.o.Draw > 0 {
		e.rng = rand.New(rand.NewPCG(s.o.Seed, 0x5ba))
	}
	return e, nil
}

func (s *solver) proximal() (*Solution, *optim.Result, error) {
	e, err := s.descent()
	if err != nil {
		return nil, nil, err
	}
	m := optim.Proximal{}
	if s.o.Gamma > 0 || s.o.Draw > 0 || s.o.Step > 0 {
		m = optim.Proximal{Step: []float64{cmp.Or(s.o.Step, 1/e.norm())}, Decay: cmp.Or(s.o.Decay, 50), Tail: 0.5}
	}
	x := make([]float64, e.Dim())
	if s.o.Start != nil {
		for i, l := range s.o.Start {
			x[i] = l
			if s.o.Bound != optim.TubeBound {
				x[i] = l * s.p.Y[i]
			}
			if s.o.Bound == optim.HingeBound {
				x[s.n] = math.Max(x[s.n], x[i])
			}
		}
	}
	r, err := m.Minimize(e, x, &s.c)
	if r == nil || r.X == nil {
		return nil, r, err
	}
	lambda := slices.Clone(r.X[:s.n])
	if s.o.Bound != optim.TubeBound {
		floats.Mul(lambda, s.p.Y)
	}
	return s.recovered(lambda), r, err
}

// ascent is minus the dual of Algorithm 1 in its own variables: λ, and behind it μ.
type ascent struct{ *descent }

func (a ascent) Dim() int { return 2 * a.n }

// leastMu keeps μ off zero, which the minimiser of the quadratic cost divides by.
const leastMu = 1e-6

func (a ascent) Eval(x, grad []float64) (float64, error) {
	lambda, mu := x[:a.n], x[a.n:]
	v, err := a.phi(lambda)
	if err != nil {
		return 0, err
	}
	for i, y := range a.p.Y {
		// ŷ minimises μ((y-ŷ)² - Eps) + λŷ. The dissertation's step 3 prints a minus before λ.
		m := math.Max(mu[i], leastMu)
		fit := y - lambda[i]/(2*m)
		cost := (y-fit)*(y-fit) - a.o.Eps
		v -= m*cost + lambda[i]*fit
		if grad != nil {
			grad[i], grad[a.n+i] = a.f[i]-fit, -cost
		}
	}
	return v, nil
}

// Prox projects on μ ≥ leastMu.
func (a ascent) Prox(x, _ []float64) {
	for i := a.n; i < len(x); i++ {
		x[i] = math.Max(leastMu, x[i])
	}
}

func (a ascent) Penalty([]float64) float64 { return 0 }

// paper is Algorithm 1: ascent in λ and μ with a step for each. For classes with a margin it
// is (3.28), which has eliminated μ.
func (s *solver) paper() (*Solution, *optim.Result, error) {
	e, err := s.descent()
	if err != nil {
		return nil, nil, err
	}
	if s.o.Bound == optim.HingeBound {
		return nil, nil, errors.New("sparse: Algorithm 1 has no finite minimiser of the hinge loss; use the " +
			"method proximal or interior")
	}
	step := cmp.Or(s.o.Step, 1/e.norm())
	m := optim.Proximal{Step: []float64{step}, Decay: s.o.Decay}
	var f optim.Composite = e
	x := make([]float64, e.Dim())
	if s.o.Bound == optim.TubeBound {
		f = ascent{e}
		x = make([]float64, 2*s.n)
		m.Step = slices.Concat(slices.Repeat([]float64{step}, s.n),
			slices.Repeat([]float64{cmp.Or(s.o.StepMu, step)}, s.n))
		for i := range s.n {
			x[s.n+i] = 1
		}
	}
	r, err := m.Minimize(f, x, &s.c)
	if r == nil || r.X == nil {
		return nil, r, err
	}
	lambda := slices.Clone(r.X[:s.n])
	if s.o.Bound == optim.MarginBound {
		floats.Mul(lambda, s.p.Y)
	}
	return s.recovered(lambda), r, err
}
