package g2p

import (
	"errors"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/losses"
)

// trellis is the lattice of a word's label strings under views, and perhaps a loss machine: the
// product of deterministic automata that read the labels side by side. A node of layer t is what
// they have in mind after t letters, with the place of the last label.
type trellis struct {
	sizes []int   // places by letter
	first []int32 // nodes of layer t: first[t] … first[t+1]
	place []int32 // of each node, in the list of the letter before
	arcs  []int   // of layer t: arcs[t] …, a row of sizes[t] for each node
	to    []int32 // node of each arc, or -1
	pays  []int32 // event of each arc; what ends at a node of the last layer follows, -1 where it may not end

	loss    []uint32 // value of each arc and of each end, in machine; nil without
	machine *losses.Machine
}

// nodeKey is what tells the nodes of a layer apart.
type nodeKey struct {
	position
	place  int32
	column uint32
}

// errArcs reports a trellis beyond its budget.
var errArcs = errors.New("the lattice of histories is too large")

// trellisBuilder builds trellises; it keeps memory from word to word.
type trellisBuilder struct {
	views *views
	inv   *Inventory
	// event numbers what is paid; the entries are valid during the call.
	event func(entries []int32, cost float64) int32

	nodes   map[nodeKey]int32
	now     []nodeKey
	next    []nodeKey
	entries []int32
}

// build makes the trellis of letters with the given labels. A label of -1 is a back-off label,
// after which histories are forgotten. m, if not nil, restricts and values the label strings. At
// most limit arcs are made.
func (b *trellisBuilder) build(lists [][]int32, m *losses.Machine, limit int) (*trellis, error) {
	l := &trellis{sizes: make([]int, len(lists)), first: []int32{0, 1}, place: []int32{0}, arcs: []int{0},
		machine: m}
	if b.nodes == nil {
		b.nodes = map[nodeKey]int32{}
	}
	b.now = append(b.now[:0], nodeKey{position: b.views.start()})
	for t, labels := range lists {
		l.sizes[t] = len(labels)
		clear(b.nodes)
		b.next = b.next[:0]
		var class []uint32
		if m != nil {
			_, class = m.Classes(t)
		}
		layer := l.first[t+1]
		for _, from := range b.now {
			for k, label := range labels {
				to, paid, column, value := int32(-1), int32(0), uint32(0), losses.Excluded
				if m != nil {
					column, value = m.Arc(t, from.column, int(class[k]))
				}
				if m == nil || value != losses.Excluded {
					key := nodeKey{place: int32(k), column: column}
					ok := true
					if label < 0 {
						key.position = from.position.unknown()
						b.entries = b.entries[:0]
						paid = b.event(b.entries, 0)
					} else {
						var cost float64
						key.position, b.entries, cost, ok = b.views.step(from.position, label, b.inv.Labels[label],
							b.entries[:0])
						if ok {
							paid = b.event(b.entries, cost)
						}
					}
					if ok {
						id, seen := b.nodes[key]
						if !seen {
							id = layer + int32(len(b.next))
							b.nodes[key] = id
							b.next = append(b.next, key)
							l.place = append(l.place, int32(k))
						}
						to = id
					}
				}
				l.to, l.pays = append(l.to, to), append(l.pays, paid)
				if m != nil {
					l.loss = append(l.loss, value)
				}
			}
			if len(l.to) > limit {
				return nil, errArcs
			}
		}
		l.first = append(l.first, layer+int32(len(b.next)))
		l.arcs = append(l.arcs, len(l.to))
		b.now, b.next = b.next, b.now
	}
	for _, q := range b.now {
		paid := int32(-1)
		value := losses.Excluded
		if m != nil {
			value = m.Final(q.column)
			l.loss = append(l.loss, value)
		}
		if m == nil || value != losses.Excluded {
			var cost float64
			var ok bool
			if b.entries, cost, ok = b.views.end(q.position, b.entries[:0]); ok {
				paid = b.event(b.entries, cost)
			}
		}
		l.pays = append(l.pays, paid)
	}
	return l, nil
}

// gold returns the arcs of a label string, given by places; ok is whether it is accepted.
func (l *trellis) gold(places []int32) (arcs []int, end int, ok bool) {
	node := int32(0)
	for t, k := range places {
		at := l.arcs[t] + int(node-l.first[t])*l.sizes[t] + int(k)
		arcs = append(arcs, at)
		if node = l.to[at]; node < 0 {
			return nil, 0, false
		}
	}
	end = len(l.to) + int(node-l.first[len(l.sizes)])
	return arcs, end, l.pays[end] >= 0
}

// chainScores are the scores of a word that do not come from its views: of labels, and of pairs of
// neighbouring ones. They may come from features, a network or anything else.
type chainScores struct {
	unary []float64 // letter after letter
	pairs []float64 // of letter t from at[t] on, a row for each place to the left
	at    []int
}

// trellisSums are forward and backward sums over a trellis; they keep memory.
type trellisSums struct {
	weight, ends []float64 // of arcs and ends, by the scale of their layer
	alpha, beta  []float64 // by node; alpha sums to one over each layer
	scale        []float64
	lossA, lossB []float64 // the same with the loss so far, and to come
}

// run computes the log of the sum over all label strings of exp(score + gamma·loss), and calls arc
// and end with the probability of every arc and end. pay are the scores of events. It returns -Inf
// when there is no label string.
//
// With risk it also returns the expected loss, and passes on the gradient of that.
func (s *trellisSums) run(l *trellis, c *chainScores, pay []float64, gamma float64, risk bool,
	arc func(t, place, at int, p, r float64), end func(at int, p, r float64)) (logZ, expected float64,
	err error) {
	n, nodes := len(l.sizes), len(l.place)
	s.weight, s.ends = sized(s.weight, len(l.to)), sized(s.ends, len(l.pays)-len(l.to))
	s.alpha, s.beta, s.scale = sized(s.alpha, nodes), sized(s.beta, nodes), sized(s.scale, n+2)
	clear(s.alpha)
	s.alpha[0] = 1
	lossOf := func(at int) float64 {
		if l.machine == nil {
			return 0
		}
		return l.machine.Value(l.loss[at])
	}
	if l.machine != nil {
		logZ = gamma * l.machine.Base()
	}
	u := 0
	for t, size := range l.sizes {
		most := math.Inf(-1)
		for q := l.first[t]; q < l.first[t+1]; q++ {
			row := l.arcs[t] + int(q-l.first[t])*size
			pairs := c.pairs[c.at[t]+int(l.place[q])*size:]
			for k := range size {
				score := math.Inf(-1)
				if l.to[row+k] >= 0 {
					score = c.unary[u+k] + pairs[k] + pay[l.pays[row+k]]
					if gamma != 0 {
						score += gamma * lossOf(row+k)
					}
					if !(score < math.Inf(1)) {
						return 0, 0, losses.ErrRange
					}
				}
				s.weight[row+k] = score
				most = max(most, score)
			}
		}
		u += size
		if math.IsInf(most, -1) {
			return math.Inf(-1), 0, nil
		}
		next := s.alpha[l.first[t+1]:l.first[t+2]]
		for q := l.first[t]; q < l.first[t+1]; q++ {
			row := l.arcs[t] + int(q-l.first[t])*size
			a := s.alpha[q]
			for k := range size {
				if to := l.to[row+k]; to >= 0 {
					w := math.Exp(s.weight[row+k] - most)
					s.weight[row+k] = w
					next[to-l.first[t+1]] += a * w
				} else {
					s.weight[row+k] = 0
				}
			}
		}
		sum := 0.0
		for _, a := range next {
			sum += a
		}
		if sum == 0 { // the best arcs of this layer are far from those before
			return 0, 0, losses.ErrRange
		}
		for i := range next {
			next[i] /= sum
		}
		s.scale[t+1] = sum
		logZ += most + math.Log(sum)
	}
	last := l.first[n]
	most := math.Inf(-1)
	for i := range s.ends {
		at := len(l.to) + i
		s.ends[i] = math.Inf(-1)
		if l.pays[at] >= 0 {
			s.ends[i] = pay[l.pays[at]] + gamma*lossOf(at)
			most = max(most, s.ends[i])
		}
	}
	if math.IsInf(most, -1) {
		return most, 0, nil
	}
	sum := 0.0
	for i, e := range s.ends {
		s.ends[i] = math.Exp(e - most)
		sum += s.alpha[int(last)+i] * s.ends[i]
	}
	if sum == 0 {
		return 0, 0, losses.ErrRange
	}
	logZ += most + math.Log(sum)
	if math.IsNaN(logZ) {
		return 0, 0, losses.ErrRange
	}
	if arc == nil && !risk {
		return logZ, 0, nil
	}
	for i, e := range s.ends {
		s.beta[int(last)+i] = e / sum
	}
	for t := n - 1; t >= 0; t-- {
		size, scale := l.sizes[t], s.scale[t+1]
		for q := l.first[t]; q < l.first[t+1]; q++ {
			row := l.arcs[t] + int(q-l.first[t])*size
			b := 0.0
			for k, w := range s.weight[row : row+size] {
				if to := l.to[row+k]; to >= 0 {
					b += w * s.beta[to]
				}
			}
			s.beta[q] = b / scale
		}
	}
	if risk {
		expected = s.expect(l, lossOf, sum)
	}
	if arc == nil {
		return logZ, expected, nil
	}
	for t := range n {
		size, scale := l.sizes[t], s.scale[t+1]
		for q := l.first[t]; q < l.first[t+1]; q++ {
			row := l.arcs[t] + int(q-l.first[t])*size
			a := s.alpha[q] / scale
			for k, w := range s.weight[row : row+size] {
				to := l.to[row+k]
				if to < 0 {
					continue
				}
				p, r := a*w*s.beta[to], 0.0
				if risk {
					r = s.lossA[q]/scale*w*s.beta[to] + a*w*s.lossB[to] + p*(lossOf(row+k)-expected)
				}
				arc(t, k, row+k, p, r)
			}
		}
	}
	for i, e := range s.ends {
		if at := len(l.to) + i; l.pays[at] >= 0 {
			p, r := s.alpha[int(last)+i]*e/sum, 0.0
			if risk {
				r = s.lossA[int(last)+i]*e/sum + p*(lossOf(at)-expected)
			}
			end(at, p, r)
		}
	}
	return logZ, expected, nil
}

// expect fills lossA and lossB, and returns the expected loss without the machine's base.
func (s *trellisSums) expect(l *trellis, lossOf func(int) float64, sum float64) float64 {
	n := len(l.sizes)
	s.lossA, s.lossB = sized(s.lossA, len(l.place)), sized(s.lossB, len(l.place))
	clear(s.lossA)
	for t, size := range l.sizes {
		for q := l.first[t]; q < l.first[t+1]; q++ {
			row := l.arcs[t] + int(q-l.first[t])*size
			for k, w := range s.weight[row : row+size] {
				if to := l.to[row+k]; to >= 0 {
					s.lossA[to] += w * (s.lossA[q] + s.alpha[q]*lossOf(row+k)) / s.scale[t+1]
				}
			}
		}
	}
	last := int(l.first[n])
	expected := 0.0
	for i, e := range s.ends {
		s.lossB[last+i] = 0
		if at := len(l.to) + i; l.pays[at] >= 0 {
			expected += (s.lossA[last+i] + s.alpha[last+i]*lossOf(at)) * e / sum
			s.lossB[last+i] = e / sum * lossOf(at)
		}
	}
	for t := n - 1; t >= 0; t-- {
		size, scale := l.sizes[t], s.scale[t+1]
		for q := l.first[t]; q < l.first[t+1]; q++ {
			row := l.arcs[t] + int(q-l.first[t])*size
			b := 0.0
			for k, w := range s.weight[row : row+size] {
				if to := l.to[row+k]; to >= 0 {
					b += w * (s.lossB[to] + s.beta[to]*lossOf(row+k))
				}
			}
			s.lossB[q] = b / scale
		}
	}
	return expected
}

// tooLarge is the error of words whose lattices exceed a budget.
func tooLarge(limit int) error {
	return fmt.Errorf("g2p: %w: more than %d arcs in all words; lower History or Phones, raise MinCount, or "+
		"train with cross-entropy or the Hamming margin, which need no loss machines", errArcs, limit)
}
