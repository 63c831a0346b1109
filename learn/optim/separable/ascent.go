package separable

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/run"
)

// Ascent is stochastic dual coordinate ascent for one mixture λ after another: with f the
// mixture of the terms,
//
//	min_w 1/n Σ_i Σ_c f(w_c·x_i) + β/2 |w|²
//	  = max_α 1/n Σ_i Σ_c -f*(-α_ic) - β/2 |w(α)|²,   w_c(α) = 1/(β n) Σ_i α_ic x_i.
//
// Within a ball |w| ≤ D the penalty's conjugate changes, and with it the last term: for u = 1/n Σ α
// x it is D|u| - βD²/2 where |u| > βD. D|u| is the minimum of |u|²/2β' + β'D²/2 over β', at β' =
// |u|/D. The steps are therefore those without a ball for β' in place of β. β' = max(β, |u|/D)
// follows u several times a pass: this is coordinate ascent on a function that is jointly concave
// in α and β'. The multiplier of the constraint is β' - β. What is proved never depends on β'
// having settled.
//
// Every α proves a lower bound. Gradients at kinks prove little until their square is of the size
// of β times the gap.
//
// Outputs are independent, so workers share them, and results do not depend on how.
type Ascent struct {
	p        *Problem
	lambda   []float64
	mix      *mixture
	radius   float64   // D, or 0
	floor    float64   // least β' within a ball, for what has no penalty
	beta     float64   // β', without a ball β
	inv      float64   // 1/(β' n)
	size     []float64 // |(x_i, 1)|² by the weight of the example
	s, alpha []float64 // example by example, output by output: α = -f'(s) there
	value    []float64 // -f*(-α), or less; where mix.corner is set, not kept
	w        []float64 // u/β', output by output, the bias last
	scaled   []float64 // α by the weights of examples, where there are some
	seed     uint64
	passes   int
	idle     int // passes in a row after which neither a penalty nor the radius held w

	// rest counts the visits in a row that did not change an α, up to mostRest. Such an α is
	// visited in one pass of 2^rest. Most α stay at a bound, the slope on one side of a kink. With
	// the 1-norm on 60,000 examples, at most as many scores are at the kink as there are features.
	rest []uint8
}

const mostRest = 4

// NewAscent returns an ascent from the scores of all rows, within a radius unless that is 0. slack
// is the error allowed in a bound where there is no penalty and the radius is inactive. One of Beta
// and radius must be positive. Turn comes first.
func NewAscent(p *Problem, scores []float64, radius, slack float64, seed uint64) *Ascent {
	n, f, cells := p.Rows, p.Features, p.Rows*p.Outputs
	a := &Ascent{p: p, radius: radius, seed: seed, mix: &mixture{}, size: make([]float64, n), s: scores,
		alpha: make([]float64, cells), value: make([]float64, cells), w: make([]float64, p.Outputs*(f+1)),
		rest: make([]uint8, cells)}
	for i := range n {
		x := p.X[i*f:][:f]
		a.size[i] = (floats.Dot(x, x) + 1) * p.weight(i)
	}
	if radius > 0 {
		// β' in the place of β costs the bound β'D²/2 at most.
		a.floor = 2 * slack / (radius * radius)
	}
	a.regularize(math.Max(p.Beta, a.floor))
	return a
}

// regularize sets β'; w is as it was for the old one.
func (a *Ascent) regularize(beta float64) { a.beta, a.inv = beta, 1/(beta*float64(a.p.Rows)) }

// settle sets β' to what suits u, and makes w that for it.
func (a *Ascent) settle() {
	if a.radius == 0 {
		return
	}
	old := a.beta
	a.regularize(slices.Max([]float64{a.p.Beta, a.floor, old * floats.Norm(a.w, 2) / a.radius}))
	if a.beta != old {
		floats.Scale(old/a.beta, a.w)
	}
}

// Turn implements saddle.Ascender: it takes up another mixture.
func (a *Ascent) Turn(lambda []float64) {
	old := a.mix
	a.lambda = slices.Clone(lambda)
	a.mix = a.p.mixtureOf(a.p.Terms, lambda)
	clear(a.rest)
	for k, s := range a.s {
		a.alpha[k], a.value[k] = a.mix.remix(old, s, a.p.Y[k], a.alpha[k])
	}
	a.sum()
	if a.mix.corner {
		a.settle()
		return
	}
	// Powers of far scores make α that prove less than none do, or are too large to write.
	// With α = 0 the first pass finds better ones.
	proved := -a.conjugate()
	for k, v := range a.value {
		if weight := a.p.weight(k / a.p.Outputs); weight > 0 {
			proved += weight * v / float64(a.p.Rows)
		}
	}
	if !(proved >= 0) || math.IsInf(proved, 1) {
		for _, v := range [][]float64{a.alpha, a.value, a.w} {
			clear(v)
		}
		a.regularize(math.Max(a.p.Beta, a.floor))
	}
	a.settle()
}

// sum makes w from α, without the rounding of many steps.
func (a *Ascent) sum() {
	n, f, outputs := a.p.Rows, a.p.Features, a.p.Outputs
	alpha := a.alpha
	if a.p.Weight != nil {
		if a.scaled == nil {
			a.scaled = make([]float64, len(alpha))
		}
		for k, v := range alpha {
			a.scaled[k] = v * a.p.Weight[k/outputs]
		}
		alpha = a.scaled
	}
	workers := a.p.Workers
	gemm.Gemm(workers, blas.Trans, blas.NoTrans, outputs, f, n, a.inv, alpha, outputs, a.p.X, f, 0, a.w, f+1)
	for c := range outputs {
		b := 0.0
		for i := range n {
			b += alpha[i*outputs+c]
		}
		a.w[c*(f+1)+f] = b * a.inv
	}
}

// settlings is how often a pass updates β', and settleRows the least number of examples between
// updates; each takes one norm of w.
const (
	settlings  = 16
	settleRows = 32
)

// Pass implements saddle.Ascender: it visits every example once, in an order of its own, and
// maximises over each of its α in turn. O(Rows·Outputs·Features).
func (a *Ascent) Pass() {
	n := a.p.Rows
	order := rand.New(rand.NewPCG(a.seed, 1<<32+uint64(a.passes))).Perm(n)
	part := n
	if a.radius > 0 {
		part = max(settleRows, (n+settlings-1)/settlings)
	}
	for from := 0; from < n; from += part {
		a.visit(order[from:min(n, from+part)])
		a.settle()
	}
	a.passes++
	if a.idle++; a.radius == 0 || a.p.Beta > 0 || a.beta > 1.01*a.floor {
		a.idle = 0
	}
}

// Passes implements saddle.Ascender.
func (a *Ascent) Passes() int { return a.passes }

// Idle implements saddle.Ascender: it counts the passes in a row after which nothing but the
// slack penalised w, the radius being too large to.
func (a *Ascent) Idle() int { return a.idle }

func (a *Ascent) visit(order []int) {
	f, outputs := a.p.Features, a.p.Outputs
	lanes := min(a.p.Workers, outputs)
	run.Each(lanes, lanes, func(_, lane int) error { // cannot fail
		from, to := lane*outputs/lanes, (lane+1)*outputs/lanes
		for _, i := range order {
			x, q, weight := a.p.X[i*f:][:f], a.size[i]*a.inv, a.p.weight(i)
			if weight == 0 {
				continue
			}
			for c := from; c < to; c++ {
				k := i*outputs + c
				if (a.passes+k)&(1<<a.rest[k]-1) != 0 {
					continue
				}
				w := a.w[c*(f+1):][:f+1]
				others := floats.Dot(x, w[:f]) + w[f] - q*a.alpha[k]
				s, alpha, value := a.mix.solve(others, q, a.p.Y[k], a.s[k])
				if d := (alpha - a.alpha[k]) * a.inv * weight; d != 0 {
					floats.AddScaled(w[:f], d, x)
					w[f] += d
					a.rest[k] = 0
				} else {
					a.rest[k] = min(a.rest[k]+1, mostRest)
				}
				a.s[k], a.alpha[k], a.value[k] = s, alpha, value
			}
		}
		return nil
	})
}

// Bound implements saddle.Ascender: it returns the dual value. No w has a lower φ.
func (a *Ascent) Bound() float64 {
	a.sum()
	sum, outputs := 0.0, a.p.Outputs
	for k, v := range a.value {
		if a.p.weight(k/outputs) == 0 {
			continue // never visited
		}
		if a.mix.corner {
			v = a.mix.valueAt(a.s[k], a.p.Y[k], a.alpha[k])
		}
		sum += a.p.weight(k/outputs) * v
	}
	sum /= float64(a.p.Rows)
	for k, l := range a.lambda {
		sum += l * a.p.Terms[k].Shift
	}
	return sum - a.conjugate()
}

// conjugate is max ⟨u, w⟩ - β_1/2 |w|² over the w that are allowed.
func (a *Ascent) conjugate() float64 {
	if a.radius == 0 {
		return a.p.Beta / 2 * floats.Dot(a.w, a.w)
	}
	u := a.beta * floats.Norm(a.w, 2)
	if u <= a.p.Beta*a.radius {
		return u * u / (2 * a.p.Beta)
	}
	return a.radius*u - a.p.Beta/2*a.radius*a.radius
}

// Point implements saddle.Ascender: it returns the w that attains the conjugate.
func (a *Ascent) Point() []float64 {
	f, outputs := a.p.Features, a.p.Outputs
	scale := 1.0
	if size := floats.Norm(a.w, 2); a.radius > 0 && size > a.radius {
		scale = a.radius / size // what rounding left: settle has made u/β' fit
	}
	out := make([]float64, a.p.Dim())
	weights, biases := a.p.split(out)
	for c := range outputs {
		row := a.w[c*(f+1):][:f+1]
		for j, v := range row[:f] {
			weights[j*outputs+c] = scale * v
		}
		biases[c] = scale * row[f]
	}
	return out
}

// Save implements saddle.Ascender.
func (a *Ascent) Save(k *run.Checkpoint) {
	k.X = slices.Clone(a.w)
	k.Scalars["passes"], k.Scalars["idle"] = float64(a.passes), float64(a.idle)
	k.Scalars["beta"], k.Scalars["floor"] = a.beta, a.floor
	rest := make([]float64, len(a.rest))
	for i, v := range a.rest {
		rest[i] = float64(v)
	}
	for name, v := range map[string][]float64{"s": a.s, "alpha": a.alpha, "value": a.value, "rest": rest} {
		k.Arrays[name] = slices.Clone(v)
	}
}

// Restore implements saddle.Ascender.
func (a *Ascent) Restore(k *run.Checkpoint, lambda []float64) error {
	cells := len(a.s)
	s, alpha, value := k.Arrays["s"], k.Arrays["alpha"], k.Arrays["value"]
	if len(k.X) != len(a.w) || len(s) != cells || len(alpha) != cells || len(value) != cells {
		return fmt.Errorf("separable: %w: its rows do not fit", run.ErrOther)
	}
	passes, beta, floor := k.Scalars["passes"], k.Scalars["beta"], k.Scalars["floor"]
	if passes < 0 || a.radius > 0 && !(beta > 0 && floor >= 0 && math.Max(beta, floor) <= math.MaxFloat64) {
		return errors.New("separable: the checkpoint's counts or penalty are impossible")
	}
	a.lambda = slices.Clone(lambda)
	a.mix = a.p.mixtureOf(a.p.Terms, lambda)
	copy(a.w, k.X)
	copy(a.s, s)
	copy(a.alpha, alpha)
	copy(a.value, value)
	if rest := k.Arrays["rest"]; len(rest) == cells {
		for i, v := range rest {
			a.rest[i] = uint8(min(max(v, 0), mostRest))
		}
	}
	if a.passes = int(passes); a.radius > 0 {
		a.floor, a.idle = floor, int(k.Scalars["idle"])
		a.regularize(beta)
	}
	return nil
}
