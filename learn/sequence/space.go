package sequence

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/tropica-fst/tropica/learn/space"
)

// Space is the labellings of a Problem's sequences as outputs for the learners of package margin.
// An input is the number of a sequence. An output is its labels by their places in Model.Labels,
// and an annotation the same with -1 where a label is not known. The loss is the number of known
// labels that are wrong.
type Space struct {
	p    *Problem
	mean bool
	pool sync.Pool // of *labeller
}

var (
	_ space.Summing[int, []int, []int]     = (*Space)(nil)
	_ space.Remembering[int, []int, []int] = (*Space)(nil)
)

// Space returns the space of the problem's labellings. With mean, losses are divided by the number
// of labels that are known. It is an error if scores depend on three labels, or on attributes of
// label pairs.
func (p *Problem) Space(mean bool) (*Space, error) {
	if l := p.model.layout; l.order > 2 || l.pair > 0 {
		return nil, errors.New("sequence: a space of labellings needs order 1 or 2, and no B templates")
	}
	s := &Space{p: p, mean: mean}
	s.pool.New = func() any {
		l := p.model.layout
		c := newCorpus()
		return &labeller{chain: newChain(l.labels), kbest: Tagger{m: &Model{layout: l}, corpus: c, stride: newChain(l.labels).stride}}
	}
	return s, nil
}

// labeller is work space of one call.
type labeller struct {
	chain  *chain
	back   viterbi
	kbest  Tagger
	pair   []float64
	post   []float64
	window []float64
}

// Samples returns all sequences with the labels they were given, "" being unknown.
func (s *Space) Samples() []space.Sample[int, []int] {
	out := make([]space.Sample[int, []int], s.p.Examples())
	for i := range out {
		out[i] = space.Sample[int, []int]{X: i, A: s.Labels(i), Name: s.p.corpus.name(i)}
	}
	return out
}

// Labels returns the labels of sequence i as it was given.
func (s *Space) Labels(i int) []int {
	c := s.p.corpus
	var a []int
	for _, y := range c.labels[c.start[i]:c.start[i+1]] {
		a = append(a, int(y))
	}
	return a
}

// Dim implements space.Space.
func (s *Space) Dim() int { return s.p.Dim() }

func (s *Space) length(x int) int { return s.p.corpus.start[x+1] - s.p.corpus.start[x] }

// scores fills in the scores of labels, in rows of stride.
func (s *Space) scores(w *labeller, x int, weights []float64) (node, pair []float64) {
	l, c := s.p.model.layout, s.p.corpus
	n, stride := s.length(x), w.chain.stride
	node = w.chain.begin(n)
	for t := range n {
		ids, values := c.single.row(c.start[x] + t)
		l.addScores(node[t*stride:], weights, weights, l.labels, ids, values)
	}
	return node, l.label2(weights)
}

// rule rules out labels other than those of an annotation.
func (s *Space) rule(w *labeller, node []float64, a []int) {
	d, stride := s.p.model.layout.labels, w.chain.stride
	for t, y := range a {
		if y < 0 {
			continue
		}
		row := node[t*stride:][:d]
		for k := range row {
			if k != y {
				row[k] = math.Inf(-1)
			}
		}
	}
}

func (s *Space) weight(a []int) float64 {
	if !s.mean {
		return 1
	}
	n := 0
	for _, y := range a {
		if y >= 0 {
			n++
		}
	}
	return 1 / math.Max(1, float64(n))
}

func (s *Space) check(ctx context.Context, x int, w []float64, a []int) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case len(w) != s.Dim():
		return fmt.Errorf("sequence: %d weights, the model has %d", len(w), s.Dim())
	case a != nil && len(a) != s.length(x):
		return fmt.Errorf("sequence: an annotation of %d labels for %d positions", len(a), s.length(x))
	}
	for _, y := range a {
		if y >= s.p.model.layout.labels {
			return fmt.Errorf("sequence: label number %d of %d", y, s.p.model.layout.labels)
		}
	}
	return nil
}

// best finds the best labelling after change has changed the scores of labels.
func (s *Space) best(ctx context.Context, x int, weights []float64, a []int, sign float64, change func(w *labeller, node []float64)) (space.Solution[[]int], error) {
	if err := s.check(ctx, x, weights, a); err != nil {
		return space.Solution[[]int]{}, err
	}
	w := s.pool.Get().(*labeller)
	defer s.pool.Put(w)
	node, pair := s.scores(w, x, weights)
	if sign < 0 {
		for i := range node {
			node[i] = -node[i]
		}
		w.pair = append(w.pair[:0], pair...)
		for i := range w.pair {
			w.pair[i] = -w.pair[i]
		}
		if pair != nil {
			pair = w.pair
		}
	}
	if change != nil {
		change(w, node)
	}
	y := make([]int, s.length(x))
	v := w.back.best(y, node, w.chain.stride, s.p.model.layout.labels, pair)
	return space.Exact(y, sign*v), nil
}

// Argmax implements space.Space.
func (s *Space) Argmax(ctx context.Context, x int, w []float64) (space.Solution[[]int], error) {
	return s.best(ctx, x, w, nil, 1, nil)
}

// Argmin implements space.Space.
func (s *Space) Argmin(ctx context.Context, x int, w []float64) (space.Solution[[]int], error) {
	return s.best(ctx, x, w, nil, -1, nil)
}

// ArgmaxLoss implements space.Space.
func (s *Space) ArgmaxLoss(ctx context.Context, x int, w []float64, a []int) (space.Solution[[]int], error) {
	return s.best(ctx, x, w, a, 1, func(l *labeller, node []float64) {
		d, stride, loss := s.p.model.layout.labels, l.chain.stride, s.weight(a)
		for t, y := range a {
			if y < 0 {
				continue
			}
			row := node[t*stride:][:d]
			for k := range row {
				if k != y {
					row[k] += loss
				}
			}
		}
	})
}

// ArgmaxWithin implements space.Space.
func (s *Space) ArgmaxWithin(ctx context.Context, x int, w []float64, a []int) (space.Solution[[]int], error) {
	return s.best(ctx, x, w, a, 1, func(l *labeller, node []float64) { s.rule(l, node, a) })
}

// KBest implements space.Space.
func (s *Space) KBest(ctx context.Context, x int, weights []float64, k int) ([]space.Solution[[]int], error) {
	if err := s.check(ctx, x, weights, nil); err != nil {
		return nil, err
	}
	w := s.pool.Get().(*labeller)
	defer s.pool.Put(w)
	node, _ := s.scores(w, x, weights)
	t, n := &w.kbest, s.length(x)
	t.m.w, t.node = weights, node
	for len(t.corpus.pair.ptr) <= n { // no attributes of pairs
		t.corpus.pair.endRow()
	}
	var out []space.Solution[[]int]
	for _, c := range t.nBest(n, k) {
		out = append(out, space.Exact(c.labels, c.score))
	}
	return out, nil
}

// AddPhi implements space.Space.
func (s *Space) AddPhi(dst []float64, scale float64, x int, y []int) {
	l, c := s.p.model.layout, s.p.corpus
	for t, label := range y {
		ids, values := c.single.row(c.start[x] + t)
		for k, a := range ids {
			v := scale
			if values != nil {
				v *= values[k]
			}
			from, to := l.row(int(a))
			if l.ptr == nil {
				dst[from+label] += v
			} else if at, ok := slices.BinarySearch(l.seen[from:to], int32(label)); ok {
				dst[from+at] += v
			}
		}
		dst[l.at1+label] += scale
		if t > 0 && l.order > 1 {
			dst[l.at2+y[t-1]*l.labels+label] += scale
		}
	}
}

// Delta implements space.Space.
func (s *Space) Delta(_ int, a, y []int) float64 {
	n := 0
	for t, label := range a {
		if label >= 0 && y[t] != label {
			n++
		}
	}
	return s.weight(a) * float64(n)
}

// LossZeroOnCompatible implements space.Space.
func (s *Space) LossZeroOnCompatible() bool { return true }

// Complete implements space.Space.
func (s *Space) Complete(_ int, a []int) bool {
	return s.p.model.layout.labels == 1 || !slices.ContainsFunc(a, func(y int) bool { return y < 0 })
}

// LogZ implements space.Summing.
func (s *Space) LogZ(ctx context.Context, x int, w, dst []float64, scale float64) (float64, error) {
	z, _, err := s.sum(ctx, x, w, nil, dst, scale)
	return z, err
}

// LogZWithin implements space.Summing.
func (s *Space) LogZWithin(ctx context.Context, x int, w []float64, a []int, dst []float64, scale float64) (float64, error) {
	z, _, err := s.sum(ctx, x, w, a, dst, scale)
	return z, err
}

// Entropy implements space.Summing.
func (s *Space) Entropy(ctx context.Context, x int, w []float64) (float64, error) {
	z, mean, err := s.sum(ctx, x, w, nil, nil, 0)
	return z - mean, err
}

// sum returns log Z and the mean score.
func (s *Space) sum(ctx context.Context, x int, weights []float64, a []int, dst []float64, scale float64) (z, mean float64, err error) {
	if err := s.check(ctx, x, weights, a); err != nil {
		return 0, 0, err
	}
	l, c := s.p.model.layout, s.p.corpus
	w := s.pool.Get().(*labeller)
	defer s.pool.Put(w)
	w.chain.transitions(l.label2(weights))
	node, _ := s.scores(w, x, weights)
	n, d, stride := s.length(x), l.labels, w.chain.stride
	w.chain.masked = a != nil
	defer func() { w.chain.masked = false }()
	if a != nil {
		s.rule(w, node, a)
	}
	w.post = slices.Grow(w.post[:0], n*stride)[:n*stride]
	pairs := pairSums{scaled: newPairs(d, stride)}
	z = w.chain.marginals(w.post, &pairs)
	for t := range n {
		p := w.post[t*stride:][:d]
		ids, values := c.single.row(c.start[x] + t)
		for y, q := range p {
			if q == 0 {
				continue
			}
			mean += q * node[t*stride+y]
			if dst == nil {
				continue
			}
			q *= scale
			for k, id := range ids {
				v := q
				if values != nil {
					v *= values[k]
				}
				from, to := l.row(int(id))
				if l.ptr == nil {
					dst[from+y] += v
				} else if at, ok := slices.BinarySearch(l.seen[from:to], int32(y)); ok {
					dst[from+at] += v
				}
			}
			dst[l.at1+y] += q
		}
	}
	if l.order > 1 && n > 0 {
		w.window = slices.Grow(w.window[:0], d*d)[:d*d]
		w.chain.finish(w.window, &pairs)
		for k, q := range w.window {
			mean += q * weights[l.at2+k]
			if dst != nil {
				dst[l.at2+k] += scale * q
			}
		}
	}
	return z, mean, nil
}

// Score implements space.Remembering.
func (s *Space) Score(x int, w []float64, y []int) float64 {
	l, c := s.p.model.layout, s.p.corpus
	score := 0.0
	for t, label := range y {
		ids, values := c.single.row(c.start[x] + t)
		if l.ptr == nil && values == nil { // most of the time, where outputs are remembered
			of := w[label:]
			for _, a := range ids {
				score += of[int(a)*l.labels]
			}
			ids = nil
		}
		for k, a := range ids {
			from, to := l.row(int(a))
			at := from + label
			if l.ptr != nil {
				i, ok := slices.BinarySearch(l.seen[from:to], int32(label))
				if !ok {
					continue
				}
				at = from + i
			}
			if values != nil {
				score += values[k] * w[at]
			} else {
				score += w[at]
			}
		}
		score += w[l.at1+label]
		if t > 0 && l.order > 1 {
			score += w[l.at2+y[t-1]*l.labels+label]
		}
	}
	return score
}

// AppendOutput implements space.Remembering.
func (s *Space) AppendOutput(dst []byte, _ int, y []int) []byte { return space.AppendNumbers(dst, y) }

// ReadOutput implements space.Remembering.
func (s *Space) ReadOutput(src []byte, x int) ([]int, []byte, error) {
	y, rest, err := space.ReadNumbers(src, s.length(x), s.p.model.layout.labels)
	if err == nil && len(y) != s.length(x) {
		err = space.ErrOutput
	}
	return y, rest, err
}
