package federated

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	gfloats "gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// samples are points with classes, as they are scaled for the kernel.
type samples struct {
	x     [][]float64
	class []int
	count []float64   // how many identical ones each stands for
	u     [][]float64 // multiplier by sample and pair of classes; nil is 0
}

// pairs lists the pairs of classes that one-versus-one tells apart; of each the second is +1.
func pairs(classes int) [][2]int {
	var out [][2]int
	for a := range classes {
		for b := a + 1; b < classes; b++ {
			out = append(out, [2]int{a, b})
		}
	}
	return out
}

// of returns the samples of a pair of classes with their signs.
func (s *samples) of(pair [2]int) (rows []int, y []float64) {
	for i, k := range s.class {
		switch k {
		case pair[0]:
			rows, y = append(rows, i), append(y, -1)
		case pair[1]:
			rows, y = append(rows, i), append(y, 1)
		}
	}
	return rows, y
}

// kernel is Q of section B2, up to a constant: of a Gaussian k(x, z) of that width, with
// centres everywhere, ∫ k(x, z) k(x', z) dz is (width √π)^p exp(-|x-x'|²/4 width²). It is
// divided by its value at x = x'.
func (o *KernelOptions) kernel(a, b []float64) float64 {
	if o.Kernel == "linear" {
		return gfloats.Dot(a, b)
	}
	d := 0.0
	for i, v := range a {
		d += (v - b[i]) * (v - b[i])
	}
	if d == 0 {
		return 1 // also where the square of a width is 0
	}
	return math.Exp(-d / (4 * o.Width * o.Width))
}

// solution is the solved dual of one pair.
type solution struct {
	rows  []int     // of the samples
	y     []float64 // -1 and +1
	u     []float64
	f     []float64 // the function at the rows
	price float64   // that no multiplier exceeds, times the sample's count; +Inf is none
	steps int
}

// jitter keeps the diagonal positive where a kernel is 0 there, as the linear one at 0.
const jitter = 1e-12

// solve solves the dual of a pair on samples, from the multipliers u. total is the number of
// samples that the bound of total-hinge counts.
func (o *KernelOptions) solve(ctx context.Context, s *samples, pair [2]int, u []float64, total float64,
	workers int) (*solution, error) {
	rows, y := s.of(pair)
	n := len(rows)
	r := &solution{rows: rows, y: y, u: u, price: o.Price}
	if r.u == nil {
		r.u = make([]float64, n)
	}
	if n == 0 {
		return r, nil
	}
	if n > mostSamples {
		return nil,
			fail(BadTable, "",
				"%d samples of two classes; the solver's memory, 8 bytes a pair of samples, ends at %d", n,
				mostSamples)
	}
	if o.Gamma > 0 {
		return r, o.ascend(ctx, s, r, total)
	}
	h := make([][]float64, n)
	run.Blocks(workers, n, 16, func(_, from, to int) {
		for i := from; i < to; i++ {
			h[i] = make([]float64, n)
			for j, k := range rows {
				h[i][j] = y[i] * y[j] * o.kernel(s.x[rows[i]], s.x[k])
			}
			h[i][i] += jitter
		}
	})
	q := &optim.BoxQP{H: h, C: make([]float64, n), Upper: make([]float64, n), Steps: o.MaxSteps}
	for i := range q.C {
		q.C[i] = 1 - learner.Amount(o.Eps)
	}
	toRay(h, q.C[0], r.u)
	at := func(price float64) error {
		r.price = price
		for i, k := range rows {
			q.Upper[i] = price * s.count[k]
		}
		steps, _, err := q.Maximize(ctx, r.u, o.Accuracy)
		r.steps += steps
		var unbounded *optim.ErrUnbounded
		if errors.As(err, &unbounded) {
			return infeasible(s, rows, y, r.u)
		}
		if errors.Is(err, optim.ErrSteps) {
			return &Error{Code: NotSolved, Msg: fmt.Sprintf("classes %d and %d, %d samples, price %.3g",
				pair[0]+1, pair[1]+1, n, price), Err: err}
		}
		return err
	}
	var err error
	switch o.Cost {
	case "margin":
		err = at(math.Inf(1))
	case "hinge":
		err = at(o.Price)
	default:
		err = r.byHinge(at, func() float64 { return r.hinge(s, h, q.C[0]) }, o.Hinge*total)
	}
	if err != nil {
		return nil, err
	}
	r.f = r.values(h)
	return r, nil
}

// toRay multiplies u by what is best for the dual on its ray. The multipliers of agents whose
// samples are alike add up to too much: each had to hold the margin alone.
func toRay(h [][]float64, margin float64, u []float64) {
	sum, square := 0.0, 0.0
	for i, v := range u {
		if v != 0 {
			sum += v
			square += v * gfloats.Dot(h[i], u)
		}
	}
	if square > 0 {
		gfloats.Scale(margin*sum/square, u)
	}
}

// mostSamples bounds the matrix of a pair at 3 GB.
const mostSamples = 20000

// values are the function at the samples.
func (r *solution) values(h [][]float64) []float64 {
	f := make([]float64, len(r.u))
	for j, v := range r.u {
		if v != 0 {
			gfloats.AddScaled(f, v, h[j])
		}
	}
	for i := range f {
		f[i] *= r.y[i]
	}
	return f
}

// hinge is the sum of hinge losses.
func (r *solution) hinge(s *samples, h [][]float64, margin float64) float64 {
	sum := 0.0
	for i, f := range r.values(h) {
		sum += s.count[r.rows[i]] * math.Max(0, margin-r.y[i]*f)
	}
	return sum
}

// byHinge finds the price at which the sum of hinge losses is the bound: the box machine is
// the dual of the joint constraint. The sum falls as the price grows.
func (r *solution) byHinge(at func(price float64) error, hinge func() float64, bound float64) error {
	low, high := 0.0, 1.0
	for {
		if err := at(high); err != nil {
			return err
		}
		if hinge() <= bound {
			break
		}
		if low = high; high > 1e6 {
			return fail(Infeasible, "",
				"the sum of hinge losses stays above %.4g, at a price of %.3g: samples of two classes coincide; allow "+
					"more by the field hinge",
				bound, high)
		}
		high *= 4
	}
	for range 40 {
		if high-low <= 1e-4*high {
			break
		}
		mid := (low + high) / 2
		if low > 0 {
			mid = math.Sqrt(low * high)
		}
		if err := at(mid); err != nil {
			return err
		}
		if hinge() <= bound {
			high = mid
		} else {
			low = mid
		}
	}
	return at(high)
}

// infeasible names samples whose multipliers have run away.
func infeasible(s *samples, rows []int, y, u []float64) error {
	order := make([]int, len(u))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case u[a] > u[b]:
			return -1
		case u[a] < u[b]:
			return 1
		}
		return 0
	})
	names := ""
	for _, i := range order[:min(4, len(order))] {
		names += fmt.Sprintf(" %d (class %d)", rows[i]+1, s.class[rows[i]]+1)
	}
	return fail(Infeasible, "",
		"samples of two classes coincide, or nearly; the largest multipliers have the samples%s", names)
}

// critical marks the samples that have to do with the solution: those with multipliers, and
// those on the margin.
func (o *KernelOptions) critical(r *solution) []bool {
	top := 0.0
	for _, v := range r.u {
		top = math.Max(top, v)
	}
	out := make([]bool, len(r.u))
	for i, v := range r.u {
		slack := 1 - learner.Amount(o.Eps) - r.y[i]*r.f[i]
		out[i] = v > o.Tolerance*top || math.Abs(slack) <= o.MarginTolerance
	}
	return out
}
