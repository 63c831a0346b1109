package g2p

import (
	"cmp"
	"math"
	"slices"
)

// Fallback says what a word needed for an output that the constraint of a model accepts.
type Fallback string

const (
	// BackedOff is an output with labels that training did not see at these letters.
	BackedOff Fallback = "backed off"
	// Unconstrained is the best output of all: the constraint accepts none.
	Unconstrained Fallback = "unconstrained"
)

// search is what decoding a word works on; it keeps memory from word to word.
type search struct {
	scores
	builder  trellisBuilder
	trellis  *trellis // nil for models without views
	pay      []float64
	sums     trellisSums
	fallback Fallback
}

// prepare scores a word and, for models with views, builds its trellis.
func (m *Model) prepare(c *compiled, s *search) {
	m.prepareBy(c, s, func() { m.score(c, &s.scores) })
}

// prepareBy is prepare with scores that score stores in s.
func (m *Model) prepareBy(c *compiled, s *search, score func()) {
	s.fallback, s.trellis = "", nil
	score()
	switch {
	case m.views == nil || len(c.x) == 0:
		s.extend(m.Inventory, c.x)
	case m.views.constraint == nil:
		s.extend(m.Inventory, c.x)
		s.build(m, m.views, true)
	default:
		if s.build(m, m.views, false); s.trellis.open() {
			return
		}
		s.extendAll(m.Inventory, c.x)
		if s.build(m, m.views, false); s.trellis.open() {
			s.fallback = BackedOff
			return
		}
		s.fallback = Unconstrained
		free := *m.views
		free.constraint = nil
		score()
		s.extend(m.Inventory, c.x)
		s.build(m, &free, true)
	}
}

// build makes the trellis. extended is whether the last label of a list may stand for all that its
// letter backs off to.
func (s *search) build(m *Model, v *views, extended bool) {
	s.pay = s.pay[:0]
	s.builder.views, s.builder.inv = v, m.Inventory
	s.builder.event = func(entries []int32, cost float64) int32 {
		sum := -cost
		for _, x := range entries {
			sum += m.pays[x]
		}
		s.pay = append(s.pay, sum)
		return int32(len(s.pay) - 1)
	}
	lists := make([][]int32, len(s.sizes))
	for t, own := range s.lists {
		lists[t] = own
		if extended && len(own) < s.sizes[t] {
			lists[t] = append(own[:len(own):len(own)], -1)
		}
	}
	s.trellis, _ = s.builder.build(lists, nil, math.MaxInt)
}

// open reports whether a trellis has a path.
func (l *trellis) open() bool {
	reached := make([]bool, len(l.place))
	reached[0] = true
	for t, size := range l.sizes {
		for q := l.first[t]; q < l.first[t+1]; q++ {
			if !reached[q] {
				continue
			}
			row := l.arcs[t] + int(q-l.first[t])*size
			for _, to := range l.to[row : row+size] {
				if to >= 0 {
					reached[to] = true
				}
			}
		}
	}
	for i, x := range l.pays[len(l.to):] {
		if x >= 0 && reached[int(l.first[len(l.sizes)])+i] {
			return true
		}
	}
	return false
}

// extendAll makes all labels that letters back off to labels of their own, for outputs that nothing
// less gives.
func (s *scores) extendAll(inv *Inventory, x []int32) {
	from := s.shape
	unary, binary := slices.Clone(s.unary), slices.Clone(s.binary)
	sizes := make([]int, len(x))
	for t := range x {
		if b := inv.backoffOf(x[t]); b != nil {
			own := s.lists[t]
			s.lists[t] = append(own[:len(own):len(own)], b.Labels...)
		}
		sizes[t] = len(s.lists[t])
	}
	s.shape = newShape(sizes)
	s.unary, s.binary = sized(s.unary, s.shape.unary[len(x)]), sized(s.binary, s.shape.pairs[len(x)])
	clear(s.binary)
	left := 1
	for t, own := range from.sizes {
		u := s.unary[s.shape.unary[t]:s.shape.unary[t+1]]
		copy(u, unary[from.unary[t]:from.unary[t+1]])
		if len(u) > own {
			all := logSumExp(u[:own])
			for k, p := range inv.Backoff[x[t]].Prob {
				u[own+k] = all + math.Log(p)
			}
		}
		for a := range left {
			copy(s.binary[s.shape.pairs[t]+a*sizes[t]:], binary[from.pairs[t]+a*own:from.pairs[t]+(a+1)*own])
		}
		left = own
	}
}

func (s *search) chain() *chainScores {
	return &chainScores{unary: s.unary, pairs: s.binary, at: s.shape.pairs}
}

// best returns the best labels, as places.
func (s *search) best() []int32 {
	if s.trellis == nil {
		u, _ := s.viterbi()
		return u
	}
	u, _ := s.trellis.viterbi(s.chain(), s.pay)
	return u
}

// paths returns the n best label strings.
func (s *search) paths(n int) []path {
	if s.trellis == nil {
		return s.nBest(n)
	}
	return s.trellis.nBest(s.chain(), s.pay, n, s.backsOff)
}

// total returns the log of the sum of exp of the scores of all label strings.
func (s *search) total() float64 {
	if s.trellis == nil {
		return s.logZ()
	}
	c := s.chain()
	c.unary = slices.Clone(c.unary)
	for t, b := range s.sizes {
		if s.backsOff(t, b-1) != nil {
			c.unary[s.shape.unary[t+1]-1] += s.extra[t]
		}
	}
	logZ, _, err := s.sums.run(s.trellis, c, s.pay, 0, false, nil, nil)
	if err != nil { // scores beyond what numbers hold
		return math.Inf(1)
	}
	return logZ
}

// viterbi returns the places of the best label string, and its score; -Inf where there is none. Of
// equally good ones the first in order wins.
func (l *trellis) viterbi(c *chainScores, pay []float64) ([]int32, float64) {
	n := len(l.sizes)
	score := make([]float64, len(l.place))
	back := make([]int32, len(l.place))
	for q := range score {
		score[q] = math.Inf(-1)
	}
	score[0] = 0
	u := 0
	for t, size := range l.sizes {
		for q := l.first[t]; q < l.first[t+1]; q++ {
			v := score[q]
			if math.IsInf(v, -1) {
				continue
			}
			row := l.arcs[t] + int(q-l.first[t])*size
			pairs := c.pairs[c.at[t]+int(l.place[q])*size:]
			for k, to := range l.to[row : row+size] {
				if to < 0 {
					continue
				}
				if w := v + c.unary[u+k] + pairs[k] + pay[l.pays[row+k]]; w > score[to] {
					score[to], back[to] = w, q
				}
			}
		}
		u += size
	}
	last, most := int32(-1), math.Inf(-1)
	for i, x := range l.pays[len(l.to):] {
		q := l.first[n] + int32(i)
		if x >= 0 && score[q]+pay[x] > most {
			last, most = q, score[q]+pay[x]
		}
	}
	if last < 0 {
		return nil, most
	}
	out := make([]int32, n)
	for t := n - 1; t >= 0; t-- {
		out[t] = l.place[last]
		last = back[last]
	}
	return out, most
}

// nBest returns the n best label strings, best first. backsOff says which places stand for several
// labels, as in scores.
func (l *trellis) nBest(c *chainScores, pay []float64, n int, backsOff func(t, b int) *Backoff) []path {
	type way struct {
		score             float64
		from, rank, label int32
	}
	byScore := func(a, b way) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.from, b.from), cmp.Compare(a.rank, b.rank),
			cmp.Compare(a.label, b.label))
	}
	ways := make([][]way, len(l.place))
	ways[0] = []way{{}}
	keep := func(q int32) {
		slices.SortFunc(ways[q], byScore)
		ways[q] = ways[q][:min(n, len(ways[q]))]
	}
	u := 0
	for t, size := range l.sizes {
		for q := l.first[t]; q < l.first[t+1]; q++ {
			row := l.arcs[t] + int(q-l.first[t])*size
			pairs := c.pairs[c.at[t]+int(l.place[q])*size:]
			for k, to := range l.to[row : row+size] {
				if to < 0 {
					continue
				}
				s := c.unary[u+k] + pairs[k] + pay[l.pays[row+k]]
				back := backsOff(t, k)
				for rank, w := range ways[q] {
					if back == nil {
						ways[to] = append(ways[to], way{w.score + s, q, int32(rank), int32(k)})
						continue
					}
					// Both are sorted: way i with label j is behind at least (i+1)(j+1)-1 others.
					for j := range min(n/(rank+1), len(back.Prob)) {
						ways[to] = append(ways[to], way{w.score + s + math.Log(back.Prob[j]/back.Prob[0]), q, int32(rank),
							int32(k + j)})
					}
				}
				if len(ways[to]) > 8*n {
					keep(to)
				}
			}
		}
		u += size
		for q := l.first[t+1]; q < l.first[t+2]; q++ {
			keep(q)
		}
	}
	var ends []way
	for i, x := range l.pays[len(l.to):] {
		q := l.first[len(l.sizes)] + int32(i)
		for rank, w := range ways[q] {
			if x >= 0 {
				ends = append(ends, way{w.score + pay[x], q, int32(rank), 0})
			}
		}
	}
	slices.SortFunc(ends, byScore)
	var out []path
	for _, w := range ends[:min(n, len(ends))] {
		p := path{labels: make([]int32, len(l.sizes)), score: w.score}
		for t := len(l.sizes) - 1; t >= 0; t-- {
			w = ways[w.from][w.rank]
			p.labels[t] = w.label
		}
		out = append(out, p)
	}
	return out
}
