package sequence

import (
	"slices"

	"github.com/tropica-fst/tropica/losses"
)

// Marginals are the probabilities of labels by position, where p(u) = exp(θ(u) - LogZ).
type Marginals struct {
	LogZ float64     // log Σ exp θ(u) over all labellings u
	P    [][]float64 // P[t][y]: of label y, its place in Model.Labels, at position t
}

// Marginals returns the probability of each label at each position, given the input. They are
// probabilities as the model was trained to have them where the objective was cross-entropy; the
// scores of margins are not fitted to be any. O(len·D²) time for D labels and order 2,
// O(len·D^order) beyond and with attributes of label pairs.
func (t *Tagger) Marginals(in *Input) (*Marginals, error) {
	n, err := t.encode(in)
	if err != nil {
		return nil, err
	}
	l := t.m.layout
	d := l.labels
	m := &Marginals{P: make([][]float64, n)}
	flat := make([]float64, n*d)
	for i := range m.P {
		m.P[i] = flat[i*d:][:d:d]
	}
	if n == 0 {
		return m, nil
	}
	if l.order == 3 || l.pair > 0 {
		p := (&general{layout: l}).fill(t.m.w, &t.corpus.pair, 0, t.node, n, t.stride, 1)
		var e losses.Evaluator
		var r losses.Result
		if err := e.Eval(nil, p, 0, losses.WantMarginals, &r); err != nil {
			return nil, err
		}
		m.LogZ = r.LogZ
		for i, row := range r.Marginals {
			for z, q := range row {
				m.P[i][z%d] += q
			}
		}
		return m, nil
	}
	if t.chain == nil {
		t.chain = newChain(d)
		t.chain.transitions(l.label2(t.m.w))
		t.pairs.scaled = newPairs(d, t.chain.stride)
	}
	c := t.chain
	node := c.begin(n)
	for i := range n {
		copy(node[i*c.stride:][:d], t.node[i*t.stride:])
	}
	t.post = slices.Grow(t.post[:0], n*c.stride)[:n*c.stride]
	m.LogZ = c.marginals(t.post, &t.pairs)
	for i := range m.P {
		copy(m.P[i], t.post[i*c.stride:])
	}
	return m, nil
}
