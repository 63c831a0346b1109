package g2p

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/learn/model"
)

// Joint is an n-gram model of the pairs of a letter and its label, one after another, with modified
// Kneser-Ney smoothing. It is estimated from the alignments in one pass. Beside a linear
// model, which sees the letters around a place and one label to the left, it adds what labels and
// letters follow one another. Decoding Joint adds the two scores.
//
// References: M. Bisani and H. Ney, "Joint-sequence models for grapheme-to-phoneme conversion",
// Speech Communication 50:434–451, 2008; R. Kneser and H. Ney, "Improved backing-off for m-gram
// language modeling", ICASSP 1995; S. F. Chen and J. Goodman, "An empirical study of smoothing
// techniques for language modeling", Computer Speech and Language 13:359–394, 1999.
type Joint struct {
	order   int
	symbols *fst.Table[uint64] // letter<<32 | label
	child   *fst.Table[uint64] // node<<32 | symbol; entry k is node k+1, and node 0 the empty string
	fail    []int32            // of a node, its longest proper suffix
	depth   []uint8            // letters of the string
	logProb []float32          // of the last symbol after those before it
	backoff []float32          // log-weight of shorter histories after a node
	unknown float32            // log-probability of a symbol that was never seen
}

// Symbols of the marks.
const (
	jointStart = iota
	jointEnd
	firstJoint
)

const maxJointOrder = 12

// Joint estimates an n-gram model of the aligned words. O(order · letters) time and space.
func (p *Problem) Joint(ctx context.Context, order int) (*Joint, error) {
	if order < 1 || order > maxJointOrder {
		return nil, fmt.Errorf("g2p: an n-gram model of order %d; orders are 1 to %d", order, maxJointOrder)
	}
	j := &Joint{order: order, symbols: fst.NewTable[uint64](fst.Mix), child: fst.NewTable[uint64](fst.Mix),
		fail: []int32{0}, depth: []uint8{0}}
	var raw []int32 // occurrences of a node
	raw = append(raw, 0)
	var s, before []int32
	for i := range p.words {
		if err := stopped(ctx, i); err != nil {
			return nil, err
		}
		w := &p.words[i]
		s = append(s[:0], jointStart)
		for t, x := range w.x {
			letter, _ := p.Inventory.base(x)
			label := p.Inventory.Allowed[x][w.gold[t]]
			id, _ := j.symbols.ID(uint64(letter)<<32 | uint64(label))
			s = append(s, int32(id)+firstJoint)
		}
		s = append(s, jointEnd)
		// before[k] is the node of the k symbols before a place.
		before = append(before[:0], 0)
		for _, symbol := range s {
			for k := len(before) - 1; k >= 0; k-- {
				id, isNew := j.child.ID(uint64(before[k])<<32 | uint64(symbol))
				if isNew {
					raw, j.fail, j.depth = append(raw, 0), append(j.fail, 0), append(j.depth, uint8(k+1))
				}
				raw[id+1]++
				if k+1 < len(before) {
					before[k+1] = int32(id) + 1
				} else if k+1 < order {
					before = append(before, int32(id)+1)
				}
			}
		}
	}
	j.estimate(raw)
	return j, nil
}

// find returns the node that a symbol leads to, or -1.
func (j *Joint) find(node, symbol int32) int32 {
	id := j.child.Find(uint64(node)<<32 | uint64(symbol))
	if id == fst.NoState {
		return -1
	}
	return int32(id) + 1
}

// estimate fills the suffixes, probabilities and back-off weights from the counts of nodes.
func (j *Joint) estimate(raw []int32) {
	n := len(raw)
	parent, last := make([]int32, n), make([]int32, n)
	byDepth := make([][]int32, j.order+1)
	for v := 1; v < n; v++ {
		k := j.child.Key(fst.StateID(v - 1))
		parent[v], last[v] = int32(k>>32), int32(uint32(k))
		byDepth[j.depth[v]] = append(byDepth[j.depth[v]], int32(v))
	}
	for _, nodes := range byDepth[1:] {
		for _, v := range nodes {
			if j.depth[v] > 1 {
				j.fail[v] = j.find(j.fail[parent[v]], last[v]) // every substring was counted
			}
		}
	}
	// Shorter strings count by the symbols that they follow, except at the start of a word.
	count := make([]int32, n)
	starts := make([]bool, n)
	for d, nodes := range byDepth {
		for _, v := range nodes {
			starts[v] = d == 1 && last[v] == jointStart || d > 1 && starts[parent[v]]
			if d == j.order || starts[v] {
				count[v] = raw[v]
			}
			if d > 1 {
				count[j.fail[v]] += 1
			}
		}
	}
	for v := range count { // what starts a word follows nothing
		if starts[v] {
			count[v] = raw[v]
		}
	}
	total, reserved := make([]float64, n), make([]float64, n)
	prob := make([]float64, n)
	j.logProb, j.backoff = make([]float32, n), make([]float32, n)
	uniform := 1 / float64(len(byDepth[1])+1)
	for _, nodes := range byDepth[1:] {
		discount := discounts(nodes, count)
		for _, v := range nodes {
			if last[v] != jointStart { // which is given, not predicted
				total[parent[v]] += float64(count[v])
				reserved[parent[v]] += discount[min(count[v], 3)]
			}
		}
		for _, v := range nodes {
			if last[v] == jointStart {
				continue
			}
			h, lower := parent[v], uniform
			if h != 0 {
				lower = prob[j.fail[v]]
			}
			prob[v] = (float64(count[v]) - discount[min(count[v], 3)] + reserved[h]*lower) / total[h]
			j.logProb[v] = float32(math.Log(prob[v]))
		}
	}
	for h := range total {
		if reserved[h] > 0 {
			j.backoff[h] = float32(math.Log(reserved[h] / total[h]))
		}
	}
	j.unknown = j.backoff[0] + float32(math.Log(uniform))
}

// discounts returns what is taken from strings of one length with a count of 1, 2, or more, as Chen
// and Goodman estimate it from the numbers of those with counts of 1 to 4.
func discounts(nodes, count []int32) (d [4]float64) {
	var n [5]float64
	for _, v := range nodes {
		if c := count[v]; c <= 4 {
			n[c]++
		}
	}
	d = [4]float64{0, 0.5, 0.5, 0.5} // of data that are too few
	if n[1] == 0 || n[2] == 0 {
		return d
	}
	y := n[1] / (n[1] + 2*n[2])
	for k := 1; k <= 3; k++ {
		if v := float64(k) - float64(k+1)*y*n[k+1]/n[k]; v > 0 && v < float64(k) {
			d[k] = v
		}
	}
	return d
}

// start is the state before a word.
func (j *Joint) start() int32 { return max(0, j.find(0, jointStart)) }

// symbol returns the symbol of a letter with a label, or -1.
func (j *Joint) symbol(letter, label int32) int32 {
	id := j.symbols.Find(uint64(letter)<<32 | uint64(label))
	if id == fst.NoState {
		return -1
	}
	return int32(id) + firstJoint
}

// step returns the log-probability of a symbol in a state, and the next state.
func (j *Joint) step(state, symbol int32) (logProb float64, next int32) {
	if symbol < 0 {
		return float64(j.unknown), 0
	}
	back := float32(0)
	for {
		if int(j.depth[state]) < j.order {
			if v := j.find(state, symbol); v >= 0 {
				if int(j.depth[v]) == j.order {
					return float64(back + j.logProb[v]), j.fail[v]
				}
				return float64(back + j.logProb[v]), v
			}
			if state == 0 {
				return float64(back + j.unknown), 0
			}
			back += j.backoff[state]
		}
		state = j.fail[state]
	}
}

// jointBeam is how many hypotheses the search keeps after a letter.
const jointBeam = 8

// joint returns the best labels by the scores of the linear model and weight times those of the
// n-gram model. The search keeps the best hypotheses after each letter.
func (m *Model) joint(s *scores, x []int32, weight float64) []int32 {
	type hypothesis struct {
		score float64
		state int32
		label int32 // place
		back  int32 // index among those kept one letter before
	}
	kept := [][]hypothesis{{{state: m.Ngrams.start()}}}
	var next []hypothesis
	for t, size := range s.sizes {
		next = next[:0]
		before := kept[t]
		pairs, own := s.binary[s.shape.pairs[t]:], s.unary[s.shape.unary[t]:]
		for b := range size {
			symbol := m.Ngrams.symbol(x[t], s.label(t, int32(b)))
			for i, h := range before {
				left := 0
				if t > 0 {
					left = int(h.label)
				}
				p, state := m.Ngrams.step(h.state, symbol)
				linear := own[b] + pairs[left*size+b]
				next = append(next, hypothesis{h.score + linear + weight*p, state, int32(b), int32(i)})
			}
		}
		slices.SortFunc(next, func(a, b hypothesis) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.label, b.label), cmp.Compare(a.back, b.back))
		})
		// Of hypotheses with the same future the best is enough.
		var list []hypothesis
		for _, h := range next {
			same := func(k hypothesis) bool { return k.state == h.state && k.label == h.label }
			if !slices.ContainsFunc(list, same) {
				if list = append(list, h); len(list) == jointBeam {
					break
				}
			}
		}
		kept = append(kept, list)
	}
	best, most := 0, math.Inf(-1)
	for i, h := range kept[len(s.sizes)] {
		p, _ := m.Ngrams.step(h.state, jointEnd)
		if v := h.score + weight*p; v > most {
			best, most = i, v
		}
	}
	u := make([]int32, len(s.sizes))
	for t := len(u) - 1; t >= 0; t-- {
		h := kept[t+1][best]
		u[t], best = h.label, int(h.back)
	}
	return u
}

// put adds the model to a file; a nil Joint adds nothing.
func (j *Joint) put(c *model.Container) {
	if j == nil {
		return
	}
	model.Put(c, "ngram_symbols", keysOf(j.symbols))
	model.Put(c, "ngram_strings", keysOf(j.child))
	model.Put(c, "ngram_log_prob", j.logProb)
	model.Put(c, "ngram_backoff", j.backoff)
	model.Put(c, "ngram_unknown", []float32{j.unknown})
}

// ngrams reads the n-gram model of a file; nil where it has none.
func (l *loader) ngrams() (*Joint, error) {
	if _, ok := l.c.Shape("ngram_strings"); !ok {
		return nil, nil
	}
	symbols, err := model.Get[uint64](l.c, "ngram_symbols")
	if err != nil {
		return nil, err
	}
	strings, err := model.Get[uint64](l.c, "ngram_strings")
	if err != nil {
		return nil, err
	}
	n := len(strings) + 1
	j := &Joint{symbols: fst.NewTable[uint64](fst.Mix), child: fst.NewTable[uint64](fst.Mix),
		fail: make([]int32, n), depth: make([]uint8, n)}
	if j.logProb, err = model.Get[float32](l.c, "ngram_log_prob", n); err != nil {
		return nil, err
	}
	if j.backoff, err = model.Get[float32](l.c, "ngram_backoff", n); err != nil {
		return nil, err
	}
	unknown, err := model.Get[float32](l.c, "ngram_unknown", 1)
	if err != nil {
		return nil, err
	}
	j.unknown = unknown[0]
	for _, list := range [][]float32{j.logProb, j.backoff, unknown} {
		for i, v := range list {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return nil, l.bad("weight %d of the n-gram model is %v", i, v)
			}
		}
	}
	for i, k := range symbols {
		if _, isNew := j.symbols.ID(k); !isNew {
			return nil, l.bad("symbol %d of the n-gram model is there twice", i)
		}
	}
	byDepth := make([][]int32, maxJointOrder+1)
	for i, k := range strings {
		before, symbol := k>>32, k&0xffffffff
		if before > uint64(i) || symbol >= uint64(len(symbols)+firstJoint) || j.depth[before] == maxJointOrder {
			return nil, l.bad("string %d of the n-gram model is string %d and symbol %d of %d", i, before,
				symbol, len(symbols)+firstJoint)
		}
		if _, isNew := j.child.ID(k); !isNew {
			return nil, l.bad("string %d of the n-gram model is there twice", i)
		}
		d := j.depth[before] + 1
		j.depth[i+1], j.order = d, max(j.order, int(d))
		byDepth[d] = append(byDepth[d], int32(i+1))
	}
	for _, nodes := range byDepth[2:] {
		for _, v := range nodes {
			k := strings[v-1]
			if j.fail[v] = j.find(j.fail[k>>32], int32(uint32(k))); j.fail[v] < 0 {
				return nil, l.bad("string %d of the n-gram model has an end that is not there", v-1)
			}
		}
	}
	return j, nil
}
