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
	d := distance(a, b)
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
		for i := from; i < to && (ctx == nil || ctx.Err() == nil); i++ {
			h[i] = make([]float64, n)
			for j, k := range rows {
				h[i][j] = y[i] * y[j] * o.kernel(s.x[rows[i]], s.x[k])
			}
			h[i][i] += jitter
		}
	})
	if ctx != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	q := &optim.BoxQP{H: h, C: make([]float64, n), Upper: make([]float64, n), Steps: o.MaxSteps}
	for i := range q.C {
		q.C[i] = 1 - learner.Amount(o.Eps)
	}
	toRay(h, q.C[0], r.u)
	at := func(price, accuracy float64) error {
		r.price = price
		for i, k := range rows {
			q.Upper[i] = price * s.count[k]
		}
		steps, _, err := q.Maximize(ctx, r.u, accuracy)
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
		err = at(math.Inf(1), o.Accuracy)
	case "hinge":
		err = at(o.Price, o.Accuracy)
	default:
		all := 0.0
		for _, k := range rows {
			all += s.count[k]
		}
		if bound := o.Hinge * total; q.C[0]*all > bound {
			err = r.byHinge(at, func() float64 { return r.hinge(s, h, q.C[0]) }, bound, all, o.Accuracy)
		} else { // the function 0 is within the bound
			r.price = 0
			clear(r.u)
		}
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

// mostPrice bounds the search for the price of a total hinge.
const mostPrice = 1e6

// byHinge finds the price at which the sum of hinge losses is the bound: the box machine is the
// dual of the joint constraint. The sum falls as the price grows. Prices grow by factors of four
// until the sum is within the bound. A bound that is out of reach is an error as soon as twice the
// last gain, for each factor up to mostPrice, would not get there. Between two prices the search is
// by the rule of false position, on a logarithmic scale.
func (r *solution) byHinge(at func(price, accuracy float64) error, hinge func() float64, bound, all,
	accuracy float64) error {
	loss := func(price, accuracy float64) (float64, error) {
		if err := at(price, accuracy); err != nil {
			return 0, err
		}
		return hinge() - bound, nil
	}
	rough := math.Max(accuracy, 0.01*math.Min(1, bound/all)) // of prices that only bracket
	low, high := math.NaN(), math.NaN()
	var over, under float64 // sums less the bound at low and high
	price := 1.0
	for math.IsNaN(low) || math.IsNaN(high) {
		v, err := loss(price, rough)
		if err != nil {
			return err
		}
		if v <= 0 {
			high, under = price, v
			price /= 4
			continue
		}
		if left := math.Log(mostPrice/price) / math.Log(4); math.IsNaN(high) && !math.IsNaN(low) &&
			(over-v)*2*left < v {
			return fail(Infeasible, "", "a mean hinge loss of %.3g is out of reach: it is %.3g at a price of %.3g "+
				"and %.3g at %.3g; samples of two classes are alike. Give hinge at least %.2f, or take cost "+
				"hinge with that price", bound/all, (over+bound)/all, low, (v+bound)/all, price,
				math.Ceil(100*(v+bound)/all)/100)
		}
		low, over = price, v
		price *= 4
	}
	atLow, atHigh, side := 1.0, 1.0, 0 // by what the ends count: one that stays twice counts half
	for range 60 {
		if high <= low*(1+1e-4) || under >= -1e-4*bound {
			break
		}
		t := over * atLow / (over*atLow - under*atHigh)
		if !(t > 0.01 && t < 0.99) {
			t = 0.5
		}
		price := math.Exp(math.Log(low) + t*math.Log(high/low))
		v, err := loss(price, accuracy)
		if err != nil {
			return err
		}
		if v <= 0 {
			if high, under, atHigh = price, v, 1; side < 0 {
				atLow /= 2
			}
			side = -1
		} else {
			if low, over, atLow = price, v, 1; side > 0 {
				atHigh /= 2
			}
			side = 1
		}
	}
	for { // what was within the bound roughly may not be exactly
		v, err := loss(high, accuracy)
		if err != nil || v <= 1e-3*bound || high > mostPrice {
			return err
		}
		high *= 1.01
	}
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
