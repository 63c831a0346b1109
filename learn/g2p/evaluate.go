package g2p

import (
	"errors"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/losses"
)

// evaluation is an Objective on the words of a Problem, as a function of the
// weights: what a solver minimizes. It implements optim.Objective.
//
// One call passes over the words (potentials, whitening, sweeps). Each word stores the gradient
// with respect to its unary scores separately. A second pass over the blocks of weights collects
// from there in the order of the words. Letter pairs have few weights, and most of the scores:
// words add the gradient of these to the sum of their range, and sums of ranges are added in their
// order.
type evaluation struct {
	p       *Problem
	o       Objective
	workers int

	score   losses.PairScores // of letter pairs, times β, by weight from pairAt[0]
	value   []float64         // of each word
	unary   []float64         // gradient with respect to unary scores, all words
	ranges  int               // of words, see rangesOf
	pairSum []float64         // gradient with respect to the scores of letter pairs, by range
	norm    []float64         // |w|² by chunk
	scorers []scorer          // by worker
	failed  []error

	// Of views: what entries and events pay, and the gradient of events by range.
	entries, pays []float64
	chunks        [][]float64

	// Of EvalWeighed: what words count, and room for their mean losses; nil is none.
	weigh  resilient.Weigh
	losses []float64
}

func (p *Problem) evaluation(o Objective, workers int) *evaluation {
	f := p.Features
	e := &evaluation{
		p: p, o: o, workers: workers,
		score: losses.PairScores{Scores: make([]float64, len(f.pairBig))}, value: make([]float64, len(p.words)),
		unary: make([]float64, p.unary), ranges: rangesOf(len(p.words)),
		scorers: make([]scorer, workers), failed: make([]error, len(p.words)),
	}
	if p.views != nil {
		e.entries, e.pays = make([]float64, p.views.size()), make([]float64, p.events.len())
		e.ranges = min(max(eventRoom/(1+p.events.len()), 8), 32, max(1, len(p.words)/16))
		for range e.ranges {
			e.chunks = append(e.chunks, make([]float64, p.events.len()))
		}
	}
	e.pairSum = make([]float64, e.ranges*len(f.pairBig))
	return e
}

// eventRoom is the number of values that the gradients of events may take, where there are few
// events.
const eventRoom = 1 << 24

// rangesOf returns the number of stretches into which words are divided. It depends on nothing
// else: the sums of the stretches are part of the order of summation.
func rangesOf(words int) int { return min(maxRanges, (words+63)/64) }

const maxRanges = 64

// Dim returns the number of weights.
func (e *evaluation) Dim() int { return e.p.dim() }

// Eval returns the value at w, and the gradient unless grad is nil.
func (e *evaluation) Eval(w, grad []float64) (float64, error) {
	f := e.p.Features
	first := f.bigrams.Len()
	for i, big := range f.pairBig {
		e.score.Scores[i] = e.o.beta() * (w[big] + w[first+i])
	}
	e.score.Set()
	if e.p.views != nil {
		e.p.views.cumulate(w[e.p.groups.dim:], e.entries, e.o.beta())
		e.p.events.scores(e.entries, e.pays, e.o.beta())
	}
	n := len(f.pairBig)
	run.Jobs(e.workers, e.ranges, func(worker, r int) {
		k := &e.scorers[worker]
		k.pays = e.pays
		sum := e.pairSum[r*n : (r+1)*n]
		clear(sum)
		var chunk []float64
		if grad != nil && e.p.views != nil {
			chunk = e.chunks[r]
			clear(chunk)
		}
		for i := r * len(e.p.words) / e.ranges; i < (r+1)*len(e.p.words)/e.ranges; i++ {
			k.events, k.moves = k.events[:0], k.moves[:0]
			var out []float64
			if grad != nil {
				out = k.room(&e.p.words[i])
			}
			e.value[i], e.failed[i] = e.word(k, &e.p.words[i], w, out)
			weight := e.weighWord(i, out)
			if chunk != nil {
				for j, x := range k.events {
					chunk[x] += weight * k.moves[j]
				}
			}
			e.spread(&e.p.words[i], out, sum)
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
// comes of it. It returns the weight, for the gradient of views.
func (e *evaluation) weighWord(i int, gradient []float64) float64 {
	w := &e.p.words[i]
	n := float64(len(w.x))
	if e.losses != nil {
		e.losses[i] = e.value[i] / n
	}
	if e.weigh == nil {
		return 1
	}
	value, weight := e.weigh(i, e.value[i]/n)
	e.value[i] = n * value
	for k := range gradient {
		gradient[k] *= weight
	}
	return weight
}

// room returns room for the gradient of a word with respect to its pair scores, until the next
// call.
func (k *scorer) room(w *word) []float64 {
	k.gradient = sized(k.gradient, w.shape.pairs[len(w.x)])
	return k.gradient
}

// spread adds the gradient of a word with respect to its pair scores to those of letter pairs, and
// stores that of its unary scores.
func (e *evaluation) spread(w *word, out, sum []float64) {
	if out == nil {
		return
	}
	f := e.p.Features
	for t := range w.sizes {
		row := out[w.shape.pairs[t]:w.shape.pairs[t+1]]
		to := sum[int(f.pairAt[w.pair[t]])-f.bigrams.Len():]
		to = to[:len(row)]
		for i, x := range row {
			to[i] += x
		}
	}
	w.shape.marginalize(out, e.unary[w.unaryAt:])
}

// marginalize stores in unary the gradient of pairs, summed over their left labels.
func (s *shape) marginalize(pairs, unary []float64) {
	for t, size := range s.sizes {
		u := unary[s.unary[t]:s.unary[t+1]]
		clear(u)
		for row := pairs[s.pairs[t]:s.pairs[t+1]]; len(row) >= size && size > 0; row = row[size:] {
			for b := range u {
				u[b] += row[b]
			}
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
// counts by their number, so that weights of 1 change nothing.
func (e *evaluation) EvalWeighed(x []float64, weigh resilient.Weigh, losses, grad []float64) (float64, error) {
	e.weigh, e.losses = weigh, losses
	defer func() { e.weigh, e.losses = nil, nil }()
	return e.Eval(x, grad)
}

// scorer is one worker's memory.
type scorer struct {
	losses.Evaluator
	scores   losses.Factored
	result   losses.Result
	gradient []float64 // of a word, with respect to its pair scores
	another  []float64 // of a second evaluation

	// With views: what events pay, and the gradient of those that a word meets.
	pays   []float64
	sums   trellisSums
	events []int32
	moves  []float64
}

// evalViews is eval for a word with views. It adds factor times the gradient of the log of the sum,
// and riskFactor times that of the risk, to the gradient of events.
func (k *scorer) evalViews(w *word, m *losses.Machine, gamma float64, want losses.Want, out []float64,
	factor, riskFactor float64) error {
	l := w.trellis
	if m != nil {
		l = w.products[m]
	}
	s := &k.scores
	chain := &chainScores{unary: s.Unary, pairs: s.Pairs.Scores, at: s.At}
	risk := want&losses.WantRisk != 0
	var err error
	if out == nil {
		k.result.LogZ, k.result.Risk, err = k.sums.run(l, chain, k.pays, gamma, risk, nil, nil)
	} else {
		clear(out)
		risks := k.result.RiskGradient
		if want&losses.WantRiskGradient != 0 {
			for _, row := range risks {
				clear(row)
			}
		} else {
			riskFactor = 0
		}
		k.result.LogZ, k.result.Risk, err = k.sums.run(l, chain, k.pays, gamma, risk,
			func(t, place, at int, p, r float64) {
				pair := int(l.place[l.first[t]+int32((at-l.arcs[t])/l.sizes[t])])*l.sizes[t] + place
				out[w.shape.pairs[t]+pair] += p
				if riskFactor != 0 {
					risks[t][pair] += r
				}
				k.events, k.moves = append(k.events, l.pays[at]), append(k.moves, factor*p+riskFactor*r)
			}, func(at int, p, r float64) {
				k.events, k.moves = append(k.events, l.pays[at]), append(k.moves, factor*p+riskFactor*r)
			})
	}
	if risk && m != nil {
		k.result.Risk += m.Base()
	}
	return err
}

// eval evaluates a machine on the scores of a word; the marginals are stored in out unless it is
// nil.
//
// factor and riskFactor say how much the gradients of the log of the sum, and of the risk, count
// for the objective.
func (k *scorer) eval(w *word, m *losses.Machine, gamma float64, want losses.Want, out []float64, factor,
	riskFactor float64) error {
	if w.trellis != nil {
		return k.evalViews(w, m, gamma, want, out, factor, riskFactor)
	}
	if out != nil {
		want |= losses.WantMarginals
		k.result.Marginals = w.shape.rows(out, k.result.Marginals)
	}
	return k.EvalFactored(m, gamma, want, &k.result)
}

// rows cuts an array by pair of labels into the rows of letters.
func (s *shape) rows(a []float64, rows [][]float64) [][]float64 {
	rows = sized(rows, len(s.sizes))
	for t := range rows {
		rows[t] = a[s.pairs[t]:s.pairs[t+1]:s.pairs[t+1]]
	}
	return rows
}

// scoreWord sets the scores of a word to those of k, times β, with the Hamming margin. It returns
// the score of the aligned labels without margin.
func (e *evaluation) scoreWord(k *scorer, w *word, weights []float64) (gold float64, err error) {
	f, o := e.p.Features, &e.o
	n := len(w.x)
	s := &k.scores
	s.Sizes, s.Pairs = w.sizes, &e.score
	s.Unary, s.At = sized(s.Unary, w.shape.unary[n]), sized(s.At, n)
	beta, left := o.beta(), 0
	for t := range n {
		u := s.Unary[w.shape.unary[t]:w.shape.unary[t+1]]
		groupUnary(&e.p.groups, weights, &w.compiled, t, u)
		at := int(f.pairAt[w.pair[t]]) - f.bigrams.Len()
		s.At[t] = at
		right := int(w.gold[t])
		gold += u[right] + e.score.Scores[at+left*len(u)+right]/beta
		left = right
		if o.Kind == HammingMargin {
			for b := range u {
				if b != right {
					u[b] += o.Gamma
				}
			}
		}
		if beta != 1 {
			for b := range u {
				u[b] *= beta
			}
		}
	}
	if w.trellis != nil {
		for _, x := range w.goldPays {
			gold += k.pays[x] / beta
		}
		return gold, nil
	}
	return gold, k.SetFactored(s)
}

// word returns a word's value and stores its gradient with respect to pair scores in out, unless
// that is nil. Scores that are not finite, or whose sums exceed float64s, give +Inf, and a line
// search then steps back.
func (e *evaluation) word(k *scorer, w *word, weights, out []float64) (float64, error) {
	value, err := e.objective(k, w, weights, out)
	if errors.Is(err, losses.ErrRange) || math.IsNaN(value) || math.IsInf(value, 0) {
		clear(out)
		k.events, k.moves = k.events[:0], k.moves[:0]
		value, err = math.Inf(1), nil
	}
	return value, err
}

// objective returns a word's value and stores its gradient with respect to pair scores in out,
// unless that is nil.
func (e *evaluation) objective(k *scorer, w *word, weights, out []float64) (float64, error) {
	gold, err := e.scoreWord(k, w, weights)
	if err != nil || math.IsNaN(gold) || math.IsInf(gold, 0) {
		return gold, err
	}
	return k.loss(&e.o, w, gold, out)
}

// loss returns the value of an objective at the scores that k was given for a word, and stores the
// gradient with respect to pair scores in out, unless that is nil. gold is the score of the aligned
// labels, without margin and not times β.
func (k *scorer) loss(o *Objective, w *word, gold float64, out []float64) (value float64, err error) {
	r := &k.result
	switch o.Kind {
	case CrossEntropy, HammingMargin:
		err = k.eval(w, nil, 0, 0, out, 1, 0)
		k.subtractGold(w, 1, out)
		return r.LogZ - gold, err
	case SoftmaxMargin, MaxMargin, NGramMargin:
		err = k.eval(w, w.machine(o.Kind), o.beta()*o.Gamma, 0, out, 1, 0)
		k.subtractGold(w, 1, out)
		return r.LogZ/o.beta() - gold, err
	case LatentMargin:
		if err := k.eval(w, w.loss, o.Gamma, 0, out, 1, 0); err != nil {
			return 0, err
		}
		all := r.LogZ
		var right []float64
		if out != nil {
			k.another = sized(k.another, len(out))
			right = k.another
		}
		err = k.eval(w, w.right, 0, 0, right, -1, 0)
		for i, x := range right {
			out[i] -= x
		}
		return all - r.LogZ, err
	}
	// RiskMix
	var risk []float64
	want := losses.WantRisk
	if out != nil {
		k.another = sized(k.another, len(out))
		risk = k.another
		want |= losses.WantRiskGradient
		r.RiskGradient = w.shape.rows(risk, r.RiskGradient)
	}
	err = k.eval(w, w.loss, 0, want, out, 1-o.Mix, o.Mix)
	for i, x := range risk {
		out[i] = (1-o.Mix)*out[i] + o.Mix*x
	}
	k.subtractGold(w, 1-o.Mix, out)
	return (1-o.Mix)*(r.LogZ-gold) + o.Mix*r.Risk, err
}

// subtractGold subtracts f from the gradient of the aligned labels, if there is one.
func (k *scorer) subtractGold(w *word, f float64, out []float64) {
	if out == nil {
		return
	}
	left := 0
	for t, b := range w.gold {
		out[w.shape.pairs[t]+left*w.sizes[t]+int(b)] -= f
		left = int(b)
	}
	for _, x := range w.goldPays {
		k.events, k.moves = append(k.events, x), append(k.moves, -f)
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
	run.Blocks(e.workers, chunks+1, 1, func(_, lo, hi int) {
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
	return norm + e.gatherViews(w, grad)
}

// gatherViews collects the gradient of views' weights.
func (e *evaluation) gatherViews(w, grad []float64) float64 {
	v, first := e.p.views, e.p.groups.dim
	if v == nil {
		return 0
	}
	norm := 0.0
	for _, x := range w[first:] {
		norm += x * x
	}
	if grad == nil {
		return norm
	}
	all := e.chunks[0]
	for _, c := range e.chunks[1:] {
		for i, x := range c {
			all[i] += x
		}
	}
	clear(e.entries)
	e.p.events.add(all, e.entries)
	g := grad[first:]
	for i, x := range w[first:] {
		g[i] = e.o.L2 * x
	}
	v.gather(e.entries, g)
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
	n := len(f.pairBig)
	sum := e.pairSum[:n]
	for r := 1; r < e.ranges; r++ {
		for i, x := range e.pairSum[r*n : (r+1)*n] {
			sum[i] += x
		}
	}
	for i := range first {
		grad[i] = l2 * w[i]
	}
	for i, big := range f.pairBig {
		grad[big] += sum[i]
		grad[first+i] = sum[i] + l2*w[first+i]
	}
	return norm
}
