package minimax

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/optim/separable"
	"github.com/tropica-fst/tropica/learn/run"
)

// Penalty says what β_2 Σ λ_k M_k does. Where all M_k are equal, on the simplex, it is
// a constant and does nothing.
type Penalty string

const (
	Handicap   Penalty = "handicap"   // +: the default; objectives count by L_k + β_2 M_k (equation 5.10)
	Shy        Penalty = "shy"        // -: the Lagrangian of Theorem 5.3, whose λ avoids large constants
	Constraint Penalty = "constraint" // λ with Σ λ_k M_k ≤ β_2 only
)

// examples is a network with score losses on Data, in float32 or float64.
type examples[T nn.Float] struct {
	net        *nn.Network
	data       *Data
	x          []T
	objectives []objective
	multi      MultiClass
	mode       ZeroOneMode
	workers    int
	weight     []float64 // of examples, 1 in the mean; nil is 1 each
	targets    []float64 // of all scores; nil before they are needed
	under      bool      // relaxed losses give the lines below what was relaxed

	lanes    []*lane[T] // of workers, for all rows
	small    lane[T]    // for minibatches, whose products are shared among the workers
	gathered []T
}

// lane is what one goroutine needs.
type lane[T nn.Float] struct {
	pass    *nn.Pass[T]
	most    int
	scratch scratch
	s, ds   []float64
	dst     []T
	grad    []T
	rows    []float64 // of a linear gradient, output by output
	class   []int32
}

// evalRows is how many rows are evaluated at a time when all are.
const evalRows = 512

func newExamples[T nn.Float](net *nn.Network, data *Data, objectives []objective, multi MultiClass,
	mode ZeroOneMode, workers int) *examples[T] {
	e := &examples[T]{net: net, data: data, objectives: objectives, multi: multi, mode: mode,
		workers: max(1, workers), weight: data.Weights()}
	if x, ok := any(data.X).([]T); ok {
		e.x = x
	} else {
		e.x = make([]T, len(data.X))
		for i, v := range data.X {
			e.x[i] = T(v)
		}
	}
	for range e.workers {
		e.lanes = append(e.lanes, &lane[T]{})
	}
	return e
}

// space makes room for rows rows; inner is the goroutines of products within.
func (l *lane[T]) space(e *examples[T], rows, inner int) {
	if l.pass == nil || l.most < rows {
		l.most = rows
		l.pass = nn.NewPass(e.net, rows, &nn.Options[T]{Workers: inner})
		n := rows * e.net.Outputs()
		l.s, l.ds, l.dst, l.scratch.y = make([]float64, n), make([]float64, n), make([]T, n), make([]float64, n)
	}
}

// losses evaluates the objectives on the scores of rows, adding to sums; with back,
// l.ds holds the derivatives afterwards. Data row index(i) belongs to scores i.
func (l *lane[T]) losses(e *examples[T], scores []T, rows int, index func(int) int, coef, sums []float64,
	back bool) {
	outputs := e.net.Outputs()
	s, y := l.s[:rows*outputs], l.scratch.y[:rows*outputs]
	for i, v := range scores[:len(s)] {
		s[i] = float64(v)
	}
	l.class, l.scratch.weight, l.scratch.under = l.class[:0], nil, e.under
	if e.weight != nil {
		l.scratch.weights = sized(l.scratch.weights, rows*outputs)
		l.scratch.weight = l.scratch.weights
	}
	for i := range rows {
		at := index(i)
		e.data.Targets(at, outputs, y[i*outputs:])
		if e.data.Y == nil {
			l.class = append(l.class, e.data.Class[at])
		}
		if e.weight != nil {
			for c := range outputs {
				l.scratch.weight[i*outputs+c] = e.weight[at]
			}
		}
	}
	var ds []float64
	if back {
		ds = l.ds[:rows*outputs]
	}
	evaluate(e.objectives, e.multi, e.mode, outputs, s, y, l.class, coef, sums, ds, &l.scratch)
}

// batch evaluates some rows: sums over them are added to sums, and the gradient of
// Σ coef_k Σ_i is stored in grad unless that is nil.
func (e *examples[T]) batch(rows []int, w []T, coef, sums []float64, grad []T) {
	l := &e.small
	l.space(e, max(len(rows), 1), e.workers)
	e.gathered = sized(e.gathered, len(rows)*e.data.Features)
	nn.Gather(e.gathered, e.x, e.data.Features, rows)
	scores := l.pass.Forward(w, e.gathered, len(rows))
	l.losses(e, scores, len(rows), func(i int) int { return rows[i] }, coef, sums, grad != nil)
	if grad == nil {
		return
	}
	for i, v := range l.ds[:len(scores)] {
		l.dst[i] = T(v)
	}
	l.pass.Backward(w, l.dst[:len(scores)], grad)
}

// blocks returns how many blocks of rows there are, and block the rows of one.
func (e *examples[T]) blocks() int { return (e.data.Rows + evalRows - 1) / evalRows }

func (e *examples[T]) block(b int) (from, rows int) {
	return b * evalRows, min(evalRows, e.data.Rows-b*evalRows)
}

// each calls do for 0 to n-1, on all workers, with a lane.
func (e *examples[T]) each(n int, do func(l *lane[T], job int)) {
	run.Each(len(e.lanes), n, func(k, job int) error { // cannot fail
		e.lanes[k].space(e, evalRows, 1)
		do(e.lanes[k], job)
		return nil
	})
}

// scoresOf stores the scores of all rows.
func (e *examples[T]) scoresOf(w []T, scores []T) {
	e.each(e.blocks(), func(l *lane[T], b int) {
		from, rows := e.block(b)
		copy(scores[from*e.net.Outputs():], l.pass.Forward(w, e.x[from*e.data.Features:], rows))
	})
}

// values returns the mean of each objective over all rows, before scaling, from
// scores.
func (e *examples[T]) values(scores []T) []float64 {
	parts := make([]float64, e.blocks()*len(e.objectives))
	e.each(e.blocks(), func(l *lane[T], b int) {
		from, _ := e.block(b)
		e.evaluate(l, b, scores[from*e.net.Outputs():], nil, parts)
	})
	return e.means(parts)
}

// evaluate evaluates the objectives on a block of rows with these scores, into its part of parts;
// with coefficients l.ds holds the derivatives afterwards.
func (e *examples[T]) evaluate(l *lane[T], b int, scores []T, coef, parts []float64) {
	from, rows := e.block(b)
	p := len(e.objectives)
	l.losses(e, scores, rows, func(i int) int { return from + i }, coef, parts[b*p:(b+1)*p], coef != nil)
}

// means adds the parts of all blocks. The sums do not depend on the number of workers.
func (e *examples[T]) means(parts []float64) []float64 {
	out, column := make([]float64, len(e.objectives)), make([]float64, e.blocks())
	for k := range out {
		for b := range column {
			column[b] = parts[b*len(out)+k]
		}
		out[k] = optim.TreeSum(column) / float64(e.data.Rows)
	}
	return out
}

// Game is the agnostic problem on Data,
//
//	φ(w, λ) = Σ_k λ_k (a_k L_k(w) - b_k ± β_2 M_k) + β_1 R(w),
//
// as a problem for the solvers of package optim; w are the parameters of a network, which without
// hidden layers is a linear model. Its gradient costs one backward pass for any number of
// objectives.
//
// It is not for use by several goroutines at once, but uses several itself; results
// do not depend on their number.
type Game struct {
	*examples[float64]
	penalty
	beta2 float64
	group int // blocks of rows that share a gradient

	coef, raw []float64
	cached    []float64 // w of scores; nil when there are none
	scores    []float64
	lanesOf   [][]float64 // gradients of groups of blocks
}

func newGame(e *examples[float64], beta1, beta2 float64, norm bool) *Game {
	g := &Game{examples: e, penalty: penalty{beta1, norm, e.net.AllWeights()}, beta2: beta2}
	groups := max(1, min(16, e.blocks(), (1<<22)/e.net.Dim()))
	g.group = (e.blocks() + groups - 1) / groups
	g.coef, g.raw = make([]float64, len(e.objectives)), make([]float64, len(e.objectives))
	return g
}

// Dims implements saddle.Problem.
func (g *Game) Dims() (w, lambda int) { return g.net.Dim(), len(g.objectives) }

// Len implements saddle.Sampled.
func (g *Game) Len() int { return g.data.Rows }

// Curvature implements saddle.Convex: β_1 along the weights when R is the square. The problem has
// no certificate with hidden layers, with a loss that is not convex, or with a zero-one loss that
// the players see differently.
func (g *Game) Curvature(mu []float64) bool {
	clear(mu)
	if g.net.Layers() > 1 {
		return false
	}
	for _, s := range g.spans {
		for j := s.From; j < s.To && !g.norm; j++ {
			mu[j] = g.beta1
		}
	}
	return !slices.ContainsFunc(g.objectives, func(o objective) bool {
		return !o.Convex || o.Errors && g.mode != Surrogate
	})
}

// handicap is ±β_2 (M_k - min M): what all share has no effect on the game, and would only
// hide how small a gap is. Without β_2 constants may be infinite.
func (g *Game) handicap(k int) float64 {
	if g.beta2 == 0 {
		return 0
	}
	return g.beta2 * (g.objectives[k].lipschitz - flattest(g.objectives))
}

// shared is the ±β_2 min M that handicap leaves out.
func shared(beta2 float64, objectives []objective) float64 {
	if beta2 == 0 {
		return 0
	}
	return beta2 * flattest(objectives)
}

// flattest returns min M.
func flattest(objectives []objective) float64 {
	least := math.Inf(1)
	for i := range objectives {
		least = math.Min(least, objectives[i].lipschitz)
	}
	return least
}

// entered returns the objectives as they enter the game, from raw means.
func entered(objectives []objective, raw []float64) []float64 {
	out := make([]float64, len(raw))
	for k, v := range raw {
		out[k] = objectives[k].scale*v - objectives[k].offset
	}
	return out
}

// penalty is β_1 R of the parameters within spans.
type penalty struct {
	beta1 float64
	norm  bool // R is |w|, not |w|²/2
	spans []nn.Span
}

// of returns β_1 R(w), and the root of the squares.
func (p *penalty) of(w []float64) (value, size float64) {
	sq := 0.0
	for _, s := range p.spans {
		for _, x := range w[s.From:s.To] {
			sq += x * x
		}
	}
	if size = math.Sqrt(sq); p.norm {
		return p.beta1 * size, size
	}
	return p.beta1 / 2 * sq, size
}

// finish turns raw means into φ and its gradient with respect to λ, and adds the
// penalty of w to φ and to gw.
func (g *Game) finish(raw, w, lambda, gw, gl []float64) (float64, error) {
	v := 0.0
	for k, x := range entered(g.objectives, raw) {
		x += g.handicap(k)
		v += lambda[k] * x
		if gl != nil {
			gl[k] = x
		}
	}
	if g.beta1 == 0 {
		return v, nil
	}
	r, size := g.of(w)
	if gw == nil {
		return v + r, nil
	}
	a := g.beta1
	switch {
	case g.norm && size > 0:
		a = g.beta1 / size
	case g.norm:
		// Returns the least subgradient at zero: it is zero where zero is the minimum, and a lower
		// bound gains nothing from a steeper one.
		g.least(gw)
		a = 0
	}
	for _, s := range g.spans {
		floats.AddScaled(gw[s.From:s.To], a, w[s.From:s.To])
	}
	return v + r, nil
}

// least adds the subgradient of β_1|w| at zero that leaves the smallest sum.
func (g *Game) least(gw []float64) {
	sq, share := 0.0, 0.0
	for _, s := range g.spans {
		sq += floats.Dot(gw[s.From:s.To], gw[s.From:s.To])
	}
	if size := math.Sqrt(sq); size > g.beta1 {
		share = 1 - g.beta1/size
	}
	for _, s := range g.spans {
		floats.Scale(share, gw[s.From:s.To])
	}
}

func (g *Game) coefficients(lambda []float64, rows int) {
	for k := range g.coef {
		g.coef[k] = lambda[k] * g.objectives[k].scale / float64(rows)
	}
}

// EvalBatch implements saddle.Sampled.
func (g *Game) EvalBatch(batch []int, w, lambda, gw, gl []float64) (float64, error) {
	if len(batch) == 0 {
		return 0, fmt.Errorf("minimax: an empty minibatch")
	}
	g.coefficients(lambda, len(batch))
	clear(g.raw)
	g.batch(batch, w, g.coef, g.raw, gw)
	for k := range g.raw {
		g.raw[k] /= float64(len(batch))
	}
	return g.finish(g.raw, w, lambda, gw, gl)
}

// Eval implements saddle.Problem. Scores are kept: to evaluate the same w again, for
// another λ, costs a linear model half.
func (g *Game) Eval(w, lambda, gw, gl []float64) (float64, error) {
	rows, outputs := g.data.Rows, g.net.Outputs()
	if g.cached == nil || !slices.Equal(g.cached, w) {
		g.scores = sized(g.scores, rows*outputs)
		g.cached = append(g.cached[:0], w...)
		g.scoresOf(w, g.scores)
	}
	if gw == nil {
		return g.finish(g.values(g.scores), w, lambda, nil, gl)
	}
	g.coefficients(lambda, rows)
	raw := g.gradient(w, gw)
	return g.finish(raw, w, lambda, gw, gl)
}

// Minorant implements saddle.Minorized for the game that this one relaxes, or is. For convex losses
// and λ ≥ 0 it gives the value at w and the gradient of a function below it. A penalty β|u| is
// replaced by the line -(g-g')·u, where g is the gradient of the losses and g' the least remainder
// that keeps the line below the norm. At the minimum, and where w is zero, this is closer than the
// tangent.
func (g *Game) Minorant(w, lambda, gw []float64) (float64, error) {
	g.under = true
	defer func() { g.under = false }()
	if !g.norm || g.beta1 == 0 {
		return g.Eval(w, lambda, gw, nil)
	}
	beta := g.beta1
	g.beta1 = 0
	v, err := g.Eval(w, lambda, gw, nil)
	g.beta1 = beta
	before := 0.0
	for _, s := range g.spans {
		before += floats.Dot(gw[s.From:s.To], w[s.From:s.To])
	}
	g.least(gw)
	for _, s := range g.spans {
		v += floats.Dot(gw[s.From:s.To], w[s.From:s.To])
	}
	return v - before, err
}

// worst returns the largest mixture of the set at w, and the penalty.
func (g *Game) worst(w []float64, set optim.Maximizer) (mixture, penalty float64, err error) {
	values := make([]float64, len(g.objectives))
	penalty, err = g.Eval(w, make([]float64, len(values)), nil, values)
	return set.Maximize(values, nil), penalty, err
}

// squared returns the game with beta1 on the square of the norm.
func (g *Game) squared(beta1 float64) *Game {
	s := newGame(g.examples, beta1, g.beta2, false)
	s.spans = g.spans
	return s
}

// terms are the objectives for solvers of rows that separate.
func (g *Game) terms() []separable.Term {
	var out []separable.Term
	for k := range g.objectives {
		o := &g.objectives[k]
		out = append(out, separable.Term{Loss: o.Loss, Scale: o.scale * o.factor, Shift: g.handicap(k) - o.offset})
	}
	return out
}

// separable returns the game in the form that solvers of separable rows need. It returns nil for
// networks, for losses that are not convex or are of whole rows, and for the norm.
func (g *Game) separable() *separable.Problem {
	outputs, n := g.net.Outputs(), g.data.Rows
	rows := func(o objective) bool { return o.row(g.multi, outputs) != score.NoRow }
	if g.norm || !g.Curvature(make([]float64, g.net.Dim())) || slices.ContainsFunc(g.objectives, rows) {
		return nil
	}
	if g.targets == nil {
		g.targets = make([]float64, n*outputs)
		for i := range n {
			g.data.Targets(i, outputs, g.targets[i*outputs:])
		}
	}
	return &separable.Problem{X: g.x, Y: g.targets, Weight: g.weight, Rows: n, Features: g.data.Features,
		Outputs: outputs, Signs: g.data.Y == nil, Terms: g.terms(), Beta: g.beta1, Workers: len(g.lanes)}
}

// gradient stores Σ_k coef_k of the sums over all rows. Consecutive blocks share a
// gradient, and these are added in order: how blocks fall to workers does not matter.
func (g *Game) gradient(w, gw []float64) []float64 {
	groups := (g.blocks() + g.group - 1) / g.group
	for len(g.lanesOf) < groups {
		g.lanesOf = append(g.lanesOf, make([]float64, len(gw)))
	}
	outputs, f := g.net.Outputs(), g.data.Features
	parts := make([]float64, g.blocks()*len(g.objectives))
	g.each(groups, func(l *lane[float64], job int) {
		sum := g.lanesOf[job]
		clear(sum)
		for b := job * g.group; b < min(g.blocks(), (job+1)*g.group); b++ {
			from, n := g.block(b)
			scores := g.scores[from*outputs:][:n*outputs]
			if g.net.Layers() > 1 {
				scores = l.pass.Forward(w, g.x[from*f:], n)
			}
			g.evaluate(l, b, scores, g.coef, parts)
			ds := l.ds[:n*outputs]
			if g.net.Layers() > 1 {
				l.grad = sized(l.grad, len(sum))
				l.pass.Backward(w, ds, l.grad)
				add(sum, l.grad)
				continue
			}
			// Dᵀ·X, output by feature: what is packed for the product is then read in
			// rows. Two thirds of the time of adding examples one by one, which
			// reading X once takes anyway; Xᵀ·D took three times as long.
			_, biases := nn.Layer(g.net, 0, sum)
			l.rows = sized(l.rows, outputs*f)
			for i, d := range ds {
				biases[i%outputs] += d
			}
			gemm.Gemm(1, blas.Trans, blas.NoTrans, outputs, f, n, 1, ds, outputs, g.x[from*f:], f, 0, l.rows, f)
			for c := range outputs {
				for j, v := range l.rows[c*f : (c+1)*f] {
					sum[j*outputs+c] += v
				}
			}
		}
	})
	copy(gw, g.lanesOf[0])
	for _, sum := range g.lanesOf[1:groups] {
		add(gw, sum)
	}
	return g.means(parts)
}

// add adds v to sum.
func add(sum, v []float64) {
	for j, x := range v {
		sum[j] += x
	}
}

// scale returns a preconditioner for linear models. It is the root of the inverse of β_1 plus the
// mean square of each feature times an estimate of the losses' curvature.
func (g *Game) scale() []float64 {
	const curvature = 0.25 // of the logistic loss where it is steepest
	f, outputs := g.data.Features, g.net.Outputs()
	squares := make([]float64, f)
	for i := range g.data.Rows {
		for j, v := range g.x[i*f:][:f] {
			squares[j] += v * v
		}
	}
	out := make([]float64, g.net.Dim())
	weights, biases := nn.Layer(g.net, 0, out)
	for j, sq := range squares {
		v := 1 / math.Sqrt(math.Max(g.beta1, 1e-6)+curvature*sq/float64(g.data.Rows))
		for c := range outputs {
			weights[j*outputs+c] = v
		}
	}
	for c := range biases {
		biases[c] = 1 / math.Sqrt(curvature)
	}
	return out
}

// relaxer returns a function that gives the game with losses that are smooth and nowhere
// larger, or nil when no loss has kinks. What it gives is one game with changing losses,
// which keeps its scores.
func (g *Game) relaxer() func(width float64) saddle.Convex {
	var kinks []int
	for k := range g.objectives {
		o := &g.objectives[k]
		if o.Relax != nil {
			kinks = append(kinks, k)
		}
	}
	if kinks == nil {
		return nil
	}
	e := *g.examples
	e.objectives = slices.Clone(e.objectives)
	e.lanes, e.small = nil, lane[float64]{}
	for range e.workers {
		e.lanes = append(e.lanes, &lane[float64]{})
	}
	r := newGame(&e, g.beta1, g.beta2, g.norm)
	r.spans = g.spans
	return func(width float64) saddle.Convex {
		for _, k := range kinks {
			o := &g.objectives[k]
			// The width is of the objective as it enters the game. On rows of several
			// outputs the loss is a mean, or with Softmax a sum (of the hinge a maximum).
			w := width / (o.scale * o.factor)
			if o.row(g.multi, g.net.Outputs()) == score.RowSum {
				w /= float64(g.net.Outputs())
			}
			l := o.Relax(w)
			l.Relax, l.Name = nil, o.Name
			r.objectives[k].Loss = l
		}
		return r
	}
}

var (
	_ saddle.Sampled = (*Game)(nil)
	_ saddle.Convex  = (*Game)(nil)
)
