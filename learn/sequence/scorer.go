package sequence

import (
	"math"
	"slices"

	"github.com/tropica-fst/tropica/losses"
)

// scorer evaluates the loss of one sequence at a time. It belongs to one goroutine.
type scorer struct {
	layout  *layout
	corpus  *corpus
	loss    *lossOf
	chain   *chain
	scaled  []float64 // transitions times the smoothing
	rows    []float64 // weights of single attributes, one every stride floats
	stride  int
	wide    *narrow // instead of rows, where the objective has it
	row     []float64
	sums    []float64 // rows of a group of attributes
	general *general  // nil when the chain suffices
	best    []int
	within  []float64 // scores of labels, -Inf for those that an annotation rules out
	known   []float64 // their probabilities
	numbers []int32
	back    viterbi
	lane    laneSums // of one sequence, where sequences are weighed

	pairs *losses.TiedPairs // of general, where tied says so; shared by all scorers
}

// tied reports whether machines are evaluated on scores of labels and of pairs that are the same at
// all positions.
func (s *scorer) tied() bool {
	l, o := s.layout, s.loss
	return l.order == 2 && l.pair == 0 && o.kind != CrossEntropy &&
		!(o.kind == MaxMargin && o.beta == 0)
}

func newScorer(l *layout, c *corpus, loss *lossOf) *scorer {
	s := &scorer{layout: l, corpus: c, loss: loss, chain: newChain(l.labels), row: make([]float64, l.labels)}
	if !loss.onChain {
		s.general = &general{layout: l}
	}
	return s
}

// prepare sets what is common to all sequences; from, if not nil, is another
// scorer that was prepared for the same weights.
func (s *scorer) prepare(x []float64, from *scorer) {
	s.rows, s.stride = x, s.layout.labels
	if from != nil {
		s.rows, s.stride = from.rows, from.stride
	} else if s.wide != nil {
		s.wide.set(x)
	}
	if s.layout.order < 2 || s.general != nil && !s.tied() {
		return
	}
	if from != nil {
		s.chain.share(from.chain)
		s.pairs = from.pairs
		return
	}
	label2 := s.layout.label2(x)
	if b := s.loss.smoothing(); b != 1 {
		s.scaled = append(s.scaled[:0], label2...)
		for i := range s.scaled {
			s.scaled[i] *= b
		}
		label2 = s.scaled
	}
	if s.general == nil {
		s.chain.transitions(label2)
		return
	}
	if s.pairs == nil {
		s.pairs = new(losses.TiedPairs)
	}
	s.pairs.Labels, s.pairs.Scores = s.layout.labels, label2
	s.pairs.Set() // of the right size
}

// sequence returns F of sequence i and stores the residual of each label at each position
// (derivative by its score; rows of stride). It adds the residuals of label n-grams to the lane,
// except for the reference's pairs, which are subtracted for the whole corpus at once. Unless pairs
// is nil, it stores the residual of each pair of labels that ends at each position there, D·D a
// position.
func (s *scorer) sequence(x []float64, i int, residual []float64, lane *laneSums, pairs []float64) (float64, error) {
	if s.corpus.start[i] == s.corpus.start[i+1] {
		return 0, nil
	}
	return s.evaluate(x, i, s.labelScores(x, i), residual, lane, pairs)
}

// labelScores returns the scores of the labels of sequence i, but for label n-grams, in
// the chain's own room.
func (s *scorer) labelScores(x []float64, i int) []float64 {
	from, to := s.corpus.start[i], s.corpus.start[i+1]
	node := s.chain.begin(to - from)
	if s.wide != nil {
		for t := from; t < to; t++ {
			s.wide.addScores(node[(t-from)*s.loss.stride:], x, t)
		}
		return node
	}
	for t := from; t < to; t++ {
		ids, values := s.corpus.single.row(t)
		s.layout.addScores(node[(t-from)*s.loss.stride:], x, s.rows, s.stride, ids, values)
	}
	return node
}

// evaluate is sequence with the scores of labels given, in the chain's room.
func (s *scorer) evaluate(x []float64, i int, node, residual []float64, lane *laneSums, pairs []float64) (float64, error) {
	stride, d := s.loss.stride, s.layout.labels
	labels := s.corpus.labels[s.corpus.start[i]:s.corpus.start[i+1]]
	var value float64
	var err error
	if s.general != nil {
		value, err = s.general.sequence(s, x, i, node, labels, residual, lane, pairs)
	} else {
		value = s.onChain(x, node, labels, residual, lane)
	}
	if err != nil {
		return value, err
	}
	if math.IsInf(value, -1) || math.IsNaN(value) && s.loss.kind == Risk { // log of an empty sum, mean of nothing
		return value, &NoLabellingError{Example: i, Labels: len(labels)}
	}
	sumRows(lane.label[:d], residual, s.consecutive(len(labels)), stride)
	return value, nil
}

// consecutive returns 0 … n-1.
func (s *scorer) consecutive(n int) []int32 {
	for len(s.numbers) < n {
		s.numbers = append(s.numbers, int32(len(s.numbers)))
	}
	return s.numbers[:n]
}

// onChain handles cross-entropy, and the margins whose loss is the Hamming
// distance: it adds γ to the score of every label but the reference's.
func (s *scorer) onChain(x, node []float64, labels []int32, residual []float64, lane *laneSums) float64 {
	stride, d := s.loss.stride, s.layout.labels
	label2 := s.layout.label2(x)
	if unknown(labels) {
		return s.partial(x, node, labels, residual, lane)
	}
	reference := 0.0
	for t, y := range labels {
		reference += node[t*stride+int(y)]
		if t > 0 && label2 != nil {
			reference += label2[int(labels[t-1])*d+int(y)]
		}
	}
	gamma, beta := s.loss.gammaOnChain(), s.loss.smoothing()
	if gamma != 0 || beta != 1 {
		for t, y := range labels {
			row := node[t*stride:][:d]
			for k := range row {
				v := row[k]
				if k != int(y) {
					v += gamma
				}
				row[k] = beta * v
			}
		}
	}
	var value float64
	if s.loss.kind == MaxMargin && s.loss.beta == 0 {
		s.best = slices.Grow(s.best[:0], len(labels))[:len(labels)]
		value = s.back.best(s.best, node, stride, d, label2)
		clear(residual)
		for t, y := range s.best {
			residual[t*stride+y] = 1
			if t > 0 && label2 != nil {
				lane.two.addExact(d*stride, s.best[t-1]*stride+y, 1)
			}
		}
	} else {
		value = s.chain.marginals(residual, &lane.two) / beta
	}
	for t, y := range labels {
		residual[t*stride+int(y)]--
	}
	return math.Max(value-reference, 0) // never below but for rounding, where the reference competes
}

// unknown reports whether a label is not known.
func unknown(labels []int32) bool {
	for _, y := range labels {
		if y < 0 {
			return true
		}
	}
	return false
}

// partial is onChain for sequences with only some labels known. The reference is replaced by all
// labellings that agree with the known ones: log Z of them, or the best of them.
func (s *scorer) partial(x, node []float64, labels []int32, residual []float64, lane *laneSums) float64 {
	stride, d, n := s.loss.stride, s.layout.labels, len(labels)
	label2 := s.layout.label2(x)
	gamma, beta := s.loss.gammaOnChain(), s.loss.smoothing()
	s.within = slices.Grow(s.within[:0], n*stride)[:n*stride]
	nothing := true
	for t, y := range labels {
		row, in := node[t*stride:][:d], s.within[t*stride:][:d]
		for k := range row {
			in[k] = beta * row[k]
			if y >= 0 && int32(k) != y {
				in[k] = math.Inf(-1)
				row[k] += gamma
			}
			row[k] *= beta
		}
		nothing = nothing && y < 0
	}
	if nothing {
		clear(residual) // all labellings agree
		return 0
	}
	if s.loss.kind == MaxMargin && s.loss.beta == 0 {
		s.best = slices.Grow(s.best[:0], n)[:n]
		clear(residual)
		value := 0.0
		for _, side := range []struct {
			node []float64
			sign float64
		}{{node, 1}, {s.within, -1}} {
			value += side.sign * s.back.best(s.best, side.node, stride, d, label2)
			for t, y := range s.best {
				residual[t*stride+y] += side.sign
				if t > 0 && label2 != nil {
					lane.two.addExact(d*stride, s.best[t-1]*stride+y, side.sign)
				}
			}
		}
		return math.Max(value, 0)
	}
	value := s.chain.marginals(residual, &lane.two)
	copy(s.chain.node, s.within)
	s.chain.masked = true
	s.known = slices.Grow(s.known[:0], n*stride)[:n*stride]
	value -= s.chain.marginals(s.known, &lane.known)
	s.chain.masked = false
	for t := range n {
		for k, p := range s.known[t*stride:][:d] {
			residual[t*stride+k] -= p
		}
	}
	return math.Max(value/beta, 0)
}

// addExact adds to exact, which it makes of the given size when first used.
func (p *pairSums) addExact(size, at int, v float64) {
	if p.exact == nil {
		p.exact = make([]float64, size)
	}
	p.exact[at] += v
}
