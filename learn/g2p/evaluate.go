package g2p

import (
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/resilient"
)

// evaluation is an Objective on the words of a Problem, as a function of the
// weights: what a solver minimizes. It implements optim.Objective.
//
// One call passes over the words (potentials, whitening, sweeps; each leaves
// the gradient with respect to its scores in a place of its own) and then over
// the blocks of weights, which collect from there in the order of the words.
type evaluation struct {
	p       *Problem
	o       Objective
	workers int

	score, exp []float64 // of letter pairs, by weight from pairAt[0]
	steep      bool      // some pair score is too large for whitening
	table      []float64 // exp(βγ·loss) or the loss, by number
	value      []float64 // of each word
	unary      []float64 // gradient with respect to unary scores, all words
	pairs      []float64 // the same for pair scores
	pairSum    []float64 // gradient with respect to the scores of letter pairs
	norm       []float64 // |w|² by chunk
	kernels    []kernel
	failed     []error

	// Of EvalWeighed: what words count, and room for their mean losses; nil is none.
	weigh  resilient.Weigh
	losses []float64
}

func (p *Problem) evaluation(o Objective, workers int) *evaluation {
	f := p.Features
	e := &evaluation{
		p: p, o: o, workers: workers,
		score: make([]float64, len(f.pairBig)), exp: make([]float64, len(f.pairBig)),
		table: make([]float64, 256), value: make([]float64, len(p.words)),
		unary: make([]float64, p.unary), pairs: make([]float64, p.pairs),
		pairSum: make([]float64, len(f.pairBig)),
		kernels: make([]kernel, workers), failed: make([]error, len(p.words)),
	}
	for i := range e.table {
		e.table[i] = lossValue(i)
		if o.Kind != RiskMix {
			e.table[i] = math.Exp(o.beta() * o.Gamma * e.table[i])
		}
	}
	return e
}

// Dim returns the number of weights.
func (e *evaluation) Dim() int { return e.p.groups.dim }

// Eval returns the value at w, and the gradient unless grad is nil.
func (e *evaluation) Eval(w, grad []float64) (float64, error) {
	f := e.p.Features
	first := f.bigrams.Len()
	e.steep = false
	for i, big := range f.pairBig {
		e.score[i] = w[big] + w[first+i]
		x := e.o.beta() * e.score[i]
		e.exp[i] = math.Exp(x)
		if !(math.Abs(x) <= maxPairScore) {
			e.steep = true
		}
	}
	parallel(e.workers, len(e.p.words), 16, func(worker, lo, hi int) {
		k := &e.kernels[worker]
		for i := lo; i < hi; i++ {
			e.value[i], e.failed[i] = e.word(k, &e.p.words[i], w, grad != nil)
			e.weighWord(i, grad != nil)
		}
	})
	sum := 0.0
	for i, v := range e.value {
		if e.failed[i] != nil {
			return 0, fmt.Errorf("g2p: %s: %w", e.p.where(i), e.failed[i])
		}
		sum += v
	}
	return sum + e.o.L2/2*e.gather(w, grad), nil
}

// weighWord lets word i count by its loss a letter, and multiplies its gradient by the weight that
// comes of it.
func (e *evaluation) weighWord(i int, gradient bool) {
	w := &e.p.words[i]
	n := float64(len(w.x))
	if e.losses != nil {
		e.losses[i] = e.value[i] / n
	}
	if e.weigh == nil {
		return
	}
	value, weight := e.weigh(i, e.value[i]/n)
	e.value[i] = n * value
	if !gradient {
		return
	}
	last := len(w.x)
	for _, part := range [][]float64{e.pairs[w.pairsAt:][:w.shape.pairs[last]], e.unary[w.unaryAt:][:w.shape.unary[last]]} {
		for k := range part {
			part[k] *= weight
		}
	}
}

// Len implements resilient.Examples.
func (e *evaluation) Len() int { return len(e.p.words) }

// Weights implements resilient.Examples: the letters of each word.
func (e *evaluation) Weights() []float64 {
	w := make([]float64, len(e.p.words))
	for i := range w {
		w[i] = float64(len(e.p.words[i].x))
	}
	return w
}

// EvalWeighed implements resilient.Examples. The loss of a word is the mean over its letters, and
// it counts by their number, so that nothing changes where all weights are 1.
func (e *evaluation) EvalWeighed(x []float64, weigh resilient.Weigh, losses, grad []float64) (float64, error) {
	e.weigh, e.losses = weigh, losses
	defer func() { e.weigh, e.losses = nil, nil }()
	return e.Eval(x, grad)
}

// word returns a word's value and stores its gradient with respect to its
// scores.
func (e *evaluation) word(k *kernel, w *word, weights []float64, wantGrad bool) (float64, error) {
	f, o := e.p.Features, &e.o
	n := len(w.x)
	graph, full := w.machine(o.Kind)
	k.u = sized(k.u, w.shape.unary[n])
	k.pair = sized(k.pair, n)
	beta, gold, logScale := o.beta(), 0.0, 0.0
	left := int32(0)
	for t := range n {
		u := k.u[w.shape.unary[t]:w.shape.unary[t+1]]
		e.p.groups.unary(weights, &w.compiled, t, u)
		at := int(f.pairAt[w.pair[t]]) - f.bigrams.Len()
		k.pair[t] = e.exp[at : at+w.left(t)*len(u)]
		gold += u[w.gold[t]] + e.score[at+int(left)*len(u)+int(w.gold[t])]
		left = w.gold[t]
		if o.Kind == HammingMargin {
			for b := range u {
				if b != int(left) {
					u[b] += o.Gamma
				}
			}
		}
		if full != nil && full[t] != nil {
			for b, in := range full[t] {
				if in < 0 {
					u[b] = math.Inf(-1)
				}
			}
		}
		most := math.Inf(-1)
		for _, x := range u {
			most = max(most, x)
		}
		for b, x := range u {
			u[b] = math.Exp(beta * (x - most))
		}
		logScale += beta * most
	}
	var out []float64
	if wantGrad {
		out = e.pairs[w.pairsAt : w.pairsAt+w.shape.pairs[n]]
		clear(out)
	}
	logZ, ok := k.whiten(&w.shape, k.pair)
	if !ok || e.steep {
		return e.slow(w, weights, out)
	}
	logZ += logScale
	value := 0.0
	switch o.Kind {
	case CrossEntropy, HammingMargin:
		value = logZ - gold
		if wantGrad {
			k.marginals(&w.shape, 1, out)
			subtractGold(w, 1, out)
		}
	case SoftmaxMargin, MaxMargin, NGramMargin:
		if graph == nil {
			return e.slow(w, weights, out)
		}
		table := e.table
		if graph.values != nil { // a few logarithms, of this word alone
			table = sized(k.table, len(graph.values))
			k.table = table
			for i, v := range graph.values {
				table[i] = math.Exp(o.Gamma * v)
			}
		}
		logE, ok := k.expect(&w.shape, graph, table, beta*o.Gamma, 1, out)
		if !ok {
			return e.slow(w, weights, out)
		}
		value = (logZ+logE)/beta + o.Gamma*graph.base - gold
		if wantGrad {
			subtractGold(w, 1, out)
		}
	case LatentMargin:
		if w.loss == nil {
			return e.slow(w, weights, out)
		}
		logE, ok := k.expect(&w.shape, w.loss, e.table, o.Gamma, 1, out)
		logRight, okRight := k.expect(&w.shape, w.right, ones, 0, -1, out)
		if !ok || !okRight {
			return e.slow(w, weights, out)
		}
		value = logE + o.Gamma*w.loss.base - logRight
	case RiskMix:
		if w.loss == nil {
			return e.slow(w, weights, out)
		}
		risk := k.risk(&w.shape, w.loss, e.table, o.Mix, out)
		value = (1-o.Mix)*(logZ-gold) + o.Mix*(risk+w.loss.base)
		if wantGrad {
			k.marginals(&w.shape, 1-o.Mix, out)
			subtractGold(w, 1-o.Mix, out)
		}
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return e.slow(w, weights, out)
	}
	if wantGrad {
		e.marginalize(w, out)
	}
	return value, nil
}

var ones = func() []float64 {
	t := make([]float64, 256)
	for i := range t {
		t[i] = 1
	}
	return t
}()

func subtractGold(w *word, f float64, out []float64) {
	left := 0
	for t, b := range w.gold {
		out[w.shape.pairs[t]+left*w.sizes[t]+int(b)] -= f
		left = int(b)
	}
}

// marginalize sums the gradient of pairs over their left labels.
func (e *evaluation) marginalize(w *word, out []float64) {
	for t, size := range w.sizes {
		u := e.unary[w.unaryAt+w.shape.unary[t]:]
		u = u[:size]
		clear(u)
		for row := out[w.shape.pairs[t]:w.shape.pairs[t+1]]; len(row) >= size && size > 0; row = row[size:] {
			for b := range u {
				u[b] += row[b]
			}
		}
	}
}

const gatherChunk = 1024 // blocks; part of the order of summation

// gather collects the gradient by blocks of weights and returns |w|².
func (e *evaluation) gather(w, grad []float64) float64 {
	f, l2 := &e.p.groups, e.o.L2
	first := e.p.Features.bigrams.Len()
	blocks := len(f.at)
	chunks := (blocks + gatherChunk - 1) / gatherChunk
	e.norm = sized(e.norm, chunks+1)
	parallel(e.workers, chunks+1, 1, func(_, lo, hi int) {
		for c := lo; c < hi; c++ {
			if c == 0 {
				e.norm[0] = e.gatherPairs(w, grad, first)
				continue
			}
			norm := 0.0
			for id := (c - 1) * gatherChunk; id < min(c*gatherChunk, blocks); id++ {
				at, size := int(f.at[id]), int(f.size[id])
				wb := w[at : at+size]
				for _, x := range wb {
					norm += x * x
				}
				if grad == nil {
					continue
				}
				g := grad[at : at+size : at+size]
				clear(g)
				for _, from := range e.p.groupOcc.at[e.p.groupOcc.start[id]:e.p.groupOcc.start[id+1]] {
					for b, x := range e.unary[from : int(from)+size] {
						g[b] += x
					}
				}
				v := f.value[id]
				for b := range g {
					g[b] = v*g[b] + l2*wb[b]
				}
			}
			e.norm[c] = norm
		}
	})
	norm := 0.0
	for _, x := range e.norm {
		norm += x
	}
	return norm
}

// gatherPairs collects the gradient of letter pairs and of label bigrams.
func (e *evaluation) gatherPairs(w, grad []float64, first int) float64 {
	f, l2 := e.p.Features, e.o.L2
	norm := 0.0
	for _, x := range w[:first+len(f.pairBig)] {
		norm += x * x
	}
	if grad == nil {
		return norm
	}
	clear(e.pairSum)
	for id, at := range f.pairAt {
		end := first + len(f.pairBig)
		if id+1 < len(f.pairAt) {
			end = int(f.pairAt[id+1])
		}
		sum := e.pairSum[int(at)-first : end-first]
		for _, from := range e.p.pairOcc.at[e.p.pairOcc.start[id]:e.p.pairOcc.start[id+1]] {
			for i, x := range e.pairs[from : int(from)+len(sum)] {
				sum[i] += x
			}
		}
	}
	for i := range first {
		grad[i] = l2 * w[i]
	}
	for i, big := range f.pairBig {
		grad[big] += e.pairSum[i]
		grad[first+i] = e.pairSum[i] + l2*w[first+i]
	}
	return norm
}
