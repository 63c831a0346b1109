package sequence

import (
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/resilient"
)

// terms is the objective as a sum over sequences, for the stochastic solvers.
type terms struct {
	layout *layout
	corpus *corpus
	loss   *lossOf
	weigh  resilient.Weigh // what sequences count; nil is one each
}

func (t *terms) Dim() int { return t.layout.dim }
func (t *terms) Len() int { return t.corpus.sequences() }

func (t *terms) Worker() optim.Worker {
	return &termWorker{terms: t, scorer: newScorer(t.layout, t.corpus, t.loss)}
}

// Support implements optim.Supported.
func (t *terms) Support(i int, visit func(at, n int)) {
	l, c := t.layout, t.corpus
	for p := c.start[i]; p < c.start[i+1]; p++ {
		ids, _ := c.single.row(p)
		for _, a := range ids {
			from, to := l.row(int(a))
			visit(from, to-from)
		}
		ids, _ = c.pair.row(p)
		for _, a := range ids {
			from, to := l.pairRow(int(a))
			visit(from, to-from)
		}
	}
	visit(l.at1, l.atPair-l.at1)
}

type termWorker struct {
	*terms
	scorer   *scorer
	residual []float64
	pairs    []float64
	lane     laneSums
	row      []float64
	two      []float64
}

func (w *termWorker) Eval(i int, x []float64, g *optim.Gradient) (float64, error) {
	w.begin(i, x)
	v, err := w.scorer.weighed(w.weigh, nil, x, i, w.residual, &w.lane, w.pairs)
	if err == nil && g != nil {
		w.emit(i, g)
	}
	return v, err
}

// begin makes room for sequence i, and prepares the scorer.
func (w *termWorker) begin(i int, x []float64) {
	l, c := w.layout, w.corpus
	d, stride := l.labels, w.loss.stride
	from, to := c.start[i], c.start[i+1]
	w.residual = slices.Grow(w.residual[:0], (to-from)*stride)[:(to-from)*stride]
	if need := (to - from) * d * d; l.pair > 0 && len(w.pairs) < need {
		w.pairs = make([]float64, need+need/2)
	}
	if w.lane.label == nil {
		w.lane = newLane(l, w.loss)
		w.row = make([]float64, max(d, l.atPair-l.at2))
		if w.loss.partial && l.order >= 2 {
			w.two = make([]float64, d*d)
		}
	}
	w.lane.clear()
	w.scorer.prepare(x, nil)
}

// adder is what derivatives by weights are added to, such as an optim.Gradient.
type adder interface {
	Add(at int, v float64)
	AddRow(at int, row []float64)
}

// emit adds the derivatives of sequence i, as its evaluation left them, to g.
func (w *termWorker) emit(i int, g adder) {
	l, c := w.layout, w.corpus
	d, stride := l.labels, w.loss.stride
	from, to := c.start[i], c.start[i+1]
	for p := from; p < to; p++ {
		r := w.residual[(p-from)*stride:][:d]
		ids, values := c.single.row(p)
		for k, a := range ids {
			row := w.row[:d]
			copy(row, r)
			if values != nil {
				for j := range row {
					row[j] *= values[k]
				}
			}
			lo, hi := l.row(int(a))
			if l.ptr == nil {
				g.AddRow(lo, row)
				continue
			}
			for j, y := range l.seen[lo:hi] {
				g.Add(lo+j, row[y])
			}
		}
		ids, values = c.pair.row(p)
		for k, a := range ids {
			f := 1.0
			if values != nil {
				f = values[k]
			}
			lo, _ := l.pairRow(int(a))
			for j, q := range w.pairs[(p-from)*d*d:][:d*d] {
				if q != 0 {
					g.Add(lo+j, f*q)
				}
			}
		}
	}
	g.AddRow(l.at1, w.lane.label[:d])
	if l.order >= 2 {
		two := w.row[:d*d]
		w.scorer.chain.finish(two, &w.lane.two)
		if w.loss.partial && unknown(c.labels[from:to]) {
			w.scorer.chain.finish(w.two, &w.lane.known)
			for i, v := range w.two {
				two[i] -= v
			}
		} else if w.weigh == nil && w.loss.referencePairs != nil {
			for p := from + 1; p < to; p++ {
				two[int(c.labels[p-1])*d+int(c.labels[p])]--
			}
		}
		g.AddRow(l.at2, two)
	}
	if l.order >= 3 {
		g.AddRow(l.at3, w.lane.three)
	}
}
