package skpca

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
)

// set is the set M of kernel weights, section 2 of the specification:
//
//	μ ≥ 0, Σ μ_k ≤ 1, Σ 1/μ_k ≤ Nu, and the sum of the R largest μ_k λ_kj at most Lambda.
type set struct {
	values [][]float64 // λ_kj, by kernel, descending and positive
	r      int
	lambda float64 // of the Ky-Fan norm
	nu     float64 // +Inf for none
	ctx    context.Context
}

// partial returns s_k(c), the sum of the first c eigenvalues of kernel k.
func (s *set) partial(k, c int) float64 {
	t := 0.0
	for _, v := range s.values[k][:c] {
		t += v
	}
	return t
}

// topSet returns the counts of the r largest μ_k λ_kj; ties go to the first kernel.
func (s *set) topSet(mu []float64) []int {
	counts := make([]int, len(mu))
	for range s.r {
		best, value := -1, -1.0
		for k, c := range counts {
			if c < len(s.values[k]) && mu[k]*s.values[k][c] > value {
				best, value = k, mu[k]*s.values[k][c]
			}
		}
		if best < 0 {
			break
		}
		counts[best]++
	}
	return counts
}

// kyFan returns the sum of the r largest μ_k λ_kj.
func (s *set) kyFan(mu []float64) float64 {
	t := 0.0
	for k, c := range s.topSet(mu) {
		t += mu[k] * s.partial(k, c)
	}
	return t
}

// region is the part of M where the top set has given counts: the feasible points of P(c).
// With nu infinite, kernels without a feature have weight 0 and are no variables of it.
type region struct {
	set    *set
	counts []int
	active []int // kernels that are variables
	rows   []optim.Inside
	mid    []float64 // a point well inside, by active kernel
}

// errEmpty reports a cell without a point strictly inside.
var errEmpty = errors.New("no weights have this top set")

// newRegion returns the region of a cell, or errEmpty.
func newRegion(s *set, counts []int) (*region, error) {
	r := &region{set: s, counts: counts}
	for k, c := range counts {
		if c > 0 || !math.IsInf(s.nu, 1) {
			r.active = append(r.active, k)
		}
	}
	n := len(r.active)
	all, ones, kyfan := make([]int, n), make([]float64, n), make([]float64, n)
	inner, next := make([]float64, n), make([]float64, n) // λ of the last feature inside and the first outside
	x := make([]float64, n)
	for i, k := range r.active {
		c := counts[k]
		all[i], ones[i], kyfan[i] = i, 1, s.partial(k, c)
		inner[i] = math.Inf(1)
		if c > 0 {
			inner[i] = s.values[k][c-1]
		}
		if c < len(s.values[k]) {
			next[i] = s.values[k][c]
		}
		switch { // where inner·x > 1 > next·x
		case c == 0:
			x[i] = 0.5 / next[i]
		case next[i] == 0:
			x[i] = 2 / inner[i]
		default:
			x[i] = 1 / math.Sqrt(inner[i]*next[i])
		}
	}
	r.rows = []optim.Inside{&optim.Linear{At: all, Coef: ones, Bound: 1}}
	if s.lambda < math.Inf(1) {
		r.rows = append(r.rows, &optim.Linear{At: all, Coef: kyfan, Bound: s.lambda})
	}
	for i, k := range r.active {
		r.rows = append(r.rows, &optim.Linear{At: []int{i}, Coef: []float64{-1}})
		if counts[k] == 0 {
			continue
		}
		for l := range r.active {
			if l != i && next[l] > 0 { // in units of the first eigenvalue, for rounding
				r.rows = append(r.rows, &optim.Linear{At: []int{i, l}, Coef: []float64{-inner[i], next[l]}})
			}
		}
	}
	// The conditions on the order are homogeneous: scaled down, x meets the others.
	sum, top := 0.0, 0.0
	for i, v := range x {
		sum, top = sum+v, top+kyfan[i]*v
	}
	scale := 0.9 * min(1/sum, s.lambda/max(top, 1e-300))
	for i := range x {
		x[i] *= scale
	}
	for _, c := range r.rows {
		if !(c.Slack(x) > 0) {
			return nil, errEmpty // ties within two kernels: the cell is a border of others
		}
	}
	if !math.IsInf(s.nu, 1) {
		bound := optim.Harmonic{Bound: s.nu}
		if !(bound.Slack(x) > 0) {
			if err := r.lower(x, s.nu); err != nil {
				return nil, err
			}
		}
		if !(bound.Slack(x) > 0) {
			return nil, errEmpty
		}
		r.rows = append(r.rows, bound)
	}
	// The analytic centre, nearly: no function, barriers alone.
	p := &optim.Interior{F: &optim.Reciprocals{A: make([]float64, n)}, Constraints: r.rows, Scale: 1,
		Gap: 1e9, Ctx: s.ctx}
	if _, _, err := p.Minimize(x); err != nil {
		return nil, fmt.Errorf("skpca: weights of counts %v: %w", counts, err)
	}
	r.mid = x
	return r, nil
}

// lower moves x to where Σ 1/x is below the bound, or least.
func (r *region) lower(x []float64, bound float64) error {
	ones := make([]float64, len(x))
	for i := range ones {
		ones[i] = 1
	}
	h := optim.Harmonic{Bound: bound}
	p := &optim.Interior{F: &optim.Reciprocals{A: ones}, Constraints: r.rows, Gap: 1e-11, Ctx: r.set.ctx,
		Enough: func(x []float64) bool { return h.Slack(x) > 1e-9*bound }}
	if _, _, err := p.Minimize(x); err != nil {
		return fmt.Errorf("skpca: weights of counts %v: %w", r.counts, err)
	}
	return nil
}

// inward returns a point between μ, which may lie on the border, and the middle.
func (r *region) inward(mu []float64, share float64) []float64 {
	x := make([]float64, len(r.active))
	for i, k := range r.active {
		x[i] = (1-share)*mu[k] + share*r.mid[i]
	}
	return x
}

// spread returns the weights of all kernels.
func (r *region) spread(x []float64) []float64 {
	mu := make([]float64, len(r.counts))
	for i, k := range r.active {
		mu[k] = x[i]
	}
	return mu
}

// inside reports whether x meets all conditions strictly.
func (r *region) inside(x []float64) bool {
	for _, c := range r.rows {
		if !(c.Slack(x) > 0) {
			return false
		}
	}
	return true
}

// reciprocal minimises Σ a_k/μ_k over the region, from weights that lie in it; a is by
// kernel. gap is relative.
func (r *region) reciprocal(a, mu []float64, gap float64) ([]float64, error) {
	part := make([]float64, len(r.active))
	total := 0.0
	for i, k := range r.active {
		part[i] = a[k]
		total += a[k]
	}
	if total == 0 {
		return r.spread(r.mid), nil
	}
	for i := range part {
		part[i] /= total
	}
	x := r.inward(mu, 0.1)
	if !r.inside(x) {
		copy(x, r.mid)
	}
	p := &optim.Interior{F: &optim.Reciprocals{A: part}, Constraints: r.rows, Gap: gap, Ctx: r.set.ctx}
	if _, _, err := p.Minimize(x); err != nil {
		return nil, fmt.Errorf("skpca: weights of counts %v: %w", r.counts, err)
	}
	return r.spread(x), nil
}

// lowest returns a lower bound on the least ⟨g, μ⟩ of the region, by kernel; g ≤ 0.
func (r *region) lowest(g []float64) (float64, error) {
	part := make([]float64, len(r.active))
	size := 0.0
	for i, k := range r.active {
		part[i] = g[k]
		size = max(size, math.Abs(g[k]))
	}
	if size == 0 {
		return 0, nil
	}
	for i := range part {
		part[i] /= size
	}
	x := append([]float64(nil), r.mid...)
	p := &optim.Interior{F: &optim.Reciprocals{A: make([]float64, len(x)), G: part}, Constraints: r.rows,
		Gap: 1e-8, Ctx: r.set.ctx}
	v, gap, err := p.Minimize(x)
	if err != nil {
		return 0, fmt.Errorf("skpca: weights of counts %v: %w", r.counts, err)
	}
	return size * (v - gap), nil
}

// FeasibilityError says which constraint on the kernel weights leaves none, and what would.
type FeasibilityError struct {
	Kernels    int
	Nu, Lambda float64
	LeastNu    float64 // smallest nu that leaves weights, for this Lambda; a little above it should be taken
	LeastLam   float64 // smallest Lambda, for this nu; NaN where no Lambda helps
}

func (e *FeasibilityError) Error() string {
	square := float64(e.Kernels * e.Kernels)
	if e.Nu < square {
		return fmt.Sprintf("skpca: nu %.6g is below %d, the square of the number of kernels: no weights "+
			"with a sum of 1 have Σ 1/μ that small; the smallest nu for this lambda is %.6g", e.Nu,
			e.Kernels*e.Kernels, e.LeastNu)
	}
	if math.IsNaN(e.LeastLam) {
		return fmt.Sprintf("skpca: nu %.6g and lambda %.6g leave no weights with an interior; the smallest "+
			"nu for this lambda is %.6g", e.Nu, e.Lambda, e.LeastNu)
	}
	return fmt.Sprintf("skpca: lambda %.6g is too small with nu %.6g: no weights meet both; the smallest "+
		"lambda for this nu is %.6g, the smallest nu for this lambda %.6g", e.Lambda, e.Nu, e.LeastLam, e.LeastNu)
}

// feasible returns a *FeasibilityError where M has no interior.
func (s *set) feasible() error {
	p := float64(len(s.values))
	if math.IsInf(s.nu, 1) {
		return nil
	}
	least, _, err := s.leastNu(s.lambda)
	if err != nil {
		return err
	}
	if least < s.nu*(1-1e-9) {
		return nil
	}
	e := &FeasibilityError{Kernels: len(s.values), Nu: s.nu, Lambda: s.lambda, LeastNu: least,
		LeastLam: math.NaN()}
	if s.nu < p*p*(1-1e-9) {
		return e
	}
	if s.nu <= p*p*(1+1e-9) { // equal weights alone
		if e.LeastLam = s.kyFan(slices.Repeat([]float64{1 / p}, len(s.values))); e.LeastLam <= s.lambda*(1+1e-12) {
			return nil
		}
		return e
	}
	// The least nu falls as lambda grows.
	low, high := 0.0, 1.0
	for range 50 {
		mid := (low + high) / 2
		if least, _, err = s.leastNu(mid); err != nil {
			return err
		}
		if least > s.nu {
			low = mid
		} else {
			high = mid
		}
	}
	e.LeastLam = high
	return e
}

// leastNu returns the least Σ 1/μ for a bound on the Ky-Fan norm, and its weights. It uses cutting
// planes: every top set gives a linear function, and the norm is the largest of them.
func (s *set) leastNu(lambda float64) (float64, []float64, error) {
	p := len(s.values)
	all, ones, x := make([]int, p), make([]float64, p), make([]float64, p)
	for k := range p {
		all[k], ones[k], x[k] = k, 1, 1/float64(p)
	}
	rows := []optim.Inside{&optim.Linear{At: all, Coef: ones, Bound: 1}}
	for range 1000 {
		counts := s.topSet(x)
		cut := make([]float64, p)
		top := 0.0
		for k, c := range counts {
			cut[k] = s.partial(k, c)
			top += cut[k] * x[k]
		}
		if len(rows) > 1 && top <= lambda*(1+1e-9) || len(rows) == 1 && top <= lambda {
			break
		}
		rows = append(rows, &optim.Linear{At: all, Coef: cut, Bound: lambda})
		scale := 1.0
		for _, row := range rows {
			if l := row.(*optim.Linear); l.Slack(x) < l.Bound/2 {
				scale = min(scale, l.Bound/2/(l.Bound-l.Slack(x)))
			}
		}
		for k := range x {
			x[k] *= scale
		}
		in := &optim.Interior{F: &optim.Reciprocals{A: ones}, Constraints: rows, Gap: 1e-11, Ctx: s.ctx}
		if _, _, err := in.Minimize(x); err != nil {
			return 0, nil, fmt.Errorf("skpca: feasible weights: %w", err)
		}
	}
	sum := 0.0
	for _, v := range x {
		sum += 1 / v
	}
	return sum, x, nil
}
