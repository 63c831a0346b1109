package separable

import (
	"context"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/run"
)

// Newton minimises φ for losses that are smooth, or relaxed, output by output, by Newton's method
// on all rows. An iteration on an output costs n'f² + f³/3 multiplications for the n' rows that
// have curvature there, at the speed of matrix products. For a relaxed 1-norm these are the rows
// within the width of its kink. Directions penalised only by β, away from kinks, take first-order
// methods and dual coordinate ascent the longer the smaller β n is.
type Newton struct {
	p    *Problem
	cols []int // features that are not zero throughout: the others' weights are zero
	m    int   // of them, and the bias
	// bias, if not 0, is what biases are at most in size; they are then without penalty.
	bias float64
}

const (
	// newtonWork is how many multiplications an iteration on all outputs may take, a few
	// seconds of one processor; newtonSide bounds the memory of Hessians.
	newtonWork = 4e10
	newtonSide = 4096

	newtonSteps = 50  // of an output, at one λ
	newtonRows  = 256 // packed at a time for a product
)

// NewNewton returns nil when p is not for it: no penalty, or too many rows and features for
// Hessians. Biases are bounded by bias and then without penalty, unless that is 0.
func NewNewton(p *Problem, bias float64) *Newton {
	used := make([]bool, p.Features)
	for i := range p.Rows {
		for j, v := range p.X[i*p.Features:][:p.Features] {
			if v != 0 {
				used[j] = true
			}
		}
	}
	s := &Newton{p: p, bias: bias}
	for j, u := range used {
		if u {
			s.cols = append(s.cols, j)
		}
	}
	s.m = len(s.cols) + 1
	m := float64(s.m)
	if !(p.Beta > 0) || s.m > newtonSide || float64(p.Outputs)*(float64(p.Rows)*m*m+m*m*m/3) > newtonWork {
		return nil
	}
	return s
}

// Side returns the side of a Hessian.
func (s *Newton) Side() int { return s.m }

// Minimize moves w to the minimum for the mixture λ of terms, which are those of the problem or
// relax them. It ends when every output's part of φ is within tol/Outputs of its minimum, as the
// square of the gradient by β proves. It also ends after newtonSteps steps of each, and returns the
// most steps of an output.
//
// bend is the matrix Σ_c G_cᵀ H_c⁻¹ G_c (p×p, row by row), minus the second derivative by λ of min
// φ. G is the gradient of terms along w and H the Hessian of φ where the last step began.
func (s *Newton) Minimize(ctx context.Context, terms []Term, w, lambda []float64,
	tol float64) (bend []float64, most int, err error) {
	outputs, p := s.p.Outputs, len(lambda)
	bends, steps := make([][]float64, outputs), make([]int, outputs)
	lanes := min(s.p.Workers, outputs)
	weights, biases := s.p.split(w)
	next := make([][]float64, outputs)
	err = run.Each(lanes, outputs, func(_, c int) error {
		o := &newtonOutput{Newton: s, terms: terms, mix: s.p.mixtureOf(terms, lambda), c: c,
			blas: gemm.Implementation{Workers: max(1, s.p.Workers/lanes)}, w: make([]float64, s.m)}
		for i, j := range s.cols {
			o.w[i] = weights[j*outputs+c]
		}
		o.w[s.m-1] = biases[c]
		if s.bias > 0 {
			o.w[s.m-1] = math.Max(-s.bias, math.Min(s.bias, biases[c]))
		}
		var err error
		bends[c], steps[c], err = o.solve(ctx, tol/float64(outputs))
		next[c] = o.w
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	clear(w)
	bend = make([]float64, p*p)
	for c, v := range next {
		for i, j := range s.cols {
			weights[j*outputs+c] = v[i]
		}
		biases[c] = v[s.m-1]
		floats.Add(bend, bends[c])
		most = max(most, steps[c])
	}
	return bend, most, nil
}

// newtonOutput is the problem of one output, min 1/n Σ_i f(x_i·w) + β_1/2 |w|² for f = Σ_k λ_k a_k
// ℓ_k. A bounded bias is one coordinate without a penalty. Steps end where it reaches its bound,
// and skip it while the gradient holds it there.
type newtonOutput struct {
	*Newton
	terms []Term
	mix   *mixture
	c     int
	blas  gemm.Implementation

	w, s, y   []float64
	first     []float64 // f' of each example, over n
	second    []float64 // f''
	grad      []float64
	hessian   []float64 // lower triangle, or its Cholesky factor
	packed    []float64
	positions []int // of examples with curvature
	held      bool  // the Hessian leaves out the bias, which is at its bound
}

// penalized returns the part of v that is in the penalty.
func (o *newtonOutput) penalized(v []float64) []float64 {
	if o.bias > 0 {
		return v[:o.m-1]
	}
	return v
}

// excess bounds how far the value at w is above the minimum: |g|²/2β_1 for penalised coordinates,
// and the largest fall of a linear function for a bounded bias.
func (o *newtonOutput) excess() float64 {
	g := o.penalized(o.grad)
	rest := floats.Dot(g, g) / (2 * o.p.Beta)
	if o.bias > 0 {
		d := o.grad[o.m-1]
		rest += d*o.w[o.m-1] + o.bias*math.Abs(d)
	}
	return rest
}

// direction stores Newton's step in along, and returns how much of it there may be; false
// where rounding leaves none.
func (o *newtonOutput) direction(along []float64) (most float64, ok bool) {
	m := o.m
	for {
		if !o.factor() {
			return 0, false
		}
		copy(along, o.grad)
		if o.held {
			along[m-1] = 0
		}
		o.divide(along)
		floats.Scale(-1, along)
		if o.bias == 0 || o.held || along[m-1] == 0 {
			return math.Inf(1), true
		}
		if most = (math.Copysign(o.bias, along[m-1]) - o.w[m-1]) / along[m-1]; most > 0 {
			return most, true
		}
		o.held = true // at its bound, the other weights would take it out
	}
}

// score stores x_i·v in to.
func (o *newtonOutput) score(v, to []float64) {
	f, b := o.p.Features, v[o.m-1]
	full := make([]float64, f)
	for i, j := range o.cols {
		full[j] = v[i]
	}
	for i := range to {
		to[i] = b
	}
	o.blas.Dgemv(blas.NoTrans, len(to), f, 1, o.p.X, f, full, 1, 1, to, 1)
}

// back stores Σ_i d_i x_i in to.
func (o *newtonOutput) back(d, to []float64) {
	f := o.p.Features
	full := make([]float64, f)
	o.blas.Dgemv(blas.Trans, len(d), f, 1, o.p.X, f, d, 1, 0, full, 1)
	for i, j := range o.cols {
		to[i] = full[j]
	}
	to[o.m-1] = floats.Sum(d)
}

func (o *newtonOutput) solve(ctx context.Context, tol float64) (bend []float64, steps int, err error) {
	n, outputs, p, beta := o.p.Rows, o.p.Outputs, len(o.terms), o.p.Beta
	o.s, o.y, o.first, o.second = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	o.grad, o.hessian = make([]float64, o.m), make([]float64, o.m*o.m)
	for i := range n {
		o.y[i] = o.p.Y[i*outputs+o.c]
	}
	along, ds := make([]float64, o.m), make([]float64, n)
	factored := false
	for {
		if err := ctx.Err(); err != nil {
			return nil, steps, err
		}
		o.score(o.w, o.s)
		for i, s := range o.s {
			o.first[i] = o.p.weight(i) / float64(n) * o.mix.slope(s, o.y[i])
		}
		o.back(o.first, o.grad)
		floats.AddScaled(o.penalized(o.grad), beta, o.penalized(o.w))
		done := o.excess() <= tol || steps >= newtonSteps
		if done && (factored || p == 1) {
			break
		}
		for i, s := range o.s {
			// Losses come without second derivatives; a difference that is taken over less than
			// any width is one.
			h := 1e-6 * (1 + math.Abs(s))
			bend := (o.mix.slope(s+h, o.y[i]) - o.mix.slope(s-h, o.y[i])) / (2 * h)
			o.second[i] = o.p.weight(i) / float64(n) * math.Max(0, bend)
		}
		o.held = o.bias > 0 && math.Abs(o.w[o.m-1]) >= o.bias && o.grad[o.m-1]*o.w[o.m-1] < 0
		longest, ok := o.direction(along)
		if !ok {
			break
		}
		if factored = true; done {
			break
		}
		o.score(along, ds)
		t := o.search(along, ds, longest)
		if t == 0 {
			break
		}
		steps++
		floats.AddScaled(o.w, t, along)
		if o.bias > 0 && t == longest {
			o.w[o.m-1] = math.Copysign(o.bias, along[o.m-1])
		}
	}
	bend = make([]float64, p*p)
	if !factored || p == 1 {
		return bend, steps, nil
	}
	// L⁻¹ G, whose products are Gᵀ H⁻¹ G.
	rows := make([][]float64, p)
	d := make([]float64, n)
	for k := range rows {
		u := &o.terms[k]
		for i, s := range o.s {
			_, v := u.Loss.At(s, o.y[i])
			d[i] = o.p.weight(i) / float64(n) * u.Scale / float64(outputs) * v
		}
		rows[k] = make([]float64, o.m)
		o.back(d, rows[k])
		if o.held {
			rows[k][o.m-1] = 0
		}
		o.blas.Dtrsv(blas.Lower, blas.NoTrans, blas.NonUnit, o.m, o.hessian, o.m, rows[k], 1)
	}
	for k := range p {
		for l := range p {
			bend[k*p+l] = floats.Dot(rows[k], rows[l])
		}
	}
	return bend, steps, nil
}

// search returns the step along which φ is least, to a tenth of its slope at the start, or longest
// if φ still falls there. The scores are linear in the step, so trying one is cheap. Zero means
// that rounding leaves no descent.
func (o *newtonOutput) search(along, ds []float64, longest float64) float64 {
	n := float64(len(ds))
	inner := o.penalized(along)
	wd, dd := floats.Dot(o.penalized(o.w), inner), floats.Dot(inner, inner)
	slope := func(t float64) float64 {
		sum := 0.0
		for i, d := range ds {
			if d != 0 {
				sum += o.p.weight(i) * d * o.mix.slope(o.s[i]+t*d, o.y[i])
			}
		}
		return sum/n + o.p.Beta*(wd+t*dd)
	}
	start := slope(0)
	if !(start < 0) {
		return 0
	}
	lo, hi, at, most := 0.0, math.Inf(1), start, 0.0
	t := math.Min(1, longest)
	for try := range 60 {
		v := slope(t)
		switch {
		case math.Abs(v) <= -start/10 || v < 0 && t == longest:
			return t
		case v < 0:
			lo, at = t, v
		default: // or not a number, beyond what can be written
			hi, most = t, v
		}
		switch {
		case math.IsInf(hi, 1):
			t = math.Min(2*t, longest)
		case most-most != 0:
			t = lo + (hi-lo)/8
		case try%2 == 0: // at kinks secants come from one side only
			t = lo + (hi-lo)/2
		default:
			// The secant, kept off the ends.
			share := at / (at - most)
			t = lo + math.Min(0.9, math.Max(0.1, share))*(hi-lo)
		}
	}
	return lo
}

// factor makes the Hessian and its Cholesky factor; false where rounding leaves none.
func (o *newtonOutput) factor() bool {
	f, m := o.p.Features, o.m
	clear(o.hessian)
	for j := range m {
		o.hessian[j*m+j] = o.p.Beta
	}
	if o.bias > 0 {
		// Without curvature at kinks a step would be unbounded. This term makes it the size of the
		// bound, and vanishes where the gradient does.
		o.hessian[m*m-1] = math.Max(1e-12, math.Abs(o.grad[m-1])/(2*o.bias))
	}
	o.positions = o.positions[:0]
	for i, v := range o.second {
		if v > 0 {
			o.positions = append(o.positions, i)
		}
	}
	if o.packed == nil {
		o.packed = make([]float64, newtonRows*m)
	}
	for from := 0; from < len(o.positions); from += newtonRows {
		rows := o.positions[from:min(from+newtonRows, len(o.positions))]
		for at, i := range rows {
			x, root := o.p.X[i*f:][:f], math.Sqrt(o.second[i])
			row := o.packed[at*m:][:m]
			for q, j := range o.cols {
				row[q] = root * x[j]
			}
			row[m-1] = root
		}
		o.blas.Dsyrk(blas.Lower, blas.Trans, m, len(rows), 1, o.packed, m, 1, o.hessian, m)
	}
	if o.held {
		clear(o.hessian[(m-1)*m:])
		o.hessian[m*m-1] = 1
	}
	return gemm.Cholesky(o.blas.Workers, m, o.hessian, m)
}

// divide solves H x = v in place.
func (o *newtonOutput) divide(v []float64) {
	o.blas.Dtrsv(blas.Lower, blas.NoTrans, blas.NonUnit, o.m, o.hessian, o.m, v, 1)
	o.blas.Dtrsv(blas.Lower, blas.Trans, blas.NonUnit, o.m, o.hessian, o.m, v, 1)
}
