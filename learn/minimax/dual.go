package minimax

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/run"
)

// ascent is stochastic dual coordinate ascent on φ(·, λ) for one λ, where that separates
// over examples and outputs: with f = Σ_k λ_k a_k ℓ_k,
//
//	min_w 1/n Σ_i Σ_c f(w_c·x_i) + β_1/2 |w|²
//	  = max_α 1/n Σ_i Σ_c -f*(-α_ic) - β_1/2 |w(α)|²,   w_c(α) = 1/(β_1 n) Σ_i α_ic x_i.
//
// Within a ball |w| ≤ D the penalty's conjugate changes, and with it the last term: for
// u = 1/n Σ α x it is D|u| - β_1 D²/2 where |u| > β_1 D. As D|u| is the least |u|²/2β' +
// β' D²/2 over β', at β' = |u|/D, the steps are those without a ball for β' in the place of
// β_1, and β' = max(β_1, |u|/D) follows u several times a pass: coordinate ascent on a
// function that is jointly concave in α and β'. The multiplier of the constraint is β' - β_1.
// What is proved never depends on β' having settled.
//
// Every α proves a lower bound, which is what the certificate lacks: at kinks a gradient
// proves little until its square is of the size of β_1 times the gap, and L-BFGS had a
// gap of 0.04 left after 3400 evaluations on 2,500 images, β_1 = 1e-4. S. Shalev-Shwartz and
// T. Zhang, "Stochastic dual coordinate ascent methods for regularized loss
// minimization", JMLR 14, 2013.
//
// Outputs do not meet, so that workers share them out, and results do not depend on how.
type ascent struct {
	g        *Game
	mix      *mixed
	radius   float64   // D, or 0
	floor    float64   // least β' within a ball, for what has no penalty
	beta     float64   // β', without a ball β_1
	inv      float64   // 1/(β' n)
	size     []float64 // |(x_i, 1)|² by the weight of the example
	y        []float64
	s, alpha []float64 // example by example, output by output: α = -f'(s) there
	value    []float64 // -f*(-α), or less; where mix.corner is set, not kept
	w        []float64 // u/β', output by output, the bias last
	scaled   []float64 // α by the weights of examples, where there are some
	seed     uint64
	passes   int

	// rest counts the visits in a row that left an α as it was, up to mostRest: such a one is
	// visited in one pass of 2^rest. At a bound, which the slope of a kink is, most stay: of
	// 60,000 examples of the 1-norm alone at most as many as there are features have their
	// score at the kink.
	rest []uint8
}

const mostRest = 4

// dualAscent returns an ascent from the scores of w, within a radius unless that is 0, or
// nil when the game does not separate. slack is what a bound may miss by where there is no
// penalty and the radius does not hold.
func (g *Game) dualAscent(w []float64, radius, slack float64, seed uint64) *ascent {
	n, f, outputs := g.data.Rows, g.data.Features, g.net.Outputs()
	if !g.Curvature(make([]float64, g.net.Dim())) || g.norm || g.beta1 <= 0 && radius == 0 || len(g.spans) != 1 || g.spans[0] != (nn.Span{From: 0, To: g.net.Dim()}) {
		return nil
	}
	for k := range g.objectives {
		if g.objectives[k].row(g.multi, outputs) != notRow {
			return nil
		}
	}
	a := &ascent{g: g, radius: radius, seed: seed, mix: &mixed{}, size: make([]float64, n), y: make([]float64, n*outputs),
		s: make([]float64, n*outputs), alpha: make([]float64, n*outputs), value: make([]float64, n*outputs), w: make([]float64, outputs*(f+1)), rest: make([]uint8, n*outputs)}
	for i := range n {
		x := g.x[i*f:][:f]
		a.size[i] = (floats.Dot(x, x) + 1) * a.weight(i)
		g.data.targets(i, outputs, a.y[i*outputs:])
	}
	if radius > 0 {
		// β' in the place of β_1 costs the bound β'D²/2 at most.
		a.floor = 2 * slack / (radius * radius)
	}
	a.regularize(math.Max(g.beta1, a.floor))
	g.scoresOf(w, a.s)
	return a
}

// weight is what example i counts for: its losses are as if multiplied by it. α is kept
// without it.
func (a *ascent) weight(i int) float64 {
	if a.g.weight == nil {
		return 1
	}
	return a.g.weight[i]
}

// regularize sets β'; w is as it was for the old one.
func (a *ascent) regularize(beta float64) { a.beta, a.inv = beta, 1/(beta*float64(a.g.data.Rows)) }

// settle sets β' to what suits u, and makes w that for it.
func (a *ascent) settle() {
	if a.radius == 0 {
		return
	}
	old := a.beta
	a.regularize(slices.Max([]float64{a.g.beta1, a.floor, old * floats.Norm(a.w, 2) / a.radius}))
	if a.beta != old {
		floats.Scale(old/a.beta, a.w)
	}
}

// turn takes up another mixture.
func (a *ascent) turn(lambda []float64) {
	old := a.mix
	a.mix = a.g.mixtureOf(lambda)
	clear(a.rest)
	for k, s := range a.s {
		a.alpha[k], a.value[k] = a.mix.remix(old, s, a.y[k], a.alpha[k])
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
		if weight := a.weight(k / a.g.net.Outputs()); weight > 0 {
			proved += weight * v / float64(a.g.data.Rows)
		}
	}
	if !(proved >= 0) || math.IsInf(proved, 1) {
		for _, v := range [][]float64{a.alpha, a.value, a.w} {
			clear(v)
		}
		a.regularize(math.Max(a.g.beta1, a.floor))
	}
	a.settle()
}

// sum makes w from α, without the rounding of many steps.
func (a *ascent) sum() {
	n, f, outputs := a.g.data.Rows, a.g.data.Features, a.g.net.Outputs()
	alpha := a.alpha
	if a.g.weight != nil {
		a.scaled = sized(a.scaled, len(alpha))
		for k, v := range alpha {
			a.scaled[k] = v * a.g.weight[k/outputs]
		}
		alpha = a.scaled
	}
	gemm.Gemm(a.g.workers, blas.Trans, blas.NoTrans, outputs, f, n, a.inv, alpha, outputs, a.g.x, f, 0, a.w, f+1)
	for c := range outputs {
		b := 0.0
		for i := range n {
			b += alpha[i*outputs+c]
		}
		a.w[c*(f+1)+f] = b * a.inv
	}
}

// settlings is how often a pass looks at β', and settleRows how many examples there are
// between at least: that is one norm of w.
const (
	settlings  = 16
	settleRows = 32
)

// pass visits every example once, in an order of its own, and maximises over each of its
// α in turn.
func (a *ascent) pass() {
	n := a.g.data.Rows
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
}

func (a *ascent) visit(order []int) {
	f, outputs := a.g.data.Features, a.g.net.Outputs()
	lanes := min(len(a.g.lanes), outputs)
	run.Each(lanes, lanes, func(_, lane int) error { // cannot fail
		from, to := lane*outputs/lanes, (lane+1)*outputs/lanes
		for _, i := range order {
			x, q, weight := a.g.x[i*f:][:f], a.size[i]*a.inv, a.weight(i)
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
				s, alpha, value := a.mix.solve(others, q, a.y[k], a.s[k])
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

// bound returns the dual value: no w has a lower φ(w, λ).
func (a *ascent) bound(lambda []float64) float64 {
	a.sum()
	sum, outputs := 0.0, a.g.net.Outputs()
	for k, v := range a.value {
		if a.weight(k/outputs) == 0 {
			continue // never visited
		}
		if a.mix.corner {
			v = a.mix.valueAt(a.s[k], a.y[k], a.alpha[k])
		}
		sum += a.weight(k/outputs) * v
	}
	sum /= float64(a.g.data.Rows)
	for k, l := range lambda {
		sum += l * (a.g.handicap(k) - a.g.objectives[k].offset)
	}
	return sum - a.conjugate()
}

// conjugate is max ⟨u, w⟩ - β_1/2 |w|² over the w that are allowed.
func (a *ascent) conjugate() float64 {
	if a.radius == 0 {
		return a.g.beta1 / 2 * floats.Dot(a.w, a.w)
	}
	u := a.beta * floats.Norm(a.w, 2)
	if u <= a.g.beta1*a.radius {
		return u * u / (2 * a.g.beta1)
	}
	return a.radius*u - a.g.beta1/2*a.radius*a.radius
}

// params returns w, which attains conjugate, as parameters of the network.
func (a *ascent) params() []float64 {
	f, outputs := a.g.data.Features, a.g.net.Outputs()
	scale := 1.0
	if size := floats.Norm(a.w, 2); a.radius > 0 && size > a.radius {
		scale = a.radius / size // what rounding left: settle has made u/β' fit
	}
	out := make([]float64, a.g.net.Dim())
	weights, biases := nn.Layer(a.g.net, 0, out)
	for c := range outputs {
		row := a.w[c*(f+1):][:f+1]
		for j, v := range row[:f] {
			weights[j*outputs+c] = scale * v
		}
		biases[c] = scale * row[f]
	}
	return out
}
