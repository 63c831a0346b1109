package linear

import (
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
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
	o.grads, o.values = make([][]float64, o.parts), make([]float64, o.parts)
	for range o.parts {
		o.work = append(o.work, newWork(k))
	}
	return o
}

type objective struct {
	*Problem
	n, k, parts int
	grads       [][]float64
	values      []float64
	work        []*work
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
	err := run.Each(o.Workers, o.parts, func(_, part int) error {
		o.lane(part, x, bias, weigh, losses, grad != nil)
		return nil
	})
	if err != nil {
		return 0, err
	}
	value, sq := 0.0, 0.0
	for _, v := range o.values {
		value += v
	}
	for _, v := range x[:d*k] {
		sq += v * v
	}
	if grad != nil {
		clear(grad)
		for _, g := range o.grads {
			for j, v := range g {
				grad[j] += v
			}
		}
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

// lane adds up one part of the rows, block by block.
func (o *objective) lane(part int, x, bias []float64, weigh resilient.Weigh, losses []float64, gradient bool) {
	d, k := o.X.d, o.k
	if gradient {
		if o.grads[part] == nil {
			o.grads[part] = make([]float64, (d+1)*k)
		}
		clear(o.grads[part])
	}
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
		if !gradient {
			continue
		}
		o.Loss.Gradients(u.g[:m*k], nil, y, f)
		g := o.grads[part]
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
	o.values[part] = total
}
