package transduce

import (
	"context"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/run"
)

// edits is an alignment: what is inserted before every input character and at the end, and what
// becomes of every character.
type edits struct {
	insert [][]op // before character i; the last list is at the end
	at     []op
}

// aligner is a memoryless edit model: every operation has one probability, whatever its
// neighbours. Its alignments are the start for the channel, which sees contexts.
type aligner struct {
	a     *alphabet
	texts []*text
	copy  float64            // log-probabilities
	prob  map[uint32]float64 // of (input number, output number); 0 stands for nothing
}

func pairOf(x, y uint16) uint32 { return uint32(x)<<16 | uint32(y) }

const (
	alignIterations = 6
	leastProb       = 1e-7 // of an operation that no alignment has left
)

// newAligner fits the model by expectation maximisation.
//
// Reference: E. S. Ristad and P. N. Yianilos, "Learning string-edit distance", IEEE Transactions on
// Pattern Analysis and Machine Intelligence 20(5):522–532, 1998. O(iterations · Σ |x|·|y|).
func newAligner(ctx context.Context, a *alphabet, texts []*text, workers int) (*aligner, error) {
	al := &aligner{a: a, texts: texts, prob: map[uint32]float64{}}
	v := float64(len(a.runes) + 1)
	al.copy = math.Log(0.7)
	for _, t := range texts {
		for _, x := range t.in {
			al.prob[pairOf(x, 0)] = math.Log(0.1 / v)
			for _, y := range t.out {
				if x != y {
					al.prob[pairOf(x, y)] = math.Log(0.1 / v / v)
				}
			}
		}
		for _, y := range t.out {
			al.prob[pairOf(0, y)] = math.Log(0.1 / v)
		}
	}
	const size = 64
	blocks := (len(texts) + size - 1) / size
	type counts struct {
		copied float64
		of     map[uint32]float64
	}
	for range alignIterations {
		parts := make([]counts, blocks)
		run.Blocks(workers, len(texts), size, func(_, from, to int) {
			c := &parts[from/size]
			c.of = map[uint32]float64{}
			var g grid
			for i := from; i < to && ctx.Err() == nil; i++ {
				g.expect(al, texts[i], &c.copied, c.of)
			}
		})
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		copied, sum := 0.0, map[uint32]float64{}
		for i := range parts { // in order: every key has its own sum
			copied += parts[i].copied
			for k, n := range parts[i].of {
				sum[k] += n
			}
		}
		total := copied
		for _, k := range sortedPairs(sum) {
			total += sum[k]
		}
		al.copy = math.Log(max(copied/total, leastProb))
		for k := range al.prob {
			al.prob[k] = math.Log(max(sum[k]/total, leastProb))
		}
	}
	return al, nil
}

func sortedPairs(m map[uint32]float64) []uint32 {
	set := make(map[int32]bool, len(m))
	for k := range m {
		set[int32(k)] = true
	}
	var out []uint32
	for _, k := range sortedKeys(set) {
		out = append(out, uint32(k))
	}
	return out
}

// grid has room for the sums over the alignments of one pair.
type grid struct{ forward, backward, remove, add, both []float64 }

// expect adds the expected counts of operations.
func (g *grid) expect(al *aligner, t *text, copied *float64, of map[uint32]float64) {
	n, m := len(t.in), len(t.out)
	w := m + 1
	g.costs(al, t)
	g.forward, g.backward = sized(g.forward, (n+1)*w), sized(g.backward, (n+1)*w)
	inf := math.Inf(-1)
	for i := 0; i <= n; i++ {
		for j := 0; j <= m; j++ {
			a, b, c := inf, inf, inf
			if i > 0 {
				a = g.forward[(i-1)*w+j] + g.remove[i-1]
			}
			if j > 0 {
				b = g.forward[i*w+j-1] + g.add[j-1]
			}
			if i > 0 && j > 0 {
				c = g.forward[(i-1)*w+j-1] + g.both[(i-1)*m+j-1]
			}
			if g.forward[i*w+j] = 0; i+j > 0 {
				g.forward[i*w+j] = logSum(a, b, c)
			}
		}
	}
	for i := n; i >= 0; i-- {
		for j := m; j >= 0; j-- {
			a, b, c := inf, inf, inf
			if i < n {
				a = g.backward[(i+1)*w+j] + g.remove[i]
			}
			if j < m {
				b = g.backward[i*w+j+1] + g.add[j]
			}
			if i < n && j < m {
				c = g.backward[(i+1)*w+j+1] + g.both[i*m+j]
			}
			if g.backward[i*w+j] = 0; i < n || j < m {
				g.backward[i*w+j] = logSum(a, b, c)
			}
		}
	}
	z := g.forward[n*w+m]
	for i := 0; i <= n; i++ {
		for j := 0; j <= m; j++ {
			f := g.forward[i*w+j] - z
			if i < n {
				of[pairOf(t.in[i], 0)] += math.Exp(f + g.remove[i] + g.backward[(i+1)*w+j])
			}
			if j < m {
				of[pairOf(0, t.out[j])] += math.Exp(f + g.add[j] + g.backward[i*w+j+1])
			}
			if i < n && j < m {
				p := math.Exp(f + g.both[i*m+j] + g.backward[(i+1)*w+j+1])
				if t.in[i] == t.out[j] {
					*copied += p
				} else {
					of[pairOf(t.in[i], t.out[j])] += p
				}
			}
		}
	}
}

func (g *grid) costs(al *aligner, t *text) {
	n, m := len(t.in), len(t.out)
	g.remove, g.add, g.both = sized(g.remove, n), sized(g.add, m), sized(g.both, n*m)
	for i, x := range t.in {
		g.remove[i] = al.prob[pairOf(x, 0)]
		for j, y := range t.out {
			if g.both[i*m+j] = al.copy; x != y {
				g.both[i*m+j] = al.prob[pairOf(x, y)]
			}
		}
	}
	for j, y := range t.out {
		g.add[j] = al.prob[pairOf(0, y)]
	}
}

// probs are the log-probabilities of all operations at every place of an input.
type probs struct {
	n, k, v int
	place   []float64 // place·(v+2): copy, delete, substitutions
	gap     []float64 // (gap·(k+1)+insertions before)·(v+1): stop, insertions
}

func newProbs(n, k, v int) *probs {
	return &probs{n, k, v, make([]float64, n*(v+2)), make([]float64, (n+1)*(k+1)*(v+1))}
}

func (p *probs) places(i int) []float64  { return p.place[i*(p.v+2):][:p.v+2] }
func (p *probs) gaps(i, k int) []float64 { return p.gap[(i*(p.k+1)+k)*(p.v+1):][:p.v+1] }

// of returns the log-probability of an operation at place i after k insertions.
func (p *probs) of(i, k int, o op) float64 {
	switch {
	case o == opStop || o == opEnd:
		return p.gaps(i, k)[0]
	case o.inserts():
		return p.gaps(i, k)[o.symbol()]
	case o.substitutes():
		return p.places(i)[1+o.symbol()]
	}
	return p.places(i)[o]
}

// probs gives the model's operations the form of the channel's.
func (al *aligner) probs(t *text, k int) *probs {
	p := newProbs(len(t.in), k, len(al.a.runes))
	for j := range p.place {
		p.place[j] = math.Inf(-1)
	}
	for i, x := range t.in {
		row := p.places(i)
		row[opCopy], row[opDelete] = al.copy, al.prob[pairOf(x, 0)]
		for _, y := range t.out {
			if y != x {
				row[1+y] = al.prob[pairOf(x, y)]
			}
		}
	}
	for i := range p.n + 1 {
		for k := range k + 1 {
			row := p.gaps(i, k)
			for _, y := range t.out {
				row[y] = al.prob[pairOf(0, y)]
			}
		}
	}
	return p
}

// truth has the best log-probability of making the rest of the output, from every place, number
// of insertions there and length of output.
type truth struct {
	n, k, m int
	best    []float64
}

func (b *truth) at(i, k, j int) *float64 { return &b.best[(i*(b.k+1)+k)*(b.m+1)+j] }

// newTruth computes it in O(|x|·K·|y|).
func newTruth(t *text, p *probs) *truth {
	n, m := len(t.in), len(t.y)
	b := &truth{n, p.k, m, make([]float64, (n+1)*(p.k+1)*(m+1))}
	for i := n; i >= 0; i-- {
		for k := p.k; k >= 0; k-- {
			for j := m; j >= 0; j-- {
				v := math.Inf(-1)
				b.steps(t, p, i, k, j, func(_ op, score float64) { v = max(v, score) })
				*b.at(i, k, j) = v
			}
		}
	}
	return b
}

// steps visits the operations that may come next on the way to the output, with the best score
// from there on.
func (b *truth) steps(t *text, p *probs, i, k, j int, visit func(o op, score float64)) {
	if j < b.m && k < b.k && t.out[j] != 0 {
		o := insertion(t.out[j])
		visit(o, p.of(i, k, o)+*b.at(i, k+1, j+1))
	}
	stop := p.gaps(i, k)[0]
	switch {
	case i == b.n && j == b.m:
		visit(opEnd, stop)
	case i < b.n:
		if j < b.m && t.x[i] == t.y[j] {
			visit(opCopy, stop+p.places(i)[opCopy]+*b.at(i+1, 0, j+1))
		} else if j < b.m && t.out[j] != 0 {
			o := substitution(t.out[j])
			visit(o, stop+p.of(i, 0, o)+*b.at(i+1, 0, j+1))
		}
		visit(opDelete, stop+p.places(i)[opDelete]+*b.at(i+1, 0, j))
	}
}

// alignment returns the best alignment, nil where there is none. Ties go to the operation that
// steps visits first.
func (b *truth) alignment(t *text, p *probs) *edits {
	if math.IsInf(*b.at(0, 0, 0), -1) {
		return nil
	}
	e := &edits{insert: make([][]op, b.n+1), at: make([]op, b.n)}
	for i, k, j := 0, 0, 0; ; {
		next, found := opEnd, false
		most := *b.at(i, k, j)
		b.steps(t, p, i, k, j, func(o op, score float64) {
			if !found && score >= most {
				next, found = o, true
			}
		})
		switch {
		case next == opEnd:
			return e
		case next.inserts():
			e.insert[i] = append(e.insert[i], next)
			k, j = k+1, j+1
			continue
		case next != opDelete:
			j++
		}
		e.at[i] = next
		i, k = i+1, 0
	}
}

// sized returns s with length n and arbitrary contents.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n+n/2)[:n]
	}
	return s[:n]
}

// errAlign names the pairs that cannot be aligned.
func errAlign(p *Pair, i, k int) error {
	return fmt.Errorf("transduce: %s: %.60q cannot become %.60q with %d insertions between characters; raise "+
		"insertions",
		p.where(i), p.Input, p.Output, k)
}
