package sequence

import (
	"slices"

	"github.com/tropica-fst/tropica/losses"
)

// general evaluates what the chain cannot: label 3-grams, attributes of label
// pairs, and losses that are machines. It lays the scores out as potentials and
// leaves the rest to package losses. It is work space for one goroutine.
type general struct {
	layout     *layout
	potentials losses.Potentials
	buffer     []float64
	evaluator  losses.Evaluator
	result     losses.Result
	sampled    losses.SampledResult
	reference  []int
}

// fill lays out the scores of positions from…from+n-1 of the corpus, whose label
// scores are node, times beta.
func (g *general) fill(x []float64, pair *sparse, from int, node []float64, n, stride int, beta float64) *losses.Potentials {
	l, p := g.layout, &g.potentials
	p.Order = l.order
	for len(p.Sizes) < n {
		p.Sizes = append(p.Sizes, l.labels)
	}
	p.Sizes = p.Sizes[:n]
	need := 0
	for t := range n {
		need += l.windows(t)
	}
	g.buffer = slices.Grow(g.buffer[:0], need)[:need]
	p.Theta = p.Theta[:0]
	rest := g.buffer
	for t := range n {
		k := l.windows(t)
		row := rest[:k:k]
		rest = rest[k:]
		ids, values := pair.row(from + t)
		l.fillWindows(row, x, node[t*stride:], ids, values, t)
		if beta != 1 {
			for i := range row {
				row[i] *= beta
			}
		}
		p.Theta = append(p.Theta, row)
	}
	return p
}

// sequence does for scorer.sequence what the chain cannot.
func (g *general) sequence(s *scorer, x []float64, i int, node []float64, labels []int32, residual []float64, lane *laneSums, pairs []float64) (float64, error) {
	l, loss := g.layout, s.loss
	d, stride, n := l.labels, loss.stride, len(labels)
	g.reference = g.reference[:0]
	for _, y := range labels {
		g.reference = append(g.reference, int(y))
	}
	if s.tied() && !loss.sampling.serves(n) {
		return g.tied(s, x, i, node, labels, residual, lane)
	}
	beta := loss.smoothing()
	p := g.fill(x, &s.corpus.pair, s.corpus.start[i], node, n, stride, beta)
	reference := p.Score(g.reference) / beta
	var machine *losses.Machine
	gamma := 0.0
	if loss.kind != CrossEntropy {
		gamma = loss.gamma * beta
		if loss.hamming() && loss.kind != Risk {
			// Positions count apart: the loss is a score.
			for t, row := range p.Theta {
				for z := range row {
					if z%d != g.reference[t] {
						row[z] += gamma
					}
				}
			}
			gamma = 0
		} else if !loss.sampling.serves(n) {
			var err error
			if machine, err = loss.machine(i, g.reference, d); err != nil {
				return 0, err
			}
		}
	}
	want := losses.WantMarginals
	switch {
	case loss.kind == Risk:
		want = losses.WantRisk | losses.WantRiskGradient
	case loss.kind == MaxMargin && loss.beta == 0:
		want = losses.WantMaxAug
	}
	r := &g.result
	if loss.sampling.serves(n) {
		r = &g.sampled.Result
		seed := loss.sampling.mix(i, n, d, stride, node)
		if err := loss.sampling.eval(g.reference, d, p, gamma, loss.kind == Risk, seed, &g.sampled); err != nil {
			return 0, err
		}
	} else if err := g.evaluator.Eval(machine, p, gamma, want, r); err != nil {
		return 0, err
	}
	loss.keep(i, machine)
	value := r.LogZ/beta - reference
	rows := r.Marginals
	clear(residual)
	if pairs != nil {
		clear(pairs[:n*d*d])
	}
	switch {
	case loss.kind == Risk:
		value, rows = r.Risk, r.RiskGradient
	case loss.kind == MaxMargin && loss.beta == 0:
		if len(r.ArgmaxAug) != n {
			return 0, &NoLabellingError{Example: i, Labels: n}
		}
		value = r.MaxAug - reference
		for t := range n {
			g.add(p, r.ArgmaxAug, t, 1, residual, stride, lane, pairs)
			if t > 0 && l.order >= 2 {
				lane.two.addExact(d*stride, r.ArgmaxAug[t-1]*stride+r.ArgmaxAug[t], 1)
			}
		}
		rows = nil
	}
	for t, row := range rows {
		g.spread(row, t, residual[t*stride:], lane, pairs, stride)
	}
	if loss.kind != Risk {
		for t := range n {
			g.add(p, g.reference, t, -1, residual, stride, lane, pairs)
		}
	}
	return value, nil
}

// tied is sequence for losses of machines on scores of labels and pairs alone. node is changed.
func (g *general) tied(s *scorer, x []float64, i int, node []float64, labels []int32, residual []float64,
	lane *laneSums) (float64, error) {
	l, loss := g.layout, s.loss
	d, stride := l.labels, loss.stride
	machine, err := loss.machine(i, g.reference, d)
	if err != nil {
		return 0, err
	}
	reference, label2 := 0.0, l.label2(x)
	for t, y := range labels {
		reference += node[t*stride+int(y)]
		if t > 0 {
			reference += label2[int(labels[t-1])*d+int(y)]
		}
	}
	beta := loss.smoothing()
	if beta != 1 {
		for k := range node {
			node[k] *= beta
		}
	}
	if lane.two.exact == nil {
		lane.two.exact = make([]float64, d*stride)
	}
	clear(residual)
	r := losses.TiedResult{Unary: residual, Pairs: lane.two.exact, PairStride: stride}
	want, gamma := losses.Want(0), loss.gamma*beta
	if loss.kind == Risk {
		want, gamma = losses.WantRisk|losses.WantRiskGradient, 0
	}
	if err := g.evaluator.EvalTied(machine, &losses.Tied{Unary: node, Stride: stride, Pairs: s.pairs}, gamma,
		want, &r); err != nil {
		return 0, err
	}
	loss.keep(i, machine)
	if loss.kind == Risk {
		return r.Risk, nil
	}
	for t, y := range labels {
		residual[t*stride+int(y)]--
	}
	return r.LogZ/beta - reference, nil
}

// spread adds the derivatives by the windows that end at t to those by labels,
// pairs and triples.
func (g *general) spread(row []float64, t int, residual []float64, lane *laneSums, pairs []float64, stride int) {
	l := g.layout
	d := l.labels
	if t == 0 || l.order == 1 {
		for y, q := range row {
			residual[y] += q
		}
		return
	}
	if lane.two.exact == nil {
		lane.two.exact = make([]float64, d*stride)
	}
	for at := 0; at < len(row); at += d { // the windows that differ in the last label only
		ab := row[at:][:d]
		a := at / d % d
		two := lane.two.exact[a*stride:][:d]
		for y, q := range ab {
			residual[y] += q
			two[y] += q
		}
		if pairs != nil {
			for y, q := range ab {
				pairs[(t*d+a)*d+y] += q
			}
		}
	}
	if l.order >= 3 && t >= 2 {
		for z, q := range row {
			lane.three[z] += q
		}
	}
}

// add adds v to the weights that score the windows of u at t, except for label pairs over the whole
// corpus, which the caller handles.
func (g *general) add(p *losses.Potentials, u []int, t int, v float64, residual []float64, stride int, lane *laneSums, pairs []float64) {
	d := g.layout.labels
	residual[t*stride+u[t]] += v
	if t > 0 && pairs != nil {
		pairs[(t*d+u[t-1])*d+u[t]] += v
	}
	if t > 1 && g.layout.order >= 3 {
		lane.three[p.Window(u, t)] += v
	}
}
