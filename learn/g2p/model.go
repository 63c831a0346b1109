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
	Weights   []float64
	Objective Objective // what it was trained for
	Lookup    *Lookup   // words kept with the model; nil is none
	Ngrams    *Joint    // n-gram model for the decoding Joint; nil is none

	hard *resilient.Difficulty // of a resilient model
}

// Difficulty lists the training words with the largest multipliers; nil if the model is not
// resilient.
func (m *Model) Difficulty() *resilient.Difficulty { return m.hard }

// scores are the potentials of one word.
type scores struct {
	shape
	lists  [][]int32 // labels by letter
	unary  []float64
	binary []float64
}

// score computes the potentials of a word, into s.
func (m *Model) score(c *compiled, s *scores) {
	n := len(c.x)
	sizes := make([]int, n)
	s.lists = sized(s.lists, n)
	for t, x := range c.x {
		s.lists[t] = m.Inventory.Allowed[x]
		sizes[t] = len(s.lists[t])
	}
	s.shape = newShape(sizes)
	s.unary, s.binary = sized(s.unary, s.shape.unary[n]), sized(s.binary, s.shape.pairs[n])
	for t := range n {
		m.Features.unary(m.Weights, c, t, s.unary[s.shape.unary[t]:s.shape.unary[t+1]])
		m.Features.binary(m.Weights, c, t, s.binary[s.shape.pairs[t]:s.shape.pairs[t+1]])
	}
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
	for t, size := range s.sizes {
		next := make([]float64, size)
		row := s.binary[s.shape.pairs[t]:]
		for b := range next {
			most := math.Inf(-1)
			for a, v := range alpha {
				most = max(most, v+row[a*size+b])
			}
			sum := 0.0
			for a, v := range alpha {
				sum += math.Exp(v + row[a*size+b] - most)
			}
			next[b] = most + math.Log(sum) + s.unary[s.shape.unary[t]+b]
		}
		alpha = next
	}
	most := alpha[0]
	for _, v := range alpha {
		most = max(most, v)
	}
	sum := 0.0
	for _, v := range alpha {
		sum += math.Exp(v - most)
	}
	return most + math.Log(sum)
}

// spell returns the phones of labels given by their places.
func (m *Model) spell(s *scores, u []int32) []int {
	var phones []int
	for t, k := range u {
		phones = append(phones, m.Inventory.Labels[s.lists[t][k]]...)
	}
	return phones
}
