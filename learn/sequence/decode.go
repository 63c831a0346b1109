package sequence

import (
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/losses"
)

// Tagger labels inputs with a model. It is work space for one goroutine.
type Tagger struct {
	m       *Model
	encoder encoder
	corpus  *corpus
	stride  int
	node    []float64
	viterbi viterbi
	best    []int
	windows []float64
	kbest   kbest
	network *networkTagger // of a model with a network, once it was used
}

// Tagger returns a tagger for one goroutine.
func (m *Model) Tagger() *Tagger {
	return &Tagger{m: m, encoder: encoder{templates: m.templates, single: m.single, pair: m.pair}, corpus: newCorpus(), stride: len(m.labels)}
}

// encode sets the scores of the labels at each position.
func (t *Tagger) encode(in *Input) (int, error) {
	c := t.corpus
	c.start, c.source = append(c.start[:0], 0), c.source[:0]
	for _, s := range []*sparse{&c.single, &c.pair} {
		s.ptr, s.ids, s.values = append(s.ptr[:0], 0), s.ids[:0], nil
	}
	if err := t.encoder.encode(c, in); err != nil {
		if in.Source != "" {
			err = fmt.Errorf("%s: %w", in.Source, err)
		}
		return 0, fmt.Errorf("sequence: %w", err)
	}
	n := c.positions()
	t.node = slices.Grow(t.node[:0], n*t.stride)[:n*t.stride]
	clear(t.node)
	for p := range n {
		ids, values := c.single.row(p)
		t.m.layout.addScores(t.node[p*t.stride:], t.m.w, t.m.w, t.m.layout.labels, ids, values)
	}
	if t.m.net != nil && n > 0 {
		if err := t.addNetwork(in); err != nil {
			return 0, fmt.Errorf("sequence: %w", err)
		}
	}
	return n, nil
}

// Viterbi returns the labels of the best score. Ties go to the label that comes
// first, at the last position first. Attributes that the model does not know
// are left out.
func (t *Tagger) Viterbi(in *Input) ([]string, error) {
	n, err := t.encode(in)
	if err != nil {
		return nil, err
	}
	if l := t.m.layout; l.order == 3 || l.pair > 0 {
		lists := t.nBest(n, 1)
		if len(lists) == 0 {
			return []string{}, nil
		}
		return t.names(lists[0].labels), nil
	}
	t.best = slices.Grow(t.best[:0], n)[:n]
	t.viterbi.best(t.best, t.node, t.stride, t.m.layout.labels, t.m.layout.label2(t.m.w))
	return t.names(t.best), nil
}

func (t *Tagger) names(labels []int) []string {
	out := make([]string, len(labels))
	for i, y := range labels {
		out[i] = t.m.labels[y]
	}
	return out
}

// Potentials returns the scores of an input in the form of package losses: the windows of up to
// Order labels at each position, with labels numbered as in Model.Labels.
func (t *Tagger) Potentials(in *Input) (*losses.Potentials, error) {
	n, err := t.encode(in)
	if err != nil {
		return nil, err
	}
	// A work space of its own for each call: what is returned must stay.
	return (&general{layout: t.m.layout}).fill(t.m.w, &t.corpus.pair, 0, t.node, n, t.stride, 1), nil
}
