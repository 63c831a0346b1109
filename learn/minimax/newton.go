package minimax

import (
	"context"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/run"
)

// newton minimises φ(·, λ) of a game whose losses are smooth, or relaxed, and separate over
// outputs: output by output, by Newton's method on all examples. An iteration on an
// output costs n'f² + f³/3 multiplications for the n' examples that have curvature there,
// at the speed of matrix products: of a relaxed 1-norm these are the examples within the
// width of its kink. What is not at a kink, and is penalised by β_1 alone, takes first-order
// methods and dual coordinate ascent the longer the smaller β_1 n is.

type newton struct {
	g    *Game
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

// newNewton returns nil when g is not for it: losses of whole rows, no square of the norm
// as penalty, or too many features. Biases that are not in the penalty are bounded by bias.
func (g *Game) newNewton(bias float64) *newton {
	penalized := nn.Span{From: 0, To: g.net.Dim()}
	if bias > 0 {
		penalized.To = g.net.Biases(0).From
	}
	if g.net.Layers() > 1 || g.norm || g.beta1 <= 0 || len(g.spans) != 1 || g.spans[0] != penalized || !g.Curvature(make([]float64, g.net.Dim())) {
		return nil
	}
	outputs, f := g.net.Outputs(), g.data.Features
	for k := range g.objectives {
		if g.objectives[k].row(g.multi, outputs) != notRow {
			return nil
		}
	}
	used := make([]bool, f)
	for i := range g.data.Rows {
		for j, v := range g.x[i*f:][:f] {
			if v != 0 {
				used[j] = true
			}
		}
	}
	s := &newton{g: g, bias: bias}
	for j, u := range used {
		if u {
			s.cols = append(s.cols, j)
		}
	}
	s.m = len(s.cols) + 1
	m := float64(s.m)
	if s.m > newtonSide || float64(outputs)*(float64(g.data.Rows)*m*m+m*m*m/3) > newtonWork {
		return nil
	}
	return s
}

// solve minimises from w, parameters of the network, for the losses of r, which is the game
// or what relaxes it, until no output's part of φ is further than tol/outputs from its
// minimum, as the square of the gradient by β_1 proves, or after newtonSteps steps of each. It
// stores the minimum in w, and returns the matrix Σ_c G_cᵀ H_c⁻¹ G_c (p×p, row by row) for
// the gradients G of objectives along w and the Hessian H of φ(·, λ) where the last step
// began: minus the second derivative of min_w φ(w, ·). Results do not depend on workers.
func (s *newton) solve(ctx context.Context, r *Game, w, lambda []float64, tol float64) ([]float64, int, error) {
	g, outputs, p := s.g, s.g.net.Outputs(), len(lambda)
	bends, steps := make([][]float64, outputs), make([]int, outputs)
	lanes := min(len(g.lanes), outputs)
	weights, biases := nn.Layer(g.net, 0, w)
	next := make([][]float64, outputs)
	err := run.Each(lanes, outputs, func(_, c int) error {
		o := &newtonOutput{newton: s, r: r, c: c, lambda: lambda, blas: gemm.Implementation{Workers: max(1, len(g.lanes)/lanes)}}
		o.w = make([]float64, s.m)
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
	bend, most := make([]float64, p*p), 0
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

// newtonOutput is the problem of one output, min 1/n Σ_i f(x_i·w) + β_1/2 |w|² for
// f = Σ_k λ_k a_k ℓ_k. A bias that is bounded is one coordinate without a penalty: steps end
// where it meets its bound, and leave it out while the gradient holds it there.
type newtonOutput struct {
	*newton
	r      *Game // of the losses
	c      int
	lambda []float64
	blas   gemm.Implementation

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

// rest is what the value at w may be above the minimum: |g|²/2β_1 for what is penalised,
// the most that a linear function falls by for a bounded bias.
func (o *newtonOutput) rest() float64 {
	g := o.penalized(o.grad)
	rest := floats.Dot(g, g) / (2 * o.g.beta1)
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

func (o *newtonOutput) weight(i int) float64 {
	if o.g.weight == nil {
		return 1
	}
	return o.g.weight[i]
}

// score stores x_i·v in to.
func (o *newtonOutput) score(v, to []float64) {
	f, b := o.g.data.Features, v[o.m-1]
	full := make([]float64, f)
	for i, j := range o.cols {
		full[j] = v[i]
	}
	for i := range to {
		to[i] = b
	}
	o.blas.Dgemv(blas.NoTrans, len(to), f, 1, o.g.x, f, full, 1, 1, to, 1)
}

// back stores Σ_i d_i x_i in to.
func (o *newtonOutput) back(d, to []float64) {
	f := o.g.data.Features
	full := make([]float64, f)
	o.blas.Dgemv(blas.Trans, len(d), f, 1, o.g.x, f, d, 1, 0, full, 1)
	for i, j := range o.cols {
		to[i] = full[j]
	}
	to[o.m-1] = floats.Sum(d)
}

// slope returns f' at a score, per example.
func (o *newtonOutput) slope(kappa []float64, s, y float64) float64 {
	d := 0.0
	for k, v := range kappa {
		if v != 0 {
			_, one := o.r.objectives[k].At(s, y)
			d += v * one
		}
	}
	return d
}

func (o *newtonOutput) solve(ctx context.Context, tol float64) (bend []float64, steps int, err error) {
	n, outputs, p, beta := o.g.data.Rows, o.g.net.Outputs(), len(o.lambda), o.g.beta1
	kappa := make([]float64, p)
	for k, l := range o.lambda {
		kappa[k] = l * o.r.objectives[k].scale * o.r.objectives[k].factor / float64(outputs)
	}
	o.s, o.y, o.first, o.second = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	o.grad, o.hessian = make([]float64, o.m), make([]float64, o.m*o.m)
	targets := make([]float64, outputs)
	for i := range n {
		o.g.data.targets(i, outputs, targets)
		o.y[i] = targets[o.c]
	}
	along, ds := make([]float64, o.m), make([]float64, n)
	factored := false
	for {
		if err := ctx.Err(); err != nil {
			return nil, steps, err
		}
		o.score(o.w, o.s)
		for i, s := range o.s {
			o.first[i] = o.weight(i) / float64(n) * o.slope(kappa, s, o.y[i])
		}
		o.back(o.first, o.grad)
		floats.AddScaled(o.penalized(o.grad), beta, o.penalized(o.w))
		done := o.rest() <= tol || steps >= newtonSteps
		if done && (factored || p == 1) {
			break
		}
		for i, s := range o.s {
			// Losses come without second derivatives; a difference that is taken over less than
			// any width is one.
			h := 1e-6 * (1 + math.Abs(s))
			o.second[i] = o.weight(i) / float64(n) * math.Max(0, (o.slope(kappa, s+h, o.y[i])-o.slope(kappa, s-h, o.y[i]))/(2*h))
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
		t := o.search(kappa, along, ds, longest)
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
		u := &o.r.objectives[k]
		for i, s := range o.s {
			_, v := u.At(s, o.y[i])
			d[i] = o.weight(i) / float64(n) * u.scale * u.factor / float64(outputs) * v
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

// search returns the step along which φ is least, to a tenth of its slope at the start; the
// scores are linear in it, so that trying one costs next to nothing; longest, if φ still falls
// there. Zero says that rounding leaves no descent.
func (o *newtonOutput) search(kappa, along, ds []float64, longest float64) float64 {
	n := float64(len(ds))
	wd, dd := floats.Dot(o.penalized(o.w), o.penalized(along)), floats.Dot(o.penalized(along), o.penalized(along))
	slope := func(t float64) float64 {
		sum := 0.0
		for i, d := range ds {
			if d != 0 {
				sum += o.weight(i) * d * o.slope(kappa, o.s[i]+t*d, o.y[i])
			}
		}
		return sum/n + o.g.beta1*(wd+t*dd)
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
	f, m := o.g.data.Features, o.m
	clear(o.hessian)
	for j := range m {
		o.hessian[j*m+j] = o.g.beta1
	}
	if o.bias > 0 {
		// Without curvature at kinks a step would be without end: this makes it one of the size
		// of the bound, and is gone where the gradient is.
		o.hessian[m*m-1] = math.Max(1e-12, math.Abs(o.grad[m-1])/(2*o.bias))
	}
	o.positions = o.positions[:0]
	for i, v := range o.second {
		if v > 0 {
			o.positions = append(o.positions, i)
		}
	}
	o.packed = sized(o.packed, newtonRows*m)
	for from := 0; from < len(o.positions); from += newtonRows {
		rows := o.positions[from:min(from+newtonRows, len(o.positions))]
		for at, i := range rows {
			x, root := o.g.x[i*f:][:f], math.Sqrt(o.second[i])
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
