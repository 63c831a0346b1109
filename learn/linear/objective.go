package linear

import (
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/resilient"
)

// Problem is the fit of a linear model to some rows of a design: minimise
//
//	Σ_i W_i Phi(Y_i, b + (x_i - shift)·w) + L2/2 |w|²
//
// over the weights w, by feature and output, and the constants b, which stand behind them.
type Problem struct {
	X     *Design
	Shift []float64 // of each feature, see Shifts; nil is none
	Loss  score.Loss
	Y     []float64 // of all rows
	W     []float64 // of all rows; nil is all 1
	Rows  []int32   // that are fitted; nil is all
	L2    float64
	// Workers is the number of goroutines, 0 for one a processor. The bits of value and
	// gradient do not depend on it.
	Workers int
}

// lanes is the number of parts, each with a gradient of its own.
const lanes = 16

// block rows have their scores computed together.
const block = 64

// Objective returns the problem as a function of weights and constants. A value costs two
// passes over the design, O(nonzeros·outputs), and lanes gradients of memory. It must not be
// used by two goroutines at once.
func (p *Problem) Objective() optim.Objective { return p.objective() }

// Weighed returns the same with the loss of every row apart. It must not be used by two
// goroutines at once.
func (p *Problem) Weighed() resilient.Examples { return p.objective() }

func (p *Problem) objective() *objective {
	n := p.X.n
	if p.Rows != nil {
		n = len(p.Rows)
	}
	k := p.Loss.Outputs()
	o := &objective{Problem: p, n: n, k: k, parts: min(lanes, (n+1023)/1024)}
	for range o.parts {
		o.work = append(o.work, newWork(k))
	}
	o.sum = optim.NewReducer((*laneSum)(o), &optim.ReducerOptions{Workers: p.Workers})
	return o
}

type objective struct {
	*Problem
	n, k, parts int
	work        []*work
	sum         *optim.Reducer // of the lanes

	// Of the evaluation under way.
	bias   []float64
	weigh  resilient.Weigh
	losses []float64
}

// laneSum is the sum over rows alone, cut into lanes.
type laneSum objective

// Dim implements optim.Parts.
func (s *laneSum) Dim() int { return (*objective)(s).Dim() }

// Parts implements optim.Parts.
func (s *laneSum) Parts() int { return s.parts }

// Part implements optim.Parts.
func (s *laneSum) Part(_, k int, x, grad []float64) (float64, error) {
	return (*objective)(s).lane(k, x, grad), nil
}

// work is room for a block of rows; by has the weights of their gradients.
type work struct{ y, f, g, v, by []float64 }

func newWork(k int) *work {
	return &work{make([]float64, block), make([]float64, block*k), make([]float64, block*k), make([]float64, block), make([]float64, block)}
}

// Dim implements optim.Objective.
func (o *objective) Dim() int { return (o.X.d + 1) * o.k }

// Examples returns how many rows an evaluation visits.
func (o *objective) Examples() int { return o.n }

// Len implements resilient.Examples.
func (o *objective) Len() int { return o.n }

// Weights implements resilient.Examples.
func (o *objective) Weights() []float64 {
	if o.W == nil || o.Rows == nil {
		return o.W
	}
	w := make([]float64, o.n)
	for k, i := range o.Rows {
		w[k] = o.W[i]
	}
	return w
}

// Eval implements optim.Objective.
func (o *objective) Eval(x, grad []float64) (float64, error) {
	return o.EvalWeighed(x, nil, nil, grad)
}

// EvalWeighed implements resilient.Examples.
func (o *objective) EvalWeighed(x []float64, weigh resilient.Weigh, losses, grad []float64) (float64, error) {
	d, k := o.X.d, o.k
	bias := slices.Clone(x[d*k:])
	for j, s := range o.Shift {
		if s != 0 {
			for c := range bias {
				bias[c] -= s * x[j*k+c]
			}
		}
	}
	o.bias, o.weigh, o.losses = bias, weigh, losses
	value, err := o.sum.Eval(x, grad)
	o.bias, o.weigh, o.losses = nil, nil, nil
	if err != nil {
		return 0, err
	}
	sq := 0.0
	for _, v := range x[:d*k] {
		sq += v * v
	}
	if grad != nil {
		for j := range d {
			s := 0.0
			if o.Shift != nil {
				s = o.Shift[j]
			}
			for c := range k {
				grad[j*k+c] += o.L2*x[j*k+c] - s*grad[d*k+c]
			}
		}
	}
	return value + o.L2/2*sq, nil
}

// lane returns the loss of one part of the rows, block by block, and adds its gradient to g unless
// that is nil.
func (o *objective) lane(part int, x, g []float64) float64 {
	d, k := o.X.d, o.k
	bias, weigh, losses := o.bias, o.weigh, o.losses
	at := func(i int) int {
		if o.Rows != nil {
			return int(o.Rows[i])
		}
		return i
	}
	u, total := o.work[part], 0.0
	end := (part + 1) * o.n / o.parts
	for from := part * o.n / o.parts; from < end; from += block {
		m := min(block, end-from)
		y, f := u.y[:m], u.f[:m*k]
		for r := range m {
			i := at(from + r)
			y[r] = o.Y[i]
			s := f[r*k : r*k+k]
			copy(s, bias)
			o.X.Times(s, i, x)
		}
		o.Loss.Values(u.v[:m], y, f)
		if losses != nil {
			copy(losses[from:], u.v[:m])
		}
		if weigh != nil {
			for r, v := range u.v[:m] {
				u.v[r], u.by[r] = weigh(from+r, v)
			}
		}
		for r, v := range u.v[:m] {
			if w := score.Weight(o.W, at(from+r)); w != 0 { // an infinite loss without weight is not NaN
				total += w * v
			}
		}
		if g == nil {
			continue
		}
		o.Loss.Gradients(u.g[:m*k], nil, y, f)
		for r := range m {
			i := at(from + r)
			w := score.Weight(o.W, i)
			if w == 0 {
				continue
			}
			if weigh != nil {
				w *= u.by[r]
			}
			s := u.g[r*k : r*k+k]
			for c := range s {
				s[c] *= w
			}
			o.X.Add(g, i, s)
			for c, v := range s {
				g[d*k+c] += v
			}
		}
	}
	return total
}
