package g2p

import (
	"math"

	"github.com/tropica-fst/tropica/learn/resilient"
)

// Model pronounces words. It is read-only once made, and safe for concurrent
// use.
type Model struct {
	Inventory *Inventory
	Features  *Features
	Weights   []float64 // of Features; of a model of several networks, their mean
	Objective Objective // what it was trained for
	Lookup    *Lookup   // words kept with the model; nil is none
	Ngrams    *Joint    // n-gram model for the decoding Joint; nil is none

	hard    *resilient.Difficulty // of a resilient model
	members []*member             // networks, whose scores are added; none for a linear model
	views   *views                // nil is none; their weights are behind those of features
	pays    []float64             // what their entries pay
}

// Constrain returns the model with another constraint, which decides about its outputs only; nil is
// none. The error is that of a constraint that accepts no string of the model's phones.
func (m *Model) Constrain(c *Constraint) (*Model, error) {
	out, v := *m, views{}
	if m.views != nil {
		v = *m.views
	}
	v.constraint = nil
	if c != nil {
		var err error
		if v.constraint, err = c.over(m.Inventory.Phones); err != nil {
			return nil, err
		}
	}
	if out.views = &v; v == (views{}) {
		out.views = nil
	}
	out.ready()
	return &out, nil
}

// ready computes what predictions need beside the weights.
func (m *Model) ready() {
	if m.views != nil {
		m.pays = make([]float64, m.views.size())
		m.views.cumulate(m.Weights[m.Features.dim:], m.pays, 1)
	}
}

// Difficulty lists the training words with the largest multipliers; nil if the model is not
// resilient.
func (m *Model) Difficulty() *resilient.Difficulty { return m.hard }

// scores are the potentials of one word. They keep the memory of what computes them.
type scores struct {
	shape
	lists  [][]int32 // labels by letter
	unary  []float64
	binary []float64

	// Where a letter backs off, the last of its places is all labels of back[t] together. It has
	// the score of the first of them; extra[t] is the log of their sum by that of the first.
	back  []*Backoff
	extra []float64
	own   struct{ unary, binary []float64 } // before extend

	networks networkScores
}

// score computes the potentials of a word, into s.
func (m *Model) score(c *compiled, s *scores) {
	m.linear(c, s)
	if len(m.members) > 0 {
		m.addNetworks(c, s)
	}
}

// linear computes the potentials of a word that the weights alone give it, into s.
func (m *Model) linear(c *compiled, s *scores) {
	n := len(c.x)
	sizes := make([]int, n)
	s.lists = sized(s.lists, n)
	for t, x := range c.x {
		s.lists[t] = m.Inventory.Allowed[x]
		sizes[t] = len(s.lists[t])
	}
	s.shape, s.back = newShape(sizes), nil
	s.unary, s.binary = sized(s.unary, s.shape.unary[n]), sized(s.binary, s.shape.pairs[n])
	for t := range n {
		m.Features.unary(m.Weights, c, t, s.unary[s.shape.unary[t]:s.shape.unary[t+1]])
		m.Features.binary(m.Weights, c, t, s.binary[s.shape.pairs[t]:s.shape.pairs[t+1]])
	}
}

// extend adds the labels that letters back off to. Such a label has the sum of the letter's own
// labels, in the log domain, times its probability, and no bigrams.
func (s *scores) extend(inv *Inventory, x []int32) {
	n := len(x)
	if n == 0 || len(inv.Backoff) == 0 {
		return
	}
	s.back, s.extra = sized(s.back, n), sized(s.extra, n)
	sizes := make([]int, n)
	for t := range x {
		s.back[t], s.extra[t] = inv.backoffOf(x[t]), 0
		sizes[t] = s.sizes[t]
		if b := s.back[t]; b != nil {
			sizes[t]++
			s.extra[t] = math.Log(b.Mass / b.Prob[0])
		}
	}
	from := s.shape
	s.own.unary, s.unary = s.unary, s.own.unary
	s.own.binary, s.binary = s.binary, s.own.binary
	s.shape = newShape(sizes)
	s.unary, s.binary = sized(s.unary, s.shape.unary[n]), sized(s.binary, s.shape.pairs[n])
	left := 1
	for t, own := range from.sizes {
		size := sizes[t]
		u := s.unary[s.shape.unary[t]:s.shape.unary[t+1]]
		copy(u, s.own.unary[from.unary[t]:from.unary[t+1]])
		if size > own {
			u[own] = logSumExp(u[:own]) + math.Log(s.back[t].Prob[0])
		}
		pairs, ofOwn := s.binary[s.shape.pairs[t]:s.shape.pairs[t+1]], s.own.binary[from.pairs[t]:from.pairs[t+1]]
		clear(pairs)
		for a := range left {
			copy(pairs[a*size:], ofOwn[a*own:(a+1)*own])
		}
		left = own
	}
}

// label returns the label at a place of letter t. Places behind a letter's own labels are those
// that it backs off to, in their order.
func (s *scores) label(t int, place int32) int32 {
	if own := len(s.lists[t]); int(place) >= own {
		return s.back[t].Labels[int(place)-own]
	}
	return s.lists[t][place]
}

// backsOff returns the back-off of letter t if b is its place, else nil.
func (s *scores) backsOff(t, b int) *Backoff {
	if s.back != nil && b == len(s.lists[t]) {
		return s.back[t]
	}
	return nil
}

// viterbi returns the best labels, as places in their lists, and their score.
// Of equally good ones the first in order wins.
func (s *scores) viterbi() ([]int32, float64) {
	n := len(s.sizes)
	if n == 0 {
		return nil, 0
	}
	back := make([]int32, s.shape.unary[n])
	best := []float64{0}
	for t, size := range s.sizes {
		next := make([]float64, size)
		row := s.binary[s.shape.pairs[t]:]
		for b := range next {
			next[b] = math.Inf(-1)
		}
		for a, v := range best {
			for b, w := range row[a*size : (a+1)*size] {
				if v+w > next[b] {
					next[b], back[s.shape.unary[t]+b] = v+w, int32(a)
				}
			}
		}
		for b, u := range s.unary[s.shape.unary[t]:s.shape.unary[t+1]] {
			next[b] += u
		}
		best = next
	}
	last := int32(0)
	for b, v := range best {
		if v > best[last] {
			last = int32(b)
		}
	}
	out := make([]int32, n)
	score := best[last]
	for t := n - 1; t >= 0; t-- {
		out[t] = last
		last = back[s.shape.unary[t]+int(last)]
	}
	return out, score
}

// logZ returns the logarithm of the sum of exp of the scores of all label
// strings.
func (s *scores) logZ() float64 {
	alpha := []float64{0}
	var sums []float64
	for t, size := range s.sizes {
		next := make([]float64, size)
		row := s.binary[s.shape.pairs[t]:]
		for b := range next {
			sums = sums[:0]
			for a, v := range alpha {
				sums = append(sums, v+row[a*size+b])
			}
			next[b] = logSumExp(sums) + s.unary[s.shape.unary[t]+b]
			if s.backsOff(t, b) != nil {
				next[b] += s.extra[t]
			}
		}
		alpha = next
	}
	return logSumExp(alpha)
}

// spell returns the phones of labels given by their places.
func (m *Model) spell(s *scores, u []int32) []int {
	var phones []int
	for t, k := range u {
		phones = append(phones, m.Inventory.Labels[s.label(t, k)]...)
	}
	return phones
}
