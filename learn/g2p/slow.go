package g2p

import (
	"errors"
	"math"
)

// slow is evaluation.word where whitened sums leave the range of floats: scores
// that differ by hundreds, or |γ|·loss beyond 600. Everything is in logarithms,
// at some twenty times the cost. It is the reference for the fast sweeps as well.
// Scores that are not even finite give +Inf, from which a line search steps back.
func (e *evaluation) slow(w *word, weights, out []float64) (float64, error) {
	o := &e.o
	graph, _ := w.machine(o.Kind)
	l := logSweep{s: &w.shape, graph: graph, score: e.logScores(w, weights)}
	for _, x := range l.score {
		if math.IsNaN(x) || math.IsInf(x, 1) {
			return diverged(out)
		}
	}
	// The score of the aligned labels, which nothing was added to.
	gold, left := 0.0, 0
	for t, b := range w.gold {
		gold += l.score[w.shape.pairs[t]+left*w.sizes[t]+int(b)]
		left = int(b)
	}
	if o.Kind == CrossEntropy || o.Kind == HammingMargin {
		l.graph = chainGraph(w.sizes)
	}
	if l.graph == nil {
		return 0, errors.New("g2p: the loss machine has values that are not small integers")
	}
	clear(out)
	value := 0.0
	switch o.Kind {
	case CrossEntropy, HammingMargin:
		value = l.sum(1, 0, 1, out) - gold
		subtractGoldIf(w, 1, out)
	case SoftmaxMargin, MaxMargin, NGramMargin:
		beta := o.beta()
		value = l.sum(beta, beta*o.Gamma, 1, out)/beta + o.Gamma*l.graph.base - gold
		subtractGoldIf(w, 1, out)
	case LatentMargin:
		value = l.sum(1, o.Gamma, 1, out) + o.Gamma*w.loss.base
		right := logSweep{s: l.s, graph: w.right, score: l.score}
		value -= right.sum(1, 0, -1, out)
	case RiskMix:
		value = (1-o.Mix)*(l.sum(1, 0, 1-o.Mix, out)-gold) + o.Mix*(l.risk(o.Mix, out)+w.loss.base)
		subtractGoldIf(w, 1-o.Mix, out)
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return diverged(out)
	}
	if out != nil {
		e.marginalize(w, out)
	}
	return value, nil
}

func diverged(out []float64) (float64, error) {
	clear(out)
	return math.Inf(1), nil
}

func subtractGoldIf(w *word, f float64, out []float64) {
	if out != nil {
		subtractGold(w, f, out)
	}
}

// logScores returns the scores of all pairs, unary ones and the Hamming margin
// added in, -Inf where the lattice was restricted.
func (e *evaluation) logScores(w *word, weights []float64) []float64 {
	f := e.p.Features
	out := make([]float64, w.shape.pairs[len(w.x)])
	_, full := w.machine(e.o.Kind)
	for t, size := range w.sizes {
		u := make([]float64, size)
		e.p.groups.unary(weights, &w.compiled, t, u)
		for b := range u {
			if e.o.Kind == HammingMargin && b != int(w.gold[t]) {
				u[b] += e.o.Gamma
			}
			if full != nil && full[t] != nil && full[t][b] < 0 {
				u[b] = math.Inf(-1)
			}
		}
		at := int(f.pairAt[w.pair[t]]) - f.bigrams.Len()
		row := out[w.shape.pairs[t]:w.shape.pairs[t+1]]
		for i := range row {
			row[i] = e.score[at+i] + u[i%size]
		}
	}
	return out
}

// chainGraph is the machine of loss 0.
func chainGraph(sizes []int) *columnGraph {
	return newGraph(sizes, func(int) int { return 1 }, func(int, int, int) (int32, uint8) { return 0, 0 })
}

// logSweep sums over a graph in logarithms.
type logSweep struct {
	s     *shape
	graph *columnGraph
	score []float64

	alpha, beta []float64
}

// edges calls f with every edge: its nodes, the place of its score, and its
// loss; forwards or backwards by letters.
func (l *logSweep) edges(backward bool, f func(from, to int32, at int, loss float64)) {
	g := l.graph
	for i := range g.layers {
		t := i
		if backward {
			t = len(g.layers) - 1 - i
		}
		size := l.s.sizes[t]
		e := int(g.layers[t].edge)
		for c := int(g.layers[t].column); c < g.columnEnd(t); c++ {
			for from := g.node[c]; from < g.node[c+1]; from++ {
				for b := range size {
					if to := g.target[e+b]; to != 0 {
						f(from, to, l.s.pairs[t]+int(g.label[from])*size+b, g.loss(g.value[e+b]))
					}
				}
			}
			e += size
		}
	}
}

// sum returns log Σ exp(beta·score + gamma·loss) over paths, without the base of
// the loss, and adds f times the posteriors of pairs to out.
func (l *logSweep) sum(beta, gamma, f float64, out []float64) float64 {
	none := math.Inf(-1)
	l.alpha, l.beta = make([]float64, l.graph.nodes), make([]float64, l.graph.nodes)
	for i := range l.alpha {
		l.alpha[i], l.beta[i] = none, none
	}
	last := l.graph.nodes - 1
	l.alpha[1], l.beta[last] = 0, 0
	weight := func(at int, loss float64) float64 { return beta*l.score[at] + gamma*loss }
	l.edges(false, func(from, to int32, at int, loss float64) {
		l.alpha[to] = logAdd(l.alpha[to], l.alpha[from]+weight(at, loss))
	})
	z := l.alpha[last]
	if out == nil || math.IsInf(z, -1) {
		return z
	}
	l.edges(true, func(from, to int32, at int, loss float64) {
		b := l.beta[to] + weight(at, loss)
		l.beta[from] = logAdd(l.beta[from], b)
		out[at] += f * math.Exp(l.alpha[from]+b-z)
	})
	return z
}

// risk returns the expected loss under exp(score), without the base, after sum
// at gamma = 0, and adds f times its gradient to out.
func (l *logSweep) risk(f float64, out []float64) float64 {
	if l.beta == nil || out == nil { // sum stops early without out
		l.sum(1, 0, 0, make([]float64, len(l.score)))
	}
	// Means of the loss before a node and after it, given that it is passed.
	before, after := make([]float64, l.graph.nodes), make([]float64, l.graph.nodes)
	last := l.graph.nodes - 1
	l.edges(false, func(from, to int32, at int, loss float64) {
		if p := math.Exp(l.alpha[from] + l.score[at] - l.alpha[to]); p > 0 {
			before[to] += p * (before[from] + loss)
		}
	})
	if out == nil {
		return before[last]
	}
	l.edges(true, func(from, to int32, at int, loss float64) {
		if p := math.Exp(l.beta[to] + l.score[at] - l.beta[from]); p > 0 {
			after[from] += p * (after[to] + loss)
		}
	})
	l.edges(false, func(from, to int32, at int, loss float64) {
		if q := math.Exp(l.alpha[from] + l.score[at] + l.beta[to] - l.alpha[last]); q > 0 {
			out[at] += f * q * (before[from] + loss + after[to] - before[last])
		}
	})
	return before[last]
}

func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}
